#include "core/base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
	int code;
	const char *name;
	int exit_status;
} codes[] = {
	{ E_NOMEM, "memory", 3 },       { E_IO, "io", 3 },
	{ E_INVALID, "invalid", 2 },    { E_LIMIT, "limit", 2 },
	{ E_NOTFOUND, "notfound", 2 },  { E_EXISTS, "exists", 2 },
	{ E_DENIED, "denied", 1 },      { E_BUSY, "busy", 3 },
	{ E_MACHINE, "machine", 3 },    { E_CORRUPT, "corrupt", 1 },
	{ E_USAGE, "usage", 2 },        { E_FULL, "full", 3 },
	{ E_PROTOCOL, "protocol", 3 },  { E_CLOSED, "closed", 3 },
	{ E_CONFLICT, "conflict", 1 },
};

int err_set(struct err *err, int code, const char *fmt, ...)
{
	if (err) {
		va_list ap;

		err->code = code;
		va_start(ap, fmt);
		vsnprintf(err->text, sizeof(err->text), fmt, ap);
		va_end(ap);
	}
	return code;
}

int err_errno(struct err *err, int code, int errnum, const char *fmt, ...)
{
	if (errnum == ENOSPC || errnum == EDQUOT)
		code = E_FULL;
	if (err) {
		char what[sizeof(err->text)];
		va_list ap;

		va_start(ap, fmt);
		vsnprintf(what, sizeof(what), fmt, ap);
		va_end(ap);
		err->code = code;
		snprintf(err->text, sizeof(err->text), "%.800s: %s", what, strerror(errnum));
	}
	return code;
}

int err_prefix(struct err *err, const char *fmt, ...)
{
	if (!err)
		return E_IO;

	char old[sizeof(err->text)];
	char prefix[256];
	va_list ap;

	memcpy(old, err->text, sizeof(old));
	va_start(ap, fmt);
	vsnprintf(prefix, sizeof(prefix), fmt, ap);
	va_end(ap);
	snprintf(err->text, sizeof(err->text), "%s: %.750s", prefix, old);
	return err->code;
}

const char *err_name(int code)
{
	for (size_t i = 0; i < ARRAY_LEN(codes); i++)
		if (codes[i].code == code)
			return codes[i].name;
	return "error";
}

int err_exit_status(int code)
{
	for (size_t i = 0; i < ARRAY_LEN(codes); i++)
		if (codes[i].code == code)
			return codes[i].exit_status;
	return 3;
}
