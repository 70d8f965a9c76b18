/* The filter judged in user space: every number, every edge of an argument, each also with the high half of the
 * registers set.  What is expected is written down here a second time, apart from the tables of jail/. */
#include "jail/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/prctl.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "jail/compat_kernel.h"
#include "jail/filter_table.h"
#include "tests/jail/bpf_sim.h"
#include "tests/tap.h"

#define KILL (-1)
#define PROFILES 3

static const char *const profile_names[PROFILES] = { "cell", "strict", "helper" };
static struct buf programs[PROFILES] = { BUF_INIT(1 << 16), BUF_INIT(1 << 16), BUF_INIT(1 << 16) };

/* 0 allowed, errno, or KILL. */
static int judge_raw(int profile, uint32_t arch, uint32_t nr, const uint64_t args[6])
{
	struct seccomp_data data = { .nr = (int)nr, .arch = arch, .instruction_pointer = 0x7f0011223344 };

	memcpy(data.args, args, sizeof(data.args));
	uint32_t action = bpf_sim_run((const struct sock_filter *)programs[profile].data, &data);
	switch (action & SECCOMP_RET_ACTION_FULL) {
	case SECCOMP_RET_ALLOW:
		return 0;
	case SECCOMP_RET_ERRNO:
		return (int)(action & SECCOMP_RET_DATA);
	case SECCOMP_RET_KILL_PROCESS:
		return KILL;
	default:
		return -1000;
	}
}

static int judge(int profile, uint32_t nr, const uint64_t args[6])
{
	return judge_raw(profile, COMPAT_AUDIT_ARCH, nr, args);
}

/* ---- all numbers */

struct refused {
	int error;
	const char *calls; /* separated by blanks */
};

static const struct refused cell_refused[] = {
	{ ENOSYS, "clone3 openat2 file_setattr open_tree open_tree_attr move_mount fsopen fsconfig fsmount fspick "
		  "mount_setattr statmount listmount io_uring_setup io_uring_enter io_uring_register modify_ldt uselib "
		  "lookup_dcookie nfsservctl _sysctl ustat sysfs lsm_set_self_attr" },
	{ EPERM, "setns mount umount2 pivot_root chroot keyctl add_key request_key bpf perf_event_open userfaultfd "
		 "fanotify_init memfd_secret ptrace process_vm_readv process_vm_writev process_madvise "
		 "process_mrelease kcmp pidfd_getfd "
		 "kexec_load kexec_file_load init_module finit_module delete_module reboot swapon "
		 "swapoff acct syslog iopl ioperm quotactl quotactl_fd vhangup clock_settime clock_adjtime adjtimex "
		 "settimeofday sethostname setdomainname name_to_handle_at open_by_handle_at mbind move_pages "
		 "migrate_pages set_mempolicy set_mempolicy_home_node" },
};

static const struct refused helper_not_refused[] = {
	{ 0, "read write readv writev recvfrom recvmsg sendto sendmsg close lseek fstat poll ppoll epoll_create1 "
	     "epoll_ctl epoll_wait epoll_pwait epoll_pwait2 brk munmap mremap madvise futex sched_yield clock_gettime "
	     "clock_getres clock_nanosleep nanosleep gettimeofday time getrandom getpid gettid "
	     "rt_sigaction rt_sigpending "
	     "rt_sigprocmask rt_sigreturn rt_sigsuspend rt_sigtimedwait sigaltstack restart_syscall exit exit_group" },
	{ KILL, "execve execveat ptrace" },
};

#define BY_ARGUMENT (-2000)
static const char by_argument[] = "renameat2 clone unshare ioctl prctl mknod mknodat chmod fchmod fchmodat fchmodat2 "
				  "creat open openat socket socketpair personality mmap mprotect fcntl prlimit64";

/* The answer that `list` gives for number `nr`, or `missing`. */
static int listed(const struct refused *list, size_t n, uint32_t nr, int missing)
{
	for (size_t i = 0; i < n; i++) {
		char calls[1024], *rest = calls;

		snprintf(calls, sizeof(calls), "%s", list[i].calls);
		for (char *name; (name = strsep(&rest, " "));)
			if (filter_call_number(name) == (int)nr)
				return list[i].error;
	}
	return missing;
}

static int expected(int profile, uint32_t nr)
{
	const struct refused args = { BY_ARGUMENT, by_argument };

	if (nr == UINT32_MAX)
		return ENOSYS;
	if (nr >= 0x40000000)
		return KILL;
	if (nr > 469 || (nr >= 337 && nr <= 423)) /* Linux 6.18: file_setattr; uprobe and pidfd_send_signal */
		return ENOSYS;
	int r = listed(&args, 1, nr, 0);
	if (r)
		return r;
	if (profile == FILTER_HELPER)
		return listed(helper_not_refused, ARRAY_LEN(helper_not_refused), nr, EPERM);
	return listed(cell_refused, ARRAY_LEN(cell_refused), nr, profile == FILTER_CELL ? 0 : BY_ARGUMENT);
}

static void names_are_known(void)
{
	const struct refused *all[] = { &cell_refused[0], &cell_refused[1], &helper_not_refused[0],
					&helper_not_refused[1] };
	int unknown = 0;

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		char calls[1024], *rest = calls;

		snprintf(calls, sizeof(calls), "%s", all[i]->calls);
		for (char *name; (name = strsep(&rest, " "));) {
			if (filter_call_number(name) >= 0)
				continue;
			diag("no number for %s", name);
			unknown++;
		}
	}
	is_int(unknown, 0, "every name of the expectations has a number");
	is_int(filter_call_number("no_such_call"), -2, "a name that nobody knows is told from one of other machines");
	is_int(filter_call_number("socketcall"), -1, "a call of other machines");
}

static void sweep_numbers(int profile)
{
	static const uint64_t patterns[][6] = {
		{ 0 },
		{ 1, 2, 3, 4, 5, 6 },
		{ UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX },
	};
	static const uint32_t special[] = { 0x40000000, 0x40000000 + 59, 0x40000000 + 520, 0x7fffffff, 0x80000000,
					    0xfffffffe, 0xffffffff, 0x10000, 0x3fffffff };
	int wrong = 0, seen = 0;

	for (uint32_t i = 0; i < 1200 + ARRAY_LEN(special); i++) {
		uint32_t nr = i < 1200 ? i : special[i - 1200];
		int want = expected(profile, nr);

		for (size_t p = 0; p < ARRAY_LEN(patterns) && want != BY_ARGUMENT; p++) {
			int got = judge(profile, nr, patterns[p]);

			seen++;
			if (got == want)
				continue;
			wrong++;
			diag("%s: call %u, pattern %zu: got %d, want %d", profile_names[profile], nr, p, got, want);
		}
	}
	is_int(wrong, 0, "%s: all numbers (%d judged)", profile_names[profile], seen);
}

static void sweep_architectures(int profile)
{
	static const uint32_t foreign[] = { AUDIT_ARCH_I386, AUDIT_ARCH_ARM, AUDIT_ARCH_X86_64 ^ 1, 0,
					    AUDIT_ARCH_AARCH64 };
	int wrong = 0;

	for (size_t a = 0; a < ARRAY_LEN(foreign); a++)
		for (uint32_t nr = 0; nr < 1200; nr++)
			wrong += judge_raw(profile, foreign[a], nr, (const uint64_t[6]){ 0 }) != KILL;
	is_int(wrong, 0, "%s: every call of a foreign architecture kills", profile_names[profile]);
}

/* ---- arguments, each row as it is and with the high halves set */

#define ANYTHING (-3000)

struct edge {
	const char *call;
	uint64_t args[5];
	int want[PROFILES]; /* cell, strict, helper */
};

#define BOTH(e) { e, e, EPERM }
#define CELL_ONLY { 0, ENOSYS, EPERM }
#define THREAD (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM)
#define TMPFILE_BIT (O_TMPFILE & ~O_DIRECTORY)

static const struct edge edges[] = {
	{ "clone", { SIGCHLD }, BOTH(0) },
	{ "clone", { THREAD }, BOTH(0) },
	{ "clone", { CLONE_VM | CLONE_VFORK | SIGCHLD }, BOTH(0) },
	{ "clone", { CLONE_NEWUSER | SIGCHLD }, BOTH(EPERM) },
	{ "clone", { CLONE_NEWNS }, BOTH(EPERM) },
	{ "clone", { CLONE_NEWCGROUP }, BOTH(EPERM) },
	{ "clone", { CLONE_NEWUTS }, BOTH(EPERM) },
	{ "clone", { CLONE_NEWIPC }, BOTH(EPERM) },
	{ "clone", { CLONE_NEWPID }, BOTH(EPERM) },
	{ "clone", { CLONE_NEWNET }, BOTH(EPERM) },
	{ "clone", { CLONE_NEWUSER | CLONE_NEWNET | THREAD }, BOTH(EPERM) },
	{ "clone", { 0x80 }, BOTH(0) },         /* a bit of the signal's number, not CLONE_NEWTIME */
	{ "clone", { 0x01000000 }, BOTH(0) },   /* CLONE_CHILD_SETTID, next to CLONE_NEWCGROUP */
	{ "unshare", { CLONE_FILES | CLONE_FS }, CELL_ONLY },
	{ "unshare", { CLONE_NEWUSER }, BOTH(EPERM) },
	{ "unshare", { CLONE_NEWNS | CLONE_FS }, BOTH(EPERM) },
	{ "unshare", { CLONE_NEWCGROUP }, BOTH(EPERM) },
	{ "unshare", { CLONE_NEWUTS }, BOTH(EPERM) },
	{ "unshare", { CLONE_NEWIPC }, BOTH(EPERM) },
	{ "unshare", { CLONE_NEWPID }, BOTH(EPERM) },
	{ "unshare", { CLONE_NEWNET }, BOTH(EPERM) },
	{ "unshare", { 0x80 }, BOTH(EPERM) }, /* CLONE_NEWTIME */

	{ "ioctl", { 0, TIOCSTI }, BOTH(EPERM) },
	{ "ioctl", { 0, TIOCSTI - 1 }, BOTH(0) }, /* TIOCOUTQ */
	{ "ioctl", { 0, TIOCSTI + 1 }, BOTH(0) }, /* TIOCGWINSZ */
	{ "ioctl", { 0, TIOCLINUX }, BOTH(EPERM) },
	{ "ioctl", { 0, TIOCLINUX - 1 }, BOTH(0) }, /* FIONREAD */
	{ "ioctl", { 0, TIOCCONS }, BOTH(EPERM) },
	{ "ioctl", { 0, TIOCCONS + 1 }, CELL_ONLY },
	{ "ioctl", { 0, TIOCSETD }, BOTH(EPERM) },
	{ "ioctl", { 0, TIOCSETD - 1 }, BOTH(0) }, /* TIOCNOTTY */
	{ "ioctl", { 0, TIOCSETD + 1 }, CELL_ONLY },
	{ "ioctl", { 0, TIOCSCTTY, 0 }, BOTH(0) },
	{ "ioctl", { 0, TIOCSCTTY, 1 }, BOTH(EPERM) },
	{ "ioctl", { 0, TIOCSCTTY, 2 }, CELL_ONLY },
	{ "ioctl", { 0, 0x40086602 }, BOTH(EPERM) }, /* FS_IOC_SETFLAGS */
	{ "ioctl", { 0, 0x80086601 }, BOTH(0) },     /* FS_IOC_GETFLAGS */
	{ "ioctl", { 0, 0x401c5820 }, BOTH(EPERM) }, /* FS_IOC_FSSETXATTR */
	{ "ioctl", { 0, TCGETS }, BOTH(0) },
	{ "ioctl", { 0, 0 }, CELL_ONLY },
	{ "ioctl", { TIOCSTI, TCGETS, TIOCSTI }, BOTH(0) }, /* the number in the wrong place */

	{ "prctl", { PR_SET_MM }, BOTH(EPERM) },
	{ "prctl", { PR_SET_MM - 1 }, CELL_ONLY },
	{ "prctl", { PR_SET_CHILD_SUBREAPER }, BOTH(0) },
	{ "prctl", { PR_SET_DUMPABLE, 0 }, BOTH(0) },
	{ "prctl", { PR_SET_NO_NEW_PRIVS, 1 }, BOTH(0) },
	{ "prctl", { PR_SET_SECUREBITS }, CELL_ONLY },

	{ "mknod", { 0, S_IFREG | 0644 }, BOTH(0) },
	{ "mknod", { 0, 0644 }, CELL_ONLY },
	{ "mknod", { 0, S_IFIFO | 0644 }, BOTH(0) },
	{ "mknod", { 0, S_IFSOCK | 0644 }, CELL_ONLY },
	{ "mknod", { 0, S_IFCHR | 0644, 0 }, BOTH(EPERM) },
	{ "mknod", { 0, S_IFBLK | 0644, 0xfd00 }, BOTH(EPERM) },
	{ "mknod", { 0, S_IFREG | S_ISUID | 0755 }, BOTH(EPERM) },
	{ "mknod", { 0, S_IFIFO | S_ISGID | 0755 }, BOTH(EPERM) },
	{ "mknodat", { 0, 0, S_IFREG | 0644 }, BOTH(0) },
	{ "mknodat", { 0, 0, S_IFCHR }, BOTH(EPERM) },
	{ "mknodat", { 0, 0, S_IFBLK | 0666 }, BOTH(EPERM) },
	{ "mknodat", { 0, 0, S_IFREG | S_ISGID }, BOTH(EPERM) },
	{ "mknodat", { 0, S_IFCHR, S_IFREG | 0644, S_IFCHR }, BOTH(0) },

	{ "renameat2", { 3, 0, 3, 0, 0 }, BOTH(0) },
	{ "renameat2", { 4, 0, 4, 0, 3 }, BOTH(0) }, /* RENAME_NOREPLACE | RENAME_EXCHANGE */
	{ "renameat2", { 3, 0, 3, 0, 4 }, BOTH(EPERM) },
	{ "renameat2", { 3, 0, 3, 0, 5 }, BOTH(EPERM) },

	{ "chmod", { 0, 01777 }, BOTH(0) },
	{ "chmod", { 0, 04755 }, BOTH(EPERM) },
	{ "chmod", { 0, 02755 }, BOTH(EPERM) },
	{ "chmod", { 04000, 0 }, BOTH(0) },
	{ "fchmod", { 3, 0755 }, BOTH(0) },
	{ "fchmod", { 3, 06755 }, BOTH(EPERM) },
	{ "fchmod", { 3, 04000 }, BOTH(EPERM) },
	{ "fchmodat", { 3, 0, 0777 }, BOTH(0) },
	{ "fchmodat", { 3, 0, 04777 }, BOTH(EPERM) },
	{ "fchmodat", { 3, 0, 02000 }, BOTH(EPERM) },
	{ "fchmodat2", { 3, 0, 0777, 0 }, BOTH(0) },
	{ "fchmodat2", { 3, 0, 04777, 0 }, BOTH(EPERM) },
	{ "fchmodat2", { 3, 0, 02777, 0x100 }, BOTH(EPERM) },
	{ "creat", { 0, 0644 }, BOTH(0) },
	{ "creat", { 0, 04755 }, BOTH(EPERM) },
	{ "creat", { 0, 02755 }, BOTH(EPERM) },
	{ "open", { 0, O_RDONLY, 06777 }, BOTH(0) }, /* what the register happened to hold */
	{ "open", { 0, O_RDONLY | O_DIRECTORY, 06777 }, BOTH(0) },
	{ "open", { 0, O_CREAT | O_WRONLY, 0644 }, BOTH(0) },
	{ "open", { 0, O_CREAT | O_WRONLY, 04755 }, BOTH(EPERM) },
	{ "open", { 0, O_CREAT | O_EXCL | O_CLOEXEC, 02755 }, BOTH(EPERM) },
	{ "open", { 0, O_TMPFILE | O_RDWR, 0600 }, BOTH(0) },
	{ "open", { 0, O_TMPFILE | O_RDWR, 04600 }, BOTH(EPERM) },
	{ "open", { 0, TMPFILE_BIT | O_RDWR, 02600 }, BOTH(EPERM) },
	{ "openat", { 0, 0, O_RDONLY, 06777 }, BOTH(0) },
	{ "openat", { 0, 0, O_CREAT | O_WRONLY, 0666 }, BOTH(0) },
	{ "openat", { 0, 0, O_CREAT | O_WRONLY, 04666 }, BOTH(EPERM) },
	{ "openat", { 0, 0, O_CREAT | O_WRONLY, 02666 }, BOTH(EPERM) },
	{ "openat", { 0, 0, O_TMPFILE | O_RDWR, 0600 }, BOTH(0) },
	{ "openat", { 0, 0, O_TMPFILE | O_RDWR, 06600 }, BOTH(EPERM) },

	{ "personality", { 0 }, BOTH(0) },
	{ "personality", { 0x8 }, BOTH(0) },
	{ "personality", { 0x20000 }, BOTH(0) },
	{ "personality", { 0x20008 }, BOTH(0) },
	{ "personality", { 0xffffffff }, BOTH(0) },
	{ "personality", { 0x1 }, BOTH(EPERM) },
	{ "personality", { 0x9 }, BOTH(EPERM) },
	{ "personality", { 0x0400000 }, BOTH(EPERM) }, /* READ_IMPLIES_EXEC */
	{ "personality", { 0x0040000 }, BOTH(EPERM) }, /* ADDR_NO_RANDOMIZE */
	{ "personality", { 0xfffffffe }, BOTH(EPERM) },

	{ "socketpair", { AF_UNIX, SOCK_STREAM }, BOTH(0) },
	{ "socketpair", { 40, SOCK_STREAM }, BOTH(EAFNOSUPPORT) },
	{ "socketpair", { 30, SOCK_STREAM }, BOTH(EAFNOSUPPORT) }, /* AF_TIPC */

	{ "mmap", { 0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE }, { 0, 0, 0 } },
	{ "mmap", { 0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE }, { 0, 0, EPERM } },
	{ "mmap", { PROT_EXEC, PROT_EXEC, 0, PROT_EXEC }, { 0, 0, 0 } },
	{ "mprotect", { 0, 4096, PROT_NONE }, { 0, 0, 0 } },
	{ "mprotect", { 0, 4096, PROT_EXEC }, { 0, 0, EPERM } },
	{ "mprotect", { 0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC }, { 0, 0, EPERM } },
	{ "fcntl", { 0, F_GETFL }, { 0, 0, 0 } },
	{ "fcntl", { 0, F_SETFL }, { 0, 0, 0 } },
	{ "fcntl", { 0, F_GETFD }, { 0, 0, 0 } },
	{ "fcntl", { 0, F_SETFD }, { 0, 0, 0 } },
	{ "fcntl", { 0, F_DUPFD_CLOEXEC }, { 0, 0, 0 } },
	{ "fcntl", { 0, F_DUPFD }, { 0, 0, EPERM } },
	{ "fcntl", { 0, F_SETOWN }, { 0, 0, EPERM } },
	{ "fcntl", { 0, F_SETLEASE }, { 0, 0, EPERM } },
	{ "fcntl", { 0, F_DUPFD_CLOEXEC + 1 }, { 0, 0, EPERM } },
	{ "prlimit64", { 0, 7, 0, 0 }, { 0, 0, ANYTHING } }, /* its pointer is compared whole: see below */
};

static void judge_edges(int profile)
{
	static const uint64_t high[] = { 0, UINT64_C(1) << 32, UINT64_C(0xffffffff) << 32 };
	int wrong = 0, seen = 0;

	for (size_t i = 0; i < ARRAY_LEN(edges); i++) {
		const struct edge *e = &edges[i];
		int nr = filter_call_number(e->call);

		for (size_t h = 0; h < ARRAY_LEN(high) && nr >= 0 && e->want[profile] != ANYTHING; h++) {
			uint64_t args[6] = { 0 };

			for (size_t a = 0; a < ARRAY_LEN(e->args); a++)
				args[a] = e->args[a] | high[h];
			int got = judge(profile, (uint32_t)nr, args);
			seen++;
			if (got == e->want[profile])
				continue;
			wrong++;
			diag("%s: row %zu: %s(%#jx, %#jx, %#jx, %#jx): got %d, want %d", profile_names[profile], i,
			     e->call, (uintmax_t)args[0], (uintmax_t)args[1], (uintmax_t)args[2],
			     (uintmax_t)args[3], got, e->want[profile]);
		}
	}
	is_int(wrong, 0, "%s: edges of arguments (%d judged)", profile_names[profile], seen);
}

static int judge_prlimit(uint64_t pid, uint64_t new_limit, uint64_t old_limit)
{
	const uint64_t args[6] = { pid, 7 /* RLIMIT_NOFILE */, new_limit, old_limit };

	return judge(FILTER_HELPER, (uint32_t)filter_call_number("prlimit64"), args);
}

static void judge_pointers(void)
{
	is_int(judge_prlimit(0, 0, 0x7fff0000), 0, "helper reads a limit of its own");
	is_int(judge_prlimit(0, 0x7fff0000, 0), EPERM, "helper sets no limit");
	is_int(judge_prlimit(0, UINT64_C(1) << 32, 0), EPERM, "nor from an address whose low half is 0");
	is_int(judge_prlimit(1, 0, 0), EPERM, "helper reads no limit of another process");
}

/* ---- socket: the whole space that the kernel tells apart */

static bool one_of(int value, const int *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == value)
			return true;
	return false;
}

static int expected_socket(int family, int type, int protocol)
{
	static const int inet[] = { 0, 6, 17, 1, 262 }, inet6[] = { 0, 6, 17, 58, 262 };

	switch (family) {
	case AF_UNIX:
		return 0;
	case AF_NETLINK:
		return protocol == 0 ? 0 : EAFNOSUPPORT;
	case AF_INET:
	case AF_INET6:
		if (type != SOCK_STREAM && type != SOCK_DGRAM && type != SOCK_SEQPACKET)
			return EPERM;
		if (!one_of(protocol, family == AF_INET ? inet : inet6, 5))
			return EPROTONOSUPPORT;
		return 0;
	default:
		return EAFNOSUPPORT;
	}
}

static void sweep_sockets(int profile)
{
	static const int protocols[] = { 0,   1,   2,	6,   17,  33,  58,  115,     132,
					 136, 255, 256, 261, 262, 263, -1,  1 << 16, 1 << 31 };
	static const uint64_t high[] = { 0, UINT64_C(1) << 32, UINT64_C(0xffffffff) << 32 };
	static const uint64_t type_flags[] = { 0, SOCK_CLOEXEC | SOCK_NONBLOCK, 0x10 };
	uint32_t nr = (uint32_t)filter_call_number("socket");
	int wrong = 0, seen = 0;

	for (int f = -1; f < 64; f++) {
		for (int type = 0; type < 16; type++) {
			for (size_t i = 0; i < ARRAY_LEN(protocols) * ARRAY_LEN(high) * 3; i++) {
				int protocol = protocols[i % ARRAY_LEN(protocols)];
				uint64_t up = high[i / ARRAY_LEN(protocols) % ARRAY_LEN(high)];
				uint64_t flags = type_flags[i / ARRAY_LEN(protocols) / ARRAY_LEN(high)];
				uint64_t args[6] = { (uint32_t)f | up, (uint64_t)type | flags | up,
						     (uint32_t)protocol | up };
				int got = judge(profile, nr, args), want = expected_socket(f, type, protocol);

				seen++;
				if (got == want)
					continue;
				if (wrong++ < 10)
					diag("socket(%#jx, %#jx, %#jx): got %d, want %d", (uintmax_t)args[0],
					     (uintmax_t)args[1], (uintmax_t)args[2], got, want);
			}
		}
	}
	is_int(wrong, 0, "%s: socket families, types, protocols (%d judged)", profile_names[profile], seen);
}

/* ---- what must hold whatever the tables say */

/* Each profile is within the one before, for every call and a spread of arguments. */
static void profiles_nest(void)
{
	uint64_t state = 0x9e3779b97f4a7c15;
	int wrong[2] = { 0, 0 };

	for (uint32_t nr = 0; nr < 500; nr++) {
		for (int round = 0; round < 100; round++) {
			uint64_t args[6];

			for (size_t a = 0; a < 6; a++) {
				state ^= state << 13, state ^= state >> 7, state ^= state << 17; /* xorshift64 */
				args[a] = round % 2 ? state & 0x3ffff : UINT64_C(1) << state % 64;
			}
			bool cell = !judge(FILTER_CELL, nr, args), strict = !judge(FILTER_STRICT, nr, args);

			wrong[0] += strict && !cell;
			wrong[1] += !judge(FILTER_HELPER, nr, args) && !strict;
		}
	}
	is_int(wrong[0], 0, "what strict allows, cell allows");
	is_int(wrong[1], 0, "what helper allows, strict allows");
}

int main(void)
{
	struct err err = { 0 };

	names_are_known();
	for (int p = 0; p < PROFILES; p++) {
		struct buf again = BUF_INIT(1 << 16);

		int r = filter_build((enum filter_profile)p, &programs[p], &err);
		if (!is_int(r, 0, "%s is built", profile_names[p])) {
			diag("%s", err.text);
			return tap_end();
		}
		size_t n = programs[p].len / sizeof(struct sock_filter);
		if (!ok(programs[p].len % sizeof(struct sock_filter) == 0 &&
				bpf_sim_check((const struct sock_filter *)programs[p].data, n),
			"%s is a program that the kernel's checker would pass (%zu instructions)", profile_names[p], n))
			return tap_end();
		ok(filter_build((enum filter_profile)p, &again, &err) == 0 && again.len == programs[p].len &&
			   !memcmp(again.data, programs[p].data, again.len),
		   "%s is the same to the byte when built again", profile_names[p]);
		buf_free(&again);

		sweep_numbers(p);
		sweep_architectures(p);
		judge_edges(p);
	}
	judge_pointers();
	sweep_sockets(FILTER_CELL);
	sweep_sockets(FILTER_STRICT);
	profiles_nest();

	struct buf small = BUF_INIT(16);
	is_int(filter_build(FILTER_CELL, &small, &err), E_LIMIT, "a buffer that is too small is an error");
	buf_free(&small);
	struct buf none = BUF_INIT(1 << 16);
	is_int(filter_build((enum filter_profile)7, &none, &err), E_INVALID, "no such profile");
	is_int(none.len, 0, "and nothing was written");
	buf_free(&none);

	for (int p = 0; p < PROFILES; p++)
		buf_free(&programs[p]);
	return tap_end();
}
