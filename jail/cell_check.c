/* Which folders can be a workspace, and which further paths a cell may be given. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
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
	{ PROC_SUPER_MAGIC, "proc" },       { SYSFS_MAGIC, "sysfs" },         { CGROUP_SUPER_MAGIC, "cgroup" },
	{ CGROUP2_SUPER_MAGIC, "cgroup" },  { DEBUGFS_MAGIC, "debugfs" },     { TRACEFS_MAGIC, "tracefs" },
	{ SECURITYFS_MAGIC, "securityfs" }, { DEVPTS_SUPER_MAGIC, "devpts" }, { NSFS_MAGIC, "nsfs" },
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

static int open_given(const char *what, const char *path, int flags, int *ret_fd, struct err *err)
{
	size_t len = strlen(path);

	if (path[0] != '/' || len >= PATH_MAX || (len > 1 && path[len - 1] == '/'))
		return err_set(err, E_USAGE, "%s %s: not an absolute path; give the real one", what, path);
	if (len == 1)
		return err_set(err, E_USAGE, "%s /: is the whole machine; " ADVICE, what);

	_cleanup_fd_ int top = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_fd_ int fd = top < 0 ? -1 : path_open_beneath(top, path + 1, flags, 0);
	if (fd < 0 && errno == ELOOP)
		return err_set(err, E_USAGE, "%s %s: goes through a symbolic link; give the real path", what, path);
	if (fd < 0)
		return err_errno(err, errno == ENOENT || errno == ENOTDIR ? E_NOTFOUND : E_USAGE, errno, "%s %s", what,
				 path);

	struct statfs fs;
	struct stat st;
	if (fstat(fd, &st) < 0 || fstatfs(fd, &fs) < 0)
		return err_errno(err, E_IO, errno, "%s %s", what, path);
	/* Known by its name, and closed to the operator himself. */
	if (S_ISDIR(st.st_mode) && faccessat(fd, ".", F_OK, 0) < 0)
		return err_errno(err, E_USAGE, errno, "%s %s", what, path);
	for (size_t i = 0; i < ARRAY_LEN(kernel_fs); i++)
		if ((long)fs.f_type == kernel_fs[i].magic)
			return err_set(err, E_USAGE, "%s %s: is on %s, the kernel's own; " ADVICE, what, path,
				       kernel_fs[i].name);
	*ret_fd = steal_fd(&fd);
	return 0;
}

int cell_open_workspace(const char *path, int *ret_fd, struct err *err)
{
	return open_given("workspace", path, O_RDONLY | O_DIRECTORY, ret_fd, err);
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
	snprintf(copy, sizeof(copy), "%s", path);
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

/* The folder that holds `path`, or `fd` itself when that is a folder. */
static int open_holder(int fd, const char *path, int *ret_fd, struct err *err)
{
	struct stat st;
	bool exists;

	if (fstat(fd, &st) < 0)
		return err_errno(err, E_IO, errno, "%s", path);
	if (!S_ISDIR(st.st_mode)) {
		char holder[PATH_MAX];

		snprintf(holder, sizeof(holder), "%s", path);
		*strrchr(holder, '/') = '\0';
		return open_nearest(holder[0] ? holder : "/", &exists, ret_fd, err);
	}
	*ret_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return *ret_fd < 0 ? err_errno(err, E_IO, errno, "%s", path) : 0;
}

static int check_forbidden(const char *what, int given, const char *path, const char *forbidden, struct err *err)
{
	_cleanup_fd_ int fd = -1;
	_cleanup_fd_ int given_holder = -1;
	_cleanup_fd_ int holder = -1;
	struct place here, there;
	bool exists, yes = false;
	int r = open_nearest(forbidden, &exists, &fd, err);

	if (r >= 0)
		r = open_holder(given, path, &given_holder, err);
	if (r >= 0)
		r = open_holder(fd, forbidden, &holder, err);
	if (r < 0)
		return r;
	if (!locate(given, &here) || !locate(fd, &there))
		return err_errno(err, E_IO, errno, "%s", forbidden);
	if (exists)
		r = lies_in(given_holder, there, &yes, err);
	if (r >= 0 && (yes || (exists && same(here, there))))
		return err_set(err, E_USAGE, "%s %s: lies in %s; " ADVICE, what, path, forbidden);
	if (r >= 0)
		r = lies_in(holder, here, &yes, err);
	if (r >= 0 && yes)
		return err_set(err, E_USAGE, "%s %s: contains %s, which is not the agent's; " ADVICE, what, path,
			       forbidden);
	return r;
}

static int check_all(const char *what, int fd, const char *path, const char *const *forbidden, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < ARRAY_LEN(never); i++)
		r = check_forbidden(what, fd, path, never[i], err);
	for (size_t i = 0; r >= 0 && forbidden && forbidden[i]; i++)
		r = check_forbidden(what, fd, path, forbidden[i], err);
	return r;
}

/* A folder below /etc is a project like others; the whole of it holds what no cell may read. */
static int check_secret(const char *what, int fd, const char *path, struct err *err)
{
	static const char *const secret[] = { "/etc", "/etc/shadow", "/etc/gshadow" };
	struct place here;
	struct stat st;

	if (!locate(fd, &here))
		return err_errno(err, E_IO, errno, "%s", path);
	for (size_t i = 0; i < ARRAY_LEN(secret); i++)
		if (stat(secret[i], &st) == 0 && same(here, (struct place){ st.st_dev, st.st_ino }))
			return err_set(err, E_USAGE, "%s %s: holds the machine's passwords; " ADVICE, what, path);
	return 0;
}

int cell_check_workspace(const char *workspace, const char *const *forbidden, struct err *err)
{
	_cleanup_fd_ int fd = -1;
	int r = cell_open_workspace(workspace, &fd, err);

	if (r == 0)
		r = check_all("workspace", fd, workspace, forbidden, err);
	return r == 0 ? check_secret("workspace", fd, workspace, err) : r;
}

int cell_check_path(const char *path, const char *const *forbidden, struct err *err)
{
	_cleanup_fd_ int fd = -1;
	int r = open_given("path", path, O_PATH, &fd, err);

	if (r == 0)
		r = check_all("path", fd, path, forbidden, err);
	return r == 0 ? check_secret("path", fd, path, err) : r;
}

/* ---- --ro and --rw */

static bool below(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	return strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* Its .git would be writable. */
static int check_no_repository(const char *path, struct err *err)
{
	_cleanup_fd_ int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	/* What is missing, or no folder, is told when it is mounted. */
	if (fd >= 0 && faccessat(fd, ".git", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return err_set(err, E_USAGE, "%s: is a repository, whose .git would be writable; name a folder in it",
			       path);
	return 0;
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
		return err_set(err, E_USAGE,
			       "%s: holds the workspace, which is staged; name a folder beside or inside it", path);
	if (path_has_git(path + 1) && (writable || below(path, workspace)))
		return err_set(err, E_USAGE, "%s: a .git of the host never enters a cell%s", path,
			       writable ? " for writing" : "");
	return writable ? check_no_repository(path, err) : 0;
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
