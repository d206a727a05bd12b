/*
 * Excerpts of the values in a payload, for output that mentions an event without repeating it. A
 * text is cut to its first line and to EXCERPT_BYTES; if something was cut off, or the value is in
 * a blob, its size and SHA-256 are given. A value that may be the contents of a file is never shown
 * whole: at most half of it, if it has a line feed.
 */
#ifndef AWF_MODEL_EXCERPT_H
#define AWF_MODEL_EXCERPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "json/writer.h"
#include "transcript/event.h"

#define EXCERPT_BYTES 160

/* Appends the first line, at most limit bytes, and "…" if more follows. Returns whether the whole
 * text was appended. */
bool excerpt_text(struct buffer *out, const char *bytes, size_t len, size_t limit);
/* Writes the member KEY: the excerpt of payload.MEMBER (the text of a string, the JSON of any other
 * value). If the value was cut, or is in a blob, adds the members "bytes" and "sha256". Returns
 * whether KEY was written. */
bool excerpt_member(struct writer *w, const char *key, const struct event_view *event,
    const char *member);
/* The same for a value that may be the contents of a file. */
bool excerpt_contents(struct writer *w, const char *key, const struct event_view *event,
    const char *member);
/* The same for the text of a message. */
bool excerpt_message(struct writer *w, const char *key, const struct event_view *event);
/* Writes the member KEY: the arguments of a tool call as "path=notes.md limit=40". If something was
 * cut off, adds "bytes" and "sha256". */
void excerpt_arguments(struct writer *w, const char *key, const struct event_view *event);
/* The size of payload.MEMBER in bytes (of the text of a string, the JSON of any other value, or the
 * blob); -1 if there is no such member. */
int64_t excerpt_size(const struct event_view *event, const char *member);

#endif
