/* The program of init as bytes that nobody can change, and the clone that becomes it. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "jail/cell_internal.h"

#define HAND_MAX (64 << 20) /* bytes */
#define STACK_LEN 65536
#define NAMESPACES \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U /* 6.3 */
#endif

/* ---- the program */

/* Beside our own program, else where `make install` puts it: no environment and no PATH is asked. */
static int open_hand(struct err *err)
{
	char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - sizeof("warder-hand"));
	int fd = -1;

	if (len > 0) {
		path[len] = '\0';
		char *slash = strrchr(path, '/');
		if (slash) {
			memcpy(slash + 1, "warder-hand", sizeof("warder-hand")); /* there is room: see readlink */
			fd = open(path, O_RDONLY | O_CLOEXEC);
		}
	}
	if (fd < 0)
		fd = open(LIBEXECDIR "/warder-hand", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, E_MACHINE,
			       "warder-hand: neither beside this program nor in %s: %s; install warder again",
			       LIBEXECDIR, strerror(errno));
	return fd;
}

static int copy_sealed(int from, int *ret_fd, struct err *err)
{
	struct stat st;
	_cleanup_fd_ int fd = memfd_create("warder-hand", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);

	if (fd < 0 && errno == EINVAL) /* before 6.3 */
		fd = memfd_create("warder-hand", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || fstat(from, &st) < 0)
		return err_errno(err, E_MACHINE, errno, "warder-hand: memfd_create");
	if (!S_ISREG(st.st_mode) || st.st_size > HAND_MAX)
		return err_set(err, E_MACHINE, "warder-hand: not a program; install warder again");
	for (off_t left = st.st_size; left > 0;) {
		ssize_t n = sendfile(fd, from, NULL, (size_t)left);

		if (n <= 0)
			return err_errno(err, E_IO, n ? errno : EIO, "copying warder-hand");
		left -= n;
	}
	/* A cell that gets at /proc/1/exe finds nothing to write (CVE-2019-5736), and nothing on disk. */
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
		return err_errno(err, E_MACHINE, errno, "sealing warder-hand");
	*ret_fd = steal_fd(&fd);
	return 0;
}

int cell_hand(int *ret_fd, struct err *err)
{
	static int kept = -1;

	if (kept < 0) {
		_cleanup_fd_ int file = open_hand(err);
		int r = file < 0 ? file : copy_sealed(file, &kept, err);

		if (r < 0)
			return r;
	}
	*ret_fd = kept;
	return 0;
}

/* ---- the process */

struct start {
	int from[5]; /* what becomes descriptors 0 to 4 */
	char *const *argv;
	const char *what; /* failed */
	int errnum;
};

/* What init needs until the root stands and the lock is closed; the kernel gives a new user namespace all of them, and
 * an exec by another id than its root would lose them but for the ambient set. */
static const int kept_caps[] = {
	CAP_SYS_ADMIN,    /* mounts */
	CAP_SYS_RESOURCE, /* max_user_namespaces */
	CAP_NET_ADMIN,    /* lo */
	CAP_SETUID,
	CAP_SETGID,
	CAP_SETPCAP,
	/* These stay with the overlay, which copies files up in the name of who mounted it. */
	CAP_CHOWN,
	CAP_FOWNER,
	CAP_FSETID,
	CAP_DAC_OVERRIDE,
};

static bool keep_caps(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	if (syscall(SYS_capget, &header, data) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(kept_caps); i++)
		data[CAP_TO_INDEX(kept_caps[i])].inheritable |= CAP_TO_MASK(kept_caps[i]);
	if (syscall(SYS_capset, &header, data) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(kept_caps); i++)
		if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, kept_caps[i], 0, 0) < 0)
			return false;
	return true;
}

static bool place_fds(struct start *s)
{
	/* Out of the way first: a source may be the place of another. */
	for (size_t i = 0; i < ARRAY_LEN(s->from); i++) {
		int high = fcntl(s->from[i], F_DUPFD_CLOEXEC, 16);

		if (high < 0)
			return false;
		s->from[i] = high;
	}
	for (size_t i = 0; i < ARRAY_LEN(s->from); i++)
		if (dup2(s->from[i], (int)i) < 0)
			return false;
	return close_range(ARRAY_LEN(s->from), ~0U, 0) == 0;
}

static void default_signals(void)
{
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL); /* fails for KILL, STOP and libc's own: fine */
}

/* Runs in our memory on a stack of its own while we wait (as vfork): it makes system calls, and writes only `s`.  It
 * never returns, so AddressSanitizer must not mark its frame: the marks would outlive the stack, and lie under whatever
 * is mapped there next. */
__attribute__((no_sanitize_address)) static int become_init(void *arg)
{
	struct start *s = arg;
	static char *const no_environment[] = { NULL };

	default_signals();
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		s->what = "PR_SET_PDEATHSIG";
	else if (!place_fds(s))
		s->what = "descriptors of init";
	else if (!keep_caps())
		s->what = "ambient capabilities";
	else if (setsid() < 0 || chdir("/") < 0)
		s->what = "session of init";
	if (!s->what) {
		syscall(SYS_execveat, SETUP_FD_HAND, "", s->argv, no_environment, AT_EMPTY_PATH);
		s->what = "execveat(warder-hand)";
	}
	s->errnum = errno;
	_exit(1);
}

int cell_spawn(struct cell *c, int hand, int control, const int stdio[3], bool map_by_parent, struct err *err)
{
	char uid[16], gid[16];
	char name[] = "warder-hand", init[] = "--init";
	char *argv[] = { name, init, map_by_parent ? NULL : uid, gid, NULL };
	struct start s = { .from = { stdio[0], stdio[1], stdio[2], control, hand }, .argv = argv };
	sigset_t all, old;
	int pidfd = -1;

	snprintf(uid, sizeof(uid), "%u", (unsigned)geteuid());
	snprintf(gid, sizeof(gid), "%u", (unsigned)getegid());
	char *stack = mmap(NULL, STACK_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (stack == MAP_FAILED)
		return err_set(err, E_NOMEM, "starting a cell: out of memory");

	/* No handler of ours may run in the child; init starts with everything blocked. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	pid_t pid = clone(become_init, stack + STACK_LEN, CLONE_VM | CLONE_VFORK | CLONE_PIDFD | NAMESPACES | SIGCHLD,
			  &s, &pidfd);
	int why = errno;
	sigprocmask(SIG_SETMASK, &old, NULL);
	munmap(stack, STACK_LEN);

	if (pid < 0) /* not err_errno: ENOSPC is no full disk here */
		return err_set(err, E_MACHINE, "clone(CLONE_NEWUSER|...): %s%s", strerror(why),
			       why == ENOSPC ? " (user.max_user_namespaces is used up, or 0)" : "");
	c->pid = pid;
	c->pidfd = pidfd;
	if (s.what)
		return err_errno(err, E_MACHINE, s.errnum, "%s", s.what);
	return 0;
}
