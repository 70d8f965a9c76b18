/*
 * hand_client: a client for tests of the real warder-hand: starts it over pipes, sends lines, waits for replies with a
 * deadline.  It shares only the JSON reader with what it tests.
 */
#ifndef WARDER_TESTS_HAND_CLIENT_H
#define WARDER_TESTS_HAND_CLIENT_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "tests/tap.h"

#define WAIT_MS 60000 /* nothing here takes so long; a busy machine might */

/* Three lines of /proc/PID/status: nothing pending, blocked or ignored.  Signals 32 and 33 are libc's own: it lets
 * nobody reset them, and whoever started us may have them ignored. */
#define NO_SIGNALS "'^Sig(Pnd|Blk):.0{16}$|^SigIgn:.0{7}[01][08]0{7}$'"

struct hand_client {
	pid_t pid;
	int in, out;
	struct buf got;
	json_node *reply; /* the last one */
	int64_t id;
};

/* What a test looks at in the result of a call; pointers are into client->reply. */
struct hand_reply {
	const char *text; /* NULL: no result came */
	const char *outcome;
	bool is_error;
	int64_t exit_status; /* -1: none */
	int64_t dropped;
	const char *cwd; /* where the next command starts; NULL: not said */
	int64_t error; /* JSON-RPC code, 0 for a result */
};

static inline void die(const char *what)
{
	perror(what);
	exit(99);
}

static inline const char *hand_path(void)
{
	static char path[4096];
	const char *folder = getenv("top_builddir");

	snprintf(path, sizeof(path), "%s/warder-hand", folder ? folder : ".");
	return path;
}

/* Starts it in the working folder of the test; `prepare` (may be NULL) runs in the child before exec. */
static inline void hand_open(struct hand_client *c, void (*prepare)(void))
{
	int in[2], out[2];

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		die("pipe");
	*c = (struct hand_client){ .got = BUF_INIT(64u << 20) };
	c->pid = fork();
	if (c->pid < 0)
		die("fork");
	if (c->pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		if (prepare)
			prepare();
		execl(hand_path(), "warder-hand", (char *)NULL);
		_exit(99);
	}
	close(in[0]);
	close(out[1]);
	c->in = in[1];
	c->out = out[0];
}

static inline void hand_send_bytes(struct hand_client *c, const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(c->in, data, len);

		if (n < 0)
			die("write to warder-hand");
		data += n;
		len -= (size_t)n;
	}
}

__attribute__((format(printf, 2, 3))) static inline void hand_send(struct hand_client *c, const char *fmt, ...)
{
	struct buf line = BUF_INIT(32u << 20);
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		die("vasprintf");
	va_end(ap);
	buf_adds(&line, text);
	buf_addc(&line, '\n');
	hand_send_bytes(c, line.data, line.len);
	buf_free(&line);
	free(text);
}

/* The next line, as text without newline in a fresh allocation; NULL at the end of file or after `timeout_ms`. */
static inline char *hand_line(struct hand_client *c, int timeout_ms)
{
	int64_t deadline = clock_mono_ms() + timeout_ms;
	char *newline;

	while (!(newline = c->got.len ? memchr(c->got.data, '\n', c->got.len) : NULL)) {
		struct pollfd p = { .fd = c->out, .events = POLLIN };
		int64_t left = deadline - clock_mono_ms();
		char *room = buf_reserve(&c->got, 65536);
		ssize_t n;

		if (!room || left < 0 || poll(&p, 1, (int)left) <= 0)
			return NULL;
		n = read(c->out, room, 65536);
		if (n <= 0)
			return NULL;
		c->got.len += (size_t)n;
	}
	size_t len = (size_t)(newline - c->got.data);
	char *line = strndup(c->got.data, len);

	buf_consume(&c->got, len + 1);
	return line;
}

/* The next reply into c->reply; every line must be strict JSON. */
static inline const json_node *hand_reply(struct hand_client *c, int timeout_ms)
{
	char *line = hand_line(c, timeout_ms);
	struct err err;

	json_free(&c->reply);
	if (line && json_parse_object(line, strlen(line), &c->reply, &err) < 0)
		diag("reply is no JSON object: %s", err.text);
	free(line);
	return c->reply;
}

static inline struct hand_reply hand_result(const json_node *reply)
{
	const json_node *result = json_get(reply, "result");
	const json_node *content = json_get(result, "content");
	const json_node *ours = json_get(json_get(result, "_meta"), "warder");

	return (struct hand_reply){
		.text = content ? json_get_str(content->child, "text") : NULL,
		.outcome = json_get_str(ours, "outcome"),
		.is_error = json_get_bool(result, "isError", false),
		.exit_status = json_get_int(ours, "exit_status", -1),
		.dropped = json_get_int(ours, "bytes_dropped", -1),
		.cwd = json_get_str(ours, "cwd"),
		.error = json_get_int(json_get(reply, "error"), "code", 0),
	};
}

/* Waits for the reply to a request, passing over others. */
static inline struct hand_reply hand_await(struct hand_client *c, int64_t id)
{
	while (hand_reply(c, WAIT_MS))
		if (json_get_int(c->reply, "id", INT64_MIN) == id)
			break;
	return hand_result(c->reply);
}

static inline int64_t hand_begin(struct hand_client *c, const char *tool, const char *args)
{
	hand_send(
		c,
		"{\"jsonrpc\":\"2.0\",\"id\":%lld,\"method\":\"tools/call\","
		"\"params\":{\"name\":\"%s\",\"arguments\":%s}}",
		(long long)++c->id, tool, args);
	return c->id;
}

static inline struct hand_reply hand_call(struct hand_client *c, const char *tool, const char *args)
{
	return hand_await(c, hand_begin(c, tool, args));
}

/* {"KEY":"VALUE",REST} with VALUE escaped; REST may be "". */
static inline char *hand_args(const char *key, const char *value, const char *rest)
{
	struct buf b = BUF_INIT(32u << 20);

	buf_addf(&b, "{\"%s\":", key);
	json_write_string(value, strlen(value), &b);
	buf_addf(&b, "%s%s}", *rest ? "," : "", rest);
	return buf_steal(&b);
}

static inline int64_t hand_bash_begin(struct hand_client *c, const char *command, const char *rest)
{
	char *args = hand_args("command", command, rest);
	int64_t id = hand_begin(c, "bash", args);

	free(args);
	return id;
}

static inline struct hand_reply hand_bash(struct hand_client *c, const char *command)
{
	return hand_await(c, hand_bash_begin(c, command, ""));
}

static inline void hand_open_ready(struct hand_client *c, void (*prepare)(void))
{
	hand_open(c, prepare);
	hand_send(
		c,
		"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\","
		"\"params\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
		"\"clientInfo\":{\"name\":\"test\",\"version\":\"0\"}}}");
	hand_await(c, 0);
	hand_send(c, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
}

/* Waits until it has ended, however long; then everything is freed.  Returns the wait status. */
static inline int hand_wait_end(struct hand_client *c)
{
	int wstatus = -1;

	if (c->in >= 0)
		close(c->in);
	waitpid(c->pid, &wstatus, 0);
	close(c->out);
	buf_free(&c->got);
	json_free(&c->reply);
	return wstatus;
}

static inline bool is_gone(pid_t pid)
{
	return pid > 1 && kill(pid, 0) < 0 && errno == ESRCH;
}

/* A process ends some time after it was told to. */
static inline bool goes_away(pid_t pid)
{
	int64_t deadline = clock_mono_ms() + WAIT_MS;

	while (!is_gone(pid) && pid > 1 && clock_mono_ms() < deadline)
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
	return is_gone(pid);
}

static inline bool comes_to_exist(const char *path)
{
	int64_t deadline = clock_mono_ms() + WAIT_MS;

	while (access(path, F_OK) < 0 && clock_mono_ms() < deadline)
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
	return access(path, F_OK) == 0;
}

/* Kilobytes of a line of /proc/PID/status, "VmHWM:" for the peak. */
static inline long status_kb(pid_t pid, const char *line)
{
	char path[64], text[256];
	long kb = -1;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	FILE *f = fopen(path, "re");
	while (f && fgets(text, sizeof(text), f))
		if (strncmp(text, line, strlen(line)) == 0)
			kb = atol(text + strlen(line));
	if (f)
		fclose(f);
	return kb;
}

static inline bool is_sanitized(void)
{
	return getenv("WARDER_SANITIZED") != NULL;
}

#endif
