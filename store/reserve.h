/*
 * reserve: a file in the session's folder that only holds disk space, so that a session that runs into a full disk
 * can still log that it stopped.  It never holds data.
 */
#ifndef WARDER_STORE_RESERVE_H
#define WARDER_STORE_RESERVE_H

#include "core/base/err.h"

#define RESERVE_NAME "reserve"
#define RESERVE_SIZE (256 << 10) /* bytes; the closing events and their WAL frames need some 50 KiB */

/* Makes it, or fills it up again; E_FULL when there is no room. */
int reserve_hold(int dirfd, struct err *err) WARN_UNUSED;
/* Gives the space back. */
void reserve_release(int dirfd);

#endif
