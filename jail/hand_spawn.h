/*
 * hand_spawn: starts one bash command, and ends everything that commands have left behind.  It keeps no list of
 * its own: the hand is the subreaper of all that it started, so whatever daemonises comes back to it as a child.
 *
 * How a `cd` is followed: bash reads $BASH_ENV before the command; that is a sealed memfd of ours with an EXIT
 * trap which prints the folder to HAND_FOLDER_FD.  So argv stays `bash -c -- COMMAND` to the byte, line numbers
 * and $0 in messages stay true, and a command that ends by `exit`, a syntax error or `set -e` is followed as well.
 * One that ends without the trap (exec, SIGKILL, a trap of its own) says nothing, and the folder stays as it was.
 */
#ifndef WARDER_JAIL_HAND_SPAWN_H
#define WARDER_JAIL_HAND_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

#include "core/base/err.h"

#define HAND_FOLDER_FD 198
#define HAND_PROLOGUE_FD 199

struct hand_spawn {
	const char *command;
	const char *folder;
	int null_fd; /* standard input */
	int out_fd;  /* standard output and error */
	int folder_fd;
	int prologue_fd;
};

/* Makes this process the subreaper, and the memfd. */
int hand_spawn_init(int *ret_prologue_fd, struct err *err) WARN_UNUSED;

/* A new session with no terminal, default signals, the environment of this process.  Returns when bash runs. */
int hand_spawn(const struct hand_spawn *spawn, pid_t *ret, struct err *err) WARN_UNUSED;

/* Reaps every child that has ended, telling `ended` of each. */
typedef void hand_ended_fn(void *arg, pid_t pid, int wstatus);
void hand_reap(hand_ended_fn *ended, void *arg);

/* Kills all descendants and waits until they are gone; false when some are not after 2 s.  SIGCHLD must be
 * blocked. */
bool hand_kill_all(hand_ended_fn *ended, void *arg);

#endif
