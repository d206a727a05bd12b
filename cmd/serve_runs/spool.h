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
	int64_t position;            /* in the transcript: end of the lines that were projected */
	int64_t end;                 /* end of the file */
	int64_t lines;               /* number of lines in the file */
	int64_t *marks;              /* offset of every 256th line */
	size_t mark_room;
	unsigned cuts;               /* value of feed->cuts that was last handled */
	unsigned generation;         /* incremented whenever the file is made again */
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

/* Returns the spool of a run for a projection into lines, with a reference that spool_release()
 * gives back; NULL with *err. */
struct spool *spool_hold(struct spools *all, const char *run_id,
    const struct projection *projection, struct error *err);
void spool_release(struct spool *s);
/* Whether the spool contains the whole transcript. If not, it is completed in the background, and
 * the streams of its feed are woken when there is more. */
bool spool_made(struct spool *s);
/* The position of the line with this number, counted from 0; the end if there are fewer lines. */
int64_t spool_find(const struct spool *s, int64_t line);
/* Appends whole lines from a position on, like feed_lines(). */
int spool_lines(struct spool *s, int64_t from, size_t most, struct buffer *lines);

#endif
