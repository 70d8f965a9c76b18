#include <stdint.h>

#include "core/base/arena.h"
#include "tests/tap.h"

static bool all_zero(const char *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (p[i])
			return false;
	return true;
}

int main(void)
{
	_cleanup_arena_ struct arena a = ARENA_INIT(100000);
	bool aligned = true, zero = true;

	for (size_t i = 0; i < 300; i++) {
		char *p = arena_alloc(&a, i);

		if (!p)
			break;
		aligned &= (uintptr_t)p % _Alignof(max_align_t) == 0;
		zero &= all_zero(p, i);
		memset(p, 0xff, i);
	}
	ok(aligned, "every address is aligned for any type");
	ok(zero, "memory comes zeroed");

	char *big = arena_alloc(&a, 20000);
	ok(big && all_zero(big, 20000), "a request larger than a block");
	ok(arena_alloc(&a, 0) != arena_alloc(&a, 0), "empty requests get places of their own");
	is_str(arena_printf(&a, "%s-%d", "x", 7), "x-7", "printf");
	is_str(arena_strndup(&a, "abcdef", 3), "abc", "strndup cuts");

	ok(!arena_alloc(&a, 100000), "beyond the maximum: NULL");
	ok(!arena_alloc(&a, SIZE_MAX), "a size that wraps: NULL");
	ok(!arena_alloc(&a, SIZE_MAX - 20), "a size that wraps when rounded: NULL");
	ok(!arena_strndup(&a, "", SIZE_MAX), "strndup of SIZE_MAX: NULL");
	ok(arena_alloc(&a, 100) != NULL, "a refused request leaves the arena usable");

	arena_reset(&a);
	is_int(a.used, 0, "reset: nothing used");
	char *again = arena_alloc(&a, 4000);
	ok(again && all_zero(again, 4000), "memory is zeroed again after a reset");
	ok(!arena_alloc(&a, 99000), "the maximum still holds after a reset");
	ok(arena_alloc(&a, 95000) != NULL, "and all below it can be had");
	return tap_end();
}
