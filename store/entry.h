/*
 * entry: from what a caller wants to log to the row that will stand: checks, preview, salt, compression, hashes.  It
 * knows no database.
 */
#ifndef WARDER_STORE_ENTRY_H
#define WARDER_STORE_ENTRY_H

#include "store/log.h"
#include "store/row.h"

/* The row; its pointers go into the caller's log_entry and into the buffers here. */
struct entry {
	struct event event;
	struct row_body body;
	uint8_t salt[EVENT_SALT_LEN];
	struct buf preview;
	struct buf packed;
};

#define ENTRY_INIT { .preview = BUF_INIT(16384), .packed = BUF_INIT(EVENT_BODY_MAX) }
void entry_free(struct entry *e);
#define _cleanup_entry_ _cleanup_(entry_free)

/* The row that follows seq `newest` with hash `prev`.  E_INVALID and E_LIMIT: `in` is wrong; else the machine is. */
int entry_make(const struct log_entry *in, int64_t newest, const uint8_t prev[DIGEST_LEN], struct entry *ret,
	       struct err *err) WARN_UNUSED;

#endif
