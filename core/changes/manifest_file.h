/*
 * manifest_file: a manifest as the file sessions/ID/manifest, so that whoever shows or applies it reads exactly what
 * was snapshot.  It never looks at a file of the workspace.
 *
 * One line a change and a line a folder, fields apart by one blank, texts in hex ("-": empty), the digest last:
 *   c PATH OP STATUS WHY NOTE LATER  MODE SIZE DIGEST (old)  MODE SIZE DIGEST (new)  INODE CTIME
 *   f PATH GONE MODE INODE
 *   d WITHHELD DIGEST
 */
#ifndef WARDER_CHANGES_MANIFEST_FILE_H
#define WARDER_CHANGES_MANIFEST_FILE_H

#include "core/base/buf.h"
#include "core/base/err.h"
#include "jail/layer.h"

void manifest_write(const struct manifest *m, struct buf *out);
/* E_CORRUPT when a line is not as above, or when the digest computed over what was read is not the one that stands
 * there. */
int manifest_read(const char *text, size_t len, struct manifest *ret, struct err *err) WARN_UNUSED;

#endif
