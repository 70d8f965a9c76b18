#include "jail/hand_out.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/utf8.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Bytes from the start that are ASCII other than NUL, eight at a time: this is where a gigabyte of output goes. */
static size_t ascii_run(const char *data, size_t len)
{
	const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;
	size_t n = 0;
	uint64_t word;

	for (; len - n >= sizeof(word); n += sizeof(word)) {
		memcpy(&word, data + n, sizeof(word));
		/* a byte is NUL or above 0x7f: the borrow of x - 1 sets the high bit where x is 0 */
		if ((word | (word - ones)) & high)
			break;
	}
	while (n < len && (unsigned char)(data[n] - 1) < 0x7f)
		n++;
	return n;
}

/* Length that a first byte announces; 1 where it announces nothing. */
static size_t announced(char first)
{
	unsigned char c = (unsigned char)first;

	return c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc2 ? 2 : 1;
}

static void ring_add(struct hand_out *o, const char *data, size_t len)
{
	if (len > HAND_OUT_HALF) {
		o->tail_total += len - HAND_OUT_HALF;
		data += len - HAND_OUT_HALF;
		len = HAND_OUT_HALF;
	}
	while (len) {
		size_t at = (size_t)(o->tail_total % HAND_OUT_HALF);
		size_t n = len < HAND_OUT_HALF - at ? len : HAND_OUT_HALF - at;

		memcpy(o->tail + at, data, n);
		o->tail_total += n;
		data += n;
		len -= n;
	}
}

/* One character, or a run of ASCII, which may be divided between the windows. */
static void put(struct hand_out *o, const char *data, size_t len, bool divisible)
{
	size_t room = o->head_full ? 0 : HAND_OUT_HALF - o->head_len;
	size_t n = len <= room ? len : divisible ? room : 0;

	memcpy(o->head + o->head_len, data, n);
	o->head_len += n;
	if (n < len) {
		o->head_full = true;
		ring_add(o, data + n, len - n);
	}
}

/* Consumes whole characters; returns how many bytes at the end are the start of one. */
static size_t take(struct hand_out *o, const char *data, size_t len, bool last)
{
	uint32_t cp;

	while (len) {
		size_t n = ascii_run(data, len);

		if (n) {
			put(o, data, n, true);
		} else if (*data && (n = utf8_decode(data, len, &cp))) {
			put(o, data, n, false);
		} else if (!last && announced(*data) > len) {
			return len;
		} else {
			n = 1;
			o->replaced++;
			put(o, REPLACEMENT, strlen(REPLACEMENT), false);
		}
		data += n;
		len -= n;
	}
	return 0;
}

void hand_out_add(struct hand_out *o, const char *data, size_t len)
{
	/* Completes the character that the last piece began: byte by byte, at most three times. */
	while (o->part_len && len) {
		char part[sizeof(o->part)];

		o->part[o->part_len++] = *data++;
		len--;
		memcpy(part, o->part, sizeof(part));

		size_t n = o->part_len;

		o->part_len = take(o, part, n, false);
		memmove(o->part, part + n - o->part_len, o->part_len);
	}

	size_t rest = take(o, data, len, false);

	memcpy(o->part, data + len - rest, rest);
	o->part_len += rest;
}

uint64_t hand_out_end(struct hand_out *o, struct buf *text)
{
	take(o, o->part, o->part_len, true);
	o->part_len = 0;

	size_t kept = o->tail_total < HAND_OUT_HALF ? (size_t)o->tail_total : HAND_OUT_HALF;
	size_t at = (size_t)((o->tail_total - kept) % HAND_OUT_HALF);

	if (kept < o->tail_total)
		while (kept && ((unsigned char)o->tail[at] & 0xc0) == 0x80) {
			at = (at + 1) % HAND_OUT_HALF;
			kept--;
		}

	uint64_t dropped = o->tail_total - kept;

	buf_add(text, o->head, o->head_len);
	if (dropped) {
		hand_note(text, "\xe2\x80\xa6 %llu bytes left out \xe2\x80\xa6", (unsigned long long)dropped);
		buf_addc(text, '\n');
	}

	size_t first = kept < HAND_OUT_HALF - at ? kept : HAND_OUT_HALF - at;

	buf_add(text, o->tail + at, first);
	buf_add(text, o->tail, kept - first);
	return dropped;
}

void hand_note(struct buf *text, const char *fmt, ...)
{
	char note[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(note, sizeof(note), fmt, ap);
	va_end(ap);
	if (text->len && text->data[text->len - 1] != '\n')
		buf_addc(text, '\n');
	buf_addf(text, "[%s]", note);
}

size_t hand_text(const char *data, size_t len, size_t max_chars, struct buf *text, uint64_t *replaced)
{
	size_t done = 0;
	uint32_t cp;

	while (done < len && max_chars) {
		size_t run = ascii_run(data + done, len - done < max_chars ? len - done : max_chars);
		size_t n = run;

		if (run) {
			buf_add(text, data + done, run);
		} else if (data[done] && (n = utf8_decode(data + done, len - done, &cp))) {
			buf_add(text, data + done, n);
		} else {
			n = 1;
			buf_adds(text, REPLACEMENT);
			(*replaced)++;
		}
		done += n;
		max_chars -= run ? run : 1;
	}
	return done;
}
