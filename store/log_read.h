/*
 * log_read: a session's log opened read-only (SQLite mode=ro) beside its writer, and the verifier.  It never writes.
 *
 * A reader shows what is stored and checks types, lengths and codecs, not hashes: that is log_verify().  It works while
 * the writer lives, after it died, on a copy without -wal and -shm, and on a read-only disk (read_db.h says how).  On a
 * read-only disk a log whose -wal was copied without its -shm cannot be read: E_IO.
 */
#ifndef WARDER_STORE_LOG_READ_H
#define WARDER_STORE_LOG_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "store/event.h"

struct log_reader;

int log_reader_open(int dirfd, struct log_reader **ret, struct err *err) WARN_UNUSED;
void log_reader_close(struct log_reader **reader);
#define _cleanup_log_reader_ _cleanup_(log_reader_close)

/* Newest seq, 0 when empty. */
int log_reader_last(struct log_reader *r, int64_t *ret_seq, struct err *err) WARN_UNUSED;
/* The row `seq`; E_NOTFOUND when absent.  *ret points into the reader until its next call.  An erased body has
 * body == NULL. */
int log_reader_get(struct log_reader *r, int64_t seq, struct event *ret, struct err *err) WARN_UNUSED;
/* The newest row before `before` (0: from the end) whose kind begins with `kind_prefix`; E_NOTFOUND.  Looks backwards,
 * row by row. */
int log_reader_last_of(struct log_reader *r, const char *kind_prefix, int64_t before, struct event *ret,
		       struct err *err) WARN_UNUSED;
/* Calls `each` for every row with seq > after, in order, bodies included; stops when it returns non-zero and returns
 * that value.  `each` must not use the same reader.  Rows that are appended meanwhile may or may not be seen. */
int log_reader_each(struct log_reader *r, int64_t after, int (*each)(const struct event *e, void *arg), void *arg,
		    struct err *err) WARN_UNUSED;

enum log_verdict { LOG_INTACT, LOG_ALTERED, LOG_TRUNCATED, LOG_REORDERED, LOG_SPLICED, LOG_WRONG_KEY, LOG_UNREADABLE };

struct log_claim {
	const char *claim; /* short stable name: "schema", "sequence", "commitments", "chain", "head" */
	bool ok;
	int64_t seq; /* 0: none */
	char why[256];
};

struct log_report {
	enum log_verdict verdict;
	int64_t seq; /* first bad, 0 when intact */
	int64_t events;
	int64_t erased;
	bool anchored;
	struct log_claim claims[8];
	size_t nclaims;
};

/* Always fills *ret; the report says what was proved and what not.  The claims stand in the order schema, sequence,
 * commitments, chain, head; what could not be read to its end is not ok.
 * `altered`: a row, a body or the schema is not what was written.  `truncated`: rows are missing before rows that are
 * there, or bodies are left of events that are not.  `reordered`: the row that belongs at seq stands elsewhere.
 * `spliced`: the row at seq is that of another session beside this one.  Rows removed from the end with everything else
 * in place cannot be seen without an anchor; the claim `head` says so. */
void log_verify(int dirfd, struct log_report *ret);
const char *log_verdict_name(enum log_verdict v);

#endif
