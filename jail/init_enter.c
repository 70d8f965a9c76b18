/* Entering the new root for good, and looking at what can be seen and written from there. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include "core/base/path.h"
#include "jail/init_internal.h"
#include "jail/lock.h"
#include "jail/mount.h"
#include "jail/mountinfo.h"

static int open_inside(const char *path, int flags, int *ret_fd, struct err *err)
{
	_cleanup_fd_ int top = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const char *relative = path + strspn(path, "/");
	int fd = top < 0 ? -1 : path_open_beneath(top, *relative ? relative : ".", flags, 0);

	if (fd < 0)
		return err_errno(err, errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? E_NOTFOUND : E_IO, errno,
				 "%s in the cell", path);
	*ret_fd = fd;
	return 0;
}

int init_enter(struct init *in, struct err *err)
{
	struct mount_attr read_only = { .attr_set = MOUNT_ATTR_RDONLY };
	int r;

	if (mount_setattr(in->root, "", AT_EMPTY_PATH, &read_only, sizeof(read_only)) < 0)
		return err_errno(err, E_IO, errno, "making the root read-only");
	/* The working folder is the new root: the old one ends up on top of it and is taken off (pivot_root(2),
	 * "NOTES"). */
	if (fchdir(in->root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
		return err_errno(err, E_IO, errno, "pivot_root");
	if (umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		return err_errno(err, E_IO, errno, "leaving the old root");
	fd_close(&in->root);

	r = open_inside("/dev/null", O_RDWR, &in->null, err);
	if (r >= 0)
		r = open_inside("/proc", O_RDONLY | O_DIRECTORY, &in->proc, err);
	if (r >= 0)
		r = open_inside(in->setup.cwd, O_PATH | O_DIRECTORY, &in->cwd, err);
	return r;
}

static bool below(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	return strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

static bool may_write(const struct init *in, const char *path)
{
	static const char *const places[] = {
		"/tmp",      "/var/tmp",  INIT_HOME,     "/dev/shm",     "/dev/pts", "/dev/null",
		"/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", LOCK_CANARY,
	};

	if (strcmp(path, in->setup.workspace.path) == 0)
		return true;
	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		if (strcmp(path, places[i]) == 0)
			return true;
	for (size_t i = 0; i < in->setup.rw.n; i++)
		if (below(path, in->setup.rw.item[i]))
			return true;
	return false;
}

static int check_line(struct init *in, const struct mountinfo_line *line, struct err *err)
{
	bool writable = strncmp(line->options, "rw", 2) == 0;

	if (writable && !may_write(in, line->point))
		return err_set(err, E_MACHINE, "%s is writable", line->point);

	size_t len = strlen(in->report.mounts);
	snprintf(in->report.mounts + len, sizeof(in->report.mounts) - len, "%s%s %s", len ? ", " : "", line->point,
		 writable ? "rw" : "ro");
	return 0;
}

int init_check_mounts(struct init *in, struct err *err)
{
	_cleanup_mountinfo_ struct mountinfo mounts;
	struct mountinfo_line line;
	unsigned n = 0;
	int r = mountinfo_open(&mounts, in->proc, "1/mountinfo", err);

	while (r >= 0 && (r = mountinfo_next(&mounts, &line, err)) > 0) {
		r = check_line(in, &line, err);
		n++;
	}
	if (r < 0)
		return r;
	if (!n)
		return err_set(err, E_MACHINE, "the list of mounts is empty");
	init_found(in, JAIL_MOUNTS, LAYER_OK, "pivot_root ok; %u mounts, writable only where listed", n);
	return 0;
}
