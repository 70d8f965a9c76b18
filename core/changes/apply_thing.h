/*
 * apply_thing: a file, a symlink or a whole folder as a list of members: built, compared and removed by descriptor
 * below one folder of the real tree.  It follows no symlink, removes nothing that is not listed, and never decides
 * what should be done.
 */
#ifndef WARDER_CHANGES_APPLY_THING_H
#define WARDER_CHANGES_APPLY_THING_H

#include "core/changes/apply_plan.h"

/* Where things are made. */
struct site {
	int real_fd; /* the workspace */
	int content_fd;
	uid_t uid; /* of the workspace: new things are theirs */
	gid_t gid;
	bool root;      /* we may give files away */
	bool sync_each; /* fsync each file and folder; else the caller syncs the file system */
};

/* Builds members[0..n) at `name` in `dirfd`, where nothing is.  `like`: an open file whose owner, group and extended
 * attributes a single file takes over, or -1. */
int thing_build(const struct site *s, int dirfd, const char *name, const struct member *m, size_t n, int like,
		struct err *err) WARN_UNUSED;

enum thing_check {
	THING_NEW,      /* type and content */
	THING_OLD,      /* inode number and permissions as well */
	THING_OLD_REST, /* as THING_OLD, and some may be gone already */
};
/* True when what stands at `name` is exactly the members.  An error of reading counts as different. */
bool thing_matches(int dirfd, const char *name, const struct member *m, size_t n, enum thing_check check);

/* Removes the members, deepest first; what is gone already is no error.  E_CONFLICT when a folder holds something else:
 * that and the folders around it stay. */
int thing_remove(int dirfd, const char *name, const struct member *m, size_t n, struct err *err) WARN_UNUSED;

#endif
