/*
 * jail_keep: `warder jail --keep DIR`: what the command changed, kept in a new folder of the operator's:
 * DIR/changes.diff, which `git apply` takes, and DIR/files/ with the new content of each file at its path (private,
 * links as links).  It writes nothing but below DIR, and nothing that apply would refuse.
 */
#ifndef WARDER_CMD_JAIL_KEEP_H
#define WARDER_CMD_JAIL_KEEP_H

#include "jail/layer.h"

/* Makes DIR, which must not exist (E_USAGE), before the command runs. */
int jail_keep_open(const char *dir, int *ret_fd, struct err *err) WARN_UNUSED;
/* *ret_n: changes kept. */
int jail_keep(const struct layer *l, const struct manifest *m, int dir_fd, size_t *ret_n, struct err *err) WARN_UNUSED;

#endif
