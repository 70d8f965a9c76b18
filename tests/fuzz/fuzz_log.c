/*
 * Any bytes as log.db and its -wal: the verifier and the reader refuse or read, and what the verifier calls intact the
 * reader reads to its end.  Input: u32 length of log.db, little-endian, then log.db, then the -wal.
 */
#include <fcntl.h>
#include <ftw.h>
#include <string.h>
#include <unistd.h>

#include "core/base/path.h"
#include "store/log_read.h"
#include "tests/fuzz/fuzz.h"

static char folder[128];

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static void clean_up(void)
{
	nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static int open_folder(void)
{
	static int fd = -1;
	const char *tmp = getenv("TMPDIR");

	if (fd >= 0)
		return fd;
	snprintf(folder, sizeof(folder), "%s/fuzz-log-XXXXXX", tmp && strlen(tmp) < 90 ? tmp : "/tmp");
	must(mkdtemp(folder));
	atexit(clean_up);
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(fd >= 0);
	return fd;
}

static void put(int dirfd, const char *name, const uint8_t *data, size_t len)
{
	int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	must(fd >= 0 && !path_write_all(fd, data, len));
	close(fd);
}

static int count(const struct event *e, void *arg)
{
	must(e->kind && e->actor && (!e->body || strlen(e->body) <= e->body_len));
	++*(int64_t *)arg;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const char *const names[] = { "log.db", "log.db-wal", "log.db-shm", "log.db-journal" };
	int dirfd = open_folder();
	struct log_reader *r = NULL;
	struct log_report report;
	int64_t rows = 0;

	if (len < 4)
		return 0;
	size_t size = (size_t)(data[0] | data[1] << 8 | data[2] << 16);
	data += 4;
	len -= 4;
	if (size > len)
		size = len;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		(void)unlinkat(dirfd, names[i], 0);
	put(dirfd, "log.db", data, size);
	if (len > size)
		put(dirfd, "log.db-wal", data + size, len - size);

	log_verify(dirfd, &report);
	int rc = log_reader_open(dirfd, &r, NULL);
	if (!rc)
		rc = log_reader_each(r, 0, count, &rows, NULL);
	if (report.verdict == LOG_INTACT)
		must(!rc && rows == report.events);
	log_reader_close(&r);
	return 0;
}
