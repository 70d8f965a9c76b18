/* Finding a range of ids that nobody uses, and holding it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "core/base/buf.h"
#include "core/base/path.h"
#include "jail/cell.h"
#include "jail/idmap.h"

/* 0x70000000 to 0x7ffdffff: between what systemd gives to containers and to foreign images (its UIDS-GIDS page); below
 * 2^31, since some programs take ids as signed. */
#define FIRST INT64_C(0x70000000)
#define SLOTS ((INT64_C(0x7ffe0000) - FIRST) / IDMAP_COUNT)
#define FILE_MAX (4u << 20)

struct ranges {
	struct buf subuid, subgid, passwd, group;
};

static void ranges_free(struct ranges *r)
{
	buf_free(&r->subuid);
	buf_free(&r->subgid);
	buf_free(&r->passwd);
	buf_free(&r->group);
}

static int read_list(const char *path, struct buf *text, struct err *err)
{
	int r = path_read_file(AT_FDCWD, path, FILE_MAX, text, err);

	return r == E_NOTFOUND ? 0 : r;
}

/* The colon-separated field `n` of a line as a number; -1 when it is none. */
static int64_t number_at(const char *line, const char *end, int n)
{
	for (; n > 0; n--) {
		line = memchr(line, ':', (size_t)(end - line));
		if (!line)
			return -1;
		line++;
	}

	int64_t value = 0;
	const char *start = line;
	for (; line < end && *line >= '0' && *line <= '9' && value < INT64_C(1) << 40; line++)
		value = value * 10 + (*line - '0');
	return line == start ? -1 : value;
}

/* Whether a line gives away some id of base..base+65535.  `count_at`: field that holds how many ids; -1: one. */
static bool touched(const struct buf *text, int id_at, int count_at, int64_t base)
{
	const char *line = buf_str(text), *stop = line + text->len;

	while (line < stop) {
		const char *end = memchr(line, '\n', (size_t)(stop - line));
		if (!end)
			end = stop;

		int64_t first = number_at(line, end, id_at);
		int64_t count = count_at < 0 ? 1 : number_at(line, end, count_at);
		if (first >= 0 && count > 0 && first < base + IDMAP_COUNT && first + count > base)
			return true;
		line = end + 1;
	}
	return false;
}

static bool is_free(const struct ranges *r, int64_t base)
{
	return !touched(&r->subuid, 1, 2, base) && !touched(&r->subgid, 1, 2, base) &&
	       !touched(&r->passwd, 2, -1, base) && !touched(&r->passwd, 3, -1, base) &&
	       !touched(&r->group, 2, -1, base);
}

/* One byte of the lock file a slot.  The lock belongs to the open file, so it lasts until the last copy is closed. */
static bool lock_slot(int fd, int64_t slot)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = slot, .l_len = 1 };

	return fcntl(fd, F_OFD_SETLK, &l) == 0;
}

static int pick(const struct ranges *r, int fd, int64_t want, int64_t *ret_base, struct err *err)
{
	uint32_t start = 0;

	if (want) {
		int64_t slot = (want - FIRST) / IDMAP_COUNT;

		if (want < FIRST || slot >= SLOTS || (want - FIRST) % IDMAP_COUNT)
			return err_set(err, E_INVALID, "id range %lld: not one of ours", (long long)want);
		if (!is_free(r, want))
			return err_set(err, E_MACHINE,
				       "id range %lld: is given away in /etc/subuid, /etc/subgid, /etc/passwd or "
				       "/etc/group now; "
				       "take it out there",
				       (long long)want);
		if (!lock_slot(fd, slot))
			return err_set(err, E_BUSY, "id range %lld: another session holds it", (long long)want);
		*ret_base = want;
		return 0;
	}

	/* At random, so that a session that sleeps rarely finds its range taken when it wakes. */
	if (getrandom(&start, sizeof(start), 0) != sizeof(start))
		return err_errno(err, E_IO, errno, "random number");
	for (int64_t i = 0; i < SLOTS; i++) {
		int64_t slot = (start + i) % SLOTS;
		int64_t base = FIRST + slot * IDMAP_COUNT;

		if (is_free(r, base) && lock_slot(fd, slot)) {
			*ret_base = base;
			return 0;
		}
	}
	return err_set(err, E_MACHINE, "id ranges: none of %lld is free; end other sessions", (long long)SLOTS);
}

int cell_idmap_pick(int run_fd, int64_t want, int64_t *ret_base, int *ret_lock_fd, struct err *err)
{
	_cleanup_(ranges_free) struct ranges r = {
		BUF_INIT(FILE_MAX),
		BUF_INIT(FILE_MAX),
		BUF_INIT(FILE_MAX),
		BUF_INIT(FILE_MAX),
	};
	int64_t base = 0;
	int code;

	if (geteuid() != 0) {
		*ret_base = 0;
		*ret_lock_fd = -1;
		return 0;
	}
	code = read_list("/etc/subuid", &r.subuid, err);
	if (code >= 0)
		code = read_list("/etc/subgid", &r.subgid, err);
	if (code >= 0)
		code = read_list("/etc/passwd", &r.passwd, err);
	if (code >= 0)
		code = read_list("/etc/group", &r.group, err);
	if (code < 0)
		return code;

	_cleanup_fd_ int fd = openat(run_fd, "idmap.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_errno(err, E_IO, errno, "idmap.lock");
	code = pick(&r, fd, want, &base, err);
	if (code < 0)
		return code;
	*ret_base = base;
	*ret_lock_fd = steal_fd(&fd);
	return 0;
}
