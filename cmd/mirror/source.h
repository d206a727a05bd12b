/*
 * What the filters that read a database have in common (awf-ship(7)): the command line, what they
 * are asked, what they tell.
 *
 * What the code relies on:
 *   - stdin is read until it ends, and questions are answered one after the other, in order.
 *   - What was told of a run is told again only when it has changed: all runs are looked at when
 *     the database may have changed, and from time to time.
 *   - Nothing goes out that could be taken for another word: a line that does not begin with its
 *     seq, or goes on in a second one, is an error of its run.
 *   - A failure of the database ends the filter: who has started it starts it anew, and is told
 *     everything again.
 */
#ifndef AWF_MIRROR_SOURCE_H
#define AWF_MIRROR_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* A run as the database has it. */
struct source_run {
	const char *run_id;      /* whatever it says that is */
	int64_t seq, pruned;
	const char *digest, *origin;
	int64_t idle_ms;
};

enum source_changed {
	CHANGED_NOTHING,
	CHANGED_TOLD,            /* by source_run(); there may be more by now */
	CHANGED_UNKNOWN          /* all runs are to be listed */
};

struct source {
	const char *program;
	const char *form;        /* of its URL, for the help */
	int look_ms;             /* so often changed() is asked, though nothing tells of a change */

	int (*open)(void *context, const char *url, struct error *err);
	/* Whether there are tables: 1, 0, or -1 with *err. */
	int (*ready)(void *context, struct error *err);
	/* Tells of all runs, those first that have changed last. */
	int (*list)(void *context, struct error *err);
	/* What tells of a change can be read from it; -1: nothing does. */
	int (*fd)(void *context);
	/* What has changed since it was asked last, enum source_changed; -1. */
	int (*changed)(void *context, struct error *err);
	/* Sends by source_line() what follows a line of a run. */
	int (*lines)(void *context, const char *run_id, int64_t after, struct error *err);
	/* Sends by source_data() a blob, if there is one of at most FETCH_BLOB_MOST bytes. */
	int (*blob)(void *context, const char *run_id, const char *sha256, struct error *err);
	void (*close)(void *context);
	void *context;
};

/* All of main(). */
int source_main(const struct source *s, int argc, char **argv);

/* For list() and changed(): a run as it is now. */
void source_run(const struct source_run *run);
/* For lines(): the next line. text NULL: it is too long. 1: what follows is of no use; -1: nobody
 * reads any more. */
int source_line(const char *text, size_t len, struct error *err);
/* For blob(). */
void source_data(const void *bytes, size_t len);

#endif
