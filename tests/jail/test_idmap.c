/* Ranges of ids: picked, held, mapped back. */
#include "tests/jail/cell_fixture.h"

#include "jail/idmap.h"

static void test_numbers(void)
{
	static const struct {
		int64_t owner, inside, real;
	} cases[] = {
		{ 0, 1000, 0 },       { 0, 0, 1000 },         { 0, 1, 1 },
		{ 0, 999, 999 },      { 0, 1001, 1001 },      { 1002, 1000, 1002 },
		{ 1002, 1002, 1000 }, { 1002, 0, 0 },         { 1000, 1000, 1000 },
		{ 1000, 0, 0 },       { 70000, 1000, 70000 }, { 70000, 4464, 4464 },
		{ 0, 65535, 65535 },  { 0, 65536, -1 },       { 0, -1, -1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		is_int(idmap_real_id(0x70000000, cases[i].owner, 0x70000000 + cases[i].inside), cases[i].real,
		       "owner %lld: %lld", (long long)cases[i].owner, (long long)cases[i].inside);
	is_int(idmap_real_id(0x70000000, 0, 0), -1, "an id of the host is none of the range's");
}

static void test_pick(const struct fixture *f)
{
	int64_t one = -1, two = -1, again = -1;
	int lock1 = -1, lock2 = -1, lock3 = -1;

	ok(cell_idmap_pick(f->run, 0, &one, &lock1, &err) == 0, "a range");
	if (geteuid() != 0) {
		ok(one == 0 && lock1 == -1, "an ordinary user has none");
		return;
	}
	ok(one >= 0x70000000 && one % IDMAP_COUNT == 0 && one + IDMAP_COUNT <= 0x7ffe0000,
	   "of 65536 ids where nobody lives: %lld", (long long)one);
	ok(cell_idmap_pick(f->run, 0, &two, &lock2, &err) == 0 && two != one, "another one while it is held");
	is_int(cell_idmap_pick(f->run, one, &again, &lock3, &err), E_BUSY, "the same one is refused: %s", err.text);
	/* Another process has no better luck. */
	pid_t pid = fork();
	if (pid == 0) {
		close(lock1);
		close(lock2);
		_exit(cell_idmap_pick(f->run, one, &again, &lock3, &err) == E_BUSY ? 0 : 1);
	}
	int wstatus;
	ok(waitpid(pid, &wstatus, 0) == pid && wstatus == 0, "in another process too");
	close(lock1);
	ok(cell_idmap_pick(f->run, one, &again, &lock3, &err) == 0 && again == one, "once let go it can be had again");
	is_int(cell_idmap_pick(f->run, 12345, &again, &lock3, &err), E_INVALID, "a range that is none of ours: %s",
	       err.text);
	is_int(cell_idmap_pick(f->run, one + 1, &again, &lock3, &err), E_INVALID, "a crooked one");
	close(lock2);
	close(lock3);
}

int main(void)
{
	struct fixture f;

	fixture_make(&f);
	test_numbers();
	test_pick(&f);
	fixture_end(&f);
	return tap_end();
}
