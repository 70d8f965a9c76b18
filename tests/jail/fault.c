/*
 * fault: runs a command on a machine that lacks something.  A seccomp filter makes the named system calls fail for the
 * command and its descendants; the program under test has no such switch.
 *
 *	fault fsopen=EPERM -- warder jail -- true
 *	fault seccomp=EINVAL,clone3=ENOSPC -- CMD...
 *	fault --no-userns -- CMD...
 *
 * `seccomp` also stands for prctl(PR_SET_SECCOMP); the filter is in place before it refuses the next one.
 * KILL in the place of an errno ends the process at that call.
 * `hand` stands for prctl(PR_SET_CHILD_SUBREAPER), which only the hand calls, at its start.
 * --no-userns puts the command into a user namespace, ids unchanged, that allows no further one (ENOSPC).
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jail/filter_table.h"

static void die(const char *what, const char *why)
{
	fprintf(stderr, "fault: %s: %s\n", what, why);
	exit(99);
}

static int errno_of(const char *name)
{
	for (int e = 1; e < 200; e++)
		if (strerrorname_np(e) && !strcmp(strerrorname_np(e), name))
			return e;
	die(name, "no such errno");
	return 0;
}

static void refuse_prctl(scmp_filter_ctx ctx, uint32_t action, unsigned what)
{
	if (seccomp_rule_add(ctx, action, SCMP_SYS(prctl), 1, SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffff, what)) < 0)
		die("prctl", "libseccomp refuses the rule");
}

static void add_faults(scmp_filter_ctx ctx, char *list)
{
	for (char *name; (name = strsep(&list, ","));) {
		char *error = strchr(name, '=');

		if (!error)
			die(name, "want CALL=ERRNO");
		*error++ = '\0';
		uint32_t action = strcmp(error, "KILL") ? SCMP_ACT_ERRNO((uint16_t)errno_of(error))
							: SCMP_ACT_KILL_PROCESS;
		if (!strcmp(name, "hand")) {
			refuse_prctl(ctx, action, PR_SET_CHILD_SUBREAPER);
			continue;
		}
		int nr = filter_call_number(name);
		if (nr < 0)
			die(name, "no such system call");
		if (seccomp_rule_add(ctx, action, nr, 0) < 0)
			die(name, "libseccomp refuses the rule");
		if (!strcmp(name, "seccomp"))
			refuse_prctl(ctx, action, PR_SET_SECCOMP);
	}
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		die(path, strerror(errno));
	close(fd);
}

/* From outside the namespace, because only there root may map every id; an ordinary user maps his own. */
static void write_maps(pid_t pid)
{
	char path[64], map[64];

	if (geteuid() != 0) {
		snprintf(path, sizeof(path), "/proc/%d/setgroups", (int)pid);
		write_file(path, "deny");
	}
	snprintf(path, sizeof(path), "/proc/%d/uid_map", (int)pid);
	snprintf(map, sizeof(map), geteuid() ? "%u %u 1" : "0 0 4294967295", (unsigned)geteuid(), (unsigned)geteuid());
	write_file(path, map);
	snprintf(path, sizeof(path), "/proc/%d/gid_map", (int)pid);
	snprintf(map, sizeof(map), geteuid() ? "%u %u 1" : "0 0 4294967295", (unsigned)getegid(), (unsigned)getegid());
	write_file(path, map);
}

static void no_userns(void)
{
	int ready[2], status;
	char byte;

	if (pipe2(ready, O_CLOEXEC) < 0)
		die("pipe", strerror(errno));
	pid_t mapper = fork();
	if (mapper < 0)
		die("fork", strerror(errno));
	if (mapper == 0) {
		close(ready[1]);
		if (read(ready[0], &byte, 1) == 1)
			write_maps(getppid());
		_exit(0);
	}
	if (unshare(CLONE_NEWUSER) < 0)
		die("unshare", strerror(errno));
	if (write(ready[1], "x", 1) != 1 || waitpid(mapper, &status, 0) != mapper || status)
		die("user namespace", "its ids could not be mapped");
	close(ready[0]);
	close(ready[1]);
	write_file("/proc/sys/user/max_user_namespaces", "0");
}

int main(int argc, char **argv)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	int i = 1;

	if (!ctx)
		die("seccomp", "no context");
	for (; i < argc && strcmp(argv[i], "--"); i++) {
		if (!strcmp(argv[i], "--no-userns"))
			no_userns();
		else
			add_faults(ctx, argv[i]);
	}
	if (i + 1 >= argc) {
		fprintf(stderr, "usage: fault [--no-userns] [CALL=ERRNO,...]... -- CMD [ARG]...\n");
		return 99;
	}
	if (seccomp_load(ctx) < 0) /* with no_new_privs */
		die("seccomp", "the filter does not load");
	execvp(argv[i + 1], argv + i + 1);
	die(argv[i + 1], strerror(errno));
}
