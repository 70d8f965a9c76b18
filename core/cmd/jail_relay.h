/*
 * jail_relay: standard streams of `warder jail` that are sockets (an ssh session without a terminal, a program that
 * starts us with a socket pair, a service manager).  A socket carries its network namespace with it wherever it goes:
 * inside a cell it could be disconnected and connected anew, to whatever the host reaches.  So the cell gets a pipe,
 * and the bytes are carried here.  What is no socket passes untouched.
 */
#ifndef WARDER_CMD_JAIL_RELAY_H
#define WARDER_CMD_JAIL_RELAY_H

#include <poll.h>
#include <stdbool.h>

#include "core/base/err.h"
#include "core/base/macro.h"

#define RELAY_STREAMS 3
#define RELAY_CHUNK 65536

struct relay_stream {
	int sock; /* 0, 1 or 2; -1: this stream is no socket, or is over */
	int pipe; /* our end */
	int cell; /* the cell's end, until it has it */
	size_t have, done; /* bytes in `data`, and how many of them were carried on */
	char *data;        /* RELAY_CHUNK */
};
struct jail_relay {
	struct relay_stream stream[RELAY_STREAMS];
};

/* *ret_stdio is what the cell is to be given. */
int jail_relay_open(struct jail_relay *ret, int ret_stdio[RELAY_STREAMS], struct err *err) WARN_UNUSED;
/* The cell holds its ends now. */
void jail_relay_started(struct jail_relay *r);
/* What to wait for, RELAY_STREAMS entries; a stream that waits for nothing has fd -1. */
void jail_relay_poll(const struct jail_relay *r, struct pollfd *fds);
/* Carries what can be carried without waiting. */
void jail_relay_step(struct jail_relay *r);
/* The cell is gone: waits until the last of its output is out. */
void jail_relay_finish(struct jail_relay *r);
void jail_relay_close(struct jail_relay *r);

#endif
