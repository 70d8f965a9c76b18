#include "tests/store/store_test.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void die(const char *what, const char *why)
{
	diag("%s: %s", what, why);
	exit(99);
}

void home_make(struct home *h)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(h->path, sizeof(h->path), "%s/warder-store-XXXXXX",
		 tmp && tmp[0] == '/' && strlen(tmp) < 200 ? tmp : "/tmp");
	if (!mkdtemp(h->path) || (h->fd = open(h->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0 ||
	    mkdirat(h->fd, "sessions", 0700) ||
	    (h->sessions_fd = openat(h->fd, "sessions", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		die("scratch folder", strerror(errno));
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)ftw;
	if (type == FTW_D)
		(void)chmod(path, 0700);
	return remove(path);
}

void session_end(int dirfd)
{
	nftw(folder_path(dirfd), remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	close(dirfd);
}

void home_end(struct home *h)
{
	close(h->fd);
	close(h->sessions_fd);
	nftw(h->path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

int session_make(struct home *h, char ret_id[ID_LEN + 1])
{
	char id[ID_LEN + 1];
	struct err err = { 0 };

	if (id_new(id, &err))
		die("id_new", err.text);
	if (mkdirat(h->sessions_fd, id, 0700))
		die(id, strerror(errno));
	if (ret_id)
		memcpy(ret_id, id, sizeof(id));
	int fd = openat(h->sessions_fd, id, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		die(id, strerror(errno));
	return fd;
}

void file_copy(int from_fd, int to_fd, const char *name)
{
	struct stat st;
	int in = openat(from_fd, name, O_RDONLY | O_CLOEXEC);

	if (in < 0 && errno == ENOENT)
		return;
	int out = openat(to_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (in < 0 || out < 0 || fstat(in, &st))
		die(name, strerror(errno));
	for (off_t done = 0; done < st.st_size;)
		if (sendfile(out, in, &done, (size_t)(st.st_size - done)) <= 0)
			die(name, strerror(errno));
	close(in);
	close(out);
}

int session_copy(struct home *h, int from, char ret_id[ID_LEN + 1])
{
	int to = session_make(h, ret_id);

	file_copy(from, to, "log.db");
	file_copy(from, to, "log.db-wal");
	return to;
}

const char *folder_path(int dirfd)
{
	static char path[TEST_PATH_MAX];
	char link[64];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", dirfd);
	ssize_t n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		die(link, strerror(errno));
	path[n] = '\0';
	return path;
}

bool has_file(int dirfd, const char *name)
{
	return faccessat(dirfd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int64_t file_size(int dirfd, const char *name)
{
	struct stat st;

	return fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) ? -1 : st.st_size;
}

struct log *log_made(int dirfd)
{
	struct log *log;
	struct err err = { 0 };

	if (log_create(dirfd, &log, &err))
		die("log_create", err.text);
	return log;
}

struct log *log_opened(int dirfd)
{
	struct log *log;
	struct err err = { 0 };

	if (log_open(dirfd, &log, &err))
		die("log_open", err.text);
	return log;
}

int64_t add(struct log *log, const char *kind, int64_t ref, const char *body, enum log_tier tier)
{
	struct log_entry e = { .kind = kind, .actor = "keeper", .ref = ref, .body = body, .body_len = strlen(body) };
	struct err err = { 0 };
	int64_t seq;

	if (log_append(log, &e, tier, &seq, &err))
		die("log_append", err.text);
	return seq;
}

void add_many(struct log *log, int n)
{
	static const char *const kinds[] = { "user.message", "agent.message", "agent.tool_use", "policy.verdict",
					     "tool.started", "agent.tool_result" };
	static char body[40000];

	for (int i = 0; i < n; i++) {
		uint8_t hash[DIGEST_LEN];
		int64_t newest = log_head(log, hash);
		size_t fill = i % 5 == 4 ? 6000 + random_below(20000) : random_below(900);
		size_t at = (size_t)snprintf(body, sizeof(body), "{\"content\":\"event %d ", i);

		for (size_t j = 0; j < fill; j++)
			body[at++] = "the quick brown fox "[(j + random_below(3)) % 20];
		memcpy(body + at, "\"}", 3);
		add(log, newest ? kinds[i % 6] : "session.created",
		    i % 3 && newest ? 1 + random_below((uint32_t)newest) : 0, body, i % 7 ? LOG_NORMAL : LOG_BARRIER);
	}
}

int session_with(struct home *h, int n)
{
	int dirfd = session_make(h, NULL);
	struct log *log = log_made(dirfd);

	add_many(log, n);
	log_close(&log);
	return dirfd;
}

static sqlite3 *raw_open(int dirfd)
{
	char path[TEST_PATH_MAX + 16];
	sqlite3 *db;

	snprintf(path, sizeof(path), "%s/log.db", folder_path(dirfd));
	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
		die(path, sqlite3_errmsg(db));
	/* The tests drop and restore definitions byte for byte. */
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 0, (int *)NULL);
	return db;
}

int sql_try(int dirfd, const char *sql, char *ret_message, size_t size)
{
	sqlite3 *db = raw_open(dirfd);
	int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);

	if (ret_message)
		snprintf(ret_message, size, "%s", rc == SQLITE_OK ? "" : sqlite3_errmsg(db));
	sqlite3_close(db);
	return rc;
}

void sql_must(int dirfd, const char *sql)
{
	char why[300];

	if (sql_try(dirfd, sql, why, sizeof(why)) != SQLITE_OK)
		die(sql, why);
}

int64_t sql_int(int dirfd, const char *sql)
{
	sqlite3 *db = raw_open(dirfd);
	sqlite3_stmt *stmt;

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK || sqlite3_step(stmt) != SQLITE_ROW)
		die(sql, sqlite3_errmsg(db));
	int64_t n = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return n;
}

/* Their definitions, as statements. */
static void collect_triggers(int dirfd, char *names, char *sql, size_t size)
{
	sqlite3 *db = raw_open(dirfd);
	sqlite3_stmt *stmt;
	size_t n = 0, m = 0;

	if (sqlite3_prepare_v2(db, "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY rowid", -1,
			       &stmt, NULL) != SQLITE_OK)
		die("triggers", sqlite3_errmsg(db));
	names[0] = sql[0] = '\0';
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		n += (size_t)snprintf(names + n, size - n, "DROP TRIGGER %s;", sqlite3_column_text(stmt, 0));
		m += (size_t)snprintf(sql + m, size - m, "%s;", sqlite3_column_text(stmt, 1));
	}
	sqlite3_finalize(stmt);
	sqlite3_close(db);
}

void drop_triggers(int dirfd)
{
	char drop[4096], make[4096];

	collect_triggers(dirfd, drop, make, sizeof(drop));
	sql_must(dirfd, drop);
}

void sql_without_triggers(int dirfd, const char *sql)
{
	char drop[4096], make[4096];

	collect_triggers(dirfd, drop, make, sizeof(drop));
	sql_must(dirfd, drop);
	sql_must(dirfd, sql);
	sql_must(dirfd, make);
}

bool have_program(const char *name)
{
	char command[256];

	snprintf(command, sizeof(command), "command -v %s >/dev/null 2>&1", name);
	const char *argv[] = { "/bin/sh", "-c", command, NULL };
	return run_program(argv, "", NULL, 0) == 0;
}

int run_program(const char *const *argv, const char *input, char *output, size_t size)
{
	int in[2], out[2], status;
	size_t len = 0;

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		die("pipe", strerror(errno));
	pid_t pid = fork();
	if (pid < 0)
		die("fork", strerror(errno));
	if (!pid) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		dup2(out[1], 2);
		execvp(argv[0], (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	signal(SIGPIPE, SIG_IGN);
	/* The inputs are smaller than a pipe. */
	if (write(in[1], input, strlen(input)) < 0 && errno != EPIPE)
		die("write", strerror(errno));
	close(in[1]);
	for (;;) {
		char chunk[4096];
		ssize_t n = read(out[0], chunk, sizeof(chunk));
		if (n <= 0)
			break;
		for (ssize_t i = 0; i < n && len + 1 < size; i++)
			output[len++] = chunk[i];
	}
	close(out[0]);
	if (size)
		output[len] = '\0';
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool verdict_matches(int dirfd, enum log_verdict verdict, int64_t seq)
{
	struct log_report r;

	log_verify(dirfd, &r);
	if (r.verdict == verdict && r.seq == seq)
		return true;
	diag("got %s at seq %lld", log_verdict_name(r.verdict), (long long)r.seq);
	for (size_t i = 0; i < r.nclaims; i++)
		diag("  %s %d seq %lld: %s", r.claims[i].claim, r.claims[i].ok, (long long)r.claims[i].seq,
		     r.claims[i].why);
	return false;
}

bool long_run(void)
{
	const char *set = getenv("WARDER_LONG");

	return set && set[0];
}

static uint32_t random_state = 1;

void random_seed(void)
{
	const char *set = getenv("WARDER_SEED");
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	random_state = set ? (uint32_t)strtoul(set, NULL, 10) : (uint32_t)now.tv_nsec ^ (uint32_t)getpid();
	diag("WARDER_SEED=%u", random_state);
	random_state |= 1;
}

uint32_t random_below(uint32_t n)
{
	/* xorshift32 */
	random_state ^= random_state << 13;
	random_state ^= random_state >> 17;
	random_state ^= random_state << 5;
	return random_state % n;
}
