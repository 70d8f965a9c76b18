/* Network, limits and the lock of init itself; and the proof. */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "jail/init_internal.h"
#include "jail/limits.h"
#include "jail/lock.h"

int init_network(struct init *in, struct err *err)
{
	_cleanup_fd_ int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	struct sockaddr_in away = { .sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(0xc0000201) };

	if (s < 0)
		return err_errno(err, E_IO, errno, "socket");
	if (ioctl(s, SIOCSIFFLAGS, &lo) < 0)
		return err_errno(err, E_IO, errno, "bringing lo up");
	/* 192.0.2.1 is nobody's (RFC 5737).  No packet leaves for it even where there is a route. */
	if (connect(s, (struct sockaddr *)&away, sizeof(away)) == 0)
		return err_set(err, E_MACHINE, "there is a route out of the new network namespace");
	init_found(in, JAIL_NETWORK, LAYER_OK, "lo up; connect(192.0.2.1) -> %s", strerrorname_np(errno));
	return 0;
}

/* Lowers both bounds; a lower one that we came with stays. */
static int set_limit(int what, const char *name, uint64_t value, struct err *err)
{
	struct rlimit had;

	if (getrlimit((__rlimit_resource_t)what, &had) < 0)
		return err_errno(err, E_IO, errno, "%s", name);
	if (had.rlim_max != RLIM_INFINITY && had.rlim_max < value)
		value = had.rlim_max;

	struct rlimit set = { value, value };
	if (setrlimit((__rlimit_resource_t)what, &set) < 0)
		return err_errno(err, E_IO, errno, "%s", name);
	return 0;
}

static uint64_t or_default(uint64_t value, uint64_t fallback)
{
	return value ? value : fallback;
}

int init_limits(struct init *in, struct err *err)
{
	const struct cell_limits *l = &in->setup.limits;
	const struct {
		int what;
		const char *name;
		uint64_t value;
	} limits[] = {
		{ RLIMIT_CORE, "RLIMIT_CORE", 0 },
		{ RLIMIT_NPROC, "RLIMIT_NPROC", or_default(l->processes, LIMIT_PROCESSES) },
		{ RLIMIT_NOFILE, "RLIMIT_NOFILE", or_default(l->open_files, LIMIT_OPEN_FILES) },
		{ RLIMIT_FSIZE, "RLIMIT_FSIZE", or_default(l->file_bytes, LIMIT_FILE_BYTES) },
		{ RLIMIT_CPU, "RLIMIT_CPU", or_default(l->cpu_seconds, LIMIT_CPU_SECONDS) },
		/* Only when it was asked for, and as the second best: see limits.h. */
		{ RLIMIT_DATA, "RLIMIT_DATA",
		  in->setup.flags & SETUP_MEMORY_BOUND ? RLIM_INFINITY : or_default(l->memory_bytes, RLIM_INFINITY) },
	};

	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		int r = set_limit(limits[i].what, limits[i].name, limits[i].value, err);

		if (r < 0)
			return r;
	}
	init_found(in, JAIL_LIMITS, LAYER_OK, "processes, files, open files, CPU time by rlimit");
	return 0;
}

int init_keyring(struct init *in, struct err *err)
{
	int r = lock_keyring(err);

	if (r >= 0)
		init_found(in, JAIL_KEYRING, LAYER_OK, "new session keyring joined");
	return r;
}

int init_capabilities(struct init *in, struct err *err)
{
	int r = lock_capabilities(err);

	if (r >= 0)
		init_found(in, JAIL_CAPS, LAYER_OK, "all sets empty, no_new_privs");
	return r;
}

int init_landlock(struct init *in, struct err *err)
{
	static const struct lock_path fixed[] = {
		{ "/", false, true },      { "/dev", true, false }, { "/dev/shm", true, true },
		{ INIT_HOME, true, true }, { "/tmp", true, true },
	};
	size_t n = ARRAY_LEN(fixed), rw = in->setup.rw.n;
	struct lock_path *paths = calloc(n + 1 + rw, sizeof(*paths));
	int abi = 0;

	if (!paths)
		return err_set(err, E_NOMEM, "out of memory");
	memcpy(paths, fixed, sizeof(fixed));
	paths[n++] = (struct lock_path){ in->setup.workspace.path, true, true };
	for (size_t i = 0; i < rw; i++)
		paths[n++] = (struct lock_path){ in->setup.rw.item[i], true, true };

	/* TCP is let be: the network namespace has no way out, and programs of the cell talk over its loopback. */
	const struct lock_landlock spec = { .paths = paths, .npaths = n, .tcp = true, .scope = true };
	int r = lock_landlock(&spec, &abi, err);
	free(paths);
	if (r < 0)
		return r;
	in->report.landlock_abi = (uint32_t)abi;
	if (abi >= 6)
		init_found(in, JAIL_LANDLOCK, LAYER_OK, "ABI %d", abi);
	else if (abi > 0)
		init_found(in, JAIL_LANDLOCK, LAYER_PARTIAL, "ABI %d: no %sscopes", abi,
			   abi < 2   ? "refer, truncate, device ioctls, "
			   : abi < 3 ? "truncate, device ioctls, "
			   : abi < 5 ? "device ioctls, "
				     : "");
	else
		init_found(in, JAIL_LANDLOCK, LAYER_MISSING, "landlock_create_ruleset: not there");
	return 0;
}

int init_seccomp(struct init *in, struct err *err)
{
	int r = lock_seccomp(in->setup.filter, in->setup.filter_len, err);

	if (r >= 0)
		init_found(in, JAIL_SECCOMP, LAYER_OK, "filter of %zu instructions loaded", in->setup.filter_len / 8);
	return r;
}

/* As many as there is room for: "clone3 -> ENOSYS; setns -> EPERM; ...". */
static void show_probe(struct init *in, const struct lock_probe *p)
{
	enum jail_layer layer = jail_layer_find(p->layer);
	bool as_wanted = p->got == p->want;

	if (layer == JAIL_NO_LAYER)
		return;

	struct setup_finding *f = &in->report.finding[layer];
	size_t len = strlen(f->evidence);
	char more[100];
	int n = snprintf(more, sizeof(more), "%s%s -> %s%s", len ? "; " : "", p->what,
			 p->got ? strerrorname_np(p->got) : "ok", as_wanted ? "" : " (not as it should be)");
	if (n > 0 && len + (size_t)n < sizeof(f->evidence))
		memcpy(f->evidence + len, more, (size_t)n + 1);
}

int init_prove(struct init *in, struct err *err)
{
	struct lock_probe probes[LOCK_PROBES_MAX];
	size_t n = 0;
	size_t bad = lock_selfcheck(probes, ARRAY_LEN(probes), &n);

	for (size_t i = 0; i < n; i++)
		show_probe(in, &probes[i]);
	if (!bad)
		return 0;
	for (size_t i = 0; i < n; i++) {
		const struct lock_probe *p = &probes[i];
		/* Where the kernel has none the level says so; where it has any, it must hold. */
		bool no_landlock = strcmp(p->layer, "landlock") == 0 && in->report.landlock_abi == 0;

		if (p->got == p->want || no_landlock)
			continue;
		in->blamed = jail_layer_find(p->layer);
		return err_set(err, E_MACHINE, "%s -> %s, wanted %s", p->what,
			       p->got ? strerrorname_np(p->got) : "ok", p->want ? strerrorname_np(p->want) : "ok");
	}
	return 0;
}
