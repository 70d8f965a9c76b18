/*
 * scripted: a brain that speaks recorded turns.  The position is the number of requests that ended in the log, so a
 * woken session goes on where it was, and a request that a crash cut short is asked again.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/harness/brain.h"
#include "core/harness/script.h"

struct brain {
	struct script script;
	const struct script_turn *turn; /* of the open request */
	int64_t deadline_ms;
};

static int create(const json_node *setup, struct brain **ret, struct err *err)
{
	const char *text = json_get_str(setup, "script");

	if (!text)
		return err_set(err, E_PROTOCOL, "scripted brain: the set-up holds no script");

	struct brain *b = calloc(1, sizeof(*b));
	if (!b)
		return err_set(err, E_NOMEM, "scripted brain: out of memory");

	int r = script_parse("script.jsonl", text, strlen(text), &b->script, err);
	if (r < 0) {
		free(b);
		return r;
	}
	*ret = b;
	return 0;
}

static void destroy(struct brain **b)
{
	if (!*b)
		return;
	script_free(&(*b)->script);
	free(*b);
	*b = NULL;
}

static bool result_contains(const struct session_state *s, const char *text)
{
	for (size_t i = 0; i < s->ncalls; i++)
		if (s->call[i].result && strstr(s->call[i].result, text))
			return true;
	return false;
}

/* Called before the request starts, while the last turn's results are still in the state. */
static int begin(struct brain *b, const struct session_state *s, const struct brain_sink *sink)
{
	size_t position = (size_t)s->requests_ended;

	if (position >= b->script.n) {
		bool had_calls = s->ncalls > 0 || s->request_failed;

		if (had_calls)
			return sink->fatal(sink->arg, "script_exhausted",
					   "the script has no turn left, and one is needed");
		return sink->end(sink->arg, NULL, "end_turn");
	}

	const struct script_turn *turn = &b->script.turn[position];
	for (const char **text = turn->expect; text && *text; text++) {
		char why[400];

		if (result_contains(s, *text))
			continue;
		snprintf(why, sizeof(why), "line %d: no result of the last turn contains \"%.200s\"", turn->number,
			 *text);
		return sink->fatal(sink->arg, "expect_failed", why);
	}
	b->turn = turn;
	b->deadline_ms = clock_mono_ms() + turn->delay_ms;
	return 0;
}

static json_node *content_body(const struct script_turn *turn, const json_node *block, int index, const char **ret_kind)
{
	const char *type = json_get_str(block, "type");
	json_node *body = cJSON_CreateObject();
	char id[48];

	if (strcmp(type, "tool_use") == 0) {
		const char *given = json_get_str(block, "id");

		*ret_kind = "agent.tool_use";
		snprintf(id, sizeof(id), "toolu_%d_%d", turn->number, index);
		cJSON_AddStringToObject(body, "id", given ? given : id);
		cJSON_AddStringToObject(body, "name", json_get_str(block, "name"));
		cJSON_AddItemToObject(body, "input", cJSON_Duplicate(json_get(block, "input"), true));
		return body;
	}
	*ret_kind = strcmp(type, "text") == 0 ? "agent.message" : "agent.thinking";
	cJSON_AddItemToArray(cJSON_AddArrayToObject(body, "content"), cJSON_Duplicate(block, true));
	return body;
}

static bool is_retryable(int64_t status)
{
	return status == 408 || status == 409 || status == 429 || status >= 500;
}

static int step(struct brain *b, const struct session_state *s, const struct brain_sink *sink)
{
	const struct script_turn *turn = b->turn;
	const json_node *block;
	bool has_calls = false;
	int index = 0;

	(void)s;
	if (!turn || clock_mono_ms() < b->deadline_ms)
		return 0;
	b->turn = NULL;

	if (!turn->content) {
		char message[120];

		snprintf(message, sizeof(message), "the model's server answered %lld", (long long)turn->error_status);
		return sink->fail(sink->arg, turn->error_type, message, is_retryable(turn->error_status) ? 0 : -1);
	}
	cJSON_ArrayForEach(block, turn->content) {
		const char *kind = NULL;
		_cleanup_json_ json_node *body = content_body(turn, block, index++, &kind);
		int r = sink->content(sink->arg, kind, body);

		if (r < 0)
			return r;
		has_calls |= strcmp(kind, "agent.tool_use") == 0;
	}
	return sink->end(sink->arg, turn->usage, has_calls ? "tool_use" : "end_turn");
}

static void wait_for(const struct brain *b, int *ret_fd, int64_t *ret_deadline_ms)
{
	*ret_fd = -1;
	*ret_deadline_ms = b->turn ? b->deadline_ms : -1;
}

const struct brain_ops brain_scripted = {
	.kind = "scripted",
	.create = create,
	.destroy = destroy,
	.begin = begin,
	.step = step,
	.wait = wait_for,
};
