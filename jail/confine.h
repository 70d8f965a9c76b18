/*
 * confine: how the harness and the hands adapter lock themselves before the first outside byte: non-dumpable,
 * uid 0 left when root started us, no capabilities, Landlock that grants no path, FILTER_HELPER, limits.  It never
 * degrades: a layer that the kernel lacks is E_MACHINE, except Landlock (named in *ret_missing).
 *
 * What is left afterwards: the descriptors that were open, memory, clocks, random bytes.  No path, no socket, no
 * process, no signal to anybody, no file that grows (RLIMIT_FSIZE 0, SIGXFSZ ignored), 64 descriptors.  A caller's
 * PR_SET_PDEATHSIG is kept (the kernel clears it with the uid; a parent that died meanwhile is E_CLOSED).
 */
#ifndef WARDER_JAIL_CONFINE_H
#define WARDER_JAIL_CONFINE_H

#include <stdint.h>

#include "core/base/err.h"
#include "core/base/macro.h"

/* `helper_uid`: an unused id to change to, user and group, when the caller is uid 0 (0 is then refused); otherwise
 * unused.  *ret_missing: "landlock" or NULL.  After a failure the process is half locked and must end. */
int confine_self(int64_t helper_uid, const char **ret_missing, struct err *err) WARN_UNUSED;

#endif
