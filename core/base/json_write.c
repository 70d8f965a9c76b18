#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/json_members.h"
#include "core/base/utf8.h"

static const char short_escape[128] = {
	['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't', ['"'] = '"', ['\\'] = '\\',
};

void json_write_string(const char *str, size_t len, struct buf *out)
{
	size_t run = 0; /* bytes before `i` that go out as they are */
	uint32_t cp;

	buf_addc(out, '"');
	for (size_t i = 0; i < len;) {
		unsigned char c = (unsigned char)str[i];
		size_t n = c < 0x80 ? 1 : utf8_decode(str + i, len - i, &cp);
		bool plain = c < 0x80 ? c >= 0x20 && !short_escape[c] : n > 0;

		if (plain) {
			run += n;
			i += n;
			continue;
		}
		buf_add(out, str + i - run, run);
		run = 0;
		i++;
		if (c >= 0x80) {
			buf_adds(out, "\xef\xbf\xbd");
		} else if (short_escape[c]) {
			buf_addc(out, '\\');
			buf_addc(out, short_escape[c]);
		} else {
			buf_addf(out, "\\u%04x", c);
		}
	}
	if (run)
		buf_add(out, str + len - run, run);
	buf_addc(out, '"');
}

static void write_number(double value, struct buf *out)
{
	char text[40];

	if (!isfinite(value)) {
		buf_adds(out, "null"); /* JSON has no word for it; the reader never lets one in */
		return;
	}
	if (value >= -JSON_INTEGER_MAX && value <= JSON_INTEGER_MAX && value == (double)(long long)value) {
		buf_addf(out, "%lld", (long long)value); /* -0 becomes 0, as in RFC 8785 */
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	/* The decimal point is the locale's, of one byte or more. */
	size_t whole = strspn(text, "-0123456789");
	buf_add(out, text, whole);
	if (text[whole] && text[whole] != 'e') {
		buf_addc(out, '.');
		whole += strcspn(text + whole, "0123456789");
	}
	buf_adds(out, text + whole);
	/* All digits: an integer above 2^53, which our own reader refuses in this form. */
	if (!text[whole])
		buf_adds(out, ".0");
}

static void write_node(const json_node *node, bool sorted, struct buf *out);

static void write_member(const json_node *member, bool first, bool sorted, struct buf *out)
{
	if (!first)
		buf_addc(out, ',');
	json_write_string(member->string, strlen(member->string), out);
	buf_addc(out, ':');
	write_node(member, sorted, out);
}

static void write_object(const json_node *node, bool sorted, struct buf *out)
{
	const json_node *member;
	bool first = true;

	buf_addc(out, '{');
	if (sorted) {
		size_t n = 0;
		_cleanup_members_ const json_node **list = json_members_sorted(node, &n);

		if (!list && !out->failed)
			out->failed = E_NOMEM;
		for (size_t i = 0; list && i < n; i++)
			write_member(list[i], i == 0, sorted, out);
	} else {
		cJSON_ArrayForEach(member, node) {
			write_member(member, first, sorted, out);
			first = false;
		}
	}
	buf_addc(out, '}');
}

static void write_node(const json_node *node, bool sorted, struct buf *out)
{
	const json_node *item;

	if (out->failed)
		return;
	switch (node ? node->type & 0xff : cJSON_NULL) {
	case cJSON_False:
		buf_adds(out, "false");
		break;
	case cJSON_True:
		buf_adds(out, "true");
		break;
	case cJSON_Number:
		write_number(node->valuedouble, out);
		break;
	case cJSON_String:
		json_write_string(node->valuestring, strlen(node->valuestring), out);
		break;
	case cJSON_Array:
		buf_addc(out, '[');
		cJSON_ArrayForEach(item, node) {
			if (item != node->child)
				buf_addc(out, ',');
			write_node(item, sorted, out);
		}
		buf_addc(out, ']');
		break;
	case cJSON_Object:
		write_object(node, sorted, out);
		break;
	default: /* cJSON_Raw would pass bytes that nobody checked */
		buf_adds(out, "null");
		break;
	}
}

static void write_tree(const json_node *node, bool sorted, struct buf *out)
{
	if (json_building_failed() && !out->failed)
		out->failed = E_NOMEM;
	write_node(node, sorted, out);
}

void json_write(const json_node *node, struct buf *out)
{
	write_tree(node, false, out);
}

void json_write_canonical(const json_node *node, struct buf *out)
{
	write_tree(node, true, out);
}
