#include "core/cmd/jail_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/path.h"
#include "jail/cell.h"

#define LOCK_NAME "lock"

static int take_lock(int fd)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return fcntl(fd, F_OFD_SETLK, &lock);
}

/* A folder whose lock can be taken has no living owner. */
static void remove_stale(int parent_fd)
{
	int fd = openat(parent_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *d;

	if (!dir) {
		fd_close(&fd);
		return;
	}
	while ((d = readdir(dir))) {
		char path[ID_LEN + 8];
		struct err err = { 0 };

		if (!id_valid(d->d_name))
			continue;
		snprintf(path, sizeof(path), "%.20s/" LOCK_NAME, d->d_name);
		_cleanup_fd_ int lock = path_open_beneath(parent_fd, path, O_RDWR, 0);
		if (lock >= 0 && take_lock(lock) == 0)
			(void)!path_remove_tree(parent_fd, d->d_name, &err);
	}
	closedir(dir);
}

int jail_folder_make(const struct home *home, const char *workspace, struct jail_folder *ret, struct err *err)
{
	_cleanup_(jail_folder_remove) struct jail_folder f = JAIL_FOLDER_INIT;
	int64_t base = 0;

	if (mkdirat(home->data_fd, "jail", 0700) < 0 && errno != EEXIST)
		return err_errno(err, E_IO, errno, "%s/jail", home->data_path);
	f.parent_fd = path_open_beneath(home->data_fd, "jail", O_RDONLY | O_DIRECTORY, 0);
	if (f.parent_fd < 0)
		return err_errno(err, E_IO, errno, "%s/jail", home->data_path);
	remove_stale(f.parent_fd);

	int r = id_new(f.name, err);
	if (r < 0)
		return r;
	if (mkdirat(f.parent_fd, f.name, 0700) < 0 ||
	    (f.fd = path_open_beneath(f.parent_fd, f.name, O_RDONLY | O_DIRECTORY, 0)) < 0 ||
	    (f.lock_fd = path_open_beneath(f.fd, LOCK_NAME, O_RDWR | O_CREAT | O_EXCL, 0600)) < 0 ||
	    take_lock(f.lock_fd) < 0)
		return err_errno(err, E_IO, errno, "%s/jail/%s", home->data_path, f.name);
	r = cell_idmap_pick(home->run_fd, 0, &base, &f.idmap_lock_fd, err);
	if (r == 0)
		r = staged_open(f.fd, workspace, base, &f.staged, err);
	if (r < 0)
		return r;
	f.staged.layer.temporary = true;
	*ret = f;
	f = (struct jail_folder)JAIL_FOLDER_INIT;
	return 0;
}

void jail_folder_remove(struct jail_folder *f)
{
	struct err err = { 0 };

	staged_close(&f->staged);
	fd_close(&f->fd);
	if (f->name[0])
		(void)!path_remove_tree(f->parent_fd, f->name, &err);
	fd_close(&f->lock_fd);
	fd_close(&f->idmap_lock_fd);
	fd_close(&f->keep_fd);
	fd_close(&f->parent_fd);
}
