/*
 * The main() of a fuzz target where there is no libFuzzer: replays stored inputs, then runs a bounded number of changed
 * ones that are the same on every machine, and prints TAP.
 *
 *	fuzz_NAME [FILE|FOLDER]...	default: tests/fuzz/corpus/NAME below $top_srcdir
 *	FUZZ_MUTATIONS=N		so many changed inputs (default 0)
 *
 * An input that crashes the target, or holds it longer than TIME_MAX, is left in fuzz_NAME.crash in the current folder.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/tap.h"

#define INPUT_MAX (1u << 20)
#define INPUTS_MAX 4096
#define TIME_MAX 20 /* seconds for one input */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct input {
	uint8_t *data;
	size_t len;
};

static struct input corpus[INPUTS_MAX];
static size_t ncorpus;
static struct input current; /* for the signal handler */
static char crash_name[64];

static void on_crash(int sig)
{
	int fd = open(crash_name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd >= 0) {
		ssize_t n = write(fd, current.data, current.len);

		(void)n;
		close(fd);
	}
	signal(sig, SIG_DFL);
	raise(sig);
}

/* A copy in memory of just that size, so that a sanitizer sees a read past the end. */
static void run(const uint8_t *data, size_t len)
{
	current.data = malloc(len ? len : 1);
	current.len = len;
	if (!current.data)
		abort();
	if (len)
		memcpy(current.data, data, len);
	alarm(TIME_MAX);
	LLVMFuzzerTestOneInput(current.data, len);
	alarm(0);
	free(current.data);
	current = (struct input){ 0 };
}

static bool load_file(const char *path)
{
	struct input in = { .data = malloc(INPUT_MAX) };
	FILE *f = fopen(path, "rbe");

	if (!f || !in.data || ncorpus == INPUTS_MAX) {
		if (f)
			fclose(f);
		free(in.data);
		return false;
	}
	in.len = fread(in.data, 1, INPUT_MAX, f);
	fclose(f);
	corpus[ncorpus++] = in;
	return true;
}

static bool load(const char *path)
{
	struct dirent **names;
	struct stat st;

	if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
		return load_file(path);

	/* sorted: the changed inputs depend on the order */
	int n = scandir(path, &names, NULL, alphasort);
	bool good = n >= 0;
	for (int i = 0; i < n; i++) {
		char file[PATH_MAX];

		if (names[i]->d_name[0] != '.' &&
		    snprintf(file, sizeof(file), "%s/%s", path, names[i]->d_name) < PATH_MAX)
			good &= load_file(file);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	return good;
}

static uint64_t random_state = 88172645463325252u;

static size_t below(size_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return limit ? (size_t)(random_state % limit) : 0;
}

/* Opens a gap of `len` bytes at `at`, as far as there is room. */
static size_t widen(uint8_t *data, size_t *size, size_t at, size_t len)
{
	if (len > INPUT_MAX - *size)
		len = INPUT_MAX - *size;
	memmove(data + at + len, data + at, *size - at);
	*size += len;
	return len;
}

static void change(uint8_t *data, size_t *size)
{
	static const uint8_t telling[] = { 0,    1,    0x1b, 0x7f, 0x80, 0xbf, 0xc0, 0xe2,
					   0xf4, 0xff, '"',  '\\', '{',  ']',  '\n', ' ' };
	size_t at = below(*size + 1), len = 1 + below(16);

	switch (*size ? below(6) : 1) {
	case 0:
		data[below(*size)] ^= (uint8_t)(1u << below(8));
		break;
	case 1:
		if (widen(data, size, at, 1))
			data[at] = below(2) ? telling[below(sizeof(telling))] : (uint8_t)below(256);
		break;
	case 2:
		data[below(*size)] = telling[below(sizeof(telling))];
		break;
	case 3: /* a piece goes */
		if (len > *size - at)
			len = *size - at;
		memmove(data + at, data + at + len, *size - at - len);
		*size -= len;
		break;
	case 4: { /* a piece comes twice */
		size_t from = below(*size);

		if (len > *size - from)
			len = *size - from;
		uint8_t piece[16];
		memcpy(piece, data + from, len);
		len = widen(data, size, at, len);
		memcpy(data + at, piece, len);
		break;
	}
	default: { /* the rest comes from another input */
		const struct input *other = &corpus[below(ncorpus)];
		size_t from = below(other->len + 1);

		len = other->len - from;
		if (len > INPUT_MAX - at)
			len = INPUT_MAX - at;
		if (len)
			memcpy(data + at, other->data + from, len);
		*size = at + len;
		break;
	}
	}
}

static void run_changed(long count)
{
	uint8_t *data = malloc(INPUT_MAX);

	if (!data)
		abort();
	for (long i = 0; i < count && ncorpus; i++) {
		const struct input *in = &corpus[below(ncorpus)];
		size_t size = in->len;

		if (size)
			memcpy(data, in->data, size);
		for (size_t times = 1 + below(8); times; times--)
			change(data, &size);
		run(data, size);
	}
	free(data);
}

int main(int argc, char **argv)
{
	const char *base = strrchr(argv[0], '/');
	const char *program = base ? base + 1 : argv[0];
	const char *name = strncmp(program, "fuzz_", 5) == 0 ? program + 5 : program;
	const char *top = getenv("top_srcdir"), *wish = getenv("FUZZ_MUTATIONS");
	long mutations = wish ? strtol(wish, NULL, 10) : 0;
	char folder[PATH_MAX];

	snprintf(crash_name, sizeof(crash_name), "%.50s.crash", program);
	signal(SIGABRT, on_crash);
	signal(SIGALRM, on_crash);
	signal(SIGSEGV, on_crash);

	snprintf(folder, sizeof(folder), "%s/tests/fuzz/corpus/%s", top ? top : ".", name);
	if (argc < 2)
		ok(load(folder), "inputs of %s", name);
	for (int i = 1; i < argc; i++)
		ok(load(argv[i]), "inputs of %s", argv[i]);
	ok(ncorpus > 0, "there are some");

	run(NULL, 0);
	for (size_t i = 0; i < ncorpus; i++)
		run(corpus[i].data, corpus[i].len);
	ok(true, "%zu stored inputs replayed", ncorpus);
	if (mutations > 0) {
		run_changed(mutations);
		ok(true, "%ld changed inputs", mutations);
	}
	for (size_t i = 0; i < ncorpus; i++)
		free(corpus[i].data);
	return tap_end();
}
