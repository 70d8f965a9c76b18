/*
 * op_client: a window's end of the operator socket, for the scripts: op_client SOCKET [WORD [JSON]]...
 *
 * Connects and sends one request after the other, each with the object that follows it ({} when none does).  Each reply
 * is a line: "ok {...}" or "error {...}".  Words besides the requests: `raw` connects without a hello; `wait N` prints
 * "seq" lines until N or later was told, or "bye {...}"; `end` the same until the keeper says goodbye; `sleep` says
 * "asleep" and never reads again; `after N` waits N seconds.  Exit status 0 unless the keeper hangs up on a request.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "core/base/frame.h"
#include "core/base/json.h"
#include "core/pub/op.h"

#define WAIT_MS 60000

static const struct {
	const char *word;
	unsigned type;
} requests[] = {
	{ "hello", OP_HELLO },         { "subscribe", OP_SUBSCRIBE }, { "status", OP_STATUS },
	{ "decide", OP_DECIDE },       { "message", OP_MESSAGE },     { "interrupt", OP_INTERRUPT },
	{ "stop", OP_STOP },           { "snapshot", OP_SNAPSHOT },   { "apply", OP_APPLY },
	{ "discard", OP_DISCARD },     { "adopt", OP_ADOPT },         { "unknown", 999 },
};

static struct frame_reader in;
static long long told;

static int connect_to(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || strlen(path) >= sizeof(addr.sun_path))
		return -1;
	memcpy(addr.sun_path, path, strlen(path));
	return connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ? -1 : fd;
}

/* The type of the next frame, 0 when the keeper hung up. */
static unsigned next(struct frame *ret)
{
	struct err err;

	if (frame_wait(&in, WAIT_MS, ret, &err) < 0)
		return 0;
	if (ret->type == OPR_SEQ)
		sscanf(ret->data, "{\"seq\":%lld", &told);
	return ret->type;
}

static int ask(int fd, unsigned type, const char *json)
{
	struct frame f;
	struct err err;
	unsigned got;

	if (frame_send(fd, type, json, strlen(json), &err) < 0)
		return 1;
	while ((got = next(&f)) == OPR_SEQ)
		continue;
	if (!got)
		return 1;
	printf("%s %s\n", got == OPR_OK ? "ok" : got == OPR_ERROR ? "error" : "bye", f.data);
	fflush(stdout);
	return 0;
}

static int wait_for(long long seq)
{
	struct frame f;

	while (told < seq) {
		unsigned got = next(&f);

		if (!got)
			return 1;
		if (got == OPR_BYE)
			return printf("bye %s\n", f.data) < 0;
		printf("seq %lld\n", told);
	}
	return 0;
}

static _Noreturn void fall_asleep(void)
{
	puts("asleep");
	fflush(stdout);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	bool raw = argc > 2 && !strcmp(argv[2], "raw");
	int fd = argc > 1 ? connect_to(argv[1]) : -1;
	int r = 0;

	if (fd < 0)
		return 2;
	frame_reader_init(&in, fd, FRAME_MAX);
	if (!raw) {
		static const char hello[] = "{\"version\":1,\"tty\":\"pts/test\"}";
		struct frame f;
		struct err err;

		if (frame_send(fd, OP_HELLO, hello, sizeof(hello) - 1, &err) < 0 || next(&f) != OPR_OK)
			return 1;
	}
	for (int i = raw ? 3 : 2; r == 0 && i < argc; i++) {
		bool has_json = i + 1 < argc && argv[i + 1][0] == '{';

		if (!strcmp(argv[i], "sleep"))
			fall_asleep();
		if (!strcmp(argv[i], "end"))
			return wait_for(INT64_MAX);
		if (!strcmp(argv[i], "wait") && i + 1 < argc) {
			r = wait_for(atoll(argv[++i]));
			continue;
		}
		if (!strcmp(argv[i], "after") && i + 1 < argc) {
			sleep((unsigned)atoi(argv[++i]));
			continue;
		}
		r = 2;
		for (size_t n = 0; n < ARRAY_LEN(requests); n++)
			if (!strcmp(argv[i], requests[n].word))
				r = ask(fd, requests[n].type, has_json ? argv[i + 1] : "{}");
		i += has_json;
	}
	frame_reader_free(&in);
	close(fd);
	return r;
}
