/*
 * What calls of one key and model do after one of them was refused for the server's rate limit
 * (HTTP status 429): none is sent until the time is over that the server asked for, and then they go
 * one after another, at an interval that finds out what the server allows.
 *
 * struct hold is shared memory of all processes that ask; all zero: nothing was refused yet. What
 * the code relies on, and keeps:
 *   - Each member is read and written at once, and makes sense whatever the others are: a process
 *     that was killed between two writes leaves a wait that is too long or too short by one
 *     interval, and nothing locked.
 *   - Two calls never pass within one interval: who passes moves `next`.
 *   - Calls pass in the order of their numbers. Behind a number that does not pass when it could
 *     (its process is gone or stopped), the next one goes first HOLD_PASS_MS later.
 *   - Times are monotonic; one that is more than HOLD_MOST_MS to come is not believed.
 *
 * The interval begins with HOLD_FIRST_MS. With answers it gets shorter, little by little, the more
 * carefully the closer it is to that at which calls were refused last; below HOLD_LEAST_US there is
 * none any more. Later refusals are weighed against the calls that pass. One in ten or so changes
 * nothing, since servers that share their capacity refuse some whatever the interval is. More make
 * the interval longer: by an eighth, or by a trial. Many hold all calls again, and double it. The last
 * try of a call lets others go first while calls are being refused, so that it is not the one that
 * finds out. Refusals of calls that were sent before the last change only make the wait longer.
 *
 * A trial finds out whether the interval is the reason: calls go at twice the interval. A server with a
 * limit of which they were up to twice too many refuses none then. If as many are refused as before,
 * they are refused by chance: the interval is that before the trial, and from then on so many refusals
 * change nothing, up to a half of all calls, and until they are fewer again. Only the refused call
 * itself waits for the time that the server asked for. The first interval, and each after which all had
 * to wait, is tried out before a trial.
 */
#ifndef AWF_LIMITS_HOLD_H
#define AWF_LIMITS_HOLD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* However long a server wants to be left alone, one call asks it after so long. */
#define HOLD_MOST_MS ((int64_t)3600 * 1000)
#define HOLD_FIRST_MS 50
#define HOLD_LEAST_US 2000
#define HOLD_PASS_MS 5
#define HOLD_FORGOTTEN_MS ((int64_t)10 * 60 * 1000) /* after its last change */

struct hold {
	_Atomic int64_t until;     /* nothing is sent before, ms */
	_Atomic int64_t interval;  /* between calls, µs; 0: none */
	_Atomic int64_t next;      /* the next call is not sent before, µs */
	_Atomic int64_t drawn;     /* numbers of calls that were drawn, */
	_Atomic int64_t passed;    /* and below which all have passed, or their turn has */
	_Atomic int64_t strain;    /* refusals, weighed against calls that passed since */
	_Atomic int64_t held;      /* when a refusal has last made all wait, ms */
	_Atomic int64_t changed;   /* when the interval was set after a refusal, or a trial, ms */
	_Atomic int64_t passed_then; /* `passed` at that time, */
	_Atomic int64_t refused_at;  /* and the interval before it; 0: there was none; in a trial the one
	                                after it if that helps */
	_Atomic int64_t shortened; /* when it last got shorter, ms */
	_Atomic int64_t counted_at; /* calls that are sent after this time are counted, ms: */
	_Atomic int64_t counted;   /* `passed` at that time, */
	_Atomic int64_t refused;   /* and how many of them were refused */
	_Atomic int64_t part;      /* of a thousand calls, those whose refusal changes nothing; 0: a tenth */
	_Atomic int64_t trial;     /* the interval before the trial that goes on, µs; 0: none does; 1: there
	                              was none, or all had to wait */
	_Atomic int64_t refused_before; /* of a thousand calls before it */
	_Atomic int64_t tried;     /* when the last one has shown that the interval was too short, ms */
};

/* The place of a call in the order; each call that passes has drawn one. */
struct hold_place {
	int64_t number;
	int postpone;     /* how often it may still let others go first */
};
/* last: it is a last try. */
struct hold_place hold_draw(struct hold *h, bool last);
/* Whether the call may be sent now, and has passed; otherwise *again is when to ask anew. */
bool hold_pass(struct hold *h, struct hold_place *place, int64_t now, int64_t *again);
/* How long nothing is sent at all, from now on. */
int64_t hold_left(const struct hold *h, int64_t now);
/* A call that was sent then was refused; wait_ms is how long nothing is to be sent. */
void hold_refused(struct hold *h, int64_t sent, int64_t wait_ms, int64_t now);
/* A call that was sent then was answered. */
void hold_answered(struct hold *h, int64_t sent, int64_t now);
/* Whether it says nothing any more about the server: its last change is long ago, or it has times of
 * another clock, as one of an earlier boot. */
bool hold_is_forgotten(const struct hold *h, int64_t now);

#endif
