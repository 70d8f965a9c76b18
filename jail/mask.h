/*
 * mask: the layer that lies over the real tree in a cell and hides what the agent must not meet: every `.git` at any
 * depth (a folder, or the file of a worktree or submodule), every socket, FIFO and device.  The top `.git` gives way
 * to a repository of its own, empty.  It reads names of the real tree and never writes there.
 *
 * One walk of names: getdents, no stat where the file system tells types; symbolic links are not followed and a `.git`
 * is not entered.  What cannot be listed cannot be looked into by the agent either; a folder below
 * MASK_DEPTH_MAX is hidden as a whole.  Folders of the mask carry the mode and owner of the real ones, since
 * overlayfs shows those of the topmost layer.
 *
 * The mask is as of now: what appears in the real tree later is not hidden (a socket is dead all the same, since
 * overlayfs gives it another inode), except a .git at the top: its place is taken even when there is none.
 */
#ifndef WARDER_JAIL_MASK_H
#define WARDER_JAIL_MASK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"

#define MASK_DEPTH_MAX 200

struct mask_result {
	bool has_git;    /* the top of the tree has one */
	uint64_t seen;   /* entries */
	uint32_t hidden; /* entries, the top .git included */
};

/* `mask` is an empty folder, `lower` the real tree; both readable descriptors. */
int mask_build(int lower, int mask, struct mask_result *ret, struct err *err) WARN_UNUSED;

#endif
