/*
 * layer_names: what a name or the target of a symlink may be in a staged change, and which names are obeyed later on
 * the host.  It looks at bytes only, never at files.
 */
#ifndef WARDER_JAIL_LAYER_NAMES_H
#define WARDER_JAIL_LAYER_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/macro.h"

/* Why a name (one component) must be refused, or NULL. */
const char *layer_name_problem(const char *name);
/* What should be said of it although it passes (characters that do not show), or "". */
const char *layer_name_note(const char *name);

/* Why a symlink at `path` (relative to the workspace) with this target must be refused, or NULL.  Only leading ".."
 * count as up, and no more than the depth of `path`: a ".." behind a name could leave the tree through another symlink.
 */
const char *layer_link_problem(const char *path, const char *target);

/* Equal for names that a file system without case (or Unicode form) takes for the same. */
uint64_t layer_name_fold(const char *name, const uint8_t key[16]);

/* True for names that tools on the host run or obey later: CI, hooks, editor and agent settings, build scripts. */
bool layer_runs_later(const char *path);

#endif
