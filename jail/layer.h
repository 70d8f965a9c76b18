/*
 * layer: the staged layer of a session read from the outside: walks an overlay upper directory that hostile code wrote
 * (openat2 beneath, no symlinks, no other device), copies it into a content store, and says what it means as a
 * manifest.  It never writes the real tree and never trusts a name, mode, xattr or type that it finds.
 *
 * Must run while the cell is frozen or gone.  The manifest and the content store are what is reviewed and applied,
 * never the live upper.
 *
 * A manifest lists paths as Git would: files and symlinks, and besides them only folders that come or go empty. Folders
 * that come with their first file or go with their last one stand apart (`folder`).  What equals the real tree is left
 * out.  Modes as in Git, too: of an existing file only the owner's execute bit can change, its other bits stay those of
 * the real tree, and so do the modes of existing folders; a new file or folder gets its staged bits without write for
 * others.
 */
#ifndef WARDER_JAIL_LAYER_H
#define WARDER_JAIL_LAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/digest.h"
#include "core/base/err.h"

#define LAYER_ENTRIES_MAX 500000u           /* changes of one manifest */
#define LAYER_FILE_MAX ((uint64_t)1 << 30)  /* bytes of one file, on either side */
#define LAYER_TOTAL_MAX ((uint64_t)8 << 30) /* bytes of all files of one snapshot; beyond it they are refused */

enum change_op { CHANGE_ADD, CHANGE_MODIFY, CHANGE_DELETE, CHANGE_MODE, CHANGE_SYMLINK };
enum change_status { CHANGE_OK, CHANGE_CONFLICT, CHANGE_REFUSED, CHANGE_WITHHELD, CHANGE_IGNORED };
const char *change_op_name(enum change_op op); /* "add" ... as CONTRACTS */
const char *change_status_name(enum change_status s);

/* One side of a change: what is (old: in the real tree at snapshot; new: after an apply). */
struct change_side {
	mode_t mode; /* type and permission bits; 0: absent */
	uint64_t size;
	uint8_t digest[DIGEST_LEN]; /* of the content; of the target for a symlink; zeros for a folder */
	bool has_digest; /* the content store holds it; false as well on what is refused and was not read */
};

struct change {
	const char *path;  /* relative, '/'-separated, raw bytes without NUL */
	enum change_op op; /* CHANGE_SYMLINK: the new side is a symlink */
	enum change_status status;
	const char *why;  /* "" for CHANGE_OK */
	const char *note; /* what the operator should know although it is no obstacle; "" for nothing */
	bool runs_later;  /* a name that tools on the host run or obey later */
	struct change_side old, new;
	/* of the real entry at snapshot, compared again at apply */
	uint64_t old_ino;
	int64_t old_ctime_ns;
};

/* A folder that comes with the entries below it, or goes with them. */
struct change_folder {
	const char *path;
	bool gone;        /* else it comes */
	mode_t mode;      /* type and permission bits */
	uint64_t old_ino; /* when gone */
};

struct manifest {
	struct arena arena;    /* owns everything below */
	struct change *change; /* sorted by path bytes, each path once */
	size_t n;
	struct change_folder *folder; /* sorted by path bytes */
	size_t nfolders;
	size_t withheld;            /* files at and below .git components: one change each stands for its component */
	uint8_t digest[DIGEST_LEN]; /* over the canonical encoding of all entries (docs/internals/changes.md) */
};

void manifest_free(struct manifest *m);
#define _cleanup_manifest_ _cleanup_(manifest_free)

/* Digest over the canonical encoding of all entries (docs/internals/changes.md). */
void manifest_digest(const struct manifest *m, uint8_t ret[DIGEST_LEN]);

/* The change of that very path, or NULL. */
const struct change *manifest_find(const struct manifest *m, const char *path);
/* The changes below a folder: change[*ret_first..*ret_end), without that of the very path. */
void manifest_below(const struct manifest *m, const char *folder, size_t *ret_first, size_t *ret_end);

/* One JSON object (no newline): op, path, old, new (hex digests or null), mode (octal, as after an apply; of a
 * deletion: as before), status, and when they say something why, note, runs_later.  A path that is not UTF-8 is
 * {"$b64":"..."}. */
void change_to_json(const struct change *c, struct buf *out);

/* The body of changes.staged: manifest (hex digest), entries, withheld, counts by op and by status, and `paths`: the
 * changes as change_to_json, of which at most `max` are listed (`more` counts the rest). */
void manifest_to_json(const struct manifest *m, size_t max, struct buf *out);

struct layer {
	int layer_fd;   /* sessions/ID/layer */
	int content_fd; /* sessions/ID/content: files named by hex digest, 0600 */
	const char *workspace;
	int64_t idmap_base; /* as of cell_spec; as root what is staged must belong to that range */
	bool temporary;     /* dies with the command that made it: nothing is made durable */
};

/* Called at each birth of a cell over the layer, before the cell runs and also when nothing is staged: remembers
 * (layer/births) which birth each staged path belongs to, so that "changed by you" is judged against the right moment.
 */
int layer_note_birth(const struct layer *l, int64_t birth_us, struct err *err) WARN_UNUSED;

/* Snapshot: content copied, both sides hashed, statuses judged (refused, withheld, conflict). A layer without `upper`
 * is an empty manifest. */
int layer_snapshot(const struct layer *l, struct manifest *ret, struct err *err) WARN_UNUSED;

/* Drops paths from the upper (after apply or discard); a folder stands for what lies below it; paths==NULL: everything.
 * The cell must be gone.  A path that is not staged is no error. */
int layer_drop(const struct layer *l, const char *const *paths, size_t n, struct err *err) WARN_UNUSED;

#endif
