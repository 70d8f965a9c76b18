/*
 * Appends of 1 KB events at both tiers against write+fdatasync of as many bytes, in one run on one disk: the ratio is
 * what means something on another machine.  usage: bench_store [FOLDER]
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/store/store_test.h"

#define BODY 1024
#define NORMALS 5000
#define BARRIERS 500
#define MIXED 2000
#define MIXED_EVERY 20

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static double append(struct log *log, int n, int barrier_every)
{
	char body[BODY];
	struct log_entry e = { .kind = "agent.message", .actor = "agent", .body = body, .body_len = sizeof(body) };
	double start = now();

	memset(body, 'x', sizeof(body));
	body[0] = body[BODY - 1] = '"';
	for (int i = 1; i <= n; i++) {
		struct err err = { 0 };
		int64_t seq;
		if (log_append(log, &e, barrier_every && i % barrier_every == 0 ? LOG_BARRIER : LOG_NORMAL, &seq,
			       &err)) {
			printf("append: %s\n", err.text);
			exit(1);
		}
	}
	return n / (now() - start);
}

static double write_lines(int dirfd, int n, bool sync)
{
	char line[BODY];
	int fd = openat(dirfd, "lines", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
	double start = now();

	memset(line, 'x', sizeof(line));
	for (int i = 0; i < n; i++)
		if (write(fd, line, sizeof(line)) != (ssize_t)sizeof(line) || (sync && fdatasync(fd)))
			exit(1);
	close(fd);
	return n / (now() - start);
}

static void row(const char *what, double rate, double base)
{
	printf("%-44s %9.0f /s  %6.2f x\n", what, rate, rate / base);
}

int main(int argc, char **argv)
{
	struct home home;
	double load[1] = { 0 };

	if (argc > 1)
		setenv("TMPDIR", argv[1], 1);
	home_make(&home);
	(void)getloadavg(load, 1);
	int dirfd = session_make(&home, NULL);
	struct log *log = log_made(dirfd);
	double synced = write_lines(dirfd, BARRIERS, true), plain = write_lines(dirfd, NORMALS, false);
	double barrier = append(log, BARRIERS, 1), normal = append(log, NORMALS, 0),
	       mixed = append(log, MIXED, MIXED_EVERY);
	synced = (synced + write_lines(dirfd, BARRIERS, true)) / 2;
	log_close(&log);
	double start = now();
	log = log_opened(dirfd);
	double verify = (BARRIERS + NORMALS + MIXED) / (now() - start);
	log_close(&log);

	printf("%d byte events, %s, load %.1f; x is against write+fdatasync\n", BODY, home.path, load[0]);
	row("write + fdatasync", synced, synced);
	row("append, barrier", barrier, synced);
	row("append, ordinary", normal, synced);
	row("append, a barrier every 20", mixed, synced);
	row("write alone", plain, synced);
	row("open and verify", verify, synced);
	session_end(dirfd);
	home_end(&home);
	return 0;
}
