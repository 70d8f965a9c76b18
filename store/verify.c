#include "store/verify.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "store/origin.h"
#include "store/read_db.h"
#include "store/row.h"
#include "store/schema.h"

enum claim { SCHEMA, SEQUENCE, COMMITMENTS, CHAIN, HEAD, CLAIMS };

static const char *const claim_names[CLAIMS] = {
	[SCHEMA] = "schema", [SEQUENCE] = "sequence", [COMMITMENTS] = "commitments", [CHAIN] = "chain", [HEAD] = "head",
};

static const char *const verdict_names[] = {
	[LOG_INTACT] = "intact",       [LOG_ALTERED] = "altered", [LOG_TRUNCATED] = "truncated",
	[LOG_REORDERED] = "reordered", [LOG_SPLICED] = "spliced", [LOG_WRONG_KEY] = "wrong_key",
	[LOG_UNREADABLE] = "unreadable",
};

struct scan {
	sqlite3 *db;
	int dirfd;
	struct log_report *ret;
	sqlite3_stmt *events, *body;
	sqlite3_stmt *erased; /* seqs that an event log.erased answers, ascending */
	int64_t erased_seq;   /* the one it stands at; INT64_MAX behind the last */
	int64_t next;         /* seq that the next row must have */
	uint8_t prev[DIGEST_LEN];
	int64_t newest, bodies;
	bool stopped; /* could not read on */
};

const char *log_verdict_name(enum log_verdict v)
{
	return verdict_names[v];
}

/* A claim fails once, by its first row; the verdict is that of the first bad row over all claims. */
static void note(struct scan *s, enum claim which, enum log_verdict verdict, int64_t seq, const char *fmt, ...)
	PRINTF_LIKE(5, 6);
static void note(struct scan *s, enum claim which, enum log_verdict verdict, int64_t seq, const char *fmt, ...)
{
	struct log_report *ret = s->ret;
	struct log_claim *c = &ret->claims[which];

	if (ret->verdict == LOG_INTACT || (seq && (!ret->seq || seq < ret->seq))) {
		ret->verdict = verdict;
		ret->seq = seq;
	}
	if (!c->ok)
		return;
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(c->why, sizeof(c->why), fmt, ap);
	va_end(ap);
	c->ok = false;
	c->seq = seq;
}

static void prove(struct scan *s, enum claim which, const char *fmt, ...) PRINTF_LIKE(3, 4);
static void prove(struct scan *s, enum claim which, const char *fmt, ...)
{
	struct log_claim *c = &s->ret->claims[which];
	va_list ap;

	if (!c->ok)
		return;
	va_start(ap, fmt);
	vsnprintf(c->why, sizeof(c->why), fmt, ap);
	va_end(ap);
}

static void unreadable(struct scan *s, enum claim which, int64_t seq, const struct err *err)
{
	note(s, which, LOG_UNREADABLE, seq, "%.200s", err->text);
	s->stopped = true;
}

static bool says_corrupt(sqlite3 *db)
{
	int rc = sqlite3_errcode(db) & 0xff;

	return rc == SQLITE_CORRUPT || rc == SQLITE_NOTADB;
}

static void check_schema(struct scan *s)
{
	struct err err = { 0 };
	int r = schema_check(s->db, SCHEMA_ALL, &err);

	if (!r) {
		prove(s, SCHEMA, "tables and triggers are warder's, format version %d", EVENT_FORMAT_VERSION);
	} else if (r != E_CORRUPT || says_corrupt(s->db)) {
		/* Among these is a newer version (E_INVALID): by its rules what follows here may be wrong. */
		unreadable(s, SCHEMA, 0, &err);
	} else {
		note(s, SCHEMA, LOG_ALTERED, 0, "%.200s", err.text);
		/* Without triggers the rows still say all; tables that are not ours could say anything. */
		s->stopped = schema_check(s->db, SCHEMA_TABLES, NULL) != 0;
	}
}

static int next_erased(struct scan *s, struct err *err)
{
	int r = db_step(s->erased, err);

	if (r >= 0)
		s->erased_seq = r ? sqlite3_column_int64(s->erased, 0) : INT64_MAX;
	return r < 0 ? r : 0;
}

/* A body that is absent must have been erased by an event that says so. */
static int check_absent_body(struct scan *s, int64_t seq, struct err *err)
{
	int r = 0;

	while (!r && s->erased_seq < seq)
		r = next_erased(s, err);
	if (r)
		return r;
	if (s->erased_seq == seq)
		s->ret->erased++;
	else
		note(s, COMMITMENTS, LOG_ALTERED, seq, "the body is gone and no log.erased answers it");
	return 0;
}

/* Negative when the table cannot be read there. */
static int check_body(struct scan *s, const struct event *e, struct err *err)
{
	_cleanup_reset_ sqlite3_stmt *body = s->body;
	struct row_body b;
	uint8_t commitment[DIGEST_LEN];

	sqlite3_bind_int64(body, 1, e->seq);
	int r = db_step(body, err);
	if (r <= 0)
		return r ? r : check_absent_body(s, e->seq, err);

	s->bodies++;
	const char *bad = row_body(body, 0, &b);
	if (bad) {
		note(s, COMMITMENTS, LOG_ALTERED, e->seq, "column body.%s has a form that warder does not write", bad);
		return 0;
	}
	row_commit(&b, commitment);
	if (memcmp(commitment, e->commitment, DIGEST_LEN))
		note(s, COMMITMENTS, LOG_ALTERED, e->seq, "the body is not the one that was committed to");
	else if (b.stored.codec == EVENT_PLAIN && e->len != (int64_t)b.stored.len)
		note(s, COMMITMENTS, LOG_ALTERED, e->seq, "the body has not the length that was committed to");
	return 0;
}

/* The row that must follow s->prev as `seq` is not there, or another one is. */
static void explain(struct scan *s, enum claim which, int64_t seq, const struct event *e)
{
	char session[ID_LEN + 1];
	int64_t at;

	/* Only the first bad row decides the verdict, and only there is s->prev known to be good. */
	if (s->ret->seq) {
		note(s, which, LOG_ALTERED, seq, "the chain is broken here too");
	} else if (origin_elsewhere(s->db, s->prev, seq, &at)) {
		note(s, which, LOG_REORDERED, seq, "the row that belongs here stands at seq %" PRId64, at);
	} else if (!e) {
		note(s, which, LOG_TRUNCATED, seq, "rows are missing from here on");
	} else if (origin_session(s->dirfd, e, session)) {
		note(s, which, LOG_SPLICED, seq, "this row is that of session %s", session);
	} else {
		note(s, which, LOG_ALTERED, seq, "the row, or its hash, is not what was written");
	}
}

static void check_row(struct scan *s)
{
	struct event e;
	uint8_t hash[DIGEST_LEN];
	struct err err = { 0 };
	int64_t seq = sqlite3_column_int64(s->events, 0);
	const char *bad = row_event(s->events, 0, &e);

	s->ret->events++;
	s->newest = seq;
	if (seq > s->next)
		explain(s, SEQUENCE, s->next, NULL);
	s->next = seq + 1;
	if (bad) {
		note(s, CHAIN, LOG_ALTERED, seq, "column event.%s has a form that warder does not write", bad);
		return;
	}
	event_hash(s->prev, &e, hash);
	if (memcmp(hash, e.hash, DIGEST_LEN))
		explain(s, CHAIN, seq, &e);
	/* On with the hash that is stored: it tells one bad row from all that follow it. */
	memcpy(s->prev, e.hash, DIGEST_LEN);
	if (check_body(s, &e, &err))
		unreadable(s, COMMITMENTS, seq, &err);
}

static int prepare(struct scan *s, struct err *err)
{
	int r = db_prepare(s->db, "SELECT " ROW_EVENT " FROM event WHERE event.seq >= 1 ORDER BY event.seq", &s->events,
			   err);

	if (!r)
		r = db_prepare(s->db, "SELECT " ROW_BODY " FROM body WHERE body.seq = ?1", &s->body, err);
	if (!r)
		r = db_prepare(s->db,
			       "SELECT DISTINCT ref FROM event WHERE kind = 'log.erased' AND ref < seq ORDER BY ref",
			       &s->erased, err);
	return r;
}

static void check_rows(struct scan *s)
{
	struct err err = { 0 };
	int r = prepare(s, &err);

	while (!r && !s->stopped && (r = db_step(s->events, &err)) == 1) {
		check_row(s);
		r = 0;
	}
	if (r < 0)
		unreadable(s, CHAIN, s->next, &err);
}

/* Negative when it failed, 1 when there is such a row. */
static int find_seq(struct scan *s, const char *sql, int64_t *ret_seq, struct err *err)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = db_prepare(s->db, sql, &stmt, err);

	if (!r)
		r = db_step(stmt, err);
	if (r == 1)
		*ret_seq = sqlite3_column_int64(stmt, 0);
	return r;
}

/* Rows where none can be, and bodies that no event owns. */
static void check_strays(struct scan *s)
{
	struct err err = { 0 };
	int64_t seq, total = 0;
	int r = find_seq(s, "SELECT seq FROM event WHERE seq < 1 LIMIT 1", &seq, &err);

	if (r == 1)
		note(s, SEQUENCE, LOG_ALTERED, 0, "a row stands at seq %" PRId64, seq);
	if (r >= 0)
		r = db_get_int(s->db, "SELECT count(*) FROM body", &total, &err);
	if (!r && total != s->bodies)
		r = find_seq(s, "SELECT seq FROM body WHERE seq NOT IN (SELECT seq FROM event) ORDER BY seq LIMIT 1",
			     &seq, &err);
	if (r < 0)
		unreadable(s, COMMITMENTS, s->next, &err);
	else if (r == 1 && seq > s->newest)
		note(s, SEQUENCE, LOG_TRUNCATED, seq,
		     "a body stands here without its event: events are missing from the end, or it was put there");
	else if (r == 1)
		note(s, COMMITMENTS, LOG_ALTERED, seq, "there is a body without its event");
}

static void conclude(struct scan *s)
{
	struct log_report *ret = s->ret;
	char hex[DIGEST_HEX_LEN + 1];

	for (enum claim i = 0; s->stopped && i < CLAIMS; i++)
		if (i != SCHEMA)
			note(s, i, ret->verdict, 0, "not proven: the log was not read beyond seq %" PRId64, s->newest);
	prove(s, SEQUENCE, "seq 1 to %" PRId64 " without a gap", ret->events);
	prove(s, COMMITMENTS, "%" PRId64 " bodies are those that were committed to, %" PRId64 " erased", s->bodies,
	      ret->erased);
	prove(s, CHAIN, "every hash covers its row and the hash before it");
	prove(s, HEAD, "newest hash %s; not anchored: rows removed from the end cannot be seen",
	      ret->events ? digest_hex(s->prev, hex) : "none");
	if (ret->claims[HEAD].ok)
		ret->claims[HEAD].seq = s->newest;
}

static void start_report(struct log_report *ret)
{
	*ret = (struct log_report){ .verdict = LOG_INTACT };
	for (size_t i = 0; i < CLAIMS; i++)
		ret->claims[i] = (struct log_claim){ .claim = claim_names[i], .ok = true };
	ret->nclaims = CLAIMS;
}

void verify_database(sqlite3 *db, int dirfd, struct log_report *ret)
{
	struct scan s = { .db = db, .dirfd = dirfd, .ret = ret, .next = 1 };
	struct err err = { 0 };

	start_report(ret);
	/* One snapshot for all that is read. */
	if (db_exec(db, "BEGIN", &err))
		unreadable(&s, SCHEMA, 0, &err);
	else
		check_schema(&s);
	if (!s.stopped)
		check_rows(&s);
	if (!s.stopped)
		check_strays(&s);
	conclude(&s);
	stmt_free(&s.events);
	stmt_free(&s.body);
	stmt_free(&s.erased);
	if (!sqlite3_get_autocommit(db))
		(void)sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
}

void log_verify(int dirfd, struct log_report *ret)
{
	bool again;

	do {
		_cleanup_read_db_ struct read_db r = { 0 };
		struct err err = { 0 };

		if (read_db_open(dirfd, &r, &err)) {
			struct scan s = { .ret = ret };

			start_report(ret);
			unreadable(&s, SCHEMA, 0, &err);
			conclude(&s);
			return;
		}
		verify_database(r.db, dirfd, ret);
		again = read_db_stale(dirfd, &r);
	} while (again);
}
