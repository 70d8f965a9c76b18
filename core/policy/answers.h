/*
 * answers: prepared decisions for runs without an operator (CONTRACTS "Answers file").  It matches and counts; it
 * never answers anything but a tool call, and no match is a deny.
 */
#ifndef WARDER_POLICY_ANSWERS_H
#define WARDER_POLICY_ANSWERS_H

#include <stdbool.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/json.h"

#define ANSWERS_SIZE_MAX (4u << 20) /* bytes of the file */

struct answers;

/* E_USAGE with "NAME:LINE: WHY; WHAT TO DO". */
int answers_parse(const char *name, const char *text, size_t len, struct answers **ret, struct err *err) WARN_UNUSED;
void answers_free(struct answers **a);
#define _cleanup_answers_ _cleanup_(answers_free)

struct answer {
	bool allow;
	const char *note; /* NULL when the line has none */
};

/* First line that matches and has `times` left, which is used up by one; a deny with "no answer given" otherwise. `a`
 * may be NULL (no file). */
void answers_decide(struct answers *a, const char *tool, const json_node *input, const char *digest_hex,
		    struct answer *ret);

/* One line each for lines that were never used: "NAME:LINE: never used". */
void answers_unused(const struct answers *a, struct buf *out);

#endif
