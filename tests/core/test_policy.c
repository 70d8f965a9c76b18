/* Presets by tool, and the canonical action that decisions are bound to. */
#include <string.h>

#include "core/policy/action.h"
#include "core/policy/preset.h"
#include "tests/tap.h"

static const struct {
	const char *preset, *tool;
	enum decision decision;
	const char *effect;
} table[] = {
	{ "contained", "bash", DECISION_ALLOW, "unknown" }, { "contained", "write", DECISION_ALLOW, "write-ws" },
	{ "contained", "read", DECISION_ALLOW, "read" },    { "contained", "grep", DECISION_ALLOW, "read" },
	{ "careful", "bash", DECISION_ASK, "unknown" },     { "careful", "write", DECISION_ASK, "write-ws" },
	{ "careful", "edit", DECISION_ASK, "write-ws" },    { "careful", "glob", DECISION_ALLOW, "read" },
	{ "locked", "bash", DECISION_DENY, "unknown" },     { "locked", "edit", DECISION_DENY, "write-ws" },
	{ "locked", "read", DECISION_ALLOW, "read" },       { "contained", "web_fetch", DECISION_DENY, "unknown" },
	{ "contained", "Bash", DECISION_DENY, "unknown" },  { "contained", "", DECISION_DENY, "unknown" },
};

static void same_digest(const char *a, const char *b, bool same, const char *what)
{
	_cleanup_json_ json_node *left = cJSON_Parse(a), *right = cJSON_Parse(b);
	char one[DIGEST_HEX_LEN + 1], two[DIGEST_HEX_LEN + 1];
	struct err err = { 0 };

	ok(action_digest("bash", left, "/w", one, &err) == 0 && action_digest("bash", right, "/w", two, &err) == 0,
	   "digests");
	ok((strcmp(one, two) == 0) == same, "%s", what);
}

int main(void)
{
	_cleanup_json_ json_node *input = cJSON_Parse("{\"timeout_ms\":5,\"command\":\"ls \\u00e9\"}");
	_cleanup_buf_ struct buf text = BUF_INIT(4096);
	struct err err = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct verdict v;

		preset_judge(preset_find(table[i].preset), table[i].tool, &v);
		is_int(v.decision, table[i].decision, "%s, %s: decision", table[i].preset, table[i].tool);
		is_str(v.effects, table[i].effect, "%s, %s: effect", table[i].preset, table[i].tool);
	}
	ok(!preset_find("Careful") && !preset_find(""), "no other preset exists");

	is_int(action_write("bash", input, "/w", &text, &err), 0, "canonical action");
	is_str(buf_str(&text),
	       "{\"cwd\":\"/w\",\"input\":{\"command\":\"ls \xc3\xa9\",\"timeout_ms\":5},\"tool\":\"bash\"}",
	       "sorted keys, no blanks, UTF-8 as it is");
	same_digest("{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", true, "the order of keys does not count");
	same_digest("{\"a\":\"x\"}", "{\"a\":\"x \"}", false, "a blank counts");
	same_digest("{\"a\":1}", "{\"a\":\"1\"}", false, "a type counts");
	return tap_end();
}
