/*
 * The name of an item in messages: its position in the stream, followed by its data as JSON, cut
 * short: map[136] ("137"). The first item of a stream has no such name, nor do rounds and branches
 * of a group, for which the number is enough.
 *
 * The start of a call contains the data, unless the item is the result of the preceding event. So
 * the reader of a transcript also needs the earlier results.
 */
#ifndef AWF_MODEL_ITEM_NAME_H
#define AWF_MODEL_ITEM_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/map.h"
#include "model/model.h"
#include "transcript/event.h"

#define ITEM_NAME_SIZE 384 /* of the longest name, with its NUL */

/* Appends " (DATA)"; nothing if data is null or missing. */
void item_name(struct span data, struct buffer *out);
/* The same with the result of the call that the event ends, if it succeeded with one value. */
void item_name_result(const struct event_view *event, struct buffer *out);
/* The same with the item of a call in the transcript at path. Appends nothing if the data is not
 * known: if it is bytes, or is in a blob. */
void item_name_find(const char *path, const struct model_call *c, struct buffer *out);

/* Names of the last few thousand results, by event id, and items, by call. */
struct item_names {
	struct item_names_kept {
		struct map places;
		char **texts;
		size_t count;
	} recent, before;
};

/* Whether events of this type contain items or results. */
bool item_names_concern(enum event_type type);
/* Remembers the item in a step.started, or the result in the end of a call. */
void item_names_note(struct item_names *names, const struct event_view *event);
/* Appends the name of the item of a call that begins with this event; nothing if it is not known. That of the first
 * item of a stream, too. */
void item_names_start(const struct item_names *names, const struct event_view *event, struct buffer *out);
/* The name of the item of the call that an event belongs to; "" if it is not known. Valid until the
 * next item_names_note(). */
const char *item_names_find(struct item_names *names, const struct event_view *event);
void item_names_free(struct item_names *names);

#endif
