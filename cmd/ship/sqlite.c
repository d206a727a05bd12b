/*
 * The identity of the file is noted before it is opened: so a file that replaces it meanwhile is
 * noticed later, and never missed.
 */
#include "ship/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "io/file.h"

int
sqlite_open(struct sqlite *s, int flags, int busy_ms, struct error *err)
{
	const int how = (flags & SQLITE_OPEN_READWRITE ? O_RDWR : O_RDONLY) | (flags & SQLITE_OPEN_CREATE ? O_CREAT : 0);
	int fd = open(s->path, how | O_NONBLOCK | O_CLOEXEC, 0600);

	if (fd == -1 || fstat(fd, &s->file) != 0) {
		error_errno(err, ERROR_SYSTEM, s->path, "unable to open");
		file_close(&fd);
		return -1;
	}
	/* No lock is held yet that closing the file would release. */
	file_close(&fd);
	if (sqlite3_open_v2(s->path, &s->db, flags, NULL) != SQLITE_OK)
		return sqlite_fail(s, err);
	sqlite3_busy_timeout(s->db, busy_ms);
	sqlite3_extended_result_codes(s->db, 1);
	return 0;
}

bool
sqlite_is_replaced(const struct sqlite *s)
{
	struct stat now;

	return stat(s->path, &now) != 0 ? errno == ENOENT :
	    now.st_dev != s->file.st_dev || now.st_ino != s->file.st_ino;
}

int
sqlite_fail(const struct sqlite *s, struct error *err)
{
	const int cause = errno, code = sqlite3_errcode(s->db) & 0xff;
	const bool data = code == SQLITE_CONSTRAINT || code == SQLITE_TOOBIG || code == SQLITE_MISMATCH;

	/* SQLite has its own messages for errors of the system, and does not keep the reason of
	 * each. After a file that it could not create it tries others, so errno is that of the
	 * last of these. */
	errno = sqlite3_system_errno(s->db);
	if (errno == 0)
		errno = cause;
	if ((code == SQLITE_IOERR || code == SQLITE_CANTOPEN) && errno != 0 &&
	    errno != ENOENT)
		return error_errno(err, ERROR_SYSTEM, s->path, "%s", sqlite3_errmsg(s->db));
	return error_set(err, data ? ERROR_INVALID_INPUT : ERROR_SYSTEM, s->path, "%s",
	    sqlite3_errmsg(s->db));
}

sqlite3_stmt *
sqlite_statement(const struct sqlite *s, const char *sql, sqlite3_stmt **made, struct error *err)
{
	if (*made == NULL &&
	    sqlite3_prepare_v3(s->db, sql, -1, SQLITE_PREPARE_PERSISTENT, made, NULL) != SQLITE_OK)
		sqlite_fail(s, err);
	return *made;
}

int64_t
sqlite_number(const struct sqlite *s, const char *sql, sqlite3_stmt **made, struct error *err)
{
	sqlite3_stmt *statement = sqlite_statement(s, sql, made, err);
	int64_t number = -1;

	if (statement == NULL)
		return -1;
	if (sqlite3_step(statement) == SQLITE_ROW)
		number = sqlite3_column_int64(statement, 0);
	else
		sqlite_fail(s, err);
	sqlite3_reset(statement);
	return number;
}

int
sqlite_has_schema(const struct sqlite *s, sqlite3_stmt **made, struct error *err)
{
	const int64_t version = sqlite_number(s, "PRAGMA user_version", made, err);

	if (version > AWF_SQLITE_SCHEMA)
		return error_set(err, ERROR_USAGE, s->path, "was made by a later version of AWF, or by "
		    "another program");
	return version < 0 ? -1 : version == AWF_SQLITE_SCHEMA;
}
