/*
 * macro: attributes and ownership helpers that every module uses.  Holds no code that can fail.
 */
#ifndef WARDER_BASE_MACRO_H
#define WARDER_BASE_MACRO_H

#include <stdlib.h>
#include <unistd.h>

#define PRINTF_LIKE(fmt, first) __attribute__((format(printf, fmt, first)))
#define WARN_UNUSED __attribute__((warn_unused_result))
#define _cleanup_(f) __attribute__((cleanup(f)))
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* Takes the value out of an owned variable and leaves it empty, so that its cleanup does nothing. */
#define steal_ptr(p)                       \
	({                                 \
		__typeof__(p) stolen_ = (p); \
		(p) = NULL;                \
		stolen_;                   \
	})

static inline int steal_fd(int *fd)
{
	int stolen = *fd;
	*fd = -1;
	return stolen;
}

static inline void fd_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static inline void free_charp(char **p)
{
	free(*p);
	*p = NULL;
}

#define _cleanup_fd_ _cleanup_(fd_close)
#define _cleanup_free_ _cleanup_(free_charp)

#endif
