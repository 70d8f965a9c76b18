/*
 * follow: prints a session's rows from the log while its keeper works, until the keeper says goodbye.  A row is
 * printed after it is committed.
 */
#ifndef WARDER_CMD_FOLLOW_H
#define WARDER_CMD_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "core/client.h"

struct follow {
	const char *session;
	int session_fd;
	int64_t after; /* rows up to this one are known */
	bool json;
	bool stop_on_signal; /* SIGINT, SIGTERM: ask the keeper to stop, status 130; else just leave */
};

/* Exit status of the run (CONTRACTS "Commands"), or a negative code. */
int follow_keeper(struct follow *f, struct client_link *link, struct err *err) WARN_UNUSED;
/* Prints the rows that are there now. */
int follow_print(struct follow *f, struct err *err) WARN_UNUSED;

#endif
