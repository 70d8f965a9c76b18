/*
 * read_db: how a reader opens log.db: beside a living writer, after a crash, from a copy, on a read-only disk.  It
 * never writes and makes no file that it can do without.
 *
 * With a -wal there, or a writer, the database is shared in SQLite's usual way.  With neither nobody writes, and all
 * rows are in log.db itself: it is read as immutable, without locks and without making -wal and -shm.  A writer may
 * start later.  It then makes the -wal before it changes anything, and leaves it when it closes; so a -wal that is
 * absent *after* a read proves that what was read had stood still, and one that is there says: read again, shared.
 */
#ifndef WARDER_STORE_READ_DB_H
#define WARDER_STORE_READ_DB_H

#include <stdbool.h>

#include "store/db.h"

struct read_db {
	sqlite3 *db;
	bool frozen; /* opened as immutable */
};

/* E_NOTFOUND when the folder has no log. */
int read_db_open(int dirfd, struct read_db *ret, struct err *err) WARN_UNUSED;
void read_db_close(struct read_db *r);
#define _cleanup_read_db_ _cleanup_(read_db_close)

/* True when what was read since read_db_open() must be read again on a new connection. */
bool read_db_stale(int dirfd, const struct read_db *r);

#endif
