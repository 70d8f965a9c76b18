/*
 * layer_twins: names of one folder that a file system without case, or without a difference of Unicode forms, takes for
 * the same.  It says which; what follows from it is the snapshot's to say.
 */
#ifndef WARDER_JAIL_LAYER_TWINS_H
#define WARDER_JAIL_LAYER_TWINS_H

#include <stdbool.h>

#include "core/base/err.h"
#include "jail/layer_walk.h"

/*
 * Which of the `staged` names (a flag by index) are added and have a twin among the names that the folder will hold.
 * `upper` and `real` are its two sides, real -1 when there is none; `covers`: no real name shows through.  *ret_twin is
 * NULL when there is none; the caller frees it.
 */
int twins_find(const struct name_list *staged, int upper, int real, bool covers, bool **ret_twin,
	       struct err *err) WARN_UNUSED;

#endif
