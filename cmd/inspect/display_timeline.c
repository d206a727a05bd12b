/*
 * All rows are measured before the first is printed, so that the timelines of all attempts have
 * the same columns: labels, bars, figures. Bars take what the others leave.
 */
#include "inspect/display.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "inspect/display_text.h"
#include "inspect/timeline.h"
#include "run/screen.h"

#define INDENT 2
#define LABEL_LEAST 8
#define BAR_LEAST 16
#define TICK_COLUMNS 10 /* at least, from one tick to the next */

/* What bars are made of. */
static const struct {
	enum view_saying status;
	const char *fill;
} fills[] = {
	{ VIEW_DONE, "█" }, { VIEW_FAILED, "×" }, { VIEW_SKIPPED, "·" }, { VIEW_REUSED, "=" },
	{ VIEW_WAITING, "░" }, { VIEW_RUNNING, "▒" }, { VIEW_UNFINISHED, "?" },
};
#define FILLS (sizeof fills / sizeof *fills)

/* Timelines of all attempts have the same columns. */
struct chart {
	const struct display *display;
	struct call_tree tree;
	struct timeline timeline;
	size_t label, bar;    /* columns */
	bool used[FILLS];
	struct display_line line;
};

/* Columns that harmless text takes: characters. */
static size_t
columns(const struct buffer *text)
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

/* The indented label of a row, at most width columns. */
static void
add_label(const struct chart *c, const struct timeline_row *row, size_t width,
    struct buffer *out)
{
	struct buffer label = BUFFER_INIT;
	size_t indent = (size_t)row->depth * INDENT;

	if (indent > width / 2)
		indent = width / 2;
	add_fill(out, " ", indent);
	display_label(&c->tree.entries[row->entry], &label);
	text_visible(out, buffer_string(&label), label.len, width - indent);
	buffer_free(&label);
}

/* "2.5s", "30ms failed" */
static void
add_figures(const struct chart *c, const struct call_tree_entry *e, struct buffer *out)
{
	char text[32];

	if (e->status == VIEW_DONE || e->ended != 0 || c->tree.alive)
		buffer_text(out, duration_text(call_tree_duration(&c->tree, e), text, sizeof text));
	if (e->status != VIEW_DONE)
		buffer_format(out, "%s%s", out->len > 0 ? " " : "", view_words[e->status].text);
}

/* The bar gets what labels (a third at most) and figures leave. */
static void
lay_out(struct chart *c)
{
	size_t width = c->display->width > 0 ? c->display->width : SCREEN_WIDTH;
	size_t label = LABEL_LEAST, figures = 0, taken;
	const struct call_tree *tree = &c->tree;
	struct buffer text = BUFFER_INIT;

	for (uint32_t i = tree->entries[0].first; i != CALL_TREE_NONE; i = tree->entries[i].next) {
		timeline_make(&c->timeline, tree, i);
		for (size_t row = 0; row < c->timeline.count; row++) {
			buffer_clear(&text);
			add_label(c, &c->timeline.rows[row], 80, &text);
			if (columns(&text) > label)
				label = columns(&text);
			buffer_clear(&text);
			add_figures(c, &tree->entries[c->timeline.rows[row].entry], &text);
			if (columns(&text) > figures)
				figures = columns(&text);
		}
		timeline_free(&c->timeline);
	}
	buffer_free(&text);
	c->label = label < width / 3 || width / 3 < LABEL_LEAST ? label : width / 3;
	taken = c->label + figures + 2;
	c->bar = taken + BAR_LEAST < width ? width - taken : BAR_LEAST;
}

/* A tick says its time where it stands, if the one before leaves room. */
static int
print_axis(struct chart *c, struct error *err)
{
	struct buffer *text = &c->line.text;
	int64_t step = timeline_step(&c->timeline, c->bar / TICK_COLUMNS);
	int64_t length = c->timeline.length / 1000;
	char tick[32];

	add_fill(text, " ", c->label + 1);
	for (int64_t ms = 0; ms <= length; ms += step) {
		size_t at = c->label + 1 + (size_t)((double)ms / (double)length * (double)c->bar);

		timeline_tick(ms, tick, sizeof tick);
		if (text->len > at || at + strlen(tick) > c->label + 1 + c->bar)
			continue;
		add_fill(text, " ", at - text->len);
		buffer_text(text, tick);
	}
	return display_line_end(&c->line, c->display, err);
}

static int
print_row(struct chart *c, const struct timeline_row *row, struct error *err)
{
	const struct call_tree_entry *e = &c->tree.entries[row->entry];
	struct buffer *text = &c->line.text, figures = BUFFER_INIT;
	size_t fill = 0, from, to;
	double begin, end;

	while (fill + 1 < FILLS && fills[fill].status != e->status)
		fill++;
	c->used[fill] = true;
	timeline_span(&c->timeline, e, &begin, &end);
	from = (size_t)(begin * (double)c->bar);
	to = (size_t)(end * (double)c->bar + 0.5);
	if (from == c->bar)
		from--;
	if (to <= from)
		to = from + 1;
	add_label(c, row, c->label, text);
	add_fill(text, " ", c->label + 1 - columns(text) + from);
	c->line.from = text->len;
	add_fill(text, fills[fill].fill, to - from);
	c->line.to = text->len;
	c->line.colour = view_words[e->status].colour;
	add_fill(text, " ", c->bar - to);
	add_figures(c, e, &figures);
	buffer_format(text, " %s", buffer_string(&figures));
	buffer_free(&figures);
	return display_line_end(&c->line, c->display, err);
}

static int
print_attempt(struct chart *c, uint32_t attempt, struct error *err)
{
	const struct call_tree *tree = &c->tree;
	bool several = tree->entries[0].first != tree->entries[0].last;
	int failed = 0;

	if (several) {
		failed = display_line_end(&c->line, c->display, err);
		display_entry(&c->line, tree, &tree->entries[attempt]);
		failed = failed != 0 ? -1 : display_line_end(&c->line, c->display, err);
	}
	timeline_make(&c->timeline, tree, attempt);
	if (failed == 0 && c->timeline.count > 0)
		failed = print_axis(c, err);
	for (size_t i = 0; failed == 0 && i < c->timeline.count; i++)
		failed = print_row(c, &c->timeline.rows[i], err);
	timeline_free(&c->timeline);
	return failed;
}

static int
print_chart(struct chart *c, struct error *err)
{
	const struct call_tree *tree = &c->tree;

	display_entry(&c->line, tree, &tree->entries[0]);
	if (display_line_end(&c->line, c->display, err) != 0)
		return -1;
	lay_out(c);
	for (uint32_t i = tree->entries[0].first; i != CALL_TREE_NONE; i = tree->entries[i].next)
		if (print_attempt(c, i, err) != 0)
			return -1;
	/* What the bars mean that are not just done. */
	for (size_t i = 1; i < FILLS; i++)
		if (c->used[i])
			buffer_format(&c->line.text, "%s%s %s", c->line.text.len > 0 ? "  " : "",
			    fills[i].fill, view_words[fills[i].status].text);
	return c->line.text.len > 0 ? display_line_end(&c->line, c->display, err) : 0;
}

int
display_timeline(const struct display *d, struct error *err)
{
	struct chart c = { .display = d };
	enum call_tree_kind least = d->html ? CALL_TREE_TOOL : CALL_TREE_CALL;
	int failed;

	if (call_tree_read(&c.tree, d->run, least, d->warn, err) != 0)
		return -1;
	display_line_begin(&c.line);
	failed = d->html ? timeline_page(&c.tree, d->html, err) : print_chart(&c, err);
	display_line_free(&c.line);
	call_tree_free(&c.tree);
	return failed;
}
