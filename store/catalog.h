/*
 * catalog: catalog.db, the list of sessions: a cache that is rebuilt from the session folders whenever it is missing
 * or damaged.  Nothing is true because the catalog says so.
 *
 * A row carries the sizes and times of the log's files when it was made, and is made again when they differ.  Where the
 * cache cannot be kept (read-only or full disk) the list is made in memory, each time.
 */
#ifndef WARDER_STORE_CATALOG_H
#define WARDER_STORE_CATALOG_H

#include <stdint.h>

#include "core/base/err.h"

struct catalog_row {
	char session[32];
	int64_t created; /* microseconds UTC */
	const char *workspace, *brain, *preset, *level; /* from session.created; "" when it does not say */
	int64_t last_seq;
	const char *state; /* "running", "idle", "waiting", "stopped" as of last_seq; log_is_locked() knows who lives */
	const char *problem; /* NULL, or why the log could not be read; the rest is then empty and "stopped" */
};

/* Brings the row of one session up to date from its log.  home_fd is the data folder that holds catalog.db and
 * sessions/. */
int catalog_refresh(int home_fd, const char *session, struct err *err) WARN_UNUSED;
/* Calls `each` newest first; rows of sessions whose log grew or whose folder is gone are brought up to date first.
 * Stops when it returns non-zero and returns that value. */
int catalog_each(int home_fd, int (*each)(const struct catalog_row *row, void *arg), void *arg,
		 struct err *err) WARN_UNUSED;
/* Resolves "-", or a unique prefix of at least 4 characters, against sessions/ itself (E_NOTFOUND, E_USAGE). */
int catalog_resolve(int home_fd, const char *name, char ret_session[32], struct err *err) WARN_UNUSED;

#endif
