/*
 * session_state: what a list says about a session, read from its log.  It keeps nothing.
 */
#ifndef WARDER_STORE_SESSION_STATE_H
#define WARDER_STORE_SESSION_STATE_H

#include <stdint.h>

#include "core/base/arena.h"

/* The columns of struct catalog_row but the name. */
struct session_state {
	int64_t created, last_seq;
	const char *workspace, *brain, *preset, *level, *state;
	const char *problem;
};

/* Never fails: what cannot be read is `problem`.  Texts live in `arena`. */
void session_state_read(int session_fd, struct arena *arena, struct session_state *ret);

#endif
