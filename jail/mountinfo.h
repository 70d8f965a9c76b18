/*
 * mountinfo: the lines of a /proc/PID/mountinfo, one after the other.  It reads; what they mean is the caller's.
 */
#ifndef WARDER_JAIL_MOUNTINFO_H
#define WARDER_JAIL_MOUNTINFO_H

#include <stdbool.h>

#include "core/base/buf.h"
#include "core/base/err.h"

struct mountinfo {
	struct buf text;
	char *rest;
};

/* Fields of proc_pid_mountinfo(5), escapes undone; into the text, until mountinfo_free. */
struct mountinfo_line {
	char *root, *point, *options, *type, *super_options;
};

/* `path` below `dirfd`, or absolute with AT_FDCWD. */
int mountinfo_open(struct mountinfo *m, int dirfd, const char *path, struct err *err) WARN_UNUSED;
/* 1 and the next line, 0 at the end, E_INVALID. */
int mountinfo_next(struct mountinfo *m, struct mountinfo_line *ret, struct err *err) WARN_UNUSED;
void mountinfo_free(struct mountinfo *m);
#define _cleanup_mountinfo_ _cleanup_(mountinfo_free)

#endif
