/*
 * Displays: what awf-replay shows of a recorded run without running it again. They also work while
 * the run is alive, with what was recorded so far. They read only the transcript, those of child
 * runs in the same directory, and blobs.
 */
#ifndef AWF_REPLAY_DISPLAY_H
#define AWF_REPLAY_DISPLAY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "storage/storage.h"
#include "view/outlet.h"

struct display {
	const struct run_ref *run;
	const char *argument;      /* argument of the display's option; NULL: none */
	const char *html;          /* for a timeline: HTML file that is written; NULL: print text */
	bool all;                  /* for a tree or timeline: show every item of a step */
	struct outlet *out;
	size_t width;              /* columns; 0: no limit */
	bool colour;
	bool screened;             /* the output is a terminal */
	/* Called for damaged lines and missing child runs; the display goes on. */
	void (*warn)(const struct error *warning);
};

/* Prints the input and output of the calls of the step or call `argument`: a JSON object for each,
 * {"call","attempt", "input","output"}, with blobs put back. In place of `output` there may be
 * `error`, `skipped` or `unfinished`. */
int display_state(const struct display *d, struct error *err);
/* Prints the lines in the order `argument`: causal or seq. */
int display_order(const struct display *d, struct error *err);
/* Prints the tree of calls (cmd/replay/call_tree.h), a line for each call or series
 * (cmd/replay/call_series.h). */
int display_tree(const struct display *d, struct error *err);
/* Prints how long calls took, a line for each, attempt by attempt; or writes the page. */
int display_timeline(const struct display *d, struct error *err);
int display_page(const struct display *d, struct error *err);
/* Prints the bytes of a file that is part of the run's recording, or of its stdin ("stdin") or
 * stdout ("stdout"). ERROR_USAGE if the recording does not have them. */
int display_file(const struct display *d, struct error *err);
/* Prints the canonical form, lib/rerun/canonical.h. */
int display_canonical(const struct display *d, struct error *err);

#endif
