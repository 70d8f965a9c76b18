#include "jail/layer_births.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/path.h"
#include "jail/layer_node.h"
#include "jail/layer_walk.h"

#define FILE_MAX ((size_t)512 << 20)

static const char magic[] = "warder-births 1\n";

static void add_le(struct buf *b, uint64_t value, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		buf_addc(b, (char)(uint8_t)(value >> (8 * i)));
}

static uint64_t get_le(const char *p, size_t bytes)
{
	uint64_t value = 0;

	for (size_t i = 0; i < bytes; i++)
		value |= (uint64_t)(uint8_t)p[i] << (8 * i);
	return value;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct birth *)a)->path, ((const struct birth *)b)->path);
}

static int parse(const struct buf *file, struct births *ret, struct err *err)
{
	const size_t head = sizeof(magic) - 1 + 8;
	size_t n = 0;

	if (file->len < head || memcmp(file->data, magic, sizeof(magic) - 1) != 0)
		return err_set(err, E_CORRUPT, "layer/births: not a file of births");
	ret->newest = (int64_t)get_le(file->data + sizeof(magic) - 1, 8);
	for (int pass = 0; pass < 2; pass++) {
		n = 0;
		for (size_t at = head; at < file->len; n++) {
			if (file->len - at < 12 || get_le(file->data + at + 8, 4) > file->len - at - 12)
				return err_set(err, E_CORRUPT, "layer/births: cut short");

			size_t len = (size_t)get_le(file->data + at + 8, 4);
			if (pass) {
				ret->rec[n].us = (int64_t)get_le(file->data + at, 8);
				ret->rec[n].path = arena_strndup(&ret->arena, file->data + at + 12, len);
				if (!ret->rec[n].path)
					return err_set(err, E_NOMEM, "layer/births: out of memory");
			}
			at += 12 + len;
		}
		if (!pass) {
			ret->rec = calloc(n + 1, sizeof(*ret->rec));
			if (!ret->rec)
				return err_set(err, E_NOMEM, "layer/births: out of memory");
		}
	}
	ret->n = n;
	qsort(ret->rec, n, sizeof(*ret->rec), by_path);
	return 0;
}

int births_load(const struct layer *l, struct births *ret, struct err *err)
{
	_cleanup_births_ struct births b = { .arena = ARENA_INIT(2 * FILE_MAX), .newest = BIRTH_UNKNOWN };
	_cleanup_buf_ struct buf file = BUF_INIT(FILE_MAX);

	int r = path_read_file(l->layer_fd, "births", FILE_MAX, &file, err);
	if (r == 0)
		r = parse(&file, &b, err);
	else if (r == E_NOTFOUND)
		r = 0;
	if (r < 0)
		return r;
	*ret = b;
	b = (struct births){ 0 };
	return 0;
}

int64_t births_of(const struct births *b, const char *path)
{
	struct birth key = { .path = path };
	const struct birth *found = b->n ? bsearch(&key, b->rec, b->n, sizeof(key), by_path) : NULL;

	return found ? found->us : b->newest;
}

void births_free(struct births *b)
{
	arena_free(&b->arena);
	free(b->rec);
	*b = (struct births){ .newest = BIRTH_UNKNOWN };
}

/* ---- noting one */

struct noting {
	struct walk walk;
	const struct births *old;
	struct buf file;
};

static int note(struct walk *w, struct walk_folder *f, const char *name, struct err *err)
{
	struct noting *n = (struct noting *)w;
	const char *path = buf_str(&w->path);
	struct layer_node node;

	int r = layer_node_at(f->fd[WALK_UPPER], name, &node);
	if (r < 0)
		return err_errno(err, E_IO, -r, "%s", path);
	if (path_component_is_git(name, strlen(name)))
		return 0;
	add_le(&n->file, (uint64_t)births_of(n->old, path), 8);
	add_le(&n->file, w->path.len, 4);
	buf_add(&n->file, path, w->path.len);
	r = buf_check(&n->file, "layer/births", err);
	if (r < 0 || !S_ISDIR(node.mode) || w->path.len >= PATH_MAX)
		return r;

	/* What cannot be read is refused by the snapshot; nothing below it needs a birth. */
	int fd[WALK_SIDES] = { walk_open(f->fd[WALK_UPPER], name), -1, -1 };
	return fd[WALK_UPPER] < 0 ? 0 : walk_enter(w, fd, 1u << WALK_UPPER, NULL, err);
}

static int save(const struct layer *l, const struct buf *file, struct err *err)
{
	if (!l->temporary)
		return path_write_file(l->layer_fd, "births", file->data, file->len, err);

	_cleanup_fd_ int fd =
		openat(l->layer_fd, "births", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || path_write_all(fd, file->data, file->len) < 0)
		return err_errno(err, E_IO, errno, "layer/births");
	return 0;
}

int layer_note_birth(const struct layer *l, int64_t birth_us, struct err *err)
{
	_cleanup_births_ struct births old = { 0 };
	_cleanup_fd_ int upper = walk_open_upper(l->layer_fd);

	if (upper < 0 && errno != ENOENT)
		return err_errno(err, E_IO, errno, "the staged layer");
	int r = births_load(l, &old, err);
	if (r < 0)
		return r;

	struct noting n = { .walk = WALK_INIT(sizeof(struct walk_folder)), .old = &old, .file = BUF_INIT(FILE_MAX) };
	n.walk.root[WALK_UPPER] = upper;
	n.walk.visit = note;
	buf_adds(&n.file, magic);
	add_le(&n.file, (uint64_t)birth_us, 8);
	if (upper >= 0) {
		int fd[WALK_SIDES] = { fcntl(upper, F_DUPFD_CLOEXEC, 3), -1, -1 };

		if (fd[WALK_UPPER] < 0)
			r = err_errno(err, E_IO, errno, "the staged layer");
		else
			r = walk_enter(&n.walk, fd, 1u << WALK_UPPER, NULL, err);
		if (r == 0)
			r = walk_run(&n.walk, err);
	}
	if (r == 0)
		r = buf_check(&n.file, "layer/births", err);
	if (r == 0)
		r = save(l, &n.file, err);
	walk_free(&n.walk);
	buf_free(&n.file);
	return r;
}
