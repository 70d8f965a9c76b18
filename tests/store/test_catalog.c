/* The list of sessions: what it says, that it follows the logs, and that it is only a cache. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "store/catalog.h"
#include "tests/store/store_test.h"

static struct home home;

/* The list as text: a line "ID workspace brain preset level last_seq state problem?" a session. */
static char list[20000];

static int add_line(const struct catalog_row *row, void *arg)
{
	size_t at = strlen(list);

	(void)arg;
	snprintf(list + at, sizeof(list) - at, "%s %s %s %s %s %lld %s%s\n", row->session, row->workspace, row->brain,
		 row->preset, row->level, (long long)row->last_seq, row->state, row->problem ? " problem" : "");
	return 0;
}

static const char *listed(void)
{
	struct err err = { 0 };

	list[0] = '\0';
	int r = catalog_each(home.fd, add_line, NULL, &err);
	if (r)
		snprintf(list, sizeof(list), "error %d: %s", r, err.text);
	return list;
}

static int make(char ret_id[ID_LEN + 1], const char *workspace, const char *status_kind, const char *status_body)
{
	int dirfd = session_make(&home, ret_id);
	struct log *log = log_made(dirfd);
	char body[300];

	snprintf(body, sizeof(body), "{\"workspace\":\"%s\",\"brain\":\"b\",\"preset\":\"careful\",\"level\":\"S3\"}",
		 workspace);
	add(log, "session.created", 0, body, LOG_NORMAL);
	if (status_kind)
		add(log, status_kind, 0, status_body, LOG_NORMAL);
	add(log, "agent.message", 0, "{}", LOG_NORMAL);
	log_close(&log);
	return dirfd;
}

static void check_states(void)
{
	static const struct {
		const char *kind, *body, *state;
	} cases[] = {
		{ NULL, NULL, "idle" },
		{ "session.status_running", "{}", "running" },
		{ "session.status_rescheduled", "{}", "running" },
		{ "session.status_idle", "{\"stop_reason\":{\"type\":\"end_turn\"}}", "idle" },
		{ "session.status_idle", "{\"stop_reason\":{\"type\":\"requires_action\",\"event_ids\":[2]}}",
		  "waiting" },
		{ "session.status_idle", "{\"stop_reason\":{\"type\":\"interrupted\"}}", "stopped" },
		{ "session.status_idle", "{}", "idle" },
		{ "session.status_idle", "[]", "idle" },
		{ "session.status_terminated", "{}", "stopped" },
		{ "session.status_new", "{}", "idle" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char id[ID_LEN + 1], want[200];
		int dirfd = make(id, "/w", cases[i].kind, cases[i].body);
		snprintf(want, sizeof(want), "%s /w b careful S3 %d %s\n", id, cases[i].kind ? 3 : 2, cases[i].state);
		is_str(listed(), want, "%s %s", cases[i].kind ? cases[i].kind : "no status",
		       cases[i].body ? cases[i].body : "");
		session_end(dirfd);
		is_str(listed(), "", "a folder that is gone is not listed");
	}
}

/* Makes the files look as if nobody had touched them for a while, so that the cache trusts its stamps. */
static void settle(int dirfd)
{
	static const char *const names[] = { "log.db", "log.db-wal" };
	struct timespec old[2] = { { .tv_sec = time(NULL) - 100 }, { .tv_sec = time(NULL) - 100 } };

	for (size_t i = 0; i < 2; i++)
		(void)utimensat(dirfd, names[i], old, 0);
}

static int64_t catalog_int(const char *sql)
{
	sqlite3 *db;
	sqlite3_stmt *stmt;
	char path[TEST_PATH_MAX + 16];
	int64_t n = -1;

	snprintf(path, sizeof(path), "%s/catalog.db", home.path);
	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
	    sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK) {
		n = sqlite3_step(stmt) == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : 0;
		sqlite3_finalize(stmt);
	}
	sqlite3_close(db);
	return n;
}

static void check_follows(void)
{
	char a[ID_LEN + 1], b[ID_LEN + 1], want[400];
	int one = make(a, "/one", "session.status_running", "{}");
	struct err err = { 0 };
	struct stat st;

	/* Ids of one millisecond have no order. */
	nanosleep(&(struct timespec){ .tv_nsec = 3000000 }, NULL);
	int two = make(b, "/two", NULL, NULL);

	snprintf(want, sizeof(want), "%s /two b careful S3 2 idle\n%s /one b careful S3 3 running\n", b, a);
	is_str(listed(), want, "newest first");
	ok(!fstatat(home.fd, "catalog.db", &st, 0) && (st.st_mode & 07777) == 0600, "catalog.db is 0600");
	settle(one);
	settle(two);
	is_str(listed(), want, "again");
	is_int(catalog_int("SELECT count(*) FROM session WHERE stamp <> ''"), 2, "both rows are trusted now");
	is_int(catalog_int("UPDATE session SET workspace = '/cached'"), 0, "mark the rows");
	snprintf(want, sizeof(want), "%s /cached b careful S3 2 idle\n%s /cached b careful S3 3 running\n", b, a);
	is_str(listed(), want, "control: they come from the cache");

	struct log *log = log_opened(one);
	add(log, "session.status_idle", 0, "{}", LOG_NORMAL);
	snprintf(want, sizeof(want), "%s /cached b careful S3 2 idle\n%s /one b careful S3 4 idle\n", b, a);
	is_str(listed(), want, "a log that grew is read again");
	add(log, "session.status_terminated", 0, "{}", LOG_NORMAL);
	is_int(catalog_refresh(home.fd, a, &err), 0, "refreshed by name");
	is_int(catalog_int("SELECT last_seq FROM session ORDER BY id LIMIT 1"), 5, "the row is up to date");
	log_close(&log);
	is_int(catalog_refresh(home.fd, "../../etc", &err), E_INVALID, "a name that is none is refused");
	is_int(catalog_refresh(home.fd, "00000000000000000000", &err), 0, "a session that is not there is no error");

	/* Only a cache. */
	static const char *const files[] = { "catalog.db", "catalog.db-wal", "catalog.db-shm" };
	snprintf(want, sizeof(want), "%s /two b careful S3 2 idle\n%s /one b careful S3 5 stopped\n", b, a);
	for (size_t i = 0; i < 3; i++)
		unlinkat(home.fd, files[i], 0);
	is_str(listed(), want, "made anew when it is missing");
	settle(two);
	int fd = openat(home.fd, "catalog.db", O_WRONLY | O_TRUNC | O_CLOEXEC);
	is_int(write(fd, "garbage, garbage, garbage", 25), 25, "overwritten");
	close(fd);
	is_str(listed(), want, "made anew when it is no database");
	is_int(catalog_int("PRAGMA user_version = 9"), 0, "another version");
	is_str(listed(), want, "made anew when it is of another version");
	catalog_int("DROP TABLE session");
	catalog_int("CREATE VIEW session AS SELECT 1");
	is_str(listed(), want, "made anew when its table is another");
	is_int(catalog_int("PRAGMA page_count") > 1, 1, "it has pages");
	fd = openat(home.fd, "catalog.db", O_RDWR | O_CLOEXEC);
	char junk[4096];
	memset(junk, 0x5a, sizeof(junk));
	is_int(pwrite(fd, junk, sizeof(junk), 4096), 4096, "a page damaged");
	close(fd);
	unlinkat(home.fd, "catalog.db-wal", 0);
	is_str(listed(), want, "made anew when a page is damaged");
	for (size_t i = 0; i < 3; i++)
		unlinkat(home.fd, files[i], 0);
	is_int(symlinkat("/etc/passwd", home.fd, "catalog.db"), 0, "a symlink in its place");
	is_str(listed(), want, "is not followed");
	unlinkat(home.fd, "catalog.db", 0);
	is_int(mkdirat(home.fd, "catalog.db", 0700), 0, "a folder in its place");
	is_str(listed(), want, "the list is made in memory");
	is_int(catalog_refresh(home.fd, a, &err) < 0, 1, "and a refresh says that it cannot: %s", err.text);
	unlinkat(home.fd, "catalog.db", AT_REMOVEDIR);

	/* A log that cannot be read is shown, and hides no other. */
	sql_must(one, "PRAGMA user_version = 7");
	snprintf(want, sizeof(want), "%s /two b careful S3 2 idle\n%s     0 stopped problem\n", b, a);
	is_str(listed(), want, "a log of a newer version");
	int strange = openat(home.sessions_fd, "not-a-session", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	close(strange);
	int unborn = session_make(&home, NULL);
	is_str(listed(), want, "other names, and folders without a log, are not sessions");
	session_end(unborn);
	unlinkat(home.sessions_fd, "not-a-session", 0);
	session_end(one);
	session_end(two);
}

static int stop(const struct catalog_row *row, void *arg)
{
	(void)row;
	++*(int *)arg;
	return 7;
}

static void check_resolve(void)
{
	static const char *const ids[] = { "0aaa1111111111111111", "0aaa2222222222222222", "0bbb3333333333333333" };
	char got[32] = "untouched";
	struct err err = { 0 };
	int calls = 0;

	is_int(catalog_resolve(home.fd, "-", got, &err), E_NOTFOUND, "no session yet: %s", err.text);
	for (size_t i = 0; i < 3; i++) {
		is_int(mkdirat(home.sessions_fd, ids[i], 0700), 0, "made");
		int dirfd = openat(home.sessions_fd, ids[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		struct log *log = log_made(dirfd);
		log_close(&log);
		close(dirfd);
	}
	is_int(mkdirat(home.sessions_fd, "0zzz0000000000000000", 0700), 0, "one without a log");
	is_int(catalog_resolve(home.fd, "0bb", got, &err), E_USAGE, "three characters are too few: %s", err.text);
	is_int(catalog_resolve(home.fd, "", got, &err), E_USAGE, "so is none");
	is_int(catalog_resolve(home.fd, "0aaa", got, &err), E_USAGE, "two sessions begin so: %s", err.text);
	is_int(catalog_resolve(home.fd, "0ccc", got, &err), E_NOTFOUND, "none begins so: %s", err.text);
	is_int(catalog_resolve(home.fd, "../0bbb", got, &err), E_NOTFOUND, "a path is no prefix");
	is_int(catalog_resolve(home.fd, "0bbb%", got, &err), E_NOTFOUND, "nor a pattern");
	is_str(got, "untouched", "the out-parameter was left alone");
	is_int(catalog_resolve(home.fd, "0bbb", got, &err), 0, "four characters");
	is_str(got, ids[2], "name it");
	is_int(catalog_resolve(home.fd, "0aaa2", got, &err), 0, "five characters");
	is_str(got, ids[1], "tell two apart");
	is_int(catalog_resolve(home.fd, ids[0], got, &err), 0, "the whole name");
	is_str(got, ids[0], "is found");
	is_int(catalog_resolve(home.fd, "0aaa11111111111111111", got, &err), E_NOTFOUND,
	       "one more character is another name");
	is_int(catalog_resolve(home.fd, "-", got, &err), 0, "the newest");
	is_str(got, ids[2], "is the newest that has a log");
	is_int(catalog_each(home.fd, stop, &calls, &err), 7, "the list stops with the value of the callback");
	is_int(calls, 1, "at once");
}

/* A home that cannot be written: the list comes all the same. */
static void check_read_only(void)
{
	char want[20000];

	snprintf(want, sizeof(want), "%s", listed());
	pid_t pid = fork();
	if (!pid) {
		bool root = geteuid() == 0;
		if (root ? unshare(CLONE_NEWNS) || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) ||
				   mount(home.path, home.path, "none", MS_BIND, NULL) ||
				   mount("none", home.path, "none", MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) :
			   fchmod(home.fd, 0500) || unlinkat(home.fd, "catalog.db", 0) == 0)
			_exit(77);
		home.fd = open(home.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		_exit(strcmp(listed(), want) ? 1 : 0);
	}
	int status;
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip("a list on a read-only disk: no mount namespace here");
	else
		is_int(status, 0, "a list on a read-only disk");
	fchmod(home.fd, 0700);
}

int main(void)
{
	struct err err = { 0 };

	random_seed();
	home_make(&home);
	is_str(listed(), "", "no session: an empty list");
	check_states();
	check_follows();
	check_resolve();
	check_read_only();
	is_int(unlinkat(home.fd, "catalog.db", 0), 0, "the cache goes");
	close(openat(home.fd, "x", O_CREAT | O_CLOEXEC, 0600));
	is_int(renameat(home.fd, "sessions", home.fd, "away"), 0, "the sessions too");
	is_str(listed(), "", "no folder of sessions: an empty list");
	is_int(catalog_resolve(home.fd, "-", (char[32]){ 0 }, &err), E_NOTFOUND, "and none to resolve");
	home_end(&home);
	return tap_end();
}
