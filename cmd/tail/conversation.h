/*
 * The contents of an event, for reading: below its line (view/view.h), the prompts, answers, data,
 * arguments, output and standard error in it, complete, wrapped to the width and indented.
 */
#ifndef AWF_TAIL_CONVERSATION_H
#define AWF_TAIL_CONVERSATION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

struct conversation {
	size_t width;     /* columns */
	bool colour;
	const char *heading; /* of the next text; NULL: none */
	struct buffer *out;
};

/* Appends the lines of an event, whose blobs were put back; nothing if it holds no text. */
void conversation_event(struct conversation *c, const char *line, size_t len);

#endif
