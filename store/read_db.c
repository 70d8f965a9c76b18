#include "store/read_db.h"

#include "store/log.h"

#define DB_NAME "log.db"
#define WAL_NAME "log.db-wal"

int read_db_open(int dirfd, struct read_db *ret, struct err *err)
{
	bool frozen = !db_file_exists(dirfd, WAL_NAME) && !log_is_locked(dirfd);
	sqlite3 *db;

	if (!db_file_exists(dirfd, DB_NAME))
		return err_set(err, E_NOTFOUND, "the session has no log; it never started");
	int r = db_open(dirfd, DB_NAME, frozen ? DB_FROZEN : DB_READ, &db, err);
	if (!r)
		*ret = (struct read_db){ .db = db, .frozen = frozen };
	return r;
}

void read_db_close(struct read_db *r)
{
	db_close(&r->db);
}

bool read_db_stale(int dirfd, const struct read_db *r)
{
	return r->frozen && db_file_exists(dirfd, WAL_NAME);
}
