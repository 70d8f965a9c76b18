#include "core/changes/select.h"

#include <string.h>

bool select_covers(const char *path, const char *const *paths, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(paths[i]);

		while (len > 1 && paths[i][len - 1] == '/')
			len--;
		if (strncmp(path, paths[i], len) == 0 && (path[len] == '\0' || path[len] == '/'))
			return true;
	}
	return false;
}

bool select_change(const struct change *c, const char *const *paths, size_t n)
{
	if (c->status == CHANGE_WITHHELD)
		return false;
	return n ? select_covers(c->path, paths, n) : c->status == CHANGE_OK && !c->runs_later;
}

const char *select_stranger(const struct manifest *m, const char *const *paths, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		bool found = false;

		for (size_t k = 0; !found && k < m->n; k++)
			found = select_covers(m->change[k].path, &paths[i], 1);
		if (!found)
			return paths[i];
	}
	return NULL;
}
