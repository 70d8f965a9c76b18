/* The proof of the lock: a table of what must be refused.  Each probe is chosen so that the kernel without that layer
 * would answer something else (EBADF, EFAULT, EINVAL, success), and so that nothing is left behind if it succeeds. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "jail/compat_kernel.h"
#include "jail/lock_internal.h"

#define HIGH (1L << 32) /* a bit that the kernel drops from an int */

/* ---- plain calls */

struct call_probe {
	const char *what;
	int want;
	long nr, args[5];
};

static const struct call_probe calls[] = {
	{ "clone3", ENOSYS, SYS_clone3, { 0 } },
	{ "setns", EPERM, SYS_setns, { -1, 0 } },
	{ "mount", EPERM, SYS_mount, { 0 } },
	{ "umount2", EPERM, SYS_umount2, { 0 } },
	{ "chroot", EPERM, SYS_chroot, { 0 } },
	{ "open_tree", ENOSYS, SYS_open_tree, { -1, 0, 0 } },
	{ "move_mount", ENOSYS, SYS_move_mount, { -1, 0, -1, 0, 0 } },
	{ "fsopen", ENOSYS, SYS_fsopen, { 0 } },
	{ "mount_setattr", ENOSYS, SYS_mount_setattr, { -1, 0, 0, 0, 0 } },
	{ "openat2", ENOSYS, SYS_openat2, { -1, 0, 0, 0 } },
	{ "io_uring_setup", ENOSYS, SYS_io_uring_setup, { 0 } },
	{ "keyctl", EPERM, SYS_keyctl, { KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0 } },
	{ "add_key", EPERM, SYS_add_key, { 0 } },
	{ "request_key", EPERM, SYS_request_key, { 0 } },
	{ "bpf", EPERM, SYS_bpf, { -1, 0, 0 } },
	{ "perf_event_open", EPERM, SYS_perf_event_open, { 0, 0, -1, -1, 0 } },
	{ "userfaultfd", EPERM, SYS_userfaultfd, { -1 } },
	{ "memfd_secret", EPERM, SYS_memfd_secret, { -1 } },
	{ "ptrace", EPERM, SYS_ptrace, { 2 /* PTRACE_PEEKDATA */, 0, 0, 0 } },
	{ "process_vm_readv", EPERM, SYS_process_vm_readv, { 0 } },
	{ "pidfd_getfd", EPERM, SYS_pidfd_getfd, { -1, 0, 0 } },
	{ "name_to_handle_at", EPERM, SYS_name_to_handle_at, { -1, 0, 0, 0, 0 } },
	{ "ioctl(TIOCSTI)", EPERM, SYS_ioctl, { -1, TIOCSTI, 0 } },
	{ "ioctl(TIOCSTI) with a high bit", EPERM, SYS_ioctl, { -1, TIOCSTI | HIGH, 0 } },
	{ "fchmod(04755)", EPERM, SYS_fchmod, { -1, 04755 } },
	{ "mknodat(S_IFCHR)", EPERM, SYS_mknodat, { -1, 0, S_IFCHR, 0 } },
};

static int call_probe(const struct call_probe *p)
{
	return syscall(p->nr, p->args[0], p->args[1], p->args[2], p->args[3], p->args[4]) < 0 ? errno : 0;
}

/* ---- those that need care when they succeed */

/* A fork that runs no handler of libc. */
static pid_t raw_fork(unsigned long flags)
{
	return (pid_t)syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
}

/* Exit status of `pid`: the errno that it saw. */
static int reap(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD;
}

static int probe_unshare(void)
{
	pid_t pid = raw_fork(0); /* a success must not move this process */

	if (pid < 0)
		return errno;
	if (pid == 0)
		_exit(syscall(SYS_unshare, CLONE_NEWUSER) < 0 ? errno : 0);
	return reap(pid);
}

static int probe_clone(void)
{
	pid_t pid = raw_fork(CLONE_NEWUSER);

	if (pid < 0)
		return errno;
	if (pid == 0)
		_exit(0);
	return reap(pid);
}

static int open_socket(long family, long type, long protocol)
{
	int fd = (int)syscall(SYS_socket, family, type | SOCK_CLOEXEC, protocol);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static int probe_vsock(void)
{
	return open_socket(AF_VSOCK, SOCK_STREAM, 0);
}

static int probe_vsock_high(void)
{
	return open_socket(AF_VSOCK | HIGH, SOCK_STREAM, 0);
}

static int probe_packet(void)
{
	return open_socket(AF_PACKET, SOCK_DGRAM, 0);
}

static int probe_raw(void)
{
	return open_socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
}

static int probe_netlink(void)
{
	return open_socket(AF_NETLINK, SOCK_RAW, 15 /* NETLINK_KOBJECT_UEVENT */);
}

static int probe_personality(void)
{
	long before = syscall(SYS_personality, 0x0040000 /* ADDR_NO_RANDOMIZE */);

	if (before < 0)
		return errno;
	syscall(SYS_personality, before);
	return 0;
}

#define NOWHERE 0xc0000201 /* 192.0.2.1 (RFC 5737): nobody is called on when the network is there after all */

static int connect_out(int type, uint16_t port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(NOWHERE) };
	_cleanup_fd_ int fd = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return errno;
	return connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 ? errno : 0;
}

static int probe_udp(void)
{
	return connect_out(SOCK_DGRAM, 53);
}

static int probe_tcp(void)
{
	return connect_out(SOCK_STREAM, 443);
}

static int open_path(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC | O_NOCTTY, 0600);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static int probe_shadow(void)
{
	return open_path("/etc/shadow", O_RDONLY);
}

static int create_path(const char *path)
{
	int r = open_path(path, O_WRONLY | O_CREAT | O_EXCL);

	if (!r)
		unlink(path);
	return r;
}

static int probe_root(void)
{
	return create_path("/.lock-check");
}

static int probe_canary(void)
{
	return create_path(LOCK_CANARY "/.lock-check");
}

/* ---- states: 0 as wanted, else an errno that says how it is not */

static int probe_caps(void)
{
	return lock_caps_empty() ? 0 : ENOTEMPTY;
}

static int probe_bounding(void)
{
	return lock_bounding_empty() ? 0 : ENOTEMPTY;
}

static int probe_nnp(void)
{
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : EPERM;
}

static int probe_mode(void)
{
	return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 2 /* SECCOMP_MODE_FILTER */ ? 0 : EPERM;
}

static int probe_dumpable(void)
{
	return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0 ? 0 : EPERM;
}

static int probe_core(void)
{
	struct rlimit core;

	return getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_max == 0 ? 0 : EFBIG;
}

static const struct {
	const char *layer, *what;
	int want, also; /* also: as good; 0: nothing */
	int (*try)(void);
} probes[] = {
	{ "seccomp", "unshare(CLONE_NEWUSER)", EPERM, 0, probe_unshare },
	{ "seccomp", "clone(CLONE_NEWUSER)", EPERM, 0, probe_clone },
	{ "seccomp", "socket(AF_VSOCK)", EAFNOSUPPORT, 0, probe_vsock },
	{ "seccomp", "socket(AF_VSOCK) with a high bit", EAFNOSUPPORT, 0, probe_vsock_high },
	{ "seccomp", "socket(AF_PACKET)", EAFNOSUPPORT, 0, probe_packet },
	{ "seccomp", "socket(AF_INET, SOCK_RAW)", EPERM, 0, probe_raw },
	{ "seccomp", "socket(AF_NETLINK) beside ROUTE", EAFNOSUPPORT, 0, probe_netlink },
	{ "seccomp", "personality(ADDR_NO_RANDOMIZE)", EPERM, 0, probe_personality },
	{ "seccomp", "filter mode", 0, 0, probe_mode },
	{ "caps", "capability sets empty", 0, 0, probe_caps },
	{ "caps", "bounding set empty", 0, 0, probe_bounding },
	{ "caps", "no_new_privs", 0, 0, probe_nnp },
	{ "process", "not dumpable", 0, 0, probe_dumpable },
	{ "process", "no core file", 0, 0, probe_core },
	{ "mounts", "open /etc/shadow", ENOENT, 0, probe_shadow },
	{ "mounts", "create a file in /", EROFS, 0, probe_root },
	/* Landlock refuses a TCP connect before the routing is asked, so UDP speaks for the namespace. */
	{ "network", "udp connect to 192.0.2.1", ENETUNREACH, 0, probe_udp },
	{ "network", "tcp connect to 192.0.2.1", ENETUNREACH, EACCES, probe_tcp },
	{ "landlock", "create a file in " LOCK_CANARY, EACCES, 0, probe_canary },
};

_Static_assert(ARRAY_LEN(calls) + ARRAY_LEN(probes) <= LOCK_PROBES_MAX, "a caller's array holds them all");

size_t lock_selfcheck(struct lock_probe *ret, size_t max, size_t *ret_n)
{
	size_t n = 0, bad = 0;

	for (size_t i = 0; i < ARRAY_LEN(calls) + ARRAY_LEN(probes); i++) {
		struct lock_probe p;

		if (i < ARRAY_LEN(calls)) {
			const struct call_probe *c = &calls[i];

			p = (struct lock_probe){ "seccomp", c->what, c->want, call_probe(c) };
		} else {
			size_t j = i - ARRAY_LEN(calls);

			p = (struct lock_probe){ probes[j].layer, probes[j].what, probes[j].want, probes[j].try() };
			if (probes[j].also && p.got == probes[j].also)
				p.want = probes[j].also;
		}
		bad += p.got != p.want;
		if (n < max)
			ret[n++] = p;
	}
	*ret_n = n;
	return bad;
}
