/*
 * A line is plain text until its end, with one range that will be coloured, the status. The line is
 * cut to the width first, and the colour is added only if the range is still complete.
 */
#include "replay/display_text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/count.h"
#include "base/locale.h"
#include "base/text.h"

#define RUN_PREFIX 8 /* digits of a run id that are shown */

/* Appends recorded text, with control characters escaped. */
static void
display_line_add(struct display_line *l, const char *text)
{
	text_visible(&l->text, text, strlen(text), 0);
}

/* Appends a figure; all are in one parenthesis, which stays open. NULL: nothing. */
static void
display_line_detail(struct display_line *l, const char *text)
{
	if (!text || *text == '\0')
		return;
	buffer_text(&l->text, l->detailed ? ", " : " (");
	l->detailed = true;
	display_line_add(l, text);
}

int
display_line_end(struct display_line *l, const struct display *d, struct error *err)
{
	struct buffer cut = BUFFER_INIT, out = BUFFER_INIT;
	bool coloured;
	int failed;

	text_visible(&cut, buffer_string(&l->text), l->text.len, d->width);
	coloured = d->colour && l->colour && *l->colour != '\0' && l->to <= cut.len &&
	    memcmp(cut.data, l->text.data, l->to) == 0;
	if (coloured) {
		buffer_append(&out, cut.data, l->from);
		buffer_text(&out, l->colour);
		buffer_append(&out, cut.data + l->from, l->to - l->from);
		buffer_text(&out, VIEW_PLAIN);
		buffer_append(&out, cut.data + l->to, cut.len - l->to);
	} else {
		buffer_append(&out, buffer_string(&cut), cut.len);
	}
	buffer_byte(&out, '\n');
	locale_draw(&out, 0);
	failed = outlet_event(d->out, out.data, out.len, err);
	buffer_free(&cut);
	buffer_free(&out);
	buffer_clear(&l->text);
	l->colour = NULL;
	return failed;
}

void
display_label(const struct call_tree_entry *e, struct buffer *out)
{
	switch (e->what) {
	case CALL_TREE_ATTEMPT:
		buffer_format(out, "attempt %lld", (long long)e->attempt);
		break;
	case CALL_TREE_TURN:
		buffer_format(out, "turn %lld%s%s", (long long)e->attempt, e->label ? " of " : "",
		    e->label ? e->label : "");
		break;
	default:
		buffer_text(out, e->label && *e->label != '\0' ? e->label :
		    e->what == CALL_TREE_RUN ? "run" : "?");
	}
}

/* Appends the figures of an entry; for a run its id and date, since all other times are
 * relative. */
static void
add_details(struct display_line *l, const struct call_tree *tree, const struct call_tree_entry *e)
{
	const struct { int64_t count; const char *unit; } tokens[] = {
		{ e->input_tokens, "in" }, { e->output_tokens, "out" },
	};
	char text[48], figure[32];

	if (e->what == CALL_TREE_RUN) {
		char day[CLOCK_TEXT_SIZE];

		clock_text(e->began, day)[sizeof "2026-11-21" - 1] = '\0';
		display_line_detail(l, tree->run_id);
		display_line_detail(l, day);
	}
	display_line_detail(l, e->differs);
	if (e->status != VIEW_SKIPPED && e->status != VIEW_REUSED && !e->behind && (e->ended != 0 || tree->alive))
		display_line_detail(l, duration_text(call_tree_duration(tree, e), text, sizeof text));
	display_line_detail(l, e->model);
	for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
		if (tokens[i].count >= 0) {
			snprintf(text, sizeof text, "%s %s",
			    count_text(tokens[i].count, figure, sizeof figure), tokens[i].unit);
			display_line_detail(l, text);
		}
	if (e->retries > 0) {
		snprintf(text, sizeof text, "%lld %s", (long long)e->retries,
		    e->retries == 1 ? "retry" : "retries");
		display_line_detail(l, text);
	}
	if (e->child) {
		snprintf(text, sizeof text, "run %.*s", RUN_PREFIX, e->child);
		display_line_detail(l, text);
	}
	if (l->detailed)
		buffer_byte(&l->text, ')');
	l->detailed = false;
}

void
display_entry(struct display_line *l, const struct call_tree *tree, const struct call_tree_entry *e)
{
	struct buffer label = BUFFER_INIT;
	const char *reason = e->why ? e->why : e->does;

	display_label(e, &label);
	display_line_add(l, buffer_string(&label));
	buffer_free(&label);
	if (e->kind) {
		display_line_add(l, " ");
		display_line_add(l, e->kind);
	}
	if (e->what != CALL_TREE_TURN) {
		display_line_add(l, " ");
		l->from = l->text.len;
		buffer_text(&l->text, view_words[e->status].text);
		l->to = l->text.len;
		l->colour = view_words[e->status].colour;
	}
	add_details(l, tree, e);
	if (reason) {
		display_line_add(l, ": ");
		display_line_add(l, reason);
	}
	/* For a failed tool, the input helps as much as the output. */
	if (e->why && e->does && e->what == CALL_TREE_TOOL && strcmp(e->does, "{}") != 0) {
		display_line_add(l, "; asked ");
		display_line_add(l, e->does);
	}
}
