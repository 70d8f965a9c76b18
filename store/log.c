#include "store/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "store/db.h"
#include "store/entry.h"
#include "store/reserve.h"
#include "store/schema.h"
#include "store/verify.h"
#include "store/writer_lock.h"

#define DB_NAME "log.db"
#define NEW_NAME "log.db.new"
#define WAL_KEEP 4194304 /* bytes of WAL that stay allocated */

enum { BEGIN, ADD_EVENT, ADD_BODY, COMMIT, ROLLBACK, HEAD, STATEMENTS };

#define INSERT_EVENT "INSERT INTO event(seq, time, kind, actor, ref, len, commitment, hash) "

static const char *const sql[STATEMENTS] = {
	[BEGIN] = "BEGIN IMMEDIATE",
	[ADD_EVENT] = INSERT_EVENT "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
	[ADD_BODY] = "INSERT INTO body(seq, salt, preview, codec, data) VALUES(?1, ?2, ?3, ?4, ?5)",
	[COMMIT] = "COMMIT",
	[ROLLBACK] = "ROLLBACK",
	[HEAD] = "SELECT seq, hash FROM event ORDER BY seq DESC LIMIT 1",
};

struct log {
	int dirfd;
	int lock_fd;
	sqlite3 *db;
	sqlite3_stmt *stmt[STATEMENTS];
	int64_t seq; /* newest row, with its hash */
	uint8_t hash[DIGEST_LEN];
	enum log_tier tier; /* what `synchronous` is set to now */
	bool sealed;        /* the authorizer refuses everything new */
	struct err broken;  /* why; code 0: it is not */
	unsigned closing;   /* bits of the closing events that were taken */
};

/* What log_append_last() takes, each once and in this order. */
static const struct {
	const char *kind;
	unsigned bit;
} closing_kinds[] = {
	{ "session.error", 1 },
	{ "session.status_idle", 2 },
	{ "session.status_terminated", 2 },
};

/*
 * After the set-up nothing is compiled but `PRAGMA synchronous`.  Statements that were prepared before run on without
 * asking; SQLite compiles them again when somebody changed the schema under us (a trigger was dropped), and then this
 * refuses, so that the append fails and the handle is broken.
 */
static int authorize(void *arg, int action, const char *one, const char *two, const char *database, const char *trigger)
{
	const struct log *log = arg;

	(void)two, (void)database, (void)trigger;
	if (!log->sealed)
		return SQLITE_OK;
	return action == SQLITE_PRAGMA && one && !strcmp(one, "synchronous") ? SQLITE_OK : SQLITE_DENY;
}

void log_close(struct log **log)
{
	struct log *l = *log;

	if (!l)
		return;
	for (size_t i = 0; i < STATEMENTS; i++)
		stmt_free(&l->stmt[i]);
	db_close(&l->db);
	/* Last: nobody else may write before SQLite has let go. */
	fd_close(&l->lock_fd);
	fd_close(&l->dirfd);
	free(l);
	*log = NULL;
}

static int start(int dirfd, struct log **ret, struct err *err)
{
	_cleanup_log_ struct log *log = calloc(1, sizeof(*log));

	if (!log)
		return err_set(err, E_NOMEM, "log: out of memory");
	log->lock_fd = -1;
	/* A descriptor of our own that can be synced; the caller's may be O_PATH. */
	log->dirfd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (log->dirfd < 0)
		return err_errno(err, E_IO, errno, "cannot open the session's folder");
	int r = writer_lock_take(log->dirfd, &log->lock_fd, err);
	if (!r)
		*ret = steal_ptr(log);
	return r;
}

static int set_tier(struct log *log, enum log_tier tier, struct err *err)
{
	static const char *const pragma[] = {
		[LOG_NORMAL] = "PRAGMA synchronous = NORMAL",
		[LOG_BARRIER] = "PRAGMA synchronous = FULL",
	};

	if (tier == log->tier)
		return 0;
	int r = db_exec(log->db, pragma[tier], err);
	if (!r)
		log->tier = tier;
	return r;
}

static int read_head(struct log *log, struct err *err)
{
	_cleanup_reset_ sqlite3_stmt *head = log->stmt[HEAD];
	int r = db_step(head, err);

	if (r <= 0)
		return r;
	if (sqlite3_column_bytes(head, 1) != DIGEST_LEN)
		return err_set(err, E_CORRUPT, "the newest hash is damaged");
	log->seq = sqlite3_column_int64(head, 0);
	memcpy(log->hash, sqlite3_column_blob(head, 1), DIGEST_LEN);
	return 0;
}

/* The chain from its first row to its last; costs some 3 microseconds a row. */
static int check_whole(struct log *log, struct err *err)
{
	struct log_report report;
	int r = schema_check(log->db, SCHEMA_ALL, err);

	if (r)
		return r;
	verify_database(log->db, log->dirfd, &report);
	if (report.verdict == LOG_INTACT)
		return 0;
	const char *why = "";
	for (size_t i = 0; i < report.nclaims && !why[0]; i++)
		if (!report.claims[i].ok && report.claims[i].seq == report.seq)
			why = report.claims[i].why;
	return err_set(err, E_CORRUPT, "%s at seq %" PRId64 ": %s; see `warder verify`",
		       log_verdict_name(report.verdict), report.seq, why);
}

static int connect_database(struct log *log, struct err *err)
{
	int on = 1;
	int r = db_open(log->dirfd, DB_NAME, DB_WRITE, &log->db, err);

	if (r)
		return r;
	/* The -wal stays when we close: by it a reader knows whether anybody wrote meanwhile (log_read.c). */
	(void)sqlite3_file_control(log->db, "main", SQLITE_FCNTL_PERSIST_WAL, &on);
	sqlite3_set_authorizer(log->db, authorize, log);
	r = check_whole(log, err);
	if (!r)
		r = db_exec(log->db, "PRAGMA journal_size_limit = " DB_TEXT(WAL_KEEP) "; PRAGMA synchronous = NORMAL",
			    err);
	log->tier = LOG_NORMAL;
	for (size_t i = 0; !r && i < STATEMENTS; i++)
		r = db_prepare(log->db, sql[i], &log->stmt[i], err);
	if (!r)
		r = read_head(log, err);
	if (!r)
		r = reserve_hold(log->dirfd, err);
	log->sealed = true;
	return r;
}

/* Under another name first, so that a crash leaves a whole log.db or none. */
static int build_database(int dirfd, struct err *err)
{
	static const char *const leftovers[] = { NEW_NAME, NEW_NAME "-journal", NEW_NAME "-wal", NEW_NAME "-shm" };
	_cleanup_db_ sqlite3 *db = NULL;

	for (size_t i = 0; i < ARRAY_LEN(leftovers); i++)
		if (unlinkat(dirfd, leftovers[i], 0) && errno != ENOENT)
			return err_errno(err, E_IO, errno, "cannot remove %s", leftovers[i]);
	/* SQLite gives its -wal and -shm the mode of the database. */
	_cleanup_fd_ int fd = openat(dirfd, NEW_NAME, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || fchmod(fd, 0600))
		return err_errno(err, E_IO, errno, "cannot create the log");
	fd_close(&fd);

	int r = db_open(dirfd, NEW_NAME, DB_WRITE, &db, err);
	if (!r)
		r = schema_create(db, err);
	db_close(&db);
	if (r)
		return r;
	if (renameat(dirfd, NEW_NAME, dirfd, DB_NAME) || fsync(dirfd))
		return err_errno(err, E_IO, errno, "cannot put the log in its place");
	/* The folder's own entry: a barrier is worth nothing in a folder that a power cut takes away. */
	_cleanup_fd_ int sessions = openat(dirfd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (sessions < 0 || fsync(sessions))
		return err_errno(err, E_IO, errno, "cannot sync the folder of sessions");
	return 0;
}

int log_create(int dirfd, struct log **ret, struct err *err)
{
	_cleanup_log_ struct log *log = NULL;
	int r = start(dirfd, &log, err);

	if (r)
		return r;
	/* A -wal without its database would be replayed into the new one. */
	if (db_file_exists(log->dirfd, DB_NAME) || db_file_exists(log->dirfd, DB_NAME "-wal"))
		return err_set(err, E_EXISTS, "the session has a log already; start another session");
	r = reserve_hold(log->dirfd, err);
	if (!r)
		r = build_database(log->dirfd, err);
	if (!r)
		r = connect_database(log, err);
	if (r) {
		err_prefix(err, "creating the log");
		return r;
	}
	*ret = steal_ptr(log);
	return 0;
}

int log_open(int dirfd, struct log **ret, struct err *err)
{
	_cleanup_log_ struct log *log = NULL;
	int r = start(dirfd, &log, err);

	if (r)
		return r;
	if (!db_file_exists(log->dirfd, DB_NAME))
		return err_set(err, E_NOTFOUND, "the session has no log; it never started");
	r = connect_database(log, err);
	if (r) {
		err_prefix(err, "opening the log");
		return r;
	}
	*ret = steal_ptr(log);
	return 0;
}

/* Each of these may fail for memory; a row with a NULL in it must never be the outcome. */
static int bind_event(sqlite3_stmt *stmt, const struct event *e)
{
	int bad = sqlite3_bind_int64(stmt, 1, e->seq);

	bad |= sqlite3_bind_int64(stmt, 2, e->time);
	bad |= sqlite3_bind_text(stmt, 3, e->kind, -1, SQLITE_STATIC);
	bad |= sqlite3_bind_text(stmt, 4, e->actor, -1, SQLITE_STATIC);
	bad |= e->ref ? sqlite3_bind_int64(stmt, 5, e->ref) : sqlite3_bind_null(stmt, 5);
	bad |= sqlite3_bind_int64(stmt, 6, e->len);
	bad |= sqlite3_bind_blob(stmt, 7, e->commitment, DIGEST_LEN, SQLITE_STATIC);
	bad |= sqlite3_bind_blob(stmt, 8, e->hash, DIGEST_LEN, SQLITE_STATIC);
	return bad;
}

static int bind_body(sqlite3_stmt *stmt, int64_t seq, const struct row_body *b)
{
	int bad = sqlite3_bind_int64(stmt, 1, seq);

	bad |= sqlite3_bind_blob(stmt, 2, b->salt, (int)b->salt_len, SQLITE_STATIC);
	bad |= sqlite3_bind_text(stmt, 3, b->preview, (int)b->preview_len, SQLITE_STATIC);
	bad |= sqlite3_bind_int64(stmt, 4, b->stored.codec);
	bad |= sqlite3_bind_blob(stmt, 5, b->stored.data, (int)b->stored.len, SQLITE_STATIC);
	return bad;
}

static int run(struct log *log, int which, struct err *err)
{
	int r = db_step(log->stmt[which], err);

	(void)sqlite3_reset(log->stmt[which]);
	return r;
}

static int store(struct log *log, const struct entry *entry, enum log_tier tier, struct err *err)
{
	int r = set_tier(log, tier, err);

	if (!r && (bind_event(log->stmt[ADD_EVENT], &entry->event) ||
		   bind_body(log->stmt[ADD_BODY], entry->event.seq, &entry->body)))
		r = err_set(err, E_NOMEM, "a value could not be handed to SQLite");
	for (int i = BEGIN; !r && i <= COMMIT; i++)
		r = run(log, i, err);
	if (!sqlite3_get_autocommit(log->db))
		(void)run(log, ROLLBACK, NULL);
	sqlite3_clear_bindings(log->stmt[ADD_EVENT]);
	sqlite3_clear_bindings(log->stmt[ADD_BODY]);
	return r;
}

/* Checks, encodes and stores.  *ret_tried tells a refused append from a refused entry. */
static int append(struct log *log, const struct log_entry *in, enum log_tier tier, bool *ret_tried, struct err *err)
{
	_cleanup_entry_ struct entry entry = ENTRY_INIT;
	int r = entry_make(in, log->seq, log->hash, &entry, err);

	*ret_tried = r != E_INVALID && r != E_LIMIT;
	if (!r)
		r = store(log, &entry, tier, err);
	if (r)
		return r;
	log->seq = entry.event.seq;
	memcpy(log->hash, entry.event.hash, DIGEST_LEN);
	return 0;
}

int log_append(struct log *log, const struct log_entry *entry, enum log_tier tier, int64_t *ret_seq, struct err *err)
{
	struct err why = { 0 };
	bool tried = false;

	if (log->broken.code)
		return err_set(err, log->broken.code, "the log takes no more events: %.700s", log->broken.text);
	int r = append(log, entry, tier, &tried, &why);
	if (!r) {
		*ret_seq = log->seq;
		return 0;
	}
	if (tried) {
		err_prefix(&why, "append refused");
		log->broken = why;
	}
	if (err)
		*err = why;
	return r;
}

int log_append_last(struct log *log, const struct log_entry *entry, int64_t *ret_seq, struct err *err)
{
	bool tried = false;
	unsigned bit = 0;

	if (log->broken.code != E_FULL)
		return err_set(err, E_DENIED, "only a log that ran into a full disk takes a last event");
	for (size_t i = 0; i < ARRAY_LEN(closing_kinds); i++)
		if (entry->kind && !strcmp(entry->kind, closing_kinds[i].kind))
			bit = closing_kinds[i].bit;
	if (!bit || bit <= log->closing)
		return err_set(err, E_DENIED, "the log takes no more events: %.700s", log->broken.text);

	reserve_release(log->dirfd);
	int r = append(log, entry, LOG_BARRIER, &tried, err);
	if (!r) {
		log->closing |= bit;
		*ret_seq = log->seq;
	} else if (tried) {
		log->closing = UINT_MAX;
	}
	return r;
}

int64_t log_head(const struct log *log, uint8_t ret_hash[DIGEST_LEN])
{
	memcpy(ret_hash, log->hash, DIGEST_LEN);
	return log->seq;
}

bool log_broken(const struct log *log)
{
	return log->broken.code != 0;
}
