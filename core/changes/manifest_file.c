#include "core/changes/manifest_file.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define LINE_PARTS 14
#define ARENA_MAX (1u << 30)

/* ---- writing */

static void add_hex(struct buf *out, const char *text)
{
	static const char digits[] = "0123456789abcdef";

	buf_addc(out, ' ');
	if (!text || !text[0])
		buf_addc(out, '-');
	for (; text && *text; text++) {
		buf_addc(out, digits[(unsigned char)*text >> 4]);
		buf_addc(out, digits[*text & 15]);
	}
}

static void add_side(struct buf *out, const struct change_side *s)
{
	char hex[DIGEST_HEX_LEN + 1];

	buf_addf(out, " %o %" PRIu64 " %s", (unsigned)s->mode, s->size,
		 s->has_digest ? digest_hex(s->digest, hex) : "-");
}

void manifest_write(const struct manifest *m, struct buf *out)
{
	char hex[DIGEST_HEX_LEN + 1];

	for (size_t i = 0; i < m->n; i++) {
		const struct change *c = &m->change[i];

		buf_addc(out, 'c');
		add_hex(out, c->path);
		buf_addf(out, " %d %d", (int)c->op, (int)c->status);
		add_hex(out, c->why);
		add_hex(out, c->note);
		buf_addf(out, " %d", c->runs_later);
		add_side(out, &c->old);
		add_side(out, &c->new);
		buf_addf(out, " %" PRIu64 " %" PRId64 "\n", c->old_ino, c->old_ctime_ns);
	}
	for (size_t i = 0; i < m->nfolders; i++) {
		const struct change_folder *f = &m->folder[i];

		buf_addc(out, 'f');
		add_hex(out, f->path);
		buf_addf(out, " %d %o %" PRIu64 "\n", f->gone, (unsigned)f->mode, f->old_ino);
	}
	buf_addf(out, "d %zu %s\n", m->withheld, digest_hex(m->digest, hex));
}

/* ---- reading */

struct reader {
	struct manifest *m;
	char *part[LINE_PARTS + 1];
	size_t nparts, at;
	bool bad, sealed;
	uint8_t digest[DIGEST_LEN];
};

static uint64_t number(struct reader *r, int base, uint64_t max)
{
	const char *text = r->at < r->nparts ? r->part[r->at++] : "";
	char *end;

	errno = 0;
	unsigned long long n = strtoull(text, &end, base);
	if (errno || end == text || *end || n > max)
		r->bad = true;
	return n;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static const char *text(struct reader *r)
{
	const char *hex = r->at < r->nparts ? r->part[r->at++] : "";
	size_t len = strlen(hex) / 2;
	char *ret = arena_alloc(&r->m->arena, len + 1);

	if (!ret) {
		r->bad = true;
		return "";
	}
	if (strcmp(hex, "-") == 0)
		return ret;
	for (size_t i = 0; i < len; i++) {
		int high = hex_digit(hex[2 * i]), low = hex_digit(hex[2 * i + 1]);

		if (high < 0 || low < 0 || (high == 0 && low == 0))
			r->bad = true;
		ret[i] = (char)((high << 4 | low) & 0xff);
	}
	if (hex[2 * len] || !len)
		r->bad = true;
	return ret;
}

static void digest(struct reader *r, uint8_t ret[DIGEST_LEN], bool *ret_has)
{
	const char *hex = r->at < r->nparts ? r->part[r->at++] : "";

	*ret_has = strcmp(hex, "-") != 0;
	if (*ret_has && !digest_parse_hex(hex, strlen(hex), ret))
		r->bad = true;
}

static struct change_side side(struct reader *r)
{
	struct change_side s = { 0 };

	s.mode = (mode_t)number(r, 8, 0177777);
	s.size = number(r, 10, UINT64_MAX);
	digest(r, s.digest, &s.has_digest);
	return s;
}

static void read_change(struct reader *r)
{
	struct change c = { 0 };

	c.path = text(r);
	c.op = (enum change_op)number(r, 10, CHANGE_SYMLINK);
	c.status = (enum change_status)number(r, 10, CHANGE_IGNORED);
	c.why = text(r);
	c.note = text(r);
	c.runs_later = number(r, 10, 1);
	c.old = side(r);
	c.new = side(r);
	c.old_ino = number(r, 10, UINT64_MAX);
	c.old_ctime_ns = (int64_t)number(r, 10, UINT64_MAX);
	r->m->change[r->m->n++] = c;
}

static void read_folder(struct reader *r)
{
	struct change_folder f = { 0 };

	f.path = text(r);
	f.gone = number(r, 10, 1);
	f.mode = (mode_t)number(r, 8, 0177777);
	f.old_ino = number(r, 10, UINT64_MAX);
	r->m->folder[r->m->nfolders++] = f;
}

static void read_seal(struct reader *r)
{
	bool has;

	r->m->withheld = number(r, 10, SIZE_MAX);
	digest(r, r->digest, &has);
	r->sealed = has;
}

static const struct {
	char type;
	size_t parts;
	void (*read)(struct reader *r);
} lines[] = {
	{ 'c', LINE_PARTS + 1, read_change },
	{ 'f', 5, read_folder },
	{ 'd', 3, read_seal },
};

static void read_line(struct reader *r, char *line)
{
	char *save = NULL;

	r->nparts = 0;
	for (char *part = strtok_r(line, " ", &save); part && r->nparts <= LINE_PARTS;
	     part = strtok_r(NULL, " ", &save))
		r->part[r->nparts++] = part;
	r->at = 1;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		if (r->nparts != lines[i].parts || r->part[0][0] != lines[i].type || r->part[0][1])
			continue;
		lines[i].read(r);
		return;
	}
	r->bad = true;
}

static size_t count_lines(const char *text_, size_t len, char type)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += text_[i] == type && (i == 0 || text_[i - 1] == '\n');
	return n;
}

int manifest_read(const char *text_, size_t len, struct manifest *ret, struct err *err)
{
	_cleanup_(manifest_free) struct manifest m = { .arena = ARENA_INIT(ARENA_MAX) };
	_cleanup_free_ char *copy = strndup(text_, len);
	uint8_t computed[DIGEST_LEN];
	struct reader r = { .m = &m };
	char *save = NULL;

	m.change = arena_alloc(&m.arena, (count_lines(text_, len, 'c') + 1) * sizeof(*m.change));
	m.folder = arena_alloc(&m.arena, (count_lines(text_, len, 'f') + 1) * sizeof(*m.folder));
	if (!copy || !m.change || !m.folder)
		return err_set(err, E_NOMEM, "manifest: out of memory");
	for (char *line = strtok_r(copy, "\n", &save); line && !r.bad; line = strtok_r(NULL, "\n", &save))
		read_line(&r, line);
	manifest_digest(&m, computed);
	if (r.bad || !r.sealed || memcmp(computed, r.digest, DIGEST_LEN) != 0)
		return err_set(err, E_CORRUPT, "manifest: it is not what was snapshot; look at the changes anew");
	memcpy(m.digest, computed, DIGEST_LEN);
	*ret = m;
	m = (struct manifest){ 0 };
	return 0;
}
