/*
 * layer_node: what one entry of a folder is, by statx, and which marks its extended attributes make on it.  It opens
 * nothing and follows nothing.
 */
#ifndef WARDER_JAIL_LAYER_NODE_H
#define WARDER_JAIL_LAYER_NODE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/macro.h"

struct layer_node {
	mode_t mode; /* 0: absent */
	uid_t uid;
	gid_t gid;
	uint32_t nlink;
	uint64_t dev, rdev, ino, size;
	int64_t ctime_ns, mtime_ns;
	int64_t btime_ns; /* 0: the file system does not tell */
	bool mount_root;  /* another file system begins here */
};

/* Absent is no error.  0, or a negative errno. */
int layer_node_at(int dirfd, const char *name, struct layer_node *ret) WARN_UNUSED;
int layer_node_fd(int fd, struct layer_node *ret) WARN_UNUSED;

/* The kernel's form of "deleted": a character device 0:0. */
bool layer_node_is_whiteout(const struct layer_node *node);

/* "a FIFO", "a socket", ... for what is neither file, folder nor symlink. */
const char *layer_node_kind(const struct layer_node *node);

struct layer_marks {
	bool opaque;     /* of a folder: what lies below it in the real tree is gone */
	bool copied_up;  /* it began as an entry of the real tree */
	const char *bad; /* why it must be refused, or NULL */
};
/* 0, or a negative errno. */
int layer_marks_fd(int fd, struct layer_marks *ret) WARN_UNUSED;

#endif
