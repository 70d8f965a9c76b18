/*
 * frame: messages between processes of ours over a stream socket.  Header of 8 bytes (u32 length of the payload, u32
 * type, both little-endian), then the payload.  It enforces the size limit, nothing else; which types are permitted
 * now is the caller's table.
 */
#ifndef WARDER_BASE_FRAME_H
#define WARDER_BASE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"

#define FRAME_MAX (16u << 20) /* bytes of payload */

struct frame {
	uint32_t type;
	const char *data; /* into the reader's buffer, valid until its next call; a courtesy NUL follows */
	size_t len;
};

struct frame_reader {
	int fd; /* not owned */
	uint32_t max; /* bytes of payload that this peer may send at once */
	struct buf in;
	size_t taken; /* bytes of `in` that belong to frames handed out already */
	char under_nul; /* what stood where the courtesy NUL of the last frame stands */
};

void frame_reader_init(struct frame_reader *r, int fd, uint32_t max);
void frame_reader_free(struct frame_reader *r);

/* Reads what is there (one read(2)); nothing while a whole frame is still buffered: take the frames out first.  0;
 * E_CLOSED at end of file; E_IO.  On a non-blocking fd nothing there is 0. */
int frame_fill(struct frame_reader *r, struct err *err) WARN_UNUSED;
/* 1 and *ret when a whole frame is buffered, 0 when not yet, E_PROTOCOL when the header is over the limit. */
int frame_next(struct frame_reader *r, struct frame *ret, struct err *err) WARN_UNUSED;
/* Blocks until a whole frame is there, at most `timeout_ms` (-1: for ever; E_IO with ETIMEDOUT in the text). */
int frame_wait(struct frame_reader *r, int timeout_ms, struct frame *ret, struct err *err) WARN_UNUSED;

/* Writes a whole frame to a socket, blocking also on a non-blocking fd; no SIGPIPE.  A peer that has not taken it all
 * within FRAME_SEND_MS is E_CLOSED.  After a failure the stream may end in half a frame: close it. */
#define FRAME_SEND_MS 30000
int frame_send(int fd, uint32_t type, const void *data, size_t len, struct err *err) WARN_UNUSED;

/* Frames that wait for a peer: nothing blocks, whatever the peer does.  The owner polls for POLLOUT while
 * frame_waiting(), and then flushes.  After a failure the stream may end in half a frame: close it. */
struct frame_writer {
	int fd; /* not owned; a socket, blocking or not */
	struct buf out;
};
void frame_writer_init(struct frame_writer *w, int fd, size_t max); /* bytes that may wait */
void frame_writer_free(struct frame_writer *w);
/* Queues a whole frame and sends what the peer takes now.  E_LIMIT when it reads too slowly for what is told to it. */
int frame_queue(struct frame_writer *w, uint32_t type, const void *data, size_t len, struct err *err) WARN_UNUSED;
int frame_flush(struct frame_writer *w, struct err *err) WARN_UNUSED;
bool frame_waiting(const struct frame_writer *w);
/* Blocks until nothing waits, at most `timeout_ms` (E_CLOSED). */
int frame_drain(struct frame_writer *w, int timeout_ms, struct err *err) WARN_UNUSED;

/* As frame_send, with up to FRAME_FDS_MAX descriptors passed along with the header (SCM_RIGHTS); and the counterpart
 * that also receives them (CLOEXEC; the caller owns fds[0..*ret_nfds-1]).  Extra descriptors are closed. */
#define FRAME_FDS_MAX 8
int frame_send_fds(int fd, uint32_t type, const void *data, size_t len, const int *fds, size_t nfds,
		   struct err *err) WARN_UNUSED;
int frame_fill_fds(struct frame_reader *r, int *fds, size_t max_fds, size_t *ret_nfds, struct err *err) WARN_UNUSED;

#endif
