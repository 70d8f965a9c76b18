#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "core/base/digest.h"
#include "core/base/json.h"
#include "jail/cell_internal.h"
#include "jail/idmap.h"
#include "jail/limits.h"

static const struct {
	enum cell_level level;
	const char *name;
} levels[] = { { CELL_NONE, "none" }, { CELL_S2, "S2" }, { CELL_S3, "S3" } };

const char *cell_level_name(enum cell_level level)
{
	for (size_t i = 0; i < ARRAY_LEN(levels); i++)
		if (levels[i].level == level)
			return levels[i].name;
	return "none";
}

int cell_level_parse(const char *name, enum cell_level *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(levels); i++)
		if (strcmp(levels[i].name, name) == 0) {
			*ret = levels[i].level;
			return 0;
		}
	return E_INVALID;
}

void cell_report_init(struct cell_report *r)
{
	r->level = CELL_NONE;
	r->nlayers = 0;
	snprintf(r->evidence_json, sizeof(r->evidence_json), "{}");
}

/* Text of a cell becomes one printable line; the display gate does the rest. */
static void copy_line(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", from);
	for (char *p = to; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
}

void cell_report_set(struct cell_report *r, enum jail_layer layer, enum layer_state state, const char *evidence)
{
	const struct jail_layer_info *info = jail_layer_info(layer);
	struct cell_layer *l = NULL;

	for (size_t i = 0; i < r->nlayers; i++)
		if (r->layer[i].name == info->name)
			l = &r->layer[i];
	if (!l) {
		if (r->nlayers == CELL_LAYERS_MAX)
			return;
		l = &r->layer[r->nlayers++];
	}
	l->name = info->name;
	l->state = state;
	copy_line(l->evidence, sizeof(l->evidence), evidence ? evidence : "");
	snprintf(l->remedy, sizeof(l->remedy), "%s", state == LAYER_OK ? "" : info->remedy);
}

static enum cell_level level_of(const struct setup_report *found, const struct cgroup *cg)
{
	for (int i = 0; i < JAIL_LAYERS; i++) {
		if (jail_layer_info(i)->comfort || i == JAIL_LIMITS || i == JAIL_IDMAP)
			continue;
		if (!found->finding[i].set || found->finding[i].state != LAYER_OK)
			return CELL_S2;
	}
	return cg->memory && cg->pids ? CELL_S3 : CELL_S2;
}

void cell_report_fill(struct cell_report *r, const struct setup_report *found, const struct cgroup *cg)
{
	r->nlayers = 0;
	for (int i = 0; i < JAIL_LAYERS; i++)
		if (found->finding[i].set)
			cell_report_set(r, i, found->finding[i].state, found->finding[i].evidence);
	r->level = level_of(found, cg);
}

/* ---- jail.provisioned */

static void add_string(struct buf *b, const char *key, const char *value)
{
	buf_addf(b, "\"%s\":", key);
	json_write_string(value, strlen(value), b);
	buf_addc(b, ',');
}

static uint64_t or_default(uint64_t value, uint64_t fallback)
{
	return value ? value : fallback;
}

static void add_limits(struct buf *b, const struct cell *c, const struct cell_limits *l)
{
	buf_addf(b, "\"limits\":{\"processes\":%llu,\"open_files\":%llu,\"file_bytes\":%llu,\"cpu_seconds\":%llu",
		 (unsigned long long)or_default(l->processes, LIMIT_PROCESSES),
		 (unsigned long long)or_default(l->open_files, LIMIT_OPEN_FILES),
		 (unsigned long long)or_default(l->file_bytes, LIMIT_FILE_BYTES),
		 (unsigned long long)or_default(l->cpu_seconds, LIMIT_CPU_SECONDS));
	if (c->cgroup.memory)
		buf_addf(b, ",\"memory_bytes\":%llu",
			 (unsigned long long)or_default(l->memory_bytes, LIMIT_MEMORY_BYTES));
	buf_adds(b, "},");
	if (c->cgroup.path[CGROUP_MEMORY][0])
		add_string(b, "cgroup", c->cgroup.path[CGROUP_MEMORY]);
}

void cell_report_evidence(struct cell_report *r, const struct cell *c, const struct cell_spec *spec,
			  const struct setup_report *found, const char *filter, size_t filter_len, uint32_t uid)
{
	_cleanup_buf_ struct buf b = BUF_INIT(sizeof(r->evidence_json) - 1);
	char hex[DIGEST_HEX_LEN + 1];
	uint8_t digest[DIGEST_LEN];
	struct utsname kernel;

	buf_addc(&b, '{');
	if (uname(&kernel) == 0)
		add_string(&b, "kernel", kernel.release);
	buf_adds(&b, "\"namespaces\":{");
	for (size_t i = 0; i < SETUP_NAMESPACES; i++)
		buf_addf(&b, "%s\"%s\":%llu", i ? "," : "", setup_namespaces[i], (unsigned long long)found->ns[i]);
	buf_addf(&b, "},\"uid\":%u,\"uid_map\":\"%u %lld %d\",", uid, spec->idmap_base ? 0 : uid,
		 (long long)(spec->idmap_base ? spec->idmap_base : (int64_t)uid), spec->idmap_base ? IDMAP_COUNT : 1);
	digest_of(filter, filter_len, digest);
	add_string(&b, "seccomp_sha256", digest_hex(digest, hex));
	buf_addf(&b, "\"landlock_abi\":%u,\"hidden\":%u,", found->landlock_abi, found->hidden);
	add_limits(&b, c, &spec->limits);
	add_string(&b, "mounts", found->mounts);
	buf_addf(&b, "\"layer\":\"%s\"}", spec->layer_fd < 0 ? "tmpfs" : "folder");
	if (!b.failed)
		memcpy(r->evidence_json, b.data, b.len + 1);
}

int cell_refuse(struct cell_report *r, enum jail_layer layer, const char *why, struct err *err)
{
	const struct jail_layer_info *info = jail_layer_info(layer);
	char line[600];

	copy_line(line, sizeof(line), why);
	cell_report_set(r, layer, LAYER_MISSING, line);
	r->level = CELL_NONE;
	return err_set(err, E_MACHINE, "%s: %s; %s", info->title, line, info->remedy);
}
