/* The calls that agents' commands are refused, with the reason of each group.  The errno is part of the interface:
 * ENOSYS where a libc or program has a fallback for older kernels, EPERM where the answer is no. */
#include "jail/filter_table.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/netlink.h>
#include <linux/prctl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "jail/filter_allow.h"
#include "jail/filter_row.h"

static const struct filter_group refused_groups[] = {
	/* The arguments that decide lie behind a pointer, where the filter cannot look and another thread can write.
	 * libc falls back to clone and openat, which are judged below.  file_setattr: as FS_IOC_FSSETXATTR. */
	{ ENOSYS, CALLS("clone3", "openat2", "file_setattr") },
	/* Joining namespaces, and un-masking or re-mounting writable what the cell sees. */
	{ EPERM, CALLS("setns", "mount", "umount2", "pivot_root", "chroot") },
	{ ENOSYS, CALLS("open_tree", "open_tree_attr", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick",
			"mount_setattr", "statmount", "listmount") },
	/* Performs other calls from a kernel thread that no filter sees. */
	{ ENOSYS, CALLS("io_uring_setup", "io_uring_enter", "io_uring_register") },
	/* Keyrings are not namespaced: the operator's session keys are in reach. */
	{ EPERM, CALLS("keyctl", "add_key", "request_key") },
	/* Kernel attack surface, and tools to widen races in it. */
	{ EPERM, CALLS("bpf", "perf_event_open", "userfaultfd", "fanotify_init", "memfd_secret") },
	/* One command of the cell taking over another. */
	{ EPERM, CALLS("ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease", "kcmp",
		       "pidfd_getfd") },
	/* The machine.  All of these want capabilities that a cell lacks: the belt. */
	{ EPERM, CALLS("kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "reboot",
		       "swapon", "swapoff", "acct", "syslog", "iopl", "ioperm", "quotactl", "quotactl_fd", "vhangup",
		       "clock_settime", "clock_adjtime", "adjtimex", "settimeofday", "sethostname", "setdomainname") },
	/* Files by handle go round every path ("shocker"). */
	{ EPERM, CALLS("name_to_handle_at", "open_by_handle_at") },
	/* NUMA placement: kernel bugs, and a neighbour's noise. */
	{ EPERM, CALLS("mbind", "move_pages", "migrate_pages", "set_mempolicy", "set_mempolicy_home_node") },
	/* Dead or never used by programs of today. */
	{ ENOSYS, CALLS("modify_ldt", "uselib", "lookup_dcookie", "nfsservctl", "_sysctl", "ustat", "sysfs", "vm86",
			"vm86old", "lsm_set_self_attr") },
};

/* Typed into the terminal on somebody's behalf (TIOCSTI, and by pasting TIOCLINUX), line disciplines (autoloaded
 * modules), the console, another session's terminal; and file flags, which outlive the cell in the staged layer. */
#define REFUSED_IOCTL(request) { "ioctl", EPERM, { INT(1, request) } }

static const struct filter_row refused_rows[] = {
	{ "clone", EPERM, { ANY(0, NEW_NAMESPACES) } },
	{ "unshare", EPERM, { ANY(0, NEW_NAMESPACES | CLONE_NEWTIME) } },

	REFUSED_IOCTL(TIOCSTI),
	REFUSED_IOCTL(TIOCLINUX),
	REFUSED_IOCTL(TIOCSETD),
	REFUSED_IOCTL(TIOCCONS),
	REFUSED_IOCTL(FS_IOC_SETFLAGS),
	REFUSED_IOCTL(FS_IOC_FSSETXATTR),
	{ "ioctl", EPERM, { INT(1, TIOCSCTTY), INT(2, 1) } },

	/* Rewrites the memory map that /proc shows; wanted by checkpointing alone. */
	{ "prctl", EPERM, { INT(0, PR_SET_MM) } },

	/* Devices, and character device 0:0, which the overlay takes for a deletion. */
	{ "mknod", EPERM, { BITS(1, S_IFMT, S_IFCHR) } },
	{ "mknod", EPERM, { BITS(1, S_IFMT, S_IFBLK) } },
	{ "mknodat", EPERM, { BITS(2, S_IFMT, S_IFCHR) } },
	{ "mknodat", EPERM, { BITS(2, S_IFMT, S_IFBLK) } },
	{ "renameat2", EPERM, { ANY(4, RENAME_WHITEOUT) } }, /* leaves a 0:0 where the file was */

	/* No set-id file is born in the staged layer.  A mode counts only where the call creates something: without
	 * O_CREAT the register holds whatever was there. */
	{ "mknod", EPERM, { ANY(1, SET_ID) } },
	{ "mknodat", EPERM, { ANY(2, SET_ID) } },
	{ "chmod", EPERM, { ANY(1, SET_ID) } },
	{ "fchmod", EPERM, { ANY(1, SET_ID) } },
	{ "fchmodat", EPERM, { ANY(2, SET_ID) } },
	{ "fchmodat2", EPERM, { ANY(2, SET_ID) } },
	{ "creat", EPERM, { ANY(1, SET_ID) } },
	{ "open", EPERM, { ANY(1, CREATES), ANY(2, SET_ID) } },
	{ "openat", EPERM, { ANY(2, CREATES), ANY(3, SET_ID) } },
};

static const struct filter_part refused = {
	refused_groups, ARRAY_LEN(refused_groups), refused_rows, ARRAY_LEN(refused_rows),
};

#define FAMILIES .arg = 0, .mask = LOW32, .nvalues = 4, .values = { AF_UNIX, AF_INET, AF_INET6, AF_NETLINK }
#define WHEN_FAMILY(family) .when = { LOW32, family, 0 }
#define TYPES .arg = 1, .mask = SOCK_TYPE, .nvalues = 3, .values = { SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET }
#define PROTOCOLS(icmp) \
	.arg = 2, .mask = LOW32, .nvalues = 5, .values = { 0, IPPROTO_TCP, IPPROTO_UDP, icmp, IPPROTO_MPTCP }

/* A network namespace does not contain AF_VSOCK, and the rest of the families is attack surface that socket() loads as
 * a module; so is every protocol of INET but these.  SOCK_PACKET under AF_INET becomes AF_PACKET.  Netlink is ROUTE
 * alone, which getifaddrs needs. */
static const struct filter_set sets[] = {
	{ "socket", EAFNOSUPPORT, FAMILIES },
	{ "socketpair", EAFNOSUPPORT, FAMILIES },
	{ "socket", EPERM, WHEN_FAMILY(AF_INET), TYPES },
	{ "socket", EPERM, WHEN_FAMILY(AF_INET6), TYPES },
	{ "socket", EPROTONOSUPPORT, WHEN_FAMILY(AF_INET), PROTOCOLS(IPPROTO_ICMP) },
	{ "socket", EPROTONOSUPPORT, WHEN_FAMILY(AF_INET6), PROTOCOLS(IPPROTO_ICMPV6) },
	{ "socket", EAFNOSUPPORT, WHEN_FAMILY(AF_NETLINK), .arg = 2, .mask = LOW32, .nvalues = 1,
	  .values = { NETLINK_ROUTE } },
	/* PER_LINUX, PER_LINUX32, each with UNAME26, and the question; no READ_IMPLIES_EXEC, no ADDR_NO_RANDOMIZE. */
	{ "personality", EPERM, .arg = 0, .mask = LOW32, .nvalues = 5,
	  .values = { 0, 0x8, 0x20000, 0x20008, 0xffffffff } },
};

static const struct filter_spec specs[] = {
	[FILTER_CELL] = { FILTER_ALLOW, { &refused }, sets, ARRAY_LEN(sets) },
	/* What is refused by name keeps its errno; for the rest ENOSYS, so that programs take their fallback. */
	[FILTER_STRICT] = { ENOSYS, { &refused, &filter_allow_strict }, sets, ARRAY_LEN(sets) },
	/* EPERM rather than death: a refused call of a helper should come back as an error that is reported, and libc
	 * opens files on its own (time zone, locale, iconv) without meaning harm. */
	[FILTER_HELPER] = { EPERM, { &filter_allow_helper }, NULL, 0 },
};

const struct filter_spec *filter_spec(enum filter_profile profile)
{
	return (size_t)profile < ARRAY_LEN(specs) ? &specs[profile] : NULL;
}
