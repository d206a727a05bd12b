/*
 * The timeline as a page of HTML: one file, without scripts, that loads nothing. A row is a
 * <details> that contains the rows of what is inside the call, so it opens and closes with the
 * mouse and the keyboard; calls with others inside are open at first. The bars of all rows are on
 * the axis of their attempt; only labels are indented.
 *
 * The page is written while the tree is walked through, and the details of each row (page_panel.h)
 * are read again from its transcript, so that only the tree is kept in memory. The more rows there
 * are, the less room their texts get, so that pages of large runs have a limited size.
 */
#include "replay/display.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/count.h"
#include "io/file.h"
#include "replay/call_series.h"
#include "replay/display_text.h"
#include "replay/page_panel.h"
#include "replay/page_text.h"
#include "replay/timeline.h"
#include "transcript/layout.h"

#define TICKS_MOST 10
#define BARS_MOST 300              /* most bars of turns and tool calls in the row of their call */
#define EXCERPT_COLUMNS 120       /* columns of recorded text in a row */
#define FAILURES_MOST 8            /* most failures that are listed at the top */
#define TEXTS_ROOM ((size_t)32 << 20) /* approximate limit for the texts of all rows */
#define TEXT_LEAST ((size_t)400)
#define TEXT_MOST ((size_t)16 << 10)
#define IMAGES_ROOM ((int64_t)8 << 20)
#define OUT_MOST ((size_t)64 << 10) /* bytes collected before they are written */

/* cmd/replay/page.css */
extern const char page_css[];

static const char page_head[] =
    "<!DOCTYPE html>\n"
    "<html lang=\"en\">\n"
    "<head>\n"
    "<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta http-equiv=\"Content-Security-Policy\""
    " content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n";

struct page {
	struct call_tree tree;
	struct cost cost;
	struct replacement file;
	struct buffer out;
	struct page_panel panel;
	const char *path;          /* transcript of the current rows */
	struct timeline timeline;  /* axis of the current attempt */
	int failed;
	struct error *err;
};

static void
page_flush_output(struct page *p, size_t above)
{
	if (p->out.len <= above)
		return;
	if (p->failed == 0 && file_write(p->file.fd, p->out.data, p->out.len) != 0)
		p->failed = error_errno(p->err, ERROR_SYSTEM, p->file.path, "unable to write");
	buffer_clear(&p->out);
}

static void
add_label(struct page *p, uint32_t entry)
{
	struct buffer label = BUFFER_INIT;

	display_label(&p->tree.entries[entry], &label);
	page_line(&p->out, buffer_string(&label), 0);
	buffer_free(&label);
}

/* Writes a recorded text among the details of an entry. */
static void
add_excerpt(struct page *p, const char *before, const char *text)
{
	buffer_text(&p->out, before);
	page_line(&p->out, text, EXCERPT_COLUMNS);
}

static void
add_bar(struct page *p, const char *class, int64_t began, int64_t until)
{
	double at[2];

	timeline_place(&p->timeline, began, until, at);
	buffer_format(&p->out, "<i class=\"%s\" style=\"left:%.2f%%;width:%.2f%%\"></i>", class,
	    at[0] * 99.7, (at[1] - at[0]) * 99.7);
}

/* Writes short bars for turns and tools in the row of their call. */
static void
add_moments(struct page *p, uint32_t above, size_t *left)
{
	const struct call_tree *tree = &p->tree;

	for (uint32_t i = tree->entries[above].first; i != CALL_TREE_NONE && *left > 0;
	    i = tree->entries[i].next) {
		const struct call_tree_entry *e = &tree->entries[i];

		if (e->what != CALL_TREE_TURN && e->what != CALL_TREE_TOOL)
			continue;
		--*left;
		add_bar(p, e->what == CALL_TREE_TURN ? "turn" : "tool", e->began, timeline_end(tree, e));
		add_moments(p, i, left);
	}
}

/* Counts the turns and tool calls below an entry. */
static void
count_moments(const struct call_tree *tree, uint32_t above, long *turns, long *tools)
{
	for (uint32_t i = tree->entries[above].first; i != CALL_TREE_NONE; i = tree->entries[i].next) {
		*turns += tree->entries[i].what == CALL_TREE_TURN;
		*tools += tree->entries[i].what == CALL_TREE_TOOL;
		if (tree->entries[i].what == CALL_TREE_TURN)
			count_moments(tree, i, turns, tools);
	}
}

/* Writes the text next to an entry's name. */
static void
add_abouts(struct page *p, uint32_t entry)
{
	const struct call_tree_entry *e = &p->tree.entries[entry];
	const int64_t cost = p->tree.lines[entry].cost;
	char text[MONEY_SIZE], other[32];
	long turns = 0, tools = 0;

	buffer_text(&p->out, " <span class=\"about\">");
	if (e->status != VIEW_DONE && e->status != VIEW_SUCCESS && e->status != VIEW_RUNNING)
		buffer_format(&p->out, " %s%s", view_words[e->status].text,
		    e->why || e->kind || e->does || e->differs ? " ·" : "");
	if (e->differs)
		add_excerpt(p, " ", e->differs);
	if (e->differs && (e->why || e->kind || e->does))
		buffer_text(&p->out, " ·");
	if ((e->status == VIEW_FAILED || e->status == VIEW_CANCELLED) && e->why) {
		add_excerpt(p, " ", e->why);
	} else {
		if (e->kind && e->what == CALL_TREE_CALL)
			add_excerpt(p, " ", e->kind);
		if (e->what == CALL_TREE_CALL)
			count_moments(&p->tree, entry, &turns, &tools);
		if (turns > 0)
			buffer_format(&p->out, " · %ld turn%s", turns, turns == 1 ? "" : "s");
		if (tools > 0)
			buffer_format(&p->out, " · %ld tool call%s", tools, tools == 1 ? "" : "s");
		if (e->what == CALL_TREE_TURN && e->input_tokens >= 0 && e->output_tokens >= 0)
			buffer_format(&p->out, " %s in, %s out", count_text(e->input_tokens, text, sizeof text),
			    count_text(e->output_tokens, other, sizeof other));
		if (cost > 0)
			buffer_format(&p->out, " · %s", money_text(cost, text));
		if (e->model)
			add_excerpt(p, " · ", e->model);
		if (e->does && turns == 0)
			add_excerpt(p, e->what == CALL_TREE_TOOL ? " " : " · ", e->does);
	}
	buffer_text(&p->out, "</span>");
}

/* Begins a row, up to its bars; end_row() ends it, and "</details>" the rows inside it. */
static void
begin_row(struct page *p, const char *class, enum view_saying status, unsigned depth, bool open,
    uint32_t id)
{
	page_flush_output(p, OUT_MOST);
	buffer_format(&p->out, "<details class=\"%s is-%s\" id=\"e%lu\"%s><summary class=\"row\">"
	    "<span class=\"label\" style=\"--d:%u\"><span class=\"sign\">%s</span><b>", class,
	    view_words[status].text, (unsigned long)id, open ? " open" : "", depth,
	    view_words[status].symbol);
}

static void
begin_bars(struct page *p, int64_t ms, bool known)
{
	char text[32];

	buffer_format(&p->out, "</span><span class=\"took\">%s</span><span class=\"track\">",
	    known ? duration_text(ms, text, sizeof text) : "");
}

static void
end_row(struct page *p)
{
	buffer_text(&p->out, "</span></summary>\n");
}

static void add_entries(struct page *p, uint32_t above, unsigned depth);

/* Writes the attempts of a child run, which are below its call; their details are in the child's
 * transcript. */
static void
add_child(struct page *p, uint32_t call, unsigned depth)
{
	const struct call_tree_entry *e = &p->tree.entries[call];
	struct page_record *const record_above = p->panel.record;
	const char *path = p->path;
	struct page_record record;
	char *child = layout_beside(path, e->child);

	page_record_open(&record, child, e->child);
	p->panel.record = &record;
	p->path = child;
	add_entries(p, call, depth);
	page_record_close(&record);
	p->path = path;
	p->panel.record = record_above;
	free(child);
}

/* Whether calls, or attempts of a child run, are inside of an entry. */
static bool
has_calls(const struct call_tree *tree, uint32_t entry)
{
	for (uint32_t i = tree->entries[entry].first; i != CALL_TREE_NONE; i = tree->entries[i].next)
		if (tree->entries[i].what <= CALL_TREE_CALL)
			return true;
	return false;
}

static void
add_entry(struct page *p, uint32_t entry, unsigned depth)
{
	const struct call_tree *tree = &p->tree;
	const struct call_tree_entry *e = &tree->entries[entry];
	const bool call = e->what <= CALL_TREE_CALL, group = call && has_calls(tree, entry);
	size_t bars = BARS_MOST;

	begin_row(p, call ? "call" : "moment", e->status, depth, group, entry);
	add_label(p, entry);
	buffer_text(&p->out, "</b>");
	add_abouts(p, entry);
	begin_bars(p, call_tree_duration(tree, e), e->ended != 0 || tree->alive);
	add_bar(p, e->what == CALL_TREE_TURN ? "turn" : e->what == CALL_TREE_TOOL &&
	    e->status == VIEW_DONE ? "tool" : view_words[e->status].text, e->began,
	    timeline_end(tree, e));
	if (call && !group)
		add_moments(p, entry, &bars);
	end_row(p);

	/* The result comes after turns and tools, but before calls, whose rows are open. */
	buffer_format(&p->out, group ? "<details class=\"fold panel\" style=\"--d:%u\">"
	    "<summary>what it was given, and gave</summary>\n" : "<div class=\"panel\" style=\"--d:%u\">", depth);
	page_panel_begin(&p->panel, tree, entry);
	if (call && !group && e->first != CALL_TREE_NONE) {
		buffer_text(&p->out, "</div>\n");
		add_entries(p, entry, depth + 1);
		buffer_format(&p->out, "<div class=\"panel\" style=\"--d:%u\">", depth);
	}
	page_panel_end(&p->panel, tree, entry);
	buffer_text(&p->out, group ? "</details>\n" : "</div>\n");
	if (e->child)
		add_child(p, entry, depth + 1);
	else if (!call || group)
		add_entries(p, entry, depth + 1);
	buffer_text(&p->out, "</details>\n");
}

/* Writes the items of a step as one row, which can be opened, and is open if an item needs
 * attention. */
static void
add_series(struct page *p, const struct call_siblings *siblings, size_t first,
    const struct call_series *series, unsigned depth)
{
	const struct call_tree *tree = &p->tree;
	const enum view_saying status = call_series_status(series);
	struct buffer text = BUFFER_INIT;
	size_t bars = BARS_MOST;

	begin_row(p, "call", status, depth, false, tree->count + series->first);
	call_series_label(tree, series, &text);
	page_line(&p->out, text.data, 0);
	buffer_text(&p->out, "</b> <span class=\"about\">");
	buffer_clear(&text);
	call_series_counts(series, &text);
	page_line(&p->out, text.data, 0);
	buffer_text(&p->out, "</span>");
	begin_bars(p, (series->until - series->began) / 1000, true);
	add_bar(p, "done", series->began, series->until);
	for (size_t i = first; i != CALL_TREE_NONE && bars > 0; i = siblings->list[i].next) {
		const struct call_tree_entry *e = &tree->entries[siblings->list[i].entry];

		if (!call_series_tells(e))
			continue;
		bars--;
		buffer_clear(&text);
		buffer_format(&text, "small %s", view_words[e->status].text);
		add_bar(p, text.data, e->began, timeline_end(tree, e));
	}
	end_row(p);
	for (size_t i = first; i != CALL_TREE_NONE; i = siblings->list[i].next)
		add_entry(p, siblings->list[i].entry, depth + 1);
	buffer_text(&p->out, "</details>\n");
	buffer_free(&text);
}

static void
add_entries(struct page *p, uint32_t above, unsigned depth)
{
	struct call_siblings siblings;

	call_siblings_read(&siblings, &p->tree, call_tree_first(&p->tree, above));
	for (size_t i = 0; i < siblings.count && p->failed == 0; i++) {
		const struct call_series *series = call_siblings_series(&siblings, i);

		if (!series)
			add_entry(p, siblings.list[i].entry, depth);
		else if (series->first == siblings.list[i].entry)
			add_series(p, &siblings, i, series, depth);
	}
	call_siblings_free(&siblings);
}

/* ---- the top of the page ---- */

static void
add_figure(struct page *p, const char *name, const char *text)
{
	buffer_format(&p->out, "<div><dt>%s</dt><dd>", name);
	page_line(&p->out, text, 0);
	buffer_text(&p->out, "</dd></div>\n");
}

static void
page_add_run_figures(struct page *p)
{
	const struct call_tree_entry *run = &p->tree.entries[0];
	const int64_t cost = cost_sum(&p->cost);
	char text[MONEY_SIZE], began[CLOCK_TEXT_SIZE];
	unsigned long calls = 0;

	for (uint32_t i = 0; i < p->tree.count; i++)
		calls += p->tree.entries[i].what == CALL_TREE_CALL;
	buffer_text(&p->out, "<dl class=\"figures\">\n");
	add_figure(p, "run", p->tree.run_id);
	if (run->began != 0) {
		clock_text(run->began, began)[sizeof "2026-11-21T08:15:30" - 1] = '\0';
		began[sizeof "2026-11-21" - 1] = ' ';
		add_figure(p, "began (UTC)", began);
	}
	if (run->ended != 0 || p->tree.alive)
		add_figure(p, "took", duration_text(call_tree_duration(&p->tree, run), text, sizeof text));
	snprintf(text, sizeof text, "%lu", calls);
	add_figure(p, "calls", text);
	if (run->input_tokens >= 0)
		add_figure(p, "tokens in", count_text(run->input_tokens, text, sizeof text));
	if (run->output_tokens >= 0)
		add_figure(p, "out", count_text(run->output_tokens, text, sizeof text));
	if (cost > 0)
		add_figure(p, "cost", money_text(cost, text));
	buffer_text(&p->out, "</dl>\n");
}

/* Lists the failures, with links to their rows: failed calls without a failed call inside. */
static void
add_failures(struct page *p)
{
	const struct call_tree *tree = &p->tree;
	size_t shown = 0;

	for (uint32_t i = 0; i < tree->count && shown < FAILURES_MOST; i++) {
		const struct call_tree_entry *e = &tree->entries[i];
		bool inner = false;

		for (uint32_t in = e->first; in != CALL_TREE_NONE; in = tree->entries[in].next)
			inner |= tree->entries[in].what <= CALL_TREE_CALL && tree->entries[in].status == VIEW_FAILED;
		if (e->what != CALL_TREE_CALL || e->status != VIEW_FAILED || inner)
			continue;
		buffer_format(&p->out, "%s<div><a href=\"#e%lu\">", shown++ == 0 ? "<div class=\"failures\">\n" : "",
		    (unsigned long)i);
		add_label(p, i);
		buffer_text(&p->out, "</a> ");
		page_line(&p->out, e->why ? e->why : "failed", 0);
		buffer_text(&p->out, "</div>\n");
	}
	if (shown > 0)
		buffer_text(&p->out, "</div>\n");
}

/* Explains the colours that occur. */
static void
add_legend(struct page *p)
{
	bool statuses[VIEW_SAYINGS] = { false }, turn = false, tool = false;

	for (uint32_t i = 0; i < p->tree.count; i++) {
		const struct call_tree_entry *e = &p->tree.entries[i];

		statuses[e->status] |= e->what == CALL_TREE_CALL || (e->what > CALL_TREE_CALL && e->status != VIEW_DONE);
		turn |= e->what == CALL_TREE_TURN;
		tool |= e->what == CALL_TREE_TOOL;
	}
	buffer_text(&p->out, "<p class=\"legend\">");
	for (size_t i = 0; i < VIEW_SAYINGS; i++)
		if (statuses[i])
			buffer_format(&p->out, "<span><i class=\"%s\"></i>%s</span>\n", view_words[i].text,
			    view_words[i].text);
	if (turn)
		buffer_text(&p->out, "<span><i class=\"turn\"></i>a turn of a model</span>\n");
	if (tool)
		buffer_text(&p->out, "<span><i class=\"tool\"></i>a tool call</span>\n");
	buffer_text(&p->out, "</p>\n");
}

static void
add_attempt(struct page *p, uint32_t attempt, bool several)
{
	struct display_line line = { .colour = NULL };
	int64_t length, step;
	char tick[32];

	p->timeline = timeline_of(&p->tree, attempt);
	length = p->timeline.length / 1000;
	step = timeline_tick(&p->timeline, TICKS_MOST);
	buffer_format(&p->out, "<section style=\"--tick:%.4f%%\">\n",
	    (double)step / (double)length * 99.7);
	if (several) {
		buffer_text(&p->out, "<h2>");
		display_entry(&line, &p->tree, &p->tree.entries[attempt]);
		page_line(&p->out, buffer_string(&line.text), 0);
		buffer_text(&p->out, "</h2>\n");
		buffer_free(&line.text);
	}
	buffer_text(&p->out, "<details class=\"fold panel\" style=\"--d:0\"><summary>how it was started,"
	    " and ended</summary>\n");
	page_panel_begin(&p->panel, &p->tree, attempt);
	page_panel_end(&p->panel, &p->tree, attempt);
	buffer_text(&p->out, "</details>\n<div class=\"axis\" aria-hidden=\"true\"><span class=\"ticks\">");
	/* Leave out a tick at the end, where its text would be cut off. */
	for (int64_t ms = 0; ms <= length - length / 16; ms += step)
		buffer_format(&p->out, "<span style=\"left:%.2f%%\">%s</span>",
		    (double)ms / (double)length * 99.7, timeline_tick_text(ms, tick, sizeof tick));
	buffer_text(&p->out, "</span></div>\n");
	add_entries(p, attempt, 0);
	buffer_text(&p->out, "</section>\n");
}

static void
add_page(struct page *p)
{
	const struct call_tree_entry *entries = p->tree.entries;
	const enum view_saying status = entries[0].status;

	buffer_format(&p->out, "%s<style>\n%s</style>\n<title>", page_head, page_css);
	add_label(p, 0);
	buffer_text(&p->out, " – timeline</title>\n</head>\n<body>\n<div class=\"head\"><h1>");
	add_label(p, 0);
	buffer_format(&p->out, "</h1><span class=\"status is-%s\"><span class=\"sign\">%s</span>%s</span></div>\n",
	    view_words[status].text, view_words[status].symbol, view_words[status].text);
	page_add_run_figures(p);
	add_failures(p);
	add_legend(p);
	for (uint32_t i = entries[0].first; i != CALL_TREE_NONE; i = entries[i].next)
		add_attempt(p, i, entries[0].first != entries[0].last);
	buffer_text(&p->out, "</body>\n</html>\n");
	page_flush_output(p, 0);
}

int
display_page(const struct display *d, struct error *err)
{
	struct page p = { .path = d->run->path, .err = err };
	const struct call_tree_spec spec = { CALL_TREE_TOOL, &p.cost, d->warn };
	struct page_record record;

	/* Without prices, the page shows no costs. */
	if (cost_begin(&p.cost, err) != 0)
		d->warn(err);
	if (call_tree_read(&p.tree, d->run, &spec, err) != 0) {
		cost_free(&p.cost);
		return -1;
	}
	p.failed = replacement_open(&p.file, d->html, 0644, err);
	if (p.failed == 0) {
		page_record_open(&record, p.path, p.tree.run_id);
		p.panel = (struct page_panel){ &p.out, &record, TEXTS_ROOM / p.tree.count, IMAGES_ROOM };
		if (p.panel.text_most < TEXT_LEAST)
			p.panel.text_most = TEXT_LEAST;
		if (p.panel.text_most > TEXT_MOST)
			p.panel.text_most = TEXT_MOST;
		add_page(&p);
		page_record_close(&record);
		if (p.failed == 0)
			p.failed = replacement_commit(&p.file, false, err);
		else
			replacement_abandon(&p.file);
	}
	buffer_free(&p.out);
	cost_free(&p.cost);
	call_tree_free(&p.tree);
	return p.failed;
}
