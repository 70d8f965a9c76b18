/*
 * safe_text: the display gate.  Every byte that did not come from our own source passes here before a terminal, a
 * title, a preview or an export sees it.  It never writes to a terminal itself.
 *
 * An allow-list, not wcwidth: `wcwidth` is 0 ("valid, invisible") for RLO, LRI, ZWSP, tag characters and BOM (see
 * also CVE-2021-42574).  What passes as it is: printable ASCII, and letters, digits, punctuation and symbols by
 * utf8proc category; and up to four marks on a letter.  All of Cc, Cf, Zl, Zp, Co, Cs, Cn, every default-ignorable,
 * fillers (U+115F, U+1160, U+3164, U+FFA0), spaces other than U+0020, braille blank U+2800 and other glyphs that draw
 * nothing, variation selectors, and marks without a letter are spelled out as U+XXXX in angle brackets U+27E8/U+27E9;
 * ESC, CR, LF and TAB by these words in the same brackets; bytes that are not UTF-8 as \xNN.
 *
 * The spelled form is itself plain text: passing it again changes nothing.
 */
#ifndef WARDER_BASE_SAFE_TEXT_H
#define WARDER_BASE_SAFE_TEXT_H

#include <stddef.h>

#include "core/base/buf.h"

enum safe_mode {
	SAFE_LINE,  /* one line: newline and tab are spelled out too */
	SAFE_BLOCK, /* newline and tab pass */
};

struct safe_stat {
	size_t hidden;  /* characters and bytes that had to be spelled out */
	size_t columns; /* of the last line, East Asian wide = 2 */
};

/* Appends the safe form of `len` bytes to `out`.  `ret_stat` may be NULL. */
void safe_text(const char *text, size_t len, enum safe_mode mode, struct buf *out, struct safe_stat *ret_stat);

/* For previews: one line of at most `columns` columns; what does not fit ends in U+2026.  Runs of spaces, tabs and line
 * ends fold to one space. */
void safe_preview(const char *text, size_t len, size_t columns, struct buf *out);

/* safe_text of a C string as one line into a fresh allocation; NULL when memory is short. */
char *safe_dup(const char *text) WARN_UNUSED;

#endif
