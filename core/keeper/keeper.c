#include "core/keeper/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/path.h"
#include "core/harness/script.h"
#include "core/keeper/begin.h"
#include "core/keeper/impl.h"
#include "core/keeper/wire.h"
#include "core/pub/op.h"
#include "jail/lock.h"

void keeper_write_pids(struct keeper *k)
{
	_cleanup_json_ json_node *pids = cJSON_CreateObject();
	_cleanup_buf_ struct buf text = BUF_INIT(4096);
	struct err err = { 0 };
	char name[ID_LEN + 8];

	cJSON_AddNumberToObject(pids, "keeper", getpid());
	if (k->harness.pid)
		cJSON_AddNumberToObject(pids, "harness", k->harness.pid);
	else
		cJSON_AddNullToObject(pids, "harness");
	json_node *cells = cJSON_AddArrayToObject(pids, "cells");
	if (k->cell)
		cJSON_AddItemToArray(cells, cJSON_CreateNumber(cell_pid(k->cell)));
	json_write(pids, &text);
	snprintf(name, sizeof(name), "%s.pid", k->id);
	/* Only `ls` reads it; a machine that cannot write it has said so elsewhere. */
	(void)!path_write_file(k->home.run_fd, name, buf_str(&text), text.len, &err);
}

static void remove_run_files(struct keeper *k)
{
	static const char *const suffixes[] = { "pid", "sock" };
	char name[ID_LEN + 8];

	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
		snprintf(name, sizeof(name), "%s.%s", k->id, suffixes[i]);
		(void)!unlinkat(k->home.run_fd, name, 0);
	}
}

/* ---- what is due next */

static bool nothing_left(const struct keeper *k)
{
	return !k->state.running && !session_state_pending(&k->state);
}

/* The operator interrupted: nothing more of this turn runs, whether it was asked about or not. */
static int halt(struct keeper *k)
{
	const char *reason = k->state.stop_reason;
	int r = calls_cancel(k);

	if (r < 0 || (!k->state.running && reason && strcmp(reason, "interrupted") == 0))
		return r;
	return keeper_record_idle(k, "interrupted");
}

int keeper_advance(struct keeper *k)
{
	int r = 0;

	if (k->ending)
		return 0;
	if (k->owner_lost)
		return keeper_stop(k);
	if (k->state.halted) {
		r = halt(k);
	} else {
		if (session_state_open_calls(&k->state))
			r = calls_advance(k);
		if (r == 0 && !k->ending && !session_state_open_calls(&k->state))
			r = brainlink_advance(k);
	}
	if (r == 0 && k->headless && nothing_left(k))
		k->ending = true;
	return r;
}

static bool is_under_way(const struct keeper *k)
{
	return k->state.running || session_state_pending(&k->state);
}

/* Ends the request and the calls that run; *ret_killed: with their cell, whose death is recorded after the turn's rows.
 */
static int end_running(struct keeper *k, bool *ret_killed)
{
	*ret_killed = false;
	brainlink_end(k);
	if (!calls_running(k))
		return 0;
	*ret_killed = cellmate_kill(k);
	return calls_settle(k, "cancelled", "Cancelled: the operator interrupted this call. It may have had effects.");
}

int keeper_interrupt(struct keeper *k)
{
	bool killed;

	if (!is_under_way(k))
		return 0;

	int r = keeper_record(k, "user.interrupt", "operator", 0, cJSON_CreateObject(), LOG_NORMAL, NULL);
	if (r == 0)
		r = end_running(k, &killed);
	if (r == 0)
		r = halt(k);
	return r == 0 && killed ? cellmate_record_death(k, "interrupted") : r;
}

int keeper_stop(struct keeper *k)
{
	bool under_way = is_under_way(k);
	bool killed;
	int r = end_running(k, &killed);

	if (r == 0 && under_way)
		r = keeper_record_idle(k, "interrupted");
	if (r == 0)
		r = killed ? cellmate_record_death(k, "stopped") : cellmate_end(k, "stopped");
	k->ending = true;
	return r;
}

/* ---- the loop */

enum slot { SLOT_SIGNAL, SLOT_LISTEN, SLOT_HARNESS, SLOT_ADAPTER, SLOT_CELL, SLOT_CLIENTS };

static int wait_ms(const struct keeper *k)
{
	int64_t deadline = calls_next_deadline(k);

	if (k->deaf_until_ms && (deadline < 0 || k->deaf_until_ms < deadline))
		deadline = k->deaf_until_ms;

	int64_t left = deadline - clock_mono_ms();
	return deadline < 0 ? -1 : left < 0 ? 0 : left > 60000 ? 60000 : (int)left;
}

static int take_signal(struct keeper *k)
{
	struct signalfd_siginfo info;

	if (read(k->signal_fd, &info, sizeof(info)) != sizeof(info) || info.ssi_signo == SIGCHLD)
		return 0;
	k->status = 130;
	return keeper_stop(k);
}

static int turn_once(struct keeper *k)
{
	struct pollfd fds[SLOT_CLIENTS + CLIENTS_MAX] = {
		[SLOT_SIGNAL] = { .fd = k->signal_fd, .events = POLLIN },
		[SLOT_LISTEN] = { .fd = k->deaf_until_ms ? -1 : k->listen_fd, .events = POLLIN },
		[SLOT_HARNESS] = { .fd = k->harness.pid ? k->harness.fd : -1, .events = POLLIN },
		[SLOT_ADAPTER] = { .fd = k->adapter.pid ? k->adapter.fd : -1, .events = POLLIN },
		[SLOT_CELL] = { .fd = k->cell ? cell_pidfd(k->cell) : -1, .events = POLLIN },
	};
	int r = 0;

	for (size_t i = 0; i < CLIENTS_MAX; i++) {
		const struct client *c = &k->client[i];

		fds[SLOT_CLIENTS + i] = (struct pollfd){ .fd = c->fd, .events = POLLIN };
		if (c->behind || frame_waiting(&c->out))
			fds[SLOT_CLIENTS + i].events |= POLLOUT;
	}
	if (poll(fds, ARRAY_LEN(fds), wait_ms(k)) < 0)
		return errno == EINTR ? 0 : err_errno(&k->why, E_IO, errno, "keeper: poll");

	/* The adapter before the cell: a result that is already here counts, even when the cell ended after it. */
	if (fds[SLOT_SIGNAL].revents)
		r = take_signal(k);
	if (r == 0 && fds[SLOT_ADAPTER].revents && k->adapter.pid)
		r = cellmate_readable(k);
	else if (r == 0 && fds[SLOT_CELL].revents && k->cell)
		r = cellmate_died(k, "the cell ended");
	if (r == 0 && fds[SLOT_HARNESS].revents && k->harness.pid)
		r = brainlink_readable(k);
	if (r == 0)
		r = calls_check_deadlines(k);
	for (size_t i = 0; r == 0 && i < CLIENTS_MAX; i++) {
		struct client *c = &k->client[i];

		if (c->fd >= 0 && (fds[SLOT_CLIENTS + i].revents & POLLOUT))
			operator_writable(k, c);
		if (c->fd >= 0 && (fds[SLOT_CLIENTS + i].revents & ~POLLOUT))
			r = operator_readable(k, c);
	}
	if (r == 0 && (fds[SLOT_LISTEN].revents || (k->deaf_until_ms && clock_mono_ms() >= k->deaf_until_ms)))
		operator_accept(k);
	return r == 0 ? keeper_advance(k) : r;
}

static void run(struct keeper *k)
{
	int r = keeper_advance(k);

	while (r == 0 && !k->ending)
		r = turn_once(k);
	if (r < 0 && !k->why.code)
		err_set(&k->why, r, "keeper: failed (%s)", err_name(r));
	if (!k->why.code && cellmate_end(k, "the session is left") < 0)
		k->ending = true;
	if (k->why.code)
		k->status = k->status ? k->status : err_exit_status(k->why.code);
	else if (!k->status && k->state.stop_reason)
		k->status = strcmp(k->state.stop_reason, "end_turn") == 0 ? 0 : 1;
}

static int signals(struct keeper *k, struct err *err)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGHUP);
	sigaddset(&mask, SIGCHLD);
	signal(SIGPIPE, SIG_IGN);
	if (sigprocmask(SIG_BLOCK, &mask, NULL) < 0 ||
	    (k->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK)) < 0)
		return err_errno(err, E_IO, errno, "keeper: signals");
	return 0;
}

struct keeper *keeper_new(void)
{
	struct keeper *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->home = (struct home)HOME_INIT;
	k->staged = (struct staged)STAGED_INIT;
	k->script = (struct buf)BUF_INIT(SCRIPT_SIZE_MAX);
	k->session_fd = k->idmap_lock_fd = k->signal_fd = k->listen_fd = k->adapter.fd = k->harness.fd = -1;
	for (size_t i = 0; i < CLIENTS_MAX; i++)
		k->client[i].fd = -1;
	return k;
}

void keeper_free(struct keeper **keeper)
{
	struct keeper *k = *keeper;

	if (!k)
		return;
	brainlink_end(k);
	helper_end(&k->adapter);
	cell_end(&k->cell);
	if (k->listen_fd >= 0)
		remove_run_files(k);
	fd_close(&k->listen_fd);
	operator_bye(k);
	log_close(&k->log);
	staged_close(&k->staged);
	session_state_free(&k->state);
	answers_free(&k->answers);
	free_charp(&k->brain_kind);
	buf_free(&k->script);
	fd_close(&k->session_fd);
	fd_close(&k->idmap_lock_fd);
	fd_close(&k->signal_fd);
	home_close(&k->home);
	free(k);
	*keeper = NULL;
}

/* What a keeper that root started needs: id maps and id-mapped mounts of cells (opening the user namespace of a process
 * that shares our memory, which is not dumpable, takes PTRACE), files of the workspace and of the staged layer, signals
 * to its own, ids of its helpers. */
static const int kept_capabilities[] = {
	CAP_CHOWN,  CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER,  CAP_FSETID,    CAP_KILL,
	CAP_SETGID, CAP_SETUID,       CAP_SETPCAP,         CAP_SETFCAP, CAP_SYS_ADMIN, CAP_SYS_PTRACE,
};

int keeper_main(void)
{
	_cleanup_(keeper_free) struct keeper *k = keeper_new();
	struct err err = { 0 };

	umask(077);
	if (!k || prctl(PR_SET_DUMPABLE, 0) < 0 || signals(k, &err) < 0 ||
	    lock_keep_capabilities(kept_capabilities, ARRAY_LEN(kept_capabilities), &err) < 0)
		return 3;
	if (begin(k, HELPER_FD, &err) == 0) {
		run(k);
		return k->status;
	}
	begin_refused(k, HELPER_FD, &err);
	return err_exit_status(err.code);
}
