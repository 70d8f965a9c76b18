#include "jail/hand_bash.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "core/base/clock.h"
#include "core/base/utf8.h"
#include "jail/hand.h"
#include "jail/hand_out.h"
#include "jail/hand_spawn.h"

#define READ_AT_ONCE (1u << 20) /* from one command, before the others have their turn */

enum stage { RUNNING, STOPPING, KILLED };

struct hand_job {
	struct hand_job *next;
	struct hand_call *call;
	char *started_in;
	pid_t pid;  /* of the shell, and of its group */
	int out_fd; /* -1 at end of file */
	int folder_fd;
	enum stage stage;
	enum hand_outcome why; /* of being stopped */
	int64_t timeout_ms;
	int64_t due; /* end of the stage; once the shell is gone, of the lingering */
	bool ended;
	bool lingers;
	int wstatus;
	struct hand_out out;
};

static void set_folder(struct hand_shell *sh, const char *path)
{
	memmove(sh->folder, path, strnlen(path, sizeof(sh->folder) - 1) + 1);
	sh->folder[sizeof(sh->folder) - 1] = '\0';
}

int hand_bash_init(struct hand_shell *sh, struct err *err)
{
	*sh = (struct hand_shell){ .null_fd = -1, .prologue_fd = -1 };
	if (!getcwd(sh->workspace, sizeof(sh->workspace)))
		return err_errno(err, E_IO, errno, "working folder");
	set_folder(sh, sh->workspace);
	sh->null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (sh->null_fd < 0)
		return err_errno(err, E_MACHINE, errno, "/dev/null");
	return hand_spawn_init(&sh->prologue_fd, err);
}

static void free_job(struct hand_job *job)
{
	fd_close(&job->out_fd);
	fd_close(&job->folder_fd);
	free(job->started_in);
	free(job);
}
#define _cleanup_job_ _cleanup_(drop_job)

static void drop_job(struct hand_job **job)
{
	if (*job)
		free_job(*job);
}

/* Groups first: it works where children cannot be listed, and most of what runs is in one. */
static bool end_all(struct hand_shell *sh)
{
	for (const struct hand_job *job = sh->jobs; job; job = job->next)
		if (!job->ended)
			kill(-job->pid, SIGKILL);
	return hand_kill_all(hand_bash_ended, sh);
}

void hand_bash_end(struct hand_shell *sh)
{
	end_all(sh);
	while (sh->jobs) {
		struct hand_job *job = sh->jobs;

		sh->jobs = job->next;
		free_job(job);
	}
	for (size_t i = 0; i < sh->ndrains; i++)
		close(sh->drains[i]);
	fd_close(&sh->null_fd);
	fd_close(&sh->prologue_fd);
}

static void answer(struct hand *hand, struct hand_call *call, enum hand_outcome outcome, const char *text,
		   const char *folder)
{
	struct hand_result result = HAND_RESULT_INIT;

	result.outcome = outcome;
	result.folder = folder;
	buf_adds(&result.text, text);
	hand_rpc_end(&hand->rpc, call, &result);
	buf_free(&result.text);
}

static int spawn(struct hand_shell *sh, struct hand_job *job, const char *command, struct err *err)
{
	int out[2], folder[2];

	if (pipe2(out, O_CLOEXEC) < 0)
		return err_errno(err, E_IO, errno, "pipe");
	job->out_fd = out[0];
	_cleanup_fd_ int out_end = out[1];

	if (pipe2(folder, O_CLOEXEC) < 0)
		return err_errno(err, E_IO, errno, "pipe");
	job->folder_fd = folder[0];
	_cleanup_fd_ int folder_end = folder[1];

	if (fcntl(job->out_fd, F_SETFL, O_NONBLOCK) < 0 || fcntl(job->folder_fd, F_SETFL, O_NONBLOCK) < 0)
		return err_errno(err, E_IO, errno, "pipe");

	const struct hand_spawn how = {
		.command = command,
		.folder = job->started_in,
		.null_fd = sh->null_fd,
		.out_fd = out_end,
		.folder_fd = folder_end,
		.prologue_fd = sh->prologue_fd,
	};
	return hand_spawn(&how, &job->pid, err);
}

static int start_job(struct hand_shell *sh, struct hand_call *call, const char *command, struct err *err)
{
	_cleanup_job_ struct hand_job *job = calloc(1, sizeof(*job));
	struct err why;

	if (!job)
		return err_set(err, E_NOMEM, "bash: out of memory");
	job->call = call;
	job->out_fd = job->folder_fd = -1;
	job->started_in = strdup(call->folder ? call->folder : sh->folder);
	if (!job->started_in)
		return err_set(err, E_NOMEM, "bash: out of memory");
	job->timeout_ms = json_get_int(call->args, "timeout_ms", HAND_TIMEOUT_MS);
	if (sh->njobs == HAND_JOBS_MAX || sh->ndrains + sh->njobs >= HAND_DRAINS_MAX)
		return err_set(err, E_LIMIT,
			       "bash: too many commands run, or left processes in the background; end some, "
			       "or call bash with restart");

	int r = spawn(sh, job, command, &why);
	if (r == E_NOTFOUND) {
		/* Not run elsewhere instead: in another folder the same words may destroy something else. */
		set_folder(sh, sh->workspace);
		return err_set(err, r, "bash: not run: %.600s; the next command starts in the workspace", why.text);
	}
	if (r < 0)
		return err_set(err, r, "bash: not run: %.900s", why.text);
	job->due = clock_mono_ms() + job->timeout_ms;
	job->next = sh->jobs;
	sh->jobs = steal_ptr(job);
	sh->njobs++;
	return 0;
}

void hand_bash_start(struct hand *hand, struct hand_call *call)
{
	struct hand_shell *sh = &hand->shell;
	const char *command = json_get_str(call->args, "command");
	bool restart = json_get_bool(call->args, "restart", false);
	struct err err = { 0 };

	if (!command && !restart) {
		answer(hand, call, HAND_ERROR, "command: missing; bash needs it, unless restart is true", NULL);
		return;
	}
	if (restart && !end_all(sh)) {
		answer(hand, call, HAND_ERROR, "restart: some processes of earlier commands could not be ended", NULL);
	} else if (!command) {
		set_folder(sh, sh->workspace);
		answer(hand, call, HAND_OK, "[restarted: earlier processes are ended, the folder is the workspace]",
		       sh->folder);
	} else {
		int r = start_job(sh, call, command, &err);

		if (r < 0)
			answer(hand, call, HAND_ERROR, err.text, r == E_NOTFOUND ? sh->folder : NULL);
	}
}

static bool group_lives(const struct hand_job *job)
{
	return kill(-job->pid, 0) == 0;
}

static void stop(struct hand_job *job, enum hand_outcome why, int64_t now)
{
	if (job->stage != RUNNING || job->ended)
		return;
	job->stage = STOPPING;
	job->why = why;
	job->due = now + HAND_STOP_MS;
	kill(-job->pid, SIGTERM);
}

void hand_bash_cancel(struct hand *hand, struct hand_call *call)
{
	for (struct hand_job *job = hand->shell.jobs; job; job = job->next)
		if (job->call == call)
			stop(job, HAND_CANCELLED, clock_mono_ms());
}

size_t hand_bash_poll(const struct hand_shell *sh, struct pollfd *fds)
{
	size_t n = 0;

	for (const struct hand_job *job = sh->jobs; job; job = job->next)
		fds[n++] = (struct pollfd){ .fd = job->out_fd, .events = POLLIN };
	for (size_t i = 0; i < sh->ndrains; i++)
		fds[n++] = (struct pollfd){ .fd = sh->drains[i], .events = POLLIN };
	return n;
}

int64_t hand_bash_due(const struct hand_shell *sh)
{
	int64_t due = INT64_MAX;

	for (const struct hand_job *job = sh->jobs; job; job = job->next)
		if (job->due < due)
			due = job->due;
	return due;
}

/* Reads what is there, into `out` unless NULL; false at end of file. */
static bool read_pipe(int fd, struct hand_out *out)
{
	static char chunk[65536];

	for (size_t total = 0; total < READ_AT_ONCE;) {
		ssize_t got = read(fd, chunk, sizeof(chunk));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return errno == EAGAIN;
		if (got == 0)
			return false;
		if (out)
			hand_out_add(out, chunk, (size_t)got);
		total += (size_t)got;
	}
	return true;
}

void hand_bash_read(struct hand_shell *sh, const struct pollfd *fds)
{
	size_t n = 0, kept = 0;

	for (struct hand_job *job = sh->jobs; job; job = job->next)
		if (fds[n++].revents && !read_pipe(job->out_fd, &job->out))
			fd_close(&job->out_fd);
	for (size_t i = 0; i < sh->ndrains; i++)
		if (fds[n++].revents && !read_pipe(sh->drains[i], NULL))
			close(sh->drains[i]);
		else
			sh->drains[kept++] = sh->drains[i];
	sh->ndrains = kept;
}

void hand_bash_ended(void *shell, pid_t pid, int wstatus)
{
	struct hand_shell *sh = shell;

	for (struct hand_job *job = sh->jobs; job; job = job->next)
		if (job->pid == pid && !job->ended) {
			job->ended = true;
			job->wstatus = wstatus;
		}
}

/* A path that a reply, and then a request, can carry. */
static bool is_plain_path(const char *path, size_t len)
{
	uint32_t cp;
	size_t n;

	if (!len || *path != '/')
		return false;
	for (; len; path += n, len -= n) {
		n = utf8_decode(path, len, &cp);
		if (!n || !cp)
			return false;
	}
	return true;
}

/* Takes over the folder that the shell named at its end, and tells what the model would not expect. */
static void follow_folder(struct hand_shell *sh, const struct hand_job *job, struct buf *text)
{
	char path[PATH_MAX + 1];
	ssize_t got = read(job->folder_fd, path, sizeof(path));
	struct stat st;

	if (got < 2 || path[got - 1] != '\n' || !is_plain_path(path, (size_t)got - 1)) {
		set_folder(sh, job->started_in);
		if (job->ended)
			hand_note(text, "the shell ended without naming its folder; the next command starts in %.400s",
				  sh->folder);
		return;
	}
	path[got - 1] = '\0';
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
		set_folder(sh, path);
		return;
	}
	set_folder(sh, sh->workspace);
	hand_note(text, "the folder is gone; the next command starts in the workspace, %.400s", sh->workspace);
}

static void add_status(const struct hand_job *job, struct hand_result *result)
{
	struct buf *text = &result->text;

	if (job->ended && WIFEXITED(job->wstatus))
		result->exit_status = WEXITSTATUS(job->wstatus);
	if (job->stage != RUNNING) {
		result->outcome = job->why;
		if (!job->ended)
			hand_note(text, "the shell does not end, not even by SIGKILL");
		if (job->why == HAND_TIMEOUT)
			hand_note(text, "timed out after %lld ms", (long long)job->timeout_ms);
		else
			hand_note(text, "cancelled");
	} else if (WIFSIGNALED(job->wstatus)) {
		result->outcome = HAND_ERROR;
		hand_note(text, "killed by signal %d", WTERMSIG(job->wstatus));
	} else if (result->exit_status) {
		result->outcome = HAND_ERROR;
		hand_note(text, "exit status %d", result->exit_status);
	} else if (!text->len) {
		hand_note(text, "no output");
	}
}

/* Answers a command that is over; what it left in the background keeps its pipe, which is drained from now on. */
static void finish(struct hand *hand, struct hand_job *job)
{
	struct hand_shell *sh = &hand->shell;
	struct hand_result result = HAND_RESULT_INIT;

	if (job->out_fd >= 0 && !read_pipe(job->out_fd, &job->out))
		fd_close(&job->out_fd);
	result.dropped = hand_out_end(&job->out, &result.text);
	if (job->out.replaced)
		hand_note(&result.text, "%llu bytes that are not UTF-8 text were replaced with U+FFFD",
			  (unsigned long long)job->out.replaced);
	if (job->ended && (job->out_fd >= 0 || group_lives(job)))
		hand_note(&result.text,
			  "processes of this command still run in the background; what they print from now "
			  "on is not kept");
	follow_folder(sh, job, &result.text);
	result.folder = sh->folder;
	add_status(job, &result);
	if (job->out_fd >= 0)
		sh->drains[sh->ndrains++] = steal_fd(&job->out_fd);
	hand_rpc_end(&hand->rpc, job->call, &result);
	buf_free(&result.text);
}

/* True when the command is over. */
static bool step_job(struct hand_job *job, int64_t now)
{
	bool late = now >= job->due;

	if (!job->ended || (job->stage != RUNNING && group_lives(job))) {
		if (!late)
			return false;
		switch (job->stage) {
		case RUNNING:
			stop(job, HAND_TIMEOUT, now);
			return false;
		case STOPPING:
			kill(-job->pid, SIGKILL);
			job->stage = KILLED;
			job->due = now + HAND_GIVE_UP_MS;
			return false;
		case KILLED:
			return true;
		}
	}
	/* A straggler closes the pipe a moment before it is gone, so both are waited for. */
	if (job->out_fd < 0 && !group_lives(job))
		return true;
	if (!job->lingers) {
		job->lingers = true;
		job->due = now + HAND_LINGER_MS;
		return false;
	}
	return late;
}

void hand_bash_step(struct hand *hand, int64_t now)
{
	struct hand_job **at = &hand->shell.jobs;

	while (*at) {
		struct hand_job *job = *at;

		if (!step_job(job, now)) {
			at = &job->next;
			continue;
		}
		*at = job->next;
		hand->shell.njobs--;
		finish(hand, job);
		free_job(job);
	}
}
