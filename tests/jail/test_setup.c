/* The messages between the parent and init: what is written is read, and nothing malformed is. */
#include "jail/setup.h"

#include <string.h>

#include "tests/tap.h"

static const char *two[] = { "/one", "/two", NULL }, *none[] = { NULL },
		  *words[] = { "sh", "-c", "", "\xff\xfe raw", NULL };

static struct setup sample(void)
{
	return (struct setup){
		.flags = SETUP_WITH_BASELINE,
		.uid = 1002,
		.gid = 1003,
		.workspace = { "/work/space", 7, 9 },
		.layer = { "/lay/er", 1, 2 },
		.cwd = "/work",
		.ro = { two, 2 },
		.rw = { none, 0 },
		.env = { two, 2 },
		.argv = { words, 4 },
		.limits = { 1, 2, 3, 4, UINT64_MAX },
		.filter = "\0\1\2\3\4\5\6\7",
		.filter_len = 8,
	};
}

static void test_round(void)
{
	struct buf b = BUF_INIT(SETUP_MAX);
	struct setup in = sample(), s;
	struct err err;

	setup_encode(&in, &b);
	if (!ok(setup_decode(b.data, b.len, &s, &err) == 0, "what is written is read"))
		return;
	ok(s.flags == in.flags && s.uid == 1002 && s.gid == 1003 && s.workspace.dev == 7 && s.workspace.ino == 9,
	   "numbers");
	is_str(s.workspace.path, "/work/space", "a path");
	ok(s.ro.n == 2 && strcmp(s.ro.item[1], "/two") == 0 && s.rw.n == 0 && s.rw.item[0] == NULL, "lists");
	ok(s.argv.n == 4 && s.argv.item[2][0] == '\0' && strcmp(s.argv.item[3], "\xff\xfe raw") == 0,
	   "words of any bytes");
	ok(s.filter_len == 8 && memcmp(s.filter, in.filter, 8) == 0 && s.limits.cpu_seconds == UINT64_MAX,
	   "the filter");
	setup_free(&s);

	size_t taken = 0;
	for (size_t len = 0; len < b.len; len++)
		if (setup_decode(b.data, len, &s, &err) == 0) {
			taken++;
			setup_free(&s);
		}
	is_int(taken, 0, "cut short anywhere: refused (%zu lengths)", b.len);
	buf_addc(&b, 'x');
	is_int(setup_decode(b.data, b.len, &s, &err), E_PROTOCOL, "a byte too much: refused");
	/* Every byte altered: taken or refused, never past the end (under the sanitizers). */
	for (size_t i = 0; i + 1 < b.len; i++)
		for (int bit = 0; bit < 8; bit++) {
			b.data[i] ^= (char)(1 << bit);
			if (setup_decode(b.data, b.len - 1, &s, &err) == 0)
				setup_free(&s);
			b.data[i] ^= (char)(1 << bit);
		}
	ok(true, "every bit altered");
	buf_free(&b);
}

static void test_nonsense(void)
{
	struct setup cases[] = { sample(), sample(), sample(), sample(), sample(), sample() };
	static const char *const what[] = {
		"uid 0", "gid 0", "a relative workspace", "the root as workspace", "no filter", "a relative path"
	};
	const char *relative[] = { "x", NULL };
	struct setup s;
	struct err err;

	cases[0].uid = 0;
	cases[1].gid = 0;
	cases[2].workspace.path = "work";
	cases[3].workspace.path = "/";
	cases[4].filter_len = 0;
	cases[5].rw = (struct setup_list){ relative, 1 };
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct buf b = BUF_INIT(SETUP_MAX);

		setup_encode(&cases[i], &b);
		is_int(setup_decode(b.data, b.len, &s, &err), E_PROTOCOL, "%s: refused", what[i]);
		buf_free(&b);
	}
	/* A count of strings that would want gigabytes. */
	is_int(setup_decode("\0\0\0\0\1\0\0\0\1\0\0\0", 12, &s, &err), E_PROTOCOL, "a count without strings: refused");
}

static void test_report(void)
{
	struct setup_report in = { .landlock_abi = 7, .hidden = 3, .ns = { 1, 2, 3 }, .mounts = "/ ro" }, r;
	struct buf b = BUF_INIT(SETUP_ANSWER_MAX);
	struct err err;
	size_t taken = 0;

	in.finding[JAIL_OVERLAY] = (struct setup_finding){ true, LAYER_PARTIAL, "seen" };
	setup_encode_report(&in, &b);
	ok(setup_decode_report(b.data, b.len, &r, &err) == 0 && memcmp(&r, &in, sizeof(r)) == 0, "a report");
	for (size_t len = 0; len < b.len; len++)
		taken += setup_decode_report(b.data, len, &r, &err) == 0;
	is_int(taken, 0, "cut short anywhere: refused");
	b.data[4] = 3;
	is_int(setup_decode_report(b.data, b.len, &r, &err), E_PROTOCOL, "a state that is none: refused");
	memset(in.mounts, 'm', sizeof(in.mounts) - 1);
	for (size_t i = 0; i < JAIL_LAYERS; i++)
		memset(in.finding[i].evidence, 'e', sizeof(in.finding[i].evidence) - 1);
	buf_reset(&b);
	setup_encode_report(&in, &b);
	ok(!b.failed && setup_decode_report(b.data, b.len, &r, &err) == 0, "the longest report fits");
	buf_free(&b);
}

int main(void)
{
	test_round();
	test_nonsense();
	test_report();
	return tap_end();
}
