/*
 * hand_file: the tools that read and change files: `read`, `write`, `edit`.  They see the file system as the cell
 * shows it, which is the boundary; here is only what keeps a mistake from costing anything: regular files only (a
 * FIFO or a device never blocks), bounded sizes, and a file is replaced whole or not at all.
 *
 * Relative paths count from the workspace, the process's own working folder, which never changes; the folder that
 * `bash` has moved to is bash's alone, so that a path means the same in every call.
 */
#ifndef WARDER_JAIL_HAND_FILE_H
#define WARDER_JAIL_HAND_FILE_H

#include <sys/stat.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/json.h"

/* Tools; `args` have passed hand_tool_check. */
int hand_file_read(const json_node *args, struct buf *text, struct err *err) WARN_UNUSED;
int hand_file_write(const json_node *args, struct buf *text, struct err *err) WARN_UNUSED;
int hand_file_edit(const json_node *args, struct buf *text, struct err *err) WARN_UNUSED;

/* E_INVALID for what is no regular file. */
int hand_file_open(const char *path, int *ret_fd, struct stat *ret_st, struct err *err) WARN_UNUSED;

/* Replaces a file by rename of a new one beside it, with the permission bits of the old one.  A symbolic link
 * stays: the file that it leads to is replaced.  *ret_old_size is -1 when there was none. */
int hand_file_replace(const char *path, const void *data, size_t len, int64_t *ret_old_size,
		      struct err *err) WARN_UNUSED;

#endif
