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
	const char *status;          /* NULL: all */
	int64_t since;               /* µs since 1970; 0: all */
	size_t count;                /* at most so many */
	bool children;               /* child runs too */
	bool waits;                  /* which calls wait */
	struct cost *cost;           /* begun: what each has cost in all its attempts, without
	                              * its child runs; NULL: not asked for */
	/* A run that could not be read; the list goes on. */
	void (*warn)(const struct error *warning);
};

struct listing {
	struct summary *runs;        /* newest start first */
	size_t count;
	bool costs;                  /* their cost is there: nano-dollars, or COST_UNKNOWN */
};

int listing_read(struct listing *l, const struct storage *s, const struct listing_spec *spec,
    struct error *err);
/* Appends the table; head: with a line of headings; colour: on a terminal. */
void listing_table(const struct listing *l, bool head, bool colour, struct buffer *out);
void listing_json(const struct listing *l, struct buffer *out);
/* The members of the object of a run in such a list, all but its cost. */
void listing_members(const struct summary *run, struct writer *w);
void listing_free(struct listing *l);

#endif
