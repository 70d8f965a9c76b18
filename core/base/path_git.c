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
		if (!utf8_is_ignorable(cp))
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
