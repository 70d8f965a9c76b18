#include "jail/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "core/base/path.h"
#include "jail/mountinfo.h"

#define LIST_MAX (1u << 20)
#define PREFIX "warder-"

/* What to write where; v1 and v2 differ in the names alone. */
struct bound {
	const char *file[2]; /* v1, v2 */
	bool optional;       /* swap accounting can be off */
};
static const struct {
	const char *controller;
	struct bound bounds[2];
} kinds[CGROUP_KINDS] = {
	[CGROUP_MEMORY] = { "memory",
			    { { { "memory.limit_in_bytes", "memory.max" }, false },
			      { { "memory.memsw.limit_in_bytes", "memory.swap.max" }, true } } },
	[CGROUP_PIDS] = { "pids", { { { "pids.max", "pids.max" }, false } } },
};

static bool read_list(const char *path, struct buf *text)
{
	return path_read_file(AT_FDCWD, path, LIST_MAX, text, NULL) == 0 && text->len;
}

/* `word` in a list whose items end at one of `stops`. */
static bool lists(const char *list, const char *word, const char *stops)
{
	size_t len = strlen(word);

	for (const char *p = list; *p; p += strcspn(p, stops), p += strspn(p, stops))
		if (strncmp(p, word, len) == 0 && (!p[len] || strchr(stops, p[len])))
			return true;
	return false;
}

/* Our group in the hierarchy of `controller` (NULL: version 2), from lines "4:memory,hugetlb:/path" and "0::/path". */
static bool own_group(const char *controller, char ret[PATH_MAX])
{
	_cleanup_buf_ struct buf text = BUF_INIT(LIST_MAX);
	char *save = NULL;

	if (!read_list("/proc/self/cgroup", &text))
		return false;
	for (char *line = strtok_r(text.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *names = strchr(line, ':');
		char *path = names ? strchr(names + 1, ':') : NULL;

		if (!path)
			continue;
		*path++ = '\0';
		if (controller ? !lists(names + 1, controller, ",") : names[1] != '\0')
			continue;
		snprintf(ret, PATH_MAX, "%s", path);
		return true;
	}
	return false;
}

/* Where that hierarchy is mounted, and which of its groups is at the top there. */
static bool mount_point(const char *controller, char ret_point[PATH_MAX], char ret_root[PATH_MAX])
{
	_cleanup_mountinfo_ struct mountinfo mounts;
	struct mountinfo_line l;
	int r = mountinfo_open(&mounts, AT_FDCWD, "/proc/self/mountinfo", NULL);

	while (r >= 0 && (r = mountinfo_next(&mounts, &l, NULL)) > 0) {
		bool it = controller ? strcmp(l.type, "cgroup") == 0 && lists(l.super_options, controller, ",")
				     : strcmp(l.type, "cgroup2") == 0;

		if (it)
			return snprintf(ret_point, PATH_MAX, "%s", l.point) < PATH_MAX &&
			       snprintf(ret_root, PATH_MAX, "%s", l.root) < PATH_MAX;
	}
	return false;
}

/* The folder of our own group; its length up to the mount point in *ret_top. */
static bool own_folder(const char *controller, char ret[PATH_MAX], size_t *ret_top)
{
	char group[PATH_MAX], point[PATH_MAX], root[PATH_MAX];
	const char *below = group;

	if (!own_group(controller, group) || !mount_point(controller, point, root))
		return false;
	size_t len = strcmp(root, "/") == 0 ? 0 : strlen(root);
	if (strncmp(group, root, len) == 0)
		below = group + len;
	if (strcmp(below, "/") == 0)
		below = "";
	if (snprintf(ret, PATH_MAX, "%s%s", point, below) >= PATH_MAX)
		return false;
	*ret_top = strlen(point);
	return true;
}

static int write_value(const char *folder, const char *file, const char *value)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", folder, file) >= (int)sizeof(path))
		return ENAMETOOLONG;
	_cleanup_fd_ int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		return errno;
	return 0;
}

/* Version 2 lets a group bound its children only by what it passes on, so the nearest one above that passes it on. */
static bool passes_on(const char *folder, const char *controller)
{
	_cleanup_buf_ struct buf text = BUF_INIT(LIST_MAX);
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/cgroup.subtree_control", folder) >= (int)sizeof(path))
		return false;
	return read_list(path, &text) && lists(text.data, controller, " \n");
}

/* The folder to make a group in; *ret_version 0 or 1 for the columns of the table. */
static bool place_for(const char *controller, char ret[PATH_MAX], int *ret_version)
{
	size_t top;

	*ret_version = 0;
	if (own_folder(controller, ret, &top))
		return true;
	*ret_version = 1;
	if (!own_folder(NULL, ret, &top))
		return false;
	while (!passes_on(ret, controller)) {
		char *slash = strrchr(ret, '/');

		if (!slash || (size_t)(slash - ret) < top)
			return false;
		*slash = '\0';
	}
	return true;
}

/* When a process began, in ticks since boot: with the pid it names a process for ever.  0: there is none. */
static unsigned long long started(pid_t pid)
{
	_cleanup_buf_ struct buf text = BUF_INIT(4096);
	unsigned long long ticks = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (!read_list(path, &text))
		return 0;
	/* The name may hold anything; field 22, the 20th after it (proc_pid_stat(5)). */
	const char *at = strrchr(text.data, ')');
	if (at && sscanf(at + 1, "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
			 &ticks) != 1)
		return 0;
	return ticks;
}

/* Groups of supervisors that were killed: their init is no more. */
static void sweep(const char *folder)
{
	DIR *dir = opendir(folder);
	bool removed = dir != NULL;

	/* Listing skips some when others are removed meanwhile. */
	while (removed) {
		removed = false;
		rewinddir(dir);
		for (struct dirent *e; (e = readdir(dir));) {
			unsigned long long ticks;
			int pid;

			if (sscanf(e->d_name, PREFIX "%d-%llu", &pid, &ticks) == 2 && started(pid) != ticks &&
			    unlinkat(dirfd(dir), e->d_name, AT_REMOVEDIR) == 0)
				removed = true;
		}
	}
	if (dir)
		closedir(dir);
}

static int enter(const char *folder, int version, const struct bound bounds[2], pid_t pid, uint64_t value)
{
	char text[32];
	int why = 0;

	for (int i = 0; i < 2 && !why; i++) {
		const struct bound *b = &bounds[i];
		/* Version 1 counts memory and swap together, version 2 apart. */
		uint64_t v = b->optional && version ? 0 : value;

		if (!b->file[version])
			continue;
		snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
		why = write_value(folder, b->file[version], text);
		if (b->optional)
			why = 0;
	}
	snprintf(text, sizeof(text), "%d", (int)pid);
	return why ? why : write_value(folder, "cgroup.procs", text);
}

static bool make(struct cgroup *cg, int kind, pid_t pid, uint64_t value, char why[160])
{
	const char *controller = kinds[kind].controller;
	char *path = cg->path[kind];
	int version, r;

	if (!place_for(controller, path, &version)) {
		snprintf(why, 160, "no group that passes the controller %s on", controller);
		path[0] = '\0';
		return false;
	}
	sweep(path);
	size_t len = strlen(path);
	/* A hierarchy with both controllers has the one group for both. */
	bool made = snprintf(path + len, PATH_MAX - len, "/" PREFIX "%d-%llu", (int)pid, started(pid)) <
			    (int)(PATH_MAX - len) &&
		    (mkdir(path, 0755) == 0 || errno == EEXIST);
	r = made ? enter(path, version, kinds[kind].bounds, pid, value) : errno;
	if (!r)
		return true;
	snprintf(why, 160, "%s: %s", controller, strerror(r));
	if (made)
		rmdir(path);
	path[0] = '\0';
	return false;
}

void cgroup_enter(struct cgroup *ret, pid_t pid, uint64_t memory_bytes, uint64_t processes, char why[160])
{
	memset(ret, 0, sizeof(*ret));
	why[0] = '\0';
	ret->memory = make(ret, CGROUP_MEMORY, pid, memory_bytes, why);
	ret->pids = make(ret, CGROUP_PIDS, pid, processes, why);
}

void cgroup_leave(struct cgroup *cg)
{
	for (int kind = 0; kind < CGROUP_KINDS; kind++) {
		const char *path = cg->path[kind];

		if (!path[0])
			continue;
		/* The kernel counts a process out a moment after it has been waited for. */
		for (int i = 0; i < 50 && rmdir(path) < 0 && errno == EBUSY; i++)
			nanosleep(&(struct timespec){ .tv_nsec = 4000000 }, NULL);
	}
	memset(cg, 0, sizeof(*cg));
}
