#include "store/preview.h"

#include <string.h>

#include "core/base/macro.h"
#include "core/base/safe_text.h"
#include "store/event.h"

/* More than EVENT_PREVIEW_COLUMNS columns of any text that has columns; what follows is not looked at. */
#define RAW_MAX 4096
#define LIST_MAX 8
#define FIELDS_MAX 5

/* A new kind of event is a row here: the members that tell, in their order, warder's own words before those of the
 * agent.  Those that are absent are left out. */
static const struct {
	const char *kind;
	const char *fields[FIELDS_MAX];
} kinds[] = {
	{ "session.created", { "level", "preset", "brain", "workspace" } },
	{ "session.status_running", { "reason" } },
	{ "session.status_idle", { "stop_reason" } },
	{ "session.status_rescheduled", { "reason" } },
	{ "session.status_terminated", { "reason" } },
	{ "session.error", { "kind", "message", "retry_status" } },
	{ "user.message", { "content", "text" } },
	{ "user.interrupt", { "reason" } },
	{ "user.tool_confirmation", { "result", "scope", "deny_message" } },
	{ "agent.message", { "content", "text" } },
	{ "agent.thinking", { "content", "thinking" } },
	{ "agent.tool_use", { "name", "input" } },
	{ "agent.tool_result", { "outcome", "content" } },
	{ "agent.mcp_tool_use", { "server", "name", "input" } },
	{ "agent.mcp_tool_result", { "outcome", "content" } },
	{ "span.model_request_start", { "model" } },
	{ "span.model_request_end", { "stop_reason", "model_usage" } },
	{ "policy.verdict", { "decision", "effects", "rule", "why" } },
	{ "approval.requested", { "effects", "action" } },
	{ "approval.expired", { "why" } },
	{ "tool.started", { "tool_use_id" } },
	{ "jail.provisioned", { "level", "missing" } },
	{ "jail.destroyed", { "why" } },
	{ "changes.staged", { "paths" } },
	{ "changes.applied", { "paths" } },
	{ "changes.discarded", { "paths" } },
	{ "log.erased", { "request" } },
};

/* The argument by which a call is recognised, in the order of preference. */
static const char *const main_arguments[] = { "command", "file_path", "path",   "pattern", "query",
					      "url",     "prompt",    "message", "text",    "thinking", "type" };

static void put(struct buf *raw, const char *text, size_t len)
{
	size_t room = raw->max - raw->len;

	buf_add(raw, text, len < room ? len : room);
}

static void put_text(struct buf *raw, const char *text)
{
	put(raw, text, strlen(text));
}

/* The first line that is not blank; an ellipsis says that there are more. */
static void put_line(struct buf *raw, const char *text)
{
	text += strspn(text, " \t\r\n");
	size_t len = strcspn(text, "\r\n");
	put(raw, text, len);
	if (text[len + strspn(text + len, " \t\r\n")])
		put_text(raw, " \u2026");
}

static void put_value(struct buf *raw, const json_node *value);

static void put_list(struct buf *raw, const json_node *list)
{
	const json_node *item;
	size_t n = 0;

	cJSON_ArrayForEach(item, list) {
		const char *status = json_get_str(item, "status");

		/* The cell's own repository is in every change and in none that is applied. */
		if (status && strcmp(status, "withheld") == 0)
			continue;
		if (n == LIST_MAX) {
			put_text(raw, " \u2026");
			return;
		}
		if (n++)
			put_text(raw, ", ");
		put_value(raw, item);
	}
}

static void put_json(struct buf *raw, const json_node *value)
{
	_cleanup_buf_ struct buf text = BUF_INIT(16 * RAW_MAX);

	/* Writing stops at the first piece that does not fit; what came before is enough. */
	json_write(value, &text);
	put(raw, buf_str(&text), text.len);
}

/* Counters: "input_tokens 3, output_tokens 4".  False for an object that holds anything else. */
static bool put_numbers(struct buf *raw, const json_node *object)
{
	const json_node *member;

	cJSON_ArrayForEach(member, object) {
		if (!cJSON_IsNumber(member))
			return false;
	}
	cJSON_ArrayForEach(member, object) {
		if (member != object->child)
			put_text(raw, ", ");
		put_text(raw, member->string);
		put_text(raw, " ");
		put_json(raw, member);
	}
	return true;
}

/* A call {name|tool, input} by its name and main argument, a block or an input by its main argument. */
static void put_object(struct buf *raw, const json_node *object)
{
	const char *tool = json_get_str(object, "tool");
	const json_node *input = json_get(object, "input");

	if (!tool)
		tool = json_get_str(object, "name");
	if (tool && cJSON_IsObject(input)) {
		put_text(raw, tool);
		if (input->child)
			put_text(raw, " ");
		put_object(raw, input);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(main_arguments); i++) {
		const json_node *value = json_get(object, main_arguments[i]);
		if (cJSON_IsString(value)) {
			put_line(raw, value->valuestring);
			return;
		}
	}
	if (json_get_str(object, "$b64") || json_get_str(json_get(object, "path"), "$b64"))
		put_text(raw, "(not UTF-8)");
	else if (!put_numbers(raw, object))
		put_json(raw, object);
}

static void put_value(struct buf *raw, const json_node *value)
{
	if (cJSON_IsString(value))
		put_line(raw, value->valuestring);
	else if (cJSON_IsArray(value))
		put_list(raw, value);
	else if (cJSON_IsObject(value))
		put_object(raw, value);
	else
		put_json(raw, value);
}

static const char *const *fields_of(const char *kind)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (!strcmp(kinds[i].kind, kind))
			return kinds[i].fields;
	return NULL;
}

void event_preview(const char *kind, const json_node *body, struct buf *out)
{
	_cleanup_buf_ struct buf raw = BUF_INIT(RAW_MAX);
	const char *const *fields = fields_of(kind);

	if (!fields)
		put_value(&raw, body);
	for (size_t i = 0; fields && i < FIELDS_MAX && fields[i]; i++) {
		const json_node *value = json_get(body, fields[i]);
		if (!value || cJSON_IsNull(value) || (cJSON_IsObject(value) && !value->child))
			continue;
		if (raw.len)
			put_text(&raw, " ");
		put_value(&raw, value);
	}
	safe_preview(buf_str(&raw), raw.len, EVENT_PREVIEW_COLUMNS, out);
}
