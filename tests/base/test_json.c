/* What the validator lets through and what not, with the traps of cJSON 1.7.15 as positive controls. */
#include "core/base/clock.h"
#include "core/base/json.h"
#include "tests/tap.h"

struct sample {
	const char *text;
	size_t len; /* 0: strlen */
	const char *what;
};

static const struct sample good[] = {
	{ "null", 0, "null" },
	{ " \t\r\n{ \"a\" : [ 1 , true , false , null ] } \r\n", 0, "every kind of space" },
	{ "\"\"", 0, "empty string" },
	{ "{}", 0, "empty object" },
	{ "[]", 0, "empty array" },
	{ "{\"\":1}", 0, "empty key" },
	{ "{\"a\":1,\"A\":2}", 0, "keys that differ in case" },
	{ "{\"a\":{\"b\":1},\"b\":{\"b\":1}}", 0, "the same key in different objects" },
	{ "[{\"a\":1},{\"a\":1}]", 0, "the same key in neighbours" },
	{ "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\u00E9\"", 0, "every escape" },
	{ "\"\\ud83d\\ude00\"", 0, "surrogate pair" },
	{ "\"\\uffff\"", 0, "non-character" },
	{ "\"\x7f\"", 0, "DEL, which JSON permits" },
	{ "\"\xf0\x9f\x98\x80 \xc3\xa9 \xf4\x8f\xbf\xbf\"", 0, "UTF-8 up to the last plane" },
	{ "\"\xe2\x80\xae\xe2\x80\x8b\"", 0, "bidi and zero-width characters: text, not our business" },
	{ "0", 0, "zero" },
	{ "-0", 0, "minus zero" },
	{ "9007199254740992", 0, "2^53" },
	{ "-9007199254740992", 0, "-2^53" },
	{ "1.7976931348623157e308", 0, "largest double" },
	{ "1e-400", 0, "a number that rounds to zero" },
	{ "0.1e+1", 0, "fraction and exponent" },
	{ "1E5", 0, "large E" },
	{ "0.0000000000000000000000000000000000000000000000000000000000001", 0, "63 characters" },
};

static const struct sample bad[] = {
	{ "", 0, "nothing" },
	{ "   ", 0, "only space" },
	{ "1 2", 0, "text after the value" },
	{ "{}x", 0, "letter after the value" },
	{ "{}{}", 0, "two values" },
	{ "{}\0", 3, "NUL after the value" },
	{ "\xef\xbb\xbf{}", 0, "byte order mark" },
	{ "\xc2\xa0{}", 0, "no-break space" },
	{ "\v{}", 0, "vertical tab" },
	{ "nul", 0, "cut word" },
	{ "nulll", 0, "long word" },
	{ "True", 0, "capital word" },
	{ "NaN", 0, "NaN" },
	{ "Infinity", 0, "Infinity" },
	{ "-Infinity", 0, "-Infinity" },
	{ "undefined", 0, "undefined" },
	{ "'a'", 0, "single quotes" },
	{ "{a:1}", 0, "key without quotes" },
	{ "{1:1}", 0, "number as key" },
	{ "{null:1}", 0, "word as key" },
	{ "{\"a\"}", 0, "key without value" },
	{ "{\"a\":}", 0, "key with nothing" },
	{ "{\"a\" 1}", 0, "no colon" },
	{ "{\"a\"::1}", 0, "two colons" },
	{ "{\"a\":1,}", 0, "comma at the end of an object" },
	{ "[1,]", 0, "comma at the end of an array" },
	{ "[,1]", 0, "comma at the start" },
	{ "[1,,2]", 0, "two commas" },
	{ "[1 2]", 0, "no comma" },
	{ "{\"a\":1 \"b\":2}", 0, "no comma in an object" },
	{ "{\"a\":1;\"b\":2}", 0, "semicolon" },
	{ "[1}", 0, "wrong bracket" },
	{ "{\"a\":1]", 0, "wrong brace" },
	{ "[", 0, "open array" },
	{ "{", 0, "open object" },
	{ "[1", 0, "unfinished array" },
	{ "{\"a\":1", 0, "unfinished object" },
	{ "]", 0, "closing bracket" },
	{ "[1]//x", 0, "comment" },
	{ "/*x*/1", 0, "comment before" },
	{ "#x\n1", 0, "shell comment" },

	{ "{\"a\":1,\"a\":2}", 0, "duplicate key" },
	{ "{\"a\":1,\"\\u0061\":2}", 0, "duplicate key written as an escape" },
	{ "{\"\\n\":1,\"\\u000A\":2}", 0, "two escapes of one key" },
	{ "{\"/\":1,\"\\/\":2}", 0, "escaped slash" },
	{ "{\"\xf0\x9f\x98\x80\":1,\"\\uD83D\\uDE00\":2}", 0, "character and surrogate pair" },
	{ "{\"a\":1,\"b\":2,\"c\":3,\"a\":4}", 0, "duplicate with others between" },
	{ "[0,{\"x\":{\"a\":1,\"a\":1}}]", 0, "duplicate deep inside" },
	{ "{\"\":1,\"\":2}", 0, "two empty keys" },
	{ "{\"__proto__\":1,\"__proto__\":2}", 0, "duplicate __proto__" },

	{ "\"", 0, "open string" },
	{ "\"abc", 0, "unfinished string" },
	{ "\"\\\"", 0, "escaped end" },
	{ "\"\\", 0, "backslash at the end" },
	{ "\"\\x41\"", 0, "unknown escape" },
	{ "\"\\a\"", 0, "escape of C" },
	{ "\"\\\0\"", 4, "escape of NUL" },
	{ "\"\\U0041\"", 0, "capital U" },
	{ "\"\\u\"", 0, "u alone" },
	{ "\"\\u12\"", 0, "two digits" },
	{ "\"\\u12g4\"", 0, "not hex" },
	{ "\"\\u 123\"", 0, "space among the digits" },
	{ "\"\\u+123\"", 0, "sign among the digits" },
	{ "\"\\u123", 0, "cut in the digits" },
	{ "\"\\u0000\"", 0, "NUL as escape" },
	{ "{\"a\\u0000b\":1}", 0, "NUL in a key" },
	{ "\"a\0b\"", 5, "raw NUL" },
	{ "\"\n\"", 0, "raw newline" },
	{ "\"\t\"", 0, "raw tab" },
	{ "\"\x1b[2K\"", 0, "raw ESC" },
	{ "\"\x1f\"", 0, "raw unit separator" },
	{ "\"\\ud800\"", 0, "lone high surrogate" },
	{ "\"\\udc00\"", 0, "lone low surrogate" },
	{ "\"\\ud800\\ud800\"", 0, "two high ones" },
	{ "\"\\udc00\\ud800\"", 0, "wrong order" },
	{ "\"\\ud800x\"", 0, "high one and a letter" },
	{ "\"\\ud800\\n\"", 0, "high one and another escape" },
	{ "\"\\ud800\\u0041\"", 0, "high one and an ordinary escape" },
	{ "\"\\ud800\\u\"", 0, "high one and half an escape" },
	{ "\"\xc0\xaf\"", 0, "overlong slash" },
	{ "\"\xe0\x80\x80\"", 0, "overlong NUL" },
	{ "\"\xed\xa0\x80\"", 0, "surrogate in UTF-8" },
	{ "\"\xf4\x90\x80\x80\"", 0, "beyond U+10FFFF" },
	{ "\"\xff\"", 0, "byte FF" },
	{ "\"\x80\"", 0, "stray continuation" },
	{ "\"\xc3\"", 0, "lead byte before the quote" },
	{ "\"\xe9t\xe9\"", 0, "Latin-1" },

	{ "01", 0, "leading zero" },
	{ "-01", 0, "leading zero after minus" },
	{ "00", 0, "two zeros" },
	{ "+1", 0, "plus" },
	{ "-", 0, "minus alone" },
	{ "--1", 0, "two minus" },
	{ ".5", 0, "no digit before the point" },
	{ "1.", 0, "no digit after the point" },
	{ "1.e5", 0, "point and exponent" },
	{ "1e", 0, "exponent alone" },
	{ "1e+", 0, "exponent with sign alone" },
	{ "1e5.5", 0, "fraction in the exponent" },
	{ "0x10", 0, "hex" },
	{ "1_000", 0, "underscore" },
	{ "1,5", 0, "decimal comma" },
	{ "\xef\xbc\x91", 0, "full-width digit" },
	{ "9007199254740993", 0, "2^53 + 1" },
	{ "-9007199254740993", 0, "-2^53 - 1" },
	{ "9223372036854775807", 0, "INT64_MAX" },
	{ "18446744073709551617", 0, "2^64 + 1, which wraps to 1" },
	{ "99999999999999999999999999999999", 0, "a very large integer" },
	{ "1e309", 0, "larger than a double" },
	{ "-1e309", 0, "smaller than a double" },
	{ "1e99999999999999999999", 0, "huge exponent" },
	{ "1.5e400", 0, "large exponent behind a fraction" },
	{ "0.00000000000000000000000000000000000000000000000000000000000001", 0, "64 characters" },
};

static size_t length(const struct sample *s)
{
	return s->len ? s->len : strlen(s->text);
}

/* A copy in memory of just that size, so that a sanitizer sees a read past the end. */
static int parse_exact(const char *text, size_t len, json_node **ret, struct err *err)
{
	_cleanup_free_ char *exact = malloc(len ? len : 1);

	memcpy(exact, text, len);
	return json_parse(exact, len, ret, err);
}

static void test_catalogue(void)
{
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		_cleanup_json_ json_node *node = NULL;

		is_int(parse_exact(good[i].text, length(&good[i]), &node, &err), 0, "passes: %s", good[i].what);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		_cleanup_json_ json_node *node = NULL;
		int r = parse_exact(bad[i].text, length(&bad[i]), &node, &err);

		ok(r == E_INVALID && !node, "refused: %s (%s)", bad[i].what, r ? err.text : "accepted");
	}
}

/* Every proper prefix of a text without final number is refused, and read in bounds. */
static void test_cut_everywhere(void)
{
	static const char text[] =
		"{\"k\\u00e9\\ud83d\\ude00\":[1,-2.5e+3,true,false,null,\"\xf0\x9f\x98\x80\"],\"z\":{}}";
	bool refused = true;
	struct err err;

	for (size_t len = 0; len < sizeof(text) - 1; len++) {
		_cleanup_json_ json_node *node = NULL;

		refused &= parse_exact(text, len, &node, &err) == E_INVALID;
	}
	ok(refused, "cut at every byte: refused");

	_cleanup_json_ json_node *node = NULL;
	is_int(parse_exact(text, sizeof(text) - 1, &node, &err), 0, "the whole passes");
}

static void test_offsets(void)
{
	static const struct {
		const char *text;
		size_t offset;
	} want[] = {
		{ "", 0 },	       { "{}x", 2 },		 { "[1,]", 3 },	       { "{\"a\":1,\"a\":2}", 7 },
		{ "\"ab\\qc\"", 3 },     { "\"ab\xff\"", 3 },	 { "[1,01]", 4 },      { "[9007199254740993]", 1 },
		{ "\"\\ud800\\u0041\"", 1 }, { "{\"b\":1,\"a\":{\"c\":1},\"b\":1,\"a\":2}", 19 },
	};
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		size_t at = 999;
		int r = json_validate(want[i].text, strlen(want[i].text), &at, &err);

		ok(r == E_INVALID && at == want[i].offset, "%s: wrong at byte %zu (%s)", want[i].text, at, err.text);
	}

	size_t at = 999;
	is_int(json_validate("{}", 2, &at, NULL), 0, "passes without struct err");
	is_int(at, 999, "and the offset is left alone");
}

static void test_depth(void)
{
	char text[4 * JSON_DEPTH_MAX];
	struct err err;
	_cleanup_json_ json_node *node = NULL, *none = NULL;

	memset(text, '[', JSON_DEPTH_MAX);
	memset(text + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
	is_int(json_parse(text, 2 * JSON_DEPTH_MAX, &node, &err), 0, "%d levels pass", JSON_DEPTH_MAX);
	memset(text, '[', JSON_DEPTH_MAX + 1);
	memset(text + JSON_DEPTH_MAX + 1, ']', JSON_DEPTH_MAX + 1);
	is_int(json_parse(text, 2 * JSON_DEPTH_MAX + 2, &none, &err), E_INVALID, "one more does not");

	_cleanup_free_ char *deep = malloc(1 << 20);
	memset(deep, '[', 1 << 20);
	is_int(json_parse(deep, 1 << 20, &none, &err), E_INVALID, "a million open brackets are refused");
	for (size_t i = 0; i + 5 <= 1 << 20; i += 5)
		memcpy(deep + i, "{\"\":{", 5);
	is_int(json_parse(deep, 1 << 20, &none, &err), E_INVALID, "and so many open objects");
}

/* Keys that a hash would put into one bucket, or a naive comparison would walk n * n times. */
static void test_many_keys(void)
{
	enum { N = 50000 };
	_cleanup_buf_ struct buf text = BUF_INIT(64 << 20);
	struct err err;
	size_t at = 0;

	buf_addc(&text, '{');
	for (int i = 0; i < N; i++)
		buf_addf(&text, "%s\"commonprefixcommonprefix%06d\":0", i ? "," : "", (int)((i * 7919LL) % N));
	size_t end = text.len;
	buf_addc(&text, '}');

	int64_t start = clock_mono_ms();
	is_int(json_validate(text.data, text.len, NULL, &err), 0, "%d keys pass", N);
	text.len = end;
	buf_adds(&text, ",\"commonprefixcommonprefix000000\":0}");
	is_int(json_validate(text.data, text.len, &at, &err), E_INVALID, "one of them twice does not");
	is_int(at, end + 1, "and the second is named");

	int64_t took = clock_mono_ms() - start;
	/* n * n comparisons would take minutes; the bound leaves room for a loaded machine, or valgrind. */
	ok(took < 20000, "duplicates are found in n log n (%lld ms)", (long long)took);
}

/* The reasons for the validator: should a later cJSON refuse one of these, it has one reason less. */
static void test_cjson_traps(void)
{
	static const char *const traps[] = {
		"{}garbage", "{\"a\":1,\"a\":2}", "\"\xff\"", "\"a\tb\"", "9007199254740993", "[01]",
	};

	for (size_t i = 0; i < ARRAY_LEN(traps); i++) {
		_cleanup_json_ json_node *raw = cJSON_ParseWithLength(traps[i], strlen(traps[i]));

		diag("cJSON alone %s %s", raw ? "accepts" : "refuses", traps[i]);
		ok(json_validate(traps[i], strlen(traps[i]), NULL, NULL) == E_INVALID, "trap %zu is refused by us", i);
	}
}

int main(void)
{
	test_catalogue();
	test_cut_everywhere();
	test_offsets();
	test_depth();
	test_many_keys();
	test_cjson_traps();
	return tap_end();
}
