#include <utf8proc.h>

#include "core/base/safe_text.h"
#include "core/base/utf8.h"
#include "tests/base/gate_check.h"
#include "tests/tap.h"

#define U(hex) "\xe2\x9f\xa8U+" hex "\xe2\x9f\xa9"
#define WORD(word) "\xe2\x9f\xa8" word "\xe2\x9f\xa9"

struct sample {
	const char *in;
	size_t len; /* 0: strlen */
	const char *out;
	size_t hidden;
	size_t columns;
	const char *what;
};

/* All in SAFE_LINE. */
static const struct sample samples[] = {
	{ "ls -l ~/x | sh {}", 0, "ls -l ~/x | sh {}", 0, 17, "ASCII" },
	{ "", 0, "", 0, 0, "nothing" },
	{ "caf\xc3\xa9 na\xc3\xafve", 0, "caf\xc3\xa9 na\xc3\xafve", 0, 10, "Latin letters" },
	{ "\xe6\xbc\xa2\xe5\xad\x97", 0, "\xe6\xbc\xa2\xe5\xad\x97", 0, 4, "wide letters" },
	{ "\xd0\x9f\xd1\x80\xd0\xb8", 0, "\xd0\x9f\xd1\x80\xd0\xb8", 0, 3, "Cyrillic" },
	{ "e\xcc\x81", 0, "e\xcc\x81", 0, 1, "a mark on a letter" },
	{ "\xe2\x82\xac \xe2\x88\x91 \xe2\x9c\x93", 0, "\xe2\x82\xac \xe2\x88\x91 \xe2\x9c\x93", 0, 5, "symbols" },
	{ "\xf0\x9f\x98\x80", 0, "\xf0\x9f\x98\x80", 0, 2, "emoji" },
	{ "\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab", 0, "\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab", 0, 2, "Hangul in jamo" },

	{ "a\x1b[2Kb", 0, "a" WORD("ESC") "[2Kb", 1, 10, "ESC" },
	{ "safe\rrm", 0, "safe" WORD("CR") "rm", 1, 10, "carriage return" },
	{ "a\nb\tc", 0, "a" WORD("LF") "b" WORD("TAB") "c", 2, 12, "newline and tab" },
	{ "\a\b\f\v\x7f", 0, U("0007") U("0008") U("000C") U("000B") U("007F"), 5, 40, "C0 and DEL" },
	{ "a\0b", 3, "a" U("0000") "b", 1, 10, "NUL" },
	{ "\x9b" "31m", 0, "\\x9b31m", 1, 7, "a raw C1 byte" },
	{ "\xc2\x9b" "31m", 0, U("009B") "31m", 1, 11, "C1 CSI as a character" },
	{ "\xc2\x85", 0, U("0085"), 1, 8, "NEL" },
	{ "x\xe2\x80\xaegpj.exe", 0, "x" U("202E") "gpj.exe", 1, 16, "RLO" },
	{ "\xe2\x81\xa6\xe2\x81\xa9\xe2\x80\x8f", 0, U("2066") U("2069") U("200F"), 3, 24, "LRI, PDI, RLM" },
	{ "\xd8\x9c", 0, U("061C"), 1, 8, "Arabic letter mark" },
	{ "a\xe2\x80\x8b" "b", 0, "a" U("200B") "b", 1, 10, "zero-width space" },
	{ "\xe2\x80\x8d\xe2\x80\x8c\xe2\x81\xa0", 0, U("200D") U("200C") U("2060"), 3, 24, "joiners" },
	{ "\xef\xbb\xbfx", 0, U("FEFF") "x", 1, 9, "byte order mark" },
	{ "\xc2\xad", 0, U("00AD"), 1, 8, "soft hyphen" },
	{ "\xf3\xa0\x81\xb2\xf3\xa0\x81\xad", 0, U("E0072") U("E006D"), 2, 18, "tag characters" },
	{ "\xe2\x9d\xa4\xef\xb8\x8f", 0, "\xe2\x9d\xa4" U("FE0F"), 1, 9, "variation selector" },
	{ "\xf3\xa0\x84\x80", 0, U("E0100"), 1, 9, "variation selector 17" },
	{ "\xc2\xa0\xe3\x80\x80\xe2\x80\x83", 0, U("00A0") U("3000") U("2003"), 3, 24, "other spaces" },
	{ "\xe2\x80\xa8\xe2\x80\xa9", 0, U("2028") U("2029"), 2, 16, "line and paragraph separator" },
	{ "\xe3\x85\xa4\xe1\x85\x9f\xe1\x85\xa0\xef\xbe\xa0", 0, U("3164") U("115F") U("1160") U("FFA0"), 4, 32,
	  "Hangul fillers" },
	{ "\xe2\xa0\x80", 0, U("2800"), 1, 8, "braille blank" },
	{ "\xee\x80\x80\xf4\x80\x80\x80", 0, U("E000") U("100000"), 2, 18, "private use" },
	{ "\xef\xbf\xbf\xcd\xb8", 0, U("FFFF") U("0378"), 2, 16, "non-character, unassigned" },
	{ "\xcc\x81x", 0, U("0301") "x", 1, 9, "a mark at the start" },
	{ " \xcc\x81", 0, " " U("0301"), 1, 9, "a mark on a space" },
	{ "1\xef\xb8\x8f\xe2\x83\xa3", 0, "1" U("FE0F") U("20E3"), 2, 17, "a keycap" },
	{ "\xe1\x85\xa1", 0, U("1161"), 1, 8, "a Hangul vowel without its letter" },
	{ "a\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81", 0,
	  "a\xcc\x81\xcc\x81\xcc\x81\xcc\x81" U("0301") U("0301"), 2, 17, "more marks than four" },
	{ "a\xe2\x80\x8b\xcc\x81", 0, "a" U("200B") U("0301"), 2, 17, "a mark behind something spelled out" },
	{ "\xff\xfe\xc0\xaf", 0, "\\xff\\xfe\\xc0\\xaf", 4, 16, "bytes that are not UTF-8" },
	{ "\xed\xa0\x80", 0, "\\xed\\xa0\\x80", 3, 12, "a surrogate" },
	{ "\xf4\x90\x80\x80", 0, "\\xf4\\x90\\x80\\x80", 4, 16, "beyond Unicode" },
	{ "ok\xe2\x82", 0, "ok\\xe2\\x82", 2, 10, "a character cut short" },
	{ WORD("ESC"), 0, WORD("ESC"), 0, 5, "text that looks spelled out" },
};

static void test_catalogue(void)
{
	for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
		const struct sample *s = &samples[i];
		_cleanup_buf_ struct buf out = BUF_INIT(1000);
		struct safe_stat stat;

		safe_text(s->in, s->len ? s->len : strlen(s->in), SAFE_LINE, &out, &stat);
		is_str(buf_str(&out), s->out, "%s", s->what);
		ok(stat.hidden == s->hidden && stat.columns == s->columns, "%s: %zu hidden, %zu columns", s->what,
		   stat.hidden, stat.columns);
	}
}

static void test_block(void)
{
	_cleanup_buf_ struct buf out = BUF_INIT(1000);
	struct safe_stat stat;
	const char *text = "one\r\n\ttwo\x1b\n" "abc\tx";

	safe_text(text, strlen(text), SAFE_BLOCK, &out, &stat);
	is_str(buf_str(&out), "one" WORD("CR") "\n\ttwo" WORD("ESC") "\nabc\tx", "newline and tab pass in a block");
	is_int(stat.columns, 9, "columns are those of the last line, with its tab");
	is_int(stat.hidden, 2, "CR and ESC are counted");

	buf_reset(&out);
	buf_adds(&out, "e");
	safe_text("\xcc\x81", 2, SAFE_LINE, &out, NULL);
	is_str(buf_str(&out), "e" U("0301"), "a mark does not reach back into what stood in the buffer before");
}

static const char *stable(const char *text, size_t len, enum safe_mode mode)
{
	_cleanup_buf_ struct buf one = BUF_INIT(1 << 16), two = BUF_INIT(1 << 16);
	struct safe_stat a, b;

	safe_text(text, len, mode, &one, &a);
	const char *wrong = gate_check(buf_str(&one), one.len, mode == SAFE_BLOCK);
	if (wrong)
		return wrong;
	safe_text(buf_str(&one), one.len, mode, &two, &b);
	if (one.len != two.len || memcmp(buf_str(&one), buf_str(&two), one.len) != 0)
		return "a second pass changes it";
	if (b.hidden || a.columns != b.columns)
		return "a second pass counts otherwise";
	return NULL;
}

/* Every code point, alone, behind a letter and before one; every byte and every pair of bytes. */
static void test_all(void)
{
	const char *wrong = NULL;
	bool by_category = true;

	for (uint32_t cp = 0; cp <= 0x10ffff && !wrong; cp++) {
		char text[8] = "a";
		size_t n = 1;

		if (cp >= 0xd800 && cp <= 0xdfff)
			continue;
		n += utf8_encode(cp, text + n);
		text[n++] = 'z';
		wrong = stable(text, n, cp & 1 ? SAFE_LINE : SAFE_BLOCK);
		if (!wrong)
			wrong = stable(text + 1, n - 1, SAFE_LINE);
		if (wrong)
			diag("U+%04X: %s", cp, wrong);

		_cleanup_buf_ struct buf out = BUF_INIT(100);
		safe_text(text, n, SAFE_LINE, &out, NULL);
		static const char refused[] = { UTF8PROC_CATEGORY_CN, UTF8PROC_CATEGORY_CC, UTF8PROC_CATEGORY_CF,
						UTF8PROC_CATEGORY_CO, UTF8PROC_CATEGORY_CS, UTF8PROC_CATEGORY_ZL,
						UTF8PROC_CATEGORY_ZP };
		const utf8proc_property_t *p = utf8proc_get_property((utf8proc_int32_t)cp);
		bool passed = out.len == n && memcmp(out.data, text, n) == 0;
		if (passed && (memchr(refused, p->category, sizeof(refused)) || p->ignorable) && by_category) {
			by_category = false;
			diag("U+%04X passes", cp);
		}
	}
	ok(!wrong, "every character comes out safe and stable");
	ok(by_category, "none of Cc Cf Cn Co Cs Zl Zp, and no default-ignorable, passes");

	wrong = NULL;
	for (unsigned pair = 0; pair <= 0xffff && !wrong; pair++) {
		char text[3] = { (char)(pair >> 8), (char)pair, 'x' };

		wrong = stable(text, 3, pair & 1 ? SAFE_LINE : SAFE_BLOCK);
		if (wrong)
			diag("%04x: %s", pair, wrong);
	}
	ok(!wrong, "every pair of bytes comes out safe and stable");
}

static void test_preview(void)
{
	static const struct {
		const char *in;
		size_t columns;
		const char *out;
	} cases[] = {
		{ "hello", 10, "hello" },
		{ "hello", 5, "hello" },
		{ "hello", 4, "hel\xe2\x80\xa6" },
		{ "hello", 1, "\xe2\x80\xa6" },
		{ "hello", 0, "" },
		{ "", 0, "" },
		{ "", 5, "" },
		{ "  \n a \t\r\n  b \n", 20, "a b" },
		{ "a\rb", 20, "a" WORD("CR") "b" },
		{ "   \n  ", 20, "" },
		{ "ab \n\n ", 2, "ab" },
		{ "\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2", 6, "\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2" },
		{ "\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2", 5, "\xe6\xbc\xa2\xe5\xad\x97\xe2\x80\xa6" },
		{ "\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2", 4, "\xe6\xbc\xa2\xe2\x80\xa6" },
		{ "e\xcc\x81" "e\xcc\x81" "e\xcc\x81", 2, "e\xcc\x81\xe2\x80\xa6" },
		{ "ab\x1b[31m", 6, "ab\xe2\x80\xa6" },
		{ "ab\x1b[31m", 8, "ab" WORD("ESC") "\xe2\x80\xa6" },
		{ "a\n\xcc\x81", 20, "a " U("0301") },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_buf_ struct buf out = BUF_INIT(1000);

		safe_preview(cases[i].in, strlen(cases[i].in), cases[i].columns, &out);
		is_str(buf_str(&out), cases[i].out, "preview %zu in %zu columns", i, cases[i].columns);
	}

	_cleanup_buf_ struct buf out = BUF_INIT(1000);
	buf_adds(&out, "kept: ");
	safe_preview("abcdef", 6, 3, &out);
	is_str(buf_str(&out), "kept: ab\xe2\x80\xa6", "what stood before is kept");

	_cleanup_free_ char *huge = malloc(1 << 20);
	memset(huge, 'x', 1 << 20);
	buf_reset(&out);
	safe_preview(huge, 1 << 20, 80, &out);
	is_int(out.len, 82, "a megabyte fits in a small buffer");
}

static void test_dup(void)
{
	char bytes[256];

	for (int i = 0; i < 255; i++)
		bytes[i] = (char)(i + 1);
	bytes[255] = '\0';
	_cleanup_free_ char *all = safe_dup(bytes);
	ok(all && !gate_check(all, strlen(all), false), "every byte");
	memset(bytes, 1, 255);
	_cleanup_free_ char *worst = safe_dup(bytes);
	is_int(worst ? strlen(worst) : 0, 255 * 12, "the longest form fits");
	_cleanup_free_ char *empty = safe_dup("");
	is_str(empty, "", "nothing");

	_cleanup_buf_ struct buf small = BUF_INIT(4);
	safe_text("\x1b\x1b", 2, SAFE_LINE, &small, NULL);
	is_int(small.failed, E_LIMIT, "a buffer that is too small fails");
	is_int(small.len, 0, "and holds no half of a spelled character");
}

int main(void)
{
	test_catalogue();
	test_block();
	test_all();
	test_preview();
	test_dup();
	return tap_end();
}
