/* The cell's own /proc: read-only as a whole, with what tells of the host's kernel covered. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>

#include "core/base/path.h"
#include "jail/init_internal.h"
#include "jail/mount.h"

/* Covered by /dev/null or, when folders, by an empty one.  What this kernel has not got is skipped. */
static const struct {
	const char *path;
	bool folder;
} covered[] = {
	{ "kcore", false },         { "keys", false },        { "key-users", false },   { "kmsg", false },
	{ "kallsyms", false },      { "timer_list", false },  { "sched_debug", false }, { "latency_stats", false },
	{ "sysrq-trigger", false }, { "vmallocinfo", false }, { "acpi", true },         { "scsi", true },
	{ "asound", true },
};

static int cover(int proc, int null, int empty, size_t i, struct err *err)
{
	bool folder = covered[i].folder;
	_cleanup_fd_ int target = openat(proc, covered[i].path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_fd_ int copy = -1;

	if (target < 0)
		return 0;
	int r = mount_clone(folder ? empty : null, false,
			    MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC | (folder ? MOUNT_ATTR_NODEV : 0),
			    &copy, err);
	if (r >= 0)
		r = mount_attach(copy, target, err);
	return r < 0 ? err_prefix(err, "covering /proc/%s", covered[i].path) : 0;
}

/* No further user namespace below this one, whatever the filter lets through. */
static void forbid_namespaces(struct init *in, int proc)
{
	_cleanup_fd_ int fd = openat(proc, "sys/user/max_user_namespaces", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "0", 1) != 1)
		init_found(in, JAIL_USERNS, LAYER_PARTIAL, "max_user_namespaces=0 inside: %s", strerror(errno));
}

int init_proc(struct init *in, struct err *err)
{
	struct mount_attr read_only = { .attr_set = MOUNT_ATTR_RDONLY };

	if (mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		return err_errno(err, E_IO, errno, "mount(proc)");

	_cleanup_fd_ int proc = openat(in->root, "proc", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_fd_ int null = openat(in->root, "dev/null", O_PATH | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_fd_ int empty = openat(in->root, "var/empty", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (proc < 0 || null < 0 || empty < 0)
		return err_errno(err, E_IO, errno, "/proc");

	forbid_namespaces(in, proc);
	for (size_t i = 0; i < ARRAY_LEN(covered); i++) {
		int r = cover(proc, null, empty, i, err);

		if (r < 0)
			return r;
	}
	if (mount_setattr(proc, "", AT_EMPTY_PATH, &read_only, sizeof(read_only)) < 0)
		return err_errno(err, E_IO, errno, "making /proc read-only");

	/* Sysctls follow the host's uid, so a write here would be the host's. */
	_cleanup_fd_ int probe = openat(proc, "sys/kernel/core_pattern", O_WRONLY | O_CLOEXEC);
	if (probe >= 0)
		return err_set(err, E_MACHINE, "/proc/sys/kernel/core_pattern can be opened for writing");
	init_found(in, JAIL_PROC, LAYER_OK, "mount(proc) ok; open(core_pattern, O_WRONLY) -> %s",
		   strerrorname_np(errno));
	return 0;
}
