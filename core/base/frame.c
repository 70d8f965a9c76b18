#include "core/base/frame.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "core/base/clock.h"

#define HEADER_LEN 8
#define READ_AHEAD (64u << 10)
#define KEEP_MAX (1u << 20) /* an emptied buffer larger than this is given back */

void frame_reader_init(struct frame_reader *r, int fd, uint32_t max)
{
	if (max > FRAME_MAX)
		max = FRAME_MAX;
	*r = (struct frame_reader){ .fd = fd, .max = max, .in = BUF_INIT((size_t)max + HEADER_LEN + READ_AHEAD) };
}

void frame_reader_free(struct frame_reader *r)
{
	buf_free(&r->in);
	r->taken = 0;
	r->fd = -1;
}

static uint32_t get_u32(const char *at)
{
	const unsigned char *b = (const unsigned char *)at;

	return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static void put_u32(char *at, uint32_t value)
{
	for (size_t i = 0; i < 4; i++)
		at[i] = (char)(value >> (8 * i));
}

/* The frame handed out last is over: its courtesy NUL gives way to what stood there. */
static void restore(struct frame_reader *r)
{
	if (r->taken && r->taken < r->in.len)
		r->in.data[r->taken] = r->under_nul;
}

/* Makes room and says how much to read: read-ahead, or at once the rest of a larger frame.  0 when what is buffered
 * must be taken out first. */
static size_t prepare(struct frame_reader *r)
{
	size_t want = READ_AHEAD;

	restore(r);
	buf_consume(&r->in, r->taken);
	r->taken = 0;
	if (!r->in.len && r->in.cap > KEEP_MAX)
		buf_free(&r->in);
	if (r->in.len >= HEADER_LEN) {
		size_t len = get_u32(r->in.data);

		if (len > r->max || r->in.len >= HEADER_LEN + len)
			return 0;
		if (HEADER_LEN + len - r->in.len > want)
			want = HEADER_LEN + len - r->in.len;
	}
	return want;
}

/* Turns what read(2) or recvmsg(2) said into our result. */
static int received(struct frame_reader *r, ssize_t got, int errnum, struct err *err)
{
	if (got > 0) {
		r->in.len += (size_t)got;
		r->in.data[r->in.len] = '\0';
		return 0;
	}
	if (got < 0 && (errnum == EAGAIN || errnum == EINTR))
		return 0;
	if (got == 0)
		return err_set(err, E_CLOSED, r->in.len ? "peer closed the connection in the middle of a message"
							 : "peer closed the connection");
	return err_errno(err, errnum == ECONNRESET ? E_CLOSED : E_IO, errnum, "reading from the peer");
}

int frame_fill(struct frame_reader *r, struct err *err)
{
	size_t want = prepare(r);
	if (!want)
		return 0;

	char *place = buf_reserve(&r->in, want);
	if (!place)
		return buf_check(&r->in, "message", err);

	ssize_t got = read(r->fd, place, want);
	return received(r, got, errno, err);
}

int frame_next(struct frame_reader *r, struct frame *ret, struct err *err)
{
	restore(r);

	size_t have = r->in.len - r->taken;
	if (have < HEADER_LEN)
		return 0;

	const char *header = r->in.data + r->taken;
	size_t len = get_u32(header);
	if (len > r->max)
		return err_set(err, E_PROTOCOL, "peer announced a message of %zu bytes; at most %u are allowed", len,
			       r->max);
	if (have < HEADER_LEN + len)
		return 0;

	*ret = (struct frame){ .type = get_u32(header + 4), .data = header + HEADER_LEN, .len = len };
	r->taken += HEADER_LEN + len;
	r->under_nul = r->in.data[r->taken];
	r->in.data[r->taken] = '\0';
	return 1;
}

/* Milliseconds left for poll(2); -1 for ever. */
static int left_ms(int64_t deadline)
{
	if (deadline < 0)
		return -1;

	int64_t left = deadline - clock_mono_ms();
	return left > 0 ? (int)left : 0;
}

int frame_wait(struct frame_reader *r, int timeout_ms, struct frame *ret, struct err *err)
{
	int64_t deadline = timeout_ms < 0 ? -1 : clock_mono_ms() + timeout_ms;

	for (;;) {
		int got = frame_next(r, ret, err);
		if (got != 0)
			return got < 0 ? got : 0;

		struct pollfd p = { .fd = r->fd, .events = POLLIN };
		int n = poll(&p, 1, left_ms(deadline));
		if (n < 0 && errno != EINTR)
			return err_errno(err, E_IO, errno, "waiting for the peer");
		if (n == 0)
			return err_errno(err, E_IO, ETIMEDOUT, "waiting for the peer");
		if (n > 0) {
			int filled = frame_fill(r, err);
			if (filled < 0)
				return filled;
		}
	}
}

/* Puts the descriptors into `m` with the control buffer that the caller provides. */
static void attach_fds(struct msghdr *m, void *control, const int *fds, size_t nfds)
{
	m->msg_control = control;
	m->msg_controllen = CMSG_SPACE(nfds * sizeof(int));

	struct cmsghdr *c = CMSG_FIRSTHDR(m);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(nfds * sizeof(int));
	memcpy(CMSG_DATA(c), fds, nfds * sizeof(int));
}

/* Drops `sent` bytes from the front of the vector. */
static void advance(struct msghdr *m, size_t sent)
{
	while (m->msg_iovlen) {
		struct iovec *v = m->msg_iov;
		size_t n = sent < v->iov_len ? sent : v->iov_len;

		v->iov_base = (char *)v->iov_base + n;
		v->iov_len -= n;
		sent -= n;
		if (v->iov_len)
			return;
		m->msg_iov++;
		m->msg_iovlen--;
	}
}

/* Sends what the peer takes at once: 1 when that was all, 0 when something is left. */
static int send_now(int fd, struct msghdr *m, struct err *err)
{
	while (m->msg_iovlen) {
		/* MSG_DONTWAIT on a blocking socket too: else a peer that stops reading holds us for ever. */
		ssize_t sent = sendmsg(fd, m, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent >= 0) {
			advance(m, (size_t)sent);
			m->msg_control = NULL; /* descriptors went with the first bytes */
			m->msg_controllen = 0;
			continue;
		}
		if (errno == EINTR)
			continue;
		if (errno == EPIPE || errno == ECONNRESET)
			return err_errno(err, E_CLOSED, errno, "writing to the peer");
		return errno == EAGAIN ? 0 : err_errno(err, E_IO, errno, "writing to the peer");
	}
	return 1;
}

static int wait_writable(int fd, int64_t deadline, struct err *err)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int n = poll(&p, 1, left_ms(deadline));

	if (n < 0 && errno != EINTR)
		return err_errno(err, E_IO, errno, "waiting for the peer");
	return n == 0 ? err_errno(err, E_CLOSED, ETIMEDOUT, "peer does not read") : 0;
}

static int send_all(int fd, struct msghdr *m, struct err *err)
{
	int64_t deadline = clock_mono_ms() + FRAME_SEND_MS;
	int r;

	while ((r = send_now(fd, m, err)) == 0)
		if ((r = wait_writable(fd, deadline, err)) < 0)
			break;
	return r < 0 ? r : 0;
}

static int send_frame(int fd, uint32_t type, const void *data, size_t len, const int *fds, size_t nfds,
		      struct err *err)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(FRAME_FDS_MAX * sizeof(int))];
	} control = { 0 };
	char header[HEADER_LEN];
	struct iovec iov[2] = { { header, sizeof(header) }, { (void *)(uintptr_t)data, len } };
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = 2 };

	if (len > FRAME_MAX)
		return err_set(err, E_LIMIT, "message of %zu bytes: at most %u can be sent", len, FRAME_MAX);
	if (nfds > FRAME_FDS_MAX)
		return err_set(err, E_LIMIT, "message with %zu descriptors: at most %d can be sent", nfds,
			       FRAME_FDS_MAX);
	put_u32(header, (uint32_t)len);
	put_u32(header + 4, type);
	if (nfds)
		attach_fds(&m, &control, fds, nfds);
	return send_all(fd, &m, err);
}

int frame_send(int fd, uint32_t type, const void *data, size_t len, struct err *err)
{
	return send_frame(fd, type, data, len, NULL, 0, err);
}

int frame_send_fds(int fd, uint32_t type, const void *data, size_t len, const int *fds, size_t nfds, struct err *err)
{
	return send_frame(fd, type, data, len, fds, nfds, err);
}

void frame_writer_init(struct frame_writer *w, int fd, size_t max)
{
	*w = (struct frame_writer){ .fd = fd, .out = BUF_INIT(max) };
}

void frame_writer_free(struct frame_writer *w)
{
	buf_free(&w->out);
	w->fd = -1;
}

bool frame_waiting(const struct frame_writer *w)
{
	return w->out.len > 0;
}

int frame_flush(struct frame_writer *w, struct err *err)
{
	struct iovec iov = { w->out.data, w->out.len };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (!w->out.len)
		return 0;
	int r = send_now(w->fd, &m, err);
	if (r < 0)
		return r;
	buf_consume(&w->out, w->out.len - (r ? 0 : iov.iov_len));
	if (!w->out.len && w->out.cap > KEEP_MAX)
		buf_free(&w->out);
	return 0;
}

int frame_queue(struct frame_writer *w, uint32_t type, const void *data, size_t len, struct err *err)
{
	char header[HEADER_LEN];

	if (len > FRAME_MAX)
		return err_set(err, E_LIMIT, "message of %zu bytes: at most %u can be sent", len, FRAME_MAX);
	put_u32(header, (uint32_t)len);
	put_u32(header + 4, type);
	buf_add(&w->out, header, sizeof(header));
	buf_add(&w->out, data, len);
	int r = buf_check(&w->out, "messages that the peer has not read", err);
	return r < 0 ? r : frame_flush(w, err);
}

int frame_drain(struct frame_writer *w, int timeout_ms, struct err *err)
{
	int64_t deadline = clock_mono_ms() + timeout_ms;
	int r;

	while ((r = frame_flush(w, err)) == 0 && frame_waiting(w))
		if ((r = wait_writable(w->fd, deadline, err)) < 0)
			break;
	return r;
}

/* Takes the descriptors out of a received message; those beyond `max` are closed. */
static size_t take_fds(struct msghdr *m, int *fds, size_t max)
{
	size_t n = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;

		size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < count; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (n < max)
				fds[n++] = fd;
			else
				close(fd);
		}
	}
	return n;
}

int frame_fill_fds(struct frame_reader *r, int *fds, size_t max_fds, size_t *ret_nfds, struct err *err)
{
	/* The kernel itself drops what does not fit here. */
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(FRAME_FDS_MAX * sizeof(int))];
	} control;
	size_t want = prepare(r);

	if (!want) {
		*ret_nfds = 0;
		return 0;
	}

	char *place = buf_reserve(&r->in, want);
	if (!place)
		return buf_check(&r->in, "message", err);

	struct iovec iov = { place, want };
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control),
	};
	ssize_t got = recvmsg(r->fd, &m, MSG_CMSG_CLOEXEC);
	int code = received(r, got, errno, err);
	if (code == 0)
		*ret_nfds = got > 0 ? take_fds(&m, fds, max_fds) : 0;
	return code;
}
