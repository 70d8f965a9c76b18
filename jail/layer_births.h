/*
 * layer_births: at which cell's birth each staged path was first seen (the file layer/births).  A staged path is judged
 * against the birth of the cell under which it was first staged, since from then on the cell no longer looked at the
 * real one.
 *
 * File: "warder-births 1\n", then the newest birth (i64), then a record a path: its birth (i64), length (u32), bytes;
 * all little-endian, times in microseconds since 1970.
 */
#ifndef WARDER_JAIL_LAYER_BIRTHS_H
#define WARDER_JAIL_LAYER_BIRTHS_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "jail/layer.h"

/* No birth was noted: everything real counts as changed since. */
#define BIRTH_UNKNOWN INT64_MIN

struct birth {
	const char *path;
	int64_t us;
};

struct births {
	struct arena arena;
	struct birth *rec; /* sorted by path */
	size_t n;
	int64_t newest;
};

int births_load(const struct layer *l, struct births *ret, struct err *err) WARN_UNUSED;
/* The birth that `path` belongs to: its own, or the newest. */
int64_t births_of(const struct births *b, const char *path);
void births_free(struct births *b);
#define _cleanup_births_ _cleanup_(births_free)

#endif
