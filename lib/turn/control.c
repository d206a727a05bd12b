/*
 * A control tool is a tool with a schema but without a program. An offer is a list, in the order in
 * which the model is shown it, with a map by name, in which the first tool of a name counts.
 */
#include "turn/control.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "json/value.h"
#include "turn/toolrun.h"

int
control_begin(struct control *c, const char *name, const char *description, const char *schema,
    struct error *err)
{
	json_t *document = value_parse(schema, strlen(schema), name, ERROR_DEFINITION, err);

	*c = (struct control){ .tool = { .name = memory_text(name),
	    .description = memory_text(description), .effects = EFFECTS_NONE },
	    .answer = control_accept };
	buffer_text(&c->tool.input_schema, schema);
	c->tool.input = document == NULL ? NULL : schema_compile(document, SCHEMA_TYPOS, name, err);
	json_decref(document);
	return c->tool.input == NULL ? -1 : 0;
}

int
control_accept(void *context, struct tool_run *run, struct error *err)
{
	(void)context;
	(void)err;
	buffer_text(&run->output, "null");
	return 0;
}

void
control_free(struct control *c)
{
	tool_free(&c->tool);
	memset(c, 0, sizeof *c);
}

static void
offer_append(struct offer *o, const struct tool *tool, const struct control *control)
{
	if (map_get(&o->numbers, tool->name, strlen(tool->name)) == NULL)
		map_put(&o->numbers, tool->name, strlen(tool->name), o->count);
	o->list = memory_array(o->list, o->count + 1, sizeof *o->list);
	o->list[o->count++] = (struct offered){ tool, control };
}

void
offer_add(struct offer *o, const struct tool *tool)
{
	offer_append(o, tool, NULL);
}

void
offer_add_control(struct offer *o, const struct control *control)
{
	offer_append(o, &control->tool, control);
}

const struct offered *
offer_find(const struct offer *o, const char *name)
{
	const size_t *number = map_get(&o->numbers, name, strlen(name));

	return number == NULL ? NULL : &o->list[*number];
}

void
offer_clear(struct offer *o)
{
	free(o->list);
	map_free(&o->numbers);
	*o = (struct offer){ .count = 0 };
}
