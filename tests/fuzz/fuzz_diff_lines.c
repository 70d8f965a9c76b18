/*
 * Two texts of any bytes: the edits turn one into the other, in order and with equal lines between them.  The first two
 * bytes of the input say where the second text begins.
 */
#include <stdbool.h>
#include <string.h>

#include "core/changes/diff_lines.h"
#include "tests/fuzz/fuzz.h"

static void check(const struct diff_script *s)
{
	uint32_t x = 0, y = 0;

	for (size_t i = 0; i <= s->n; i++) {
		bool last = i == s->n;
		uint32_t to_x = last ? s->old.n : s->edit[i].old_start, to_y = last ? s->new.n : s->edit[i].new_start;

		must(to_x >= x && to_y >= y && to_x - x == to_y - y && to_x <= s->old.n && to_y <= s->new.n);
		must(i == 0 || last || to_x > x);

		size_t a = s->old.start[x], b = s->new.start[y], len = s->old.start[to_x] - a;
		must(s->new.start[to_y] - b == len);
		must(len == 0 || memcmp(s->old.data + a, s->new.data + b, len) == 0);
		if (last)
			break;
		must(s->edit[i].old_len || s->edit[i].new_len);
		x = to_x + s->edit[i].old_len;
		y = to_y + s->edit[i].new_len;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct diff_script s;
	struct err err;

	if (len < 2)
		return 0;
	size_t cut = (size_t)(data[0] | data[1] << 8) % (len - 1);
	const char *old = (const char *)data + 2, *new = old + (cut < len - 2 ? cut : len - 2);
	size_t old_len = (size_t)(new - old), new_len = len - 2 - old_len;

	int r = diff_lines(old, old_len, new, new_len, &s, &err);
	must(r == 0 || r == E_LIMIT || r == E_NOMEM);
	if (r < 0)
		return 0;
	must(s.old.start[s.old.n] == old_len && s.new.start[s.new.n] == new_len);
	check(&s);
	diff_script_free(&s);
	return 0;
}
