/*
 * The server: what all of awf-serve's parts share. It works on the storage's files, as other
 * programs do; it holds nothing that would be lost with it.
 *
 * One loop (httpd/loop.h) in one thread; what clients send is put on disk by threads beside it
 * (serve_runs/upload.h), what else takes long is done by processes (serve_runs/work.h). HTTP is
 * spoken by httpd/connection.h, not by a library: those that there are forgive what must be refused
 * of a request that somebody else passes on, and have no limits of time that hold.
 */
#ifndef AWF_SERVE_SERVE_H
#define AWF_SERVE_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "httpd/connection.h"
#include "httpd/loop.h"
#include "serve/www.h"
#include "serve_runs/access.h"
#include "serve_runs/catalog.h"
#include "serve_runs/database.h"
#include "serve_runs/feed.h"
#include "serve_runs/live.h"
#include "serve_runs/overview.h"
#include "serve_runs/spool.h"
#include "serve_runs/stream.h"
#include "serve_runs/upload.h"
#include "serve_runs/work.h"
#include "storage/storage.h"

struct route;

struct listener {
	struct httpd_listener accepts;
	int fd;                  /* until that has it */
	char *path;              /* of a Unix socket that was made; NULL */
	char *url;               /* "http://127.0.0.1:8741", "unix:PATH" */
	bool local;
};

struct settings {
	char **listen;           /* "ADDR:PORT", "unix:PATH" */
	char *workflows;         /* directory of what hooks may start; NULL: none */
	int64_t clients;         /* at most */
	int64_t clients_per_address;
	int64_t ingest_rate;     /* events a second, of a run and of an address */
	int64_t blob_quota;      /* bytes of blobs that wait for their runs */
	const char *database;    /* a URL: its runs are served; NULL: those of the storage */
};

/* What happened since the start. */
struct counts {
	int64_t requests, refused, ingested;
};

struct server {
	struct settings settings;
	struct storage storage;  /* that is served */
	struct storage outgoing; /* where what clients send is taken in: the same, but for a database */
	struct storage home;     /* this user's, with the tokens: the same, but for a database */
	struct database database;
	struct access access;
	struct loop loop;
	struct listener *listeners;
	size_t listener_count;

	const struct route *routes;
	struct httpd httpd;      /* its connections */

	struct www www;
	struct feeds feeds;
	struct overviews overviews;
	struct lives lives;
	struct catalog catalog;
	struct spools spools;
	struct works works;
	struct uploads uploads;
	struct streams streams;
	struct counts counts;
	struct loop_source signals;
	bool stopped;            /* by one, or as there is nothing to be served */
	int status;              /* to exit with */
	bool closing;
};

/* The storage, which must be there: a name that is misspelt makes none. */
int server_storage(struct storage *s, struct error *err);
/* Opens everything but the listeners. server_close() is called either way. */
int server_open(struct server *s, struct error *err);
/* Until SIGINT or SIGTERM. */
int server_run(struct server *s, struct error *err);
void server_close(struct server *s);

#endif
