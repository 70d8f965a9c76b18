/*
 * moment: a command that is the keeper for a moment, for a session that has none: takes the writer lock, does one
 * thing with the staged change as an operator would ask it, lets go.  It starts no process.
 */
#ifndef WARDER_KEEPER_MOMENT_H
#define WARDER_KEEPER_MOMENT_H

#include "core/base/err.h"
#include "core/base/json.h"

/* `type`: OP_SNAPSHOT, OP_APPLY or OP_DISCARD with the orders and answers of core/pub/op.h; *ret_problems as of
 * client_ask. E_BUSY when a keeper holds the session. */
int moment_ask(const char *session, unsigned type, const json_node *order, json_node **ret_answer, char **ret_problems,
	       struct err *err) WARN_UNUSED;

#endif
