#include "core/client.h"
#include "core/cmd/cmd.h"
#include "core/cmd/follow.h"
#include "core/cmd/session_arg.h"
#include "core/pub/op.h"

static const struct cmd_option options[] = {
	{ "json", 0, NULL, "event lines with their whole bodies", false },
	{ "follow", 'f', NULL, "go on printing while the session works", false },
	{ NULL, 0, NULL, NULL, false },
};

static int run(const struct cmd_args *args, struct err *err)
{
	_cleanup_session_arg_ struct session_arg s = SESSION_ARG_INIT;
	_cleanup_client_ struct client_link link = CLIENT_LINK_INIT;
	_cleanup_json_ json_node *order = cJSON_CreateObject();
	int r = session_arg_open(args->words[0], &s, err);

	if (r < 0)
		return r;
	struct follow f = { .session = s.id, .session_fd = s.fd, .json = cmd_has(args, "json") };
	if (!cmd_has(args, "follow") || !s.alive)
		return follow_print(&f, err);

	r = client_reach(&s.home, s.id, s.fd, &link, err);
	if (r == E_NOTFOUND)
		return follow_print(&f, err);
	if (r == 0)
		r = client_ask(&link, OP_SUBSCRIBE, order, NULL, NULL, err);
	if (r == 0)
		r = follow_keeper(&f, &link, err);
	/* The session's outcome is not the outcome of having shown it. */
	return r < 0 || r == 130 ? r : 0;
}

const struct cmd cmd_show = {
	.name = "show",
	.words = "S",
	.summary = "print a session's log",
	.options = options,
	.min_words = 1,
	.max_words = 1,
	.run = run,
};
