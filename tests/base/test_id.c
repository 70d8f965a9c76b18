#include <time.h>

#include "core/base/id.h"
#include "tests/tap.h"

int main(void)
{
	char id[1000][ID_LEN + 1];
	struct err err;
	bool good = true, sorted = true, distinct = true;

	for (size_t i = 0; i < 1000; i++) {
		good &= id_new(id[i], &err) == 0 && id_valid(id[i]);
		if (i) {
			sorted &= memcmp(id[i - 1], id[i], 9) <= 0;
			distinct &= strcmp(id[i - 1], id[i]) != 0;
		}
	}
	ok(good, "every id is valid");
	ok(sorted, "the part of the time does not go back");
	ok(distinct, "neighbours differ");

	struct timespec pause = { .tv_nsec = 2000000 };
	nanosleep(&pause, NULL);
	ok(id_new(id[1], &err) == 0, "one more, later");
	ok(strcmp(id[0], id[1]) < 0, "a later id sorts after an earlier one");

	ok(id_valid("0123456789abcdefghij"), "the alphabet");
	ok(!id_valid("0123456789abcdefghi"), "19 characters");
	ok(!id_valid("0123456789abcdefghijk"), "21 characters");
	ok(!id_valid("0123456789ABCDEFGHIJ"), "capitals");
	ok(!id_valid("0123456789../../../x"), "a path");
	ok(!id_valid("0123456789abcdefghi\n"), "a newline");
	ok(!id_valid(""), "nothing");
	return tap_end();
}
