#include "core/cmd/jail_relay.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>

static void end_stream(struct relay_stream *s)
{
	s->sock = -1;
	fd_close(&s->pipe);
	fd_close(&s->cell);
	free_charp(&s->data);
}

void jail_relay_close(struct jail_relay *r)
{
	for (size_t i = 0; i < RELAY_STREAMS; i++)
		end_stream(&r->stream[i]);
}

static int open_stream(int fd, struct relay_stream *s, struct err *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(err, E_IO, errno, "standard stream %d: pipe", fd);
	s->sock = fd;
	s->pipe = ends[fd == 0];
	s->cell = ends[fd != 0];
	s->data = malloc(RELAY_CHUNK);
	if (!s->data)
		return err_set(err, E_NOMEM, "standard stream %d: out of memory", fd);
	if (fcntl(s->pipe, F_SETFL, O_NONBLOCK) < 0)
		return err_errno(err, E_IO, errno, "standard stream %d: pipe", fd);
	return 0;
}

int jail_relay_open(struct jail_relay *ret, int ret_stdio[RELAY_STREAMS], struct err *err)
{
	int r = 0;

	for (int fd = 0; fd < RELAY_STREAMS; fd++)
		ret->stream[fd] = (struct relay_stream){ .sock = -1, .pipe = -1, .cell = -1 };
	for (int fd = 0; r == 0 && fd < RELAY_STREAMS; fd++) {
		struct relay_stream *s = &ret->stream[fd];
		struct stat st;

		if (fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode))
			r = open_stream(fd, s, err);
		ret_stdio[fd] = s->cell < 0 ? fd : s->cell;
	}
	return r;
}

void jail_relay_started(struct jail_relay *r)
{
	/* A command that does not read its input to the end is no reason to die. */
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < RELAY_STREAMS; i++)
		fd_close(&r->stream[i].cell);
}

void jail_relay_poll(const struct jail_relay *r, struct pollfd *fds)
{
	for (size_t i = 0; i < RELAY_STREAMS; i++) {
		const struct relay_stream *s = &r->stream[i];
		bool to_socket = i != 0;
		bool writes = s->have > s->done;

		fds[i] = (struct pollfd){ .fd = -1, .events = writes ? POLLOUT : POLLIN };
		if (s->sock >= 0)
			fds[i].fd = writes == to_socket ? s->sock : s->pipe;
	}
}

/* One read or one write; false when that would have to wait, or the stream is over. */
static bool step(struct relay_stream *s)
{
	bool to_socket = s->sock != 0;
	bool writes = s->have > s->done;
	size_t left = s->have - s->done;
	ssize_t n;

	if (s->sock < 0)
		return false;
	/* The socket's own flags are shared with whoever gave it to us, so they stay as they are. */
	if (writes)
		n = to_socket ? send(s->sock, s->data + s->done, left, MSG_DONTWAIT | MSG_NOSIGNAL)
			      : write(s->pipe, s->data + s->done, left);
	else
		n = to_socket ? read(s->pipe, s->data, RELAY_CHUNK)
			      : recv(s->sock, s->data, RELAY_CHUNK, MSG_DONTWAIT);
	if (n < 0 && errno == EINTR)
		return true;
	if (n < 0 && errno == EAGAIN)
		return false;
	if (n <= 0) { /* an end, or nobody there any more: the other side sees it */
		end_stream(s);
		return false;
	}
	if (writes) {
		s->done += (size_t)n;
	} else {
		s->have = (size_t)n;
		s->done = 0;
	}
	return true;
}

void jail_relay_step(struct jail_relay *r)
{
	for (size_t i = 0; i < RELAY_STREAMS; i++)
		/* Two steps carry one chunk, so no stream keeps the others waiting. */
		if (step(&r->stream[i]))
			(void)step(&r->stream[i]);
}

void jail_relay_finish(struct jail_relay *r)
{
	struct pollfd fds[RELAY_STREAMS];

	end_stream(&r->stream[0]);
	while (r->stream[1].sock >= 0 || r->stream[2].sock >= 0) {
		jail_relay_poll(r, fds);
		if (poll(fds, RELAY_STREAMS, -1) < 0 && errno != EINTR)
			return;
		jail_relay_step(r);
	}
}
