#include "jail/content.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "core/base/path.h"

#define CHUNK 65536u
#define SMALL (256u << 10) /* files up to here are read once and written only when they are new */
#define TEMP_LEN 32

static bool all_zero(const char *p, size_t len)
{
	return len && p[0] == 0 && memcmp(p, p + 1, len - 1) == 0;
}

/* Reads `from` to its end; hashes; writes to `to` unless that is -1. */
static int pass(int from, int to, uint64_t max, uint8_t ret_digest[DIGEST_LEN], uint64_t *ret_size, struct err *err)
{
	char chunk[CHUNK];
	struct digest d;
	uint64_t at = 0;

	digest_init(&d);
	for (;;) {
		ssize_t got = pread(from, chunk, sizeof(chunk), (off_t)at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_errno(err, E_IO, errno, "reading a file's content");
		if (got == 0)
			break;
		if ((uint64_t)got > max - at)
			return err_set(err, E_LIMIT, "a file's content: larger than the limit of %llu bytes",
				       (unsigned long long)max);
		digest_add(&d, chunk, (size_t)got);
		at += (uint64_t)got;
		if (to < 0)
			continue;
		if (all_zero(chunk, (size_t)got) ? lseek(to, got, SEEK_CUR) < 0
						 : path_write_all(to, chunk, (size_t)got) < 0)
			return err_errno(err, E_IO, errno, "storing a file's content");
	}
	/* A hole at the end is no write. */
	if (to >= 0 && ftruncate(to, (off_t)at) < 0)
		return err_errno(err, E_IO, errno, "storing a file's content");
	digest_end(&d, ret_digest);
	*ret_size = at;
	return 0;
}

int content_digest_fd(int fd, uint8_t ret_digest[DIGEST_LEN], uint64_t *ret_size, struct err *err)
{
	return pass(fd, -1, UINT64_MAX, ret_digest, ret_size, err);
}

int content_copy(int from, int to, uint64_t max, uint8_t ret_digest[DIGEST_LEN], uint64_t *ret_size, struct err *err)
{
	return pass(from, to, max, ret_digest, ret_size, err);
}

/* The size is compared because a power cut before content_sync can leave a name without its bytes. */
static bool stored(int content_fd, const uint8_t digest[DIGEST_LEN], uint64_t size)
{
	char name[DIGEST_HEX_LEN + 1];
	struct stat st;

	return fstatat(content_fd, digest_hex(digest, name), &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	       (uint64_t)st.st_size == size;
}

static int open_temp(int content_fd, char name[TEMP_LEN], int *ret_fd, struct err *err)
{
	uint64_t random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return err_errno(err, E_IO, errno, "storing a file's content");
	snprintf(name, TEMP_LEN, "temp-%016llx", (unsigned long long)random);
	*ret_fd = openat(content_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (*ret_fd < 0)
		return err_errno(err, E_IO, errno, "storing a file's content");
	if (fchmod(*ret_fd, 0600) < 0) {
		int saved = errno;

		unlinkat(content_fd, name, 0);
		fd_close(ret_fd);
		return err_errno(err, E_IO, saved, "storing a file's content");
	}
	return 0;
}

static int name_temp(int content_fd, const char *temp, const uint8_t digest[DIGEST_LEN], struct err *err)
{
	char name[DIGEST_HEX_LEN + 1];

	if (renameat(content_fd, temp, content_fd, digest_hex(digest, name)) < 0)
		return err_errno(err, E_IO, errno, "storing a file's content");
	return 0;
}

int content_put(int content_fd, const void *data, size_t len, uint8_t ret_digest[DIGEST_LEN], struct err *err)
{
	_cleanup_fd_ int fd = -1;
	char temp[TEMP_LEN];

	digest_of(data, len, ret_digest);
	if (stored(content_fd, ret_digest, len))
		return 0;

	int r = open_temp(content_fd, temp, &fd, err);
	if (r < 0)
		return r;
	if (path_write_all(fd, data, len) < 0)
		r = err_errno(err, E_IO, errno, "storing a file's content");
	else
		r = name_temp(content_fd, temp, ret_digest, err);
	if (r < 0)
		unlinkat(content_fd, temp, 0);
	return r;
}

/* 1 when it was small and is done; 0 when it is not small. */
static int put_small(int content_fd, int fd, uint64_t max, uint8_t ret_digest[DIGEST_LEN], uint64_t *ret_size,
		     struct err *err)
{
	_cleanup_free_ char *data = NULL;
	struct stat st;
	size_t len = 0;

	if (fstat(fd, &st) < 0)
		return err_errno(err, E_IO, errno, "reading a file's content");
	if (st.st_size > SMALL || (uint64_t)st.st_size > max)
		return 0;
	data = malloc((size_t)st.st_size + 1);
	if (!data)
		return err_set(err, E_NOMEM, "reading a file's content: out of memory");
	while (len <= (size_t)st.st_size) {
		ssize_t got = pread(fd, data + len, (size_t)st.st_size + 1 - len, (off_t)len);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_errno(err, E_IO, errno, "reading a file's content");
		if (got == 0) {
			int r = content_put(content_fd, data, len, ret_digest, err);

			*ret_size = len;
			return r < 0 ? r : 1;
		}
		len += (size_t)got;
	}
	return 0; /* it grows while we read */
}

int content_put_fd(int content_fd, int fd, uint64_t max, uint8_t ret_digest[DIGEST_LEN], uint64_t *ret_size,
		   struct err *err)
{
	_cleanup_fd_ int to = -1;
	char temp[TEMP_LEN];

	int r = put_small(content_fd, fd, max, ret_digest, ret_size, err);
	if (r != 0)
		return r < 0 ? r : 0;

	/* A large file is read twice rather than written for nothing: most snapshots hold what the last one held. */
	r = pass(fd, -1, max, ret_digest, ret_size, err);
	if (r < 0 || stored(content_fd, ret_digest, *ret_size))
		return r;
	r = open_temp(content_fd, temp, &to, err);
	if (r < 0)
		return r;
	r = pass(fd, to, max, ret_digest, ret_size, err);
	if (r == 0)
		r = name_temp(content_fd, temp, ret_digest, err);
	if (r < 0)
		unlinkat(content_fd, temp, 0);
	return r;
}

int content_sync(int content_fd, struct err *err)
{
	_cleanup_fd_ int fd = openat(content_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || syncfs(fd) < 0)
		return err_errno(err, E_IO, errno, "making stored content durable");
	return 0;
}

int content_open(int content_fd, const uint8_t digest[DIGEST_LEN], int *ret_fd, struct err *err)
{
	char name[DIGEST_HEX_LEN + 1];
	int fd = path_open_beneath(content_fd, digest_hex(digest, name), O_RDONLY | O_NONBLOCK | O_NOFOLLOW, 0);

	if (fd < 0)
		return err_errno(err, errno == ENOENT ? E_NOTFOUND : E_IO, errno, "stored content %s", name);
	*ret_fd = fd;
	return 0;
}

int content_map(int content_fd, const uint8_t digest[DIGEST_LEN], struct content_map *ret, struct err *err)
{
	_cleanup_fd_ int fd = -1;
	struct stat st;

	int r = content_open(content_fd, digest, &fd, err);
	if (r < 0)
		return r;
	if (fstat(fd, &st) < 0)
		return err_errno(err, E_IO, errno, "stored content");
	if (!S_ISREG(st.st_mode))
		return err_set(err, E_CORRUPT, "stored content: not a regular file");

	_cleanup_content_map_ struct content_map map = { "", 0 };
	if (st.st_size > 0) {
		void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);

		if (data == MAP_FAILED)
			return err_errno(err, errno == ENOMEM ? E_NOMEM : E_IO, errno, "stored content");
		map = (struct content_map){ data, (size_t)st.st_size };
	}

	uint8_t found[DIGEST_LEN];
	digest_of(map.data, map.len, found);
	if (memcmp(found, digest, DIGEST_LEN) != 0)
		return err_set(err, E_CORRUPT, "stored content: it is not what its name says");
	*ret = map;
	map = (struct content_map){ "", 0 };
	return 0;
}

void content_unmap(struct content_map *m)
{
	if (m->len)
		munmap((void *)(uintptr_t)m->data, m->len);
	*m = (struct content_map){ "", 0 };
}
