#include "core/config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/path.h"
#include "core/base/safe_text.h"
#include "core/policy/preset.h"

/* One line being read; columns count bytes from 1. */
struct cursor {
	const char *file;
	int line;
	const char *text, *at, *end;
};

static int complain(const struct cursor *c, const char *at, struct err *err, const char *why)
{
	return err_set(err, E_USAGE, "%s:%d:%d: %s", c->file, c->line, (int)(at - c->text) + 1, why);
}

static void skip_blanks(struct cursor *c)
{
	while (c->at < c->end && (*c->at == ' ' || *c->at == '\t'))
		c->at++;
}

static size_t word_length(const struct cursor *c)
{
	size_t n = 0;

	while (c->at + n < c->end && (strchr("abcdefghijklmnopqrstuvwxyz_.-0123456789", c->at[n]) ||
				      (c->at[n] >= 'A' && c->at[n] <= 'Z')) && c->at[n])
		n++;
	return n;
}

/* ---- values */

static int take_text(const char *value, void *into, const char **ret_why)
{
	char **slot = into;

	(void)ret_why;
	free(*slot);
	*slot = strdup(value);
	return *slot ? 0 : E_NOMEM;
}

static int take_preset(const char *value, void *into, const char **ret_why)
{
	if (!preset_find(value)) {
		*ret_why = "unknown preset; use contained, careful or locked";
		return E_USAGE;
	}
	return take_text(value, into, ret_why);
}

static int take_floor(const char *value, void *into, const char **ret_why)
{
	enum cell_level level;

	if (cell_level_parse(value, &level) < 0 || level < CELL_S2) {
		*ret_why = "the floor is S2 or S3; nothing lower exists";
		return E_USAGE;
	}
	*(enum cell_level *)into = level;
	return 0;
}

static int take_count(const char *value, void *into, const char **ret_why)
{
	char *end;

	errno = 0;
	long n = strtol(value, &end, 10);
	if (errno || *end || end == value || n < 1 || n > 10000000) {
		*ret_why = "not a whole number from 1 to 10000000";
		return E_USAGE;
	}
	*(long *)into = n;
	return 0;
}

struct key {
	const char *name;
	size_t offset;
	int (*take)(const char *value, void *into, const char **ret_why);
};

static const struct key top_keys[] = {
	{ "brain", offsetof(struct config, brain), take_text },
	{ "preset", offsetof(struct config, preset), take_preset },
	{ "jail.floor", offsetof(struct config, floor), take_floor },
};

static const struct key brain_keys[] = {
	{ "kind", offsetof(struct config_brain, kind), take_text },
	{ "model", offsetof(struct config_brain, model), take_text },
	{ "base_url", offsetof(struct config_brain, base_url), take_text },
	{ "key_env", offsetof(struct config_brain, key_env), take_text },
	{ "key_command", offsetof(struct config_brain, key_command), take_text },
	{ "max_tokens", offsetof(struct config_brain, max_tokens), take_count },
};

/* ---- lines */

static int section(struct cursor *c, struct config *config, struct err *err)
{
	const char *start = c->at++;

	skip_blanks(c);
	if (c->end - c->at < 5 || strncmp(c->at, "brain", 5) != 0 || (c->at[5] != ' ' && c->at[5] != '\t'))
		return complain(c, c->at, err, "unknown section; write [brain NAME]");
	c->at += 5;
	skip_blanks(c);

	size_t n = word_length(c);
	if (!n)
		return complain(c, c->at, err,
				"the section has no name; write [brain NAME] with letters, digits, '-', '_' or '.'");

	_cleanup_free_ char *name = strndup(c->at, n);
	const char *name_at = c->at;
	c->at += n;
	skip_blanks(c);
	if (c->at == c->end || *c->at != ']')
		return complain(c, c->at, err, "']' expected; close the section's name");
	c->at++;
	skip_blanks(c);
	if (c->at < c->end && *c->at != '#')
		return complain(c, c->at, err, "text after the section's header; put it on a line of its own");
	if (!name)
		return err_set(err, E_NOMEM, "%s: out of memory", c->file);
	if (config_find_brain(config, name))
		return complain(c, name_at, err, "this brain has a section already; join the two");
	if (config->nbrains == CONFIG_BRAINS_MAX)
		return complain(c, start, err, "too many sections; at most 64 brains");
	config->brains[config->nbrains++] = (struct config_brain){ .name = steal_ptr(name), .line = c->line };
	return 0;
}

/* A comment starts at a '#' after a blank; within a word it is a character like others. */
static const char *value_end(const struct cursor *c)
{
	for (const char *p = c->at; p < c->end; p++)
		if (*p == '#' && (p[-1] == ' ' || p[-1] == '\t' || p[-1] == '='))
			return p;
	return c->end;
}

static int assignment(struct cursor *c, struct config *config, unsigned *seen, struct err *err)
{
	struct config_brain *brain = config->nbrains ? &config->brains[config->nbrains - 1] : NULL;
	const struct key *keys = brain ? brain_keys : top_keys;
	size_t nkeys = brain ? ARRAY_LEN(brain_keys) : ARRAY_LEN(top_keys);
	const char *key_at = c->at;
	size_t n = word_length(c);
	const char *why = NULL;

	for (size_t i = 0; i < nkeys; i++) {
		if (strlen(keys[i].name) != n || strncmp(keys[i].name, c->at, n) != 0)
			continue;
		if (*seen & (1u << i))
			return complain(c, key_at, err, "this key is set twice here; keep one line");
		c->at += n;
		skip_blanks(c);
		if (c->at == c->end || *c->at != '=')
			return complain(c, c->at, err, "'=' expected; write key = value");
		c->at++;
		skip_blanks(c);

		const char *end = value_end(c);
		while (end > c->at && (end[-1] == ' ' || end[-1] == '\t'))
			end--;
		if (end == c->at)
			return complain(c, c->at, err, "the value is empty; give one or remove the line");

		_cleanup_free_ char *value = strndup(c->at, (size_t)(end - c->at));
		if (!value)
			return err_set(err, E_NOMEM, "%s: out of memory", c->file);
		int r = keys[i].take(value, (char *)(brain ? (void *)brain : (void *)config) + keys[i].offset, &why);
		if (r == E_NOMEM)
			return err_set(err, E_NOMEM, "%s: out of memory", c->file);
		if (r < 0)
			return complain(c, c->at, err, why);
		*seen |= 1u << i;
		return 0;
	}
	return complain(c, key_at, err,
			brain ? "unknown key in a brain's section; known are kind, model, base_url, key_env, "
				"key_command, max_tokens"
			      : "unknown key; known are brain, preset, jail.floor, and [brain NAME] sections");
}

int config_parse(const char *name, const char *text, size_t len, struct config *ret, struct err *err)
{
	_cleanup_config_ struct config config = { .floor = CELL_S2 };
	struct cursor c = { .file = name };
	unsigned seen = 0;
	size_t pos = 0;

	while (pos < len) {
		const char *nl = memchr(text + pos, '\n', len - pos);

		c.line++;
		c.text = c.at = text + pos;
		c.end = nl ? nl : text + len;
		pos = (size_t)(c.end - text) + 1;
		if (c.end > c.text && c.end[-1] == '\r')
			c.end--;

		struct safe_stat stat = { 0 };
		_cleanup_buf_ struct buf shown = BUF_INIT(CONFIG_SIZE_MAX * 8);
		safe_text(c.text, (size_t)(c.end - c.text), SAFE_BLOCK, &shown, &stat);
		if (stat.hidden)
			return complain(&c, c.text, err, "hidden or invalid characters in this line; retype it");

		skip_blanks(&c);
		if (c.at == c.end || *c.at == '#')
			continue;
		bool is_section = *c.at == '[';
		int r = is_section ? section(&c, &config, err) : assignment(&c, &config, &seen, err);
		if (r < 0)
			return r;
		if (is_section)
			seen = 0;
	}

	c.line = 0;
	for (size_t i = 0; i < config.nbrains; i++) {
		if (config.brains[i].kind)
			continue;
		c.line = config.brains[i].line;
		c.text = text;
		return complain(&c, text, err, "this brain has no kind; add kind = anthropic or kind = scripted");
	}
	*ret = config;
	config = (struct config){ 0 };
	return 0;
}

int config_read(const char *path, struct config *ret, struct err *err)
{
	_cleanup_buf_ struct buf text = BUF_INIT(CONFIG_SIZE_MAX);
	struct err why = { 0 };
	int r = path_read_file(AT_FDCWD, path, CONFIG_SIZE_MAX, &text, &why);

	if (r == E_NOTFOUND) {
		*ret = (struct config){ .floor = CELL_S2 };
		return 0;
	}
	if (r < 0)
		return err_set(err, E_USAGE, "%s", why.text);
	return config_parse(path, buf_str(&text), text.len, ret, err);
}

void config_free(struct config *c)
{
	free_charp(&c->brain);
	free_charp(&c->preset);
	for (size_t i = 0; i < c->nbrains; i++) {
		struct config_brain *b = &c->brains[i];

		free_charp(&b->name);
		free_charp(&b->kind);
		free_charp(&b->model);
		free_charp(&b->base_url);
		free_charp(&b->key_env);
		free_charp(&b->key_command);
	}
	c->nbrains = 0;
}

const struct config_brain *config_find_brain(const struct config *c, const char *name)
{
	for (size_t i = 0; i < c->nbrains; i++)
		if (strcmp(c->brains[i].name, name) == 0)
			return &c->brains[i];
	return NULL;
}
