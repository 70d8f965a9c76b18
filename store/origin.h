/*
 * origin: where a row came from that does not belong where it stands.  Asked once, about the first bad row; a no means
 * that nothing could be proved.
 */
#ifndef WARDER_STORE_ORIGIN_H
#define WARDER_STORE_ORIGIN_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/id.h"
#include "store/event.h"

/* Finds the row that verifies as `seq` after the hash `prev` but stands at another seq. */
bool origin_elsewhere(sqlite3 *db, const uint8_t prev[DIGEST_LEN], int64_t seq, int64_t *ret_stands_at);

/* Finds a session in the same folder of sessions in whose chain this row stands at its seq. */
bool origin_session(int dirfd, const struct event *e, char ret_session[ID_LEN + 1]);

#endif
