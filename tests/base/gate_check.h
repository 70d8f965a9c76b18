/*
 * gate_check: what the output of the display gate must be, said independently of how the gate decides.  Shared by its
 * test and its fuzz target.
 */
#ifndef WARDER_TESTS_GATE_CHECK_H
#define WARDER_TESTS_GATE_CHECK_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/base/safe_text.h"
#include "core/base/utf8.h"

/* NULL, or what is wrong with it. */
static inline const char *gate_check(const char *text, size_t len, bool block)
{
	for (size_t i = 0; i < len;) {
		uint32_t cp;
		size_t n = utf8_decode(text + i, len - i, &cp);

		if (!n)
			return "bytes that are not UTF-8";
		if (cp < 0x20 && !(block && (cp == '\n' || cp == '\t')))
			return "a control byte of C0";
		if (cp >= 0x7f && cp <= 0x9f)
			return "DEL or a control character of C1";
		if ((cp >= 0x200b && cp <= 0x200f) || (cp >= 0x2028 && cp <= 0x202e) || (cp >= 0x2060 && cp <= 0x206f))
			return "a bidi, zero-width or separator character";
		if (cp == 0xad || cp == 0x61c || cp == 0xfeff || cp == 0x180e || cp == 0xfff9 || cp == 0xfffa ||
		    cp == 0xfffb)
			return "a format character";
		if (cp == 0xa0 || cp == 0x1680 || (cp >= 0x2000 && cp <= 0x200a) || cp == 0x202f || cp == 0x205f ||
		    cp == 0x3000 || cp == 0x2800)
			return "a blank that is not U+0020";
		if (cp == 0x115f || cp == 0x1160 || cp == 0x3164 || cp == 0xffa0)
			return "a filler";
		if ((cp >= 0xfe00 && cp <= 0xfe0f) || (cp >= 0xe0000 && cp <= 0xe0fff))
			return "a variation selector or tag";
		if ((cp >= 0xe000 && cp <= 0xf8ff) || cp >= 0xf0000 || (cp & 0xfffe) == 0xfffe)
			return "a private or non-character";
		i += n;
	}
	return NULL;
}

#endif
