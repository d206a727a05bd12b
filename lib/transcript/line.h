/*
 * The line of an event. It is made before the transcript is locked. What is known only then is
 * filled in later: seq and timestamp, which are put in front; prev, and the signature of a seal,
 * for which zeros hold the place. Large and binary values are stored in blobs.
 */
#ifndef AWF_TRANSCRIPT_LINE_H
#define AWF_TRANSCRIPT_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "transcript/event.h"

struct line {
	struct buffer bytes; /* the line begins at start, and ends with an LF */
	size_t start;
	size_t signature;    /* offset for the signature, if the event is sealed */
};

/* The transcript in which lines will be: needed for their blobs, ids and errors. */
struct line_place {
	const char *path, *blobs, *run_id;
	bool sync;
};

/* Makes everything but the head; sets e->id. ERROR_SYSTEM if a blob cannot be written;
 * ERROR_INVALID_INPUT for JSON that is not minified, or a line above 256 MiB. */
int line_make(struct line *l, const struct line_place *place, struct event *e, struct error *err);
/* Fills in seq, timestamp and prev, in the line and in e; then signs the line, if it is to be
 * sealed. */
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
