#include "core/adapter/mcp_result.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static const char *const outcomes[] = {
	[MCP_OK] = "ok",
	[MCP_ERROR] = "error",
	[MCP_TIMEOUT] = "timeout",
	[MCP_CANCELLED] = "cancelled",
};

const char *mcp_outcome_name(enum mcp_outcome outcome)
{
	return outcomes[outcome];
}

/* Adds what fits, whole characters only, and counts the rest. */
static void add_text(struct mcp_result *r, const char *text)
{
	size_t len = strlen(text), room = r->left_out ? 0 : MCP_TEXT_MAX - r->buf.len;

	if (len > room) {
		size_t cut = room;

		while (cut && ((unsigned char)text[cut] & 0xc0) == 0x80)
			cut--;
		r->left_out += len - cut;
		len = cut;
	}
	buf_add(&r->buf, text, len);
}

/* The parts of a block's description are the server's words, which may be as long as they like. */
static void add_described(struct mcp_result *r, const char *what, const char *detail)
{
	add_text(r, "[");
	add_text(r, what);
	if (detail) {
		add_text(r, ": ");
		add_text(r, detail);
	}
	add_text(r, "]");
}

static int add_block(struct mcp_result *r, const json_node *block, struct err *err)
{
	const char *type = json_get_str(block, "type");
	const json_node *resource = json_get(block, "resource");

	if (!type)
		return err_set(err, E_PROTOCOL, "tools/call: a content block without a type");
	/* One line of its own for each block, as a model would see separate blocks. */
	if (r->buf.len && r->buf.data[r->buf.len - 1] != '\n')
		add_text(r, "\n");
	if (strcmp(type, "text") == 0) {
		const char *text = json_get_str(block, "text");

		if (!text)
			return err_set(err, E_PROTOCOL, "tools/call: a text block without text");
		add_text(r, text);
	} else if (strcmp(type, "resource") == 0 && json_get_str(resource, "text")) {
		add_described(r, "resource", json_get_str(resource, "uri"));
		add_text(r, "\n");
		add_text(r, json_get_str(resource, "text"));
	} else if (strcmp(type, "resource_link") == 0) {
		add_described(r, "resource link", json_get_str(block, "uri"));
	} else {
		add_described(r, "content that is not text", type);
	}
	return 0;
}

/* What our own hand adds; from others it is absent, and isError alone decides. */
static int read_outcome(const json_node *meta, bool is_error, enum mcp_outcome *ret, struct err *err)
{
	const json_node *ours = json_get(meta, "warder");
	const char *name = json_get_str(ours, "outcome");

	if (!ours) {
		*ret = is_error ? MCP_ERROR : MCP_OK;
		return 0;
	}
	for (size_t i = 0; name && i < ARRAY_LEN(outcomes); i++)
		if (strcmp(outcomes[i], name) == 0) {
			*ret = (enum mcp_outcome)i;
			return 0;
		}
	return err_set(err, E_PROTOCOL, "tools/call: an outcome that a server cannot claim");
}

static int read_folder(const json_node *meta, const char **ret, struct err *err)
{
	const json_node *cwd = json_get(json_get(meta, "warder"), "cwd");

	if (cwd && (!cJSON_IsString(cwd) || cwd->valuestring[0] != '/' || strlen(cwd->valuestring) >= PATH_MAX))
		return err_set(err, E_PROTOCOL, "tools/call: a folder that is no absolute path");
	*ret = cwd ? cwd->valuestring : NULL;
	return 0;
}

int mcp_result_read(const json_node *result, struct mcp_result *ret, struct err *err)
{
	const json_node *content = json_get(result, "content");
	const json_node *is_error = json_get(result, "isError");
	const json_node *structured = json_get(result, "structuredContent");
	const json_node *meta = json_get(result, "_meta");
	const json_node *block;
	int r;

	buf_reset(&ret->buf);
	ret->left_out = 0;
	ret->cwd = NULL;
	if (!cJSON_IsObject(result) || !(cJSON_IsArray(content) || (!content && structured)))
		return err_set(err, E_PROTOCOL, "tools/call: a result without content");
	if ((is_error && !cJSON_IsBool(is_error)) || (meta && !cJSON_IsObject(meta)))
		return err_set(err, E_PROTOCOL, "tools/call: isError or _meta of a wrong type");
	cJSON_ArrayForEach (block, content) {
		r = add_block(ret, block, err);
		if (r < 0)
			return r;
	}
	if (!content)
		add_described(ret, "content that is not text", "structured");

	bool failed = cJSON_IsTrue(is_error);
	r = read_outcome(meta, failed, &ret->outcome, err);
	if (r == 0)
		r = read_folder(meta, &ret->cwd, err);
	if (r < 0)
		return r;
	/* Where the two claims differ the worse one holds. */
	if (failed && ret->outcome == MCP_OK)
		ret->outcome = MCP_ERROR;
	ret->is_error = ret->outcome != MCP_OK;
	if (ret->left_out)
		buf_addf(&ret->buf, "\n[\xe2\x80\xa6 %llu bytes left out]", (unsigned long long)ret->left_out);
	ret->text = buf_str(&ret->buf);
	return buf_check(&ret->buf, "tools/call", err);
}

void mcp_result_read_error(const json_node *error, struct mcp_result *ret)
{
	const char *message = json_get_str(error, "message");
	char code[64];

	snprintf(code, sizeof(code),
		 "the tool server refuses the call, error %lld: ", (long long)json_get_int(error, "code", 0));
	buf_reset(&ret->buf);
	ret->left_out = 0;
	ret->cwd = NULL;
	ret->outcome = MCP_ERROR;
	ret->is_error = true;
	add_text(ret, code);
	add_text(ret, message ? message : "no message");
	ret->text = buf_str(&ret->buf);
}

static bool is_tool_name(const char *name)
{
	size_t len = name ? strlen(name) : 0;

	return len && len <= MCP_TOOL_NAME_MAX &&
	       strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-") == len;
}

static int check_tool(const json_node *tool, const json_node *known, struct err *err)
{
	const char *name = json_get_str(tool, "name");
	const json_node *text = json_get(tool, "description"), *hints = json_get(tool, "annotations"), *other;

	if (!is_tool_name(name))
		return err_set(err, E_PROTOCOL, "tools/list: a tool without a proper name");
	if (!cJSON_IsObject(json_get(tool, "inputSchema")))
		return err_set(err, E_PROTOCOL, "tools/list: %s has no inputSchema", name);
	if ((text && !cJSON_IsString(text)) || (hints && !cJSON_IsObject(hints)))
		return err_set(err, E_PROTOCOL, "tools/list: %s has a member of a wrong type", name);
	cJSON_ArrayForEach (other, known)
		if (strcmp(json_get_str(other, "name"), name) == 0)
			return err_set(err, E_PROTOCOL, "tools/list: %s is there twice", name);
	return 0;
}

int mcp_tools_take(json_node *page, json_node *tools, struct err *err)
{
	int n = cJSON_GetArraySize(tools);

	if (!cJSON_IsArray(page))
		return err_set(err, E_PROTOCOL, "tools/list: no array of tools");
	while (page->child) {
		json_node *tool = cJSON_DetachItemViaPointer(page, page->child);
		int r = check_tool(tool, tools, err);

		if (r == 0 && ++n > MCP_TOOLS_MAX)
			r = err_set(err, E_PROTOCOL, "tools/list: more than %d tools", MCP_TOOLS_MAX);
		if (r < 0) {
			cJSON_Delete(tool);
			return r;
		}
		cJSON_AddItemToArray(tools, tool);
	}
	return 0;
}
