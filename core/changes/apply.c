#include "core/changes/apply.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "core/base/path.h"
#include "core/changes/apply_plan.h"
#include "core/changes/apply_unit.h"
#include "core/changes/diff.h"
#include "jail/layer_walk.h"

/* From so many units on the file system is synced as a whole: a sync of each file costs more. */
#define SYNC_EACH_MAX 8

void apply_result_free(struct apply_result *r)
{
	buf_free(&r->problems);
}

static void add_problem(struct apply_result *ret, const char *path, const char *why)
{
	diff_quote("", path, &ret->problems);
	buf_addf(&ret->problems, ": %s\n", why);
	ret->nproblems++;
}

static int refuse(const struct apply_result *ret, struct err *err)
{
	int first = (int)strcspn(buf_str(&ret->problems), "\n");

	return err_set(err, E_CONFLICT, "apply: %.*s%s; nothing was written", first, buf_str(&ret->problems),
		       ret->nproblems > 1 ? " (and others)" : "");
}

/* ---- selection */

struct choice {
	const struct manifest *m;
	bool *chosen; /* by change */
};

static void choice_free(struct choice *c)
{
	free(c->chosen);
}

/* Chooses what `path` names; false when nothing is staged there. */
static bool choose(struct choice *c, const char *path)
{
	_cleanup_free_ char *plain = strdup(path);
	size_t len = strlen(path), first, end;

	if (!plain)
		return false;
	while (len && plain[len - 1] == '/')
		plain[--len] = '\0';
	if (!len)
		return false;
	const struct change *self = manifest_find(c->m, plain);
	if (self)
		c->chosen[self - c->m->change] = self->status != CHANGE_WITHHELD;
	manifest_below(c->m, plain, &first, &end);
	for (size_t i = first; i < end; i++)
		c->chosen[i] = c->m->change[i].status != CHANGE_WITHHELD;
	return self || first < end;
}

static int select_changes(struct choice *c, const char *const *paths, size_t n, struct apply_result *ret,
			  struct err *err)
{
	c->chosen = calloc(c->m->n + 1, sizeof(*c->chosen));
	if (!c->chosen)
		return err_set(err, E_NOMEM, "apply: out of memory");
	for (size_t i = 0; paths && i < n; i++)
		if (!choose(c, paths[i]))
			return err_set(err, E_NOTFOUND, "%s: nothing is staged there; see what is: warder changes",
				       paths[i]);
	for (size_t i = 0; i < c->m->n; i++) {
		const struct change *ch = &c->m->change[i];

		if (!paths)
			c->chosen[i] = ch->status != CHANGE_WITHHELD && ch->status != CHANGE_IGNORED && !ch->runs_later;
		if (!c->chosen[i])
			continue;
		/* Whatever the manifest says of it. */
		if (path_has_git(ch->path))
			return err_set(err, E_DENIED, "%s: a .git is never written", ch->path);
		if (ch->status == CHANGE_CONFLICT || ch->status == CHANGE_REFUSED)
			add_problem(ret, ch->path, ch->why);
		ret->applied++;
	}
	return ret->nproblems ? refuse(ret, err) : 0;
}

/* ---- the steps over all units */

struct apply {
	struct site site;
	struct plan plan;
	int session_fd;
	struct apply_result *result; /* NULL while recovering */
};

static void apply_free(struct apply *a)
{
	plan_free(&a->plan);
	fd_close(&a->site.real_fd);
}

static int open_site(struct apply *a, const struct layer *l, struct err *err)
{
	_cleanup_fd_ int top = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	a->site.real_fd = top < 0 ? -1 : walk_open(top, l->workspace + strspn(l->workspace, "/"));
	if (a->site.real_fd < 0 || fstat(a->site.real_fd, &st) < 0)
		return err_errno(err, E_IO, errno, "the workspace %s", l->workspace);
	a->site.content_fd = l->content_fd;
	a->site.uid = st.st_uid;
	a->site.gid = st.st_gid;
	a->site.root = geteuid() == 0;
	return 0;
}

static int check_all(struct apply *a, struct err *err)
{
	for (size_t i = 0; i < a->plan.n; i++) {
		struct err why;

		int r = unit_check(&a->site, &a->plan.unit[i], &why);
		if (r == E_CONFLICT)
			add_problem(a->result, a->plan.unit[i].path, why.text);
		else if (r < 0)
			return err_set(err, r, "%s", why.text);
	}
	return a->result->nproblems ? refuse(a->result, err) : 0;
}

/* One step of one unit; a conflict is noted with its path. */
static int step(struct apply *a, struct unit *u, int (*act)(const struct site *, struct unit *, struct err *),
		struct err *err)
{
	int r = act(&a->site, u, err);

	if (r == E_CONFLICT) {
		struct err why = *err;

		add_problem(a->result, u->path, why.text);
		return refuse(a->result, err);
	}
	return r;
}

static int confirm(const struct site *s, struct unit *u, struct err *err)
{
	return unit_confirm(s, u, err);
}

static int sync_tree(const struct apply *a, struct err *err)
{
	return syncfs(a->site.real_fd) < 0 ? err_errno(err, E_IO, errno, "making the workspace durable") : 0;
}

static int sync_folders(const struct apply *a, struct err *err)
{
	int r = 0;

	if (!a->site.sync_each)
		return sync_tree(a, err);
	for (size_t i = 0; i < a->plan.n && r == 0; i++)
		r = unit_sync(&a->site, &a->plan.unit[i], err);
	return r;
}

static int stage_all(struct apply *a, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < a->plan.n && r == 0; i++)
		r = step(a, &a->plan.unit[i], unit_stage, err);
	if (r == 0 && !a->site.sync_each)
		r = sync_tree(a, err);
	if (r == 0)
		r = journal_staged(a->session_fd, &a->plan, err);
	if (r == 0)
		a->plan.state = JOURNAL_STAGED;
	return r;
}

static int move_all(struct apply *a, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < a->plan.n && r == 0; i++) {
		/* A conflict may be found by the move itself, once it is made. */
		a->plan.unit[i].moved = true;
		r = step(a, &a->plan.unit[i], unit_move, err);
	}
	for (size_t i = 0; i < a->plan.n && r == 0; i++)
		r = step(a, &a->plan.unit[i], confirm, err);
	return r == 0 ? sync_folders(a, err) : r;
}

/* What was displaced goes.  No failure here undoes anything any more. */
static int finish_all(struct apply *a, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < a->plan.n; i++) {
		const struct unit *u = &a->plan.unit[i];
		struct err why;

		int one = unit_finish(&a->site, u, &why);
		if (one < 0 && a->result)
			add_problem(a->result, u->path, why.text);
		if (one < 0 && r == 0)
			r = err_set(err, one, "%s: the old content stays beside it as %s: %s", u->path, u->temp,
				    why.text);
	}
	/* What could not be removed for another reason is tried again by apply_recover. */
	if (r < 0 && r != E_CONFLICT)
		return r;
	int done = sync_folders(a, err);
	if (done == 0)
		done = journal_remove(a->session_fd, err);
	return done < 0 ? done : r;
}

/* ---- back */

/* Puts back all that was moved.  1: done; 0: at least one place is neither old nor ours, and nothing was touched. */
static int put_all_back(struct apply *a, struct err *err)
{
	for (size_t i = 0; i < a->plan.n; i++) {
		const struct unit *u = &a->plan.unit[i];
		bool lost = unit_look(&a->site, u, a->plan.state) == UNIT_UNKNOWN;

		/* A folder that went away before its turn took only an unused temporary file along. */
		if (lost && (!a->result || u->moved))
			return err_set(err, E_CORRUPT, "%s: neither old nor new", u->path), 0;
	}
	for (size_t i = a->plan.n; i-- > 0;) {
		const struct unit *u = &a->plan.unit[i];
		enum unit_state state = unit_look(&a->site, u, a->plan.state);

		if (state == UNIT_UNKNOWN)
			continue;
		int r = unit_put_back(&a->site, u, state, err);
		if (r < 0)
			return r;
	}
	int r = sync_folders(a, NULL) < 0 ? sync_tree(a, err) : 0;
	if (r == 0)
		r = journal_remove(a->session_fd, err);
	return r < 0 ? r : 1;
}

/* After a failure with code `r` whose text is in *err. */
static int give_up(struct apply *a, int r, struct err *err)
{
	struct err why = { 0 };

	if (put_all_back(a, &why) == 1)
		return r;
	return err_set(err, E_CORRUPT, "apply: outcome unknown: %.300s; and it could not be undone: %.300s",
		       err ? err->text : "", why.text);
}

int apply_changes(const struct layer *l, int session_fd, const struct manifest *m, const char *const *paths, size_t n,
		  struct apply_result *ret, struct err *err)
{
	_cleanup_(choice_free) struct choice choice = { .m = m };
	_cleanup_(apply_free) struct apply a = { .session_fd = session_fd, .result = ret, .site.real_fd = -1 };
	struct err own;
	size_t applied;

	if (!err)
		err = &own;
	int r = select_changes(&choice, paths, n, ret, err);
	applied = ret->applied;
	ret->applied = 0;
	if (r == 0)
		r = plan_make(m, choice.chosen, &a.plan, err);
	if (r == 0)
		r = open_site(&a, l, err);
	if (r < 0 || !a.plan.n)
		return r;
	a.site.sync_each = a.plan.n <= SYNC_EACH_MAX;
	r = check_all(&a, err);
	if (r == 0)
		r = journal_create(session_fd, &a.plan, err);
	if (r == E_EXISTS)
		return err_set(err, E_BUSY,
			       "apply: an earlier one was cut short and is not settled yet; wake the session first");
	if (r < 0)
		return r;

	r = stage_all(&a, err);
	if (r == 0)
		r = move_all(&a, err);
	if (r == 0)
		r = journal_committed(session_fd, err);
	if (r < 0)
		return give_up(&a, r, err);
	ret->applied = applied;
	r = finish_all(&a, err);
	/* Something new in a removed folder: the problem is told, the apply stands. */
	return r == E_CONFLICT ? 0 : r;
}

/* ---- after a crash */

static int settle_unknown(struct apply *a, const char **ret_state, struct err *err)
{
	*ret_state = "unknown";
	struct err why;
	int r = journal_keep(a->session_fd, &why);

	return r < 0 ? err_set(err, r, "%s", why.text) : 0;
}

static int complete(struct apply *a, const char **ret_state, struct err *err)
{
	for (size_t i = 0; i < a->plan.n; i++) {
		if (unit_may_finish(&a->site, &a->plan.unit[i]))
			continue;
		err_set(err, E_CORRUPT, "%s: neither old nor new", a->plan.unit[i].path);
		return settle_unknown(a, ret_state, err);
	}
	int r = finish_all(a, err);
	if (r < 0)
		return r;
	*ret_state = "completed";
	return 0;
}

int apply_recover(const struct layer *l, int session_fd, const char **ret_state, struct err *err)
{
	_cleanup_(apply_free) struct apply a = { .session_fd = session_fd, .site.real_fd = -1 };

	int r = journal_load(session_fd, &a.plan, err);
	if (r == E_NOTFOUND) {
		*ret_state = "none";
		return 0;
	}
	if (r == E_CORRUPT)
		return settle_unknown(&a, ret_state, err);
	if (r == 0)
		r = open_site(&a, l, err);
	if (r < 0)
		return r;
	a.site.sync_each = a.plan.n <= SYNC_EACH_MAX;
	if (a.plan.state == JOURNAL_COMMITTED) {
		r = complete(&a, ret_state, err);
	} else {
		r = put_all_back(&a, err);
		if (r == 0)
			r = settle_unknown(&a, ret_state, err);
		else if (r > 0)
			*ret_state = "undone", r = 0;
	}
	return r;
}
