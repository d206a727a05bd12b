/*
 * A timeline as a page of HTML: one file, no scripts, nothing loaded. A row is a
 * <details>, so it opens with the mouse and the keyboard alike.
 */
#include "inspect/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "inspect/display_text.h"

#define TICKS_MOST 12

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

static void
add_label(struct buffer *out, const struct call_tree_entry *e)
{
	struct buffer label = BUFFER_INIT;

	display_label(e, &label);
	add_text(out, buffer_string(&label));
	buffer_free(&label);
}

/* What there is to say of an entry, in one line. */
static void
add_entry(struct buffer *out, const struct call_tree *tree, const struct call_tree_entry *e)
{
	struct display_line line;

	display_line_begin(&line);
	display_entry(&line, tree, e);
	add_text(out, buffer_string(&line.text));
	display_line_free(&line);
}

static void
add_term(struct buffer *out, const char *term, const char *text)
{
	if (!text || *text == '\0')
		return;
	buffer_format(out, "<dt>%s</dt><dd>", term);
	add_text(out, text);
	buffer_text(out, "</dd>\n");
}

static void
add_time(struct buffer *out, const char *term, int64_t wall)
{
	char text[CLOCK_TEXT_SIZE];

	if (wall != 0)
		add_term(out, term, clock_text(wall, text));
}

/* Turns and tool calls of a call: calls in it have rows of their own. */
static void
add_turns(struct buffer *out, const struct call_tree *tree, uint32_t call)
{
	for (uint32_t i = call_tree_first(tree, call); i != CALL_TREE_NONE;
	    i = tree->entries[i].next) {
		if (tree->entries[i].what != CALL_TREE_TURN && tree->entries[i].what != CALL_TREE_TOOL)
			continue;
		buffer_format(out, "<dt>%s</dt><dd>",
		    tree->entries[i].what == CALL_TREE_TURN ? "turn" : "tool");
		add_entry(out, tree, &tree->entries[i]);
		buffer_text(out, "</dd>\n");
		if (tree->entries[i].what == CALL_TREE_TURN)
			add_turns(out, tree, i);
	}
}

static void
add_panel(struct buffer *out, const struct call_tree *tree, uint32_t call)
{
	const struct call_tree_entry *e = &tree->entries[call];

	buffer_text(out, "<dl class=\"panel\">\n");
	add_term(out, "call", e->call);
	add_term(out, "kind", e->kind);
	add_term(out, "status", view_words[e->status].text);
	add_term(out, e->status == VIEW_SKIPPED ? "skipped" : "error", e->why);
	add_term(out, "runs", e->does);
	add_term(out, "model", e->model);
	add_term(out, "child run", e->child);
	add_time(out, "began", e->began);
	add_time(out, "ended", e->ended);
	add_turns(out, tree, call);
	buffer_text(out, "</dl>\n");
}

static void
add_row(struct buffer *out, const struct timeline *t, const struct timeline_row *row)
{
	const struct call_tree_entry *e = &t->tree->entries[row->entry];
	const char *status = view_words[e->status].text;
	double begin, end;
	char text[32];

	timeline_span(t, e, &begin, &end);
	buffer_format(out, "<details><summary><span class=\"label\" style=\"padding-left: %urem\">",
	    row->depth);
	add_label(out, e);
	buffer_format(out, "</span><span class=\"track\"><span class=\"bar %s\""
	    " style=\"left: %.3f%%; width: %.3f%%\"></span></span><span class=\"figures\">",
	    status, begin * 100, (end - begin) * 100);
	if (e->ended != 0 || t->tree->alive)
		buffer_format(out, "%s ", duration_text(call_tree_duration(t->tree, e), text, sizeof text));
	buffer_format(out, "%s</span></summary>\n", status);
	add_panel(out, t->tree, row->entry);
	buffer_text(out, "</details>\n");
}

static void
add_attempt_head(struct buffer *out, const struct timeline *t)
{
	int64_t step = timeline_step(t, TICKS_MOST), length = t->length / 1000;
	char tick[32];

	buffer_text(out, "<section>\n<h2>");
	add_entry(out, t->tree, &t->tree->entries[t->attempt]);
	buffer_text(out, "</h2>\n<div class=\"axis\" aria-hidden=\"true\"><span></span>"
	    "<span class=\"ticks\">");
	for (int64_t ms = 0; ms < length; ms += step)
		buffer_format(out, "<span style=\"left: %.3f%%\">%s</span>",
		    (double)ms / (double)length * 100, timeline_tick(ms, tick, sizeof tick));
	buffer_text(out, "</span><span></span></div>\n");
}

static int
flush(const struct replacement *file, struct buffer *out, struct error *err)
{
	int failed = 0;

	if (file_write(file->fd, buffer_string(out), out->len) != 0)
		failed = error_errno(err, ERROR_SYSTEM, file->path, "unable to write");
	buffer_clear(out);
	return failed;
}

int
timeline_page(const struct call_tree *tree, const char *path, struct error *err)
{
	const struct call_tree_entry *entries = tree->entries;
	struct replacement file;
	struct buffer out = BUFFER_INIT;
	int failed = 0;

	if (replacement_open(&file, path, 0644, err) != 0)
		return -1;
	buffer_text(&out, page_head);
	buffer_text(&out, "<title>");
	add_label(&out, &entries[0]);
	buffer_text(&out, " – timeline</title>\n</head>\n<body>\n<h1>");
	add_label(&out, &entries[0]);
	buffer_text(&out, "</h1>\n<p class=\"about\">");
	add_entry(&out, tree, &entries[0]);
	buffer_text(&out, "</p>\n");
	for (uint32_t i = entries[0].first; failed == 0 && i != CALL_TREE_NONE; i = entries[i].next) {
		struct timeline t;

		timeline_make(&t, tree, i);
		add_attempt_head(&out, &t);
		for (size_t row = 0; failed == 0 && row < t.count; row++) {
			add_row(&out, &t, &t.rows[row]);
			failed = flush(&file, &out, err);
		}
		buffer_text(&out, "</section>\n");
		timeline_free(&t);
	}
	buffer_text(&out, "</body>\n</html>\n");
	if (failed == 0)
		failed = flush(&file, &out, err);
	buffer_free(&out);
	if (failed == 0)
		return replacement_commit(&file, false, err);
	replacement_abandon(&file);
	return -1;
}
