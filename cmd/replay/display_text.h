/* What the displays of a call tree have in common. */
#ifndef AWF_REPLAY_DISPLAY_TEXT_H
#define AWF_REPLAY_DISPLAY_TEXT_H

#include "base/buffer.h"
#include "replay/call_tree.h"
#include "replay/display.h"

/* A line for people, all of it harmless: begins zeroed; its text is to be freed. */
struct display_line {
	struct buffer text;
	size_t from, to;    /* the part that has a colour */
	const char *colour;
	bool detailed;      /* a parenthesis is open */
};

/* Puts the line out, cut to the width, and empties it. */
int display_line_end(struct display_line *l, const struct display *d, struct error *err);

/* "lint[1]", "turn 0", "turn 2 of billing", "attempt 2": what an entry is called. */
void display_label(const struct call_tree_entry *entry, struct buffer *out);
/* Appends what there is to say of an entry: label, kind, status, figures, reason. */
void display_entry(struct display_line *l, const struct call_tree *tree,
    const struct call_tree_entry *entry);

#endif
