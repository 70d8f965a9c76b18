#include "jail/idmap.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "core/base/buf.h"
#include "jail/mount.h"

#define STACK_LEN 16384

int64_t idmap_real_id(int64_t base, int64_t owner, int64_t id)
{
	int64_t inside = id - base;

	if (inside < 0 || inside >= IDMAP_COUNT)
		return -1;
	if (inside == IDMAP_AGENT)
		return owner;
	return inside == owner ? IDMAP_AGENT : inside;
}

static void add_line(struct buf *map, int64_t from, int64_t to, int64_t count)
{
	if (count > 0)
		buf_addf(map, "%lld %lld %lld\n", (long long)from, (long long)to, (long long)count);
}

/* Identity over the range, with the agent and `owner` exchanged; lines of uid_map as user_namespaces(7) has them. */
static void add_exchange(struct buf *map, int64_t base, int64_t owner)
{
	int64_t low = owner < IDMAP_AGENT ? owner : IDMAP_AGENT;
	int64_t high = owner < IDMAP_AGENT ? IDMAP_AGENT : owner;

	if (low == high) {
		add_line(map, 0, base, IDMAP_COUNT);
		return;
	}
	add_line(map, 0, base, low);
	if (high < IDMAP_COUNT) {
		add_line(map, low, base + high, 1);
		add_line(map, low + 1, base + low + 1, high - low - 1);
		add_line(map, high, base + low, 1);
		add_line(map, high + 1, base + high + 1, IDMAP_COUNT - high - 1);
	} else {
		add_line(map, IDMAP_AGENT + 1, base + IDMAP_AGENT + 1, IDMAP_COUNT - IDMAP_AGENT - 1);
		add_line(map, owner, base + IDMAP_AGENT, 1);
	}
}

static int write_file(pid_t pid, const char *name, const char *text, struct err *err)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	_cleanup_fd_ int fd = open(path, O_WRONLY | O_CLOEXEC);
	/* The kernel takes a map in one write or not at all. */
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		return err_errno(err, E_MACHINE, errno, "writing %s of the new user namespace", name);
	return 0;
}

int idmap_write(pid_t pid, int64_t base, struct err *err)
{
	_cleanup_buf_ struct buf map = BUF_INIT(256);

	add_line(&map, 0, base, IDMAP_COUNT);
	int r = write_file(pid, "uid_map", buf_str(&map), err);
	return r < 0 ? r : write_file(pid, "gid_map", buf_str(&map), err);
}

/* Shares our memory, so it may do nothing; and must not outlive us. */
static int sleeper(void *arg)
{
	(void)arg;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
	return 0;
}

static int write_and_open(pid_t pid, int64_t base, uid_t uid, gid_t gid, int *ret_userns, struct err *err)
{
	_cleanup_buf_ struct buf uids = BUF_INIT(1024);
	_cleanup_buf_ struct buf gids = BUF_INIT(1024);
	char path[64];

	add_exchange(&uids, base, uid);
	add_exchange(&gids, base, gid);
	int r = write_file(pid, "uid_map", buf_str(&uids), err);
	if (r >= 0)
		r = write_file(pid, "gid_map", buf_str(&gids), err);
	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	*ret_userns = open(path, O_RDONLY | O_CLOEXEC);
	return *ret_userns < 0 ? err_errno(err, E_MACHINE, errno, "%s", path) : 0;
}

int idmap_open(int64_t base, uid_t uid, gid_t gid, int *ret_userns, struct err *err)
{
	sigset_t all, old;
	char *stack = mmap(NULL, STACK_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	int userns = -1;

	if (stack == MAP_FAILED)
		return err_set(err, E_NOMEM, "user namespace for the id map: out of memory");
	/* A handler of ours must not run in the helper; it starts with our mask and never changes it. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	pid_t pid = clone(sleeper, stack + STACK_LEN, CLONE_NEWUSER | CLONE_VM, NULL);
	int why = errno;
	sigprocmask(SIG_SETMASK, &old, NULL);

	int r = pid < 0 ? err_set(err, E_MACHINE, "clone(CLONE_NEWUSER): %s", strerror(why))
			: write_and_open(pid, base, uid, gid, &userns, err);
	if (pid > 0) {
		kill(pid, SIGKILL);
		while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
			;
	}
	munmap(stack, STACK_LEN);
	if (r >= 0)
		*ret_userns = userns;
	return r;
}

int idmap_mount(int fd, int userns, bool writable, int *ret_mount, struct err *err)
{
	_cleanup_fd_ int copy = -1;
	int r = mount_clone(fd, false, writable ? MOUNT_WRITABLE : MOUNT_READ_ONLY, &copy, err);

	if (r < 0)
		return r;
	if (userns >= 0) {
		struct mount_attr map = { .attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (uint64_t)userns };

		if (mount_setattr(copy, "", AT_EMPTY_PATH, &map, sizeof(map)) < 0)
			return err_errno(err, E_MACHINE, errno, "mount_setattr(MOUNT_ATTR_IDMAP)");
	}
	*ret_mount = steal_fd(&copy);
	return 0;
}
