/*
 * probe: tries single attacks and prints what came back, one line each: `NAME[:ARGUMENT]: ok`, or the errno by name.
 * It judges nothing: a test runs it in a cell and, as the control, outside, and compares.  libc only, static where it
 * can be, so that it runs in any root.  Nothing that succeeds outlives it, but for `daemon`.
 *
 *	probe read:/etc/shadow tcp:192.0.2.1:443 userns tiocsti-high fork:5000
 */
#include "tests/jail/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ---- single calls with fixed arguments */

static const struct {
	const char *name;
	long nr, args[5];
} calls[] = {
	{ "clone3", SYS_clone3, { 0 } },
	{ "fsopen", SYS_fsopen, { (long)"tmpfs", 0 } },
	{ "open-tree", SYS_open_tree, { AT_FDCWD, (long)"/", 1 /* OPEN_TREE_CLONE */ } },
	{ "mount-setattr", SYS_mount_setattr, { -1, 0, 0, 0, 0 } },
	{ "chroot", SYS_chroot, { (long)"/" } },
	{ "pivot", SYS_pivot_root, { (long)".", (long)"." } },
	{ "openat2", SYS_openat2, { AT_FDCWD, (long)"/", (long)(const long[3]){ 0 }, 24 } },
	{ "keyctl", SYS_keyctl, { KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0 } },
	{ "add-key", SYS_add_key, { (long)"user", (long)"warder-probe", (long)"x", 1, KEY_SPEC_PROCESS_KEYRING } },
	{ "request-key", SYS_request_key, { (long)"user", (long)"warder-no-such-key", 0, 0 } },
	{ "io-uring", SYS_io_uring_setup, { 1, (long)(char[120]){ 0 } } },
	{ "userfaultfd", SYS_userfaultfd, { 1 /* UFFD_USER_MODE_ONLY */ } },
	{ "bpf", SYS_bpf, { 0 /* BPF_MAP_CREATE */, (long)(const int[18]){ 2, 4, 4, 1 }, 72 } },
	{ "perf", SYS_perf_event_open, { (long)(const int[28]){ 1, 112 }, 0, -1, -1, 0 } },
	{ "memfd-secret", SYS_memfd_secret, { 0 } },
	{ "fanotify", SYS_fanotify_init, { 0, 0 } },
	{ "syslog", SYS_syslog, { 10 /* size of the buffer */, 0, 0 } },
	{ "sethostname", SYS_sethostname, { (long)"", -1 } },
	{ "settime", SYS_clock_settime, { CLOCK_REALTIME, 8 } },
	{ "vsock", SYS_socket, { AF_VSOCK, SOCK_STREAM, 0 } },
	{ "vsock-high", SYS_socket, { AF_VSOCK | 1L << 32, SOCK_STREAM, 0 } },
	{ "packet", SYS_socket, { AF_PACKET, SOCK_DGRAM, 0 } },
	{ "raw", SYS_socket, { AF_INET, SOCK_RAW, IPPROTO_ICMP } },
	{ "alg", SYS_socket, { AF_ALG, SOCK_SEQPACKET, 0 } },
	{ "netlink-route", SYS_socket, { AF_NETLINK, SOCK_RAW, 0 } },
	{ "netlink-audit", SYS_socket, { AF_NETLINK, SOCK_RAW, 9 } },
};

int probe_opened(int fd)
{
	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static int try_call(size_t i)
{
	const long *a = calls[i].args;
	long r = syscall(calls[i].nr, a[0], a[1], a[2], a[3], a[4]);

	if (r < 0)
		return errno;
	if (r > 2)
		close((int)r); /* nearly all that succeeds here is a descriptor; for the rest EBADF */
	return 0;
}

/* -1: no such name; -2: its argument is missing. */
static int try_named(const char *name, const char *arg)
{
	static const struct probe *const lists[] = { probe_files, probe_nets, probe_processes };

	for (size_t i = 0; i < ARRAY_LEN(calls); i++)
		if (!strcmp(calls[i].name, name))
			return try_call(i);
	for (size_t l = 0; l < ARRAY_LEN(lists); l++)
		for (const struct probe *p = lists[l]; p->name; p++)
			if (!strcmp(p->name, name))
				return p->wants_arg && !*arg ? -2 : p->try(arg);
	return -1;
}

static void print_result(int r)
{
	if (r == 0)
		puts("ok");
	else if (r >= PROBE_SIGNAL)
		printf("SIG%s\n", sigabbrev_np(r - PROBE_SIGNAL));
	else
		puts(strerrorname_np(r) ? strerrorname_np(r) : "?");
}

static bool show_named(const char *name, const char *arg)
{
	for (const struct probe_show *s = probe_shows; s->name; s++) {
		if (strcmp(s->name, name))
			continue;
		s->print(arg);
		return true;
	}
	return false;
}

/* The leak sanitizer wants ptrace, which is one of the things that are refused. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 1; i < argc; i++) {
		char name[64];
		size_t len = strcspn(argv[i], ":");
		const char *arg = argv[i][len] ? argv[i] + len + 1 : "";

		snprintf(name, sizeof(name), "%.*s", (int)len, argv[i]);
		if (show_named(name, arg))
			continue;

		int r = try_named(name, arg);
		if (r < 0) {
			fprintf(stderr, "probe: %s: %s\n", argv[i], r == -1 ? "no such probe" : "wants an argument");
			return 2;
		}
		printf("%s: ", argv[i]);
		print_result(r);
	}
	return 0;
}
