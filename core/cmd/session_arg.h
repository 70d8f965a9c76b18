/*
 * session_arg: what commands on a session have in common: finding it, reading its log into a state, reading an
 * answers file.  It decides nothing.
 */
#ifndef WARDER_CMD_SESSION_ARG_H
#define WARDER_CMD_SESSION_ARG_H

#include "core/base/json.h"
#include "core/home.h"
#include "core/session/state.h"

struct session_arg {
	struct home home;
	char id[32];
	int fd;
	bool alive; /* a keeper holds the writer lock */
};
#define SESSION_ARG_INIT { .home = HOME_INIT, .fd = -1 }

/* Resolves `name` ("-", a prefix). */
int session_arg_open(const char *name, struct session_arg *ret, struct err *err) WARN_UNUSED;
void session_arg_close(struct session_arg *s);
#define _cleanup_session_arg_ _cleanup_(session_arg_close)

/* Folds the whole log of the session folder `fd`. */
int session_arg_state(int fd, struct session_state *ret, struct err *err) WARN_UNUSED;

/* Reads, checks, and refuses a file that lies inside the workspace (invariant 6).  *ret: {"name","text"}. */
int session_arg_answers(const char *file, const char *workspace, json_node **ret, struct err *err) WARN_UNUSED;

#endif
