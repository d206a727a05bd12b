#include "inspect/display.h"

#include "inspect/display_text.h"

/* A tree on its way out. */
struct tree {
	const struct display *display;
	struct outline outline;
	struct buffer branches; /* what stands before the lines of this depth */
	struct display_line line;
};

static int
print_below(struct tree *t, uint32_t entry, struct error *err)
{
	const struct outline *o = &t->outline;
	size_t depth = t->branches.len;

	for (uint32_t i = outline_first(o, entry); i != OUTLINE_NONE; i = o->entries[i].next) {
		bool more = o->entries[i].next != OUTLINE_NONE;

		buffer_append(&t->line.text, buffer_string(&t->branches), t->branches.len);
		buffer_text(&t->line.text, more ? "├─ " : "└─ ");
		display_entry(&t->line, o, &o->entries[i]);
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

	if (outline_read(&t.outline, d->run, OUTLINE_TOOL, d->warn, err) != 0)
		return -1;
	display_line_begin(&t.line);
	display_entry(&t.line, &t.outline, &t.outline.entries[0]);
	failed = display_line_end(&t.line, d, err);
	if (failed == 0)
		failed = print_below(&t, 0, err);
	display_line_free(&t.line);
	buffer_free(&t.branches);
	outline_free(&t.outline);
	return failed;
}
