/* The scripted brain's file: every line is checked before a session starts. */
#include <string.h>

#include "core/harness/script.h"
#include "tests/tap.h"

static const struct {
	const char *text;
	const char *complaint;
} bad[] = {
	{ "{}", "s:1: \"content\" is not a list of blocks" },
	{ "{\"content\":[]}\nnot json", NULL },
	{ "{\"content\":[]} {}", NULL },
	{ "{\"content\":[],\"model\":\"x\"}", "s:1: unknown key \"model\" in a turn; see the manual's scripted brain" },
	{ "{\"content\":[{\"type\":\"image\"}]}",
	  "s:1: unknown content block \"image\"; use text, thinking or tool_use" },
	{ "{\"content\":[{\"type\":\"text\"}]}", "s:1: a text block has no string \"text\"" },
	{ "{\"content\":[{\"type\":\"tool_use\",\"name\":\"bash\"}]}",
	  "s:1: a tool_use block has no object \"input\"" },
	{ "{\"content\":[{\"type\":\"tool_use\",\"name\":\"bash\",\"input\":{},\"id\":7}]}",
	  "s:1: \"id\" is not a string" },
	{ "{\"content\":[{\"type\":\"tool_use\",\"name\":\"a\",\"input\":{},\"id\":\"\"}]}",
	  "s:1: \"id\" is empty; leave it out, or give a name" },
	{ "{\"content\":[{\"type\":\"tool_use\",\"name\":\"a\",\"input\":{},\"id\":\"x\"},"
	  "{\"type\":\"tool_use\",\"name\":\"a\",\"input\":{},\"id\":\"x\"}]}",
	  "s:1: the id \"x\" stands twice in one turn" },
	{ "{\"content\":[],\"delay_ms\":-1}", "s:1: \"delay_ms\" is not a whole number from 0 to 600000" },
	{ "{\"content\":[],\"usage\":{\"input_tokens\":\"1\"}}", "s:1: \"input_tokens\" is not a whole number from 0" },
	{ "{\"error\":{\"status\":200,\"type\":\"x\"}}",
	  "s:1: \"error\" needs \"status\" (400 to 599) and a string \"type\"" },
	{ "{\"expect\":{\"result_contains\":1}}", "s:1: \"expect\" needs a string \"result_contains\"" },
	{ "{\"content\":[]}\n{\"expect\":{\"result_contains\":\"x\"}}",
	  "s: an expectation at the end guards no turn; put a turn after it" },
};

int main(void)
{
	static const char good[] =
		"# comment\n\n"
		"{\"content\":[{\"type\":\"thinking\",\"thinking\":\"t\",\"signature\":\"s\"},{\"type\":\"text\","
		"\"text\":\"hi\"}]}\n"
		"{\"error\":{\"status\":529,\"type\":\"overloaded_error\"}}\n"
		"{\"expect\":{\"result_contains\":\"a\"}}\n{\"expect\":{\"result_contains\":\"b\"}}\n"
		"{\"content\":[{\"type\":\"tool_use\",\"name\":\"bash\",\"input\":{}}],\"delay_ms\":5}\n";
	_cleanup_script_ struct script s = { 0 }, demo = { 0 };
	struct err err = { 0 };

	is_int(script_parse("s", good, sizeof(good) - 1, &s, &err), 0, "a whole script: %s", err.text);
	is_int((int)s.n, 3, "three turns");
	is_int(s.turn[0].number, 3, "line numbers count comments and blank lines");
	ok(!s.turn[1].content && s.turn[1].error_status == 529, "a failed request");
	ok(s.turn[2].expect && s.turn[2].expect[1] && !s.turn[2].expect[2], "two expectations guard the third turn");
	is_int((int)s.turn[2].delay_ms, 5, "delay");
	is_int(script_parse("demo", script_demo, strlen(script_demo), &demo, &err), 0,
	       "the demo that is compiled in: %s", err.text);

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		_cleanup_script_ struct script none = { 0 };
		struct err why = { 0 };

		is_int(script_parse("s", bad[i].text, strlen(bad[i].text), &none, &why), E_USAGE, "refused: %s",
		       bad[i].text);
		if (bad[i].complaint)
			is_str(why.text, bad[i].complaint, "with line and reason");
		ok(none.n == 0, "and nothing is taken");
	}
	return tap_end();
}
