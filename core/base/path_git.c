/*
 * Which names some file system takes for ".git".  git's own rules (is_hfs_dotgit, is_ntfs_dotgit; CVE-2014-9390,
 * CVE-2019-1352), made stricter where that costs nothing: every default-ignorable code point is skipped, because ext4
 * and f2fs folders with casefold skip them all, and NTFS short names count with any number.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/base/path.h"
#include "core/base/utf8.h"

/* Default_Ignorable_Code_Point of Unicode 15; holds all that HFS+ ignores (U+200C..200F, 202A..202E, 206A..206F, FEFF). */
static const struct {
	uint32_t first, last;
} ignorable[] = {
	{ 0xad, 0xad },     { 0x34f, 0x34f },   { 0x61c, 0x61c },     { 0x115f, 0x1160 },   { 0x17b4, 0x17b5 },
	{ 0x180b, 0x180f }, { 0x200b, 0x200f }, { 0x202a, 0x202e },   { 0x2060, 0x206f },   { 0x3164, 0x3164 },
	{ 0xfe00, 0xfe0f }, { 0xfeff, 0xfeff }, { 0xffa0, 0xffa0 },   { 0xfff0, 0xfff8 },   { 0x1bca0, 0x1bca3 },
	{ 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
};

static bool is_ignorable(uint32_t cp)
{
	for (size_t i = 0; i < ARRAY_LEN(ignorable); i++)
		if (cp >= ignorable[i].first && cp <= ignorable[i].last)
			return true;
	return false;
}

struct name {
	const char *at;
	size_t len;
};

/* The next character that counts, ASCII in lower case; 0 at the end. */
static uint32_t next_folded(struct name *n)
{
	while (n->len) {
		uint32_t cp;
		size_t used = utf8_decode(n->at, n->len, &cp);

		if (!used) {
			cp = 0xfffd; /* bytes that are not UTF-8 match nothing */
			used = 1;
		}
		n->at += used;
		n->len -= used;
		if (cp >= 'A' && cp <= 'Z')
			return cp + ('a' - 'A');
		if (!is_ignorable(cp))
			return cp ? cp : 0xfffd;
	}
	return 0;
}

static bool skip_word(struct name *n, const char *word)
{
	struct name ahead = *n;

	for (; *word; word++)
		if (next_folded(&ahead) != (uint32_t)*word)
			return false;
	*n = ahead;
	return true;
}

/* What stands between backslashes, which NTFS takes for separators. */
static bool piece_is_git(struct name n)
{
	uint32_t c;

	if (skip_word(&n, ".git")) {
		c = next_folded(&n);
	} else if (skip_word(&n, "git~")) {
		c = next_folded(&n);
		if (c < '0' || c > '9')
			return false;
		while (c >= '0' && c <= '9')
			c = next_folded(&n);
	} else {
		return false;
	}
	/* NTFS drops trailing dots and spaces; after a colon comes the name of a stream of the same file. */
	while (c == '.' || c == ' ')
		c = next_folded(&n);
	return c == 0 || c == ':';
}

bool path_component_is_git(const char *name, size_t len)
{
	for (;;) {
		const char *cut = memchr(name, '\\', len);
		size_t piece = cut ? (size_t)(cut - name) : len;

		if (piece_is_git((struct name){ name, piece }))
			return true;
		if (!cut)
			return false;
		name += piece + 1;
		len -= piece + 1;
	}
}

bool path_has_git(const char *path)
{
	for (;;) {
		size_t len = strcspn(path, "/");

		if (path_component_is_git(path, len))
			return true;
		if (!path[len])
			return false;
		path += len + 1;
	}
}
