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
#include "base/map.h"
#include "model/cost.h"

enum figures_by { BY_WORKFLOW, BY_STEP, BY_TOOL, BY_MODEL, FIGURES_BY };
extern const char *const figures_by_words[FIGURES_BY + 1];

struct figure_row {
	char *name;              /* step, model: "WORKFLOW PATH", "PROVIDER/MODEL" */
	int64_t count, failed;
	char *last_reason;       /* of the last failure; NULL: none */
	int64_t *durations;      /* ms */
	size_t duration_count;
	int64_t input_tokens, output_tokens;
	int64_t cost;            /* nano-dollars, of what has a known one */
	bool cost_unknown;
};

struct figures {
	enum figures_by by;
	struct cost cost;
	struct figure_row *rows;
	size_t count;
	struct map places;       /* rows by name */
};

/* figures_free() is called either way. */
int figures_begin(struct figures *f, enum figures_by by, struct error *err);
/* Adds what the transcript at path has since a time, µs since 1970. -1 with *err: not all of it could be read. */
int figures_add_run(struct figures *f, const char *path, int64_t since, struct error *err);
/* Sorts the rows: what has cost most first, then what ran most. */
void figures_sort(struct figures *f);
/* A table for people; a JSON object in each line. */
void figures_text(const struct figures *f, struct buffer *out);
void figures_json(const struct figures *f, struct buffer *out);
void figures_free(struct figures *f);

#endif
