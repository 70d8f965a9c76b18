#include <poll.h>

#include "core/client.h"
#include "core/cmd/cmd.h"
#include "core/cmd/session_arg.h"
#include "core/pub/op.h"
#include "store/log.h"

#define GONE_WAIT_MS 30000
#define GONE_POLL_MS 10

static const struct cmd_option options[] = {
	{ NULL, 0, NULL, NULL, false },
};

/* The keeper closes its end when everything of the session is gone, and lets go of the lock just before it exits. */
static int wait_until_gone(struct session_arg *s, struct client_link *link, struct err *err)
{
	struct frame f;
	int r;

	do
		r = frame_wait(&link->in, GONE_WAIT_MS, &f, err);
	while (r >= 0);
	for (int waited = 0; r == E_CLOSED && waited < GONE_WAIT_MS; waited += GONE_POLL_MS) {
		if (!log_is_locked(s->fd))
			return 0;
		(void)poll(NULL, 0, GONE_POLL_MS);
	}
	return err_set(err, E_BUSY,
		       "session %s: its keeper does not end; look at it with ps, or kill it and wake the session",
		       s->id);
}

static int run(const struct cmd_args *args, struct err *err)
{
	_cleanup_session_arg_ struct session_arg s = SESSION_ARG_INIT;
	_cleanup_client_ struct client_link link = CLIENT_LINK_INIT;
	_cleanup_json_ json_node *order = cJSON_CreateObject();
	int r = session_arg_open(args->words[0], &s, err);

	if (r < 0)
		return r;
	if (!s.alive) {
		cmd_complain("already stopped");
		return 0;
	}
	r = client_reach(&s.home, s.id, s.fd, &link, err);
	if (r == E_NOTFOUND)
		return 0; /* it ended by itself meanwhile */
	if (r == 0)
		r = client_ask(&link, OP_STOP, order, NULL, NULL, err);
	return r == 0 ? wait_until_gone(&s, &link, err) : r;
}

const struct cmd cmd_stop = {
	.name = "stop",
	.words = "S",
	.summary = "end a session's processes; it can be woken again",
	.options = options,
	.min_words = 1,
	.max_words = 1,
	.run = run,
};
