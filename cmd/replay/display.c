/*
 * Prints lines in a given order, or in canonical form: the graph contains their places, from which
 * they are read again. Prints the tree, with a line for each entry, and branches before it: these
 * depend on whether further entries follow it, or follow an entry around it. Many items of a step
 * are one line, with those that failed below.
 */
#include "replay/display.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "replay/call_series.h"
#include "replay/display_text.h"
#include "rerun/canonical.h"

int
display_order(const struct display *d, struct error *err)
{
	struct graph g;
	uint32_t *order;
	int failed = 0;

	if (graph_open(&g, d->run->path, err) != 0)
		return -1;
	order = strcmp(d->argument, "seq") == 0 ? graph_order_seq(&g) : graph_order(&g, err);
	if (!order)
		failed = -1;
	for (uint32_t i = 0; failed == 0 && i < g.count; i++) {
		const struct graph_node *node = &g.nodes[order[i]];
		const char *line = graph_line(&g, node, err);

		/* Print it with the LF that follows it in the file. */
		failed = line != NULL ? outlet_json(d->out, line, node->length + 1, err) : -1;
	}
	free(order);
	graph_close(&g);
	return failed;
}

int
display_canonical(const struct display *d, struct error *err)
{
	struct canonical c;
	int got;

	if (canonical_open(&c, d->run->path, err) != 0)
		return -1;
	while ((got = canonical_next(&c, err)) == 1) {
		buffer_byte(&c.bytes, '\n');
		if ((got = outlet_json(d->out, c.bytes.data, c.bytes.len, err)) != 0)
			break;
	}
	canonical_close(&c);
	return got;
}

/* A tree that is being printed. */
struct tree {
	const struct display *display;
	struct call_tree tree;
	struct buffer branches; /* branches that are printed before the lines of this depth */
	struct display_line line;
};

static int print_below(struct tree *t, uint32_t entry, struct error *err);

/* Prints a line, and everything below it: of an entry, or of a series if that is given. */
static int
print_one(struct tree *t, const struct call_siblings *siblings, size_t index,
    const struct call_series *series, bool more, struct error *err)
{
	const struct call_tree *tree = &t->tree;
	const uint32_t entry = siblings->list[index].entry;
	const size_t depth = t->branches.len;
	struct buffer *text = &t->line.text;
	char took[32];
	int failed = 0;

	buffer_append(text, buffer_string(&t->branches), depth);
	buffer_text(text, more ? "├─ " : "└─ ");
	if (series) {
		call_series_label(tree, series, text);
		buffer_text(text, ": ");
		t->line.from = text->len;
		call_series_counts(series, text);
		t->line.to = text->len;
		t->line.colour = view_words[call_series_status(series)].colour;
		buffer_format(text, " (%s)", duration_text((series->until - series->began) / 1000, took,
		    sizeof took));
	} else {
		display_entry(&t->line, tree, &tree->entries[entry]);
	}
	if (display_line_end(&t->line, t->display, err) != 0)
		return -1;
	buffer_text(&t->branches, more ? "│  " : "   ");
	if (!series)
		failed = print_below(t, entry, err);
	for (size_t i = index, next; series && failed == 0 && i != CALL_TREE_NONE; i = next) {
		/* Find the next item that needs attention. */
		next = siblings->list[i].next;
		while (next != CALL_TREE_NONE && !call_series_tells(&tree->entries[siblings->list[next].entry]))
			next = siblings->list[next].next;
		if (call_series_tells(&tree->entries[siblings->list[i].entry]))
			failed = print_one(t, siblings, i, NULL, next != CALL_TREE_NONE, err);
	}
	t->branches.len = depth;
	return failed;
}

static int
print_below(struct tree *t, uint32_t entry, struct error *err)
{
	struct call_siblings siblings;
	size_t next;
	int failed = 0;

	call_siblings_read(&siblings, &t->tree, call_tree_first(&t->tree, entry));
	for (size_t i = 0; failed == 0 && i < siblings.count; i = next) {
		const struct call_series *series = t->display->all ? NULL : call_siblings_series(&siblings, i);

		/* A series is shown in the place of its first item. */
		for (next = i + 1; !t->display->all && next < siblings.count; next++) {
			const struct call_series *another = call_siblings_series(&siblings, next);

			if (!another || another->first == siblings.list[next].entry)
				break;
		}
		failed = print_one(t, &siblings, i, series, next < siblings.count, err);
	}
	call_siblings_free(&siblings);
	return failed;
}

int
display_tree(const struct display *d, struct error *err)
{
	struct tree t = { .display = d, .branches = BUFFER_INIT };
	int failed;

	if (call_tree_read(&t.tree, d->run,
	    &(struct call_tree_spec){ .least = CALL_TREE_TOOL, .warn = d->warn }, err) != 0)
		return -1;
	display_entry(&t.line, &t.tree, &t.tree.entries[0]);
	failed = display_line_end(&t.line, d, err);
	if (failed == 0)
		failed = print_below(&t, 0, err);
	buffer_free(&t.line.text);
	buffer_free(&t.branches);
	call_tree_free(&t.tree);
	return failed;
}
