/*
 * Start-up and command latency, as ratios within one run: every way is taken in turn, round after round, so that a load
 * that drifts meets all of them alike.  Prints medians, 95th percentiles, the ratio to the floor, and the load.
 *
 *	bench_cell WARDER [ROUNDS]
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/macro.h"
#include "jail/cell.h"

#define ROUNDS_MAX 1000

extern char **environ;

static char warder_path[4096];
static int null_fd;

/* The cell that keeps running, and the pipes to its hand. */
static struct {
	struct cell *cell;
	int in, out;
	int next;
} running;

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int spawn_and_wait(const char *const *argv)
{
	posix_spawn_file_actions_t files;
	int status = -1;
	pid_t pid;

	posix_spawn_file_actions_init(&files);
	for (int fd = 0; fd < 3; fd++)
		posix_spawn_file_actions_adddup2(&files, null_fd, fd);
	int r = posix_spawnp(&pid, argv[0], &files, NULL, (char *const *)(uintptr_t)argv, environ);
	posix_spawn_file_actions_destroy(&files);
	if (r == 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status))
		return WEXITSTATUS(status);
	return -1;
}

/* One line out, lines in until the one that answers. */
static int ask_hand(const char *method_and_params)
{
	char line[65536], want[32];
	size_t n = 0;
	int id = ++running.next;

	dprintf(running.in, "{\"jsonrpc\":\"2.0\",\"id\":%d,%s}\n", id, method_and_params);
	snprintf(want, sizeof(want), "\"id\":%d", id);
	for (;;) {
		char c;

		if (read(running.out, &c, 1) != 1)
			return -1;
		if (c != '\n' && n < sizeof(line) - 1) {
			line[n++] = c;
			continue;
		}
		line[n] = '\0';
		n = 0;
		if (strstr(line, want))
			return strstr(line, "\"isError\":true") || strstr(line, "\"error\":") ? 1 : 0;
	}
}

static int start_running(void)
{
	char workspace[] = "/tmp/warder-bench.XXXXXX";
	int to[2], from[2];
	struct err err = { 0 };
	struct cell_report report = { 0 };
	int64_t base = 0;
	static int lock = -1;

	if (!mkdtemp(workspace) || pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0)
		return -1;
	int run_fd = open(workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (cell_idmap_pick(run_fd, 0, &base, &lock, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return -1;
	}
	const struct cell_spec spec = {
		.workspace = workspace,
		.layer_fd = -1,
		.idmap_base = base,
		.stdio = { to[0], from[1], null_fd },
		.floor = CELL_S2,
	};
	if (cell_start(&spec, &running.cell, &report, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return -1;
	}
	running.in = to[1];
	running.out = from[0];
	close(to[0]);
	close(from[1]);
	return ask_hand("\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
			"\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}");
}

static int way_hand(const char *const *argv)
{
	(void)argv;
	return ask_hand(
		"\"method\":\"tools/call\",\"params\":{\"name\":\"bash\",\"arguments\":{\"command\":\"true\"}}");
}

static const char *const argv_true[] = { "/usr/bin/true", NULL };
static const char *const argv_bash[] = { "/bin/bash", "-c", "true", NULL };
static const char *const argv_version[] = { warder_path, "--version", NULL };
static const char *const argv_jail[] = { warder_path, "jail", "--", "/usr/bin/true", NULL };
static const char *const argv_bwrap[] = { "bwrap",
					  "--unshare-all",
					  "--ro-bind",
					  "/usr",
					  "/usr",
					  "--symlink",
					  "usr/lib",
					  "/lib",
					  "--symlink",
					  "usr/lib64",
					  "/lib64",
					  "--symlink",
					  "usr/bin",
					  "/bin",
					  "--proc",
					  "/proc",
					  "--dev",
					  "/dev",
					  "--tmpfs",
					  "/tmp",
					  "--die-with-parent",
					  "/usr/bin/true",
					  NULL };

static struct way {
	const char *name;
	int (*take)(const char *const *argv);
	const char *const *argv;
	size_t floor; /* index of the way that its ratio is to */
	bool missing;
	double ms[ROUNDS_MAX];
} ways[] = {
	{ "bare spawn of true", spawn_and_wait, argv_true, 0, false, { 0 } },
	{ "warder --version", spawn_and_wait, argv_version, 0, false, { 0 } },
	{ "bwrap -- true (no overlay)", spawn_and_wait, argv_bwrap, 0, false, { 0 } },
	{ "warder jail -- true", spawn_and_wait, argv_jail, 0, false, { 0 } },
	{ "bare spawn of bash -c true", spawn_and_wait, argv_bash, 4, false, { 0 } },
	{ "bash true in a running cell", way_hand, NULL, 4, false, { 0 } },
};

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	size_t rounds = argc > 2 ? (size_t)atoi(argv[2]) : 100;
	char load[64] = "?";

	if (argc < 2 || !realpath(argv[1], warder_path) || rounds < 1 || rounds > ROUNDS_MAX) {
		fprintf(stderr, "usage: bench_cell WARDER [ROUNDS]\n");
		return 2;
	}
	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (start_running() != 0) {
		fprintf(stderr, "bench_cell: no cell here; see warder doctor\n");
		return 3;
	}
	for (size_t w = 0; w < ARRAY_LEN(ways); w++)
		ways[w].missing = ways[w].take(ways[w].argv) != 0;
	for (size_t i = 0; i < rounds; i++)
		for (size_t w = 0; w < ARRAY_LEN(ways); w++) {
			double start = now_ms();

			if (!ways[w].missing && ways[w].take(ways[w].argv) != 0)
				ways[w].missing = true;
			ways[w].ms[i] = now_ms() - start;
		}
	cell_end(&running.cell);

	FILE *f = fopen("/proc/loadavg", "r");
	if (f && fgets(load, sizeof(load), f))
		load[strcspn(load, "\n")] = '\0';
	if (f)
		fclose(f);
	printf("%-30s %9s %9s %7s   (%zu rounds in turn, uid %d, load %s)\n", "", "p50 ms", "p95 ms", "ratio", rounds,
	       (int)getuid(), load);
	for (size_t w = 0; w < ARRAY_LEN(ways); w++)
		qsort(ways[w].ms, rounds, sizeof(double), compare);
	for (size_t w = 0; w < ARRAY_LEN(ways); w++) {
		if (ways[w].missing)
			printf("%-30s not measured: it failed or is not installed\n", ways[w].name);
		else
			printf("%-30s %9.2f %9.2f %6.2fx\n", ways[w].name, ways[w].ms[rounds / 2],
			       ways[w].ms[rounds * 95 / 100],
			       ways[w].ms[rounds / 2] / ways[ways[w].floor].ms[rounds / 2]);
	}
	return 0;
}
