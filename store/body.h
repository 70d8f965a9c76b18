/*
 * body: how the bytes of a body are stored (plain, or one zstd frame), and back.  It never looks into them.
 */
#ifndef WARDER_STORE_BODY_H
#define WARDER_STORE_BODY_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"

#define BODY_COMPRESS_MIN 4096 /* bytes: below, a frame saves less than it costs */

/* The stored form: `data` points into the original, or into `scratch`. */
struct body_stored {
	int64_t codec;
	const void *data;
	size_t len;
};

void body_encode(const char *body, size_t len, struct buf *scratch, struct body_stored *ret);

/* Appends exactly `len` bytes (the declared length) and a NUL that does not count to `out`; E_CORRUPT when the stored
 * form is not that long or breaks its codec. */
int body_decode(const struct body_stored *stored, int64_t len, struct buf *out, struct err *err) WARN_UNUSED;

#endif
