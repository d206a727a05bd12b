#include "replay/taken.h"

#include <stdlib.h>
#include <string.h>

#include "agent/recall.h"

static bool
start_is_taken(struct span payload)
{
	static const char *const effects[] = { "read", "external", NULL };

	return span_one_of(span_member(payload, "effects"), effects) != NULL;
}

static bool
end_is_taken(struct span payload)
{
	char *code = span_text(span_path(payload, "error", "code", NULL));
	bool taken = code != NULL && recalled_circumstance(error_from_name(code, strlen(code)));

	free(code);
	return taken;
}

static void
note(struct map *taken, const struct graph_node *node, const struct buffer *line)
{
	struct span payload = span_member(span_of(buffer_string(line), line->len), "payload");
	char *call;

	if (!(event_type_starts_call((enum event_type)node->type) ? start_is_taken(payload) :
	    end_is_taken(payload)))
		return;
	call = span_text(span_member(payload, "call"));
	if (call != NULL)
		map_put(taken, call, strlen(call), 1);
	free(call);
}

int
taken_read(struct map *taken, struct canonical *recording, struct error *err)
{
	struct buffer line = BUFFER_INIT;
	int failed = 0;

	for (uint32_t i = 0; failed == 0 && i < recording->graph.count; i++) {
		const struct graph_node *node = &recording->graph.nodes[i];

		if (!event_type_starts_call((enum event_type)node->type) &&
		    node->type != EVENT_STEP_COMPLETED)
			continue;
		buffer_clear(&line);
		failed = canonical_read(recording, node, &line, err);
		if (failed == 0)
			note(taken, node, &line);
	}
	buffer_free(&line);
	return failed;
}

bool
taken_encloses(const struct map *taken, const char *call)
{
	for (const char *end = strchr(call, '/'); end != NULL; end = strchr(end + 1, '/'))
		if (map_get(taken, call, (size_t)(end - call)) != NULL)
			return true;
	return false;
}
