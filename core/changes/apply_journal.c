/*
 * The journal of an apply: the file apply.journal in the session folder.
 *
 * "warder-apply 1\n", then records: type (u32), length of the payload (u64), payload, SHA-256 over these three; all
 * numbers little-endian.  PLAN: the units with their members.  STAGED: the inode number of what was built for each
 * unit, 0 for a unit without.  COMMIT: empty.  PLAN arrives by rename; a later record that does not verify was cut
 * short and counts as not written.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/clock.h"
#include "core/base/path.h"
#include "core/changes/apply_plan.h"

#define JOURNAL_MAX ((size_t)1 << 30)

static const char file_name[] = "apply.journal";
static const char magic[] = "warder-apply 1\n";

enum record_type { RECORD_PLAN = 1, RECORD_STAGED = 2, RECORD_COMMIT = 3 };

/* ---- writing */

static void put(struct buf *b, uint64_t value, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		buf_addc(b, (char)(uint8_t)(value >> (8 * i)));
}

static void put_text(struct buf *b, const char *text)
{
	size_t len = strlen(text);

	put(b, len, 4);
	buf_add(b, text, len);
}

static void put_members(struct buf *b, const struct member *m, size_t n)
{
	put(b, n, 8);
	for (size_t i = 0; i < n; i++) {
		put_text(b, m[i].path);
		put(b, m[i].mode, 4);
		put(b, m[i].size, 8);
		put(b, m[i].ino, 8);
		buf_add(b, m[i].digest, DIGEST_LEN);
	}
}

static void put_record(struct buf *out, enum record_type type, const struct buf *payload)
{
	size_t start = out->len;
	uint8_t digest[DIGEST_LEN] = { 0 };

	put(out, type, 4);
	put(out, payload->len, 8);
	buf_add(out, payload->data, payload->len);
	if (!out->failed)
		digest_of(out->data + start, out->len - start, digest);
	buf_add(out, digest, DIGEST_LEN);
}

int journal_create(int session_fd, const struct plan *p, struct err *err)
{
	_cleanup_buf_ struct buf payload = BUF_INIT(JOURNAL_MAX), file = BUF_INIT(JOURNAL_MAX);

	if (faccessat(session_fd, file_name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return err_set(err, E_EXISTS, "the journal of an apply: there is one already");
	put(&payload, p->n, 8);
	for (size_t i = 0; i < p->n; i++) {
		const struct unit *u = &p->unit[i];

		put(&payload, u->kind, 4);
		put_text(&payload, u->path);
		put_text(&payload, u->temp);
		put(&payload, u->parent_dev, 8);
		put(&payload, u->parent_ino, 8);
		put_members(&payload, u->old, u->nold);
		put_members(&payload, u->new, u->nnew);
	}
	buf_adds(&file, magic);
	put_record(&file, RECORD_PLAN, &payload);
	int r = buf_check(&payload, "the journal of an apply", err);
	if (r == 0)
		r = buf_check(&file, "the journal of an apply", err);
	return r < 0 ? r : path_write_file(session_fd, file_name, file.data, file.len, err);
}

static int append(int session_fd, enum record_type type, const struct buf *payload, struct err *err)
{
	_cleanup_buf_ struct buf record = BUF_INIT(JOURNAL_MAX);

	put_record(&record, type, payload);
	int r = buf_check(&record, "the journal of an apply", err);
	if (r < 0)
		return r;
	_cleanup_fd_ int fd = path_open_beneath(session_fd, file_name, O_WRONLY | O_APPEND | O_NOFOLLOW, 0);
	struct stat before;
	if (fd < 0 || fstat(fd, &before) < 0)
		return err_errno(err, E_IO, errno, "the journal of an apply");
	if (path_write_all(fd, record.data, record.len) < 0 || fsync(fd) < 0) {
		int saved = errno;

		/* The caller goes back now; a crash on the way must not find the word that all was well. */
		(void)!ftruncate(fd, before.st_size);
		return err_errno(err, E_IO, saved, "the journal of an apply");
	}
	return 0;
}

int journal_staged(int session_fd, const struct plan *p, struct err *err)
{
	_cleanup_buf_ struct buf payload = BUF_INIT(JOURNAL_MAX);

	for (size_t i = 0; i < p->n; i++)
		put(&payload, p->unit[i].staged_ino, 8);
	int r = buf_check(&payload, "the journal of an apply", err);
	return r < 0 ? r : append(session_fd, RECORD_STAGED, &payload, err);
}

int journal_committed(int session_fd, struct err *err)
{
	const struct buf nothing = BUF_INIT(0);

	return append(session_fd, RECORD_COMMIT, &nothing, err);
}

static int sync_folder(int session_fd, struct err *err)
{
	_cleanup_fd_ int fd = openat(session_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fsync(fd) < 0)
		return err_errno(err, E_IO, errno, "the session folder");
	return 0;
}

int journal_remove(int session_fd, struct err *err)
{
	if (unlinkat(session_fd, file_name, 0) < 0 && errno != ENOENT)
		return err_errno(err, E_IO, errno, "the journal of an apply");
	return sync_folder(session_fd, err);
}

int journal_keep(int session_fd, struct err *err)
{
	char name[64];

	snprintf(name, sizeof(name), "apply.unknown-%lld", (long long)clock_now_us());
	if (renameat(session_fd, file_name, session_fd, name) < 0)
		return err_errno(err, E_IO, errno, "the journal of an apply");
	return sync_folder(session_fd, err);
}

/* ---- reading: every length is checked, since the file may be cut anywhere */

struct cursor {
	const char *at;
	size_t left;
	struct arena *arena;
	bool bad;
};

static const char *take(struct cursor *c, size_t len)
{
	const char *p = c->at;

	if (c->bad || len > c->left) {
		c->bad = true;
		return NULL;
	}
	c->at += len;
	c->left -= len;
	return p;
}

static uint64_t get(struct cursor *c, size_t bytes)
{
	const char *p = take(c, bytes);
	uint64_t value = 0;

	for (size_t i = 0; p && i < bytes; i++)
		value |= (uint64_t)(uint8_t)p[i] << (8 * i);
	return value;
}

static char *get_text(struct cursor *c)
{
	size_t len = (size_t)get(c, 4);
	const char *p = take(c, len);
	char *text = p && !memchr(p, 0, len) ? arena_strndup(c->arena, p, len) : NULL;

	if (!text)
		c->bad = true;
	return text;
}

/* Room for `n` things that take at least `least` bytes each in what is left. */
static void *get_array(struct cursor *c, uint64_t n, size_t least, size_t size)
{
	void *p = n <= c->left / least ? arena_alloc(c->arena, (size_t)(n + 1) * size) : NULL;

	if (!p)
		c->bad = true;
	return p;
}

static struct member *get_members(struct cursor *c, size_t *ret_n)
{
	uint64_t n = get(c, 8);
	struct member *m = get_array(c, n, 4 + 4 + 8 + 8 + DIGEST_LEN, sizeof(*m));

	for (uint64_t i = 0; i < n && !c->bad; i++) {
		m[i].path = get_text(c);
		m[i].mode = (mode_t)get(c, 4);
		m[i].size = get(c, 8);
		m[i].ino = get(c, 8);
		const char *digest = take(c, DIGEST_LEN);
		if (digest)
			memcpy(m[i].digest, digest, DIGEST_LEN);
	}
	*ret_n = (size_t)n;
	return m;
}

static bool is_relative(const char *path)
{
	for (const char *p = path;; p++) {
		size_t len = strcspn(p, "/");

		if (!len || (len == 1 && p[0] == '.') || (len == 2 && memcmp(p, "..", 2) == 0))
			return false;
		p += len;
		if (!*p)
			return strlen(path) < PATH_MAX;
	}
}

/* The first member is the unit's top, the others lie below it. */
static bool all_belong(const struct unit *u, const struct member *m, size_t n)
{
	size_t top = strlen(u->path);

	for (size_t i = 0; i < n; i++)
		if (!is_relative(m[i].path) || strncmp(m[i].path, u->path, top) != 0 ||
		    m[i].path[top] != (i ? '/' : '\0'))
			return false;
	return true;
}

static void get_unit(struct cursor *c, struct unit *u)
{
	static const struct {
		bool old, new;
	} needs[] = {
		[UNIT_PUT] = { false, true },
		[UNIT_SWAP] = { true, true },
		[UNIT_TAKE] = { true, false },
		[UNIT_CHMOD] = { true, true },
	};
	uint64_t kind = get(c, 4);

	u->path = get_text(c);
	const char *temp = get_text(c);
	u->parent_dev = get(c, 8);
	u->parent_ino = get(c, 8);
	u->old = get_members(c, &u->nold);
	u->new = get_members(c, &u->nnew);
	if (c->bad || kind >= ARRAY_LEN(needs) || !u->nold == needs[kind].old || !u->nnew == needs[kind].new ||
	    !is_relative(u->path) || strlen(temp) >= sizeof(u->temp) || strncmp(temp, ".warder-", 8) != 0 ||
	    strchr(temp, '/') || !all_belong(u, u->old, u->nold) || !all_belong(u, u->new, u->nnew)) {
		c->bad = true;
		return;
	}
	u->kind = (enum unit_kind)kind;
	memcpy(u->temp, temp, strlen(temp) + 1);
	const char *slash = strrchr(u->path, '/');
	u->name = slash ? slash + 1 : u->path;
}

static void get_plan(struct cursor *c, struct plan *p)
{
	uint64_t n = get(c, 8);

	p->unit = get_array(c, n, 40, sizeof(*p->unit));
	for (uint64_t i = 0; i < n && !c->bad; i++)
		get_unit(c, &p->unit[i]);
	p->n = (size_t)n;
	if (c->left)
		c->bad = true;
}

/* The next record; false at the end or where it does not verify. */
static bool next_record(struct cursor *file, uint64_t *ret_type, struct cursor *ret)
{
	const char *start = file->at;
	uint8_t digest[DIGEST_LEN];
	uint64_t type = get(file, 4), len = get(file, 8);
	const char *payload = take(file, (size_t)len), *stored = take(file, DIGEST_LEN);

	if (file->bad)
		return false;
	digest_of(start, (size_t)(stored - start), digest);
	if (memcmp(digest, stored, DIGEST_LEN) != 0)
		return false;
	*ret_type = type;
	*ret = (struct cursor){ .at = payload, .left = (size_t)len, .arena = file->arena };
	return true;
}

int journal_load(int session_fd, struct plan *ret, struct err *err)
{
	_cleanup_buf_ struct buf file = BUF_INIT(JOURNAL_MAX);
	_cleanup_plan_ struct plan p = { .arena = ARENA_INIT(4 * JOURNAL_MAX) };
	struct cursor at, record;
	uint64_t type;

	int r = path_read_file(session_fd, file_name, JOURNAL_MAX, &file, err);
	if (r < 0)
		return r;
	at = (struct cursor){ .at = file.data, .left = file.len, .arena = &p.arena };
	const char *head = take(&at, sizeof(magic) - 1);
	if (!head || memcmp(head, magic, sizeof(magic) - 1) != 0 || !next_record(&at, &type, &record) ||
	    type != RECORD_PLAN)
		return err_set(err, E_CORRUPT, "the journal of an apply: it holds no plan");
	get_plan(&record, &p);
	if (record.bad)
		return err_set(err, E_CORRUPT, "the journal of an apply: its plan is broken");

	if (next_record(&at, &type, &record) && type == RECORD_STAGED && record.left == 8 * p.n) {
		p.state = JOURNAL_STAGED;
		for (size_t i = 0; i < p.n; i++)
			p.unit[i].staged_ino = get(&record, 8);
		if (next_record(&at, &type, &record) && type == RECORD_COMMIT)
			p.state = JOURNAL_COMMITTED;
	}
	*ret = p;
	p = (struct plan){ 0 };
	return 0;
}
