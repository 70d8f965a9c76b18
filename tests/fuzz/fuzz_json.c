/* What the validator passes, cJSON parses, and it comes back the same through both writers. */
#include <string.h>

#include "core/base/json.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const char *text = (const char *)data;
	_cleanup_json_ json_node *node = NULL, *again = NULL;
	_cleanup_buf_ struct buf out = BUF_INIT(64 << 20), twice = BUF_INIT(64 << 20);
	size_t at = SIZE_MAX;
	struct err err;

	if (json_validate(text, len, &at, &err) < 0) {
		must(at <= len);
		must(json_parse(text, len, &node, &err) < 0 && !node);
		return 0;
	}
	must(json_parse(text, len, &node, &err) == 0);
	must(json_equal(node, node));
	must(json_subset(node, node));

	json_write(node, &out);
	must(json_parse(buf_str(&out), out.len, &again, &err) == 0);
	must(json_equal(node, again));

	buf_reset(&out);
	json_write_canonical(node, &out);
	json_write_canonical(again, &twice);
	must(out.len == twice.len && memcmp(out.data, twice.data, out.len) == 0);
	must(json_validate(out.data, out.len, NULL, &err) == 0);
	return 0;
}
