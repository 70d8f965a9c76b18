#include "store/catalog.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "core/base/id.h"
#include "store/db.h"
#include "store/session_state.h"

#define DB_NAME "catalog.db"
#define VERSION 1
#define STAMP_MAX 160
#define TEXT_MAX (64u << 10)
#define PREFIX_MIN 4
#define BUSY_MS 250 /* it is not worth waiting for a cache */
#define SETTLE_S 2 /* a file that is younger may still change without a new mtime */

#define TABLE                                                                                                   \
	"CREATE TABLE session(id TEXT PRIMARY KEY, stamp TEXT, created INTEGER, workspace TEXT, brain TEXT, "    \
	"preset TEXT, level TEXT, last_seq INTEGER, state TEXT, problem TEXT) STRICT, WITHOUT ROWID"

/* Where the rows are kept, from the best place to the last resort. */
enum place { AS_IS, REBUILT, IN_MEMORY };

static int open_sessions(int home_fd)
{
	return openat(home_fd, "sessions", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static void dir_close(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/* The names in sessions/ that are sessions'. */
static int each_folder(int home_fd, int (*each)(int sessions_fd, const char *id, void *arg, struct err *err), void *arg,
		       struct err *err)
{
	int fd = open_sessions(home_fd);
	const struct dirent *d;
	int r = 0;

	if (fd < 0)
		return errno == ENOENT ? 0 : err_errno(err, E_IO, errno, "cannot open the folder of sessions");
	_cleanup_(dir_close) DIR *dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return err_set(err, E_NOMEM, "folder of sessions: out of memory");
	}
	for (errno = 0; !r && (d = readdir(dir)); errno = 0)
		if (id_valid(d->d_name))
			r = each(fd, d->d_name, arg, err);
	if (!r && errno)
		return err_errno(err, E_IO, errno, "cannot read the folder of sessions");
	return r;
}

/* What tells whether a log grew.  "" never matches: the log is absent, or was written to just now. */
static void make_stamp(int session_fd, char ret[STAMP_MAX])
{
	static const char *const names[] = { "log.db", "log.db-wal" };
	struct stat st[2] = { 0 };
	time_t settled = time(NULL) - SETTLE_S;

	ret[0] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if ((fstatat(session_fd, names[i], &st[i], AT_SYMLINK_NOFOLLOW) && i == 0) || st[i].st_mtime > settled)
			return;
	snprintf(ret, STAMP_MAX, "%ju %jd %jd.%09ld %jd %jd.%09ld", (uintmax_t)st[0].st_ino, (intmax_t)st[0].st_size,
		 (intmax_t)st[0].st_mtim.tv_sec, st[0].st_mtim.tv_nsec, (intmax_t)st[1].st_size,
		 (intmax_t)st[1].st_mtim.tv_sec, st[1].st_mtim.tv_nsec);
}

static bool is_current(sqlite3 *db, const char *id, const char *stamp)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;

	if (!stamp[0] || db_prepare(db, "SELECT 1 FROM session WHERE id = ?1 AND stamp = ?2", &stmt, NULL))
		return false;
	sqlite3_bind_text(stmt, 1, id, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 2, stamp, -1, SQLITE_STATIC);
	return db_step(stmt, NULL) == 1;
}

static int store_row(sqlite3 *db, const char *id, const char *stamp, const struct session_state *s, struct err *err)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	const char *texts[] = { id, stamp, s->workspace, s->brain, s->preset, s->level, s->state, s->problem };
	int r = db_prepare(db,
			   "REPLACE INTO session(id, stamp, workspace, brain, preset, level, state, problem, created, "
			   "last_seq) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
			   &stmt, err);

	if (r)
		return r;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		sqlite3_bind_text(stmt, (int)i + 1, texts[i], -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 9, s->created);
	sqlite3_bind_int64(stmt, 10, s->last_seq);
	return db_step(stmt, err);
}

static int drop_row(sqlite3 *db, const char *id, struct err *err)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = db_prepare(db, "DELETE FROM session WHERE id = ?1", &stmt, err);

	if (r)
		return r;
	sqlite3_bind_text(stmt, 1, id, -1, SQLITE_STATIC);
	return db_step(stmt, err);
}

static int refresh_row(int sessions_fd, const char *id, void *arg, struct err *err)
{
	sqlite3 *db = arg;
	_cleanup_(arena_free) struct arena arena = ARENA_INIT(TEXT_MAX);
	_cleanup_fd_ int fd = openat(sessions_fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct session_state state;
	char stamp[STAMP_MAX];

	/* A folder without a log is a session that is being made, or never was. */
	if (fd < 0 || !db_file_exists(fd, "log.db"))
		return drop_row(db, id, err);
	/* Before reading: what is written meanwhile makes the row out of date, not the stamp. */
	make_stamp(fd, stamp);
	if (is_current(db, id, stamp))
		return 0;
	session_state_read(fd, &arena, &state);
	return store_row(db, id, stamp, &state, err);
}

/* Rows whose folder is gone. */
static int drop_gone(sqlite3 *db, int home_fd, struct err *err)
{
	_cleanup_stmt_ sqlite3_stmt *ids = NULL;
	_cleanup_fd_ int sessions_fd = open_sessions(home_fd);
	int r = db_prepare(db, "SELECT id FROM session", &ids, err);

	while (!r && (r = db_step(ids, err)) == 1) {
		const char *id = (const char *)sqlite3_column_text(ids, 0);
		struct stat st;

		r = 0;
		if (sessions_fd < 0 || !id || !id_valid(id) || fstatat(sessions_fd, id, &st, AT_SYMLINK_NOFOLLOW))
			r = drop_row(db, id ? id : "", err);
	}
	return r;
}

static int make_tables(sqlite3 *db, struct err *err)
{
	return db_exec(db, "BEGIN; " TABLE "; PRAGMA user_version = " DB_TEXT(VERSION) "; COMMIT", err);
}

static int check_tables(sqlite3 *db, struct err *err)
{
	int64_t version, ours;
	int r = db_get_int(db, "PRAGMA user_version", &version, err);

	if (!r)
		r = db_get_int(db, "SELECT count(*) = 1 AND ifnull(max(sql = '" TABLE "'), 0) FROM sqlite_schema",
			       &ours, err);
	if (r)
		return r;
	return version == VERSION && ours ? 0 : err_set(err, E_CORRUPT, "catalog.db is not of this version");
}

static int create_file(int home_fd, struct err *err)
{
	_cleanup_fd_ int fd = openat(home_fd, DB_NAME, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 && errno == EEXIST)
		return 0;
	if (fd < 0 || fchmod(fd, 0600))
		return err_errno(err, E_IO, errno, "cannot create catalog.db");
	return 0;
}

static int open_file(int home_fd, bool rebuild, sqlite3 **ret, struct err *err)
{
	static const char *const files[] = { DB_NAME, DB_NAME "-wal", DB_NAME "-shm", DB_NAME "-journal" };
	_cleanup_db_ sqlite3 *db = NULL;
	int64_t tables;

	for (size_t i = 0; rebuild && i < ARRAY_LEN(files); i++)
		if (unlinkat(home_fd, files[i], 0) && errno != ENOENT)
			return err_errno(err, E_IO, errno, "cannot remove a damaged %s", files[i]);
	int r = create_file(home_fd, err);
	if (!r)
		r = db_open(home_fd, DB_NAME, DB_WRITE, &db, err);
	if (r)
		return r;
	sqlite3_busy_timeout(db, BUSY_MS);
	r = db_exec(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE", err);
	if (!r)
		r = db_get_int(db, "SELECT count(*) FROM sqlite_schema", &tables, err);
	if (!r && !tables)
		r = db_exec(db, TABLE "; PRAGMA user_version = " DB_TEXT(VERSION), err);
	if (!r)
		r = check_tables(db, err);
	if (!r)
		r = db_exec(db, "COMMIT", err);
	if (!r)
		*ret = steal_ptr(db);
	return r;
}

static int open_memory(sqlite3 **ret, struct err *err)
{
	_cleanup_db_ sqlite3 *db = NULL;
	int rc = sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	int r = rc == SQLITE_OK ? make_tables(db, err) : db_fail(db, rc, err);

	if (!r)
		*ret = steal_ptr(db);
	return r;
}

static int open_place(int home_fd, enum place place, sqlite3 **ret, struct err *err)
{
	return place == IN_MEMORY ? open_memory(ret, err) : open_file(home_fd, place == REBUILT, ret, err);
}

int catalog_refresh(int home_fd, const char *session, struct err *err)
{
	if (!id_valid(session))
		return err_set(err, E_INVALID, "%.40s: not the name of a session", session);

	_cleanup_fd_ int sessions_fd = open_sessions(home_fd);
	if (sessions_fd < 0)
		return err_errno(err, E_IO, errno, "cannot open the folder of sessions");
	int r = E_CORRUPT;
	for (enum place place = AS_IS; r == E_CORRUPT && place <= REBUILT; place++) {
		_cleanup_db_ sqlite3 *db = NULL;

		r = open_place(home_fd, place, &db, err);
		if (!r)
			r = refresh_row(sessions_fd, session, db, err);
	}
	if (r)
		err_prefix(err, "catalog");
	return r;
}

/* Everything up to the first row, so that damage shows before anything was handed out. */
static int prepare_list(sqlite3 *db, int home_fd, sqlite3_stmt **ret_rows, struct err *err)
{
	int r = db_exec(db, "BEGIN IMMEDIATE", err);

	if (!r)
		r = each_folder(home_fd, refresh_row, db, err);
	if (!r)
		r = drop_gone(db, home_fd, err);
	if (!r)
		r = db_exec(db, "COMMIT", err);
	/* An expression, so that SQLite must sort: it has then read the whole table at the first step. */
	if (!r)
		r = db_prepare(db, "SELECT id, created, last_seq, workspace, brain, preset, level, state, problem "
				   "FROM session ORDER BY substr(id, 1) DESC", ret_rows, err);
	return r ? r : db_step(*ret_rows, err);
}

static const char *column(sqlite3_stmt *row, int i)
{
	const char *text = (const char *)sqlite3_column_text(row, i);

	return text ? text : "";
}

static int hand_out(sqlite3_stmt *rows, int (*each)(const struct catalog_row *row, void *arg), void *arg,
		    struct err *err)
{
	int r, stop = 0;

	do {
		struct catalog_row row = {
			.created = sqlite3_column_int64(rows, 1), .last_seq = sqlite3_column_int64(rows, 2),
			.workspace = column(rows, 3), .brain = column(rows, 4), .preset = column(rows, 5),
			.level = column(rows, 6), .state = column(rows, 7),
			.problem = (const char *)sqlite3_column_text(rows, 8),
		};
		snprintf(row.session, sizeof(row.session), "%s", column(rows, 0));
		stop = each(&row, arg);
		r = stop ? 0 : db_step(rows, err);
	} while (r == 1);
	return stop ? stop : r;
}

int catalog_each(int home_fd, int (*each)(const struct catalog_row *row, void *arg), void *arg, struct err *err)
{
	for (enum place place = AS_IS;;) {
		_cleanup_db_ sqlite3 *db = NULL;
		_cleanup_stmt_ sqlite3_stmt *rows = NULL;
		int r = open_place(home_fd, place, &db, err);

		if (!r)
			r = prepare_list(db, home_fd, &rows, err);
		if (r >= 0)
			return r ? hand_out(rows, each, arg, err) : 0;
		if (place == IN_MEMORY) {
			err_prefix(err, "catalog");
			return r;
		}
		/* Only damage is healed by making the file anew. */
		place = place == AS_IS && r == E_CORRUPT ? REBUILT : IN_MEMORY;
	}
}

struct search {
	const char *prefix; /* "" for the newest */
	char found[ID_LEN + 1];
	size_t matches;
};

static int match(int sessions_fd, const char *id, void *arg, struct err *err)
{
	struct search *s = arg;
	char log[ID_LEN + sizeof("/log.db")];

	(void)err;
	snprintf(log, sizeof(log), "%s/log.db", id);
	if (strncmp(id, s->prefix, strlen(s->prefix)) || (!s->prefix[0] && !db_file_exists(sessions_fd, log)))
		return 0;
	s->matches++;
	if (strcmp(id, s->found) > 0)
		memcpy(s->found, id, sizeof(s->found));
	return 0;
}

int catalog_resolve(int home_fd, const char *name, char ret_session[32], struct err *err)
{
	bool newest = !strcmp(name, "-");
	struct search s = { .prefix = newest ? "" : name };

	if (!newest && strlen(name) < PREFIX_MIN)
		return err_set(err, E_USAGE,
			       "session %.40s: too short; give at least %d characters, or - for the newest", name,
			       PREFIX_MIN);
	int r = each_folder(home_fd, match, &s, err);
	if (r)
		return r;
	if (!s.matches)
		return err_set(err, E_NOTFOUND, newest ? "there is no session yet; start one with `warder run`" :
							 "session %.40s: there is none; see `warder ls`", name);
	if (!newest && s.matches > 1)
		return err_set(err, E_USAGE, "session %.40s: %zu sessions begin so; give more characters", name,
			       s.matches);
	memcpy(ret_session, s.found, sizeof(s.found));
	return 0;
}
