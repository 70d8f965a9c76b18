/*
 * utf8: one strict decoder (RFC 3629) that JSON, the display gate and path comparison share.  Of the properties
 * of characters it knows one, for those that must not link a table of them all.
 */
#ifndef WARDER_BASE_UTF8_H
#define WARDER_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the character at `text` (1..4) with its code point in *ret; 0 when they are none: stray continuation,
 * overlong form, surrogate, above U+10FFFF, cut short by `len`. */
size_t utf8_decode(const char *text, size_t len, uint32_t *ret);
/* Writes a code point that is a Unicode scalar value; returns the bytes used. */
size_t utf8_encode(uint32_t cp, char ret[4]);
/* Default_Ignorable_Code_Point: what a renderer, or a file system that folds case, may pass over. */
bool utf8_is_ignorable(uint32_t cp);

#endif
