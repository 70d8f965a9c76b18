#include "core/cmd/jail_keep.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/path.h"
#include "core/changes/diff.h"
#include "jail/content.h"

int jail_keep_open(const char *dir, int *ret_fd, struct err *err)
{
	if (mkdir(dir, 0700) < 0)
		return err_errno(err, E_USAGE, errno, "--keep %s: it must be a new folder", dir);
	*ret_fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *ret_fd < 0 ? err_errno(err, E_USAGE, errno, "--keep %s", dir) : 0;
}

static int write_piece(const char *data, size_t len, void *arg)
{
	return path_write_all(*(int *)arg, data, len) < 0 ? E_IO : 0;
}

static int keep_diff(const struct layer *l, const struct manifest *m, int dir_fd, struct err *err)
{
	_cleanup_fd_ int fd =
		openat(dir_fd, "changes.diff", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return err_errno(err, E_IO, errno, "--keep: changes.diff");
	int r = diff_write(l, m, write_piece, &fd, err);
	return r == E_IO ? err_errno(err, E_IO, errno, "--keep: changes.diff") : r;
}

/* The folder that holds the last component of `path`, made on the way; *ret_name points to that component. */
static int parent_of(int files, const char *path, int *ret_fd, const char **ret_name, struct err *err)
{
	_cleanup_fd_ int at = fcntl(files, F_DUPFD_CLOEXEC, 3);
	const char *slash;

	while (at >= 0 && (slash = strchr(path, '/'))) {
		_cleanup_free_ char *name = strndup(path, (size_t)(slash - path));

		if (!name)
			return err_set(err, E_NOMEM, "--keep: out of memory");
		if (mkdirat(at, name, 0700) < 0 && errno != EEXIST)
			break;
		int below = path_open_beneath(at, name, O_RDONLY | O_DIRECTORY, 0);
		fd_close(&at);
		at = below;
		path = slash + 1;
	}
	if (at < 0 || strchr(path, '/'))
		return err_errno(err, E_IO, errno, "--keep: files/%s", path);
	*ret_fd = steal_fd(&at);
	*ret_name = path;
	return 0;
}

static int keep_one(const struct layer *l, const struct change *c, int files, struct err *err)
{
	_cleanup_content_map_ struct content_map content = { 0 };
	_cleanup_fd_ int parent = -1, fd = -1;
	const char *name;
	int r = parent_of(files, c->path, &parent, &name, err);

	if (r == 0)
		r = content_map(l->content_fd, c->new.digest, &content, err);
	if (r < 0)
		return r;
	if (S_ISLNK(c->new.mode)) {
		_cleanup_free_ char *target = strndup(content.data, content.len);

		return target && symlinkat(target, parent, name) == 0
			       ? 0
			       : err_errno(err, E_IO, errno, "--keep: files/%s", c->path);
	}
	fd = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    c->new.mode & 0111 ? 0700 : 0600);
	if (fd < 0 || path_write_all(fd, content.data, content.len) < 0)
		return err_errno(err, E_IO, errno, "--keep: files/%s", c->path);
	return 0;
}

int jail_keep(const struct layer *l, const struct manifest *m, int dir_fd, size_t *ret_n, struct err *err)
{
	_cleanup_fd_ int files = -1;
	size_t n = 0;
	int r = keep_diff(l, m, dir_fd, err);

	if (r < 0)
		return r;
	if (mkdirat(dir_fd, "files", 0700) < 0 ||
	    (files = path_open_beneath(dir_fd, "files", O_RDONLY | O_DIRECTORY, 0)) < 0)
		return err_errno(err, E_IO, errno, "--keep: files");
	for (size_t i = 0; r == 0 && i < m->n; i++) {
		const struct change *c = &m->change[i];

		if (c->status != CHANGE_OK && c->status != CHANGE_CONFLICT)
			continue;
		if (c->new.has_digest)
			r = keep_one(l, c, files, err);
		n += r == 0;
	}
	if (r == 0)
		*ret_n = n;
	return r;
}
