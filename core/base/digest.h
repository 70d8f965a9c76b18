/*
 * digest: SHA-256 (FIPS 180-4, through libsodium) and its hex form.
 */
#ifndef WARDER_BASE_DIGEST_H
#define WARDER_BASE_DIGEST_H

#include <sodium/crypto_hash_sha256.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DIGEST_LEN 32
#define DIGEST_HEX_LEN 64

struct digest {
	crypto_hash_sha256_state state;
};

void digest_init(struct digest *d);
void digest_add(struct digest *d, const void *data, size_t len);
/* Little-endian u64; and u64 length followed by the bytes. */
void digest_add_u64(struct digest *d, uint64_t value);
void digest_add_sized(struct digest *d, const void *data, size_t len);
void digest_end(struct digest *d, uint8_t ret[DIGEST_LEN]);

void digest_of(const void *data, size_t len, uint8_t ret[DIGEST_LEN]);
char *digest_hex(const uint8_t digest[DIGEST_LEN], char ret[DIGEST_HEX_LEN + 1]);
bool digest_parse_hex(const char *hex, size_t len, uint8_t ret[DIGEST_LEN]);

#endif
