/*
 * apply_plan: what an apply does, as a list of units that do not touch each other, and its stored form in the journal.
 * It reads no file but the journal.
 *
 * A unit is one name in one folder of the real tree at which exactly one rename happens: something old is displaced to
 * the unit's temporary name (take), something new that was built there moves in (put), or both change places
 * (swap).  Old and new are a file, a symlink, or a whole folder with all that is listed below it.  A change of mode
 * alone happens in place.
 */
#ifndef WARDER_CHANGES_APPLY_PLAN_H
#define WARDER_CHANGES_APPLY_PLAN_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/digest.h"
#include "core/base/err.h"
#include "jail/layer.h"

enum unit_kind { UNIT_PUT, UNIT_SWAP, UNIT_TAKE, UNIT_CHMOD };

/* A file, symlink or folder of the old or the new thing. */
struct member {
	const char *path; /* from the workspace; the unit's own path for its top */
	mode_t mode;
	uint64_t size;
	uint8_t digest[DIGEST_LEN]; /* not of a folder */
	uint64_t ino;               /* old ones */
	int64_t ctime_ns;           /* old ones, of files and symlinks; not in the journal */
};

struct unit {
	enum unit_kind kind;
	const char *path;
	const char *name; /* its last component, within path */
	char temp[32];
	struct member *old, *new; /* sorted by path; the first is the top */
	size_t nold, nnew;
	uint64_t parent_dev, parent_ino; /* of the folder that holds it, from the check before anything is written */
	uint64_t staged_ino;             /* of the new thing once it is built; 0: not yet */
	bool moved;                      /* its rename was made by this process; not in the journal */
	int64_t displaced_ctime_ns;      /* of the old thing after its rename; not in the journal */
};

enum journal_state { JOURNAL_PLANNED, JOURNAL_STAGED, JOURNAL_COMMITTED };

struct plan {
	struct arena arena;
	struct unit *unit; /* sorted by path */
	size_t n;
	enum journal_state state;
};

void plan_free(struct plan *p);
#define _cleanup_plan_ _cleanup_(plan_free)

/* Units for the chosen changes (a flag each).  Their statuses were judged before. */
int plan_make(const struct manifest *m, const bool *chosen, struct plan *ret, struct err *err) WARN_UNUSED;

/* The folder part of a unit's path ("." for the workspace itself); `ret` gives it room. */
const char *unit_parent(const struct unit *u, char ret[PATH_MAX]);

/* ---- journal: the file apply.journal in the session folder */

/* Durable when it returns.  E_EXISTS when there is one. */
int journal_create(int session_fd, const struct plan *p, struct err *err) WARN_UNUSED;
/* The inode numbers of what was built; the decision to keep. Durable when they return. */
int journal_staged(int session_fd, const struct plan *p, struct err *err) WARN_UNUSED;
int journal_committed(int session_fd, struct err *err) WARN_UNUSED;
int journal_remove(int session_fd, struct err *err) WARN_UNUSED;
/* Sets it aside as apply.unknown-TIME. */
int journal_keep(int session_fd, struct err *err) WARN_UNUSED;
/* E_NOTFOUND, E_CORRUPT.  A record that was cut short by a crash counts as not written. */
int journal_load(int session_fd, struct plan *ret, struct err *err) WARN_UNUSED;

#endif
