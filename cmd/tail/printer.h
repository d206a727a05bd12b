/*
 * The printer: prints events to a descriptor. It filters them, formats them with the view (or
 * prints the lines unchanged), and on a terminal draws a status line below them; or it draws a live
 * view instead of events. Errors in transcripts only cause warnings.
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
	bool inlined;             /* put blobs back into their lines */
	const struct buffer *instead; /* text to print instead of each event; NULL: none */
	bool full;                /* below its line, the whole text of an event */
	bool headed;              /* print a header when the next event is of another run */
	bool status_line;         /* draw a status line: fd is a terminal, and runs are followed */
	struct buffer status;     /* text of the status line; empty: nothing is in progress */
	struct live_feed *live;   /* live view to be drawn instead of events; NULL: none */
	const char *idle;         /* text of the status line when nothing is in progress; NULL:
	                             none */
	void (*warn)(const struct error *warning);

	struct outlet outlet;
	struct screen screen;
	int64_t unchained;       /* lines that were shown although they have no "prev" */
	struct buffer text, whole;
	char run_id[ID_SIZE];     /* of the last printed event */
	int64_t warned_at;        /* when dropped events were last reported, monotonic ms */
	bool incomplete;          /* a blob was missing */
};

/* Where a line comes from. */
struct origin {
	const char *run_id;       /* outermost run, for headers */
	const char *blobs;        /* directory of its blobs; NULL: there are none */
	unsigned depth;           /* indentation, for a run inside others */
	int64_t began;            /* start of the outermost run, µs since 1970; 0: not known */
};

/* limit: most events kept while fd cannot be written to; 0: wait instead. */
void printer_begin(struct printer *p, int fd, size_t limit);
/* Prints a line if it passes the filter; its LF must follow it in memory. For VERDICT_DAMAGED the
 * caller must report the damage. -1 with *err if fd cannot be written to. */
int printer_line(struct printer *p, const struct origin *origin, const struct event_head *head,
    const char *line, size_t len, enum verdict *verdict, struct error *err);
/* Called when there is nothing more to print for now: writes pending output, and draws the status
 * line. */
int printer_pause(struct printer *p, struct error *err);
/* Erases the status line, and prints a warning. */
void printer_warn(struct printer *p, const struct error *warning);
/* How many ms may pass until the next printer_pause(); at most `milliseconds`. */
int printer_patience(const struct printer *p, int milliseconds);
/* Call when the terminal has another width. */
void printer_resize(struct printer *p);
/* Erases the status line or the view, which printer_pause() draws again. */
void printer_hide(struct printer *p);
/* Erases the status line, and writes all pending output. */
int printer_finish(struct printer *p, struct error *err);
void printer_free(struct printer *p);

#endif
