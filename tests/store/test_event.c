/* The encoding against the vectors of docs/internals/log-format.md. */
#include <ctype.h>
#include <stdlib.h>

#include "store/event.h"
#include "tests/tap.h"

#define DOCUMENT "docs/internals/log-format.md"

struct vector {
	char word[16][16];
	char value[16][512];
	size_t n;
};

static const char *get(const struct vector *v, const char *word)
{
	for (size_t i = 0; i < v->n; i++)
		if (!strcmp(v->word[i], word))
			return v->value[i];
	diag("the vector has no %s", word);
	exit(99);
}

static size_t get_bytes(const struct vector *v, const char *word, uint8_t *ret)
{
	const char *hex = get(v, word);
	size_t n = 0;

	if (!strcmp(hex, "-"))
		return 0;
	for (; hex[0] && hex[1]; hex += 2) {
		unsigned byte;
		sscanf(hex, "%2x", &byte);
		ret[n++] = (uint8_t)byte;
	}
	return n;
}

static int64_t get_int(const struct vector *v, const char *word)
{
	return strcmp(get(v, word), "NULL") ? strtoll(get(v, word), NULL, 10) : 0;
}

static void check_commitment(const struct vector *v, int number)
{
	uint8_t salt[256], preview[256], data[256], got[DIGEST_LEN];
	char hex[DIGEST_HEX_LEN + 1];
	size_t salt_len = get_bytes(v, "salt", salt), preview_len = get_bytes(v, "preview", preview);
	size_t data_len = get_bytes(v, "data", data);

	event_commit(salt, salt_len, (const char *)preview, preview_len, get_int(v, "codec"), data, data_len, got);
	is_str(digest_hex(got, hex), get(v, "commitment"), "vector %d, commitment", number);
}

static void check_hash(const struct vector *v, int number)
{
	uint8_t prev[DIGEST_LEN], got[DIGEST_LEN];
	char hex[DIGEST_HEX_LEN + 1];
	struct event e = {
		.seq = get_int(v, "seq"), .time = get_int(v, "time"), .kind = get(v, "kind"), .actor = get(v, "actor"),
		.ref = get_int(v, "ref"), .len = get_int(v, "len"),
	};

	get_bytes(v, "prev", prev);
	get_bytes(v, "commitment", e.commitment);
	event_hash(prev, &e, got);
	is_str(digest_hex(got, hex), get(v, "hash"), "vector %d, hash", number);
}

static int check(const struct vector *v, int number)
{
	if (!v->n)
		return number;
	if (!strcmp(get(v, "vector"), "hash"))
		check_hash(v, number);
	else
		check_commitment(v, number);
	return number + 1;
}

/* Every input must matter: flips one bit of each in turn. */
static void check_coverage(void)
{
	uint8_t prev[DIGEST_LEN] = { 0 }, salt[16] = { 1 }, base[DIGEST_LEN], got[DIGEST_LEN];
	struct event e = { .seq = 5, .time = 7, .kind = "k", .actor = "a", .ref = 3, .len = 9 };

	event_commit(salt, 16, "p", 1, 0, "data", 4, base);
	event_commit(salt, 15, "p", 1, 0, "data", 4, got);
	ok(memcmp(base, got, DIGEST_LEN), "the commitment covers the salt");
	event_commit(salt, 16, "q", 1, 0, "data", 4, got);
	ok(memcmp(base, got, DIGEST_LEN), "the commitment covers the preview");
	event_commit(salt, 16, "p", 1, 1, "data", 4, got);
	ok(memcmp(base, got, DIGEST_LEN), "the commitment covers the codec");
	event_commit(salt, 16, "p", 1, 0, "dato", 4, got);
	ok(memcmp(base, got, DIGEST_LEN), "the commitment covers the data");
	event_commit(salt, 16, "pd", 2, 0, "ata", 3, got);
	ok(memcmp(base, got, DIGEST_LEN), "a byte cannot move from one field to the next");

	struct event changed[] = { e, e, e, e, e, e, e };
	static const char *const names[] = { "seq", "time", "kind", "actor", "ref", "len", "commitment" };
	changed[0].seq ^= 1LL << 62;
	changed[1].time ^= 1;
	changed[2].kind = "l";
	changed[3].actor = "b";
	changed[4].ref = 0;
	changed[5].len ^= 1;
	changed[6].commitment[31] ^= 1;
	event_hash(prev, &e, base);
	for (size_t i = 0; i < sizeof(changed) / sizeof(changed[0]); i++) {
		event_hash(prev, &changed[i], got);
		ok(memcmp(base, got, DIGEST_LEN), "the hash covers %s", names[i]);
	}
	prev[31] = 1;
	event_hash(prev, &e, got);
	ok(memcmp(base, got, DIGEST_LEN), "the hash covers the hash before");
}

int main(void)
{
	const char *top = getenv("top_srcdir");
	char path[1024], line[1024];
	static struct vector v;
	int number = 1;

	snprintf(path, sizeof(path), "%s/%s", top ? top : ".", DOCUMENT);
	FILE *f = fopen(path, "re");
	if (!ok(f, "%s can be read", DOCUMENT))
		return tap_end();
	while (fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "vector ", 7) || (v.n && !isalpha((unsigned char)line[0]))) {
			number = check(&v, number);
			v.n = 0;
		}
		if ((v.n || !strncmp(line, "vector ", 7)) && v.n < 16 &&
		    sscanf(line, "%15s %511s", v.word[v.n], v.value[v.n]) == 2)
			v.n++;
	}
	fclose(f);
	is_int(number - 1, 6, "the page has six vectors");
	check_coverage();
	return tap_end();
}
