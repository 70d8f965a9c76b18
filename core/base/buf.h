/*
 * buf: a growable byte buffer that declares its maximum when it is made.  It never grows past it.
 *
 * `data` is NULL or holds `len` bytes followed by a NUL that is a courtesy, never the length.  Failure sticks: once
 * an append does not fit (or memory is refused) nothing more is added and buf_check() says why; so a sequence of
 * appends is checked once, at its end.
 */
#ifndef WARDER_BASE_BUF_H
#define WARDER_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"

struct buf {
	char *data;
	size_t len;
	size_t cap;
	size_t max;  /* bytes; appends beyond it fail */
	int failed;  /* 0, E_LIMIT or E_NOMEM */
};

#define BUF_INIT(maximum) { .max = (maximum) }
#define _cleanup_buf_ _cleanup_(buf_free)

void buf_add(struct buf *b, const void *data, size_t len);
void buf_adds(struct buf *b, const char *str);
void buf_addc(struct buf *b, char c);
void buf_addf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Room for at least `len` more bytes at b->data + b->len, or NULL; the caller then raises b->len itself. */
char *buf_reserve(struct buf *b, size_t len) WARN_UNUSED;

/* Drops the first `len` bytes. */
void buf_consume(struct buf *b, size_t len);

/* 0, or the code of the first failure with its text (`what` names the thing that was being built). */
int buf_check(const struct buf *b, const char *what, struct err *err) WARN_UNUSED;

/* The text, "" when empty; never NULL. */
const char *buf_str(const struct buf *b);

/* Empties, keeps the memory and forgets a failure. */
void buf_reset(struct buf *b);
void buf_free(struct buf *b);

/* Hands the memory over (NUL-terminated, to be freed by the caller); the buffer is empty afterwards.  NULL when memory
 * is short. */
char *buf_steal(struct buf *b) WARN_UNUSED;

#endif
