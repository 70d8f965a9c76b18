#include "jail/mask.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "core/base/path.h"

#define NAMES_MAX 32768 /* bytes of entries read at once */
#define EXCLUDE_MAX (64u << 10)

/* As the kernel writes it (getdents64(2)). */
struct entry {
	uint64_t ino;
	int64_t off;
	unsigned short reclen;
	unsigned char type;
	char name[];
};

/* One folder on the way from the top to where the walk is. */
struct level {
	int real;
	int mask; /* the same folder in the mask; -1 until something in it is hidden */
	char name[NAME_MAX + 1];
	char *names; /* NAMES_MAX bytes, kept for the next folder of this depth */
};

struct walk {
	struct level level[MASK_DEPTH_MAX];
	int depth;
	struct mask_result result;
};

/* The folder of the mask at `depth`, made together with those above it. */
static int open_mask(struct walk *w, int depth, struct err *err)
{
	int above = 0;

	for (int i = depth; i > 0; i--)
		if (w->level[i].mask >= 0) {
			above = i;
			break;
		}
	for (int i = above + 1; i <= depth; i++) {
		struct level *l = &w->level[i];
		int parent = w->level[i - 1].mask;
		struct stat st;

		if (fstat(l->real, &st) < 0 || (mkdirat(parent, l->name, 0700) < 0 && errno != EEXIST))
			return err_errno(err, E_IO, errno, "mask: %s", l->name);
		l->mask = openat(parent, l->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (l->mask < 0)
			return err_errno(err, E_IO, errno, "mask: %s", l->name);
		/* An owner that this cell has no id for cannot be given; the folder is then the agent's, in the
		 * staged layer only. */
		if (fchown(l->mask, st.st_uid, st.st_gid) < 0 && errno != EINVAL && errno != EPERM)
			return err_errno(err, E_IO, errno, "mask: %s", l->name);
		if (fchmod(l->mask, st.st_mode & 07777) < 0)
			return err_errno(err, E_IO, errno, "mask: %s", l->name);
	}
	return 0;
}

/* A whiteout: overlayfs shows nothing under this name. */
static int hide(struct walk *w, const char *name, struct err *err)
{
	int r = open_mask(w, w->depth, err);

	if (r < 0)
		return r;
	if (mknodat(w->level[w->depth].mask, name, S_IFCHR, makedev(0, 0)) < 0)
		return err_errno(err, E_IO, errno, "mask: whiteout of %s", name);
	w->result.hidden++;
	return 0;
}

static unsigned char type_of(int dir, const struct entry *e)
{
	struct stat st;

	if (e->type != DT_UNKNOWN)
		return e->type;
	if (fstatat(dir, e->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return DT_REG; /* gone meanwhile */
	return (unsigned char)IFTODT(st.st_mode);
}

static void leave_level(struct walk *w)
{
	struct level *l = &w->level[w->depth--];
	struct stat st;

	/* The listing of a masked folder shows the mask's times; they should be the real ones. */
	if (l->mask >= 0 && fstat(l->real, &st) == 0) {
		struct timespec times[2] = { st.st_atim, st.st_mtim };

		(void)!futimens(l->mask, times);
	}
	fd_close(&l->real);
	fd_close(&l->mask);
}

static int walk_folder(struct walk *w, struct err *err);

static int enter(struct walk *w, const char *name, struct err *err)
{
	if (w->depth + 1 == MASK_DEPTH_MAX)
		return hide(w, name, err);

	int fd = openat(w->level[w->depth].real, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		switch (errno) {
		case ENOENT:
		case ENOTDIR:
		case ELOOP: /* replaced meanwhile */
		case EACCES:
		case EPERM:
			return 0;
		default: /* what cannot be looked at is not shown */
			return hide(w, name, err);
		}

	struct level *l = &w->level[++w->depth];
	l->real = fd;
	l->mask = -1;
	snprintf(l->name, sizeof(l->name), "%s", name);
	int r = walk_folder(w, err);
	leave_level(w);
	return r;
}

static int look_at(struct walk *w, const struct entry *e, struct err *err)
{
	size_t len = strlen(e->name);

	if (e->name[0] == '.' && (len == 1 || (len == 2 && e->name[1] == '.')))
		return 0;
	if (len > NAME_MAX)
		return err_set(err, E_LIMIT, "mask: a name of %zu bytes", len);
	w->result.seen++;
	if (path_component_is_git(e->name, len)) {
		if (w->depth || strcmp(e->name, ".git") != 0)
			return hide(w, e->name, err);
		w->result.has_git = true;
		return 0;
	}
	switch (type_of(w->level[w->depth].real, e)) {
	case DT_DIR:
		return enter(w, e->name, err);
	case DT_REG:
	case DT_LNK:
		return 0;
	default:
		return hide(w, e->name, err);
	}
}

/* Recursion is bounded by MASK_DEPTH_MAX and holds nothing on the stack. */
static int walk_folder(struct walk *w, struct err *err)
{
	struct level *l = &w->level[w->depth];

	if (!l->names)
		l->names = malloc(NAMES_MAX);
	if (!l->names)
		return err_set(err, E_NOMEM, "mask: out of memory");
	for (;;) {
		long n = syscall(SYS_getdents64, l->real, l->names, NAMES_MAX);

		if (n < 0 && w->depth && (errno == ENOENT || errno == EACCES))
			return 0;
		if (n < 0)
			return err_errno(err, E_IO, errno, "mask: reading the folder %s", l->name);
		if (n == 0)
			return 0;
		for (long at = 0; at < n;) {
			const struct entry *e = (const struct entry *)(l->names + at);
			int r = look_at(w, e, err);

			if (r < 0)
				return r;
			at += e->reclen;
		}
	}
}

static int add_file(int dir, const char *name, const char *text, size_t len, struct err *err)
{
	_cleanup_fd_ int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);

	if (fd < 0 || path_write_all(fd, text, len) < 0)
		return err_errno(err, E_IO, errno, "mask: .git/%s", name);
	return 0;
}

/* The least that git takes for a repository.  Its object store and its index grow in the staged layer. */
static const char *const git_folders[] = {
	".git",      ".git/info",       ".git/objects",   ".git/objects/info", ".git/objects/pack",
	".git/refs", ".git/refs/heads", ".git/refs/tags",
};
static const struct {
	const char *name, *text;
} git_files[] = {
	{ ".git/HEAD", "ref: refs/heads/main\n" },
	{ ".git/config",
	  "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n"
	  "[user]\n\tname = agent\n\temail = agent@warder.invalid\n" },
};

static int add_repository(int lower, int mask, struct err *err)
{
	_cleanup_buf_ struct buf exclude = BUF_INIT(EXCLUDE_MAX);
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(git_folders); i++)
		if (mkdirat(mask, git_folders[i], 0755) < 0)
			return err_errno(err, E_IO, errno, "mask: %s", git_folders[i]);
	for (size_t i = 0; r >= 0 && i < ARRAY_LEN(git_files); i++)
		r = add_file(mask, git_files[i].name, git_files[i].text, strlen(git_files[i].text), err);
	if (r < 0)
		return r;

	/* Ignore rules that are the operator's own; a missing, odd or huge file is none. */
	if (path_read_file(lower, ".git/info/exclude", EXCLUDE_MAX, &exclude, NULL) == 0)
		r = add_file(mask, ".git/info/exclude", exclude.data ? exclude.data : "", exclude.len, err);
	if (r < 0)
		return r;

	/* Opaque: nothing of the real one shows through. */
	_cleanup_fd_ int git = openat(mask, ".git", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (git < 0 || fsetxattr(git, "user.overlay.opaque", "y", 1, 0) < 0)
		return err_errno(err, E_IO, errno, "mask: user xattr on the layer's file system");
	return 0;
}

int mask_build(int lower, int mask, struct mask_result *ret, struct err *err)
{
	struct walk *w = calloc(1, sizeof(*w));

	if (!w)
		return err_set(err, E_NOMEM, "mask: out of memory");
	w->level[0] = (struct level){ .real = lower, .mask = mask, .name = "/" };

	int r = walk_folder(w, err);
	if (r >= 0 && w->result.has_git) {
		w->result.hidden++;
		r = add_repository(lower, mask, err);
	} else if (r >= 0 && mknodat(mask, ".git", S_IFCHR, makedev(0, 0)) < 0) {
		/* There is none to hide, but there may be one before the cell ends. */
		r = err_errno(err, E_IO, errno, "mask: whiteout of .git");
	}
	if (r >= 0)
		*ret = w->result;
	for (size_t i = 0; i < MASK_DEPTH_MAX; i++)
		free(w->level[i].names);
	free(w);
	return r;
}
