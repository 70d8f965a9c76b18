#include "core/brain_name.h"

#include <fcntl.h>
#include <string.h>

#include "core/base/path.h"
#include "core/harness/brain.h"
#include "core/harness/script.h"

static int read_script(const char *file, struct buf *text, struct err *err)
{
	_cleanup_script_ struct script script = { 0 };
	struct err why = { 0 };
	int r;

	if (strcmp(file, "demo") == 0) {
		buf_adds(text, script_demo);
	} else if ((r = path_read_file(AT_FDCWD, file, SCRIPT_SIZE_MAX, text, &why)) < 0) {
		return err_set(err, E_USAGE, "%s; name a file of recorded turns", why.text);
	}
	return script_parse(file, buf_str(text), text->len, &script, err);
}

int brain_choose(const char *name, const struct config *config, struct brain_choice *ret, struct err *err)
{
	_cleanup_brain_choice_ struct brain_choice c = { .script = BUF_INIT(SCRIPT_SIZE_MAX) };
	const struct config_brain *section;
	const char *rest = NULL;
	int r = 0;

	if (!name)
		name = config->brain;
	if (!name)
		return err_set(err, E_USAGE,
			       "brain: none is chosen; give -m NAME, or set brain = NAME in the configuration");
	section = config_find_brain(config, name);
	const char *colon = strchr(name, ':');
	if (section) {
		c.kind = strdup(section->kind);
		rest = section->model;
	} else if (colon) {
		c.kind = strndup(name, (size_t)(colon - name));
		rest = colon + 1;
	} else {
		return err_set(err, E_USAGE,
			       "brain %s: no such section in the configuration; add [brain %s], or give KIND:MODEL",
			       name, name);
	}
	c.name = strdup(name);
	if (!c.kind || !c.name)
		return err_set(err, E_NOMEM, "brain: out of memory");
	if (!brain_find(c.kind))
		return err_set(err, E_USAGE, "brain %s: kind %s is not part of this version; use scripted:FILE", name,
			       c.kind);
	if (!rest || !rest[0])
		return err_set(err, E_USAGE,
			       "brain %s: no file is named; give scripted:FILE, or model = FILE in its section", name);
	if (strcmp(c.kind, "scripted") == 0)
		r = read_script(rest, &c.script, err);
	if (r < 0)
		return r;
	*ret = c;
	c = (struct brain_choice){ 0 };
	return 0;
}

void brain_choice_free(struct brain_choice *c)
{
	free_charp(&c->name);
	free_charp(&c->kind);
	buf_free(&c->script);
}
