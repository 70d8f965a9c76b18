#include "jail/filter_allow.h"

#include <asm/termbits.h> /* struct termios2, for the size in TCGETS2 */
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/prctl.h>
#include <linux/sockios.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "jail/filter_row.h"

/* ---- FILTER_STRICT: what ordinary programs and the runtimes of MCP servers (node, python) use */

static const struct filter_group strict_groups[] = {
	/* Files by path and by descriptor. */
	{ FILTER_ALLOW,
	  CALLS("access", "cachestat", "chdir", "chown", "close", "close_range", "copy_file_range", "dup",
		"dup2", "dup3", "faccessat", "faccessat2", "fadvise64", "fallocate", "fchdir", "fchown",
		"fchownat", "fcntl", "fdatasync", "fgetxattr", "file_getattr", "flistxattr", "flock",
		"fremovexattr", "fsetxattr", "fstat", "fstatfs", "fsync", "ftruncate", "futimesat", "getcwd",
		"getdents", "getdents64", "getxattr", "getxattrat", "inotify_add_watch", "inotify_init",
		"inotify_init1", "inotify_rm_watch", "lchown", "lgetxattr", "link", "linkat", "listxattr",
		"listxattrat", "llistxattr", "lremovexattr", "lseek", "lsetxattr", "lstat", "mkdir", "mkdirat",
		"newfstatat", "pread64", "preadv", "preadv2", "pwrite64", "pwritev", "pwritev2", "read",
		"readahead", "readlink", "readlinkat", "readv", "removexattr", "removexattrat", "rename",
		"renameat", "rmdir", "sendfile", "setxattr", "setxattrat", "splice", "stat", "statfs", "statx",
		"symlink", "symlinkat", "sync", "sync_file_range", "syncfs", "tee", "truncate", "umask",
		"unlink", "unlinkat", "utime", "utimensat", "utimes", "vmsplice", "write", "writev") },
	/* Waiting, pipes, timers. */
	{ FILTER_ALLOW,
	  CALLS("alarm", "clock_getres", "clock_gettime", "clock_nanosleep", "epoll_create", "epoll_create1",
		"epoll_ctl", "epoll_pwait", "epoll_pwait2", "epoll_wait", "eventfd", "eventfd2", "getitimer",
		"gettimeofday", "io_cancel", "io_destroy", "io_getevents", "io_pgetevents", "io_setup",
		"io_submit", "nanosleep", "pause", "pipe", "pipe2", "poll", "ppoll", "pselect6", "select",
		"setitimer", "signalfd", "signalfd4", "time", "timer_create", "timer_delete",
		"timer_getoverrun", "timer_gettime", "timer_settime", "timerfd_create", "timerfd_gettime",
		"timerfd_settime", "times") },
	/* Memory.  PROT_EXEC stays: these runtimes compile. */
	{ FILTER_ALLOW,
	  CALLS("brk", "get_mempolicy", "madvise", "map_shadow_stack", "membarrier", "memfd_create", "mincore",
		"mlock", "mlock2", "mlockall", "mmap", "mprotect", "mremap", "mseal", "msync", "munlock",
		"munlockall", "munmap", "pkey_alloc", "pkey_free", "pkey_mprotect", "remap_file_pages") },
	/* Processes, threads, signals. */
	{ FILTER_ALLOW,
	  CALLS("arch_prctl", "capget", "execve", "execveat", "exit", "exit_group", "fork", "futex",
		"futex_requeue", "futex_wait", "futex_waitv", "futex_wake", "get_robust_list", "getcpu",
		"getegid", "geteuid", "getgid", "getgroups", "getpgid", "getpgrp", "getpid", "getppid",
		"getpriority", "getrandom", "getresgid", "getresuid", "getrlimit", "getrusage", "getsid",
		"gettid", "getuid", "ioprio_get", "ioprio_set", "kill", "landlock_add_rule",
		"landlock_create_ruleset", "landlock_restrict_self", "lsm_get_self_attr", "lsm_list_modules",
		"pidfd_open", "pidfd_send_signal", "prlimit64", "restart_syscall", "rseq", "rt_sigaction",
		"rt_sigpending", "rt_sigprocmask", "rt_sigqueueinfo", "rt_sigreturn", "rt_sigsuspend",
		"rt_sigtimedwait", "rt_tgsigqueueinfo", "sched_get_priority_max", "sched_get_priority_min",
		"sched_getaffinity", "sched_getattr", "sched_getparam", "sched_getscheduler",
		"sched_rr_get_interval", "sched_setaffinity", "sched_setattr", "sched_setparam",
		"sched_setscheduler", "sched_yield", "seccomp", "set_robust_list", "set_tid_address", "setpgid",
		"setpriority", "setrlimit", "setsid", "sigaltstack", "sysinfo", "tgkill", "tkill", "uname",
		"vfork", "wait4", "waitid") },
	/* Without capabilities these only swap what is there already (make and su-like wrappers do). */
	{ FILTER_ALLOW,
	  CALLS("capset", "setfsgid", "setfsuid", "setgid", "setgroups", "setregid", "setresgid", "setresuid",
		"setreuid", "setuid") },
	/* Sockets; families, types and protocols are judged by the sets. */
	{ FILTER_ALLOW,
	  CALLS("accept", "accept4", "bind", "connect", "getpeername", "getsockname", "getsockopt", "listen",
		"recvfrom", "recvmmsg", "recvmsg", "sendmmsg", "sendmsg", "sendto", "setsockopt", "shutdown",
		"socket", "socketpair") },
	/* Values are judged by the set. */
	{ FILTER_ALLOW, CALLS("personality") },
};

#define STRICT_IOCTL(request) { "ioctl", FILTER_ALLOW, { INT(1, request) } }
#define STRICT_PRCTL(option) { "prctl", FILTER_ALLOW, { INT(0, option) } }

static const struct filter_row strict_rows[] = {
	/* The complement of what filter_table.c refuses. */
	{ "clone", FILTER_ALLOW, { BITS(0, NEW_NAMESPACES, 0) } },
	{ "open", FILTER_ALLOW, { BITS(1, CREATES, 0) } },
	{ "open", FILTER_ALLOW, { BITS(2, SET_ID, 0) } },
	{ "openat", FILTER_ALLOW, { BITS(2, CREATES, 0) } },
	{ "openat", FILTER_ALLOW, { BITS(3, SET_ID, 0) } },
	{ "creat", FILTER_ALLOW, { BITS(1, SET_ID, 0) } },
	{ "chmod", FILTER_ALLOW, { BITS(1, SET_ID, 0) } },
	{ "fchmod", FILTER_ALLOW, { BITS(1, SET_ID, 0) } },
	{ "fchmodat", FILTER_ALLOW, { BITS(2, SET_ID, 0) } },
	{ "fchmodat2", FILTER_ALLOW, { BITS(2, SET_ID, 0) } },
	{ "renameat2", FILTER_ALLOW, { BITS(4, RENAME_WHITEOUT, 0) } },
	{ "mknod", FILTER_ALLOW, { BITS(1, S_IFMT | SET_ID, S_IFREG) } },
	{ "mknod", FILTER_ALLOW, { BITS(1, S_IFMT | SET_ID, S_IFIFO) } },
	{ "mknodat", FILTER_ALLOW, { BITS(2, S_IFMT | SET_ID, S_IFREG) } },
	{ "mknodat", FILTER_ALLOW, { BITS(2, S_IFMT | SET_ID, S_IFIFO) } },

	STRICT_IOCTL(FIONREAD), STRICT_IOCTL(FIONBIO), STRICT_IOCTL(FIOASYNC), STRICT_IOCTL(FIOCLEX),
	STRICT_IOCTL(FIONCLEX), STRICT_IOCTL(FICLONE), STRICT_IOCTL(FICLONERANGE), STRICT_IOCTL(FS_IOC_GETFLAGS),
	STRICT_IOCTL(SIOCGIFNAME), STRICT_IOCTL(SIOCGIFINDEX),
	/* A terminal of the cell's own. */
	STRICT_IOCTL(TCGETS), STRICT_IOCTL(TCSETS), STRICT_IOCTL(TCSETSW), STRICT_IOCTL(TCSETSF), STRICT_IOCTL(TCGETS2),
	STRICT_IOCTL(TCSETS2), STRICT_IOCTL(TCSETSW2), STRICT_IOCTL(TCSETSF2), STRICT_IOCTL(TCSBRK),
	STRICT_IOCTL(TCFLSH), STRICT_IOCTL(TCXONC), STRICT_IOCTL(TIOCGWINSZ), STRICT_IOCTL(TIOCSWINSZ),
	STRICT_IOCTL(TIOCGPGRP), STRICT_IOCTL(TIOCSPGRP), STRICT_IOCTL(TIOCGSID), STRICT_IOCTL(TIOCOUTQ),
	STRICT_IOCTL(TIOCNOTTY), STRICT_IOCTL(TIOCGPTN), STRICT_IOCTL(TIOCSPTLCK), STRICT_IOCTL(TIOCGPTPEER),
	{ "ioctl", FILTER_ALLOW, { INT(1, TIOCSCTTY), INT(2, 0) } },

	STRICT_PRCTL(PR_SET_PDEATHSIG), STRICT_PRCTL(PR_GET_PDEATHSIG), STRICT_PRCTL(PR_SET_DUMPABLE),
	STRICT_PRCTL(PR_GET_DUMPABLE), STRICT_PRCTL(PR_SET_NAME), STRICT_PRCTL(PR_GET_NAME),
	STRICT_PRCTL(PR_SET_SECCOMP), STRICT_PRCTL(PR_GET_SECCOMP), STRICT_PRCTL(PR_CAPBSET_READ),
	STRICT_PRCTL(PR_GET_SECUREBITS), STRICT_PRCTL(PR_SET_TIMERSLACK), STRICT_PRCTL(PR_GET_TIMERSLACK),
	STRICT_PRCTL(PR_SET_CHILD_SUBREAPER), STRICT_PRCTL(PR_GET_CHILD_SUBREAPER), STRICT_PRCTL(PR_SET_NO_NEW_PRIVS),
	STRICT_PRCTL(PR_GET_NO_NEW_PRIVS), STRICT_PRCTL(PR_SET_THP_DISABLE), STRICT_PRCTL(PR_GET_THP_DISABLE),
	STRICT_PRCTL(PR_CAP_AMBIENT), STRICT_PRCTL(PR_SET_VMA),
};

const struct filter_part filter_allow_strict = {
	strict_groups, ARRAY_LEN(strict_groups), strict_rows, ARRAY_LEN(strict_rows),
};

/* ---- FILTER_HELPER: harness and adapter, which parse hostile formats on the descriptors that they were given */

static const struct filter_group helper_groups[] = {
	/* No socket, no path: newfstatat is missing because AT_EMPTY_PATH does not stop it from taking a path, and
	 * stdio does without it. */
	{ FILTER_ALLOW,
	  CALLS("read", "write", "readv", "writev", "recvfrom", "recvmsg", "sendto", "sendmsg", "close",
		"lseek", "fstat", "poll", "ppoll", "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait",
		"epoll_pwait2") },
	{ FILTER_ALLOW, CALLS("brk", "munmap", "mremap", "madvise", "futex", "sched_yield") },
	{ FILTER_ALLOW,
	  CALLS("clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep", "gettimeofday", "time",
		"getrandom", "getpid", "gettid") },
	/* Handling of signals, never the sending of one. */
	{ FILTER_ALLOW,
	  CALLS("rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigreturn", "rt_sigsuspend",
		"rt_sigtimedwait", "sigaltstack", "restart_syscall", "exit", "exit_group") },
	/* No honest path leads here, only code that was smuggled in: nothing to report, and nothing to try next. */
	{ FILTER_KILL, CALLS("execve", "execveat", "ptrace") },
};

static const struct filter_row helper_rows[] = {
	/* Memory never becomes code. */
	{ "mmap", FILTER_ALLOW, { BITS(2, PROT_EXEC, 0) } },
	{ "mprotect", FILTER_ALLOW, { BITS(2, PROT_EXEC, 0) } },
	{ "fcntl", FILTER_ALLOW, { INT(1, F_GETFL) } },
	{ "fcntl", FILTER_ALLOW, { INT(1, F_SETFL) } },
	{ "fcntl", FILTER_ALLOW, { INT(1, F_GETFD) } },
	{ "fcntl", FILTER_ALLOW, { INT(1, F_SETFD) } },
	{ "fcntl", FILTER_ALLOW, { INT(1, F_DUPFD_CLOEXEC) } },
	/* Its own limits, read only. */
	{ "prlimit64", FILTER_ALLOW, { INT(0, 0), NIL(2) } },
};

const struct filter_part filter_allow_helper = {
	helper_groups, ARRAY_LEN(helper_groups), helper_rows, ARRAY_LEN(helper_rows),
};
