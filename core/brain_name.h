/*
 * brain_name: what `-m NAME` means: a section of the configuration, or KIND:REST.  Nothing falls back to anything.
 */
#ifndef WARDER_BRAIN_NAME_H
#define WARDER_BRAIN_NAME_H

#include "core/base/buf.h"
#include "core/config.h"

struct brain_choice {
	char *name;        /* as the log shows it */
	char *kind;
	struct buf script; /* kind scripted: its text, checked */
};

/* `name` NULL: the configuration's default; E_USAGE when there is none either. */
int brain_choose(const char *name, const struct config *config, struct brain_choice *ret, struct err *err) WARN_UNUSED;
void brain_choice_free(struct brain_choice *c);
#define _cleanup_brain_choice_ _cleanup_(brain_choice_free)

#endif
