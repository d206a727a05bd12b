/*
 * Retries, told when they happen: each is a message.assistant with `retry`, which is
 * `partial` and has no blocks, as no answer came of the try. Its cause is the start of the
 * call; nothing follows from it. A resume takes nothing over of it, a replay records it again.
 */
#ifndef AWF_AGENT_RETRIED_H
#define AWF_AGENT_RETRIED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "run/recall.h"
#include "transcript/call.h"

/* A try that failed, and that another follows. */
struct retried {
	const char *name;          /* of what is tried, for people */
	const struct error *why;
	int tried, tries;          /* so many were made; so many may be */
	int64_t delay_ms;          /* before the next */
};

/* Records it under the start of the call; tells of it on stderr too if that is `shown`. */
int retried_record(const struct call *call, const char *started, const struct retried *retried,
    bool shown, struct error *err);
/* Records those of the recorded call under the same start again, under their ids: those
 * before the event of number `before` that are not used. */
int retried_repeat(struct recalled *r, const struct call *call, const char *started,
    int64_t before, struct error *err);

#endif
