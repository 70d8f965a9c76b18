/*
 * layer_walk: goes through folders side by side (the upper, the real tree, the mask), depth first, names in byte
 * order.  It holds descriptors of the deepest folders only and opens the others again from the top, so that depth costs
 * no descriptors; it opens nothing but folders and follows no symlink.  What a name means is the visitor's to say.
 */
#ifndef WARDER_JAIL_LAYER_WALK_H
#define WARDER_JAIL_LAYER_WALK_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"

enum walk_side { WALK_UPPER, WALK_REAL, WALK_MASK, WALK_SIDES };

struct name_list {
	struct buf text; /* NUL-terminated names one after the other */
	uint32_t *at;    /* where each begins; sorted, each name once after names_sort */
	size_t n, cap;
};

/* Adds all names in the folder but "." and "..". */
int names_read(struct name_list *l, int dirfd, struct err *err) WARN_UNUSED;
void names_sort(struct name_list *l);
const char *names_get(const struct name_list *l, size_t i);
bool names_has(const struct name_list *l, const char *name);
void names_free(struct name_list *l);
#define _cleanup_names_ _cleanup_(names_free)

/* A folder in work.  A visitor embeds it as the first member of its own struct. */
struct walk_folder {
	struct walk_folder *up;
	size_t depth;
	size_t path_len;      /* of the folder, in walk.path */
	bool has[WALK_SIDES]; /* on which sides it is there */
	int fd[WALK_SIDES];   /* open in visit() and leave() where `has` */
	struct name_list names;
	size_t next;
};

struct walk {
	int root[WALK_SIDES]; /* not owned; -1: no such side */
	size_t folder_size;   /* of the visitor's struct */
	/* `path` is that of the entry in hand (no leading slash); in leave() that of the folder. */
	struct buf path;
	struct walk_folder *top;
	/* May end with walk_enter() for the entry in hand and must not touch `f` after it. */
	int (*visit)(struct walk *w, struct walk_folder *f, const char *name, struct err *err);
	int (*leave)(struct walk *w, struct walk_folder *f, struct err *err); /* may be NULL */
};

#define WALK_PATH_MAX (PATH_MAX + NAME_MAX + 2)
#define WALK_INIT(size) { .root = { -1, -1, -1 }, .folder_size = (size), .path = BUF_INIT(WALK_PATH_MAX) }

/* Opens a folder below dirfd for the walk; -1 with errno. */
int walk_open(int dirfd, const char *name) WARN_UNUSED;
/* The upper of a layer.  Its top folder stands for the workspace itself, whose mode the agent can change and nobody
 * applies: one that was closed is opened again, or the agent could keep the operator out of the staged change. */
int walk_open_upper(int layer_fd) WARN_UNUSED;

/* The entry in hand (at the start: the top) becomes the folder in work.  `fd` are taken over, also on failure; -1: not
 * there. Names are read from the sides in `list` (a bit each). */
int walk_enter(struct walk *w, int fd[WALK_SIDES], unsigned list, struct walk_folder **ret,
	       struct err *err) WARN_UNUSED;

/* Goes on until nothing is left. */
int walk_run(struct walk *w, struct err *err) WARN_UNUSED;
void walk_free(struct walk *w);
#define _cleanup_walk_ _cleanup_(walk_free)

#endif
