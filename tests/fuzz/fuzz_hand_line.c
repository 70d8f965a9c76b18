/* Any lines against the hand's protocol.  The tools are inert: what arrives is not to be run or written anywhere. */
#include <string.h>

#include "core/base/jsonl.h"
#include "jail/hand_rpc.h"
#include "tests/fuzz/fuzz.h"

static struct hand_rpc rpc;
static struct hand_call *kept;

static void end_kept(void)
{
	struct hand_result result = HAND_RESULT_INIT;
	struct hand_call *call = kept;

	if (!call)
		return;
	kept = NULL;
	buf_adds(&result.text, "ended");
	hand_rpc_end(&rpc, call, &result);
	buf_free(&result.text);
}

/* Keeps one call at a time; the one before is answered. */
static void start(struct hand *hand, struct hand_call *call)
{
	(void)hand;
	end_kept();
	kept = call;
}

static void cancel(struct hand *hand, struct hand_call *call)
{
	(void)hand;
	must(call == kept);
	end_kept();
}

static int run(const json_node *args, struct buf *text, struct err *err)
{
	const char *path = json_get_str(args, "file_path");

	must(path); /* required, so checked */
	buf_adds(text, path);
	return strlen(path) % 2 ? err_set(err, E_NOTFOUND, "%.700s: odd", path) : 0;
}

/* The real table with nothing behind it. */
static void make_inert(struct hand_tool *tools)
{
	for (size_t i = 0; i < hand_ntools; i++) {
		tools[i] = hand_tools[i];
		if (tools[i].run)
			tools[i].run = run;
		if (tools[i].start)
			tools[i].start = start;
		if (tools[i].cancel)
			tools[i].cancel = cancel;
	}
}

/* Takes the replies: every one must be a strict JSON object of its own line. */
static void check_replies(void)
{
	const char *at = buf_str(&rpc.out), *end = at + rpc.out.len, *newline;

	must(!rpc.out.failed);
	for (; at < end; at = newline + 1) {
		json_node *reply = NULL;

		newline = memchr(at, '\n', (size_t)(end - at));
		must(newline && json_parse_object(at, (size_t)(newline - at), &reply, NULL) == 0);
		json_free(&reply);
	}
	buf_reset(&rpc.out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hand_tool tools[8];
	struct jsonl in;
	const char *line;
	size_t len;
	int r;

	must(hand_ntools <= ARRAY_LEN(tools));
	make_inert(tools);
	hand_rpc_init(&rpc, NULL, tools, hand_ntools);
	jsonl_init(&in, 4096);
	for (size_t at = 0; at < size; at += 1000) {
		if (jsonl_add(&in, data + at, size - at < 1000 ? size - at : 1000, NULL) < 0)
			break;
		while ((r = jsonl_next(&in, &line, &len, NULL)) != 0) {
			if (r < 0)
				hand_rpc_too_long(&rpc);
			else
				hand_rpc_line(&rpc, line, len);
			check_replies();
			must(rpc.ncalls <= 1);
		}
	}
	end_kept();
	hand_rpc_free(&rpc);
	jsonl_free(&in);
	return 0;
}
