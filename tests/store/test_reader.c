/* Readers: beside a living writer, after its death, on copies, on a read-only disk, and while one starts. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/store/store_test.h"

#define NOBODY 65534

static struct home home;

static int count_one(const struct event *e, void *arg)
{
	int64_t *last = arg;

	if (e->seq != *last + 1 || !e->body)
		return -99;
	*last = e->seq;
	return 0;
}

/* Reads everything; the newest seq, or the error. */
static int64_t read_all(int dirfd, char *why, size_t size)
{
	_cleanup_log_reader_ struct log_reader *r = NULL;
	struct err err = { 0 };
	int64_t last = 0, newest = 0;
	int rc = log_reader_open(dirfd, &r, &err);

	if (!rc)
		rc = log_reader_each(r, 0, count_one, &last, &err);
	if (!rc)
		rc = log_reader_last(r, &newest, &err);
	snprintf(why, size, "%s", err.text);
	return rc ? rc : last == newest ? last : -98;
}

static bool no_side_files(int dirfd)
{
	return !has_file(dirfd, "log.db-wal") && !has_file(dirfd, "log.db-shm") && !has_file(dirfd, "log.db-journal");
}

static void check_quiet(void)
{
	int dirfd = session_with(&home, 25), copy = session_copy(&home, dirfd, NULL);
	char why[1024];

	is_int(read_all(dirfd, why, sizeof(why)), 25, "a closed log: %s", why);
	unlinkat(copy, "log.db-wal", 0);
	is_int(read_all(copy, why, sizeof(why)), 25, "a copy of log.db alone: %s", why);
	verdict_is(copy, LOG_INTACT, 0, "the copy");
	ok(no_side_files(copy), "and no file was made beside it");
	ok(!has_file(copy, "lock"), "not even a lock");

	/* A crash leaves a -wal with rows in it. */
	struct log *log = log_opened(dirfd);
	add_many(log, 10);
	int crashed = session_make(&home, NULL);
	file_copy(dirfd, crashed, "log.db");
	file_copy(dirfd, crashed, "log.db-wal");
	is_int(read_all(crashed, why, sizeof(why)), 35, "a log whose writer died, without a -shm: %s", why);
	ok(file_size(crashed, "log.db-wal") > 0, "its -wal was left");
	log_close(&log);
	is_int(read_all(dirfd, why, sizeof(why)), 35, "control: the log that was closed");

	int empty = session_make(&home, NULL);
	is_int(read_all(empty, why, sizeof(why)), E_NOTFOUND, "a session without a log: %s", why);
	struct log_report report;
	log_verify(empty, &report);
	ok(report.verdict == LOG_UNREADABLE && !report.claims[0].ok && report.events == 0, "verified: %s: %s",
	   log_verdict_name(report.verdict), report.claims[0].why);
	log = log_made(empty);
	is_int(read_all(empty, why, sizeof(why)), 0, "an empty log: %s", why);
	log_close(&log);
	close(dirfd);
	close(copy);
	close(crashed);
	close(empty);
}

static int stop_at_three(const struct event *e, void *arg)
{
	(void)arg;
	return e->seq == 3 ? 42 : 0;
}

static void check_calls(void)
{
	int dirfd = session_make(&home, NULL);
	struct log *log = log_made(dirfd);
	_cleanup_log_reader_ struct log_reader *r = NULL;
	struct err err = { 0 };
	struct event e;
	int64_t last;

	add(log, "session.created", 0, "{}", LOG_NORMAL);
	add(log, "session.status_running", 0, "{}", LOG_NORMAL);
	add(log, "agent.message", 2, "{}", LOG_NORMAL);
	add(log, "session.status_idle", 0, "{\"n\":4}", LOG_NORMAL);
	add(log, "agent.message", 0, "{}", LOG_NORMAL);
	is_int(log_reader_open(dirfd, &r, &err), 0, "opened");
	is_int(log_reader_each(r, 0, stop_at_three, NULL, &err), 42, "each stops with the value of the callback");
	last = 4;
	is_int(log_reader_each(r, 4, count_one, &last, &err), 0, "each starts behind `after`");
	is_int(last, 5, "and ends at the newest");
	is_int(log_reader_last_of(r, "session.status_", 0, &e, &err), 0, "the last status");
	ok(e.seq == 4 && !strcmp(e.body, "{\"n\":4}"), "is seq 4 with its body");
	is_int(log_reader_last_of(r, "session.status_", 4, &e, &err), 0, "the one before");
	is_int(e.seq, 2, "is seq 2");
	is_int(log_reader_last_of(r, "session.status_", 2, &e, &err), E_NOTFOUND, "there is none before");
	is_int(log_reader_last_of(r, "session.status%", 0, &e, &err), E_NOTFOUND, "a prefix is no pattern");
	add(log, "user.message", 0, "{}", LOG_NORMAL);
	is_int(log_reader_last(r, &last, &err), 0, "the newest");
	is_int(last, 6, "a row that was just appended is seen");
	is_int(log_reader_get(r, 6, &e, &err), 0, "and read");
	is_str(e.kind, "user.message", "rightly");
	log_close(&log);
	is_int(log_reader_get(r, 6, &e, &err), 0, "the writer closes under the reader: still read");
	log = log_opened(dirfd);
	add(log, "user.message", 0, "{}", LOG_NORMAL);
	is_int(log_reader_get(r, 7, &e, &err), 0, "a new writer appends: read");

	/* A reader gives no way to write. */
	sql_without_triggers(dirfd,
			     "UPDATE body SET data = x'28b52ffd20', codec = 1 WHERE seq = 3; "
			     "UPDATE body SET codec = 7 WHERE seq = 4; UPDATE event SET len = 99 WHERE seq = 5; "
			     "UPDATE event SET len = -1 WHERE seq = 6; UPDATE event SET kind = NULL WHERE seq = 2");
	for (int64_t seq = 2; seq <= 6; seq++)
		is_int(log_reader_get(r, seq, &e, &err), E_CORRUPT, "a damaged row is an error: %s", err.text);
	is_int(log_reader_get(r, 1, &e, &err), 0, "control: an undamaged one is not");
	log_close(&log);
	close(dirfd);
}

/* A frame that claims more than it may give. */
static void check_bomb(void)
{
	int dirfd = session_with(&home, 3);
	_cleanup_log_reader_ struct log_reader *r = NULL;
	struct err err = { 0 };
	struct event e;

	/* One run-length block of 128 KiB of blanks; and 8,192 of them. */
	sql_without_triggers(dirfd, "UPDATE event SET len = 131072 WHERE seq = 1; "
				    "UPDATE body SET codec = 1, data = x'28b52ffd007803001020' WHERE seq = 1");
	size_t n = 0;
	static char sql[200000];
	n += (size_t)snprintf(sql, sizeof(sql), "UPDATE event SET len = %u WHERE seq = 2; "
						"UPDATE body SET codec = 1, data = x'28b52ffd0078", EVENT_BODY_MAX);
	for (int i = 0; i < 8192; i++)
		n += (size_t)snprintf(sql + n, sizeof(sql) - n, "%s20", i == 8191 ? "030010" : "020010");
	snprintf(sql + n, sizeof(sql) - n, "' WHERE seq = 2");
	sql_without_triggers(dirfd, sql);
	is_int(log_reader_open(dirfd, &r, &err), 0, "opened");
	is_int(log_reader_get(r, 1, &e, &err), 0, "control: such a frame of one block is read");
	is_int(log_reader_get(r, 2, &e, &err), E_CORRUPT, "a body that unpacks to a gigabyte is refused: %s", err.text);
	sql_without_triggers(dirfd, "UPDATE event SET len = 2000000000 WHERE seq = 2");
	is_int(log_reader_get(r, 2, &e, &err), E_CORRUPT, "also when the row claims as much: %s", err.text);
	close(dirfd);
}

/* A reader of a quiet log has it open without locks when a writer starts, appends and rewrites the file. */
static void check_thaw(void)
{
	int dirfd = session_with(&home, 40), copy = session_copy(&home, dirfd, NULL);
	_cleanup_log_reader_ struct log_reader *r = NULL;
	struct err err = { 0 };
	struct event e;
	int64_t last;
	uint8_t head[DIGEST_LEN];

	unlinkat(copy, "log.db-wal", 0);
	is_int(log_reader_open(copy, &r, &err), 0, "a reader of a quiet log");
	is_int(log_reader_get(r, 40, &e, &err), 0, "reads");
	ok(no_side_files(copy), "without a -wal");
	struct log *log = log_opened(copy);
	add_many(log, 60);
	is_int(log_reader_last(r, &last, &err), 0, "a writer starts under it");
	is_int(last, 100, "and its rows are seen");
	log_close(&log);
	is_int(log_reader_get(r, 100, &e, &err), 0, "and read after it closed");
	log = log_opened(copy);
	is_int(log_head(log, head), 100, "control: 100 rows");
	ok(!memcmp(e.hash, head, DIGEST_LEN), "the same row");
	log_close(&log);
	close(dirfd);
	close(copy);
}

struct meddler {
	int dirfd;
	struct log *log;
	int64_t last, wrong;
};

static int meddle(const struct event *e, void *arg)
{
	struct meddler *m = arg;

	m->wrong += e->seq != m->last + 1;
	m->last = e->seq;
	/* In the middle of the scan: a writer comes, writes, and goes, which moves everything into log.db. */
	if (e->seq == 20) {
		m->log = log_opened(m->dirfd);
		add_many(m->log, 300);
		log_close(&m->log);
	}
	return 0;
}

static void check_thaw_in_scan(void)
{
	int dirfd = session_with(&home, 40), copy = session_copy(&home, dirfd, NULL);
	_cleanup_log_reader_ struct log_reader *r = NULL;
	struct err err = { 0 };
	struct meddler m = { .dirfd = copy };

	unlinkat(copy, "log.db-wal", 0);
	is_int(log_reader_open(copy, &r, &err), 0, "a reader of a quiet log scans");
	is_int(log_reader_each(r, 0, meddle, &m, &err), 0, "a writer comes and goes meanwhile: %s", err.text);
	is_int(m.wrong, 0, "every row once, in order");
	is_int(m.last, 340, "to the last that is there");
	close(dirfd);
	close(copy);
}

/* Another process writes as fast as it can, checkpoints included. */
static void check_beside_writer(void)
{
	int dirfd = session_make(&home, NULL), scans = 0, bad = 0;
	struct log *log = log_made(dirfd);
	char why[1024];
	struct log_report report;

	add(log, "session.created", 0, "{}", LOG_NORMAL);
	log_close(&log);
	pid_t pid = fork();
	if (!pid) {
		log = log_opened(dirfd);
		add_many(log, 3000);
		log_close(&log);
		_exit(0);
	}
	int status;
	while (waitpid(pid, &status, WNOHANG) == 0) {
		int64_t n = read_all(dirfd, why, sizeof(why));
		/* -98: rows came between the scan and the question for the newest. */
		if (n < 0 && n != -98) {
			diag("read: %lld %s", (long long)n, why);
			bad++;
		}
		log_verify(dirfd, &report);
		if (report.verdict != LOG_INTACT) {
			diag("verify: %s", log_verdict_name(report.verdict));
			bad++;
		}
		scans++;
	}
	is_int(status, 0, "the writer was not disturbed");
	is_int(bad, 0, "%s scans and verifications beside a living writer", scans > 1 ? "several" : "too few");
	is_int(read_all(dirfd, why, sizeof(why)), 3001, "and everything is there in the end");
	close(dirfd);
}

/* In a child that cannot write to the folder. */
static void check_read_only_disk(bool with_wal)
{
	int dirfd = session_with(&home, 25);
	const char *what = with_wal ? "with -wal and -shm" : "log.db alone";
	bool root = geteuid() == 0;

	if (!with_wal) {
		unlinkat(dirfd, "log.db-wal", 0);
		unlinkat(dirfd, "log.db-shm", 0);
	}
	pid_t pid = fork();
	if (!pid) {
		char why[1024], path[TEST_PATH_MAX];
		struct log_report report;

		snprintf(path, sizeof(path), "%s", folder_path(dirfd));
		if (root) {
			if (unshare(CLONE_NEWNS) || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) ||
			    mount(path, path, "none", MS_BIND, NULL) ||
			    mount("none", path, "none", MS_REMOUNT | MS_BIND | MS_RDONLY, NULL))
				_exit(77);
		} else if (chmod(path, 0500) || chmod(path, 0500)) {
			_exit(77);
		}
		int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (faccessat(fd, ".", W_OK, 0) == 0)
			_exit(77);
		int64_t n = read_all(fd, why, sizeof(why));
		log_verify(fd, &report);
		if (n != 25 || report.verdict != LOG_INTACT)
			diag("read-only, %s: %lld %s, %s", what, (long long)n, why, log_verdict_name(report.verdict));
		_exit(n == 25 && report.verdict == LOG_INTACT ? 0 : 1);
	}
	int status;
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip("a read-only disk, %s: no mount namespace here", what);
	else
		is_int(status, 0, "a read-only disk, %s", what);
	if (!with_wal)
		ok(no_side_files(dirfd), "and nothing was made");
	close(dirfd);
}

/* The owner of the files is somebody else and the folder is not ours to write: as another user, or in a crash's copy.
 */
static void check_unreadable_wal(void)
{
	int dirfd = session_with(&home, 25);

	if (geteuid() != 0) {
		skip("a log of another user: only root can make one");
		close(dirfd);
		return;
	}
	pid_t pid = fork();
	if (!pid) {
		char why[1024];

		if (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
			_exit(1);
		int64_t n = read_all(dirfd, why, sizeof(why));
		_exit(n < 0 && why[0] ? 0 : 1);
	}
	int status;
	waitpid(pid, &status, 0);
	is_int(status, 0, "a log of another user is an error with a reason");
	close(dirfd);
}

int main(void)
{
	random_seed();
	home_make(&home);
	check_quiet();
	check_calls();
	check_bomb();
	check_thaw();
	check_thaw_in_scan();
	check_beside_writer();
	check_read_only_disk(true);
	check_read_only_disk(false);
	check_unreadable_wal();
	home_end(&home);
	return tap_end();
}
