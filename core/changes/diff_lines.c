#include "core/changes/diff_lines.h"

#include <sodium/crypto_shorthash.h>
#include <stdbool.h>
#include <string.h>
#include <sys/random.h>

#define NONE INT32_MIN /* a diagonal that no path has reached */

static void free_u32(uint32_t **p)
{
	free(*p);
	*p = NULL;
}
#define _cleanup_u32_ _cleanup_(free_u32)

static int out_of_memory(struct err *err)
{
	return err_set(err, E_NOMEM, "comparing two texts: out of memory");
}

void diff_script_free(struct diff_script *s)
{
	free(s->old.start);
	free(s->new.start);
	free(s->edit);
	*s = (struct diff_script){ 0 };
}

/* ---- lines and their numbers */

static int split(const char *data, size_t len, struct diff_side *ret, struct err *err)
{
	size_t n = 0;

	if (len > UINT32_MAX)
		return err_set(err, E_LIMIT, "comparing two texts: larger than 4 GiB");
	for (size_t at = 0; at < len; n++) {
		const char *nl = memchr(data + at, '\n', len - at);

		at = nl ? (size_t)(nl - data) + 1 : len;
	}
	if (n > DIFF_LINES_MAX)
		return err_set(err, E_LIMIT, "comparing two texts: more than %u lines", DIFF_LINES_MAX);

	ret->start = calloc(n + 1, sizeof(*ret->start));
	if (!ret->start)
		return out_of_memory(err);
	ret->data = data;
	ret->n = (uint32_t)n;
	for (size_t at = 0, i = 0; i < n; i++) {
		const char *nl = memchr(data + at, '\n', len - at);

		ret->start[i] = (uint32_t)at;
		at = nl ? (size_t)(nl - data) + 1 : len;
	}
	ret->start[n] = (uint32_t)len;
	return 0;
}

struct line_class {
	const char *text;
	uint32_t len;
	bool in_old, in_new;
};

/* Open addressing; slot holds class number + 1. */
struct numbering {
	unsigned char key[crypto_shorthash_KEYBYTES];
	uint32_t *slot;
	uint32_t mask;
	struct line_class *class;
	uint32_t n;
};

static void numbering_free(struct numbering *t)
{
	free(t->slot);
	free(t->class);
}

static uint32_t number_of(struct numbering *t, const char *text, uint32_t len)
{
	unsigned char hash[crypto_shorthash_BYTES];
	uint32_t at;

	crypto_shorthash(hash, (const unsigned char *)text, len, t->key);
	memcpy(&at, hash, sizeof(at));
	for (at &= t->mask; t->slot[at]; at = (at + 1) & t->mask) {
		const struct line_class *c = &t->class[t->slot[at] - 1];

		if (c->len == len && memcmp(c->text, text, len) == 0)
			return t->slot[at] - 1;
	}
	t->class[t->n] = (struct line_class){ .text = text, .len = len };
	t->slot[at] = ++t->n;
	return t->n - 1;
}

static int number_lines(struct numbering *t, const struct diff_script *s, uint32_t *old_id, uint32_t *new_id)
{
	uint32_t lines = s->old.n + s->new.n, size = 16;

	while (size < 2 * lines)
		size *= 2;
	t->mask = size - 1;
	t->slot = calloc(size, sizeof(*t->slot));
	t->class = calloc((size_t)lines + 1, sizeof(*t->class));
	if (!t->slot || !t->class || getrandom(t->key, sizeof(t->key), 0) != sizeof(t->key))
		return -1;

	for (uint32_t i = 0; i < s->old.n; i++) {
		old_id[i] = number_of(t, s->old.data + s->old.start[i], s->old.start[i + 1] - s->old.start[i]);
		t->class[old_id[i]].in_old = true;
	}
	for (uint32_t i = 0; i < s->new.n; i++) {
		new_id[i] = number_of(t, s->new.data + s->new.start[i], s->new.start[i + 1] - s->new.start[i]);
		t->class[new_id[i]].in_new = true;
	}
	return 0;
}

/* ---- Myers over the lines that have a partner */

struct sequence {
	uint32_t *id;   /* what is compared */
	uint32_t *line; /* its line in the text */
	uint8_t *mark;  /* of the text: 1 where the line is changed */
};

struct myers {
	struct sequence a, b;
	int32_t *forward, *backward; /* furthest x on each diagonal x - y; index 0 is in the middle of the memory */
	int32_t cost_max;
};

struct box {
	uint32_t x, y; /* first elements */
	int32_t n, m;  /* how many of each side */
};

struct point {
	int32_t x, y;
};

/* One more step from each forward path of box `s`; true when one of them meets a backward path. */
static bool step_forward(struct myers *s, const struct box *box, int32_t d, bool may_meet, struct point *ret)
{
	const uint32_t *a = s->a.id + box->x, *b = s->b.id + box->y;
	int32_t delta = box->n - box->m;

	for (int32_t k = d; k >= -d; k -= 2) {
		if (k > box->n || k < -box->m)
			continue;

		int32_t left = k > -d && k > -box->m ? s->forward[k - 1] : NONE;
		int32_t up = k < d && k < box->n ? s->forward[k + 1] : NONE;
		int32_t x = NONE;

		if (left != NONE && left < box->n)
			x = left + 1;
		if (up != NONE && up - k <= box->m && up > x)
			x = up;
		if (x != NONE)
			while (x < box->n && x - k < box->m && a[x] == b[x - k])
				x++;
		s->forward[k] = x;
		if (may_meet && x != NONE && k >= delta - (d - 1) && k <= delta + (d - 1) && s->backward[k] != NONE &&
		    x >= s->backward[k]) {
			*ret = (struct point){ x, x - k };
			return true;
		}
	}
	return false;
}

static bool step_backward(struct myers *s, const struct box *box, int32_t d, bool may_meet, struct point *ret)
{
	const uint32_t *a = s->a.id + box->x, *b = s->b.id + box->y;
	int32_t delta = box->n - box->m;

	for (int32_t k = delta + d; k >= delta - d; k -= 2) {
		if (k > box->n || k < -box->m)
			continue;

		int32_t down = k > delta - d && k > -box->m ? s->backward[k - 1] : NONE;
		int32_t right = k < delta + d && k < box->n ? s->backward[k + 1] : NONE;
		int32_t x = NONE;

		if (right != NONE && right > 0)
			x = right - 1;
		if (down != NONE && down - k >= 0 && (x == NONE || down < x))
			x = down;
		if (x != NONE)
			while (x > 0 && x - k > 0 && a[x - 1] == b[x - k - 1])
				x--;
		s->backward[k] = x;
		if (may_meet && x != NONE && k >= -d && k <= d && s->forward[k] != NONE && x <= s->forward[k]) {
			*ret = (struct point){ x, x - k };
			return true;
		}
	}
	return false;
}

/* The paths did not meet within the bound: the point that got furthest, from either end. */
static struct point furthest(const struct myers *s, const struct box *box, int32_t d)
{
	int32_t delta = box->n - box->m, best = -1;
	struct point p = { 0, 0 };

	for (int32_t k = d; k >= -d; k -= 2) {
		if (k > box->n || k < -box->m || s->forward[k] == NONE)
			continue;
		if (2 * s->forward[k] - k > best) {
			best = 2 * s->forward[k] - k;
			p = (struct point){ s->forward[k], s->forward[k] - k };
		}
	}
	for (int32_t k = delta + d; k >= delta - d; k -= 2) {
		if (k > box->n || k < -box->m || s->backward[k] == NONE)
			continue;
		if (box->n + box->m - (2 * s->backward[k] - k) > best) {
			best = box->n + box->m - (2 * s->backward[k] - k);
			p = (struct point){ s->backward[k], s->backward[k] - k };
		}
	}
	return p;
}

/* A point on a shortest path through the box, whose first and whose last elements differ. */
static struct point middle(struct myers *s, const struct box *box)
{
	int32_t delta = box->n - box->m;
	bool odd = delta & 1;
	struct point p;

	s->forward[0] = 0;
	s->backward[delta] = box->n;
	for (int32_t d = 1;; d++) {
		if (step_forward(s, box, d, odd, &p) || step_backward(s, box, d, !odd, &p))
			return p;
		if (d >= s->cost_max)
			return furthest(s, box, d);
	}
}

/* Marks what differs within the box.  The smaller half by recursion (depth O(log N)), the larger by the loop. */
static void compare(struct myers *s, struct box box)
{
	for (;;) {
		const uint32_t *a = s->a.id + box.x, *b = s->b.id + box.y;

		while (box.n && box.m && *a == *b)
			a++, b++, box.x++, box.y++, box.n--, box.m--;
		while (box.n && box.m && a[box.n - 1] == b[box.m - 1])
			box.n--, box.m--;
		if (!box.n || !box.m)
			break;

		struct point p = middle(s, &box);
		struct box first = { box.x, box.y, p.x, p.y };
		struct box second = { box.x + (uint32_t)p.x, box.y + (uint32_t)p.y, box.n - p.x, box.m - p.y };
		bool swap = first.n + first.m > second.n + second.m;

		compare(s, swap ? second : first);
		box = swap ? first : second;
	}
	for (int32_t i = 0; i < box.n; i++)
		s->a.mark[s->a.line[box.x + (uint32_t)i]] = 1;
	for (int32_t i = 0; i < box.m; i++)
		s->b.mark[s->b.line[box.y + (uint32_t)i]] = 1;
}

/* ---- from marks to edits */

static int collect(struct diff_script *s, const uint8_t *old_mark, const uint8_t *new_mark)
{
	size_t n = 0;

	for (int pass = 0; pass < 2; pass++) {
		uint32_t x = 0, y = 0;

		n = 0;
		while (x < s->old.n || y < s->new.n) {
			struct diff_edit e = { .old_start = x, .new_start = y };

			while (x < s->old.n && old_mark[x])
				x++;
			while (y < s->new.n && new_mark[y])
				y++;
			e.old_len = x - e.old_start;
			e.new_len = y - e.new_start;
			if (e.old_len || e.new_len) {
				if (pass)
					s->edit[n] = e;
				n++;
			} else {
				x++;
				y++;
			}
		}
		if (!pass) {
			s->edit = calloc(n + 1, sizeof(*s->edit));
			if (!s->edit)
				return -1;
		}
	}
	s->n = n;
	return 0;
}

static int32_t cost_bound(uint32_t lines)
{
	uint32_t bound = 256;

	while (bound < DIFF_COST_MAX && bound * bound < lines)
		bound *= 2;
	return (int32_t)bound;
}

/* Sets aside what has no partner, and the common ends (memory: `line` and `id` have room for all lines). */
static void select_lines(const struct diff_script *s, const struct numbering *t, const uint32_t *old_id,
			 const uint32_t *new_id, struct myers *m, struct box *ret)
{
	uint32_t head = 0, tail = 0, least = s->old.n < s->new.n ? s->old.n : s->new.n;

	while (head < least && old_id[head] == new_id[head])
		head++;
	while (tail < least - head && old_id[s->old.n - 1 - tail] == new_id[s->new.n - 1 - tail])
		tail++;

	*ret = (struct box){ 0 };
	for (uint32_t i = head; i < s->old.n - tail; i++) {
		if (!t->class[old_id[i]].in_new) {
			m->a.mark[i] = 1;
			continue;
		}
		m->a.id[ret->n] = old_id[i];
		m->a.line[ret->n++] = i;
	}
	for (uint32_t i = head; i < s->new.n - tail; i++) {
		if (!t->class[new_id[i]].in_old) {
			m->b.mark[i] = 1;
			continue;
		}
		m->b.id[ret->m] = new_id[i];
		m->b.line[ret->m++] = i;
	}
}

/* All memory of one comparison that is not part of the result, in one piece of numbers and one of marks. */
static int run(struct diff_script *s, struct numbering *t, struct err *err)
{
	size_t n = s->old.n, m = s->new.n, diagonals = n + m + 3;
	_cleanup_u32_ uint32_t *numbers = calloc(3 * (n + m) + 2 * diagonals, sizeof(*numbers));
	_cleanup_free_ char *marks = calloc(n + m + 2, 1);

	if (!numbers || !marks)
		return out_of_memory(err);

	uint32_t *old_id = numbers, *new_id = numbers + n, *rest = numbers + n + m;
	struct myers my = {
		.a = { .id = rest, .line = rest + n, .mark = (uint8_t *)marks },
		.b = { .id = rest + 2 * n, .line = rest + 2 * n + m, .mark = (uint8_t *)marks + n + 1 },
		.cost_max = cost_bound(s->old.n + s->new.n),
	};
	int32_t *paths = (int32_t *)(rest + 2 * (n + m));
	my.forward = paths + m + 1;
	my.backward = paths + diagonals + m + 1;

	struct box box;
	if (number_lines(t, s, old_id, new_id) < 0)
		return out_of_memory(err);
	select_lines(s, t, old_id, new_id, &my, &box);
	compare(&my, box);
	if (collect(s, my.a.mark, my.b.mark) < 0)
		return out_of_memory(err);
	diff_slide(s, old_id, new_id);
	return 0;
}

int diff_lines(const char *old, size_t old_len, const char *new, size_t new_len, struct diff_script *ret,
	       struct err *err)
{
	_cleanup_diff_script_ struct diff_script s = { 0 };
	_cleanup_(numbering_free) struct numbering t = { 0 };

	int r = split(old, old_len, &s.old, err);
	if (r == 0)
		r = split(new, new_len, &s.new, err);
	if (r == 0)
		r = run(&s, &t, err);
	if (r < 0)
		return r;
	*ret = s;
	s = (struct diff_script){ 0 };
	return 0;
}
