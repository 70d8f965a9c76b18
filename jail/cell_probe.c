/* The doctor: a real cell over a scratch workspace, in which init tries the overlay as well. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/path.h"
#include "jail/cell_internal.h"

struct scratch {
	char path[PATH_MAX], workspace[PATH_MAX + 16];
	int fd, layer, lock;
	int64_t base;
};

static void scratch_free(struct scratch *s)
{
	fd_close(&s->lock);
	fd_close(&s->layer);
	fd_close(&s->fd);
	if (s->path[0]) {
		const char *name = strrchr(s->path, '/') + 1;
		_cleanup_fd_ int parent = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		(void)!path_remove_tree(parent, name, NULL);
	}
}

static bool add_file(int at, const char *name)
{
	_cleanup_fd_ int fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	return fd >= 0 && write(fd, "x", 1) == 1;
}

static int scratch_make(struct scratch *s, struct err *err)
{
	char path[] = "/tmp/warder-doctor-XXXXXX";

	if (!mkdtemp(path) || !realpath(path, s->path))
		return err_errno(err, E_IO, errno, "scratch folder in /tmp");
	s->fd = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->fd < 0 || mkdirat(s->fd, "layer", 0700) < 0 || mkdirat(s->fd, "workspace", 0755) < 0 ||
	    mkdirat(s->fd, "workspace/folder", 0755) < 0 || mkdirat(s->fd, "workspace/.git", 0755) < 0 ||
	    !add_file(s->fd, "workspace/folder/inner") || !add_file(s->fd, "workspace/file"))
		return err_errno(err, E_IO, errno, "%s", s->path);
	s->layer = openat(s->fd, "layer", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->layer < 0)
		return err_errno(err, E_IO, errno, "%s", s->path);
	snprintf(s->workspace, sizeof(s->workspace), "%s/workspace", s->path);
	return cell_idmap_pick(s->fd, 0, &s->base, &s->lock, err);
}

static int try(struct cell_report *report, struct err *err)
{
	static const char *const argv[] = { "true", NULL };
	_cleanup_(scratch_free) struct scratch s = { .fd = -1, .layer = -1, .lock = -1 };
	_cleanup_cell_ struct cell *c = NULL;
	int wstatus;
	int r = scratch_make(&s, err);

	if (r < 0)
		return r;

	struct cell_spec spec = {
		.workspace = s.workspace,
		.layer_fd = s.layer,
		.idmap_base = s.base,
		.stdio = { -1, -1, -1 },
		.argv = argv,
		.floor = CELL_S2,
		.baseline = true,
	};
	r = cell_start_with(&spec, SETUP_PROBE, &c, report, err);
	if (r >= 0)
		r = cell_wait(c, &wstatus, err);
	if (r >= 0 && wstatus != 0)
		r = err_set(err, E_MACHINE, "a program in the cell ended with wait status %d", wstatus);
	return r;
}

void cell_probe(struct cell_report *ret)
{
	struct err err = { 0 };

	cell_report_init(ret);
	if (try(ret, &err) >= 0)
		return;
	ret->level = CELL_NONE;
	for (size_t i = 0; i < ret->nlayers; i++)
		if (ret->layer[i].state == LAYER_MISSING && strstr(err.text, ret->layer[i].evidence))
			return; /* the refusal has its line */
	cell_report_set(ret, JAIL_MOUNTS, LAYER_MISSING, err.text);
}
