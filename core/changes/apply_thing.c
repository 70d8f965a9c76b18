#include "core/changes/apply_thing.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "core/base/path.h"
#include "jail/content.h"
#include "jail/layer_node.h"
#include "jail/layer_walk.h"

/* A member's folder below the thing, opened once for all members of that folder. */
struct place {
	int dirfd;        /* holds the thing */
	const char *name; /* of the thing there */
	size_t root_len;  /* of the path of the thing's top */
	char folder[PATH_MAX];
	int fd; /* of that folder; -1: none yet */
};

static void place_close(struct place *p)
{
	fd_close(&p->fd);
}
#define _cleanup_place_ _cleanup_(place_close)

static struct place place_of(int dirfd, const char *name, const struct member *top)
{
	return (struct place){ .dirfd = dirfd, .name = name, .root_len = strlen(top->path), .fd = -1 };
}

/* The folder that holds `m` and its name in it.  -1 with errno. */
static int find_place(struct place *p, const struct member *m, const char **ret_name)
{
	if (m->path[p->root_len] == '\0') {
		*ret_name = p->name;
		return p->dirfd;
	}

	const char *rest = m->path + p->root_len, *slash = strrchr(rest, '/');
	char folder[PATH_MAX];
	size_t top = strlen(p->name), len = (size_t)(slash - rest);

	if (top + len >= sizeof(folder)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(folder, p->name, top);
	memcpy(folder + top, rest, len);
	folder[top + len] = '\0';
	*ret_name = slash + 1;
	if (p->fd >= 0 && strcmp(folder, p->folder) == 0)
		return p->fd;
	fd_close(&p->fd);
	p->fd = walk_open(p->dirfd, folder);
	memcpy(p->folder, folder, top + len + 1);
	return p->fd;
}

static int failed(const struct member *m, int errnum, struct err *err)
{
	return err_errno(err, E_IO, errnum, "%s", m->path);
}

/* ---- building */

static bool is_acl(const char *name)
{
	return strncmp(name, "system.posix_acl_", 17) == 0;
}

/* What an exchange would lose: the operator's own attributes and access list.  Security labels are the kernel's to set;
 * capabilities were refused before. */
static int copy_attributes(int from, int to)
{
	char names[XATTR_LIST_MAX], value[XATTR_SIZE_MAX];
	ssize_t len = flistxattr(from, names, sizeof(names));

	/* The folder's default list has marked the new file; the old one may have none. */
	if (fremovexattr(to, "system.posix_acl_access") < 0 && errno != ENODATA && errno != ENOTSUP)
		return -1;
	if (len < 0)
		return errno == ENOTSUP ? 0 : -1;
	for (ssize_t at = 0; at < len; at += (ssize_t)strlen(names + at) + 1) {
		const char *name = names + at;

		if (!is_acl(name) && strncmp(name, "user.", 5) != 0)
			continue;
		ssize_t size = fgetxattr(from, name, value, sizeof(value));
		if (size < 0 || fsetxattr(to, name, value, (size_t)size, 0) < 0)
			return -1;
	}
	return 0;
}

/* Owner of something new: that of the workspace; its group too, unless the folder hands on its own. */
static int give_away(const struct site *s, int dirfd, const char *name)
{
	struct stat folder;

	if (!s->root)
		return 0;
	if (fstat(dirfd, &folder) < 0)
		return -1;
	return fchownat(dirfd, name, s->uid, folder.st_mode & S_ISGID ? (gid_t)-1 : s->gid, AT_SYMLINK_NOFOLLOW);
}

static int take_after(const struct site *s, int fd, int like)
{
	struct stat old, new;

	if (fstat(like, &old) < 0 || fstat(fd, &new) < 0)
		return -1;
	if (s->root ? fchown(fd, old.st_uid, old.st_gid) < 0
		    : old.st_gid != new.st_gid && fchown(fd, (uid_t)-1, old.st_gid) < 0)
		return -1;
	return copy_attributes(like, fd);
}

static int build_file(const struct site *s, int dirfd, const char *name, const struct member *m, int like,
		      struct err *err)
{
	_cleanup_fd_ int from = -1, to = -1;
	uint8_t digest[DIGEST_LEN];
	uint64_t size;

	int r = content_open(s->content_fd, m->digest, &from, err);
	if (r < 0)
		return r;
	to = openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0)
		return failed(m, errno, err);
	r = content_copy(from, to, LAYER_FILE_MAX, digest, &size, err);
	if (r < 0) {
		err_prefix(err, "%s", m->path);
		return r;
	}
	if (memcmp(digest, m->digest, DIGEST_LEN) != 0)
		return err_set(err, E_CORRUPT, "%s: its stored content is not what was shown; nothing was written",
			       m->path);
	if ((like >= 0 ? take_after(s, to, like) : give_away(s, dirfd, name)) < 0 || fchmod(to, m->mode & 0777) < 0 ||
	    (s->sync_each && fsync(to) < 0))
		return failed(m, errno, err);
	return 0;
}

static int build_link(const struct site *s, int dirfd, const char *name, const struct member *m, struct err *err)
{
	_cleanup_content_map_ struct content_map map = { "", 0 };
	char target[PATH_MAX];

	int r = content_map(s->content_fd, m->digest, &map, err);
	if (r < 0) {
		err_prefix(err, "%s", m->path);
		return r;
	}
	if (!map.len || map.len >= sizeof(target) || memchr(map.data, 0, map.len))
		return err_set(err, E_CORRUPT, "%s: its stored target is none", m->path);
	memcpy(target, map.data, map.len);
	target[map.len] = '\0';
	if (symlinkat(target, dirfd, name) < 0 || give_away(s, dirfd, name) < 0)
		return failed(m, errno, err);
	return 0;
}

/* Folders get their modes last: theirs may not let us in. */
static int finish_folder(const struct site *s, int dirfd, const char *name, const struct member *m, struct err *err)
{
	struct stat st;
	_cleanup_fd_ int fd = walk_open(dirfd, name);

	if (fd < 0 || fstat(fd, &st) < 0 || fchmod(fd, (m->mode & 0777) | (st.st_mode & S_ISGID)) < 0 ||
	    (s->sync_each && fsync(fd) < 0))
		return failed(m, errno, err);
	return 0;
}

int thing_build(const struct site *s, int dirfd, const char *name, const struct member *m, size_t n, int like,
		struct err *err)
{
	_cleanup_place_ struct place p = place_of(dirfd, name, m);
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		const char *at;
		int folder = find_place(&p, &m[i], &at);

		if (folder < 0)
			return failed(&m[i], errno, err);
		if (S_ISREG(m[i].mode))
			r = build_file(s, folder, at, &m[i], n == 1 ? like : -1, err);
		else if (S_ISLNK(m[i].mode))
			r = build_link(s, folder, at, &m[i], err);
		else if (mkdirat(folder, at, 0700) < 0 || give_away(s, folder, at) < 0)
			r = failed(&m[i], errno, err);
	}
	for (size_t i = n; i-- > 0 && r == 0;) {
		const char *at;

		if (!S_ISDIR(m[i].mode))
			continue;
		int folder = find_place(&p, &m[i], &at);
		r = folder < 0 ? failed(&m[i], errno, err) : finish_folder(s, folder, at, &m[i], err);
	}
	return r;
}

/* ---- comparing */

struct comparing {
	struct walk walk;
	const struct member *m;
	size_t n;
	enum thing_check check;
	char path[PATH_MAX + WALK_PATH_MAX]; /* of the thing's top, and room for what lies below */
	size_t found;
	bool same;
};

static bool same_digest(int dirfd, const char *name, const struct member *m)
{
	uint8_t digest[DIGEST_LEN];

	if (S_ISLNK(m->mode)) {
		char target[PATH_MAX];
		ssize_t len = readlinkat(dirfd, name, target, sizeof(target));

		if (len < 0)
			return false;
		digest_of(target, (size_t)len, digest);
	} else {
		_cleanup_fd_ int fd = path_open_beneath(dirfd, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY, 0);
		uint64_t size;

		if (fd < 0 || content_digest_fd(fd, digest, &size, NULL) < 0)
			return false;
	}
	return memcmp(digest, m->digest, DIGEST_LEN) == 0;
}

static bool same_member(int dirfd, const char *name, const struct member *m, enum thing_check check)
{
	struct layer_node node;

	if (layer_node_at(dirfd, name, &node) < 0 || (node.mode & S_IFMT) != (m->mode & S_IFMT))
		return false;
	if (check != THING_NEW && node.ino != m->ino)
		return false;
	if (S_ISDIR(m->mode))
		return true;
	if (check != THING_NEW && node.mode != m->mode)
		return false;
	return node.size == m->size && same_digest(dirfd, name, m);
}

static const struct member *find_member(const struct member *m, size_t n, const char *path)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int c = strcmp(m[mid].path, path);

		if (c == 0)
			return &m[mid];
		if (c < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

static int compare_entry(struct walk *w, struct walk_folder *f, const char *name, struct err *err)
{
	struct comparing *c = (struct comparing *)w;
	size_t top = strlen(c->m[0].path);

	c->path[top] = '/';
	memcpy(c->path + top + 1, buf_str(&w->path), w->path.len + 1);
	const struct member *m = find_member(c->m, c->n, c->path);
	if (!m || !same_member(f->fd[WALK_REAL], name, m, c->check)) {
		c->same = false;
		return err_set(err, E_CONFLICT, "different");
	}
	c->found++;
	if (!S_ISDIR(m->mode))
		return 0;
	int fd[WALK_SIDES] = { -1, walk_open(f->fd[WALK_REAL], name), -1 };
	if (fd[WALK_REAL] < 0)
		return err_set(err, E_CONFLICT, "different");
	return walk_enter(w, fd, 1u << WALK_REAL, NULL, err);
}

static bool same_folder(int dirfd, const char *name, const struct member *m, size_t n, enum thing_check check)
{
	_cleanup_fd_ int root = walk_open(dirfd, name);
	struct comparing c = {
		.walk = WALK_INIT(sizeof(struct walk_folder)),
		.m = m,
		.n = n,
		.check = check,
		.found = 1,
		.same = true,
	};
	int fd[WALK_SIDES] = { -1, root < 0 ? -1 : fcntl(root, F_DUPFD_CLOEXEC, 3), -1 };
	struct err err;

	size_t top = strlen(m[0].path);
	if (fd[WALK_REAL] < 0)
		return false;
	memcpy(c.path, m[0].path, top + 1);
	c.walk.root[WALK_REAL] = root;
	c.walk.visit = compare_entry;
	int r = walk_enter(&c.walk, fd, 1u << WALK_REAL, NULL, &err);
	if (r == 0)
		r = walk_run(&c.walk, &err);
	walk_free(&c.walk);
	return r == 0 && c.same && (check == THING_OLD_REST || c.found == n);
}

bool thing_matches(int dirfd, const char *name, const struct member *m, size_t n, enum thing_check check)
{
	if (!same_member(dirfd, name, &m[0], check))
		return false;
	return !S_ISDIR(m[0].mode) || same_folder(dirfd, name, m, n, check);
}

/* ---- removing */

int thing_remove(int dirfd, const char *name, const struct member *m, size_t n, struct err *err)
{
	_cleanup_place_ struct place p = place_of(dirfd, name, m);

	for (size_t i = n; i-- > 0;) {
		const char *at;
		int folder = find_place(&p, &m[i], &at);

		if (folder < 0 && errno == ENOENT)
			continue;
		if (folder < 0)
			return failed(&m[i], errno, err);
		if (unlinkat(folder, at, S_ISDIR(m[i].mode) ? AT_REMOVEDIR : 0) == 0 || errno == ENOENT)
			continue;
		if (errno == ENOTEMPTY || errno == EEXIST)
			return err_set(err, E_CONFLICT, "%s: something new is in the removed folder", m[i].path);
		return failed(&m[i], errno, err);
	}
	return 0;
}
