/*
 * home: where warder keeps its own files (CONTRACTS "Places").  It makes folders private and refuses a home that is
 * not; it never looks inside a session.
 */
#ifndef WARDER_HOME_H
#define WARDER_HOME_H

#include <stdbool.h>

#include "core/base/err.h"
#include "core/base/macro.h"

struct home {
	char *config_path; /* the configuration file, which need not exist */
	char *data_path;   /* holds sessions/ and catalog.db */
	char *run_path;    /* holds sockets, pid files and id-range locks */
	int data_fd;
	int sessions_fd;
	int run_fd;
};

#define HOME_INIT { .data_fd = -1, .sessions_fd = -1, .run_fd = -1 }

/* $WARDER_HOME, else the XDG folders.  Makes what is missing (0700); E_USAGE when a folder is not ours or is open to
 * others. */
int home_open(struct home *ret, struct err *err) WARN_UNUSED;
void home_close(struct home *h);
#define _cleanup_home_ _cleanup_(home_close)

/* The folders that no workspace may contain or lie in, NULL-terminated, valid as long as `h`. */
void home_forbidden(const struct home *h, const char *ret[3]);

/* cell_check_workspace() with home_forbidden(), and refuses the operator's home folder or what holds it: his keys and
 * settings lie there.  E_USAGE. */
int home_check_workspace(const struct home *h, const char *workspace, struct err *err) WARN_UNUSED;

/* Opens sessions/ID (which must be private); makes it first when `create`. */
int home_session_open(const struct home *h, const char *id, bool create, int *ret_fd, struct err *err) WARN_UNUSED;

#endif
