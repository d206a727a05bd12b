/*
 * A line for each entry, its branches before it: what they look like follows from whether more
 * stands beside an entry, and beside all that it is in.
 */
#include "inspect/display.h"

#include "inspect/display_text.h"

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
	display_line_begin(&t.line);
	display_entry(&t.line, &t.tree, &t.tree.entries[0]);
	failed = display_line_end(&t.line, d, err);
	if (failed == 0)
		failed = print_below(&t, 0, err);
	display_line_free(&t.line);
	buffer_free(&t.branches);
	call_tree_free(&t.tree);
	return failed;
}
