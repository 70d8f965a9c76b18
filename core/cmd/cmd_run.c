#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "core/base/utf8.h"
#include "core/brain_name.h"
#include "core/client.h"
#include "core/cmd/cmd.h"
#include "core/cmd/follow.h"
#include "core/cmd/session_arg.h"
#include "core/policy/preset.h"
#include "jail/cell.h"

static const struct cmd_option options[] = {
	{ "model", 'm', "BRAIN", "a [brain] section of the configuration, or scripted:FILE", false },
	{ "workspace", 'w', "DIR", "the folder that the agent works in (default: this one)", false },
	{ "preset", 'p', "NAME", "contained (default), careful or locked", false },
	{ "headless", 0, NULL,
	  "print event lines until the session is idle; asks are answered from --answers or denied", false },
	{ "answers", 0, "FILE", "prepared decisions for --headless", false },
	{ "text", 0, NULL, "with --headless: readable lines in place of JSON", false },
	{ "detach", 0, NULL, "print the session's id and leave it working", false },
	{ NULL, 0, NULL, NULL, false },
};

static int make_order(const struct cmd_args *args, const struct config *config, const char *workspace, json_node *order,
		      struct err *err)
{
	_cleanup_brain_choice_ struct brain_choice brain = { 0 };
	const char *preset = cmd_opt(args, "preset");
	const char *answers_file = cmd_opt(args, "answers");
	json_node *answers = NULL;
	int r = brain_choose(cmd_opt(args, "model"), config, &brain, err);

	if (r < 0)
		return r;
	if (!preset)
		preset = config->preset ? config->preset : "contained";
	if (!preset_find(preset))
		return err_set(err, E_USAGE, "--preset %s: no such preset; use contained, careful or locked", preset);
	if (answers_file && (r = session_arg_answers(answers_file, workspace, &answers, err)) < 0)
		return r;
	if (answers)
		cJSON_AddItemToObject(order, "answers", answers);
	cJSON_AddStringToObject(order, "mode", "run");
	cJSON_AddStringToObject(order, "workspace", workspace);
	cJSON_AddStringToObject(order, "brain", brain.name);
	cJSON_AddStringToObject(order, "brain_kind", brain.kind);
	cJSON_AddStringToObject(order, "script", buf_str(&brain.script));
	cJSON_AddStringToObject(order, "preset", preset);
	cJSON_AddStringToObject(order, "floor", cell_level_name(config->floor));
	cJSON_AddStringToObject(order, "prompt", args->words[0]);
	cJSON_AddBoolToObject(order, "headless", cmd_has(args, "headless"));
	return 0;
}

static bool is_utf8(const char *text)
{
	size_t len = strlen(text), n;
	uint32_t cp;

	for (; len; text += n, len -= n)
		if (!(n = utf8_decode(text, len, &cp)))
			return false;
	return true;
}

static int run(const struct cmd_args *args, struct err *err)
{
	_cleanup_home_ struct home home = HOME_INIT;
	_cleanup_config_ struct config config = { 0 };
	_cleanup_json_ json_node *order = cJSON_CreateObject();
	_cleanup_client_ struct client_link link = CLIENT_LINK_INIT;
	_cleanup_fd_ int session_fd = -1;
	_cleanup_free_ char *workspace = NULL;
	const char *dir = cmd_opt(args, "workspace") ? cmd_opt(args, "workspace") : ".";
	char session[32];

	if (!cmd_has(args, "headless") && !cmd_has(args, "detach"))
		return err_set(err, E_USAGE,
			       "run: the window is not part of this version; give --headless or --detach");
	if (cmd_has(args, "headless") && cmd_has(args, "detach"))
		return err_set(err, E_USAGE, "run: --headless and --detach exclude each other; give one");
	if (cmd_has(args, "answers") && !cmd_has(args, "headless"))
		return err_set(err, E_USAGE, "--answers: it goes with --headless; without it the operator answers");
	if (!args->words[0][0])
		return err_set(err, E_USAGE, "run: the prompt is empty; say what the agent should do");
	if (!(workspace = realpath(dir, NULL)))
		return err_set(err, E_USAGE, "--workspace %s: %s; name a folder", dir, strerror(errno));

	/* It stands in the log and in the action's digest, which are JSON. */
	if (!is_utf8(workspace))
		return err_set(err, E_USAGE, "--workspace %s: its path is not UTF-8; rename it", workspace);

	int r = home_open(&home, err);
	if (r == 0)
		r = config_read(home.config_path, &config, err);
	if (r == 0)
		r = home_check_workspace(&home, workspace, err);
	if (r == 0)
		r = make_order(args, &config, workspace, order, err);
	if (r == 0)
		r = client_start(order, &link, session, err);
	if (r < 0)
		return r;
	if (cmd_has(args, "detach")) {
		puts(session);
		return 0;
	}
	r = home_session_open(&home, session, false, &session_fd, err);
	if (r < 0)
		return r;

	struct follow f = {
		.session = session, .session_fd = session_fd, .json = !cmd_has(args, "text"), .stop_on_signal = true
	};
	return follow_keeper(&f, &link, err);
}

const struct cmd cmd_run = {
	.name = "run",
	.words = "PROMPT",
	.summary = "start a session: an agent works on PROMPT in a jail over the workspace",
	.more = "The workspace's files stay as they are: what the agent changes is staged (see warder changes).\n"
		"exit status with --headless: 0 the turn ended, 1 it did not, 2 usage, 3 this machine cannot, 130 "
		"interrupted.",
	.options = options,
	.min_words = 1,
	.max_words = 1,
	.run = run,
};
