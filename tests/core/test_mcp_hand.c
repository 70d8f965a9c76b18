/* Both ends of the wire: our client and the real warder-hand. */
#include "core/adapter/mcp_client.h"
#include "tests/jail/hand_client.h"

static struct hand_client hand;
static struct mcp_client client;

/* Writes what is queued, reads, until there is an event or the deadline passes. */
static bool next_event(struct mcp_event *ret)
{
	int64_t deadline = clock_mono_ms() + WAIT_MS;
	struct err err;
	char chunk[4096];

	for (;;) {
		int r = mcp_client_next(&client, ret, &err);
		struct pollfd p = { .fd = hand.out, .events = POLLIN };

		if (r < 0)
			diag("%s", err.text);
		if (r != 0)
			return r > 0;
		hand_send_bytes(&hand, client.out.data, client.out.len);
		buf_reset(&client.out);
		if (clock_mono_ms() > deadline || poll(&p, 1, 1000) < 0)
			return false;
		if (!p.revents)
			continue;
		ssize_t n = read(hand.out, chunk, sizeof(chunk));
		if (n <= 0 || mcp_client_feed(&client, chunk, (size_t)n, &err) < 0)
			return false;
	}
}

static void call(uint64_t tag, const char *tool, const char *args)
{
	json_node *node = NULL;
	struct err err;

	if (json_parse(args, strlen(args), &node, &err) < 0 ||
	    mcp_client_call(&client, tag, tool, node, NULL, &err) < 0)
		die(err.text);
	json_free(&node);
}

int main(void)
{
	static const struct {
		const char *tool, *args, *text;
		enum mcp_outcome outcome;
	} calls[] = {
		{ "bash", "{\"command\":\"echo hi\"}", "hi\n", MCP_OK },
		{ "bash", "{\"command\":\"exit 3\"}", "[exit status 3]", MCP_ERROR },
		{ "bash", "{\"command\":\"sleep 500\",\"timeout_ms\":50}", "[timed out after 50 ms]", MCP_TIMEOUT },
		{ "write", "{\"file_path\":\"f\",\"content\":\"x\\n\"}", "created f, 2 bytes", MCP_OK },
		{ "read", "{\"file_path\":\"f\"}", "     1\tx\n", MCP_OK },
		{ "edit", "{\"file_path\":\"f\",\"old_string\":\"y\",\"new_string\":\"z\"}",
		  "old_string: not found in f; read the file again and copy the text exactly, without line numbers",
		  MCP_ERROR },
		{ "read", "{}", "file_path: missing; read needs it", MCP_ERROR },
		{ "none", "{}", "the tool server refuses the call, error -32602: name: unknown tool", MCP_ERROR },
	};
	struct mcp_event event = { 0 };

	hand_open(&hand, NULL);
	mcp_client_init(&client);
	if (mcp_client_start(&client, NULL) < 0)
		die("start");
	ok(next_event(&event) && event.kind == MCP_EVENT_READY, "ready");
	is_str(event.version, "2025-06-18", "the revision of both");
	is_str(event.server, "warder-hand", "its name");
	ok(next_event(&event) && event.kind == MCP_EVENT_TOOLS, "tools");
	is_int(cJSON_GetArraySize(event.tools), 4, "four of them");

	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		call(i, calls[i].tool, calls[i].args);
		if (!ok(next_event(&event) && event.kind == MCP_EVENT_RESULT && event.tag == i, "%s %s", calls[i].tool,
			calls[i].args))
			continue;
		is_str(event.result->text, calls[i].text, "its text");
		is_int(event.result->outcome, calls[i].outcome, "its outcome");
	}

	struct err err;
	if (mcp_client_call(&client, 50, "bash", NULL, "/", &err) < 0)
		die(err.text);
	ok(next_event(&event) && event.result->is_error && !event.result->cwd, "a call without a command");
	json_node *args = cJSON_CreateObject();
	cJSON_AddStringToObject(args, "command", "pwd; cd /etc");
	if (mcp_client_call(&client, 51, "bash", args, "/usr", &err) < 0)
		die(err.text);
	json_free(&args);
	ok(next_event(&event) && event.tag == 51, "a call for a folder");
	is_str(event.result->text, "/usr\n", "runs there");
	is_str(event.result->cwd, "/etc", "and tells where it ended");

	call(100, "bash", "{\"command\":\"touch begun; sleep 500\"}");
	call(101, "bash", "{\"command\":\"while [ ! -e begun ]; do sleep 0.01; done; echo seen\"}");
	ok(next_event(&event) && event.tag == 101, "two at once");
	mcp_client_cancel(&client, 100);
	ok(next_event(&event) && event.tag == 100, "cancel");
	is_int(event.result->outcome, MCP_CANCELLED, "is answered when the command is gone");

	mcp_client_free(&client);
	is_int(hand_wait_end(&hand), 0, "the hand ends with its input");
	return tap_end();
}
