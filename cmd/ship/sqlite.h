/*
 * What awf-ship keeps in SQLite, for what takes transcripts there and what reads them there.
 */
#ifndef AWF_SHIP_SQLITE_H
#define AWF_SHIP_SQLITE_H

#define AWF_SQLITE_SCHEMA 1 /* PRAGMA user_version: the version of the tables and views */

#endif
