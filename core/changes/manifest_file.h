/*
 * manifest_file: a manifest as text: the file sessions/ID/manifest, the list in changes.staged, and the lines of
 * `changes --json`.  It never looks at a file of the workspace.
 */
#ifndef WARDER_CHANGES_MANIFEST_FILE_H
#define WARDER_CHANGES_MANIFEST_FILE_H

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/json.h"
#include "jail/layer.h"

/* JSON lines, one a change, everything that apply and diff need. */
void manifest_write(const struct manifest *m, struct buf *out);
/* The reverse.  The digest is computed again from what was read, so a manifest altered on disk is another manifest. */
int manifest_read(const char *text, size_t len, struct manifest *ret, struct err *err) WARN_UNUSED;

#define MANIFEST_LIST_MAX 1000 /* changes named in one event; the digest covers all of them */
/* Array of {"op","path","old","new","mode","status"}. */
json_node *manifest_list(const struct manifest *m);

/* One line of `changes --json` (CONTRACTS): old and new are hex digests or null; without a newline. */
json_node *manifest_entry(const struct change *c);
/* A path as a JSON string, or {"$b64":...} when it is not UTF-8. */
json_node *manifest_path(const char *path);

#endif
