/*
 * hand_bash: the `bash` tool: commands that run, their output, deadlines and the folder that follows `cd`.  It
 * owns the running commands and the pipes that ended ones have left to background processes; it never waits: the
 * loop asks what to poll for and until when, and then lets it act.
 *
 * A command goes through: running -> (stopping: SIGTERM to its group, SIGKILL 2 s later) -> shell gone -> its
 * output read to the end and its group empty, or 200 ms over when processes stay in the background -> answered.
 */
#ifndef WARDER_JAIL_HAND_BASH_H
#define WARDER_JAIL_HAND_BASH_H

#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <sys/types.h>

#include "jail/hand_tool.h"

#define HAND_COMMAND_MAX 120000 /* the kernel takes 128 KiB for one argument */
#define HAND_TIMEOUT_MS 120000
#define HAND_TIMEOUT_MAX_MS 600000
#define HAND_STOP_MS 2000
#define HAND_GIVE_UP_MS 5000 /* after SIGKILL: a process the kernel does not let go */
#define HAND_LINGER_MS 200
#define HAND_JOBS_MAX 16
#define HAND_DRAINS_MAX 64
#define HAND_BASH_POLL_MAX (HAND_JOBS_MAX + HAND_DRAINS_MAX)

struct hand_job;

struct hand_shell {
	char workspace[PATH_MAX];
	char folder[PATH_MAX]; /* where the next command starts */
	int null_fd, prologue_fd;
	struct hand_job *jobs;
	size_t njobs;
	int drains[HAND_DRAINS_MAX];
	size_t ndrains;
};

/* The process's working folder is the workspace. */
int hand_bash_init(struct hand_shell *sh, struct err *err) WARN_UNUSED;
/* Kills what was started, in the background too. */
void hand_bash_end(struct hand_shell *sh);

/* Tool. */
void hand_bash_start(struct hand *hand, struct hand_call *call);
void hand_bash_cancel(struct hand *hand, struct hand_call *call);

/* Fills at most HAND_BASH_POLL_MAX entries, and says when hand_bash_step() is due at the latest (INT64_MAX:
 * never). */
size_t hand_bash_poll(const struct hand_shell *sh, struct pollfd *fds);
int64_t hand_bash_due(const struct hand_shell *sh);
/* Reads what the entries (unchanged in number and order) say is there. */
void hand_bash_read(struct hand_shell *sh, const struct pollfd *fds);
/* A child has ended. */
void hand_bash_ended(void *shell, pid_t pid, int wstatus);
/* Acts on deadlines and answers what is over. */
void hand_bash_step(struct hand *hand, int64_t now);

#endif
