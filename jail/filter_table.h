/*
 * filter_table: what each profile of the filter says, as data.  It decides; filter.c only translates.
 *
 * A profile is a default action and parts.  A part is groups (calls that are always treated alike) and rows (calls
 * that are treated so when their arguments match).  Where a call has several rows they never overlap with different
 * actions, so their order means nothing.  Sets come first of all and say "refused unless the argument is one of
 * these", which a default-allow filter of libseccomp cannot express.
 *
 * Arguments that the kernel takes as int are compared by their low 32 bits: registers are 64 wide and the kernel drops
 * the rest, so an exact rule for TIOCSTI would let 0x100005412 pass.
 */
#ifndef WARDER_JAIL_FILTER_TABLE_H
#define WARDER_JAIL_FILTER_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "jail/filter.h"

/* An action: one of these, or a positive errno. */
enum { FILTER_ALLOW = 0, FILTER_KILL = -1 };

enum filter_op {
	FILTER_EQ,  /* (argument & mask) == value */
	FILTER_ANY, /* (argument & mask) != 0 */
};

struct filter_cmp {
	uint64_t mask; /* 0: unused */
	uint64_t value;
	enum filter_op op;
	unsigned arg;
};

struct filter_row {
	const char *call;
	int action;
	struct filter_cmp cmp[2]; /* both must hold */
};

struct filter_group {
	int action;
	const char *const *calls; /* NULL-terminated */
};

struct filter_part {
	const struct filter_group *groups;
	size_t ngroups;
	const struct filter_row *rows;
	size_t nrows;
};

#define FILTER_SET_MAX 8
/* `call` fails with `error` unless argument `arg`, masked, is one of `values`; asked only when `when` holds (mask 0:
 * always).  All of it on the low 32 bits. */
struct filter_set {
	const char *call;
	int error;
	struct {
		uint32_t mask, value;
		unsigned arg;
	} when;
	unsigned arg;
	uint32_t mask;
	size_t nvalues;
	uint32_t values[FILTER_SET_MAX];
};

struct filter_spec {
	int otherwise; /* for calls that no part names */
	const struct filter_part *parts[2];
	const struct filter_set *sets;
	size_t nsets;
};

const struct filter_spec *filter_spec(enum filter_profile profile);

/* Number of a call on this architecture; -1: the call does not exist here; -2: nobody knows the name. */
int filter_call_number(const char *name);

#endif
