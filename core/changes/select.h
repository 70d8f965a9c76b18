/*
 * select: which changes of a manifest a list of paths means.  A folder stands for what lies below it; no list means
 * every change that can be applied.
 */
#ifndef WARDER_CHANGES_SELECT_H
#define WARDER_CHANGES_SELECT_H

#include <stdbool.h>

#include "jail/layer.h"

/* `path` is one of `paths` or lies below one. */
bool select_covers(const char *path, const char *const *paths, size_t n);
/* For apply: n == 0 means what is ok and does not run later on the host.  What is withheld is never selected. */
bool select_change(const struct change *c, const char *const *paths, size_t n);
/* First of `paths` that covers no change, or NULL. */
const char *select_stranger(const struct manifest *m, const char *const *paths, size_t n);

#endif
