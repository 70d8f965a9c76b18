#include "core/harness/harness.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/frame.h"
#include "core/harness/brain.h"
#include "core/keeper/wire.h"
#include "jail/confine.h"

#define RETRIES_MAX 4
#define OUT_MAX (64u << 20)     /* bytes that wait for the keeper */
#define LAST_WORDS_MS 5000
#define BACKOFF_FIRST_MS 500
#define BACKOFF_MAX_MS 8000

enum phase {
	IDLE,    /* nothing is due */
	BEGIN,   /* a turn is due */
	OPEN,    /* a request is under way */
	BACKOFF, /* the last request failed; `retry_at_ms` */
};

struct harness {
	struct frame_reader in;
	struct frame_writer out; /* the keeper tells us what it recorded while we are still speaking: never block */
	const struct brain_ops *ops;
	struct brain *brain;
	struct session_state state;
	enum phase phase;
	bool open;      /* WIRE_REQUEST_START was sent, its end was not */
	int failures;   /* in a row */
	int64_t retry_at_ms;
	struct err err;
};

static int send_object(struct harness *h, uint32_t type, json_node *object)
{
	_cleanup_json_ json_node *owned = object;

	if (!owned)
		return err_set(&h->err, E_NOMEM, "harness: out of memory");
	return wire_queue(&h->out, type, owned, &h->err);
}

static int send_error(struct harness *h, const char *kind, const char *message, const char *retry_status)
{
	json_node *body = cJSON_CreateObject();

	cJSON_AddStringToObject(body, "kind", kind);
	cJSON_AddStringToObject(body, "message", message);
	cJSON_AddStringToObject(body, "retry_status", retry_status);
	return send_object(h, WIRE_ERROR, body);
}

static int send_reason(struct harness *h, uint32_t type, const json_node *usage, bool is_error, const char *stop_reason)
{
	json_node *body = cJSON_CreateObject();

	if (type == WIRE_REQUEST_END) {
		json_node *counts = usage ? cJSON_Duplicate(usage, true) : cJSON_CreateObject();

		cJSON_AddItemToObject(body, "model_usage", counts);
		cJSON_AddBoolToObject(body, "is_error", is_error);
	}
	if (stop_reason)
		cJSON_AddStringToObject(body, "stop_reason", stop_reason);
	h->open = false;
	return send_object(h, type, body);
}

/* ---- where the brain's turn goes */

static int sink_content(void *arg, const char *kind, const json_node *body)
{
	struct harness *h = arg;
	json_node *frame = cJSON_CreateObject();

	cJSON_AddStringToObject(frame, "kind", kind);
	cJSON_AddItemToObject(frame, "body", cJSON_Duplicate(body, true));
	return send_object(h, WIRE_CONTENT, frame);
}

static int sink_end(void *arg, const json_node *usage, const char *stop_reason)
{
	struct harness *h = arg;

	h->phase = IDLE;
	h->failures = 0;
	return send_reason(h, h->open ? WIRE_REQUEST_END : WIRE_TURN_END, usage, false, stop_reason);
}

static int sink_fail(void *arg, const char *type, const char *message, int retry_after_ms)
{
	struct harness *h = arg;
	bool again = retry_after_ms >= 0 && h->failures < RETRIES_MAX;
	int r = h->open ? send_reason(h, WIRE_REQUEST_END, NULL, true, NULL) : 0;

	if (r == 0)
		r = send_error(h, type, message, again ? "retrying" : "exhausted");
	if (r < 0)
		return r;
	if (!again) {
		h->phase = IDLE;
		h->failures = 0;
		return send_reason(h, WIRE_TURN_END, NULL, false, "retries_exhausted");
	}

	int64_t wait = (int64_t)BACKOFF_FIRST_MS << h->failures++;
	if (wait > BACKOFF_MAX_MS)
		wait = BACKOFF_MAX_MS;
	if (wait < retry_after_ms)
		wait = retry_after_ms;
	h->retry_at_ms = clock_mono_ms() + wait;
	h->phase = BACKOFF;
	return 0;
}

static int sink_fatal(void *arg, const char *kind, const char *message)
{
	struct harness *h = arg;

	h->phase = IDLE;
	return send_error(h, kind, message, "terminal");
}

/* ---- the loop */

static int begin_turn(struct harness *h, const struct brain_sink *sink)
{
	h->phase = OPEN;
	int r = h->ops->begin(h->brain, &h->state, sink);

	if (r == 0 && h->phase == OPEN) {
		h->open = true;
		r = send_object(h, WIRE_REQUEST_START, cJSON_CreateObject());
	}
	return r;
}

static int set_up(struct harness *h, const struct frame *f)
{
	_cleanup_json_ json_node *setup = NULL;
	int r = json_parse_object(f->data, f->len, &setup, &h->err);
	const char *kind = r == 0 ? json_get_str(setup, "brain") : NULL;

	if (r < 0)
		return r;
	h->ops = kind ? brain_find(kind) : NULL;
	if (!h->ops)
		return err_set(&h->err, E_PROTOCOL, "harness: no such brain");
	return h->ops->create(setup, &h->brain, &h->err);
}

static int take_event(struct harness *h, const struct frame *f)
{
	struct wire_event e;
	int r = wire_event_read(f->data, f->len, &e, &h->err);

	if (r < 0)
		return r;
	r = session_state_apply(&h->state, &e.event, &h->err);
	json_free(&e.header);
	return r;
}

static int take_frame(struct harness *h, const struct frame *f, const struct brain_sink *sink)
{
	switch (f->type) {
	case WIRE_SETUP:
		return h->ops ? err_set(&h->err, E_PROTOCOL, "harness: set up twice") : set_up(h, f);
	case WIRE_EVENT:
		return take_event(h, f);
	case WIRE_TURN:
		if (!h->ops || h->phase == OPEN)
			return err_set(&h->err, E_PROTOCOL, "harness: a turn out of place");
		return begin_turn(h, sink);
	default:
		return err_set(&h->err, E_PROTOCOL, "harness: unknown frame %u", f->type);
	}
}

static int wait_ms(int64_t deadline)
{
	int64_t left = deadline - clock_mono_ms();

	return deadline < 0 ? -1 : left < 0 ? 0 : left > 60000 ? 60000 : (int)left;
}

static int turn_once(struct harness *h, const struct brain_sink *sink)
{
	int64_t deadline = h->phase == BACKOFF ? h->retry_at_ms : -1;
	int brain_fd = -1;

	if (h->phase == OPEN)
		h->ops->wait(h->brain, &brain_fd, &deadline);

	struct pollfd fds[2] = { { .fd = HELPER_FD, .events = POLLIN }, { .fd = brain_fd, .events = POLLIN } };
	if (frame_waiting(&h->out))
		fds[0].events |= POLLOUT;
	if (poll(fds, 2, wait_ms(deadline)) < 0 && errno != EINTR)
		return err_errno(&h->err, E_IO, errno, "harness: poll");

	if (fds[0].revents & POLLOUT) {
		int r = frame_flush(&h->out, &h->err);

		if (r < 0)
			return r;
	}
	if (fds[0].revents & ~POLLOUT) {
		struct frame f;
		int r = frame_fill(&h->in, &h->err);

		while (r == 0 && (r = frame_next(&h->in, &f, &h->err)) == 1)
			r = take_frame(h, &f, sink);
		if (r < 0)
			return r;
	}
	if (h->phase == OPEN)
		return h->ops->step(h->brain, &h->state, sink);
	if (h->phase == BACKOFF && clock_mono_ms() >= h->retry_at_ms)
		return begin_turn(h, sink);
	return 0;
}

int harness_main(int argc, char **argv)
{
	struct harness h = { 0 };
	const struct brain_sink sink = {
		.arg = &h, .content = sink_content, .end = sink_end, .fail = sink_fail, .fatal = sink_fatal,
	};
	const char *missing = NULL;
	int r;

	if (confine_self(argc > 1 ? atol(argv[1]) : 0, &missing, &h.err) < 0)
		return 3;
	frame_reader_init(&h.in, HELPER_FD, FRAME_MAX);
	frame_writer_init(&h.out, HELPER_FD, OUT_MAX);
	while ((r = turn_once(&h, &sink)) == 0)
		;
	if (r != E_CLOSED && send_error(&h, "harness_failed", h.err.text, "retrying") == 0)
		(void)!frame_drain(&h.out, LAST_WORDS_MS, &h.err);
	return r == E_CLOSED ? 0 : 3;
}
