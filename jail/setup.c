#include "jail/setup.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "jail/wire.h"

#define LIST_MAX 65536
#define STRING_MAX (1u << 20)
#define FILTER_MAX (64u << 10)

const char *const setup_namespaces[SETUP_NAMESPACES] = { "user", "mnt", "pid", "net", "ipc", "uts", "cgroup" };

static void add_list(struct buf *out, const struct setup_list *list)
{
	wire_add_u32(out, (uint32_t)list->n);
	for (size_t i = 0; i < list->n; i++)
		wire_add_str(out, list->item[i]);
}

static void add_folder(struct buf *out, const struct setup_folder *f)
{
	wire_add_str(out, f->path ? f->path : "");
	wire_add_u64(out, f->dev);
	wire_add_u64(out, f->ino);
}

void setup_encode(const struct setup *s, struct buf *out)
{
	wire_add_u32(out, s->flags);
	wire_add_u32(out, s->uid);
	wire_add_u32(out, s->gid);
	add_folder(out, &s->workspace);
	add_folder(out, &s->layer);
	wire_add_str(out, s->cwd);
	add_list(out, &s->ro);
	add_list(out, &s->rw);
	add_list(out, &s->env);
	add_list(out, &s->argv);
	wire_add_u64(out, s->limits.memory_bytes);
	wire_add_u64(out, s->limits.file_bytes);
	wire_add_u64(out, s->limits.open_files);
	wire_add_u64(out, s->limits.processes);
	wire_add_u64(out, s->limits.cpu_seconds);
	wire_add_bytes(out, s->filter, s->filter_len);
}

static void take_list(struct wire_reader *r, size_t string_max, struct setup_list *ret)
{
	size_t n = wire_u32(r);

	/* A string is five bytes at least, so a count that the message cannot hold is refused before memory is taken.
	 */
	if (n > LIST_MAX || n > r->left / 5) {
		r->bad = true;
		return;
	}
	ret->item = calloc(n + 1, sizeof(*ret->item));
	if (!ret->item) {
		r->bad = true;
		return;
	}
	ret->n = n;
	for (size_t i = 0; i < n; i++)
		ret->item[i] = wire_str(r, string_max);
}

static void take_folder(struct wire_reader *r, struct setup_folder *ret)
{
	ret->path = wire_str(r, PATH_MAX);
	ret->dev = wire_u64(r);
	ret->ino = wire_u64(r);
}

static bool all_absolute(const struct setup_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->item[i][0] != '/')
			return false;
	return true;
}

static bool sensible(const struct setup *s)
{
	bool by_path = !(s->flags & SETUP_IDMAPPED);

	return s->uid != 0 && s->gid != 0 && s->workspace.path[0] == '/' && s->workspace.path[1] && s->cwd[0] == '/' &&
	       all_absolute(&s->ro) && all_absolute(&s->rw) && s->filter_len &&
	       (!by_path || (s->flags & SETUP_PRIVATE_LAYER) || s->layer.path[0] == '/');
}

int setup_decode(const char *data, size_t len, struct setup *ret, struct err *err)
{
	struct wire_reader r = { data, len, false };
	struct setup s = { 0 };

	s.flags = wire_u32(&r);
	s.uid = wire_u32(&r);
	s.gid = wire_u32(&r);
	take_folder(&r, &s.workspace);
	take_folder(&r, &s.layer);
	s.cwd = wire_str(&r, PATH_MAX);
	take_list(&r, PATH_MAX, &s.ro);
	take_list(&r, PATH_MAX, &s.rw);
	take_list(&r, STRING_MAX, &s.env);
	take_list(&r, STRING_MAX, &s.argv);
	s.limits.memory_bytes = wire_u64(&r);
	s.limits.file_bytes = wire_u64(&r);
	s.limits.open_files = wire_u64(&r);
	s.limits.processes = wire_u64(&r);
	s.limits.cpu_seconds = wire_u64(&r);
	s.filter = wire_bytes(&r, FILTER_MAX, &s.filter_len);
	if (!wire_end(&r) || !sensible(&s)) {
		setup_free(&s);
		return err_set(err, E_PROTOCOL, "set-up of the cell: malformed message");
	}
	*ret = s;
	return 0;
}

static void free_list(struct setup_list *list)
{
	free(list->item);
	*list = (struct setup_list){ 0 };
}

void setup_free(struct setup *s)
{
	free_list(&s->ro);
	free_list(&s->rw);
	free_list(&s->env);
	free_list(&s->argv);
}

void setup_encode_report(const struct setup_report *rep, struct buf *out)
{
	for (size_t i = 0; i < JAIL_LAYERS; i++) {
		wire_add_u32(out, rep->finding[i].set);
		wire_add_u32(out, rep->finding[i].state);
		wire_add_str(out, rep->finding[i].evidence);
	}
	wire_add_u32(out, rep->landlock_abi);
	wire_add_u32(out, rep->hidden);
	for (size_t i = 0; i < SETUP_NAMESPACES; i++)
		wire_add_u64(out, rep->ns[i]);
	wire_add_str(out, rep->mounts);
}

int setup_decode_report(const char *data, size_t len, struct setup_report *ret, struct err *err)
{
	struct wire_reader r = { data, len, false };
	struct setup_report rep = { 0 };

	for (size_t i = 0; i < JAIL_LAYERS; i++) {
		struct setup_finding *f = &rep.finding[i];
		uint32_t state;

		f->set = wire_u32(&r) != 0;
		state = wire_u32(&r);
		if (state > LAYER_MISSING)
			r.bad = true;
		f->state = state;
		snprintf(f->evidence, sizeof(f->evidence), "%s", wire_str(&r, sizeof(f->evidence) - 1));
	}
	rep.landlock_abi = wire_u32(&r);
	rep.hidden = wire_u32(&r);
	for (size_t i = 0; i < SETUP_NAMESPACES; i++)
		rep.ns[i] = wire_u64(&r);
	snprintf(rep.mounts, sizeof(rep.mounts), "%s", wire_str(&r, sizeof(rep.mounts) - 1));
	if (!wire_end(&r))
		return err_set(err, E_PROTOCOL, "report of the cell: malformed message");
	*ret = rep;
	return 0;
}
