#include "core/base/digest.h"
#include "tests/tap.h"

/* FIPS 180-4 examples. */
static void test_vectors(void)
{
	static const struct {
		const char *text, *hex;
	} want[] = {
		{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
	};
	uint8_t sum[DIGEST_LEN];
	char hex[DIGEST_HEX_LEN + 1];

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		digest_of(want[i].text, strlen(want[i].text), sum);
		is_str(digest_hex(sum, hex), want[i].hex, "SHA-256 of \"%s\"", want[i].text);
	}
}

static void test_encoding(void)
{
	static const char flat[] = "\x08\x07\x06\x05\x04\x03\x02\x01"
				   "\x03\x00\x00\x00\x00\x00\x00\x00"
				   "abc";
	uint8_t one[DIGEST_LEN], two[DIGEST_LEN];
	struct digest d;

	digest_of(flat, sizeof(flat) - 1, one);
	digest_init(&d);
	digest_add_u64(&d, UINT64_C(0x0102030405060708));
	digest_add_sized(&d, "abc", 3);
	digest_end(&d, two);
	ok(memcmp(one, two, DIGEST_LEN) == 0, "u64 is little-endian, sized bytes have their length before them");

	digest_init(&d);
	digest_add_sized(&d, "ab", 2);
	digest_add_sized(&d, "c", 1);
	digest_end(&d, one);
	digest_init(&d);
	digest_add_sized(&d, "a", 1);
	digest_add_sized(&d, "bc", 2);
	digest_end(&d, two);
	ok(memcmp(one, two, DIGEST_LEN) != 0, "the border between two fields is part of the digest");
}

static void test_hex(void)
{
	uint8_t sum[DIGEST_LEN], back[DIGEST_LEN], untouched[DIGEST_LEN] = { 0 };
	char hex[DIGEST_HEX_LEN + 1];

	digest_of("x", 1, sum);
	digest_hex(sum, hex);
	ok(digest_parse_hex(hex, 64, back) && memcmp(sum, back, 32) == 0, "hex reads back");
	ok(!digest_parse_hex(hex, 63, untouched), "too short");
	ok(!digest_parse_hex(hex, 65, untouched), "too long");
	hex[63] = 'g';
	ok(!digest_parse_hex(hex, 64, untouched), "not hex at the end");
	hex[63] = '\0';
	ok(!digest_parse_hex(hex, 64, untouched), "NUL inside");
	memset(back, 0, sizeof(back));
	ok(memcmp(untouched, back, 32) == 0, "nothing is written on failure");
}

int main(void)
{
	test_vectors();
	test_encoding();
	test_hex();
	return tap_end();
}
