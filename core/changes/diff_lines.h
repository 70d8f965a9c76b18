/*
 * diff_lines: which lines two texts have in common.  It compares, and knows neither files nor Git's format.
 *
 * A text is split after each newline; a last line without one is a line of its own, different from the same words with
 * one.  The result is a list of edits in ascending order: `old_len` lines of the old text from line `old_start` (from
 * 0) are replaced by `new_len` lines of the new text from line `new_start`.  What lies between two edits is equal, and
 * at least one line long.
 *
 * Method: lines become numbers (a hash with a secret key, so that no text can make it slow), common ends and lines
 * without a partner are set aside, the rest goes through Myers' linear-space algorithm ("An O(ND) Difference
 * Algorithm and Its Variations", 1986) with a bound on D: beyond it the furthest path is taken as it is, so the work is
 * O(N * DIFF_COST_MAX) at worst and the result is then correct but not the shortest.  Last, each edit that could stand
 * at several places (a repeated blank line or brace) is moved to the place where a person would draw it.
 */
#ifndef WARDER_CHANGES_DIFF_LINES_H
#define WARDER_CHANGES_DIFF_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

#define DIFF_LINES_MAX 1000000u /* lines of one side */
#define DIFF_COST_MAX 1024u

/* The lines of one text; line i is data[start[i]] up to data[start[i + 1]]. */
struct diff_side {
	const char *data;
	uint32_t *start; /* n + 1 offsets */
	uint32_t n;
};

struct diff_edit {
	uint32_t old_start, old_len;
	uint32_t new_start, new_len;
};

struct diff_script {
	struct diff_side old, new; /* `data` is the caller's and must outlive the script */
	struct diff_edit *edit;
	size_t n;
};

/* E_LIMIT when a text has more than DIFF_LINES_MAX lines or 4 GiB. */
int diff_lines(const char *old, size_t old_len, const char *new, size_t new_len, struct diff_script *ret,
	       struct err *err) WARN_UNUSED;

void diff_script_free(struct diff_script *s);
#define _cleanup_diff_script_ _cleanup_(diff_script_free)

/* Last step of diff_lines, in diff_slide.c: moves and joins edits.  Equal numbers are equal lines. */
void diff_slide(struct diff_script *s, const uint32_t *old_id, const uint32_t *new_id);

#endif
