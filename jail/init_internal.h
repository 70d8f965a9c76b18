/*
 * init_internal: what the steps of init share.  Each step is a function of the table in init.c; it fills `err` with
 * "WHAT: WHY", and the table knows the layer.  After the lock only init_run, init_baseline, init_freeze and the loop
 * run.
 */
#ifndef WARDER_JAIL_INIT_INTERNAL_H
#define WARDER_JAIL_INIT_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/err.h"
#include "core/base/frame.h"
#include "jail/setup.h"

#define INIT_HOME "/home/agent"
#define INIT_PATH "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"

struct init {
	struct frame_reader in;         /* the control socket */
	int pending[FRAME_FDS_MAX * 2]; /* descriptors received and not yet asked for */
	size_t npending;
	char *message; /* that `setup` points into */
	struct setup setup;
	struct setup_report report;
	int made[SETUP_FDS]; /* mounts and folders that the parent made (as root) */
	int *extra;          /* likewise, for setup.ro and then setup.rw */
	int root;            /* top of the new root; the working folder until the root is entered */
	int null, proc, cwd; /* in the cell: /dev/null, /proc, the main program's folder */
	enum jail_layer blamed; /* by a step that proves several layers; JAIL_NO_LAYER: the step's own */
	bool has_git;        /* the real tree has a .git, so the cell has one of its own */
};

/* Notes a layer's state; the worst one stays. */
void init_found(struct init *in, enum jail_layer layer, enum layer_state state, const char *fmt, ...) PRINTF_LIKE(4, 5);

/* ---- before the lock, in this order (init_root.c, init_overlay.c, init_proc.c, init_enter.c, init_lock.c) */
int init_root_begin(struct init *in, struct err *err) WARN_UNUSED;
int init_root_fill(struct init *in, struct err *err) WARN_UNUSED;
int init_devices(struct init *in, struct err *err) WARN_UNUSED;
int init_proc(struct init *in, struct err *err) WARN_UNUSED;
int init_paths_outside(struct init *in,
		       struct err *err) WARN_UNUSED; /* setup.ro and rw that are not in the workspace */
int init_overlay(struct init *in, struct err *err) WARN_UNUSED;
int init_overlay_probe(struct init *in, struct err *err) WARN_UNUSED;
int init_paths_inside(struct init *in, struct err *err) WARN_UNUSED;
int init_enter(struct init *in, struct err *err) WARN_UNUSED;
int init_check_mounts(struct init *in, struct err *err) WARN_UNUSED;
int init_network(struct init *in, struct err *err) WARN_UNUSED;
int init_limits(struct init *in, struct err *err) WARN_UNUSED;
int init_keyring(struct init *in, struct err *err) WARN_UNUSED;
int init_capabilities(struct init *in, struct err *err) WARN_UNUSED;
int init_landlock(struct init *in, struct err *err) WARN_UNUSED;
int init_seccomp(struct init *in, struct err *err) WARN_UNUSED;
int init_prove(struct init *in, struct err *err) WARN_UNUSED;

/* ---- after it */

struct run {
	const char *const *argv; /* NULL: the hand */
	bool quiet;              /* standard streams on /dev/null */
	int cwd;                 /* folder */
	char **env;
};
/* Starts a program in a session of its own; the pid, or -1 with errno when it could not be executed. */
pid_t run_start(const struct init *in, const struct run *r) WARN_UNUSED;
/* Waits for it at most `timeout_ms`, reaping whatever else ends; false when the time was up. */
bool run_wait(pid_t pid, int timeout_ms, int *ret_wstatus) WARN_UNUSED;
/* The environment by list, then setup.env, whose names win; NULL when memory is short. */
char **run_environment(const struct init *in) WARN_UNUSED;

/* First commit of the cell's own repository. Never fatal: *ret_state and `evidence` tell. */
void init_baseline(const struct init *in, enum layer_state *ret_state, char evidence[160]);

/* Stops every other process; *ret_n of them.  E_IO when some did not stop in time. */
int init_freeze(const struct init *in, uint32_t *ret_n, struct err *err) WARN_UNUSED;

#endif
