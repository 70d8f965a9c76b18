#include "core/json_lines.h"

#include <string.h>

static bool is_skipped(const char *line, size_t len)
{
	size_t i = 0;

	while (i < len && (line[i] == ' ' || line[i] == '\t' || line[i] == '\r'))
		i++;
	return i == len || line[0] == '#';
}

static int not_an_object(struct err *err)
{
	struct err why = err ? *err : (struct err){ 0 };

	return err_set(err, E_USAGE, "%.900s; write one JSON object a line", why.text);
}

int json_lines_each(const char *name, const char *text, size_t len,
		    int (*each)(int line, json_node **object, void *arg, struct err *err), void *arg, struct err *err)
{
	int line = 0;

	for (size_t pos = 0; pos < len;) {
		const char *nl = memchr(text + pos, '\n', len - pos);
		size_t n = nl ? (size_t)(nl - text) - pos : len - pos;
		const char *at = text + pos;
		_cleanup_json_ json_node *object = NULL;

		pos += n + 1;
		line++;
		if (is_skipped(at, n))
			continue;
		int r = json_parse_object(at, n, &object, err);
		if (r < 0)
			r = not_an_object(err);
		else
			r = each(line, &object, arg, err);
		if (r < 0) {
			(void)err_prefix(err, "%s:%d", name, line);
			return r;
		}
	}
	return 0;
}
