/*
 * The view: formats an event as one line: time since the start, indentation by path, the step, what
 * happened, important figures in parentheses, and the beginning of the text.
 *
 * Text of models, tools and users is data: it reaches the terminal only through text_visible().
 * Colours and symbols are only those added here.
 */
#ifndef AWF_VIEW_VIEW_H
#define AWF_VIEW_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/map.h"
#include "model/item_name.h"
#include "model/told_state.h"
#include "transcript/event.h"

#define VIEW_MARKS 4
#define VIEW_PLAIN "\033[0m" /* ends a colour */

struct view {
	/* Set by the caller. */
	bool colour;
	bool symbols;
	bool errors;       /* print the stderr of failed calls in separate lines */
	bool untold;       /* without the text, which the caller prints in full below */
	size_t width;      /* columns; 0: no limit */
	const int64_t *cost; /* cost of the event, shown with its usage; NULL: not shown */
	int64_t began;     /* µs since 1970: times are shown relative to it; 0: as times of day */

	/* Used only by view_event(). */
	struct buffer text;
	struct buffer scratch;
	struct mark { size_t from, to; const char *colour; } marks[VIEW_MARKS];
	size_t mark_count;
	bool detailed;     /* a parenthesis is open */
	struct map waits;  /* by event id: calls that wait for a person, and calls that cannot begin
	                      before these */
	/* Keys are event ids. If one answer calls several tools, each call gets a number, which is
	 * shown with its result. several: for such an answer, how many calls have come so far;
	 * numbers: for each call, its number. */
	struct map several, numbers;
	struct item_names items;
};

/* Appends a line about an event, with LF; depth: further indentation besides that of its path.
 * line: the event, without its LF. -1: it is not an event. */
int view_event(struct view *v, const char *line, size_t len, unsigned depth,
    struct buffer *out);
/* Notes an event that is not shown: later events may refer to it. */
void view_pass_over(struct view *v, const struct event_head *head, const char *line, size_t len);
void view_free(struct view *v);

/* The last name of a call's path, with the iteration if it is not the first: "draft", "draft[2]".
 * Iterations and branches have the path of their group: their number follows that of the group's
 * call: "refine[0]", "refine[1]"; "refine[2][0]". */
void view_label(const struct event_view *event, struct buffer *out);
/* The same for a call. */
void view_call_label(const struct model_call *c, struct buffer *out);
/* Appends the first words of the line about the start of a parallel group, "any of 3 branches".
 * False, with nothing appended, if the payload is not that of a parallel group. */
bool view_branches(struct span payload, struct buffer *out);
/* Appends the content of a tool result, a list of parts: their texts, one per line, and the types
 * of other parts in brackets. Content of another form is appended as JSON. */
void view_tool_content(struct span content, struct buffer *out);

#endif
