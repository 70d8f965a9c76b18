#include "core/client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/id.h"
#include "core/keeper/spawn.h"
#include "core/keeper/wire.h"
#include "core/pub/op.h"
#include "store/log.h"

#define REACH_WAIT_MS 5000
#define REACH_POLL_MS 10
#define ANSWER_WAIT_MS (120 * 1000) /* a snapshot of a large change, or a first commit in a large tree */

/* What a keeper needs of our environment to find the same home; nothing else passes. */
static const char *const passed_on[] = { "HOME", "WARDER_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR" };

static int code_of_status(int64_t status)
{
	return status == 1 ? E_DENIED : status == 2 ? E_USAGE : E_MACHINE;
}

static int refusal(const struct frame *f, char **ret_problems, struct err *err)
{
	_cleanup_json_ json_node *body = NULL;
	int r = json_parse_object(f->data, f->len, &body, err);
	const char *text = r == 0 ? json_get_str(body, "text") : NULL;
	const char *problems = r == 0 ? json_get_str(body, "problems") : NULL;

	if (r < 0)
		return r;
	if (ret_problems && problems && problems[0])
		*ret_problems = strdup(problems);
	return err_set(err, code_of_status(json_get_int(body, "status", 3)), "%s", text ? text : "the keeper refused");
}

static int wait_answer(struct client_link *l, json_node **ret, char **ret_problems, struct err *err)
{
	struct frame f;
	int r;

	/* Rows that come meanwhile are read from the log later. */
	do
		r = frame_wait(&l->in, ANSWER_WAIT_MS, &f, err);
	while (r >= 0 && f.type == OPR_SEQ);
	if (r < 0)
		return err_set(err, r, "keeper: it ended without an answer; warder show - tells what it did last");
	if (f.type == OPR_ERROR)
		return refusal(&f, ret_problems, err);
	if (f.type != OPR_OK)
		return err_set(err, E_CLOSED, "keeper: it is ending; try again");
	return json_parse_object(f.data, f.len, ret, err);
}

int client_ask(struct client_link *l, uint32_t type, const json_node *order, json_node **ret_answer,
	       char **ret_problems, struct err *err)
{
	_cleanup_json_ json_node *answer = NULL;
	int r = wire_send(l->fd, type, order, err);

	if (r == 0)
		r = wait_answer(l, &answer, ret_problems, err);
	if (r == 0 && ret_answer)
		*ret_answer = steal_ptr(answer);
	return r;
}

static int hello(struct client_link *l, struct err *err)
{
	_cleanup_json_ json_node *order = cJSON_CreateObject();
	const char *ssh = getenv("SSH_CONNECTION");
	char tty[64];

	cJSON_AddNumberToObject(order, "version", OP_VERSION);
	if (ttyname_r(STDIN_FILENO, tty, sizeof(tty)) == 0)
		cJSON_AddStringToObject(order, "tty", tty);
	if (ssh)
		cJSON_AddStringToObject(order, "ssh", ssh);
	return client_ask(l, OP_HELLO, order, NULL, NULL, err);
}

int client_connect(const struct home *home, const char *session, struct client_link *ret, struct err *err)
{
	_cleanup_client_ struct client_link l = CLIENT_LINK_INIT;
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	l.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (l.fd < 0)
		return err_errno(err, E_IO, errno, "operator socket");
	snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/self/fd/%d/%s.sock", home->run_fd, session);
	if (connect(l.fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		return err_errno(err, errno == ENOENT || errno == ECONNREFUSED ? E_NOTFOUND : E_IO, errno,
				 "session %s: no keeper", session);
	frame_reader_init(&l.in, l.fd, OP_FRAME_MAX);

	int r = hello(&l, err);
	if (r < 0)
		return r;
	*ret = l;
	l = (struct client_link)CLIENT_LINK_INIT;
	return 0;
}

int client_reach(const struct home *home, const char *session, int session_fd, struct client_link *ret, struct err *err)
{
	for (int waited = 0;; waited += REACH_POLL_MS) {
		int r = client_connect(home, session, ret, err);

		if (r != E_NOTFOUND && r != E_CLOSED)
			return r;
		if (!log_is_locked(session_fd))
			return E_NOTFOUND;
		if (waited >= REACH_WAIT_MS)
			return err_set(err, E_BUSY,
				       "session %s: its keeper does not answer; try again, or look at it with ps",
				       session);
		(void)poll(NULL, 0, REACH_POLL_MS);
	}
}

int client_start(const json_node *order, struct client_link *ret, char ret_session[32], struct err *err)
{
	_cleanup_client_ struct client_link l = CLIENT_LINK_INIT;
	_cleanup_json_ json_node *answer = NULL;
	_cleanup_fd_ int theirs = -1;
	char *env[ARRAY_LEN(passed_on) + 1] = { NULL };
	const char *const argv[] = { "warder", "__keeper", NULL };
	size_t n = 0;
	pid_t pid;
	int r = spawn_pair(&l.fd, &theirs, err);

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(passed_on); i++) {
		const char *value = getenv(passed_on[i]);

		if (value && asprintf(&env[n], "%s=%s", passed_on[i], value) < 0)
			r = err_set(err, E_NOMEM, "keeper: out of memory");
		else if (value)
			n++;
	}
	if (r == 0) {
		const struct spawn spawn = {
			.argv = argv, .env = (const char *const *)env, .fds = &theirs, .nfds = 1, .new_session = true,
		};
		r = spawn_self(&spawn, &pid, err);
	}
	for (size_t i = 0; i < n; i++)
		free(env[i]);
	fd_close(&theirs);
	if (r < 0)
		return r;

	frame_reader_init(&l.in, l.fd, OP_FRAME_MAX);
	r = wire_send(l.fd, OPR_OK, order, err);
	l.keeper = pid;
	if (r == 0)
		r = wait_answer(&l, &answer, NULL, err);
	const char *session = r == 0 ? json_get_str(answer, "session") : NULL;
	if (r == 0 && (!session || !id_valid(session)))
		r = err_set(err, E_PROTOCOL, "keeper: no session in its answer");
	if (r < 0) {
		client_close(&l);
		client_wait(&l);
		return r;
	}
	snprintf(ret_session, 32, "%s", session);
	*ret = l;
	l = (struct client_link)CLIENT_LINK_INIT;
	return 0;
}

void client_wait(struct client_link *l)
{
	while (l->keeper > 0 && waitpid(l->keeper, NULL, 0) < 0 && errno == EINTR)
		;
	l->keeper = 0;
}

void client_close(struct client_link *l)
{
	if (l->fd >= 0)
		frame_reader_free(&l->in);
	fd_close(&l->fd);
}
