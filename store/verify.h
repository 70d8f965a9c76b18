/*
 * verify: the pass over a whole log that compares every row with its commitment and its hash.  It reads inside one
 * transaction, never writes, and reports what it cannot prove as not proven.
 */
#ifndef WARDER_STORE_VERIFY_H
#define WARDER_STORE_VERIFY_H

#include <sqlite3.h>

#include "store/log_read.h"

/* log_verify() on an open database; dirfd is the session's folder (its neighbours are asked about a foreign row). */
void verify_database(sqlite3 *db, int dirfd, struct log_report *ret);

#endif
