/*
 * diff: a manifest as a git-format unified diff.  It reads the content store and the old sides that the snapshot kept,
 * never the live upper or the real tree.
 */
#ifndef WARDER_CHANGES_DIFF_H
#define WARDER_CHANGES_DIFF_H

#include "core/base/buf.h"
#include "core/base/err.h"
#include "jail/layer.h"

/* Git's format: `diff --git a/P b/P`, `new file mode`, `deleted file mode`, `old mode`/`new mode`, symlinks 120000, `Binary
 * files ... differ`, C-quoted names, `\ No newline at end of file`.  Written through `write` in pieces. Only changes
 * with status ok, conflict or ignored are shown. */
int diff_write(const struct layer *l, const struct manifest *m, int (*write)(const char *data, size_t len, void *arg),
	       void *arg, struct err *err) WARN_UNUSED;

/* Lines added and removed, for summaries. */
int diff_count(const struct layer *l, const struct change *c, size_t *ret_added, size_t *ret_removed, struct err *err) WARN_UNUSED;

#endif
