/* The writer: what it stores, what it refuses, when it breaks, who may be it. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "store/reserve.h"
#include "tests/store/store_test.h"

static struct home home;

static int append(struct log *log, const struct log_entry *e, struct err *err)
{
	int64_t seq = -1;
	int r = log_append(log, e, LOG_NORMAL, &seq, err);

	if (r && seq != -1)
		diag("the out-parameter was written on failure");
	return r;
}

static void check_round_trip(void)
{
	int dirfd = session_make(&home, NULL);
	struct log *log = log_made(dirfd);
	_cleanup_log_reader_ struct log_reader *r = NULL;
	struct event e, before;
	struct err err = { 0 };
	uint8_t head[DIGEST_LEN];
	static char big[200000];

	is_int(log_head(log, head), 0, "a new log is empty");
	is_int(add(log, "session.created", 0, "{\"workspace\":\"/w\"}", LOG_BARRIER), 1, "the first seq is 1");
	memset(big, 'a', sizeof(big) - 1);
	big[0] = big[sizeof(big) - 2] = '"';
	is_int(add(log, "agent.message", 1, big, LOG_NORMAL), 2, "the second is 2");
	is_int(add(log, "x.unknown", 0, " {\"b\" : 1} ", LOG_NORMAL), 3, "an unknown kind is kept");

	is_int(log_reader_open(dirfd, &r, &err), 0, "a reader opens beside the writer");
	is_int(log_reader_get(r, 1, &before, &err), 0, "seq 1 is there");
	is_str(before.kind, "session.created", "its kind");
	is_str(before.body, "{\"workspace\":\"/w\"}", "its body");
	is_str(before.preview, "/w", "its preview was made");
	ok(before.time > 1600000000000000 && before.ref == 0, "its time is of now, its ref is none");
	is_int(log_reader_get(r, 2, &e, &err), 0, "seq 2 is there");
	ok(e.ref == 1 && e.len == (int64_t)sizeof(big) - 1 && e.body_len == sizeof(big) - 1 && !strcmp(e.body, big),
	   "a compressed body comes back byte for byte");
	is_int(sql_int(dirfd, "SELECT codec * 100000 + length(data) FROM body WHERE seq = 2") / 100000, 1,
	       "it was stored compressed");
	is_int(sql_int(dirfd, "SELECT codec FROM body WHERE seq = 1"), 0, "a small one is plain");
	is_int(log_reader_get(r, 3, &e, &err), 0, "seq 3 is there");
	is_str(e.body, " {\"b\" : 1} ", "a body is stored byte for byte");
	is_int(log_reader_get(r, 4, &e, &err), E_NOTFOUND, "seq 4 is not");
	is_int(sql_int(dirfd, "SELECT count(DISTINCT salt) FROM body WHERE length(salt) = 16"), 3,
	       "every salt differs");

	is_int(log_head(log, head), 3, "the head is 3");
	is_int(log_reader_get(r, 3, &e, &err), 0, "seq 3 again");
	ok(!memcmp(head, e.hash, DIGEST_LEN), "and its hash is the head's");
	log_close(&log);
	ok(!log, "closing empties the handle");
	verdict_is(dirfd, LOG_INTACT, 0, "a closed log");
	log = log_opened(dirfd);
	is_int(add(log, "user.message", 0, "{}", LOG_NORMAL), 4, "it goes on where it stopped");
	log_close(&log);
	log_close(&log);
	verdict_is(dirfd, LOG_INTACT, 0, "a log that went on");
	close(dirfd);
}

static void check_refused_entries(void)
{
	int dirfd = session_make(&home, NULL);
	struct log *log = log_made(dirfd);
	struct log_entry good = { .kind = "user.message", .actor = "operator", .body = "{}", .body_len = 2 };
	struct err err = { 0 };
	char long_kind[EVENT_KIND_MAX + 2];

	memset(long_kind, 'k', sizeof(long_kind) - 1);
	long_kind[sizeof(long_kind) - 1] = '\0';
	is_int(append(log, &good, &err), 0, "control: a good entry is taken");
	struct log_entry e = good;
#define REFUSED(code, field, value, what)                                             \
	e = good;                                                                     \
	e.field = value;                                                              \
	is_int(append(log, &e, &err), code, what);
	REFUSED(E_INVALID, kind, NULL, "no kind")
	REFUSED(E_INVALID, kind, "", "an empty kind")
	REFUSED(E_INVALID, kind, "user message", "a kind with a blank")
	REFUSED(E_INVALID, kind, "user\033[2J", "a kind with a control byte")
	REFUSED(E_INVALID, kind, long_kind, "a long kind")
	REFUSED(E_INVALID, actor, NULL, "no actor")
	REFUSED(E_INVALID, actor, "root", "an unknown actor")
	REFUSED(E_INVALID, ref, -1, "a negative ref")
	REFUSED(E_INVALID, ref, 2, "a ref to a row that is not there yet")
	REFUSED(E_INVALID, body, NULL, "no body")
	REFUSED(E_INVALID, body_len, 1, "a body that is cut")
	REFUSED(E_INVALID, body, "{]", "a body that is no JSON")
	REFUSED(E_INVALID, body, "\xff\xff", "a body that is no UTF-8")
	REFUSED(E_LIMIT, body_len, EVENT_BODY_MAX + 1, "a body over the limit")
	e = good;
	e.preview = "mine";
	e.body = "{]";
	is_int(append(log, &e, &err), E_INVALID, "a preview does not save a bad body");
	ok(!log_broken(log), "none of these broke the handle");

	e = good;
	e.preview = "a\033[2Kb\nc";
	is_int(append(log, &e, &err), 0, "a preview of the caller's is taken");
	is_int(sql_int(dirfd, "SELECT instr(preview, char(27)) + instr(preview, char(10)) FROM body WHERE seq = 2"), 0,
	       "and passes the gate");

	_cleanup_free_ char *huge = malloc(EVENT_BODY_MAX + 1);
	if (huge) {
		/* Incompressible enough to be stored plain or packed; the whole limit must go through. */
		for (size_t i = 0; i < EVENT_BODY_MAX; i++)
			huge[i] = (char)('!' + 2 + random_below(50));
		huge[0] = huge[EVENT_BODY_MAX - 1] = '"';
		for (size_t i = 1; i < EVENT_BODY_MAX - 1; i++)
			if (huge[i] == '\\')
				huge[i] = 'x';
		e = good;
		e.body = huge;
		e.body_len = EVENT_BODY_MAX;
		is_int(append(log, &e, &err), 0, "a body of the whole limit is taken");
	}
	verdict_is(dirfd, LOG_INTACT, 0, "after all of these");
	log_close(&log);
	log = log_opened(dirfd);
	is_int(append(log, &good, &err), 0, "and it opens again");
	log_close(&log);
	close(dirfd);
}

static void check_one_writer(void)
{
	int dirfd = session_make(&home, NULL);
	struct log *log, *second = NULL;
	struct err err = { 0 };

	ok(!log_is_locked(dirfd), "a folder without a lock file is not locked");
	is_int(log_open(dirfd, &second, &err), E_NOTFOUND, "a session without a log does not open");
	ok(!log_is_locked(dirfd), "and that leaves it unlocked");
	log = log_made(dirfd);
	ok(log_is_locked(dirfd), "a session with a writer is locked, seen from the same process too");
	is_int(log_create(dirfd, &second, &err), E_BUSY, "a second create is busy");
	is_int(log_open(dirfd, &second, &err), E_BUSY, "a second open is busy");
	ok(!second && strstr(err.text, "writer"), "and says so: %s", err.text);
	add(log, "user.message", 0, "{}", LOG_NORMAL);
	ok(log_is_locked(dirfd), "asking and failing did not let the lock go");

	pid_t pid = fork();
	if (!pid)
		_exit(log_is_locked(dirfd) && log_open(dirfd, &second, NULL) == E_BUSY ? 0 : 1);
	int status;
	waitpid(pid, &status, 0);
	is_int(status, 0, "another process sees the lock and is busy");
	log_close(&log);
	ok(!log_is_locked(dirfd), "closing lets it go");
	is_int(log_create(dirfd, &second, &err), E_EXISTS, "a log is never created over one");
	log = log_opened(dirfd);
	log_close(&log);

	/* Asking all the time must never make a starting writer fail. */
	pid = fork();
	if (!pid)
		for (;;)
			(void)log_is_locked(dirfd);
	int busy = 0;
	for (int i = 0; i < 50; i++) {
		if (log_open(dirfd, &log, &err))
			busy++;
		log_close(&log);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	is_int(busy, 0, "a prober in a loop disturbs no start");

	int odd = session_make(&home, NULL);
	is_int(symlinkat("/etc/passwd", odd, "lock"), 0, "made");
	ok(log_is_locked(odd), "a lock that cannot be asked counts as held");
	is_int(log_create(odd, &second, &err), E_IO, "a symlink in its place is refused");
	close(odd);
	close(dirfd);
}

static void check_modes(mode_t mask)
{
	static const char *const names[] = { "log.db", "log.db-wal", "log.db-shm", "lock", RESERVE_NAME };
	int dirfd = session_make(&home, NULL);
	mode_t old = umask(mask);
	struct log *log = log_made(dirfd);
	struct stat st;

	add(log, "user.message", 0, "{}", LOG_NORMAL);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		ok(!fstatat(dirfd, names[i], &st, AT_SYMLINK_NOFOLLOW) && (st.st_mode & 07777) == 0600,
		   "%s is 0600 under umask %03o", names[i], (unsigned)mask);
	log_close(&log);
	ok(!has_file(dirfd, "log.db.new") && !has_file(dirfd, "log.db.new-wal") &&
		   !has_file(dirfd, "log.db.new-journal"),
	   "nothing is left of the making");
	is_int(file_size(dirfd, "log.db-wal"), 0, "a closed log's -wal is empty");
	is_int(file_size(dirfd, RESERVE_NAME), RESERVE_SIZE, "the reserve is whole");
	umask(old);
	close(dirfd);
}

/* Somebody changes the database while the writer lives. */
static void check_breaks(const char *sql, const char *what)
{
	int dirfd = session_make(&home, NULL);
	struct log *log = log_made(dirfd);
	struct log_entry e = { .kind = "user.message", .actor = "operator", .body = "{}", .body_len = 2 };
	struct err err = { 0 };
	uint8_t head[DIGEST_LEN];
	int64_t seq;

	add(log, "session.created", 0, "{}", LOG_NORMAL);
	add(log, "session.status_running", 0, "{}", LOG_NORMAL);
	sql_must(dirfd, sql);
	is_int(append(log, &e, &err), E_CORRUPT, "%s: the next append is refused (%s)", what, err.text);
	ok(log_broken(log), "%s: the handle is broken", what);
	is_int(log_head(log, head), 2, "%s: the head did not move", what);
	is_int(append(log, &e, &err), E_CORRUPT, "%s: it stays broken", what);
	e.kind = "session.error";
	is_int(log_append_last(log, &e, &seq, &err), E_DENIED, "%s: and takes no last event", what);
	log_close(&log);
	close(dirfd);
}

static void check_opening_bad(void)
{
	struct err err = { 0 };
	struct log *log = NULL;
	struct log_reader *reader = NULL;
	int dirfd = session_with(&home, 30);

	sql_must(dirfd, "PRAGMA user_version = 2");
	is_int(log_open(dirfd, &log, &err), E_INVALID, "a newer version does not open: %s", err.text);
	ok(strstr(err.text, "newer"), "and it says why");
	is_int(log_reader_open(dirfd, &reader, &err), E_INVALID, "nor for reading");
	verdict_is(dirfd, LOG_UNREADABLE, 0, "a newer version");
	ok(!log_is_locked(dirfd), "a failed open leaves no lock");
	sql_must(dirfd, "PRAGMA user_version = 1");
	is_int(log_open(dirfd, &log, &err), 0, "control: with the version back it opens");
	log_close(&log);

	sql_without_triggers(dirfd, "UPDATE event SET kind = 'user.messagf' WHERE seq = 17");
	is_int(log_open(dirfd, &log, &err), E_CORRUPT, "an altered log does not open: %s", err.text);
	ok(strstr(err.text, "seq 17"), "and the text names the first bad seq");
	ok(!log && !log_is_locked(dirfd), "nothing is held");

	int dropped = session_with(&home, 3);
	sql_must(dropped, "DROP TRIGGER body_delete");
	is_int(log_open(dropped, &log, &err), E_CORRUPT, "a log without a trigger does not open: %s", err.text);
	close(dropped);

	int odd = session_make(&home, NULL);
	int fd = openat(odd, "log.db", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	is_int(log_open(odd, &log, &err), E_CORRUPT, "an empty file is no log: %s", err.text);
	if (write(fd, "this is no database, and it is longer than a header", 51) != 51)
		diag("write failed");
	is_int(log_open(odd, &log, &err), E_CORRUPT, "a text file is no log: %s", err.text);
	unlinkat(odd, "log.db", 0);
	is_int(symlinkat("../../x", odd, "log.db"), 0, "made");
	ok(log_open(odd, &log, &err) < 0, "a symlink is no log: %s", err.text);
	is_int(log_create(odd, &log, &err), E_EXISTS, "and is not written through");
	unlinkat(odd, "log.db", 0);
	mkdirat(odd, "log.db", 0700);
	ok(log_open(odd, &log, &err) < 0, "a folder is no log: %s", err.text);
	unlinkat(odd, "log.db", AT_REMOVEDIR);
	mkdirat(odd, "log.db-wal", 0700);
	is_int(log_create(odd, &log, &err), E_EXISTS, "a -wal that waits for a database is not adopted");
	close(fd);
	close(odd);
	close(dirfd);
}

/* A path with everything that a URI could misread, and a folder that moves under an open descriptor. */
static void check_paths(void)
{
	int dirfd = session_make(&home, NULL);
	struct err err = { 0 };
	struct log *log;

	mkdirat(dirfd, "a ?mode=memory#%41&b", 0700);
	int odd = openat(dirfd, "a ?mode=memory#%41&b", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	log = log_made(odd);
	add(log, "session.created", 0, "{}", LOG_NORMAL);
	log_close(&log);
	ok(has_file(odd, "log.db"), "a folder's name is never read as a URI's query");
	verdict_is(odd, LOG_INTACT, 0, "there");
	renameat(dirfd, "a ?mode=memory#%41&b", dirfd, "moved");
	is_int(log_open(odd, &log, &err), 0, "a folder that moved is found by its descriptor");
	log_close(&log);

	char name[201];
	memset(name, 'x', 200);
	name[200] = '\0';
	int deep = odd;
	for (int i = 0; i < 3; i++) {
		mkdirat(deep, name, 0700);
		deep = openat(deep, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	is_int(log_create(deep, &log, &err), E_LIMIT, "a path too long for SQLite is said to be: %.60s...", err.text);
	close(deep);
	close(odd);
	close(dirfd);
}

int main(void)
{
	random_seed();
	home_make(&home);
	check_round_trip();
	check_refused_entries();
	check_one_writer();
	check_modes(0);
	check_modes(0777);
	check_breaks("DROP TRIGGER event_update", "a trigger is dropped");
	check_breaks("CREATE TABLE other(x)", "a table appears");
	check_breaks(
		"INSERT INTO event SELECT 3, time, kind, actor, ref, len, commitment, hash FROM event WHERE seq = 2",
		"somebody else appends");
	check_opening_bad();
	check_paths();
	home_end(&home);
	return tap_end();
}
