#include "store/origin.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "store/db.h"
#include "store/log_read.h"
#include "store/row.h"

bool origin_elsewhere(sqlite3 *db, const uint8_t prev[DIGEST_LEN], int64_t seq, int64_t *ret_stands_at)
{
	_cleanup_stmt_ sqlite3_stmt *rows = NULL;

	if (db_prepare(db, "SELECT " ROW_EVENT " FROM event ORDER BY event.seq", &rows, NULL))
		return false;
	while (db_step(rows, NULL) == 1) {
		struct event e;
		uint8_t hash[DIGEST_LEN];

		if (row_event(rows, 0, &e) || e.seq == seq)
			continue;
		int64_t stands_at = e.seq;
		e.seq = seq;
		event_hash(prev, &e, hash);
		if (!memcmp(hash, e.hash, DIGEST_LEN)) {
			*ret_stands_at = stands_at;
			return true;
		}
	}
	return false;
}

/* The row verifies behind that session's row before it.  A copy of our own log does not answer to this: there the row
 * would have to follow what it already failed to follow here. */
static bool belongs(int dirfd, const struct event *e)
{
	_cleanup_log_reader_ struct log_reader *r = NULL;
	struct event before;
	uint8_t hash[DIGEST_LEN];

	if (log_reader_open(dirfd, &r, NULL) || log_reader_get(r, e->seq - 1, &before, NULL))
		return false;
	event_hash(before.hash, e, hash);
	return !memcmp(hash, e->hash, DIGEST_LEN);
}

static bool same_folder(int a, int b)
{
	struct stat one, two;

	return fstat(a, &one) || fstat(b, &two) || (one.st_dev == two.st_dev && one.st_ino == two.st_ino);
}

static void dir_close(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

bool origin_session(int dirfd, const struct event *e, char ret_session[ID_LEN + 1])
{
	int fd = openat(dirfd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(dir_close) DIR *sessions = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *d;

	if (!sessions) {
		fd_close(&fd);
		return false;
	}
	while ((d = readdir(sessions))) {
		if (!id_valid(d->d_name))
			continue;
		_cleanup_fd_ int other = openat(fd, d->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (other < 0 || same_folder(other, dirfd) || !belongs(other, e))
			continue;
		memcpy(ret_session, d->d_name, ID_LEN + 1);
		return true;
	}
	return false;
}
