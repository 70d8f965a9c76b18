/* The answers file: which line decides, how often, and that nothing but a matching line ever allows. */
#include <string.h>

#include "core/policy/action.h"
#include "core/policy/answers.h"
#include "tests/tap.h"

static const struct {
	const char *text;
	const char *complaint;
} bad[] = {
	{ "{\"match\":{\"digest\":\"9f2c\"},\"decision\":\"allow\"}",
	  "f:1: \"digest\" must be 64 hexadecimal digits" },
	{ "{\"match\":{}}", "f:1: \"decision\" must be \"allow\" or \"deny\"" },
	{ "\n# c\n{\"match\":{},\"decision\":\"yes\"}", "f:3: \"decision\" must be \"allow\" or \"deny\"" },
	{ "{\"decision\":\"allow\"}", "f:1: no \"match\" object; {} matches every call" },
	{ "{\"match\":{\"name\":\"bash\"},\"decision\":\"allow\"}",
	  "f:1: unknown key \"name\" in \"match\"; see the manual's answers file" },
	{ "{\"match\":{},\"decision\":\"allow\",\"scope\":\"session\"}",
	  "f:1: unknown key \"scope\" in the line; see the manual's answers file" },
	{ "{\"match\":{\"tool\":1},\"decision\":\"allow\"}", "f:1: \"tool\" is not a string; write it in quotes" },
	{ "{\"match\":{\"input\":\"x\"},\"decision\":\"allow\"}",
	  "f:1: \"input\" is not an object; name the keys that must be equal" },
	{ "{\"match\":{},\"decision\":\"allow\",\"times\":0}", "f:1: \"times\" must be a whole number from 1" },
	{ "{\"match\":{},\"decision\":\"allow\",\"times\":1.5}", "f:1: \"times\" must be a whole number from 1" },
};

static struct answers *parse(const char *text)
{
	struct answers *a = NULL;
	struct err err = { 0 };

	is_int(answers_parse("f", text, strlen(text), &a, &err), 0, "parses: %s", err.text);
	return a;
}

static bool allowed(struct answers *a, const char *tool, const char *input_text, const char **ret_note)
{
	_cleanup_json_ json_node *input = NULL;
	char digest[DIGEST_HEX_LEN + 1];
	struct answer answer;
	struct err err = { 0 };

	if (json_parse_object(input_text, strlen(input_text), &input, &err) < 0 ||
	    action_digest(tool, input, "/w", digest, &err) < 0) {
		ok(false, "test input: %s", err.text);
		return false;
	}
	answers_decide(a, tool, input, digest, &answer);
	if (ret_note)
		*ret_note = answer.note;
	return answer.allow;
}

static void matching(void)
{
	_cleanup_answers_ struct answers *a =
		parse("# first match decides\n"
		      "{\"match\":{\"tool\":\"bash\",\"contains\":\"rm \"},\"decision\":\"deny\",\"note\":\"no\"}\n"
		      "{\"match\":{\"tool\":\"bash\"},\"decision\":\"allow\",\"times\":2}\n"
		      "{\"match\":{\"tool\":\"edit\",\"input\":{\"file_path\":\"a.c\",\"replace_all\":true}},"
		      "\"decision\":\"allow\"}\n"
		      "{\"match\":{\"input\":{\"list\":[1,2]}},\"decision\":\"allow\"}\n"
		      "{\"match\":{\"tool\":\"never\"},\"decision\":\"allow\"}\n");
	const char *note;
	_cleanup_buf_ struct buf unused = BUF_INIT(4096);

	ok(!allowed(a, "bash", "{\"command\":\"rm -rf x\"}", &note), "the first line that matches denies");
	is_str(note, "no", "with its note");
	ok(allowed(a, "bash", "{\"command\":\"ls\"}", NULL), "allowed once");
	ok(allowed(a, "bash", "{\"command\":\"ls\"}", NULL), "allowed twice");
	ok(!allowed(a, "bash", "{\"command\":\"ls\"}", &note), "the third time nothing is left");
	is_str(note, "no answer given", "and that is said");
	ok(allowed(a, "edit", "{\"file_path\":\"a.c\",\"replace_all\":true,\"old_string\":\"x\"}", NULL),
	   "subset of the input");
	ok(!allowed(a, "edit", "{\"file_path\":\"a.c\",\"replace_all\":false}", NULL), "another value does not match");
	ok(!allowed(a, "edit", "{\"file_path\":\"a.c\"}", NULL), "a missing key does not match");
	ok(allowed(a, "any", "{\"list\":[1,2]}", NULL), "arrays match whole");
	ok(!allowed(a, "any", "{\"list\":[1,2,3]}", NULL), "and not in part");
	answers_unused(a, &unused);
	is_str(buf_str(&unused), "f:6: this answer was never used\n", "lines that were never used are named");
}

static void by_digest(void)
{
	_cleanup_json_ json_node *input = cJSON_Parse("{\"command\":\"ls\"}");
	char digest[DIGEST_HEX_LEN + 1], line[256];
	struct err err = { 0 };

	is_int(action_digest("bash", input, "/w", digest, &err), 0, "digest");
	snprintf(line, sizeof(line), "{\"match\":{\"digest\":\"%s\"},\"decision\":\"allow\"}", digest);
	_cleanup_answers_ struct answers *a = parse(line);
	ok(allowed(a, "bash", "{\"command\":\"ls\"}", NULL), "the digest that was asked");
	ok(!allowed(a, "bash", "{\"command\":\"ls \"}", NULL), "one byte more is another action");
	ok(!allowed(a, "read", "{\"command\":\"ls\"}", NULL), "so is another tool");
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct answers *a = NULL;
		struct err err = { 0 };

		is_int(answers_parse("f", bad[i].text, strlen(bad[i].text), &a, &err), E_USAGE, "refused: %s",
		       bad[i].complaint);
		is_str(err.text, bad[i].complaint, "with line and reason");
	}
	matching();
	by_digest();
	ok(!allowed(NULL, "bash", "{}", NULL), "no file: denied");
	_cleanup_answers_ struct answers *all = parse("{\"match\":{},\"decision\":\"allow\"}");
	ok(allowed(all, "bash", "{}", NULL), "{} matches all");
	return tap_end();
}
