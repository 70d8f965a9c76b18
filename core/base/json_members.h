/*
 * json_members: what json.c and json_write.c share about the members of an object.  No business of others.
 */
#ifndef WARDER_BASE_JSON_MEMBERS_H
#define WARDER_BASE_JSON_MEMBERS_H

#include "core/base/json.h"

/* Members by the bytes of their names, in memory that the caller frees; NULL when memory is short. */
const json_node **json_members_sorted(const json_node *object, size_t *ret_n) WARN_UNUSED;

static inline void json_members_free(const json_node ***list)
{
	free(*list);
	*list = NULL;
}
#define _cleanup_members_ _cleanup_(json_members_free)

#endif
