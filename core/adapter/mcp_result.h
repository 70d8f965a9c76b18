/*
 * mcp_result: what an MCP server says about tools and calls, in our terms.  All of it is a claim of a hostile
 * peer: types are checked, sizes bounded, and nothing but text comes through.
 */
#ifndef WARDER_ADAPTER_MCP_RESULT_H
#define WARDER_ADAPTER_MCP_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/json.h"

#define MCP_TEXT_MAX (1u << 20)
#define MCP_TOOLS_MAX 256
#define MCP_TOOL_NAME_MAX 128

/* Those of CONTRACTS that a server may claim; "denied" and "unknown" are the keeper's alone. */
enum mcp_outcome { MCP_OK, MCP_ERROR, MCP_TIMEOUT, MCP_CANCELLED };
const char *mcp_outcome_name(enum mcp_outcome outcome);

struct mcp_result {
	enum mcp_outcome outcome; /* MCP_OK exactly when !is_error */
	bool is_error;
	const char *text;  /* UTF-8, at most MCP_TEXT_MAX bytes and a note; into `buf` */
	const char *cwd;   /* where the next command starts, absolute, into the tree read; NULL: not said */
	uint64_t left_out; /* bytes of text beyond the maximum */
	struct buf buf;
};

#define MCP_RESULT_INIT { .text = "", .buf = BUF_INIT(MCP_TEXT_MAX + 256) }

/* Fills `ret` (what it held is gone) from the result of tools/call.  Text blocks are joined; every other block
 * becomes a line that names it.  E_PROTOCOL for a wrong type, or an outcome that is none of the above. */
int mcp_result_read(const json_node *result, struct mcp_result *ret, struct err *err) WARN_UNUSED;

/* A JSON-RPC error in place of a result. */
void mcp_result_read_error(const json_node *error, struct mcp_result *ret);

/* Moves the elements of a page of tools/list to the array `tools`.  E_PROTOCOL: a tool without a proper name or
 * schema, a name twice, too many. */
int mcp_tools_take(json_node *page, json_node *tools, struct err *err) WARN_UNUSED;

#endif
