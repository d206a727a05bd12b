/*
 * The lines themselves, in an order or in canonical form: the graph knows where each is, and they
 * are read again in the order that is asked for. And the tree, a line for each entry, its
 * branches before it: what they look like follows from whether more stands beside an entry, and
 * beside all that it is in.
 */
#include "inspect/display.h"

#include <stdlib.h>
#include <string.h>

#include "inspect/canonical.h"
#include "inspect/display_text.h"

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

		/* With its LF, which stands behind each in the file. */
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

/* A tree on its way out. */
struct tree {
	const struct display *display;
	struct call_tree tree;
	struct buffer branches; /* what stands before the lines of this depth */
	struct display_line line;
};

static int
print_below(struct tree *t, uint32_t entry, struct error *err)
{
	const struct call_tree *tree = &t->tree;
	size_t depth = t->branches.len;

	for (uint32_t i = call_tree_first(tree, entry); i != CALL_TREE_NONE;
	    i = tree->entries[i].next) {
		bool more = tree->entries[i].next != CALL_TREE_NONE;

		buffer_append(&t->line.text, buffer_string(&t->branches), t->branches.len);
		buffer_text(&t->line.text, more ? "├─ " : "└─ ");
		display_entry(&t->line, tree, &tree->entries[i]);
		if (display_line_end(&t->line, t->display, err) != 0)
			return -1;
		buffer_text(&t->branches, more ? "│  " : "   ");
		if (print_below(t, i, err) != 0)
			return -1;
		t->branches.len = depth;
	}
	return 0;
}

int
display_tree(const struct display *d, struct error *err)
{
	struct tree t = { .display = d, .branches = BUFFER_INIT };
	int failed;

	if (call_tree_read(&t.tree, d->run, CALL_TREE_TOOL, d->warn, err) != 0)
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
