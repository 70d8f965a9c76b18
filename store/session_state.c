#include "store/session_state.h"

#include <string.h>

#include "core/base/json.h"
#include "store/log_read.h"

#define STATUS_PREFIX "session.status_"

/* By the last status event; `stop_reason` NULL: whatever it says.  The first row that fits holds. */
static const struct {
	const char *kind, *stop_reason, *state;
} states[] = {
	{ "session.status_running", NULL, "running" },
	{ "session.status_rescheduled", NULL, "running" },
	{ "session.status_idle", "requires_action", "waiting" },
	{ "session.status_idle", "interrupted", "stopped" },
	{ "session.status_idle", NULL, "idle" },
	{ "session.status_terminated", NULL, "stopped" },
};

static const char *state_of(const struct event *e)
{
	_cleanup_json_ json_node *body = NULL;
	const char *reason = NULL;

	if (e->body && !json_parse_object(e->body, e->body_len, &body, NULL))
		reason = json_get_str(json_get(body, "stop_reason"), "type");
	for (size_t i = 0; i < ARRAY_LEN(states); i++)
		if (!strcmp(states[i].kind, e->kind) &&
		    (!states[i].stop_reason || (reason && !strcmp(states[i].stop_reason, reason))))
			return states[i].state;
	return "idle";
}

static const char *copy(struct arena *arena, const char *text)
{
	char *copied = text ? arena_strndup(arena, text, strlen(text)) : NULL;

	return copied ? copied : "";
}

static int read_created(struct log_reader *log, struct arena *arena, struct session_state *ret, struct err *err)
{
	_cleanup_json_ json_node *body = NULL;
	struct event e;
	int r = log_reader_get(log, 1, &e, err);

	if (r)
		return r;
	ret->created = e.time;
	if (strcmp(e.kind, "session.created") || !e.body)
		return 0;
	r = json_parse_object(e.body, e.body_len, &body, err);
	if (r)
		return r;
	ret->workspace = copy(arena, json_get_str(body, "workspace"));
	ret->brain = copy(arena, json_get_str(body, "brain"));
	ret->preset = copy(arena, json_get_str(body, "preset"));
	ret->level = copy(arena, json_get_str(body, "level"));
	return 0;
}

static int read_all(int session_fd, struct arena *arena, struct session_state *ret, struct err *err)
{
	_cleanup_log_reader_ struct log_reader *log = NULL;
	struct event e;
	int r = log_reader_open(session_fd, &log, err);

	if (!r)
		r = log_reader_last(log, &ret->last_seq, err);
	if (r || !ret->last_seq)
		return r;
	r = read_created(log, arena, ret, err);
	if (r)
		return r;
	r = log_reader_last_of(log, STATUS_PREFIX, 0, &e, err);
	if (!r)
		ret->state = state_of(&e);
	return r == E_NOTFOUND ? 0 : r;
}

void session_state_read(int session_fd, struct arena *arena, struct session_state *ret)
{
	static const struct session_state empty = {
		.workspace = "", .brain = "", .preset = "", .level = "", .state = "idle",
	};
	struct err err = { 0 };

	*ret = empty;
	if (read_all(session_fd, arena, ret, &err)) {
		*ret = empty;
		ret->state = "stopped";
		ret->problem = copy(arena, err.text);
	}
}
