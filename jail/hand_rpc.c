#include "config.h"

#include "jail/hand_rpc.h"

#include <limits.h>
#include <string.h>

#include "core/base/jsonl.h"

enum { PARSE_ERROR = -32700, INVALID_REQUEST = -32600, NO_METHOD = -32601, INVALID_PARAMS = -32602, INTERNAL = -32603 };

/* Newest first: it is the answer to a client that asks for something else. */
static const char *const versions[] = { "2025-06-18", "2025-03-26", "2024-11-05" };

struct request {
	const char *id;          /* JSON text, NULL for a notification */
	const json_node *params; /* an object or NULL */
	json_node *message;
};

void hand_rpc_init(struct hand_rpc *rpc, struct hand *hand, const struct hand_tool *tools, size_t ntools)
{
	*rpc = (struct hand_rpc){
		.out = BUF_INIT(HAND_BACKLOG_MAX + (HAND_CALLS_MAX + 1) * (6u * HAND_TEXT_MAX + 4096)),
		.hand = hand,
		.tools = tools,
		.ntools = ntools,
	};
}

static void free_call(struct hand_call *call)
{
	cJSON_Delete(call->args);
	free(call->folder);
	free(call);
}

void hand_rpc_free(struct hand_rpc *rpc)
{
	while (rpc->calls) {
		struct hand_call *call = rpc->calls;

		rpc->calls = call->next;
		free_call(call);
	}
	buf_free(&rpc->out);
}

static void reply_error(struct hand_rpc *rpc, const char *id, int code, const char *text)
{
	buf_addf(&rpc->out, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":%d,\"message\":", id ? id : "null",
		 code);
	json_write_string(text, strlen(text), &rpc->out);
	buf_adds(&rpc->out, "}}\n");
}

static void reply_begin(struct hand_rpc *rpc, const char *id)
{
	buf_addf(&rpc->out, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":", id);
}

static void reply_end(struct hand_rpc *rpc)
{
	buf_adds(&rpc->out, "}\n");
}

static void reply_result(struct hand_rpc *rpc, const char *id, const struct hand_result *result)
{
	struct buf *out = &rpc->out;

	reply_begin(rpc, id);
	buf_adds(out, "{\"content\":[{\"type\":\"text\",\"text\":");
	json_write_string(buf_str(&result->text), result->text.len, out);
	/* In _meta and not in structuredContent: clients show the model the latter instead of the text. */
	buf_addf(out, "}],\"isError\":%s,\"_meta\":{\"warder\":{\"outcome\":\"%s\"",
		 result->outcome == HAND_OK ? "false" : "true", hand_outcome_name(result->outcome));
	if (result->exit_status >= 0)
		buf_addf(out, ",\"exit_status\":%d", result->exit_status);
	if (result->folder) {
		buf_adds(out, ",\"cwd\":");
		json_write_string(result->folder, strlen(result->folder), out);
	}
	buf_addf(out, ",\"bytes_dropped\":%llu}}}", (unsigned long long)result->dropped);
	reply_end(rpc);
}

static void reply_failure(struct hand_rpc *rpc, const char *id, const char *text)
{
	struct hand_result result = HAND_RESULT_INIT;

	result.outcome = HAND_ERROR;
	buf_adds(&result.text, text);
	reply_result(rpc, id, &result);
	buf_free(&result.text);
}

static void on_initialize(struct hand_rpc *rpc, const struct request *req)
{
	const char *wanted = json_get_str(req->params, "protocolVersion");
	const char *version = versions[0];

	if (!wanted) {
		reply_error(rpc, req->id, INVALID_PARAMS, "protocolVersion: must be a string");
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(versions); i++)
		if (strcmp(versions[i], wanted) == 0)
			version = versions[i];
	rpc->initialized = true;
	reply_begin(rpc, req->id);
	buf_addf(&rpc->out,
		 "{\"protocolVersion\":\"%s\",\"capabilities\":{\"tools\":{\"listChanged\":false}},"
		 "\"serverInfo\":{\"name\":\"warder-hand\",\"version\":\"" PACKAGE_VERSION "\"}}",
		 version);
	reply_end(rpc);
}

static void on_ping(struct hand_rpc *rpc, const struct request *req)
{
	reply_begin(rpc, req->id);
	buf_adds(&rpc->out, "{}");
	reply_end(rpc);
}

static void on_list(struct hand_rpc *rpc, const struct request *req)
{
	if (json_get(req->params, "cursor")) {
		reply_error(rpc, req->id, INVALID_PARAMS, "cursor: there is one page only");
		return;
	}
	reply_begin(rpc, req->id);
	buf_adds(&rpc->out, "{\"tools\":[");
	for (size_t i = 0; i < rpc->ntools; i++) {
		if (i)
			buf_addc(&rpc->out, ',');
		hand_tool_describe(&rpc->tools[i], &rpc->out);
	}
	buf_adds(&rpc->out, "]}");
	reply_end(rpc);
}

static struct hand_call **find_call(struct hand_rpc *rpc, const char *id)
{
	struct hand_call **at = &rpc->calls;

	while (*at && strcmp((*at)->id, id) != 0)
		at = &(*at)->next;
	return at;
}

static void run_tool(struct hand_rpc *rpc, const struct hand_tool *tool, const char *id, const json_node *args)
{
	struct hand_result result = HAND_RESULT_INIT;
	struct err err = { 0 };

	if (tool->run(args, &result.text, &err) < 0 || buf_check(&result.text, tool->name, &err) < 0)
		reply_failure(rpc, id, err.text);
	else
		reply_result(rpc, id, &result);
	buf_free(&result.text);
}

static void start_tool(struct hand_rpc *rpc, const struct hand_tool *tool, const struct request *req,
		       const char *folder)
{
	struct hand_call *call = calloc(1, sizeof(*call));

	if (call && folder)
		call->folder = strdup(folder);
	if (!call || (folder && !call->folder)) {
		free(call);
		reply_error(rpc, req->id, INTERNAL, "out of memory");
		return;
	}
	call->tool = tool;
	call->args = cJSON_DetachItemFromObjectCaseSensitive((json_node *)req->params, "arguments");
	memcpy(call->id, req->id, strlen(req->id) + 1);
	call->next = rpc->calls;
	rpc->calls = call;
	rpc->ncalls++;
	tool->start(rpc->hand, call);
}

static void on_call(struct hand_rpc *rpc, const struct request *req)
{
	const char *name = json_get_str(req->params, "name");
	const json_node *args = json_get(req->params, "arguments");
	const json_node *ours = json_get(json_get(req->params, "_meta"), "warder");
	const char *folder = json_get_str(ours, "cwd");
	const struct hand_tool *tool = NULL;
	struct err err = { 0 };

	if (ours && (!folder || folder[0] != '/' || strlen(folder) >= PATH_MAX)) {
		reply_error(rpc, req->id, INVALID_PARAMS, "_meta.warder.cwd: must be an absolute path");
		return;
	}
	if (!name || (args && !cJSON_IsObject(args))) {
		reply_error(rpc, req->id, INVALID_PARAMS,
			    name ? "arguments: must be an object" : "name: must be a string");
		return;
	}
	for (size_t i = 0; i < rpc->ntools; i++)
		if (strcmp(rpc->tools[i].name, name) == 0)
			tool = &rpc->tools[i];
	if (!tool)
		reply_error(rpc, req->id, INVALID_PARAMS, "name: unknown tool");
	else if (hand_tool_check(tool, args, &err) < 0)
		reply_failure(rpc, req->id, err.text);
	else if (tool->run)
		run_tool(rpc, tool, req->id, args);
	else if (rpc->ncalls >= HAND_CALLS_MAX)
		reply_failure(rpc, req->id, "too many calls are running; wait for one to end");
	else
		start_tool(rpc, tool, req, folder);
}

/* The id of a request below `key` as JSON text: a string or a whole number, of bounded length. */
static bool write_id(const json_node *object, const char *key, char ret[HAND_ID_MAX + 1])
{
	struct buf text = BUF_INIT(HAND_ID_MAX);
	bool good = json_get_str(object, key) || json_get_int(object, key, INT64_MIN) != INT64_MIN;

	if (good) {
		json_write(json_get(object, key), &text);
		good = !text.failed;
	}
	if (good)
		memcpy(ret, buf_str(&text), text.len + 1);
	buf_free(&text);
	return good;
}

static void on_cancelled(struct hand_rpc *rpc, const struct request *req)
{
	char id[HAND_ID_MAX + 1];

	if (!write_id(req->params, "requestId", id))
		return;

	struct hand_call *call = *find_call(rpc, id);

	if (call)
		call->tool->cancel(rpc->hand, call);
}

static const struct {
	const char *name;
	bool notification;
	bool early; /* before initialize */
	void (*run)(struct hand_rpc *rpc, const struct request *req);
} methods[] = {
	{ "initialize", false, true, on_initialize },
	{ "ping", false, true, on_ping },
	{ "tools/list", false, false, on_list },
	{ "tools/call", false, false, on_call },
	{ "notifications/cancelled", true, false, on_cancelled },
};

static void dispatch(struct hand_rpc *rpc, const struct request *req, const char *method)
{
	for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
		if (strcmp(methods[i].name, method) != 0 || methods[i].notification != !req->id)
			continue;
		if (rpc->initialized || methods[i].early)
			methods[i].run(rpc, req);
		else if (req->id)
			reply_error(rpc, req->id, INVALID_REQUEST, "not initialized: send initialize first");
		return;
	}
	if (req->id)
		reply_error(rpc, req->id, NO_METHOD, "unknown method");
}

/* What is wrong with the envelope, or NULL. */
static const char *check_envelope(struct hand_rpc *rpc, const json_node *message, char id[HAND_ID_MAX + 1],
				  struct request *ret)
{
	const json_node *params;
	const char *version;

	if (!cJSON_IsObject(message))
		return "a message must be one JSON object";
	if (json_get(message, "id")) {
		if (!write_id(message, "id", id))
			return "id: must be a short string or a whole number";
		ret->id = id;
	}
	version = json_get_str(message, "jsonrpc");
	if (!version || strcmp(version, "2.0") != 0)
		return "jsonrpc: must be \"2.0\"";
	if (!json_get_str(message, "method"))
		return "method: must be a string";
	params = json_get(message, "params");
	if (params && !cJSON_IsObject(params))
		return "params: must be an object";
	ret->params = params;
	if (ret->id && *find_call(rpc, id)) {
		ret->id = NULL;
		return "id: belongs to a call that is still running";
	}
	return NULL;
}

void hand_rpc_line(struct hand_rpc *rpc, const char *line, size_t len)
{
	_cleanup_json_ json_node *message = NULL;
	struct request req = { 0 };
	char id[HAND_ID_MAX + 1];
	struct err err;
	const char *wrong;
	int r = jsonl_parse(line, len, &message, &err);

	if (r < 0) {
		reply_error(rpc, NULL, r == E_NOMEM ? INTERNAL : PARSE_ERROR, err.text);
		return;
	}
	/* We ask the client nothing, so its replies answer nothing. */
	if (cJSON_IsObject(message) && !json_get(message, "method") &&
	    (json_get(message, "result") || json_get(message, "error")))
		return;
	wrong = check_envelope(rpc, message, id, &req);
	if (wrong)
		reply_error(rpc, req.id, INVALID_REQUEST, wrong);
	else
		dispatch(rpc, &req, json_get_str(message, "method"));
}

void hand_rpc_too_long(struct hand_rpc *rpc)
{
	reply_error(rpc, NULL, PARSE_ERROR, "the line is longer than 8 MiB");
}

void hand_rpc_end(struct hand_rpc *rpc, struct hand_call *call, const struct hand_result *result)
{
	struct hand_call **at = find_call(rpc, call->id);

	*at = call->next;
	rpc->ncalls--;
	if (result->text.failed)
		reply_failure(rpc, call->id, "the result does not fit into memory");
	else
		reply_result(rpc, call->id, result);
	free_call(call);
}
