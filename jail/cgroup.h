/*
 * cgroup: one control group a cell, with bounds on memory and processes, where this process may make one (v1 or v2). It
 * bounds; it moves only the cell's init, before that has started anything.
 */
#ifndef WARDER_JAIL_CGROUP_H
#define WARDER_JAIL_CGROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/err.h"

enum { CGROUP_MEMORY, CGROUP_PIDS, CGROUP_KINDS };

struct cgroup {
	char path[CGROUP_KINDS][PATH_MAX]; /* "" when that bound could not be had */
	bool memory, pids;                 /* bounded */
};

/* Makes the groups and puts `pid` into them; what cannot be had is left out, `why` says the first reason. */
void cgroup_enter(struct cgroup *ret, pid_t pid, uint64_t memory_bytes, uint64_t processes, char why[160]);
/* Removes them; every process must be gone. */
void cgroup_leave(struct cgroup *cg);

#endif
