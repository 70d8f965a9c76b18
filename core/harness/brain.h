/*
 * brain: what stands for the model.  One file and one row of the table each.  A brain sees the events of the log in
 * order, is told when a turn is due, and answers through the sink; it decides nothing and runs nothing.  It lives in
 * the confined harness: it gets everything at creation and opens nothing.
 *
 * Asynchronous, because a request must be cancelled at once: begin() starts, then the harness polls brain_wait's fd
 * and deadline and calls step() until the sink's `end` or `fail` was called.
 */
#ifndef WARDER_HARNESS_BRAIN_H
#define WARDER_HARNESS_BRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/json.h"
#include "core/session/state.h"

struct brain;

/* Where a turn goes.  Each returns 0 or a negative code (the keeper is gone). */
struct brain_sink {
	void *arg;
	/* agent.message, agent.thinking or agent.tool_use with its body. */
	int (*content)(void *arg, const char *kind, const json_node *body);
	/* The request is complete; usage may be NULL. */
	int (*end)(void *arg, const json_node *usage, const char *stop_reason);
	/* The request failed.  `retry_after_ms` -1: not retryable. `status` is HTTP's or 0. */
	int (*fail)(void *arg, const char *type, const char *message, int retry_after_ms);
	/* Nothing can go on: session.error, terminal. */
	int (*fatal)(void *arg, const char *kind, const char *message);
};

struct brain_ops {
	const char *kind;
	/* `setup` is the harness's set-up message (session's brain, its script, ...). */
	int (*create)(const json_node *setup, struct brain **ret, struct err *err) WARN_UNUSED;
	void (*destroy)(struct brain **b);
	int (*begin)(struct brain *b, const struct session_state *s, const struct brain_sink *sink) WARN_UNUSED;
	int (*step)(struct brain *b, const struct session_state *s, const struct brain_sink *sink) WARN_UNUSED;
	/* What to poll while a request is open: *ret_fd -1: none; deadline in ms of CLOCK_MONOTONIC, -1: none. */
	void (*wait)(const struct brain *b, int *ret_fd, int64_t *ret_deadline_ms);
};

const struct brain_ops *brain_find(const char *kind);

extern const struct brain_ops brain_scripted;

#endif
