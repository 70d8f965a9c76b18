/*
 * content: a folder of file contents named by their SHA-256 (64 hex digits, mode 0600).  It owns the bytes of both
 * sides of staged changes; it never changes a stored file and never stores one under a name that is not its digest.
 */
#ifndef WARDER_JAIL_CONTENT_H
#define WARDER_JAIL_CONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/digest.h"
#include "core/base/err.h"

/* Stores what `fd` (a regular file, from its start) holds.  Content that is there already is not written again; runs of
 * zeros become holes.  E_LIMIT beyond `max` bytes. */
int content_put_fd(int content_fd, int fd, uint64_t max, uint8_t ret_digest[DIGEST_LEN], uint64_t *ret_size,
		   struct err *err) WARN_UNUSED;
int content_put(int content_fd, const void *data, size_t len, uint8_t ret_digest[DIGEST_LEN],
		struct err *err) WARN_UNUSED;

/* Makes durable what was put so far. */
int content_sync(int content_fd, struct err *err) WARN_UNUSED;

/* Opens stored content for reading.  E_NOTFOUND. */
int content_open(int content_fd, const uint8_t digest[DIGEST_LEN], int *ret_fd, struct err *err) WARN_UNUSED;

/* Stored content mapped into memory, compared with its name (E_CORRUPT); `data` is never NULL, also for an empty one.
 */
struct content_map {
	const char *data;
	size_t len;
};
int content_map(int content_fd, const uint8_t digest[DIGEST_LEN], struct content_map *ret, struct err *err) WARN_UNUSED;
void content_unmap(struct content_map *m);
#define _cleanup_content_map_ _cleanup_(content_unmap)

/* SHA-256 of a regular file, from its start. */
int content_digest_fd(int fd, uint8_t ret_digest[DIGEST_LEN], uint64_t *ret_size, struct err *err) WARN_UNUSED;

/* Copies all of `from` (a regular file) to `to` (empty), keeping holes, and hashes what was copied.  E_LIMIT beyond
 * `max` bytes. */
int content_copy(int from, int to, uint64_t max, uint8_t ret_digest[DIGEST_LEN], uint64_t *ret_size,
		 struct err *err) WARN_UNUSED;

#endif
