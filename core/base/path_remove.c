/*
 * Removing a tree that hostile code may have built: any depth, any names, no permissions.
 *
 * No recursion and no path: the tree is flattened.  Each folder found in the top one is emptied of its files, its own
 * folders are moved up into the top one, and it is removed; so two levels are open at any time, whatever the depth.
 * A move that meets a taken name tries the next one.  Mounts are refused (RESOLVE_NO_XDEV), symlinks only unlinked.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "core/base/path.h"

struct removal {
	int top; /* the folder that everything is moved up into */
	unsigned long long moved;
};

static void close_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}
#define _cleanup_dir_ _cleanup_(close_dir)

static int open_folder_once(int at, const char *name)
{
	struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
	};

	return (int)syscall(SYS_openat2, at, name, &how, sizeof(how));
}

/* Opens a folder in a form in which it can be emptied; -1 with errno. */
static int open_folder(int at, const char *name)
{
	struct stat st;
	int fd = open_folder_once(at, name);

	if (fd < 0 && errno == EACCES && fchmodat(at, name, 0700, AT_SYMLINK_NOFOLLOW) == 0)
		fd = open_folder_once(at, name);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && (st.st_mode & 0700) != 0700)
		(void)fchmod(fd, 0700); /* when it fails, emptying it says why */
	return fd;
}

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* A folder that is not empty goes up to the top. */
static int move_up(struct removal *r, int at, const char *name)
{
	char fresh[32];

	/* Taking the place of an empty folder of that name is as good: all of it goes. */
	do {
		snprintf(fresh, sizeof(fresh), ".warder-gone-%llu", r->moved++);
		if (renameat(at, name, r->top, fresh) == 0)
			return 0;
	} while (errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR);
	if (errno != EACCES)
		return -1;

	/* Moving a folder rewrites its "..", which needs the right to write in it. */
	_cleanup_fd_ int fd = open_folder(at, name);
	if (fd < 0)
		return -1;
	return renameat(at, name, r->top, fresh);
}

/* Unlinks a file or an empty folder.  1: a folder with something in it; -1 with errno. */
static int remove_entry(int at, const char *name)
{
	if (unlinkat(at, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR)
		return -1;
	if (unlinkat(at, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	return errno == ENOTEMPTY || errno == EEXIST ? 1 : -1;
}

/* Calls remove_entry for all in `fd` (consumed) and `deeper` for the folders that are not empty, until a pass finds
 * nothing.  -1 with errno. */
static int empty_folder(struct removal *r, int fd, int (*deeper)(struct removal *r, int at, const char *name))
{
	_cleanup_dir_ DIR *dir = fdopendir(fd);

	if (!dir) {
		int saved = errno;

		close(fd);
		errno = saved;
		return -1;
	}
	for (bool found = true; found;) {
		struct dirent *e;

		found = false;
		rewinddir(dir);
		while (errno = 0, (e = readdir(dir))) {
			if (is_dots(e->d_name))
				continue;
			found = true;

			int kind = remove_entry(dirfd(dir), e->d_name);
			if (kind < 0 || (kind > 0 && deeper(r, dirfd(dir), e->d_name) < 0))
				return -1;
		}
		if (errno)
			return -1;
	}
	return 0;
}

/* A folder in the top one: its files go, its folders move up. */
static int flatten(struct removal *r, int at, const char *name)
{
	int fd = open_folder(at, name);

	if (fd < 0)
		return -1;
	if (empty_folder(r, fd, move_up) < 0)
		return -1;
	return unlinkat(at, name, AT_REMOVEDIR);
}

static int remove_below(int at, const char *name)
{
	int kind = remove_entry(at, name);
	if (kind <= 0)
		return kind;

	struct removal r = { .top = open_folder(at, name) };
	if (r.top < 0 || empty_folder(&r, r.top, flatten) < 0)
		return -1;
	return unlinkat(at, name, AT_REMOVEDIR);
}

static int failed(const char *name, int errnum, struct err *err)
{
	return err_errno(err, errnum == ENOSYS ? E_MACHINE : E_IO, errnum, "removing %s", name);
}

int path_remove_tree(int dirfd, const char *name, struct err *err)
{
	const char *slash = strrchr(name, '/');
	const char *last = slash ? slash + 1 : name;
	_cleanup_fd_ int parent = -1;

	if (!last[0] || is_dots(last) || name[0] == '/')
		return err_set(err, E_INVALID, "%s: not a name that can be removed", name);
	if (slash) {
		_cleanup_free_ char *folder = strndup(name, (size_t)(slash - name));

		if (!folder)
			return err_set(err, E_NOMEM, "removing %s: out of memory", name);
		parent = path_open_beneath(dirfd, folder, O_PATH | O_DIRECTORY, 0);
		if (parent < 0)
			return errno == ENOENT ? 0 : failed(name, errno, err);
		dirfd = parent;
	}
	if (remove_below(dirfd, last) == 0)
		return 0;
	if (errno == EXDEV || errno == EBUSY)
		return err_set(err, E_BUSY, "removing %s: something is mounted in it; unmount that first", name);
	return failed(name, errno, err);
}
