/*
 * A timeline as text: the calls of an attempt as rows on its axis. All rows are measured before the
 * first is printed, so that the timelines of all attempts have the same columns: labels, bars,
 * figures; bars get the remaining width. Many items of a step are one row, as in the tree.
 */
#include "replay/display.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "replay/call_series.h"
#include "replay/call_tree.h"
#include "replay/display_text.h"
#include "replay/timeline.h"
#include "view/screen.h"

#define INDENT 2
#define LABEL_LEAST 8
#define LABEL_MOST 80
#define BAR_LEAST 16
#define TICK_COLUMNS 10    /* least distance between two ticks */

struct row {
	uint32_t entry; /* entry of a call; for a series, of its first item */
	unsigned depth; /* 0: not inside of a group */
	struct call_series series; /* count 0: not a series */
};

/* The calls of an attempt, each before those inside of it; a long series is one row. */
struct rows {
	struct row *list;
	size_t count;
};

static void
add_row(struct rows *rows, struct row row)
{
	rows->list = memory_array(rows->list, rows->count + 1, sizeof *rows->list);
	rows->list[rows->count++] = row;
}

static void add_rows(struct rows *rows, const struct display *d, const struct call_tree *tree,
    uint32_t under, unsigned depth);

/* Adds an entry and everything below it. */
static void
add_call(struct rows *rows, const struct display *d, const struct call_tree *tree, uint32_t entry,
    unsigned depth)
{
	const bool call = tree->entries[entry].what == CALL_TREE_CALL;

	if (call)
		add_row(rows, (struct row){ .entry = entry, .depth = depth });
	add_rows(rows, d, tree, entry, depth + call);
}

static void
add_rows(struct rows *rows, const struct display *d, const struct call_tree *tree, uint32_t under,
    unsigned depth)
{
	struct call_siblings siblings;

	call_siblings_read(&siblings, tree, tree->entries[under].first);
	for (size_t i = 0; i < siblings.count; i++) {
		const struct call_series *series = d->all ? NULL : call_siblings_series(&siblings, i);

		if (series == NULL) {
			add_call(rows, d, tree, siblings.list[i].entry, depth);
			continue;
		}
		/* After the row of the series, add only items that need attention. */
		if (series->first != siblings.list[i].entry)
			continue;
		add_row(rows, (struct row){ .entry = series->first, .depth = depth, .series = *series });
		for (size_t item = i; item != CALL_TREE_NONE; item = siblings.list[item].next)
			if (call_series_tells(&tree->entries[siblings.list[item].entry]))
				add_call(rows, d, tree, siblings.list[item].entry, depth + 1);
	}
	call_siblings_free(&siblings);
}

/* The characters with which bars are drawn. */
static const struct {
	enum view_saying status;
	const char *fill;
} fills[] = {
	{ VIEW_DONE, "█" }, { VIEW_FAILED, "×" }, { VIEW_CANCELLED, "/" }, { VIEW_CLOSED, "-" },
	{ VIEW_SKIPPED, "·" }, { VIEW_REUSED, "=" },
	{ VIEW_WAITING, "░" }, { VIEW_RUNNING, "▒" }, { VIEW_UNFINISHED, "?" },
};
#define FILLS (sizeof fills / sizeof *fills)

struct chart {
	const struct display *display;
	struct call_tree tree;
	size_t label, bar;    /* columns of labels and of bars */
	bool used[FILLS];
	struct display_line line;
};

/* The number of columns of a printable text: one for each character. */
static size_t
display_timeline_columns(const struct buffer *text)
{
	size_t count = 0;

	for (size_t i = 0; i < text->len; i++)
		count += ((unsigned char)text->data[i] & 0xc0) != 0x80;
	return count;
}

static void
add_fill(struct buffer *out, const char *fill, size_t count)
{
	while (count-- > 0)
		buffer_text(out, fill);
}

/* Appends the indented label of a row, in at most width columns. */
static void
add_label(const struct chart *c, const struct row *row, size_t width,
    struct buffer *out)
{
	struct buffer label = BUFFER_INIT;
	size_t indent = (size_t)row->depth * INDENT;

	if (indent > width / 2)
		indent = width / 2;
	add_fill(out, " ", indent);
	if (row->series.count > 0)
		call_series_label(&c->tree, &row->series, &label);
	else
		display_label(&c->tree.entries[row->entry], &label);
	text_visible(out, buffer_string(&label), label.len, width - indent);
	buffer_free(&label);
}

/* Appends figures: "2.5s", "30ms failed"; for a series "3.0s 199 ✓ 1 ✗". */
static void
display_timeline_add_figures(const struct chart *c, const struct row *row, struct buffer *out)
{
	const struct call_tree_entry *e = &c->tree.entries[row->entry];
	char text[32];

	if (row->series.count > 0) {
		buffer_format(out, "%s ", duration_text((row->series.until - row->series.began) / 1000, text,
		    sizeof text));
		call_series_counts(&row->series, out);
		return;
	}
	if (e->status == VIEW_DONE || e->ended != 0 || c->tree.alive)
		buffer_text(out, duration_text(call_tree_duration(&c->tree, e), text, sizeof text));
	if (e->status != VIEW_DONE)
		buffer_format(out, "%s%s", out->len > 0 ? " " : "", view_words[e->status].text);
}

/* Computes the width of bars: what labels (at most a third) and figures leave. */
static void
lay_out(struct chart *c)
{
	size_t width = c->display->width > 0 ? c->display->width : SCREEN_WIDTH;
	size_t label = LABEL_LEAST, figures = 0, taken;
	const struct call_tree *tree = &c->tree;
	struct buffer text = BUFFER_INIT;

	for (uint32_t i = tree->entries[0].first; i != CALL_TREE_NONE; i = tree->entries[i].next) {
		struct rows rows = { NULL, 0 };

		add_rows(&rows, c->display, tree, i, 0);
		for (size_t row = 0; row < rows.count; row++) {
			buffer_clear(&text);
			add_label(c, &rows.list[row], LABEL_MOST, &text);
			if (display_timeline_columns(&text) > label)
				label = display_timeline_columns(&text);
			buffer_clear(&text);
			display_timeline_add_figures(c, &rows.list[row], &text);
			if (display_timeline_columns(&text) > figures)
				figures = display_timeline_columns(&text);
		}
		free(rows.list);
	}
	buffer_free(&text);
	c->label = label < width / 3 || width / 3 < LABEL_LEAST ? label : width / 3;
	taken = c->label + figures + 2;
	c->bar = taken + BAR_LEAST < width ? width - taken : BAR_LEAST;
}

/* Prints the axis. A tick is labelled with its time, if the previous label leaves room for that. */
static int
print_axis(struct chart *c, const struct timeline *t, struct error *err)
{
	struct buffer *text = &c->line.text;
	int64_t step = timeline_tick(t, c->bar / TICK_COLUMNS), length = t->length / 1000;
	char tick[32];

	add_fill(text, " ", c->label + 1);
	for (int64_t ms = 0; ms <= length; ms += step) {
		size_t at = c->label + 1 + (size_t)((double)ms / (double)length * (double)c->bar);

		timeline_tick_text(ms, tick, sizeof tick);
		if (text->len > at || at + strlen(tick) > c->label + 1 + c->bar)
			continue;
		add_fill(text, " ", at - text->len);
		buffer_text(text, tick);
	}
	return display_line_end(&c->line, c->display, err);
}

static int
print_row(struct chart *c, const struct timeline *t, const struct row *row,
    struct error *err)
{
	const struct call_tree_entry *e = &c->tree.entries[row->entry];
	const bool series = row->series.count > 0;
	/* Items that need attention have rows of their own, so the series counts as done. */
	const enum view_saying status = series ? VIEW_DONE : e->status;
	struct buffer *text = &c->line.text, figures = BUFFER_INIT;
	size_t fill = 0, from, to;
	double at[2];

	while (fill + 1 < FILLS && fills[fill].status != status)
		fill++;
	c->used[fill] = true;
	timeline_place(t, series ? row->series.began : e->began,
	    series ? row->series.until : timeline_end(t->tree, e), at);
	from = (size_t)(at[0] * (double)c->bar);
	to = (size_t)(at[1] * (double)c->bar + 0.5);
	if (from == c->bar)
		from--;
	if (to <= from)
		to = from + 1;
	add_label(c, row, c->label, text);
	add_fill(text, " ", c->label + 1 - display_timeline_columns(text) + from);
	c->line.from = text->len;
	add_fill(text, fills[fill].fill, to - from);
	c->line.to = text->len;
	c->line.colour = view_words[series ? call_series_status(&row->series) : status].colour;
	add_fill(text, " ", c->bar - to);
	display_timeline_add_figures(c, row, &figures);
	buffer_format(text, " %s", buffer_string(&figures));
	buffer_free(&figures);
	return display_line_end(&c->line, c->display, err);
}

static int
print_chart(struct chart *c, struct error *err)
{
	const struct call_tree_entry *entries = c->tree.entries;
	const struct display *d = c->display;
	bool several = entries[0].first != entries[0].last;
	int failed;

	display_entry(&c->line, &c->tree, &entries[0]);
	failed = display_line_end(&c->line, d, err);
	lay_out(c);
	for (uint32_t i = entries[0].first; failed == 0 && i != CALL_TREE_NONE; i = entries[i].next) {
		struct timeline t = timeline_of(&c->tree, i);
		struct rows rows = { NULL, 0 };

		if (several) {
			failed = display_line_end(&c->line, d, err);
			display_entry(&c->line, &c->tree, &entries[i]);
			failed = failed != 0 ? -1 : display_line_end(&c->line, d, err);
		}
		add_rows(&rows, d, &c->tree, i, 0);
		if (failed == 0 && rows.count > 0)
			failed = print_axis(c, &t, err);
		for (size_t row = 0; failed == 0 && row < rows.count; row++)
			failed = print_row(c, &t, &rows.list[row], err);
		free(rows.list);
	}
	if (failed != 0)
		return -1;
	/* Explain the bars that do not stand for successful calls. */
	for (size_t i = 1; i < FILLS; i++)
		if (c->used[i])
			buffer_format(&c->line.text, "%s%s %s", c->line.text.len > 0 ? "  " : "",
			    fills[i].fill, view_words[fills[i].status].text);
	return c->line.text.len > 0 ? display_line_end(&c->line, d, err) : 0;
}

int
display_timeline(const struct display *d, struct error *err)
{
	struct chart c = { .display = d };
	int failed;

	if (d->html)
		return display_page(d, err);
	if (call_tree_read(&c.tree, d->run,
	    &(struct call_tree_spec){ .least = CALL_TREE_CALL, .warn = d->warn }, err) != 0)
		return -1;
	failed = print_chart(&c, err);
	buffer_free(&c.line.text);
	call_tree_free(&c.tree);
	return failed;
}
