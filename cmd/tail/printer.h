/*
 * The printer: prints events to a descriptor. It filters them, formats them with the view (or
 * prints the lines unchanged), and keeps the status line below them on a terminal; or it draws what
 * is in progress instead of events. Problems with what is shown only cause warnings.
 */
#ifndef AWF_TAIL_PRINTER_H
#define AWF_TAIL_PRINTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "transcript/filter.h"
#include "view/live_feed.h"
#include "view/outlet.h"
#include "view/screen.h"
#include "view/view.h"

struct printer {
	/* Set by the caller after printer_begin(). */
	struct filter filter;
	struct view view;
	bool json;                /* print lines unchanged instead of the view */
	bool inlined;             /* with blobs put back */
	const struct buffer *instead; /* the text printed for an event; NULL: see above */
	bool full;                /* below the view all that an event holds */
	bool headed;              /* a header where the run changes */
	bool status_line;         /* fd is a terminal that follows */
	struct buffer status;     /* what is in progress; empty: nothing */
	struct live_feed *live;   /* what is drawn instead of events; NULL: nothing */
	const char *idle;         /* status line when nothing is in progress; NULL: none */
	void (*warn)(const struct error *warning);

	struct outlet outlet;
	struct screen screen;
	int64_t unchained;       /* lines that were shown although no chain holds them */
	struct buffer text, whole;
	char run_id[ID_SIZE];     /* of the last printed event */
	int64_t warned_at;        /* about dropped events, monotonic ms */
	bool incomplete;          /* a blob was missing */
};

/* Where a line comes from. */
struct origin {
	const char *run_id;       /* of the watched run, for headers */
	const char *blobs;        /* directory, NULL: find nothing there */
	unsigned depth;           /* indentation, for a run inside others */
	int64_t began;            /* when the run that is watched did, µs since 1970; 0: not known */
};

/* limit: events kept while fd is not writable, 0: wait for it. */
void printer_begin(struct printer *p, int fd, size_t limit);
/* Prints a line if it passes the filter; its LF must follow it in memory. For VERDICT_DAMAGED the
 * caller must report the damage. -1 with *err if fd cannot be written to. */
int printer_line(struct printer *p, const struct origin *origin, const struct event_head *head,
    const char *line, size_t len, enum verdict *verdict, struct error *err);
/* Nothing more to print for now: writes what is pending, draws the status line. */
int printer_pause(struct printer *p, struct error *err);
/* Prints a warning; the status line is cleared first. */
void printer_warn(struct printer *p, const struct error *warning);
/* How long to wait at most before the next pause, in ms, given another limit. */
int printer_patience(const struct printer *p, int milliseconds);
/* The terminal has another width. */
void printer_resize(struct printer *p);
/* Takes the status line away and writes everything. */
int printer_finish(struct printer *p, struct error *err);
void printer_free(struct printer *p);

#endif
