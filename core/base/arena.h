/*
 * arena: memory that is given back all at once (per frame, per request).  It owns its blocks; pointers into it are
 * valid until arena_reset or arena_free.  One declared maximum; NULL beyond it.
 */
#ifndef WARDER_BASE_ARENA_H
#define WARDER_BASE_ARENA_H

#include <stddef.h>

#include "core/base/macro.h"

struct arena_block;

struct arena {
	struct arena_block *head;
	size_t used; /* bytes handed out since the last reset */
	size_t max;
};

#define ARENA_INIT(maximum) { .max = (maximum) }
#define _cleanup_arena_ _cleanup_(arena_free)

/* Zeroed, aligned for any type; NULL when over the maximum or out of memory. */
void *arena_alloc(struct arena *a, size_t size) WARN_UNUSED;
char *arena_strndup(struct arena *a, const char *str, size_t len) WARN_UNUSED;
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3) WARN_UNUSED;
void arena_reset(struct arena *a);
void arena_free(struct arena *a);

#endif
