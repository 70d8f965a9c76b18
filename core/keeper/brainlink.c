/*
 * The harness from the keeper's side: started when a turn is due, told every event, and heard only within the table
 * of what is permitted in the session's phase (after OpenSSH's monitor.c).
 */
#include <stdio.h>
#include <string.h>

#include "core/keeper/impl.h"
#include "core/keeper/spawn.h"
#include "core/keeper/wire.h"
#include "store/log_read.h"

#define WRITTEN_MAX (6u << 20)   /* bytes of one row from the harness; under ACTION_MAX */
#define CONTENT_MAX (8u << 20)   /* bytes of one frame from the harness */
#define HARNESS_DEATHS_MAX 3     /* in one turn, then the turn is given up */
#define HARNESS_ID_OFFSET \
	65533 /* as HELPER_ID_OFFSET of the adapter: another id, so that they cannot signal each other */

enum phase { PHASE_NONE = 1, PHASE_DUE = 2, PHASE_OPEN = 4 };

static int send_log_row(const struct event *e, void *arg)
{
	struct keeper *k = arg;

	return brainlink_send_event(k, e);
}

/* Everything that the log holds, from the log itself. */
static int replay(struct keeper *k, struct err *err)
{
	_cleanup_log_reader_ struct log_reader *reader = NULL;
	int r = log_reader_open(k->session_fd, &reader, err);

	return r < 0 ? r : log_reader_each(reader, 0, send_log_row, k, err);
}

static int start_harness(struct keeper *k, struct err *err)
{
	_cleanup_fd_ int ours = -1, theirs = -1;
	_cleanup_json_ json_node *setup = cJSON_CreateObject();
	char uid[32];
	const char *const argv[] = { "warder", "__harness", uid, NULL };
	int r = spawn_pair(&ours, &theirs, err);

	snprintf(uid, sizeof(uid), "%lld",
		 (long long)(k->staged.layer.idmap_base ? k->staged.layer.idmap_base + HARNESS_ID_OFFSET : 0));
	if (r == 0) {
		const struct spawn spawn = { .argv = argv, .fds = &theirs, .nfds = 1 };

		r = spawn_self(&spawn, &k->harness.pid, err);
	}
	if (r < 0)
		return r;
	k->harness.fd = steal_fd(&ours);
	k->request_live = k->turn_told = false;
	frame_reader_init(&k->harness.in, k->harness.fd, CONTENT_MAX);
	keeper_write_pids(k);

	cJSON_AddStringToObject(setup, "brain", k->brain_kind);
	cJSON_AddStringToObject(setup, "script", buf_str(&k->script));
	r = wire_send(k->harness.fd, WIRE_SETUP, setup, err);
	return r < 0 ? r : replay(k, err);
}

void brainlink_end(struct keeper *k)
{
	if (!k->harness.pid)
		return;
	helper_end(&k->harness);
	k->request_live = k->turn_told = false;
	keeper_write_pids(k);
}

/* A dead harness costs nothing but time: another is started from the log.  One that dies again and again ends the
 * turn. */
static int died(struct keeper *k, const char *why)
{
	bool needed = k->state.running && !session_state_open_calls(&k->state);
	bool give_up = needed && ++k->harness_deaths >= HARNESS_DEATHS_MAX;
	int r;

	brainlink_end(k);
	r = keeper_record_error(k, "harness_died", why, give_up ? "exhausted" : "retrying");
	if (r == 0 && give_up) {
		k->harness_deaths = 0;
		r = keeper_record_idle(k, "retries_exhausted");
	}
	return r;
}

int brainlink_send_event(struct keeper *k, const struct event *e)
{
	_cleanup_buf_ struct buf text = BUF_INIT(FRAME_MAX);
	struct err err = { 0 };

	if (!k->harness.pid)
		return 0;
	wire_event_write(e, &text);
	/* A harness that does not take it is ended, and brainlink_advance() counts it; the log has the event all the
	 * same. */
	if (text.failed || frame_send(k->harness.fd, WIRE_EVENT, buf_str(&text), text.len, &err) < 0) {
		brainlink_end(k);
		k->harness_deaf = true;
	}
	return 0;
}

static bool is_due(const struct keeper *k)
{
	const struct session_state *s = &k->state;

	return s->running && !k->turn_told && (s->turn_due || (s->request_open && !k->request_live));
}

static int tell_turn(struct keeper *k)
{
	struct err err = { 0 };

	if (!k->harness.pid && start_harness(k, &err) < 0)
		return died(k, err.text);
	/* It may have been ended while it was told what happened so far. */
	if (!k->harness.pid)
		return 0;
	if (frame_send(k->harness.fd, WIRE_TURN, NULL, 0, &err) < 0)
		return died(k, err.text);
	k->turn_told = true;
	return 0;
}

static int end_turn(struct keeper *k, const char *stop_reason);

int brainlink_advance(struct keeper *k)
{
	int r = 0;

	/* Nothing else would come back here after a start that failed. */
	do {
		if (k->harness_deaf) {
			k->harness_deaf = false;
			r = died(k, "the harness does not take what it is told");
		}
		if (r == 0 && is_due(k))
			r = tell_turn(k);
	} while (r == 0 && (k->harness_deaf || is_due(k)));
	return r == 0 && session_state_turn_over(&k->state) ? end_turn(k, k->state.request_stop) : r;
}

/* ---- what it may say, and when */

static int on_request_start(struct keeper *k, const json_node *frame)
{
	(void)frame;
	k->request_live = true;
	return keeper_record(k, "span.model_request_start", "agent", 0, cJSON_CreateObject(), LOG_NORMAL, NULL);
}

static int on_content(struct keeper *k, const json_node *frame)
{
	static const char *const kinds[] = { "agent.message", "agent.thinking", "agent.tool_use" };
	const char *kind = json_get_str(frame, "kind");
	const json_node *body = json_get(frame, "body");

	for (size_t i = 0; kind && i < ARRAY_LEN(kinds); i++) {
		if (strcmp(kinds[i], kind) != 0 || !cJSON_IsObject(body))
			continue;
		if (i == 2 && (k->state.ncalls == CALLS_MAX || !json_get_str(body, "id") ||
			       !json_get_str(body, "name") || !cJSON_IsObject(json_get(body, "input"))))
			break;
		/* Numbers can be longer when written again; an action must fit where its digest is made. */
		_cleanup_buf_ struct buf written = BUF_INIT(WRITTEN_MAX);
		json_write(body, &written);
		if (written.failed)
			break;
		return keeper_record(k, kinds[i], "agent", 0, cJSON_Duplicate(body, true), LOG_NORMAL, NULL);
	}
	return died(k, "the harness recorded something that is not permitted");
}

/* Stop reasons of the model's turn as the log names them. */
static const char *idle_reason(const char *stop_reason)
{
	static const char *const passed_on[] = { "retries_exhausted", "budget_reached", "refusal" };

	for (size_t i = 0; stop_reason && i < ARRAY_LEN(passed_on); i++)
		if (strcmp(passed_on[i], stop_reason) == 0)
			return passed_on[i];
	return "end_turn";
}

static int end_turn(struct keeper *k, const char *stop_reason)
{
	int r = stage_turn_end(k);

	k->harness_deaths = 0;
	k->turn_told = false;
	return r < 0 ? r : keeper_record_idle(k, idle_reason(stop_reason));
}

static int on_turn_end(struct keeper *k, const json_node *frame)
{
	return end_turn(k, json_get_str(frame, "stop_reason"));
}

static int on_request_end(struct keeper *k, const json_node *frame)
{
	bool is_error = json_get_bool(frame, "is_error", false);
	const json_node *usage = json_get(frame, "model_usage");
	json_node *body = cJSON_CreateObject();
	const json_node *stop = json_get(frame, "stop_reason");

	cJSON_AddItemToObject(body, "model_usage",
			      cJSON_IsObject(usage) ? cJSON_Duplicate(usage, true) : cJSON_CreateObject());
	cJSON_AddBoolToObject(body, "is_error", is_error);
	if (cJSON_IsString(stop))
		cJSON_AddStringToObject(body, "stop_reason", stop->valuestring);
	k->request_live = false;
	k->turn_told = is_error; /* the harness itself asks again, after its back-off */

	return keeper_record(k, "span.model_request_end", "agent", 0, body, LOG_NORMAL, NULL);
}

static int on_error(struct keeper *k, const json_node *frame)
{
	static const char *const statuses[] = { "retrying", "exhausted", "terminal" };
	const char *kind = json_get_str(frame, "kind");
	const char *message = json_get_str(frame, "message");
	const char *status = json_get_str(frame, "retry_status");
	int r = 0;

	for (size_t i = 0; kind && message && status && i < ARRAY_LEN(statuses); i++) {
		if (strcmp(statuses[i], status) != 0)
			continue;
		r = keeper_record_error(k, kind, message, statuses[i]);
		if (r < 0 || i != 2)
			return r;
		json_node *body = cJSON_CreateObject();
		cJSON_AddStringToObject(body, "why", kind);
		r = keeper_record(k, "session.status_terminated", "keeper", 0, body, LOG_BARRIER, NULL);
		k->ending = true;
		k->status = 1;
		return r;
	}
	return died(k, "the harness reported an error that cannot be read");
}

static const struct {
	uint32_t type;
	unsigned phases;
	int (*take)(struct keeper *k, const json_node *frame);
} permitted[] = {
	{ WIRE_REQUEST_START, PHASE_DUE, on_request_start },
	{ WIRE_CONTENT, PHASE_OPEN, on_content },
	{ WIRE_REQUEST_END, PHASE_OPEN, on_request_end },
	{ WIRE_ERROR, PHASE_DUE | PHASE_OPEN, on_error },
	{ WIRE_TURN_END, PHASE_DUE, on_turn_end },
};

static unsigned phase_now(const struct keeper *k)
{
	if (!k->state.running || !k->turn_told)
		return PHASE_NONE;
	return k->request_live ? PHASE_OPEN : PHASE_DUE;
}

static int take_frame(struct keeper *k, const struct frame *f)
{
	_cleanup_json_ json_node *frame = NULL;
	struct err err = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(permitted); i++) {
		if (permitted[i].type != f->type || !(permitted[i].phases & phase_now(k)))
			continue;
		if (json_parse_object(f->data, f->len, &frame, &err) < 0)
			break;
		return permitted[i].take(k, frame);
	}
	return died(k, "the harness said something that is not permitted now");
}

int brainlink_readable(struct keeper *k)
{
	struct err err = { 0 };
	struct frame f;
	int r = frame_fill(&k->harness.in, &err);

	if (r < 0)
		return died(k, "the harness is gone");
	while (k->harness.pid && !k->ending && (r = frame_next(&k->harness.in, &f, &err)) == 1) {
		r = take_frame(k, &f);
		if (r < 0)
			return r;
	}
	return r < 0 ? died(k, err.text) : 0;
}
