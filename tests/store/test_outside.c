/* The verifier that docs/internals/log-format.md prints, run on a log that the code wrote: the page is complete. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/store/store_test.h"

#define DOCUMENT "docs/internals/log-format.md"

static struct home home;

/* The ```python block of the page into a file. */
static bool extract(int dirfd, const char *name)
{
	const char *top = getenv("top_srcdir");
	char path[1024], line[1024];
	bool within = false, found = false;

	snprintf(path, sizeof(path), "%s/%s", top ? top : ".", DOCUMENT);
	FILE *in = fopen(path, "re");
	int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	FILE *out = fdopen(fd, "w");
	while (in && out && fgets(line, sizeof(line), in)) {
		if (!strncmp(line, "```", 3))
			within = !strcmp(line, "```python\n");
		else if (within)
			found = fputs(line, out) >= 0;
	}
	if (in)
		fclose(in);
	if (out)
		fclose(out);
	return found;
}

static int verify_outside(int dirfd, char *output, size_t size)
{
	char script[TEST_PATH_MAX + 16], log[TEST_PATH_MAX + 16];

	snprintf(script, sizeof(script), "%s/verify.py", home.path);
	snprintf(log, sizeof(log), "%s/log.db", folder_path(dirfd));
	const char *argv[] = { "python3", script, log, NULL };
	return run_program(argv, "", output, size);
}

int main(void)
{
	static const char probe[] = "import sqlite3,sys; sys.exit(sqlite3.sqlite_version_info < (3, 37))";
	const char *python[] = { "python3", "-c", probe, NULL };
	char output[2000], want[200], hex[DIGEST_HEX_LEN + 1];
	uint8_t head[DIGEST_LEN];

	random_seed();
	home_make(&home);
	if (!ok(extract(home.fd, "verify.py"), "the page has the program"))
		return tap_end();
	if (run_program(python, "", output, sizeof(output))) {
		skip("verification without warder: no python3 with SQLite 3.37 here");
		home_end(&home);
		return tap_end();
	}
	int dirfd = session_with(&home, 40);
	struct log *log = log_opened(dirfd);
	add(log, "log.erased", 7, "{\"request\":\"r\"}", LOG_BARRIER);
	sql_must(dirfd, "DELETE FROM body WHERE seq = 7");
	long long newest = log_head(log, head);
	snprintf(want, sizeof(want), "intact, %lld events, newest hash %s\n", newest, digest_hex(head, hex));
	log_close(&log);
	is_int(verify_outside(dirfd, output, sizeof(output)), 0, "it accepts the log");
	is_str(output, want, "with the same newest hash");
	sql_without_triggers(dirfd, "UPDATE event SET time = time + 1 WHERE seq = 23");
	is_int(verify_outside(dirfd, output, sizeof(output)), 1, "it refuses an altered log");
	ok(strstr(output, "altered at seq 23"), "with the same first bad seq: %s", output);
	session_end(dirfd);
	home_end(&home);
	return tap_end();
}
