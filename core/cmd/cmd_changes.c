#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/safe_text.h"
#include "core/changes/diff.h"
#include "core/changes/select.h"
#include "core/changes/staged.h"
#include "core/client.h"
#include "core/cmd/cmd.h"
#include "core/cmd/session_arg.h"
#include "core/keeper/moment.h"
#include "core/pub/op.h"

static const struct cmd_option options[] = {
	{ "apply", 0, NULL, "write the change (or the named paths) into the real files", false },
	{ "discard", 0, NULL, "throw the change (or the named paths) away", false },
	{ "json", 0, NULL, "one object a changed path", false },
	{ NULL, 0, NULL, NULL, false },
};

static int ask(struct session_arg *s, uint32_t type, const json_node *order, json_node **ret_answer,
	       char **ret_problems, struct err *err)
{
	_cleanup_client_ struct client_link link = CLIENT_LINK_INIT;
	int r;

	r = s->alive ? client_reach(&s->home, s->id, s->fd, &link, err) : E_NOTFOUND;
	if (r == E_NOTFOUND)
		return moment_ask(s->id, type, order, ret_answer, ret_problems, err);
	return r < 0 ? r : client_ask(&link, type, order, ret_answer, ret_problems, err);
}

/* ---- looking */

static int print_piece(const char *data, size_t len, void *arg)
{
	return cmd_print(data, len, arg);
}

/* That the diff could not be written is less than why. */
static int show_diff(const struct staged *s, const struct manifest *m, struct err *err)
{
	struct err out = { 0 };
	int r = diff_write(&s->layer, m, print_piece, &out, err);

	return out.code ? err_set(err, out.code, "%s", out.text) : r;
}

static int show_json(const struct manifest *m, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < m->n; i++) {
		_cleanup_buf_ struct buf line = BUF_INIT(1u << 20);

		change_to_json(&m->change[i], &line);
		buf_addc(&line, '\n');
		r = buf_check(&line, "changes", err);
		if (r == 0)
			r = cmd_print(buf_str(&line), line.len, err);
	}
	return r;
}

static void name_left_out(const struct manifest *m)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct change *c = &m->change[i];
		_cleanup_buf_ struct buf line = BUF_INIT(16u << 10);

		if (c->status != CHANGE_REFUSED && c->status != CHANGE_WITHHELD && c->status != CHANGE_CONFLICT)
			continue;
		buf_addf(&line, "%s: not applied: %s", c->path, c->why);
		cmd_complain(buf_str(&line));
	}
}

/* The change as it is now: the keeper looks, and saves what it saw. */
static int look(struct session_arg *s, struct staged *ret_staged, struct manifest *ret, struct err *err)
{
	_cleanup_session_state_ struct session_state state = { 0 };
	_cleanup_json_ json_node *order = cJSON_CreateObject();
	_cleanup_json_ json_node *answer = NULL;
	int r = ask(s, OP_SNAPSHOT, order, &answer, NULL, err);

	if (r == 0)
		r = session_arg_state(s->fd, &state, err);
	if (r == 0)
		r = staged_open(s->fd, state.workspace, state.idmap_base, ret_staged, err);
	return r == 0 ? staged_load(ret_staged, ret, err) : r;
}

static int show(struct session_arg *s, const struct cmd_args *args, struct err *err)
{
	_cleanup_staged_ struct staged staged = STAGED_INIT;
	_cleanup_(manifest_free) struct manifest m = { 0 };
	int r = look(s, &staged, &m, err);

	if (r == 0)
		r = cmd_has(args, "json") ? show_json(&m, err) : show_diff(&staged, &m, err);
	if (r == 0 && !cmd_has(args, "json"))
		name_left_out(&m);
	return r;
}

/* ---- deciding */

static void free_list(const char ***list)
{
	free(*list);
}

/* On a terminal, what programs of this machine run later is applied after a word that is not typed by habit. */
static int confirm(struct session_arg *s, json_node *order, struct err *err)
{
	_cleanup_staged_ struct staged staged = STAGED_INIT;
	_cleanup_(manifest_free) struct manifest m = { 0 };
	_cleanup_(free_list) const char **paths = NULL;
	char hex[DIGEST_HEX_LEN + 1], word[16] = "";
	size_t later = 0, n = 0;
	_cleanup_json_ json_node *named = cJSON_Duplicate(json_get(order, "paths"), true);
	int r = staged_paths(named, &paths, &n, err);

	if (r == 0 && n)
		r = look(s, &staged, &m, err);

	for (size_t i = 0; r == 0 && i < m.n; i++) {
		_cleanup_free_ char *path = safe_dup(m.change[i].path);

		if (!m.change[i].runs_later || !select_change(&m.change[i], paths, n))
			continue;
		fprintf(stderr, "programs of this machine run or obey it later: %s\n", path ? path : "?");
		later++;
	}
	if (r < 0 || !later)
		return r;
	fprintf(stderr, "Type apply to write %s: ", later == 1 ? "it" : "them");
	if (!fgets(word, sizeof(word), stdin) || strcmp(word, "apply\n") != 0)
		return err_set(err, E_DENIED, "changes: not confirmed; nothing was written");
	/* What was looked at, and nothing else. */
	cJSON_AddStringToObject(order, "manifest", digest_hex(m.digest, hex));
	return 0;
}

static int take_paths(const struct cmd_args *args, json_node *list, struct err *err)
{
	for (size_t i = 1; i < args->nwords; i++) {
		const char *path = args->words[i];

		while (strncmp(path, "./", 2) == 0)
			path += 2 + strspn(path + 2, "/");
		if (!path[0])
			return err_set(err, E_USAGE, "changes: an empty path; name a path that warder changes lists");
		/* A name that gets lost would make the list shorter, and no names are everything. */
		json_node *name = staged_path(&(struct change){ .path = path, .why = "", .note = "" });
		if (!cJSON_AddItemToArray(list, name))
			return err_set(err, E_NOMEM, "changes: out of memory");
	}
	return 0;
}

static int decide(struct session_arg *s, const struct cmd_args *args, struct err *err)
{
	_cleanup_json_ json_node *order = cJSON_CreateObject();
	_cleanup_json_ json_node *answer = NULL;
	_cleanup_free_ char *problems = NULL;
	bool apply = cmd_has(args, "apply");
	json_node *paths = cJSON_AddArrayToObject(order, "paths");

	int r = take_paths(args, paths, err);
	if (r == 0 && apply && isatty(STDIN_FILENO))
		r = confirm(s, order, err);
	if (r < 0)
		return r;
	r = ask(s, apply ? OP_APPLY : OP_DISCARD, order, &answer, &problems, err);
	cmd_complain_lines(problems);
	if (r < 0)
		return r;
	const char *done = apply ? "applied" : "discarded";
	int64_t n = json_get_int(answer, done, 0);
	printf("%lld path%s %s\n", (long long)n, n == 1 ? "" : "s", done);
	return 0;
}

static int run(const struct cmd_args *args, struct err *err)
{
	_cleanup_session_arg_ struct session_arg s = SESSION_ARG_INIT;
	bool decides = cmd_has(args, "apply") || cmd_has(args, "discard");

	if (cmd_has(args, "apply") && cmd_has(args, "discard"))
		return err_set(err, E_USAGE, "changes: --apply and --discard exclude each other; give one");
	if (!decides && args->nwords > 1)
		return err_set(err, E_USAGE,
			       "changes: paths go with --apply or --discard; without them the whole change is shown");

	int r = session_arg_open(args->words[0], &s, err);
	if (r < 0)
		return r;
	return decides ? decide(&s, args, err) : show(&s, args, err);
}

const struct cmd cmd_changes = {
	.name = "changes",
	.words = "S [PATH...]",
	.summary = "show what a session changed as a diff, apply it to the real files, or discard it",
	.more = "Nothing is written unless every named path can be.  A file that you changed since the agent saw it is "
		"a\n"
		"conflict and stays as it is.  Anything below a .git folder is never applied.",
	.options = options,
	.min_words = 1,
	.max_words = 100000,
	.run = run,
};
