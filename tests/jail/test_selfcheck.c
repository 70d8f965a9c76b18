/* The self-check in a small cell made here (user, mount, net namespaces over an empty read-only root): whole, every
 * probe comes out as wanted; with one layer left out, the probes of that layer fail and no other. */
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "jail/filter.h"
#include "jail/lock_internal.h"
#include "tests/jail/child.h"
#include "tests/tap.h"

enum { NO_SECCOMP = 1, NO_CAPS = 2, NO_PROCESS = 4, NO_MOUNTS = 8, NO_NETWORK = 16, NO_LANDLOCK = 32, CHECK_ONLY = 64 };

static const struct {
	unsigned bit;
	const char *layer;
	int at_least; /* probes that must fail without it, on any kernel */
} layers[] = {
	{ NO_SECCOMP, "seccomp", 25 }, { NO_CAPS, "caps", 2 },       { NO_PROCESS, "process", 2 },
	{ NO_MOUNTS, "mounts", 1 },    { NO_NETWORK, "network", 1 }, { NO_LANDLOCK, "landlock", 1 },
};

static struct buf program = BUF_INIT(1 << 16);
static char dir[4096];

/* Results of the child, in memory that both share. */
static struct shared {
	char text[8192];
	int failed[ARRAY_LEN(layers)];
	size_t bad, n;
} *shared;

static int write_file(const char *path, const char *text)
{
	_cleanup_fd_ int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
}

/* Empty but for the canary; /etc/shadow too when the mounts are to fail. */
static int build_root(bool writable)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", dir, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755") < 0 || chdir(dir) < 0 ||
	    mkdir("." LOCK_CANARY, 0777) < 0 || mkdir("etc", 0755) < 0 ||
	    mount("none", "." LOCK_CANARY, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0777,size=4k,nr_inodes=2") < 0)
		return -1;
	if (writable && write_file("etc/shadow", "x") < 0)
		return -1;
	if (!writable && mount(NULL, dir, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) < 0)
		return -1;
	/* Entered anew, so that it is the mount on top. */
	return chdir(dir) < 0 || chroot(".") < 0 || chdir("/") < 0 ? -1 : 0;
}

static int enter(unsigned without)
{
	gid_t egid = getegid();
	char map[64];

	snprintf(map, sizeof(map), "1000 %u 1", (unsigned)geteuid());
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWIPC | (without & NO_NETWORK ? 0 : CLONE_NEWNET)) < 0)
		return -1;
	if (write_file("/proc/self/uid_map", map) < 0 || write_file("/proc/self/setgroups", "deny") < 0)
		return -1;
	snprintf(map, sizeof(map), "1000 %u 1", (unsigned)egid);
	if (write_file("/proc/self/gid_map", map) < 0)
		return -1;
	return build_root(without & NO_MOUNTS);
}

static int lock(unsigned without, struct err *err)
{
	const struct lock_path root = { .path = "/", .exec = true };
	const struct lock_landlock landlock = { &root, 1, true, true };
	int abi;

	if (!(without & NO_PROCESS) && lock_undumpable(err) < 0)
		return -1;
	if (lock_keyring(err) < 0 || (!(without & NO_CAPS) && lock_capabilities(err) < 0))
		return -1;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	if (!(without & NO_LANDLOCK) && lock_landlock(&landlock, &abi, err) < 0)
		return -1;
	return without & NO_SECCOMP ? 0 : lock_seccomp(program.data, program.len, err);
}

static int check(const void *arg)
{
	unsigned without = *(const unsigned *)arg;
	struct lock_probe probes[LOCK_PROBES_MAX];
	struct err err = { 0 };
	size_t used = 0;

	if (enter(without) < 0)
		return -errno;
	if (without & CHECK_ONLY)
		return 0;
	if (lock(without, &err) < 0) {
		snprintf(shared->text, sizeof(shared->text), "%s", err.text);
		return -1;
	}
	shared->bad = lock_selfcheck(probes, LOCK_PROBES_MAX, &shared->n);
	memset(shared->failed, 0, sizeof(shared->failed));
	for (size_t i = 0; i < shared->n; i++) {
		if (probes[i].got == probes[i].want)
			continue;
		for (size_t l = 0; l < ARRAY_LEN(layers); l++)
			shared->failed[l] += !strcmp(layers[l].layer, probes[i].layer);
		used += (size_t)snprintf(shared->text + used, sizeof(shared->text) - used,
					 "%s: %s: errno %d, want %d\n", probes[i].layer, probes[i].what, probes[i].got,
					 probes[i].want);
		if (used >= sizeof(shared->text))
			break;
	}
	return 0;
}

static void whole(unsigned landlock)
{
	int r = child_run(check, &landlock);

	if (!is_int(r, 0, "the cell is made and locked"))
		diag("%s", shared->text);
	ok(shared->n > 40 && shared->n <= LOCK_PROBES_MAX, "%zu probes", shared->n);
	if (!is_int(shared->bad, landlock ? 1 : 0, "every probe comes out as wanted%s",
		    landlock ? ", but Landlock's" : ""))
		diag("%s", shared->text);
}

static void without_layer(size_t l)
{
	unsigned bit = layers[l].bit;
	int others = 0;

	shared->text[0] = '\0';
	if (!is_int(child_run(check, &bit), 0, "a cell without the layer %s", layers[l].layer)) {
		diag("%s", shared->text);
		return;
	}
	if (bit == NO_NETWORK && shared->bad == 0) {
		skip("without the layer network: this machine itself has no way out");
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(layers); i++)
		others += i == l ? 0 : shared->failed[i];
	ok(shared->failed[l] >= layers[l].at_least, "%d of its probes fail", shared->failed[l]);
	if (!is_int(others, 0, "and no probe of another layer"))
		diag("%s", shared->text);
}

int main(void)
{
	struct err err = { 0 };
	size_t n = 99;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || filter_build(FILTER_CELL, &program, &err) < 0 || !fresh_folder(dir, "selfcheck")) {
		ok(false, "preparation: %s", err.text);
		return tap_end();
	}
	int possible = child_run(check, &(unsigned){ CHECK_ONLY });
	if (possible != 0) {
		skip("no user namespace with mounts here (errno %d)", -possible);
	} else {
		unsigned landlock = lock_landlock_abi() ? 0 : NO_LANDLOCK;

		whole(landlock);
		for (size_t l = 0; l < ARRAY_LEN(layers); l++)
			if (layers[l].bit != landlock)
				without_layer(l);
	}

	struct lock_probe one[1] = { 0 };
	size_t bad = lock_selfcheck(one, 1, &n);
	ok(bad > 20, "outside of a cell %zu probes fail", bad);
	is_int(n, 1, "no more results than there is room for");
	is_int(rmdir(dir), 0, "nothing is left behind");
	buf_free(&program);
	return tap_end();
}
