/* Which folders can be a workspace, and which further paths a cell may be given. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "core/base/path.h"
#include "jail/cell_internal.h"

#ifndef DEVPTS_SUPER_MAGIC
#define DEVPTS_SUPER_MAGIC 0x1cd1
#endif

#define ADVICE "choose a project's folder"

/* The kernel's own file systems, wherever they are mounted. */
static const struct {
	long magic;
	const char *name;
} kernel_fs[] = {
	{ PROC_SUPER_MAGIC, "proc" },     { SYSFS_MAGIC, "sysfs" },           { CGROUP_SUPER_MAGIC, "cgroup" },
	{ CGROUP2_SUPER_MAGIC, "cgroup" }, { DEBUGFS_MAGIC, "debugfs" },       { TRACEFS_MAGIC, "tracefs" },
	{ SECURITYFS_MAGIC, "securityfs" }, { DEVPTS_SUPER_MAGIC, "devpts" },  { NSFS_MAGIC, "nsfs" },
};

static const char *const never[] = { "/proc", "/sys", "/run", "/dev" };

struct place {
	dev_t dev;
	ino_t ino;
};

static bool same(struct place a, struct place b)
{
	return a.dev == b.dev && a.ino == b.ino;
}

static bool locate(int fd, struct place *ret)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return false;
	*ret = (struct place){ st.st_dev, st.st_ino };
	return true;
}

int cell_open_workspace(const char *path, int *ret_fd, struct err *err)
{
	size_t len = strlen(path);

	if (path[0] != '/' || len >= PATH_MAX || (len > 1 && path[len - 1] == '/'))
		return err_set(err, E_USAGE, "workspace %s: not an absolute path; give the real one", path);
	if (len == 1)
		return err_set(err, E_USAGE, "workspace /: is the whole machine; " ADVICE);

	_cleanup_fd_ int top = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_fd_ int fd = top < 0 ? -1 : path_open_beneath(top, path + 1, O_RDONLY | O_DIRECTORY, 0);
	if (fd < 0 && errno == ELOOP)
		return err_set(err, E_USAGE, "workspace %s: goes through a symbolic link; give the real path", path);
	if (fd < 0)
		return err_errno(err, errno == ENOENT || errno == ENOTDIR ? E_NOTFOUND : E_USAGE, errno, "workspace %s", path);

	struct statfs fs;
	if (fstatfs(fd, &fs) < 0)
		return err_errno(err, E_IO, errno, "workspace %s", path);
	for (size_t i = 0; i < ARRAY_LEN(kernel_fs); i++)
		if ((long)fs.f_type == kernel_fs[i].magic)
			return err_set(err, E_USAGE, "workspace %s: is on %s, the kernel's own; " ADVICE, path, kernel_fs[i].name);
	*ret_fd = steal_fd(&fd);
	return 0;
}

/* Whether `fd` is `wanted` or lies below it; by what the folders are, not by how they are called. */
static int lies_in(int fd, struct place wanted, bool *ret, struct err *err)
{
	_cleanup_fd_ int at = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	for (int depth = 0; at >= 0 && depth < PATH_MAX; depth++) {
		struct place here, above;
		int up = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (up < 0 || !locate(at, &here) || !locate(up, &above)) {
			int why = errno;
			fd_close(&up);
			return err_errno(err, E_IO, why, "walking up from a folder");
		}
		close(at);
		at = up;
		if (same(here, wanted)) {
			*ret = true;
			return 0;
		}
		if (same(here, above)) { /* the top */
			*ret = false;
			return 0;
		}
	}
	return err_set(err, E_IO, "walking up from a folder: no end");
}

/* Opens the folder `path` or, while it does not exist, the nearest one above it. */
static int open_nearest(const char *path, bool *ret_exists, int *ret_fd, struct err *err)
{
	char copy[PATH_MAX];

	if (path[0] != '/' || strlen(path) >= sizeof(copy))
		return err_set(err, E_USAGE, "%s: not an absolute path", path);
	strcpy(copy, path);
	*ret_exists = true;
	for (;;) {
		int fd = open(copy[0] ? copy : "/", O_PATH | O_CLOEXEC);

		if (fd >= 0) {
			*ret_fd = fd;
			return 0;
		}
		if (errno != ENOENT && errno != ENOTDIR)
			return err_errno(err, E_IO, errno, "%s", path);
		*ret_exists = false;
		*strrchr(copy, '/') = '\0';
	}
}

static int check_forbidden(int workspace, const char *path, const char *forbidden, struct err *err)
{
	_cleanup_fd_ int fd = -1;
	struct place ws, other;
	bool exists, yes = false;
	struct stat st;
	int r = open_nearest(forbidden, &exists, &fd, err);

	if (r < 0)
		return r;
	if (!locate(workspace, &ws) || !locate(fd, &other) || fstat(fd, &st) < 0)
		return err_errno(err, E_IO, errno, "%s", forbidden);
	if (exists)
		r = lies_in(workspace, other, &yes, err);
	if (r >= 0 && yes)
		return err_set(err, E_USAGE, "workspace %s: lies in %s; " ADVICE, path, forbidden);
	/* A file is in the folder that holds it, which open_nearest gives when asked for the parent. */
	if (r >= 0 && S_ISDIR(st.st_mode))
		r = lies_in(fd, ws, &yes, err);
	if (r >= 0 && yes)
		return err_set(err, E_USAGE, "workspace %s: contains %s, which is not the agent's; " ADVICE, path, forbidden);
	return r;
}

int cell_check_workspace(const char *workspace, const char *const *forbidden, struct err *err)
{
	_cleanup_fd_ int fd = -1;
	int r = cell_open_workspace(workspace, &fd, err);

	for (size_t i = 0; r >= 0 && i < ARRAY_LEN(never); i++)
		r = check_forbidden(fd, workspace, never[i], err);
	for (size_t i = 0; r >= 0 && forbidden && forbidden[i]; i++)
		r = check_forbidden(fd, workspace, forbidden[i], err);
	return r;
}

/* ---- --ro and --rw */

static bool below(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	return strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

static int check_path(const char *path, bool writable, const char *workspace, struct err *err)
{
	/* Would hide what the cell is made of. */
	static const char *const ours[] = { "/proc", "/dev", "/sys" };
	size_t len = strlen(path);

	if (path[0] != '/' || len < 2 || len >= PATH_MAX || path[len - 1] == '/')
		return err_set(err, E_USAGE, "%s: not an absolute path of a file or folder", path);
	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		if (below(path, ours[i]))
			return err_set(err, E_USAGE, "%s: a cell has its own %s", path, ours[i]);
	if (below(workspace, path) && (writable || strcmp(workspace, path) == 0))
		return err_set(err, E_USAGE, "%s: holds the workspace, which is staged; name a folder beside or inside it", path);
	if (path_has_git(path + 1) && (writable || below(path, workspace)))
		return err_set(err, E_USAGE, "%s: a .git of the host never enters a cell%s", path, writable ? " for writing" : "");
	return 0;
}

int cell_check_paths(const struct cell_spec *spec, struct err *err)
{
	const char *const *lists[] = { spec->ro, spec->rw };
	int r = 0;

	for (size_t l = 0; l < ARRAY_LEN(lists); l++)
		for (size_t i = 0; r >= 0 && lists[l] && lists[l][i]; i++)
			r = check_path(lists[l][i], l == 1, spec->workspace, err);
	return r;
}
