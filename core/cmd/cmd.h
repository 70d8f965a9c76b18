/*
 * cmd: the commands as one table (DESIGN section 9): name, options, help and code, one file a command.  Help, usage
 * errors and the parser come from the table.
 */
#ifndef WARDER_CMD_H
#define WARDER_CMD_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/base/macro.h"

struct cmd_option {
	const char *name; /* long form without dashes */
	char letter;      /* short form, 0: none */
	const char *arg;  /* name of its value in the help, NULL: a switch */
	const char *help;
	bool repeats;
};

#define CMD_OPTIONS_MAX 48 /* given on one command line */

struct cmd_args {
	const struct cmd *cmd;
	struct {
		const struct cmd_option *option;
		const char *value;
	} given[CMD_OPTIONS_MAX];
	size_t ngiven;
	char *const *words; /* what is left, NULL-terminated */
	size_t nwords;
};

struct cmd {
	const char *name;
	const char *words;   /* usage of what is left: "[S]", "PROMPT" */
	const char *summary; /* one line */
	const char *more;    /* further lines of `--help`, or NULL */
	const struct cmd_option *options; /* ends with a NULL name */
	size_t min_words, max_words;
	bool words_end_options; /* the first word ends the options (`jail CMD -x`) */
	int (*run)(const struct cmd_args *args, struct err *err); /* exit status, or a negative code with `err` */
};

/* Value of an option given, NULL when it was not; "" for a switch. */
const char *cmd_opt(const struct cmd_args *args, const char *name);
bool cmd_has(const struct cmd_args *args, const char *name);

/* The whole program: argv as main has it, returns the exit status. */
int cmd_main(int argc, char **argv);

/* One line on stderr: "warder: TEXT", through the gate. */
void cmd_complain(const char *text);
/* The same for each line of a text, which may be NULL. */
void cmd_complain_lines(const char *lines);
/* Prints to stdout through the gate when it is a terminal, the exact bytes otherwise. */
int cmd_print(const char *data, size_t len, struct err *err) WARN_UNUSED;

extern const struct cmd cmd_run, cmd_wake, cmd_stop, cmd_ls, cmd_show, cmd_changes, cmd_verify, cmd_jail, cmd_doctor;

#endif
