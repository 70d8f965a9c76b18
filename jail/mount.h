/*
 * mount: the few mount operations that a cell is built from, by descriptor.  A source is opened without following
 * symbolic links; a target is made component by component below a descriptor and never looked up twice.
 */
#ifndef WARDER_JAIL_MOUNT_H
#define WARDER_JAIL_MOUNT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/mount.h>

#include "core/base/err.h"

#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif

#define MOUNT_READ_ONLY (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define MOUNT_WRITABLE (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

/* The folder `path` (absolute as the cell sees it) below `root`, made with what is missing above it. */
int mount_make_folder(int root, const char *path, int *ret_fd, struct err *err) WARN_UNUSED;
/* Likewise for an empty file. */
int mount_make_file(int root, const char *path, int *ret_fd, struct err *err) WARN_UNUSED;

/* A detached copy of the mount at `fd` with `attr` set; with `recursive` what is mounted below it comes too. */
int mount_clone(int fd, bool recursive, uint64_t attr, int *ret_fd, struct err *err) WARN_UNUSED;

/* Attaches a detached mount. */
int mount_attach(int mount, int target, struct err *err) WARN_UNUSED;

/* Opens an absolute path without symbolic links (O_PATH); *ret_folder tells what it is. */
int mount_open_source(const char *path, int *ret_fd, bool *ret_folder, struct err *err) WARN_UNUSED;

/* Clones `source` and attaches it at `path` below `root`. */
int mount_bind(int root, int source, bool folder, const char *path, uint64_t attr, struct err *err) WARN_UNUSED;

#endif
