/* Attacks on files and mounts; the argument is a path. */
#include "tests/jail/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static int probe_read(const char *path)
{
	char byte;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return errno;
	int r = read(fd, &byte, 1) < 0 ? errno : 0;
	close(fd);
	return r;
}

static int probe_list(const char *path)
{
	return probe_opened(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

static int probe_write(const char *path)
{
	return probe_opened(open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
}

static int probe_create(const char *path)
{
	int r = probe_opened(open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));

	if (!r)
		unlink(path);
	return r;
}

static int made(int result, const char *path)
{
	int r = result < 0 ? errno : 0;

	if (!r)
		unlink(path);
	return r;
}

static int probe_device(const char *path)
{
	return made(mknod(path, S_IFCHR | 0600, 0x0101 /* mem */), path);
}

static int probe_whiteout(const char *path)
{
	return made(mknod(path, S_IFCHR | 0600, 0), path);
}

static int probe_whiteout_rename(const char *path)
{
	char to[4096];

	snprintf(to, sizeof(to), "%s.to", path);
	if (probe_opened(open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)))
		return errno;
	int r = made(renameat2(AT_FDCWD, path, AT_FDCWD, to, RENAME_WHITEOUT), to);
	unlink(path);
	return r;
}

static int probe_setuid(const char *path)
{
	if (probe_opened(open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700)))
		return errno;

	int r = chmod(path, 04755) < 0 ? errno : 0;
	unlink(path);
	return r;
}

static int probe_mount(const char *path)
{
	if (mount("none", path, "tmpfs", 0, NULL) < 0)
		return errno;
	umount2(path, MNT_DETACH);
	return 0;
}

static int probe_remount(const char *path)
{
	return mount(NULL, path, NULL, MS_REMOUNT | MS_BIND, NULL) < 0 ? errno : 0;
}

static int probe_umount(const char *path)
{
	return umount2(path, MNT_DETACH) < 0 ? errno : 0;
}

static int probe_handle(const char *path)
{
	struct {
		struct file_handle head;
		char bytes[128];
	} handle = { .head.handle_bytes = 128 };
	int mount_id;

	if (name_to_handle_at(AT_FDCWD, path, &handle.head, &mount_id, 0) < 0)
		return errno;
	return probe_opened(open_by_handle_at(AT_FDCWD, &handle.head, O_RDONLY | O_CLOEXEC));
}

static int probe_setns(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return errno;
	int r = setns(fd, 0) < 0 ? errno : 0;
	close(fd);
	return r;
}

const struct probe probe_files[] = {
	{ "read", probe_read, true },
	{ "list", probe_list, true },
	{ "write", probe_write, true },
	{ "create", probe_create, true },
	{ "device", probe_device, true },
	{ "whiteout", probe_whiteout, true },
	{ "whiteout-rename", probe_whiteout_rename, true },
	{ "setuid", probe_setuid, true },
	{ "mount", probe_mount, true },
	{ "remount", probe_remount, true },
	{ "umount", probe_umount, true },
	{ "handle", probe_handle, true },
	{ "setns", probe_setns, true },
	{ 0 },
};
