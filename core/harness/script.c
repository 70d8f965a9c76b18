#include "core/harness/script.h"

#include <string.h>

#include "core/json_lines.h"

#define EXPECT_MAX 32 /* expectations before one turn */
#define DELAY_MAX_MS 600000

struct parse {
	struct script *script;
	const char *expect[EXPECT_MAX + 1]; /* read, and not yet attached to a turn */
	size_t nexpect;
};

static int unknown_key(const json_node *object, const char *const *keys, const char *where, struct err *err)
{
	const char *stranger;

	if (json_only_keys(object, keys, &stranger))
		return 0;
	return err_set(err, E_USAGE, "unknown key \"%.60s\" in %s; see the manual's scripted brain", stranger, where);
}

/* ---- blocks of a turn: required and optional members by type */

static const struct block_rule {
	const char *type;
	const char *const *keys;
	const char *text_keys[2]; /* must be strings */
	bool input;               /* must have an object "input" */
} block_rules[] = {
	{ "text", (const char *const[]){ "type", "text", NULL }, { "text", NULL }, false },
	{ "thinking", (const char *const[]){ "type", "thinking", "signature", NULL }, { "thinking", NULL }, false },
	{ "tool_use", (const char *const[]){ "type", "name", "input", "id", NULL }, { "name", NULL }, true },
};

static int check_block(const json_node *block, struct err *err)
{
	const char *type = json_get_str(block, "type");

	if (!cJSON_IsObject(block) || !type)
		return err_set(err, E_USAGE, "a content block has no \"type\"; use text, thinking or tool_use");
	for (size_t i = 0; i < ARRAY_LEN(block_rules); i++) {
		const struct block_rule *rule = &block_rules[i];
		const json_node *optional[] = { json_get(block, "id"), json_get(block, "signature") };

		if (strcmp(rule->type, type) != 0)
			continue;
		if (!json_get_str(block, rule->text_keys[0]))
			return err_set(err, E_USAGE, "a %s block has no string \"%s\"", type, rule->text_keys[0]);
		if (rule->input && !cJSON_IsObject(json_get(block, "input")))
			return err_set(err, E_USAGE, "a tool_use block has no object \"input\"");
		for (size_t k = 0; k < ARRAY_LEN(optional); k++)
			if (optional[k] && !cJSON_IsString(optional[k]))
				return err_set(err, E_USAGE, "\"%s\" is not a string", optional[k]->string);
		return unknown_key(block, rule->keys, "a content block", err);
	}
	return err_set(err, E_USAGE, "unknown content block \"%.60s\"; use text, thinking or tool_use", type);
}

/* An id names one call of its turn. */
static int check_id(const json_node *content, const json_node *block, struct err *err)
{
	const char *id = json_get_str(block, "id");
	const json_node *other;

	if (id && !id[0])
		return err_set(err, E_USAGE, "\"id\" is empty; leave it out, or give a name");
	cJSON_ArrayForEach(other, content) {
		if (!id || other == block)
			break;
		const char *before = json_get_str(other, "id");
		if (before && strcmp(before, id) == 0)
			return err_set(err, E_USAGE, "the id \"%.60s\" stands twice in one turn", id);
	}
	return 0;
}

static int check_usage(const json_node *usage, struct err *err)
{
	static const char *const keys[] = { "input_tokens", "output_tokens", NULL };

	if (!usage)
		return 0;
	if (!cJSON_IsObject(usage))
		return err_set(err, E_USAGE, "\"usage\" is not an object");
	for (size_t i = 0; keys[i]; i++)
		if (json_get(usage, keys[i]) && json_get_int(usage, keys[i], -1) < 0)
			return err_set(err, E_USAGE, "\"%s\" is not a whole number from 0", keys[i]);
	return unknown_key(usage, keys, "\"usage\"", err);
}

/* ---- the three kinds of line */

static int read_turn(struct script_turn *t, struct err *err)
{
	static const char *const keys[] = { "content", "usage", "delay_ms", NULL };
	const json_node *block;
	int r = unknown_key(t->line, keys, "a turn", err);

	t->content = json_get(t->line, "content");
	t->usage = json_get(t->line, "usage");
	t->delay_ms = json_get_int(t->line, "delay_ms", json_get(t->line, "delay_ms") ? -1 : 0);
	if (r == 0 && !cJSON_IsArray(t->content))
		r = err_set(err, E_USAGE, "\"content\" is not a list of blocks");
	if (r == 0)
		r = check_usage(t->usage, err);
	if (r == 0 && (t->delay_ms < 0 || t->delay_ms > DELAY_MAX_MS))
		r = err_set(err, E_USAGE, "\"delay_ms\" is not a whole number from 0 to %d", DELAY_MAX_MS);
	if (r < 0)
		return r;
	int calls = 0;
	cJSON_ArrayForEach(block, t->content) {
		if ((r = check_block(block, err)) < 0 || (r = check_id(t->content, block, err)) < 0)
			return r;
		if (strcmp(json_get_str(block, "type"), "tool_use") == 0 && ++calls > SCRIPT_CALLS_MAX)
			return err_set(err, E_USAGE, "more than %d tool calls in one turn; spread them over turns",
				       SCRIPT_CALLS_MAX);
	}
	return 0;
}

static int read_error(struct script_turn *t, struct err *err)
{
	static const char *const keys[] = { "error", NULL };
	static const char *const error_keys[] = { "status", "type", NULL };
	const json_node *error = json_get(t->line, "error");
	int r = unknown_key(t->line, keys, "a failed request", err);

	if (r == 0 && !cJSON_IsObject(error))
		r = err_set(err, E_USAGE, "\"error\" is not an object");
	if (r == 0)
		r = unknown_key(error, error_keys, "\"error\"", err);
	if (r < 0)
		return r;
	t->error_status = json_get_int(error, "status", 0);
	t->error_type = json_get_str(error, "type");
	if (t->error_status < 400 || t->error_status > 599 || !t->error_type)
		return err_set(err, E_USAGE, "\"error\" needs \"status\" (400 to 599) and a string \"type\"");
	return 0;
}

static int read_expect(struct parse *p, json_node **object, struct err *err)
{
	static const char *const keys[] = { "expect", NULL };
	static const char *const expect_keys[] = { "result_contains", NULL };
	const json_node *expect = json_get(*object, "expect");
	const char *text = json_get_str(expect, "result_contains");
	int r = unknown_key(*object, keys, "an expectation", err);

	if (r == 0 && !text)
		r = err_set(err, E_USAGE, "\"expect\" needs a string \"result_contains\"");
	if (r == 0)
		r = unknown_key(expect, expect_keys, "\"expect\"", err);
	if (r < 0)
		return r;
	if (p->nexpect == EXPECT_MAX)
		return err_set(err, E_USAGE, "more than %d expectations before one turn", EXPECT_MAX);

	json_node **lines = reallocarray(p->script->expect_lines, p->script->nexpect_lines + 1, sizeof(*lines));
	if (!lines)
		return err_set(err, E_NOMEM, "out of memory");
	p->script->expect_lines = lines;
	lines[p->script->nexpect_lines++] = steal_ptr(*object);
	p->expect[p->nexpect++] = text;
	return 0;
}

static int read_line(int number, json_node **object, void *arg, struct err *err)
{
	struct parse *p = arg;
	struct script_turn turn = { .line = *object, .number = number };
	int r;

	if (json_get(*object, "expect"))
		return read_expect(p, object, err);
	r = json_get(*object, "error") ? read_error(&turn, err) : read_turn(&turn, err);
	if (r < 0)
		return r;

	struct script_turn *turns = reallocarray(p->script->turn, p->script->n + 1, sizeof(*turns));
	if (!turns)
		return err_set(err, E_NOMEM, "out of memory");
	p->script->turn = turns;
	if (p->nexpect) {
		turn.expect = calloc(p->nexpect + 1, sizeof(*turn.expect));
		if (!turn.expect)
			return err_set(err, E_NOMEM, "out of memory");
		memcpy(turn.expect, p->expect, p->nexpect * sizeof(*turn.expect));
		p->nexpect = 0;
	}
	*object = NULL;
	turns[p->script->n++] = turn;
	return 0;
}

int script_parse(const char *name, const char *text, size_t len, struct script *ret, struct err *err)
{
	_cleanup_script_ struct script script = { 0 };
	struct parse parse = { .script = &script };
	int r = json_lines_each(name, text, len, read_line, &parse, err);

	if (r < 0)
		return r;
	if (parse.nexpect)
		return err_set(err, E_USAGE, "%s: an expectation at the end guards no turn; put a turn after it", name);
	*ret = script;
	script = (struct script){ 0 };
	return 0;
}

void script_free(struct script *s)
{
	for (size_t i = 0; i < s->n; i++) {
		json_free(&s->turn[i].line);
		free(s->turn[i].expect);
	}
	for (size_t i = 0; i < s->nexpect_lines; i++)
		json_free(&s->expect_lines[i]);
	free(s->turn);
	free(s->expect_lines);
	*s = (struct script){ 0 };
}
