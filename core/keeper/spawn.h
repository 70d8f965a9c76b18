/*
 * spawn: starts another process of our own program (`warder __VERB`) with an environment by list and exactly the
 * descriptors that it is given.  It passes nothing else on: no terminal, no variable, no signal mask.
 */
#ifndef WARDER_KEEPER_SPAWN_H
#define WARDER_KEEPER_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

#include "core/base/err.h"
#include "core/base/macro.h"

struct spawn {
	const char *const *argv;  /* argv[0] is "warder" */
	const char *const *env;   /* NULL: empty */
	const int *fds;           /* become 3, 4, ... */
	size_t nfds;              /* at most 4 */
	bool new_session;
};

int spawn_self(const struct spawn *s, pid_t *ret_pid, struct err *err) WARN_UNUSED;

/* A connected pair of stream sockets, CLOEXEC. */
int spawn_pair(int *ret_ours, int *ret_theirs, struct err *err) WARN_UNUSED;

#endif
