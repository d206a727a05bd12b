/*
 * The name of an item in messages: its position in the stream, followed by its data as JSON, cut
 * short: map[136] ("137"). The first item of a stream has no such name, nor have rounds and
 * branches of a group, for which the number is enough.
 *
 * The start of a call has the data, unless it is the result of the preceding event. So the reader
 * of a record also needs the earlier results.
 */
#ifndef AWF_MODEL_ITEM_NAME_H
#define AWF_MODEL_ITEM_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/map.h"
#include "model/model.h"
#include "transcript/event.h"

#define ITEM_NAME_SIZE 384 /* of any name, NUL included */

/* Appends " (DATA)"; nothing for null, or where there is none. */
void item_name(struct span data, struct buffer *out);
/* The same of what a call gave, of whose end the event is, if it ended well with one value. */
void item_name_result(const struct event_view *event, struct buffer *out);
/* The same of the item of a call in the transcript at path. Nothing where the data is not known:
 * it is bytes, or stands in a blob. */
void item_name_find(const char *path, const struct model_call *c, struct buffer *out);

/* Names by event ids of results and by calls: of the last few thousand of them. */
struct item_names {
	struct item_names_kept {
		struct map places;
		char **texts;
		size_t count;
	} recent, before;
};

/* Whether events of this type tell of items. */
bool item_names_concern(enum event_type type);
/* Remembers the item that a call begins with, or what a call gave. */
void item_names_note(struct item_names *names, const struct event_view *event);
/* The name of the item of the call that an event is of; "" if it is not known. Valid until
 * the next item_names_note(). */
const char *item_names_find(struct item_names *names, const struct event_view *event);
void item_names_free(struct item_names *names);

#endif
