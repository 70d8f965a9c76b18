#include "jail/mountinfo.h"

#include <string.h>

#include "core/base/path.h"

#define TEXT_MAX (4u << 20)

int mountinfo_open(struct mountinfo *m, int dirfd, const char *path, struct err *err)
{
	*m = (struct mountinfo){ .text = BUF_INIT(TEXT_MAX) };

	int r = path_read_file(dirfd, path, TEXT_MAX, &m->text, err);
	m->rest = m->text.data;
	return r;
}

void mountinfo_free(struct mountinfo *m)
{
	buf_free(&m->text);
	m->rest = NULL;
}

/* Space, tab, newline and backslash stand as \ooo. */
static void unescape(char *s)
{
	char *out = s;

	for (; *s; s++) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] && s[3]) {
			*out++ = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
			s += 3;
		} else {
			*out++ = *s;
		}
	}
	*out = '\0';
}

int mountinfo_next(struct mountinfo *m, struct mountinfo_line *ret, struct err *err)
{
	char *line = strsep(&m->rest, "\n"), *word;
	char **fields[] = { &ret->root, &ret->point, &ret->options };

	if (!line || !*line)
		return 0;
	/* id, parent, device, root, mount point, options, any number of further ones, "-", type, source, options */
	for (int i = 0; i < 3; i++)
		strsep(&line, " ");
	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		if (!(*fields[i] = strsep(&line, " ")))
			return err_set(err, E_INVALID, "mountinfo: a line without all fields");
	while ((word = strsep(&line, " ")) && strcmp(word, "-") != 0)
		;
	ret->type = strsep(&line, " ");
	strsep(&line, " ");
	ret->super_options = strsep(&line, " ");
	if (!ret->type || !ret->super_options)
		return err_set(err, E_INVALID, "mountinfo: a line without all fields");
	unescape(ret->root);
	unescape(ret->point);
	return 1;
}
