/*
 * Lists of runs: which ones, and their summaries as a table for people or as one
 * JSON object per line.
 */
#ifndef AWF_MODEL_LISTING_H
#define AWF_MODEL_LISTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "json/writer.h"
#include "model/cost.h"
#include "model/summary.h"
#include "storage/storage.h"
#include "transcript/filter.h"

struct listing_spec {
	const struct globs *names;   /* of workflows; empty: all */
	const char *status;          /* only runs with this status; NULL: all */
	int64_t since;               /* only runs that started since, µs since 1970; 0: all */
	size_t count;                /* at most so many runs */
	bool children;               /* list child runs too */
	bool waits;                  /* read which calls wait */
	struct cost *cost;           /* begun; used to compute what each run has cost in all its
	                                attempts, without its child runs; NULL: not asked for */
	/* Called for a run that cannot be read; the listing continues. */
	void (*warn)(const struct error *warning);
};

struct listing {
	struct summary *runs;        /* newest start first */
	size_t count;
	bool costs;                  /* whether the runs have their cost: nano-dollars, or
	                                COST_UNKNOWN */
};

int listing_read(struct listing *l, const struct storage *s, const struct listing_spec *spec,
    struct error *err);
/* Appends the table; head: with a heading line; colour: with colour escapes, for a terminal. */
void listing_table(const struct listing *l, bool head, bool colour, struct buffer *out);
void listing_json(const struct listing *l, struct buffer *out);
/* Writes the members of a run's object in such a list, except its cost. */
void listing_members(const struct summary *run, struct writer *w);
void listing_free(struct listing *l);

#endif
