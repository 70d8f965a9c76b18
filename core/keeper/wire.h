/*
 * wire: the frame types between the keeper and its confined helpers.  Numbers and payloads only; the keeper's tables
 * say which are permitted when.
 */
#ifndef WARDER_KEEPER_WIRE_H
#define WARDER_KEEPER_WIRE_H

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/frame.h"
#include "core/base/json.h"
#include "store/event.h"

/* Descriptor of the frame socket in a helper; the adapter has the hand's stdin and stdout behind it. */
#define HELPER_FD 3
#define ADAPTER_HAND_IN 4
#define ADAPTER_HAND_OUT 5

enum wire_harness {
	/* keeper to harness */
	WIRE_SETUP = 1, /* {"brain":KIND,...} once, first */
	WIRE_EVENT,     /* an event of the log, wire_event_write */
	WIRE_TURN,      /* a turn is due: ask the model */
	/* harness to keeper */
	WIRE_REQUEST_START = 16, /* {} */
	WIRE_CONTENT,            /* {"kind":K,"body":{...}} */
	WIRE_REQUEST_END,        /* {"model_usage":{...},"is_error":B,"stop_reason":S} */
	WIRE_ERROR,              /* {"kind":K,"message":M,"retry_status":R} */
	WIRE_TURN_END,           /* {"stop_reason":S}: the turn that is due ends without a request */
};

enum wire_adapter {
	/* keeper to adapter */
	WIRE_CALL = 32, /* {"call":SEQ,"name":N,"input":{...},"cwd":PATH} */
	/* adapter to keeper */
	WIRE_READY = 48, /* {"tools":[NAME,...]} */
	WIRE_RESULT,     /* {"call":SEQ,"content":TEXT,"is_error":B,"outcome":O,"cwd":PATH?} */
	WIRE_BROKEN,     /* {"why":TEXT}: the hand broke the protocol or is gone */
};

/* Header line in JSON, newline, the body's bytes. */
void wire_event_write(const struct event *e, struct buf *out);
/* The body points into `data`; the caller frees `header`. */
struct wire_event {
	struct event event;
	json_node *header; /* holds kind and actor */
};
int wire_event_read(const char *data, size_t len, struct wire_event *ret, struct err *err) WARN_UNUSED;

/* frame_send and frame_queue of a JSON object. */
int wire_send(int fd, uint32_t type, const json_node *object, struct err *err) WARN_UNUSED;
int wire_queue(struct frame_writer *w, uint32_t type, const json_node *object, struct err *err) WARN_UNUSED;

#endif
