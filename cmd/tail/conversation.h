/*
 * Prints the text in an event in full, below the event's line (view/view.h): prompts, answers,
 * data, arguments, output and standard error, wrapped to the width and indented.
 */
#ifndef AWF_TAIL_CONVERSATION_H
#define AWF_TAIL_CONVERSATION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

struct conversation {
	size_t width;     /* columns */
	bool colour;
	const char *heading; /* heading of the next text; NULL: none */
	struct buffer *out;
};

/* Appends the text of an event, in whose line blobs were put back; nothing if it has no text. */
void conversation_event(struct conversation *c, const char *line, size_t len);

#endif
