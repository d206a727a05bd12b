/*
 * Results of tools that are more than text: a list of content blocks as defined by the Model
 * Context Protocol (text, image, audio, embedded resources and links to them), which an MCP server
 * returns and any tool may print. A list is treated so if all its elements are such blocks and at
 * least one of them has bytes.
 *
 * In the recording the bytes are blobs, and the output has null in their place; when they are put
 * back, they are base64 as base64_encode() writes it. The base64 of a new result is rewritten in
 * this form, so that a replay compares the content, not the line breaks. A model receives the bytes
 * as content blocks of its API: tool_blocks in awf-provider(7), beside tool_content, which has text
 * in place of the bytes.
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

/* Whether output is such a list. */
bool content_is(struct span output);
/* The limits for the result of one call: no API accepts more in a request. */
#define CONTENT_BYTES_LIMIT ((size_t)32 << 20)
#define CONTENT_FILES_LIMIT 1000
/* Rewrites the base64 in such a list as base64_encode() writes it; other outputs are not changed.
 * An output larger than limit (CONTENT_BYTES_LIMIT, or 0 if no model receives it), or with too many
 * files, is dropped, and *err is set unless it is set already. */
void content_take(struct buffer *output, size_t limit, struct error *err);

/* The parts of an output that are stored as blobs. */
struct content_blobs {
	struct buffer output;      /* with null in place of these parts */
	struct event_raw *raws;
	size_t count;
};
void content_take_blobs(struct content_blobs *b, struct span output);
void content_free_blobs(struct content_blobs *b);

/* Writes the members of a tool result's block: tool_content and, if there are files,
 * tool_blocks. */
void content_write(struct writer *w, struct span output);

#endif
