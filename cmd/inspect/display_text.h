/* What the displays of a call tree have in common. */
#ifndef AWF_INSPECT_DISPLAY_TEXT_H
#define AWF_INSPECT_DISPLAY_TEXT_H

#include "base/buffer.h"
#include "inspect/display.h"
#include "inspect/call_tree.h"

/* A line for people, all of it harmless. */
struct display_line {
	struct buffer text;
	size_t from, to;    /* the part that has a colour */
	const char *colour;
	bool detailed;      /* a parenthesis is open */
};

void display_line_begin(struct display_line *l);
/* Appends text that came from outside. */
void display_line_add(struct display_line *l, const char *text);
/* Appends the word of a status, in its colour. */
void display_line_status(struct display_line *l, enum view_saying status);
/* Figures stand in one parenthesis, until the end of details. NULL is none. */
void display_line_detail(struct display_line *l, const char *text);
void display_line_details_end(struct display_line *l);
/* Puts the line out, cut to the width, and empties it. */
int display_line_end(struct display_line *l, const struct display *d, struct error *err);
void display_line_free(struct display_line *l);

/* "lint[1]", "turn 0", "turn 2 of billing", "attempt 2": what an entry is called. */
void display_label(const struct call_tree_entry *entry, struct buffer *out);
/* Appends what there is to say of an entry: label, kind, status, figures, reason. */
void display_entry(struct display_line *l, const struct call_tree *tree,
    const struct call_tree_entry *entry);

#endif
