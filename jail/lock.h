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

/* Ambient, inheritable, permitted and effective sets emptied; PR_SET_NO_NEW_PRIVS.  Where the caller holds CAP_SETPCAP
 * (in a user namespace of its own it does) the bounding set is emptied and the securebits are locked as well; where it
 * does not, no_new_privs alone keeps a set-id file from giving anything. */
int lock_capabilities(struct err *err) WARN_UNUSED;

/* For a process that stays privileged (the keeper started by root): every set is cut down to `caps` (n numbers of
 * capability.h), the bounding set too, and PR_SET_NO_NEW_PRIVS.  Without privilege there is nothing to cut. */
int lock_keep_capabilities(const int *caps, size_t n, struct err *err) WARN_UNUSED;

struct lock_path {
	const char *path;
	bool write;
	bool exec;
};
/* Landlock to the ABI found: reading below `paths` (missing ones skipped, symbolic links followed), writing where
 * `write`, but never making a device; executing where `exec`.  From ABI 4 no TCP bind or connect when !tcp, ABI 5
 * ioctls on devices only for writable paths at or below /dev, ABI 6 no abstract socket of, and no signal to, a process
 * outside when `scope`.  Wants no_new_privs, so lock_capabilities comes first.  *ret_abi 0: none here (not an error:
 * the caller decides about the level). */
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
#define LOCK_PROBES_MAX 64
/* A folder (mode 0777) that the builder of a cell's root mounts as a tiny writable tmpfs and that no writable path
 * given to lock_landlock covers: all that keeps it shut is Landlock. */
#define LOCK_CANARY "/.landlock"
/* Tries, in a locked cell, what must be refused (each is harmless when it succeeds).  Fills up to `max` results, of
 * which LOCK_PROBES_MAX is enough, and returns how many of all did not come out as wanted.  Only where there is no
 * Landlock at all (*ret_abi 0) may, and does, the one of layer "landlock" fail. */
size_t lock_selfcheck(struct lock_probe *ret, size_t max, size_t *ret_n);

#endif
