/*
 * layer_judge: what one staged entry means against the real one: operation, both sides (copied into the content store),
 * status.  It collects the changes of a snapshot; which entries there are, layer_snapshot.c finds out.
 */
#ifndef WARDER_JAIL_LAYER_JUDGE_H
#define WARDER_JAIL_LAYER_JUDGE_H

#include "jail/layer.h"
#include "jail/layer_births.h"
#include "jail/layer_node.h"

/* How a folder, or its entry, is judged before it is looked at closer.  The strictest of two counts. */
struct verdict {
	enum change_status status; /* CHANGE_OK, CHANGE_CONFLICT or CHANGE_REFUSED */
	const char *why;
};

struct collected {
	struct change c;
	bool copied_up; /* staged entry began as an entry of the real tree */
};

struct judge {
	const struct layer *l;
	struct births births;
	struct arena arena; /* paths and reasons */
	struct collected *change;
	size_t n, cap;
	struct change_folder *folder;
	size_t nfolders, folders_cap;
	uint64_t left; /* bytes that may still be stored */
};

/* One entry to judge. */
struct judged {
	const char *path;              /* copied when it is kept */
	const char *name;              /* its last component */
	int upper, real;               /* folders that hold it; -1: none */
	struct layer_node staged, old; /* mode 0: absent; a whiteout counts as absent */
	int64_t birth;                 /* of the cell under which it was staged */
	struct verdict verdict;
};

struct verdict verdict_worse(struct verdict a, struct verdict b);
/* CHANGE_CONFLICT when the real entry was touched after `birth`. */
struct verdict judge_age(struct judge *j, int64_t ctime_ns, int64_t birth);

/* Why the owner of a staged entry must be refused, or NULL. */
const char *judge_owner(const struct judge *j, const struct layer_node *staged);

/* A file or symlink that is staged, or a real one that goes.  A no-op is left out: *ret_index is then SIZE_MAX. */
int judge_leaf(struct judge *j, const struct judged *e, size_t *ret_index, struct err *err) WARN_UNUSED;

/* A change whose content is not looked at: folders, and what is withheld or refused by its type or place. */
int judge_add(struct judge *j, const struct judged *e, enum change_op op, struct err *err) WARN_UNUSED;
int judge_add_folder(struct judge *j, const char *path, bool gone, mode_t mode, uint64_t old_ino,
		     struct err *err) WARN_UNUSED;

/* Sorts, settles what depends on other entries, and moves all into the manifest. */
int judge_finish(struct judge *j, struct manifest *ret, struct err *err) WARN_UNUSED;
void judge_free(struct judge *j);

#endif
