/* The fold over a log: what a session is after each row, and rows that do not fit. */
#include <string.h>

#include "core/session/state.h"
#include "tests/tap.h"

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static int feed(struct session_state *s, const char *kind, int64_t ref, const char *body)
{
	struct err err = { 0 };
	const struct event e = {
		.seq = s->last_seq + 1, .time = 1000 * (s->last_seq + 1), .kind = kind, .actor = "keeper", .ref = ref,
		.body = body, .body_len = strlen(body), .len = (int64_t)strlen(body),
	};
	int r = session_state_apply(s, &e, &err);

	if (r < 0)
		diag("%s: %s", kind, err.text);
	return r;
}

static void begin(struct session_state *s)
{
	feed(s, "session.created", 0, "{\"workspace\":\"/w\",\"brain\":\"b\",\"preset\":\"careful\",\"level\":\"S2\"}");
	feed(s, "user.message", 0, "{\"content\":[]}");
	feed(s, "session.status_running", 0, "{}");
}

/* One call up to its request: seq 4 start, 5 tool_use, 6 end, 7 verdict, 8 request. */
static void ask(struct session_state *s)
{
	begin(s);
	feed(s, "span.model_request_start", 0, "{}");
	feed(s, "agent.tool_use", 0, "{\"id\":\"t\",\"name\":\"bash\",\"input\":{\"command\":\"ls\"}}");
	feed(s, "span.model_request_end", 0, "{\"model_usage\":{\"input_tokens\":5,\"output_tokens\":7}}");
	feed(s, "policy.verdict", 5, "{\"decision\":\"ask\",\"effects\":[\"unknown\"]}");
	feed(s, "approval.requested", 5, "{\"digest\":\"" DIGEST "\"}");
}

static void whole_turn(void)
{
	_cleanup_session_state_ struct session_state s = { 0 };

	begin(&s);
	ok(s.turn_due && s.running, "a message makes a turn due");
	_cleanup_session_state_ struct session_state t = { 0 };
	ask(&t);
	is_int((int)t.input_tokens, 5, "tokens in");
	is_int((int)session_state_pending(&t), 1, "one request pends");
	is_str(session_state_name(&t, true), "waiting", "the session waits");
	is_str(session_state_name(&t, false), "stopped", "without a keeper it is stopped");
	ok(!t.turn_due, "no turn is due while calls are open");
	feed(&t, "user.tool_confirmation", 8, "{\"result\":\"allow\",\"digest\":\"" DIGEST "\"}");
	ok(session_state_request(&t, 8)->answer == CALL_ALLOWED, "allowed");
	feed(&t, "tool.started", 5, "{}");
	feed(&t, "agent.tool_result", 5, "{\"content\":\"x\",\"is_error\":false,\"cwd\":\"/w/sub\"}");
	ok(t.turn_due && session_state_open_calls(&t) == 0, "the result makes the next turn due");
	is_str(t.cwd, "/w/sub", "the folder is kept");
	feed(&t, "span.model_request_start", 0, "{}");
	ok(t.ncalls == 0 && t.request_open && !t.turn_due, "the next request closes the turn's calls");
	feed(&t, "span.model_request_end", 0, "{}");
	feed(&t, "session.status_idle", 0, "{\"stop_reason\":{\"type\":\"end_turn\"}}");
	is_str(session_state_name(&t, true), "idle", "idle");
	is_int((int)t.requests_ended, 2, "two requests ended");
}

static void cut_request(void)
{
	_cleanup_session_state_ struct session_state s = { 0 };

	begin(&s);
	feed(&s, "span.model_request_start", 0, "{}");
	feed(&s, "agent.tool_use", 0, "{\"id\":\"t\",\"name\":\"bash\",\"input\":{}}");
	is_int((int)session_state_open_calls(&s), 0, "a call of a request without end is not open");
	feed(&s, "span.model_request_start", 0, "{}");
	is_int((int)s.ncalls, 0, "asked again, the cut request's calls are void");
	feed(&s, "span.model_request_end", 0, "{\"is_error\":true}");
	ok(s.turn_due, "a failed request leaves the turn due");
	is_int((int)s.requests_ended, 1, "and counts");
}

static void messages(void)
{
	_cleanup_session_state_ struct session_state s = { 0 };

	begin(&s);
	feed(&s, "span.model_request_start", 0, "{}");
	feed(&s, "user.message", 0, "{\"content\":[]}");
	ok(!s.turn_due, "a message during a request waits");
	feed(&s, "span.model_request_end", 0, "{}");
	ok(s.turn_due, "and makes a turn due at its end");

	_cleanup_session_state_ struct session_state t = { 0 };
	begin(&t);
	feed(&t, "user.interrupt", 0, "{}");
	feed(&t, "session.status_idle", 0, "{\"stop_reason\":{\"type\":\"interrupted\"}}");
	ok(t.halted && !t.turn_due, "an interrupt halts");
	feed(&t, "user.message", 0, "{\"content\":[]}");
	ok(!t.halted && t.turn_due, "until the next message");

	_cleanup_session_state_ struct session_state u = { 0 };
	begin(&u);
	feed(&u, "session.status_idle", 0, "{\"stop_reason\":{\"type\":\"interrupted\"}}");
	ok(u.turn_due, "a stop leaves the turn due, for wake");
}

static void turn_over(void)
{
	_cleanup_session_state_ struct session_state s = { 0 };

	begin(&s);
	ok(!session_state_turn_over(&s), "a turn that has not begun is not over");
	feed(&s, "span.model_request_start", 0, "{}");
	ok(!session_state_turn_over(&s), "nor one with an open request");
	feed(&s, "span.model_request_end", 0, "{\"is_error\":true}");
	ok(!session_state_turn_over(&s), "nor one whose request failed");
	feed(&s, "span.model_request_start", 0, "{}");
	feed(&s, "span.model_request_end", 0, "{\"stop_reason\":\"refusal\"}");
	ok(session_state_turn_over(&s), "a request without calls ends it");
	is_str(s.request_stop, "refusal", "and its reason is known to whoever says so");
	feed(&s, "session.status_idle", 0, "{\"stop_reason\":{\"type\":\"refusal\"}}");
	ok(!session_state_turn_over(&s), "once it is said, nothing is left to say");

	_cleanup_session_state_ struct session_state t = { 0 };
	ask(&t);
	ok(!session_state_turn_over(&t), "an open call keeps it open");
}

static void expiry(void)
{
	_cleanup_session_state_ struct session_state s = { 0 };

	ask(&s);
	feed(&s, "user.tool_confirmation", 8, "{\"result\":\"allow\",\"digest\":\"" DIGEST "\"}");
	feed(&s, "approval.expired", 8, "{}");
	ok(s.call[0].answer == CALL_PENDING && !s.call[0].request_seq, "an expired request takes its decision along");
}

static void misfits(void)
{
	static const struct {
		const char *kind;
		int64_t ref;
		const char *body;
	} bad[] = {
		{ "agent.tool_use", 0, "{\"id\":\"t\",\"name\":\"bash\",\"input\":{}}" },
		{ "user.tool_confirmation", 7, "{\"result\":\"allow\",\"digest\":\"" DIGEST "\"}" },
		{ "user.tool_confirmation", 8,
		  "{\"result\":\"allow\",\"digest\":\""
		  "f123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
		  "\"}" },
		{ "user.tool_confirmation", 8, "{\"result\":\"allow\"}" },
		{ "tool.started", 99, "{}" },
		{ "agent.tool_result", 5, "{}" },
		{ "approval.requested", 5, "{\"digest\":\"short\"}" },
		{ "session.status_idle", 0, "{}" },
		{ "policy.verdict", 5, "{\"decision\":\"allow\"}" },
		{ "session.created", 0, "{\"workspace\":1}" },
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		_cleanup_session_state_ struct session_state s = { 0 };

		ask(&s);
		int64_t before = s.last_seq;
		is_int(feed(&s, bad[i].kind, bad[i].ref, bad[i].body), E_CORRUPT, "refused: %s %s", bad[i].kind,
		       bad[i].body);
		ok(s.last_seq == before && s.call[0].answer == CALL_PENDING, "and nothing is decided by it");
	}

	_cleanup_session_state_ struct session_state s = { 0 };
	begin(&s);
	is_int(feed(&s, "some.kind_of_tomorrow", 0, "{}"), 0, "an unknown kind passes");
	struct err err = { 0 };
	const struct event gap = { .seq = 9, .kind = "user.message", .actor = "operator", .body = "{}", .body_len = 2 };
	is_int(session_state_apply(&s, &gap, &err), E_CORRUPT, "a gap does not");
}

int main(void)
{
	whole_turn();
	cut_request();
	messages();
	turn_over();
	expiry();
	misfits();
	return tap_end();
}
