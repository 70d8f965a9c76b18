/*
 * mcp_client: our side of MCP towards a server in a cell: bytes in, events and bytes out.  It owns the conversation's
 * state and buffers; it has no descriptor and no clock, so its owner reads, writes and decides how long to wait.
 *
 * Everything that comes in is hostile.  A line that is no strict JSON-RPC 2.0, a member of a wrong type or a flood
 * ends the conversation for good (E_PROTOCOL from then on); what merely answers nothing that was asked is counted
 * in `ignored`.
 *
 *   new --start--> asked --result of initialize--> ready (tools are asked for at once, page by page)
 *
 * The revisions with `initialize` (2024-11-05 to 2025-11-25).  We declare no capability, so a server has nothing to
 * ask of us but `ping`; every other request of its is answered with "unknown method".
 */
#ifndef WARDER_ADAPTER_MCP_CLIENT_H
#define WARDER_ADAPTER_MCP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/adapter/mcp_result.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/json.h"
#include "core/base/jsonl.h"

#define MCP_LINE_MAX (8u << 20)
#define MCP_CALLS_MAX 32
#define MCP_PAGES_MAX 32
#define MCP_LIST_MAX (1u << 20) /* bytes of all pages of a list: it is kept as a tree, fifty times its size at worst */
#define MCP_UNSENT_MAX (256u << 10) /* of our answers to a server that asks and does not read */

enum mcp_state { MCP_NEW, MCP_ASKED, MCP_READY, MCP_DEAD };

enum mcp_event_kind {
	MCP_EVENT_READY = 1,     /* initialized */
	MCP_EVENT_TOOLS,         /* the list is complete */
	MCP_EVENT_TOOLS_CHANGED, /* the server says so; mcp_client_list() asks again */
	MCP_EVENT_RESULT,        /* a call has ended */
};

/* Pointers are into the client, valid until its next function is called. */
struct mcp_event {
	enum mcp_event_kind kind;
	const char *version;    /* READY: the revision spoken */
	const char *server;     /* READY: the name that it gives itself, for display only; may be "" */
	const json_node *tools; /* TOOLS: array of the tool objects as they came */
	uint64_t tag;           /* RESULT: as given to mcp_client_call */
	const struct mcp_result *result;
};

enum mcp_ask { MCP_ASK_INITIALIZE, MCP_ASK_LIST, MCP_ASK_CALL };

struct mcp_pending {
	int64_t id; /* 0: free */
	enum mcp_ask ask;
	uint64_t tag;
};

struct mcp_client {
	enum mcp_state state;
	struct jsonl in;
	struct buf out; /* for the owner to write and buf_consume */
	int64_t last_id;
	struct mcp_pending pending[MCP_CALLS_MAX + 2];
	json_node *message; /* what the last event points into */
	json_node *tools;   /* collected so far, then complete */
	unsigned pages;
	size_t list_len; /* bytes of the pages so far */
	bool listing;
	size_t line_len; /* of `message` */
	struct mcp_result result;
	uint64_t ignored;
	struct err dead; /* why, in MCP_DEAD */
};

void mcp_client_init(struct mcp_client *c);
void mcp_client_free(struct mcp_client *c);
#define _cleanup_mcp_client_ _cleanup_(mcp_client_free)

/* Queues `initialize`. */
int mcp_client_start(struct mcp_client *c, struct err *err) WARN_UNUSED;

/* Takes bytes in; then mcp_client_next until it gives 0.  E_PROTOCOL. */
int mcp_client_feed(struct mcp_client *c, const void *data, size_t len, struct err *err) WARN_UNUSED;
/* 1 and an event, 0 when there is none, E_PROTOCOL or E_NOMEM (then for ever). */
int mcp_client_next(struct mcp_client *c, struct mcp_event *ret, struct err *err) WARN_UNUSED;

/* Queues a call.  `tag` is the owner's name for it, not in use; `args` an object or NULL; `cwd` (NULL but for our
 * own hand) the folder to run in, so that what runs is what was approved.  E_BUSY: too many are open; E_INVALID: not
 * ready; E_LIMIT: does not fit into a line. */
int mcp_client_call(struct mcp_client *c, uint64_t tag, const char *name, const json_node *args, const char *cwd,
		    struct err *err) WARN_UNUSED;
/* Asks for the end of a call; its result still comes (our hand always sends one).  Unknown tags are ignored. */
void mcp_client_cancel(struct mcp_client *c, uint64_t tag);
/* Gives a call up: whatever comes for it is ignored. */
void mcp_client_forget(struct mcp_client *c, uint64_t tag);
/* Asks for the tools again; nothing while a list is under way. */
int mcp_client_list(struct mcp_client *c, struct err *err) WARN_UNUSED;

/* Calls without a result. */
size_t mcp_client_open_calls(const struct mcp_client *c);

#endif
