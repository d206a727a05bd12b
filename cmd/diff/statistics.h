/* Two groups of runs, step by step: how often each ran and failed, and quartiles of its figures. */
#ifndef AWF_DIFF_STATISTICS_H
#define AWF_DIFF_STATISTICS_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/map.h"
#include "diff/side.h"

struct step_series;

struct diff_statistics {
	struct step_series *steps;    /* in the order in which they came first; the runs before them */
	size_t count;
	struct map places;            /* by path */
	size_t runs[2];
};

#define DIFF_STATISTICS_INIT { .steps = NULL }

/* Adds a run to a group, 0 or 1. */
void diff_statistics_add(struct diff_statistics *s, int group, const struct diff_side *side);
/* A table for people, or a JSON object in each line. */
void diff_statistics_text(const struct diff_statistics *s, struct buffer *out);
void diff_statistics_json(const struct diff_statistics *s, struct buffer *out);
void diff_statistics_free(struct diff_statistics *s);

#endif
