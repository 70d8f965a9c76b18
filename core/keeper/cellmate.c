/*
 * The session's cell and the adapter that speaks with it.  Both come and go together: a cell whose hand, init or
 * adapter died is ended, what ran in it gets the outcome "unknown", and the next call finds a new one.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "core/base/clock.h"
#include "core/keeper/impl.h"
#include "core/keeper/spawn.h"
#include "core/keeper/wire.h"

#define READY_DEADLINE_MS (60 * 1000)
#define CELL_DEATHS_MAX 3       /* in a row and never ready: the next would do the same */
#define RESULT_MAX (4u << 20) /* bytes of one frame from the adapter */
#define HELPER_ID_OFFSET 65534 /* within the session's id range: the adapter's and the harness's uid as root */

void helper_end(struct helper *h)
{
	if (!h->pid)
		return;
	kill(h->pid, SIGKILL);
	while (waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
		;
	h->pid = 0;
	fd_close(&h->fd);
	frame_reader_free(&h->in);
}

static int start_adapter(struct keeper *k, int hand_in, int hand_out, struct err *err)
{
	_cleanup_fd_ int ours = -1, theirs = -1;
	char uid[32];
	const char *const argv[] = { "warder", "__adapter", uid, NULL };
	int r = spawn_pair(&ours, &theirs, err);

	snprintf(uid, sizeof(uid), "%lld",
		 (long long)(k->staged.layer.idmap_base ? k->staged.layer.idmap_base + HELPER_ID_OFFSET : 0));
	if (r == 0) {
		const int fds[] = { theirs, hand_in, hand_out };
		const struct spawn spawn = { .argv = argv, .fds = fds, .nfds = ARRAY_LEN(fds) };

		r = spawn_self(&spawn, &k->adapter.pid, err);
	}
	if (r < 0)
		return r;
	k->adapter.fd = steal_fd(&ours);
	k->adapter_ready = false;
	k->ready_deadline_ms = clock_mono_ms() + READY_DEADLINE_MS;
	frame_reader_init(&k->adapter.in, k->adapter.fd, RESULT_MAX);
	return 0;
}

int cellmate_provision(struct keeper *k, struct err *err)
{
	_cleanup_fd_ int in_read = -1, in_write = -1, out_read = -1, out_write = -1, null = -1;
	int to[2], from[2];

	if (pipe2(to, O_CLOEXEC) < 0)
		return err_errno(err, E_IO, errno, "pipe");
	in_read = to[0];
	in_write = to[1];
	if (pipe2(from, O_CLOEXEC) < 0)
		return err_errno(err, E_IO, errno, "pipe");
	out_read = from[0];
	out_write = from[1];
	if ((null = open("/dev/null", O_WRONLY | O_CLOEXEC)) < 0)
		return err_errno(err, E_IO, errno, "/dev/null");

	const struct cell_spec spec = {
		.workspace = k->staged.layer.workspace,
		.layer_fd = k->staged.layer.layer_fd,
		.idmap_base = k->staged.layer.idmap_base,
		.stdio = { in_read, out_write, null },
		.floor = k->floor,
		.baseline = true,
	};
	int r = cell_start(&spec, &k->cell, &k->report, err);
	if (r == 0)
		r = layer_note_birth(&k->staged.layer, cell_birth_us(k->cell), err);
	if (r == 0)
		r = start_adapter(k, in_write, out_read, err);
	if (r < 0) {
		cell_end(&k->cell);
		return r;
	}
	keeper_write_pids(k);
	return 0;
}

int cellmate_record_birth(struct keeper *k)
{
	json_node *body = NULL;
	struct err err = { 0 };

	if (json_parse_object(k->report.evidence_json, strlen(k->report.evidence_json), &body, &err) < 0)
		body = cJSON_CreateObject();
	cJSON_AddStringToObject(body, "level", cell_level_name(k->report.level));
	cJSON_AddNumberToObject(body, "idmap_base", (double)k->staged.layer.idmap_base);
	return keeper_record(k, "jail.provisioned", "keeper", 0, body, LOG_BARRIER, NULL);
}

int cellmate_ensure(struct keeper *k)
{
	struct err err = { 0 };

	if (k->cell)
		return k->adapter_ready;
	if (k->cell_deaths >= CELL_DEATHS_MAX)
		(void)err_set(&err, E_MACHINE,
			      "cell: its hand ended before it was ready, %d times; see whether the agent may enter %s, "
			      "staged permissions included, and warder doctor",
			      k->cell_deaths, k->state.workspace);
	else if (cellmate_provision(k, &err) == 0)
		return cellmate_record_birth(k) < 0 ? k->why.code : 0;

	int r = keeper_record_error(k, "jail", err.text, "exhausted");
	if (r == 0)
		r = keeper_record_idle(k, "interrupted");
	k->why = err;
	k->ending = true;
	k->status = err_exit_status(err.code);
	return err.code;
}

int cellmate_call(struct keeper *k, size_t index)
{
	const struct session_call *c = &k->state.call[index];
	_cleanup_json_ json_node *frame = cJSON_CreateObject();
	struct err err = { 0 };

	cJSON_AddNumberToObject(frame, "call", (double)c->seq);
	cJSON_AddStringToObject(frame, "name", c->name);
	cJSON_AddItemToObject(frame, "input", cJSON_Duplicate(c->input, true));
	cJSON_AddStringToObject(frame, "cwd", calls_folder(k, c));
	if (wire_send(k->adapter.fd, WIRE_CALL, frame, &err) < 0)
		return cellmate_died(k, err.text);
	return 0;
}

/* ---- what the adapter says; it speaks for a hostile cell, so nothing is taken on trust */

static bool outcome_valid(const char *outcome)
{
	static const char *const outcomes[] = { "ok", "error", "timeout", "cancelled" };

	for (size_t i = 0; outcome && i < ARRAY_LEN(outcomes); i++)
		if (strcmp(outcomes[i], outcome) == 0)
			return true;
	return false;
}

static int take_result(struct keeper *k, const json_node *frame)
{
	const struct session_call *c = session_state_call(&k->state, json_get_int(frame, "call", 0));
	const char *content = json_get_str(frame, "content");
	const char *outcome = json_get_str(frame, "outcome");
	const char *cwd = json_get_str(frame, "cwd");

	if (!c || !c->started || c->done || !content || !outcome_valid(outcome))
		return cellmate_died(k, "the adapter broke the protocol");

	json_node *body = cJSON_CreateObject();
	cJSON_AddStringToObject(body, "tool_use_id", c->id);
	cJSON_AddStringToObject(body, "content", content);
	cJSON_AddBoolToObject(body, "is_error", json_get_bool(frame, "is_error", true));
	cJSON_AddStringToObject(body, "outcome", outcome);
	if (cwd && cwd[0] == '/' && strlen(cwd) < 4096)
		cJSON_AddStringToObject(body, "cwd", cwd);
	return keeper_record(k, "agent.tool_result", "keeper", c->seq, body, LOG_NORMAL, NULL);
}

static int take_frame(struct keeper *k, const struct frame *f)
{
	_cleanup_json_ json_node *frame = NULL;
	struct err err = { 0 };

	if (json_parse_object(f->data, f->len, &frame, &err) < 0)
		return cellmate_died(k, "the adapter broke the protocol");
	switch (f->type) {
	case WIRE_READY:
		k->adapter_ready = true;
		k->cell_deaths = 0;
		return 0;
	case WIRE_RESULT:
		return take_result(k, frame);
	case WIRE_BROKEN: {
		const char *why = json_get_str(frame, "why");

		return cellmate_died(k, why ? why : "the hand is gone");
	}
	default:
		return cellmate_died(k, "the adapter broke the protocol");
	}
}

int cellmate_readable(struct keeper *k)
{
	struct err err = { 0 };
	struct frame f;
	int r = frame_fill(&k->adapter.in, &err);

	if (r < 0)
		return cellmate_died(k, "the hands adapter is gone");
	while (k->adapter.pid && (r = frame_next(&k->adapter.in, &f, &err)) == 1) {
		r = take_frame(k, &f);
		if (r < 0)
			return r;
	}
	return r < 0 ? cellmate_died(k, "the adapter broke the protocol") : 0;
}

int cellmate_died(struct keeper *k, const char *why)
{
	_cleanup_buf_ struct buf text = BUF_INIT(2048);
	size_t running = calls_running(k);

	if (!k->adapter_ready)
		k->cell_deaths++;
	int r = cellmate_end(k, why);

	if (r < 0 || !running)
		return r;
	buf_addf(&text,
		 "Outcome unknown: %.600s while this call ran. It may have had effects; look before doing it again.",
		 why);
	return calls_settle(k, "unknown", buf_str(&text));
}

bool cellmate_kill(struct keeper *k)
{
	if (!k->cell && !k->adapter.pid)
		return false;
	helper_end(&k->adapter);
	k->adapter_ready = false;
	cell_end(&k->cell);
	keeper_write_pids(k);
	return true;
}

int cellmate_record_death(struct keeper *k, const char *why)
{
	json_node *body = cJSON_CreateObject();

	cJSON_AddStringToObject(body, "why", why);
	cJSON_AddNumberToObject(body, "processes_left", 0);
	return keeper_record(k, "jail.destroyed", "keeper", 0, body, LOG_NORMAL, NULL);
}

int cellmate_end(struct keeper *k, const char *why)
{
	return cellmate_kill(k) && k->log && !k->why.code ? cellmate_record_death(k, why) : 0;
}
