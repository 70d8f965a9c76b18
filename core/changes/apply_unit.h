/*
 * apply_unit: the steps of one unit of an apply, forward and back.  Each step opens the unit's folder anew beneath the
 * workspace and demands that it is the one that was checked; none of them decides about other units.
 */
#ifndef WARDER_CHANGES_APPLY_UNIT_H
#define WARDER_CHANGES_APPLY_UNIT_H

#include "core/changes/apply_plan.h"
#include "core/changes/apply_thing.h"

/* Steps answer E_CONFLICT, with WHY alone as text, when the real tree is not what it should be. */

/* Nothing is written: the real entries are those of the snapshot.  Fills parent_dev and parent_ino. */
int unit_check(const struct site *s, struct unit *u, struct err *err) WARN_UNUSED;
/* Builds the new thing under the temporary name.  Fills staged_ino. */
int unit_stage(const struct site *s, struct unit *u, struct err *err) WARN_UNUSED;
/* The rename (or the change of mode), and the comparison of what it displaced. */
int unit_move(const struct site *s, struct unit *u, struct err *err) WARN_UNUSED;
/* Before the decision to keep: nobody wrote to what was displaced since, and the folder is where it was. */
int unit_confirm(const struct site *s, const struct unit *u, struct err *err) WARN_UNUSED;
/* After it: removes what was displaced.  What has appeared in it meanwhile stays, under the temporary name
 * (E_CONFLICT). */
int unit_finish(const struct site *s, const struct unit *u, struct err *err) WARN_UNUSED;
/* fsync of the unit's folder. */
int unit_sync(const struct site *s, const struct unit *u, struct err *err) WARN_UNUSED;

/* What stands there, told by inode numbers. */
enum unit_state {
	UNIT_UNTOUCHED, /* nothing was moved; what was built may be there under the temporary name */
	UNIT_MOVED,     /* the move was made, and what it put there is still what we put */
	UNIT_UNKNOWN,   /* something that is neither old nor ours */
};
/* `journal` says how far the plan had come. */
enum unit_state unit_look(const struct site *s, const struct unit *u, enum journal_state journal);

/* Back to how it was, from a state that is not unknown. */
int unit_put_back(const struct site *s, const struct unit *u, enum unit_state state, struct err *err) WARN_UNUSED;
/* True when what was displaced (or what is left of it) is still what it was, so that unit_finish may remove it. */
bool unit_may_finish(const struct site *s, const struct unit *u);

#endif
