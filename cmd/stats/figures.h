/*
 * Figures of many runs: of each workflow, step, tool or model how often it ran and failed, how long it
 * took, and what it used.
 */
#ifndef AWF_STATS_FIGURES_H
#define AWF_STATS_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/id.h"
#include "base/map.h"
#include "json/writer.h"
#include "model/cost.h"
#include "model/model.h"

enum figures_by { BY_WORKFLOW, BY_STEP, BY_TOOL, BY_MODEL, FIGURES_BY };
extern const char *const figures_by_words[FIGURES_BY + 1];

/* What an event tells for figures: something that has ended, or what an answer has used. */
struct figure {
	enum figures_by by;
	const char *name;        /* of its row: of a step "WORKFLOW PATH", of a model "PROVIDER/MODEL" */
	const char *run_id;
	int64_t seq;             /* of the event */
	int64_t wall;            /* of the event, µs since 1970 */
	bool ended;              /* false: only what was used is added to the row */
	const char *reason;      /* why it has failed, "": nobody says; NULL: it has not failed */
	int64_t ms;              /* how long it took */
	int64_t tokens[2];       /* input, output */
	int64_t cost;            /* nano-dollars, as far as it is known */
	bool cost_unknown;
};

/* Reading what a run tells, in pieces. */
struct figures_reading {
	struct model model;
	struct cost *cost;
	unsigned wants;          /* figures by these: 1u << BY_STEP ... */
	void (*take)(void *context, const struct figure *figure);
	void *context;
	int64_t until;           /* a piece ends then, clock_monotonic(); INT64_MAX: all at once */
	int64_t tokens[2], spent; /* of the attempt so far */
	bool unknown;
};

/* cost: of figures, or of the caller alone. */
void figures_reading_begin(struct figures_reading *r, struct cost *cost, unsigned wants,
    void (*take)(void *context, const struct figure *figure), void *context);
/* Reads on in the transcript: 0: to its end, 1: to the end of a piece. -1 with *err: not all of it could
 * be read; what could be was told. */
int figures_reading_go(struct figures_reading *r, const char *path, struct error *err);
void figures_reading_end(struct figures_reading *r);

#define FIGURE_FAILURES 3    /* that a row keeps: of different reasons, the last */
#define FIGURE_SPANS 24      /* equal spans of the time since `since`, for what comes and goes */

struct figure_failure {
	char *reason;
	char run_id[ID_SIZE];
	int64_t seq, wall;
};

struct figure_row {
	char *name;
	int64_t count, failed;
	struct figure_failure failures[FIGURE_FAILURES]; /* the last first; reason NULL: none */
	uint32_t spans[FIGURE_SPANS][2]; /* count, failed */
	int64_t *durations;      /* ms */
	size_t duration_count;
	int64_t input_tokens, output_tokens;
	int64_t cost;            /* nano-dollars, of what has a known one */
	bool cost_unknown;
};

struct figures {
	enum figures_by by;
	int64_t since, until;    /* what was before is left out, µs since 1970; now */
	struct cost cost;
	struct figure_row *rows;
	size_t count;
	struct map places;       /* rows by name */
};

/* figures_free() is called either way. */
int figures_begin(struct figures *f, enum figures_by by, int64_t since, struct error *err);
/* Adds what an event tells. context: the figures. */
void figures_add(void *context, const struct figure *figure);
/* Adds what the transcript at path tells. -1 with *err: not all of it could be read. */
int figures_add_run(struct figures *f, const char *path, struct error *err);
/* Sorts the rows: what has cost most first, then what ran most. */
void figures_sort(struct figures *f);
/* A table for people; a JSON object in each line; the members of a row's object. */
void figures_text(const struct figures *f, struct buffer *out);
void figures_json(const struct figures *f, struct buffer *out);
void figures_write_row(const struct figures *f, const struct figure_row *row, struct writer *w);
void figures_free(struct figures *f);

#endif
