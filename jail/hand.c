#include "jail/hand.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "core/base/clock.h"
#include "jail/hand_spawn.h"

#define FLUSH_MS 2000    /* for what is still to be written at the end */
#define PIPE_ATOMIC 4096 /* poll(2) promises room for this much in a pipe */

#define KEEP_MAX (64u << 10) /* memory kept while nothing is to be written */

/* Descriptors 0 to 2 are taken, and there is no other that a command could inherit. */
static void tidy_descriptors(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)!open("/dev/null", O_RDWR);
	if (close_range(3, ~0U, 0) < 0)
		for (int fd = 3; fd < 4096; fd++)
			close(fd);
}

/* Signals come as reads; commands inherit default dispositions whatever our parent left us. */
static int take_signals(int *ret_fd, struct err *err)
{
	static const int wanted[] = { SIGCHLD, SIGTERM, SIGINT, SIGHUP };
	sigset_t all, read_them;
	int fd;

	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	sigemptyset(&read_them);
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
		sigaddset(&read_them, wanted[i]);
	/* SIGXFSZ: the cell limits the size of files, and `write` is to fail by that, not to die. */
	all = read_them;
	sigaddset(&all, SIGPIPE);
	sigaddset(&all, SIGXFSZ);
	if (sigprocmask(SIG_SETMASK, &all, NULL) < 0)
		return err_errno(err, E_MACHINE, errno, "signal mask");
	fd = signalfd(-1, &read_them, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return err_errno(err, E_MACHINE, errno, "signalfd");
	*ret_fd = fd;
	return 0;
}

static void read_signals(struct hand *h)
{
	struct signalfd_siginfo info;

	while (read(h->signal_fd, &info, sizeof(info)) == sizeof(info))
		if (info.ssi_signo != SIGCHLD)
			h->over = true;
	hand_reap(hand_bash_ended, &h->shell);
}

static void read_input(struct hand *h)
{
	static char chunk[65536];
	ssize_t got = read(STDIN_FILENO, chunk, sizeof(chunk));

	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (got <= 0 || jsonl_add(&h->in, chunk, (size_t)got, NULL) < 0)
		h->over = true;
}

static bool is_backlogged(const struct hand *h)
{
	return h->rpc.out.len > HAND_BACKLOG_MAX;
}

static void take_lines(struct hand *h)
{
	const char *line;
	size_t len;

	while (!is_backlogged(h)) {
		int r = jsonl_next(&h->in, &line, &len, NULL);

		if (r == 0)
			return;
		if (r < 0)
			hand_rpc_too_long(&h->rpc);
		else
			hand_rpc_line(&h->rpc, line, len);
	}
}

/* Never blocks after poll said that there is room, although the descriptor may be somebody else's and blocking. */
static void write_output(struct hand *h)
{
	struct buf *out = &h->rpc.out;
	ssize_t sent;

	if (h->out_is_socket)
		sent = send(STDOUT_FILENO, out->data, out->len, MSG_DONTWAIT | MSG_NOSIGNAL);
	else
		sent = write(STDOUT_FILENO, out->data, out->len < PIPE_ATOMIC ? out->len : PIPE_ATOMIC);
	if (sent >= 0) {
		buf_consume(out, (size_t)sent);
		if (!out->len && out->cap > KEEP_MAX)
			buf_free(out);
	} else if (errno != EINTR && errno != EAGAIN) {
		h->over = true;
	}
}

static int poll_timeout(const struct hand *h)
{
	int64_t due = hand_bash_due(&h->shell), now = clock_mono_ms();

	if (due == INT64_MAX)
		return -1;
	return due <= now ? 0 : (int)(due - now);
}

static void turn(struct hand *h)
{
	struct pollfd fds[3 + HAND_BASH_POLL_MAX] = {
		{ .fd = STDIN_FILENO, .events = is_backlogged(h) ? 0 : POLLIN },
		{ .fd = STDOUT_FILENO, .events = h->rpc.out.len ? POLLOUT : 0 },
		{ .fd = h->signal_fd, .events = POLLIN },
	};
	nfds_t n = 3 + hand_bash_poll(&h->shell, fds + 3);

	if (poll(fds, n, poll_timeout(h)) < 0) {
		h->over = errno != EINTR;
		return;
	}
	hand_bash_read(&h->shell, fds + 3);
	if (fds[2].revents)
		read_signals(h);
	if (fds[1].revents & (POLLERR | POLLHUP | POLLNVAL))
		h->over = true;
	else if (fds[1].revents & POLLOUT)
		write_output(h);
	if (fds[0].revents & POLLIN)
		read_input(h);
	else if (fds[0].revents)
		h->over = true;
	take_lines(h);
	hand_bash_step(h, clock_mono_ms());
	if (h->rpc.out.failed)
		h->over = true;
}

/* What was answered before the end still goes out, if somebody reads. */
static void flush(struct hand *h)
{
	int64_t deadline = clock_mono_ms() + FLUSH_MS, now;
	struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };

	h->over = false;
	while (h->rpc.out.len && !h->over && (now = clock_mono_ms()) < deadline) {
		if (poll(&out, 1, (int)(deadline - now)) < 0 || !(out.revents & POLLOUT))
			return;
		write_output(h);
	}
}

static int prepare(struct hand *h, struct err *err)
{
	struct stat st;

	/* First of all: no process of the cell may look into or trace this one. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_errno(err, E_MACHINE, errno, "PR_SET_DUMPABLE");
	tidy_descriptors();
	/* Fixed, or one long line would raise it, and the memory of the next ones would never be given back. */
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	h->out_is_socket = fstat(STDOUT_FILENO, &st) == 0 && S_ISSOCK(st.st_mode);
	jsonl_init(&h->in, HAND_LINE_MAX);
	hand_rpc_init(&h->rpc, h, hand_tools, hand_ntools);
	int r = take_signals(&h->signal_fd, err);
	return r < 0 ? r : hand_bash_init(&h->shell, err);
}

int hand_main(int argc, char **argv)
{
	static struct hand h;
	struct err err;

	(void)argv;
	if (argc > 1) {
		fprintf(stderr, "warder-hand: takes no arguments: it speaks MCP on standard input and output\n");
		return 2;
	}
	if (prepare(&h, &err) < 0) {
		fprintf(stderr, "warder-hand: %s\n", err.text);
		return err_exit_status(err.code);
	}
	while (!h.over)
		turn(&h);
	hand_bash_end(&h.shell);
	flush(&h);
	hand_rpc_free(&h.rpc);
	jsonl_free(&h.in);
	close(h.signal_fd);
	return 0;
}
