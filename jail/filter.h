/*
 * filter: seccomp programs as bytes, made outside with libseccomp.  It never loads one; init and the confined
 * helpers do (lock.h), so that nothing inside a cell links libseccomp.
 */
#ifndef WARDER_JAIL_FILTER_H
#define WARDER_JAIL_FILTER_H

#include "core/base/buf.h"
#include "core/base/err.h"

enum filter_profile {
	FILTER_CELL,   /* default allow, the rows of research: what an agent's commands run under */
	FILTER_STRICT, /* default deny, allow-list: MCP servers */
	FILTER_HELPER, /* harness, adapter: read, write, poll, memory, clocks, exit; no open, socket, exec, fork */
};

/* An array of struct sock_filter, native byte order, as `buf` bytes. */
int filter_build(enum filter_profile profile, struct buf *ret_program, struct err *err) WARN_UNUSED;

#endif
