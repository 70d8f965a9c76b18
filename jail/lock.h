/*
 * lock: what a process of ours does to itself before the first outside byte: non-dumpable, no new privileges,
 * capabilities, Landlock, seccomp, rlimits, keyring; and the proof that it holds.  libc only: warder-hand links it.
 * Nothing here can be undone, and every function fails closed.
 */
#ifndef WARDER_JAIL_LOCK_H
#define WARDER_JAIL_LOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/macro.h"

/* First act after exec: PR_SET_DUMPABLE 0 and RLIMIT_CORE 0. */
int lock_undumpable(struct err *err) WARN_UNUSED;

/* Joins a new, empty session keyring (must precede the filter, which refuses keyctl). */
int lock_keyring(struct err *err) WARN_UNUSED;

/* Bounding, ambient, inheritable, permitted and effective sets emptied; securebits locked; PR_SET_NO_NEW_PRIVS. */
int lock_capabilities(struct err *err) WARN_UNUSED;

struct lock_path {
	const char *path;
	bool write;
	bool exec;
};
/* Landlock to the ABI found: reading/executing `paths` (missing ones skipped), writing where `write`; from ABI 4 no TCP bind or connect when !tcp, ABI 5
 * device ioctls only where needed, ABI 6 scopes abstract sockets and signals (`scope_signals`).  *ret_abi 0: none here
 * (not an error: the caller decides about the level). */
struct lock_landlock {
	const struct lock_path *paths;
	size_t npaths;
	bool tcp;
	bool scope;
};
int lock_landlock(const struct lock_landlock *spec, int *ret_abi, struct err *err) WARN_UNUSED;

/* Loads a program of filter.h. */
int lock_seccomp(const void *program, size_t len, struct err *err) WARN_UNUSED;

/* One thing that must be refused, or must work, in the locked process. */
struct lock_probe {
	const char *layer; /* "seccomp", "landlock", "caps", "network", ... */
	const char *what;  /* "unshare(CLONE_NEWUSER)" */
	int want;          /* errno expected; 0: must succeed */
	int got;
};
#define LOCK_PROBES_MAX 48
/* Tries them all in this process (each is harmless when it succeeds). Returns how many did not come out as wanted. */
size_t lock_selfcheck(struct lock_probe *ret, size_t max, size_t *ret_n);

#endif
