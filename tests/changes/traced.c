#include "tests/changes/traced.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static void child(int (*run)(void *arg), void *arg)
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
		_exit(255);
	raise(SIGSTOP);
	_exit(run(arg) & 0x7f);
}

static bool wait_for(pid_t pid, int *status)
{
	return waitpid(pid, status, __WALL) == pid;
}

bool traced_run(int (*run)(void *arg), void *arg, int at, void (*act)(void *arg), struct traced *ret)
{
	int status = 0, signal_to_pass = 0;

	memset(ret, 0, sizeof(*ret));
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0)
		child(run, arg);
	if (pid < 0 || !wait_for(pid, &status) || !WIFSTOPPED(status))
		return false;
	if (ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)(long)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL)) < 0) {
		kill(pid, SIGKILL);
		wait_for(pid, &status);
		return false;
	}
	for (;;) {
		if (ptrace(PTRACE_SYSCALL, pid, NULL, (void *)(long)signal_to_pass) < 0 || !wait_for(pid, &status))
			return false;
		signal_to_pass = 0;
		if (!WIFSTOPPED(status))
			break;
		if (WSTOPSIG(status) != (SIGTRAP | 0x80)) {
			signal_to_pass = WSTOPSIG(status);
			continue;
		}
		if (++ret->calls != at)
			continue;
		if (act) {
			act(arg);
			continue;
		}
		kill(pid, SIGKILL);
		wait_for(pid, &status);
		return true;
	}
	ret->ended = WIFEXITED(status);
	ret->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	return true;
}
