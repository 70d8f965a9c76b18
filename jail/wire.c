#include "jail/wire.h"

#include <string.h>

static void add_number(struct buf *b, uint64_t value, size_t bytes)
{
	char out[8];

	for (size_t i = 0; i < bytes; i++)
		out[i] = (char)(value >> (8 * i));
	buf_add(b, out, bytes);
}

void wire_add_u32(struct buf *b, uint32_t value)
{
	add_number(b, value, 4);
}

void wire_add_u64(struct buf *b, uint64_t value)
{
	add_number(b, value, 8);
}

void wire_add_bytes(struct buf *b, const void *data, size_t len)
{
	if (len > UINT32_MAX) {
		b->failed = E_LIMIT;
		return;
	}
	wire_add_u32(b, (uint32_t)len);
	buf_add(b, data, len);
	buf_addc(b, '\0');
}

void wire_add_str(struct buf *b, const char *str)
{
	wire_add_bytes(b, str, strlen(str));
}

static const char *take(struct wire_reader *r, size_t len)
{
	if (r->bad || len > r->left) {
		r->bad = true;
		return NULL;
	}

	const char *at = r->at;
	r->at += len;
	r->left -= len;
	return at;
}

static uint64_t take_number(struct wire_reader *r, size_t bytes)
{
	const unsigned char *at = (const unsigned char *)take(r, bytes);
	uint64_t value = 0;

	for (size_t i = 0; at && i < bytes; i++)
		value |= (uint64_t)at[i] << (8 * i);
	return value;
}

uint32_t wire_u32(struct wire_reader *r)
{
	return (uint32_t)take_number(r, 4);
}

uint64_t wire_u64(struct wire_reader *r)
{
	return take_number(r, 8);
}

const char *wire_bytes(struct wire_reader *r, size_t max, size_t *ret_len)
{
	size_t len = wire_u32(r);
	const char *at = len > max ? NULL : take(r, len + 1);

	if (!at || at[len] != '\0') {
		r->bad = true;
		*ret_len = 0;
		return "";
	}
	*ret_len = len;
	return at;
}

const char *wire_str(struct wire_reader *r, size_t max)
{
	size_t len;
	const char *str = wire_bytes(r, max, &len);

	if (strlen(str) != len)
		r->bad = true;
	return r->bad ? "" : str;
}

bool wire_end(const struct wire_reader *r)
{
	return !r->bad && r->left == 0;
}
