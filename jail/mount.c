#include "jail/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/path.h"

/* Walks to the folder that holds the last component of `path` and leaves that component in `ret_name`. */
static int make_parents(int root, const char *path, char ret_name[NAME_MAX + 1], int *ret_fd, struct err *err)
{
	_cleanup_fd_ int at = fcntl(root, F_DUPFD_CLOEXEC, 0);

	if (at < 0)
		return err_errno(err, E_IO, errno, "%s", path);
	for (const char *p = path + strspn(path, "/");;) {
		size_t len = strcspn(p, "/");

		if (!len || len > NAME_MAX)
			return err_set(err, E_INVALID, "%s: not a path that something can be mounted at", path);
		memcpy(ret_name, p, len);
		ret_name[len] = '\0';
		p += len;
		p += strspn(p, "/");
		if (!*p)
			break;

		if (mkdirat(at, ret_name, 0755) < 0 && errno != EEXIST)
			return err_errno(err, E_IO, errno, "making the mount point %s", path);
		int next = openat(at, ret_name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			return err_errno(err, E_IO, errno, "mount point %s", path);
		close(at);
		at = next;
	}
	*ret_fd = steal_fd(&at);
	return 0;
}

int mount_make_folder(int root, const char *path, int *ret_fd, struct err *err)
{
	char name[NAME_MAX + 1];
	_cleanup_fd_ int at = -1;
	int r = make_parents(root, path, name, &at, err);

	if (r < 0)
		return r;
	if (mkdirat(at, name, 0755) < 0 && errno != EEXIST)
		return err_errno(err, E_IO, errno, "making the mount point %s", path);

	int fd = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_errno(err, E_IO, errno, "mount point %s", path);
	*ret_fd = fd;
	return 0;
}

int mount_make_file(int root, const char *path, int *ret_fd, struct err *err)
{
	char name[NAME_MAX + 1];
	_cleanup_fd_ int at = -1;
	int r = make_parents(root, path, name, &at, err);

	if (r < 0)
		return r;
	/* What is there already may be a device or something unreadable: it is only a place. */
	int made = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (made >= 0)
		close(made);
	else if (errno != EEXIST)
		return err_errno(err, E_IO, errno, "making the mount point %s", path);

	int fd = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_errno(err, E_IO, errno, "mount point %s", path);
	*ret_fd = fd;
	return 0;
}

int mount_clone(int fd, bool recursive, uint64_t attr, int *ret_fd, struct err *err)
{
	unsigned deep = recursive ? AT_RECURSIVE : 0;
	_cleanup_fd_ int copy = open_tree(fd, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | deep);
	struct mount_attr set = { .attr_set = attr };

	if (copy < 0)
		return err_errno(err, E_IO, errno, "open_tree");
	if (mount_setattr(copy, "", AT_EMPTY_PATH | deep, &set, sizeof(set)) < 0)
		return err_errno(err, E_IO, errno, "mount_setattr");
	*ret_fd = steal_fd(&copy);
	return 0;
}

int mount_attach(int mount, int target, struct err *err)
{
	if (move_mount(mount, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return err_errno(err, E_IO, errno, "move_mount");
	return 0;
}

int mount_open_source(const char *path, int *ret_fd, bool *ret_folder, struct err *err)
{
	struct stat st;
	_cleanup_fd_ int top = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const char *relative = path + strspn(path, "/");

	if (top < 0)
		return err_errno(err, E_IO, errno, "/");
	_cleanup_fd_ int fd = path_open_beneath(top, *relative ? relative : ".", O_PATH, 0);
	if (fd < 0 && errno == ELOOP)
		return err_set(err, E_USAGE, "%s: goes through a symbolic link; give the real path", path);
	if (fd < 0)
		return err_errno(err, errno == ENOENT || errno == ENOTDIR ? E_NOTFOUND : E_DENIED, errno, "%s", path);
	if (fstat(fd, &st) < 0)
		return err_errno(err, E_IO, errno, "%s", path);
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return err_set(err, E_USAGE, "%s: neither a folder nor a regular file", path);
	*ret_folder = S_ISDIR(st.st_mode);
	*ret_fd = steal_fd(&fd);
	return 0;
}

int mount_bind(int root, int source, bool folder, const char *path, uint64_t attr, struct err *err)
{
	_cleanup_fd_ int copy = -1;
	_cleanup_fd_ int target = -1;
	int r = mount_clone(source, folder, attr, &copy, err);

	if (r >= 0)
		r = folder ? mount_make_folder(root, path, &target, err) : mount_make_file(root, path, &target, err);
	if (r >= 0)
		r = mount_attach(copy, target, err);
	return r < 0 ? err_prefix(err, "%s", path) : 0;
}
