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
/* Microseconds UTC that the kernel would write into a file as its time now: CLOCK_REALTIME_COARSE, which moves once a
 * tick (1 to 10 ms) and runs behind clock_now_us() by up to one. */
int64_t clock_stamp_us(void);
/* Waits until that is later than `us` of the wall clock, and returns it: what was written up to then is older, what is
 * written from now on is not.  The wall clock, because files of Linux 6.13 and later can have times (multigrain) that
 * lie between a tick and it. */
int64_t clock_stamp_after(int64_t us);
/* "2026-11-30T10:00:00.123456Z" into 32 bytes; returns `ret`. */
char *clock_format(int64_t us, char ret[32]);

#endif
