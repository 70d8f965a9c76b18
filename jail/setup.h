/*
 * setup: the messages between the parent and init of a cell, and their order.  It encodes and checks them; it acts on
 * none.
 *
 *   parent                             init
 *   SETUP (and mounts as descriptors) ->
 *   MOUNT, one for each further path  ->      (as root only)
 *                                     <- FAIL, then init exits; or REPORT: built and locked, the proofs are in it
 *   GO                                ->
 *                                     <- STARTED: the main program runs, or could not be executed
 *   SIGNAL, FREEZE, THAW              ->
 *                                     <- FROZEN, THAWED, EXITED
 *
 * init takes SETUP as input to be checked.  The parent takes everything as hostile: sizes are bounded, layers are
 * numbers of a table, text is text for the display gate.
 */
#ifndef WARDER_JAIL_SETUP_H
#define WARDER_JAIL_SETUP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "jail/cell.h"
#include "jail/layers.h"

enum setup_message {
	SETUP_SETUP = 1,
	SETUP_MOUNT,
	SETUP_GO,
	SETUP_SIGNAL, /* u32 */
	SETUP_FREEZE,
	SETUP_THAW,
	SETUP_FAIL = 32, /* u32 layer, u32 code negated, str text, bytes of the report as far as it got */
	SETUP_REPORT,
	SETUP_STARTED, /* u32 errno of execve, 0 when it runs; u32 state of the baseline, str evidence */
	SETUP_FROZEN,  /* u32 processes; str why not, "" when frozen */
	SETUP_THAWED,
	SETUP_EXITED, /* u32 wait status */
};

#define SETUP_MAX (8u << 20)         /* bytes that init takes: argv and environment can be large */
#define SETUP_ANSWER_MAX (32u << 10) /* bytes that the parent takes */

/* Where descriptors of ours are when init starts, and what comes with SETUP when the parent made the mounts. */
enum { SETUP_FD_CONTROL = 3, SETUP_FD_HAND = 4 };
enum { SETUP_MOUNT_LOWER, SETUP_MOUNT_LAYER, SETUP_FD_UPPER, SETUP_FD_WORK, SETUP_FD_MASK, SETUP_FDS };

enum setup_flag {
	SETUP_IDMAPPED = 1,      /* started by root: mounts come as descriptors, ids are of a private range */
	SETUP_PRIVATE_LAYER = 2, /* the layer is a tmpfs of the cell */
	SETUP_NEW_UPPER = 4,     /* give the upper folder the mode of the workspace */
	SETUP_WITH_BASELINE = 8,
	SETUP_PROBE = 16,        /* try the overlay in the workspace, which is a scratch one */
	SETUP_MEMORY_BOUND = 32, /* by a control group: no limit of each process is needed */
};

/* A folder that init opens by name and accepts only when it is the one that the parent meant. */
struct setup_folder {
	const char *path;
	uint64_t dev, ino;
};

struct setup_list {
	const char **item; /* NULL-terminated */
	size_t n;
};

/* Pointers go into the message, the arrays are freed by setup_free. */
struct setup {
	uint32_t flags;
	uint32_t uid, gid;
	struct setup_folder workspace, layer;
	const char *cwd;
	struct setup_list ro, rw, env, argv; /* argv.n 0: the hand */
	struct cell_limits limits;
	const char *filter;
	size_t filter_len;
};

#define SETUP_NAMESPACES 7
extern const char *const setup_namespaces[SETUP_NAMESPACES]; /* names below /proc/self/ns */

/* What init found: REPORT. */
struct setup_finding {
	bool set;
	enum layer_state state;
	char evidence[160];
};
struct setup_report {
	struct setup_finding finding[JAIL_LAYERS];
	uint32_t landlock_abi;
	uint32_t hidden; /* entries of the real tree that the mask hides */
	uint64_t ns[SETUP_NAMESPACES];
	char mounts[1500]; /* "/ ro, /usr ro, ..." */
};

void setup_encode(const struct setup *s, struct buf *out);
int setup_decode(const char *data, size_t len, struct setup *ret, struct err *err) WARN_UNUSED;
void setup_free(struct setup *s);
#define _cleanup_setup_ _cleanup_(setup_free)

void setup_encode_report(const struct setup_report *r, struct buf *out);
int setup_decode_report(const char *data, size_t len, struct setup_report *ret, struct err *err) WARN_UNUSED;

#endif
