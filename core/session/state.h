/*
 * state: what a session is, computed from its log and from nothing else.  A pure fold over the events: the keeper, a
 * woken keeper, the harness and every list use the same one, so what is shown, sent and continued cannot differ.
 * It never reads a database and never decides.
 *
 * The model's turn is a request (span.model_request_start ... span.model_request_end) followed by the results of the
 * tool calls that the request brought.  What a request recorded counts only once its end is there: after a crash in
 * mid-request a new start makes the earlier content void, and no call of it ever runs.
 */
#ifndef WARDER_SESSION_STATE_H
#define WARDER_SESSION_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/digest.h"
#include "core/base/err.h"
#include "core/base/json.h"
#include "store/event.h"

enum call_answer { CALL_PENDING = 0, CALL_ALLOWED, CALL_DENIED };

/* One tool call of the current turn, in the order in which the model made them. */
struct session_call {
	int64_t seq; /* of agent.tool_use */
	char *id, *name;
	json_node *input;
	bool judged;         /* policy.verdict is there */
	char *decision;      /* allow, ask, deny */
	char *effects;
	int64_t request_seq; /* approval.requested, 0: none */
	int64_t request_time;
	char digest[DIGEST_HEX_LEN + 1]; /* of the request */
	enum call_answer answer;
	char *note;          /* deny_message */
	bool started;
	bool done;
	char *result;        /* text that the model sees */
	bool is_error;
};

struct session_state {
	int64_t last_seq;
	int64_t created; /* microseconds UTC */
	char *workspace, *brain, *preset, *level;

	bool running;      /* last status was session.status_running */
	bool terminated;
	char *stop_reason; /* type of the last session.status_idle, NULL: none yet */
	bool halted;       /* an interrupt by the operator: idle until he says more */

	bool request_open;
	bool request_failed; /* the last request ended as an error */
	int64_t requests_ended;
	char *request_stop; /* stop_reason of the last request that ended, NULL: none was given */
	bool turn_due;       /* the model must be asked next */
	bool message_waits;  /* a user.message that no request has taken up */

	struct session_call *call;
	size_t ncalls;
	char *cwd; /* folder in the cell in which the next command starts; NULL: the workspace */

	int64_t input_tokens, output_tokens;
	char staged_manifest[DIGEST_HEX_LEN + 1]; /* of the last changes.staged, "" when none */
	json_node *applying; /* paths of a changes.applying whose outcome is not in the log; NULL: none */
	int64_t idmap_base; /* of the last jail.provisioned */
};

/* Takes in the next event (seq must be last_seq + 1: E_CORRUPT otherwise).  A body that lacks what its kind must have
 * is E_CORRUPT. */
int session_state_apply(struct session_state *s, const struct event *e, struct err *err) WARN_UNUSED;
void session_state_free(struct session_state *s);
#define _cleanup_session_state_ _cleanup_(session_state_free)

struct session_call *session_state_call(struct session_state *s, int64_t tool_use_seq);
/* The call whose approval.requested is `request_seq`, whatever became of it. */
struct session_call *session_state_request(struct session_state *s, int64_t request_seq);
/* Requests without an answer. */
size_t session_state_pending(const struct session_state *s);
/* Calls without a result, of a request that ended. */
size_t session_state_open_calls(const struct session_state *s);
/* The model has ended its turn, and no session.status_idle says so yet. */
bool session_state_turn_over(const struct session_state *s);
/* "running", "idle", "waiting" or "stopped" (CONTRACTS `ls`); `alive`: a keeper holds the lock. */
const char *session_state_name(const struct session_state *s, bool alive);

#endif
