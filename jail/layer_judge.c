#include "jail/layer_judge.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "core/base/clock.h"
#include "core/base/path.h"
#include "jail/content.h"
#include "jail/idmap.h"
#include "jail/layer_names.h"

#define SPECIAL_BITS (S_ISUID | S_ISGID | S_ISVTX)

/* ---- collecting */

static int out_of_memory(struct err *err)
{
	return err_set(err, E_NOMEM, "reading the staged layer: out of memory");
}

static int keep(struct judge *j, const struct change *c, bool copied_up, struct err *err)
{
	if (j->n >= LAYER_ENTRIES_MAX)
		return err_set(err, E_LIMIT, "the staged layer: more than %u changes; discard what is not needed",
			       LAYER_ENTRIES_MAX);
	if (j->n == j->cap) {
		size_t cap = j->cap ? 2 * j->cap : 256;
		struct collected *grown = reallocarray(j->change, cap, sizeof(*grown));

		if (!grown)
			return out_of_memory(err);
		j->change = grown;
		j->cap = cap;
	}

	struct collected *kept = &j->change[j->n];
	*kept = (struct collected){ .c = *c, .copied_up = copied_up };
	kept->c.path = arena_strndup(&j->arena, c->path, strlen(c->path));
	if (!kept->c.path)
		return out_of_memory(err);
	kept->c.runs_later = layer_runs_later(c->path);
	j->n++;
	return 0;
}

int judge_add_folder(struct judge *j, const char *path, bool gone, mode_t mode, uint64_t old_ino, struct err *err)
{
	if (j->nfolders >= LAYER_ENTRIES_MAX)
		return err_set(err, E_LIMIT, "the staged layer: more than %u folders; discard what is not needed",
			       LAYER_ENTRIES_MAX);
	if (j->nfolders == j->folders_cap) {
		size_t cap = j->folders_cap ? 2 * j->folders_cap : 64;
		struct change_folder *grown = reallocarray(j->folder, cap, sizeof(*grown));

		if (!grown)
			return out_of_memory(err);
		j->folder = grown;
		j->folders_cap = cap;
	}

	const char *copy = arena_strndup(&j->arena, path, strlen(path));
	if (!copy)
		return out_of_memory(err);
	j->folder[j->nfolders++] =
		(struct change_folder){ .path = copy, .gone = gone, .mode = mode, .old_ino = old_ino };
	return 0;
}

/* ---- verdicts */

static int strictness(enum change_status status)
{
	return status == CHANGE_REFUSED ? 2 : status == CHANGE_CONFLICT ? 1 : 0;
}

struct verdict verdict_worse(struct verdict a, struct verdict b)
{
	return strictness(b.status) > strictness(a.status) ? b : a;
}

static void worsen(struct verdict *v, enum change_status status, const char *why)
{
	if (why)
		*v = verdict_worse(*v, (struct verdict){ status, why });
}

struct verdict judge_age(struct judge *j, int64_t ctime_ns, int64_t birth)
{
	struct verdict v = { CHANGE_CONFLICT, "it is not known when the cell was started" };
	char when[32];

	if (birth == BIRTH_UNKNOWN)
		return v;
	if (ctime_ns < birth * 1000)
		return (struct verdict){ CHANGE_OK, "" };
	v.why = arena_printf(&j->arena, "changed by you since the cell saw it (%s)",
			     clock_format(ctime_ns / 1000, when));
	if (!v.why)
		v.why = "changed by you since the cell saw it";
	return v;
}

const char *judge_owner(const struct judge *j, const struct layer_node *staged)
{
	int64_t base = j->l->idmap_base;

	return base && (staged->uid < base || staged->uid >= base + IDMAP_COUNT) ?
		       "it belongs to an owner that the cell does not have" :
		       NULL;
}

/* What no staged entry may be, whatever its content. */
static const char *staged_problem(const struct judge *j, const struct judged *e)
{
	const struct layer_node *n = &e->staged;
	const char *owner = judge_owner(j, n);

	if (owner)
		return owner;
	if (S_ISREG(n->mode) && n->mode & SPECIAL_BITS)
		return "it is setuid, setgid or sticky";
	if (S_ISREG(n->mode) && n->size > LAYER_FILE_MAX)
		return "it is larger than 1 GiB";
	return NULL;
}

/* ---- reading the two sides */

static int store(struct judge *j, int fd, struct change_side *ret, struct verdict *v, struct err *err)
{
	uint64_t most = j->left < LAYER_FILE_MAX ? j->left : LAYER_FILE_MAX;

	int r = content_put_fd(j->l->content_fd, fd, most, ret->digest, &ret->size, err);
	if (r == E_LIMIT) {
		worsen(v, CHANGE_REFUSED, "the files of this change are larger than 8 GiB in all");
		return 0;
	}
	if (r < 0)
		return r;
	j->left -= ret->size;
	ret->has_digest = true;
	return 0;
}

/* Reads a symlink's target, stores it as content. */
static int store_target(struct judge *j, int dirfd, const char *name, char target[PATH_MAX], struct change_side *ret,
			struct err *err)
{
	ssize_t len = readlinkat(dirfd, name, target, PATH_MAX - 1);

	if (len < 0)
		return err_errno(err, E_IO, errno, "%s", name);
	target[len] = '\0';
	int r = content_put(j->l->content_fd, target, (size_t)len, ret->digest, err);
	if (r < 0)
		return r;
	ret->size = (uint64_t)len;
	ret->has_digest = true;
	return 0;
}

static int open_file(int dirfd, const char *name)
{
	/* O_NONBLOCK: it may have become a FIFO. */
	return path_open_beneath(dirfd, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY, 0);
}

static bool has_capability(int fd)
{
	return fgetxattr(fd, "security.capability", NULL, 0) >= 0;
}

/* The real file, and whether it stood still while it was read. */
static int read_old_file(struct judge *j, const struct judged *e, struct change *c, struct verdict *v, struct err *err)
{
	struct layer_node before, after;
	_cleanup_fd_ int fd = open_file(e->real, e->name);

	if (fd < 0) {
		worsen(v, errno == EACCES || errno == EPERM ? CHANGE_REFUSED : CHANGE_CONFLICT,
		       errno == EACCES || errno == EPERM ? "the real file cannot be read"
							 : "the real file changes while it is read");
		return 0;
	}

	int r = layer_node_fd(fd, &before);
	if (r < 0)
		return err_errno(err, E_IO, -r, "%s", e->path);
	if (!S_ISREG(before.mode)) {
		worsen(v, CHANGE_CONFLICT, "the real file changes while it is read");
		return 0;
	}
	c->old.mode = before.mode;
	c->old.size = before.size;
	c->old_ino = before.ino;
	c->old_ctime_ns = before.ctime_ns;
	if (before.mode & SPECIAL_BITS || has_capability(fd))
		worsen(v, CHANGE_REFUSED, "the real file is setuid, setgid, sticky or has capabilities");
	if (before.size > LAYER_FILE_MAX) {
		worsen(v, CHANGE_REFUSED, "the real file is larger than 1 GiB");
		return 0;
	}

	r = store(j, fd, &c->old, v, err);
	if (r < 0)
		return r;
	r = layer_node_fd(fd, &after);
	if (r < 0)
		return err_errno(err, E_IO, -r, "%s", e->path);
	if (after.ctime_ns != before.ctime_ns)
		worsen(v, CHANGE_CONFLICT, "the real file changes while it is read");
	if (before.nlink > 1)
		c->note = "the real file has other names; they keep the old content";
	return 0;
}

static int read_old(struct judge *j, const struct judged *e, struct change *c, struct verdict *v, struct err *err)
{
	char target[PATH_MAX];

	c->old.mode = e->old.mode;
	c->old.size = e->old.size;
	c->old_ino = e->old.ino;
	c->old_ctime_ns = e->old.ctime_ns;
	switch (e->old.mode & S_IFMT) {
	case 0:
		return 0;
	case S_IFREG:
		return read_old_file(j, e, c, v, err);
	case S_IFLNK:
		return store_target(j, e->real, e->name, target, &c->old, err);
	default:
		worsen(v, CHANGE_REFUSED,
		       arena_printf(&j->arena, "what stands there is %s", layer_node_kind(&e->old))
			       ?: "what stands there is no file");
		return 0;
	}
}

static int read_new_file(struct judge *j, const struct judged *e, struct change *c, struct verdict *v,
			 bool *ret_copied_up, struct err *err)
{
	struct layer_marks marks;
	struct layer_node node;
	_cleanup_fd_ int fd = open_file(e->upper, e->name);

	if (fd < 0) {
		if (errno == EACCES) {
			worsen(v, CHANGE_REFUSED, "its mode lets nobody read it");
			return 0;
		}
		return err_errno(err, E_IO, errno, "%s", e->path);
	}

	int r = layer_node_fd(fd, &node);
	if (r == 0)
		r = layer_marks_fd(fd, &marks);
	if (r < 0)
		return err_errno(err, E_IO, -r, "%s", e->path);
	if (!S_ISREG(node.mode))
		return err_set(err, E_DENIED, "%s: the staged layer changes while it is read; is the cell frozen?",
			       e->path);
	worsen(v, CHANGE_REFUSED, marks.bad);
	*ret_copied_up = marks.copied_up;
	if (node.nlink > 1)
		c->note = "it has other names in the cell; here each becomes a file of its own";
	return node.size > LAYER_FILE_MAX ? 0 : store(j, fd, &c->new, v, err);
}

/* As in Git, only the owner's execute bit of a file that exists can change. */
static mode_t new_file_mode(mode_t staged, mode_t old)
{
	if (!S_ISREG(old))
		return S_IFREG | (staged & 0775);
	if ((staged & 0100) == (old & 0100))
		return old & (S_IFMT | 0777);
	return S_IFREG | (staged & 0100 ? (old & 0777) | (old & 0444) >> 2 : old & 0666);
}

static int read_new(struct judge *j, const struct judged *e, struct change *c, struct verdict *v, bool *ret_copied_up,
		    struct err *err)
{
	char target[PATH_MAX];

	if (!e->staged.mode)
		return 0;
	worsen(v, CHANGE_REFUSED, staged_problem(j, e));
	c->new.size = e->staged.size;
	if (S_ISREG(e->staged.mode)) {
		c->new.mode = new_file_mode(e->staged.mode, e->old.mode);
		return read_new_file(j, e, c, v, ret_copied_up, err);
	}
	c->new.mode = S_IFLNK | 0777;
	int r = store_target(j, e->upper, e->name, target, &c->new, err);
	if (r == 0)
		worsen(v, CHANGE_REFUSED, layer_link_problem(e->path, target));
	return r;
}

/* ---- judging */

static bool same_content(const struct change *c)
{
	return c->old.has_digest && c->new.has_digest && memcmp(c->old.digest, c->new.digest, DIGEST_LEN) == 0;
}

static enum change_op op_of(const struct judged *e, const struct change *c)
{
	if (!c->new.mode)
		return CHANGE_DELETE;
	if (S_ISLNK(c->new.mode))
		return CHANGE_SYMLINK;
	if (!c->old.mode || S_ISDIR(e->old.mode))
		return CHANGE_ADD;
	return S_ISREG(c->old.mode) && same_content(c) ? CHANGE_MODE : CHANGE_MODIFY;
}

int judge_leaf(struct judge *j, const struct judged *e, size_t *ret_index, struct err *err)
{
	struct change c = { .path = e->path, .why = "", .note = "" };
	struct verdict v = e->verdict;
	bool copied_up = false;

	/* A folder that gives way to this entry is judged by what lies in it. */
	int r = S_ISDIR(e->old.mode) ? 0 : read_old(j, e, &c, &v, err);
	if (r == 0)
		r = read_new(j, e, &c, &v, &copied_up, err);
	if (r < 0)
		return r;

	/* The special bits and marks of what was only touched are those of the real file. */
	if (same_content(&c) && (e->old.mode & S_IFMT) == (e->staged.mode & S_IFMT) &&
	    (S_ISLNK(e->old.mode) ||
	     (e->old.mode & (SPECIAL_BITS | 0100)) == (e->staged.mode & (SPECIAL_BITS | 0100)))) {
		*ret_index = SIZE_MAX;
		return 0;
	}
	if (c.old.mode)
		v = verdict_worse(v, judge_age(j, c.old_ctime_ns, e->birth));
	if (!c.note[0])
		c.note = layer_name_note(e->name);
	c.op = op_of(e, &c);
	c.status = v.status;
	c.why = v.why;
	*ret_index = j->n;
	return keep(j, &c, copied_up, err);
}

int judge_add(struct judge *j, const struct judged *e, enum change_op op, struct err *err)
{
	struct change c = {
		.path = e->path,
		.op = op,
		.status = e->verdict.status,
		.why = e->verdict.why,
		.note = layer_name_note(e->name),
		.old = { .mode = e->old.mode, .size = S_ISREG(e->old.mode) ? e->old.size : 0 },
		.new = { .mode = e->staged.mode, .size = S_ISREG(e->staged.mode) ? e->staged.size : 0 },
		.old_ino = e->old.ino,
		.old_ctime_ns = e->old.ctime_ns,
	};

	return keep(j, &c, false, err);
}

/* ---- the whole */

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct collected *)a)->c.path, ((const struct collected *)b)->c.path);
}

static int folder_by_path(const void *a, const void *b)
{
	const struct change_folder *x = a, *y = b;
	int c = strcmp(x->path, y->path);

	return c ? c : (int)y->gone - (int)x->gone;
}

/*
 * A staged file that began as a real one, at a path where nothing real is: moved there within the cell, or the operator
 * has removed the real one.  The kernel does not tell which (it records the origin without a handle), but a move
 * leaves a gap at its source: as long as there are enough gaps it is taken for a move.
 */
static void settle_moves(struct judge *j)
{
	size_t arrived = 0, left = 0;

	for (size_t i = 0; i < j->n; i++) {
		const struct collected *k = &j->change[i];

		arrived += k->copied_up && !k->c.old.mode;
		left += S_ISREG(k->c.old.mode) && !k->copied_up;
	}
	for (size_t i = 0; i < j->n; i++) {
		struct collected *k = &j->change[i];

		if (!k->copied_up || k->c.old.mode || k->c.status != CHANGE_OK)
			continue;
		if (arrived > left) {
			k->c.status = CHANGE_CONFLICT;
			k->c.why = "removed by you since the cell saw it";
		} else if (!k->c.note[0]) {
			k->c.note = "it was a file of the real tree: moved in the cell, or removed by you since";
		}
	}
}

int judge_finish(struct judge *j, struct manifest *ret, struct err *err)
{
	settle_moves(j);
	if (j->n)
		qsort(j->change, j->n, sizeof(*j->change), by_path);
	if (j->nfolders)
		qsort(j->folder, j->nfolders, sizeof(*j->folder), folder_by_path);
	for (size_t i = 1; i < j->n; i++)
		if (strcmp(j->change[i - 1].c.path, j->change[i].c.path) == 0)
			return err_set(err, E_CORRUPT, "%s: staged twice", j->change[i].c.path);

	ret->change = arena_alloc(&j->arena, (j->n + 1) * sizeof(*ret->change));
	ret->folder = arena_alloc(&j->arena, (j->nfolders + 1) * sizeof(*ret->folder));
	if (!ret->change || !ret->folder)
		return out_of_memory(err);
	for (size_t i = 0; i < j->n; i++)
		ret->change[i] = j->change[i].c;
	if (j->nfolders)
		memcpy(ret->folder, j->folder, j->nfolders * sizeof(*ret->folder));
	ret->n = j->n;
	ret->nfolders = j->nfolders;
	ret->arena = j->arena;
	j->arena = (struct arena){ 0 };
	manifest_digest(ret, ret->digest);
	return 0;
}

void judge_free(struct judge *j)
{
	births_free(&j->births);
	arena_free(&j->arena);
	free(j->change);
	free(j->folder);
}
