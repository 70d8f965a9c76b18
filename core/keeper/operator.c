/*
 * Windows and commands at the operator socket.  A peer must have our own uid (SO_PEERCRED); its executable and terminal
 * are named in the decisions that come from it, because a process of the operator's own uid can answer in his name.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/keeper/impl.h"
#include "core/keeper/wire.h"
#include "core/pub/op.h"

static void drop(struct client *c)
{
	fd_close(&c->fd);
	frame_reader_free(&c->in);
	*c = (struct client){ .fd = -1 };
}

/* The path goes through /proc/self/fd, because sun_path ends at 107 bytes and a home may be deeper. */
int operator_listen(struct keeper *k, struct err *err)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	char name[ID_LEN + 8];
	_cleanup_fd_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return err_errno(err, E_IO, errno, "operator socket");
	snprintf(name, sizeof(name), "%s.sock", k->id);
	/* The writer lock is ours: whoever made a socket of this name before is gone. */
	if (unlinkat(k->home.run_fd, name, 0) < 0 && errno != ENOENT)
		return err_errno(err, E_IO, errno, "%s", name);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/self/fd/%d/%s", k->home.run_fd, name);
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 || fchmodat(k->home.run_fd, name, 0600, 0) < 0 ||
	    listen(fd, 8) < 0)
		return err_errno(err, E_IO, errno, "operator socket %s", name);
	k->listen_fd = steal_fd(&fd);
	return 0;
}

static void describe_peer(struct client *c)
{
	char link[48], exe[96] = "?";

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)c->pid);
	ssize_t n = readlink(link, exe, sizeof(exe) - 1);
	if (n > 0)
		exe[n] = '\0';
	snprintf(c->via, sizeof(c->via), "pid %d %s", (int)c->pid, exe);
}

int operator_add(struct keeper *k, int fd)
{
	for (size_t i = 0; i < CLIENTS_MAX; i++) {
		struct client *c = &k->client[i];

		if (c->fd >= 0)
			continue;
		*c = (struct client){ .fd = fd, .greeted = true, .subscribed = true, .owner = true, .pid = getppid() };
		describe_peer(c);
		frame_reader_init(&c->in, fd, OP_FRAME_MAX);
		return 0;
	}
	return E_LIMIT;
}

void operator_accept(struct keeper *k)
{
	_cleanup_fd_ int fd = accept4(k->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 || peer.uid != geteuid())
		return;
	for (size_t i = 0; i < CLIENTS_MAX; i++) {
		struct client *c = &k->client[i];

		if (c->fd >= 0)
			continue;
		*c = (struct client){ .fd = steal_fd(&fd), .pid = peer.pid };
		describe_peer(c);
		frame_reader_init(&c->in, c->fd, OP_FRAME_MAX);
		return;
	}
}

static void tell(struct client *c, uint32_t type, json_node *object)
{
	_cleanup_json_ json_node *owned = object;
	struct err err = { 0 };

	if (c->fd >= 0 && wire_send(c->fd, type, owned, &err) < 0)
		drop(c);
}

void operator_tell_seq(struct keeper *k, int64_t seq)
{
	for (size_t i = 0; i < CLIENTS_MAX; i++) {
		if (k->client[i].fd < 0 || !k->client[i].subscribed)
			continue;
		json_node *object = cJSON_CreateObject();
		cJSON_AddNumberToObject(object, "seq", (double)seq);
		tell(&k->client[i], OPR_SEQ, object);
	}
}

void operator_bye(struct keeper *k)
{
	_cleanup_buf_ struct buf unused = BUF_INIT(1u << 20);

	answers_unused(k->answers, &unused);
	for (size_t i = 0; i < CLIENTS_MAX; i++) {
		if (k->client[i].fd < 0)
			continue;
		json_node *object = cJSON_CreateObject();
		cJSON_AddNumberToObject(object, "status", k->status);
		cJSON_AddStringToObject(object, "text", k->why.code ? k->why.text : "");
		cJSON_AddStringToObject(object, "unused", k->client[i].owner ? buf_str(&unused) : "");
		tell(&k->client[i], OPR_BYE, object);
		drop(&k->client[i]);
	}
}

/* ---- requests; each fills `answer` or `err` */

struct request {
	struct keeper *k;
	struct client *c;
	const json_node *order;
	json_node *answer;
	struct buf problems;
	struct err *err;
};

static int on_hello(struct request *r)
{
	const char *tty = json_get_str(r->order, "tty");
	const char *ssh = json_get_str(r->order, "ssh");
	size_t used = strlen(r->c->via);

	if (json_get_int(r->order, "version", 0) != OP_VERSION)
		return err_set(r->err, E_USAGE,
			       "hello: another version of warder; start the session anew with this one");
	snprintf(r->c->via + used, sizeof(r->c->via) - used, "%s%.20s%s%.40s", tty ? " on " : "", tty ? tty : "",
		 ssh ? " from " : "", ssh ? ssh : "");
	r->c->greeted = true;
	return 0;
}

static int on_subscribe(struct request *r)
{
	r->c->subscribed = true;
	cJSON_AddNumberToObject(r->answer, "seq", (double)r->k->state.last_seq);
	return 0;
}

static int on_status(struct request *r)
{
	cJSON_AddStringToObject(r->answer, "state", session_state_name(&r->k->state, true));
	return 0;
}

static int on_decide(struct request *r)
{
	const char *result = json_get_str(r->order, "result");
	bool allow = result && strcmp(result, "allow") == 0;

	if (!allow && (!result || strcmp(result, "deny") != 0))
		return err_set(r->err, E_USAGE, "decision: allow or deny");
	return calls_decide(r->k, json_get_int(r->order, "id", 0), allow, json_get_str(r->order, "digest"),
			    json_get_str(r->order, "deny_message"), "operator", r->c->via, r->err);
}

static int on_message(struct request *r)
{
	const char *text = json_get_str(r->order, "text");
	struct keeper *k = r->k;
	json_node *body, *block;

	if (!text || !text[0])
		return err_set(r->err, E_USAGE, "message: no text");
	if (k->state.terminated)
		return err_set(r->err, E_DENIED, "session: it has ended; start a new one");
	body = cJSON_CreateObject();
	block = cJSON_CreateObject();
	cJSON_AddStringToObject(block, "type", "text");
	cJSON_AddStringToObject(block, "text", text);
	cJSON_AddItemToArray(cJSON_AddArrayToObject(body, "content"), block);
	if (keeper_record(k, "user.message", "operator", 0, body, LOG_NORMAL, NULL) < 0)
		return err_set(r->err, k->why.code, "%s", k->why.text);
	if (!k->state.running && !session_state_pending(&k->state) &&
	    keeper_record(k, "session.status_running", "keeper", 0, cJSON_CreateObject(), LOG_NORMAL, NULL) < 0)
		return err_set(r->err, k->why.code, "%s", k->why.text);
	return 0;
}

static int on_interrupt(struct request *r)
{
	if (keeper_interrupt(r->k, true) < 0)
		return err_set(r->err, r->k->why.code, "%s", r->k->why.text);
	return 0;
}

static int on_stop(struct request *r)
{
	if (keeper_stop(r->k) < 0)
		return err_set(r->err, r->k->why.code, "%s", r->k->why.text);
	return 0;
}

static int on_snapshot(struct request *r)
{
	_cleanup_(manifest_free) struct manifest m = { 0 };
	char hex[DIGEST_HEX_LEN + 1];
	int e = stage_snapshot(r->k, &m, r->err);

	if (e == 0)
		cJSON_AddStringToObject(r->answer, "manifest", digest_hex(m.digest, hex));
	return e;
}

static int on_apply(struct request *r)
{
	size_t n = 0;
	int e = stage_apply(r->k, r->order, &r->problems, &n, r->err);

	if (e == 0)
		cJSON_AddNumberToObject(r->answer, "applied", (double)n);
	return e;
}

static int on_discard(struct request *r)
{
	size_t n = 0;
	int e = stage_discard(r->k, r->order, &n, r->err);

	if (e == 0)
		cJSON_AddNumberToObject(r->answer, "discarded", (double)n);
	return e;
}

static int on_adopt(struct request *r)
{
	const json_node *answers = json_get(r->order, "answers");
	const char *text = json_get_str(answers, "text");
	const char *name = json_get_str(answers, "name");
	struct answers *parsed = NULL;
	int e = text ? answers_parse(name ? name : "answers", text, strlen(text), &parsed, r->err) : 0;

	if (e < 0)
		return e;
	for (size_t i = 0; i < CLIENTS_MAX; i++)
		if (r->k->client[i].owner && r->k->headless) {
			answers_free(&parsed);
			return err_set(r->err, E_BUSY, "session: another headless run follows it; wait for its end");
		}
	answers_free(&r->k->answers);
	r->k->answers = parsed;
	r->k->headless = true;
	r->c->owner = r->c->subscribed = true;
	return 0;
}

enum when { BEFORE_HELLO = 1, AFTER_HELLO = 2 };

static const struct {
	uint32_t type;
	unsigned when;
	int (*take)(struct request *r);
} permitted[] = {
	{ OP_HELLO, BEFORE_HELLO, on_hello },      { OP_SUBSCRIBE, AFTER_HELLO, on_subscribe },
	{ OP_STATUS, AFTER_HELLO, on_status },     { OP_DECIDE, AFTER_HELLO, on_decide },
	{ OP_MESSAGE, AFTER_HELLO, on_message },   { OP_INTERRUPT, AFTER_HELLO, on_interrupt },
	{ OP_STOP, AFTER_HELLO, on_stop },         { OP_SNAPSHOT, AFTER_HELLO, on_snapshot },
	{ OP_APPLY, AFTER_HELLO, on_apply },       { OP_DISCARD, AFTER_HELLO, on_discard },
	{ OP_ADOPT, AFTER_HELLO, on_adopt },
};

static int take_frame(struct keeper *k, struct client *c, const struct frame *f)
{
	_cleanup_json_ json_node *order = NULL;
	struct err err = { 0 };
	struct request r = {
		.k = k, .c = c, .answer = cJSON_CreateObject(), .problems = BUF_INIT(1u << 20), .err = &err
	};
	int e = json_parse_object(f->data, f->len, &order, &err);

	r.order = order;
	if (e == 0) {
		e = err_set(&err, E_PROTOCOL, "operator: request %u is not permitted now", f->type);
		for (size_t i = 0; i < ARRAY_LEN(permitted); i++)
			if (permitted[i].type == f->type &&
			    (permitted[i].when & (c->greeted ? AFTER_HELLO : BEFORE_HELLO)))
				e = permitted[i].take(&r);
	}
	if (e == 0) {
		tell(c, OPR_OK, r.answer);
	} else {
		json_free(&r.answer);
		json_node *refusal = cJSON_CreateObject();
		cJSON_AddNumberToObject(refusal, "status", err_exit_status(e));
		cJSON_AddStringToObject(refusal, "text", err.text);
		cJSON_AddStringToObject(refusal, "problems", buf_str(&r.problems));
		tell(c, OPR_ERROR, refusal);
		if (e == E_PROTOCOL)
			drop(c);
	}
	buf_free(&r.problems);
	return k->why.code;
}

int operator_readable(struct keeper *k, struct client *c)
{
	struct err err = { 0 };
	struct frame f;
	bool owner = c->owner;
	int r = frame_fill(&c->in, &err);

	while (r == 0 && c->fd >= 0 && (r = frame_next(&c->in, &f, &err)) == 1) {
		r = take_frame(k, c, &f);
		if (r < 0)
			return r;
	}
	if (r >= 0)
		return 0;
	drop(c);
	/* Nobody reads what a headless run prints any more, and nobody can answer: it stops. */
	return owner && k->headless && !k->ending ? keeper_stop(k) : 0;
}
