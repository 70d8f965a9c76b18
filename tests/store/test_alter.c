/* Single bytes changed at random places, rows moved, cut and brought from elsewhere: found, with the first bad seq. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/store/store_test.h"

#define ROWS 60
#define ALTERATIONS 150 /* at least a hundred, spread over the columns */
#define FLIPS 150

static struct home home;

static const struct column {
	const char *table, *name, *cast; /* the type back from the bytes */
} columns[] = {
	{ "event", "time", "INTEGER" },    { "event", "kind", "TEXT" }, { "event", "actor", "TEXT" },
	{ "event", "ref", "INTEGER" },     { "event", "len", "INTEGER" }, { "event", "commitment", NULL },
	{ "event", "hash", NULL },         { "body", "salt", NULL },    { "body", "preview", "TEXT" },
	{ "body", "codec", "INTEGER" },    { "body", "data", NULL },
};

/* The bytes that are stored: of an integer its digits, which are changed into other digits. */
static size_t get_bytes(int dirfd, const struct column *c, int64_t seq, uint8_t *ret, size_t size)
{
	char sql[200], path[TEST_PATH_MAX + 16];
	sqlite3 *db;
	sqlite3_stmt *stmt;
	size_t n = 0;

	snprintf(path, sizeof(path), "%s/log.db", folder_path(dirfd));
	snprintf(sql, sizeof(sql), "SELECT CAST(%s AS BLOB) FROM %s WHERE seq = %lld", c->name, c->table,
		 (long long)seq);
	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
	    sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK) {
		if (sqlite3_step(stmt) == SQLITE_ROW && (size_t)sqlite3_column_bytes(stmt, 0) <= size) {
			n = (size_t)sqlite3_column_bytes(stmt, 0);
			if (n)
				memcpy(ret, sqlite3_column_blob(stmt, 0), n);
		}
		sqlite3_finalize(stmt);
	}
	sqlite3_close(db);
	return n;
}

static void set_bytes(int dirfd, const struct column *c, int64_t seq, const uint8_t *bytes, size_t n)
{
	static char sql[300000];
	size_t at = (size_t)snprintf(sql, sizeof(sql), "UPDATE %s SET %s = CAST(x'", c->table, c->name);

	for (size_t i = 0; i < n; i++)
		at += (size_t)snprintf(sql + at, sizeof(sql) - at, "%02x", bytes[i]);
	/* Integers by way of their text. */
	if (c->cast && !strcmp(c->cast, "INTEGER"))
		snprintf(sql + at, sizeof(sql) - at, "' AS TEXT) + 0 WHERE seq = %lld", (long long)seq);
	else
		snprintf(sql + at, sizeof(sql) - at, "' AS %s) WHERE seq = %lld", c->cast ? c->cast : "BLOB",
			 (long long)seq);
	sql_must(dirfd, sql);
}

static void alter_one(int dirfd, const struct column *c)
{
	static uint8_t bytes[100000];
	char what[200];
	int64_t seq;
	size_t n;

	do {
		seq = 1 + random_below(ROWS);
		n = get_bytes(dirfd, c, seq, bytes, sizeof(bytes));
	} while (!n);
	size_t at = random_below((uint32_t)n);
	uint8_t old = bytes[at];
	if (c->cast && !strcmp(c->cast, "INTEGER"))
		bytes[at] = (uint8_t)('1' + (old - '0' + random_below(8)) % 9); /* never a leading zero */
	else
		bytes[at] ^= (uint8_t)(1u << random_below(8));
	if (bytes[at] == old)
		bytes[at] = (uint8_t)(old == '9' ? '1' : old + 1);

	set_bytes(dirfd, c, seq, bytes, n);
	snprintf(what, sizeof(what), "%s.%s of %lld, byte %zu, %02x to %02x", c->table, c->name, (long long)seq, at,
		 old, bytes[at]);
	verdict_is(dirfd, LOG_ALTERED, seq, what);
	bytes[at] = old;
	set_bytes(dirfd, c, seq, bytes, n);
}

static void check_alterations(int victim)
{
	int dirfd = session_copy(&home, victim, NULL);
	struct log_report r;

	drop_triggers(dirfd);
	for (size_t i = 0; i < ALTERATIONS; i++)
		alter_one(dirfd, &columns[i % (sizeof(columns) / sizeof(columns[0]))]);
	log_verify(dirfd, &r);
	ok(r.verdict == LOG_ALTERED && !r.seq && !r.claims[0].ok && r.claims[1].ok && r.claims[2].ok && r.claims[3].ok,
	   "control: with every byte back only the triggers are missing");
	session_end(dirfd);
}

/* What a hash over the value alone would not see. */
static void check_forms(int victim)
{
	static const char *const changes[] = {
		"UPDATE event SET ref = 0 WHERE seq = 4 AND ref IS NULL",
		"UPDATE event SET kind = kind || char(0) || 'x' WHERE seq = 4",
		"UPDATE event SET actor = actor || char(0) WHERE seq = 4",
		"UPDATE body SET preview = preview || char(0) WHERE seq = 4",
		"UPDATE event SET hash = NULL WHERE seq = 4",
		"UPDATE event SET kind = NULL WHERE seq = 4",
		"UPDATE event SET time = NULL WHERE seq = 4",
		"UPDATE event SET commitment = x'00' WHERE seq = 4",
		"UPDATE event SET hash = zeroblob(33) WHERE seq = 4",
		"UPDATE body SET data = NULL WHERE seq = 4",
		"UPDATE body SET salt = NULL WHERE seq = 4",
		"UPDATE body SET codec = NULL WHERE seq = 4",
		"UPDATE body SET codec = 1 WHERE seq = 4",
		"UPDATE body SET data = CAST(data || x'00' AS BLOB) WHERE seq = 4",
		"UPDATE event SET ref = 0 WHERE seq = 4; UPDATE event SET kind = 'x' WHERE seq = 9",
	};
	char what[200];

	sql_must(victim, "PRAGMA wal_checkpoint(TRUNCATE)");
	is_int(sql_int(victim, "SELECT count(*) FROM event WHERE seq = 4 AND ref IS NULL"), 1, "seq 4 has no ref");
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		int dirfd = session_copy(&home, victim, NULL);
		sql_without_triggers(dirfd, changes[i]);
		snprintf(what, sizeof(what), "%s", changes[i]);
		verdict_is(dirfd, LOG_ALTERED, 4, what);
		session_end(dirfd);
	}
	/* A type that STRICT would refuse, put in behind its back: same bytes, other type. */
	int dirfd = session_copy(&home, victim, NULL);
	sql_without_triggers(dirfd, "PRAGMA writable_schema = ON; "
				    "UPDATE sqlite_schema SET sql = replace(sql, ' STRICT', '') WHERE name = 'body'; "
				    "PRAGMA writable_schema = RESET");
	sql_without_triggers(dirfd, "UPDATE body SET data = CAST(data AS TEXT) WHERE seq = 4");
	sql_without_triggers(dirfd, "PRAGMA writable_schema = ON; "
				    "UPDATE sqlite_schema SET sql = sql || ' STRICT' WHERE name = 'body'; "
				    "PRAGMA writable_schema = RESET");
	verdict_is(dirfd, LOG_ALTERED, 4, "data as TEXT");
	session_end(dirfd);
}

/* Everything that a reader would show. */
static int digest_one(const struct event *e, void *arg)
{
	struct digest *d = arg;

	digest_add(d, e->hash, DIGEST_LEN);
	digest_add(d, e->kind, strlen(e->kind) + 1);
	digest_add(d, e->preview ? e->preview : "", e->preview ? strlen(e->preview) + 1 : 0);
	digest_add_sized(d, e->body, e->body_len);
	return 0;
}

static bool digest_log(int dirfd, uint8_t ret[DIGEST_LEN])
{
	_cleanup_log_reader_ struct log_reader *r = NULL;
	struct digest d;

	digest_init(&d);
	if (log_reader_open(dirfd, &r, NULL) || log_reader_each(r, 0, digest_one, &d, NULL))
		return false;
	digest_end(&d, ret);
	return true;
}

/* One bit of the file: whatever verify calls intact reads as before.  And nothing crashes. */
static void check_file_bits(int victim)
{
	uint8_t want[DIGEST_LEN], got[DIGEST_LEN];
	int counts[LOG_UNREADABLE + 1] = { 0 }, wrong = 0, no_seq = 0;

	ok(digest_log(victim, want), "control: the log reads");
	for (int i = 0; i < FLIPS; i++) {
		int dirfd = session_make(&home, NULL);
		struct log_report r;
		char byte;

		file_copy(victim, dirfd, "log.db");
		int fd = openat(dirfd, "log.db", O_RDWR | O_CLOEXEC);
		off_t at = random_below((uint32_t)file_size(dirfd, "log.db"));
		if (pread(fd, &byte, 1, at) != 1)
			diag("pread failed");
		byte = (char)(byte ^ (1 << random_below(8)));
		if (pwrite(fd, &byte, 1, at) != 1)
			diag("pwrite failed");
		close(fd);
		log_verify(dirfd, &r);
		counts[r.verdict]++;
		if (r.verdict == LOG_INTACT && (!digest_log(dirfd, got) || memcmp(want, got, DIGEST_LEN))) {
			wrong++;
			diag("a flip at %lld is not seen", (long long)at);
		}
		if (r.verdict != LOG_INTACT && !r.seq && r.claims[0].ok)
			no_seq++;
		session_end(dirfd);
	}
	for (int v = 0; v <= LOG_UNREADABLE; v++)
		diag("%d %s", counts[v], log_verdict_name((enum log_verdict)v));
	is_int(wrong, 0, "no bit of the file changes a row unseen");
	is_int(no_seq, 0, "every damage to a row has its seq");
	ok(counts[LOG_ALTERED] > FLIPS / 4, "control: most flips hit something");
}

/* Whole pages gone bad: SQLite says corrupt, or rows are missing; verify says from where. */
static void check_pages(int victim)
{
	int64_t pages = sql_int(victim, "PRAGMA page_count"), size = sql_int(victim, "PRAGMA page_size");
	int unreadable = 0, missed = 0, with_seq = 0;

	for (int64_t page = 1; page < pages; page++) {
		int dirfd = session_make(&home, NULL);
		struct log_report r;
		char junk[65536];

		memset(junk, 0xa5, sizeof(junk));
		file_copy(victim, dirfd, "log.db");
		int fd = openat(dirfd, "log.db", O_RDWR | O_CLOEXEC);
		if (pwrite(fd, junk, (size_t)size, page * size) != size)
			diag("pwrite failed");
		close(fd);
		log_verify(dirfd, &r);
		missed += r.verdict == LOG_INTACT;
		unreadable += r.verdict == LOG_UNREADABLE;
		with_seq += r.verdict == LOG_UNREADABLE && r.seq > 0 && r.seq <= ROWS;
		if (r.verdict == LOG_UNREADABLE && (r.claims[3].ok || r.claims[4].ok))
			diag("page %lld: claims more than was read", (long long)page);
		session_end(dirfd);
	}
	diag("%d of %lld pages unreadable, %d with a seq", unreadable, (long long)pages - 1, with_seq);
	is_int(missed, 0, "no bad page is missed");
	ok(unreadable > 0 && with_seq == unreadable, "an unreadable page is named by its first seq");

	int cut = session_make(&home, NULL);
	file_copy(victim, cut, "log.db");
	int fd = openat(cut, "log.db", O_RDWR | O_CLOEXEC);
	is_int(ftruncate(fd, (pages / 2) * size), 0, "half of the file cut off");
	close(fd);
	struct log_report r;
	log_verify(cut, &r);
	is_int(r.verdict, LOG_UNREADABLE, "a file cut in half: %s", r.claims[0].ok ? r.claims[3].why : r.claims[0].why);
	close(cut);
}

static const char *from_donor(int donor, const char *sql)
{
	static char text[2000];

	snprintf(text, sizeof(text), "ATTACH '%s/log.db' AS d; BEGIN; %s; COMMIT", folder_path(donor), sql);
	return text;
}

static void check_splice(void)
{
	char id[ID_LEN + 1];
	int ours = session_with(&home, 20), donor = session_make(&home, id);
	struct log *log = log_made(donor);

	add_many(log, 20);
	log_close(&log);
	static const char one[] =
		"DELETE FROM event WHERE seq = 5; INSERT INTO event SELECT * FROM d.event WHERE seq = 5; "
		"DELETE FROM body WHERE seq = 5; INSERT INTO body SELECT * FROM d.body WHERE seq = 5";
	static const char many[] =
		"DELETE FROM event WHERE seq > 7; INSERT INTO event SELECT * FROM d.event WHERE seq > 7; "
		"DELETE FROM body WHERE seq > 7; INSERT INTO body SELECT * FROM d.body WHERE seq > 7";

	int a = session_copy(&home, ours, NULL), b = session_copy(&home, ours, NULL),
	    c = session_copy(&home, ours, NULL);
	sql_without_triggers(a, from_donor(donor, one));
	verdict_is(a, LOG_SPLICED, 5, "one row of another session");
	sql_without_triggers(b, from_donor(donor, many));
	verdict_is(b, LOG_SPLICED, 8, "the tail of another session");
	struct log_report r;
	log_verify(b, &r);
	ok(strstr(r.claims[3].why, id), "and the session is named: %s", r.claims[3].why);
	sql_without_triggers(
		c, from_donor(donor, "UPDATE body SET data = (SELECT data FROM d.body WHERE seq = 5) WHERE seq = 5"));
	verdict_is(c, LOG_ALTERED, 5, "a body of another session");
	/* Where the other session is gone nothing proves where the row came from. */
	renameat(home.sessions_fd, id, home.fd, "gone");
	verdict_is(a, LOG_ALTERED, 5, "the same with the other session gone");
	close(a);
	close(b);
	close(c);
	close(ours);
	close(donor);
}

static void check_moves(int victim)
{
	static const struct {
		const char *sql;
		enum log_verdict verdict;
		int64_t seq;
	} moves[] = {
		{ "UPDATE event SET seq = -seq WHERE seq BETWEEN 10 AND 15; UPDATE event SET seq = 25 + seq WHERE seq "
		  "< 0; "
		  "UPDATE body SET seq = -seq WHERE seq BETWEEN 10 AND 15; UPDATE body SET seq = 25 + seq WHERE seq < "
		  "0",
		  LOG_REORDERED, 10 },
		{ "UPDATE event SET seq = seq + 100 WHERE seq = 30; UPDATE body SET seq = seq + 100 WHERE seq = 30",
		  LOG_REORDERED, 30 },
		{ "DELETE FROM event WHERE seq BETWEEN 20 AND 29; DELETE FROM body WHERE seq BETWEEN 20 AND 29",
		  LOG_TRUNCATED, 20 },
		{ "DELETE FROM event WHERE seq < 20; DELETE FROM body WHERE seq < 20", LOG_TRUNCATED, 1 },
		{ "DELETE FROM event WHERE seq = 20; UPDATE event SET seq = seq - 1 WHERE seq > 20; "
		  "DELETE FROM body WHERE seq = 20; UPDATE body SET seq = seq - 1 WHERE seq > 20",
		  LOG_ALTERED, 20 },
		{ "DELETE FROM event WHERE seq > 50", LOG_TRUNCATED, 51 },
		{ "UPDATE event SET kind = 'x' WHERE seq = 40; UPDATE body SET preview = 'x' WHERE seq = 33",
		  LOG_ALTERED, 33 },
		{ "UPDATE event SET kind = 'x' WHERE seq = 33; DELETE FROM event WHERE seq = 40", LOG_ALTERED, 33 },
	};

	for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
		int dirfd = session_copy(&home, victim, NULL);
		sql_without_triggers(dirfd, moves[i].sql);
		verdict_is(dirfd, moves[i].verdict, moves[i].seq, moves[i].sql);
		session_end(dirfd);
	}
}

/* The honest part: what a chain without an anchor cannot see, and that the report says so. */
static void check_truncation(int victim)
{
	static const char last_ten[] = "DELETE FROM event WHERE seq > 50; DELETE FROM body WHERE seq > 50";
	int dirfd = session_copy(&home, victim, NULL);
	struct log_report r;

	sql_without_triggers(dirfd, last_ten);
	log_verify(dirfd, &r);
	ok(r.verdict == LOG_INTACT && r.events == 50 && !r.anchored,
	   "the last ten rows removed, triggers back: not seen");
	ok(r.claims[4].ok && r.claims[4].seq == 50 && strstr(r.claims[4].why, "cannot be seen"), "and that is said: %s",
	   r.claims[4].why);
	drop_triggers(dirfd);
	log_verify(dirfd, &r);
	ok(r.verdict == LOG_ALTERED && !r.seq && !r.claims[0].ok, "with the triggers gone: %s", r.claims[0].why);
	session_end(dirfd);
}

int main(void)
{
	random_seed();
	home_make(&home);
	int victim = session_with(&home, ROWS);
	verdict_is(victim, LOG_INTACT, 0, "control: untouched");
	check_alterations(victim);
	check_forms(victim);
	check_file_bits(victim);
	check_pages(victim);
	check_moves(victim);
	check_splice();
	check_truncation(victim);
	close(victim);
	home_end(&home);
	return tap_end();
}
