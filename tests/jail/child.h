/*
 * child: runs a function in a forked child, because what these tests do to a process cannot be undone.
 */
#ifndef WARDER_TESTS_JAIL_CHILD_H
#define WARDER_TESTS_JAIL_CHILD_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILD_SIGNAL 1000 /* child_run() gives back this plus the signal that killed the child */

/* What `fn(arg)` returned, by a pipe; the child ends without running anything of libc's. */
static inline int child_run(int (*fn)(const void *arg), const void *arg)
{
	int status, value = -1, pipes[2];

	if (pipe(pipes) < 0)
		return -1;
	pid_t pid = fork();
	if (pid < 0)
		return -1;
	if (pid == 0) {
		int r = fn(arg);

		if (write(pipes[1], &r, sizeof(r)) != sizeof(r))
			_exit(1);
		_exit(0);
	}
	close(pipes[1]);
	while (read(pipes[0], &value, sizeof(value)) < 0 && errno == EINTR)
		;
	close(pipes[0]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFSIGNALED(status) ? CHILD_SIGNAL + WTERMSIG(status) : value;
}

/* An empty folder for this program to work in and to remove. */
static inline bool fresh_folder(char path[4096], const char *name)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(path, 4096, "%s/warder-%s-XXXXXX", tmp ? tmp : "/tmp", name);
	return mkdtemp(path) != NULL;
}

/* errno of a failed call, else 0. */
static inline int err_of(long result)
{
	return result < 0 ? errno : 0;
}

#endif
