/*
 * Results of tools that are more than text: a list of content blocks as the Model Context Protocol
 * has them (text, image, audio, embedded resources and links to them), which an MCP server answers
 * with, and which any tool may print. A list counts as one if all its elements are such blocks and
 * one of them has bytes.
 *
 * In the record the bytes are blobs, and their places in the output null; put back, they are
 * base64 as base64_encode() writes it, which they are made to be when they come: so a replay
 * compares what was said, not how it was wrapped. A model gets them as blocks of its API's own,
 * tool_blocks of awf-provider(7), beside tool_content, which has words in the place of bytes.
 *
 * Source: modelcontextprotocol.io/specification, "Tools", "Tool Result".
 */
#ifndef AWF_FORMATS_CONTENT_H
#define AWF_FORMATS_CONTENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"
#include "json/scan.h"
#include "json/writer.h"
#include "transcript/event.h"

/* Whether it is such a list. */
bool content_is(struct span output);
/* What a model may get as the result of one call: no API takes more in a request. */
#define CONTENT_BYTES_LIMIT ((size_t)32 << 20)
#define CONTENT_FILES_LIMIT 1000
/* Has the bytes of such a list in base64 as the record has it; anything else stays. An output that
 * is larger than that (limit: CONTENT_BYTES_LIMIT, or 0 where no model gets it), or has more files,
 * is dropped, and *err says so, unless it says already what went wrong. */
void content_take(struct buffer *output, size_t limit, struct error *err);

/* What of an output goes into blobs. */
struct content_blobs {
	struct buffer output;      /* with null in their places; as it was if there are none */
	struct event_raw *raws;
	size_t count;
};
void content_take_blobs(struct content_blobs *b, struct span output);
void content_free_blobs(struct content_blobs *b);

/* The members tool_content and, if there is something that is not text, tool_blocks of a result's
 * block. */
void content_write(struct writer *w, struct span output);

#endif
