/*
 * json: the one door by which JSON from outside becomes a tree, and the one writer.  It never hands bytes to cJSON
 * that its own validator has not passed.
 *
 * cJSON 1.7.15 accepts trailing garbage, duplicate keys, invalid UTF-8 and raw control bytes, compares keys without
 * case and stores every number as a double.  So the validator (RFC 8259, with the stricter choices of RFC 7493)
 * refuses first: anything after the value, duplicate keys, invalid UTF-8, lone surrogates, NUL written as \u0000
 * (it would cut the C string short), control bytes in strings, depth over JSON_DEPTH_MAX, integers whose magnitude
 * is above 2^53, numbers that overflow a double or are longer than JSON_NUMBER_MAX.
 */
#ifndef WARDER_BASE_JSON_H
#define WARDER_BASE_JSON_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"

#define JSON_DEPTH_MAX 64
#define JSON_NUMBER_MAX 63 /* characters of one number; cJSON cuts at this length */
#define JSON_INTEGER_MAX 9007199254740992.0 /* 2^53: every integer up to it is a double of its own */

typedef cJSON json_node;

static inline void json_free(json_node **node)
{
	cJSON_Delete(*node);
	*node = NULL;
}
#define _cleanup_json_ _cleanup_(json_free)

/* 0 or E_INVALID; the text names the byte offset.  `ret_offset` (may be NULL) is written on failure as well: it is
 * the offset of the first byte that is wrong. */
int json_validate(const char *text, size_t len, size_t *ret_offset, struct err *err) WARN_UNUSED;

/* Validates, then parses.  The caller owns *ret (json_free). */
int json_parse(const char *text, size_t len, json_node **ret, struct err *err) WARN_UNUSED;

/* json_parse that also demands an object at the top. */
int json_parse_object(const char *text, size_t len, json_node **ret, struct err *err) WARN_UNUSED;

/* Members by exact (case-sensitive) name; NULL, or `missing`, when absent or of another type. */
const json_node *json_get(const json_node *object, const char *key);
const char *json_get_str(const json_node *object, const char *key);
/* A number with a fraction, or beyond 2^53, counts as absent. */
int64_t json_get_int(const json_node *object, const char *key, int64_t missing);
bool json_get_bool(const json_node *object, const char *key, bool missing);

/* True when `object` has no key but the NULL-terminated list; else *ret_key (may be NULL) is the first stranger. */
bool json_only_keys(const json_node *object, const char *const *keys, const char **ret_key);

/* Equality as the answers file needs it: strings, numbers, booleans, null by value, objects key by key (no matter the
 * order), arrays whole. */
bool json_equal(const json_node *a, const json_node *b);
/* `pattern` is contained in `value`: objects key by key and recursively, all else by json_equal. */
bool json_subset(const json_node *pattern, const json_node *value);

/* Trees are built without looking at each call's result: a member that memory was refused for would silently be
 * missing. So a process in which that happened once writes no JSON any more: both writers then fail with E_NOMEM. */
bool json_building_failed(void);

/* Writes compact JSON: UTF-8 as is, control bytes, `"` and `\` escaped (RFC 8785 section 3.2.2.2), integers without
 * fraction or exponent, other numbers with the fewest digits that read back the same.  Failures stick in `out`. */
void json_write(const json_node *node, struct buf *out);
/* As json_write with the members of every object sorted by their UTF-8 bytes: the canonical form that digests cover. */
void json_write_canonical(const json_node *node, struct buf *out);
/* One JSON string, quotes included.  `len` bytes that must be UTF-8; bytes that are not become U+FFFD. */
void json_write_string(const char *str, size_t len, struct buf *out);

#endif
