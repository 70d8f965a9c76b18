/* The workspace as the cell sees it: upper over mask over the real tree, mounted at the real path. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#include "core/base/path.h"
#include "jail/init_internal.h"
#include "jail/limits.h"
#include "jail/mask.h"
#include "jail/mount.h"
#include "jail/mountinfo.h"

/* Where mounts wait inside the new root until overlayfs has taken copies of them. */
#define WAIT_LOWER ".lower"
#define WAIT_LAYER ".layer"

struct folders {
	int lower, upper, work, mask;
	bool lower_waits, layer_waits; /* something is mounted at WAIT_... */
};

static void folders_close(struct folders *f)
{
	fd_close(&f->lower);
	fd_close(&f->upper);
	fd_close(&f->work);
	fd_close(&f->mask);
}

static int open_folder(const struct setup_folder *want, int *ret_fd, struct err *err)
{
	struct stat st;
	_cleanup_fd_ int top = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_fd_ int fd = top < 0 ? -1 : path_open_beneath(top, want->path + 1, O_RDONLY | O_DIRECTORY, 0);

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(err, E_IO, errno, "%s", want->path);
	if (st.st_dev != want->dev || st.st_ino != want->ino)
		return err_set(err, E_CONFLICT, "%s: was replaced by another folder meanwhile; start again",
			       want->path);
	*ret_fd = steal_fd(&fd);
	return 0;
}

static int open_parts(int layer, struct folders *f, struct err *err)
{
	int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

	f->upper = openat(layer, "upper", flags);
	f->work = openat(layer, "work", flags);
	f->mask = openat(layer, "mask", flags);
	if (f->upper < 0 || f->work < 0 || f->mask < 0)
		return err_errno(err, E_IO, errno, "layer folder");
	return 0;
}

/* A layer that lives and dies with the cell. */
static int make_private_layer(struct init *in, struct folders *f, struct err *err)
{
	_cleanup_fd_ int wait = -1;
	int r = mount_make_folder(in->root, WAIT_LAYER, &wait, err);

	if (r < 0)
		return r;
	if (mount("tmpfs", WAIT_LAYER, "tmpfs", MS_NOSUID | MS_NODEV, LIMIT_LAYER_TMPFS) < 0)
		return err_errno(err, E_IO, errno, "tmpfs for the layer");
	f->layer_waits = true;

	_cleanup_fd_ int layer = openat(in->root, WAIT_LAYER, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (layer < 0 || mkdirat(layer, "upper", 0700) < 0 || mkdirat(layer, "work", 0700) < 0 ||
	    mkdirat(layer, "mask", 0700) < 0)
		return err_errno(err, E_IO, errno, "folders of the layer");
	return open_parts(layer, f, err);
}

static int attach_waiting(struct init *in, int which, const char *path, bool *ret_waits, struct err *err)
{
	_cleanup_fd_ int wait = -1;
	int r = mount_make_folder(in->root, path, &wait, err);

	if (r >= 0)
		r = mount_attach(in->made[which], wait, err);
	*ret_waits = r >= 0;
	return r;
}

/* A descriptor that reads, for one that the parent opened O_PATH. */
static int reopen(struct init *in, int which, int *ret_fd, struct err *err)
{
	*ret_fd = openat(in->made[which], ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *ret_fd < 0 ? err_errno(err, E_IO, errno, "layer folder") : 0;
}

/* Started by root: the parent's mounts.  They must be ours before overlayfs takes them. */
static int take_made(struct init *in, struct folders *f, struct err *err)
{
	int r = attach_waiting(in, SETUP_MOUNT_LOWER, WAIT_LOWER, &f->lower_waits, err);

	if (r >= 0)
		r = reopen(in, SETUP_MOUNT_LOWER, &f->lower, err);
	if (r < 0 || (in->setup.flags & SETUP_PRIVATE_LAYER))
		return r < 0 ? r : make_private_layer(in, f, err);

	r = attach_waiting(in, SETUP_MOUNT_LAYER, WAIT_LAYER, &f->layer_waits, err);
	if (r >= 0)
		r = reopen(in, SETUP_FD_UPPER, &f->upper, err);
	if (r >= 0)
		r = reopen(in, SETUP_FD_WORK, &f->work, err);
	if (r >= 0)
		r = reopen(in, SETUP_FD_MASK, &f->mask, err);
	return r;
}

static int open_folders(struct init *in, struct folders *f, struct err *err)
{
	_cleanup_fd_ int layer = -1;
	int r;

	if (in->setup.flags & SETUP_IDMAPPED)
		return take_made(in, f, err);
	r = open_folder(&in->setup.workspace, &f->lower, err);
	if (r < 0 || (in->setup.flags & SETUP_PRIVATE_LAYER))
		return r < 0 ? r : make_private_layer(in, f, err);
	r = open_folder(&in->setup.layer, &layer, err);
	return r < 0 ? r : open_parts(layer, f, err);
}

/* The mask of an earlier start is of the tree as it was then. */
static int empty_folder(int folder, struct err *err)
{
	_cleanup_fd_ int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	int r = 0;

	if (!dir)
		return err_errno(err, E_IO, errno, "mask");
	(void)steal_fd(&copy);
	for (struct dirent *e; r >= 0 && (e = readdir(dir));)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			r = path_remove_tree(folder, e->d_name, err);
	closedir(dir);
	return r;
}

static int build_mask(struct init *in, const struct folders *f, struct err *err)
{
	struct mask_result mask = { 0 };

	/* Without user xattrs overlayfs mounts all the same, and then loses folders that were deleted and made again.
	 */
	if (fsetxattr(f->mask, "user.warder", "1", 1, 0) < 0)
		return err_errno(err, E_MACHINE, errno, "user xattrs on the layer's file system");
	int r = empty_folder(f->mask, err);
	if (r >= 0)
		r = mask_build(f->lower, f->mask, &mask, err);
	in->has_git = mask.has_git;
	in->report.hidden = mask.hidden;
	return r;
}

static int give_mode(struct init *in, const struct folders *f, struct err *err)
{
	struct stat st;

	if (!(in->setup.flags & (SETUP_NEW_UPPER | SETUP_PRIVATE_LAYER)))
		return 0; /* it may be the agent's doing */
	if (fstat(f->lower, &st) < 0 || fchmod(f->upper, st.st_mode & 0777) < 0)
		return err_errno(err, E_IO, errno, "mode of the upper folder");
	return 0;
}

/* An ordinary user's namespace may not look below a mount of the host, so overlayfs refuses a folder that holds one. */
static int explain_overlay(struct init *in, int why, struct err *err)
{
	_cleanup_mountinfo_ struct mountinfo mounts;
	struct mountinfo_line line;
	size_t len = strlen(in->setup.workspace.path);
	int r = mountinfo_open(&mounts, AT_FDCWD, "/proc/self/mountinfo", err);

	while (why == EINVAL && r >= 0 && (r = mountinfo_next(&mounts, &line, err)) > 0)
		if (strncmp(line.point, in->setup.workspace.path, len) == 0 && line.point[len] == '/')
			return err_set(err, E_USAGE,
				       "%s: %s is mounted in it; unmount that, or choose a folder beside it",
				       in->setup.workspace.path, line.point);
	return err_errno(err, E_MACHINE, why, "mount(overlay, userxattr)");
}

static int mount_overlay(struct init *in, const struct folders *f, struct err *err)
{
	_cleanup_fd_ int target = -1;
	char options[256], place[64];
	struct statfs fs;
	int r = mount_make_folder(in->root, in->setup.workspace.path, &target, err);

	if (r < 0)
		return r;
	/* By descriptor: no path of the workspace is parsed as an option, and nothing is looked up twice. */
	snprintf(options, sizeof(options),
		 "userxattr,lowerdir=/proc/self/fd/%d:/proc/self/fd/%d,upperdir=/proc/self/fd/%d,workdir=/proc/self/fd/"
		 "%d",
		 f->mask, f->lower, f->upper, f->work);
	snprintf(place, sizeof(place), "/proc/self/fd/%d", target);
	if (mount("overlay", place, "overlay", MS_NOSUID | MS_NODEV, options) < 0)
		return explain_overlay(in, errno, err);

	/* The target's own descriptor still means what is below the mount. */
	_cleanup_fd_ int top =
		openat(in->root, in->setup.workspace.path + 1, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (top < 0 || fstatfs(top, &fs) < 0)
		return err_errno(err, E_IO, errno, "%s", in->setup.workspace.path);
	if (fs.f_type != OVERLAYFS_SUPER_MAGIC)
		return err_set(err, E_MACHINE, "the workspace is not the overlay that was mounted");
	return 0;
}

static int drop_waiting(struct init *in, const char *path, struct err *err)
{
	if (umount2(path, MNT_DETACH) < 0 || unlinkat(in->root, path, AT_REMOVEDIR) < 0)
		return err_errno(err, E_IO, errno, "taking %s away", path);
	return 0;
}

int init_overlay(struct init *in, struct err *err)
{
	_cleanup_(folders_close) struct folders f = { -1, -1, -1, -1, false, false };
	int r = open_folders(in, &f, err);

	if (r >= 0)
		r = build_mask(in, &f, err);
	if (r >= 0)
		r = give_mode(in, &f, err);
	if (r >= 0)
		r = mount_overlay(in, &f, err);
	if (r >= 0 && f.lower_waits)
		r = drop_waiting(in, WAIT_LOWER, err);
	if (r >= 0 && f.layer_waits)
		r = drop_waiting(in, WAIT_LAYER, err);
	if (r < 0)
		return r;
	init_found(in, JAIL_OVERLAY, LAYER_OK, "mount(overlay, userxattr, lowerdir=mask:real) ok; %u entries hidden",
		   (unsigned)in->report.hidden);
	return 0;
}

/* ---- the doctor's trials, in a scratch workspace that holds the folder "folder" with the file "inner" */

static int trial(bool good, const char *what, struct err *err)
{
	return good ? 0 : err_set(err, E_MACHINE, "%s -> %s", what, strerrorname_np(errno));
}

int init_overlay_probe(struct init *in, struct err *err)
{
	const char *path = in->setup.workspace.path + 1;
	_cleanup_fd_ int ws = openat(in->root, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int r = trial(ws >= 0, "opening the workspace", err);

	/* Without user xattrs this is where overlayfs says EIO. */
	if (r >= 0)
		r = trial(unlinkat(ws, "folder/inner", 0) == 0, "deleting a real file", err);
	if (r >= 0)
		r = trial(unlinkat(ws, "folder", AT_REMOVEDIR) == 0, "rmdir of a real folder", err);
	if (r >= 0)
		r = trial(mkdirat(ws, "folder", 0755) == 0, "mkdir of a removed folder", err);
	if (r >= 0)
		r = trial(faccessat(ws, "folder/inner", F_OK, 0) < 0 && errno == ENOENT, "a removed file shows again",
			  err);
	if (r >= 0)
		r = trial(renameat(ws, "file", ws, "moved") == 0, "rename of a real file", err);
	if (r >= 0)
		r = trial(fchmodat(ws, "moved", 0600, 0) == 0, "chmod of a real file", err);
	if (r >= 0)
		init_found(in, JAIL_OVERLAY, LAYER_OK, "delete, rmdir+mkdir, rename, chmod of real entries ok");
	return r;
}
