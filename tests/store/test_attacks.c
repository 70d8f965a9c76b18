/*
 * SQL that changes a log, from C and from the sqlite3 shell: refused by the database itself.  The control of each: with
 * the triggers dropped the same SQL works, and verify finds what it did.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/store/store_test.h"

#define ROWS 12
#define COLUMNS "time, kind, actor, ref, len, commitment, hash"

/* What verify says when it worked; LOG_INTACT: it changes nothing. */
static const struct attack {
	const char *name, *sql;
	enum log_verdict verdict;
	int64_t seq;
} attacks[] = {
	{ "UPDATE event", "UPDATE event SET kind = 'x' WHERE seq = 5", LOG_ALTERED, 5 },
	{ "UPDATE event, every row", "UPDATE event SET time = time + 1", LOG_ALTERED, 1 },
	{ "UPDATE event seq", "UPDATE event SET seq = 99 WHERE seq = 5", LOG_REORDERED, 5 },
	{ "UPDATE OR REPLACE event", "UPDATE OR REPLACE event SET seq = 6 WHERE seq = 5", LOG_REORDERED, 5 },
	{ "UPDATE OR IGNORE event", "UPDATE OR IGNORE event SET actor = 'operator' WHERE seq = 12", LOG_ALTERED, 12 },
	{ "reorder",
	  "UPDATE event SET seq = -5 WHERE seq = 5; UPDATE event SET seq = 5 WHERE seq = 6; "
	  "UPDATE event SET seq = 6 WHERE seq = -5",
	  LOG_REORDERED, 5 },
	{ "DELETE a row", "DELETE FROM event WHERE seq = 5", LOG_TRUNCATED, 5 },
	{ "DELETE the first row", "DELETE FROM event WHERE seq = 1", LOG_TRUNCATED, 1 },
	{ "DELETE the last row", "DELETE FROM event WHERE seq = 12", LOG_TRUNCATED, 12 },
	{ "DELETE all", "DELETE FROM event", LOG_TRUNCATED, 1 },
	{ "REPLACE event",
	  "REPLACE INTO event SELECT 5, time + 1, kind, actor, ref, len, commitment, hash FROM event WHERE seq = 5",
	  LOG_ALTERED, 5 },
	{ "INSERT OR REPLACE event", "INSERT OR REPLACE INTO event SELECT 7, " COLUMNS " FROM event WHERE seq = 5",
	  LOG_ALTERED, 7 },
	{ "INSERT OR IGNORE event", "INSERT OR IGNORE INTO event SELECT 5, " COLUMNS " FROM event WHERE seq = 6",
	  LOG_INTACT, 0 },
	{ "upsert event",
	  "INSERT INTO event SELECT 5, " COLUMNS " FROM event WHERE seq = 6 "
	  "ON CONFLICT(seq) DO UPDATE SET kind = 'x'",
	  LOG_ALTERED, 5 },
	{ "upsert event, nothing",
	  "INSERT INTO event SELECT 5, " COLUMNS " FROM event WHERE seq = 6 ON CONFLICT DO NOTHING", LOG_INTACT, 0 },
	{ "a gap", "INSERT INTO event SELECT 14, " COLUMNS " FROM event WHERE seq = 5", LOG_TRUNCATED, 13 },
	{ "seq 0", "INSERT INTO event SELECT 0, " COLUMNS " FROM event WHERE seq = 5", LOG_ALTERED, 0 },
	{ "seq -1", "INSERT INTO event SELECT -1, " COLUMNS " FROM event WHERE seq = 5", LOG_ALTERED, 0 },
	{ "no seq", "INSERT INTO event(time) VALUES (1)", LOG_ALTERED, 13 },
	{ "UPDATE body data", "UPDATE body SET data = x'7b7d' WHERE seq = 5", LOG_ALTERED, 5 },
	{ "UPDATE body preview", "UPDATE body SET preview = 'harmless' WHERE seq = 5", LOG_ALTERED, 5 },
	{ "UPDATE body seq", "UPDATE body SET seq = 99 WHERE seq = 5", LOG_ALTERED, 5 },
	{ "DELETE body", "DELETE FROM body WHERE seq = 5", LOG_ALTERED, 5 },
	{ "DELETE all bodies", "DELETE FROM body", LOG_ALTERED, 1 },
	{ "REPLACE body", "REPLACE INTO body SELECT 5, salt, preview, codec, data FROM body WHERE seq = 6", LOG_ALTERED,
	  5 },
	{ "REPLACE the newest body", "REPLACE INTO body SELECT 12, salt, preview, codec, data FROM body WHERE seq = 6",
	  LOG_ALTERED, 12 },
	{ "INSERT OR REPLACE body",
	  "INSERT OR REPLACE INTO body SELECT 12, salt, 'x', codec, data FROM body WHERE seq = 12", LOG_ALTERED, 12 },
	{ "INSERT OR IGNORE body",
	  "INSERT OR IGNORE INTO body SELECT 5, salt, preview, codec, data FROM body WHERE seq = 6", LOG_INTACT, 0 },
	{ "upsert body",
	  "INSERT INTO body SELECT 12, salt, preview, codec, data FROM body WHERE seq = 6 "
	  "ON CONFLICT(seq) DO UPDATE SET preview = 'x'",
	  LOG_ALTERED, 12 },
	{ "a body without its event", "INSERT INTO body SELECT 13, salt, preview, codec, data FROM body WHERE seq = 6",
	  LOG_TRUNCATED, 13 },
	{ "bodies swapped",
	  "UPDATE body SET seq = -5 WHERE seq = 5; UPDATE body SET seq = 5 WHERE seq = 6; "
	  "UPDATE body SET seq = 6 WHERE seq = -5",
	  LOG_ALTERED, 5 },
	{ "an erasure that nobody logged", "DELETE FROM body WHERE seq IN (SELECT seq FROM event WHERE ref = 1)",
	  LOG_ALTERED, 2 },
};

static struct home home;

/* ROWS events of which the second answers the first. */
static int make_victim(void)
{
	int dirfd = session_make(&home, NULL);
	struct log *log = log_made(dirfd);

	add(log, "session.created", 0, "{\"workspace\":\"/w\"}", LOG_NORMAL);
	for (int i = 2; i <= ROWS; i++) {
		char body[100];
		snprintf(body, sizeof(body), "{\"content\":\"event %d\"}", i);
		add(log, "agent.message", i == 2 ? 1 : 0, body, LOG_NORMAL);
	}
	log_close(&log);
	return dirfd;
}

static int64_t fingerprint(int dirfd)
{
	return sql_int(
		dirfd,
		"SELECT sum(event.seq * event.time) + sum(length(kind) * 7) + sum(body.seq * 31 * length(data)) + "
		"sum(unicode(hex(salt))) + count(*) + sum(length(preview)) FROM event LEFT JOIN body USING(seq)");
}

static int shell(int dirfd, const char *sql, char *output, size_t size)
{
	char path[TEST_PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s/log.db", folder_path(dirfd));
	const char *argv[] = { "sqlite3", "-batch", "-bail", path, NULL };
	return run_program(argv, sql, output, size);
}

static void check_refused(int dirfd, bool have_shell)
{
	char why[1000], sql[1000];
	int64_t before = fingerprint(dirfd);

	for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++) {
		const struct attack *a = &attacks[i];

		int rc = sql_try(dirfd, a->sql, why, sizeof(why));
		ok(rc == SQLITE_CONSTRAINT && strstr(why, "append-only"), "%s: refused: %s", a->name, why);
		snprintf(sql, sizeof(sql), "PRAGMA recursive_triggers = ON; %s", a->sql);
		is_int(sql_try(dirfd, sql, NULL, 0), SQLITE_CONSTRAINT, "%s: refused with recursive_triggers", a->name);
		if (!have_shell) {
			skip("%s from the shell: there is no sqlite3 shell here", a->name);
			continue;
		}
		int status = shell(dirfd, a->sql, why, sizeof(why));
		ok(status != 0 && strstr(why, "append-only"), "%s: refused from the shell", a->name);
	}
	is_int(sql_try(dirfd, "INSERT INTO event SELECT 13, " COLUMNS " FROM event WHERE seq IN (5, 6)", NULL, 0),
	       SQLITE_CONSTRAINT, "a statement of two rows whose second is refused is refused whole");
	is_int(fingerprint(dirfd), before, "nothing changed");
	verdict_is(dirfd, LOG_INTACT, 0, "after every attack");
}

static void check_controls(int victim)
{
	for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++) {
		const struct attack *a = &attacks[i];
		int dirfd = session_copy(&home, victim, NULL);

		sql_without_triggers(dirfd, a->sql);
		char what[200];
		snprintf(what, sizeof(what), "%s, triggers dropped", a->name);
		verdict_is(dirfd, a->verdict, a->seq, what);
		session_end(dirfd);
	}
}

/* A well-formed row goes in through plain SQL as well: the triggers refuse what is no append, and nothing else. */
static void check_positive(int victim)
{
	int dirfd = session_copy(&home, victim, NULL);

	is_int(sql_try(dirfd,
		       "INSERT INTO event SELECT 13, " COLUMNS " FROM event WHERE seq = 5; "
		       "INSERT INTO body SELECT 13, salt, preview, codec, data FROM body WHERE seq = 5",
		       NULL, 0),
	       SQLITE_OK, "control: seq 13 and its body are taken");
	verdict_is(dirfd, LOG_ALTERED, 13, "a row that does not follow in the chain");
	session_end(dirfd);

	struct err err = { 0 };
	struct log *log;
	is_int(log_open(victim, &log, &err), 0, "control: the victim opens");
	is_int(add(log, "user.message", 0, "{}", LOG_NORMAL), ROWS + 1, "and takes an append");
	log_close(&log);
	is_int(sql_try(victim, "VACUUM", NULL, 0), SQLITE_OK, "VACUUM changes no row");
	verdict_is(victim, LOG_INTACT, 0, "after VACUUM");
}

static void check_erasure(void)
{
	int dirfd = make_victim();
	struct log *log = log_opened(dirfd);
	struct log_reader *r = NULL;
	struct log_report report;
	struct event e;
	struct err err = { 0 };

	is_int(sql_try(dirfd, "DELETE FROM body WHERE seq = 5", NULL, 0), SQLITE_CONSTRAINT,
	       "no erasure before log.erased");
	add(log, "log.erased", 5, "{\"request\":\"r\"}", LOG_BARRIER);
	is_int(sql_try(dirfd, "DELETE FROM body WHERE seq = 6", NULL, 0), SQLITE_CONSTRAINT,
	       "log.erased of 5 does not free 6");
	is_int(sql_try(dirfd, "DELETE FROM body", NULL, 0), SQLITE_CONSTRAINT, "nor everything");
	is_int(sql_try(dirfd, "UPDATE body SET data = x'7b7d' WHERE seq = 5", NULL, 0), SQLITE_CONSTRAINT,
	       "nor a change of 5");
	verdict_is(dirfd, LOG_INTACT, 0, "erased in the log, body still there");
	is_int(sql_try(dirfd, "DELETE FROM body WHERE seq = 5", NULL, 0), SQLITE_OK, "the erased body can go");
	is_int(sql_try(dirfd, "INSERT INTO body SELECT 5, salt, preview, codec, data FROM body WHERE seq = 6", NULL, 0),
	       SQLITE_CONSTRAINT, "and nothing takes its place");
	verdict_is(dirfd, LOG_INTACT, 0, "a log with an erased body");
	log_verify(dirfd, &report);
	is_int(report.erased, 1, "one is erased");
	is_int(report.events, ROWS + 1, "every event is there");
	is_int(add(log, "user.message", 0, "{}", LOG_NORMAL), ROWS + 2, "the writer goes on");
	log_close(&log);
	log = log_opened(dirfd);
	log_close(&log);

	is_int(log_reader_open(dirfd, &r, &err), 0, "a reader opens");
	is_int(log_reader_get(r, 5, &e, &err), 0, "the row is read");
	ok(!e.body && !e.preview && e.body_len == 0 && e.len > 0, "without body and preview, with its length");
	log_reader_close(&r);
	sql_without_triggers(dirfd, "DELETE FROM body WHERE seq = 6");
	verdict_is(dirfd, LOG_ALTERED, 6, "a second body gone without a word");
	session_end(dirfd);
}

/* What triggers cannot refuse is at least seen. */
static void check_schema(int victim)
{
	static const struct {
		const char *sql;
		enum log_verdict verdict;
	} changes[] = {
		{ "DROP TRIGGER event_append", LOG_ALTERED },
		{ "DROP TRIGGER event_update", LOG_ALTERED },
		{ "DROP TRIGGER event_delete", LOG_ALTERED },
		{ "DROP TRIGGER body_append", LOG_ALTERED },
		{ "DROP TRIGGER body_update", LOG_ALTERED },
		{ "DROP TRIGGER body_delete", LOG_ALTERED },
		{ "DROP TRIGGER event_update; "
		  "CREATE TRIGGER event_update BEFORE UPDATE ON event WHEN 0 BEGIN SELECT 1; END",
		  LOG_ALTERED },
		{ "CREATE INDEX i ON event(kind)", LOG_ALTERED },
		{ "CREATE TABLE t(x)", LOG_ALTERED },
		{ "CREATE VIEW v AS SELECT 1", LOG_ALTERED },
		{ "ALTER TABLE event ADD COLUMN extra TEXT", LOG_ALTERED },
		{ "ALTER TABLE event RENAME TO other", LOG_ALTERED },
		{ "PRAGMA application_id = 1", LOG_ALTERED },
		{ "PRAGMA user_version = 0", LOG_ALTERED },
		{ "PRAGMA writable_schema = ON; "
		  "UPDATE sqlite_schema SET sql = replace(sql, 'STRICT', '') WHERE name = 'body'",
		  LOG_ALTERED },
		{ "DROP TRIGGER body_append; DROP TRIGGER body_update; DROP TRIGGER body_delete; DROP TABLE body",
		  LOG_ALTERED },
	};

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		int dirfd = session_copy(&home, victim, NULL);
		struct log_report r;

		sql_must(dirfd, changes[i].sql);
		log_verify(dirfd, &r);
		ok(r.verdict == changes[i].verdict && !r.claims[0].ok && !r.seq, "%s: %s: %s", changes[i].sql,
		   log_verdict_name(r.verdict), r.claims[0].why);
		session_end(dirfd);
	}
}

int main(void)
{
	random_seed();
	home_make(&home);
	int victim = make_victim();
	check_refused(victim, have_program("sqlite3"));
	check_controls(victim);
	check_schema(victim);
	check_positive(victim);
	check_erasure();
	close(victim);
	home_end(&home);
	return tap_end();
}
