#include "jail/hand_tool.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "jail/hand_bash.h"
#include "jail/hand_file.h"

#define PATH_PARAM(what) { "file_path", HAND_STRING, true, 1, PATH_MAX - 1, what }
#define TEXT_BYTES_MAX (8 << 20) /* a line of the protocol is not longer */

static const struct hand_param bash_params[] = {
	{ "command", HAND_STRING, false, 1, HAND_COMMAND_MAX, "The command, as given to bash -c." },
	{ "timeout_ms", HAND_INTEGER, false, 1, HAND_TIMEOUT_MAX_MS,
	  "Milliseconds after which the command is stopped. Default 120000." },
	{ "restart", HAND_BOOLEAN, false, 0, 0,
	  "true: first end every process that earlier commands left; without a command also return to the workspace "
	  "folder." },
	{ 0 },
};

static const struct hand_param read_params[] = {
	PATH_PARAM("The file, absolute or relative to the workspace folder."),
	{ "offset", HAND_INTEGER, false, 1, INT32_MAX, "Number of the first line to show, from 1. Default 1." },
	{ "limit", HAND_INTEGER, false, 1, 100000, "How many lines to show at most. Default 2000." },
	{ 0 },
};

static const struct hand_param write_params[] = {
	PATH_PARAM("The file, absolute or relative to the workspace folder. Missing folders are made."),
	{ "content", HAND_STRING, true, 0, TEXT_BYTES_MAX, "The whole new content." },
	{ 0 },
};

static const struct hand_param edit_params[] = {
	PATH_PARAM("The file, absolute or relative to the workspace folder."),
	{ "old_string", HAND_STRING, true, 1, TEXT_BYTES_MAX,
	  "The exact text to replace, without the line numbers that read shows. Without replace_all it must occur "
	  "once." },
	{ "new_string", HAND_STRING, true, 0, TEXT_BYTES_MAX, "The text to put in its place." },
	{ "replace_all", HAND_BOOLEAN, false, 0, 0, "true: replace every occurrence. Default false." },
	{ 0 },
};

const struct hand_tool hand_tools[] = {
	{
		.name = "bash",
		.title = "Run a command",
		.text = "Runs a command with bash and returns what it writes to standard output and standard error, "
			"in order. Each call is a new shell: a changed folder is kept for the next call, variables "
			"are not. Standard input is empty. Of long output the head and the tail are returned. "
			"Processes started in the background go on after the call.",
		.hints = HAND_DESTROYS,
		.params = bash_params,
		.start = hand_bash_start,
		.cancel = hand_bash_cancel,
	},
	{
		.name = "read",
		.title = "Read a file",
		.text = "Shows lines of a text file, each behind its number and a tab.",
		.hints = HAND_READS | HAND_IDEMPOTENT,
		.params = read_params,
		.run = hand_file_read,
	},
	{
		.name = "write",
		.title = "Write a file",
		.text = "Writes a whole file, replacing what was there.",
		.hints = HAND_DESTROYS | HAND_IDEMPOTENT,
		.params = write_params,
		.run = hand_file_write,
	},
	{
		.name = "edit",
		.title = "Edit a file",
		.text = "Replaces an exact piece of text in a file.",
		.hints = HAND_DESTROYS,
		.params = edit_params,
		.run = hand_file_edit,
	},
};
const size_t hand_ntools = ARRAY_LEN(hand_tools);

static const struct {
	const char *json, *said;
} types[] = {
	[HAND_STRING] = { "string", "a string" },
	[HAND_INTEGER] = { "integer", "a whole number" },
	[HAND_BOOLEAN] = { "boolean", "true or false" },
};

const char *hand_outcome_name(enum hand_outcome outcome)
{
	static const char *const names[] = {
		[HAND_OK] = "ok",
		[HAND_ERROR] = "error",
		[HAND_TIMEOUT] = "timeout",
		[HAND_CANCELLED] = "cancelled",
	};

	return names[outcome];
}

static const struct hand_param *find_param(const struct hand_tool *tool, const char *name)
{
	for (const struct hand_param *p = tool->params; p->name; p++)
		if (strcmp(p->name, name) == 0)
			return p;
	return NULL;
}

static int check_unknown(const struct hand_tool *tool, const char *key, struct err *err)
{
	char known[256] = "";

	for (const struct hand_param *p = tool->params; p->name; p++) {
		size_t n = strlen(known);

		snprintf(known + n, sizeof(known) - n, "%s%s", n ? ", " : "", p->name);
	}
	return err_set(err, E_INVALID, "%.100s: no argument of %s; it takes %s", key, tool->name, known);
}

static int check_string(const struct hand_param *p, const char *value, struct err *err)
{
	int64_t len = (int64_t)strlen(value);

	if (len < p->min)
		return err_set(err, E_INVALID, "%s: must not be empty", p->name);
	if (len > p->max)
		return err_set(err, E_INVALID, "%s: %lld bytes are more than the maximum of %lld", p->name,
			       (long long)len, (long long)p->max);
	return 0;
}

static int check_integer(const struct hand_param *p, int64_t value, struct err *err)
{
	if (value < p->min || value > p->max)
		return err_set(err, E_INVALID, "%s: must be from %lld to %lld", p->name, (long long)p->min,
			       (long long)p->max);
	return 0;
}

static int check_value(const struct hand_param *p, const json_node *args, const json_node *value, struct err *err)
{
	int64_t number = json_get_int(args, p->name, INT64_MIN); /* INT64_MIN: no whole number up to 2^53 */

	switch (p->type) {
	case HAND_STRING:
		if (cJSON_IsString(value))
			return check_string(p, value->valuestring, err);
		break;
	case HAND_INTEGER:
		if (number != INT64_MIN)
			return check_integer(p, number, err);
		break;
	case HAND_BOOLEAN:
		if (cJSON_IsBool(value))
			return 0;
		break;
	}
	return err_set(err, E_INVALID, "%s: must be %s", p->name, types[p->type].said);
}

int hand_tool_check(const struct hand_tool *tool, const json_node *args, struct err *err)
{
	const json_node *value;

	cJSON_ArrayForEach (value, args) {
		const struct hand_param *p = find_param(tool, value->string);
		int r = p ? check_value(p, args, value, err) : check_unknown(tool, value->string, err);

		if (r < 0)
			return r;
	}
	for (const struct hand_param *p = tool->params; p->name; p++)
		if (p->required && !json_get(args, p->name))
			return err_set(err, E_INVALID, "%s: missing; %s needs it", p->name, tool->name);
	return 0;
}

static void describe_param(const struct hand_param *p, struct buf *out)
{
	buf_addf(out, "\"%s\":{\"type\":\"%s\",\"description\":", p->name, types[p->type].json);
	json_write_string(p->text, strlen(p->text), out);
	/* A string's bounds are bytes here and characters in a schema, so what the schema admits can still be too
	 * long. */
	if (p->type == HAND_STRING && p->min)
		buf_addf(out, ",\"minLength\":%lld", (long long)p->min);
	if (p->type == HAND_STRING)
		buf_addf(out, ",\"maxLength\":%lld", (long long)p->max);
	if (p->type == HAND_INTEGER)
		buf_addf(out, ",\"minimum\":%lld,\"maximum\":%lld", (long long)p->min, (long long)p->max);
	buf_addc(out, '}');
}

void hand_tool_describe(const struct hand_tool *tool, struct buf *out)
{
	const char *comma = "";

	buf_addf(out, "{\"name\":\"%s\",\"title\":\"%s\",\"description\":", tool->name, tool->title);
	json_write_string(tool->text, strlen(tool->text), out);
	buf_adds(out, ",\"inputSchema\":{\"type\":\"object\",\"properties\":{");
	for (const struct hand_param *p = tool->params; p->name; p++) {
		buf_adds(out, comma);
		describe_param(p, out);
		comma = ",";
	}
	buf_adds(out, "},\"required\":[");
	comma = "";
	for (const struct hand_param *p = tool->params; p->name; p++)
		if (p->required) {
			buf_addf(out, "%s\"%s\"", comma, p->name);
			comma = ",";
		}
	buf_addf(out,
		 "],\"additionalProperties\":false},\"annotations\":{\"title\":\"%s\",\"readOnlyHint\":%s,"
		 "\"destructiveHint\":%s,\"idempotentHint\":%s,\"openWorldHint\":false}}",
		 tool->title, tool->hints & HAND_READS ? "true" : "false",
		 tool->hints & HAND_DESTROYS ? "true" : "false", tool->hints & HAND_IDEMPOTENT ? "true" : "false");
}
