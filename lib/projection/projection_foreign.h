/*
 * Events that another program has reported in the vocabulary of a projection (transcript/vocabulary.h)
 * are its lines as they came, member by member. A run that consists of such events, as its
 * run.started says, has no other lines: those about the run are its sender's. The exception is its
 * end, if it is not a success that the sender has reported or need not report.
 */
#ifndef AWF_PROJECTION_PROJECTION_FOREIGN_H
#define AWF_PROJECTION_PROJECTION_FOREIGN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "model/model.h"

struct projection;

struct projection_sender {
	bool speaks;             /* the run consists of its events */
	bool ended;              /* its last event was the end of its run */
};

/* Whether an event was reported in the projection's vocabulary. */
bool foreign_is_line(const struct projection *projection, const struct event_view *event);
/* Appends it as it came; payload: with the values of its blobs. */
void foreign_write_line(struct projection_sender *sender, struct span payload, struct buffer *out);
/* Whether the projection leaves out an event of the run itself. dropped: how many of the sender's
 * events had no line. */
bool foreign_hides(struct projection_sender *sender, const struct projection *projection,
    const struct placed *at, int64_t dropped);

#endif
