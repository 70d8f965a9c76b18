#include "store/body.h"

#include <inttypes.h>
#include <zstd.h>

#include "store/event.h"

#define LEVEL 3

void body_encode(const char *body, size_t len, struct buf *scratch, struct body_stored *ret)
{
	*ret = (struct body_stored){ .codec = EVENT_PLAIN, .data = body, .len = len };
	if (len < BODY_COMPRESS_MIN)
		return;

	/* One byte less than the original: a frame that would not save anything does not fit and is an error. */
	char *room = buf_reserve(scratch, len - 1);
	if (!room)
		return;
	size_t packed = ZSTD_compress(room, len - 1, body, len, LEVEL);
	if (!ZSTD_isError(packed))
		*ret = (struct body_stored){ .codec = EVENT_ZSTD, .data = room, .len = packed };
}

int body_decode(const struct body_stored *stored, int64_t len, struct buf *out, struct err *err)
{
	if (len < 0 || len > EVENT_BODY_MAX)
		return err_set(err, E_CORRUPT, "body has an impossible length of %" PRId64 " bytes", len);

	size_t want = (size_t)len;
	if (stored->codec == EVENT_PLAIN) {
		if (stored->len != want)
			return err_set(err, E_CORRUPT, "body has %zu bytes, its event says %zu", stored->len, want);
		buf_add(out, stored->data, want);
		return buf_check(out, "body", err);
	}
	if (stored->codec != EVENT_ZSTD)
		return err_set(err, E_CORRUPT, "body has the unknown codec %" PRId64, stored->codec);

	char *room = buf_reserve(out, want);
	if (!room)
		return buf_check(out, "body", err);
	/* Bounded by `want` whatever the frame claims. */
	size_t got = ZSTD_decompress(room, want, stored->data, stored->len);
	if (ZSTD_isError(got) || got != want)
		return err_set(err, E_CORRUPT, "body does not decompress to %zu bytes", want);
	out->len += want;
	out->data[out->len] = '\0';
	return 0;
}
