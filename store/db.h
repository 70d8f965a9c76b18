/*
 * db: SQLite connections as this part opens them: by folder descriptor, hardened, errors in our codes.  It knows no
 * table.
 *
 * A trap that every user must know: SQLite holds POSIX locks, and closing *any* descriptor of a database file drops
 * all of the process's locks on it.  So no code in a process that has a database open may open and close that file,
 * its -wal or its -shm by other means.
 */
#ifndef WARDER_STORE_DB_H
#define WARDER_STORE_DB_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"

/* A numeric constant inside a statement. */
#define DB_TEXT_(x) #x
#define DB_TEXT(x) DB_TEXT_(x)

enum db_mode {
	DB_WRITE,  /* the file must exist */
	DB_READ,   /* mode=ro: shares the WAL with a writer, creates -wal and -shm when they are missing */
	DB_FROZEN, /* immutable: takes no lock and creates no file; right only while nobody writes */
};

/* Opens `name` in the folder.  Refused: a path with a symlink in it, a file that is not the folder's. */
int db_open(int dirfd, const char *name, enum db_mode mode, sqlite3 **ret, struct err *err) WARN_UNUSED;
void db_close(sqlite3 **db);
#define _cleanup_db_ _cleanup_(db_close)

/* True when the folder has `name`; also when that cannot be told. */
bool db_file_exists(int dirfd, const char *name);

/* Prepares for repeated use. */
int db_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret, struct err *err) WARN_UNUSED;
static inline void stmt_free(sqlite3_stmt **stmt)
{
	sqlite3_finalize(*stmt);
	*stmt = NULL;
}
#define _cleanup_stmt_ _cleanup_(stmt_free)
/* For a statement that lives longer than the function: ends its transaction when the function ends. */
static inline void stmt_reset(sqlite3_stmt **stmt)
{
	if (*stmt)
		sqlite3_reset(*stmt);
}
#define _cleanup_reset_ _cleanup_(stmt_reset)

/* 1: a row; 0: done; negative: failed. */
int db_step(sqlite3_stmt *stmt, struct err *err) WARN_UNUSED;
int db_exec(sqlite3 *db, const char *sql, struct err *err) WARN_UNUSED;
int db_get_int(sqlite3 *db, const char *sql, int64_t *ret, struct err *err) WARN_UNUSED;

/* The code and text for what SQLite just answered. */
int db_fail(sqlite3 *db, int rc, struct err *err);

#endif
