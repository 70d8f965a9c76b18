/*
 * err: one error value that travels from the place that knows what went wrong to the place that tells the
 * operator.  It never prints.
 *
 * A fallible function returns 0 or one of the negative codes below and, on failure, fills the `struct err` that
 * the caller passed (which may be NULL).  `text` reads "WHAT: WHY; WHAT TO DO" without the program's name; it may
 * hold bytes that came from outside, so it passes the display gate (safe_text) before a terminal sees it.
 */
#ifndef WARDER_BASE_ERR_H
#define WARDER_BASE_ERR_H

#include <stddef.h>

#include "core/base/macro.h"

enum err_code {
	E_NOMEM = -1,     /* allocation refused */
	E_IO = -2,        /* a system call failed for a reason of this moment */
	E_INVALID = -3,   /* input that breaks its format */
	E_LIMIT = -4,     /* larger than a stated maximum */
	E_NOTFOUND = -5,
	E_EXISTS = -6,
	E_DENIED = -7,    /* the answer is no: policy, decision, failed comparison */
	E_BUSY = -8,      /* somebody else holds the lock */
	E_MACHINE = -9,   /* this machine cannot: a layer of the jail, a kernel feature */
	E_CORRUPT = -10,  /* our own stored data does not verify */
	E_USAGE = -11,    /* wrong words on the command line or in the configuration */
	E_FULL = -12,     /* no space (ENOSPC, EDQUOT, SQLITE_FULL) */
	E_PROTOCOL = -13, /* the peer process broke the protocol */
	E_CLOSED = -14,   /* end of file, peer gone */
	E_CONFLICT = -15, /* the real tree is not what the change was made against */
};

struct err {
	int code;
	char text[1024];
};

/* Fills `err` (may be NULL) and returns `code`, so that `return err_set(...)` is the idiom. */
int err_set(struct err *err, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* As err_set, with ": strerror(errnum)" appended.  ENOSPC and EDQUOT become E_FULL whatever `code` says. */
int err_errno(struct err *err, int code, int errnum, const char *fmt, ...) PRINTF_LIKE(4, 5);

/* Puts "prefix: " before the text that is there already and returns err->code. */
int err_prefix(struct err *err, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Short lower-case name of a code ("invalid", "machine"); "error" for an unknown one. */
const char *err_name(int code);

/* Exit status of the contract for a code: E_DENIED, E_CONFLICT, E_CORRUPT -> 1; E_USAGE, E_INVALID, E_NOTFOUND,
 * E_EXISTS, E_LIMIT -> 2; everything else -> 3. */
int err_exit_status(int code);

#endif
