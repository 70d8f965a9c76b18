/*
 * tap: results of a C test program in the Test Anything Protocol, for automake's driver.  It owns the counters of one
 * program; it is no framework: a test is main() calling these, and `return tap_end();`.
 *
 * Every line is flushed at once, so that a crash shows where, and a fork does not print twice.
 */
#ifndef WARDER_TESTS_TAP_H
#define WARDER_TESTS_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int tap_count_, tap_failed_;

/* One character of a text: whatever a test is about, its output is printable ASCII. */
static inline void tap_char_(char c)
{
	if (c < 0x20 || c > 0x7e)
		printf("\\x%02x", (unsigned)(unsigned char)c);
	else
		putchar(c);
}

/* Text of a test line; '#' would start a directive. */
static inline void tap_text_(const char *text)
{
	for (const char *p = text; *p; p++) {
		if (*p == '#')
			putchar('\\');
		tap_char_(*p);
	}
}

/* A comment, each of its lines behind "# ". */
__attribute__((format(printf, 1, 2))) static inline void diag(const char *fmt, ...)
{
	char text[4096];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fputs("# ", stdout);
	for (const char *p = text; *p; p++) {
		if (*p == '\n' && p[1])
			fputs("\n# ", stdout);
		else if (*p != '\n')
			tap_char_(*p);
	}
	putchar('\n');
	fflush(stdout);
}

__attribute__((format(printf, 4, 5))) static inline bool tap_ok_(bool good, const char *file, int line,
								   const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	printf("%s %d - ", good ? "ok" : "not ok", ++tap_count_);
	tap_text_(text);
	putchar('\n');
	fflush(stdout);
	if (!good) {
		tap_failed_++;
		diag("failed at %s:%d", file, line);
	}
	return good;
}

__attribute__((format(printf, 1, 2))) static inline void skip(const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	printf("ok %d # SKIP ", ++tap_count_);
	tap_text_(text);
	putchar('\n');
	fflush(stdout);
}

static inline bool tap_int_(bool good, long long got, long long want)
{
	if (!good)
		diag("got %lld, want %lld", got, want);
	return good;
}

static inline bool tap_str_(bool good, const char *got, const char *want)
{
	if (!good)
		diag("got  %s\nwant %s", got ? got : "(null)", want ? want : "(null)");
	return good;
}

static inline bool tap_same_(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Prints the plan; the value of main(). */
static inline int tap_end(void)
{
	printf("1..%d\n", tap_count_);
	fflush(stdout);
	return tap_failed_ ? 1 : 0;
}

/* All three give back whether it held, so that a test can stop early. */
#define ok(cond, ...) tap_ok_((cond) ? true : false, __FILE__, __LINE__, __VA_ARGS__)
#define is_int(got, want, ...)                                                                      \
	({                                                                                          \
		long long got_ = (long long)(got), want_ = (long long)(want);                       \
		tap_int_(tap_ok_(got_ == want_, __FILE__, __LINE__, __VA_ARGS__), got_, want_);     \
	})
#define is_str(got, want, ...)                                                                               \
	({                                                                                                   \
		const char *sgot_ = (got), *swant_ = (want);                                                 \
		tap_str_(tap_ok_(tap_same_(sgot_, swant_), __FILE__, __LINE__, __VA_ARGS__), sgot_, swant_); \
	})

#endif
