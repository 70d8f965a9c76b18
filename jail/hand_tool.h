/*
 * hand_tool: the table of tools that the hand offers: names, arguments, hints and what runs.  tools/list is written
 * and arguments are checked from this one table, so they cannot disagree.  It knows nothing of JSON-RPC.
 *
 * A tool has either `run`, which is done when it returns (its error becomes the result), or `start`, which keeps the
 * call and ends it later with hand_rpc_end(); then `cancel` asks for an early end.
 */
#ifndef WARDER_JAIL_HAND_TOOL_H
#define WARDER_JAIL_HAND_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/json.h"

struct hand;

enum hand_outcome { HAND_OK, HAND_ERROR, HAND_TIMEOUT, HAND_CANCELLED };
const char *hand_outcome_name(enum hand_outcome outcome);

struct hand_result {
	enum hand_outcome outcome;
	struct buf text;
	int exit_status;  /* -1: no process ended by itself */
	uint64_t dropped; /* bytes left out of the text */
	const char *folder; /* where the next command starts; NULL: this call says nothing about it */
};

/* The longest text is a whole output window whose every byte became three, with notes; `read` keeps under it too. */
#define HAND_TEXT_MAX (1u << 20)
#define HAND_RESULT_INIT { .text = BUF_INIT(HAND_TEXT_MAX), .exit_status = -1 }

#define HAND_ID_MAX 160

struct hand_call {
	struct hand_call *next;
	const struct hand_tool *tool;
	json_node *args;            /* checked */
	char *folder;               /* where the client wants it to run, absolute; NULL: where the last one ended */
	char id[HAND_ID_MAX + 1]; /* the request's id as JSON text */
};

enum hand_type { HAND_STRING, HAND_INTEGER, HAND_BOOLEAN };

struct hand_param {
	const char *name; /* NULL ends the list */
	enum hand_type type;
	bool required;
	int64_t min, max; /* of an integer; of the bytes of a string */
	const char *text;
};

enum { HAND_READS = 1, HAND_DESTROYS = 2, HAND_IDEMPOTENT = 4 }; /* MCP's annotations */

struct hand_tool {
	const char *name;
	const char *title;
	const char *text;
	unsigned hints;
	const struct hand_param *params;
	int (*run)(const json_node *args, struct buf *text, struct err *err) WARN_UNUSED;
	void (*start)(struct hand *hand, struct hand_call *call);
	void (*cancel)(struct hand *hand, struct hand_call *call);
};

extern const struct hand_tool hand_tools[];
extern const size_t hand_ntools;

/* E_INVALID names the argument that is missing, unknown, of another type or out of bounds.  `args` may be NULL. */
int hand_tool_check(const struct hand_tool *tool, const json_node *args, struct err *err) WARN_UNUSED;

/* The tool as an element of tools/list. */
void hand_tool_describe(const struct hand_tool *tool, struct buf *out);

#endif
