/*
 * What the filters that read a database share (awf-ship(7)): the command line, requests, reports.
 *
 * What the code relies on:
 *   - stdin is read until it ends, and requests are answered in order.
 *   - A run is reported again only when it has changed: all runs are examined when the database may
 *     have changed, and from time to time.
 *   - Output cannot be mistaken for another message: a line that does not begin with its seq, or
 *     contains a newline, is an error of its run.
 *   - An error of the database ends the filter: awf-mirror starts it again, and everything is
 *     reported again.
 */
#ifndef AWF_MIRROR_SOURCE_H
#define AWF_MIRROR_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* A run as the database has it. */
struct source_run {
	const char *run_id;      /* any text */
	int64_t seq, pruned;
	const char *digest, *origin;
	int64_t idle_ms;
};

enum source_changed {
	CHANGED_NOTHING,
	CHANGED_TOLD,            /* reported by source_run(); there may be more by now */
	CHANGED_UNKNOWN          /* all runs must be listed */
};

struct source {
	const char *program;
	const char *form;        /* of its URL, for --help */
	int look_ms;             /* interval of calling changed() without notifications */

	int (*open)(void *context, const char *url, struct error *err);
	/* Whether the tables exist: 1, 0, or -1 with *err. */
	int (*ready)(void *context, struct error *err);
	/* Reports all runs, the most recently changed first. */
	int (*list)(void *context, struct error *err);
	/* A descriptor that becomes readable when something may have changed; -1: none. */
	int (*fd)(void *context);
	/* Reports what has changed since the last call: enum source_changed; -1. */
	int (*changed)(void *context, struct error *err);
	/* Sends the lines of a run after this one with source_line(). */
	int (*lines)(void *context, const char *run_id, int64_t after, struct error *err);
	/* Sends a blob with source_data(), if it exists and has at most FETCH_BLOB_MOST bytes. */
	int (*blob)(void *context, const char *run_id, const char *sha256, struct error *err);
	void (*close)(void *context);
	void *context;
};

/* The whole main(). */
int source_main(const struct source *s, int argc, char **argv);

/* For list() and changed(): reports a run. */
void source_run(const struct source_run *run);
/* For lines(): sends the next line. text NULL: it is too long. 1: stop, the rest is useless; -1:
 * the reader has gone. */
int source_line(const char *text, size_t len, struct error *err);
/* For blob(): sends its bytes. */
void source_data(const void *bytes, size_t len);

#endif
