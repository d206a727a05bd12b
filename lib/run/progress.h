/*
 * Progress: the calls that have started and not completed, as far as the events
 * seen tell. A new attempt, or the end of the run, ends all calls of the run.
 */
#ifndef AWF_RUN_PROGRESS_H
#define AWF_RUN_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/id.h"
#include "transcript/event.h"

struct progress_call {
	char run_id[ID_SIZE];
	char *call;       /* its identity */
	char *label;      /* its name, for people */
	int64_t started;  /* µs since 1970 */
};
struct progress {
	struct progress_call *calls; /* oldest first */
	size_t count;
};

#define PROGRESS_INIT { NULL, 0 }

/* Takes note of an event; line without its LF. */
void progress_event(struct progress *p, const char *line, size_t len);
/* Appends "2 calls: research 12.3s, review[3] 1.0s"; nothing if there are none. */
void progress_text(const struct progress *p, int64_t now, struct buffer *out);
void progress_free(struct progress *p);

#endif
