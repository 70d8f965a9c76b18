#include "jail/hand_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "core/base/clock.h"
#include "core/base/path.h"

#define SHELL "/bin/bash"
#define KILL_ALL_MS 2000
#define KILL_ROUND_MS 10

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U /* Linux 6.3; where vm.memfd_noexec is 2 nothing else is had */
#endif

#define STRING_(x) #x
#define STRING(x) STRING_(x)
/* xtrace goes off inside a group whose standard error is already away, so that `set -x` shows nothing of ours. */
static const char prologue[] = "exec " STRING(HAND_PROLOGUE_FD) "<&-\n"
								"unset BASH_ENV\n"
								"trap '{ set +x; builtin pwd -L >&" STRING(
									HAND_FOLDER_FD) "; } 2>/dev/null' EXIT\n";

/* An entry of our own environment, so of every command's. */
static char pwd_entry[PATH_MAX + 4] = "PWD=";

int hand_spawn_init(int *ret_prologue_fd, struct err *err)
{
	_cleanup_fd_ int fd = memfd_create("prologue", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("prologue", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || path_write_all(fd, prologue, sizeof(prologue) - 1) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
		return err_errno(err, E_MACHINE, errno, "sealed memory file");
	if (setenv("BASH_ENV", "/proc/self/fd/" STRING(HAND_PROLOGUE_FD), 1) < 0 || putenv(pwd_entry) < 0)
		return err_set(err, E_NOMEM, "environment: out of memory");
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return err_errno(err, E_MACHINE, errno, "PR_SET_CHILD_SUBREAPER");
	*ret_prologue_fd = steal_fd(&fd);
	return 0;
}

/* What the child has to say before exec; it shares our memory until then. */
struct attempt {
	const struct hand_spawn *spawn;
	char *const *argv;
	pid_t parent;
	volatile int errnum;
	const char *volatile failed;
};

static void give_up(struct attempt *a, const char *what)
{
	a->errnum = errno;
	a->failed = what;
	_exit(127);
}

/* In the child of vfork: async-signal-safe calls only, and nothing that would disturb the parent's memory. */
static void become(struct attempt *a)
{
	const struct hand_spawn *s = a->spawn;
	const int moves[][2] = {
		{ s->null_fd, 0 },
		{ s->out_fd, 1 },
		{ s->out_fd, 2 },
		{ s->folder_fd, HAND_FOLDER_FD },
		{ s->prologue_fd, HAND_PROLOGUE_FD },
	};
	sigset_t none;

	setsid();
	/* Ours is not the last word on orphans (the cell's end or EOF is), but a hand that is killed takes its
	 * shells along. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != a->parent)
		_exit(127);
	for (size_t i = 0; i < ARRAY_LEN(moves); i++)
		if (dup2(moves[i][0], moves[i][1]) < 0)
			give_up(a, "descriptors");
	if (chdir(s->folder) < 0)
		give_up(a, s->folder);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execve(SHELL, a->argv, environ);
	give_up(a, SHELL);
}

int hand_spawn(const struct hand_spawn *spawn, pid_t *ret, struct err *err)
{
	/* "--": a command may begin with a dash */
	char *argv[] = { (char *)"bash", (char *)"-c", (char *)"--", (char *)spawn->command, NULL };
	struct attempt a = { .spawn = spawn, .argv = argv, .parent = getpid() };

	/* So that bash calls the folder by the name that its last command used, symbolic links included. */
	snprintf(pwd_entry, sizeof(pwd_entry), "PWD=%s", spawn->folder);

	pid_t pid = vfork();
	if (pid == 0)
		become(&a);
	if (pid < 0)
		return err_errno(err, E_IO, errno, "cannot start a process");
	if (a.failed) {
		waitpid(pid, NULL, 0);
		return err_errno(err, a.failed == spawn->folder ? E_NOTFOUND : E_IO, a.errnum, "%.700s", a.failed);
	}
	*ret = pid;
	return 0;
}

void hand_reap(hand_ended_fn *ended, void *arg)
{
	int wstatus;
	pid_t pid;

	while ((pid = waitpid(-1, &wstatus, WNOHANG)) > 0)
		ended(arg, pid, wstatus);
}

/* Kills the direct children; what they leave becomes our child and falls to the next round.  A kernel without
 * CONFIG_PROC_CHILDREN has no such list: then hand_kill_all() ends in false, unless there was nothing to kill. */
static void kill_children(void)
{
	char path[64], text[4096];
	pid_t pid = 0;
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());

	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	while ((got = read(fd, text, sizeof(text))) > 0)
		for (ssize_t i = 0; i < got; i++) {
			if (text[i] >= '0' && text[i] <= '9') {
				pid = pid * 10 + (text[i] - '0');
			} else if (pid > 0) {
				kill(pid, SIGKILL);
				pid = 0;
			}
		}
	if (pid > 0)
		kill(pid, SIGKILL);
}

bool hand_kill_all(hand_ended_fn *ended, void *arg)
{
	const struct timespec round = { .tv_nsec = KILL_ROUND_MS * 1000000L };
	int64_t deadline = clock_mono_ms() + KILL_ALL_MS;
	sigset_t child;
	siginfo_t info;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	do {
		kill_children();
		hand_reap(ended, arg);
		info.si_pid = 0;
		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD)
			return true;
		if (!info.si_pid)
			sigtimedwait(&child, &info, &round);
	} while (clock_mono_ms() < deadline);
	return false;
}
