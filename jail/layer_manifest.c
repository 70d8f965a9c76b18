/*
 * The manifest as a value: names of operations, lookup, digest, JSON.
 */
#include <sodium/utils.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/json.h"
#include "core/base/utf8.h"
#include "jail/layer.h"
#include "jail/layer_judge.h"

static const char *const op_names[] = {
	[CHANGE_ADD] = "add",   [CHANGE_MODIFY] = "modify",   [CHANGE_DELETE] = "delete",
	[CHANGE_MODE] = "mode", [CHANGE_SYMLINK] = "symlink",
};

static const char *const status_names[] = {
	[CHANGE_OK] = "ok",
	[CHANGE_CONFLICT] = "conflict",
	[CHANGE_REFUSED] = "refused",
	[CHANGE_WITHHELD] = "withheld",
	[CHANGE_IGNORED] = "ignored",
};

const char *change_op_name(enum change_op op)
{
	return (size_t)op < ARRAY_LEN(op_names) ? op_names[op] : "unknown";
}

const char *change_status_name(enum change_status s)
{
	return (size_t)s < ARRAY_LEN(status_names) ? status_names[s] : "unknown";
}

void manifest_free(struct manifest *m)
{
	arena_free(&m->arena);
	*m = (struct manifest){ 0 };
}

const struct change *manifest_find(const struct manifest *m, const char *path)
{
	size_t low = 0, high = m->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int c = strcmp(m->change[mid].path, path);

		if (c == 0)
			return &m->change[mid];
		if (c < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

/* The first change that begins with `folder` and a byte not below `next`. */
static size_t first_with(const struct manifest *m, const char *folder, unsigned next)
{
	size_t low = 0, high = m->n, len = strlen(folder);

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int c = strncmp(m->change[mid].path, folder, len);

		if (c < 0 || (c == 0 && (unsigned char)m->change[mid].path[len] < next))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

void manifest_below(const struct manifest *m, const char *folder, size_t *ret_first, size_t *ret_end)
{
	*ret_first = first_with(m, folder, '/');
	*ret_end = first_with(m, folder, '/' + 1);
}

/* ---- digest: docs/internals/changes.md describes this encoding */

static void digest_side(struct digest *d, const struct change_side *s)
{
	digest_add_u64(d, s->mode);
	digest_add_u64(d, s->size);
	digest_add_u64(d, s->has_digest);
	digest_add(d, s->digest, DIGEST_LEN);
}

void manifest_digest(const struct manifest *m, uint8_t ret[DIGEST_LEN])
{
	static const char head[] = "warder-manifest 1";
	struct digest d;

	digest_init(&d);
	digest_add_sized(&d, head, sizeof(head) - 1);
	digest_add_u64(&d, m->n);
	for (size_t i = 0; i < m->n; i++) {
		const struct change *c = &m->change[i];
		const char *op = change_op_name(c->op), *status = change_status_name(c->status);

		digest_add_sized(&d, c->path, strlen(c->path));
		digest_add_sized(&d, op, strlen(op));
		digest_add_sized(&d, status, strlen(status));
		digest_side(&d, &c->old);
		digest_side(&d, &c->new);
	}
	digest_add_u64(&d, m->nfolders);
	for (size_t i = 0; i < m->nfolders; i++) {
		digest_add_sized(&d, m->folder[i].path, strlen(m->folder[i].path));
		digest_add_u64(&d, m->folder[i].gone);
		digest_add_u64(&d, m->folder[i].mode);
	}
	digest_end(&d, ret);
}

/* ---- JSON */

static bool is_utf8(const char *text, size_t len)
{
	uint32_t cp;

	for (size_t at = 0, used; at < len; at += used) {
		used = utf8_decode(text + at, len - at, &cp);
		if (!used)
			return false;
	}
	return true;
}

static void add_bytes(const char *text, struct buf *out)
{
	size_t len = strlen(text);

	if (is_utf8(text, len)) {
		json_write_string(text, len, out);
		return;
	}

	size_t room = sodium_base64_encoded_len(len, sodium_base64_VARIANT_ORIGINAL);
	buf_adds(out, "{\"$b64\":\"");
	char *to = buf_reserve(out, room);
	if (to) {
		sodium_bin2base64(to, room, (const unsigned char *)text, len, sodium_base64_VARIANT_ORIGINAL);
		out->len += room - 1;
	}
	buf_adds(out, "\"}");
}

static void add_digest(const char *key, const struct change_side *s, struct buf *out)
{
	char hex[DIGEST_HEX_LEN + 1];

	if (s->has_digest)
		buf_addf(out, ",\"%s\":\"%s\"", key, digest_hex(s->digest, hex));
	else
		buf_addf(out, ",\"%s\":null", key);
}

static void add_text(const char *key, const char *text, struct buf *out)
{
	if (!text[0])
		return;
	buf_addf(out, ",\"%s\":", key);
	json_write_string(text, strlen(text), out);
}

void change_to_json(const struct change *c, struct buf *out)
{
	mode_t mode = c->new.mode ? c->new.mode : c->old.mode;

	buf_addf(out, "{\"op\":\"%s\",\"path\":", change_op_name(c->op));
	add_bytes(c->path, out);
	add_digest("old", &c->old, out);
	add_digest("new", &c->new, out);
	/* A symlink has no permissions of its own; Git writes 120000. */
	buf_addf(out, ",\"mode\":\"%06o\"", S_ISLNK(mode) ? (unsigned)S_IFLNK : (unsigned)mode);
	buf_addf(out, ",\"status\":\"%s\"", change_status_name(c->status));
	add_text("why", c->why, out);
	add_text("note", c->note, out);
	if (c->runs_later)
		buf_adds(out, ",\"runs_later\":true");
	buf_addc(out, '}');
}

static void add_counts(const char *key, const char *const *names, const size_t *counts, size_t n, struct buf *out)
{
	const char *comma = "";

	buf_addf(out, ",\"%s\":{", key);
	for (size_t i = 0; i < n; i++) {
		if (!counts[i])
			continue;
		buf_addf(out, "%s\"%s\":%zu", comma, names[i], counts[i]);
		comma = ",";
	}
	buf_addc(out, '}');
}

void manifest_to_json(const struct manifest *m, size_t max, struct buf *out)
{
	size_t ops[ARRAY_LEN(op_names)] = { 0 }, statuses[ARRAY_LEN(status_names)] = { 0 };
	size_t listed = m->n < max ? m->n : max;
	char hex[DIGEST_HEX_LEN + 1];

	for (size_t i = 0; i < m->n; i++) {
		ops[m->change[i].op]++;
		statuses[m->change[i].status]++;
	}
	buf_addf(out, "{\"manifest\":\"%s\",\"entries\":%zu,\"withheld\":%zu", digest_hex(m->digest, hex), m->n,
		 m->withheld);
	add_counts("ops", op_names, ops, ARRAY_LEN(op_names), out);
	add_counts("statuses", status_names, statuses, ARRAY_LEN(status_names), out);
	buf_adds(out, ",\"paths\":[");
	for (size_t i = 0; i < listed; i++) {
		if (i)
			buf_addc(out, ',');
		change_to_json(&m->change[i], out);
	}
	buf_addf(out, "],\"more\":%zu}", m->n - listed);
}
