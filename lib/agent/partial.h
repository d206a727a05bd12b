/*
 * What came of an answer before it was cut off: kept while it comes in, and recorded once,
 * as a message.assistant with `partial`, if there is no whole one.
 */
#ifndef AWF_AGENT_PARTIAL_H
#define AWF_AGENT_PARTIAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "json/writer.h"

struct partial {
	struct buffer blocks; /* inside of a JSON array: those that others followed */
	struct buffer text;   /* of the last */
	bool thinking;        /* it is a thought */
};

/* Adds a piece; kind is that of a delta, awf-provider(7). */
void partial_add(struct partial *p, const char *kind, const char *text, size_t len);
bool partial_empty(const struct partial *p);
/* The member `blocks`: `stream` for text, `thinking`. */
void partial_write(const struct partial *p, struct writer *w);
void partial_clear(struct partial *p);

#endif
