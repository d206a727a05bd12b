/*
 * A spool: a run in another vocabulary (projection/projection.h), written once for all clients
 * into an unnamed file. A position in it is a byte offset, as in a transcript, so that a client
 * that reconnects continues at its position. New lines of the run are projected in small pieces,
 * so that other work is not delayed. The spool is kept for a while after its last client has gone.
 */
#ifndef AWF_SERVE_RUNS_SPOOL_H
#define AWF_SERVE_RUNS_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "httpd/loop.h"
#include "projection/projection.h"
#include "serve_runs/feed.h"

struct spool {
	struct spools *all;
	struct spool *next;
	unsigned holders;
	struct feed *feed;           /* held */
	struct projector projector;
	int fd;
	int64_t position;            /* in the transcript: what was projected */
	int64_t end;                 /* of the file */
	int64_t lines;               /* in it */
	int64_t *marks;              /* where each 256th begins */
	size_t mark_room;
	unsigned cuts;               /* of the feed, that it knows of */
	unsigned generation;         /* anew whenever all was made anew */
	bool failed;
	struct loop_task task;
	struct loop_timer unused;
};

struct spools {
	struct loop *loop;
	struct feeds *feeds;
	const struct storage *storage;
	struct spool *first;
};

void spools_open(struct spools *all, struct loop *loop, struct feeds *feeds,
    const struct storage *storage);
void spools_close(struct spools *all);

/* That of a run and a projection, which has lines; NULL with *err. */
struct spool *spool_hold(struct spools *all, const char *run_id,
    const struct projection *projection, struct error *err);
void spool_release(struct spool *s);
/* Whether all of the transcript, as it is now, is in it; else it is made, and the streams of its
 * feed are woken up when more of it is there. */
bool spool_made(struct spool *s);
/* The place of the line with this number, counted from 0; the end if there are not so many. */
int64_t spool_find(const struct spool *s, int64_t line);
/* Whole lines from a place on, as feed_lines(). */
int spool_lines(struct spool *s, int64_t from, size_t most, struct buffer *lines);

#endif
