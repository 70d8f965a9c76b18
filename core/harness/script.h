/*
 * script: the recorded turns of a scripted brain (CONTRACTS "Scripted brain"), parsed and checked whole before a
 * session starts.  It never runs anything.
 */
#ifndef WARDER_HARNESS_SCRIPT_H
#define WARDER_HARNESS_SCRIPT_H

#include <stdint.h>

#include "core/base/err.h"
#include "core/base/json.h"

#define SCRIPT_CALLS_MAX 64        /* tool calls of one turn, as the keeper takes them */
#define SCRIPT_SIZE_MAX (8u << 20) /* bytes */

/* One line that answers a request: a turn, or a failed request.  Pointers are into `line`. */
struct script_turn {
	json_node *line;
	int number;               /* of the line in the file */
	const json_node *content; /* NULL for a failed request */
	const json_node *usage;   /* or NULL */
	const char **expect;      /* NULL-terminated texts that must have been in a result before it, or NULL */
	int64_t delay_ms;
	int64_t error_status;     /* of a failed request */
	const char *error_type;
};

struct script {
	struct script_turn *turn;
	size_t n;
	json_node **expect_lines;
	size_t nexpect_lines;
};

/* E_USAGE with "NAME:LINE: WHY; WHAT TO DO". */
int script_parse(const char *name, const char *text, size_t len, struct script *ret, struct err *err) WARN_UNUSED;
void script_free(struct script *s);
#define _cleanup_script_ _cleanup_(script_free)

/* The script that is compiled in as scripted:demo. */
extern const char script_demo[];

#endif
