/*
 * What awf-ship keeps in SQLite, for what takes transcripts there and what reads them there.
 */
#ifndef AWF_SHIP_SQLITE_H
#define AWF_SHIP_SQLITE_H

#include <errno.h>
#include <stdbool.h>
#include <sys/stat.h>

#define AWF_SQLITE_SCHEMA 1 /* PRAGMA user_version: the version of the tables and views */

/* Whether a file is another, or gone, since it was opened. */
static inline bool
sqlite_is_replaced(const char *path, const struct stat *opened)
{
	struct stat now;

	return stat(path, &now) != 0 ? errno == ENOENT :
	    now.st_dev != opened->st_dev || now.st_ino != opened->st_ino;
}

#endif
