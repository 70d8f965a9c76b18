#include "jail/hand_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "core/base/path.h"

#define EDIT_BYTES (32u << 20) /* of a file, before and after an edit */

/* Makes the folders above `path` (which is changed and put right again), as mkdir -p does. */
static int make_parents(char *path, struct err *err)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';

		int r = mkdir(path, 0777);
		int saved = errno;

		*slash = '/';
		/* Whatever else stands in the way is told better by what uses the folder. */
		if (r < 0 && saved != EEXIST && saved != ENOENT && saved != EISDIR && saved != EROFS && saved != EACCES)
			return err_errno(err, E_IO, saved, "making the folders of %.700s", path);
	}
	return 0;
}

/* Where the bytes go: the file itself, or what a symbolic link there leads to.  ret_st->st_mode stays 0 when there
 * is none. */
static int resolve(const char *path, char ret[PATH_MAX], struct stat *ret_st, struct err *err)
{
	struct stat st;

	if (path[strlen(path) - 1] == '/')
		return err_set(err, E_INVALID, "%.700s: names a folder", path);
	if (lstat(path, &st) < 0) {
		if (errno != ENOENT)
			return err_errno(err, E_IO, errno, "%.700s", path);
		snprintf(ret, PATH_MAX, "%s", path);
		return 0;
	}
	if (S_ISLNK(st.st_mode)) {
		if (!realpath(path, ret) || stat(ret, &st) < 0)
			return err_errno(err, E_NOTFOUND, errno, "%.700s: is a symbolic link that leads nowhere", path);
	} else {
		snprintf(ret, PATH_MAX, "%s", path);
	}
	if (!S_ISREG(st.st_mode))
		return err_set(err, E_INVALID, "%.700s: is %s", path,
			       S_ISDIR(st.st_mode) ? "a folder" : "no regular file");
	/* A rename would replace it all the same; the mode says that this is not wanted. */
	if (faccessat(AT_FDCWD, ret, W_OK, AT_EACCESS) < 0)
		return err_errno(err, E_DENIED, errno, "%.700s: not writable, mode %04o", path,
				 (unsigned)st.st_mode & 07777);
	*ret_st = st;
	return 0;
}

/* A new file in the folder of `target`, under a name that nobody has. */
static int make_temporary(const char *target, mode_t mode, char ret[PATH_MAX + 32], int *ret_fd, struct err *err)
{
	const char *slash = strrchr(target, '/');
	int folder_len = slash ? (int)(slash - target) + 1 : 0;

	for (int i = 0; i < 16; i++) {
		uint64_t random;

		if (getrandom(&random, sizeof(random), 0) != sizeof(random))
			return err_errno(err, E_IO, errno, "random bytes");
		snprintf(ret, PATH_MAX + 32, "%.*s.warder-%016llx", folder_len, target, (unsigned long long)random);
		*ret_fd = open(ret, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
		if (*ret_fd >= 0 || errno != EEXIST)
			break;
	}
	return *ret_fd < 0 ? err_errno(err, E_IO, errno, "%.700s", target) : 0;
}

int hand_file_replace(const char *path, const void *data, size_t len, int64_t *ret_old_size, struct err *err)
{
	char target[PATH_MAX], temporary[PATH_MAX + 32];
	_cleanup_fd_ int fd = -1;
	struct stat st = { 0 };

	int r = resolve(path, target, &st, err);
	bool exists = st.st_mode != 0;
	if (r == 0)
		r = exists ? 0 : make_parents(target, err);
	if (r == 0)
		r = make_temporary(target, exists ? 0600 : 0666, temporary, &fd, err);
	if (r < 0)
		return r;
	if (path_write_all(fd, data, len) < 0 || (exists && fchmod(fd, st.st_mode & 0777) < 0) ||
	    rename(temporary, target) < 0) {
		r = err_errno(err, E_IO, errno, "%.700s: not written", path);
		unlink(temporary);
		return r;
	}
	*ret_old_size = exists ? (int64_t)st.st_size : -1;
	return 0;
}

int hand_file_write(const json_node *args, struct buf *text, struct err *err)
{
	const char *path = json_get_str(args, "file_path");
	const char *content = json_get_str(args, "content");
	int64_t old;

	int r = hand_file_replace(path, content, strlen(content), &old, err);
	if (r < 0)
		return r;
	if (old < 0)
		buf_addf(text, "created %s, %zu bytes", path, strlen(content));
	else
		buf_addf(text, "wrote %s, %zu bytes (before: %lld)", path, strlen(content), (long long)old);
	return 0;
}

/* Where the old text stands: how often, and the first few line numbers. */
struct places {
	size_t n;
	size_t lines[5];
};

static void note_place(struct places *p, const struct buf *file, const char *at)
{
	if (p->n < ARRAY_LEN(p->lines)) {
		p->lines[p->n] = 1;
		for (const char *c = file->data; c < at; c++)
			p->lines[p->n] += *c == '\n';
	}
	p->n++;
}

/*
 * Counts what does not overlap, as replace_all replaces it: memmem prepares the needle at each call, so stepping by
 * its length keeps this linear.  But "aa" in "aaa" is two places, not one.
 */
static struct places find_places(const struct buf *file, const char *old, size_t old_len)
{
	struct places found = { 0 };
	const char *at = file->data, *end = at + file->len, *first = NULL;

	for (; at && (at = memmem(at, (size_t)(end - at), old, old_len)); at += old_len) {
		first = first ? first : at;
		note_place(&found, file, at);
	}
	if (found.n == 1 && (at = memmem(first + 1, (size_t)(end - first) - 1, old, old_len)))
		note_place(&found, file, at);
	return found;
}

static int refuse_many(const char *path, const struct places *found, struct err *err)
{
	char lines[128] = "";
	size_t shown = found->n < ARRAY_LEN(found->lines) ? found->n : ARRAY_LEN(found->lines);

	for (size_t i = 0; i < shown; i++) {
		size_t n = strlen(lines);

		snprintf(lines + n, sizeof(lines) - n, "%s%zu", i ? ", " : "", found->lines[i]);
	}
	return err_set(
		err, E_INVALID,
		"old_string: occurs %zu times in %.600s (lines %s%s); add text around it until it is unique, or set "
		"replace_all",
		found->n, path, lines, found->n > shown ? ", \xe2\x80\xa6" : "");
}

static int refuse_none(const char *path, const struct buf *file, const char *old, struct err *err)
{
	const char *hint = "read the file again and copy the text exactly, without line numbers";

	if (strchr(old, '\n') && !strstr(old, "\r\n") && file->len && memmem(file->data, file->len, "\r\n", 2))
		hint = "the file's lines end in CRLF, those of old_string in LF";
	return err_set(err, E_NOTFOUND, "old_string: not found in %.600s; %s", path, hint);
}

/* The file with every (non-overlapping) occurrence replaced; returns how many. */
static size_t substitute(const struct buf *file, const char *old, const char *new, struct buf *out)
{
	size_t old_len = strlen(old), new_len = strlen(new), n = 0;
	const char *at = file->data, *end = at + file->len, *hit;

	while (!out->failed && (hit = memmem(at, (size_t)(end - at), old, old_len))) {
		buf_add(out, at, (size_t)(hit - at));
		buf_add(out, new, new_len);
		at = hit + old_len;
		n++;
	}
	buf_add(out, at, (size_t)(end - at));
	return n;
}

int hand_file_edit(const json_node *args, struct buf *text, struct err *err)
{
	const char *path = json_get_str(args, "file_path");
	const char *old = json_get_str(args, "old_string");
	const char *new = json_get_str(args, "new_string");
	bool all = json_get_bool(args, "replace_all", false);
	_cleanup_buf_ struct buf before = BUF_INIT(EDIT_BYTES), after = BUF_INIT(EDIT_BYTES);
	_cleanup_fd_ int fd = -1;
	struct stat st;
	int64_t old_size;

	if (strcmp(old, new) == 0)
		return err_set(err, E_INVALID, "new_string: the same as old_string; nothing would change");

	int r = hand_file_open(path, &fd, &st, err);
	if (r < 0)
		return r;
	r = path_read_fd(fd, EDIT_BYTES, &before, err);
	if (r < 0) {
		err_prefix(err, "%.200s", path);
		return r;
	}

	struct places found = find_places(&before, old, strlen(old));
	if (!found.n)
		return refuse_none(path, &before, old, err);
	if (found.n > 1 && !all)
		return refuse_many(path, &found, err);

	size_t n = substitute(&before, old, new, &after);
	r = buf_check(&after, "the file after the edit", err);
	if (r == 0)
		r = hand_file_replace(path, buf_str(&after), after.len, &old_size, err);
	if (r < 0)
		return r;
	buf_addf(text, "replaced %zu occurrence%s in %s, first in line %zu", n, n == 1 ? "" : "s", path,
		 found.lines[0]);
	return 0;
}
