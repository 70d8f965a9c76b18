#include "core/base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>

int path_open_beneath(int dirfd, const char *path, int flags, mode_t mode)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
		/* openat2 refuses a mode that would not be used */
		.mode = flags & (O_CREAT | __O_TMPFILE) ? mode : 0,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};

	/* EAGAIN: something was renamed meanwhile and the kernel cannot tell whether ".." stayed beneath. */
	for (int i = 0; i < 64; i++) {
		long fd = syscall(SYS_openat2, dirfd, path, &how, sizeof(how));

		if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
			return (int)fd;
	}
	return -1;
}

/* What an errno of opening means to the caller. */
static int open_code(int errnum)
{
	switch (errnum) {
	case ENOENT:
		return E_NOTFOUND;
	case ENOSYS:
		return E_MACHINE;
	case ELOOP:
	case EXDEV:
	case ENOTDIR:
		return E_INVALID;
	case EACCES:
	case EPERM:
		return E_DENIED;
	default:
		return E_IO;
	}
}

/* Opens one folder of the way, making it when it is missing. */
static int enter_folder(int at, const char *name)
{
	int fd = openat(at, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 || errno != ENOENT)
		return fd;

	mode_t old = umask(0);
	int r = mkdirat(at, name, 0700);
	int saved = errno;
	umask(old);
	errno = saved;
	if (r < 0 && errno != EEXIST)
		return -1;
	return openat(at, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int path_make_private(const char *path, struct err *err)
{
	if (path[0] != '/')
		return err_set(err, E_INVALID, "%s: not an absolute path", path);

	_cleanup_fd_ int at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (at < 0)
		return err_errno(err, E_IO, errno, "/");

	for (const char *p = path;;) {
		p += strspn(p, "/");
		size_t len = strcspn(p, "/");
		if (!len)
			return 0;

		char name[NAME_MAX + 1];
		if (len > NAME_MAX)
			return err_errno(err, E_INVALID, ENAMETOOLONG, "%s", path);
		memcpy(name, p, len);
		name[len] = '\0';

		int next = enter_folder(at, name);
		if (next < 0)
			return err_errno(err, open_code(errno), errno, "making the folder %s", path);
		close(at);
		at = next;
		p += len;
	}
}

int path_open_private(const char *path, int *ret_fd, struct err *err)
{
	struct stat st;
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return err_errno(err, open_code(errno), errno, "%s", path);
	if (fstat(fd, &st) < 0)
		return err_errno(err, E_IO, errno, "%s", path);
	if (st.st_uid != geteuid())
		return err_set(err, E_DENIED, "%s: belongs to uid %u, not to you; choose a folder of your own", path,
			       (unsigned)st.st_uid);
	if (st.st_mode & 077)
		return err_set(err, E_DENIED, "%s: mode %04o lets others in; run: chmod 700 %s", path,
			       (unsigned)st.st_mode & 07777, path);
	*ret_fd = steal_fd(&fd);
	return 0;
}

int path_read_fd(int fd, size_t max, struct buf *out, struct err *err)
{
	size_t start = out->len;
	int failed = out->failed;

	for (;;) {
		size_t have = out->len - start;
		/* One byte more than allowed tells a file of just `max` from a longer one. */
		size_t want = max - have < 65536 ? max - have + 1 : 65536;
		char chunk[65536];
		ssize_t got = read(fd, chunk, want);

		if (got < 0 && errno == EINTR)
			continue;
		if (got == 0)
			return 0;

		int code = 0;
		if (got < 0) {
			code = err_errno(err, E_IO, errno, "reading");
		} else if ((size_t)got > max - have) {
			code = err_set(err, E_LIMIT, "larger than the limit of %zu bytes", max);
		} else {
			buf_add(out, chunk, (size_t)got);
			code = buf_check(out, "reading", err);
		}
		if (code < 0) {
			out->len = start;
			out->failed = failed;
			if (out->data)
				out->data[start] = '\0';
			return code;
		}
	}
}

int path_read_file(int dirfd, const char *path, size_t max, struct buf *out, struct err *err)
{
	/* O_NONBLOCK: a FIFO without a writer would hold us here. */
	int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	_cleanup_fd_ int fd = dirfd == AT_FDCWD ? open(path, flags) : path_open_beneath(dirfd, path, flags, 0);
	struct stat st;

	if (fd < 0)
		return err_errno(err, open_code(errno), errno, "%s", path);
	if (fstat(fd, &st) < 0)
		return err_errno(err, E_IO, errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, E_INVALID, "%s: not a regular file", path);
	if (st.st_size > 0 && (uintmax_t)st.st_size > max)
		return err_set(err, E_LIMIT, "%s: larger than the limit of %zu bytes", path, max);

	int r = path_read_fd(fd, max, out, err);
	if (r < 0)
		err_prefix(err, "%s", path);
	return r;
}

int path_write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n >= 0) {
			p += n;
			len -= (size_t)n;
		} else if (errno == EAGAIN) {
			/* Somebody made the terminal or pipe that we share non-blocking. */
			struct pollfd wait = { .fd = fd, .events = POLLOUT };

			if (poll(&wait, 1, -1) < 0 && errno != EINTR)
				return -1;
		} else if (errno != EINTR) {
			return -1;
		}
	}
	return 0;
}

/* Fills the new file and makes it durable; -1 with errno. */
static int fill_file(int fd, const void *data, size_t len)
{
	if (fchmod(fd, 0600) < 0 || path_write_all(fd, data, len) < 0)
		return -1;
	return fsync(fd);
}

int path_write_file(int dirfd, const char *name, const void *data, size_t len, struct err *err)
{
	char temp[64];
	uint64_t random;

	if (!name[0] || strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return err_set(err, E_INVALID, "%s: not a plain file name", name);

	/* fsync needs a real descriptor of the folder; `dirfd` may be O_PATH or AT_FDCWD. */
	_cleanup_fd_ int dir = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || getrandom(&random, sizeof(random), 0) != sizeof(random))
		return err_errno(err, E_IO, errno, "%s", name);
	snprintf(temp, sizeof(temp), ".warder-%016llx.tmp", (unsigned long long)random);

	_cleanup_fd_ int fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_errno(err, E_IO, errno, "%s", name);
	if (fill_file(fd, data, len) < 0 || renameat(dir, temp, dir, name) < 0) {
		int saved = errno;

		unlinkat(dir, temp, 0);
		return err_errno(err, E_IO, saved, "writing %s", name);
	}
	if (fsync(dir) < 0)
		return err_errno(err, E_IO, errno, "writing %s", name);
	return 0;
}
