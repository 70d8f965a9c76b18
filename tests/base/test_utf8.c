#include "core/base/utf8.h"
#include "tests/tap.h"

static void test_all_characters(void)
{
	bool same = true, cut = true;

	for (uint32_t cp = 0; cp <= 0x10ffff; cp++) {
		char bytes[4];
		uint32_t back = ~cp;

		if (cp >= 0xd800 && cp <= 0xdfff)
			continue;

		size_t n = utf8_encode(cp, bytes);
		same &= utf8_decode(bytes, n, &back) == n && back == cp;
		cut &= utf8_decode(bytes, n - 1, &back) == 0;
	}
	ok(same, "every scalar value reads back");
	ok(cut, "none is taken when its last byte is missing");
}

static void test_refused(void)
{
	static const struct {
		const char *bytes, *what;
	} bad[] = {
		{ "\x80", "stray continuation" },
		{ "\xbf\xbf", "two of them" },
		{ "\xc0\x80", "overlong NUL" },
		{ "\xc0\xaf", "overlong slash" },
		{ "\xc1\xbf", "overlong in two bytes" },
		{ "\xe0\x80\xaf", "overlong in three" },
		{ "\xe0\x9f\xbf", "largest overlong in three" },
		{ "\xf0\x80\x80\xaf", "overlong in four" },
		{ "\xf0\x8f\xbf\xbf", "largest overlong in four" },
		{ "\xed\xa0\x80", "surrogate D800" },
		{ "\xed\xbf\xbf", "surrogate DFFF" },
		{ "\xf4\x90\x80\x80", "110000" },
		{ "\xf5\x80\x80\x80", "lead byte F5" },
		{ "\xf8\x88\x80\x80\x80", "five bytes" },
		{ "\xfe", "FE" },
		{ "\xff", "FF" },
		{ "\xe2\x28\xa1", "ASCII in the middle" },
		{ "\xc3", "cut short" },
	};
	uint32_t cp;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		is_int(utf8_decode(bad[i].bytes, strlen(bad[i].bytes), &cp), 0, "refused: %s", bad[i].what);
	is_int(utf8_decode("", 0, &cp), 0, "refused: nothing");
}

int main(void)
{
	test_all_characters();
	test_refused();
	return tap_end();
}
