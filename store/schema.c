#include "store/schema.h"

#include <inttypes.h>
#include <string.h>

#include "store/db.h"
#include "store/event.h"

/* SQLite stores the text of a definition from its name on, so these are also what sqlite_schema must hold. */
static const struct object {
	const char *type, *name, *table, *sql;
} objects[] = {
	{ "table", "event", "event",
	  "CREATE TABLE event(seq INTEGER PRIMARY KEY, time INTEGER, kind TEXT, actor TEXT, ref INTEGER, len INTEGER, "
	  "commitment BLOB, hash BLOB) STRICT" },
	{ "table", "body", "body",
	  "CREATE TABLE body(seq INTEGER PRIMARY KEY, salt BLOB, preview TEXT, codec INTEGER, data BLOB) STRICT" },
	{ "trigger", "event_append", "event",
	  "CREATE TRIGGER event_append BEFORE INSERT ON event "
	  "WHEN NEW.seq IS NOT (SELECT ifnull(max(seq), 0) + 1 FROM event) "
	  "BEGIN SELECT RAISE(ABORT, 'the log is append-only: an event must have the newest seq + 1'); END" },
	{ "trigger", "event_update", "event",
	  "CREATE TRIGGER event_update BEFORE UPDATE ON event "
	  "BEGIN SELECT RAISE(ABORT, 'the log is append-only: an event never changes'); END" },
	{ "trigger", "event_delete", "event",
	  "CREATE TRIGGER event_delete BEFORE DELETE ON event "
	  "BEGIN SELECT RAISE(ABORT, 'the log is append-only: an event is never removed'); END" },
	{ "trigger", "body_append", "body",
	  "CREATE TRIGGER body_append BEFORE INSERT ON body "
	  "WHEN NEW.seq IS NOT (SELECT max(seq) FROM event) OR EXISTS (SELECT 1 FROM body WHERE seq = NEW.seq) "
	  "BEGIN SELECT RAISE(ABORT, 'the log is append-only: only the newest event takes a body, once'); END" },
	{ "trigger", "body_update", "body",
	  "CREATE TRIGGER body_update BEFORE UPDATE ON body "
	  "BEGIN SELECT RAISE(ABORT, 'the log is append-only: a body never changes'); END" },
	{ "trigger", "body_delete", "body",
	  "CREATE TRIGGER body_delete BEFORE DELETE ON body "
	  "WHEN NOT EXISTS (SELECT 1 FROM event WHERE kind = 'log.erased' AND ref = OLD.seq) "
	  "BEGIN SELECT RAISE(ABORT, 'the log is append-only: a body leaves only after log.erased'); END" },
};

/* Last, because it opens the WAL and everything before is meant to be in the file itself. */
static int set_wal(sqlite3 *db, struct err *err)
{
	_cleanup_stmt_ sqlite3_stmt *mode = NULL;
	int r = db_prepare(db, "PRAGMA journal_mode = WAL", &mode, err);

	if (!r)
		r = db_step(mode, err);
	if (r < 0)
		return r;
	/* It answers with the mode that is on, and calls no refusal an error. */
	if (r != 1 || strcmp((const char *)sqlite3_column_text(mode, 0), "wal"))
		return err_set(err, E_IO, "SQLite cannot use a write-ahead log here; move WARDER_HOME to a local disk");
	return 0;
}

int schema_create(sqlite3 *db, struct err *err)
{
	int r = db_exec(db,
			"PRAGMA encoding = 'UTF-8'; PRAGMA synchronous = FULL; BEGIN IMMEDIATE; "
			"PRAGMA application_id = " DB_TEXT(SCHEMA_APPLICATION_ID) "; "
			"PRAGMA user_version = " DB_TEXT(EVENT_FORMAT_VERSION),
			err);

	for (size_t i = 0; !r && i < ARRAY_LEN(objects); i++)
		r = db_exec(db, objects[i].sql, err);
	if (!r)
		r = db_exec(db, "COMMIT", err);
	return r ? r : set_wal(db, err);
}

static bool same(const char *a, const char *b)
{
	return a && b && !strcmp(a, b);
}

static int check_number(sqlite3 *db, const char *pragma, int64_t want, struct err *err)
{
	int64_t got;
	int r = db_get_int(db, pragma, &got, err);

	if (r)
		return r;
	if (got != want)
		return err_set(err, E_CORRUPT, "%s is %" PRId64 ", not %" PRId64, pragma + strlen("PRAGMA "), got,
			       want);
	return 0;
}

static int check_version(sqlite3 *db, struct err *err)
{
	int64_t version;
	int r = db_get_int(db, "PRAGMA user_version", &version, err);

	if (r)
		return r;
	if (version > EVENT_FORMAT_VERSION)
		return err_set(err, E_INVALID,
			       "the log has format version %" PRId64 ", this warder knows versions up to %d; "
			       "use a newer warder", version, EVENT_FORMAT_VERSION);
	return 0;
}

/* Strikes the object off the list of those still to be found. */
static int check_object(sqlite3_stmt *row, enum schema_part part, unsigned *found, struct err *err)
{
	const char *type = (const char *)sqlite3_column_text(row, 0);
	const char *name = (const char *)sqlite3_column_text(row, 1);
	const char *table = (const char *)sqlite3_column_text(row, 2);
	const char *sql = (const char *)sqlite3_column_text(row, 3);

	for (size_t i = 0; i < ARRAY_LEN(objects); i++) {
		const struct object *o = &objects[i];
		if (!same(name, o->name))
			continue;
		if (part == SCHEMA_TABLES && strcmp(o->type, "table"))
			return 0;
		if (!same(type, o->type) || !same(table, o->table) || !same(sql, o->sql) ||
		    (size_t)sqlite3_column_bytes(row, 3) != strlen(o->sql))
			return err_set(err, E_CORRUPT, "%s %s is not ours", o->type, o->name);
		*found |= 1u << i;
		return 0;
	}
	if (part == SCHEMA_TABLES)
		return 0;
	return err_set(err, E_CORRUPT, "%.20s %.80s is not ours", type ? type : "object",
		       name ? name : "without a name");
}

static int check_objects(sqlite3 *db, enum schema_part part, struct err *err)
{
	_cleanup_stmt_ sqlite3_stmt *row = NULL;
	unsigned found = 0;
	int r = db_prepare(db, "SELECT type, name, tbl_name, sql FROM sqlite_schema", &row, err);

	while (!r && (r = db_step(row, err)) == 1)
		r = check_object(row, part, &found, err);
	if (r)
		return r;
	for (size_t i = 0; i < ARRAY_LEN(objects); i++)
		if (!(found & 1u << i) && (part == SCHEMA_ALL || !strcmp(objects[i].type, "table")))
			return err_set(err, E_CORRUPT, "%s %s is missing", objects[i].type, objects[i].name);
	return 0;
}

int schema_check(sqlite3 *db, enum schema_part part, struct err *err)
{
	int r = check_version(db, err);

	if (!r)
		r = check_objects(db, part, err);
	if (!r)
		r = check_number(db, "PRAGMA user_version", EVENT_FORMAT_VERSION, err);
	if (!r && part == SCHEMA_ALL)
		r = check_number(db, "PRAGMA application_id", SCHEMA_APPLICATION_ID, err);
	return r;
}
