#include "store/entry.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/safe_text.h"
#include "store/preview.h"

static const char *const actors[] = { "operator", "answers", "policy", "agent", "keeper", "import" };

static bool is_word(const char *word)
{
	size_t len = word ? strnlen(word, EVENT_KIND_MAX + 1) : 0;

	for (size_t i = 0; i < len; i++)
		if (word[i] <= ' ' || word[i] > '~')
			return false;
	return len && len <= EVENT_KIND_MAX;
}

static bool is_actor(const char *actor)
{
	for (size_t i = 0; actor && i < ARRAY_LEN(actors); i++)
		if (!strcmp(actor, actors[i]))
			return true;
	return false;
}

static int check(const struct log_entry *in, int64_t newest, struct err *err)
{
	if (!is_word(in->kind))
		return err_set(err, E_INVALID, "event kind is not 1 to %d printable ASCII characters", EVENT_KIND_MAX);
	if (!is_actor(in->actor))
		return err_set(err, E_INVALID, "event %s: unknown actor", in->kind);
	if (in->ref < 0 || in->ref > newest)
		return err_set(err, E_INVALID, "event %s answers seq %" PRId64 ", which is not in the log", in->kind,
			       in->ref);
	if (!in->body)
		return err_set(err, E_INVALID, "event %s has no body", in->kind);
	if (in->body_len > EVENT_BODY_MAX)
		return err_set(err, E_LIMIT, "event %s: body is larger than the limit of %u bytes", in->kind,
			       EVENT_BODY_MAX);
	return 0;
}

static int make_preview(const struct log_entry *in, struct buf *preview, struct err *err)
{
	_cleanup_json_ json_node *body = NULL;
	int r = in->preview ? json_validate(in->body, in->body_len, NULL, err) :
			      json_parse(in->body, in->body_len, &body, err);

	if (r) {
		err_prefix(err, "event %s", in->kind);
		return r;
	}
	if (in->preview)
		safe_preview(in->preview, strlen(in->preview), EVENT_PREVIEW_COLUMNS, preview);
	else
		event_preview(in->kind, body, preview);
	return buf_check(preview, "preview", err);
}

static int fill_random(uint8_t *ret, size_t len, struct err *err)
{
	ssize_t got;

	do
		got = getrandom(ret, len, 0);
	while (got < 0 && errno == EINTR);
	return got == (ssize_t)len ? 0 : err_errno(err, E_IO, errno, "no random bytes");
}

void entry_free(struct entry *e)
{
	buf_free(&e->preview);
	buf_free(&e->packed);
}

int entry_make(const struct log_entry *in, int64_t newest, const uint8_t prev[DIGEST_LEN], struct entry *ret,
	       struct err *err)
{
	int r = check(in, newest, err);

	if (!r)
		r = make_preview(in, &ret->preview, err);
	if (!r)
		r = fill_random(ret->salt, sizeof(ret->salt), err);
	if (r)
		return r;

	ret->body = (struct row_body){
		.salt = ret->salt, .salt_len = sizeof(ret->salt),
		.preview = buf_str(&ret->preview), .preview_len = ret->preview.len,
	};
	body_encode(in->body, in->body_len, &ret->packed, &ret->body.stored);
	ret->event = (struct event){
		.seq = newest + 1, .time = clock_now_us(), .kind = in->kind, .actor = in->actor, .ref = in->ref,
		.len = (int64_t)in->body_len,
	};
	row_commit(&ret->body, ret->event.commitment);
	event_hash(prev, &ret->event, ret->event.hash);
	return 0;
}
