#include "core/policy/answers.h"

#include <string.h>

#include "core/json_lines.h"
#include "core/policy/action.h"

struct answer_line {
	json_node *line; /* the whole object; the pointers below are into it */
	const char *tool, *contains, *digest, *note;
	const json_node *input;
	bool allow;
	int64_t left; /* uses left, -1: no limit */
	bool used;
	int number;
};

struct answers {
	char *name;
	struct answer_line *lines;
	size_t n;
};

/* Every key of `object` must be in the table and have its type. */
static int check_keys(const json_node *object, const char *where, const char *const *keys, struct err *err)
{
	const char *stranger;

	if (json_only_keys(object, keys, &stranger))
		return 0;
	return err_set(err, E_USAGE, "unknown key \"%.60s\" in %s; see the manual's answers file", stranger, where);
}

static int check_text(const json_node *object, const char *key, const char **ret, struct err *err)
{
	const json_node *node = json_get(object, key);

	if (node && !cJSON_IsString(node))
		return err_set(err, E_USAGE, "\"%s\" is not a string; write it in quotes", key);
	*ret = node ? node->valuestring : NULL;
	return 0;
}

static int read_line(struct answer_line *l, const json_node *object, struct err *err)
{
	static const char *const keys[] = { "match", "decision", "note", "times", NULL };
	static const char *const match_keys[] = { "tool", "input", "contains", "digest", NULL };
	const json_node *match = json_get(object, "match");
	const json_node *times = json_get(object, "times");
	const char *decision = NULL;
	uint8_t digest[DIGEST_LEN];
	int r = check_keys(object, "the line", keys, err);

	if (r == 0 && !cJSON_IsObject(match))
		r = err_set(err, E_USAGE, "no \"match\" object; {} matches every call");
	if (r == 0)
		r = check_keys(match, "\"match\"", match_keys, err);
	if (r == 0)
		r = check_text(match, "tool", &l->tool, err);
	if (r == 0)
		r = check_text(match, "contains", &l->contains, err);
	if (r == 0)
		r = check_text(match, "digest", &l->digest, err);
	if (r == 0 && l->digest && !digest_parse_hex(l->digest, strlen(l->digest), digest))
		r = err_set(err, E_USAGE, "\"digest\" must be 64 hexadecimal digits");
	if (r == 0)
		r = check_text(object, "note", &l->note, err);
	if (r == 0)
		r = check_text(object, "decision", &decision, err);
	if (r < 0)
		return r;

	l->input = json_get(match, "input");
	if (l->input && !cJSON_IsObject(l->input))
		return err_set(err, E_USAGE, "\"input\" is not an object; name the keys that must be equal");
	if (!decision || (strcmp(decision, "allow") != 0 && strcmp(decision, "deny") != 0))
		return err_set(err, E_USAGE, "\"decision\" must be \"allow\" or \"deny\"");
	l->allow = strcmp(decision, "allow") == 0;
	l->left = times ? json_get_int(object, "times", 0) : -1;
	if (times && l->left < 1)
		return err_set(err, E_USAGE, "\"times\" must be a whole number from 1");
	return 0;
}

static int add_line(int number, json_node **object, void *arg, struct err *err)
{
	struct answers *a = arg;
	struct answer_line line = { .number = number };
	int r = read_line(&line, *object, err);

	if (r < 0)
		return r;

	struct answer_line *lines = reallocarray(a->lines, a->n + 1, sizeof(*lines));
	if (!lines)
		return err_set(err, E_NOMEM, "out of memory");
	a->lines = lines;
	line.line = steal_ptr(*object);
	a->lines[a->n++] = line;
	return 0;
}

int answers_parse(const char *name, const char *text, size_t len, struct answers **ret, struct err *err)
{
	_cleanup_answers_ struct answers *a = calloc(1, sizeof(*a));

	if (!a || !(a->name = strdup(name)))
		return err_set(err, E_NOMEM, "%s: out of memory", name);

	int r = json_lines_each(name, text, len, add_line, a, err);
	if (r < 0)
		return r;
	*ret = steal_ptr(a);
	return 0;
}

void answers_free(struct answers **a)
{
	if (!*a)
		return;
	for (size_t i = 0; i < (*a)->n; i++)
		json_free(&(*a)->lines[i].line);
	free((*a)->lines);
	free((*a)->name);
	free(*a);
	*a = NULL;
}

static bool matches(const struct answer_line *l, const char *tool, const json_node *input, const struct buf *canonical,
		    const char *digest_hex)
{
	if (l->tool && strcmp(l->tool, tool) != 0)
		return false;
	if (l->digest && strcmp(l->digest, digest_hex) != 0)
		return false;
	if (l->input && !json_subset(l->input, input))
		return false;
	return !l->contains || memmem(buf_str(canonical), canonical->len, l->contains, strlen(l->contains));
}

void answers_decide(struct answers *a, const char *tool, const json_node *input, const char *digest_hex,
		    struct answer *ret)
{
	_cleanup_buf_ struct buf canonical = BUF_INIT(ACTION_MAX);

	*ret = (struct answer){ .allow = false, .note = "no answer given" };
	if (!a)
		return;
	json_write_canonical(input, &canonical);
	if (canonical.failed)
		return;
	for (size_t i = 0; i < a->n; i++) {
		struct answer_line *l = &a->lines[i];

		if (l->left == 0 || !matches(l, tool, input, &canonical, digest_hex))
			continue;
		if (l->left > 0)
			l->left--;
		l->used = true;
		*ret = (struct answer){ .allow = l->allow, .note = l->note };
		return;
	}
}

void answers_unused(const struct answers *a, struct buf *out)
{
	for (size_t i = 0; a && i < a->n; i++)
		if (!a->lines[i].used)
			buf_addf(out, "%s:%d: this answer was never used\n", a->name, a->lines[i].number);
}
