/* Stopping every process of the cell but init, and making sure of it. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/clock.h"
#include "jail/init_internal.h"

#define FREEZE_MS 10000
#define ROUND_MS 200 /* then everything is continued for a moment: see below */

/* What one look at all threads saw. */
struct look {
	bool all_stopped;
	uint32_t processes;
	uint64_t fingerprint; /* of thread ids and of how often each was switched; the same twice: nobody ran between */
};

static void mix(struct look *l, uint64_t value)
{
	l->fingerprint = (l->fingerprint ^ value) * UINT64_C(0x100000001b3);
}

static uint64_t field_number(const char *status, const char *name)
{
	const char *at = strstr(status, name);

	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

static void look_at_thread(int dir, const char *tid, struct look *l)
{
	char path[NAME_MAX + 16], status[4096];

	snprintf(path, sizeof(path), "%s/status", tid);
	_cleanup_fd_ int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, status, sizeof(status) - 1);
	if (n <= 0)
		return; /* ended meanwhile */
	status[n] = '\0';

	/* The program's name stands first, and is the program's to choose; a newline in it is escaped by the kernel. */
	const char *state = strstr(status, "\nState:\t");
	char s = state ? state[8] : '?';
	if (!strchr("TtZX", s))
		l->all_stopped = false;
	mix(l, strtoull(tid, NULL, 10));
	mix(l, (uint64_t)s);
	mix(l, field_number(status, "\nvoluntary_ctxt_switches:\t"));
	mix(l, field_number(status, "\nnonvoluntary_ctxt_switches:\t"));
}

static DIR *open_list(int at, const char *path)
{
	_cleanup_fd_ int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (dir)
		(void)steal_fd(&fd);
	return dir;
}

static void look_at_process(int proc, const char *pid, struct look *l)
{
	char path[NAME_MAX + 16];

	snprintf(path, sizeof(path), "%s/task", pid);
	DIR *tasks = open_list(proc, path);
	if (!tasks)
		return;
	l->processes++;
	for (struct dirent *e; (e = readdir(tasks));)
		if (isdigit((unsigned char)e->d_name[0]))
			look_at_thread(dirfd(tasks), e->d_name, l);
	closedir(tasks);
}

static struct look look_around(int proc)
{
	struct look l = { .all_stopped = true, .fingerprint = UINT64_C(0xcbf29ce484222325) };
	DIR *dir = open_list(proc, ".");

	if (!dir) {
		l.all_stopped = false;
		return l;
	}
	for (struct dirent *e; (e = readdir(dir));)
		if (isdigit((unsigned char)e->d_name[0]) && strcmp(e->d_name, "1") != 0)
			look_at_process(proc, e->d_name, &l);
	closedir(dir);
	return l;
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

/* A process may continue another one in the instant before it stops itself, so one look is not enough: two looks in a
 * row must find everybody stopped and nobody to have run between. */
static bool settle(int proc, int64_t deadline, uint32_t *ret_n)
{
	struct look before = look_around(proc);

	while (clock_mono_ms() < deadline) {
		struct look now = look_around(proc);

		if (before.all_stopped && now.all_stopped && before.fingerprint == now.fingerprint) {
			*ret_n = now.processes;
			return true;
		}
		if (!now.all_stopped)
			pause_ms(1);
		kill(-1, SIGSTOP);
		before = now;
	}
	return false;
}

int init_freeze(const struct init *in, uint32_t *ret_n, struct err *err)
{
	int64_t deadline = clock_mono_ms() + FREEZE_MS;

	/* A parent that waits in vfork for a child that was stopped before it could execute never stops itself; going
	 * on for a moment lets the child get there. */
	for (;;) {
		kill(-1, SIGSTOP);
		if (settle(in->proc, clock_mono_ms() + ROUND_MS, ret_n))
			return 0;
		kill(-1, SIGCONT);
		if (clock_mono_ms() >= deadline)
			return err_set(err, E_IO, "some process did not stop within %d s", FREEZE_MS / 1000);
		pause_ms(5);
	}
}
