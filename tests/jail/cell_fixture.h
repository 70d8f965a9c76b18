/*
 * cell_fixture: a scratch workspace with a layer, and commands run in real cells over it.  Works as root (an id range
 * of its own) and as an ordinary user.
 */
#ifndef WARDER_TESTS_JAIL_CELL_FIXTURE_H
#define WARDER_TESTS_JAIL_CELL_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/digest.h"
#include "jail/cell.h"
#include "tests/tap.h"

#define OUTPUT_MAX 65536

struct fixture {
	char dir[PATH_MAX - 512];
	char ws[PATH_MAX - 256];
	char tools[PATH_MAX]; /* folder of the program `probe` */
	int layer, run, lock;
	int64_t base;
};

/* Of the last cell. */
static char output[OUTPUT_MAX];
static struct cell_report report;
static struct err err;

static inline int run_sh(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static inline int run_sh(const char *fmt, ...)
{
	char command[8192];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	return system(command);
}

static inline void fixture_make(struct fixture *f)
{
	char here[PATH_MAX - 1024], name[64];
	static int number;

	if (!getcwd(here, sizeof(here)))
		abort();
	snprintf(name, sizeof(name), "fixture%d", number++);
	snprintf(f->dir, sizeof(f->dir), "%s/%s", here, name);
	snprintf(f->ws, sizeof(f->ws), "%s/ws", f->dir);
	snprintf(f->tools, sizeof(f->tools), "%s/tests/jail", getenv("top_builddir"));
	if (mkdir(f->dir, 0755) < 0 || mkdir(f->ws, 0755) < 0 ||
	    run_sh("mkdir -m 700 '%s/layer' '%s/run'", f->dir, f->dir))
		abort();
	snprintf(output, sizeof(output), "%s/layer", f->dir);
	f->layer = open(output, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(output, sizeof(output), "%s/run", f->dir);
	f->run = open(output, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f->layer < 0 || f->run < 0 || cell_idmap_pick(f->run, 0, &f->base, &f->lock, &err) < 0)
		abort();
}

static inline void fixture_end(struct fixture *f)
{
	close(f->layer);
	close(f->run);
	if (f->lock >= 0)
		close(f->lock);
	run_sh("chmod -R u+rwX '%s' 2>/dev/null; rm -rf '%s'", f->dir, f->dir);
}

/* The folder of the tools is in every cell, so that `probe` can be run there. */
static inline struct cell_spec fixture_spec(const struct fixture *f, int out)
{
	static const char *ro[2];

	ro[0] = f->tools;
	return (struct cell_spec){
		.workspace = f->ws,
		.layer_fd = f->layer,
		.idmap_base = f->base,
		.ro = ro,
		.floor = CELL_S2,
		.stdio = { -1, out, out },
	};
}

/* Runs what `spec` says with its output collected; the wait status, or -1 when the cell did not start. */
static inline int run_spec(struct cell_spec *spec)
{
	struct cell *c = NULL;
	size_t len = 0;
	int pipes[2], wstatus = -1;
	ssize_t n;

	output[0] = '\0';
	if (pipe2(pipes, O_CLOEXEC) < 0)
		return -1;
	spec->stdio[1] = spec->stdio[2] = pipes[1];
	int r = cell_start(spec, &c, &report, &err);
	close(pipes[1]);
	while (r >= 0 && len < sizeof(output) - 1 && (n = read(pipes[0], output + len, sizeof(output) - 1 - len)) > 0)
		len += (size_t)n;
	output[len] = '\0';
	close(pipes[0]);
	if (r < 0) {
		diag("cell_start: %s", err.text);
		return -1;
	}
	if (cell_wait(c, &wstatus, &err) < 0)
		wstatus = -1;
	cell_end(&c);
	return wstatus;
}

/* A shell command in a cell. */
static inline int in_cell(const struct fixture *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static inline int in_cell(const struct fixture *f, const char *fmt, ...)
{
	static char command[8192], path[PATH_MAX + 16];
	static const char *argv[] = { "sh", "-c", command, NULL };
	static const char *env[] = { path, NULL };
	struct cell_spec spec = fixture_spec(f, -1);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	snprintf(path, sizeof(path), "T=%s", f->tools);
	spec.argv = argv;
	spec.env = env;
	return run_spec(&spec);
}

/* The output has this line. */
static inline bool has_line(const char *line)
{
	size_t len = strlen(line);

	for (const char *p = output; *p; p += strcspn(p, "\n"), p += *p == '\n')
		if (strncmp(p, line, len) == 0 && (p[len] == '\n' || p[len] == '\0'))
			return true;
	diag("no line \"%s\" in:\n%s", line, output);
	return false;
}

/* ---- trees */

static struct digest tree_digest_state;

static inline int tree_digest_entry(const char *path, const struct stat *st, int type, struct FTW *w)
{
	(void)type;
	(void)w;
	digest_add_sized(&tree_digest_state, path, strlen(path));
	digest_add_u64(&tree_digest_state, st->st_mode);
	digest_add_u64(&tree_digest_state, st->st_ino);
	digest_add_u64(&tree_digest_state, st->st_uid);
	digest_add_u64(&tree_digest_state, (uint64_t)st->st_mtim.tv_sec);
	digest_add_u64(&tree_digest_state, (uint64_t)st->st_mtim.tv_nsec);
	if (S_ISREG(st->st_mode)) {
		char block[65536];
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t n;

		while (fd >= 0 && (n = read(fd, block, sizeof(block))) > 0)
			digest_add(&tree_digest_state, block, (size_t)n);
		close(fd);
	}
	return 0;
}

/* Names, modes, owners, inodes, times and contents of a tree, in hex. */
static inline char *tree_digest(const char *path, char ret[DIGEST_HEX_LEN + 1])
{
	uint8_t out[DIGEST_LEN];

	digest_init(&tree_digest_state);
	nftw(path, tree_digest_entry, 32, FTW_PHYS);
	digest_end(&tree_digest_state, out);
	return digest_hex(out, ret);
}

/* ---- processes of the host */

/* How many processes have `word` as an argument. */
static inline int count_processes(const char *word)
{
	char command[256];

	snprintf(command, sizeof(command), "grep -laz -e '^%s$' /proc/[0-9]*/cmdline 2>/dev/null | wc -l", word);
	FILE *p = popen(command, "re");
	int n = -1;

	if (p && fscanf(p, "%d", &n) != 1)
		n = -1;
	if (p)
		pclose(p);
	return n;
}

/* Waits until there are `n` of them; how long it took in ms, or -1. */
static inline int64_t wait_processes(const char *word, int n, int64_t timeout_ms)
{
	int64_t start = clock_mono_ms();

	while (clock_mono_ms() - start < timeout_ms) {
		if (count_processes(word) == n)
			return clock_mono_ms() - start;
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
	}
	return -1;
}

#endif
