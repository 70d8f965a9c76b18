/* A running cell from the outside: freeze, signals, its end. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>

#include "core/base/clock.h"
#include "core/base/path.h"
#include "jail/cell_internal.h"
#include "jail/wire.h"

#define ANSWER_MS 15000
#define SETTLE_MS 60000 /* for a killed init; one that hangs in a dead file system is left behind after that */

static void note_exit(struct cell *c, const struct frame *f)
{
	struct wire_reader r = { f->data, f->len, false };
	int wstatus = (int)wire_u32(&r);

	if (!wire_end(&r) || c->exited || (!WIFEXITED(wstatus) && !WIFSIGNALED(wstatus)))
		return;
	c->exited = true;
	c->wstatus = wstatus;
}

/* The next message that is not about the main program's end. */
static int next_answer(struct cell *c, int timeout_ms, struct frame *ret, struct err *err)
{
	int64_t deadline = clock_mono_ms() + timeout_ms;

	for (;;) {
		int64_t left = deadline - clock_mono_ms();
		int r = frame_wait(&c->in, left > 0 ? (int)left : 0, ret, err);

		if (r == E_CLOSED)
			return err_set(err, E_CLOSED, "cell: it has ended");
		if (r < 0)
			return err_prefix(err, "cell: init");
		if (ret->type != SETUP_EXITED)
			return 0;
		note_exit(c, ret);
	}
}

static int ask(struct cell *c, uint32_t question, uint32_t answer, struct frame *ret, struct err *err)
{
	int r = frame_send(c->control, question, NULL, 0, err);

	if (r >= 0)
		r = next_answer(c, ANSWER_MS, ret, err);
	if (r == E_CLOSED)
		return err_set(err, E_CLOSED, "cell: it has ended");
	if (r >= 0 && ret->type != answer)
		return err_set(err, E_PROTOCOL, "cell: init answered %u, wanted %u", ret->type, answer);
	return r;
}

int cell_freeze(struct cell *c, struct err *err)
{
	struct frame f;
	int r = ask(c, SETUP_FREEZE, SETUP_FROZEN, &f, err);

	if (r < 0)
		return r;

	struct wire_reader in = { f.data, f.len, false };
	(void)wire_u32(&in);
	const char *why = wire_str(&in, sizeof(err->text));
	if (!wire_end(&in))
		return err_set(err, E_PROTOCOL, "cell: init froze with a malformed answer");
	return why[0] ? err_set(err, E_BUSY, "freezing the cell: %s", why) : 0;
}

int cell_thaw(struct cell *c, struct err *err)
{
	struct frame f;

	return ask(c, SETUP_THAW, SETUP_THAWED, &f, err);
}

int cell_signal(struct cell *c, int sig, struct err *err)
{
	_cleanup_buf_ struct buf b = BUF_INIT(64);

	if (sig < 1 || sig > SIGRTMAX)
		return err_set(err, E_INVALID, "cell: %d is no signal", sig);
	wire_add_u32(&b, (uint32_t)sig);
	return frame_send(c->control, SETUP_SIGNAL, b.data, b.len, err);
}

/* Once init is gone: what it said last, and its own status. */
static void reap(struct cell *c)
{
	siginfo_t info = { 0 };
	struct frame f;
	int r;

	for (;;) {
		while ((r = frame_next(&c->in, &f, NULL)) > 0)
			if (f.type == SETUP_EXITED)
				note_exit(c, &f);
		if (r < 0 || frame_fill(&c->in, NULL) < 0)
			break;
	}
	while ((r = waitid(P_PIDFD, (id_t)c->pidfd, &info, WEXITED | __WALL)) < 0 && errno == EINTR)
		;
	c->pid = 0;
	if (c->exited)
		return;
	c->exited = true;
	if (r < 0) /* somebody else reaped it */
		c->wstatus = SIGKILL;
	else
		c->wstatus = info.si_code == CLD_EXITED ? W_EXITCODE(info.si_status, 0) : info.si_status & 0x7f;
}

int cell_wait(struct cell *c, int *ret_wstatus, struct err *err)
{
	struct pollfd p = { .fd = c->pidfd, .events = POLLIN };

	while (c->pid) {
		if (poll(&p, 1, -1) < 0 && errno != EINTR)
			return err_errno(err, E_IO, errno, "waiting for the cell");
		if (p.revents)
			reap(c);
	}
	*ret_wstatus = c->wstatus;
	return 0;
}

void cell_end(struct cell **cell)
{
	struct cell *c = *cell;

	if (!c)
		return;
	*cell = NULL;
	if (c->pid) {
		/* PID 1 of its namespace: the kernel ends every other process before init counts as gone, and the
		 * mounts go with the last of them. */
		struct pollfd p = { .fd = c->pidfd, .events = POLLIN };

		pidfd_send_signal(c->pidfd, SIGKILL, NULL, 0);
		if (poll(&p, 1, SETTLE_MS) == 1)
			reap(c);
	}
	cgroup_leave(&c->cgroup);
	if (c->layer >= 0) {
		(void)!path_remove_tree(c->layer, "mask", NULL);
		(void)!path_remove_tree(c->layer, "work", NULL);
	}
	frame_reader_free(&c->in);
	fd_close(&c->layer);
	fd_close(&c->control);
	fd_close(&c->pidfd);
	free(c);
}
