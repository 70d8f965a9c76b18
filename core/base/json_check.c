/*
 * The validator: what the grammar of RFC 8259 and the stricter choices of json.h admit, and nothing else.  One pass,
 * no copy of the text; recursion is bounded by JSON_DEPTH_MAX.
 *
 * Duplicate keys: while an object is open its keys lie on a stack of slices into the text; at its end they are sorted
 * (by what they say after unescaping) and neighbours compared.  A hash would be quadratic for who can choose keys.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/utf8.h"

#define INTEGER_MAX (UINT64_C(1) << 53)

/* A key between its quotes. */
struct slice {
	const char *at;
	const char *end;
};

struct check {
	const char *start;
	const char *p;
	const char *end;
	int depth;
	struct slice *keys;
	size_t nkeys;
	size_t cap;
	const char *why; /* set by the first failure */
	int code;
};

static bool fail(struct check *c, const char *at, const char *why)
{
	c->p = at;
	c->why = why;
	c->code = E_INVALID;
	return false;
}

static void skip_space(struct check *c)
{
	while (c->p < c->end && (*c->p == ' ' || *c->p == '\t' || *c->p == '\n' || *c->p == '\r'))
		c->p++;
}

static bool is_digit(const struct check *c)
{
	return c->p < c->end && *c->p >= '0' && *c->p <= '9';
}

/* Four hex digits at `s`, or -1. */
static long hex4(const char *s, const char *end)
{
	long value = 0;

	if (end - s < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		char ch = s[i];

		value <<= 4;
		if (ch >= '0' && ch <= '9')
			value |= ch - '0';
		else if (ch >= 'a' && ch <= 'f')
			value |= ch - 'a' + 10;
		else if (ch >= 'A' && ch <= 'F')
			value |= ch - 'A' + 10;
		else
			return -1;
	}
	return value;
}

/* c->p stands on the backslash. */
static bool check_escape(struct check *c)
{
	const char *at = c->p;

	if (c->end - at < 2)
		return fail(c, c->end, "unfinished string");
	if (at[1] != 'u') {
		if (!memchr("\"\\/bfnrt", at[1], 8))
			return fail(c, at, "unknown escape");
		c->p += 2;
		return true;
	}

	long unit = hex4(at + 2, c->end);
	if (unit < 0)
		return fail(c, at, "\\u without four hex digits");
	if (unit == 0)
		return fail(c, at, "NUL character in a string");
	c->p += 6;
	if (unit < 0xd800 || unit > 0xdfff)
		return true;

	bool paired = unit <= 0xdbff && c->end - c->p >= 6 && c->p[0] == '\\' && c->p[1] == 'u';
	long low = paired ? hex4(c->p + 2, c->end) : -1;
	if (low < 0xdc00 || low > 0xdfff)
		return fail(c, at, "lone surrogate");
	c->p += 6;
	return true;
}

static bool check_string(struct check *c, struct slice *ret)
{
	uint32_t cp;

	if (c->p >= c->end || *c->p != '"')
		return fail(c, c->p, "a string was expected");
	ret->at = ++c->p;
	while (c->p < c->end && *c->p != '"') {
		unsigned char ch = (unsigned char)*c->p;

		if (ch == '\\') {
			if (!check_escape(c))
				return false;
		} else if (ch < 0x20) {
			return fail(c, c->p, "control byte in a string");
		} else if (ch < 0x80) {
			c->p++;
		} else {
			size_t n = utf8_decode(c->p, (size_t)(c->end - c->p), &cp);

			if (!n)
				return fail(c, c->p, "bytes that are not UTF-8");
			c->p += n;
		}
	}
	if (c->p >= c->end)
		return fail(c, c->end, "unfinished string");
	ret->end = c->p++;
	return true;
}

/*
 * Whether the number is finite as a double.  strtod's decimal point is the locale's, so the digits go in without one:
 * 12.5e3 is read as 125e2.  The caller has checked the form and the length.
 */
static bool is_finite(const char *at, const char *end)
{
	char digits[JSON_NUMBER_MAX + 32];
	size_t n = 0;
	long fraction = 0, exponent = 0;
	bool dot = false, minus = false;

	for (; at < end && *at != 'e' && *at != 'E'; at++) {
		if (*at == '.') {
			dot = true;
			continue;
		}
		digits[n++] = *at;
		fraction += dot;
	}
	for (; at < end; at++) {
		if (*at == '-')
			minus = true;
		else if (*at >= '0' && *at <= '9' && exponent < 100000)
			exponent = exponent * 10 + (*at - '0');
	}
	snprintf(digits + n, sizeof(digits) - n, "e%ld", (minus ? -exponent : exponent) - fraction);
	return isfinite(strtod(digits, NULL));
}

static bool check_number(struct check *c)
{
	const char *at = c->p;
	uint64_t integer = 0;
	bool whole = true;

	if (*c->p == '-')
		c->p++;
	if (!is_digit(c))
		return fail(c, c->p, "a digit was expected");
	if (*c->p == '0') {
		c->p++;
		if (is_digit(c))
			return fail(c, c->p, "number with a leading zero");
	}
	for (; is_digit(c); c->p++)
		if (integer <= INTEGER_MAX)
			integer = integer * 10 + (uint64_t)(*c->p - '0');
	if (c->p < c->end && *c->p == '.') {
		whole = false;
		c->p++;
		if (!is_digit(c))
			return fail(c, c->p, "a digit was expected");
		while (is_digit(c))
			c->p++;
	}
	if (c->p < c->end && (*c->p == 'e' || *c->p == 'E')) {
		whole = false;
		c->p++;
		if (c->p < c->end && (*c->p == '+' || *c->p == '-'))
			c->p++;
		if (!is_digit(c))
			return fail(c, c->p, "a digit was expected");
		while (is_digit(c))
			c->p++;
	}
	if (whole && integer > INTEGER_MAX)
		return fail(c, at, "integer above 2^53");
	if (c->p - at > JSON_NUMBER_MAX)
		return fail(c, at, "number longer than 63 characters");
	if (!whole && !is_finite(at, c->p))
		return fail(c, at, "number too large");
	return true;
}

static bool check_word(struct check *c, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(c->end - c->p) < len || memcmp(c->p, word, len) != 0)
		return fail(c, c->p, "not a JSON value");
	c->p += len;
	return true;
}

/* The next character of a key that was found valid, escapes undone; -1 at its end. */
static long next_char(struct slice *s)
{
	static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
	uint32_t cp = 0;

	if (s->at == s->end)
		return -1;
	if (*s->at != '\\') {
		s->at += utf8_decode(s->at, (size_t)(s->end - s->at), &cp);
		return (long)cp;
	}
	if (s->at[1] != 'u') {
		const char *name = memchr(names, s->at[1], 8);

		s->at += 2;
		return name ? values[name - names] : 0;
	}

	long unit = hex4(s->at + 2, s->end);
	s->at += 6;
	if (unit >= 0xd800 && unit <= 0xdbff) {
		unit = 0x10000 + ((unit - 0xd800) << 10) + (hex4(s->at + 2, s->end) - 0xdc00);
		s->at += 6;
	}
	return unit;
}

static int compare_text(const struct slice *a, const struct slice *b)
{
	struct slice x = *a, y = *b;
	long cx, cy;

	do {
		cx = next_char(&x);
		cy = next_char(&y);
	} while (cx == cy && cx >= 0);
	return (cx > cy) - (cx < cy);
}

/* By text, then by place, so that of equal keys the later one is to blame. */
static int compare_keys(const void *a, const void *b)
{
	const struct slice *x = a, *y = b;
	int by_text = compare_text(x, y);

	return by_text ? by_text : (x->at > y->at) - (x->at < y->at);
}

static bool check_unique(struct check *c, size_t first)
{
	const struct slice *keys = c->keys;
	const char *blame = NULL;

	if (c->nkeys - first > 1) {
		qsort(c->keys + first, c->nkeys - first, sizeof(*c->keys), compare_keys);
		for (size_t i = first + 1; i < c->nkeys; i++)
			if (!compare_text(&keys[i - 1], &keys[i]) && (!blame || keys[i].at < blame))
				blame = keys[i].at;
	}
	c->nkeys = first;
	return blame ? fail(c, blame - 1, "duplicate key") : true;
}

static bool push_key(struct check *c, const struct slice *key)
{
	if (c->nkeys == c->cap) {
		size_t cap = c->cap ? c->cap * 2 : 32;
		struct slice *keys = reallocarray(c->keys, cap, sizeof(*keys));

		if (!keys) {
			fail(c, key->at, "out of memory");
			c->code = E_NOMEM;
			return false;
		}
		c->keys = keys;
		c->cap = cap;
	}
	c->keys[c->nkeys++] = *key;
	return true;
}

static bool check_value(struct check *c);

static bool check_member(struct check *c)
{
	struct slice key;

	if (!check_string(c, &key) || !push_key(c, &key))
		return false;
	skip_space(c);
	if (c->p >= c->end || *c->p != ':')
		return fail(c, c->p, "':' was expected");
	c->p++;
	skip_space(c);
	return check_value(c);
}

/* An object or an array; c->p stands on its bracket. */
static bool check_container(struct check *c)
{
	bool object = *c->p == '{';
	char close = object ? '}' : ']';
	size_t first = c->nkeys;

	if (c->depth == JSON_DEPTH_MAX)
		return fail(c, c->p, "nested too deeply");
	c->depth++;
	c->p++;
	skip_space(c);
	if (c->p < c->end && *c->p == close) {
		c->p++;
		c->depth--;
		return true;
	}
	for (;;) {
		if (!(object ? check_member(c) : check_value(c)))
			return false;
		skip_space(c);
		if (c->p >= c->end)
			return fail(c, c->end, object ? "unfinished object" : "unfinished array");
		if (*c->p == close)
			break;
		if (*c->p != ',')
			return fail(c, c->p, object ? "',' or '}' was expected" : "',' or ']' was expected");
		c->p++;
		skip_space(c);
	}
	c->p++;
	c->depth--;
	return !object || check_unique(c, first);
}

static bool check_value(struct check *c)
{
	struct slice string;

	if (c->p >= c->end)
		return fail(c, c->end, "a value was expected");
	switch (*c->p) {
	case '{':
	case '[':
		return check_container(c);
	case '"':
		return check_string(c, &string);
	case 't':
		return check_word(c, "true");
	case 'f':
		return check_word(c, "false");
	case 'n':
		return check_word(c, "null");
	case '-':
	case '0' ... '9':
		return check_number(c);
	default:
		return fail(c, c->p, "not a JSON value");
	}
}

int json_validate(const char *text, size_t len, size_t *ret_offset, struct err *err)
{
	struct check c = { .start = text, .p = text, .end = text + len };

	skip_space(&c);
	if (check_value(&c)) {
		skip_space(&c);
		if (c.p < c.end)
			fail(&c, c.p, "text after the value");
	}
	free(c.keys);
	if (!c.why)
		return 0;
	if (ret_offset)
		*ret_offset = (size_t)(c.p - c.start);
	return err_set(err, c.code, "JSON: %s at byte %zu", c.why, (size_t)(c.p - c.start));
}
