/*
 * impl: the keeper's own data, shared by its files and by nothing else.
 *
 * One loop (keeper.c) polls everything; after each thing that happened keeper_advance() looks at the state computed
 * from the log and does what is due next.  So there is one place for each decision: calls.c what may run, cellmate.c
 * where it runs, brainlink.c what the harness may say now, operator.c what an operator may ask now.
 */
#ifndef WARDER_KEEPER_IMPL_H
#define WARDER_KEEPER_IMPL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/frame.h"
#include "core/base/id.h"
#include "core/base/json.h"
#include "core/changes/staged.h"
#include "core/home.h"
#include "core/policy/answers.h"
#include "core/policy/preset.h"
#include "core/session/state.h"
#include "jail/cell.h"
#include "jail/layer.h"
#include "store/log.h"

#define CLIENTS_MAX 16
#define CALLS_MAX 64                 /* tool calls of one turn */
#define CALL_DEADLINE_MS (630 * 1000) /* the hand's longest time-out is 600 s */

struct helper {
	pid_t pid; /* 0: none */
	int fd;
	struct frame_reader in;
};

struct client {
	int fd; /* -1: free */
	struct frame_reader in;
	struct frame_writer out; /* a window that does not read must not hold the session up */
	bool greeted;
	bool subscribed;
	bool behind; /* rows were written while `out` was not empty: the newest is told when it is */
	bool owner;  /* the command that started us */
	pid_t pid;
	char via[160]; /* executable, tty, ssh origin: named in decisions */
};

struct keeper {
	struct home home;
	char id[ID_LEN + 1];
	int session_fd;
	struct log *log;
	struct session_state state;

	const struct preset *preset;
	enum cell_level floor;
	bool headless;
	struct answers *answers;
	char *brain_kind;
	struct buf script;
	char brain_digest[DIGEST_HEX_LEN + 1]; /* of the script, as session.created has it */

	struct staged staged; /* the layer of this session */
	int idmap_lock_fd;
	bool fresh; /* the session folder was made by this keeper, which has not said yet that it runs */
	struct cell *cell;
	struct cell_report report;
	struct helper adapter;
	bool adapter_ready;
	int64_t ready_deadline_ms; /* for adapter_ready */
	int cell_deaths;           /* in a row, before the hand in it was ready */
	int64_t call_deadline_ms[CALLS_MAX]; /* by index in state.call, of what runs */

	struct helper harness;
	bool request_live; /* the harness that runs now has a request open */
	bool turn_told;    /* it was told that a turn is due */
	bool harness_deaf; /* it did not take an event, and was ended for it */
	int harness_deaths;

	int signal_fd, listen_fd;
	int64_t deaf_until_ms; /* of CLOCK_MONOTONIC: nobody is accepted before, 0: listen */
	struct client client[CLIENTS_MAX];
	bool owner_lost; /* of a headless session: nobody reads what it prints any more */

	bool ending;       /* leave the loop */
	int status;        /* exit status for the owner */
	struct err why;    /* what broke, code 0: nothing */
};

/* ---- record.c: the one way to the log */

/* Appends, takes the event into the state, tells harness and subscribers.  `body` is consumed.  A refusal breaks the
 * keeper: nothing runs any more, keeper->why says it. */
int keeper_record(struct keeper *k, const char *kind, const char *actor, int64_t ref, json_node *body,
		  enum log_tier tier, int64_t *ret_seq) WARN_UNUSED;
/* session.status_idle with a stop reason. */
int keeper_record_idle(struct keeper *k, const char *reason) WARN_UNUSED;
int keeper_record_error(struct keeper *k, const char *kind, const char *message, const char *retry_status) WARN_UNUSED;

/* ---- calls.c: tool calls from verdict to result */
int calls_advance(struct keeper *k) WARN_UNUSED;
/* Every call that had started and has no result gets one with this outcome. */
int calls_settle(struct keeper *k, const char *outcome, const char *text) WARN_UNUSED;
size_t calls_running(const struct keeper *k);
/* After an interrupt: every call that has not started gets a result that says so. */
int calls_cancel(struct keeper *k) WARN_UNUSED;
/* The folder in the cell that is part of a call's action. */
const char *calls_folder(const struct keeper *k, const struct session_call *c);
/* ms of CLOCK_MONOTONIC, -1: none; of what runs, and of a cell that is not ready. */
int64_t calls_next_deadline(const struct keeper *k);
int calls_check_deadlines(struct keeper *k) WARN_UNUSED;
/* A decision by operator or answers, compared with the digest that is pending. */
int calls_decide(struct keeper *k, int64_t request_seq, bool allow, const char *digest, const char *note,
		 const char *actor, const char *via, struct err *err) WARN_UNUSED;
/* At wake: decisions for an action that is no longer the same are void. */
int calls_recheck(struct keeper *k) WARN_UNUSED;

/* ---- cellmate.c: the cell and its adapter */
int cellmate_provision(struct keeper *k, struct err *err) WARN_UNUSED; /* cell only, before the log exists */
int cellmate_record_birth(struct keeper *k) WARN_UNUSED;
int cellmate_ensure(struct keeper *k) WARN_UNUSED; /* 1: ready, 0: on its way, negative: broken */
int cellmate_call(struct keeper *k, size_t index) WARN_UNUSED;
int cellmate_readable(struct keeper *k) WARN_UNUSED; /* frames of the adapter */
int cellmate_died(struct keeper *k, const char *why) WARN_UNUSED;
/* Ends cell and adapter, and says whether there was one; its caller owes the log cellmate_record_death(). */
bool cellmate_kill(struct keeper *k);
int cellmate_record_death(struct keeper *k, const char *why) WARN_UNUSED;
/* Both. */
int cellmate_end(struct keeper *k, const char *why) WARN_UNUSED;

/* ---- brainlink.c: the harness */
int brainlink_advance(struct keeper *k) WARN_UNUSED;
int brainlink_readable(struct keeper *k) WARN_UNUSED;
int brainlink_send_event(struct keeper *k, const struct event *e) WARN_UNUSED;
void brainlink_end(struct keeper *k);

/* ---- operator.c: windows and commands */
int operator_listen(struct keeper *k, struct err *err) WARN_UNUSED;
int operator_add(struct keeper *k, int fd) WARN_UNUSED; /* the command that started us; takes fd */
void operator_accept(struct keeper *k);
int operator_readable(struct keeper *k, struct client *c) WARN_UNUSED;
void operator_writable(struct keeper *k, struct client *c);
void operator_tell_seq(struct keeper *k, int64_t seq);
void operator_bye(struct keeper *k);

/* ---- stage.c: the staged change as events */
int stage_snapshot(struct keeper *k, struct manifest *ret, struct err *err) WARN_UNUSED;
int stage_turn_end(struct keeper *k) WARN_UNUSED;
int stage_apply(struct keeper *k, const json_node *order, struct buf *problems, size_t *ret_n,
		struct err *err) WARN_UNUSED;
int stage_discard(struct keeper *k, const json_node *order, size_t *ret_n, struct err *err) WARN_UNUSED;

/* ---- keeper.c */
struct keeper *keeper_new(void) WARN_UNUSED; /* empty; NULL when memory is short */
void keeper_free(struct keeper **k);         /* ends what runs, says goodbye to clients, lets go of the lock */
int keeper_advance(struct keeper *k) WARN_UNUSED;
/* Ends the turn: the operator wants to say something before it goes on. */
int keeper_interrupt(struct keeper *k) WARN_UNUSED;
/* Ends what runs and the keeper; the turn stays open for a wake. */
int keeper_stop(struct keeper *k) WARN_UNUSED;
void keeper_write_pids(struct keeper *k);
void helper_end(struct helper *h);

#endif
