#include "core/harness/brain.h"

#include <string.h>

static const struct brain_ops *const brains[] = {
	&brain_scripted,
};

const struct brain_ops *brain_find(const char *kind)
{
	for (size_t i = 0; i < ARRAY_LEN(brains); i++)
		if (strcmp(brains[i]->kind, kind) == 0)
			return brains[i];
	return NULL;
}
