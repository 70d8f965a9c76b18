#include "core/base/buf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static bool grow(struct buf *b, size_t more)
{
	size_t need;

	if (b->failed)
		return false;
	if (__builtin_add_overflow(b->len, more, &need) || need > b->max) {
		b->failed = E_LIMIT;
		return false;
	}
	if (need < b->cap)
		return true;

	size_t cap = b->cap ? b->cap : 64;
	while (cap <= need)
		cap = cap > SIZE_MAX / 2 ? need + 1 : cap * 2;
	if (cap > b->max + 1)
		cap = b->max + 1;

	char *data = realloc(b->data, cap);
	if (!data) {
		b->failed = E_NOMEM;
		return false;
	}
	b->data = data;
	b->cap = cap;
	return true;
}

void buf_add(struct buf *b, const void *data, size_t len)
{
	if (!grow(b, len))
		return;
	if (len)
		memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = '\0';
}

void buf_adds(struct buf *b, const char *str)
{
	buf_add(b, str, strlen(str));
}

void buf_addc(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap, again;

	va_start(ap, fmt);
	va_copy(again, ap);
	int len = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (len >= 0 && grow(b, (size_t)len)) {
		vsnprintf(b->data + b->len, (size_t)len + 1, fmt, again);
		b->len += (size_t)len;
	} else if (len < 0 && !b->failed) {
		b->failed = E_NOMEM;
	}
	va_end(again);
}

char *buf_reserve(struct buf *b, size_t len)
{
	if (!grow(b, len))
		return NULL;
	return b->data + b->len;
}

void buf_consume(struct buf *b, size_t len)
{
	if (len > b->len)
		len = b->len;
	if (!len)
		return;
	memmove(b->data, b->data + len, b->len - len);
	b->len -= len;
	b->data[b->len] = '\0';
}

int buf_check(const struct buf *b, const char *what, struct err *err)
{
	if (!b->failed)
		return 0;
	if (b->failed == E_NOMEM)
		return err_set(err, E_NOMEM, "%s: out of memory", what);
	return err_set(err, E_LIMIT, "%s: larger than the limit of %zu bytes", what, b->max);
}

const char *buf_str(const struct buf *b)
{
	return b->data ? b->data : "";
}

void buf_reset(struct buf *b)
{
	b->len = 0;
	b->failed = 0;
	if (b->data)
		b->data[0] = '\0';
}

void buf_free(struct buf *b)
{
	free(b->data);
	b->data = NULL;
	b->len = b->cap = 0;
	b->failed = 0;
}

char *buf_steal(struct buf *b)
{
	if (!b->data)
		return strdup("");

	char *data = b->data;
	b->data = NULL;
	b->len = b->cap = 0;
	return data;
}
