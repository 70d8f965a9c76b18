/* Programs that init starts in the locked cell. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "core/base/clock.h"
#include "jail/init_internal.h"

/* In the child, which has init's memory until it executes: it calls, and writes nothing but `*ret_errno`. */
static void become(const struct init *in, const struct run *r, volatile int *ret_errno)
{
	static const char *const hand_argv[] = { "warder-hand", NULL };
	sigset_t none;

	setsid();
	if (r->quiet)
		for (int fd = 0; fd < 3; fd++)
			if (dup2(in->null, fd) < 0)
				goto failed;
	if (fchdir(r->cwd) < 0)
		goto failed;
	/* Everything of ours is CLOEXEC; this is the belt. */
	if (close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
		goto failed;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (r->argv)
		execvpe(r->argv[0], (char *const *)(uintptr_t)r->argv, r->env);
	else
		syscall(SYS_execveat, SETUP_FD_HAND, "", hand_argv, r->env, AT_EMPTY_PATH);
failed:
	*ret_errno = errno;
	_exit(127);
}

pid_t run_start(const struct init *in, const struct run *r)
{
	volatile int failed = 0;
	pid_t pid = vfork();

	if (pid == 0)
		become(in, r, &failed);
	if (pid > 0 && failed) {
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
		errno = failed;
		return -1;
	}
	return pid;
}

bool run_wait(pid_t pid, int timeout_ms, int *ret_wstatus)
{
	int64_t deadline = clock_mono_ms() + timeout_ms;
	sigset_t chld;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	for (;;) {
		int wstatus;
		pid_t got;

		while ((got = waitpid(-1, &wstatus, WNOHANG)) > 0)
			if (got == pid) {
				*ret_wstatus = wstatus;
				return true;
			}

		int64_t left = deadline - clock_mono_ms();
		if (left <= 0)
			return false;
		struct timespec t = { left / 1000, left % 1000 * 1000000 };
		sigtimedwait(&chld, NULL, &t); /* SIGCHLD is blocked, so one that came before is pending */
	}
}

static bool same_name(const char *a, const char *b)
{
	size_t len = strcspn(a, "=");

	return strncmp(a, b, len) == 0 && b[len] == '=';
}

char **run_environment(const struct init *in)
{
	static const char *const listed[] = {
		"HOME=" INIT_HOME, "PATH=" INIT_PATH, "USER=agent",  "LOGNAME=agent",
		"SHELL=/bin/bash", "LANG=C.UTF-8",    "TMPDIR=/tmp",
	};
	const struct setup_list *given = &in->setup.env;
	char **env = calloc(ARRAY_LEN(listed) + given->n + 1, sizeof(*env));
	size_t n = 0;

	if (!env)
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(listed); i++) {
		bool replaced = false;

		for (size_t k = 0; k < given->n; k++)
			replaced = replaced || same_name(listed[i], given->item[k]);
		if (!replaced)
			env[n++] = (char *)(uintptr_t)listed[i];
	}
	for (size_t k = 0; k < given->n; k++)
		env[n++] = (char *)(uintptr_t)given->item[k];
	return env;
}
