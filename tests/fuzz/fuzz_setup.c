/*
 * The two messages of a cell's start that carry more than a number, decoded from any bytes; the first byte says which.
 * What is taken must say the same when it is written again.
 */
#include <string.h>

#include "jail/setup.h"
#include "tests/fuzz/fuzz.h"

static void try_setup(const char *data, size_t len)
{
	struct buf again = BUF_INIT(SETUP_MAX);
	struct setup s;
	struct err err;

	if (setup_decode(data, len, &s, &err) < 0)
		return;
	must(s.uid && s.gid && s.workspace.path[0] == '/' && s.cwd[0] == '/');
	must(s.argv.item && !s.argv.item[s.argv.n] && s.env.item && !s.env.item[s.env.n]);
	setup_encode(&s, &again);
	must(!again.failed && again.len == len && memcmp(again.data, data, len) == 0);
	setup_free(&s);
	buf_free(&again);
}

static void try_report(const char *data, size_t len)
{
	struct buf again = BUF_INIT(SETUP_ANSWER_MAX);
	struct setup_report r;
	struct err err;

	if (setup_decode_report(data, len, &r, &err) < 0)
		return;
	for (size_t i = 0; i < JAIL_LAYERS; i++)
		must(r.finding[i].state <= LAYER_MISSING &&
		     memchr(r.finding[i].evidence, 0, sizeof(r.finding[i].evidence)));
	setup_encode_report(&r, &again);
	must(!again.failed && again.len == len);
	buf_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	/* A message ends with a NUL that is not counted, as a frame does. */
	char *copy = malloc(len + 1);

	must(copy);
	memcpy(copy, data, len);
	copy[len] = '\0';
	if (len)
		(data[0] & 1 ? try_report : try_setup)(copy + 1, len - 1);
	free(copy);
	return 0;
}
