/*
 * idmap: the ids of a cell that root started.  The cell's 65536 ids are a range of the host that nobody uses; its
 * agent (id 1000 in the cell) stands for the owner of the workspace.  It never maps the host's root to an id of a
 * cell's root, and it keeps no file system of the host writable by one.
 *
 * Three numberings of one file's owner, for a cell with `base` and a workspace whose owner on disk is `owner`:
 *
 *   on disk (real tree)     in the cell        in the staged layer on disk (the host's number)
 *   owner                   1000               base + 1000
 *   1000 (if not owner)     owner              base + owner
 *   any other below 65536   the same           base + the same
 *   65536 and above         65534, "nobody": readable as others, no copy-up (EOVERFLOW)
 *
 * The real tree is seen through an id-mapped mount; the staged layer is not, so what the cell writes lies on disk with
 * ids of the range, which own nothing else.
 */
#ifndef WARDER_JAIL_IDMAP_H
#define WARDER_JAIL_IDMAP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/err.h"

#define IDMAP_COUNT 65536
#define IDMAP_AGENT 1000

/* The id on the real tree's disk for an id of the staged layer's; -1 when it is not of the range. */
int64_t idmap_real_id(int64_t base, int64_t owner, int64_t id);

/* A user namespace whose only use is to be the map of a mount: shows `uid` and `gid` as the agent's. */
int idmap_open(int64_t base, uid_t uid, gid_t gid, int *ret_userns, struct err *err) WARN_UNUSED;

/* A detached copy of the mount at `fd`, seen through the map (-1: as it is). */
int idmap_mount(int fd, int userns, bool writable, int *ret_mount, struct err *err) WARN_UNUSED;

/* Writes the maps of a new process's user namespace: all of the range, groups of its own allowed. */
int idmap_write(pid_t pid, int64_t base, struct err *err) WARN_UNUSED;

#endif
