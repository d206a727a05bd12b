/*
 * Pace: how many events may come of a run, and from an address. Each has a stock of ten seconds'
 * worth, which is used up by what comes and fills up again as time goes by. What comes at once is
 * taken whole, as long as there is any stock: it is owed then.
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
		char key[PACE_KEY];      /* "": nobody's */
		int64_t left;            /* thousandths of events; below 0: it is owed */
		int64_t at;              /* as of then, clock_monotonic() */
	} *stocks;
};

void pace_begin(struct pace *p, int64_t rate);
/* 0, or for how many ms nothing more may come. */
int64_t pace_wait(struct pace *p, const char *key, int64_t now);
void pace_spend(struct pace *p, const char *key, int64_t events, int64_t now);
void pace_free(struct pace *p);

#endif
