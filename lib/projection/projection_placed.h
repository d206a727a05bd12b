/* An event of a run and its call, as the projections see them. */
#ifndef AWF_PROJECTION_PROJECTION_PLACED_H
#define AWF_PROJECTION_PROJECTION_PLACED_H

#include <stdbool.h>
#include <stdint.h>

#include "model/model.h"

/* How what has ended came out. The values are bits of a row's condition (projection_write.h). */
enum placed_outcome {
	PLACED_SUCCESS = 32, PLACED_FAILED = 64, PLACED_SKIPPED = 128, PLACED_WAITING = 256
};

enum placed_outcome placed_outcome_of(const struct placed *at);
bool placed_failed(const struct placed *at);   /* it reports a failure of its own, not of an earlier
                                                  call */
bool placed_by_agent(const struct placed *at); /* it belongs to an agent's call */
bool placed_whole(const struct placed *at);    /* it is not a piece of a message */
/* The call's agent, else its name, else the name of the workflow. */
const char *placed_actor(const struct placed *at);
const char *call_actor(const struct model_call *call);
/* The status of a run.completed, "" if it has none. */
const char *placed_status(const struct placed *at);
/* The outcome of what has ended: "success", "failed", "skipped" or "waiting". */
const char *placed_outcome(const struct placed *at);
int64_t placed_duration(const struct placed *at); /* ms */

#endif
