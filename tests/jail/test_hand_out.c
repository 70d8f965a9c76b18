/* The two windows on endless output, against a straightforward reading of the same bytes. */
#include <stdlib.h>

#include "core/base/utf8.h"
#include "jail/hand_out.h"
#include "tests/tap.h"

/* Text, dropped and replaced of `data` given in pieces of `piece` bytes. */
struct outcome {
	struct buf text;
	uint64_t dropped, replaced;
};

static struct outcome through(const char *data, size_t len, size_t piece)
{
	struct hand_out *o = calloc(1, sizeof(*o));
	struct outcome r = { .text = BUF_INIT(1u << 20) };

	for (size_t at = 0; o && at < len; at += piece)
		hand_out_add(o, data + at, len - at < piece ? len - at : piece);
	r.dropped = hand_out_end(o, &r.text);
	r.replaced = o->replaced;
	free(o);
	return r;
}

static bool is_text(const struct buf *b)
{
	uint32_t cp;

	for (size_t at = 0, n; at < b->len; at += n) {
		n = utf8_decode(b->data + at, b->len - at, &cp);
		if (!n || !cp)
			return false;
	}
	return true;
}

static void test_small(void)
{
	static const struct {
		const char *data;
		size_t len;
		const char *text;
		uint64_t replaced;
	} cases[] = {
		{ "", 0, "", 0 },
		{ "abc", 3, "abc", 0 },
		{ "\0", 1, "\xef\xbf\xbd", 1 },
		{ "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 0 },
		{ "\xef\xbf\xbd", 3, "\xef\xbf\xbd", 0 }, /* a genuine one */
		{ "\xff", 1, "\xef\xbf\xbd", 1 },
		{ "a\xe2\x82", 3, "a\xef\xbf\xbd\xef\xbf\xbd", 2 },
		{ "\xe2\x82z", 3, "\xef\xbf\xbd\xef\xbf\xbdz", 2 },
		{ "\xc0\x80", 2, "\xef\xbf\xbd\xef\xbf\xbd", 2 },                                 /* overlong */
		{ "\xed\xa0\x80", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", 3 },                 /* surrogate */
		{ "\xf4\x90\x80\x80", 4, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", 4 }, /* above U+10FFFF */
		{ "\xf0\x9f\x98", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", 3 },
		{ "\xf0\x9f\xc3\xa9", 4, "\xef\xbf\xbd\xef\xbf\xbd\xc3\xa9", 2 },
		{ "1234567\0"
		  "12345678",
		  16,
		  "1234567\xef\xbf\xbd"
		  "12345678",
		  1 },
		{ "12345678\x80", 9, "12345678\xef\xbf\xbd", 1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		for (size_t piece = 1; piece <= cases[i].len + 1; piece++) {
			struct outcome r = through(cases[i].data, cases[i].len, piece);

			if (piece == 1 || strcmp(buf_str(&r.text), cases[i].text) != 0)
				is_str(buf_str(&r.text), cases[i].text, "case %zu in pieces of %zu", i, piece);
			if (piece == 1 || r.replaced != cases[i].replaced)
				is_int(r.replaced, cases[i].replaced, "its replacements");
			buf_free(&r.text);
		}
}

static void test_windows(void)
{
	static char data[4 * HAND_OUT_HALF];
	char note[80];

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)('a' + i % 26);
	for (long len = 2 * HAND_OUT_HALF - 1; len <= 2 * HAND_OUT_HALF + 2; len++) {
		struct outcome r = through(data, (size_t)len, 4096);
		long over = len - 2 * HAND_OUT_HALF;

		is_int(r.dropped, over > 0 ? over : 0, "%ld bytes: left out", len);
		if (over <= 0)
			ok(r.text.len == (size_t)len && memcmp(r.text.data, data, (size_t)len) == 0,
			   "nothing is changed");
		snprintf(note, sizeof(note), "\n[\xe2\x80\xa6 %ld bytes left out \xe2\x80\xa6]\n", over);
		if (over > 0)
			ok(r.text.len == 2 * HAND_OUT_HALF + strlen(note) &&
				   memcmp(r.text.data, data, HAND_OUT_HALF) == 0 &&
				   memcmp(r.text.data + HAND_OUT_HALF, note, strlen(note)) == 0 &&
				   memcmp(r.text.data + HAND_OUT_HALF + strlen(note), data + len - HAND_OUT_HALF,
					  HAND_OUT_HALF) == 0,
			   "head, note, tail");
		buf_free(&r.text);
	}

	/* a character of three bytes at every offset of the seams */
	for (size_t shift = 0; shift < 6; shift++) {
		struct buf long_text = BUF_INIT(1u << 20);

		for (size_t i = 0; i < shift; i++)
			buf_addc(&long_text, 'x');
		while (long_text.len < 5 * HAND_OUT_HALF)
			buf_adds(&long_text, "\xe2\x82\xac");
		struct outcome r = through(long_text.data, long_text.len, 1000 + shift);

		ok(is_text(&r.text) && r.replaced == 0, "seams cut no character, shift %zu", shift);
		ok(r.dropped % 3 == 0 && r.dropped >= 3 * HAND_OUT_HALF, "and count whole ones");
		buf_free(&r.text);
		buf_free(&long_text);
	}
}

/* Noise in pieces of many sizes is the same as in one piece. */
static void test_noise(void)
{
	static char data[100000];
	static const size_t pieces[] = { 1, 2, 3, 7, 4095, 65536, sizeof(data) };
	unsigned state = 12345;

	for (int kind = 0; kind < 3; kind++) {
		struct outcome want = { .text = BUF_INIT(0) };

		for (size_t i = 0; i < sizeof(data); i++) {
			state = state * 1103515245u + 12345u;
			unsigned byte = state >> 16 & 0xff;

			data[i] = kind == 2 ? "\xe2\x82\xac\xf0\x9f\x98\x80x"[byte & 7]
					    : (char)(kind ? byte & 0x7f : byte);
		}
		for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
			struct outcome r = through(data, sizeof(data), pieces[i]);

			if (i == 0) {
				ok(is_text(&r.text), "noise %d becomes text", kind);
				ok(r.text.len <= 2 * HAND_OUT_HALF + 80, "of bounded length");
				want = r;
				continue;
			}
			ok(r.text.len == want.text.len && memcmp(r.text.data, want.text.data, r.text.len) == 0 &&
				   r.dropped == want.dropped && r.replaced == want.replaced,
			   "in pieces of %zu the same", pieces[i]);
			buf_free(&r.text);
		}
		buf_free(&want.text);
	}
}

static void test_text(void)
{
	struct buf b = BUF_INIT(1000);
	uint64_t replaced = 0;

	is_int(hand_text("abcdef", 6, 4, &b, &replaced), 4, "four characters of six");
	is_int(hand_text("\xe2\x82\xac\xe2\x82\xac", 6, 1, &b, &replaced), 3, "one character of three bytes");
	is_int(hand_text("\xe2\x82\0x", 4, 10, &b, &replaced), 4, "broken ones");
	is_str(buf_str(&b), "abcd\xe2\x82\xac\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdx", "the text");
	is_int(replaced, 3, "replacements");
	buf_reset(&b);
	hand_note(&b, "first %d", 1);
	hand_note(&b, "second");
	is_str(buf_str(&b), "[first 1]\n[second]", "notes stand on lines of their own");
	buf_free(&b);
}

int main(void)
{
	test_small();
	test_windows();
	test_noise();
	test_text();
	return tap_end();
}
