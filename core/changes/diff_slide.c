/*
 * Where an edit is drawn.  A run of lines that was only added or only removed can often stand at several places: after
 *
 *	}                               the added lines are as truly "} blank f() {" as "blank f() { ... }":
 *	                                the line that leaves at one end equals the line that enters at the other.
 *	f() {
 *
 * Such a run is moved next to a neighbour when it can touch one (they then read as one change), and otherwise to the
 * place whose two borders look most like borders: little indentation below them, a blank line above them, not
 * just before the line that closes a block.  Runs on both sides of a change stay where they are.
 */
#include "core/changes/diff_lines.h"

#include <limits.h>
#include <stdbool.h>

#define PLACES_MAX 100 /* how many places are weighed */
#define INDENT_MAX 200

/* One side as seen by an edit that exists on that side only. */
struct lane {
	const struct diff_side *side;
	const uint32_t *id;
	bool is_new;
};

struct run {
	uint32_t at, len;
};

static struct run run_of(const struct lane *l, const struct diff_edit *e)
{
	return l->is_new ? (struct run){ e->new_start, e->new_len } : (struct run){ e->old_start, e->old_len };
}

static void shift(struct diff_edit *e, int64_t by)
{
	e->old_start = (uint32_t)(e->old_start + by);
	e->new_start = (uint32_t)(e->new_start + by);
}

/* ---- how good a border before line `at` is: smaller is better */

struct border {
	int indent; /* of the first line below that is not blank; -1 at the end of the text */
	int cost;
};

/* Columns of white space; -1 for a blank line. */
static int indent_of(const struct diff_side *s, uint32_t line)
{
	int columns = 0;

	for (uint32_t i = s->start[line]; i < s->start[line + 1] && columns < INDENT_MAX; i++) {
		switch (s->data[i]) {
		case ' ':
			columns++;
			break;
		case '\t':
			columns += 8 - columns % 8;
			break;
		case '\n':
		case '\r':
		case '\v':
		case '\f':
			break;
		default:
			return columns;
		}
	}
	return columns >= INDENT_MAX ? INDENT_MAX : -1;
}

static struct border border_before(const struct diff_side *s, uint32_t at)
{
	enum { BLANKS_MAX = 20 };
	int above = -1, below = -1, blanks_above = 0, blanks_below = 0;

	for (uint32_t i = at; i > 0 && blanks_above < BLANKS_MAX; i--) {
		above = indent_of(s, i - 1);
		if (above >= 0)
			break;
		blanks_above++;
	}
	for (uint32_t i = at; i < s->n && blanks_below < BLANKS_MAX; i++) {
		below = indent_of(s, i);
		if (below >= 0)
			break;
		blanks_below++;
	}

	struct border b = { .indent = below };
	int blanks = blanks_above + blanks_below;

	if (at == 0)
		b.cost += 1;
	if (at == s->n)
		b.cost += 20;
	b.cost -= 30 * blanks;
	if (blanks_above == 0 && blanks_below > 0)
		b.cost += 24; /* the blank line reads as the end of what it follows */
	if (above >= 0 && b.indent > above)
		b.cost += blanks ? 10 : -4;
	else if (above >= 0 && b.indent < above)
		b.cost += blanks ? 17 : 23;
	return b;
}

/* The places are at, at + 1, ... at + places - 1 (moving down). */
static uint32_t best_place(const struct lane *l, uint32_t at, uint32_t len, uint32_t places)
{
	uint32_t first = places > PLACES_MAX ? places - PLACES_MAX : 0, best = places - 1;
	struct border best_score = { 0 };

	for (uint32_t i = first; i < places; i++) {
		struct border top = border_before(l->side, at + i), end = border_before(l->side, at + i + len);
		struct border score = { top.indent + end.indent, top.cost + end.cost };
		int sign = (score.indent > best_score.indent) - (score.indent < best_score.indent);

		if (i == first || 60 * sign + score.cost - best_score.cost <= 0) {
			best = i;
			best_score = score;
		}
	}
	return best;
}

/* ---- moving and joining */

struct slide {
	struct diff_script *s;
	struct lane old, new;
	size_t done;   /* edit[0..done) is settled; the result grows there */
	size_t budget; /* steps left: texts of one repeated line would make this quadratic */
};

static const struct lane *lane_of(const struct slide *t, const struct diff_edit *e)
{
	if (e->old_len && e->new_len)
		return NULL;
	return e->new_len ? &t->new : &t->old;
}

/* How far up (down) `e` can go; at most to `limit` lines, the gap to its neighbour. */
static uint32_t room_up(struct slide *t, const struct lane *l, const struct diff_edit *e, uint32_t limit)
{
	struct run r = run_of(l, e);
	uint32_t n = 0;

	while (n < limit && t->budget && l->id[r.at - n - 1] == l->id[r.at + r.len - n - 1])
		n++, t->budget--;
	return n;
}

static uint32_t room_down(struct slide *t, const struct lane *l, const struct diff_edit *e, uint32_t limit)
{
	struct run r = run_of(l, e);
	uint32_t n = 0;

	while (n < limit && t->budget && l->id[r.at + n] == l->id[r.at + r.len + n])
		n++, t->budget--;
	return n;
}

static struct diff_edit join(const struct diff_edit *a, const struct diff_edit *b)
{
	return (struct diff_edit){ a->old_start, a->old_len + b->old_len, a->new_start, a->new_len + b->new_len };
}

static uint32_t gap_between(const struct diff_edit *a, const struct diff_edit *b)
{
	return b->old_start - a->old_start - a->old_len;
}

/* Settles *e.  `next` is the first edit not yet looked at, or NULL.  True when *e has swallowed it. */
static bool settle(struct slide *t, struct diff_edit *e, const struct diff_edit *next)
{
	for (;;) {
		const struct lane *l = lane_of(t, e);
		if (!l)
			return false;

		const struct diff_edit *prev = t->done ? &t->s->edit[t->done - 1] : NULL;
		struct run r = run_of(l, e);
		uint32_t above = prev                          ? gap_between(prev, e)
				 : e->old_start < e->new_start ? e->old_start
							       : e->new_start;
		uint32_t below = next ? gap_between(e, next) : l->side->n - r.at - r.len;
		uint32_t up = room_up(t, l, e, above);
		bool touches_prev = prev && up == above, same = prev && lane_of(t, prev) == l;

		if (touches_prev && same) {
			shift(e, -(int64_t)up);
			*e = join(prev, e);
			t->done--;
			continue;
		}

		uint32_t down = room_down(t, l, e, below);
		if (next && down == below) {
			shift(e, down);
			*e = join(e, next);
			return true;
		}
		if (touches_prev) {
			shift(e, -(int64_t)up);
			*e = join(prev, e);
			t->done--;
			return false;
		}
		if (up + down)
			shift(e, (int64_t)best_place(l, r.at - up, r.len, up + down + 1) - up);
		return false;
	}
}

void diff_slide(struct diff_script *s, const uint32_t *old_id, const uint32_t *new_id)
{
	struct slide t = {
		.s = s,
		.old = { &s->old, old_id, false },
		.new = { &s->new, new_id, true },
		.budget = 16 * ((size_t)s->old.n + s->new.n) + 100000,
	};
	size_t i = 0;

	while (i < s->n) {
		struct diff_edit e = s->edit[i++];

		/* What has swallowed its neighbour may reach the next one. */
		while (settle(&t, &e, i < s->n ? &s->edit[i] : NULL))
			i++;
		s->edit[t.done++] = e;
	}
	s->n = t.done;
}
