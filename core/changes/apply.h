/*
 * apply: writes chosen paths of a manifest from the content store into the real tree.  All or nothing over what was
 * chosen; each file by exchange and comparison; a journal in the session folder, so that a crash is completed or
 * undone, or is called an unknown outcome.  It never follows a symlink, never leaves the workspace, never writes a
 * path with a `.git` component, and writes nothing that was not in the manifest that the operator was shown.
 *
 * Order: the plan into the journal; everything new built beside its place under a name `.warder-` + 16 hex digits;
 * their inode numbers into the journal; then each place by one rename (exchange, put or take), what was displaced
 * compared with the manifest at once; the word "commit" into the journal; what was displaced removed.  Up to "commit"
 * any failure puts back what was displaced.  docs/internals/changes.md.
 */
#ifndef WARDER_CHANGES_APPLY_H
#define WARDER_CHANGES_APPLY_H

#include "core/base/buf.h"
#include "core/base/err.h"
#include "jail/layer.h"

struct apply_result {
	/* Changes, not folders that came along.  Not 0 on failure: all is in place, what was displaced is not gone. */
	size_t applied;
	struct buf problems; /* one line each "PATH: WHY\n", the path quoted as Git does */
	size_t nproblems;
};
#define APPLY_RESULT_INIT { .problems = BUF_INIT(4u << 20) }
#define _cleanup_apply_result_ _cleanup_(apply_result_free)

/*
 * `paths` (n of them, as in the manifest; a folder stands for what lies below it) selects; NULL: everything but what is
 * ignored. What is withheld is left out in either case and is no error.  `ret` must be APPLY_RESULT_INIT.
 *
 * E_CONFLICT: a conflict or refused path was among them, or the real tree is not what the manifest was made against;
 * nothing was written and ret->problems names each.  E_NOTFOUND: a path that is not staged.  E_BUSY: an earlier apply
 * is not settled (apply_recover).  E_CORRUPT with "outcome unknown" in the text: it failed and could not be put back;
 * the journal is kept.
 */
int apply_changes(const struct layer *l, int session_fd, const struct manifest *m, const char *const *paths, size_t n,
		  struct apply_result *ret, struct err *err) WARN_UNUSED;

/* After a crash: completes or undoes what the journal names. *ret_state: "none" (no journal), "completed", "undone" or
 * "unknown": then nothing is touched any more, err->text (although 0 is returned) names the first path that is neither
 * old nor new, and the journal is kept as apply.unknown-TIME. */
int apply_recover(const struct layer *l, int session_fd, const char **ret_state, struct err *err) WARN_UNUSED;

void apply_result_free(struct apply_result *r);

#endif
