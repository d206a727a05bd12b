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
#include "base/outlet.h"
#include "record/storage.h"

struct display {
	const struct run_ref *run;
	const char *argument;      /* of the display's option; NULL: it takes none */
	struct outlet *out;
};

/* The lines themselves, in the order `argument` names. */
int display_order(const struct display *d, struct error *err);
/* NULL, or ERROR_USAGE if there is no such order. */
int display_order_check(const char *order, struct error *err);
/* The canonical bytes, replay/canonical.h. */
int display_canonical(const struct display *d, struct error *err);

#endif
