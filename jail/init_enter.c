/* Entering the new root for good, and looking at what can be seen and written from there. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include "core/base/path.h"
#include "jail/init_internal.h"
#include "jail/lock.h"
#include "jail/mount.h"

#define MOUNTINFO_MAX (1u << 20)

static int open_inside(const char *path, int flags, int *ret_fd, struct err *err)
{
	_cleanup_fd_ int top = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const char *relative = path + strspn(path, "/");
	int fd = top < 0 ? -1 : path_open_beneath(top, *relative ? relative : ".", flags, 0);

	if (fd < 0)
		return err_errno(err, errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? E_NOTFOUND : E_IO, errno,
				 "%s in the cell", path);
	*ret_fd = fd;
	return 0;
}

int init_enter(struct init *in, struct err *err)
{
	struct mount_attr read_only = { .attr_set = MOUNT_ATTR_RDONLY };
	int r;

	if (mount_setattr(in->root, "", AT_EMPTY_PATH, &read_only, sizeof(read_only)) < 0)
		return err_errno(err, E_IO, errno, "making the root read-only");
	/* The working folder is the new root: the old one ends up on top of it and is taken off (pivot_root(2),
	 * "NOTES"). */
	if (fchdir(in->root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
		return err_errno(err, E_IO, errno, "pivot_root");
	if (umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		return err_errno(err, E_IO, errno, "leaving the old root");
	fd_close(&in->root);

	r = open_inside("/dev/null", O_RDWR, &in->null, err);
	if (r >= 0)
		r = open_inside("/proc", O_RDONLY | O_DIRECTORY, &in->proc, err);
	if (r >= 0)
		r = open_inside(in->setup.cwd, O_PATH | O_DIRECTORY, &in->cwd, err);
	return r;
}

static bool below(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	return strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

static bool may_write(const struct init *in, const char *path)
{
	static const char *const places[] = {
		"/tmp",      "/var/tmp",  INIT_HOME,     "/dev/shm",     "/dev/pts", "/dev/null",
		"/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", LOCK_CANARY,
	};

	if (strcmp(path, in->setup.workspace.path) == 0)
		return true;
	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		if (strcmp(path, places[i]) == 0)
			return true;
	for (size_t i = 0; i < in->setup.rw.n; i++)
		if (below(path, in->setup.rw.item[i]))
			return true;
	return false;
}

/* Space, tab, newline and backslash stand as \ooo (proc_pid_mountinfo(5)). */
static void unescape(char *s)
{
	char *out = s;

	for (; *s; s++) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] && s[3]) {
			*out++ = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
			s += 3;
		} else {
			*out++ = *s;
		}
	}
	*out = '\0';
}

/* One line: id, parent, device, root, mount point, options, ... */
static int check_line(struct init *in, char *line, struct err *err)
{
	char *save = NULL;
	char *field = strtok_r(line, " ", &save);
	char *point;

	for (int i = 0; field && i < 4; i++)
		field = strtok_r(NULL, " ", &save);
	point = field;
	field = strtok_r(NULL, " ", &save);
	if (!point || !field)
		return err_set(err, E_MACHINE, "/proc/self/mountinfo is unreadable");
	unescape(point);

	bool writable = strncmp(field, "rw", 2) == 0;
	if (writable && !may_write(in, point))
		return err_set(err, E_MACHINE, "%s is writable", point);

	size_t len = strlen(in->report.mounts);
	snprintf(in->report.mounts + len, sizeof(in->report.mounts) - len, "%s%s %s", len ? ", " : "", point,
		 writable ? "rw" : "ro");
	return 0;
}

int init_check_mounts(struct init *in, struct err *err)
{
	_cleanup_buf_ struct buf text = BUF_INIT(MOUNTINFO_MAX);
	char *save = NULL;
	unsigned n = 0;
	int r = path_read_file(in->proc, "1/mountinfo", MOUNTINFO_MAX, &text, err);

	if (r < 0)
		return r;
	for (char *line = strtok_r(text.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save), n++) {
		r = check_line(in, line, err);
		if (r < 0)
			return r;
	}
	if (!n)
		return err_set(err, E_MACHINE, "/proc/self/mountinfo is empty");
	init_found(in, JAIL_MOUNTS, LAYER_OK, "pivot_root ok; %u mounts, writable only where listed", n);
	return 0;
}
