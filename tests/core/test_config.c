/* The configuration file: what is taken, and the exact position and advice for what is not. */
#include <string.h>

#include "core/config.h"
#include "tests/tap.h"

static const struct {
	const char *text;
	const char *complaint; /* whole text of the error */
} bad[] = {
	{ "brian = x\n", "config:1:1: unknown key; known are brain, preset, jail.floor, and [brain NAME] sections" },
	{ "brain = a\n\n  preset = bold\n", "config:3:12: unknown preset; use contained, careful or locked" },
	{ "jail.floor = S1\n", "config:1:14: the floor is S2 or S3; nothing lower exists" },
	{ "jail.floor = none\n", "config:1:14: the floor is S2 or S3; nothing lower exists" },
	{ "brain\n", "config:1:6: '=' expected; write key = value" },
	{ "brain =  \n", "config:1:10: the value is empty; give one or remove the line" },
	{ "brain = # a\n", "config:1:9: the value is empty; give one or remove the line" },
	{ "brain = a\nbrain = b\n", "config:2:1: this key is set twice here; keep one line" },
	{ "[brian x]\n", "config:1:2: unknown section; write [brain NAME]" },
	{ "[brain ]\n",
	  "config:1:8: the section has no name; write [brain NAME] with letters, digits, '-', '_' or '.'" },
	{ "[brain x\n", "config:1:9: ']' expected; close the section's name" },
	{ "[brain x] y\n", "config:1:11: text after the section's header; put it on a line of its own" },
	{ "[brain x]\nkind = scripted\n[brain x]\n", "config:3:8: this brain has a section already; join the two" },
	{ "[brain x]\npreset = careful\n", "config:2:1: unknown key in a brain's section; known are kind, model, "
					   "base_url, key_env, key_command, max_tokens" },
	{ "[brain x]\nkind = a\nmax_tokens = 0\n", "config:3:14: not a whole number from 1 to 10000000" },
	{ "[brain x]\nkind = a\nmax_tokens = 12x\n", "config:3:14: not a whole number from 1 to 10000000" },
	{ "# fine\n[brain x]\nmodel = m\n",
	  "config:2:1: this brain has no kind; add kind = anthropic or kind = scripted" },
	{ "brain = a\xe2\x80\xae"
	  "b\n",
	  "config:1:1: hidden or invalid characters in this line; retype it" },
	{ "brain = a\xff\n", "config:1:1: hidden or invalid characters in this line; retype it" },
};

int main(void)
{
	static const char good[] =
		"# a comment\r\nbrain = main   # the one\r\n"
		"preset=careful\t# so\njail.floor = S3\n\n"
		"[brain main] # it\n kind = scripted \nmodel = /a file with#blanks # x\n"
		"[brain other]\nkind = anthropic\nmax_tokens = 4096";
	_cleanup_config_ struct config c = { 0 };
	struct err err = { 0 };

	is_int(config_parse("config", good, sizeof(good) - 1, &c, &err), 0, "a whole configuration: %s", err.text);
	is_str(c.brain, "main", "brain");
	is_str(c.preset, "careful", "preset");
	is_int(c.floor, CELL_S3, "floor");
	is_int((int)c.nbrains, 2, "two brains");
	ok(config_find_brain(&c, "main") && strcmp(config_find_brain(&c, "main")->model, "/a file with#blanks") == 0,
	   "blanks within a value stay, those around it go, and so does a comment");
	ok(config_find_brain(&c, "other") && config_find_brain(&c, "other")->max_tokens == 4096,
	   "a last line without newline");
	ok(!config_find_brain(&c, "none"), "no such brain");

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		_cleanup_config_ struct config none = { 0 };
		struct err why = { 0 };

		is_int(config_parse("config", bad[i].text, strlen(bad[i].text), &none, &why), E_USAGE, "refused: %s",
		       bad[i].complaint);
		is_str(why.text, bad[i].complaint, "with position and advice");
		ok(!none.brain && !none.nbrains, "and nothing is taken");
	}

	_cleanup_config_ struct config empty = { 0 };
	is_int(config_read("/nonexistent/config", &empty, &err), 0, "a missing file is an empty configuration");
	is_int(empty.floor, CELL_S2, "with the floor S2");
	return tap_end();
}
