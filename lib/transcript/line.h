/*
 * The line of an event. It is made before the transcript's lock is taken, but for
 * seq and timestamp, which are put in front later, prev, and the signature of a seal,
 * whose places it holds with zeros; its large and its binary values go into blobs on the way.
 */
#ifndef AWF_TRANSCRIPT_LINE_H
#define AWF_TRANSCRIPT_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "transcript/event.h"

struct line {
	struct buffer bytes; /* the line from start on, with its LF */
	size_t start;
	size_t signature;    /* where the signature goes, if the event is sealed */
};

/* Where lines go, for their blobs, ids and errors. */
struct line_place {
	const char *path, *blobs, *run_id;
	bool sync;
};

/* Makes all but the head; e->id is set. ERROR_SYSTEM for blobs; ERROR_INVALID_INPUT
 * for JSON that is not minified, or a line above 256 MiB. */
int line_make(struct line *l, const struct line_place *place, struct event *e, struct error *err);
/* Puts in seq, timestamp and prev, and fills e's; then signs, if it is to be. */
void line_finish(struct line *l, struct event *e, int64_t seq, int64_t wall,
    const char prev[DIGEST_SIZE]);
/* The finished line, with its LF. */
struct span line_span(const struct line *l);

static inline void
line_free(struct line *l)
{
	buffer_free(&l->bytes);
}

#endif
