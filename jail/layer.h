/*
 * layer: the staged layer of a session read from the outside: walks an overlay upper directory that hostile code wrote
 * (openat2 beneath, no symlinks, no other device), copies it into a content store, and says what it means as a
 * manifest.  It never writes the real tree and never trusts a name, mode, xattr or type that it finds.
 *
 * Must run while the cell is frozen or gone.  The manifest and the content store are what is reviewed and applied, never the
 * live upper.
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

enum change_op { CHANGE_ADD, CHANGE_MODIFY, CHANGE_DELETE, CHANGE_MODE, CHANGE_SYMLINK };
enum change_status { CHANGE_OK, CHANGE_CONFLICT, CHANGE_REFUSED, CHANGE_WITHHELD, CHANGE_IGNORED };
const char *change_op_name(enum change_op op);         /* "add" ... as CONTRACTS */
const char *change_status_name(enum change_status s);

/* One side of a change: what is (old: in the real tree at snapshot; new: staged). type 0: absent. */
struct change_side {
	mode_t mode;             /* type and permission bits */
	uint64_t size;
	uint8_t digest[DIGEST_LEN]; /* of the content; of the target for a symlink; zeros for a directory */
	bool has_digest;
};

struct change {
	const char *path; /* relative, '/'-separated, raw bytes without NUL */
	enum change_op op;
	enum change_status status;
	char why[160]; /* for everything but CHANGE_OK */
	struct change_side old, new;
	/* of the real entry at snapshot, compared again at apply */
	uint64_t old_ino;
	int64_t old_ctime_ns;
};

struct manifest {
	struct arena arena; /* owns change[] and paths */
	struct change *change; /* sorted by path bytes */
	size_t n;
	size_t withheld; /* paths below a .git component, not listed one by one beyond the first */
	uint8_t digest[DIGEST_LEN]; /* over the canonical encoding of all entries */
};

void manifest_free(struct manifest *m);
#define _cleanup_manifest_ _cleanup_(manifest_free)

struct layer {
	int layer_fd;      /* sessions/ID/layer */
	int content_fd;    /* sessions/ID/content: files named by hex digest, 0600 */
	const char *workspace;
	int64_t idmap_base; /* as of cell_spec; ids are mapped back on apply */
};

/* Called at each birth of a cell over a layer that may hold staged paths already: remembers for each which birth it
 * belongs to (layer/births), so that "changed by you" is judged against the right moment. */
int layer_note_birth(const struct layer *l, int64_t birth_us, struct err *err) WARN_UNUSED;

/* Snapshot: content copied, both sides hashed, statuses judged (refused, withheld, conflict). */
int layer_snapshot(const struct layer *l, struct manifest *ret, struct err *err) WARN_UNUSED;

/* Drops paths from the upper (after apply or discard); paths==NULL: everything. The cell must be gone. */
int layer_drop(const struct layer *l, const char *const *paths, size_t n, struct err *err) WARN_UNUSED;

#endif
