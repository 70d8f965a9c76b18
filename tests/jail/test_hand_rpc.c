/* The hand's protocol: every message that a client can get wrong, against the real program. */
#include <sys/socket.h>

#include "tests/jail/hand_client.h"

#define CALL_TOUCH "{\"name\":\"bash\",\"arguments\":{\"command\":\"touch no\"}}"
#define REQUEST "{\"jsonrpc\":\"2.0\",\"id\":77,\"method\":"

static int64_t error_of(struct hand_client *c, const char *line)
{
	hand_send(c, "%s", line);
	return hand_result(hand_reply(c, WAIT_MS)).error;
}

static void test_initialize(void)
{
	static const struct {
		const char *asked, *answered;
	} versions[] = {
		{ "2025-06-18", "2025-06-18" }, { "2025-03-26", "2025-03-26" }, { "2024-11-05", "2024-11-05" },
		{ "2025-11-25", "2025-06-18" }, { "1900-01-01", "2025-06-18" }, { "", "2025-06-18" },
	};
	struct hand_client c;

	hand_open(&c, NULL);
	is_int(error_of(&c, REQUEST "\"tools/list\"}"), -32600, "tools/list before initialize is refused");
	is_int(error_of(&c, REQUEST
			"\"tools/call\",\"params\":{\"name\":\"bash\",\"arguments\":{\"command\":\"touch no\"}}}"),
	       -32600, "tools/call before initialize is refused");
	is_int(error_of(&c, REQUEST "\"ping\"}"), 0, "ping is answered before initialize");
	is_int(error_of(&c, REQUEST "\"server/discover\"}"), -32601, "a client of the newer era is told to fall back");
	is_int(error_of(&c, REQUEST "\"initialize\"}"), -32602, "initialize without params");
	is_int(error_of(&c, REQUEST "\"initialize\",\"params\":{\"protocolVersion\":1}}"), -32602,
	       "version of a wrong type");
	for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
		hand_send(&c, REQUEST "\"initialize\",\"params\":{\"protocolVersion\":\"%s\",\"capabilities\":{}}}",
			  versions[i].asked);
		const json_node *result = json_get(hand_reply(&c, WAIT_MS), "result");

		is_str(json_get_str(result, "protocolVersion"), versions[i].answered, "version \"%s\"",
		       versions[i].asked);
		ok(json_get(json_get(result, "capabilities"), "tools"), "it offers tools");
	}
	ok(access("no", F_OK) < 0, "nothing ran before initialize");
	is_int(hand_wait_end(&c), 0, "ends with 0 at the end of input");
}

static void test_envelope(struct hand_client *c)
{
	static const struct {
		const char *line;
		int64_t error;
		const char *why;
	} bad[] = {
		{ "nonsense", -32700, "no JSON" },
		{ "{", -32700, "half an object" },
		{ REQUEST "\"ping\"} x", -32700, "text after the object" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ping\"}", -32700, "a key twice" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":\"a\\u0000b\",\"method\":\"ping\"}", -32700, "NUL in a string" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}", -32700, "bytes that are not UTF-8" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1e999,\"method\":\"ping\"}", -32700, "a number beyond a double" },
		{ "[" REQUEST "\"ping\"}]", -32600, "a batch" },
		{ "[]", -32600, "an empty batch" },
		{ "\"ping\"", -32600, "a string" },
		{ "{}", -32600, "an empty object" },
		{ "{\"id\":1,\"method\":\"ping\"}", -32600, "no version" },
		{ "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", -32600, "another version" },
		{ "{\"jsonrpc\":2.0,\"id\":1,\"method\":\"ping\"}", -32600, "version as a number" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", -32600, "id null" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", -32600, "id with a fraction" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1e300,\"method\":\"ping\"}", -32600, "id beyond an integer" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", -32600, "id an object" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"ping\"}", -32600, "id a boolean" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":5}", -32600, "method a number" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1}", -32600, "no method" },
		{ REQUEST "\"ping\",\"params\":[]}", -32600, "params an array" },
		{ REQUEST "\"resources/list\"}", -32601, "unknown method" },
		{ REQUEST "\"PING\"}", -32601, "method names are exact" },
		{ REQUEST "\"notifications/cancelled\"}", -32601, "a notification sent as a request" },
		{ REQUEST "\"tools/list\",\"params\":{\"cursor\":\"2\"}}", -32602, "a page that is none" },
		{ REQUEST "\"tools/call\"}", -32602, "a call without params" },
		{ REQUEST "\"tools/call\",\"params\":{\"name\":5}}", -32602, "a tool's name as a number" },
		{ REQUEST "\"tools/call\",\"params\":{\"name\":\"Bash\"}}", -32602, "an unknown tool" },
		{ REQUEST "\"tools/call\",\"params\":{\"name\":\"bash\",\"arguments\":[]}}", -32602,
		  "arguments as an array" },
		{ REQUEST "\"tools/call\",\"params\":{\"name\":\"bash\",\"arguments\":null}}", -32602,
		  "arguments null" },
	};
	static const char *const silent[] = {
		"",
		"   ",
		"\r",
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/unknown\"}",
		"{\"jsonrpc\":\"2.0\",\"method\":\"ping\"}",
		"{\"jsonrpc\":\"2.0\",\"method\":\"tools/call\",\"params\":" CALL_TOUCH "}",
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":4711}}",
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":{}}}",
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}",
		"{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{}}",
		"{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":1,\"message\":\"m\"}}",
	};
	static const char *const ids[] = { "0", "-5", "9007199254740992", "\"x\"", "\"\"", "\"\\\"\xc3\xa9\\n\"" };

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		is_int(error_of(c, bad[i].line), bad[i].error, "%s", bad[i].why);
	for (size_t i = 0; i < ARRAY_LEN(silent); i++) {
		hand_send(c, "%s", silent[i]);
		hand_send(c, REQUEST "\"ping\"}");
		hand_reply(c, WAIT_MS);
		is_int(json_get_int(c->reply, "id", -1), 77, "no answer to: %s", silent[i]);
	}
	ok(access("no", F_OK) < 0, "a call without an id is not run");
	for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
		json_node *id = NULL;

		hand_send(c, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"ping\"}", ids[i]);
		if (json_parse(ids[i], strlen(ids[i]), &id, NULL) < 0)
			die("json");
		ok(json_equal(json_get(hand_reply(c, WAIT_MS), "id"), id), "id %s comes back", ids[i]);
		json_free(&id);
	}

	char id[300];
	memset(id, 'x', sizeof(id) - 1);
	id[sizeof(id) - 1] = '\0';
	hand_send(c, "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"method\":\"ping\"}", id);
	is_int(hand_result(hand_reply(c, WAIT_MS)).error, -32600, "an id of 299 bytes is refused");
}

/* A ping of exactly `len` bytes. */
static void send_long(struct hand_client *c, size_t len)
{
	char *line = malloc(len + 1);
	static const char head[] = REQUEST "\"ping\",\"params\":{\"x\":\"", tail[] = "\"}}";

	if (!line)
		die("malloc");
	memset(line, 'x', len);
	memcpy(line, head, sizeof(head) - 1);
	memcpy(line + len - (sizeof(tail) - 1), tail, sizeof(tail) - 1);
	line[len] = '\n';
	hand_send_bytes(c, line, len + 1);
	free(line);
}

static void test_limits(struct hand_client *c)
{
	size_t max = 8u << 20;
	struct buf many = BUF_INIT(8u << 20);

	send_long(c, max);
	is_int(hand_result(hand_reply(c, WAIT_MS)).error, 0, "a line of 8 MiB is taken");
	send_long(c, max + 1);
	is_int(hand_result(hand_reply(c, WAIT_MS)).error, -32700, "one byte more is refused");
	send_long(c, 3 * max);
	is_int(hand_result(hand_reply(c, WAIT_MS)).error, -32700, "three times as much is refused once");
	is_int(error_of(c, REQUEST "\"ping\"}"), 0, "and the next line is read again");

	buf_adds(&many, "[0");
	while (many.len < (6u << 20))
		buf_adds(&many, ",0");
	buf_adds(&many, "]\n");
	hand_send_bytes(c, many.data, many.len);
	is_int(hand_result(hand_reply(c, WAIT_MS)).error, -32700, "a line of three million values is refused");
	buf_free(&many);
	if (is_sanitized())
		skip("memory cannot be judged under a sanitizer");
	else
		ok(status_kb(c->pid, "VmHWM:") < 48 << 10, "peak of memory after all that: %ld kB",
		   status_kb(c->pid, "VmHWM:"));
}

/* A client that sends and does not read is not read any more; nothing is lost and nothing grows. */
static void test_backlog(struct hand_client *c)
{
	static const char line[] = REQUEST "\"tools/list\"}\n";
	size_t sent = 0, got = 0, part = 0;

	fcntl(c->in, F_SETFL, O_NONBLOCK);
	for (int64_t quiet = clock_mono_ms(); clock_mono_ms() < quiet + 500;) {
		ssize_t n = write(c->in, line + part, sizeof(line) - 1 - part);

		if (n <= 0)
			continue;
		quiet = clock_mono_ms();
		part += (size_t)n;
		sent += part == sizeof(line) - 1;
		part %= sizeof(line) - 1;
	}
	fcntl(c->in, F_SETFL, 0);
	hand_send_bytes(c, line + part, part ? sizeof(line) - 1 - part : 0);
	sent += part != 0;
	if (is_sanitized())
		skip("memory cannot be judged under a sanitizer");
	else
		ok(status_kb(c->pid, "VmRSS:") < 12 << 10, "%zu unread requests: %ld kB", sent,
		   status_kb(c->pid, "VmRSS:"));
	while (got < sent && json_get(hand_reply(c, WAIT_MS), "result"))
		got++;
	is_int(got, sent, "every one is answered");
}

/* One wrong thing at a time, for every argument that tools/list names. */
static void test_arguments(struct hand_client *c)
{
	static const struct {
		const char *type, *wrong;
	} wrong[] = {
		{ "string", "5" },         { "string", "null" },
		{ "string", "[\"x\"]" },   { "integer", "\"5\"" },
		{ "integer", "1.5" },      { "integer", "0" },
		{ "integer", "-1" },       { "integer", "9007199254740992" },
		{ "integer", "1e300" },    { "integer", "true" },
		{ "integer", "null" },     { "boolean", "0" },
		{ "boolean", "\"true\"" }, { "boolean", "null" },
	};
	const json_node *tool, *property, *name;
	json_node *list;
	int ntools = 0;

	hand_send(c, REQUEST "\"tools/list\"}");
	hand_reply(c, WAIT_MS);
	list = c->reply;
	c->reply = NULL;
	cJSON_ArrayForEach (tool, json_get(json_get(list, "result"), "tools")) {
		const char *tool_name = json_get_str(tool, "name");
		const json_node *schema = json_get(tool, "inputSchema"), *hints = json_get(tool, "annotations");
		const json_node *properties = json_get(schema, "properties");
		struct hand_reply r;

		ntools++;
		ok(json_get_str(tool, "description") && json_get(hints, "readOnlyHint") &&
			   json_get(hints, "destructiveHint"),
		   "%s has a description and hints", tool_name);
		is_int(json_get_bool(schema, "additionalProperties", true), 0, "%s takes nothing else", tool_name);
		is_int(json_get_bool(hints, "readOnlyHint", false), strcmp(tool_name, "read") == 0, "%s: readOnlyHint",
		       tool_name);

		r = hand_call(c, tool_name, "{\"stranger\":1}");
		ok(r.is_error && r.text && strncmp(r.text, "stranger: ", 10) == 0, "%s names an unknown argument",
		   tool_name);
		is_str(r.outcome, "error", "with outcome error");
		cJSON_ArrayForEach (name, json_get(schema, "required")) {
			r = hand_call(c, tool_name, "{}");
			ok(r.is_error && r.text && strstr(r.text, ": missing"), "%s: a required argument is asked for",
			   tool_name);
			ok(json_get(properties, name->valuestring), "%s: %s is a property", tool_name,
			   name->valuestring);
		}
		cJSON_ArrayForEach (property, properties)
			for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
				char args[256], want[64];

				if (strcmp(json_get_str(property, "type"), wrong[i].type) != 0)
					continue;
				snprintf(args, sizeof(args), "{\"%s\":%s}", property->string, wrong[i].wrong);
				snprintf(want, sizeof(want), "%s: ", property->string);
				r = hand_call(c, tool_name, args);
				ok(r.is_error && r.text && strncmp(r.text, want, strlen(want)) == 0, "%s refuses %s",
				   tool_name, args);
			}
	}
	is_int(ntools, 4, "bash, read, write, edit");
	json_free(&list);
}

static void test_streams(void)
{
	struct hand_client c;
	int pair[2];

	hand_open_ready(&c, NULL);
	hand_send_bytes(&c, REQUEST "\"ping\"}\n" REQUEST "\"ping\"}\n", 2 * strlen(REQUEST "\"ping\"}\n"));
	ok(hand_reply(&c, WAIT_MS) && hand_reply(&c, WAIT_MS), "two lines in one write");
	for (const char *p = REQUEST "\"ping\"}\n"; *p; p++)
		hand_send_bytes(&c, p, 1);
	ok(hand_reply(&c, WAIT_MS), "one line byte by byte");
	hand_send_bytes(&c, REQUEST "\"ping\"}\r\n", strlen(REQUEST "\"ping\"}\r\n"));
	ok(hand_reply(&c, WAIT_MS), "a line that ends in CRLF");
	static const char half[] =
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"write\","
		"\"arguments\":{\"file_path\":\"half\",\"content\":\"\"}}}";
	hand_send_bytes(&c, half, sizeof(half) - 1);
	is_int(hand_wait_end(&c), 0, "the end of input in the middle of a line");
	ok(access("half", F_OK) < 0, "a line without its newline is not acted on");

	hand_open_ready(&c, NULL);
	close(c.out);
	int wstatus;
	waitpid(c.pid, &wstatus, 0);
	is_int(wstatus, 0, "ends when nobody reads it, with its input open");
	close(c.in);
	buf_free(&c.got);
	json_free(&c.reply);

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		die("socketpair");
	c = (struct hand_client){ .in = pair[0], .out = pair[0], .got = BUF_INIT(1u << 20) };
	c.pid = fork();
	if (c.pid == 0) {
		dup2(pair[1], 0);
		dup2(pair[1], 1);
		execl(hand_path(), "warder-hand", (char *)NULL);
		_exit(99);
	}
	close(pair[1]);
	is_int(error_of(&c, REQUEST "\"ping\"}"), 0, "one socket for both directions");
	shutdown(pair[0], SHUT_WR);
	waitpid(c.pid, &wstatus, 0);
	is_int(wstatus, 0, "ends when the socket is shut");
	close(pair[0]);
	buf_free(&c.got);
	json_free(&c.reply);
}

static void test_usage(void)
{
	static const char *const argvs[][3] = { { "warder-hand", "--help" }, { "warder-hand", "--initial" } };

	for (size_t i = 0; i < ARRAY_LEN(argvs); i++) {
		int wstatus;
		pid_t pid = fork();

		if (pid == 0) {
			close(2);
			execv(hand_path(), (char *const *)argvs[i]);
			_exit(99);
		}
		waitpid(pid, &wstatus, 0);
		is_int(WEXITSTATUS(wstatus), 2, "%s is refused", argvs[i][1]);
	}
}

int main(void)
{
	struct hand_client c;

	signal(SIGPIPE, SIG_IGN);
	test_initialize();
	hand_open_ready(&c, NULL);
	test_envelope(&c);
	test_arguments(&c);
	test_limits(&c);
	test_backlog(&c);
	is_int(hand_wait_end(&c), 0, "still in order");
	test_streams();
	test_usage();
	return tap_end();
}
