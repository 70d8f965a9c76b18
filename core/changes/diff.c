#include "core/changes/diff.h"

#include <string.h>
#include <sys/stat.h>

#include "core/base/utf8.h"
#include "core/changes/diff_lines.h"
#include "jail/content.h"

#define CONTEXT 3u
#define FUNCTION_MAX 80 /* bytes of a line that is shown behind @@ */
#define BINARY_PROBE 8000
#define PIECE 65536

struct writer {
	int (*write)(const char *data, size_t len, void *arg);
	void *arg;
	struct buf buf;
	bool failed;
};

static void flush(struct writer *w)
{
	if (w->buf.len && !w->failed && w->write(w->buf.data, w->buf.len, w->arg) < 0)
		w->failed = true;
	w->buf.len = 0;
}

static void emit(struct writer *w, const char *data, size_t len)
{
	while (len) {
		size_t part = len < PIECE ? len : PIECE;

		buf_add(&w->buf, data, part);
		data += part;
		len -= part;
		if (w->buf.len >= PIECE)
			flush(w);
	}
}

static void emit_str(struct writer *w, const char *str)
{
	emit(w, str, strlen(str));
}

void diff_quote(const char *prefix, const char *path, struct buf *out)
{
	static const char named[] = "abtnvfr"; /* escapes of the bytes 7 to 13 */
	bool plain = true;

	for (const unsigned char *p = (const unsigned char *)path; *p && plain; p++)
		plain = *p >= 0x20 && *p < 0x7f && *p != '"' && *p != '\\';
	if (!plain)
		buf_addc(out, '"');
	buf_adds(out, prefix);
	if (plain) {
		buf_adds(out, path);
		return;
	}
	for (const unsigned char *p = (const unsigned char *)path; *p; p++) {
		if (*p == '"' || *p == '\\')
			buf_addf(out, "\\%c", *p);
		else if (*p >= 7 && *p <= 13)
			buf_addf(out, "\\%c", named[*p - 7]);
		else if (*p < 0x20 || *p >= 0x7f)
			buf_addf(out, "\\%03o", *p);
		else
			buf_addc(out, (char)*p);
	}
	buf_addc(out, '"');
}

/* ---- one side of a section */

struct text {
	bool present;
	mode_t git_mode;
	struct content_map map;
};

static void text_free(struct text *t)
{
	content_unmap(&t->map);
}
#define _cleanup_text_ _cleanup_(text_free)

static bool git_knows(const struct change_side *s)
{
	return s->has_digest && (S_ISREG(s->mode) || S_ISLNK(s->mode));
}

static int load(const struct layer *l, const struct change_side *s, struct text *ret, struct err *err)
{
	ret->present = git_knows(s);
	if (!ret->present)
		return 0;
	ret->git_mode = S_ISLNK(s->mode) ? 0120000 : s->mode & 0100 ? 0100755 : 0100644;
	return content_map(l->content_fd, s->digest, &ret->map, err);
}

static bool is_binary(const struct text *t)
{
	size_t probe = t->map.len < BINARY_PROBE ? t->map.len : BINARY_PROBE;

	return t->map.len >= DIFF_BINARY_MIN || (probe && memchr(t->map.data, 0, probe));
}

static bool same_text(const struct text *a, const struct text *b)
{
	return a->map.len == b->map.len && memcmp(a->map.data, b->map.data, a->map.len) == 0;
}

static size_t count_lines(const struct content_map *m)
{
	size_t n = 0;

	for (const char *p = m->data, *end = m->data + m->len; p < end; n++) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));

		p = nl ? nl + 1 : end;
	}
	return n;
}

/* Nothing to compare, or too much. */
static bool replaced_whole(const struct text *old, const struct text *new)
{
	return !old->map.len || !new->map.len || old->map.len > DIFF_TEXT_MAX || new->map.len > DIFF_TEXT_MAX;
}

/* ---- hunks */

static void emit_lines(struct writer *w, char mark, const char *data, size_t len)
{
	for (const char *p = data, *end = data + len; p < end;) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t n = nl ? (size_t)(nl - p) + 1 : (size_t)(end - p);

		emit(w, &mark, 1);
		emit(w, p, n);
		if (!nl)
			emit_str(w, "\n\\ No newline at end of file\n");
		p += n;
	}
}

/* "start,count": counted from 1, count left out when 1; an empty range names the line before it. */
static void emit_range(struct writer *w, char mark, size_t start, size_t count)
{
	buf_addf(&w->buf, "%c%zu", mark, count ? start + 1 : start);
	if (count != 1)
		buf_addf(&w->buf, ",%zu", count);
}

static void hunk_whole(struct writer *w, const struct text *old, const struct text *new)
{
	emit_str(w, "@@ ");
	emit_range(w, '-', 0, count_lines(&old->map));
	emit_str(w, " ");
	emit_range(w, '+', 0, count_lines(&new->map));
	emit_str(w, " @@\n");
	emit_lines(w, '-', old->map.data, old->map.len);
	emit_lines(w, '+', new->map.data, new->map.len);
}

static const char *line_at(const struct diff_side *s, uint32_t line, size_t *ret_len)
{
	*ret_len = s->start[line + 1] - s->start[line];
	return s->data + s->start[line];
}

static void side_lines(struct writer *w, char mark, const struct diff_side *s, uint32_t first, uint32_t end)
{
	emit_lines(w, mark, s->data + s->start[first], s->start[end] - s->start[first]);
}

/* The line that names the place of a hunk: git's default is the last one above that begins with a letter, _ or $. */
struct place {
	uint32_t searched; /* lines below this number were looked at for earlier hunks */
	char text[FUNCTION_MAX];
	size_t len;
};

static void find_place(struct place *p, const struct diff_side *s, uint32_t hunk_start)
{
	for (uint32_t i = hunk_start; i > p->searched; i--) {
		size_t len;
		const char *line = line_at(s, i - 1, &len);
		char c = line[0];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$'))
			continue;
		if (len > sizeof(p->text))
			len = sizeof(p->text);
		while (len && strchr(" \t\n\r", line[len - 1]))
			len--;
		/* Cut where it stops being UTF-8: 80 bytes may end within a character. */
		p->len = 0;
		while (p->len < len) {
			uint32_t cp;
			size_t used = utf8_decode(line + p->len, len - p->len, &cp);

			if (!used)
				break;
			p->len += used;
		}
		memcpy(p->text, line, p->len);
		break;
	}
	p->searched = hunk_start;
}

/* Edits first..last share one hunk. */
static void hunk(struct writer *w, const struct diff_script *s, size_t first, size_t last, struct place *place)
{
	const struct diff_edit *a = &s->edit[first], *b = &s->edit[last];
	uint32_t lead = a->old_start < a->new_start ? a->old_start : a->new_start;
	uint32_t old_end = b->old_start + b->old_len, new_end = b->new_start + b->new_len;
	uint32_t trail = s->old.n - old_end;

	lead = lead < CONTEXT ? lead : CONTEXT;
	trail = trail < CONTEXT ? trail : CONTEXT;

	uint32_t old_start = a->old_start - lead, new_start = a->new_start - lead;
	find_place(place, &s->old, old_start);
	emit_str(w, "@@ ");
	emit_range(w, '-', old_start, old_end + trail - old_start);
	emit_str(w, " ");
	emit_range(w, '+', new_start, new_end + trail - new_start);
	emit_str(w, " @@");
	if (place->len) {
		emit_str(w, " ");
		emit(w, place->text, place->len);
	}
	emit_str(w, "\n");

	uint32_t at = old_start;
	for (size_t i = first; i <= last; i++) {
		const struct diff_edit *e = &s->edit[i];

		side_lines(w, ' ', &s->old, at, e->old_start);
		side_lines(w, '-', &s->old, e->old_start, e->old_start + e->old_len);
		side_lines(w, '+', &s->new, e->new_start, e->new_start + e->new_len);
		at = e->old_start + e->old_len;
	}
	side_lines(w, ' ', &s->old, at, at + trail);
}

static int hunks(struct writer *w, const struct text *old, const struct text *new, struct err *err)
{
	_cleanup_diff_script_ struct diff_script s = { 0 };
	struct place place = { 0 };

	int r = replaced_whole(old, new)
			? E_LIMIT
			: diff_lines(old->map.data, old->map.len, new->map.data, new->map.len, &s, err);
	if (r == E_LIMIT) {
		hunk_whole(w, old, new);
		return 0;
	}
	for (size_t first = 0, last; r == 0 && first < s.n; first = last + 1) {
		last = first;
		while (last + 1 < s.n &&
		       s.edit[last + 1].old_start - s.edit[last].old_start - s.edit[last].old_len <= 2 * CONTEXT)
			last++;
		hunk(w, &s, first, last, &place);
	}
	return r;
}

/* ---- sections */

static void emit_name(struct writer *w, const char *prefix, const char *path)
{
	diff_quote(prefix, path, &w->buf);
}

/* A name in `---` and `+++`: a tab ends it when it holds a blank, or `patch` would stop there. */
static void emit_label(struct writer *w, const char *mark, bool present, const char *prefix, const char *path)
{
	emit_str(w, mark);
	if (present)
		emit_name(w, prefix, path);
	else
		emit_str(w, "/dev/null");
	emit_str(w, present && strchr(path, ' ') ? "\t\n" : "\n");
}

static int section(struct writer *w, const char *path, const struct text *old, const struct text *new, struct err *err)
{
	emit_str(w, "diff --git ");
	emit_name(w, "a/", path);
	emit_str(w, " ");
	emit_name(w, "b/", path);
	emit_str(w, "\n");
	if (!old->present)
		buf_addf(&w->buf, "new file mode %06o\n", (unsigned)new->git_mode);
	else if (!new->present)
		buf_addf(&w->buf, "deleted file mode %06o\n", (unsigned)old->git_mode);
	else if (old->git_mode != new->git_mode)
		buf_addf(&w->buf, "old mode %06o\nnew mode %06o\n", (unsigned)old->git_mode, (unsigned)new->git_mode);

	if (same_text(old, new))
		return 0;
	if (is_binary(old) || is_binary(new)) {
		emit_str(w, "Binary files ");
		if (old->present)
			emit_name(w, "a/", path);
		else
			emit_str(w, "/dev/null");
		emit_str(w, " and ");
		if (new->present)
			emit_name(w, "b/", path);
		else
			emit_str(w, "/dev/null");
		emit_str(w, " differ\n");
		return 0;
	}
	emit_label(w, "--- ", old->present, "a/", path);
	emit_label(w, "+++ ", new->present, "b/", path);
	return hunks(w, old, new, err);
}

static bool is_shown(const struct change *c)
{
	return c->status == CHANGE_OK || c->status == CHANGE_CONFLICT || c->status == CHANGE_IGNORED;
}

static int write_change(struct writer *w, const struct layer *l, const struct change *c, struct err *err)
{
	_cleanup_text_ struct text old = { .map = { "", 0 } }, new = { .map = { "", 0 } };
	const struct text none = { .map = { "", 0 } };

	if (!is_shown(c))
		return 0;

	int r = load(l, &c->old, &old, err);
	if (r == 0)
		r = load(l, &c->new, &new, err);
	if (r < 0) {
		err_prefix(err, "%s", c->path);
		return r;
	}
	if (!old.present && !new.present)
		return 0;
	/* Git has no modification from one type to another. */
	if (old.present && new.present && S_ISLNK(c->old.mode) != S_ISLNK(c->new.mode)) {
		r = section(w, c->path, &old, &none, err);
		return r < 0 ? r : section(w, c->path, &none, &new, err);
	}
	return section(w, c->path, &old, &new, err);
}

static int finish(struct writer *w, int r, struct err *err)
{
	if (r == 0)
		flush(w);
	if (r == 0)
		r = buf_check(&w->buf, "writing a diff", err);
	if (r == 0 && w->failed)
		r = err_set(err, E_IO, "writing a diff: the reader is gone");
	buf_free(&w->buf);
	return r;
}

/* Room for a piece, and for a name with every byte escaped. */
#define WRITER_MAX (2 * PIECE + 32768)

int diff_write(const struct layer *l, const struct manifest *m, int (*write)(const char *data, size_t len, void *arg),
	       void *arg, struct err *err)
{
	struct writer w = { .write = write, .arg = arg, .buf = BUF_INIT(WRITER_MAX) };
	int r = 0;

	for (size_t i = 0; i < m->n && r == 0 && !w.failed; i++) {
		r = write_change(&w, l, &m->change[i], err);
		if (w.buf.len >= PIECE)
			flush(&w);
	}
	return finish(&w, r, err);
}

int diff_count(const struct layer *l, const struct change *c, size_t *ret_added, size_t *ret_removed, struct err *err)
{
	_cleanup_text_ struct text old = { .map = { "", 0 } }, new = { .map = { "", 0 } };
	_cleanup_diff_script_ struct diff_script s = { 0 };
	size_t added = 0, removed = 0;

	int r = load(l, &c->old, &old, err);
	if (r == 0)
		r = load(l, &c->new, &new, err);
	if (r == 0 && !is_binary(&old) && !is_binary(&new) && !same_text(&old, &new)) {
		r = replaced_whole(&old, &new)
			    ? E_LIMIT
			    : diff_lines(old.map.data, old.map.len, new.map.data, new.map.len, &s, err);
		if (r == E_LIMIT) {
			added = count_lines(&new.map);
			removed = count_lines(&old.map);
			r = 0;
		}
		for (size_t i = 0; i < s.n; i++) {
			added += s.edit[i].new_len;
			removed += s.edit[i].old_len;
		}
	}
	if (r < 0)
		return r;
	*ret_added = added;
	*ret_removed = removed;
	return 0;
}
