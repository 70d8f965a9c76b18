#include <stdio.h>
#include <string.h>

#include "core/client.h"
#include "core/cmd/cmd.h"
#include "core/cmd/follow.h"
#include "core/cmd/session_arg.h"
#include "core/config.h"
#include "core/pub/op.h"

static const struct cmd_option options[] = {
	{ "headless", 0, NULL,
	  "print event lines until the session is idle; asks are answered from --answers or denied", false },
	{ "answers", 0, "FILE", "prepared decisions for --headless", false },
	{ "text", 0, NULL, "with --headless: readable lines in place of JSON", false },
	{ "detach", 0, NULL, "print the session's id and leave it working", false },
	{ NULL, 0, NULL, NULL, false },
};

/* A keeper that lives is asked to run on without an operator; otherwise one is started. */
static int reach_keeper(const struct cmd_args *args, struct session_arg *s, const struct config *config,
			json_node *answers, struct client_link *link, struct err *err)
{
	_cleanup_json_ json_node *order = cJSON_CreateObject();
	bool headless = cmd_has(args, "headless");
	char session[32];

	if (answers)
		cJSON_AddItemToObject(order, "answers", answers);
	if (s->alive) {
		int r = client_reach(&s->home, s->id, s->fd, link, err);

		if (r == 0 && headless)
			r = client_ask(link, OP_ADOPT, order, NULL, NULL, err);
		if (r != E_NOTFOUND)
			return r;
		s->alive = false;
	}
	cJSON_AddStringToObject(order, "mode", "wake");
	cJSON_AddStringToObject(order, "session", s->id);
	cJSON_AddStringToObject(order, "floor", cell_level_name(config->floor));
	cJSON_AddBoolToObject(order, "headless", headless);
	return client_start(order, link, session, err);
}

static int run(const struct cmd_args *args, struct err *err)
{
	_cleanup_session_arg_ struct session_arg s = SESSION_ARG_INIT;
	_cleanup_session_state_ struct session_state state = { 0 };
	_cleanup_config_ struct config config = { 0 };
	_cleanup_client_ struct client_link link = CLIENT_LINK_INIT;
	const char *file = cmd_opt(args, "answers");
	json_node *answers = NULL;

	if (cmd_has(args, "headless") == cmd_has(args, "detach"))
		return err_set(err, E_USAGE,
			       "wake: the window is not part of this version; give --headless or --detach");
	if (file && !cmd_has(args, "headless"))
		return err_set(err, E_USAGE, "--answers: it goes with --headless; without it the operator answers");

	int r = session_arg_open(args->words[0], &s, err);
	if (r == 0)
		r = config_read(s.home.config_path, &config, err);
	if (r == 0)
		r = session_arg_state(s.fd, &state, err);
	if (r == 0 && state.terminated)
		return err_set(err, E_DENIED, "session %s: it has ended for good; warder show %s tells why", s.id,
			       s.id);
	if (r == 0 && file)
		r = session_arg_answers(file, state.workspace, &answers, err);
	if (r == 0)
		r = reach_keeper(args, &s, &config, answers, &link, err);
	if (r < 0)
		return r;
	if (cmd_has(args, "detach")) {
		if (s.alive)
			cmd_complain("already awake");
		puts(s.id);
		return 0;
	}
	struct follow f = { .session = s.id,
			    .session_fd = s.fd,
			    .after = state.last_seq,
			    .json = !cmd_has(args, "text"),
			    .stop_on_signal = true };
	return follow_keeper(&f, &link, err);
}

const struct cmd cmd_wake = {
	.name = "wake",
	.words = "S",
	.summary = "go on with a stored session where its log ends",
	.more = "A call that had started and has no result is reported to the agent as unknown and never run again by "
		"itself.",
	.options = options,
	.min_words = 1,
	.max_words = 1,
	.run = run,
};
