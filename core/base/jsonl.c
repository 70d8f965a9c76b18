#include "core/base/jsonl.h"

#include <string.h>

#define KEEP_MAX (64u << 10) /* memory kept while nothing is buffered */

void jsonl_init(struct jsonl *r, size_t max_line)
{
	*r = (struct jsonl){ .in = BUF_INIT(max_line * 2), .max = max_line };
}

void jsonl_free(struct jsonl *r)
{
	buf_free(&r->in);
	r->start = r->scanned = 0;
}

int jsonl_add(struct jsonl *r, const void *data, size_t len, struct err *err)
{
	buf_consume(&r->in, r->start);
	r->scanned -= r->start;
	r->start = 0;
	buf_add(&r->in, data, len);
	return buf_check(&r->in, "unread lines", err);
}

/* Everything is taken: the next line starts an empty buffer, and a large one is given back. */
static void rewind_empty(struct jsonl *r)
{
	if (r->in.cap > KEEP_MAX)
		buf_free(&r->in);
	else
		buf_reset(&r->in);
	r->start = r->scanned = 0;
}

static bool is_blank(const char *line, size_t len)
{
	return strspn(line, " \t\r") >= len;
}

int jsonl_next(struct jsonl *r, const char **ret_line, size_t *ret_len, struct err *err)
{
	while (r->start < r->in.len) {
		char *line = r->in.data + r->start;
		char *newline = memchr(r->in.data + r->scanned, '\n', r->in.len - r->scanned);
		size_t len = newline ? (size_t)(newline - line) : r->in.len - r->start;

		if (newline) {
			bool skipped = r->skipping;

			*newline = '\0';
			r->start = r->scanned = (size_t)(newline - r->in.data) + 1;
			r->skipping = false;
			if (skipped || (len <= r->max && is_blank(line, len)))
				continue;
			if (len <= r->max) {
				*ret_line = line;
				*ret_len = len;
				return 1;
			}
			return err_set(err, E_LIMIT, "line: longer than %zu bytes", r->max);
		}
		if (!r->skipping && len <= r->max) {
			r->scanned = r->in.len;
			return 0;
		}

		bool first = !r->skipping;

		r->skipping = true;
		rewind_empty(r);
		if (first)
			return err_set(err, E_LIMIT, "line: longer than %zu bytes", r->max);
	}
	rewind_empty(r);
	return 0;
}

/* At least as many as there are values: one for the whole and one after each '[', '{', ',' and ':' outside strings. */
static size_t count_values(const char *text, size_t len)
{
	size_t n = 1;
	bool in_string = false;

	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (in_string && c == '\\')
			i++;
		else if (c == '"')
			in_string = !in_string;
		else if (!in_string)
			n += c == '[' || c == '{' || c == ',' || c == ':';
	}
	return n;
}

int jsonl_parse(const char *line, size_t len, json_node **ret, struct err *err)
{
	if (count_values(line, len) > JSONL_VALUES_MAX)
		return err_set(err, E_LIMIT, "JSON: more than %u values in one line", JSONL_VALUES_MAX);
	return json_parse(line, len, ret, err);
}
