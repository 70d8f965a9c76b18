#include "core/base/clock.h"
#include "tests/tap.h"

int main(void)
{
	static const struct {
		int64_t us;
		const char *text;
	} want[] = {
		{ 0, "1970-01-01T00:00:00.000000Z" },
		{ 1, "1970-01-01T00:00:00.000001Z" },
		{ -1, "1969-12-31T23:59:59.999999Z" },
		{ INT64_C(1000000000123456), "2001-09-09T01:46:40.123456Z" },
		{ INT64_C(951782400000000), "2000-02-29T00:00:00.000000Z" },
		{ INT64_MAX, "9999-12-31T23:59:59.999999Z" },
		{ INT64_MIN, "0000-01-01T00:00:00.000000Z" },
	};
	char text[32];

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		is_str(clock_format(want[i].us, text), want[i].text, "%lld", (long long)want[i].us);

	int64_t a = clock_mono_ms(), b = clock_mono_ms();
	ok(b >= a, "monotonic time does not go back");
	ok(clock_now_us() > INT64_C(1600000000000000), "wall time is in microseconds");
	return tap_end();
}
