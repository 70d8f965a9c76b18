/*
 * cell_internal: what the parts of cell.h share, and the tests.
 */
#ifndef WARDER_JAIL_CELL_INTERNAL_H
#define WARDER_JAIL_CELL_INTERNAL_H

#include "core/base/frame.h"
#include "jail/cell.h"
#include "jail/cgroup.h"
#include "jail/layers.h"
#include "jail/setup.h"

struct cell {
	pid_t pid; /* of init; 0 when it has been reaped */
	int pidfd;
	int control; /* our end of the socket */
	struct frame_reader in;
	int64_t asked_us; /* wall clock when the start was asked for */
	int64_t birth_us;
	int main_errno; /* of executing the main program */
	int layer; /* copy of the layer's descriptor, -1: private */
	struct cgroup cgroup;
	bool exited; /* `wstatus` holds */
	int wstatus;
};

/* cell_start with further flags of setup.h. */
int cell_start_with(const struct cell_spec *spec, uint32_t flags, struct cell **ret, struct cell_report *report,
		    struct err *err) WARN_UNUSED;

/* ---- cell_spawn.c */

/* The hand's program as a sealed memfd, made once a process; not owned by the caller. */
int cell_hand(int *ret_fd, struct err *err) WARN_UNUSED;

/* clone() with the seven namespaces and `warder-hand --init` in them, stopped at its first message.  `control`: init's
 * end. */
int cell_spawn(struct cell *c, int hand, int control, const int stdio[3], bool map_by_parent,
	       struct err *err) WARN_UNUSED;

/* ---- cell_mounts.c: what a parent that is root makes for init */

struct cell_mounts {
	int fd[SETUP_FDS];
	int *extra; /* of ro and then rw */
	size_t nextra;
};
int cell_mounts_make(const struct cell_spec *spec, int workspace, int layer, struct cell_mounts *ret,
		     struct err *err) WARN_UNUSED;
void cell_mounts_close(struct cell_mounts *m);

/* ---- cell_check.c */

/* Opens the workspace (O_RDONLY) and refuses what can be no workspace wherever warder's own folders are. */
int cell_open_workspace(const char *path, int *ret_fd, struct err *err) WARN_UNUSED;
/* --ro and --rw must not open what the overlay and the mask close. */
int cell_check_paths(const struct cell_spec *spec, struct err *err) WARN_UNUSED;

/* ---- cell_report.c */

void cell_report_init(struct cell_report *r);
/* Notes one layer; `evidence` may be NULL.  The remedy is the table's unless the state is ok. */
void cell_report_set(struct cell_report *r, enum jail_layer layer, enum layer_state state, const char *evidence);
/* From what init found; then the level. */
void cell_report_fill(struct cell_report *r, const struct setup_report *found, const struct cgroup *cg);
void cell_report_evidence(struct cell_report *r, const struct cell *c, const struct cell_spec *spec,
			  const struct setup_report *found, const char *filter, size_t filter_len, uint32_t uid);
/* E_MACHINE naming the layer, the reason and the remedy. */
int cell_refuse(struct cell_report *r, enum jail_layer layer, const char *why, struct err *err);

#endif
