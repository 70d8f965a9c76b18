#include "core/adapter/adapter.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>

#include "core/adapter/mcp_client.h"
#include "core/keeper/wire.h"
#include "jail/confine.h"

#define READ_SIZE (64u << 10)
#define OUT_MAX (64u << 20)  /* bytes that wait for the keeper */
#define OUT_HIGH (8u << 20)  /* above it the hand is not read */
#define LAST_WORDS_MS 5000

struct adapter {
	struct frame_reader keeper;
	struct frame_writer out; /* to the keeper */
	struct mcp_client mcp;
	struct err err;
};

static int send_object(struct adapter *a, uint32_t type, json_node *object)
{
	_cleanup_json_ json_node *owned = object;

	if (!owned)
		return err_set(&a->err, E_NOMEM, "adapter: out of memory");
	return wire_queue(&a->out, type, owned, &a->err);
}

/* ---- from the keeper */

static int send_result(struct adapter *a, int64_t call, const char *text, bool is_error, const char *outcome,
		       const char *cwd)
{
	json_node *frame = cJSON_CreateObject();

	cJSON_AddNumberToObject(frame, "call", (double)call);
	cJSON_AddStringToObject(frame, "content", text);
	cJSON_AddBoolToObject(frame, "is_error", is_error);
	cJSON_AddStringToObject(frame, "outcome", outcome);
	if (cwd)
		cJSON_AddStringToObject(frame, "cwd", cwd);
	return send_object(a, WIRE_RESULT, frame);
}

static int take_call(struct adapter *a, const json_node *frame)
{
	int64_t call = json_get_int(frame, "call", 0);
	const char *name = json_get_str(frame, "name");
	struct err why = { 0 };

	if (!call || !name)
		return err_set(&a->err, E_PROTOCOL, "adapter: a call without name or number");
	if (mcp_client_call(&a->mcp, (uint64_t)call, name, json_get(frame, "input"), json_get_str(frame, "cwd"),
			    &why) == 0)
		return 0;
	return send_result(a, call, why.text, true, "error", NULL);
}

static int take_frame(struct adapter *a, const struct frame *f)
{
	_cleanup_json_ json_node *frame = NULL;
	int r = json_parse_object(f->data, f->len, &frame, &a->err);

	if (r < 0)
		return r;
	switch (f->type) {
	case WIRE_CALL:
		return take_call(a, frame);
	default:
		return err_set(&a->err, E_PROTOCOL, "adapter: unknown frame %u", f->type);
	}
}

static int keeper_readable(struct adapter *a)
{
	struct frame f;
	int r = frame_fill(&a->keeper, &a->err);

	while (r == 0 && (r = frame_next(&a->keeper, &f, &a->err)) == 1)
		r = take_frame(a, &f);
	return r;
}

/* ---- from the hand */

static int take_event(struct adapter *a, const struct mcp_event *e)
{
	switch (e->kind) {
	case MCP_EVENT_TOOLS: {
		json_node *frame = cJSON_CreateObject();
		json_node *names = cJSON_AddArrayToObject(frame, "tools");
		const json_node *tool;

		cJSON_ArrayForEach(tool, e->tools) {
			const char *name = json_get_str(tool, "name");

			if (name)
				cJSON_AddItemToArray(names, cJSON_CreateString(name));
		}
		return send_object(a, WIRE_READY, frame);
	}
	case MCP_EVENT_RESULT:
		return send_result(a, (int64_t)e->tag, e->result->text, e->result->is_error,
				   mcp_outcome_name(e->result->outcome), e->result->cwd);
	case MCP_EVENT_READY:
	case MCP_EVENT_TOOLS_CHANGED:
		return 0;
	}
	return 0;
}

/* *ret_why: what the hand did, when it is the hand that failed and not the keeper. */
static int hand_readable(struct adapter *a, const char **ret_why)
{
	char data[READ_SIZE];
	ssize_t n = read(ADAPTER_HAND_OUT, data, sizeof(data));
	struct mcp_event e;
	int r;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : err_errno(&a->err, E_IO, errno, "the hand's output");
	if (n == 0) {
		*ret_why = "the hand is gone";
		return E_CLOSED;
	}
	r = mcp_client_feed(&a->mcp, data, (size_t)n, &a->err);
	while (r == 0 && (r = mcp_client_next(&a->mcp, &e, &a->err)) == 1)
		r = take_event(a, &e);
	if (r == E_PROTOCOL)
		*ret_why = "the hand broke the protocol";
	return r;
}

static int hand_writable(struct adapter *a, const char **ret_why)
{
	ssize_t n = write(ADAPTER_HAND_IN, a->mcp.out.data, a->mcp.out.len);

	if (n >= 0) {
		buf_consume(&a->mcp.out, (size_t)n);
		return 0;
	}
	if (errno == EAGAIN || errno == EINTR)
		return 0;
	*ret_why = "the hand does not listen any more";
	return E_CLOSED;
}

static int turn_once(struct adapter *a, const char **ret_why)
{
	struct pollfd fds[3] = {
		{ .fd = HELPER_FD, .events = POLLIN },
		{ .fd = a->out.out.len < OUT_HIGH ? ADAPTER_HAND_OUT : -1, .events = POLLIN },
		{ .fd = a->mcp.out.len ? ADAPTER_HAND_IN : -1, .events = POLLOUT },
	};
	int r = 0;

	if (frame_waiting(&a->out))
		fds[0].events |= POLLOUT;
	if (poll(fds, ARRAY_LEN(fds), -1) < 0)
		return errno == EINTR ? 0 : err_errno(&a->err, E_IO, errno, "adapter: poll");
	if (fds[0].revents & POLLOUT)
		r = frame_flush(&a->out, &a->err);
	if (r == 0 && (fds[0].revents & ~POLLOUT))
		r = keeper_readable(a);
	if (r == 0 && fds[1].revents)
		r = hand_readable(a, ret_why);
	if (r == 0 && fds[2].revents)
		r = hand_writable(a, ret_why);
	return r;
}

int adapter_main(int argc, char **argv)
{
	struct adapter a = { 0 };
	const char *missing = NULL, *why = NULL;
	int r = 0;

	for (int fd = ADAPTER_HAND_IN; fd <= ADAPTER_HAND_OUT; fd++)
		if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0)
			return 3;
	if (confine_self(argc > 1 ? atol(argv[1]) : 0, &missing, &a.err) < 0)
		return 3;
	frame_reader_init(&a.keeper, HELPER_FD, FRAME_MAX);
	frame_writer_init(&a.out, HELPER_FD, OUT_MAX);
	mcp_client_init(&a.mcp);
	r = mcp_client_start(&a.mcp, &a.err);
	while (r == 0)
		r = turn_once(&a, &why);
	if (why) {
		json_node *frame = cJSON_CreateObject();

		cJSON_AddStringToObject(frame, "why", why);
		if (send_object(&a, WIRE_BROKEN, frame) == 0)
			(void)!frame_drain(&a.out, LAST_WORDS_MS, &a.err);
	}
	mcp_client_free(&a.mcp);
	frame_writer_free(&a.out);
	return r == E_CLOSED ? 0 : 3;
}
