/* Newline-delimited JSON: lines however they are cut, lines that are too long, values that are too many. */
#include <string.h>

#include "core/base/jsonl.h"
#include "tests/tap.h"

/* Everything that next() gives, joined: "line|", "!" for a line over the limit. */
static void take(struct jsonl *r, struct buf *ret)
{
	const char *line;
	size_t len;
	int code;

	while ((code = jsonl_next(r, &line, &len, NULL)) != 0) {
		if (code > 0)
			buf_add(ret, line, len);
		buf_addc(ret, code > 0 ? '|' : '!');
	}
}

static void test_lines(void)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{ "", "" },
		{ "a", "" },
		{ "a\n", "a|" },
		{ "a\nbc\nd", "a|bc|" },
		{ "\n \n\t\r\n", "" },
		{ "a\r\n", "a\r|" },
		{ "12345678\n", "12345678|" },
		{ "123456789\n", "!" },
		{ "a\n123456789abcdefghijklmn\nb\n", "a|!b|" },
		{ "123456789\n123456789\n", "!!" },
		{ "            \nb\n", "!b|" },
		{ "123456789", "!" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		size_t len = strlen(cases[i].in);

		for (size_t piece = 1; piece <= len + 1; piece++) {
			struct jsonl r;
			struct buf out = BUF_INIT(1000);
			int code = 0;

			jsonl_init(&r, 8);
			for (size_t at = 0; at < len && code == 0; at += piece) {
				/* at most what the reader promises to hold */
				size_t n = len - at < piece ? len - at : piece;

				code = jsonl_add(&r, cases[i].in + at, n < 8 ? n : 8, NULL);
				take(&r, &out);
				if (n > 8) {
					code = jsonl_add(&r, cases[i].in + at + 8, n - 8 < 8 ? n - 8 : 8, NULL);
					take(&r, &out);
				}
				if (n > 16) {
					code = jsonl_add(&r, cases[i].in + at + 16, n - 16, NULL);
					take(&r, &out);
				}
			}
			if (code != 0 || piece == 1 || strcmp(buf_str(&out), cases[i].out) != 0)
				is_str(buf_str(&out), cases[i].out, "case %zu in pieces of %zu", i, piece);
			buf_free(&out);
			jsonl_free(&r);
		}
	}

	struct jsonl r;
	struct buf out = BUF_INIT(1000);

	jsonl_init(&r, 8);
	is_int(jsonl_add(&r, "1\n2\n3\n4\n5\n6\n7\n8\n", 16, NULL), 0, "lines may wait");
	is_int(jsonl_add(&r, "9\n", 2, NULL), E_LIMIT, "but not for ever");
	jsonl_free(&r);
	jsonl_init(&r, 8);
	is_int(jsonl_add(&r, "a\0b\n\0\n", 6, NULL), 0, "NUL bytes");
	take(&r, &out);
	ok(out.len == 6 && memcmp(out.data, "a\0b|\0|", 6) == 0, "are part of a line");
	buf_free(&out);
	jsonl_free(&r);
}

static void test_values(void)
{
	struct buf b = BUF_INIT(8u << 20);
	json_node *node = NULL;

	buf_adds(&b, "[\"[,{:\\\",,\"");
	for (unsigned i = 0; i < JSONL_VALUES_MAX - 2; i++)
		buf_adds(&b, ",0");
	buf_addc(&b, ']');
	is_int(jsonl_parse(b.data, b.len, &node, NULL), 0, "as many values as may be; those in strings are none");
	json_free(&node);
	b.len--;
	buf_adds(&b, ",0]");
	is_int(jsonl_parse(b.data, b.len, &node, NULL), E_LIMIT, "one more is refused");
	is_int(jsonl_parse("{} x", 4, &node, NULL), E_INVALID, "the validator is behind it");
	buf_free(&b);
}

int main(void)
{
	test_lines();
	test_values();
	return tap_end();
}
