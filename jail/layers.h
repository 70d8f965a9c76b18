/*
 * layers: the protections of a cell by name, with what an operator can do where the machine lacks one.  A table; it
 * tries nothing.
 */
#ifndef WARDER_JAIL_LAYERS_H
#define WARDER_JAIL_LAYERS_H

#include <stdbool.h>

enum jail_layer {
	JAIL_USERNS,
	JAIL_IDMAP,
	JAIL_MOUNTS,
	JAIL_PROC,
	JAIL_OVERLAY,
	JAIL_NETWORK,
	JAIL_KEYRING,
	JAIL_CAPS,
	JAIL_LANDLOCK,
	JAIL_SECCOMP,
	JAIL_LIMITS,
	JAIL_BASELINE,
	JAIL_LAYERS,                 /* how many */
	JAIL_NO_LAYER = JAIL_LAYERS, /* a failure that is about the request, not about the machine */
};

struct jail_layer_info {
	const char *name;  /* of reports */
	const char *title; /* of refusals */
	const char *remedy;
	bool comfort; /* says nothing about the level */
};

const struct jail_layer_info *jail_layer_info(enum jail_layer layer);
/* By its name; JAIL_NO_LAYER for an unknown one. */
enum jail_layer jail_layer_find(const char *name);

#endif
