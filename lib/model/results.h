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
	const struct data *list; /* one at least, unless there are several */
	size_t count;
	bool several;            /* an array, of however many */
};

/* The members result and no_newline of a payload. */
void results_write(const struct results *r, struct writer *w);
/* A value alone: null where it is bytes. */
void data_write(const struct data *data, struct writer *w);

/* Where in a payload people find the result: of a group that gave one line, its data. */
const char *result_member(struct span payload);
/* How many state lines the text is that a child wrote, and the data of the first: a span
 * of text. 0: it is something else. */
long long result_lines(struct span result, struct buffer *text, struct span *data);

/* Values of a payload that stand in blobs: for raws of struct event. */
struct binaries {
	struct event_raw *list;
	struct buffer *bytes;
	char **names;
	size_t count;
};

#define BINARIES_INIT { NULL, NULL, NULL, 0 }

/* Adds a value if it is bytes; at, its pointer from the line, is memory of its own that
 * is taken over. */
void binaries_add(struct binaries *b, const struct data *data, char *at);
void binaries_add_results(struct binaries *b, const struct results *results);
void binaries_free(struct binaries *b);

#endif
