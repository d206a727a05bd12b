/*
 * All calls of one process have the same marks, as text. So for each name, marks are compared with
 * those of the first call only if no call before had the same text.
 */
#include "replay/call_differences.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "storage/call_marks.h"
#include "transcript/call.h"

/* The calls with one name. */
struct alike {
	struct recorded_marks first;
	struct buffer differing;     /* names of the variables that differ, each with a newline
	                                before and after it */
	bool elsewhere;              /* a call began in another directory than the first */
};

struct differences {
	struct map by_name, known;   /* known: marks of each name that were already compared */
	struct alike *list;
	size_t count;
};

static struct recorded_marks
marks_of(const struct call_tree *tree, uint32_t entry)
{
	const struct call_tree_marks *marks = &tree->marks[entry];

	return (struct recorded_marks){ "", marks->directory ? marks->directory : "",
		marks->variables ? marks->variables : "" };
}

static void
note_differing(struct alike *a, const struct recorded_marks *marks, const char *variables)
{
	struct span object = span_of(variables, strlen(variables));

	for (struct span_walk member = span_walk(object); object.len > 0 && span_next(&member);) {
		char *name = span_text(member.key);
		char *line = memory_format("\n%s\n", name ? name : "");

		if (name && !strstr(buffer_string(&a->differing), line) &&
		    marks_recorded_differ(&a->first, marks, name))
			buffer_text(&a->differing, line);
		free(line);
		free(name);
	}
}

static struct alike *
find_alike(struct differences *d, const char *name)
{
	const size_t *at = map_get(&d->by_name, name, strlen(name));

	return at ? &d->list[*at] : NULL;
}

static void
compare_call(struct differences *d, const struct call_tree *tree, uint32_t entry)
{
	const struct recorded_marks marks = marks_of(tree, entry);
	char *name = call_id_name(tree->entries[entry].call);
	char *text = memory_format("%s\n%s\n%s", name, marks.directory, marks.variables);
	struct alike *a = find_alike(d, name);

	if (!a) {
		map_put(&d->by_name, name, strlen(name), d->count);
		d->list = memory_array(d->list, d->count + 1, sizeof *d->list);
		d->list[d->count++] = (struct alike){ .first = marks, .differing = BUFFER_INIT };
	} else if (!map_get(&d->known, text, strlen(text))) {
		a->elsewhere |= strcmp(a->first.directory, marks.directory) != 0;
		note_differing(a, &marks, marks.variables);
		note_differing(a, &marks, a->first.variables);
	}
	map_put(&d->known, text, strlen(text), 0);
	free(text);
	free(name);
}

/* Appends the differences, such as "in eu, STAGE=prod". */
static void
describe_call(struct differences *d, struct call_tree *tree, uint32_t entry)
{
	const struct recorded_marks marks = marks_of(tree, entry);
	struct span object = span_of(marks.variables, strlen(marks.variables));
	char *name = call_id_name(tree->entries[entry].call);
	const struct alike *a = find_alike(d, name);
	struct buffer text = BUFFER_INIT;

	if (a->elsewhere)
		buffer_format(&text, "in %s", *marks.directory != '\0' ? marks.directory : ".");
	for (struct span_walk member = span_walk(object); object.len > 0 && span_next(&member);) {
		char *variable = span_text(member.key);
		char *line = memory_format("\n%s\n", variable ? variable : "");

		if (a->differing.len > 0 && strstr(a->differing.data, line))
			marks_describe(variable, member.value, &text);
		free(line);
		free(variable);
	}
	if (text.len > 0)
		tree->entries[entry].differs = arena_copy(&tree->memory, text.data, text.len);
	buffer_free(&text);
	free(name);
}

void
call_differences_find(struct call_tree *tree, uint32_t first)
{
	struct differences d = { .by_name = MAP_INIT, .known = MAP_INIT };
	bool differ = false;

	for (uint32_t i = first; i != CALL_TREE_NONE; i = tree->entries[i].next)
		if (tree->entries[i].what == CALL_TREE_CALL && tree->entries[i].call)
			compare_call(&d, tree, i);
	for (size_t i = 0; i < d.count; i++)
		differ |= d.list[i].elsewhere || d.list[i].differing.len > 0;
	for (uint32_t i = first; differ && i != CALL_TREE_NONE; i = tree->entries[i].next)
		if (tree->entries[i].what == CALL_TREE_CALL && tree->entries[i].call)
			describe_call(&d, tree, i);
	for (size_t i = 0; i < d.count; i++)
		buffer_free(&d.list[i].differing);
	free(d.list);
	map_free(&d.by_name);
	map_free(&d.known);
}
