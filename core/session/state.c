#include "core/session/state.h"

#include <stdio.h>
#include <string.h>

struct fold {
	struct session_state *s;
	const struct event *e;
	const json_node *body;
	struct err *err;
};

static int missing(const struct fold *f, const char *what)
{
	return err_set(f->err, E_CORRUPT, "event %lld (%.60s): its body has no usable %s", (long long)f->e->seq,
		       f->e->kind, what);
}

static int keep_text(const struct fold *f, const char *key, char **slot)
{
	const char *text = json_get_str(f->body, key);
	char *copy = text ? strdup(text) : NULL;

	if (!copy)
		return missing(f, key);
	free(*slot);
	*slot = copy;
	return 0;
}

static int keep_digest(const struct fold *f, const char *key, char ret[DIGEST_HEX_LEN + 1])
{
	const char *text = json_get_str(f->body, key);

	if (!text || strlen(text) != DIGEST_HEX_LEN)
		return missing(f, key);
	memcpy(ret, text, DIGEST_HEX_LEN + 1);
	return 0;
}

static void free_calls(struct session_state *s)
{
	for (size_t i = 0; i < s->ncalls; i++) {
		struct session_call *c = &s->call[i];

		free(c->id);
		free(c->name);
		json_free(&c->input);
		free(c->decision);
		free(c->effects);
		free(c->note);
		free(c->result);
	}
	free(s->call);
	s->call = NULL;
	s->ncalls = 0;
}

static int answered_call(const struct fold *f, struct session_call **ret)
{
	struct session_call *c = session_state_call(f->s, f->e->ref);

	if (!c)
		return err_set(f->err, E_CORRUPT,
			       "event %lld (%.60s): answers %lld, which is no tool call of this turn",
			       (long long)f->e->seq, f->e->kind, (long long)f->e->ref);
	*ret = c;
	return 0;
}

/* ---- one function an event kind */

static int on_created(struct fold *f)
{
	int r = keep_text(f, "workspace", &f->s->workspace);

	f->s->created = f->e->time;
	if (r == 0)
		r = keep_text(f, "brain", &f->s->brain);
	if (r == 0)
		r = keep_text(f, "preset", &f->s->preset);
	if (r == 0)
		r = keep_text(f, "level", &f->s->level);
	return r;
}

static int on_provisioned(struct fold *f)
{
	f->s->idmap_base = json_get_int(f->body, "idmap_base", 0);
	return 0;
}

static int on_message(struct fold *f)
{
	f->s->message_waits = true;
	f->s->halted = false;
	if (!f->s->request_open && session_state_open_calls(f->s) == 0)
		f->s->turn_due = true;
	return 0;
}

static int on_interrupt(struct fold *f)
{
	f->s->halted = true;
	f->s->turn_due = false;
	return 0;
}

static int on_request_start(struct fold *f)
{
	free_calls(f->s);
	f->s->request_open = true;
	f->s->turn_due = false;
	f->s->message_waits = false;
	return 0;
}

static int on_request_end(struct fold *f)
{
	const json_node *usage = json_get(f->body, "model_usage");
	const char *stop = json_get_str(f->body, "stop_reason");

	free_charp(&f->s->request_stop);
	if (stop && !(f->s->request_stop = strdup(stop)))
		return err_set(f->err, E_NOMEM, "session: out of memory");
	f->s->request_open = false;
	f->s->requests_ended++;
	f->s->request_failed = json_get_bool(f->body, "is_error", false);
	f->s->input_tokens += json_get_int(usage, "input_tokens", 0);
	f->s->output_tokens += json_get_int(usage, "output_tokens", 0);
	if (f->s->request_failed) {
		free_calls(f->s);
		f->s->turn_due = true;
	} else if (f->s->ncalls == 0 && f->s->message_waits) {
		f->s->turn_due = true;
	}
	return 0;
}

static int on_tool_use(struct fold *f)
{
	struct session_state *s = f->s;
	const json_node *input = json_get(f->body, "input");
	struct session_call call = { .seq = f->e->seq };

	if (!s->request_open)
		return err_set(f->err, E_CORRUPT, "event %lld: a tool call outside a model request",
			       (long long)f->e->seq);
	if (!cJSON_IsObject(input))
		return missing(f, "input");

	struct session_call *calls = reallocarray(s->call, s->ncalls + 1, sizeof(*calls));
	if (!calls)
		return err_set(f->err, E_NOMEM, "session: out of memory");
	s->call = calls;
	s->call[s->ncalls] = call;

	struct session_call *c = &s->call[s->ncalls++];
	int r = keep_text(f, "id", &c->id);
	if (r == 0)
		r = keep_text(f, "name", &c->name);
	if (r == 0 && !(c->input = cJSON_Duplicate(input, true)))
		r = err_set(f->err, E_NOMEM, "session: out of memory");
	return r;
}

static int on_verdict(struct fold *f)
{
	struct session_call *c;
	const json_node *effects = json_get(f->body, "effects");
	int r = answered_call(f, &c);

	if (r == 0)
		r = keep_text(f, "decision", &c->decision);
	if (r < 0)
		return r;
	if (!cJSON_IsArray(effects) || !cJSON_IsString(effects->child))
		return missing(f, "effects");
	free(c->effects);
	if (!(c->effects = strdup(effects->child->valuestring)))
		return err_set(f->err, E_NOMEM, "session: out of memory");
	c->judged = true;
	return 0;
}

static int on_requested(struct fold *f)
{
	struct session_call *c;
	int r = answered_call(f, &c);

	if (r == 0)
		r = keep_digest(f, "digest", c->digest);
	if (r < 0)
		return r;
	c->request_seq = f->e->seq;
	c->request_time = f->e->time;
	c->answer = CALL_PENDING;
	free_charp(&c->note);
	return 0;
}

/* A request whose action changed: its answer, if it has one, is void. */
static int on_expired(struct fold *f)
{
	struct session_call *c = session_state_request(f->s, f->e->ref);

	if (!c)
		return missing(f, "request");
	c->request_seq = 0;
	c->answer = CALL_PENDING;
	free_charp(&c->note);
	return 0;
}

static int on_confirmation(struct fold *f)
{
	struct session_call *c = session_state_request(f->s, f->e->ref);
	const char *result = json_get_str(f->body, "result");
	const char *digest = json_get_str(f->body, "digest");
	const char *note = json_get_str(f->body, "deny_message");

	if (!c || c->answer != CALL_PENDING)
		return missing(f, "pending request");
	if (!result || !digest || strcmp(digest, c->digest) != 0)
		return missing(f, "digest");
	c->answer = strcmp(result, "allow") == 0 ? CALL_ALLOWED : CALL_DENIED;
	if (note && !(c->note = strdup(note)))
		return err_set(f->err, E_NOMEM, "session: out of memory");
	return 0;
}

static int on_started(struct fold *f)
{
	struct session_call *c;
	int r = answered_call(f, &c);

	if (r == 0)
		c->started = true;
	return r;
}

static int on_result(struct fold *f)
{
	struct session_call *c;
	const char *cwd = json_get_str(f->body, "cwd");
	int r = answered_call(f, &c);

	if (r == 0)
		r = keep_text(f, "content", &c->result);
	if (r == 0 && cwd)
		r = keep_text(f, "cwd", &f->s->cwd);
	if (r < 0)
		return r;
	c->done = true;
	c->is_error = json_get_bool(f->body, "is_error", true);
	if (session_state_open_calls(f->s) == 0)
		f->s->turn_due = true;
	return 0;
}

static int on_running(struct fold *f)
{
	f->s->running = true;
	return 0;
}

static int on_idle(struct fold *f)
{
	const char *type = json_get_str(json_get(f->body, "stop_reason"), "type");

	if (!type)
		return missing(f, "stop_reason");
	f->s->running = false;
	free(f->s->stop_reason);
	if (!(f->s->stop_reason = strdup(type)))
		return err_set(f->err, E_NOMEM, "session: out of memory");
	/* `requires_action` and `interrupted` leave the turn open; every other reason closes it. */
	if (strcmp(type, "requires_action") != 0 && strcmp(type, "interrupted") != 0)
		f->s->turn_due = f->s->message_waits = false;
	return 0;
}

static int on_terminated(struct fold *f)
{
	f->s->running = false;
	f->s->turn_due = false;
	f->s->terminated = true;
	return 0;
}

static int on_staged(struct fold *f)
{
	return keep_digest(f, "manifest", f->s->staged_manifest);
}

static int on_applying(struct fold *f)
{
	const json_node *paths = json_get(f->body, "paths");

	if (!cJSON_IsArray(paths))
		return missing(f, "paths");
	json_free(&f->s->applying);
	f->s->applying = cJSON_Duplicate(paths, true);
	return f->s->applying ? 0 : err_set(f->err, E_NOMEM, "log: out of memory");
}

static int on_applied(struct fold *f)
{
	json_free(&f->s->applying);
	return 0;
}

/* An apply that failed says so, and that it was put back or that its outcome is unknown. */
static int on_error(struct fold *f)
{
	const char *kind = json_get_str(f->body, "kind");

	if (kind && strcmp(kind, "apply") == 0)
		json_free(&f->s->applying);
	return 0;
}

static const struct {
	const char *kind;
	int (*apply)(struct fold *f);
} kinds[] = {
	{ "session.created", on_created },
	{ "jail.provisioned", on_provisioned },
	{ "user.message", on_message },
	{ "user.interrupt", on_interrupt },
	{ "span.model_request_start", on_request_start },
	{ "span.model_request_end", on_request_end },
	{ "agent.tool_use", on_tool_use },
	{ "policy.verdict", on_verdict },
	{ "approval.requested", on_requested },
	{ "approval.expired", on_expired },
	{ "user.tool_confirmation", on_confirmation },
	{ "tool.started", on_started },
	{ "agent.tool_result", on_result },
	{ "session.status_running", on_running },
	{ "session.status_idle", on_idle },
	{ "session.status_terminated", on_terminated },
	{ "session.error", on_error },
	{ "changes.staged", on_staged },
	{ "changes.applying", on_applying },
	{ "changes.applied", on_applied },
	{ "changes.recovered", on_applied },
};

int session_state_apply(struct session_state *s, const struct event *e, struct err *err)
{
	_cleanup_json_ json_node *body = NULL;
	struct fold f = { .s = s, .e = e, .err = err };

	if (e->seq != s->last_seq + 1)
		return err_set(err, E_CORRUPT, "event %lld follows %lld", (long long)e->seq, (long long)s->last_seq);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (strcmp(kinds[i].kind, e->kind) != 0)
			continue;
		int r = e->body ? json_parse_object(e->body, e->body_len, &body, err) : missing(&f, "text (erased)");
		f.body = body;
		if (r == 0)
			r = kinds[i].apply(&f);
		if (r < 0)
			return r;
		break;
	}
	s->last_seq = e->seq;
	return 0;
}

void session_state_free(struct session_state *s)
{
	free_calls(s);
	free(s->workspace);
	free(s->brain);
	free(s->preset);
	free(s->level);
	free(s->stop_reason);
	free(s->request_stop);
	free(s->cwd);
	json_free(&s->applying);
	*s = (struct session_state){ 0 };
}

struct session_call *session_state_call(struct session_state *s, int64_t tool_use_seq)
{
	for (size_t i = 0; i < s->ncalls; i++)
		if (s->call[i].seq == tool_use_seq)
			return &s->call[i];
	return NULL;
}

struct session_call *session_state_request(struct session_state *s, int64_t request_seq)
{
	for (size_t i = 0; request_seq && i < s->ncalls; i++)
		if (s->call[i].request_seq == request_seq)
			return &s->call[i];
	return NULL;
}

size_t session_state_pending(const struct session_state *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->ncalls; i++)
		if (s->call[i].request_seq && s->call[i].answer == CALL_PENDING && !s->call[i].done)
			n++;
	return n;
}

size_t session_state_open_calls(const struct session_state *s)
{
	size_t n = 0;

	for (size_t i = 0; !s->request_open && i < s->ncalls; i++)
		if (!s->call[i].done)
			n++;
	return n;
}

bool session_state_turn_over(const struct session_state *s)
{
	return s->running && s->requests_ended && !s->request_open && !s->turn_due && !session_state_open_calls(s);
}

const char *session_state_name(const struct session_state *s, bool alive)
{
	if (!alive)
		return "stopped";
	if (session_state_pending(s))
		return "waiting";
	return s->running ? "running" : "idle";
}
