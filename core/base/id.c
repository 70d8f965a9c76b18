#include "core/base/id.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>

#include "core/base/clock.h"

#define TIME_LEN 9

static const char alphabet[] = "0123456789abcdefghijklmnopqrstuvwxyz";

int id_new(char ret[ID_LEN + 1], struct err *err)
{
	char id[ID_LEN + 1];
	uint64_t ms = (uint64_t)clock_now_us() / 1000;

	for (size_t i = TIME_LEN; i-- > 0; ms /= 36)
		id[i] = alphabet[ms % 36];

	for (size_t n = TIME_LEN; n < ID_LEN;) {
		uint8_t random[32];
		ssize_t got = getrandom(random, sizeof(random), 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_errno(err, E_IO, errno, "random bytes for a session id");
		/* 252 is the largest multiple of 36 in a byte; what is above it would favour the first letters. */
		for (ssize_t i = 0; i < got && n < ID_LEN; i++)
			if (random[i] < 252)
				id[n++] = alphabet[random[i] % 36];
	}
	id[ID_LEN] = '\0';
	memcpy(ret, id, sizeof(id));
	return 0;
}

bool id_valid(const char *id)
{
	return strnlen(id, ID_LEN + 1) == ID_LEN && strspn(id, alphabet) == ID_LEN;
}
