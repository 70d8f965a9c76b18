/*
 * apply: writes chosen paths of a manifest from the content store into the real tree.  All or nothing over what was
 * chosen; each file by exchange and comparison; a journal in the session folder, so that a crash is completed or
 * undone, or is called an unknown outcome.  It never follows a symlink, never leaves the workspace, never writes a
 * path with a `.git` component, and writes nothing that was not in the manifest that the operator was shown.
 */
#ifndef WARDER_CHANGES_APPLY_H
#define WARDER_CHANGES_APPLY_H

#include "core/base/err.h"
#include "jail/layer.h"

struct apply_result {
	size_t applied;
	struct buf problems; /* one line each "PATH: WHY", raw bytes */
	size_t nproblems;
};

/* `paths` (n of them; a folder stands for what lies below it) selects; NULL: everything with status ok.  E_CONFLICT (any conflict or
 * refused path among them: nothing written, ret->problems names each), E_NOTFOUND for a path that is not staged. */
int apply_changes(const struct layer *l, int session_fd, const struct manifest *m, const char *const *paths, size_t n,
		  struct apply_result *ret, struct err *err) WARN_UNUSED;

/* After a crash: completes or undoes what the journal names. *ret_state: "none", "completed", "undone" or "unknown". */
int apply_recover(const struct layer *l, int session_fd, const char **ret_state, struct err *err) WARN_UNUSED;

void apply_result_free(struct apply_result *r);

#endif
