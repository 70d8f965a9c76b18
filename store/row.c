#include "store/row.h"

#include <string.h>

static bool get_int(sqlite3_stmt *stmt, int column, int64_t *ret)
{
	*ret = sqlite3_column_int64(stmt, column);
	return sqlite3_column_type(stmt, column) == SQLITE_INTEGER;
}

/* The whole text, without a NUL in it. */
static bool get_text(sqlite3_stmt *stmt, int column, const char **ret)
{
	if (sqlite3_column_type(stmt, column) != SQLITE_TEXT)
		return false;
	*ret = (const char *)sqlite3_column_text(stmt, column);
	return *ret && strlen(*ret) == (size_t)sqlite3_column_bytes(stmt, column);
}

static bool get_digest(sqlite3_stmt *stmt, int column, uint8_t ret[DIGEST_LEN])
{
	if (sqlite3_column_type(stmt, column) != SQLITE_BLOB || sqlite3_column_bytes(stmt, column) != DIGEST_LEN)
		return false;
	memcpy(ret, sqlite3_column_blob(stmt, column), DIGEST_LEN);
	return true;
}

const char *row_event(sqlite3_stmt *stmt, int first, struct event *ret)
{
	*ret = (struct event){ 0 };
	if (!get_int(stmt, first, &ret->seq))
		return "seq";
	if (!get_int(stmt, first + 1, &ret->time))
		return "time";
	if (!get_text(stmt, first + 2, &ret->kind))
		return "kind";
	if (!get_text(stmt, first + 3, &ret->actor))
		return "actor";
	/* NULL is hashed as 0, so a stored 0 would be a second spelling. */
	if (sqlite3_column_type(stmt, first + 4) != SQLITE_NULL && (!get_int(stmt, first + 4, &ret->ref) || !ret->ref))
		return "ref";
	if (!get_int(stmt, first + 5, &ret->len))
		return "len";
	if (!get_digest(stmt, first + 6, ret->commitment))
		return "commitment";
	if (!get_digest(stmt, first + 7, ret->hash))
		return "hash";
	return NULL;
}

const char *row_body(sqlite3_stmt *stmt, int first, struct row_body *ret)
{
	*ret = (struct row_body){ 0 };
	if (sqlite3_column_type(stmt, first + 1) != SQLITE_BLOB)
		return "salt";
	ret->salt = sqlite3_column_blob(stmt, first + 1);
	ret->salt_len = (size_t)sqlite3_column_bytes(stmt, first + 1);
	if (!get_text(stmt, first + 2, &ret->preview))
		return "preview";
	ret->preview_len = strlen(ret->preview);
	if (!get_int(stmt, first + 3, &ret->stored.codec))
		return "codec";
	if (sqlite3_column_type(stmt, first + 4) != SQLITE_BLOB)
		return "data";
	ret->stored.data = sqlite3_column_blob(stmt, first + 4);
	ret->stored.len = (size_t)sqlite3_column_bytes(stmt, first + 4);
	return NULL;
}

void row_commit(const struct row_body *b, uint8_t ret[DIGEST_LEN])
{
	event_commit(b->salt, b->salt_len, b->preview, b->preview_len, b->stored.codec, b->stored.data, b->stored.len,
		     ret);
}
