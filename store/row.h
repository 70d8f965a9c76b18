/*
 * row: the columns of one row of `event` and of `body` as they stand in a statement, with their types checked.  It
 * reads no table itself.
 *
 * STRICT tables keep types when SQL writes; a file that was altered may hold anything, and a TEXT with a NUL inside
 * would hash like its first half.  So everything that does not look exactly as our writer stores it is refused here.
 */
#ifndef WARDER_STORE_ROW_H
#define WARDER_STORE_ROW_H

#include <sqlite3.h>
#include <stdbool.h>

#include "store/body.h"
#include "store/event.h"

/* The columns in the order that both functions read. */
#define ROW_EVENT "event.seq, event.time, event.kind, event.actor, event.ref, event.len, event.commitment, event.hash"
#define ROW_BODY "body.seq, body.salt, body.preview, body.codec, body.data"
#define ROW_EVENT_COLUMNS 8

struct row_body {
	const uint8_t *salt;
	size_t salt_len;
	const char *preview;
	size_t preview_len;
	struct body_stored stored;
};

/* Pointers are into the statement, until its next step.  NULL, or the name of the column that is wrong. */
const char *row_event(sqlite3_stmt *stmt, int first, struct event *ret) WARN_UNUSED;
const char *row_body(sqlite3_stmt *stmt, int first, struct row_body *ret) WARN_UNUSED;

/* The commitment of what is stored. */
void row_commit(const struct row_body *b, uint8_t ret[DIGEST_LEN]);

#endif
