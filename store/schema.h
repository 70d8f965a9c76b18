/*
 * schema: the tables and triggers of log.db, as text that is compared byte for byte.  It creates them and says how a
 * database differs; it never repairs one.
 *
 * The triggers make the database itself refuse what is no append, for every program that opens it:
 *   event   UPDATE and DELETE always; INSERT of anything but the newest seq + 1.  The INSERT trigger is what stops
 *           REPLACE, upserts and gaps: SQLite fires delete triggers for REPLACE only with recursive_triggers on, which
 *           is a setting of the connection and off by default.
 *   body    UPDATE always; DELETE unless an event `log.erased` answers that seq; INSERT of anything but the body of
 *           the newest event, once.
 * They stop accidents and injected SQL, not an owner who drops them; then log_verify() says so.
 */
#ifndef WARDER_STORE_SCHEMA_H
#define WARDER_STORE_SCHEMA_H

#include <sqlite3.h>
#include <stdbool.h>

#include "core/base/err.h"

#define SCHEMA_APPLICATION_ID 0x77726472 /* "wrdr" */

/* Makes an empty database a log: WAL, version, tables, triggers.  Durable on return. */
int schema_create(sqlite3 *db, struct err *err) WARN_UNUSED;

enum schema_part {
	SCHEMA_TABLES, /* enough to read: the two tables are ours, the version is known */
	SCHEMA_ALL,    /* and the triggers are there, and nothing else is */
};

/* 0; E_INVALID for a newer format version; E_CORRUPT with what differs; else what SQLite said. */
int schema_check(sqlite3 *db, enum schema_part part, struct err *err) WARN_UNUSED;

#endif
