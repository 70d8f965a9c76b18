/*
 * lock_internal: what the files of the lock and its tests share.
 */
#ifndef WARDER_JAIL_LOCK_INTERNAL_H
#define WARDER_JAIL_LOCK_INTERNAL_H

#include "jail/lock.h"

/* All sets of this thread, as far as capget shows them, and (`bounding`) the bounding set. */
bool lock_caps_empty(void);
bool lock_bounding_empty(void);

/* The version that the kernel offers; 0: none, or Landlock is off. */
int lock_landlock_abi(void);
/* lock_landlock to exactly `abi` (at least 1), as an older kernel would have it. */
int lock_landlock_at(const struct lock_landlock *spec, int abi, struct err *err) WARN_UNUSED;

#endif
