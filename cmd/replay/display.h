/*
 * Displays: what awf-replay shows of a recorded run without running it again. All work
 * on a run that is still going (it is shown as far as it has come) and read nothing but
 * the transcript, those of child runs beside it, and blobs.
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
	const char *argument;      /* of the display's option; NULL: it takes none */
	const char *html;          /* of a timeline: a file that gets it as a page, or NULL */
	bool all;                  /* of a tree, a timeline: each item of a step */
	struct outlet *out;
	size_t width;              /* columns; 0: no limit */
	bool colour;
	bool screened;             /* it is for a terminal */
	/* Of what is shown as well as it can be: a damaged line, a missing child run. */
	void (*warn)(const struct error *warning);
};

/* What flowed into and out of the calls of the step or call that `argument` names: a
 * JSON object for each, {"call","attempt","input","output"}, with blobs put back. In
 * place of `output` stands `error`, `skipped`, or `unfinished`. */
int display_state(const struct display *d, struct error *err);
/* The lines themselves, in the order that `argument` names: causal or seq. */
int display_order(const struct display *d, struct error *err);
/* The tree of its calls (cmd/replay/call_tree.h), a line for each, or for a series
 * (cmd/replay/call_series.h). */
int display_tree(const struct display *d, struct error *err);
/* The time that its calls took: a line for each, attempt by attempt; or the page. */
int display_timeline(const struct display *d, struct error *err);
int display_page(const struct display *d, struct error *err);
/* The bytes of a file that the run was made of; of what it was given ("stdin") and printed
 * ("stdout"). ERROR_USAGE if the recording does not have them. */
int display_file(const struct display *d, struct error *err);
/* The canonical bytes, lib/rerun/canonical.h. */
int display_canonical(const struct display *d, struct error *err);

#endif
