/*
 * hand_out: what a command or a file says, as text that fits: valid UTF-8 without NUL, and of endless output the head
 * and the tail.  It owns its two windows and nothing else; its memory is fixed, whatever passes through.
 *
 * `head` takes the first bytes until it is full, `tail` is a ring of the last ones.  Both hold whole characters but
 * for the oldest end of the ring, where hand_out_end() drops the rest of a cut one.  Bytes that are not UTF-8, and
 * NUL (which JSON for C strings cannot carry), become U+FFFD one by one and are counted.
 */
#ifndef WARDER_JAIL_HAND_OUT_H
#define WARDER_JAIL_HAND_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"

#define HAND_OUT_HALF 15000 /* bytes of each window: 30,000 reach the model */

struct hand_out {
	char head[HAND_OUT_HALF];
	size_t head_len;
	bool head_full;
	char tail[HAND_OUT_HALF];
	uint64_t tail_total; /* bytes that went to the ring since the start; the next one goes to tail_total % HALF */
	char part[4];        /* start of a character whose rest has not come yet */
	size_t part_len;
	uint64_t replaced;
};

void hand_out_add(struct hand_out *o, const char *data, size_t len);

/* No more will come: appends the text to `text`, with a line "[... N bytes left out ...]" where the middle was.
 * Returns how many bytes were left out. */
uint64_t hand_out_end(struct hand_out *o, struct buf *text);

/* Appends a line in brackets of its own, after a newline if the text does not end in one. */
void hand_note(struct buf *text, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Appends at most `max_chars` characters of `len` bytes in the same safe form, adding to *replaced; returns the
 * bytes taken. */
size_t hand_text(const char *data, size_t len, size_t max_chars, struct buf *text, uint64_t *replaced);

#endif
