#include "jail/layer_node.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

static int64_t nanoseconds(const struct statx_timestamp *t)
{
	return t->tv_sec * 1000000000 + t->tv_nsec;
}

static int node_of(int fd, const char *name, int flags, struct layer_node *ret)
{
	struct statx x;

	if (statx(fd, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | flags, STATX_BASIC_STATS | STATX_BTIME, &x) < 0) {
		if (errno != ENOENT)
			return -errno;
		*ret = (struct layer_node){ 0 };
		return 0;
	}
	*ret = (struct layer_node){
		.mode = x.stx_mode,
		.uid = x.stx_uid,
		.gid = x.stx_gid,
		.nlink = x.stx_nlink,
		.dev = makedev(x.stx_dev_major, x.stx_dev_minor),
		.rdev = makedev(x.stx_rdev_major, x.stx_rdev_minor),
		.ino = x.stx_ino,
		.size = x.stx_size,
		.ctime_ns = nanoseconds(&x.stx_ctime),
		.mtime_ns = nanoseconds(&x.stx_mtime),
		.btime_ns = x.stx_mask & STATX_BTIME ? nanoseconds(&x.stx_btime) : 0,
		.mount_root = x.stx_attributes & STATX_ATTR_MOUNT_ROOT,
	};
	return 0;
}

int layer_node_at(int dirfd, const char *name, struct layer_node *ret)
{
	return node_of(dirfd, name, 0, ret);
}

int layer_node_fd(int fd, struct layer_node *ret)
{
	return node_of(fd, "", AT_EMPTY_PATH, ret);
}

bool layer_node_is_whiteout(const struct layer_node *node)
{
	return S_ISCHR(node->mode) && node->rdev == 0;
}

const char *layer_node_kind(const struct layer_node *node)
{
	switch (node->mode & S_IFMT) {
	case S_IFIFO:
		return "a FIFO";
	case S_IFSOCK:
		return "a socket";
	case S_IFCHR:
	case S_IFBLK:
		return "a device";
	default:
		return "of an unknown type";
	}
}

/*
 * The overlay's own marks that a userxattr mount sets in an upper folder (fs/overlayfs, Linux 6.1 to 6.18).  What the
 * cell sets through the mount under these names comes out as user.overlay.overlay.* (since 6.7; refused before).
 * `redirect` and `metacopy` are off with userxattr; `whiteout` and opaque "x" are for lower layers only.  An empty
 * `origin` is usual: the kernel encodes a file handle only with CAP_DAC_READ_SEARCH outside the user namespace.
 */
static const char *const overlay_marks[] = { "origin", "impure", "opaque", "uuid", "nlink", "protattr" };

static bool known_overlay_mark(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(overlay_marks); i++)
		if (strcmp(name, overlay_marks[i]) == 0)
			return true;
	return false;
}

static bool starts(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static void judge_mark(int fd, const char *name, struct layer_marks *m)
{
	static const char overlay[] = "user.overlay.";

	if (starts(name, overlay)) {
		name += sizeof(overlay) - 1;
		if (!known_overlay_mark(name)) {
			m->bad = "it carries a forged mark of the overlay file system";
		} else if (strcmp(name, "origin") == 0) {
			m->copied_up = true;
		} else if (strcmp(name, "opaque") == 0) {
			char value[2];
			ssize_t len = fgetxattr(fd, "user.overlay.opaque", value, sizeof(value));

			if (len == 1 && value[0] == 'y')
				m->opaque = true;
			else
				m->bad = "it carries a forged mark of the overlay file system";
		}
	} else if (!starts(name, "user.") && !starts(name, "system.posix_acl_") &&
		   strcmp(name, "security.selinux") != 0) {
		m->bad = "it carries security attributes";
	}
}

int layer_marks_fd(int fd, struct layer_marks *ret)
{
	char names[XATTR_LIST_MAX];
	struct layer_marks m = { 0 };
	ssize_t len = flistxattr(fd, names, sizeof(names));

	if (len < 0 && errno != ENOTSUP)
		return -errno;
	for (ssize_t at = 0; at < len; at += (ssize_t)strlen(names + at) + 1)
		judge_mark(fd, names + at, &m);
	*ret = m;
	return 0;
}
