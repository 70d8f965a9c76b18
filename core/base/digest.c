#include "core/base/digest.h"

#include <string.h>

void digest_init(struct digest *d)
{
	crypto_hash_sha256_init(&d->state);
}

void digest_add(struct digest *d, const void *data, size_t len)
{
	if (len)
		crypto_hash_sha256_update(&d->state, data, len);
}

void digest_add_u64(struct digest *d, uint64_t value)
{
	uint8_t le[8];

	for (size_t i = 0; i < sizeof(le); i++)
		le[i] = (uint8_t)(value >> (8 * i));
	digest_add(d, le, sizeof(le));
}

void digest_add_sized(struct digest *d, const void *data, size_t len)
{
	digest_add_u64(d, len);
	digest_add(d, data, len);
}

void digest_end(struct digest *d, uint8_t ret[DIGEST_LEN])
{
	crypto_hash_sha256_final(&d->state, ret);
}

void digest_of(const void *data, size_t len, uint8_t ret[DIGEST_LEN])
{
	struct digest d;

	digest_init(&d);
	digest_add(&d, data, len);
	digest_end(&d, ret);
}

char *digest_hex(const uint8_t digest[DIGEST_LEN], char ret[DIGEST_HEX_LEN + 1])
{
	static const char hex[] = "0123456789abcdef";

	for (size_t i = 0; i < DIGEST_LEN; i++) {
		ret[2 * i] = hex[digest[i] >> 4];
		ret[2 * i + 1] = hex[digest[i] & 15];
	}
	ret[DIGEST_HEX_LEN] = '\0';
	return ret;
}

static int nibble(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

bool digest_parse_hex(const char *hex, size_t len, uint8_t ret[DIGEST_LEN])
{
	uint8_t out[DIGEST_LEN];

	if (len != DIGEST_HEX_LEN)
		return false;
	for (size_t i = 0; i < DIGEST_LEN; i++) {
		int hi = nibble(hex[2 * i]), lo = nibble(hex[2 * i + 1]);

		if (hi < 0 || lo < 0)
			return false;
		out[i] = (uint8_t)(hi << 4 | lo);
	}
	memcpy(ret, out, sizeof(out));
	return true;
}
