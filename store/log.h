/*
 * log: the append-only event log of one session, as its one writer.  It owns sessions/ID/log.db and
 * sessions/ID/lock; it never changes or removes a row, and never interprets a body.
 *
 * One writer by a lock on `lock` (an OFD lock, see writer_lock.h), held as long as the handle lives.  Every append is
 * one transaction and is refused whole or durable as its tier says: LOG_NORMAL survives the death of the process (WAL,
 * synchronous=NORMAL), LOG_BARRIER also a power cut, and makes every row before it durable too (synchronous=FULL).
 * After a refused append (disk full, I/O error, database altered) the handle is broken and refuses everything: the
 * caller must stop, because nothing may run unlogged.  The row of a refused append may turn out to be in the log when
 * it is opened again (a commit whose fsync failed): it was logged and not acted on, which is the safe way round.
 * A handle is not inherited: a child process must exec before it touches anything of the session.
 */
#ifndef WARDER_STORE_LOG_H
#define WARDER_STORE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "store/event.h"

enum log_tier { LOG_NORMAL, LOG_BARRIER };

struct log;

struct log_entry {
	const char *kind;
	const char *actor; /* operator, answers, policy, agent, keeper, import */
	int64_t ref;       /* seq answered, 0 for none */
	const char *body;  /* JSON, validated by the log before it is stored; stored byte for byte */
	size_t body_len;
	const char *preview; /* one line for lists, passes the gate; NULL: made by event_preview() from kind and body */
};

/* Takes the lock in the session folder `dirfd` and creates the database (E_EXISTS when there is one, E_BUSY when
 * somebody writes). */
int log_create(int dirfd, struct log **ret, struct err *err) WARN_UNUSED;
/* Takes the lock and opens; verifies the whole chain first (E_CORRUPT with the first bad seq).  A newer format
 * version is E_INVALID with the advice to upgrade.  Both fail with E_FULL when the disk has no room for the reserve. */
int log_open(int dirfd, struct log **ret, struct err *err) WARN_UNUSED;
void log_close(struct log **log);
#define _cleanup_log_ _cleanup_(log_close)

/* E_INVALID and E_LIMIT are about the entry (words, reference, body): nothing was tried and the handle is as before.
 * Every other failure breaks it. */
int log_append(struct log *log, const struct log_entry *entry, enum log_tier tier, int64_t *ret_seq,
	       struct err *err) WARN_UNUSED;
/* The one thing that a handle broken by E_FULL still takes: `session.error` once, then `session.status_idle` or
 * `session.status_terminated` once.  The first call gives back the disk reserve; the rows are durable (LOG_BARRIER).
 * Best effort: another process may take the space. */
int log_append_last(struct log *log, const struct log_entry *entry, int64_t *ret_seq, struct err *err) WARN_UNUSED;
/* seq and hash of the newest row; 0 and zeros when empty. */
int64_t log_head(const struct log *log, uint8_t ret_hash[DIGEST_LEN]);
bool log_broken(const struct log *log);

/* True when some process (this one too) holds the session's writer lock, and when that cannot be told.  Asks only: it
 * never gets in the way of a writer that starts. */
bool log_is_locked(int dirfd);

#endif
