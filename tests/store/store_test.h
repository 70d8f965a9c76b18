/*
 * store_test: what the tests of the log share: a home of sessions in a scratch folder, logs with something in them, and
 * raw SQL beside our code.  Everything here that fails ends the program with status 99.
 */
#ifndef WARDER_TESTS_STORE_TEST_H
#define WARDER_TESTS_STORE_TEST_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/id.h"
#include "store/log.h"
#include "store/log_read.h"
#include "tests/tap.h"

#define TEST_PATH_MAX 512

struct home {
	char path[TEST_PATH_MAX];
	int fd, sessions_fd;
};

/* In $TMPDIR or /tmp. */
void home_make(struct home *h);
void home_end(struct home *h);

/* A new, empty session folder; the descriptor is the caller's. */
int session_make(struct home *h, char ret_id[ID_LEN + 1]);
/* A copy of a session's files into a new session. */
int session_copy(struct home *h, int from, char ret_id[ID_LEN + 1]);
/* Removes a session's folder and closes the descriptor. */
void session_end(int dirfd);
void file_copy(int from_fd, int to_fd, const char *name);
/* Its path, in a static buffer. */
const char *folder_path(int dirfd);
bool has_file(int dirfd, const char *name);
int64_t file_size(int dirfd, const char *name);

struct log *log_made(int dirfd);
struct log *log_opened(int dirfd);
int64_t add(struct log *log, const char *kind, int64_t ref, const char *body, enum log_tier tier);
/* `n` events of many kinds and sizes, some of them compressed. */
void add_many(struct log *log, int n);
/* A closed log of `n` events in a new session. */
int session_with(struct home *h, int n);

/* Statements on a plain connection, as any program could make one.  SQLite's result code; *ret_message may be NULL. */
int sql_try(int dirfd, const char *sql, char *ret_message, size_t size);
void sql_must(int dirfd, const char *sql);
int64_t sql_int(int dirfd, const char *sql);
void drop_triggers(int dirfd);
/* Drops them, runs the statements, and puts them back as they were. */
void sql_without_triggers(int dirfd, const char *sql);

/* Runs a program, stdin from `input`; its exit status, or 127.  `output` gets stdout and stderr. */
int run_program(const char *const *argv, const char *input, char *output, size_t size);
bool have_program(const char *name);

/* Checks the verdict and the first bad seq; prints the report when they are others. */
bool verdict_matches(int dirfd, enum log_verdict verdict, int64_t seq);
#define verdict_is(dirfd, verdict, seq, what)                                                           \
	ok(verdict_matches(dirfd, verdict, seq), "%s: %s at seq %lld", what, log_verdict_name(verdict), \
	   (long long)(seq))

/* WARDER_LONG is set: `make check-long`. */
bool long_run(void);

/* Deterministic numbers; the seed is printed, and taken from WARDER_SEED when set. */
void random_seed(void);
uint32_t random_below(uint32_t n);

#endif
