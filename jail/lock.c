#include "jail/lock.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "jail/lock_internal.h"

int lock_undumpable(struct err *err)
{
	static const struct rlimit none = { 0, 0 };

	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_errno(err, E_MACHINE, errno, "lock: PR_SET_DUMPABLE");
	if (setrlimit(RLIMIT_CORE, &none) < 0)
		return err_errno(err, E_MACHINE, errno, "lock: RLIMIT_CORE");
	return 0;
}

int lock_keyring(struct err *err)
{
	/* A kernel without keys has none to protect. */
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS)
		return err_errno(err, E_MACHINE, errno, "lock: a session keyring of its own");
	return 0;
}

/* ---- capabilities */

struct caps {
	struct __user_cap_header_struct header;
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
};

static int caps_get(struct caps *caps)
{
	*caps = (struct caps){ .header = { .version = _LINUX_CAPABILITY_VERSION_3 } };
	return (int)syscall(SYS_capget, &caps->header, caps->data);
}

static int caps_set(struct caps *caps)
{
	return (int)syscall(SYS_capset, &caps->header, caps->data);
}

bool lock_caps_empty(void)
{
	struct caps caps;

	if (caps_get(&caps) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(caps.data); i++)
		if (caps.data[i].effective || caps.data[i].permitted || caps.data[i].inheritable)
			return false;
	return true;
}

/* The kernel knows up to 64 capabilities and says EINVAL from the first one that it does not have. */
bool lock_bounding_empty(void)
{
	for (unsigned long cap = 0; cap < 64; cap++) {
		int has = prctl(PR_CAPBSET_READ, cap, 0, 0, 0);

		if (has < 0)
			return cap > 0 && errno == EINVAL;
		if (has)
			return false;
	}
	return true;
}

/* What needs CAP_SETPCAP, so it precedes the emptying of the sets. */
static int close_sources(struct err *err)
{
	static const unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
					  SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
					  SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;

	for (unsigned long cap = 0; cap < 64 && prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
			return err_errno(err, E_MACHINE, errno, "lock: capability %lu from the bounding set", cap);
	if (!lock_bounding_empty())
		return err_set(err, E_MACHINE, "lock: the bounding set is not empty after emptying it");
	if (prctl(PR_SET_SECUREBITS, bits, 0, 0, 0) < 0)
		return err_errno(err, E_MACHINE, errno, "lock: securebits");
	return 0;
}

int lock_capabilities(struct err *err)
{
	const uint32_t setpcap = UINT32_C(1) << CAP_SETPCAP;
	struct caps caps;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_errno(err, E_MACHINE, errno, "lock: no_new_privs");
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return err_errno(err, E_MACHINE, errno, "lock: ambient capabilities");
	if (caps_get(&caps) < 0)
		return err_errno(err, E_MACHINE, errno, "lock: reading the capabilities");

	if (caps.data[0].permitted & setpcap) {
		caps.data[0].effective |= setpcap;
		if (caps_set(&caps) < 0)
			return err_errno(err, E_MACHINE, errno, "lock: raising CAP_SETPCAP");
		int r = close_sources(err);
		if (r < 0)
			return r;
	}

	for (size_t i = 0; i < ARRAY_LEN(caps.data); i++)
		caps.data[i] = (struct __user_cap_data_struct){ 0 };
	if (caps_set(&caps) < 0)
		return err_errno(err, E_MACHINE, errno, "lock: emptying the capabilities");
	if (!lock_caps_empty() || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return err_set(err, E_MACHINE, "lock: capabilities are left after emptying them");
	return 0;
}

int lock_keep_capabilities(const int *caps, size_t n, struct err *err)
{
	uint32_t keep[2] = { 0 };
	struct caps now;

	for (size_t i = 0; i < n; i++)
		keep[CAP_TO_INDEX(caps[i])] |= CAP_TO_MASK(caps[i]);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_errno(err, E_MACHINE, errno, "lock: no_new_privs");
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 || caps_get(&now) < 0)
		return err_errno(err, E_MACHINE, errno, "lock: reading the capabilities");
	if (!now.data[0].permitted && !now.data[1].permitted)
		return 0;
	for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		if (!(keep[CAP_TO_INDEX(cap)] & CAP_TO_MASK(cap)) && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
			return err_errno(err, E_MACHINE, errno, "lock: bounding set");
	for (size_t i = 0; i < ARRAY_LEN(now.data); i++) {
		now.data[i].permitted &= keep[i];
		now.data[i].effective &= keep[i];
		now.data[i].inheritable = 0;
	}
	return caps_set(&now) < 0 ? err_errno(err, E_MACHINE, errno, "lock: cutting down the capabilities") : 0;
}

/* ---- seccomp */

int lock_seccomp(const void *program, size_t len, struct err *err)
{
	size_t n = len / sizeof(struct sock_filter);

	if (!n || len % sizeof(struct sock_filter) || n > BPF_MAXINSNS)
		return err_set(err, E_INVALID, "lock: %zu bytes are no seccomp program", len);

	struct sock_fprog prog = { .len = (unsigned short)n, .filter = (struct sock_filter *)(uintptr_t)program };
	long r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &prog);
	if (r < 0)
		return err_errno(err, E_MACHINE, errno, "lock: loading the seccomp filter");
	if (r > 0)
		return err_set(err, E_MACHINE, "lock: thread %ld cannot take the seccomp filter", r);
	return 0;
}
