#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/clock.h"
#include "core/keeper/impl.h"

/* A full disk leaves a reserve for saying so: the error, and that the turn stands still. */
static void say_in_log(struct keeper *k)
{
	_cleanup_json_ json_node *error = cJSON_CreateObject();
	static const char idle[] = "{\"stop_reason\":{\"type\":\"interrupted\"}}";
	_cleanup_buf_ struct buf text = BUF_INIT(8192);
	struct err err = { 0 };
	int64_t seq;

	cJSON_AddStringToObject(error, "kind", "log_refused");
	cJSON_AddStringToObject(error, "message", k->why.text);
	cJSON_AddStringToObject(error, "retry_status", "exhausted");
	json_write(error, &text);

	const struct log_entry rows[] = {
		{ .kind = "session.error", .actor = "keeper", .body = buf_str(&text), .body_len = text.len },
		{ .kind = "session.status_idle", .actor = "keeper", .body = idle, .body_len = sizeof(idle) - 1 },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (log_append_last(k->log, &rows[i], &seq, &err) == 0)
			operator_tell_seq(k, seq);
}

/* The log takes nothing more: what runs is ended at once, because unlogged work must not go on.  The reason goes to
 * whoever listens, and into the log when there is room. */
static int broke(struct keeper *k, const struct err *why)
{
	if (!k->why.code)
		k->why = *why;
	k->ending = true;
	k->status = 3;
	helper_end(&k->adapter);
	cell_end(&k->cell);
	brainlink_end(k);
	if (k->log && why->code == E_FULL)
		say_in_log(k);
	return why->code;
}

/* A log that was removed under its keeper takes rows all the same, and nobody will ever read them. */
static int check_there(const struct keeper *k, struct err *err)
{
	struct stat st;

	if (fstatat(k->session_fd, "log.db", &st, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	return err_errno(err, E_IO, errno, "the session's log.db was removed");
}

int keeper_record(struct keeper *k, const char *kind, const char *actor, int64_t ref, json_node *body,
		  enum log_tier tier, int64_t *ret_seq)
{
	_cleanup_json_ json_node *owned = body;
	_cleanup_buf_ struct buf text = BUF_INIT(EVENT_BODY_MAX);
	struct err err = { 0 };
	int64_t seq = 0;
	int r = 0;

	if (k->why.code)
		return k->why.code;
	if (!owned)
		r = err_set(&err, E_NOMEM, "log: out of memory");
	if (r == 0)
		r = check_there(k, &err);
	if (r == 0) {
		json_write(owned, &text);
		r = buf_check(&text, kind, &err);
	}
	if (r == 0) {
		const struct log_entry entry = {
			.kind = kind, .actor = actor, .ref = ref, .body = buf_str(&text), .body_len = text.len,
		};
		r = log_append(k->log, &entry, tier, &seq, &err);
	}
	if (r < 0)
		return broke(k, &err);

	const struct event e = {
		.seq = seq, .time = clock_now_us(), .kind = kind, .actor = actor, .ref = ref,
		.len = (int64_t)text.len, .body = buf_str(&text), .body_len = text.len,
	};
	r = session_state_apply(&k->state, &e, &err);
	if (r < 0)
		return broke(k, &err);
	operator_tell_seq(k, seq);
	if (ret_seq)
		*ret_seq = seq;
	return brainlink_send_event(k, &e);
}

int keeper_record_idle(struct keeper *k, const char *reason)
{
	json_node *body = cJSON_CreateObject();
	json_node *stop = cJSON_AddObjectToObject(body, "stop_reason");

	cJSON_AddStringToObject(stop, "type", reason);
	if (strcmp(reason, "requires_action") == 0) {
		json_node *ids = cJSON_AddArrayToObject(stop, "event_ids");

		for (size_t i = 0; i < k->state.ncalls; i++) {
			const struct session_call *c = &k->state.call[i];

			if (c->request_seq && c->answer == CALL_PENDING && !c->done)
				cJSON_AddItemToArray(ids, cJSON_CreateNumber((double)c->request_seq));
		}
	}
	return keeper_record(k, "session.status_idle", "keeper", 0, body, LOG_BARRIER, NULL);
}

int keeper_record_error(struct keeper *k, const char *kind, const char *message, const char *retry_status)
{
	json_node *body = cJSON_CreateObject();

	cJSON_AddStringToObject(body, "kind", kind);
	cJSON_AddStringToObject(body, "message", message);
	cJSON_AddStringToObject(body, "retry_status", retry_status);
	return keeper_record(k, "session.error", "keeper", 0, body, LOG_NORMAL, NULL);
}
