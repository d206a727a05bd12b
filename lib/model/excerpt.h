/*
 * Excerpts of what a payload holds, for lines that tell of it without repeating
 * it: texts are cut to their first line, and to EXCERPT_BYTES; what was cut, or lies in
 * a blob, is told by its size and SHA-256 instead. What may be the contents of a file
 * is never shown whole: at most half of it, if it has a line feed.
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

/* Appends the first line, at most limit bytes and "…" if more follows. Whether all of
 * the text stands there. */
bool excerpt_text(struct buffer *out, const char *bytes, size_t len, size_t limit);
/* KEY: the excerpt of payload.MEMBER (text of a string, JSON of anything else),
 * and, if it is not all of it, "bytes" and "sha256". Whether KEY was written. */
bool excerpt_member(struct writer *w, const char *key, const struct event_view *event,
    const char *member);
/* The same of what may be the contents of a file. */
bool excerpt_contents(struct writer *w, const char *key, const struct event_view *event,
    const char *member);
/* The same of the text that a message has. */
bool excerpt_message(struct writer *w, const char *key, const struct event_view *event);
/* KEY: the arguments of a call as "path=notes.md limit=40", and as above. */
void excerpt_arguments(struct writer *w, const char *key, const struct event_view *event);
/* Bytes of payload.MEMBER (text of a string, JSON of anything else, or the blob); -1 if
 * there is none. */
int64_t excerpt_size(const struct event_view *event, const char *member);

#endif
