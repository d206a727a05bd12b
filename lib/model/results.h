/*
 * The results of a call in step.completed: one value, or with -O an array. Text without a final
 * line feed is marked, so that the original bytes can be restored. Bytes that are not UTF-8 are in
 * blobs, with null in their place.
 */
#ifndef AWF_MODEL_RESULTS_H
#define AWF_MODEL_RESULTS_H

#include <stdbool.h>
#include <stddef.h>

#include "json/writer.h"
#include "storage/state.h"
#include "transcript/event.h"

struct results {
	const struct data *list; /* at least one, unless `several` */
	size_t count;
	bool several;            /* write an array, of any length */
};

/* Writes the members result and no_newline of a payload. */
void results_write(const struct results *r, struct writer *w);
/* Writes one value: null if it is bytes. */
void data_write(const struct data *data, struct writer *w);

/* The path below the payload at which the result is: if a group gave one line, its data. */
const char *result_member(struct span payload);
/* Returns how many state lines a child wrote, if result is a text of such lines, and sets *data to
 * the data of the first one, which points into text. 0: it is something else. */
long long result_lines(struct span result, struct buffer *text, struct span *data);

/* Values of a payload that are stored as blobs: the `raws` of struct event. */
struct binaries {
	struct event_raw *list;
	struct buffer *bytes;
	char **names;
	size_t count;
};

#define BINARIES_INIT { NULL, NULL, NULL, 0 }

/* Adds a value if it is bytes. `at`, allocated, is the JSON pointer to it in the line; the callee
 * frees it. */
void binaries_add(struct binaries *b, const struct data *data, char *at);
void binaries_add_results(struct binaries *b, const struct results *results);
void binaries_free(struct binaries *b);

#endif
