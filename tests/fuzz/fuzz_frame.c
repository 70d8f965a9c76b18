/*
 * A peer that sends any bytes, cut in any way: the reader gives the frames that stand in them, and no byte else.  The
 * first byte of the input says how long the pieces are.
 */
#include <string.h>
#include <sys/socket.h>

#include "core/base/frame.h"
#include "tests/fuzz/fuzz.h"

#define PEER_MAX 4096

/* What the bytes mean, by a second reading of frame.h. */
struct expect {
	const uint8_t *at;
	const uint8_t *end;
};

static uint32_t le32(const uint8_t *b)
{
	return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/* Takes all frames that are there; false after a header over the limit. */
static int drain(struct frame_reader *r, struct expect *e)
{
	struct frame f;
	struct err err;
	int got;

	while ((got = frame_next(r, &f, &err)) == 1) {
		must(e->end - e->at >= 8);
		must(f.len == le32(e->at) && f.type == le32(e->at + 4));
		must((size_t)(e->end - e->at) >= 8 + f.len && f.len <= PEER_MAX);
		must(memcmp(f.data, e->at + 8, f.len) == 0);
		must(f.data[f.len] == '\0');
		e->at += 8 + f.len;
	}
	if (got < 0)
		must(got == E_PROTOCOL && e->end - e->at >= 4 && le32(e->at) > PEER_MAX);
	return got;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct frame_reader r;
	struct err err;
	int fd[2];

	if (!len)
		return 0;

	size_t piece = 1 + data[0];
	struct expect e = { data + 1, data + len };
	int state = 0;

	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd) == 0);
	frame_reader_init(&r, fd[1], PEER_MAX);
	for (const uint8_t *p = data + 1; p < data + len && state == 0;) {
		size_t n = (size_t)(data + len - p) < piece ? (size_t)(data + len - p) : piece;

		must(write(fd[0], p, n) == (ssize_t)n);
		must(frame_fill(&r, &err) == 0);
		state = drain(&r, &e);
		p += n;
	}
	if (state == 0) {
		/* what is left is less than a frame */
		size_t left = (size_t)(e.end - e.at);

		must(left < 8 || left < 8 + (size_t)le32(e.at));
		must(close(fd[0]) == 0);
		must(frame_fill(&r, &err) == E_CLOSED);
		must(!!strstr(err.text, "middle") == (left > 0));
	} else {
		close(fd[0]);
	}
	close(fd[1]);
	frame_reader_free(&r);
	return 0;
}
