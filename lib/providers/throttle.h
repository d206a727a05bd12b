/*
 * Keeps the calls of a provider within its limits (limits/limits_file.h), across all steps and
 * runs of a storage. There is no central process, but a file for each provider, with locks on it.
 *
 *     limits/PROVIDER    what was begun when, and whether the API is down (struct state in
 *                        throttle.c), and locks on bytes of it (io/lock.h), of the file as each
 *                        call has opened it: one for each call under way, for the call that tries
 *                        an API that is down, and for each one that waits
 *
 * What the code relies on, and keeps:
 *   - The file is read, written and judged by under an open file's lock on it, which is held for
 *     that alone.
 *   - Locks on bytes go with their process, whose children have none of its open files, so nothing
 *     of one that was killed is left: not its place among the calls under way, not its turn, not
 *     its trial. What it has begun counts for its minute. A process may have several calls.
 *   - A waiting call draws a number; the lowest locked number is next. If that call does not take
 *     a free place within LIMIT_PASS_MS (its process may be stopped), the next one goes first, so
 *     that it does not block others.
 *   - Tokens of a call are counted when it begins, as an estimate that is never too high, and corrected
 *     when its usage is known; so calls at the same time see each other's. A call for which there is
 *     no room waits, but not if no other has used any: it may be larger than the limit.
 *   - What stands in the file is believed within bounds alone: times to come are none.
 *   - Where no limit is set for a provider nothing of this is opened or made.
 *
 * The breaker: so many failures in a row that say that the API is down open it, and nobody calls
 * until a pause is over; then one does, on trial, whose failure makes the pause longer. Any answer
 * closes it.
 */
#ifndef AWF_PROVIDERS_THROTTLE_H
#define AWF_PROVIDERS_THROTTLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "limits/retried.h"
#include "proc/interrupts.h"
#include "limits/limits_file.h"
#include "storage/storage.h"

/* In the environment of an agent CLI, and so of calls that are made from within its own: the
 * provider that it is. Those take no place beside it, or they might wait for each other. */
#define THROTTLE_WITHIN "AWF_WITHIN_PROVIDER"

struct throttle {
	int fd;              /* of the file; -1: no limits hold, or nothing is under way */
	struct limits limits;
	bool trial;          /* this call tries an API that is down */
	int64_t tokens;      /* that were counted for it, */
	int64_t second;      /* and where */
};
#define THROTTLE_INIT ((struct throttle){ .fd = -1 })

struct throttle_spec {
	const struct storage *storage;
	const char *provider;
	/* The tokens that the call uses at least; asked where they are limited. NULL: none. */
	int64_t (*least_tokens)(const void *request);
	const void *request;
	bool goes_on;        /* a call that went on without its place: its start counts already */
	bool passes;         /* somebody else can be asked: an API that is down is not waited for */
	int64_t deadline;    /* monotonic ms; 0: none */
	const struct interrupts *interrupts;
	/* -1 with *err ends the wait. */
	int (*told)(void *context, const struct provider_wait *wait, struct error *err);
	void *context;
};

/* Waits until a call may begin, and begins it. -1: nothing is held; *err is that of the limits
 * file, ERROR_SYSTEM of the storage, ERROR_TIMEOUT, ERROR_OVERLOADED where the time is over, or
 * nobody waits, while the API is down, or what interrupted. */
int throttle_enter(struct throttle *t, const struct throttle_spec *spec, struct error *err);

/* The same for who does other things meanwhile, and so looks from time to time; deadline, passes and
 * interrupts are not looked at. Each: 1, the call has begun, and *t is what it holds; 0: it waits;
 * -1: nothing is held, *err. */
struct throttle_waiter;
/* 0: *w is set; what spec leads to has to stay until it is over. */
int throttle_begin(struct throttle *t, const struct throttle_spec *spec, struct throttle_waiter **w,
    struct error *err);
/* Looks whether it is its turn, as it is to every so many ms, unless one before it waits here too;
 * but for 0, *w is NULL then. */
#define THROTTLE_LOOK_MS 50
int throttle_look_again(struct throttle_waiter **w, struct throttle *t, struct error *err);
/* It waits no more; *err (NULL: nobody asks) says what for it did, as of throttle_enter(). */
void throttle_desert(struct throttle_waiter **w, struct error *err);

/* What the call says of the API. */
enum throttle_outcome {
	THROTTLE_ANSWERED,   /* it works, even if it refuses */
	THROTTLE_DOWN,
	THROTTLE_UNKNOWN
};
/* By how it failed, and the HTTP status (0: none). One that was ended for its time, or by somebody,
 * says nothing. */
enum throttle_outcome throttle_outcome(enum error_code code, long status);
/* It has ended, and used so many tokens; -1: that is not known, and what it uses at least counts. Of none
 * that was begun, nothing. */
void throttle_leave(struct throttle *t, enum throttle_outcome outcome, int64_t tokens);

/* For awf doctor: what is under way. Nothing is made or changed. */
struct throttle_use {
	int under_way;       /* of limits.at_once */
	int begun;           /* in the last minute, of limits.per_minute */
	int64_t tokens;      /* in the last minute */
	bool down;
	int64_t down_since;  /* µs since 1970 */
};
int throttle_look(const struct storage *storage, const char *provider, const struct limits *limits,
    struct throttle_use *use, struct error *err);
/* Appends "since 14:02:11 UTC". */
void throttle_since(struct buffer *out, int64_t down_since);

#endif
