#include "core/changes/apply_unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/path.h"
#include "jail/layer_node.h"
#include "jail/layer_walk.h"

static int conflict(struct err *err, const char *why)
{
	return err_set(err, E_CONFLICT, "%s", why);
}

static int failed(const struct unit *u, int errnum, struct err *err)
{
	return err_errno(err, E_IO, errnum, "%s", u->path);
}

/* The folder that holds the unit; where it was seen before, the same one. */
static int open_parent(const struct site *s, const struct unit *u, int *ret_fd, struct layer_node *ret_node,
		       struct err *err)
{
	char path[PATH_MAX];
	_cleanup_fd_ int fd = walk_open(s->real_fd, unit_parent(u, path));

	if (fd < 0) {
		if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == EXDEV)
			return conflict(err, "its folder is no longer there");
		return failed(u, errno, err);
	}
	int r = layer_node_fd(fd, ret_node);
	if (r < 0)
		return failed(u, -r, err);
	if (u->parent_ino && (u->parent_ino != ret_node->ino || u->parent_dev != ret_node->dev))
		return conflict(err, "its folder was replaced by another");
	*ret_fd = steal_fd(&fd);
	return 0;
}

static int enter(const struct site *s, const struct unit *u, int *ret_fd, struct err *err)
{
	struct layer_node node;

	return open_parent(s, u, ret_fd, &node, err);
}

/* ---- forward */

/* One old member against the real tree, by inode number and time of change. */
static int check_member(const struct site *s, const struct member *m, struct err *err)
{
	const char *slash = strrchr(m->path, '/');
	char folder[PATH_MAX];
	struct layer_node node;

	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - m->path) : 1, slash ? m->path : ".");
	_cleanup_fd_ int fd = walk_open(s->real_fd, folder);
	if (fd < 0)
		return conflict(err, "changed by you since it was shown");
	int r = layer_node_at(fd, slash ? slash + 1 : m->path, &node);
	if (r < 0)
		return err_errno(err, E_IO, -r, "%s", m->path);
	if (!node.mode)
		return conflict(err, "removed by you since it was shown");
	if ((node.mode & S_IFMT) != (m->mode & S_IFMT) || node.ino != m->ino)
		return conflict(err, "replaced by you since it was shown");
	if (!S_ISDIR(m->mode) && (node.ctime_ns != m->ctime_ns || node.mode != m->mode))
		return conflict(err, "changed by you since it was shown");
	return 0;
}

int unit_check(const struct site *s, struct unit *u, struct err *err)
{
	_cleanup_fd_ int fd = -1;
	struct layer_node parent, node;

	int r = open_parent(s, u, &fd, &parent, err);
	if (r < 0)
		return r;
	u->parent_dev = parent.dev;
	u->parent_ino = parent.ino;
	r = layer_node_at(fd, u->name, &node);
	if (r < 0)
		return failed(u, -r, err);
	if (u->kind == UNIT_PUT)
		return node.mode ? conflict(err, "something stands there now") : 0;
	for (size_t i = 0; i < u->nold && r == 0; i++)
		r = check_member(s, &u->old[i], err);
	/* The new file could not have the same owner. */
	if (r == 0 && u->kind != UNIT_TAKE && S_ISREG(node.mode) && !s->root && node.uid != geteuid())
		r = conflict(err, "it belongs to another user, which only root can keep");
	return r;
}

int unit_stage(const struct site *s, struct unit *u, struct err *err)
{
	_cleanup_fd_ int fd = -1, like = -1;
	struct layer_node node;

	if (u->kind == UNIT_TAKE || u->kind == UNIT_CHMOD)
		return 0;
	int r = enter(s, u, &fd, err);
	if (r < 0)
		return r;
	if (u->kind == UNIT_SWAP && S_ISREG(u->old[0].mode) && S_ISREG(u->new[0].mode)) {
		like = path_open_beneath(fd, u->name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY, 0);
		if (like < 0)
			return conflict(err, "changed by you since it was shown");
	}
	r = thing_build(s, fd, u->temp, u->new, u->nnew, like, err);
	if (r == 0) {
		r = layer_node_at(fd, u->temp, &node);
		r = r < 0 ? failed(u, -r, err) : 0;
	}
	if (r == 0)
		u->staged_ino = node.ino;
	return r;
}

static int change_mode(int dirfd, const char *name, const struct member *from, mode_t to)
{
	struct stat st;
	_cleanup_fd_ int fd = path_open_beneath(dirfd, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY, 0);

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	if (st.st_ino != from->ino) {
		errno = ESTALE;
		return -1;
	}
	return fchmod(fd, to & 07777);
}

static int rename_for(const struct unit *u, int fd)
{
	switch (u->kind) {
	case UNIT_PUT:
		return renameat2(fd, u->temp, fd, u->name, RENAME_NOREPLACE);
	case UNIT_SWAP:
		return renameat2(fd, u->temp, fd, u->name, RENAME_EXCHANGE);
	case UNIT_TAKE:
		return renameat2(fd, u->name, fd, u->temp, RENAME_NOREPLACE);
	case UNIT_CHMOD:
		return change_mode(fd, u->name, &u->old[0], u->new[0].mode);
	}
	errno = EINVAL;
	return -1;
}

int unit_move(const struct site *s, struct unit *u, struct err *err)
{
	_cleanup_fd_ int fd = -1;
	struct layer_node node;

	int r = enter(s, u, &fd, err);
	if (r < 0)
		return r;
	/* No rename shows what it is about to take; but a mode is changed on what was compared. */
	if (u->kind == UNIT_CHMOD && !thing_matches(fd, u->name, u->old, u->nold, THING_OLD))
		return conflict(err, "changed by you since it was shown");
	if (rename_for(u, fd) < 0) {
		switch (errno) {
		case EEXIST:
			return conflict(err, "something stands there now");
		case ENOENT:
		case ESTALE:
			return conflict(err, "removed by you since it was shown");
		case EINVAL:
		case ENOSYS:
			return err_errno(err, E_MACHINE, errno, "%s: this file system cannot exchange two names",
					 u->path);
		default:
			return failed(u, errno, err);
		}
	}
	if (u->kind != UNIT_SWAP && u->kind != UNIT_TAKE)
		return 0;
	if (!thing_matches(fd, u->temp, u->old, u->nold, THING_OLD))
		return conflict(err, "changed by you since it was shown");
	r = layer_node_at(fd, u->temp, &node);
	if (r < 0)
		return failed(u, -r, err);
	u->displaced_ctime_ns = node.ctime_ns;
	return 0;
}

int unit_confirm(const struct site *s, const struct unit *u, struct err *err)
{
	_cleanup_fd_ int fd = -1;
	struct layer_node node;

	int r = enter(s, u, &fd, err);
	if (r < 0 || (u->kind != UNIT_SWAP && u->kind != UNIT_TAKE))
		return r;
	r = layer_node_at(fd, u->temp, &node);
	if (r < 0)
		return failed(u, -r, err);
	return node.ctime_ns == u->displaced_ctime_ns ? 0 : conflict(err, "changed by you in this moment");
}

int unit_finish(const struct site *s, const struct unit *u, struct err *err)
{
	_cleanup_fd_ int fd = -1;

	if (u->kind != UNIT_SWAP && u->kind != UNIT_TAKE)
		return 0;
	int r = enter(s, u, &fd, err);
	return r < 0 ? r : thing_remove(fd, u->temp, u->old, u->nold, err);
}

int unit_sync(const struct site *s, const struct unit *u, struct err *err)
{
	_cleanup_fd_ int fd = -1;

	int r = enter(s, u, &fd, err);
	if (r == 0 && fsync(fd) < 0)
		r = failed(u, errno, err);
	return r;
}

/* ---- back */

static bool is_staged(const struct unit *u, const struct layer_node *n)
{
	return n->mode && u->staged_ino && n->ino == u->staged_ino;
}

/* A move was made: what stands at the place must still be what we put there. */
static enum unit_state moved_if_ours(const struct unit *u, int fd)
{
	return thing_matches(fd, u->name, u->new, u->nnew, THING_NEW) ? UNIT_MOVED : UNIT_UNKNOWN;
}

static enum unit_state look_chmod(const struct unit *u, const struct layer_node *place)
{
	/* Whoever replaced the file or gave it a third mode has the last word. */
	return place->ino == u->old[0].ino && place->mode == u->new[0].mode ? UNIT_MOVED : UNIT_UNTOUCHED;
}

/* With nothing under the temporary name it was put back already, by a recovery that was cut short. */
static enum unit_state look_put(const struct unit *u, int fd, const struct layer_node *place,
				const struct layer_node *temp)
{
	if (is_staged(u, place))
		return moved_if_ours(u, fd);
	return is_staged(u, temp) || (!place->mode && !temp->mode) ? UNIT_UNTOUCHED : UNIT_UNKNOWN;
}

static enum unit_state look_swap(const struct unit *u, int fd, const struct layer_node *place,
				 const struct layer_node *temp)
{
	if (is_staged(u, temp) || (!temp->mode && place->mode && place->ino == u->old[0].ino))
		return UNIT_UNTOUCHED;
	return is_staged(u, place) && temp->mode ? moved_if_ours(u, fd) : UNIT_UNKNOWN;
}

enum unit_state unit_look(const struct site *s, const struct unit *u, enum journal_state journal)
{
	_cleanup_fd_ int fd = -1;
	struct layer_node place, temp;

	if (enter(s, u, &fd, NULL) < 0 || layer_node_at(fd, u->name, &place) < 0 ||
	    layer_node_at(fd, u->temp, &temp) < 0)
		return UNIT_UNKNOWN;
	/* Nothing is moved before the journal says that everything is built. */
	if (journal == JOURNAL_PLANNED)
		return UNIT_UNTOUCHED;
	switch (u->kind) {
	case UNIT_PUT:
		return look_put(u, fd, &place, &temp);
	case UNIT_SWAP:
		return look_swap(u, fd, &place, &temp);
	case UNIT_TAKE:
		if (!temp.mode)
			return UNIT_UNTOUCHED;
		return place.mode ? UNIT_UNKNOWN : UNIT_MOVED;
	case UNIT_CHMOD:
		return look_chmod(u, &place);
	}
	return UNIT_UNKNOWN;
}

static int move_back(const struct unit *u, int fd)
{
	switch (u->kind) {
	case UNIT_PUT:
		return renameat2(fd, u->name, fd, u->temp, RENAME_NOREPLACE);
	case UNIT_SWAP:
		return renameat2(fd, u->name, fd, u->temp, RENAME_EXCHANGE);
	case UNIT_TAKE:
		return renameat2(fd, u->temp, fd, u->name, RENAME_NOREPLACE);
	case UNIT_CHMOD:
		return change_mode(fd, u->name, &u->old[0], u->old[0].mode);
	}
	errno = EINVAL;
	return -1;
}

int unit_put_back(const struct site *s, const struct unit *u, enum unit_state state, struct err *err)
{
	_cleanup_fd_ int fd = -1;

	int r = enter(s, u, &fd, err);
	if (r < 0)
		return r;
	if (state == UNIT_MOVED && move_back(u, fd) < 0)
		return failed(u, errno, err);
	if (u->kind != UNIT_PUT && u->kind != UNIT_SWAP)
		return 0;
	/* Only the thing that we built, whole or in part, is ever left under this name here. */
	return path_remove_tree(fd, u->temp, err);
}

bool unit_may_finish(const struct site *s, const struct unit *u)
{
	_cleanup_fd_ int fd = -1;
	struct layer_node temp;

	if (u->kind != UNIT_SWAP && u->kind != UNIT_TAKE)
		return true;
	if (enter(s, u, &fd, NULL) < 0 || layer_node_at(fd, u->temp, &temp) < 0)
		return false;
	return !temp.mode || thing_matches(fd, u->temp, u->old, u->nold, THING_OLD_REST);
}
