/*
 * Tool calls from verdict to result.  What is due is read off the state each time, so a keeper that wakes in the
 * middle goes on from any row: judge, ask, wait, refuse, start, collect.
 */
#include <string.h>

#include "core/base/clock.h"
#include "core/keeper/impl.h"
#include "core/policy/action.h"

/* Commands start where the last one ended; file tools take relative names from the workspace. */
const char *calls_folder(const struct keeper *k, const struct session_call *c)
{
	return k->state.cwd && strcmp(c->name, "bash") == 0 ? k->state.cwd : k->state.workspace;
}

static int digest_of_call(struct keeper *k, const struct session_call *c, char ret_hex[DIGEST_HEX_LEN + 1])
{
	return action_digest(c->name, c->input, calls_folder(k, c), ret_hex, &k->why);
}

static int record_result(struct keeper *k, const struct session_call *c, const char *text, const char *outcome)
{
	json_node *body = cJSON_CreateObject();

	cJSON_AddStringToObject(body, "tool_use_id", c->id);
	cJSON_AddStringToObject(body, "content", text);
	cJSON_AddBoolToObject(body, "is_error", true);
	cJSON_AddStringToObject(body, "outcome", outcome);
	return keeper_record(k, "agent.tool_result", "keeper", c->seq, body, LOG_NORMAL, NULL);
}

static int judge(struct keeper *k, const struct session_call *c)
{
	json_node *body = cJSON_CreateObject();
	struct verdict v;

	preset_judge(k->preset, c->name, &v);
	cJSON_AddStringToObject(body, "decision", decision_name(v.decision));
	cJSON_AddItemToArray(cJSON_AddArrayToObject(body, "effects"), cJSON_CreateString(v.effects));
	cJSON_AddStringToObject(body, "rule", v.rule);
	cJSON_AddStringToObject(body, "layer", v.layer);
	cJSON_AddStringToObject(body, "why", v.why);
	cJSON_AddNullToObject(body, "runner_up");
	return keeper_record(k, "policy.verdict", "policy", c->seq, body, LOG_NORMAL, NULL);
}

static int request(struct keeper *k, const struct session_call *c)
{
	_cleanup_buf_ struct buf text = BUF_INIT(ACTION_MAX);
	char digest[DIGEST_HEX_LEN + 1];
	json_node *action = NULL;
	int r = digest_of_call(k, c, digest);

	if (r == 0)
		r = action_write(c->name, c->input, calls_folder(k, c), &text, &k->why);
	if (r == 0)
		r = json_parse(buf_str(&text), text.len, &action, &k->why);
	if (r < 0)
		return r;

	struct verdict v;
	json_node *body = cJSON_CreateObject();
	preset_judge(k->preset, c->name, &v);
	cJSON_AddStringToObject(body, "id", c->id);
	cJSON_AddStringToObject(body, "digest", digest);
	cJSON_AddItemToObject(body, "action", action);
	cJSON_AddItemToArray(cJSON_AddArrayToObject(body, "effects"), cJSON_CreateString(v.effects));
	cJSON_AddStringToObject(body, "why", v.why);
	return keeper_record(k, "approval.requested", "keeper", c->seq, body, LOG_BARRIER, NULL);
}

static bool asks(const struct session_call *c)
{
	return strcmp(c->decision, "ask") == 0;
}

static bool is_allowed(const struct session_call *c)
{
	if (!c->judged)
		return false;
	if (asks(c))
		return c->request_seq && c->answer == CALL_ALLOWED;
	return strcmp(c->decision, "allow") == 0;
}

/* Verdicts and requests for everything that the turn brought. */
static int judge_all(struct keeper *k)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < k->state.ncalls; i++) {
		if (!k->state.call[i].judged && !k->state.call[i].done)
			r = judge(k, &k->state.call[i]);
		const struct session_call *c = &k->state.call[i];
		if (r == 0 && !c->done && asks(c) && !c->request_seq)
			r = request(k, c);
	}
	return r;
}

/* Without an operator every ask is answered by the answers file or denied. */
static int answer_all(struct keeper *k)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < k->state.ncalls; i++) {
		const struct session_call *c = &k->state.call[i];
		struct answer a;

		if (!c->request_seq || c->answer != CALL_PENDING || c->done)
			continue;
		answers_decide(k->answers, c->name, c->input, c->digest, &a);
		r = calls_decide(k, c->request_seq, a.allow, c->digest, a.note, "answers", NULL, &k->why);
	}
	return r;
}

static int refuse_denied(struct keeper *k)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < k->state.ncalls; i++) {
		const struct session_call *c = &k->state.call[i];
		_cleanup_buf_ struct buf text = BUF_INIT(64u << 10);

		if (c->done || c->started || is_allowed(c))
			continue;
		if (asks(c))
			buf_addf(&text, "Denied by the operator.%s%.8000s", c->note ? " Note: " : "",
				 c->note ? c->note : "");
		else
			buf_addf(&text, "Denied by policy (preset %s).", preset_name(k->preset));
		r = record_result(k, c, buf_str(&text), "denied");
	}
	return r;
}

static int start(struct keeper *k, size_t index)
{
	struct session_call *c = &k->state.call[index];
	char digest[DIGEST_HEX_LEN + 1];
	int r = digest_of_call(k, c, digest);

	if (r < 0)
		return r;
	/* The one place where an action becomes allowed to run: everything above only said that it may be looked at. */
	if (!is_allowed(c) || (c->request_seq && strcmp(digest, c->digest) != 0))
		return err_set(&k->why, E_DENIED, "call %lld: not allowed to start", (long long)c->seq);

	json_node *body = cJSON_CreateObject();
	cJSON_AddStringToObject(body, "tool_use_id", c->id);
	cJSON_AddStringToObject(body, "digest", digest);
	r = keeper_record(k, "tool.started", "keeper", c->seq, body, LOG_BARRIER, NULL);
	if (r < 0)
		return r;
	k->call_deadline_ms[index] = clock_mono_ms() + CALL_DEADLINE_MS;
	return cellmate_call(k, index);
}

static bool is_read(const struct session_call *c)
{
	return c->effects && strcmp(c->effects, "read") == 0;
}

/* In order; reads that follow each other run beside each other. */
static int start_due(struct keeper *k)
{
	bool reads_run = false;

	for (size_t i = 0; i < k->state.ncalls; i++) {
		const struct session_call *c = &k->state.call[i];

		if (c->done)
			continue;
		if (c->started) {
			if (!is_read(c))
				return 0;
			reads_run = true;
			continue;
		}
		if (reads_run && !is_read(c))
			return 0;

		int r = cellmate_ensure(k);
		if (r <= 0)
			return r;
		r = start(k, i);
		if (r < 0 || !is_read(&k->state.call[i]))
			return r;
		reads_run = true;
	}
	return 0;
}

int calls_advance(struct keeper *k)
{
	/* An earlier call of the turn may have changed the folder: what was asked about is then no longer what would
	 * run. */
	int r = calls_running(k) ? 0 : calls_recheck(k);

	if (r == 0)
		r = judge_all(k);

	if (r == 0 && session_state_pending(&k->state)) {
		/* A denied one is not told before the others are answered: results come in the order of the calls. */
		if (k->state.running)
			r = keeper_record_idle(k, "requires_action");
		if (r == 0 && k->headless)
			r = answer_all(k);
	}
	if (r < 0 || session_state_pending(&k->state))
		return r;
	if (!k->state.running)
		r = keeper_record(k, "session.status_running", "keeper", 0, cJSON_CreateObject(), LOG_NORMAL, NULL);
	if (r == 0)
		r = refuse_denied(k);
	return r == 0 && session_state_open_calls(&k->state) ? start_due(k) : r;
}

int calls_settle(struct keeper *k, const char *outcome, const char *text)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < k->state.ncalls; i++) {
		const struct session_call *c = &k->state.call[i];

		if (c->started && !c->done)
			r = record_result(k, c, text, outcome);
	}
	return r;
}

size_t calls_running(const struct keeper *k)
{
	size_t n = 0;

	for (size_t i = 0; i < k->state.ncalls; i++)
		if (k->state.call[i].started && !k->state.call[i].done)
			n++;
	return n;
}

int64_t calls_next_deadline(const struct keeper *k)
{
	int64_t next = -1;

	for (size_t i = 0; i < k->state.ncalls; i++) {
		const struct session_call *c = &k->state.call[i];

		if (c->started && !c->done && (next < 0 || k->call_deadline_ms[i] < next))
			next = k->call_deadline_ms[i];
	}
	return next;
}

int calls_check_deadlines(struct keeper *k)
{
	int64_t next = calls_next_deadline(k);

	if (next < 0 || clock_mono_ms() < next)
		return 0;
	return cellmate_died(k, "the hand did not answer in time");
}

int calls_decide(struct keeper *k, int64_t request_seq, bool allow, const char *digest, const char *note,
		 const char *actor, const char *via, struct err *err)
{
	const struct session_call *c = session_state_request(&k->state, request_seq);
	char now[DIGEST_HEX_LEN + 1];

	if (!c || c->done || c->answer != CALL_PENDING)
		return err_set(err, E_DENIED, "request %lld: not pending; it was answered, or never asked",
			       (long long)request_seq);
	if (digest_of_call(k, c, now) < 0)
		return err_set(err, E_DENIED, "request %lld: its action cannot be written", (long long)request_seq);
	if (strcmp(now, c->digest) != 0 || (allow && (!digest || strcmp(digest, c->digest) != 0)))
		return err_set(err, E_DENIED, "request %lld: changed since you saw it; look at it again",
			       (long long)request_seq);

	json_node *body = cJSON_CreateObject();
	cJSON_AddStringToObject(body, "tool_use_id", c->id);
	cJSON_AddStringToObject(body, "result", allow ? "allow" : "deny");
	cJSON_AddStringToObject(body, "scope", "once");
	if (!allow && note)
		cJSON_AddStringToObject(body, "deny_message", note);
	cJSON_AddStringToObject(body, "digest", c->digest);
	if (via)
		cJSON_AddStringToObject(body, "via", via);
	return keeper_record(k, "user.tool_confirmation", actor, request_seq, body, LOG_BARRIER, NULL);
}

int calls_recheck(struct keeper *k)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < k->state.ncalls; i++) {
		const struct session_call *c = &k->state.call[i];
		char now[DIGEST_HEX_LEN + 1];

		if (!c->request_seq || c->started || c->done)
			continue;
		r = digest_of_call(k, c, now);
		if (r == 0 && strcmp(now, c->digest) != 0) {
			json_node *body = cJSON_CreateObject();

			cJSON_AddStringToObject(body, "why", "the action is no longer the one that was asked about");
			r = keeper_record(k, "approval.expired", "keeper", c->request_seq, body, LOG_NORMAL, NULL);
		}
	}
	return r;
}
