/*
 * Retries are recorded twice. When one happens, it is recorded as a message.assistant with
 * `retry`, which is `partial` and has no blocks: its cause is the start of the call, and it
 * causes nothing. A resume ignores it, a replay records it again. The end of the call lists all
 * of them in `retries`.
 *
 * A wait for the rate limits of a provider is recorded in the same way, at its beginning and its
 * end, and is not a try.
 */
#ifndef AWF_LIMITS_RETRIED_H
#define AWF_LIMITS_RETRIED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "history/recall.h"
#include "transcript/call.h"

/* A failed try that is followed by another. */
struct retried {
	const char *name;          /* what is tried, for messages */
	const struct error *why;
	int tried, tries;          /* tries made, and allowed */
	int64_t delay_ms;          /* before the next */
};

/* A wait for the rate limits of a provider: reported when it begins, when its reason changes, when
 * an API that is down will be tried later than reported, and when it ends. */
struct provider_wait {
	const char *provider;
	const char *reason;  /* "4 of 4 calls under way", "down since 14:02:11 UTC"; NULL: it is over */
	int64_t delay_ms;    /* minimum time until its end; 0: unknown */
	int64_t waited_ms;   /* altogether, if it is over */
};

/* Records it with the start of the call as its cause; if `shown`, also prints it to stderr. */
int retried_record(const struct call *call, const char *started, const struct retried *retried,
    bool shown, struct error *err);
/* Records a wait in the same way; name: who waits. */
int retried_record_wait(const struct call *call, const char *started, const char *name,
    const struct provider_wait *wait, bool shown, struct error *err);
/* Records the retries and waits of the recorded call again, with the same start and ids: those
 * before event number `before` that were not repeated yet. */
int retried_repeat(struct recalled *r, const struct call *call, const char *started,
    int64_t before, struct error *err);

/* The same as an element of `retries`. */
struct failed_try {
	const struct error *why;
	const char *provider, *model; /* provider and model asked; NULL: not recorded */
	int exit_code;                /* of a command; -1: not a command */
	int64_t duration_ms;
	int64_t turn;                 /* of an agent; -1: not an agent */
};

/* Appends it to the inside of a JSON array. */
void retried_list(struct buffer *retries, const struct failed_try *failed);

#endif
