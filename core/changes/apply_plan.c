#include "core/changes/apply_plan.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

void plan_free(struct plan *p)
{
	arena_free(&p->arena);
	*p = (struct plan){ 0 };
}

static int out_of_memory(struct err *err)
{
	return err_set(err, E_NOMEM, "planning an apply: out of memory");
}

/* One member and the unit that it belongs to. */
struct part {
	const char *root;
	bool is_new, is_mode;
	struct member m;
};

struct planning {
	const struct manifest *man;
	const bool *chosen;
	bool *whole; /* by folder: a gone one below which everything is chosen */
	struct part *part;
	size_t n, cap;
	struct arena *arena;
};

static void planning_free(struct planning *p)
{
	free(p->whole);
	free(p->part);
}

/* ---- which folders go or come as a whole */

static bool all_chosen_below(const struct planning *p, const char *folder)
{
	size_t first, end;

	manifest_below(p->man, folder, &first, &end);
	for (size_t i = first; i < end; i++)
		if (!p->chosen[i])
			return false;
	if (end > first)
		return true;
	/* An empty folder that gives way to a file. */
	const struct change *self = manifest_find(p->man, folder);
	return self && p->chosen[self - p->man->change];
}

static bool some_chosen_at_or_below(const struct planning *p, const char *folder)
{
	const struct change *self = manifest_find(p->man, folder);
	size_t first, end;

	if (self && p->chosen[self - p->man->change])
		return true;
	manifest_below(p->man, folder, &first, &end);
	for (size_t i = first; i < end; i++)
		if (p->chosen[i] && p->man->change[i].new.mode)
			return true;
	return false;
}

static const struct change_folder *find_folder(const struct planning *p, const char *path, size_t len, bool gone)
{
	size_t low = 0, high = p->man->nfolders;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct change_folder *f = &p->man->folder[mid];
		int c = strncmp(f->path, path, len);

		if (c == 0)
			c = (unsigned char)f->path[len];
		if (c == 0)
			c = (int)gone - (int)f->gone; /* of two with one path the gone one comes first */
		if (c == 0)
			return f;
		if (c < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

/* The top of what `path` moves with. */
static const char *root_of(const struct planning *p, const char *path, bool is_new)
{
	for (const char *slash = path; (slash = strchr(slash, '/')); slash++) {
		const struct change_folder *f = find_folder(p, path, (size_t)(slash - path), !is_new);

		if (f && (is_new || p->whole[f - p->man->folder]))
			return f->path;
	}
	return path;
}

/* ---- collecting parts */

static int add_part(struct planning *p, const char *root, bool is_new, const struct member *m, struct err *err)
{
	if (p->n == p->cap) {
		size_t cap = p->cap ? 2 * p->cap : 64;
		struct part *grown = reallocarray(p->part, cap, sizeof(*grown));

		if (!grown)
			return out_of_memory(err);
		p->part = grown;
		p->cap = cap;
	}
	p->part[p->n++] = (struct part){ .root = root, .is_new = is_new, .m = *m };
	return 0;
}

static struct member member_of(const struct change *c, bool is_new)
{
	const struct change_side *s = is_new ? &c->new : &c->old;
	struct member m = { .path = c->path, .mode = s->mode, .size = s->size };

	memcpy(m.digest, s->digest, DIGEST_LEN);
	if (!is_new) {
		m.ino = c->old_ino;
		m.ctime_ns = c->old_ctime_ns;
	}
	return m;
}

static int add_change(struct planning *p, const struct change *c, struct err *err)
{
	struct member old = member_of(c, false), new = member_of(c, true);
	int r = 0;

	if (c->old.mode)
		r = add_part(p, root_of(p, c->path, false), false, &old, err);
	if (r == 0 && c->new.mode)
		r = add_part(p, root_of(p, c->path, true), true, &new, err);
	if (r == 0 && c->op == CHANGE_MODE)
		p->part[p->n - 1].is_mode = p->part[p->n - 2].is_mode = true;
	return r;
}

static int add_folder(struct planning *p, size_t i, struct err *err)
{
	const struct change_folder *f = &p->man->folder[i];
	struct member m = { .path = f->path, .mode = f->mode, .ino = f->old_ino };

	if (f->gone ? !p->whole[i] : !some_chosen_at_or_below(p, f->path))
		return 0;
	return add_part(p, root_of(p, f->path, !f->gone), !f->gone, &m, err);
}

/* Units in order of their paths, in each the old members before the new ones. */
static int by_unit(const void *a, const void *b)
{
	const struct part *x = a, *y = b;
	int c = strcmp(x->root, y->root);

	if (c == 0)
		c = (int)x->is_new - (int)y->is_new;
	return c ? c : strcmp(x->m.path, y->m.path);
}

/* ---- units */

static int name_temp(struct unit *u, struct err *err)
{
	uint64_t random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return err_set(err, E_IO, "planning an apply: no random bytes");
	snprintf(u->temp, sizeof(u->temp), ".warder-%016llx", (unsigned long long)random);
	return 0;
}

static int make_unit(struct planning *p, size_t first, size_t end, struct unit *ret, struct err *err)
{
	size_t nold = 0, n = end - first;
	struct member *m = arena_alloc(p->arena, n * sizeof(*m));
	char *path = arena_strndup(p->arena, p->part[first].root, strlen(p->part[first].root));

	if (!m || !path)
		return out_of_memory(err);
	for (size_t i = 0; i < n; i++) {
		m[i] = p->part[first + i].m;
		m[i].path = arena_strndup(p->arena, m[i].path, strlen(m[i].path));
		if (!m[i].path)
			return out_of_memory(err);
		nold += !p->part[first + i].is_new;
	}

	const char *slash = strrchr(path, '/');
	*ret = (struct unit){
		.kind = p->part[first].is_mode ? UNIT_CHMOD
			: !nold                ? UNIT_PUT
			: nold == n            ? UNIT_TAKE
					       : UNIT_SWAP,
		.path = path,
		.name = slash ? slash + 1 : path,
		.old = m,
		.nold = nold,
		.new = m + nold,
		.nnew = n - nold,
	};
	/* The top comes first in both, or the manifest is not one of ours. */
	if ((ret->nold && strcmp(ret->old[0].path, path) != 0) || (ret->nnew && strcmp(ret->new[0].path, path) != 0))
		return err_set(err, E_CORRUPT, "%s: the manifest does not hold together", path);
	return name_temp(ret, err);
}

/* Nothing may lie within another unit: each would undo the other. */
static bool within_another(const struct plan *plan, const struct unit *u)
{
	for (const char *slash = u->path; (slash = strchr(slash, '/')); slash++) {
		size_t low = 0, high = plan->n, len = (size_t)(slash - u->path);

		while (low < high) {
			size_t mid = low + (high - low) / 2;
			int c = strncmp(plan->unit[mid].path, u->path, len);

			if (c == 0)
				c = (unsigned char)plan->unit[mid].path[len];
			if (c == 0)
				return true;
			if (c < 0)
				low = mid + 1;
			else
				high = mid;
		}
	}
	return false;
}

static int make_units(struct planning *p, struct plan *ret, struct err *err)
{
	size_t n = 0;

	if (p->n)
		qsort(p->part, p->n, sizeof(*p->part), by_unit);
	for (size_t i = 0; i < p->n; i++)
		n += !i || strcmp(p->part[i - 1].root, p->part[i].root) != 0;
	ret->unit = arena_alloc(p->arena, (n + 1) * sizeof(*ret->unit));
	if (!ret->unit)
		return out_of_memory(err);
	for (size_t first = 0, end; first < p->n; first = end) {
		for (end = first + 1; end < p->n && strcmp(p->part[first].root, p->part[end].root) == 0; end++)
			;
		int r = make_unit(p, first, end, &ret->unit[ret->n], err);
		if (r < 0)
			return r;
		ret->n++;
	}
	for (size_t i = 0; i < ret->n; i++)
		if (within_another(ret, &ret->unit[i]))
			return err_set(err, E_CORRUPT, "%s: the manifest does not hold together", ret->unit[i].path);
	return 0;
}

int plan_make(const struct manifest *m, const bool *chosen, struct plan *ret, struct err *err)
{
	_cleanup_plan_ struct plan plan = { .arena = ARENA_INIT((size_t)2 << 30) };
	_cleanup_(planning_free) struct planning p = { .man = m, .chosen = chosen, .arena = &plan.arena };
	int r = 0;

	p.whole = calloc(m->nfolders + 1, sizeof(*p.whole));
	if (!p.whole)
		return out_of_memory(err);
	for (size_t i = 0; i < m->nfolders; i++)
		p.whole[i] = m->folder[i].gone && all_chosen_below(&p, m->folder[i].path);
	for (size_t i = 0; i < m->n && r == 0; i++)
		if (chosen[i])
			r = add_change(&p, &m->change[i], err);
	for (size_t i = 0; i < m->nfolders && r == 0; i++)
		r = add_folder(&p, i, err);
	if (r == 0)
		r = make_units(&p, &plan, err);
	if (r < 0)
		return r;
	*ret = plan;
	plan = (struct plan){ 0 };
	return 0;
}

const char *unit_parent(const struct unit *u, char ret[PATH_MAX])
{
	size_t len = (size_t)(u->name - u->path);

	if (!len)
		return ".";
	memcpy(ret, u->path, len - 1);
	ret[len - 1] = '\0';
	return ret;
}
