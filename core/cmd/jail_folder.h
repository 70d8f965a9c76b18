/*
 * jail_folder: the temporary layer of one `warder jail`: a folder below DATA/jail that is removed at the end, and
 * removed by the next `warder jail` when its own was killed (a lock tells).
 */
#ifndef WARDER_CMD_JAIL_FOLDER_H
#define WARDER_CMD_JAIL_FOLDER_H

#include "core/base/id.h"
#include "core/changes/staged.h"
#include "core/home.h"

struct jail_folder {
	int parent_fd, fd, lock_fd, idmap_lock_fd;
	int keep_fd; /* of --keep, -1: none */
	char name[ID_LEN + 1];
	struct staged staged;
};
#define JAIL_FOLDER_INIT                                                                                            \
	{                                                                                                           \
		.parent_fd = -1, .fd = -1, .lock_fd = -1, .idmap_lock_fd = -1, .keep_fd = -1, .staged = STAGED_INIT \
	}

int jail_folder_make(const struct home *home, const char *workspace, struct jail_folder *ret,
		     struct err *err) WARN_UNUSED;
void jail_folder_remove(struct jail_folder *f);

#endif
