/* A hostile MCP server against our client: any bytes, in pieces, while calls are open. */
#include <string.h>

#include "core/adapter/mcp_client.h"
#include "tests/fuzz/fuzz.h"

/* What an event promises its receiver. */
static void check_event(const struct mcp_client *c, const struct mcp_event *event)
{
	const struct mcp_result *r = event->result;

	must(c->state == MCP_READY);
	switch (event->kind) {
	case MCP_EVENT_READY:
		must(event->version && event->server);
		break;
	case MCP_EVENT_TOOLS:
		must(cJSON_IsArray(event->tools) && cJSON_GetArraySize(event->tools) <= MCP_TOOLS_MAX);
		break;
	case MCP_EVENT_TOOLS_CHANGED:
		break;
	case MCP_EVENT_RESULT:
		must(event->tag == 1 || event->tag == 2);
		must(strlen(r->text) <= MCP_TEXT_MAX + 256);
		must(r->is_error == (r->outcome != MCP_OK) && mcp_outcome_name(r->outcome));
		must(!r->cwd || r->cwd[0] == '/');
		break;
	}
}

static void drain(struct mcp_client *c)
{
	struct mcp_event event = { 0 };
	int r;

	while ((r = mcp_client_next(c, &event, NULL)) == 1) {
		check_event(c, &event);
		if (event.kind == MCP_EVENT_TOOLS_CHANGED)
			(void)!mcp_client_list(c, NULL);
		if (event.kind == MCP_EVENT_READY) {
			(void)!mcp_client_call(c, 1, "bash", NULL, NULL, NULL); /* id 3 */
			(void)!mcp_client_call(c, 2, "read", NULL, NULL, NULL); /* id 4 */
		}
	}
	must(r == 0 || c->state == MCP_DEAD);
	must(c->state != MCP_DEAD || mcp_client_next(c, &event, NULL) < 0);
}

/* The first byte says in what pieces the rest comes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_mcp_client_ struct mcp_client c;
	size_t piece = size && data[0] ? data[0] : 4096;

	mcp_client_init(&c);
	(void)!mcp_client_start(&c, NULL); /* id 1, then 2 for the list */
	for (size_t at = size ? 1 : 0; at < size; at += piece) {
		if (mcp_client_feed(&c, data + at, size - at < piece ? size - at : piece, NULL) < 0)
			break;
		drain(&c);
	}
	mcp_client_cancel(&c, 1);
	return 0;
}
