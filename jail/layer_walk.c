#include "jail/layer_walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/path.h"

#define FOLDERS_OPEN 32 /* the deepest ones; each has up to three descriptors */
#define NAMES_MAX (256u << 20)

static void close_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

static int add_name(struct name_list *l, const char *name)
{
	if (l->n == l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 64;
		uint32_t *at = reallocarray(l->at, cap, sizeof(*at));

		if (!at)
			return -1;
		l->at = at;
		l->cap = cap;
	}
	l->at[l->n] = (uint32_t)l->text.len;
	buf_add(&l->text, name, strlen(name) + 1);
	if (l->text.failed)
		return -1;
	l->n++;
	return 0;
}

int names_read(struct name_list *l, int dirfd, struct err *err)
{
	/* A descriptor of its own: reading moves the offset. */
	_cleanup_fd_ int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(close_dir) DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *e;

	if (!dir)
		return err_errno(err, E_IO, errno, "reading a folder");
	(void)steal_fd(&fd);
	l->text.max = NAMES_MAX;
	while (errno = 0, (e = readdir(dir))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (add_name(l, e->d_name) < 0) {
			int r = buf_check(&l->text, "reading a folder", err);

			return r < 0 ? r : err_set(err, E_NOMEM, "reading a folder: out of memory");
		}
	}
	if (errno)
		return err_errno(err, E_IO, errno, "reading a folder");
	return 0;
}

const char *names_get(const struct name_list *l, size_t i)
{
	return l->text.data + l->at[i];
}

static int by_name(const void *a, const void *b, void *arg)
{
	const struct name_list *l = arg;

	return strcmp(l->text.data + *(const uint32_t *)a, l->text.data + *(const uint32_t *)b);
}

void names_sort(struct name_list *l)
{
	size_t kept = 0;

	if (l->n)
		qsort_r(l->at, l->n, sizeof(*l->at), by_name, l);
	for (size_t i = 0; i < l->n; i++)
		if (!kept || strcmp(names_get(l, kept - 1), names_get(l, i)) != 0)
			l->at[kept++] = l->at[i];
	l->n = kept;
}

bool names_has(const struct name_list *l, const char *name)
{
	size_t low = 0, high = l->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int c = strcmp(names_get(l, mid), name);

		if (c == 0)
			return true;
		if (c < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return false;
}

void names_free(struct name_list *l)
{
	buf_free(&l->text);
	free(l->at);
	*l = (struct name_list){ 0 };
}

int walk_open(int dirfd, const char *name)
{
	_cleanup_fd_ int fd = path_open_beneath(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);

	/* A folder that can be listed but not searched is as closed as one that cannot be opened. */
	if (fd < 0 || faccessat(fd, ".", X_OK, AT_EACCESS) < 0)
		return -1;
	return steal_fd(&fd);
}

int walk_open_upper(int layer_fd)
{
	int fd = walk_open(layer_fd, "upper");
	struct stat st;

	if (fd >= 0 || errno != EACCES)
		return fd;
	if (fstatat(layer_fd, "upper", &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode) ||
	    fchmodat(layer_fd, "upper", (st.st_mode & 07777) | 0700, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	return walk_open(layer_fd, "upper");
}

static void close_all(int fd[WALK_SIDES])
{
	for (int i = 0; i < WALK_SIDES; i++)
		fd_close(&fd[i]);
}

static void folder_free(struct walk_folder *f)
{
	close_all(f->fd);
	names_free(&f->names);
	free(f);
}

static void set_path(struct walk *w, size_t len, const char *name)
{
	w->path.len = len;
	if (w->path.data)
		w->path.data[len] = '\0';
	if (name) {
		if (len)
			buf_addc(&w->path, '/');
		buf_adds(&w->path, name);
	}
}

int walk_enter(struct walk *w, int fd[WALK_SIDES], unsigned list, struct walk_folder **ret, struct err *err)
{
	struct walk_folder *f = calloc(1, w->folder_size);

	if (!f) {
		close_all(fd);
		return err_set(err, E_NOMEM, "reading a folder: out of memory");
	}
	f->up = w->top;
	f->depth = w->top ? w->top->depth + 1 : 0;
	f->path_len = w->path.len;
	for (int i = 0; i < WALK_SIDES; i++) {
		f->has[i] = fd[i] >= 0;
		f->fd[i] = steal_fd(&fd[i]);
		if (!f->has[i] || !(list & (1u << i)))
			continue;
		int r = names_read(&f->names, f->fd[i], err);
		if (r < 0) {
			folder_free(f);
			err_prefix(err, "%s", buf_str(&w->path));
			return r;
		}
	}
	names_sort(&f->names);

	/* Only one folder leaves the window at a time. */
	struct walk_folder *old = f;
	for (int i = 0; old && i < FOLDERS_OPEN; i++)
		old = old->up;
	if (old)
		close_all(old->fd);
	w->top = f;
	if (ret)
		*ret = f;
	return 0;
}

/* A folder that had left the window.  The upper stands still; the real tree may have moved meanwhile. */
static int open_again(struct walk *w, struct walk_folder *f, struct err *err)
{
	for (int i = 0; i < WALK_SIDES; i++) {
		if (!f->has[i] || f->fd[i] >= 0)
			continue;
		set_path(w, f->path_len, NULL);
		f->fd[i] = walk_open(w->root[i], f->path_len ? w->path.data : ".");
		if (f->fd[i] < 0)
			return err_errno(err, E_IO, errno, "%s: the folder changes while it is read; try again",
					 buf_str(&w->path));
	}
	return 0;
}

int walk_run(struct walk *w, struct err *err)
{
	while (w->top) {
		struct walk_folder *f = w->top;

		int r = open_again(w, f, err);
		if (r < 0)
			return r;
		if (f->next < f->names.n) {
			const char *name = names_get(&f->names, f->next++);

			set_path(w, f->path_len, name);
			r = buf_check(&w->path, "a path", err);
			if (r == 0)
				r = w->visit(w, f, name, err);
			if (r < 0)
				return r;
			continue;
		}
		set_path(w, f->path_len, NULL);
		r = w->leave ? w->leave(w, f, err) : 0;
		if (r < 0)
			return r;
		w->top = f->up;
		folder_free(f);
	}
	return 0;
}

void walk_free(struct walk *w)
{
	while (w->top) {
		struct walk_folder *f = w->top;

		w->top = f->up;
		folder_free(f);
	}
	buf_free(&w->path);
}
