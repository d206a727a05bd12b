/*
 * The server: what all parts of awf-serve share. It works on the files of the storage, as other
 * programs do; nothing is lost when it ends.
 *
 * There is one loop (httpd/loop.h) in one thread. Threads write what clients send to disk
 * (serve_runs/upload.h), and child processes do other work that takes long (serve_runs/work.h).
 * HTTP is implemented by httpd/connection.h, not by a library: existing libraries accept requests
 * that must be refused if they come through a proxy, and do not enforce time limits reliably.
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
#include "serve_runs/tally.h"
#include "serve_runs/upload.h"
#include "serve_runs/work.h"
#include "storage/storage.h"

struct route;

struct listener {
	struct httpd_listener accepts;
	int fd;                  /* -1 once struct httpd_listener has it */
	char *path;              /* the file of a Unix socket that this process made; NULL */
	char *url;               /* "http://127.0.0.1:8741", "unix:PATH" */
	bool local;
};

struct settings {
	char **listen;           /* "ADDR:PORT", "unix:PATH" */
	char *workflows;         /* directory of the workflows that hooks may start; NULL: none */
	int64_t clients;         /* most connections */
	int64_t clients_per_address;
	int64_t ingest_rate;     /* events a second, for a run and for an address */
	int64_t blob_quota;      /* bytes of blobs that wait for their runs */
	const char *database;    /* URL of the database whose runs are served; NULL: runs of the
	                            storage are served */
};

/* Counters since the server started. */
struct counts {
	int64_t requests, refused, ingested;
};

struct server {
	struct settings settings;
	struct storage storage;  /* the storage whose runs are served */
	struct storage outgoing; /* where uploads are stored: the same, except with --db */
	struct storage home;     /* the user's own storage, which has the tokens: the same, except
	                            with --db */
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
	struct tally tally;
	struct spools spools;
	struct works works;
	size_t printing;         /* programs whose output will be an answer (serve/printed.h) */
	size_t searching;        /* searches that go on (serve/search.h) */
	struct uploads uploads;
	struct streams streams;
	struct counts counts;
	struct loop_source signals;
	int resumer;             /* descriptor of the resumer that the server has started; -1: none */
	bool stopped;            /* by a signal, or because nothing can be served */
	int status;              /* exit status */
	bool closing;
};

/* Opens the storage. It must exist: a misspelt name must not make a new one. */
int server_storage(struct storage *s, struct error *err);
/* Opens everything but the listening sockets. server_close() must be called even if it fails. */
int server_open(struct server *s, struct error *err);
/* Serves until SIGINT or SIGTERM. */
int server_run(struct server *s, struct error *err);
void server_close(struct server *s);

#endif
