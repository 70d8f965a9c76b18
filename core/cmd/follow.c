#include "core/cmd/follow.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>

#include "core/cmd/cmd.h"
#include "core/event_line.h"
#include "core/keeper/wire.h"
#include "core/pub/op.h"
#include "store/log_read.h"

struct printing {
	struct follow *f;
	struct err *err;
};

static int print_row(const struct event *e, void *arg)
{
	struct printing *p = arg;
	struct follow *f = p->f;
	_cleanup_buf_ struct buf line = BUF_INIT(EVENT_BODY_MAX + 4096);

	if (f->json)
		event_line_json(f->session, e, &line);
	else
		event_line_text(e, &line);
	buf_addc(&line, '\n');
	int r = buf_check(&line, "an event's line", p->err);
	if (r < 0)
		return r;
	f->after = e->seq;
	return cmd_print(buf_str(&line), line.len, p->err);
}

int follow_print(struct follow *f, struct err *err)
{
	_cleanup_log_reader_ struct log_reader *reader = NULL;
	struct printing p = { f, err };
	int r = log_reader_open(f->session_fd, &reader, err);

	if (r == 0)
		r = log_reader_each(reader, f->after, print_row, &p, err);
	return r;
}

static int take_bye(const struct frame *frame, struct err *err)
{
	_cleanup_json_ json_node *body = NULL;
	int r = json_parse_object(frame->data, frame->len, &body, err);
	const char *text = r == 0 ? json_get_str(body, "text") : NULL;
	const char *unused = r == 0 ? json_get_str(body, "unused") : NULL;

	if (r < 0)
		return r;
	cmd_complain_lines(unused);
	if (text && text[0])
		cmd_complain(text);
	return (int)json_get_int(body, "status", 3);
}

static int block_signals(struct err *err)
{
	sigset_t mask;
	int fd;

	sigemptyset(&mask);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &mask, NULL) < 0 || (fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK)) < 0)
		return err_errno(err, E_IO, errno, "signals");
	return fd;
}

/* Frames that are buffered; *ret_end: the keeper said goodbye, *ret_status its word. */
static int take_frames(struct client_link *link, bool *ret_new, bool *ret_end, int *ret_status, struct err *err)
{
	struct frame frame;
	int r;

	while ((r = frame_next(&link->in, &frame, err)) == 1) {
		*ret_new |= frame.type == OPR_SEQ;
		if (frame.type != OPR_BYE)
			continue;
		*ret_end = *ret_new = true;
		r = take_bye(&frame, err);
		if (r < 0)
			return r;
		*ret_status = r;
		return 0;
	}
	return r;
}

int follow_keeper(struct follow *f, struct client_link *link, struct err *err)
{
	_cleanup_fd_ int signals = block_signals(err);
	_cleanup_json_ json_node *empty = cJSON_CreateObject();
	bool interrupted = false, fresh = true, end = false;
	int status = 3;

	if (signals < 0)
		return E_IO;
	for (;;) {
		int r = take_frames(link, &fresh, &end, &status, err);

		if (r == 0 && fresh)
			r = follow_print(f, err);
		if (r < 0)
			return r;
		if (end) {
			client_wait(link);
			return interrupted ? 130 : status;
		}
		fresh = false;

		struct pollfd fds[2] = { { .fd = link->fd, .events = POLLIN }, { .fd = signals, .events = POLLIN } };
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return err_errno(err, E_IO, errno, "poll");
		if (fds[1].revents) {
			struct signalfd_siginfo info;

			if (read(signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
				continue;
			if (!f->stop_on_signal)
				return 130;
			if (!interrupted && wire_send(link->fd, OP_STOP, empty, err) < 0)
				return E_CLOSED;
			interrupted = true;
		}
		if (fds[0].revents && frame_fill(&link->in, err) < 0) {
			r = follow_print(f, err);
			return r < 0 ? r
				     : err_set(err, E_CLOSED, "session %s: its keeper is gone; warder wake %s goes on",
					       f->session, f->session);
		}
	}
}
