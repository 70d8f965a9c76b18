#include "core/adapter/mcp_client.h"

#include <string.h>

#include "config.h"

static const char *const versions[] = { "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05" };
#define ASK_VERSION "2025-06-18" /* all that we use is in it */

#define OUT_MAX (4u * MCP_LINE_MAX)
#define ID_MAX 256

void mcp_client_init(struct mcp_client *c)
{
	*c = (struct mcp_client){ .out = BUF_INIT(OUT_MAX), .result = MCP_RESULT_INIT };
	jsonl_init(&c->in, MCP_LINE_MAX);
}

void mcp_client_free(struct mcp_client *c)
{
	jsonl_free(&c->in);
	buf_free(&c->out);
	buf_free(&c->result.buf);
	json_free(&c->message);
	json_free(&c->tools);
}

/* Ends the conversation; `err` has the reason. */
static int die(struct mcp_client *c, int code, struct err *err)
{
	c->state = MCP_DEAD;
	c->dead = *err;
	jsonl_free(&c->in);
	return code;
}

static int still_dead(const struct mcp_client *c, struct err *err)
{
	return err_set(err, c->dead.code, "%s", c->dead.text);
}

static struct mcp_pending *find_id(struct mcp_client *c, int64_t id)
{
	for (size_t i = 0; i < ARRAY_LEN(c->pending); i++)
		if (c->pending[i].id == id)
			return &c->pending[i];
	return NULL;
}

static struct mcp_pending *find_tag(struct mcp_client *c, uint64_t tag)
{
	for (size_t i = 0; i < ARRAY_LEN(c->pending); i++)
		if (c->pending[i].id && c->pending[i].ask == MCP_ASK_CALL && c->pending[i].tag == tag)
			return &c->pending[i];
	return NULL;
}

size_t mcp_client_open_calls(const struct mcp_client *c)
{
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(c->pending); i++)
		n += c->pending[i].id && c->pending[i].ask == MCP_ASK_CALL;
	return n;
}

/* A message that could not be queued whole is not queued at all. */
static int keep_or_undo(struct mcp_client *c, size_t mark, struct err *err)
{
	int r = buf_check(&c->out, "messages to the tool server", err);

	if (r < 0) {
		c->out.failed = 0;
		c->out.len = mark;
		if (c->out.data)
			c->out.data[mark] = '\0';
	}
	return r;
}

static int64_t begin_request(struct mcp_client *c, const char *method)
{
	buf_addf(&c->out, "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"method\":\"%s\",\"params\":", (long long)++c->last_id,
		 method);
	return c->last_id;
}

/* There is always a slot: calls are counted, and of the two others one each is open. */
static void expect(struct mcp_client *c, int64_t id, enum mcp_ask ask, uint64_t tag)
{
	struct mcp_pending *slot = find_id(c, 0);

	if (slot)
		*slot = (struct mcp_pending){ .id = id, .ask = ask, .tag = tag };
}

int mcp_client_start(struct mcp_client *c, struct err *err)
{
	size_t mark = c->out.len;
	int64_t id;
	int r;

	if (c->state != MCP_NEW)
		return err_set(err, E_INVALID, "tool server: already asked");
	id = begin_request(c, "initialize");
	buf_adds(&c->out, "{\"protocolVersion\":\"" ASK_VERSION "\",\"capabilities\":{},"
			  "\"clientInfo\":{\"name\":\"warder\",\"version\":\"" PACKAGE_VERSION "\"}}}\n");
	r = keep_or_undo(c, mark, err);
	if (r < 0)
		return r;
	expect(c, id, MCP_ASK_INITIALIZE, 0);
	c->state = MCP_ASKED;
	return 0;
}

static int ask_page(struct mcp_client *c, const char *cursor, struct err *err)
{
	size_t mark = c->out.len;
	int64_t id = begin_request(c, "tools/list");

	if (cursor) {
		buf_adds(&c->out, "{\"cursor\":");
		json_write_string(cursor, strlen(cursor), &c->out);
		buf_adds(&c->out, "}}\n");
	} else {
		buf_adds(&c->out, "{}}\n");
	}

	int r = keep_or_undo(c, mark, err);
	if (r == 0)
		expect(c, id, MCP_ASK_LIST, 0);
	return r;
}

static int begin_list(struct mcp_client *c, struct err *err)
{
	json_free(&c->tools);
	c->tools = cJSON_CreateArray();
	c->pages = 0;
	c->list_len = 0;
	if (!c->tools)
		return err_set(err, E_NOMEM, "tools/list: out of memory");

	int r = ask_page(c, NULL, err);
	c->listing = r == 0;
	return r;
}

int mcp_client_list(struct mcp_client *c, struct err *err)
{
	if (c->state != MCP_READY)
		return err_set(err, E_INVALID, "tool server: not ready");
	return c->listing ? 0 : begin_list(c, err);
}

int mcp_client_call(struct mcp_client *c, uint64_t tag, const char *name, const json_node *args, const char *cwd,
		    struct err *err)
{
	size_t mark = c->out.len;
	int64_t id;
	int r;

	if (c->state != MCP_READY)
		return err_set(err, E_INVALID, "tool server: not ready");
	if (find_tag(c, tag))
		return err_set(err, E_EXISTS, "tool server: a call with this tag is open");
	if (mcp_client_open_calls(c) >= MCP_CALLS_MAX)
		return err_set(err, E_BUSY, "tool server: %d calls are open", MCP_CALLS_MAX);
	id = begin_request(c, "tools/call");
	buf_adds(&c->out, "{\"name\":");
	json_write_string(name, strlen(name), &c->out);
	buf_adds(&c->out, ",\"arguments\":");
	if (args)
		json_write(args, &c->out);
	else
		buf_adds(&c->out, "{}");
	if (cwd) {
		buf_adds(&c->out, ",\"_meta\":{\"warder\":{\"cwd\":");
		json_write_string(cwd, strlen(cwd), &c->out);
		buf_adds(&c->out, "}}");
	}
	buf_adds(&c->out, "}}\n");
	if (c->out.len - mark > MCP_LINE_MAX && !c->out.failed)
		c->out.failed = E_LIMIT;
	r = keep_or_undo(c, mark, err);
	if (r == 0)
		expect(c, id, MCP_ASK_CALL, tag);
	return r;
}

void mcp_client_cancel(struct mcp_client *c, uint64_t tag)
{
	struct mcp_pending *call = find_tag(c, tag);
	size_t mark = c->out.len;

	if (!call || c->state != MCP_READY)
		return;
	buf_addf(&c->out,
		 "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":%lld}}\n",
		 (long long)call->id);
	(void)!keep_or_undo(c, mark, NULL);
}

void mcp_client_forget(struct mcp_client *c, uint64_t tag)
{
	struct mcp_pending *call = find_tag(c, tag);

	if (call)
		call->id = 0;
}

static int on_initialized(struct mcp_client *c, const json_node *result, struct mcp_event *ret, struct err *err)
{
	const char *version = json_get_str(result, "protocolVersion");
	const char *server = json_get_str(json_get(result, "serverInfo"), "name");
	const json_node *capabilities = json_get(result, "capabilities");
	bool known = false;

	for (size_t i = 0; version && i < ARRAY_LEN(versions); i++)
		known |= strcmp(versions[i], version) == 0;
	if (!known)
		return err_set(err, E_PROTOCOL, "initialize: the server speaks a revision that we do not, %.40s",
			       version ? version : "unnamed");
	if (!cJSON_IsObject(capabilities))
		return err_set(err, E_PROTOCOL, "initialize: no capabilities");
	if (!json_get(capabilities, "tools"))
		return err_set(err, E_PROTOCOL, "initialize: the server offers no tools");
	buf_adds(&c->out, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
	c->state = MCP_READY;

	int r = begin_list(c, err);
	if (r < 0)
		return r;
	*ret = (struct mcp_event){ .kind = MCP_EVENT_READY, .version = version, .server = server ? server : "" };
	return 1;
}

static int on_page(struct mcp_client *c, const json_node *result, struct mcp_event *ret, struct err *err)
{
	const json_node *cursor = json_get(result, "nextCursor");
	int r;

	c->list_len += c->line_len;
	if (c->list_len > MCP_LIST_MAX)
		return err_set(err, E_PROTOCOL, "tools/list: more than %u bytes", MCP_LIST_MAX);
	r = mcp_tools_take((json_node *)json_get(result, "tools"), c->tools, err);
	if (r < 0)
		return r;
	if (cursor && !cJSON_IsNull(cursor)) {
		if (!cJSON_IsString(cursor) || ++c->pages == MCP_PAGES_MAX)
			return err_set(err, E_PROTOCOL, "tools/list: a wrong cursor, or more than %d pages",
				       MCP_PAGES_MAX);
		return ask_page(c, cursor->valuestring, err);
	}
	c->listing = false;
	*ret = (struct mcp_event){ .kind = MCP_EVENT_TOOLS, .tools = c->tools };
	return 1;
}

static int on_response(struct mcp_client *c, struct mcp_event *ret, struct err *err)
{
	const json_node *result = json_get(c->message, "result"), *error = json_get(c->message, "error");
	int64_t id = json_get_int(c->message, "id", -1);
	struct mcp_pending *slot = id > 0 ? find_id(c, id) : NULL;

	if (!result == !error || (error && !cJSON_IsObject(error)))
		return err_set(err, E_PROTOCOL, "a message that is neither a request nor one reply");
	if (error && cJSON_IsNull(json_get(c->message, "id")))
		return err_set(err, E_PROTOCOL, "the server could not read a message of ours: %.200s",
			       json_get_str(error, "message") ? json_get_str(error, "message") : "");
	if (!slot) {
		c->ignored++;
		return 0;
	}

	struct mcp_pending asked = *slot;
	slot->id = 0;
	if (error && asked.ask != MCP_ASK_CALL)
		return err_set(err, E_PROTOCOL, "the server refuses to say what it is: %.200s",
			       json_get_str(error, "message") ? json_get_str(error, "message") : "");
	switch (asked.ask) {
	case MCP_ASK_INITIALIZE:
		return on_initialized(c, result, ret, err);
	case MCP_ASK_LIST:
		return on_page(c, result, ret, err);
	case MCP_ASK_CALL:
		break;
	}

	int r = 0;
	if (error)
		mcp_result_read_error(error, &c->result);
	else
		r = mcp_result_read(result, &c->result, err);
	if (r < 0)
		return r;
	*ret = (struct mcp_event){ .kind = MCP_EVENT_RESULT, .tag = asked.tag, .result = &c->result };
	return 1;
}

/* We declared nothing that a server could use, so `ping` is all that there is to answer. */
static int on_request(struct mcp_client *c, const char *method, struct err *err)
{
	_cleanup_buf_ struct buf id = BUF_INIT(ID_MAX);

	if (!json_get_str(c->message, "id") && json_get_int(c->message, "id", INT64_MIN) == INT64_MIN)
		return err_set(err, E_PROTOCOL, "a request whose id is neither a string nor a whole number");
	json_write(json_get(c->message, "id"), &id);
	if (id.failed || c->out.len > MCP_UNSENT_MAX)
		return err_set(err, E_PROTOCOL, "requests that are too long or too many");
	buf_addf(&c->out, "{\"jsonrpc\":\"2.0\",\"id\":%s,", buf_str(&id));
	if (strcmp(method, "ping") == 0)
		buf_adds(&c->out, "\"result\":{}}\n");
	else
		buf_adds(&c->out, "\"error\":{\"code\":-32601,\"message\":\"unknown method\"}}\n");
	return buf_check(&c->out, "messages to the tool server", err);
}

static int on_notification(struct mcp_client *c, const char *method, struct mcp_event *ret)
{
	if (c->state == MCP_READY && !c->listing && strcmp(method, "notifications/tools/list_changed") == 0) {
		*ret = (struct mcp_event){ .kind = MCP_EVENT_TOOLS_CHANGED };
		return 1;
	}
	c->ignored++;
	return 0;
}

/* 1 and an event, 0 when the message makes none. */
static int on_message(struct mcp_client *c, struct mcp_event *ret, struct err *err)
{
	const char *version = json_get_str(c->message, "jsonrpc");
	const json_node *method = json_get(c->message, "method"), *params = json_get(c->message, "params");

	if (!cJSON_IsObject(c->message) || !version || strcmp(version, "2.0") != 0)
		return err_set(err, E_PROTOCOL, "a line that is no JSON-RPC 2.0 message");
	if (!method)
		return on_response(c, ret, err);
	if (!cJSON_IsString(method) || (params && !cJSON_IsObject(params)) || json_get(c->message, "result") ||
	    json_get(c->message, "error"))
		return err_set(err, E_PROTOCOL, "a request with members of a wrong type");
	return json_get(c->message, "id") ? on_request(c, method->valuestring, err)
					  : on_notification(c, method->valuestring, ret);
}

int mcp_client_feed(struct mcp_client *c, const void *data, size_t len, struct err *err)
{
	struct err why = { 0 };

	if (c->state == MCP_DEAD)
		return still_dead(c, err);

	int r = jsonl_add(&c->in, data, len, &why);
	if (r < 0) {
		(void)!die(c, r, &why);
		return still_dead(c, err);
	}
	return 0;
}

int mcp_client_next(struct mcp_client *c, struct mcp_event *ret, struct err *err)
{
	struct err why = { 0 };
	const char *line;
	int r = 0;

	if (c->state == MCP_DEAD)
		return still_dead(c, err);
	while (r == 0) {
		json_free(&c->message);
		r = jsonl_next(&c->in, &line, &c->line_len, &why);
		if (r == 0)
			return 0;
		if (r > 0)
			r = jsonl_parse(line, c->line_len, &c->message, &why);
		if (r == 0)
			r = on_message(c, ret, &why);
	}
	if (r > 0)
		return r;
	/* Whatever was wrong with it, it is the peer's doing, but for memory. */
	if (r != E_NOMEM)
		why.code = E_PROTOCOL;
	err_prefix(&why, "tool server");
	(void)!die(c, r, &why);
	return still_dead(c, err);
}
