#include "tests/changes/stage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/path.h"

static void die(const char *what)
{
	printf("Bail out! %s: %s\n", what, strerror(errno));
	fflush(stdout);
	_exit(99);
}

static void copy_path(char *to, size_t size, const char *a, const char *b)
{
	if ((size_t)snprintf(to, size, "%s%s", a, b) >= size)
		die("a path of the test");
}

void stage_make(struct stage *s)
{
	const char *tmp = getenv("TMPDIR");
	char resolved[PATH_MAX], layer[600], path[700];

	umask(022);
	if (!realpath(tmp && tmp[0] ? tmp : "/tmp", resolved))
		die("TMPDIR");
	copy_path(s->top, sizeof(s->top), resolved, "/warder-changes-XXXXXX");
	if (!mkdtemp(s->top))
		die("mkdtemp");
	copy_path(s->real, sizeof(s->real), s->top, "/real");
	copy_path(layer, sizeof(layer), s->top, "/layer");
	copy_path(s->upper, sizeof(s->upper), layer, "/upper");
	copy_path(path, sizeof(path), s->top, "/content");
	if (mkdir(s->real, 0755) < 0 || mkdir(layer, 0700) < 0 || mkdir(s->upper, 0755) < 0 || mkdir(path, 0700) < 0)
		die("mkdir");
	copy_path(path, sizeof(path), layer, "/mask");
	if (mkdir(path, 0755) < 0)
		die("mkdir");
	s->session_fd = open(s->top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	s->layer = (struct layer){
		.layer_fd = open(layer, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
		.content_fd = openat(s->session_fd, "content", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
		.workspace = s->real,
	};
	if (s->layer.layer_fd < 0 || s->layer.content_fd < 0)
		die("open");
}

void stage_remove(struct stage *s)
{
	struct err err;

	close(s->layer.layer_fd);
	close(s->layer.content_fd);
	close(s->session_fd);

	char *name = strrchr(s->top, '/');
	*name = '\0';
	int parent = open(s->top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (path_remove_tree(parent, name + 1, &err) < 0)
		printf("# %s\n", err.text);
	close(parent);
}

void stage_birth(const struct stage *s)
{
	struct err err;

	if (layer_note_birth(&s->layer, clock_stamp_after(clock_now_us()), &err) < 0) {
		printf("Bail out! %s\n", err.text);
		_exit(99);
	}
}

char *stage_path(const struct stage *s, const char *path, char ret[5000])
{
	static const struct {
		const char *name, *folder;
	} sides[] = { { "real", "real" }, { "up", "layer/upper" }, { "mask", "layer/mask" }, { "top", "." } };
	size_t len = strcspn(path, "/");

	for (size_t i = 0; i < ARRAY_LEN(sides); i++) {
		if (strlen(sides[i].name) != len || memcmp(sides[i].name, path, len) != 0)
			continue;
		if (snprintf(ret, 5000, "%s/%s%s", s->top, sides[i].folder, path + len) >= 5000)
			die("a path of the test");
		return ret;
	}
	die(path);
	return NULL;
}

/* The path, with the folders on the way made. */
static char *prepare(const struct stage *s, const char *path, char full[5000])
{
	stage_path(s, path, full);
	for (char *p = full + strlen(s->top) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		if (mkdir(full, 0755) < 0 && errno != EEXIST)
			die(full);
		*p = '/';
	}
	return full;
}

void stage_write_bytes(const struct stage *s, const char *path, const void *data, size_t len)
{
	char full[5000];
	int fd = open(prepare(s, path, full), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || path_write_all(fd, data, len) < 0)
		die(full);
	close(fd);
}

void stage_write(const struct stage *s, const char *path, const char *text)
{
	stage_write_bytes(s, path, text, strlen(text));
}

void stage_mkdir(const struct stage *s, const char *path)
{
	char full[5000];

	if (mkdir(prepare(s, path, full), 0755) < 0 && errno != EEXIST)
		die(full);
}

void stage_link(const struct stage *s, const char *path, const char *target)
{
	char full[5000];

	if (symlink(target, prepare(s, path, full)) < 0)
		die(full);
}

void stage_chmod(const struct stage *s, const char *path, unsigned mode)
{
	char full[5000];

	if (chmod(stage_path(s, path, full), mode) < 0)
		die(full);
}

void stage_unlink(const struct stage *s, const char *path)
{
	char full[5000];

	if (unlink(stage_path(s, path, full)) < 0 && rmdir(full) < 0)
		die(full);
}

void stage_rename(const struct stage *s, const char *from, const char *to)
{
	char a[5000], b[5000];

	if (rename(stage_path(s, from, a), prepare(s, to, b)) < 0)
		die(a);
}

void stage_xattr(const struct stage *s, const char *path, const char *name, const char *value)
{
	char full[5000];

	if (lsetxattr(stage_path(s, path, full), name, value, strlen(value), 0) < 0)
		die(name);
}

bool stage_whiteout(const struct stage *s, const char *path)
{
	char full[5000];

	if (mknod(prepare(s, path, full), S_IFCHR | 0600, 0) == 0)
		return true;
	if (errno != EPERM && errno != EACCES)
		die(full);
	return false;
}

bool stage_exists(const struct stage *s, const char *path)
{
	char full[5000];
	struct stat st;

	return lstat(stage_path(s, path, full), &st) == 0;
}

char *stage_text(const struct stage *s, const char *path, char ret[5000])
{
	char full[5000];
	struct stat st;
	ssize_t len;

	if (lstat(stage_path(s, path, full), &st) < 0)
		return memcpy(ret, "(absent)", sizeof("(absent)"));
	if (S_ISDIR(st.st_mode))
		return memcpy(ret, "(folder)", sizeof("(folder)"));
	if (S_ISLNK(st.st_mode)) {
		len = readlink(full, ret + 3, 4990);
		if (len < 0)
			die(full);
		memcpy(ret, "-> ", 3);
		ret[len + 3] = '\0';
		return ret;
	}
	int fd = open(full, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? -1 : read(fd, ret, 4999);
	if (len < 0)
		die(full);
	ret[len] = '\0';
	close(fd);
	return ret;
}

unsigned stage_mode(const struct stage *s, const char *path)
{
	char full[5000];
	struct stat st;

	if (lstat(stage_path(s, path, full), &st) < 0)
		die(full);
	return st.st_mode & 07777;
}

static int no_dots(const struct dirent *e)
{
	return strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void list_entry(const char *full, const char *shown, struct buf *out)
{
	_cleanup_buf_ struct buf text = BUF_INIT(64 << 20);
	char target[PATH_MAX], hex[DIGEST_HEX_LEN + 1];
	uint8_t digest[DIGEST_LEN];
	struct stat st;

	if (lstat(full, &st) < 0)
		die(full);
	if (S_ISLNK(st.st_mode)) {
		ssize_t len = readlink(full, target, sizeof(target) - 1);

		target[len < 0 ? 0 : len] = '\0';
		buf_addf(out, "%s -> %s\n", shown, target);
		return;
	}
	if (S_ISREG(st.st_mode)) {
		if (path_read_file(AT_FDCWD, full, 64 << 20, &text, NULL) < 0)
			die(full);
		digest_of(text.data, text.len, digest);
		buf_addf(out, "%s %o %s\n", shown, st.st_mode, digest_hex(digest, hex));
		return;
	}
	buf_addf(out, "%s %o\n", shown, st.st_mode);
}

static void list_below(const char *full, const char *shown, struct buf *out)
{
	struct dirent **all;
	int n = scandir(full, &all, no_dots, by_bytes);

	if (n < 0)
		die(full);
	for (int i = 0; i < n; i++) {
		char inner[5000], name[5000];
		struct stat st;

		copy_path(name, sizeof(name), shown, all[i]->d_name);
		if ((size_t)snprintf(inner, sizeof(inner), "%s/%s", full, all[i]->d_name) >= sizeof(inner) - 1 ||
		    lstat(inner, &st) < 0)
			die(inner);
		list_entry(inner, name, out);
		if (S_ISDIR(st.st_mode)) {
			copy_path(name + strlen(name), sizeof(name) - strlen(name), "/", "");
			list_below(inner, name, out);
		}
		free(all[i]);
	}
	free(all);
}

void stage_list(const struct stage *s, const char *path, struct buf *out)
{
	char full[5000];

	list_below(stage_path(s, path, full), "", out);
}

void stage_snapshot(const struct stage *s, struct manifest *ret)
{
	struct err err;

	if (layer_snapshot(&s->layer, ret, &err) < 0) {
		printf("Bail out! %s\n", err.text);
		fflush(stdout);
		_exit(99);
	}
}

const char *stage_change(const struct manifest *m, const char *path)
{
	static char text[64];
	const struct change *c = manifest_find(m, path);

	if (!c)
		return "absent";
	snprintf(text, sizeof(text), "%s %s", change_op_name(c->op), change_status_name(c->status));
	return text;
}

const char *stage_why(const struct manifest *m, const char *path)
{
	const struct change *c = manifest_find(m, path);

	return c ? c->why : "absent";
}

bool want_long(void)
{
	const char *wanted = getenv("WARDER_LONG");

	return wanted && wanted[0];
}

int stage_run(const char *fmt, ...)
{
	char command[8192];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	fflush(stdout);
	int status = system(command);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}
