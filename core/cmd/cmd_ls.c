#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/path.h"
#include "core/base/safe_text.h"
#include "core/cmd/cmd.h"
#include "core/cmd/session_arg.h"
#include "store/catalog.h"
#include "store/log.h"

static const struct cmd_option options[] = {
	{ "json", 0, NULL, "one object a line", false },
	{ NULL, 0, NULL, NULL, false },
};

struct listing {
	const struct home *home;
	bool json;
	struct buf out;
	struct err *err;
};

/* What the keeper wrote about its processes; null without a keeper. */
static json_node *pids(const struct home *home, const char *session, bool alive)
{
	_cleanup_buf_ struct buf text = BUF_INIT(4096);
	json_node *node = NULL;
	struct err err = { 0 };
	char name[48];

	snprintf(name, sizeof(name), "%s.pid", session);
	if (alive && path_read_file(home->run_fd, name, text.max, &text, &err) == 0 &&
	    json_parse_object(buf_str(&text), text.len, &node, &err) == 0)
		return node;
	return cJSON_CreateNull();
}

static json_node *pending(const struct session_state *s)
{
	json_node *list = cJSON_CreateArray();
	char since[32];

	for (size_t i = 0; i < s->ncalls; i++) {
		const struct session_call *c = &s->call[i];

		if (!c->request_seq || c->answer != CALL_PENDING || c->done)
			continue;
		json_node *item = cJSON_CreateObject();
		cJSON_AddNumberToObject(item, "id", (double)c->request_seq);
		cJSON_AddStringToObject(item, "tool", c->name);
		cJSON_AddStringToObject(item, "digest", c->digest);
		cJSON_AddStringToObject(item, "since", clock_format(c->request_time, since));
		cJSON_AddItemToArray(list, item);
	}
	return list;
}

static void add_json(struct listing *l, const char *session, const struct session_state *s, bool alive)
{
	_cleanup_json_ json_node *o = cJSON_CreateObject();
	char created[32];

	cJSON_AddStringToObject(o, "session", session);
	cJSON_AddStringToObject(o, "state", session_state_name(s, alive));
	cJSON_AddItemToObject(o, "pid", pids(l->home, session, alive));
	cJSON_AddStringToObject(o, "brain", s->brain);
	cJSON_AddStringToObject(o, "preset", s->preset);
	cJSON_AddStringToObject(o, "level", s->level);
	cJSON_AddStringToObject(o, "workspace", s->workspace);
	cJSON_AddStringToObject(o, "created", clock_format(s->created, created));
	cJSON_AddNumberToObject(o, "last_seq", (double)s->last_seq);
	json_node *spend = cJSON_AddObjectToObject(o, "spend");
	cJSON_AddNumberToObject(spend, "input_tokens", (double)s->input_tokens);
	cJSON_AddNumberToObject(spend, "output_tokens", (double)s->output_tokens);
	cJSON_AddItemToObject(o, "pending", pending(s));
	json_write(o, &l->out);
	buf_addc(&l->out, '\n');
}

static void add_text(struct listing *l, const char *session, const struct session_state *s, bool alive)
{
	char created[32];

	clock_format(s->created, created);
	buf_addf(&l->out, "%s  %-8s %.16s  %-9s %s  %5lld rows  %zu pending  ", session, session_state_name(s, alive),
		 created, s->preset, s->level, (long long)s->last_seq, session_state_pending(s));
	buf_addf(&l->out, "%s  %s\n", s->brain, s->workspace);
}

static int add_row(const struct catalog_row *row, void *arg)
{
	struct listing *l = arg;
	_cleanup_session_state_ struct session_state state = { 0 };
	_cleanup_fd_ int fd = -1;
	struct err err = { 0 };
	int r = home_session_open(l->home, row->session, false, &fd, &err);

	if (r == 0)
		r = session_arg_state(fd, &state, &err);
	/* One log that cannot be read must not hide the others. */
	if (r < 0 || !state.workspace) {
		(void)err_prefix(&err, "session %s", row->session);
		cmd_complain(r < 0 ? err.text : "a session without a first event");
		return 0;
	}
	(l->json ? add_json : add_text)(l, row->session, &state, log_is_locked(fd));
	return buf_check(&l->out, "list", l->err);
}

static int run(const struct cmd_args *args, struct err *err)
{
	_cleanup_home_ struct home home = HOME_INIT;
	struct listing l = { .home = &home, .json = cmd_has(args, "json"), .out = BUF_INIT(64u << 20), .err = err };
	int r = home_open(&home, err);

	if (r == 0)
		r = catalog_each(home.data_fd, add_row, &l, err);
	if (r == 0)
		r = cmd_print(buf_str(&l.out), l.out.len, err);
	buf_free(&l.out);
	return r;
}

const struct cmd cmd_ls = {
	.name = "ls",
	.words = "",
	.summary = "list sessions, newest first",
	.options = options,
	.min_words = 0,
	.max_words = 0,
	.run = run,
};
