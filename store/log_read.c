#include "store/log_read.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "store/read_db.h"
#include "store/row.h"
#include "store/schema.h"

enum { LAST, LAST_OF, GET, EACH, STATEMENTS };

#define SELECT_ROW "SELECT " ROW_EVENT ", " ROW_BODY " FROM event LEFT JOIN body ON body.seq = event.seq "

static const char *const sql[STATEMENTS] = {
	[LAST] = "SELECT ifnull(max(seq), 0) FROM event",
	[LAST_OF] = SELECT_ROW "WHERE event.seq < ?1 AND substr(event.kind, 1, length(?2)) = ?2 "
			       "ORDER BY event.seq DESC LIMIT 1",
	[GET] = SELECT_ROW "WHERE event.seq = ?1",
	[EACH] = SELECT_ROW "WHERE event.seq > ?1 ORDER BY event.seq",
};

/* Room for one row: its words, its preview and its body. */
#define TEXT_MAX ((size_t)EVENT_BODY_MAX + (1u << 20))

struct log_reader {
	int dirfd;
	struct read_db db;
	sqlite3_stmt *stmt[STATEMENTS];
	struct buf text; /* what the event handed out last points to */
};

static void disconnect(struct log_reader *r)
{
	for (size_t i = 0; i < STATEMENTS; i++)
		stmt_free(&r->stmt[i]);
	read_db_close(&r->db);
}

static int reconnect(struct log_reader *r, struct err *err)
{
	disconnect(r);
	int rc = read_db_open(r->dirfd, &r->db, err);
	if (!rc)
		rc = schema_check(r->db.db, SCHEMA_TABLES, err);
	for (size_t i = 0; !rc && i < STATEMENTS; i++)
		rc = db_prepare(r->db.db, sql[i], &r->stmt[i], err);
	if (rc)
		err_prefix(err, "reading the log");
	return rc;
}

int log_reader_open(int dirfd, struct log_reader **ret, struct err *err)
{
	_cleanup_log_reader_ struct log_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return err_set(err, E_NOMEM, "log reader: out of memory");
	r->text.max = TEXT_MAX;
	r->dirfd = openat(dirfd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (r->dirfd < 0)
		return err_errno(err, E_IO, errno, "cannot open the session's folder");
	int rc = reconnect(r, err);
	if (!rc)
		*ret = steal_ptr(r);
	return rc;
}

void log_reader_close(struct log_reader **reader)
{
	struct log_reader *r = *reader;

	if (!r)
		return;
	disconnect(r);
	buf_free(&r->text);
	fd_close(&r->dirfd);
	free(r);
	*reader = NULL;
}

/* Copies what the row points to, so that the statement (and with it the snapshot) can be let go. */
static int keep(struct log_reader *r, struct event *e, struct row_body *b, struct err *err)
{
	size_t actor, preview, body = 0;

	buf_reset(&r->text);
	buf_add(&r->text, e->kind, strlen(e->kind) + 1);
	actor = r->text.len;
	buf_add(&r->text, e->actor, strlen(e->actor) + 1);
	preview = r->text.len;
	if (b) {
		buf_add(&r->text, b->preview, b->preview_len + 1);
		body = r->text.len;
		int rc = body_decode(&b->stored, e->len, &r->text, err);
		if (rc)
			return rc;
	}
	int rc = buf_check(&r->text, "event", err);
	if (rc)
		return rc;
	e->kind = r->text.data;
	e->actor = r->text.data + actor;
	if (b) {
		e->preview = r->text.data + preview;
		e->body = r->text.data + body;
		e->body_len = r->text.len - body;
	}
	return 0;
}

static int take_row(struct log_reader *r, sqlite3_stmt *stmt, struct event *ret, struct err *err)
{
	struct event e;
	struct row_body b;
	const char *bad = row_event(stmt, 0, &e);
	bool erased = sqlite3_column_type(stmt, ROW_EVENT_COLUMNS) == SQLITE_NULL;

	if (!bad && !erased)
		bad = row_body(stmt, ROW_EVENT_COLUMNS, &b);
	int rc = bad ? err_set(err, E_CORRUPT, "column %s is damaged", bad) : keep(r, &e, erased ? NULL : &b, err);
	if (rc) {
		err_prefix(err, "seq %lld", sqlite3_column_int64(stmt, 0));
		return rc;
	}
	*ret = e;
	return 1;
}

/* A reader whose last attempt to connect failed tries again. */
static int ready(struct log_reader *r, struct err *err)
{
	return r->db.db ? 0 : reconnect(r, err);
}

/* 1: a writer came while this was read; there is a new connection, read it again. */
static int moved(struct log_reader *r, struct err *err)
{
	if (!r->db.db || !read_db_stale(r->dirfd, &r->db))
		return 0;
	int rc = reconnect(r, err);
	return rc ? rc : 1;
}

static int read_last(struct log_reader *r, int64_t *ret_seq, struct err *err)
{
	int rc = ready(r, err);

	if (rc)
		return rc;
	_cleanup_reset_ sqlite3_stmt *stmt = r->stmt[LAST];
	rc = db_step(stmt, err);
	if (rc == 1)
		*ret_seq = sqlite3_column_int64(stmt, 0);
	return rc;
}

static int read_row(struct log_reader *r, int which, int64_t seq, const char *kind, struct event *ret, struct err *err)
{
	int rc = ready(r, err);

	if (rc)
		return rc;
	_cleanup_reset_ sqlite3_stmt *stmt = r->stmt[which];
	sqlite3_bind_int64(stmt, 1, seq);
	if (kind)
		sqlite3_bind_text(stmt, 2, kind, -1, SQLITE_TRANSIENT);
	rc = db_step(stmt, err);
	return rc == 1 ? take_row(r, stmt, ret, err) : rc;
}

/* Delivers until the end, or until `each` says stop: *ret_stop. */
static int read_rows(struct log_reader *r, int64_t *after, int (*each)(const struct event *e, void *arg), void *arg,
		     int *ret_stop, struct err *err)
{
	int rc = ready(r, err);

	if (rc)
		return rc;
	_cleanup_reset_ sqlite3_stmt *stmt = r->stmt[EACH];
	sqlite3_bind_int64(stmt, 1, *after);
	while ((rc = db_step(stmt, err)) == 1) {
		struct event e;

		rc = take_row(r, stmt, &e, err);
		if (rc < 0 || read_db_stale(r->dirfd, &r->db))
			break;
		*after = e.seq;
		*ret_stop = each(&e, arg);
		if (*ret_stop)
			break;
	}
	return rc;
}

static int find_row(struct log_reader *r, int which, int64_t seq, const char *kind, struct event *ret, struct err *err)
{
	int rc, again;

	do {
		rc = read_row(r, which, seq, kind, ret, err);
		again = moved(r, err);
	} while (again == 1);
	return again ? again : rc;
}

int log_reader_last(struct log_reader *r, int64_t *ret_seq, struct err *err)
{
	int rc, again;

	do {
		rc = read_last(r, ret_seq, err);
		again = moved(r, err);
	} while (again == 1);
	return again ? again : rc < 0 ? rc : 0;
}

int log_reader_get(struct log_reader *r, int64_t seq, struct event *ret, struct err *err)
{
	int rc = find_row(r, GET, seq, NULL, ret, err);

	if (!rc)
		return err_set(err, E_NOTFOUND, "the log has no seq %" PRId64, seq);
	return rc < 0 ? rc : 0;
}

int log_reader_last_of(struct log_reader *r, const char *kind_prefix, int64_t before, struct event *ret,
		       struct err *err)
{
	int rc = find_row(r, LAST_OF, before ? before : INT64_MAX, kind_prefix, ret, err);

	if (!rc)
		return err_set(err, E_NOTFOUND, "the log has no event %s", kind_prefix);
	return rc < 0 ? rc : 0;
}

int log_reader_each(struct log_reader *r, int64_t after, int (*each)(const struct event *e, void *arg), void *arg,
		    struct err *err)
{
	int rc, again, stop = 0;

	do {
		rc = read_rows(r, &after, each, arg, &stop, err);
		again = stop ? 0 : moved(r, err);
	} while (again == 1);
	if (stop)
		return stop;
	return again ? again : rc < 0 ? rc : 0;
}
