/* Which paths an operator's order names: no list is everything, and nothing but a list of names is a list. */
#include <string.h>

#include "core/changes/staged.h"
#include "tests/tap.h"

static const struct {
	const char *order;
	int code;
	int n;
} orders[] = {
	{ "{}", 0, 0 },
	{ "{\"paths\":[]}", 0, 0 },
	{ "{\"paths\":[\"a\",\"b/c\"]}", 0, 2 },
	{ "{\"paths\":5}", E_USAGE, 0 },
	{ "{\"paths\":null}", E_USAGE, 0 },
	{ "{\"paths\":\"a\"}", E_USAGE, 0 },
	{ "{\"paths\":{}}", E_USAGE, 0 },
	{ "{\"paths\":{\"a\":\"b\"}}", E_USAGE, 0 },
	{ "{\"paths\":[\"a\",5]}", E_USAGE, 0 },
	{ "{\"paths\":[\"\"]}", E_USAGE, 0 },
};

int main(void)
{
	for (size_t i = 0; i < ARRAY_LEN(orders); i++) {
		_cleanup_json_ json_node *order = NULL;
		const char **paths = NULL;
		struct err err = { 0 };
		size_t n = 0;

		is_int(json_parse_object(orders[i].order, strlen(orders[i].order), &order, &err), 0, "an order");
		is_int(staged_paths(json_get(order, "paths"), &paths, &n, &err), orders[i].code, "%s", orders[i].order);
		is_int((int)n, orders[i].n, "names in it");
		free(paths);
	}
	return tap_end();
}
