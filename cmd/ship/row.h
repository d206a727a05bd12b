/*
 * Rows: how a line of a transcript is stored in the table agent_run_events, awf-sql(7), and which
 * columns of the run's row it changes, for all databases.
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
	int64_t wall;                   /* of ts, clock_wall() */
	struct buffer type_name, path;  /* cleaned, as text */
	struct span line;               /* its bytes */
	struct span event;              /* the copy that databases take; line itself if it is the same */
	struct buffer cleaned;
	struct buffer text;             /* of messages and tool outputs: the text to be searched */
};

/* Fills the row of a line in the batch, into whose memory it points; r is all 0 before. -1,
 * ERROR_INVALID_INPUT: it is not an event. */
int row_make(struct row *r, const struct batch_run *run, size_t number, struct error *err);
void row_free(struct row *r);

/* Replaces what is valid JSON but refused by databases: NUL and lone surrogates in strings by
 * U+FFFD, numbers that do not fit in a double by null, and all of a payload above 64 MiB. Appends
 * the copy; false, and nothing is appended, if nothing had to be replaced. */
bool row_clean(struct span json, struct buffer *out);

/* What rows contain about their run. */
struct run_row {
	char name[256];                 /* "": not contained */
	char status[16];                /* of the latest attempt: "running", or its
	                                   final status; "" */
	char started[CLOCK_TEXT_SIZE];  /* its first line; "" */
	int64_t started_seq, ended_seq; /* of the latest attempt; 0: not contained */
	bool begun;                     /* a further attempt: earlier data about an end is void */
};
void run_row_take(struct run_row *run, const struct row *row);

#endif
