/*
 * Taking paths out of the upper, after they were applied or when they are discarded.
 *
 * An overlay says "all below is gone" in one entry: a whiteout in the place of a folder, or an opaque folder.  When
 * one path below such an entry is dropped, the entry is first spelled out: an ordinary folder with a whiteout for each
 * name that the real folder still has, so that what else was deleted stays deleted.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "core/base/path.h"
#include "jail/layer.h"
#include "jail/layer_node.h"
#include "jail/layer_walk.h"

static const char opaque[] = "user.overlay.opaque";

/* One path on its way down. */
struct drop {
	const struct layer *l;
	int upper_top, real_top;
	char *path;   /* cut at slashes while it is walked */
	mode_t *mode; /* by depth: what a folder's mode was before we opened it up; 0: unchanged */
	size_t depth;
	int upper, real; /* the folder that is reached; real -1: there is none */
};

static void drop_free(struct drop *d)
{
	fd_close(&d->upper);
	fd_close(&d->real);
	free(d->path);
	free(d->mode);
}

static int failed(const struct drop *d, int errnum, struct err *err)
{
	return err_errno(err, E_IO, errnum, "dropping %s from the staged layer", d->path);
}

/* Opens a folder of the upper so that names in it can be removed.  *ret_was: its mode if that had to change. */
static int open_writable(int at, const char *name, mode_t *ret_was)
{
	struct stat st;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	*ret_was = 0;
	if (geteuid() != 0 && (st.st_mode & 0700) != 0700) {
		if (fchmodat(at, name, (st.st_mode & 07777) | 0700, AT_SYMLINK_NOFOLLOW) < 0)
			return -1;
		*ret_was = st.st_mode & 07777;
	}
	return walk_open(at, name);
}

/* New entries belong to whom the folder belongs to: as root that is an id of the cell. */
static int adopt(int at, const char *name)
{
	struct stat st;

	if (geteuid() != 0)
		return 0;
	if (fstat(at, &st) < 0)
		return -1;
	return fchownat(at, name, st.st_uid, st.st_gid, AT_SYMLINK_NOFOLLOW);
}

static int put_whiteout(int at, const char *name)
{
	if (mknodat(at, name, S_IFCHR, 0) < 0)
		return -1;
	return adopt(at, name);
}

/* One name of the real folder, as an opaque folder of the upper hides it. */
static int spell_out_name(struct drop *d, int upper, int real, const char *name, struct err *err)
{
	struct layer_node up, old;

	int r = layer_node_at(upper, name, &up);
	if (r == 0)
		r = layer_node_at(real, name, &old);
	if (r < 0)
		return failed(d, -r, err);
	if (!up.mode)
		return put_whiteout(upper, name) < 0 ? failed(d, errno, err) : 0;
	if (!S_ISDIR(up.mode) || !S_ISDIR(old.mode))
		return 0;

	/* A folder in it is covered by it, so far without a mark of its own. */
	mode_t was;
	_cleanup_fd_ int fd = open_writable(upper, name, &was);
	if (fd < 0 || fsetxattr(fd, opaque, "y", 1, 0) < 0 || (was && fchmod(fd, was) < 0))
		return failed(d, errno, err);
	return 0;
}

static int spell_out(struct drop *d, int upper, int real, struct err *err)
{
	_cleanup_names_ struct name_list names = { 0 };

	int r = names_read(&names, real, err);
	for (size_t i = 0; i < names.n && r == 0; i++)
		r = spell_out_name(d, upper, real, names_get(&names, i), err);
	if (r == 0 && fremovexattr(upper, opaque) < 0 && errno != ENODATA)
		r = failed(d, errno, err);
	return r;
}

/* A whiteout stands where the path goes on: it becomes a folder that hides all. */
static int open_whiteout(struct drop *d, const char *name, struct err *err)
{
	if (unlinkat(d->upper, name, 0) < 0 || mkdirat(d->upper, name, 0755) < 0 || adopt(d->upper, name) < 0)
		return failed(d, errno, err);
	_cleanup_fd_ int fd = walk_open(d->upper, name);
	if (fd < 0 || fsetxattr(fd, opaque, "y", 1, 0) < 0)
		return failed(d, errno, err);
	return 0;
}

static bool is_opaque(int fd)
{
	char value[2];

	return fgetxattr(fd, opaque, value, sizeof(value)) > 0;
}

/* Below a whiteout, a path that is no longer real has nothing to be kept for. */
static bool is_real(const struct drop *d, const char *name, const char *rest)
{
	_cleanup_fd_ int folder = walk_open(d->real, name);
	_cleanup_fd_ int fd = folder < 0 ? -1 : path_open_beneath(folder, rest, O_PATH | O_NOFOLLOW, 0);

	return fd >= 0 || (folder >= 0 && errno != ENOENT && errno != ENOTDIR);
}

/* One folder further down; `rest` is what follows. 1: reached; 0: nothing is staged further down. */
static int descend(struct drop *d, const char *name, const char *rest, struct err *err)
{
	struct layer_node up, old = { 0 };

	int r = layer_node_at(d->upper, name, &up);
	if (r == 0 && d->real >= 0)
		r = layer_node_at(d->real, name, &old);
	if (r < 0)
		return failed(d, -r, err);
	if (layer_node_is_whiteout(&up)) {
		if (!S_ISDIR(old.mode))
			return unlinkat(d->upper, name, 0) < 0 ? failed(d, errno, err) : 0;
		if (!is_real(d, name, rest))
			return 0;
		r = open_whiteout(d, name, err);
		if (r < 0)
			return r;
	} else if (!S_ISDIR(up.mode)) {
		return 0;
	}

	_cleanup_fd_ int upper = open_writable(d->upper, name, &d->mode[d->depth]);
	_cleanup_fd_ int real = -1;
	if (upper < 0)
		return failed(d, errno, err);
	if (S_ISDIR(old.mode)) {
		real = walk_open(d->real, name);
		if (real < 0)
			return failed(d, errno, err);
	}
	if (real >= 0 && is_opaque(upper)) {
		r = spell_out(d, upper, real, err);
		if (r < 0)
			return r;
	}
	d->depth++;
	fd_close(&d->upper);
	fd_close(&d->real);
	d->upper = steal_fd(&upper);
	d->real = steal_fd(&real);
	return 1;
}

/* An empty folder of the upper says nothing of its own unless it hides something real. */
static bool hides(int upper, const struct layer_node *real)
{
	return real->mode && (!S_ISDIR(real->mode) || is_opaque(upper));
}

/* Up again from the folder that was reached: empty ones go, the others get their mode back. */
static int ascend(struct drop *d, struct err *err)
{
	for (; d->depth; d->depth--) {
		char *slash = strrchr(d->path, '/');
		struct layer_node real = { 0 };
		_cleanup_fd_ int folder = walk_open(d->upper_top, d->path);

		/* A real folder that is gone or closed counts as absent. */
		_cleanup_fd_ int above =
			slash ? (*slash = '\0', walk_open(d->upper_top, d->path)) : walk_open(d->upper_top, ".");
		_cleanup_fd_ int real_above = walk_open(d->real_top, slash ? d->path : ".");
		const char *name = slash ? slash + 1 : d->path;

		if (folder < 0 || above < 0)
			return failed(d, errno, err);
		if (real_above >= 0 && layer_node_at(real_above, name, &real) < 0)
			return failed(d, EIO, err);
		if (!hides(folder, &real)) {
			if (unlinkat(above, name, AT_REMOVEDIR) == 0)
				continue;
			if (errno != ENOTEMPTY && errno != EEXIST)
				return failed(d, errno, err);
		}
		if (d->mode[d->depth - 1] && fchmod(folder, d->mode[d->depth - 1]) < 0)
			return failed(d, errno, err);
	}
	return 0;
}

static bool is_plain(const char *path)
{
	for (const char *p = path;; p++) {
		size_t len = strcspn(p, "/");

		if (!len || (len == 1 && p[0] == '.') || (len == 2 && memcmp(p, "..", 2) == 0))
			return false;
		p += len;
		if (!*p)
			return true;
	}
}

static int drop_path(const struct layer *l, int upper, int real, const char *path, struct err *err)
{
	size_t components = 1;

	if (!is_plain(path))
		return err_set(err, E_INVALID, "%s: not a path below the workspace", path);
	for (const char *p = path; *p; p++)
		components += *p == '/';

	_cleanup_(drop_free) struct drop d = {
		.l = l,
		.upper_top = upper,
		.real_top = real,
		.path = strdup(path),
		.mode = calloc(components, sizeof(mode_t)),
		.upper = walk_open(upper, "."),
		.real = walk_open(real, "."),
	};
	if (!d.path || !d.mode)
		return err_set(err, E_NOMEM, "dropping a path from the staged layer: out of memory");
	if (d.upper < 0 || d.real < 0)
		return failed(&d, errno, err);

	char *name = d.path;
	int r = 1;
	for (char *slash; r == 1 && (slash = strchr(name, '/')); name = slash + 1) {
		*slash = '\0';
		r = descend(&d, name, slash + 1, err);
		*slash = '/';
		if (r != 1)
			break;
	}
	if (r == 1) {
		r = path_remove_tree(d.upper, name, err);
		if (r < 0)
			return r;
	}
	if (r < 0)
		return r;

	/* What lies above the deepest folder that was reached. */
	size_t keep = 0;
	for (size_t depth = d.depth; depth; depth--)
		keep += strcspn(d.path + keep, "/") + 1;
	d.path[keep ? keep - 1 : 0] = '\0';
	return ascend(&d, err);
}

static int drop_all(int upper, struct err *err)
{
	_cleanup_names_ struct name_list names = { 0 };

	int r = names_read(&names, upper, err);
	for (size_t i = 0; i < names.n && r == 0; i++)
		r = path_remove_tree(upper, names_get(&names, i), err);
	return r;
}

int layer_drop(const struct layer *l, const char *const *paths, size_t n, struct err *err)
{
	_cleanup_fd_ int upper = walk_open_upper(l->layer_fd), top = -1, real = -1;
	int r = 0;

	if (upper < 0)
		return errno == ENOENT ? 0 : err_errno(err, E_IO, errno, "the staged layer");
	if (!paths)
		return drop_all(upper, err);
	top = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (top >= 0)
		real = walk_open(top, l->workspace + strspn(l->workspace, "/"));
	if (real < 0)
		return err_errno(err, E_IO, errno, "the workspace %s", l->workspace);
	for (size_t i = 0; i < n && r == 0; i++)
		r = drop_path(l, upper, real, paths[i], err);
	return r;
}
