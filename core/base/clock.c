#include "core/base/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

int64_t clock_now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

int64_t clock_stamp_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME_COARSE, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t clock_stamp_after(int64_t us)
{
	const struct timespec pause = { .tv_nsec = 300000 };
	int64_t now;

	/* A clock that is set back meanwhile would keep us here: then the answer is the time as it is. */
	for (int tries = 0; (now = clock_stamp_us()) <= us && tries < 200; tries++)
		nanosleep(&pause, NULL);
	return now;
}

int64_t clock_mono_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* By hand: compilers cannot bound what printf would make of a struct tm. */
static char *put_digits(char *at, int value, int count, char after)
{
	for (int i = count; i-- > 0; value /= 10)
		at[i] = (char)('0' + value % 10);
	at[count] = after;
	return at + count + 1;
}

char *clock_format(int64_t us, char ret[32])
{
	/* Rounds down, so that a time before 1970 keeps a positive fraction. */
	int64_t frac = us % 1000000;
	time_t sec = (time_t)(us / 1000000);
	struct tm tm;

	if (frac < 0) {
		frac += 1000000;
		sec--;
	}
	if (!gmtime_r(&sec, &tm) || tm.tm_year < -1900 || tm.tm_year > 8099) {
		/* A stored time may be any number; the form stays the same. */
		snprintf(ret, 32, "%s", us < 0 ? "0000-01-01T00:00:00.000000Z" : "9999-12-31T23:59:59.999999Z");
		return ret;
	}

	char *p = put_digits(ret, tm.tm_year + 1900, 4, '-');
	p = put_digits(p, tm.tm_mon + 1, 2, '-');
	p = put_digits(p, tm.tm_mday, 2, 'T');
	p = put_digits(p, tm.tm_hour, 2, ':');
	p = put_digits(p, tm.tm_min, 2, ':');
	p = put_digits(p, tm.tm_sec, 2, '.');
	p = put_digits(p, (int)frac, 6, 'Z');
	*p = '\0';
	return ret;
}
