/* The system calls of the two tiers, as strace sees them. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/store/store_test.h"

#define NORMALS 20
#define TRACE "trace"

static struct home home;

static void mark(const char *text)
{
	if (write(1, text, strlen(text)) < 0)
		_exit(1);
}

/* The traced program: some ordinary events, then a barrier. */
static int traced(const char *path)
{
	int dirfd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct log *log = log_opened(dirfd);

	/* The first append after an open may sync the new header of the -wal. */
	add(log, "user.message", 0, "{}", LOG_NORMAL);
	mark("mark-normal\n");
	for (int i = 0; i < NORMALS; i++)
		add(log, "user.message", 0, "{}", LOG_NORMAL);
	mark("mark-barrier\n");
	add(log, "user.message", 0, "{}", LOG_BARRIER);
	mark("mark-end\n");
	_exit(0);
}

struct counts {
	int writes, syncs;
	bool sync_last; /* the last of them was a sync */
};

/* Of the -wal, between two marks. */
static bool count(int dirfd, const char *from, const char *to, struct counts *ret)
{
	char path[TEST_PATH_MAX + 16], line[4096];
	bool within = false, ended = false;

	*ret = (struct counts){ 0 };
	snprintf(path, sizeof(path), "%s/%s", folder_path(dirfd), TRACE);
	FILE *f = fopen(path, "re");
	if (!f)
		return false;
	while (!ended && fgets(line, sizeof(line), f)) {
		if (strstr(line, from))
			within = true;
		else if (within && strstr(line, to))
			ended = true;
		if (!within || ended || !strstr(line, "log.db-wal>"))
			continue;
		bool sync = strstr(line, "fdatasync(") || strstr(line, "fsync(");
		*(sync ? &ret->syncs : &ret->writes) += 1;
		ret->sync_last = sync;
	}
	fclose(f);
	return ended;
}

int main(int argc, char **argv)
{
	char self[TEST_PATH_MAX], folder[TEST_PATH_MAX], trace[TEST_PATH_MAX + 16], output[2000];
	struct counts normal, barrier;

	if (argc > 1)
		return traced(argv[1]);
	home_make(&home);
	int dirfd = session_with(&home, 1);
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	self[n < 0 ? 0 : n] = '\0';
	snprintf(folder, sizeof(folder), "%s", folder_path(dirfd));
	snprintf(trace, sizeof(trace), "%s/%s", folder, TRACE);
	/* The leak checker cannot run in a traced process. */
	setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
	const char *command[] = { "strace", "-f", "-y", "-o", trace, "-e", "trace=pwrite64,write,fdatasync,fsync",
				  self, folder, NULL };
	int status = run_program(command, "", output, sizeof(output));
	if (status == 127 || !strstr(output, "mark-end")) {
		skip("system calls of an append: strace cannot trace here (status %d)", status);
	} else {
		ok(count(dirfd, "mark-normal", "mark-barrier", &normal), "the ordinary events are in the trace");
		ok(normal.writes >= NORMALS, "they are written to the -wal (%d writes)", normal.writes);
		is_int(normal.syncs, 0, "and not synced");
		ok(count(dirfd, "mark-barrier", "mark-end", &barrier), "the barrier is in the trace");
		ok(barrier.writes > 0 && barrier.syncs > 0 && barrier.sync_last,
		   "it writes to the -wal, then syncs the whole file, earlier events included (%d writes, %d syncs)",
		   barrier.writes, barrier.syncs);
	}
	session_end(dirfd);
	home_end(&home);
	return tap_end();
}
