/*
 * probe: what the files of the program `probe` share (see probe.c).
 */
#ifndef WARDER_TESTS_JAIL_PROBE_H
#define WARDER_TESTS_JAIL_PROBE_H

#include <stdbool.h>

#include "core/base/macro.h"

#define PROBE_SIGNAL 1000 /* a result: this plus the signal that ended the attempt */

/* One attack; 0, an errno, or a signal.  Lists end with a NULL name. */
struct probe {
	const char *name;
	int (*try)(const char *arg); /* "" when there is none */
	bool wants_arg;
};
extern const struct probe probe_files[], probe_nets[], probe_processes[];

/* One that prints lines of its own. */
struct probe_show {
	const char *name;
	void (*print)(const char *arg);
};
extern const struct probe_show probe_shows[];

/* The result of a call that gave a descriptor, which is closed. */
int probe_opened(int fd);

#endif
