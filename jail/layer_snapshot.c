/*
 * The snapshot: which entries are staged.  It walks the upper, the real tree and the mask side by side and knows the
 * overlay's rules (whiteouts, opaque folders, a file in the place of a folder and the other way round); what an
 * entry is worth is layer_judge's.
 *
 * Three kinds of folders are walked: those that the cell sees through (merged), those that it made (new), those that it
 * removed (gone: only the real tree has names).  Below a .git component nothing is looked at but counted.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "core/base/path.h"
#include "jail/content.h"
#include "jail/layer_judge.h"
#include "jail/layer_names.h"
#include "jail/layer_twins.h"
#include "jail/layer_walk.h"

enum folder_kind { FOLDER_MERGED, FOLDER_NEW, FOLDER_GONE, FOLDER_COUNTED };

struct folder {
	struct walk_folder walk;
	enum folder_kind kind;
	struct verdict verdict;        /* for all below */
	int64_t birth;                 /* of what is not in the upper itself */
	bool covers;                   /* nothing of the real tree shows through: opaque, or below such a folder */
	bool setgid;                   /* new folders below get that bit from the kernel */
	bool *twin;                    /* by index of names: differs from a neighbour only by case; NULL: none does */
	struct layer_node staged, old; /* the folder itself */
	bool replaces;                 /* FOLDER_NEW: stands where a real file or symlink is removed */
	size_t replaced_by;            /* FOLDER_GONE: the change that takes its place, or SIZE_MAX */
	size_t listed_before;          /* changes that were known when it was entered */
	size_t counted_before;
	bool kept; /* FOLDER_GONE: something below must stay */
};

struct snapshot {
	struct walk walk; /* first: the visitor gets it */
	struct judge judge;
	uint64_t upper_dev;
	size_t withheld;
};

static const struct verdict fine = { CHANGE_OK, "" };

static struct verdict refused(const char *why)
{
	return why ? (struct verdict){ CHANGE_REFUSED, why } : fine;
}

static struct verdict conflict(const char *why)
{
	return (struct verdict){ CHANGE_CONFLICT, why };
}

/* The entry in hand, and where it lies. */
struct at {
	struct snapshot *s;
	struct folder *f;
	struct judged e;
	bool whited_out; /* the upper says: deleted */
};

/* ---- entering folders */

struct entering {
	enum folder_kind kind;
	struct verdict verdict;
	bool covers;
	int fd[WALK_SIDES];
};

static struct folder *fill_folder(struct walk_folder *made, const struct at *a, const struct entering *in)
{
	struct folder *f = (struct folder *)made;

	f->kind = in->kind;
	f->verdict = in->verdict;
	f->covers = in->covers;
	f->replaced_by = SIZE_MAX;
	f->listed_before = a->s->judge.n;
	f->counted_before = a->s->withheld;
	f->birth = a->e.birth;
	f->staged = a->e.staged;
	f->old = a->e.old;
	f->setgid = a->e.staged.mode & S_ISGID;
	return f;
}

static int enter(struct at *a, struct entering *in, struct folder **ret, struct err *err)
{
	struct walk_folder *made;
	/* Real names matter where the cell no longer sees them: they are deleted unless staged again. */
	unsigned list = 1u << WALK_UPPER | (in->covers ? 1u << WALK_REAL : 0);

	int r = walk_enter(&a->s->walk, in->fd, list, &made, err);
	if (r < 0)
		return r;
	struct folder *f = fill_folder(made, a, in);
	if (ret)
		*ret = f;
	if ((f->kind != FOLDER_MERGED && f->kind != FOLDER_NEW) || !made->has[WALK_UPPER])
		return 0;
	return twins_find(&made->names, made->fd[WALK_UPPER], made->has[WALK_REAL] ? made->fd[WALK_REAL] : -1,
			  f->covers, &f->twin, err);
}

/* The mask's folder of that name, if the walk still has one. */
static int open_mask(const struct at *a)
{
	return a->f->walk.has[WALK_MASK] ? walk_open(a->f->walk.fd[WALK_MASK], a->e.name) : -1;
}

static int open_real(const struct at *a)
{
	return a->f->walk.has[WALK_REAL] && S_ISDIR(a->e.old.mode) ? walk_open(a->e.real, a->e.name) : -1;
}

/* ---- what is withheld or hidden */

static int withhold(struct at *a, struct err *err)
{
	const bool there = a->e.staged.mode;
	enum change_op op = !there ? CHANGE_DELETE : a->e.old.mode ? CHANGE_MODIFY : CHANGE_ADD;

	if (a->e.old.mode)
		a->f->kept = true;
	a->e.verdict = (struct verdict){ CHANGE_WITHHELD, "a .git is never carried over" };
	int r = judge_add(&a->s->judge, &a->e, op, err);
	if (r < 0)
		return r;
	if (!S_ISDIR(a->e.staged.mode)) {
		a->s->withheld++;
		return 0;
	}

	struct entering in = { FOLDER_COUNTED, fine, false, { walk_open(a->e.upper, a->e.name), -1, -1 } };
	if (in.fd[WALK_UPPER] < 0) {
		a->s->withheld++;
		return 0;
	}
	return enter(a, &in, NULL, err);
}

static int count(struct at *a, struct err *err)
{
	struct entering in = { FOLDER_COUNTED, fine, false, { -1, -1, -1 } };

	if (S_ISDIR(a->e.staged.mode) && a->s->walk.path.len < PATH_MAX)
		in.fd[WALK_UPPER] = walk_open(a->e.upper, a->e.name);
	if (in.fd[WALK_UPPER] >= 0)
		return enter(a, &in, NULL, err);
	a->s->withheld++;
	return 0;
}

/* The mask holds something at this name that the cell saw instead of the real entry (or saw as absent). */
static bool is_hidden(const struct at *a)
{
	struct layer_node node;
	char value[2];

	if (!a->f->walk.has[WALK_MASK] || layer_node_at(a->f->walk.fd[WALK_MASK], a->e.name, &node) < 0 || !node.mode)
		return false;
	if (!S_ISDIR(node.mode))
		return true;
	_cleanup_fd_ int fd = open_mask(a);
	return fd < 0 || fgetxattr(fd, "user.overlay.opaque", value, sizeof(value)) > 0;
}

/* Listed as refused, and not looked at: neither read nor entered. */
static int refuse_unseen(struct at *a, const char *why, struct err *err)
{
	enum change_op op = !a->e.staged.mode ? CHANGE_DELETE : a->e.old.mode ? CHANGE_MODIFY : CHANGE_ADD;

	if (a->e.old.mode)
		a->f->kept = true;
	a->e.verdict = refused(why);
	return judge_add(&a->s->judge, &a->e, op, err);
}

/* ---- entries by what the upper has */

static int enter_gone(struct at *a, size_t replaced_by, struct err *err)
{
	struct entering in = { FOLDER_GONE, a->e.verdict, true, { -1, open_real(a), -1 } };
	struct folder *f;

	if (in.fd[WALK_REAL] < 0) {
		bool closed = errno == EACCES || errno == EPERM;

		a->f->kept = true;
		a->e.verdict =
			verdict_worse(a->e.verdict, closed ? refused("the real folder cannot be read")
							   : conflict("the real folder changes while it is read"));
		a->e.staged = (struct layer_node){ 0 };
		if (replaced_by == SIZE_MAX)
			return judge_add(&a->s->judge, &a->e, CHANGE_DELETE, err);
		a->s->judge.change[replaced_by].c.status = a->e.verdict.status;
		a->s->judge.change[replaced_by].c.why = a->e.verdict.why;
		return 0;
	}
	in.fd[WALK_MASK] = open_mask(a);
	if (a->e.old.mount_root)
		in.verdict = verdict_worse(in.verdict, refused("another file system is mounted there"));

	int r = enter(a, &in, &f, err);
	if (r == 0)
		f->replaced_by = replaced_by;
	return r;
}

static int visit_gone(struct at *a, struct err *err)
{
	size_t index;

	a->e.staged = (struct layer_node){ 0 };
	if (!a->e.old.mode)
		return 0; /* both sides have removed it */
	if (S_ISDIR(a->e.old.mode))
		return enter_gone(a, SIZE_MAX, err);

	int r = judge_leaf(&a->s->judge, &a->e, &index, err);
	if (r == 0 && index != SIZE_MAX && a->s->judge.change[index].c.status == CHANGE_REFUSED)
		a->f->kept = true;
	return r;
}

/* When the real folder is not the one that the cell saw: made since, or moved or given permissions since (a change of
 * its names alone sets both times alike). */
static struct verdict judge_real_folder(struct at *a)
{
	struct judge *j = &a->s->judge;
	const struct layer_node *n = &a->e.old;
	struct verdict v = fine;

	if (n->btime_ns)
		v = judge_age(j, n->btime_ns, a->e.birth);
	if (v.status == CHANGE_OK && n->ctime_ns > n->mtime_ns)
		v = judge_age(j, n->ctime_ns, a->e.birth);
	return v.status == CHANGE_OK ? v : conflict("its folder was replaced, moved or given other permissions by you");
}

/* A folder in the upper over a folder in the real tree. */
static int visit_merged(struct at *a, const struct layer_marks *marks, struct entering *in, struct err *err)
{
	mode_t bits = a->e.staged.mode & 07000, allowed = (a->e.old.mode & 07000) | (a->f->setgid ? S_ISGID : 0);

	in->kind = FOLDER_MERGED;
	in->covers = a->f->covers || marks->opaque;
	in->fd[WALK_REAL] = open_real(a);
	if (in->fd[WALK_REAL] < 0)
		in->verdict = verdict_worse(in->verdict, refused("the real folder cannot be read"));
	if (a->e.old.mount_root)
		in->verdict = verdict_worse(in->verdict, refused("another file system is mounted there"));
	if (marks->copied_up || in->covers)
		in->verdict = verdict_worse(in->verdict, judge_real_folder(a));
	if (bits & ~allowed) {
		a->e.verdict = refused("it is setuid, setgid or sticky");
		int r = judge_add(&a->s->judge, &a->e, CHANGE_MODE, err);
		if (r < 0)
			return r;
		in->verdict = verdict_worse(in->verdict, refused("its folder is setuid, setgid or sticky"));
	}
	return enter(a, in, NULL, err);
}

/* A folder in the upper where the real tree has none. */
static int visit_new_folder(struct at *a, const struct layer_marks *marks, struct entering *in, struct err *err)
{
	bool replaces = a->e.old.mode && (a->f->covers || marks->opaque);
	struct folder *f;

	in->kind = FOLDER_NEW;
	in->covers = true;
	if (a->e.staged.mode & 07000 & ~(a->f->setgid ? S_ISGID : 0u))
		in->verdict = verdict_worse(in->verdict, refused("it is setuid, setgid or sticky, or its folder is"));
	if (a->e.old.mode && !replaces)
		in->verdict =
			verdict_worse(in->verdict, conflict("you have put something else in the place of its folder"));
	if (!a->e.old.mode && marks->copied_up && !a->f->covers)
		in->verdict =
			verdict_worse(in->verdict, conflict("its folder was removed by you since the cell saw it"));
	if (replaces) {
		/* The file or symlink that the cell removed to make room. */
		struct judged gone = a->e;
		size_t index;

		gone.staged = (struct layer_node){ 0 };
		gone.verdict = verdict_worse(gone.verdict, in->verdict);
		int r = judge_leaf(&a->s->judge, &gone, &index, err);
		if (r < 0)
			return r;
	}

	int r = enter(a, in, &f, err);
	if (r < 0)
		return r;
	f->replaces = replaces;
	if (replaces)
		f->listed_before = a->s->judge.n;
	return 0;
}

static int visit_folder(struct at *a, struct err *err)
{
	struct layer_marks marks = { 0 };
	struct entering in = { .verdict = a->e.verdict, .fd = { walk_open(a->e.upper, a->e.name), -1, -1 } };
	const char *problem = NULL;

	if (in.fd[WALK_UPPER] < 0)
		problem = errno == EACCES ? "its mode lets nobody read it" : "it cannot be read";
	else if (a->e.staged.dev != a->s->upper_dev)
		problem = "another file system is mounted there";
	else if (layer_marks_fd(in.fd[WALK_UPPER], &marks) < 0)
		problem = "its attributes cannot be read";
	else
		problem = marks.bad ? marks.bad : judge_owner(&a->s->judge, &a->e.staged);
	if (problem) {
		/* What lies below it is not looked at. */
		fd_close(&in.fd[WALK_UPPER]);
		a->e.verdict = verdict_worse(refused(problem), a->e.verdict);
		return judge_add(&a->s->judge, &a->e, a->e.old.mode ? CHANGE_MODIFY : CHANGE_ADD, err);
	}
	in.fd[WALK_MASK] = open_mask(a);
	return S_ISDIR(a->e.old.mode) ? visit_merged(a, &marks, &in, err) : visit_new_folder(a, &marks, &in, err);
}

static int visit_leaf(struct at *a, struct err *err)
{
	size_t index;

	if (S_ISDIR(a->e.old.mode))
		a->e.verdict = verdict_worse(a->e.verdict, judge_real_folder(a));
	int r = judge_leaf(&a->s->judge, &a->e, &index, err);
	if (r < 0 || !S_ISDIR(a->e.old.mode))
		return r;
	/* The real folder goes first, with all that it holds. */
	return enter_gone(a, index, err);
}

static int visit_other(struct at *a, struct err *err)
{
	const char *what = arena_printf(&a->s->judge.arena, "it is %s", layer_node_kind(&a->e.staged));

	return refuse_unseen(a, what ? what : "it is no file", err);
}

/* ---- the visitor */

static int look(struct at *a, struct err *err)
{
	int r = 0;

	if (a->e.upper >= 0)
		r = layer_node_at(a->e.upper, a->e.name, &a->e.staged);
	if (r == 0 && a->e.real >= 0)
		r = layer_node_at(a->e.real, a->e.name, &a->e.old);
	if (r < 0)
		return err_errno(err, E_IO, -r, "%s", a->e.path);
	a->whited_out = layer_node_is_whiteout(&a->e.staged);
	if (a->whited_out)
		a->e.staged = (struct layer_node){ 0 };
	return 0;
}

static int visit(struct walk *w, struct walk_folder *top, const char *name, struct err *err)
{
	struct folder *f = (struct folder *)top;
	struct at a = {
		.s = (struct snapshot *)w,
		.f = f,
		.e = {
			.path = buf_str(&w->path),
			.name = name,
			.upper = top->has[WALK_UPPER] ? top->fd[WALK_UPPER] : -1,
			.real = top->has[WALK_REAL] ? top->fd[WALK_REAL] : -1,
			.birth = f->birth,
			.verdict = f->verdict,
		},
	};

	int r = look(&a, err);
	if (r < 0)
		return r;
	if (f->kind == FOLDER_COUNTED)
		return count(&a, err);
	if (!a.e.staged.mode && !a.e.old.mode)
		return 0;
	if (path_component_is_git(name, strlen(name)))
		return withhold(&a, err);
	if (w->path.len >= PATH_MAX)
		return refuse_unseen(&a, "its path is too long", err);
	if (is_hidden(&a))
		return refuse_unseen(&a, "the cell was not shown what stands there", err);
	if (a.e.staged.mode || a.whited_out)
		a.e.birth = births_of(&a.s->judge.births, a.e.path);
	a.e.verdict = verdict_worse(a.e.verdict, refused(layer_name_problem(name)));
	if (f->twin && f->twin[top->next - 1])
		a.e.verdict = verdict_worse(a.e.verdict, refused("its name differs from another one only by case"));

	if (!a.e.staged.mode)
		return visit_gone(&a, err);
	if (S_ISDIR(a.e.staged.mode))
		return visit_folder(&a, err);
	if (S_ISREG(a.e.staged.mode) || S_ISLNK(a.e.staged.mode))
		return visit_leaf(&a, err);
	return visit_other(&a, err);
}

/* ---- a folder is done */

static int leave_new(struct snapshot *s, const struct folder *f, const char *path, struct err *err)
{
	mode_t mode = S_IFDIR | (f->staged.mode & 0775);

	if (s->judge.n > f->listed_before || f->replaces)
		return f->verdict.status == CHANGE_OK ? judge_add_folder(&s->judge, path, false, mode, 0, err) : 0;

	const char *slash = strrchr(path, '/');
	struct judged e = {
		.path = path,
		.name = slash ? slash + 1 : path,
		.staged = f->staged,
		.old = f->old,
		.verdict = f->verdict,
	};
	e.staged.mode = mode;
	return judge_add(&s->judge, &e, CHANGE_ADD, err);
}

static int leave_gone(struct snapshot *s, const struct folder *f, const char *path, struct err *err)
{
	struct folder *up = (struct folder *)f->walk.up;

	if (f->kept) {
		if (up)
			up->kept = true;
		if (f->replaced_by != SIZE_MAX) {
			struct change *c = &s->judge.change[f->replaced_by].c;

			c->status = CHANGE_REFUSED;
			c->why = "the folder that stands there holds what must stay";
		}
		return 0;
	}
	if (s->judge.n > f->listed_before || f->replaced_by != SIZE_MAX)
		return judge_add_folder(&s->judge, path, true, f->old.mode, f->old.ino, err);

	const char *slash = strrchr(path, '/');
	struct judged e = { .path = path, .name = slash ? slash + 1 : path, .old = f->old, .verdict = f->verdict };
	return judge_add(&s->judge, &e, CHANGE_DELETE, err);
}

static int leave(struct walk *w, struct walk_folder *top, struct err *err)
{
	struct snapshot *s = (struct snapshot *)w;
	struct folder *f = (struct folder *)top;
	int r = 0;

	switch (f->kind) {
	case FOLDER_MERGED:
		break;
	case FOLDER_NEW:
		r = leave_new(s, f, buf_str(&w->path), err);
		break;
	case FOLDER_GONE:
		r = leave_gone(s, f, buf_str(&w->path), err);
		break;
	case FOLDER_COUNTED:
		/* An empty .git is one thing withheld. */
		if ((!f->walk.up || ((struct folder *)f->walk.up)->kind != FOLDER_COUNTED) &&
		    s->withheld == f->counted_before)
			s->withheld++;
		break;
	}
	free(f->twin);
	f->twin = NULL;
	return r;
}

/* ---- the whole */

static int open_workspace(const char *workspace, int *ret_fd, struct err *err)
{
	_cleanup_fd_ int top = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const char *below = workspace + strspn(workspace, "/");
	int fd = -1;

	if (top >= 0)
		fd = walk_open(top, below[0] ? below : ".");
	if (fd < 0)
		return err_set(err, errno == ENOENT ? E_NOTFOUND : E_IO,
			       "the workspace %s: %s; put it back where the session found it", workspace,
			       strerror(errno));
	*ret_fd = fd;
	return 0;
}

static int start(struct snapshot *s, struct err *err)
{
	struct layer_marks marks;
	struct at top = { .s = s, .e = { .birth = s->judge.births.newest } };
	struct entering in = { FOLDER_MERGED, fine, false, { -1, -1, -1 } };

	int r = layer_node_fd(s->walk.root[WALK_UPPER], &top.e.staged);
	if (r == 0)
		r = layer_marks_fd(s->walk.root[WALK_UPPER], &marks);
	if (r == 0)
		r = layer_node_fd(s->walk.root[WALK_REAL], &top.e.old);
	if (r < 0)
		return err_errno(err, E_IO, -r, "the staged layer");
	if (marks.bad || marks.opaque)
		return err_set(err, E_CORRUPT, "the staged layer: its top folder carries a forged mark");
	s->upper_dev = top.e.staged.dev;

	for (int i = 0; i < WALK_SIDES; i++)
		if (s->walk.root[i] >= 0)
			in.fd[i] = fcntl(s->walk.root[i], F_DUPFD_CLOEXEC, 3);
	return enter(&top, &in, NULL, err);
}

/* On failure folders may be left with marks of twins. */
static void snapshot_free(struct snapshot *s)
{
	for (struct walk_folder *f = s->walk.top; f; f = f->up)
		free(((struct folder *)f)->twin);
	walk_free(&s->walk);
	judge_free(&s->judge);
}

int layer_snapshot(const struct layer *l, struct manifest *ret, struct err *err)
{
	_cleanup_fd_ int upper = walk_open_upper(l->layer_fd), real = -1, mask = -1;

	if (upper < 0 && errno != ENOENT)
		return err_errno(err, E_IO, errno, "the staged layer");
	if (upper >= 0)
		mask = walk_open(l->layer_fd, "mask");
	if (upper >= 0 && mask < 0 && errno != ENOENT)
		return err_errno(err, E_IO, errno, "the layer's mask");

	_cleanup_(snapshot_free) struct snapshot s = {
		.walk = WALK_INIT(sizeof(struct folder)),
		.judge = { .l = l, .arena = ARENA_INIT((size_t)2 << 30), .left = LAYER_TOTAL_MAX },
	};
	struct manifest m = { 0 };
	int r = births_load(l, &s.judge.births, err);
	if (r == 0)
		r = open_workspace(l->workspace, &real, err);
	if (r == 0 && upper >= 0) {
		s.walk.root[WALK_UPPER] = upper;
		s.walk.root[WALK_REAL] = real;
		s.walk.root[WALK_MASK] = mask;
		s.walk.visit = visit;
		s.walk.leave = leave;
		r = start(&s, err);
		if (r == 0)
			r = walk_run(&s.walk, err);
		if (r == 0)
			r = l->temporary ? 0 : content_sync(l->content_fd, err);
	}
	if (r == 0)
		r = judge_finish(&s.judge, &m, err);
	if (r < 0)
		return r;
	m.withheld = s.withheld;
	*ret = m;
	return 0;
}
