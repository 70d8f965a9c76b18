/* The first commit of the cell's own repository: the state at the start of the session, so that `git diff` and `git
 * status` mean the agent's work.  Made by the agent's git in the locked cell, into the staged layer. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "jail/init_internal.h"

#define GIT "/usr/bin/git"
#define STEP_MS 120000

#define GIT_SAFE                                                                                            \
	GIT, "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.fsync=none", "-c", \
		"gc.auto=0", "-c", "commit.gpgSign=false"

static const char *const steps[][20] = {
	{ GIT_SAFE, "add", "-A", NULL },
	{ GIT_SAFE, "commit", "-q", "--allow-empty", "--no-verify", "-m", "state at the start of the session", NULL },
};

static const char *const environment[] = {
	"HOME=" INIT_HOME,
	"PATH=" INIT_PATH,
	"LANG=C.UTF-8",
	"GIT_CONFIG_NOSYSTEM=1",
	"GIT_CONFIG_GLOBAL=/dev/null",
	"GIT_TERMINAL_PROMPT=0",
	NULL,
};

static bool has(int git, const char *name)
{
	return faccessat(git, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Runs one step; false with the reason. */
static bool run_step(const struct init *in, int workspace, const char *const *argv, char evidence[160])
{
	const struct run r = { .argv = argv, .quiet = true, .cwd = workspace, .env = (char **)(uintptr_t)environment };
	const char *name = NULL;
	int wstatus = 0;
	pid_t pid = run_start(in, &r);

	for (size_t i = 1; argv[i] && !name; i++)
		if (strcmp(argv[i], "add") == 0 || strcmp(argv[i], "commit") == 0)
			name = argv[i];
	if (pid < 0) {
		snprintf(evidence, 160, "git %s: %s", name, strerror(errno));
		return false;
	}
	if (!run_wait(pid, STEP_MS, &wstatus)) {
		/* Nothing else runs in the cell yet. */
		kill(-1, SIGKILL);
		while (waitpid(-1, NULL, 0) > 0)
			;
		snprintf(evidence, 160, "git %s: not done within %d s", name, STEP_MS / 1000);
		return false;
	}
	if (!WIFEXITED(wstatus) || WEXITSTATUS(wstatus)) {
		snprintf(evidence, 160, "git %s: %s %d", name, WIFEXITED(wstatus) ? "status" : "signal",
			 WIFEXITED(wstatus) ? WEXITSTATUS(wstatus) : WTERMSIG(wstatus));
		return false;
	}
	return true;
}

void init_baseline(const struct init *in, enum layer_state *ret_state, char evidence[160])
{
	*ret_state = LAYER_OK;
	if (!in->has_git || !(in->setup.flags & SETUP_WITH_BASELINE)) {
		snprintf(evidence, 160, "%s", in->has_git ? "not asked for" : "no repository");
		return;
	}

	_cleanup_fd_ int workspace = open(in->setup.workspace.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_fd_ int git = openat(workspace, ".git", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* An earlier start made it, or the agent did away with the repository. */
	if (git < 0 || has(git, "index") || has(git, "logs")) {
		snprintf(evidence, 160, "%s", git < 0 ? "the agent's repository is gone" : "made earlier");
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(steps); i++)
		if (!run_step(in, workspace, steps[i], evidence)) {
			(void)!unlinkat(git, "index.lock", 0);
			*ret_state = LAYER_PARTIAL;
			return;
		}
	snprintf(evidence, 160, "committed");
}
