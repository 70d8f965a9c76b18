/*
 * staged: the staged change of one session as the keeper and the commands use it: where its layer and its copies
 * lie, the snapshot that was taken last, and apply and discard over it.  It never appends to the log; its caller does,
 * before and after.
 */
#ifndef WARDER_CHANGES_STAGED_H
#define WARDER_CHANGES_STAGED_H

#include "core/base/err.h"
#include "core/base/json.h"
#include "core/changes/apply.h"
#include "jail/layer.h"

struct staged {
	int session_fd; /* not owned */
	int layer_fd, content_fd;
	char *workspace;
	struct layer layer; /* over the above */
};

#define STAGED_INIT { .session_fd = -1, .layer_fd = -1, .content_fd = -1 }

/* Makes layer/ and content/ in the session folder when they are missing. */
int staged_open(int session_fd, const char *workspace, int64_t idmap_base, struct staged *ret,
		struct err *err) WARN_UNUSED;
void staged_close(struct staged *s);
#define _cleanup_staged_ _cleanup_(staged_close)

/* The manifest as a file of the session, so that whoever shows it reads exactly what was snapshot. */
int staged_save(const struct staged *s, const struct manifest *m, struct err *err) WARN_UNUSED;
int staged_load(const struct staged *s, struct manifest *ret, struct err *err) WARN_UNUSED;

#define STAGED_LIST_MAX 1000 /* changes named in one event; its digest covers all of them */
/* Body of changes.staged; NULL when memory is short. */
json_node *staged_body(const struct manifest *m);
/* A path as a JSON string, or {"$b64":...} when it is not UTF-8. */
json_node *staged_path(const struct change *c);

/* Selected paths, NULL-terminated and borrowed from the JSON array; NULL array (or none) means all: *ret NULL.
 * Strings, or {"$b64":...} for names that are not UTF-8: those are decoded where they stand, so once for each array. */
int staged_paths(const json_node *array, const char ***ret, size_t *ret_n, struct err *err) WARN_UNUSED;

#endif
