/*
 * What was made inside of a call, by the steps, tools and runs that its command started.
 */
#ifndef AWF_STEP_INSIDE_H
#define AWF_STEP_INSIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "run/run.h"

/* Whether something inside of the call has changed the world outside, or may have, so that
 * to make it again would do that twice: a step or a tool with effects that succeeded, or was
 * cut off, and is not idempotent. what gets its name then. from: where in the transcript the
 * call's start ends. What cannot be read may have. */
bool inside_changed(const struct run *run, const char *call, int64_t from, struct buffer *what);

#endif
