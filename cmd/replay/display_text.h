/* Shared by the displays of a call tree. */
#ifndef AWF_REPLAY_DISPLAY_TEXT_H
#define AWF_REPLAY_DISPLAY_TEXT_H

#include "base/buffer.h"
#include "replay/call_tree.h"
#include "replay/display.h"

/* An output line without control characters. Initialize with zeros; text is to be freed. */
struct display_line {
	struct buffer text;
	size_t from, to;    /* the part with a colour */
	const char *colour;
	bool detailed;      /* a parenthesis is open */
};

/* Writes the line, cut to the width, and clears it. */
int display_line_end(struct display_line *l, const struct display *d, struct error *err);

/* Appends the label of an entry: "lint[1]", "turn 0", "turn 2 of billing", "attempt 2". */
void display_label(const struct call_tree_entry *entry, struct buffer *out);
/* Appends the description of an entry: label, kind, status, figures, reason. */
void display_entry(struct display_line *l, const struct call_tree *tree,
    const struct call_tree_entry *entry);

#endif
