/*
 * writer_lock: the file `lock` in a session's folder, by which there is one writer.  It is never removed and never
 * holds anything.
 *
 * The lock is an open file description lock (fcntl F_OFD_SETLK), for two reasons: F_OFD_GETLK asks without taking, so
 * that a question never makes a starting writer fail, which a probing flock would; and closing another descriptor of
 * the file does not drop it, as it would with plain POSIX locks.  The kernel drops it with the last copy of the
 * descriptor: when the process dies, and not before a child that still shares it has called exec.
 */
#ifndef WARDER_STORE_WRITER_LOCK_H
#define WARDER_STORE_WRITER_LOCK_H

#include "core/base/err.h"

/* E_BUSY when somebody holds it.  The lock lives as long as *ret_fd. */
int writer_lock_take(int dirfd, int *ret_fd, struct err *err) WARN_UNUSED;

#endif
