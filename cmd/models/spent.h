/*
 * The usage of a streamed chat. A Chat Completions API reports it only if asked
 * (stream_options.include_usage); if the program does not ask, the proxy does, and removes the
 * report from the stream, so that the program gets the bytes that it would have got otherwise.
 */
#ifndef AWF_MODELS_SPENT_H
#define AWF_MODELS_SPENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "json/scan.h"

/* Appends the request, valid JSON, with include_usage added. False: it is no stream, or sets
 * include_usage itself, and nothing is appended. */
bool spent_ask(struct span body, struct buffer *out);

/* The filter for such a stream. */
struct spent {
	struct buffer event;      /* incomplete event */
	size_t searched;          /* bytes already searched for its end */
};
/* Filters bytes; appends what the program would have got, event by event. */
void spent_take(struct spent *s, const char *bytes, size_t len, struct buffer *out);
/* The stream has ended: appends the rest. */
void spent_end(struct spent *s, struct buffer *out);
void spent_free(struct spent *s);

#endif
