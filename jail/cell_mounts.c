/* As root the workspace and the operator's further paths reach init as id-mapped mounts, since only the host's root may
 * make those; and the layer, because init cannot walk through folders that are root's alone. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "jail/cell_internal.h"
#include "jail/idmap.h"
#include "jail/mount.h"

/* The last map that was made: most paths have one owner. */
struct map {
	int userns;
	uid_t uid;
	gid_t gid;
};

static int map_for(int64_t base, int fd, struct map *m, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_errno(err, E_IO, errno, "owner of the folder");
	if (m->userns >= 0 && m->uid == st.st_uid && m->gid == st.st_gid)
		return 0;
	fd_close(&m->userns);
	m->uid = st.st_uid;
	m->gid = st.st_gid;
	return idmap_open(base, st.st_uid, st.st_gid, &m->userns, err);
}

static int make_layer(int layer, struct cell_mounts *m, struct err *err)
{
	static const struct {
		int which;
		const char *name;
	} folders[] = { { SETUP_FD_UPPER, "upper" }, { SETUP_FD_WORK, "work" }, { SETUP_FD_MASK, "mask" } };
	int r = idmap_mount(layer, -1, true, &m->fd[SETUP_MOUNT_LAYER], err);

	for (size_t i = 0; r >= 0 && i < ARRAY_LEN(folders); i++) {
		/* Through the copy: overlayfs wants upper and work of one mount, and of the cell's namespace. */
		m->fd[folders[i].which] = openat(m->fd[SETUP_MOUNT_LAYER], folders[i].name,
						 O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (m->fd[folders[i].which] < 0)
			r = err_errno(err, E_IO, errno, "layer/%s", folders[i].name);
	}
	return r;
}

static int make_path(int64_t base, const char *path, bool writable, struct map *map, int *ret, struct err *err)
{
	_cleanup_fd_ int fd = -1;
	bool folder;
	int r = mount_open_source(path, &fd, &folder, err);

	if (r >= 0)
		r = map_for(base, fd, map, err);
	if (r >= 0)
		r = idmap_mount(fd, map->userns, writable, ret, err);
	/* Reading needs no map: a tool-chain on a file system without is readable where others may read it. */
	if (r == E_MACHINE && !writable)
		r = idmap_mount(fd, -1, false, ret, err);
	return r < 0 ? err_prefix(err, "%s", path) : 0;
}

static int make_all(const struct cell_spec *spec, int workspace, int layer, struct map *map, struct cell_mounts *m,
		    struct err *err)
{
	const char *const *lists[] = { spec->ro, spec->rw };
	int r = map_for(spec->idmap_base, workspace, map, err);

	if (r >= 0)
		r = idmap_mount(workspace, map->userns, false, &m->fd[SETUP_MOUNT_LOWER], err);
	if (r >= 0 && layer >= 0)
		r = make_layer(layer, m, err);
	for (size_t l = 0; r >= 0 && l < ARRAY_LEN(lists); l++)
		for (size_t i = 0; r >= 0 && lists[l] && lists[l][i]; i++)
			r = make_path(spec->idmap_base, lists[l][i], l == 1, map, &m->extra[m->nextra++], err);
	return r;
}

static size_t count(const char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

int cell_mounts_make(const struct cell_spec *spec, int workspace, int layer, struct cell_mounts *ret, struct err *err)
{
	size_t n = count(spec->ro) + count(spec->rw);
	struct cell_mounts m = { .fd = { -1, -1, -1, -1, -1 }, .extra = malloc((n + 1) * sizeof(int)) };
	struct map map = { .userns = -1 };

	if (!m.extra)
		return err_set(err, E_NOMEM, "mounts of the cell: out of memory");
	memset(m.extra, 0xff, (n + 1) * sizeof(int));
	int r = make_all(spec, workspace, layer, &map, &m, err);
	fd_close(&map.userns);
	if (r < 0) {
		cell_mounts_close(&m);
		return r;
	}
	*ret = m;
	return 0;
}

void cell_mounts_close(struct cell_mounts *m)
{
	for (size_t i = 0; i < SETUP_FDS; i++)
		fd_close(&m->fd[i]);
	for (size_t i = 0; i < m->nextra; i++)
		fd_close(&m->extra[i]);
	free(m->extra);
	m->extra = NULL;
	m->nextra = 0;
}
