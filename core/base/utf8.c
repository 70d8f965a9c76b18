#include "core/base/utf8.h"

#include "core/base/macro.h"

/* Unicode 15, DerivedCoreProperties. */
static const struct {
	uint32_t first, last;
} ignorable[] = {
	{ 0xad, 0xad },       { 0x34f, 0x34f },     { 0x61c, 0x61c },     { 0x115f, 0x1160 },   { 0x17b4, 0x17b5 },
	{ 0x180b, 0x180f },   { 0x200b, 0x200f },   { 0x202a, 0x202e },   { 0x2060, 0x206f },   { 0x3164, 0x3164 },
	{ 0xfe00, 0xfe0f },   { 0xfeff, 0xfeff },   { 0xffa0, 0xffa0 },   { 0xfff0, 0xfff8 },   { 0x1bca0, 0x1bca3 },
	{ 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
};

size_t utf8_decode(const char *text, size_t len, uint32_t *ret)
{
	static const uint32_t least[5] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *s = (const unsigned char *)text;
	size_t n;
	uint32_t cp;

	if (!len)
		return 0;
	if (s[0] < 0x80) {
		*ret = s[0];
		return 1;
	}
	if (s[0] >= 0xc2 && s[0] <= 0xdf) {
		n = 2;
		cp = s[0] & 0x1fu;
	} else if ((s[0] & 0xf0) == 0xe0) {
		n = 3;
		cp = s[0] & 0x0fu;
	} else if (s[0] >= 0xf0 && s[0] <= 0xf4) {
		n = 4;
		cp = s[0] & 0x07u;
	} else {
		return 0;
	}
	if (len < n)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		cp = cp << 6 | (s[i] & 0x3fu);
	}
	if (cp < least[n] || cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff))
		return 0;
	*ret = cp;
	return n;
}

size_t utf8_encode(uint32_t cp, char ret[4])
{
	if (cp < 0x80) {
		ret[0] = (char)cp;
		return 1;
	}
	if (cp < 0x800) {
		ret[0] = (char)(0xc0 | cp >> 6);
		ret[1] = (char)(0x80 | (cp & 0x3f));
		return 2;
	}
	if (cp < 0x10000) {
		ret[0] = (char)(0xe0 | cp >> 12);
		ret[1] = (char)(0x80 | (cp >> 6 & 0x3f));
		ret[2] = (char)(0x80 | (cp & 0x3f));
		return 3;
	}
	ret[0] = (char)(0xf0 | cp >> 18);
	ret[1] = (char)(0x80 | (cp >> 12 & 0x3f));
	ret[2] = (char)(0x80 | (cp >> 6 & 0x3f));
	ret[3] = (char)(0x80 | (cp & 0x3f));
	return 4;
}

bool utf8_is_ignorable(uint32_t cp)
{
	for (size_t i = 0; i < ARRAY_LEN(ignorable); i++)
		if (cp >= ignorable[i].first && cp <= ignorable[i].last)
			return true;
	return false;
}
