#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include "core/base/safe_text.h"
#include "core/changes/staged.h"
#include "core/cmd/cmd.h"
#include "core/cmd/jail_folder.h"
#include "core/cmd/jail_keep.h"
#include "core/cmd/jail_relay.h"
#include "core/config.h"
#include "core/home.h"
#include "jail/cell.h"

#define PATHS_MAX 32

static const struct cmd_option options[] = {
	{ "rw", 0, "PATH", "a further path that the command may write, on the host", true },
	{ "ro", 0, "PATH", "a further path that the command may read", true },
	{ "keep", 0, "DIR", "keep what the command changed in DIR, a new folder, as a diff and as files", false },
	{ "json", 0, NULL, "print the cell's evidence as one object on stderr", false },
	{ NULL, 0, NULL, NULL, false },
};

struct lists {
	const char *rw[PATHS_MAX + 1];
	const char *ro[PATHS_MAX + 1];
	char *owned[2 * PATHS_MAX];
	size_t nowned;
};

static void free_lists(struct lists *l)
{
	for (size_t i = 0; i < l->nowned; i++)
		free(l->owned[i]);
}

static int take_paths(const struct cmd_args *args, const char *option, const char *const *forbidden, const char **list,
		      struct lists *l, struct err *err)
{
	size_t n = 0;

	for (size_t i = 0; i < args->ngiven; i++) {
		if (strcmp(args->given[i].option->name, option) != 0)
			continue;
		if (n == PATHS_MAX)
			return err_set(err, E_USAGE, "--%s: more than %d paths", option, PATHS_MAX);

		char *real = realpath(args->given[i].value, NULL);
		if (!real)
			return err_set(err, E_USAGE, "--%s %s: %s; name a path that exists", option,
				       args->given[i].value, strerror(errno));
		l->owned[l->nowned++] = real;
		list[n++] = real;
		int r = cell_check_path(real, strcmp(option, "rw") == 0, forbidden, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Signals that the operator sends to `warder jail` go to the command: it has no terminal of its own to get them from.
 */
static int wait_for_end(struct cell *cell, int signals, struct jail_relay *relay, int *ret_wstatus, struct err *err)
{
	struct pollfd fds[2 + RELAY_STREAMS] = {
		{ .fd = cell_pidfd(cell), .events = POLLIN },
		{ .fd = signals, .events = POLLIN },
	};

	while (!fds[0].revents) {
		struct signalfd_siginfo info;

		jail_relay_poll(relay, fds + 2);
		if (poll(fds, ARRAY_LEN(fds), -1) < 0 && errno != EINTR)
			return err_errno(err, E_IO, errno, "poll");
		jail_relay_step(relay);
		if (!fds[1].revents || read(signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
			continue;
		int r = cell_signal(cell, (int)info.ssi_signo, err);
		if (r < 0)
			return r;
	}
	return cell_wait(cell, ret_wstatus, err);
}

static int catch_signals(struct err *err)
{
	static const int caught[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	sigset_t mask;
	int fd;

	sigemptyset(&mask);
	for (size_t i = 0; i < ARRAY_LEN(caught); i++)
		sigaddset(&mask, caught[i]);
	if (sigprocmask(SIG_BLOCK, &mask, NULL) < 0 || (fd = signalfd(-1, &mask, SFD_CLOEXEC)) < 0)
		return err_errno(err, E_IO, errno, "signals");
	return fd;
}

/* What the command changed in its staged view, named on stderr so that stdout is the command's alone. */
static int list_changes(const struct layer *layer, int keep_fd, struct err *err)
{
	_cleanup_(manifest_free) struct manifest m = { 0 };
	int r = layer_snapshot(layer, &m, err);
	size_t n = 0, kept = 0;

	for (size_t i = 0; r == 0 && i < m.n; i++) {
		const struct change *c = &m.change[i];
		_cleanup_free_ char *path = safe_dup(c->path);

		/* The cell's own repository, which never leaves it. */
		if (c->status == CHANGE_WITHHELD)
			continue;
		fprintf(stderr, "%-8s %s\n", change_op_name(c->op), path ? path : "?");
		n++;
	}
	if (r == 0 && keep_fd >= 0)
		r = jail_keep(layer, &m, keep_fd, &kept, err);
	if (r == 0 && keep_fd >= 0)
		fprintf(stderr, "%zu path%s changed in the jail's own layer; %zu kept\n", n, n == 1 ? "" : "s", kept);
	else if (r == 0 && n)
		fprintf(stderr, "%zu path%s changed in the jail's own layer; dropped\n", n, n == 1 ? "" : "s");
	return r;
}

/* Nothing in the cell says why: its shell, if there is one, never ran. */
static void name_unstarted(const struct cell *cell, const char *command)
{
	struct err why = { 0 };
	int errnum = cell_main_errno(cell);

	if (!errnum)
		return;
	(void)err_set(&why, E_NOTFOUND, "%s: %s%s", command, strerror(errnum),
		      errnum == ENOENT ? "; the jail has /usr, this folder and what --ro or --rw names" : "");
	cmd_complain(why.text);
}

static int exit_status(int wstatus)
{
	return WIFSIGNALED(wstatus) ? 128 + WTERMSIG(wstatus) : WEXITSTATUS(wstatus);
}

static int run_cell(const struct cmd_args *args, const struct config *config, const char *workspace,
		    struct jail_folder *folder, const struct lists *l, struct err *err)
{
	_cleanup_cell_ struct cell *cell = NULL;
	_cleanup_fd_ int signals = catch_signals(err);
	_cleanup_(jail_relay_close) struct jail_relay relay;
	struct cell_report report = { 0 };
	struct cell_spec spec = {
		.workspace = workspace,
		.layer_fd = folder->staged.layer.layer_fd,
		.idmap_base = folder->staged.layer.idmap_base,
		.ro = l->ro,
		.rw = l->rw,
		.argv = (const char *const *)args->words,
		.floor = config->floor,
		.baseline = true,
	};
	int wstatus = 0;
	int r = jail_relay_open(&relay, spec.stdio, err);

	if (r == 0)
		r = signals < 0 ? E_IO : cell_start(&spec, &cell, &report, err);
	if (r == 0)
		jail_relay_started(&relay);
	if (r == 0 && cmd_has(args, "json"))
		fprintf(stderr, "%s\n", report.evidence_json);
	if (r == 0)
		r = layer_note_birth(&folder->staged.layer, cell_birth_us(cell), err);
	if (r == 0)
		name_unstarted(cell, args->words[0]);
	if (r == 0)
		r = wait_for_end(cell, signals, &relay, &wstatus, err);
	cell_end(&cell);
	if (r == 0)
		jail_relay_finish(&relay);
	if (r == 0)
		r = list_changes(&folder->staged.layer, folder->keep_fd, err);
	return r < 0 ? r : exit_status(wstatus);
}

static int run(const struct cmd_args *args, struct err *err)
{
	_cleanup_home_ struct home home = HOME_INIT;
	_cleanup_config_ struct config config = { 0 };
	_cleanup_(jail_folder_remove) struct jail_folder folder = JAIL_FOLDER_INIT;
	_cleanup_(free_lists) struct lists lists = { 0 };
	_cleanup_free_ char *workspace = realpath(".", NULL);
	const char *forbidden[3];

	if (!workspace)
		return err_errno(err, E_USAGE, errno, "working folder");
	int r = home_open(&home, err);
	if (r == 0)
		r = config_read(home.config_path, &config, err);
	home_forbidden(&home, forbidden);
	if (r == 0)
		r = home_check_workspace(&home, workspace, err);
	if (r == 0)
		r = take_paths(args, "rw", forbidden, lists.rw, &lists, err);
	if (r == 0)
		r = take_paths(args, "ro", forbidden, lists.ro, &lists, err);
	if (r == 0)
		r = jail_folder_make(&home, workspace, &folder, err);
	if (r == 0 && cmd_opt(args, "keep"))
		r = jail_keep_open(cmd_opt(args, "keep"), &folder.keep_fd, err);
	return r < 0 ? r : run_cell(args, &config, workspace, &folder, &lists, err);
}

const struct cmd cmd_jail = {
	.name = "jail",
	.words = "-- CMD...",
	.summary = "run one command in the jail; what it changes in this folder is listed, and dropped or kept",
	.more = "The exit status is the command's own; 128 + N when signal N ended it, 127 not found, 126 not "
		"executable.\n"
		"There is no network, and no home but an empty one.",
	.options = options,
	.min_words = 1,
	.max_words = 100000,
	.words_end_options = true,
	.run = run,
};
