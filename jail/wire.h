/*
 * wire: flat encoding of the messages between the parent and init of a cell: u32 and u64 in little-endian order, byte
 * strings as u32 length, bytes and a NUL.  It checks bounds; what a message means is setup.h's.
 *
 * A reader that met something wrong stays `bad` and gives zeros and empty strings from then on, so that a
 * sequence of reads is checked once, at its end.
 */
#ifndef WARDER_JAIL_WIRE_H
#define WARDER_JAIL_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"

void wire_add_u32(struct buf *b, uint32_t value);
void wire_add_u64(struct buf *b, uint64_t value);
void wire_add_bytes(struct buf *b, const void *data, size_t len);
void wire_add_str(struct buf *b, const char *str);

struct wire_reader {
	const char *at;
	size_t left;
	bool bad;
};

uint32_t wire_u32(struct wire_reader *r);
uint64_t wire_u64(struct wire_reader *r);
/* Into the message, followed by a NUL; at most `max` bytes. */
const char *wire_bytes(struct wire_reader *r, size_t max, size_t *ret_len);
/* As wire_bytes, without a NUL inside. */
const char *wire_str(struct wire_reader *r, size_t max);
/* Nothing was wrong and nothing is left. */
bool wire_end(const struct wire_reader *r);

#endif
