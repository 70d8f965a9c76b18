#include "core/cmd/cmd.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "core/base/path.h"
#include "core/base/safe_text.h"

static const struct cmd *const commands[] = {
	&cmd_run, &cmd_wake, &cmd_stop, &cmd_ls, &cmd_show, &cmd_changes, &cmd_verify, &cmd_jail, &cmd_doctor,
};

static const struct cmd *find_command(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

void cmd_complain(const char *text)
{
	_cleanup_free_ char *safe = safe_dup(text);

	fprintf(stderr, "warder: %s\n", safe ? safe : "out of memory");
}

void cmd_complain_lines(const char *lines)
{
	for (const char *line = lines ? lines : ""; *line;) {
		const char *nl = strchrnul(line, '\n');
		_cleanup_free_ char *copy = strndup(line, (size_t)(nl - line));

		cmd_complain(copy ? copy : "out of memory");
		line = *nl ? nl + 1 : nl;
	}
}

int cmd_print(const char *data, size_t len, struct err *err)
{
	_cleanup_buf_ struct buf safe = BUF_INIT(len * 12 + 1);

	if (isatty(STDOUT_FILENO)) {
		safe_text(data, len, SAFE_BLOCK, &safe, NULL);
		data = buf_str(&safe);
		len = safe.len;
	}
	if (fflush(stdout) != 0 || path_write_all(STDOUT_FILENO, data, len) < 0)
		return err_errno(err, E_IO, errno, "standard output");
	return 0;
}

/* ---- help, from the table */

static void help_all(void)
{
	puts("warder: supervise coding agents\n\nusage: warder COMMAND [options]\n");
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		printf("  %-9s %s\n", commands[i]->name, commands[i]->summary);
	puts("\nwarder COMMAND --help tells more.  warder --version prints the version.\n"
	     "S names a session: the start of its id (4 characters or more), or - for the newest.\n"
	     "exit status: 0 done, 1 the answer is no, 2 wrong usage or configuration, 3 this machine cannot.");
}

static void help_one(const struct cmd *c)
{
	char left[64];

	printf("usage: warder %s%s%s%s\n\n%s\n", c->name, c->options[0].name ? " [options]" : "",
	       c->words[0] ? " " : "", c->words, c->summary);
	if (c->options[0].name)
		putchar('\n');
	for (const struct cmd_option *o = c->options; o->name; o++) {
		snprintf(left, sizeof(left), "%c%c %s--%s%s%s", o->letter ? '-' : ' ', o->letter ? o->letter : ' ',
			 o->letter ? "" : " ", o->name, o->arg ? " " : "", o->arg ? o->arg : "");
		printf("  %-26s %s\n", left, o->help);
	}
	if (c->more)
		printf("\n%s\n", c->more);
}

/* ---- parsing */

const char *cmd_opt(const struct cmd_args *args, const char *name)
{
	for (size_t i = 0; i < args->ngiven; i++)
		if (strcmp(args->given[i].option->name, name) == 0)
			return args->given[i].value;
	return NULL;
}

bool cmd_has(const struct cmd_args *args, const char *name)
{
	return cmd_opt(args, name) != NULL;
}

static const struct cmd_option *find_option(const struct cmd *c, const char *word, const char **ret_value)
{
	for (const struct cmd_option *o = c->options; o->name; o++) {
		size_t n = strlen(o->name);

		*ret_value = NULL;
		if (word[1] == '-' && strncmp(word + 2, o->name, n) == 0 &&
		    (word[2 + n] == '\0' || word[2 + n] == '=')) {
			if (word[2 + n] == '=')
				*ret_value = word + 3 + n;
			return o;
		}
		if (o->letter && word[1] == o->letter && (word[2] == '\0' || o->arg)) {
			if (word[2])
				*ret_value = word + 2;
			return o;
		}
	}
	return NULL;
}

static int usage(struct err *err, const struct cmd *c, const char *what, const char *why)
{
	return err_set(err, E_USAGE, "%s: %s; see warder %s --help", what, why, c->name);
}

static int take_option(struct cmd_args *args, char **words, int *i, struct err *err)
{
	const char *word = words[*i], *value;
	const struct cmd_option *o = find_option(args->cmd, word, &value);

	if (!o)
		return usage(err, args->cmd, word, "unknown option");
	if (o->arg && !value && !(value = words[++*i]))
		return usage(err, args->cmd, word, "its value is missing");
	if (!o->arg && value)
		return usage(err, args->cmd, word, "it takes no value");
	if (!o->repeats && cmd_has(args, o->name))
		return usage(err, args->cmd, word, "given twice");
	if (args->ngiven == CMD_OPTIONS_MAX)
		return usage(err, args->cmd, word, "too many options");
	args->given[args->ngiven].option = o;
	args->given[args->ngiven++].value = value ? value : "";
	return 0;
}

/* Words that are no options are moved to the front of `words`. */
static int parse(struct cmd_args *args, int n, char **words, struct err *err)
{
	bool options_over = false;

	for (int i = 0; i < n; i++) {
		bool is_option = !options_over && words[i][0] == '-' && words[i][1];
		int r = 0;

		if (is_option && strcmp(words[i], "--") == 0) {
			options_over = true;
		} else if (is_option) {
			r = take_option(args, words, &i, err);
		} else {
			words[args->nwords++] = words[i];
			options_over |= args->cmd->words_end_options;
		}
		if (r < 0)
			return r;
	}
	words[args->nwords] = NULL;
	args->words = words;
	if (args->nwords < args->cmd->min_words)
		return usage(err, args->cmd, args->cmd->name, "something is missing");
	if (args->nwords > args->cmd->max_words)
		return usage(err, args->cmd, args->words[args->cmd->max_words], "one word too many");
	return 0;
}

static bool asks_for_help(int n, char **words)
{
	for (int i = 0; i < n && strcmp(words[i], "--") != 0; i++)
		if (strcmp(words[i], "--help") == 0 || strcmp(words[i], "-h") == 0)
			return true;
	return false;
}

/* What was printed and not written is a failure of the command. */
static int finish(int status)
{
	if (fflush(stdout) == 0 || status != 0)
		return status;
	cmd_complain("standard output: cannot be written");
	return 3;
}

int cmd_main(int argc, char **argv)
{
	struct err err = { 0 };

	if (argc < 2) {
		cmd_complain("window: it is not part of this version; see warder --help for the commands");
		return 2;
	}
	if (strcmp(argv[1], "--version") == 0) {
		puts("warder " PACKAGE_VERSION);
		return finish(0);
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
		help_all();
		return finish(0);
	}

	struct cmd_args args = { .cmd = find_command(argv[1]) };
	if (!args.cmd) {
		err_set(&err, E_USAGE, "%s: unknown command; see warder --help", argv[1]);
		cmd_complain(err.text);
		return 2;
	}
	if (asks_for_help(argc - 2, argv + 2) && !(args.cmd->words_end_options && argc > 2 && argv[2][0] != '-')) {
		help_one(args.cmd);
		return finish(0);
	}

	int r = parse(&args, argc - 2, argv + 2, &err);
	if (r == 0)
		r = args.cmd->run(&args, &err);
	if (r < 0) {
		cmd_complain(err.text);
		r = err_exit_status(r);
	}
	return finish(r);
}
