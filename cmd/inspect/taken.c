/*
 * Tools are looked at before calls: whether a call is made depends on the tool that made it.
 * The name of a call begins with those of all around it, so a look-up of its beginnings tells
 * whether it lies in one that is taken.
 */
#include "inspect/taken.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "run/recall.h"
#include "transcript/event_keys.h"

/* What of a call is not repeated: what was made inside of it, or all of it. */
enum { INSIDE, ITSELF };

static bool
start_is_taken(struct span payload)
{
	static const char *const effects[] = { "read", "external", NULL };

	return span_one_of(span_member(payload, KEY_EFFECTS), effects) != NULL;
}

static bool
end_is_taken(struct span payload)
{
	char *code = span_text(span_path(payload, KEY_ERROR, KEY_CODE, NULL));
	bool taken = code != NULL && recalled_circumstance(error_from_name(code, strlen(code)));

	free(code);
	return taken;
}

/* What is known of a recording while it is read. */
struct reading {
	struct map *taken;
	struct canonical *recording;
	bool *tools;       /* nodes of tool.call whose result is taken */
	struct buffer line;
};

static struct span
payload_of(const struct reading *r)
{
	return span_member(span_of(buffer_string(&r->line), r->line.len), KEY_PAYLOAD);
}

static uint32_t
parent_of(const struct reading *r, const struct graph_node *node)
{
	return node->parented ? r->recording->graph.causes[node->cause] : GRAPH_NONE;
}

static void
note_call(struct reading *r)
{
	char *call = span_text(span_member(payload_of(r), KEY_CALL));

	if (call != NULL)
		map_put(r->taken, call, strlen(call), INSIDE);
	free(call);
}

/* A call that a tool made, whose result is taken, is not made itself either. */
static void
note_start(struct reading *r, const struct graph_node *node)
{
	uint32_t parent = parent_of(r, node);
	char *call = span_text(span_member(payload_of(r), KEY_CALL));

	if (call != NULL && parent != GRAPH_NONE && r->tools[parent])
		map_put(r->taken, call, strlen(call), ITSELF);
	else if (call != NULL && start_is_taken(payload_of(r)))
		map_put(r->taken, call, strlen(call), INSIDE);
	free(call);
}

static void
note(struct reading *r, uint32_t i)
{
	const struct graph_node *node = &r->recording->graph.nodes[i];
	enum event_type type = (enum event_type)node->type;

	if (event_type_starts_call(type))
		note_start(r, node);
	else if (type == EVENT_TOOL_CALL)
		r->tools[i] |= start_is_taken(payload_of(r));
	else if (!end_is_taken(payload_of(r)))
		return;
	else if (type == EVENT_TOOL_RESULT && parent_of(r, node) != GRAPH_NONE)
		r->tools[parent_of(r, node)] = true;
	else if (type == EVENT_STEP_COMPLETED)
		note_call(r);
}

static bool
counts(enum event_type type, bool tools)
{
	return tools ? type == EVENT_TOOL_CALL || type == EVENT_TOOL_RESULT
	    : event_type_starts_call(type) || type == EVENT_STEP_COMPLETED;
}

/* Reads the events of tools, or those of calls. */
static int
read_events(struct reading *r, bool tools, struct error *err)
{
	int failed = 0;

	for (uint32_t i = 0; failed == 0 && i < r->recording->graph.count; i++) {
		const struct graph_node *node = &r->recording->graph.nodes[i];

		if (!counts((enum event_type)node->type, tools))
			continue;
		buffer_clear(&r->line);
		failed = canonical_read(r->recording, node, &r->line, err);
		if (failed == 0)
			note(r, i);
	}
	return failed;
}

int
taken_read(struct map *taken, struct canonical *recording, struct error *err)
{
	struct reading r = { .taken = taken, .recording = recording,
		.tools = memory_zero(recording->graph.count + 1, sizeof *r.tools) };
	int failed = read_events(&r, true, err);

	if (failed == 0)
		failed = read_events(&r, false, err);
	buffer_free(&r.line);
	free(r.tools);
	return failed;
}

bool
taken_encloses(const struct map *taken, const char *call)
{
	const size_t *found = map_get(taken, call, strlen(call));

	if (found != NULL && *found == ITSELF)
		return true;
	for (const char *end = strchr(call, '/'); end != NULL; end = strchr(end + 1, '/'))
		if (map_get(taken, call, (size_t)(end - call)) != NULL)
			return true;
	return false;
}
