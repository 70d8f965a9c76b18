#include "core/base/safe_text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

#include "core/base/utf8.h"

#define OPEN "\xe2\x9f\xa8"  /* U+27E8 */
#define CLOSE "\xe2\x9f\xa9" /* U+27E9 */
#define ELLIPSIS "\xe2\x80\xa6"
#define TAB_STOP 8
#define GROWTH_MAX 12 /* bytes that one byte can become: a control byte as <U+0007> */

/* Marks on one letter: the languages that stack most need four; more paints over the lines above and below. */
#define MARKS_MAX 4

/* The way through a text. */
struct gate {
	const char *at;
	const char *end;
	enum safe_mode mode;
	bool letter;    /* what went out last is a letter, or a mark on one */
	unsigned marks; /* on it so far */
};

/* What one character, or one bad byte, becomes. */
struct unit {
	char text[20];
	size_t len;
	size_t columns;
	bool hidden;
};

enum verdict { SPELL, PASS_BASE, PASS_LETTER, PASS_MARK };

/* Of these categories nothing else is asked; all others are spelled out. */
static const uint8_t by_category[32] = {
	[UTF8PROC_CATEGORY_LU] = PASS_LETTER,     [UTF8PROC_CATEGORY_LL] = PASS_LETTER,
	[UTF8PROC_CATEGORY_LT] = PASS_LETTER,     [UTF8PROC_CATEGORY_LM] = PASS_LETTER,
	[UTF8PROC_CATEGORY_LO] = PASS_LETTER,     [UTF8PROC_CATEGORY_MN] = PASS_MARK,
	[UTF8PROC_CATEGORY_MC] = PASS_MARK,       [UTF8PROC_CATEGORY_ME] = PASS_MARK,
	[UTF8PROC_CATEGORY_ND] = PASS_BASE,       [UTF8PROC_CATEGORY_NL] = PASS_BASE,
	[UTF8PROC_CATEGORY_NO] = PASS_BASE,       [UTF8PROC_CATEGORY_PC] = PASS_BASE,
	[UTF8PROC_CATEGORY_PD] = PASS_BASE,       [UTF8PROC_CATEGORY_PS] = PASS_BASE,
	[UTF8PROC_CATEGORY_PE] = PASS_BASE,       [UTF8PROC_CATEGORY_PI] = PASS_BASE,
	[UTF8PROC_CATEGORY_PF] = PASS_BASE,       [UTF8PROC_CATEGORY_PO] = PASS_BASE,
	[UTF8PROC_CATEGORY_SM] = PASS_BASE,       [UTF8PROC_CATEGORY_SC] = PASS_BASE,
	[UTF8PROC_CATEGORY_SK] = PASS_BASE,       [UTF8PROC_CATEGORY_SO] = PASS_BASE,
};

/* Letters, marks and symbols by category that draw nothing. */
static bool is_blank_glyph(uint32_t cp)
{
	static const uint32_t blank[] = {
		0x2800,  /* braille pattern blank */
		0xfffc,  /* object replacement */
		0x13441, /* hieroglyph full blank */
		0x13442, /* hieroglyph half blank */
		0x16fe4, /* Khitan filler */
		0x1d159, /* musical null notehead */
	};

	for (size_t i = 0; i < ARRAY_LEN(blank); i++)
		if (cp == blank[i])
			return true;
	return false;
}

/* Vowels and final consonants that join the Hangul letter before them: letters by category, marks by behaviour. */
static bool is_joining_jamo(uint32_t cp)
{
	return (cp >= 0x1161 && cp <= 0x11ff) || (cp >= 0xd7b0 && cp <= 0xd7ff);
}

static enum verdict judge(const struct gate *g, uint32_t cp, int width)
{
	enum verdict v = by_category[utf8proc_category((utf8proc_int32_t)cp) & 31];

	if (v == SPELL || utf8_is_ignorable(cp) || is_blank_glyph(cp))
		return SPELL;
	if (v == PASS_MARK || is_joining_jamo(cp))
		return g->letter && g->marks < MARKS_MAX ? PASS_MARK : SPELL;
	/* Nothing that stands by itself may be invisible. */
	return width > 0 ? v : SPELL;
}

static void spell(uint32_t cp, struct unit *ret)
{
	static const struct {
		uint32_t cp;
		const char *name;
	} names[] = { { 0x1b, "ESC" }, { '\r', "CR" }, { '\n', "LF" }, { '\t', "TAB" } };
	int n = 0;

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (names[i].cp == cp)
			n = snprintf(ret->text, sizeof(ret->text), OPEN "%s" CLOSE, names[i].name);
	if (!n)
		n = snprintf(ret->text, sizeof(ret->text), OPEN "U+%04X" CLOSE, (unsigned)(cp & 0x1fffff));
	ret->len = (size_t)n;
	ret->columns = ret->len - strlen(OPEN CLOSE) + 2;
	ret->hidden = true;
}

/* Takes one character; g->at < g->end. */
static void next_unit(struct gate *g, struct unit *ret)
{
	uint32_t cp;
	size_t used = utf8_decode(g->at, (size_t)(g->end - g->at), &cp);
	enum verdict v = SPELL;
	int width = 0;

	*ret = (struct unit){ 0 };
	if (!used) {
		ret->len = ret->columns =
			(size_t)snprintf(ret->text, sizeof(ret->text), "\\x%02x", (unsigned)(unsigned char)*g->at);
		ret->hidden = true;
		used = 1;
	} else if (cp == ' ' || (g->mode == SAFE_BLOCK && (cp == '\n' || cp == '\t'))) {
		ret->text[0] = (char)cp;
		ret->len = 1;
		ret->columns = cp == ' '; /* of newline and tab: see advance() */
	} else {
		width = is_joining_jamo(cp) ? 0 : utf8proc_charwidth((utf8proc_int32_t)cp);
		v = judge(g, cp, width);
		if (v == SPELL) {
			spell(cp, ret);
		} else {
			memcpy(ret->text, g->at, used);
			ret->len = used;
			ret->columns = width > 0 ? (size_t)width : 0;
		}
	}
	g->at += used;
	g->marks = v == PASS_MARK ? g->marks + 1 : 0;
	g->letter = v == PASS_LETTER || v == PASS_MARK;
}

static size_t advance(size_t column, const struct unit *u)
{
	if (u->text[0] == '\n')
		return 0;
	if (u->text[0] == '\t')
		return column + TAB_STOP - column % TAB_STOP;
	return column + u->columns;
}

void safe_text(const char *text, size_t len, enum safe_mode mode, struct buf *out, struct safe_stat *ret_stat)
{
	struct gate g = { .at = text, .end = text + len, .mode = mode };
	struct safe_stat stat = { 0 };

	while (g.at < g.end && !out->failed) {
		const char *run = g.at;

		/* Most text is ASCII and goes out in one piece, but for its last byte: next_unit knows letters. */
		while (g.end - g.at > 1 && g.at[0] >= 0x20 && g.at[0] <= 0x7e && g.at[1] >= 0x20 && g.at[1] <= 0x7e)
			g.at++;
		if (g.at > run) {
			buf_add(out, run, (size_t)(g.at - run));
			stat.columns += (size_t)(g.at - run);
		}

		struct unit u;
		next_unit(&g, &u);
		buf_add(out, u.text, u.len);
		stat.hidden += u.hidden;
		stat.columns = advance(stat.columns, &u);
	}
	if (ret_stat)
		*ret_stat = stat;
}

/* Skips spaces, tabs and line ends (a lone CR is no line end: it rewrites the line).  True when there were any. */
static bool skip_blanks(struct gate *g)
{
	const char *start = g->at;

	while (g->at < g->end) {
		if (*g->at == '\r' && g->end - g->at > 1 && g->at[1] == '\n')
			g->at++;
		else if (*g->at != ' ' && *g->at != '\t' && *g->at != '\n')
			break;
		g->at++;
	}
	return g->at > start;
}

void safe_preview(const char *text, size_t len, size_t columns, struct buf *out)
{
	static const struct unit space = { .text = " ", .len = 1, .columns = 1 };
	struct gate g = { .at = text, .end = text + len, .mode = SAFE_LINE };
	size_t used = 0;
	size_t cut = out->len; /* so much still leaves room for the ellipsis */

	skip_blanks(&g);
	while (g.at < g.end && !out->failed) {
		struct unit u = space;

		if (!skip_blanks(&g))
			next_unit(&g, &u);
		else if (g.at == g.end)
			break;
		else
			g.letter = false;
		if (used + u.columns > columns) {
			out->len = cut;
			if (out->data)
				out->data[cut] = '\0';
			if (columns)
				buf_adds(out, ELLIPSIS);
			return;
		}
		buf_add(out, u.text, u.len);
		used += u.columns;
		if (used < columns)
			cut = out->len;
	}
}

char *safe_dup(const char *text)
{
	size_t len = strlen(text), max;

	if (__builtin_mul_overflow(len, GROWTH_MAX, &max))
		return NULL;

	_cleanup_buf_ struct buf out = BUF_INIT(max);
	safe_text(text, len, SAFE_LINE, &out, NULL);
	return out.failed ? NULL : buf_steal(&out);
}
