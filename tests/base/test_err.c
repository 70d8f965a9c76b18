#include <errno.h>

#include "core/base/err.h"
#include "tests/tap.h"

static void test_exit_status(void)
{
	static const struct {
		int code, status;
	} want[] = {
		{ E_NOMEM, 3 },  { E_IO, 3 },      { E_INVALID, 2 }, { E_LIMIT, 2 }, { E_NOTFOUND, 2 },
		{ E_EXISTS, 2 }, { E_DENIED, 1 },  { E_BUSY, 3 },    { E_MACHINE, 3 }, { E_CORRUPT, 1 },
		{ E_USAGE, 2 },  { E_FULL, 3 },    { E_PROTOCOL, 3 }, { E_CLOSED, 3 }, { E_CONFLICT, 1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		is_int(err_exit_status(want[i].code), want[i].status, "status of %s", err_name(want[i].code));
	is_int(err_exit_status(-999), 3, "status of an unknown code");
	is_str(err_name(-999), "error", "name of an unknown code");
}

int main(void)
{
	struct err err = { 0 };
	char big[4000];

	is_int(err_set(&err, E_DENIED, "%s: %d", "x", 5), E_DENIED, "err_set returns the code");
	is_str(err.text, "x: 5", "and keeps the text");
	is_int(err_prefix(&err, "in %s", "f"), E_DENIED, "prefix returns the code");
	is_str(err.text, "in f: x: 5", "and stands before the text");
	is_int(err_errno(&err, E_IO, ENOENT, "f"), E_IO, "errno keeps the code");
	is_str(err.text, "f: No such file or directory", "and says what it means");
	is_int(err_errno(&err, E_IO, ENOSPC, "f"), E_FULL, "a full disk is E_FULL");
	is_int(err_errno(&err, E_IO, EDQUOT, "f"), E_FULL, "a full quota too");
	is_int(err_set(NULL, E_LIMIT, "nobody listens"), E_LIMIT, "without a struct err");
	is_int(err_errno(NULL, E_IO, ENOSPC, "nobody"), E_FULL, "errno without a struct err");

	memset(big, 'a', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	err_set(&err, E_IO, "%s", big);
	is_int(strlen(err.text), sizeof(err.text) - 1, "a long text is cut");
	err_prefix(&err, "%s", big);
	ok(strlen(err.text) < sizeof(err.text), "and stays inside with a long prefix");
	test_exit_status();
	return tap_end();
}
