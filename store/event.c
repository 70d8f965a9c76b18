#include "store/event.h"

#include <string.h>

/* The version is part of the tag: a later encoding can never collide with this one. */
static const char body_tag[] = "warder.body.1";
static const char event_tag[] = "warder.event.1";

void event_commit(const uint8_t *salt, size_t salt_len, const char *preview, size_t preview_len, int64_t codec,
		  const void *data, size_t data_len, uint8_t ret[DIGEST_LEN])
{
	struct digest d;

	digest_init(&d);
	digest_add_sized(&d, body_tag, strlen(body_tag));
	digest_add_sized(&d, salt, salt_len);
	digest_add_sized(&d, preview, preview_len);
	digest_add_u64(&d, (uint64_t)codec);
	digest_add_sized(&d, data, data_len);
	digest_end(&d, ret);
}

void event_hash(const uint8_t prev[DIGEST_LEN], const struct event *e, uint8_t ret[DIGEST_LEN])
{
	struct digest d;

	digest_init(&d);
	digest_add_sized(&d, event_tag, strlen(event_tag));
	digest_add(&d, prev, DIGEST_LEN);
	digest_add_u64(&d, (uint64_t)e->seq);
	digest_add_u64(&d, (uint64_t)e->time);
	digest_add_sized(&d, e->kind, strlen(e->kind));
	digest_add_sized(&d, e->actor, strlen(e->actor));
	digest_add_u64(&d, (uint64_t)e->ref);
	digest_add_u64(&d, (uint64_t)e->len);
	digest_add(&d, e->commitment, DIGEST_LEN);
	digest_end(&d, ret);
}
