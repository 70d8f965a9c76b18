/*
 * preset: the verdict on a tool call in its first form, by tool alone.  It decides; it never asks or runs.
 */
#ifndef WARDER_POLICY_PRESET_H
#define WARDER_POLICY_PRESET_H

#include "core/base/buf.h"
#include "core/base/err.h"

enum decision { DECISION_DENY = 0, DECISION_ASK, DECISION_ALLOW };
const char *decision_name(enum decision d);

struct preset; /* one row of the table */

const struct preset *preset_find(const char *name);
const char *preset_name(const struct preset *p);

struct verdict {
	enum decision decision;
	const char *effects; /* one effect, CONTRACTS "doctor": read, write-ws or unknown */
	const char *rule;    /* "default" */
	const char *layer;   /* the preset's name */
	char why[160];
};

/* A tool that is not one of the six is denied: no hands know it. */
void preset_judge(const struct preset *p, const char *tool, struct verdict *ret);

/* A read-only call may run beside others. */
bool verdict_is_read(const struct verdict *v);

#endif
