/*
 * confine: how the harness and the hands adapter lock themselves before the first outside byte: non-dumpable,
 * uid 0 left when root started us, no capabilities, Landlock that grants no path, FILTER_HELPER, limits.  It never
 * degrades: a layer that the kernel lacks is E_MACHINE, except Landlock (named in *ret_missing).
 */
#ifndef WARDER_JAIL_CONFINE_H
#define WARDER_JAIL_CONFINE_H

#include <stdint.h>

#include "core/base/err.h"
#include "core/base/macro.h"

/* `helper_uid`: an unused id to change to when the caller is uid 0 (0: keep the uid; refused when that is 0). */
int confine_self(int64_t helper_uid, const char **ret_missing, struct err *err) WARN_UNUSED;

#endif
