/*
 * What a streamed chat has cost. A Chat Completions API tells it only who asks for it
 * (stream_options.include_usage); for a program that does not, the request asks, and what the
 * stream has of it is taken out again, so that the program gets the bytes that it would have got.
 */
#ifndef AWF_MODELS_SPENT_H
#define AWF_MODELS_SPENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "json/scan.h"

/* Appends the request, checked JSON, with the question in it. False: it is no stream, or asks (or
 * says) by itself, and nothing is appended. */
bool spent_ask(struct span body, struct buffer *out);

/* A stream that is told so. */
struct spent {
	struct buffer event;      /* of which the end has not come yet */
	size_t searched;          /* no end is before here */
};
/* Takes bytes of it; appends those that the program would have got, event by event. */
void spent_take(struct spent *s, const char *bytes, size_t len, struct buffer *out);
/* It has ended: appends what is left. */
void spent_end(struct spent *s, struct buffer *out);
void spent_free(struct spent *s);

#endif
