#include "core/changes/staged.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium/utils.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/path.h"
#include "core/changes/manifest_file.h"

static int open_folder(int session_fd, const char *name, int *ret_fd, struct err *err)
{
	if (mkdirat(session_fd, name, 0700) < 0 && errno != EEXIST)
		return err_errno(err, E_IO, errno, "session: cannot make %s/", name);
	*ret_fd = path_open_beneath(session_fd, name, O_RDONLY | O_DIRECTORY, 0);
	return *ret_fd < 0 ? err_errno(err, E_IO, errno, "session: cannot open %s/", name) : 0;
}

int staged_open(int session_fd, const char *workspace, int64_t idmap_base, struct staged *ret, struct err *err)
{
	_cleanup_staged_ struct staged s = STAGED_INIT;
	int r = open_folder(session_fd, "layer", &s.layer_fd, err);

	s.session_fd = session_fd;
	if (r == 0)
		r = open_folder(session_fd, "content", &s.content_fd, err);
	if (r == 0 && !(s.workspace = strdup(workspace)))
		r = err_set(err, E_NOMEM, "session: out of memory");
	if (r < 0)
		return r;
	s.layer = (struct layer){
		.layer_fd = s.layer_fd, .content_fd = s.content_fd, .workspace = s.workspace, .idmap_base = idmap_base,
	};
	*ret = s;
	s = (struct staged)STAGED_INIT;
	return 0;
}

void staged_close(struct staged *s)
{
	fd_close(&s->layer_fd);
	fd_close(&s->content_fd);
	free_charp(&s->workspace);
}

#define EVENT_TEXT_MAX (8u << 20) /* bytes */
#define MANIFEST_NAME "manifest"
#define MANIFEST_MAX (256u << 20) /* bytes */

int staged_save(const struct staged *s, const struct manifest *m, struct err *err)
{
	_cleanup_buf_ struct buf text = BUF_INIT(MANIFEST_MAX);

	manifest_write(m, &text);
	int r = buf_check(&text, "manifest", err);
	return r < 0 ? r : path_write_file(s->session_fd, MANIFEST_NAME, buf_str(&text), text.len, err);
}

int staged_load(const struct staged *s, struct manifest *ret, struct err *err)
{
	_cleanup_buf_ struct buf text = BUF_INIT(MANIFEST_MAX);
	int r = path_read_file(s->session_fd, MANIFEST_NAME, MANIFEST_MAX, &text, err);

	return r < 0 ? r : manifest_read(buf_str(&text), text.len, ret, err);
}

json_node *staged_body(const struct manifest *m)
{
	_cleanup_buf_ struct buf text = BUF_INIT(EVENT_TEXT_MAX);
	json_node *body = NULL;
	struct err err = { 0 };

	manifest_to_json(m, STAGED_LIST_MAX, &text);
	if (text.failed || json_parse_object(buf_str(&text), text.len, &body, &err) < 0)
		return NULL;
	return body;
}

json_node *staged_path(const struct change *c)
{
	_cleanup_buf_ struct buf text = BUF_INIT(EVENT_TEXT_MAX);
	_cleanup_json_ json_node *entry = NULL;
	struct err err = { 0 };

	change_to_json(c, &text);
	if (text.failed || json_parse_object(buf_str(&text), text.len, &entry, &err) < 0)
		return NULL;
	return cJSON_DetachItemFromObjectCaseSensitive(entry, "path");
}

/* A name of the list: a string, or {"$b64":...}, which is decoded in its place. */
static const char *name_of(const json_node *item)
{
	char *text = item->valuestring;
	size_t len;

	if (cJSON_IsString(item))
		return text[0] ? text : NULL;
	item = json_get(item, "$b64");
	if (!cJSON_IsString(item))
		return NULL;

	text = item->valuestring;
	_cleanup_free_ char *raw = malloc(strlen(text) + 1);
	if (!raw || sodium_base642bin((unsigned char *)raw, strlen(text), text, strlen(text), NULL, &len, NULL,
				      sodium_base64_VARIANT_ORIGINAL) != 0)
		return NULL;
	raw[len] = '\0';
	if (!len || strlen(raw) != len)
		return NULL;
	memcpy(text, raw, len + 1);
	return text;
}

int staged_paths(const json_node *array, const char ***ret, size_t *ret_n, struct err *err)
{
	const json_node *path;
	size_t n = 0;

	/* Anything but a list must not read as no names, which is everything. */
	if (array && !cJSON_IsArray(array))
		return err_set(err, E_USAGE, "paths: not a list of names");
	if (!array || cJSON_GetArraySize(array) == 0) {
		*ret = NULL;
		*ret_n = 0;
		return 0;
	}

	const char **paths = calloc((size_t)cJSON_GetArraySize(array) + 1, sizeof(*paths));
	if (!paths)
		return err_set(err, E_NOMEM, "paths: out of memory");
	cJSON_ArrayForEach(path, array) {
		if (!(paths[n] = name_of(path))) {
			free(paths);
			return err_set(err, E_USAGE, "paths: not a list of names");
		}
		n++;
	}
	*ret = paths;
	*ret_n = n;
	return 0;
}
