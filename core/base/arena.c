#include "core/base/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define BLOCK_MIN 4096

struct arena_block {
	struct arena_block *next;
	size_t size; /* bytes of data[] */
	size_t used;
	alignas(max_align_t) char data[];
};

void *arena_alloc(struct arena *a, size_t size)
{
	size_t need, total;

	/* Rounded up, so that what follows is aligned; an empty request still gets a place of its own. */
	if (__builtin_add_overflow(size ? size : 1, alignof(max_align_t) - 1, &need))
		return NULL;
	need &= ~(alignof(max_align_t) - 1);
	if (__builtin_add_overflow(a->used, need, &total) || total > a->max)
		return NULL;

	struct arena_block *b = a->head;
	if (!b || b->size - b->used < need) {
		size_t block = need > BLOCK_MIN ? need : BLOCK_MIN, bytes;

		if (__builtin_add_overflow(block, sizeof(*b), &bytes))
			return NULL;
		b = calloc(1, bytes);
		if (!b)
			return NULL;
		b->size = block;
		b->next = a->head;
		a->head = b;
	}

	void *place = b->data + b->used;
	b->used += need;
	a->used = total;
	return place;
}

char *arena_strndup(struct arena *a, const char *str, size_t len)
{
	if (len == SIZE_MAX)
		return NULL;

	char *copy = arena_alloc(a, len + 1);
	if (copy && len)
		memcpy(copy, str, len);
	return copy;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap, again;
	char *text = NULL;

	va_start(ap, fmt);
	va_copy(again, ap);
	int len = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (len >= 0)
		text = arena_alloc(a, (size_t)len + 1);
	if (text)
		vsnprintf(text, (size_t)len + 1, fmt, again);
	va_end(again);
	return text;
}

void arena_reset(struct arena *a)
{
	/* One ordinary block is kept: an arena of a frame or a request settles without further allocation. */
	struct arena_block *keep = NULL, *b = a->head;

	while (b) {
		struct arena_block *next = b->next;

		if (!keep && b->size == BLOCK_MIN) {
			keep = b;
			memset(b->data, 0, b->used);
			b->used = 0;
			b->next = NULL;
		} else {
			free(b);
		}
		b = next;
	}
	a->head = keep;
	a->used = 0;
}

void arena_free(struct arena *a)
{
	while (a->head) {
		struct arena_block *next = a->head->next;

		free(a->head);
		a->head = next;
	}
	a->used = 0;
}
