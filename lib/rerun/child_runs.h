/* The child runs named in a transcript, each once, in the order in which their calls began. */
#ifndef AWF_RERUN_CHILD_RUNS_H
#define AWF_RERUN_CHILD_RUNS_H

#include <stddef.h>

#include "base/id.h"
#include "base/map.h"
#include "transcript/event.h"

struct child_runs {
	char (*ids)[ID_SIZE];
	size_t count;
	struct map known; /* all ids that were ever in the list */
};
#define CHILD_RUNS_INIT { NULL, 0, MAP_INIT }

/* Handles the next event of the transcript. */
void child_runs_note(struct child_runs *c, const struct event_view *event);
void child_runs_free(struct child_runs *c);

#endif
