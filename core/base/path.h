/*
 * path: files by descriptor.  It never follows a symbolic link below a directory that it was given, and never
 * resolves a path twice.  openat2 is Linux 5.6; without it everything here fails closed (E_MACHINE).
 */
#ifndef WARDER_BASE_PATH_H
#define WARDER_BASE_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/base/buf.h"
#include "core/base/err.h"

/* openat2 with RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS, O_CLOEXEC added.  Returns the fd, or -1
 * with errno. */
int path_open_beneath(int dirfd, const char *path, int flags, mode_t mode) WARN_UNUSED;

/* mkdir -p of an absolute path; every folder that is created is 0700 whatever the umask. */
int path_make_private(const char *path, struct err *err) WARN_UNUSED;
/* Opens a directory of ours and demands: a directory, owned by the caller, no permission for group and others. */
int path_open_private(const char *path, int *ret_fd, struct err *err) WARN_UNUSED;

/* AT_FDCWD as `dirfd`: `path` is the operator's own word and is opened as such, symbolic links included; with a real
 * descriptor, beneath it.  Appends to `out`; on failure `out` is as it was.
 * Whole regular file of at most `max` bytes (E_LIMIT beyond), never a FIFO or device (opened O_NONBLOCK, checked). */
int path_read_file(int dirfd, const char *path, size_t max, struct buf *out, struct err *err) WARN_UNUSED;
int path_read_fd(int fd, size_t max, struct buf *out, struct err *err) WARN_UNUSED;

/* Writes by temporary file, fsync, rename, fsync of the directory; mode 0600. */
int path_write_file(int dirfd, const char *name, const void *data, size_t len, struct err *err) WARN_UNUSED;

/* Writes all, over EINTR, short writes and a full non-blocking pipe.  0, or -1 with errno. */
int path_write_all(int fd, const void *data, size_t len) WARN_UNUSED;

/* Removes a tree (or a file) below dirfd by descriptor, with two folders open whatever the depth, never across a
 * symlink or a mount; folders without permission bits (the kernel leaves overlay's work/work so) are opened up first.
 * A missing name is no error. */
int path_remove_tree(int dirfd, const char *name, struct err *err) WARN_UNUSED;

/* True for a component that some file system takes for ".git": case, trailing dots and spaces, NTFS "git~1" and
 * "::$INDEX_ALLOCATION", a backslash as separator, ignorable code points of HFS+ and of folders that fold case. */
bool path_component_is_git(const char *name, size_t len);
/* Any component of a relative path is one. */
bool path_has_git(const char *path);

#endif
