/*
 * scratch: a folder of its own for a test, gone at the end.  The clean-up does not use the code under test.
 */
#ifndef WARDER_TESTS_SCRATCH_H
#define WARDER_TESTS_SCRATCH_H

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct scratch {
	char path[64];
	int fd;
};

static inline void scratch_make(struct scratch *s)
{
	snprintf(s->path, sizeof(s->path), "/tmp/warder-test-XXXXXX");
	if (!mkdtemp(s->path) || (s->fd = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0) {
		perror("scratch folder");
		exit(99);
	}
}

/* False where openat2 is missing: before Linux 5.6, and under valgrind 3.19. */
static inline bool scratch_has_openat2(void)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC };
	long fd = syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof(how));

	if (fd >= 0)
		close((int)fd);
	return fd >= 0 || errno != ENOSYS;
}

static inline int scratch_remove_one_(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static inline void scratch_end(struct scratch *s)
{
	close(s->fd);
	nftw(s->path, scratch_remove_one_, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

static inline void scratch_must_(int result, const char *name)
{
	if (result < 0) {
		perror(name);
		exit(99);
	}
}

static inline void scratch_dir(const struct scratch *s, const char *name)
{
	scratch_must_(mkdirat(s->fd, name, 0755), name);
}

static inline void scratch_symlink(const struct scratch *s, const char *target, const char *name)
{
	scratch_must_(symlinkat(target, s->fd, name), name);
}

static inline void scratch_mode(const struct scratch *s, const char *name, mode_t mode)
{
	scratch_must_(fchmodat(s->fd, name, mode, 0), name);
}

/* A file with this text; its folder must be there. */
static inline void scratch_file(const struct scratch *s, const char *name, const char *text)
{
	int fd = openat(s->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	scratch_must_(fd, name);
	scratch_must_(dprintf(fd, "%s", text), name);
	close(fd);
}

#endif
