/* A full disk in the middle of a session: a small tmpfs in a mount namespace of our own. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/reserve.h"
#include "tests/store/store_test.h"

#define PLACE "/mnt"
#define FILLER "filler"

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));

	if (fd >= 0)
		close(fd);
	return n < 0 ? -1 : 0;
}

/* NULL, or what this machine does not allow. */
static const char *enter_namespace(void)
{
	char map[64];
	uid_t uid = geteuid();
	gid_t gid = getegid();

	if (uid ? unshare(CLONE_NEWUSER | CLONE_NEWNS) : unshare(CLONE_NEWNS))
		return "no mount namespace";
	if (uid) {
		snprintf(map, sizeof(map), "0 %u 1", (unsigned)uid);
		if (write_file("/proc/self/uid_map", map) || write_file("/proc/self/setgroups", "deny"))
			return "no mapping of ids";
		snprintf(map, sizeof(map), "0 %u 1", (unsigned)gid);
		if (write_file("/proc/self/gid_map", map))
			return "no mapping of ids";
	}
	if (mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL))
		return "mounts cannot be made private";
	return NULL;
}

/* An empty disk of 2 MiB, with a session folder on it. */
static int new_disk(void)
{
	if (mount("tmpfs", PLACE, "tmpfs", 0, "size=2m,mode=0700"))
		return -1;
	if (mkdir(PLACE "/s", 0700))
		return -1;
	return open(PLACE "/s", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void end_disk(int dirfd)
{
	close(dirfd);
	(void)umount2(PLACE, MNT_DETACH);
}

static void fill_disk(int dirfd)
{
	int fd = openat(dirfd, FILLER, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	char chunk[4096] = { 1 };

	while (write(fd, chunk, sizeof(chunk)) > 0)
		continue;
	close(fd);
}

static int append(struct log *log, const char *kind, int64_t *ret_seq, struct err *err)
{
	char body[1024];
	struct log_entry e = { .kind = kind, .actor = "keeper", .body = body, .body_len = sizeof(body) };

	memset(body, 'x', sizeof(body));
	body[0] = body[sizeof(body) - 1] = '"';
	return log_append(log, &e, LOG_BARRIER, ret_seq, err);
}

static int append_last(struct log *log, const char *kind, int64_t *ret_seq, struct err *err)
{
	static const char body[] = "{\"kind\":\"disk_full\"}";
	struct log_entry e = { .kind = kind, .actor = "keeper", .body = body, .body_len = strlen(body) };

	return log_append_last(log, &e, ret_seq, err);
}

/* Larger than what a refused append may have left in the last block of the -wal. */
static int append_last_big(struct log *log, int64_t *ret_seq, struct err *err)
{
	static char body[200000];
	struct log_entry e = { .kind = "session.error", .actor = "keeper", .body = body, .body_len = sizeof(body) };

	for (size_t i = 0; i < sizeof(body); i++)
		body[i] = (char)('a' + random_below(26));
	body[0] = body[sizeof(body) - 1] = '"';
	return log_append_last(log, &e, ret_seq, err);
}

static int64_t append_until_full(struct log *log, struct err *err, int *ret_code)
{
	int64_t seq = 0;

	while (!(*ret_code = append(log, "user.message", &seq, err)))
		continue;
	return seq;
}

static void check_session(void)
{
	int dirfd = new_disk(), r;
	struct err err = { 0 };
	struct log_report report;
	int64_t seq = -1;

	if (!ok(dirfd >= 0, "a disk of 2 MiB"))
		return;
	struct log *log = log_made(dirfd);
	is_int(append_last(log, "session.error", &seq, &err), E_DENIED, "a log with room takes no last event");
	int64_t acknowledged = append_until_full(log, &err, &r);
	is_int(r, E_FULL, "at last an append is refused: %s", err.text);
	ok(acknowledged > 20, "after %lld that were taken", (long long)acknowledged);
	ok(log_broken(log), "the handle is broken");
	is_int(append(log, "user.message", &seq, &err), E_FULL, "and stays so");
	ok(has_file(dirfd, RESERVE_NAME), "the reserve was not touched");
	is_int(append_last(log, "user.message", &seq, &err), E_DENIED, "the last event is not any event");
	is_int(append_last(log, "agent.tool_use", &seq, &err), E_DENIED, "least of all an action");
	ok(has_file(dirfd, RESERVE_NAME), "and asking for one does not give the reserve away");
	fill_disk(dirfd);
	is_int(append_last(log, "session.error", &seq, &err), 0, "session.error is taken: %s", err.text);
	is_int(seq, acknowledged + 1, "as the next seq");
	ok(!has_file(dirfd, RESERVE_NAME), "the reserve was given back for it");
	is_int(append_last(log, "session.error", &seq, &err), E_DENIED, "once");
	is_int(append_last(log, "session.status_idle", &seq, &err), 0, "session.status_idle is taken");
	is_int(append_last(log, "session.status_terminated", &seq, &err), E_DENIED, "and ends it");
	is_int(append(log, "user.message", &seq, &err), E_FULL, "ordinary events stay refused");
	log_close(&log);

	log_verify(dirfd, &report);
	ok(report.verdict == LOG_INTACT && report.events == acknowledged + 2, "on the full disk: %s, %lld rows",
	   log_verdict_name(report.verdict), (long long)report.events);
	fill_disk(dirfd);
	is_int(log_open(dirfd, &log, &err), E_FULL, "a log without room for the reserve does not open: %s", err.text);
	unlinkat(dirfd, FILLER, 0);
	is_int(log_open(dirfd, &log, &err), 0, "with room it does");
	is_int(file_size(dirfd, RESERVE_NAME), RESERVE_SIZE, "and holds the reserve again");
	is_int(append(log, "user.message", &seq, &err), 0, "and goes on");
	is_int(seq, acknowledged + 3, "where it stopped");
	log_close(&log);
	end_disk(dirfd);
}

static void check_reserve_taken(void)
{
	int dirfd = new_disk(), r;
	struct err err = { 0 };
	struct log_report report;
	int64_t seq;
	struct log *log = log_made(dirfd);
	int64_t acknowledged = append_until_full(log, &err, &r);

	/* Somebody else takes the space before we can use it. */
	unlinkat(dirfd, RESERVE_NAME, 0);
	fill_disk(dirfd);
	is_int(append_last_big(log, &seq, &err), E_FULL, "no room for the last event either: %s", err.text);
	unlinkat(dirfd, FILLER, 0);
	is_int(append_last(log, "session.error", &seq, &err), E_DENIED, "it is not tried twice");
	log_close(&log);
	log_verify(dirfd, &report);
	ok(report.verdict == LOG_INTACT && report.events >= acknowledged, "nothing acknowledged is lost: %lld of %lld",
	   (long long)report.events, (long long)acknowledged);
	end_disk(dirfd);
}

static void check_create(void)
{
	int dirfd = new_disk();
	struct err err = { 0 };
	struct log *log = NULL;

	fill_disk(dirfd);
	is_int(log_create(dirfd, &log, &err), E_FULL, "no log is made on a full disk: %s", err.text);
	ok(!log && !has_file(dirfd, "log.db"), "nothing is left that looks like one");
	unlinkat(dirfd, FILLER, 0);
	is_int(log_create(dirfd, &log, &err), 0, "with room it is made");
	log_close(&log);
	end_disk(dirfd);
}

int main(void)
{
	random_seed();
	const char *missing = enter_namespace();
	if (missing) {
		skip("a full disk: %s here (%s)", missing, strerror(errno));
		return tap_end();
	}
	check_session();
	check_reserve_taken();
	check_create();
	return tap_end();
}
