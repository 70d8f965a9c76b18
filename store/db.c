#include "store/db.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/buf.h"
#include "store/event.h"

#define PATH_LIMIT 4096
#define SQLITE_PATH_LIMIT 500 /* the unix VFS stops at 512, with room for "-journal" */
#define BUSY_MS 5000

static const struct {
	int rc;
	int code;
} codes[] = {
	{ SQLITE_FULL, E_FULL },         { SQLITE_NOMEM, E_NOMEM },     { SQLITE_BUSY, E_BUSY },
	{ SQLITE_LOCKED, E_BUSY },       { SQLITE_CORRUPT, E_CORRUPT }, { SQLITE_NOTADB, E_CORRUPT },
	{ SQLITE_TOOBIG, E_CORRUPT },    { SQLITE_SCHEMA, E_CORRUPT },  { SQLITE_ERROR, E_CORRUPT },
	{ SQLITE_AUTH, E_CORRUPT },      { SQLITE_FORMAT, E_CORRUPT },  { SQLITE_MISMATCH, E_CORRUPT },
	{ SQLITE_CONSTRAINT, E_CORRUPT },
};

int db_fail(sqlite3 *db, int rc, struct err *err)
{
	int code = E_IO;
	int errnum = db ? sqlite3_system_errno(db) : 0;

	for (size_t i = 0; i < ARRAY_LEN(codes); i++)
		if (codes[i].rc == (rc & 0xff))
			code = codes[i].code;
	const char *text = db && sqlite3_errcode(db) != SQLITE_OK ? sqlite3_errmsg(db) : sqlite3_errstr(rc);
	/* An authorizer of ours spoke: something had to be compiled that had been compiled before. */
	if (rc == SQLITE_AUTH)
		text = "somebody changed the definitions in the database";
	/* Only these are about a system call; else errno is of some other day. */
	if ((rc & 0xff) == SQLITE_IOERR || (rc & 0xff) == SQLITE_CANTOPEN || (rc & 0xff) == SQLITE_FULL)
		return errnum ? err_errno(err, code, errnum, "%s", text) : err_set(err, code, "%s", text);
	return err_set(err, code, "%s", text);
}

bool db_file_exists(int dirfd, const char *name)
{
	struct stat st;

	return fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

/* SQLite wants a path: the one that the kernel has for the descriptor now, which holds no symlink. */
static int folder_path(int dirfd, char ret[PATH_LIMIT], struct err *err)
{
	char link[64];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", dirfd);
	ssize_t len = readlink(link, ret, PATH_LIMIT - 1);
	if (len < 0)
		return err_errno(err, E_IO, errno, "cannot resolve the folder of a database");
	ret[len] = '\0';
	if (ret[0] != '/' || len > SQLITE_PATH_LIMIT)
		return err_set(err, E_LIMIT,
			       "%.300s: SQLite cannot open a file whose path is longer than %d bytes; "
			       "set WARDER_HOME to a shorter one", ret, SQLITE_PATH_LIMIT);
	return 0;
}

static int make_uri(const char *folder, const char *name, enum db_mode mode, struct buf *ret, struct err *err)
{
	static const char *const query[] = {
		[DB_WRITE] = "mode=rw", [DB_READ] = "mode=ro", [DB_FROZEN] = "mode=ro&immutable=1",
	};
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/-._~";

	buf_adds(ret, "file:");
	for (const char *p = folder; *p; p++) {
		if (strchr(plain, *p))
			buf_addc(ret, *p);
		else
			buf_addf(ret, "%%%02X", (unsigned)(unsigned char)*p);
	}
	buf_addf(ret, "/%s?%s", name, query[mode]);
	return buf_check(ret, "database name", err);
}

/* The folder may have been moved since its path was read: what SQLite has open must be the folder's own file. */
static int check_same_file(sqlite3 *db, int dirfd, const char *folder, const char *name, struct err *err)
{
	char path[PATH_LIMIT + 64];
	struct stat ours, theirs;
	int moved = 1;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (sqlite3_file_control(db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) != SQLITE_OK || moved ||
	    fstatat(dirfd, name, &ours, AT_SYMLINK_NOFOLLOW) || stat(path, &theirs) || ours.st_dev != theirs.st_dev ||
	    ours.st_ino != theirs.st_ino || !S_ISREG(ours.st_mode))
		return err_set(err, E_CORRUPT, "%s was replaced while it was opened", name);
	return 0;
}

static int harden(sqlite3 *db, enum db_mode mode, struct err *err)
{
	static const struct {
		int option, value;
	} options[] = {
		{ SQLITE_DBCONFIG_DEFENSIVE, 1 },      { SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 },
		{ SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0 }, { SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0 },
		{ SQLITE_DBCONFIG_ENABLE_VIEW, 0 },    { SQLITE_DBCONFIG_ENABLE_TRIGGER, 1 },
		{ SQLITE_DBCONFIG_DQS_DML, 0 },        { SQLITE_DBCONFIG_DQS_DDL, 0 },
		{ SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0 },
	};
	static const struct {
		int limit, value;
	} limits[] = {
		{ SQLITE_LIMIT_LENGTH, (int)EVENT_BODY_MAX + (64 << 10) }, { SQLITE_LIMIT_SQL_LENGTH, 8192 },
		{ SQLITE_LIMIT_ATTACHED, 0 }, { SQLITE_LIMIT_COLUMN, 32 }, { SQLITE_LIMIT_EXPR_DEPTH, 32 },
		{ SQLITE_LIMIT_TRIGGER_DEPTH, 4 }, { SQLITE_LIMIT_WORKER_THREADS, 0 },
	};

	sqlite3_extended_result_codes(db, 1);
	sqlite3_busy_timeout(db, BUSY_MS);
	for (size_t i = 0; i < ARRAY_LEN(options); i++) {
		int rc = sqlite3_db_config(db, options[i].option, options[i].value, (int *)NULL);
		if (rc != SQLITE_OK)
			return db_fail(db, rc, err);
	}
	for (size_t i = 0; i < ARRAY_LEN(limits); i++)
		sqlite3_limit(db, limits[i].limit, limits[i].value);
	/* No mmap: a file cut short by somebody else would be SIGBUS instead of an error. */
	int r = db_exec(db, "PRAGMA mmap_size = 0; PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY; "
			    "PRAGMA recursive_triggers = ON", err);
	if (!r && mode != DB_WRITE)
		r = db_exec(db, "PRAGMA query_only = ON", err);
	return r;
}

int db_open(int dirfd, const char *name, enum db_mode mode, sqlite3 **ret, struct err *err)
{
	_cleanup_db_ sqlite3 *db = NULL;
	_cleanup_buf_ struct buf uri = BUF_INIT(4 * PATH_LIMIT);
	char folder[PATH_LIMIT];
	int flags = SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW |
		    (mode == DB_WRITE ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY);
	int r = folder_path(dirfd, folder, err);

	if (!r)
		r = make_uri(folder, name, mode, &uri, err);
	if (r)
		return r;
	int rc = sqlite3_open_v2(buf_str(&uri), &db, flags, NULL);
	if (rc != SQLITE_OK)
		return db_fail(db, rc, err);
	r = check_same_file(db, dirfd, folder, name, err);
	if (!r)
		r = harden(db, mode, err);
	if (!r)
		*ret = steal_ptr(db);
	return r;
}

void db_close(sqlite3 **db)
{
	/* Its statements were finalized by their owners. */
	sqlite3_close(*db);
	*db = NULL;
}

int db_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret, struct err *err)
{
	int rc = sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL);

	return rc == SQLITE_OK ? 0 : db_fail(db, rc, err);
}

int db_step(sqlite3_stmt *stmt, struct err *err)
{
	int rc = sqlite3_step(stmt);

	if (rc == SQLITE_ROW)
		return 1;
	return rc == SQLITE_DONE ? 0 : db_fail(sqlite3_db_handle(stmt), rc, err);
}

int db_exec(sqlite3 *db, const char *sql, struct err *err)
{
	int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);

	return rc == SQLITE_OK ? 0 : db_fail(db, rc, err);
}

int db_get_int(sqlite3 *db, const char *sql, int64_t *ret, struct err *err)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = db_prepare(db, sql, &stmt, err);

	if (!r)
		r = db_step(stmt, err);
	if (r == 1)
		*ret = sqlite3_column_int64(stmt, 0);
	return r == 1 ? 0 : r ? r : err_set(err, E_CORRUPT, "no answer to %s", sql);
}
