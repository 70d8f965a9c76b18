/* Our side of MCP: a good conversation cut at every byte, and every way in which a server can lie. */
#include <stdlib.h>

#include "core/adapter/mcp_client.h"
#include "tests/tap.h"

#define INIT_OK                                                                                  \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"2025-06-18\","          \
	"\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}}\n"
#define TOOL(name) "{\"name\":\"" name "\",\"description\":\"d\",\"inputSchema\":{\"type\":\"object\"}}"
#define LIST_OK "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"tools\":[" TOOL("bash") "," TOOL("read") "]}}\n"
#define RESULT(id, inner) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":" inner "}\n"
#define TEXT(text) "{\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}]}"

/* What next() gives after `text`; events are counted, the last one is kept. */
struct heard {
	int events, code;
	struct mcp_event last;
	char version[32], server[32]; /* of the last event; its own pointers are void after the next one */
	struct err err;
};

static struct heard hear_bytes(struct mcp_client *c, const char *data, size_t len)
{
	struct heard h = { 0 };
	struct mcp_event event = { 0 };

	h.code = mcp_client_feed(c, data, len, &h.err);
	while (h.code == 0 && (h.code = mcp_client_next(c, &event, &h.err)) == 1) {
		h.events++;
		h.last = event;
		snprintf(h.version, sizeof(h.version), "%s", event.version ? event.version : "");
		snprintf(h.server, sizeof(h.server), "%s", event.server ? event.server : "");
		h.code = 0;
	}
	return h;
}

static struct heard hear(struct mcp_client *c, const char *text)
{
	return hear_bytes(c, text, strlen(text));
}

static void ready(struct mcp_client *c)
{
	mcp_client_init(c);
	if (mcp_client_start(c, NULL) < 0 || hear(c, INIT_OK LIST_OK).events != 2)
		exit(99);
	buf_reset(&c->out);
}

/* Ready, with one call (id 3) of tag 7. */
static void calling(struct mcp_client *c)
{
	ready(c);
	if (mcp_client_call(c, 7, "bash", NULL, NULL, NULL) < 0)
		exit(99);
}

static void test_good(void)
{
	struct mcp_client c;
	struct mcp_event event;
	struct heard h;
	json_node *args = NULL;

	mcp_client_init(&c);
	is_int(mcp_client_next(&c, &event, NULL), 0, "nothing at first");
	is_int(mcp_client_call(&c, 1, "bash", NULL, NULL, NULL), E_INVALID, "no call before the server is ready");
	is_int(mcp_client_list(&c, NULL), E_INVALID, "no list either");
	is_int(mcp_client_start(&c, NULL), 0, "start");
	is_int(mcp_client_start(&c, NULL), E_INVALID, "but once");
	ok(strstr(buf_str(&c.out), "\"method\":\"initialize\"") &&
		   strchr(buf_str(&c.out), '\n') == c.out.data + c.out.len - 1,
	   "one line asks: %s", buf_str(&c.out));
	buf_reset(&c.out);

	h = hear(&c, INIT_OK);
	is_int(h.last.kind, MCP_EVENT_READY, "ready");
	is_str(h.version, "2025-06-18", "its revision");
	is_str(h.server, "s", "its name");
	is_str(buf_str(&c.out),
	       "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"
	       "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\",\"params\":{}}\n",
	       "tools are asked for");
	is_int(mcp_client_list(&c, NULL), 0, "asking again meanwhile");
	buf_reset(&c.out);
	h = hear(&c, LIST_OK);
	is_int(h.last.kind, MCP_EVENT_TOOLS, "tools");
	is_int(cJSON_GetArraySize(h.last.tools), 2, "two of them");
	is_int(c.out.len, 0, "and nothing more to say");

	if (json_parse("{\"command\":\"a\\nb\",\"timeout_ms\":5}", 33, &args, NULL) < 0)
		exit(99);
	is_int(mcp_client_call(&c, UINT64_MAX, "bash", args, NULL, NULL), 0, "a call");
	json_free(&args);
	is_str(buf_str(&c.out),
	       "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"bash\",\"arguments\":"
	       "{\"command\":\"a\\nb\",\"timeout_ms\":5}}}\n",
	       "in one line");
	is_int(mcp_client_call(&c, UINT64_MAX, "bash", NULL, NULL, NULL), E_EXISTS, "a tag in use");
	is_int(mcp_client_open_calls(&c), 1, "one call is open");
	buf_reset(&c.out);
	mcp_client_cancel(&c, UINT64_MAX);
	mcp_client_cancel(&c, 1);
	is_str(buf_str(&c.out),
	       "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":3}}\n",
	       "cancel, of a known tag only");
	h = hear(&c, RESULT("3", "{\"content\":[{\"type\":\"text\",\"text\":\"out\"}],\"isError\":true,"
				 "\"_meta\":{\"warder\":{\"outcome\":\"cancelled\"}}}"));
	is_int(h.last.kind, MCP_EVENT_RESULT, "its result");
	ok(h.last.tag == UINT64_MAX, "by its tag");
	is_str(h.last.result->text, "out", "its text");
	is_int(h.last.result->outcome, MCP_CANCELLED, "its outcome");
	is_int(mcp_client_open_calls(&c), 0, "no call is open");
	is_int(mcp_client_call(&c, UINT64_MAX, "bash", NULL, NULL, NULL), 0, "the tag is free again");

	buf_reset(&c.out);
	is_int(hear(&c, "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}\n").events, 0, "ping");
	is_str(buf_str(&c.out), "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"result\":{}}\n", "is answered");
	buf_reset(&c.out);
	hear(&c, "{\"jsonrpc\":\"2.0\",\"id\":-1,\"method\":\"sampling/createMessage\",\"params\":{}}\n");
	ok(strstr(buf_str(&c.out), "\"id\":-1,\"error\":{\"code\":-32601"), "everything else is refused");
	h = hear(&c, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n");
	is_int(h.last.kind, MCP_EVENT_TOOLS_CHANGED, "changed tools");
	buf_reset(&c.out);
	is_int(mcp_client_list(&c, NULL), 0, "are asked for again");
	is_int(hear(&c, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n").events, 0,
	       "not told again while the list is under way");
	h = hear(&c, RESULT("5", "{\"tools\":[" TOOL("x") "],\"nextCursor\":\"c\\\"1\"}"));
	is_int(h.events, 0, "a first page");
	ok(strstr(buf_str(&c.out), "{\"cursor\":\"c\\\"1\"}"), "the next one is asked for");
	h = hear(&c, RESULT("6", "{\"tools\":[" TOOL("y") "],\"nextCursor\":null}"));
	is_int(cJSON_GetArraySize(h.last.tools), 2, "both together");
	mcp_client_free(&c);

	ready(&c);
	is_int(mcp_client_call(&c, 1, "bash", NULL, "/w/\"\xc3\xa9", NULL), 0, "a call for a folder");
	is_str(buf_str(&c.out), "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"bash\","
	       "\"arguments\":{},\"_meta\":{\"warder\":{\"cwd\":\"/w/\\\"\xc3\xa9\"}}}}\n", "says which");
	struct mcp_event last = { 0 };
	const char *line = RESULT("3", "{\"content\":[],\"_meta\":{\"warder\":{\"outcome\":\"ok\",\"cwd\":\"/w/x\"}}}");
	is_int(mcp_client_feed(&c, line, strlen(line), NULL), 0, "its result");
	is_int(mcp_client_next(&c, &last, NULL), 1, "comes");
	is_str(last.result->cwd, "/w/x", "with the folder of the next command");
	is_int(mcp_client_call(&c, 1, "bash", NULL, NULL, NULL), 0, "another call");
	line = RESULT("4", "{\"content\":[]}");
	is_int(mcp_client_feed(&c, line, strlen(line), NULL), 0, "its result");
	is_int(mcp_client_next(&c, &last, NULL), 1, "comes");
	is_str(last.result->cwd, NULL, "and says nothing of a folder");
	mcp_client_free(&c);
}

/* The same bytes in two pieces, cut anywhere, and one by one, say the same. */
static void test_cuts(void)
{
	static const char talk[] =
		INIT_OK LIST_OK "\n \r\n"
		RESULT("3", "{\"content\":[{\"type\":\"text\",\"text\":\"\xe2\x82\xac \\u20ac \\ud83d\\ude00\"}]}")
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
	size_t len = sizeof(talk) - 1, bad = 0;

	for (size_t cut = 0; cut <= len; cut++) {
		struct mcp_client c;
		int events = 0;
		bool text = false;

		mcp_client_init(&c);
		if (mcp_client_start(&c, NULL) < 0)
			exit(99);
		size_t step = cut == 0 ? 1 : cut;
		for (size_t at = 0; at < len; at += step) {
			struct heard h = hear_bytes(&c, talk + at, len - at < step ? len - at : step);

			bad += h.code != 0;
			events += h.events;
			if (c.state == MCP_READY && !c.listing && !mcp_client_open_calls(&c) && events == 2)
				bad += mcp_client_call(&c, 9, "bash", NULL, NULL, NULL) != 0;
			text |= h.events && h.last.kind == MCP_EVENT_RESULT &&
				strcmp(h.last.result->text, "\xe2\x82\xac \xe2\x82\xac \xf0\x9f\x98\x80") ==
					0;
		}
		/* a piece that holds the result before the call was made answers nothing */
		bad += events != (text ? 3 : 2) || (!text && c.ignored != 1) || (step == 1 && !text);
		mcp_client_free(&c);
	}
	is_int(bad, 0, "a conversation cut at every byte");
}

static void test_results(void)
{
	static const struct {
		const char *result, *text;
		int outcome;
		const char *what;
	} cases[] = {
		{ TEXT("x"), "x", MCP_OK, "text" },
		{ "{\"content\":[]}", "", MCP_OK, "no block" },
		{ "{\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"b\\n\"},"
		  "{\"type\":\"text\",\"text\":\"c\"}]}",
		  "a\nb\nc", MCP_OK, "blocks are lines of their own" },
		{ "{\"content\":[{\"type\":\"image\",\"data\":\"AAAA\",\"mimeType\":\"image/png\"}]}",
		  "[content that is not text: image]", MCP_OK, "an image is named" },
		{ "{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"file:///x\",\"text\":\"t\"}}]}",
		  "[resource: file:///x]\nt", MCP_OK, "a resource's text" },
		{ "{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"u\",\"blob\":\"AA\"}}]}",
		  "[content that is not text: resource]", MCP_OK, "a resource's bytes" },
		{ "{\"content\":[{\"type\":\"resource_link\",\"uri\":\"http://x\"}]}", "[resource link: http://x]",
		  MCP_OK, "a link" },
		{ "{\"structuredContent\":{\"a\":1}}", "[content that is not text: structured]", MCP_OK,
		  "structure alone" },
		{ "{\"content\":[],\"isError\":true}", "", MCP_ERROR, "isError alone" },
		{ "{\"content\":[],\"isError\":false}", "", MCP_OK, "no error" },
		{ "{\"content\":[],\"_meta\":{\"other\":1}}", "", MCP_OK, "another's _meta" },
		{ "{\"content\":[],\"isError\":true,\"_meta\":{\"warder\":{\"outcome\":\"ok\"}}}", "", MCP_ERROR,
		  "isError beats ok" },
		{ "{\"content\":[],\"isError\":false,\"_meta\":{\"warder\":{\"outcome\":\"timeout\"}}}", "",
		  MCP_TIMEOUT, "timeout beats no error" },
		{ "{\"content\":[],\"_meta\":{\"warder\":{\"outcome\":\"cancelled\",\"exit_status\":\"x\"}}}", "",
		  MCP_CANCELLED, "what is not used is not judged" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct mcp_client c;
		struct buf line = BUF_INIT(10000);

		calling(&c);
		buf_addf(&line, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":%s}\n", cases[i].result);
		struct heard h = hear(&c, buf_str(&line));

		if (ok(h.events == 1 && h.code == 0, "%s", cases[i].what)) {
			is_str(h.last.result->text, cases[i].text, "its text");
			is_int(h.last.result->outcome, cases[i].outcome, "its outcome");
			is_int(h.last.result->is_error, cases[i].outcome != MCP_OK, "is_error agrees");
		}
		buf_free(&line);
		mcp_client_free(&c);
	}

	struct mcp_client c;
	calling(&c);
	struct heard h = hear(&c, "{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":-32602,\"message\":\"no\"}}\n");
	is_str(h.last.result->text, "the tool server refuses the call, error -32602: no",
	       "an error in place of a result");
	is_int(h.last.result->outcome, MCP_ERROR, "is one");
	mcp_client_free(&c);
}

/* Lines that end the conversation, in the state where they come. */
static void test_hostile(void)
{
	enum when { ASKED, LISTING, CALLING };
	static const struct {
		enum when when;
		const char *line, *what;
	} cases[] = {
		{ ASKED, "Starting server...\n", "chatter" },
		{ ASKED, "[]\n", "a batch" },
		{ ASKED, "5\n", "a number" },
		{ ASKED, "{}\n", "an empty object" },
		{ ASKED, "{\"id\":1,\"result\":{}}\n", "no version" },
		{ ASKED, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":{}}\n", "result and error" },
		{ ASKED, "{\"jsonrpc\":\"2.0\",\"id\":1}\n", "neither" },
		{ ASKED, "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":1,\"result\":{}}\n", "a key twice" },
		{ ASKED, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"x\":\"\xff\"}}\n", "no UTF-8" },
		{ ASKED, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"x\":\"\\u0000\"}}\n", "NUL" },
		{ ASKED, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32022,\"message\":\"m\"}}\n",
		  "initialize refused" },
		{ ASKED, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":\"no\"}\n", "an error that is text" },
		{ ASKED, RESULT("1", "{}"), "no revision" },
		{ ASKED, RESULT("1", "[]"), "a result that is an array" },
		{ ASKED, RESULT("1", "{\"protocolVersion\":\"2099-01-01\",\"capabilities\":{\"tools\":{}}}"),
		  "unknown revision" },
		{ ASKED, RESULT("1", "{\"protocolVersion\":20250618,\"capabilities\":{\"tools\":{}}}"),
		  "revision as a number" },
		{ ASKED, RESULT("1", "{\"protocolVersion\":\"2025-06-18\"}"), "no capabilities" },
		{ ASKED, RESULT("1", "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":[]}"),
		  "capabilities an array" },
		{ ASKED, RESULT("1", "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"prompts\":{}}}"),
		  "no tools" },
		{ ASKED, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"what?\"}}\n",
		  "it cannot read us" },
		{ ASKED, "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}\n", "a request whose id is an object" },
		{ ASKED, "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}\n",
		  "a request whose id has a fraction" },
		{ ASKED, "{\"jsonrpc\":\"2.0\",\"method\":5}\n", "a method that is a number" },
		{ ASKED, "{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":[]}\n", "params an array" },
		{ ASKED, "{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"result\":{}}\n", "request and reply in one" },
		{ LISTING, RESULT("2", "{}"), "no tools" },
		{ LISTING, RESULT("2", "{\"tools\":{}}"), "tools an object" },
		{ LISTING, RESULT("2", "{\"tools\":[5]}"), "a tool that is a number" },
		{ LISTING, RESULT("2", "{\"tools\":[{\"inputSchema\":{}}]}"), "a tool without a name" },
		{ LISTING, RESULT("2", "{\"tools\":[" TOOL("") "]}"), "an empty name" },
		{ LISTING, RESULT("2", "{\"tools\":[" TOOL("a b") "]}"), "a name with a blank" },
		{ LISTING, RESULT("2", "{\"tools\":[" TOOL("ba\xc5\xa1h") "]}"), "a name beyond ASCII" },
		{ LISTING, RESULT("2", "{\"tools\":[" TOOL("../x") "]}"), "a name with a slash" },
		{ LISTING, RESULT("2", "{\"tools\":[{\"name\":\"x\"}]}"), "no schema" },
		{ LISTING, RESULT("2", "{\"tools\":[{\"name\":\"x\",\"inputSchema\":true}]}"),
		  "a schema that is a boolean" },
		{ LISTING, RESULT("2", "{\"tools\":[{\"name\":\"x\",\"inputSchema\":{},\"description\":5}]}"),
		  "a number for a text" },
		{ LISTING, RESULT("2", "{\"tools\":[{\"name\":\"x\",\"inputSchema\":{},\"annotations\":[]}]}"),
		  "hints in an array" },
		{ LISTING, RESULT("2", "{\"tools\":[" TOOL("x") "," TOOL("x") "]}"), "a name twice" },
		{ LISTING, RESULT("2", "{\"tools\":[],\"nextCursor\":5}"), "a cursor that is a number" },
		{ LISTING, "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":1,\"message\":\"m\"}}\n",
		  "the list refused" },
		{ CALLING, RESULT("3", "{}"), "no content" },
		{ CALLING, RESULT("3", "\"text\""), "a result that is text" },
		{ CALLING, RESULT("3", "{\"content\":\"text\"}"), "content that is text" },
		{ CALLING, RESULT("3", "{\"content\":{}}"), "content an object" },
		{ CALLING, RESULT("3", "{\"content\":[\"text\"]}"), "a block that is text" },
		{ CALLING, RESULT("3", "{\"content\":[{\"text\":\"x\"}]}"), "a block without type" },
		{ CALLING, RESULT("3", "{\"content\":[{\"type\":\"text\"}]}"), "a text block without text" },
		{ CALLING, RESULT("3", "{\"content\":[{\"type\":\"text\",\"text\":5}]}"), "a number for text" },
		{ CALLING, RESULT("3", "{\"content\":[],\"isError\":\"false\"}"), "isError as text" },
		{ CALLING, RESULT("3", "{\"content\":[],\"isError\":null}"), "isError null" },
		{ CALLING, RESULT("3", "{\"content\":[],\"_meta\":[]}"), "_meta an array" },
		{ CALLING, RESULT("3", "{\"content\":[],\"_meta\":{\"warder\":{}}}"), "our mark without an outcome" },
		{ CALLING, RESULT("3", "{\"content\":[],\"_meta\":{\"warder\":true}}"), "our mark as a boolean" },
		{ CALLING, RESULT("3", "{\"content\":[],\"_meta\":{\"warder\":{\"outcome\":\"denied\"}}}"),
		  "outcome denied" },
		{ CALLING, RESULT("3", "{\"content\":[],\"_meta\":{\"warder\":{\"outcome\":\"unknown\"}}}"),
		  "outcome unknown" },
		{ CALLING, RESULT("3", "{\"content\":[],\"_meta\":{\"warder\":{\"outcome\":\"OK\"}}}"),
		  "outcome OK in capitals" },
		{ CALLING, RESULT("3", "{\"content\":[],\"_meta\":{\"warder\":{\"outcome\":0}}}"), "outcome a number" },
		{ CALLING, RESULT("3", "{\"content\":[],\"_meta\":{\"warder\":{\"outcome\":\"ok\",\"cwd\":5}}}"),
		  "folder a number" },
		{ CALLING, RESULT("3", "{\"content\":[],\"_meta\":{\"warder\":{\"outcome\":\"ok\",\"cwd\":\"a\"}}}"),
		  "folder not absolute" },
		{ CALLING, RESULT("3", "{\"content\":[],\"_meta\":{\"warder\":{\"outcome\":\"ok\",\"cwd\":\"\"}}}"),
		  "folder empty" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct mcp_client c;
		struct heard h;

		mcp_client_init(&c);
		if (cases[i].when == CALLING)
			calling(&c);
		else if (mcp_client_start(&c, NULL) < 0 || (cases[i].when == LISTING && hear(&c, INIT_OK).events != 1))
			exit(99);
		h = hear(&c, cases[i].line);
		ok(h.code == E_PROTOCOL && h.events == 0 && h.err.text[0], "%s: %s", cases[i].what, h.err.text);
		if (i == 0) {
			struct mcp_event event;

			is_int(hear(&c, INIT_OK).code, E_PROTOCOL, "and for ever");
			is_int(mcp_client_next(&c, &event, &h.err), E_PROTOCOL, "whatever is asked");
			is_int(mcp_client_call(&c, 1, "bash", NULL, NULL, NULL), E_INVALID, "no call either");
			mcp_client_cancel(&c, 7);
			mcp_client_forget(&c, 7);
		}
		mcp_client_free(&c);
	}
}

/* What answers nothing that was asked does no harm and makes no event. */
static void test_ignored(void)
{
	static const char *const lines[] = {
		RESULT("4", TEXT("x")),
		RESULT("1", TEXT("x")),
		RESULT("0", TEXT("x")),
		RESULT("-3", TEXT("x")),
		RESULT("\"3\"", TEXT("x")),
		RESULT("3.5", TEXT("x")),
		RESULT("null", TEXT("x")),
		RESULT("9007199254740992", TEXT("x")),
		RESULT("{}", TEXT("x")),
		"{\"jsonrpc\":\"2.0\",\"result\":" TEXT("x") "}\n",
		"{\"jsonrpc\":\"2.0\",\"id\":99,\"error\":{\"code\":1,\"message\":\"m\"}}\n",
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"data\":\"x\"}}\n",
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n",
		"{\"jsonrpc\":\"2.0\",\"method\":\"\"}\n",
	};
	struct mcp_client c;

	calling(&c);
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		struct heard h = hear(&c, lines[i]);

		ok(h.code == 0 && h.events == 0, "ignored: %.60s", lines[i]);
	}
	is_int(c.ignored, ARRAY_LEN(lines), "and counted");
	is_int(hear(&c, RESULT("3", TEXT("x"))).events, 1, "the true reply still counts");
	is_int(hear(&c, RESULT("3", TEXT("x"))).events, 0, "once");
	if (mcp_client_call(&c, 8, "bash", NULL, NULL, NULL) < 0)
		exit(99);
	mcp_client_forget(&c, 8);
	mcp_client_forget(&c, 8);
	is_int(hear(&c, RESULT("4", TEXT("x"))).events, 0, "a call that was given up has no result");
	mcp_client_free(&c);
}

static void fill(struct buf *b, const char *text, size_t len)
{
	while (b->len < len)
		buf_adds(b, text);
}

static void test_bounds(void)
{
	struct buf b = BUF_INIT(64u << 20);
	struct mcp_client c;
	struct heard h;

	calling(&c);
	buf_adds(&b, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"x");
	fill(&b, "\xe2\x82\xac", 3u << 20);
	buf_adds(&b, "\"}]}}\n");
	h = hear_bytes(&c, b.data, b.len);
	ok(h.events == 1 && h.last.result->buf.len < MCP_TEXT_MAX + 100 && h.last.result->buf.len > MCP_TEXT_MAX - 4,
	   "a long text is cut");
	ok(h.events == 1 && strstr(h.last.result->text, "\xe2\x82\xac\n[\xe2\x80\xa6 2097") &&
		   h.last.result->left_out % 3 == 0,
	   "between characters, and counted");
	mcp_client_free(&c);

	calling(&c);
	buf_reset(&b);
	buf_adds(&b, "{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":{\"x\":\"");
	fill(&b, "x", MCP_LINE_MAX - 3);
	buf_adds(&b, "\"}}\n");
	is_int(b.len, MCP_LINE_MAX + 1, "control: a line of the greatest length");
	is_int(hear_bytes(&c, b.data, b.len).code, 0, "is taken");
	b.len--;
	buf_adds(&b, " \n");
	is_int(hear_bytes(&c, b.data, b.len).code, E_PROTOCOL, "one byte more is not");
	mcp_client_free(&c);

	calling(&c);
	buf_reset(&b);
	fill(&b, "x", MCP_LINE_MAX + 1);
	is_int(hear_bytes(&c, b.data, b.len).code, E_PROTOCOL, "a line without end");
	mcp_client_free(&c);

	calling(&c);
	buf_reset(&b);
	buf_adds(&b, "{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":{\"x\":[0");
	fill(&b, ",0", 6u << 20);
	buf_adds(&b, "]}}\n");
	is_int(hear_bytes(&c, b.data, b.len).code, E_PROTOCOL, "three million values in one line");
	mcp_client_free(&c);

	calling(&c);
	h = (struct heard){ 0 };
	buf_reset(&c.out);
	for (int i = 0; i < 100000 && !h.code; i++)
		h = hear(&c, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
	ok(h.code == E_PROTOCOL && c.out.len < MCP_UNSENT_MAX + 100, "a flood of pings that nobody could answer");
	mcp_client_free(&c);

	calling(&c);
	buf_reset(&b);
	buf_adds(&b, "{\"jsonrpc\":\"2.0\",\"id\":\"");
	fill(&b, "x", 400);
	buf_adds(&b, "\",\"method\":\"ping\"}\n");
	is_int(hear_bytes(&c, b.data, b.len).code, E_PROTOCOL, "a long id");
	mcp_client_free(&c);
	buf_free(&b);
}

static void test_many(void)
{
	struct buf b = BUF_INIT(64u << 20);
	struct mcp_client c;
	struct heard h = { 0 };
	char *long_name;
	json_node *args;

	ready(&c);
	for (uint64_t i = 0; i < MCP_CALLS_MAX; i++)
		if (mcp_client_call(&c, i, "bash", NULL, NULL, NULL) < 0)
			exit(99);
	is_int(mcp_client_call(&c, 99, "bash", NULL, NULL, NULL), E_BUSY, "calls are bounded");
	is_int(mcp_client_list(&c, NULL), 0, "a list finds its place all the same");
	mcp_client_free(&c);

	ready(&c);
	long_name = calloc(1, MCP_LINE_MAX + 1);
	memset(long_name, 'x', MCP_LINE_MAX);
	args = cJSON_CreateString(long_name);
	size_t before = c.out.len;
	is_int(mcp_client_call(&c, 1, "bash", args, NULL, NULL), E_LIMIT, "arguments that do not fit into a line");
	is_int(c.out.len, before, "leave nothing behind");
	is_int(mcp_client_open_calls(&c), 0, "no open call");
	is_int(mcp_client_call(&c, 1, "bash", NULL, NULL, NULL), 0, "and the next call goes");
	json_free(&args);
	free(long_name);
	mcp_client_free(&c);

	/* pages without end, tools without end, bytes without end */
	mcp_client_init(&c);
	if (mcp_client_start(&c, NULL) < 0)
		exit(99);
	hear(&c, INIT_OK);
	for (int id = 2; !h.code && id < 200; id++) {
		buf_reset(&b);
		buf_addf(&b, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"tools\":[],\"nextCursor\":\"x\"}}\n", id);
		h = hear(&c, buf_str(&b));
	}
	is_int(h.code, E_PROTOCOL, "pages without end");
	mcp_client_free(&c);

	for (int most = 256; most <= 257; most++) {
		mcp_client_init(&c);
		if (mcp_client_start(&c, NULL) < 0)
			exit(99);
		buf_reset(&b);
		buf_adds(&b, INIT_OK "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"tools\":[");
		for (int i = 0; i < most; i++)
			buf_addf(&b, "%s{\"name\":\"t%d\",\"inputSchema\":{}}", i ? "," : "", i);
		buf_adds(&b, "]}}\n");
		h = hear(&c, buf_str(&b));
		is_int(h.code, most == 256 ? 0 : E_PROTOCOL, "%d tools", most);
		mcp_client_free(&c);
	}

	mcp_client_init(&c);
	if (mcp_client_start(&c, NULL) < 0)
		exit(99);
	buf_reset(&b);
	buf_adds(&b, INIT_OK
		 "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"tools\":[{\"name\":\"x\",\"inputSchema\":{\"x\":\"");
	fill(&b, "x", 2u << 20);
	buf_adds(&b, "\"}}]}}\n");
	is_int(hear_bytes(&c, b.data, b.len).code, E_PROTOCOL, "a description without end");
	mcp_client_free(&c);

	char name[200];
	for (int len = MCP_TOOL_NAME_MAX; len <= MCP_TOOL_NAME_MAX + 1; len++) {
		mcp_client_init(&c);
		if (mcp_client_start(&c, NULL) < 0)
			exit(99);
		memset(name, 'n', sizeof(name));
		name[len] = '\0';
		buf_reset(&b);
		buf_addf(
			&b,
			INIT_OK "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"tools\":["
				"{\"name\":\"%s\",\"inputSchema\":{}}]}}\n",
			name);
		is_int(hear(&c, buf_str(&b)).code, len == MCP_TOOL_NAME_MAX ? 0 : E_PROTOCOL, "a name of %d characters",
		       len);
		mcp_client_free(&c);
	}
	buf_free(&b);
}

int main(void)
{
	test_good();
	test_cuts();
	test_results();
	test_hostile();
	test_ignored();
	test_bounds();
	test_many();
	return tap_end();
}
