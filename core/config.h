/*
 * config: the configuration file: `key = value` lines, `[brain NAME]` sections, `#` comments, UTF-8.  It refuses what
 * it does not know, with the exact position, and never runs or resolves anything.
 */
#ifndef WARDER_CONFIG_H
#define WARDER_CONFIG_H

#include <stddef.h>

#include "core/base/err.h"
#include "core/base/macro.h"
#include "jail/cell.h"

#define CONFIG_BRAINS_MAX 64
#define CONFIG_SIZE_MAX (256u << 10) /* bytes of the file */

struct config_brain {
	char *name;
	char *kind, *model, *base_url, *key_env, *key_command;
	long max_tokens; /* 0: not set */
	int line;        /* of the section's header */
};

struct config {
	char *brain;  /* NULL: not set */
	char *preset; /* NULL: not set */
	enum cell_level floor;
	struct config_brain brains[CONFIG_BRAINS_MAX];
	size_t nbrains;
};

/* A missing file is an empty configuration.  E_USAGE with "FILE:LINE:COL: WHY; WHAT TO DO". */
int config_read(const char *path, struct config *ret, struct err *err) WARN_UNUSED;
/* The same for text that is in memory. */
int config_parse(const char *name, const char *text, size_t len, struct config *ret, struct err *err) WARN_UNUSED;
void config_free(struct config *c);
#define _cleanup_config_ _cleanup_(config_free)

const struct config_brain *config_find_brain(const struct config *c, const char *name);

#endif
