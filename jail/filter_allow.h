/*
 * filter_allow: the allow-lists of the two default-deny profiles.
 */
#ifndef WARDER_JAIL_FILTER_ALLOW_H
#define WARDER_JAIL_FILTER_ALLOW_H

#include "jail/filter_table.h"

extern const struct filter_part filter_allow_strict;
extern const struct filter_part filter_allow_helper;

#endif
