#include "core/policy/preset.h"

#include <stdio.h>
#include <string.h>

struct preset {
	const char *name;
	enum decision on_read;
	enum decision on_other; /* bash, write, edit */
};

static const struct preset presets[] = {
	{ "contained", DECISION_ALLOW, DECISION_ALLOW },
	{ "careful", DECISION_ALLOW, DECISION_ASK },
	{ "locked", DECISION_ALLOW, DECISION_DENY },
};

static const struct {
	const char *tool;
	const char *effect;
} tools[] = {
	{ "read", "read" },      { "glob", "read" },      { "grep", "read" },
	{ "write", "write-ws" }, { "edit", "write-ws" }, { "bash", "unknown" },
};

static const char *const decisions[] = {
	[DECISION_DENY] = "deny",
	[DECISION_ASK] = "ask",
	[DECISION_ALLOW] = "allow",
};

const char *decision_name(enum decision d)
{
	return decisions[d];
}

const struct preset *preset_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(presets); i++)
		if (strcmp(presets[i].name, name) == 0)
			return &presets[i];
	return NULL;
}

const char *preset_name(const struct preset *p)
{
	return p->name;
}

void preset_judge(const struct preset *p, const char *tool, struct verdict *ret)
{
	struct verdict v = { .decision = DECISION_DENY, .effects = "unknown", .rule = "default", .layer = p->name };

	snprintf(v.why, sizeof(v.why), "no hands know this tool");
	for (size_t i = 0; i < ARRAY_LEN(tools); i++) {
		if (strcmp(tools[i].tool, tool) != 0)
			continue;
		v.effects = tools[i].effect;
		v.decision = verdict_is_read(&v) ? p->on_read : p->on_other;
		snprintf(v.why, sizeof(v.why), "preset %s: %s for %s (effect %s)", p->name, decision_name(v.decision),
			 tool, v.effects);
		break;
	}
	*ret = v;
}

bool verdict_is_read(const struct verdict *v)
{
	return strcmp(v->effects, "read") == 0;
}
