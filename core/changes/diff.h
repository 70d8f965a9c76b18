/*
 * diff: a manifest as a git-format unified diff.  It reads the content store and the old sides that the snapshot kept,
 * never the live upper or the real tree.
 */
#ifndef WARDER_CHANGES_DIFF_H
#define WARDER_CHANGES_DIFF_H

#include "core/base/buf.h"
#include "core/base/err.h"
#include "jail/layer.h"

#define DIFF_TEXT_MAX (10u << 20)    /* bytes of one side that are compared line by line; beyond, all is replaced */
#define DIFF_BINARY_MIN (512u << 20) /* bytes of one side from which a file counts as binary, as for git */

/* Git's format: `diff --git a/P b/P`, `new file mode`, `deleted file mode`, `old mode`/`new mode`, symlinks 120000,
 * `Binary files ... differ`, C-quoted names, `\ No newline at end of file`; a changed type is a deletion and an
 * addition; no `index` lines. Written through `write` in pieces (0, or negative: stop with E_IO). Only changes with
 * status ok, conflict or ignored are shown; folders are not, as Git does not know them. */
int diff_write(const struct layer *l, const struct manifest *m, int (*write)(const char *data, size_t len, void *arg),
	       void *arg, struct err *err) WARN_UNUSED;

/* Lines added and removed, for summaries; both 0 for binary files. */
int diff_count(const struct layer *l, const struct change *c, size_t *ret_added, size_t *ret_removed,
	       struct err *err) WARN_UNUSED;

/* A name as Git prints it: in double quotes with C escapes when it holds a control byte, a quote, a backslash or a byte
 * from 0x80. */
void diff_quote(const char *prefix, const char *path, struct buf *out);

#endif
