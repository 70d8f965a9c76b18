/*
 * begin: how a keeper comes to a session: a new one, or one that is woken from its log.  Nothing of a session that
 * could not start is left behind.
 */
#ifndef WARDER_KEEPER_BEGIN_H
#define WARDER_KEEPER_BEGIN_H

#include "core/keeper/impl.h"

/* Reads the order from `fd` (keeper.h) and starts or wakes; `fd` is an operator's from then on. */
int begin(struct keeper *k, int fd, struct err *err) WARN_UNUSED;
/* Tells `fd` why not, and removes a session folder that begin() made. */
void begin_refused(struct keeper *k, int fd, const struct err *why);

/* Takes the lock and reads the whole log into the state; shared with commands that are the keeper for a moment. */
int begin_open(struct keeper *k, const char *session, struct err *err) WARN_UNUSED;
/* Completes or undoes an apply that a crash cut short, and records which. */
int begin_recover(struct keeper *k, struct err *err) WARN_UNUSED;

#endif
