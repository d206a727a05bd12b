/*
 * Calls of all runs of a storage that wait since one of them was refused for the server's rate limit: all that ask
 * the same model of the same server with the same key, whichever steps they are of, and whether or
 * not the user has limits (providers/throttle.h). limits/hold.h says who goes when.
 *
 *     limits/.held/NAME    a struct hold, which calls map
 *
 * NAME is a MAC over provider, endpoint, model and the variables of the endpoint with their values.
 * Its key is the id of the system's boot: times are of that boot's clock, and after it nothing of a key
 * is in the name. The first call that is refused makes the file; in a storage in which none ever was, a
 * call costs one open(2) more. Where it cannot be made, nobody is held.
 *
 * hold_is_forgotten() alone says when a file counts no more. Who makes one removes all of those first,
 * so that no more are left than have been in use within minutes, of whichever boot. Each refusal goes
 * to the file that has the name then, also if the call has mapped an earlier one.
 */
#ifndef AWF_PROVIDERS_HELD_H
#define AWF_PROVIDERS_HELD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "limits/hold.h"
#include "limits/retried.h"
#include "proc/interrupts.h"
#include "providers/provider.h"

/* A call, from when it may be sent to when its answer is there. */
struct held {
	const struct provider *client; /* NULL: none has been sent */
	char *model;
	struct hold *hold;             /* NULL: nothing was refused before it was sent */
	int64_t sent;                  /* monotonic ms */
};

struct held_spec {
	const struct provider *client;
	const char *model;
	bool last;           /* it is the last try of a call */
	int64_t longest_ms;  /* a longer time without any call is not waited for; 0: any is */
	int64_t deadline;    /* monotonic ms; 0: none */
	const struct interrupts *interrupts;
	/* -1 with *err ends the wait. */
	int (*told)(void *context, const struct provider_wait *wait, struct error *err);
	void *context;
};

/* Waits until the call may be sent. -1: it is not to be sent; ERROR_RATE_LIMIT where the wait is
 * too long, or what interrupted. */
int held_enter(struct held *h, const struct held_spec *spec, struct error *err);
/* It has ended with this code. After ERROR_RATE_LIMIT no other is sent for wait_ms. Of none that
 * was sent, nothing. */
void held_leave(struct held *h, enum error_code code, int64_t wait_ms);

#endif
