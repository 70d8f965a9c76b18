/*
 * event: what one row of the log is, and the byte-exact encoding that its hashes cover.  It knows no SQLite.
 *
 * The encoding, its domain tags and test vectors are in docs/internals/log-format.md.
 */
#ifndef WARDER_STORE_EVENT_H
#define WARDER_STORE_EVENT_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/digest.h"

#define EVENT_SALT_LEN 16
#define EVENT_FORMAT_VERSION 1 /* PRAGMA user_version */
#define EVENT_BODY_MAX (32u << 20) /* bytes, uncompressed */
#define EVENT_KIND_MAX 128 /* bytes */
#define EVENT_PREVIEW_COLUMNS 160

enum event_codec { EVENT_PLAIN = 0, EVENT_ZSTD = 1 };

/* A row with its body.  Pointers are owned by whoever filled it (see log_read.h). */
struct event {
	int64_t seq;
	int64_t time; /* microseconds UTC */
	const char *kind;
	const char *actor;
	int64_t ref; /* 0: NULL */
	int64_t len; /* of the uncompressed body */
	uint8_t commitment[DIGEST_LEN];
	uint8_t hash[DIGEST_LEN];
	const char *preview; /* NULL when erased */
	const char *body;    /* uncompressed UTF-8 JSON, NULL when erased or not asked for */
	size_t body_len;
};

/* commitment: over salt, preview, codec and data as stored. */
void event_commit(const uint8_t *salt, size_t salt_len, const char *preview, size_t preview_len, int64_t codec,
		  const void *data, size_t data_len, uint8_t ret[DIGEST_LEN]);
/* hash: over every other column of `event` and the previous hash (32 zero bytes before seq 1).  A NULL ref is hashed
 * as 0, which is never stored. */
void event_hash(const uint8_t prev[DIGEST_LEN], const struct event *e, uint8_t ret[DIGEST_LEN]);

#endif
