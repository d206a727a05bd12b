/*
 * Progress: the calls that have started and not ended, as far as the models of their runs
 * tell. A new attempt, or the end of the run, ends all calls of the run.
 */
#ifndef AWF_VIEW_PROGRESS_H
#define AWF_VIEW_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "model/model.h"

struct progress {
	const struct model_call **calls; /* owned by the models */
	size_t count;
};

#define PROGRESS_INIT { NULL, 0 }

/* Adds the open calls of a run; its model may be of any level. */
void progress_add(struct progress *p, const struct model *m);
/* Appends "2 calls: research 12.3s, review[3] 1.0s", the oldest first; nothing if there are
 * none. */
void progress_text(struct progress *p, int64_t now, struct buffer *out);
void progress_free(struct progress *p);

#endif
