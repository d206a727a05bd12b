/*
 * Pace: how many events are accepted for a run, and from an address. Each has an allowance of at
 * most ten seconds' worth of events, which is reduced by the events that come, and grows with time.
 * Events that come together are all accepted if any allowance is left; it is then negative until
 * time has made up for it.
 */
#ifndef AWF_SERVE_RUNS_PACE_H
#define AWF_SERVE_RUNS_PACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACE_KEY 48              /* bytes, with a NUL */
#define PACE_BURST_S 10

struct pace {
	int64_t rate;                /* events a second */
	struct pace_stock {
		char key[PACE_KEY];      /* "": free */
		int64_t left;            /* thousandths of events; negative: used in advance */
		int64_t at;              /* clock_monotonic() at which left had this value */
	} *stocks;
};

void pace_begin(struct pace *p, int64_t rate);
/* Returns 0 if events are accepted now, else for how many ms none are. */
int64_t pace_wait(struct pace *p, const char *key, int64_t now);
void pace_spend(struct pace *p, const char *key, int64_t events, int64_t now);
void pace_free(struct pace *p);

#endif
