/*
 * hand_rpc: the hand's side of MCP: one line in, replies out.  It owns the calls that are running and the bytes
 * for the client that have not been written yet; it touches no descriptor and runs nothing itself.
 *
 * JSON-RPC 2.0, a message a line, as in the MCP revisions 2024-11-05 to 2025-06-18 without batches.  A bad
 * argument is a result with isError (the model can mend it), a bad message a JSON-RPC error.  A cancelled call is
 * answered all the same, with outcome "cancelled", once its command is gone: MCP lets clients ignore such an
 * answer, ours waits for it.
 */
#ifndef WARDER_JAIL_HAND_RPC_H
#define WARDER_JAIL_HAND_RPC_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "jail/hand_tool.h"

#define HAND_LINE_MAX (8u << 20)
#define HAND_BACKLOG_MAX (1u << 20) /* bytes unwritten from which on no further line is taken */
#define HAND_CALLS_MAX 16

struct hand_rpc {
	struct buf out;
	struct hand *hand; /* handed to the tools */
	const struct hand_tool *tools;
	size_t ntools;
	struct hand_call *calls;
	size_t ncalls;
	bool initialized;
};

void hand_rpc_init(struct hand_rpc *rpc, struct hand *hand, const struct hand_tool *tools, size_t ntools);
void hand_rpc_free(struct hand_rpc *rpc);

/* Takes one message; whatever it holds, what it deserves is in rpc->out or in the running calls afterwards. */
void hand_rpc_line(struct hand_rpc *rpc, const char *line, size_t len);
/* A line was over HAND_LINE_MAX and has been skipped. */
void hand_rpc_too_long(struct hand_rpc *rpc);

/* Answers a call that a tool's `start` has kept, and frees it. */
void hand_rpc_end(struct hand_rpc *rpc, struct hand_call *call, const struct hand_result *result);

#endif
