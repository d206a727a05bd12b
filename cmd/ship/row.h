/*
 * Rows: what a line of a transcript is in the table agent_run_events, awf-sql(7), and what lines
 * change in that of runs, whatever the database.
 */
#ifndef AWF_SHIP_ROW_H
#define AWF_SHIP_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/id.h"
#include "ship/batch.h"
#include "transcript/event.h"

struct row {
	int64_t seq;
	enum event_type type;           /* EVENT_TYPES of foreign events, too */
	char event_id[ID_SIZE];
	char parent_event_id[ID_SIZE];  /* "": none */
	const char *call, *cost;        /* "": none; as of the batch */
	char ts[CLOCK_TEXT_SIZE];
	struct buffer type_name, path;  /* cleaned, as text */
	struct span line;               /* its bytes */
	struct span event;              /* the copy that databases take; line itself if it is the same */
	struct buffer cleaned;
	struct buffer text;             /* of messages and tool outputs: what can be searched */
};

/* Fills the row of a line of the batch, whose memory it points into; r is all 0 at first. -1,
 * ERROR_INVALID_INPUT: it is no event. */
int row_make(struct row *r, const struct batch_run *run, size_t number, struct error *err);
void row_free(struct row *r);

/* What databases refuse in JSON, though it is valid, is replaced: NUL and halves of surrogate pairs
 * in strings by U+FFFD, numbers that no double holds by null, and all of a payload above 64 MiB.
 * Appends the copy; false, and nothing is appended, if there was nothing to replace. */
bool row_clean(struct span json, struct buffer *out);

/* What rows tell of their run. */
struct run_row {
	char name[256];                 /* "": it was not told */
	char status[16];                /* of the latest attempt: "running", or how it ended; "" */
	char started[CLOCK_TEXT_SIZE];  /* its first line; "" */
	int64_t started_seq, ended_seq; /* of the latest attempt; 0: it was not told */
	bool begun;                     /* another attempt: what was known of an end is void */
};
void run_row_take(struct run_row *run, const struct row *row);

#endif
