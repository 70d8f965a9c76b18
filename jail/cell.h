/*
 * cell: one jail from the outside: how the keeper (or `warder jail`) starts, freezes and ends it.  It owns the cell's
 * processes; it knows no log, no policy and no model, and nothing of ours ever enters a running cell.
 *
 * A cell is `warder-hand --init` as PID 1 of new user, mount, pid, net, ipc, uts and cgroup namespaces, which builds
 * the root from a list, locks itself (capabilities, no_new_privs, Landlock, seccomp), proves the lock by trying what
 * must be refused, reports, and only then starts one main program.  Every layer that could not be had is in the report;
 * under S2 cell_start fails with E_MACHINE and the layer's name and remedy, and leaves nothing behind.
 *
 * init dies with the thread that started it.  A process that has cells must not reap with waitpid(-1).
 */
#ifndef WARDER_JAIL_CELL_H
#define WARDER_JAIL_CELL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/buf.h"
#include "core/base/err.h"

enum cell_level { CELL_NONE = 0, CELL_S2 = 2, CELL_S3 = 3 };
const char *cell_level_name(enum cell_level level); /* "none", "S2", "S3" */
int cell_level_parse(const char *name, enum cell_level *ret);

enum layer_state { LAYER_OK, LAYER_PARTIAL, LAYER_MISSING };

#define CELL_LAYERS_MAX 24
struct cell_layer {
	const char *name; /* "userns", "mounts", "overlay", "network", "seccomp", "landlock", "limits", ... */
	enum layer_state state;
	char evidence[160]; /* what was tried and what came back */
	char remedy[200];   /* "" when ok */
};

struct cell_report {
	enum cell_level level;
	size_t nlayers;
	struct cell_layer layer[CELL_LAYERS_MAX];
	char evidence_json[4096]; /* one JSON object for jail.provisioned: kernel, namespaces (inode numbers), uid map,
				     seccomp digest, Landlock ABI, limits, mounts */
};

/* Limits; 0 means the default of jail/limits.h. */
struct cell_limits {
	uint64_t memory_bytes, file_bytes, open_files, processes, cpu_seconds;
};

struct cell_spec {
	const char *workspace; /* absolute, real (no symlink component); its path in the cell as well */
	int layer_fd; /* folder of the session's layer: mask/ upper/ work/ are made in it, and mask/ work/ are gone
			 after cell_end; one cell at a time (E_BUSY).  -1: a private tmpfs layer that dies with the
			 cell (nothing can be snapshot afterwards) */
	int64_t idmap_base;     /* as root: first id of this session's unused range, from cell_idmap_pick(); else 0 */
	const char *cwd;        /* absolute, inside the cell; NULL: workspace */
	const char *const *ro;  /* further host paths, read-only, at the same place; NULL-terminated or NULL */
	const char *const *rw;  /* the operator's own --rw: writable on the host */
	const char *const *env; /* further NAME=VALUE of the main program, NULL-terminated or NULL */
	struct cell_limits limits;
	int stdio[3];            /* descriptors of the main program, not owned */
	const char *const *argv; /* main program, found on the cell's PATH; NULL: the hand (warder-hand's MCP server) */
	enum cell_level floor;
	bool baseline; /* make the synthetic .git's first commit before the main program starts (only when the workspace
			  has a .git) */
};

struct cell;

/* Starts and waits until the main program runs.  `report` (may be NULL) is filled as far as it got, on failure too. */
int cell_start(const struct cell_spec *spec, struct cell **ret, struct cell_report *report,
	       struct err *err) WARN_UNUSED;

pid_t cell_pid(const struct cell *c);        /* init, in the host's numbering */
int cell_pidfd(const struct cell *c);        /* readable when init is gone; owned by the cell */
int cell_main_errno(const struct cell *c);   /* why the main program could not be executed; 0: it was */
int64_t cell_birth_us(const struct cell *c); /* stamp of files (clock_stamp_us) before any program ran */

/* Stops (SIGSTOP) and continues every process of the cell but init. Returns when they are stopped. */
int cell_freeze(struct cell *c, struct err *err) WARN_UNUSED;
int cell_thaw(struct cell *c, struct err *err) WARN_UNUSED;

/* Waits for the end of the main program and so of the cell: wait status as of waitpid(2); 127/126 exits of init when
 * the program was not found / not executable. */
int cell_wait(struct cell *c, int *ret_wstatus, struct err *err) WARN_UNUSED;
/* Passes a signal to the main program (SIGINT, SIGTERM of a `warder jail`). */
int cell_signal(struct cell *c, int sig, struct err *err) WARN_UNUSED;

/* Kills what is left, waits until every process is gone, frees.  Accepts NULL content. */
void cell_end(struct cell **c);
#define _cleanup_cell_ _cleanup_(cell_end)

/* As root: an id range of 65536 that no line of /etc/subuid, /etc/subgid, /etc/passwd or /etc/group touches and that no
 * other session holds (lock files in `run_fd`).  0 as an ordinary user.  *ret_lock_fd holds the range until closed;
 * `want` != 0 asks for the same range again (wake). */
int cell_idmap_pick(int run_fd, int64_t want, int64_t *ret_base, int *ret_lock_fd, struct err *err) WARN_UNUSED;

/* Refuses workspaces that contain or lie in one of `forbidden` (NULL-terminated; device and inode compared), in /proc,
 * /sys, /run, /dev, or are "/" . */
int cell_check_workspace(const char *workspace, const char *const *forbidden, struct err *err) WARN_UNUSED;
/* The same for a path of --ro or --rw, which may be a file as well.  One that holds a socket, or
 * writable a .git, is refused. */
int cell_check_path(const char *path, bool writable, const char *const *forbidden, struct err *err) WARN_UNUSED;

/* The doctor: starts a real cell over a scratch workspace, runs the self-tests, fills the report; never fails for a
 * missing layer. */
void cell_probe(struct cell_report *ret);

#endif
