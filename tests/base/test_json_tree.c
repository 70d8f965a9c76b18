/* Access, comparison and the writer. */
#include <locale.h>
#include <math.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "tests/tap.h"

static json_node *parsed(const char *text)
{
	json_node *node = NULL;
	struct err err;

	if (json_parse(text, strlen(text), &node, &err) < 0)
		diag("%s: %s", text, err.text);
	return node;
}

static void test_access(void)
{
	_cleanup_json_ json_node *o =
		parsed("{\"s\":\"x\",\"S\":\"y\",\"i\":42,\"n\":-9007199254740992,\"f\":1.5,\"e\":1e3,"
		       "\"huge\":1e17,\"t\":true,\"z\":null,\"a\":[1]}");
	_cleanup_json_ json_node *array = parsed("[{\"s\":1}]"), *none = NULL;
	struct err err;

	is_str(json_get_str(o, "s"), "x", "string");
	is_str(json_get_str(o, "S"), "y", "names are case-sensitive");
	is_str(json_get_str(o, "i"), NULL, "a number is no string");
	is_str(json_get_str(o, "missing"), NULL, "missing string");
	is_int(json_get_int(o, "i", -1), 42, "integer");
	is_int(json_get_int(o, "n", -1), -9007199254740992, "-2^53");
	is_int(json_get_int(o, "e", -1), 1000, "1e3 is an integer");
	is_int(json_get_int(o, "f", -1), -1, "a fraction counts as absent");
	is_int(json_get_int(o, "huge", -1), -1, "beyond 2^53 too");
	is_int(json_get_int(o, "s", -1), -1, "a string too");
	is_int(json_get_bool(o, "t", false), true, "boolean");
	is_int(json_get_bool(o, "z", true), true, "null is no boolean");
	is_int(json_get_bool(o, "i", false), false, "a number is no boolean");
	ok(json_get(o, "z") != NULL, "null is there");
	ok(!json_get(array, "s"), "an array has no members");
	ok(!json_get(NULL, "s"), "nothing has no members");
	is_int(json_parse_object("[1]", 3, &none, &err), E_INVALID, "parse_object refuses an array");
	ok(!none, "and leaves the result alone");
}

static void test_only_keys(void)
{
	static const char *const keys[] = { "a", "b", NULL };
	_cleanup_json_ json_node *fine = parsed("{\"b\":1}"), *stranger = parsed("{\"a\":1,\"B\":2,\"c\":3}");
	const char *key = "untouched";

	ok(json_only_keys(fine, keys, &key), "a subset of the list passes");
	is_str(key, "untouched", "and names nobody");
	ok(!json_only_keys(stranger, keys, &key), "a key that differs in case does not");
	is_str(key, "B", "and is named");
	ok(!json_only_keys(stranger, keys, NULL), "also without asking for the name");
}

static void test_comparison(void)
{
	static const struct {
		const char *a, *b;
		bool equal, subset;
	} cases[] = {
		{ "1", "1.0", true, true },
		{ "1", "2", false, false },
		{ "0", "-0", true, true },
		{ "\"a\"", "\"\\u0061\"", true, true },
		{ "\"a\"", "\"A\"", false, false },
		{ "true", "false", false, false },
		{ "null", "null", true, true },
		{ "null", "false", false, false },
		{ "0", "false", false, false },
		{ "\"1\"", "1", false, false },
		{ "{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", true, true },
		{ "{\"a\":1}", "{\"a\":1,\"b\":2}", false, true },
		{ "{\"a\":1,\"b\":2}", "{\"a\":1}", false, false },
		{ "{}", "{\"a\":1}", false, true },
		{ "{}", "[]", false, false },
		{ "{\"A\":1}", "{\"a\":1}", false, false },
		{ "{\"a\":{\"x\":1}}", "{\"a\":{\"x\":1,\"y\":2},\"b\":0}", false, true },
		{ "{\"a\":null}", "{}", false, false },
		{ "[1,2]", "[1,2]", true, true },
		{ "[1,2]", "[2,1]", false, false },
		{ "[1]", "[1,2]", false, false },
		{ "[1,2]", "[1]", false, false },
		{ "[]", "[]", true, true },
		{ "[{\"a\":1}]", "[{\"a\":1,\"b\":2}]", false, false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_json_ json_node *a = parsed(cases[i].a), *b = parsed(cases[i].b);

		is_int(json_equal(a, b), cases[i].equal, "%s equals %s", cases[i].a, cases[i].b);
		is_int(json_equal(b, a), cases[i].equal, "and the other way round");
		is_int(json_subset(a, b), cases[i].subset, "%s is contained in %s", cases[i].a, cases[i].b);
	}
	ok(!json_equal(NULL, NULL), "nothing equals nothing: absent is no match");
}

static const char *written(const char *text, bool canonical, struct buf *out)
{
	_cleanup_json_ json_node *node = parsed(text);

	buf_reset(out);
	(canonical ? json_write_canonical : json_write)(node, out);
	return buf_str(out);
}

static void test_write(void)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{ " { \"b\" : [ ] , \"a\" : { } } ", "{\"b\":[],\"a\":{}}" },
		{ "\"\\u0000x\"", NULL },
		{ "\"\\u0001\\b\\t\\n\\u000b\\f\\r\\u001f\\u007f\"", "\"\\u0001\\b\\t\\n\\u000b\\f\\r\\u001f\x7f\"" },
		{ "\"\\\"\\\\\\/\"", "\"\\\"\\\\/\"" },
		{ "\"\\u20ac\\ud83d\\ude00\"", "\"\xe2\x82\xac\xf0\x9f\x98\x80\"" },
		{ "\"\\u2028\"", "\"\xe2\x80\xa8\"" },
		{ "-0", "0" },
		{ "1e3", "1000" },
		{ "1.0", "1" },
		{ "9007199254740992", "9007199254740992" },
		{ "-9007199254740991", "-9007199254740991" },
		{ "0.1", "0.1" },
		{ "0.30000000000000004", "0.30000000000000004" },
		{ "1e100", "1e+100" },
		{ "5e-324", "4.94065645841247e-324" },
		{ "1.7976931348623157e308", "1.7976931348623157e+308" },
		{ "123456789.125", "123456789.125" },
		{ "9007199254740994.0", "9007199254740994.0" },
		{ "12345678901234568e0", "12345678901234568.0" },
	};
	_cleanup_buf_ struct buf out = BUF_INIT(1 << 20);

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (cases[i].out)
			is_str(written(cases[i].in, false, &out), cases[i].out, "writes %s", cases[i].out);

	is_str(written("{\"b\":{\"z\":1,\"y\":2},\"a\":[{\"d\":1,\"c\":2}],\"\\u00e9\":3,\"A\":4}", true, &out),
	       "{\"A\":4,\"a\":[{\"c\":2,\"d\":1}],\"b\":{\"y\":2,\"z\":1},\"\xc3\xa9\":3}",
	       "canonical sorts at every level");

	_cleanup_json_ json_node *odd = cJSON_CreateArray();
	cJSON_AddItemToArray(odd, cJSON_CreateNumber(NAN));
	cJSON_AddItemToArray(odd, cJSON_CreateNumber(INFINITY));
	cJSON_AddItemToArray(odd, cJSON_CreateRaw("}injected{"));
	buf_reset(&out);
	json_write(odd, &out);
	is_str(buf_str(&out), "[null,null,null]", "what JSON has no word for is null, raw text too");

	_cleanup_buf_ struct buf small = BUF_INIT(5);
	_cleanup_json_ json_node *list = parsed("[1,2,3,4,5,6]");
	json_write(list, &small);
	is_int(small.failed, E_LIMIT, "a buffer that is too small fails");
}

static void test_write_string(void)
{
	static const struct {
		const char *in;
		size_t len;
		const char *out;
	} cases[] = {
		{ "", 0, "\"\"" },
		{ "a\0b", 3, "\"a\\u0000b\"" },
		{ "a\xff" "b", 3, "\"a\xef\xbf\xbd" "b\"" },
		{ "\xe2\x82", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\"" },
		{ "\xed\xa0\x80", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
		{ "\xc3\xa9", 2, "\"\xc3\xa9\"" },
		{ "\x1b[2K", 4, "\"\\u001b[2K\"" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_buf_ struct buf out = BUF_INIT(1000);

		json_write_string(cases[i].in, cases[i].len, &out);
		is_str(buf_str(&out), cases[i].out, "string %zu", i);
	}
}

/* Every double that is written reads back as the same double. */
static void test_round_trip(void)
{
	uint64_t x = 88172645463325252u;
	bool same = true;

	for (int i = 0; i < 20000; i++) {
		union {
			uint64_t bits;
			double value;
		} in;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		in.bits = x;
		if (!isfinite(in.value))
			continue;

		_cleanup_json_ json_node *node = cJSON_CreateNumber(in.value), *back = NULL;
		_cleanup_buf_ struct buf out = BUF_INIT(100);
		json_write(node, &out);
		same &= json_parse(out.data, out.len, &back, NULL) == 0 && back->valuedouble == in.value;
	}
	ok(same, "20,000 doubles read back the same");
}

static void test_locale(void)
{
	static const char *const commas[] = { "de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE" };
	const char *found = NULL;

	for (size_t i = 0; i < ARRAY_LEN(commas) && !found; i++)
		found = setlocale(LC_NUMERIC, commas[i]);
	if (!found) {
		skip("no locale with a decimal comma is installed");
		return;
	}

	_cleanup_buf_ struct buf out = BUF_INIT(100);
	is_str(written("[1.5,1.25e-7]", false, &out), "[1.5,1.25e-07]", "%s: the point stays a point", found);
	ok(json_validate("1.5e400", 7, NULL, NULL) == E_INVALID, "%s: overflow is still seen", found);
	setlocale(LC_NUMERIC, "C");
}

static void test_large_objects(void)
{
	enum { N = 50000 };
	_cleanup_json_ json_node *a = cJSON_CreateObject(), *b = cJSON_CreateObject();
	json_node *tail_a = NULL, *tail_b = NULL;
	char name[32];

	/* Built by hand: cJSON's own insertion walks the list. */
	for (int i = 0; i < N; i++) {
		json_node *x = cJSON_CreateNumber(i), *y = cJSON_CreateNumber(N - 1 - i);

		snprintf(name, sizeof(name), "%d", i);
		x->string = strdup(name);
		snprintf(name, sizeof(name), "%d", N - 1 - i);
		y->string = strdup(name);
		*(tail_a ? &tail_a->next : &a->child) = x;
		*(tail_b ? &tail_b->next : &b->child) = y;
		tail_a = x;
		tail_b = y;
	}

	int64_t start = clock_mono_ms();
	ok(json_equal(a, b), "%d members in reverse order are equal", N);
	int64_t took = clock_mono_ms() - start;
	ok(took < 5000, "and that is found in n log n (%lld ms)", (long long)took);
}

int main(void)
{
	test_access();
	test_only_keys();
	test_comparison();
	test_write();
	test_write_string();
	test_round_trip();
	test_locale();
	test_large_objects();
	return tap_end();
}
