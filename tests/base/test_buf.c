#include <stdint.h>

#include "core/base/buf.h"
#include "tests/tap.h"

static void test_limit(void)
{
	_cleanup_buf_ struct buf b = BUF_INIT(10);
	struct err err;

	is_str(buf_str(&b), "", "empty is \"\"");
	buf_adds(&b, "0123456789");
	is_int(b.failed, 0, "exactly the maximum fits");
	is_str(buf_str(&b), "0123456789", "and is there, with its NUL");
	buf_addc(&b, 'x');
	is_int(b.failed, E_LIMIT, "one byte more does not");
	is_int(b.len, 10, "and nothing was added");
	buf_consume(&b, 5);
	buf_addc(&b, 'x');
	is_str(buf_str(&b), "56789", "failure sticks although there is room now");
	is_int(buf_check(&b, "answer", &err), E_LIMIT, "buf_check gives the code");
	is_str(err.text, "answer: larger than the limit of 10 bytes", "and the text");
	buf_reset(&b);
	buf_addf(&b, "%d/%s", 12, "ab");
	is_str(buf_str(&b), "12/ab", "reset forgets the failure");
	buf_addf(&b, "%20d", 1);
	is_int(b.failed, E_LIMIT, "printf over the maximum fails");
	is_str(buf_str(&b), "12/ab", "and adds nothing, not even a part");
}

static void test_overflow(void)
{
	_cleanup_buf_ struct buf b = BUF_INIT(SIZE_MAX - 1);

	buf_addc(&b, 'a');
	ok(!buf_reserve(&b, SIZE_MAX), "a size that wraps is refused");
	is_int(b.failed, E_LIMIT, "as a limit");
}

static void test_bytes(void)
{
	_cleanup_buf_ struct buf b = BUF_INIT(100);

	buf_add(&b, "a\0b", 3);
	is_int(b.len, 3, "NUL bytes count");
	buf_consume(&b, 2);
	is_str(buf_str(&b), "b", "consume drops from the front");
	buf_consume(&b, 100);
	is_int(b.len, 0, "consume of more than there is empties");

	char *room = buf_reserve(&b, 4);
	memcpy(room, "wxyz", 4);
	b.len += 4;
	b.data[b.len] = '\0';
	is_str(buf_str(&b), "wxyz", "reserve and raise");

	_cleanup_free_ char *stolen = buf_steal(&b);
	is_str(stolen, "wxyz", "steal hands the text over");
	is_int(b.len, 0, "and leaves the buffer empty");
	_cleanup_free_ char *nothing = buf_steal(&b);
	is_str(nothing, "", "steal of an empty buffer is \"\"");
}

int main(void)
{
	test_limit();
	test_overflow();
	test_bytes();
	return tap_end();
}
