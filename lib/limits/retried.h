/*
 * Retries are recorded twice. When one happens, it is recorded as a message.assistant with
 * `retry`, which is `partial` and has no blocks: its cause is the start of the call, and it causes
 * nothing. A resume ignores it, a replay records it again. The end of the call lists all of them
 * in `retries`.
 *
 * A wait for the limits of a provider is told in the same way, when it begins and when it is over,
 * and is no try.
 */
#ifndef AWF_LIMITS_RETRIED_H
#define AWF_LIMITS_RETRIED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "history/recall.h"
#include "transcript/call.h"

/* A try that failed, and that another follows. */
struct retried {
	const char *name;          /* of what is tried, for people */
	const struct error *why;
	int tried, tries;          /* so many were made; so many may be */
	int64_t delay_ms;          /* before the next */
};

/* A wait for the limits of a provider that lasts; told when it begins, when its reason becomes another,
 * when an API that is down is tried later than was told, and when it is over. */
struct provider_wait {
	const char *provider;
	const char *reason;  /* "4 of 4 calls under way", "down since 14:02:11 UTC"; NULL: it is over */
	int64_t delay_ms;    /* until it is over at the earliest; 0: nobody knows */
	int64_t waited_ms;   /* altogether, if it is over */
};

/* Records it under the start of the call; tells of it on stderr too if that is `shown`. */
int retried_record(const struct call *call, const char *started, const struct retried *retried,
    bool shown, struct error *err);
/* Records a wait likewise; name is that of who waits. */
int retried_record_wait(const struct call *call, const char *started, const char *name,
    const struct provider_wait *wait, bool shown, struct error *err);
/* Records both of the recorded call under the same start again, under their ids: those
 * before the event of number `before` that are not used. */
int retried_repeat(struct recalled *r, const struct call *call, const char *started,
    int64_t before, struct error *err);

/* The same as an element of `retries`. */
struct failed_try {
	const struct error *why;
	const char *provider, *model; /* that was asked; NULL: that is not told */
	int exit_code;                /* of a command; -1: it has none */
	int64_t duration_ms;
	int64_t turn;                 /* of an agent; -1: it is none's */
};

/* Appends it to the inside of a JSON array. */
void retried_list(struct buffer *retries, const struct failed_try *failed);

#endif
