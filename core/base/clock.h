/*
 * clock: wall time for the log, monotonic time for deadlines.  Never used to decide an order of events (seq does).
 */
#ifndef WARDER_BASE_CLOCK_H
#define WARDER_BASE_CLOCK_H

#include <stdint.h>

/* Microseconds since 1970, UTC. */
int64_t clock_now_us(void);
/* Milliseconds on CLOCK_MONOTONIC. */
int64_t clock_mono_ms(void);
/* "2026-11-30T10:00:00.123456Z" into 32 bytes; returns `ret`. */
char *clock_format(int64_t us, char ret[32]);

#endif
