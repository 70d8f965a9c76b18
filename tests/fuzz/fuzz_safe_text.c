/* No bytes get through the display gate that could move a cursor, hide or reorder text. */
#include "core/base/safe_text.h"
#include "tests/base/gate_check.h"
#include "tests/fuzz/fuzz.h"

static void check(const char *text, size_t len, enum safe_mode mode)
{
	_cleanup_buf_ struct buf out = BUF_INIT(16 * len + 1), twice = BUF_INIT(16 * len + 1);
	struct safe_stat one, two;

	safe_text(text, len, mode, &out, &one);
	must(!out.failed);
	must(!gate_check(buf_str(&out), out.len, mode == SAFE_BLOCK));
	safe_text(buf_str(&out), out.len, mode, &twice, &two);
	must(out.len == twice.len && memcmp(buf_str(&out), buf_str(&twice), out.len) == 0);
	must(two.hidden == 0 && one.columns == two.columns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const char *text = (const char *)data;
	size_t columns = len % 100;
	_cleanup_buf_ struct buf out = BUF_INIT(100000), again = BUF_INIT(100000);
	struct safe_stat stat;

	check(text, len, SAFE_LINE);
	check(text, len, SAFE_BLOCK);

	safe_preview(text, len, columns, &out);
	must(!out.failed);
	must(!gate_check(buf_str(&out), out.len, false));
	safe_text(buf_str(&out), out.len, SAFE_LINE, &again, &stat);
	must(stat.hidden == 0 && stat.columns <= columns);
	return 0;
}
