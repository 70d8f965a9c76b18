#include "core/base/json.h"

#include <string.h>

#include "core/base/json_members.h"

/* An allocation was refused while a tree was built. */
static bool building_failed;

static void *allocate(size_t size)
{
	void *memory = malloc(size);

	building_failed |= !memory;
	return memory;
}

__attribute__((constructor)) static void set_hooks(void)
{
	cJSON_Hooks hooks = { .malloc_fn = allocate, .free_fn = free };

	cJSON_InitHooks(&hooks);
}

bool json_building_failed(void)
{
	return building_failed;
}

int json_parse(const char *text, size_t len, json_node **ret, struct err *err)
{
	int r = json_validate(text, len, NULL, err);
	if (r < 0)
		return r;

	bool failed_before = building_failed;
	json_node *node = cJSON_ParseWithLength(text, len);
	/* This one is told to the caller. */
	building_failed = failed_before;
	/* The validator admits nothing that cJSON refuses, so what is left is memory. */
	if (!node)
		return err_set(err, E_NOMEM, "JSON: out of memory");
	*ret = node;
	return 0;
}

int json_parse_object(const char *text, size_t len, json_node **ret, struct err *err)
{
	_cleanup_json_ json_node *node = NULL;

	int r = json_parse(text, len, &node, err);
	if (r < 0)
		return r;
	if (!cJSON_IsObject(node))
		return err_set(err, E_INVALID, "JSON: not an object");
	*ret = steal_ptr(node);
	return 0;
}

const json_node *json_get(const json_node *object, const char *key)
{
	const json_node *member;

	if (!cJSON_IsObject(object))
		return NULL;
	cJSON_ArrayForEach(member, object) {
		if (member->string && strcmp(member->string, key) == 0)
			return member;
	}
	return NULL;
}

const char *json_get_str(const json_node *object, const char *key)
{
	const json_node *node = json_get(object, key);

	return cJSON_IsString(node) ? node->valuestring : NULL;
}

int64_t json_get_int(const json_node *object, const char *key, int64_t missing)
{
	const json_node *node = json_get(object, key);

	if (!cJSON_IsNumber(node) || !(node->valuedouble >= -JSON_INTEGER_MAX && node->valuedouble <= JSON_INTEGER_MAX))
		return missing;

	int64_t value = (int64_t)node->valuedouble;
	return (double)value == node->valuedouble ? value : missing;
}

bool json_get_bool(const json_node *object, const char *key, bool missing)
{
	const json_node *node = json_get(object, key);

	return cJSON_IsBool(node) ? cJSON_IsTrue(node) : missing;
}

bool json_only_keys(const json_node *object, const char *const *keys, const char **ret_key)
{
	const json_node *member;

	cJSON_ArrayForEach(member, object) {
		const char *const *k = keys;

		while (*k && (!member->string || strcmp(*k, member->string) != 0))
			k++;
		if (!*k) {
			if (ret_key)
				*ret_key = member->string;
			return false;
		}
	}
	return true;
}

static size_t count_children(const json_node *node)
{
	const json_node *child;
	size_t n = 0;

	cJSON_ArrayForEach(child, node)
		n++;
	return n;
}

static int compare_members(const void *a, const void *b)
{
	const json_node *const *x = a, *const *y = b;

	return strcmp((*x)->string, (*y)->string);
}

const json_node **json_members_sorted(const json_node *object, size_t *ret_n)
{
	size_t n = count_children(object), i = 0;
	const json_node **list = reallocarray(NULL, n ? n : 1, sizeof(const json_node *));
	const json_node *member;

	if (!list)
		return NULL;
	cJSON_ArrayForEach(member, object)
		list[i++] = member;
	qsort(list, n, sizeof(const json_node *), compare_members);
	*ret_n = n;
	return list;
}

static bool equal_arrays(const json_node *a, const json_node *b)
{
	const json_node *x = a->child, *y = b->child;

	for (; x && y; x = x->next, y = y->next)
		if (!json_equal(x, y))
			return false;
	return !x && !y;
}

/* By sorted members: comparing each key with each would be quadratic for who can choose them. */
static bool equal_objects(const json_node *a, const json_node *b)
{
	size_t n = 0, m = 0;
	_cleanup_members_ const json_node **x = json_members_sorted(a, &n);
	_cleanup_members_ const json_node **y = json_members_sorted(b, &m);

	if (!x || !y || n != m)
		return false;
	for (size_t i = 0; i < n; i++)
		if (strcmp(x[i]->string, y[i]->string) != 0 || !json_equal(x[i], y[i]))
			return false;
	return true;
}

bool json_equal(const json_node *a, const json_node *b)
{
	if (!a || !b || (a->type & 0xff) != (b->type & 0xff))
		return false;
	switch (a->type & 0xff) {
	case cJSON_False:
	case cJSON_True:
	case cJSON_NULL:
		return true;
	case cJSON_Number:
		return a->valuedouble == b->valuedouble;
	case cJSON_String:
		return strcmp(a->valuestring, b->valuestring) == 0;
	case cJSON_Array:
		return equal_arrays(a, b);
	case cJSON_Object:
		return equal_objects(a, b);
	default:
		return false;
	}
}

bool json_subset(const json_node *pattern, const json_node *value)
{
	const json_node *member;

	if (!cJSON_IsObject(pattern))
		return json_equal(pattern, value);
	if (!cJSON_IsObject(value))
		return false;
	cJSON_ArrayForEach(member, pattern) {
		if (!json_subset(member, json_get(value, member->string)))
			return false;
	}
	return true;
}
