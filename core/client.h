/*
 * client: a command's end of the operator socket.  It starts keepers, asks them, and waits for their end; it holds no
 * authority of its own.
 */
#ifndef WARDER_CLIENT_H
#define WARDER_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/frame.h"
#include "core/base/json.h"
#include "core/home.h"

struct client_link {
	int fd;
	pid_t keeper; /* our own child; 0: somebody else started it */
	struct frame_reader in;
};
#define CLIENT_LINK_INIT { .fd = -1 }

/* Connects and says hello.  E_NOTFOUND when no keeper listens. */
int client_connect(const struct home *home, const char *session, struct client_link *ret, struct err *err) WARN_UNUSED;
/* The writer lock of the session folder is held, by a keeper that listens, or by one that starts or ends at this
 * moment: connects, waiting for the former.  E_NOTFOUND: the lock is free after all. */
int client_reach(const struct home *home, const char *session, int session_fd, struct client_link *ret,
		 struct err *err) WARN_UNUSED;
/* Starts a keeper with an order (keeper.h) and waits for its answer; *ret_session is its id. */
int client_start(const json_node *order, struct client_link *ret, char ret_session[32], struct err *err) WARN_UNUSED;
void client_close(struct client_link *l);
/* Waits for the end of a keeper of our own that said goodbye or refused: when the command returns, nothing of it is
 * left. */
void client_wait(struct client_link *l);
#define _cleanup_client_ _cleanup_(client_close)

/* Asks and waits for the answer (owned by the caller).  A refusal is its text with a code that gives its status;
 * *ret_problems (may be NULL) then holds the lines that name each path. */
int client_ask(struct client_link *l, uint32_t type, const json_node *order, json_node **ret_answer,
	       char **ret_problems, struct err *err) WARN_UNUSED;

#endif
