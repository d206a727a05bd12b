/*
 * A timeline: the calls of an attempt as rows, on one axis from the attempt's begin to the last
 * that is known of anything in it, which may be later than its own end. Attempts may be days
 * apart, so each has an axis of its own. Ticks stand at round times: the first step of a table
 * that gives few enough.
 *
 * As text, all rows are measured before the first is printed, so that the timelines of all
 * attempts have the same columns: labels, bars, figures; bars take what the others leave. As a
 * page of HTML it is one file, without scripts, and nothing is loaded; a row is a <details>, so
 * it opens with the mouse and the keyboard alike.
 */
#include "inspect/display.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "inspect/call_tree.h"
#include "inspect/display_text.h"
#include "run/screen.h"

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

#define INDENT 2
#define LABEL_LEAST 8
#define LABEL_MOST 80
#define BAR_LEAST 16
#define TICK_COLUMNS 10    /* at least, from one tick to the next */
#define PAGE_TICKS_MOST 12

struct timeline_row {
	uint32_t entry; /* a call */
	unsigned depth; /* 0: not in a group */
};

/* The timeline of an attempt. */
struct timeline {
	const struct call_tree *tree;
	int64_t from, length;    /* µs since 1970; µs, above 0 */
	struct timeline_row *rows;
	size_t count;
};

static int64_t
end_of(const struct call_tree *tree, const struct call_tree_entry *e)
{
	return e->began + call_tree_duration(tree, e) * 1000;
}

/* Calls in the order in which they began, each before those in it. */
static void
add_rows(struct timeline *t, uint32_t under, unsigned depth)
{
	const struct call_tree *tree = t->tree;

	for (uint32_t i = tree->entries[under].first; i != CALL_TREE_NONE; i = tree->entries[i].next) {
		const struct call_tree_entry *e = &tree->entries[i];
		int64_t end = end_of(tree, e);

		if (end > t->from && end - t->from > t->length)
			t->length = end - t->from;
		if (e->what == CALL_TREE_CALL) {
			t->rows = memory_array(t->rows, t->count + 1, sizeof *t->rows);
			t->rows[t->count++] = (struct timeline_row){ i, depth };
		}
		add_rows(t, i, depth + (e->what == CALL_TREE_CALL));
	}
}

/* Its rows are to be freed. */
static struct timeline
timeline_of(const struct call_tree *tree, uint32_t attempt)
{
	const struct call_tree_entry *e = &tree->entries[attempt];
	struct timeline t = { .tree = tree, .from = e->began };

	t.length = end_of(tree, e) - e->began;
	if (t.length < 1000)
		t.length = 1000;
	add_rows(&t, attempt, 0);
	return t;
}

/* Where an entry begins and ends on the axis, both from 0 to 1. */
static void
place_entry(const struct timeline *t, const struct call_tree_entry *e, double at[2])
{
	const int64_t walls[2] = { e->began, end_of(t->tree, e) };

	for (int i = 0; i < 2; i++) {
		at[i] = ((double)walls[i] - (double)t->from) / (double)t->length;
		at[i] = at[i] < 0 ? 0 : at[i] > 1 ? 1 : at[i];
	}
}

/* A round time between two ticks, in ms, so that there are at most `most` of them (one at
 * least). */
static int64_t
tick_step(const struct timeline *t, size_t most)
{
	static const int64_t steps[] = { 1, 2, 5, 10, 20, 50, 100, 200, 500, SECOND, 2 * SECOND,
		5 * SECOND, 10 * SECOND, 20 * SECOND, 30 * SECOND, MINUTE, 2 * MINUTE, 5 * MINUTE,
		10 * MINUTE, 20 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 4 * HOUR, 6 * HOUR, 12 * HOUR,
		DAY };
	const size_t count = sizeof steps / sizeof *steps;
	int64_t length = t->length / 1000, step;

	for (size_t i = 0; i < count; i++)
		if (length / steps[i] <= (int64_t)most)
			return steps[i];
	for (step = 2 * DAY; length / step > (int64_t)most; step *= 2)
		;
	return step;
}

/* "0", "500ms", "1.5s": what a tick says. */
static char *
tick_text(int64_t ms, char *out, size_t size)
{
	if (ms > 0)
		return duration_text(ms, out, size);
	snprintf(out, size, "0");
	return out;
}

/* ---- as text ---- */

/* What bars are made of. */
static const struct {
	enum view_saying status;
	const char *fill;
} fills[] = {
	{ VIEW_DONE, "█" }, { VIEW_FAILED, "×" }, { VIEW_SKIPPED, "·" }, { VIEW_REUSED, "=" },
	{ VIEW_WAITING, "░" }, { VIEW_RUNNING, "▒" }, { VIEW_UNFINISHED, "?" },
};
#define FILLS (sizeof fills / sizeof *fills)

struct chart {
	const struct display *display;
	struct call_tree tree;
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
		struct timeline t = timeline_of(tree, i);

		for (size_t row = 0; row < t.count; row++) {
			buffer_clear(&text);
			add_label(c, &t.rows[row], LABEL_MOST, &text);
			if (columns(&text) > label)
				label = columns(&text);
			buffer_clear(&text);
			add_figures(c, &tree->entries[t.rows[row].entry], &text);
			if (columns(&text) > figures)
				figures = columns(&text);
		}
		free(t.rows);
	}
	buffer_free(&text);
	c->label = label < width / 3 || width / 3 < LABEL_LEAST ? label : width / 3;
	taken = c->label + figures + 2;
	c->bar = taken + BAR_LEAST < width ? width - taken : BAR_LEAST;
}

/* A tick says its time where it stands, if the one before leaves room. */
static int
print_axis(struct chart *c, const struct timeline *t, struct error *err)
{
	struct buffer *text = &c->line.text;
	int64_t step = tick_step(t, c->bar / TICK_COLUMNS), length = t->length / 1000;
	char tick[32];

	add_fill(text, " ", c->label + 1);
	for (int64_t ms = 0; ms <= length; ms += step) {
		size_t at = c->label + 1 + (size_t)((double)ms / (double)length * (double)c->bar);

		tick_text(ms, tick, sizeof tick);
		if (text->len > at || at + strlen(tick) > c->label + 1 + c->bar)
			continue;
		add_fill(text, " ", at - text->len);
		buffer_text(text, tick);
	}
	return display_line_end(&c->line, c->display, err);
}

static int
print_row(struct chart *c, const struct timeline *t, const struct timeline_row *row,
    struct error *err)
{
	const struct call_tree_entry *e = &c->tree.entries[row->entry];
	struct buffer *text = &c->line.text, figures = BUFFER_INIT;
	size_t fill = 0, from, to;
	double at[2];

	while (fill + 1 < FILLS && fills[fill].status != e->status)
		fill++;
	c->used[fill] = true;
	place_entry(t, e, at);
	from = (size_t)(at[0] * (double)c->bar);
	to = (size_t)(at[1] * (double)c->bar + 0.5);
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

		if (several) {
			failed = display_line_end(&c->line, d, err);
			display_entry(&c->line, &c->tree, &entries[i]);
			failed = failed != 0 ? -1 : display_line_end(&c->line, d, err);
		}
		if (failed == 0 && t.count > 0)
			failed = print_axis(c, &t, err);
		for (size_t row = 0; failed == 0 && row < t.count; row++)
			failed = print_row(c, &t, &t.rows[row], err);
		free(t.rows);
	}
	if (failed != 0)
		return -1;
	/* What the bars mean that are not just done. */
	for (size_t i = 1; i < FILLS; i++)
		if (c->used[i])
			buffer_format(&c->line.text, "%s%s %s", c->line.text.len > 0 ? "  " : "",
			    fills[i].fill, view_words[fills[i].status].text);
	return c->line.text.len > 0 ? display_line_end(&c->line, d, err) : 0;
}

/* ---- as a page ---- */

static const char page_head[] =
    "<!DOCTYPE html>\n"
    "<html lang=\"en\">\n"
    "<head>\n"
    "<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta http-equiv=\"Content-Security-Policy\""
    " content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
    "<style>\n"
    ":root { color-scheme: light dark; --line: #d0d4da; --soft: #f2f4f7; --dim: #59636e;\n"
    "  --done: #2f7d4f; --failed: #c2352b; --skipped: #9a9fa6; --reused: #4f8f9e;\n"
    "  --waiting: #b98300; --running: #2f6db5; --unfinished: #8a4fb0; }\n"
    "@media (prefers-color-scheme: dark) { :root { --line: #3a4048; --soft: #1e2329;\n"
    "  --dim: #9aa4af; --done: #58b77f; --failed: #f0695f; --skipped: #767d86;\n"
    "  --reused: #76bccb; --waiting: #e0ad3c; --running: #6ba6ea; --unfinished: #bf8be0; } }\n"
    "body { font: 14px/1.5 system-ui, sans-serif; margin: 1.5rem; }\n"
    "h1 { font-size: 1.4rem; margin: 0; } h2 { font-size: 1.1rem; margin: 1.5rem 0 .5rem; }\n"
    ".about, .axis, .figures { color: var(--dim); }\n"
    ".axis, summary { display: grid; grid-template-columns: 14rem 1fr 9rem; gap: .75rem; }\n"
    ".ticks { position: relative; height: 1.5rem; }\n"
    ".ticks span { position: absolute; white-space: nowrap; border-left: 1px solid var(--line);\n"
    "  padding-left: .2rem; }\n"
    "details { border-top: 1px solid var(--line); } details[open] { background: var(--soft); }\n"
    "summary { cursor: pointer; padding: .15rem 0; }\n"
    "summary:focus-visible { outline: 2px solid var(--running); }\n"
    ".label::before { content: \"\\25b8\\a0\"; }\n"
    "[open] .label::before { content: \"\\25be\\a0\"; }\n"
    ".label { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }\n"
    ".track { position: relative; }\n"
    ".bar { position: absolute; top: .3rem; bottom: .3rem; min-width: 3px; border-radius: 2px; }\n"
    ".panel { margin: .25rem 0 .75rem; padding: 0 1rem; overflow-wrap: anywhere; }\n"
    ".panel dt { color: var(--dim); float: left; clear: left; width: 6rem; }\n"
    ".panel dd { margin: 0 0 0 7rem; }\n"
    ".done { background: var(--done); } .failed { background: var(--failed); }\n"
    ".skipped { background: var(--skipped); } .reused { background: var(--reused); }\n"
    ".waiting { background: var(--waiting); } .running { background: var(--running); }\n"
    ".unfinished { background: var(--unfinished); }\n"
    "</style>\n";

/* Text from outside: control characters visible, markup harmless. */
static void
add_text(struct buffer *out, const char *text)
{
	static const struct { char c; const char *entity; } entities[] = {
		{ '&', "&amp;" }, { '<', "&lt;" }, { '>', "&gt;" }, { '"', "&quot;" }, { '\'', "&#39;" },
	};
	struct buffer visible = BUFFER_INIT;

	text_visible(&visible, text, strlen(text), 0);
	for (size_t i = 0; i < visible.len; i++) {
		size_t e = 0;

		while (e < sizeof entities / sizeof *entities && entities[e].c != visible.data[i])
			e++;
		if (e < sizeof entities / sizeof *entities)
			buffer_text(out, entities[e].entity);
		else
			buffer_byte(out, visible.data[i]);
	}
	buffer_free(&visible);
}

/* What there is to say of an entry, in one line. */
static void
add_entry(struct buffer *out, const struct call_tree *tree, const struct call_tree_entry *e)
{
	struct display_line line = { .colour = NULL };

	display_entry(&line, tree, e);
	add_text(out, buffer_string(&line.text));
	buffer_free(&line.text);
}

static void
add_name(struct buffer *out, const struct call_tree_entry *e)
{
	struct buffer label = BUFFER_INIT;

	display_label(e, &label);
	add_text(out, buffer_string(&label));
	buffer_free(&label);
}

/* Turns and tool calls of a call: calls in it have rows of their own. */
static void
add_turns(struct buffer *out, const struct call_tree *tree, uint32_t call)
{
	for (uint32_t i = call_tree_first(tree, call); i != CALL_TREE_NONE;
	    i = tree->entries[i].next) {
		bool turn = tree->entries[i].what == CALL_TREE_TURN;

		if (!turn && tree->entries[i].what != CALL_TREE_TOOL)
			continue;
		buffer_format(out, "<dt>%s</dt><dd>", turn ? "turn" : "tool");
		add_entry(out, tree, &tree->entries[i]);
		buffer_text(out, "</dd>\n");
		if (turn)
			add_turns(out, tree, i);
	}
}

/* A row, and the panel that it opens. */
static void
add_row(struct buffer *out, const struct timeline *t, const struct timeline_row *row)
{
	const struct call_tree_entry *e = &t->tree->entries[row->entry];
	const char *status = view_words[e->status].text;
	char text[32], began[CLOCK_TEXT_SIZE] = "", ended[CLOCK_TEXT_SIZE] = "";
	double at[2];

	if (e->began != 0)
		clock_text(e->began, began);
	if (e->ended != 0)
		clock_text(e->ended, ended);
	const struct { const char *term, *text; } terms[] = {
		{ "call", e->call },
		{ "kind", e->kind },
		{ "status", status },
		{ e->status == VIEW_SKIPPED ? "skipped" : "error", e->why },
		{ "runs", e->does },
		{ "model", e->model },
		{ "child run", e->child },
		{ "began", began },
		{ "ended", ended },
	};

	place_entry(t, e, at);
	buffer_format(out, "<details><summary><span class=\"label\" style=\"padding-left: %urem\">",
	    row->depth);
	add_name(out, e);
	buffer_format(out, "</span><span class=\"track\"><span class=\"bar %s\""
	    " style=\"left: %.3f%%; width: %.3f%%\"></span></span><span class=\"figures\">",
	    status, at[0] * 100, (at[1] - at[0]) * 100);
	if (e->ended != 0 || t->tree->alive)
		buffer_format(out, "%s ", duration_text(call_tree_duration(t->tree, e), text, sizeof text));
	buffer_format(out, "%s</span></summary>\n<dl class=\"panel\">\n", status);
	for (size_t i = 0; i < sizeof terms / sizeof *terms; i++) {
		if (!terms[i].text || *terms[i].text == '\0')
			continue;
		buffer_format(out, "<dt>%s</dt><dd>", terms[i].term);
		add_text(out, terms[i].text);
		buffer_text(out, "</dd>\n");
	}
	add_turns(out, t->tree, row->entry);
	buffer_text(out, "</dl>\n</details>\n");
}

static int
write_page(const struct call_tree *tree, const char *path, struct error *err)
{
	const struct call_tree_entry *entries = tree->entries;
	struct replacement file;
	struct buffer out = BUFFER_INIT;
	int failed = 0;

	if (replacement_open(&file, path, 0644, err) != 0)
		return -1;
	buffer_text(&out, page_head);
	buffer_text(&out, "<title>");
	add_name(&out, &entries[0]);
	buffer_text(&out, " – timeline</title>\n</head>\n<body>\n<h1>");
	add_name(&out, &entries[0]);
	buffer_text(&out, "</h1>\n<p class=\"about\">");
	add_entry(&out, tree, &entries[0]);
	buffer_text(&out, "</p>\n");
	for (uint32_t i = entries[0].first; failed == 0 && i != CALL_TREE_NONE; i = entries[i].next) {
		struct timeline t = timeline_of(tree, i);
		int64_t step = tick_step(&t, PAGE_TICKS_MOST), length = t.length / 1000;
		char tick[32];

		buffer_text(&out, "<section>\n<h2>");
		add_entry(&out, tree, &entries[i]);
		buffer_text(&out, "</h2>\n<div class=\"axis\" aria-hidden=\"true\"><span></span>"
		    "<span class=\"ticks\">");
		for (int64_t ms = 0; ms < length; ms += step)
			buffer_format(&out, "<span style=\"left: %.3f%%\">%s</span>",
			    (double)ms / (double)length * 100, tick_text(ms, tick, sizeof tick));
		buffer_text(&out, "</span><span></span></div>\n");
		for (size_t row = 0; failed == 0 && row < t.count; row++) {
			add_row(&out, &t, &t.rows[row]);
			if (file_write(file.fd, out.data, out.len) != 0)
				failed = error_errno(err, ERROR_SYSTEM, file.path, "unable to write");
			buffer_clear(&out);
		}
		buffer_text(&out, "</section>\n");
		free(t.rows);
	}
	buffer_text(&out, "</body>\n</html>\n");
	if (failed == 0 && file_write(file.fd, out.data, out.len) != 0)
		failed = error_errno(err, ERROR_SYSTEM, file.path, "unable to write");
	buffer_free(&out);
	if (failed == 0)
		return replacement_commit(&file, false, err);
	replacement_abandon(&file);
	return -1;
}

int
display_timeline(const struct display *d, struct error *err)
{
	struct chart c = { .display = d };
	enum call_tree_kind least = d->html ? CALL_TREE_TOOL : CALL_TREE_CALL;
	int failed;

	if (call_tree_read(&c.tree, d->run, least, d->warn, err) != 0)
		return -1;
	failed = d->html ? write_page(&c.tree, d->html, err) : print_chart(&c, err);
	buffer_free(&c.line.text);
	call_tree_free(&c.tree);
	return failed;
}
