/* The line by which lists show an event. */
#include "core/base/safe_text.h"
#include "store/event.h"
#include "store/preview.h"
#include "tests/tap.h"

static const char *preview(const char *kind, const char *body)
{
	static struct buf out = BUF_INIT(65536);
	_cleanup_json_ json_node *node = NULL;
	struct err err = { 0 };

	buf_reset(&out);
	if (json_parse(body, strlen(body), &node, &err))
		return err.text[0] ? "does not parse" : "";
	event_preview(kind, node, &out);
	return buf_str(&out);
}

static const struct {
	const char *kind, *body, *want;
} cases[] = {
	{ "session.created",
	  "{\"workspace\":\"/w\",\"brain\":\"b\",\"preset\":\"careful\",\"level\":\"S3\",\"missing\":[]}",
	  "S3 careful b /w" },
	{ "user.message", "{\"content\":[{\"type\":\"text\",\"text\":\"please\\nfix it\"}]}", "please \u2026" },
	{ "user.message", "{\"content\":\"just text\"}", "just text" },
	{ "agent.message",
	  "{\"content\":[{\"type\":\"text\",\"text\":\"\\n\\n  one\"},{\"type\":\"text\",\"text\":\"two\"}]}",
	  "one, two" },
	{ "agent.tool_use", "{\"id\":\"t1\",\"name\":\"bash\",\"input\":{\"timeout_ms\":5,\"command\":\"make check\"}}",
	  "bash make check" },
	{ "agent.tool_use", "{\"name\":\"write\",\"input\":{\"content\":\"x\",\"file_path\":\"/a\"}}", "write /a" },
	{ "agent.tool_use", "{\"name\":\"odd\",\"input\":{\"n\":1}}", "odd n 1" },
	{ "agent.tool_use", "{\"name\":\"odd\",\"input\":{}}", "odd" },
	{ "agent.tool_use", "{\"name\":\"odd\",\"input\":{\"n\":[1]}}", "odd {\"n\":[1]}" },
	{ "agent.tool_result", "{\"tool_use_id\":\"t1\",\"content\":\"PASS\",\"is_error\":false,\"outcome\":\"ok\"}",
	  "ok PASS" },
	{ "policy.verdict",
	  "{\"decision\":\"ask\",\"effects\":[\"write-ws\",\"network\"],\"rule\":\"default\",\"why\":null}",
	  "ask write-ws, network default" },
	{ "approval.requested",
	  "{\"action\":{\"tool\":\"bash\",\"input\":{\"command\":\"ls\"}},\"effects\":[\"unknown\"],\"why\":\"w\"}",
	  "unknown bash ls" },
	{ "span.model_request_start", "{}", "" },
	{ "span.model_request_end",
	  "{\"model_usage\":{\"input_tokens\":3,\"output_tokens\":4},\"stop_reason\":\"end_turn\"}",
	  "end_turn input_tokens 3, output_tokens 4" },
	{ "span.model_request_end", "{\"model_usage\":{},\"stop_reason\":\"end_turn\"}", "end_turn" },
	{ "changes.staged",
	  "{\"paths\":[{\"path\":\".git\",\"status\":\"withheld\"},{\"path\":\"a\"},{\"path\":{\"$b64\":\"//4=\"}}]}",
	  "a, (not UTF-8)" },
	{ "user.tool_confirmation", "{\"result\":\"deny\",\"scope\":\"once\",\"deny_message\":\"not now\"}",
	  "deny once not now" },
	{ "session.status_idle", "{\"stop_reason\":{\"type\":\"end_turn\"}}", "end_turn" },
	{ "session.error", "{\"kind\":\"disk_full\",\"message\":\"no space\",\"retry_status\":\"terminal\"}",
	  "disk_full no space terminal" },
	{ "changes.applied", "{\"paths\":[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\",\"h\",\"i\"],\"manifest\":\"00\"}",
	  "a, b, c, d, e, f, g, h \u2026" },
	{ "some.new_kind", "{\"n\":1}", "n 1" },
	{ "some.new_kind", "{\"n\":true}", "{\"n\":true}" },
	{ "user.message", "{}", "" },
	{ "user.message", "[1]", "" },
	{ "some.new_kind", "\"text\"", "text" },
	{ "agent.tool_use", "{\"name\":{\"a\":1},\"input\":[[[]]]}", "a 1" },
};

int main(void)
{
	struct safe_stat stat;
	_cleanup_buf_ struct buf again = BUF_INIT(65536);
	char body[20000];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		is_str(preview(cases[i].kind, cases[i].body), cases[i].want, "%s, %zu", cases[i].kind, i);

	/* Hostile text goes through the gate: what comes out passes it unchanged. */
	const char *p = preview("agent.message", "{\"content\":\"a\\u001b[2Kb\\u202ec\\u200bd\"}");
	ok(!strchr(p, 033) && !strstr(p, "\u202e") && !strstr(p, "\u200b"), "no escape, override or invisible: %s", p);

	size_t n = (size_t)snprintf(body, sizeof(body), "{\"content\":\"");
	for (int i = 0; i < 3000; i++)
		n += (size_t)snprintf(body + n, sizeof(body) - n, "\u6f22");
	snprintf(body + n, sizeof(body) - n, "\"}");
	p = preview("agent.message", body);
	safe_text(p, strlen(p), SAFE_LINE, &again, &stat);
	ok(stat.columns <= EVENT_PREVIEW_COLUMNS && stat.columns > EVENT_PREVIEW_COLUMNS - 4,
	   "cut at %d columns, has %zu", EVENT_PREVIEW_COLUMNS, stat.columns);
	is_int(stat.hidden, 0, "and nothing half");
	return tap_end();
}
