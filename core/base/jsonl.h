/*
 * jsonl: newline-delimited JSON from a peer that is not trusted.  It owns the bytes that arrived and bounds what one
 * line may cost before a tree is made of it: its length, and the number of its values (8 MiB of "0,0,0," would
 * become 300 MiB of tree).  It reads no descriptor and knows no protocol.
 *
 * `in` holds unread bytes from `start`; up to `scanned` there is no newline.  A line that is too long is reported
 * once and skipped up to its end, so the reader stays usable when the caller wants to go on.
 */
#ifndef WARDER_BASE_JSONL_H
#define WARDER_BASE_JSONL_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/json.h"

#define JSONL_VALUES_MAX (256u << 10)

struct jsonl {
	struct buf in;
	size_t start;
	size_t scanned;
	size_t max; /* bytes of one line, without its newline */
	bool skipping;
};

void jsonl_init(struct jsonl *r, size_t max_line);
void jsonl_free(struct jsonl *r);

/* Takes bytes in.  E_LIMIT when the caller lets lines pile up instead of taking them, E_NOMEM. */
int jsonl_add(struct jsonl *r, const void *data, size_t len, struct err *err) WARN_UNUSED;

/* 1 and the next line without its newline (valid until the next call), blank lines left out; 0 when there is none
 * yet; E_LIMIT once for each line over the maximum. */
int jsonl_next(struct jsonl *r, const char **ret_line, size_t *ret_len, struct err *err) WARN_UNUSED;

/* json_parse with a bound on the number of values: E_LIMIT above JSONL_VALUES_MAX. */
int jsonl_parse(const char *line, size_t len, json_node **ret, struct err *err) WARN_UNUSED;

#endif
