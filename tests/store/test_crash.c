/* kill -9 of the writer at random moments, and what a crash may leave of the -wal. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/store/store_test.h"

#define KILLS 25
#define KILLS_LONG 400
#define TORN 80
#define TORN_LONG 1000

static struct home home;

/* Appends for ever and tells each seq once it was acknowledged; first of all a 0, once the log is open. */
static _Noreturn void write_until_killed(int dirfd, int pipe_fd)
{
	struct err err = { 0 };
	struct log *log;

	if (log_open(dirfd, &log, &err)) {
		diag("child: %s", err.text);
		_exit(1);
	}
	if (write(pipe_fd, &(int64_t){ 0 }, sizeof(int64_t)) != sizeof(int64_t))
		_exit(1);
	for (;;) {
		char body[3000];
		size_t len = 2 + random_below(sizeof(body) - 3);
		struct log_entry e = { .kind = "agent.message", .actor = "agent", .body = body, .body_len = len };
		int64_t seq;

		memset(body, 'x', len);
		body[0] = body[len - 1] = '"';
		if (log_append(log, &e, random_below(5) ? LOG_NORMAL : LOG_BARRIER, &seq, &err) ||
		    write(pipe_fd, &seq, sizeof(seq)) != sizeof(seq))
			_exit(1);
	}
}

/* Kills `us` after the start, or after the log was open.  The newest seq that the child told, -1 when it failed by
 * itself. */
static int64_t run_and_kill(int dirfd, long us, bool when_open)
{
	int fds[2], status;
	int64_t seq, newest = 0;

	if (pipe2(fds, O_CLOEXEC))
		return -1;
	random_below(2); /* another sequence in every child */
	pid_t pid = fork();
	if (!pid)
		write_until_killed(dirfd, fds[1]);
	close(fds[1]);
	if (when_open && read(fds[0], &seq, sizeof(seq)) != sizeof(seq))
		diag("the child did not open the log");
	struct timespec wait = { .tv_nsec = us * 1000 };
	nanosleep(&wait, NULL);
	kill(pid, SIGKILL);
	while (read(fds[0], &seq, sizeof(seq)) == sizeof(seq))
		newest = seq;
	close(fds[0]);
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) ? newest : -1;
}

static void check_kills(int kills)
{
	int dirfd = session_with(&home, 1);
	int64_t acknowledged = 1, rows = 0;
	int lost = 0, bad = 0, failed = 0, told = 0;

	for (int i = 0; i < kills; i++) {
		struct log_report r;
		struct err err = { 0 };
		struct log *log;
		int64_t newest = run_and_kill(dirfd, random_below(20000), i % 4 != 3);

		failed += newest < 0;
		told += newest > 0;
		if (newest > acknowledged)
			acknowledged = newest;
		log_verify(dirfd, &r);
		if (r.verdict != LOG_INTACT) {
			diag("kill %d: %s at %lld", i, log_verdict_name(r.verdict), (long long)r.seq);
			bad++;
		}
		lost += r.events < acknowledged;
		rows = r.events;
		if (i % 4 == 0) {
			if (log_open(dirfd, &log, &err)) {
				diag("kill %d: %s", i, err.text);
				bad++;
			}
			log_close(&log);
		}
		acknowledged = rows > acknowledged ? rows : acknowledged;
	}
	is_int(failed, 0, "no writer failed by itself");
	is_int(bad, 0, "%d kills: the log always verifies", kills);
	is_int(lost, 0, "and no acknowledged event of %lld was lost", (long long)acknowledged);
	ok(told > kills / 3 && rows > kills, "control: the writers wrote (%lld rows, %d of %d told)", (long long)rows,
	   told, kills);
	session_end(dirfd);
}

static int64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static void check_kills_while_created(int kills)
{
	int bad = 0, absent = 0, trial = session_make(&home, NULL);
	int64_t start = now_us();
	struct log *first = log_made(trial);
	uint32_t usual = (uint32_t)(now_us() - start);

	log_close(&first);
	session_end(trial);

	for (int i = 0; i < kills; i++) {
		int dirfd = session_make(&home, NULL);
		struct err err = { 0 };
		struct log *log = NULL;
		pid_t pid = fork();

		if (!pid) {
			int r = log_create(dirfd, &log, NULL);
			_exit(r ? 1 : 0);
		}
		/* From its first system call to somewhat after its last. */
		struct timespec wait = { .tv_nsec = (long)random_below(usual + usual / 2 + 1000) * 1000 % 999999999 };
		nanosleep(&wait, NULL);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		absent += !has_file(dirfd, "log.db");
		if (has_file(dirfd, "log.db") ? log_open(dirfd, &log, &err) : log_create(dirfd, &log, &err)) {
			diag("created and killed: %s", err.text);
			bad++;
		} else {
			add(log, "session.created", 0, "{}", LOG_NORMAL);
		}
		log_close(&log);
		session_end(dirfd);
	}
	is_int(bad, 0, "%d kills while the log is made: it is whole or absent (%d absent, it takes %u us)", kills,
	       absent, usual);
}

static void damage(int dirfd, int64_t size)
{
	int fd = openat(dirfd, "log.db-wal", O_RDWR | O_CLOEXEC);
	off_t at = random_below((uint32_t)size);
	char junk[8192];
	size_t n = 1 + random_below(sizeof(junk) - 1);
	uint32_t how = random_below(4);

	for (size_t i = 0; i < n; i++)
		junk[i] = (char)(how == 1 ? 0 : random_below(256));
	if (how == 0 ? ftruncate(fd, at) : pwrite(fd, junk, how == 3 ? 1 : n, at) < 0)
		diag("damaging failed");
	close(fd);
}

static void check_torn_wal(int copies)
{
	int dirfd = session_with(&home, 10), bad = 0, shorter = 0;
	struct log *log = log_opened(dirfd);
	uint8_t hashes[101][DIGEST_LEN];

	for (int i = 0; i < 60; i++) {
		add_many(log, 1);
		log_head(log, hashes[11 + i]);
	}
	int64_t size = file_size(dirfd, "log.db-wal");
	for (int i = 0; i < copies; i++) {
		int copy = session_copy(&home, dirfd, NULL);
		struct log_report r;
		struct err err = { 0 };
		struct log *again;
		uint8_t head[DIGEST_LEN];

		damage(copy, size);
		log_verify(copy, &r);
		if (r.verdict != LOG_INTACT || r.events < 10 || r.events > 70 || log_open(copy, &again, &err)) {
			diag("copy %d: %s, %lld rows %s", i, log_verdict_name(r.verdict), (long long)r.events,
			     err.text);
			bad++;
			session_end(copy);
			continue;
		}
		shorter += r.events < 70;
		bad += log_head(again, head) != r.events ||
		       (r.events > 10 && memcmp(head, hashes[r.events], DIGEST_LEN));
		add(again, "user.message", 0, "{}", LOG_NORMAL);
		log_close(&again);
		session_end(copy);
	}
	is_int(bad, 0, "%d damaged -wal files: always a whole beginning, and it goes on", copies);
	ok(shorter > copies / 2, "control: most damage cost rows (%d)", shorter);
	log_close(&log);
	session_end(dirfd);
}

int main(void)
{
	bool longer = long_run();

	random_seed();
	home_make(&home);
	check_kills(longer ? KILLS_LONG : KILLS);
	check_kills_while_created(longer ? KILLS_LONG : KILLS);
	check_torn_wal(longer ? TORN_LONG : TORN);
	home_end(&home);
	return tap_end();
}
