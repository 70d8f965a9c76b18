/*
 * stage: a scratch workspace with a staged layer built by hand, for the tests of the layer, the diff and the apply.
 * It owns one folder below $TMPDIR that it removes again.  Every helper ends the program when it fails.
 */
#ifndef WARDER_TESTS_STAGE_H
#define WARDER_TESTS_STAGE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "jail/layer.h"

struct stage {
	char top[512];
	char real[600]; /* the workspace */
	char upper[600];
	int session_fd; /* holds layer/ and content/ */
	struct layer layer;
};

/* An empty workspace, an empty upper and mask. */
void stage_make(struct stage *s);
void stage_remove(struct stage *s);

/* The moment when a cell is born: what was written before is older, what is written later is not. */
void stage_birth(const struct stage *s);

/* Paths are "real/..." or "up/..." or "mask/..." or "top/...", relative to that folder.  Folders on the way are
 * made. */
char *stage_path(const struct stage *s, const char *path, char ret[5000]);
void stage_write(const struct stage *s, const char *path, const char *text);
void stage_write_bytes(const struct stage *s, const char *path, const void *data, size_t len);
void stage_mkdir(const struct stage *s, const char *path);
void stage_link(const struct stage *s, const char *path, const char *target);
void stage_chmod(const struct stage *s, const char *path, unsigned mode);
void stage_unlink(const struct stage *s, const char *path);
void stage_rename(const struct stage *s, const char *from, const char *to);
void stage_xattr(const struct stage *s, const char *path, const char *name, const char *value);
/* False where mknod of 0:0 is refused (Linux before 5.8, some containers). */
bool stage_whiteout(const struct stage *s, const char *path);

bool stage_exists(const struct stage *s, const char *path);
/* The text of a file, of a symlink its target behind "-> ", "(folder)", or "(absent)". */
char *stage_text(const struct stage *s, const char *path, char ret[5000]);
unsigned stage_mode(const struct stage *s, const char *path);

/* Every file, symlink and empty folder below a folder, one line each: path, mode, type, text; sorted.  To compare
 * trees. */
void stage_list(const struct stage *s, const char *path, struct buf *out);

/* layer_snapshot that must succeed. */
void stage_snapshot(const struct stage *s, struct manifest *ret);
/* "op status" of a path, or "absent". */
const char *stage_change(const struct manifest *m, const char *path);
const char *stage_why(const struct manifest *m, const char *path);

/* make check-long. */
bool want_long(void);

/* Runs a command through /bin/sh; its status. */
int stage_run(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
