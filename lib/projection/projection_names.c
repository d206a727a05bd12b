/* The texts are generated from the files *.schema.json beside this one. */
#include "projection/projection_names.h"

#include <stddef.h>

#include "base/text.h"

extern const char interagent_schema[], agent_event_schema[], daemon_event_schema[], langgraph_schema[],
    runtime_schema[], otlp_schema[], agentloom_schema[];

static const char *const names[] = { "interagent", "agent-event", "daemon-event", "langgraph", "runtime",
	"otlp", "agentloom", NULL };

const char *const *
projection_names(void)
{
	return names;
}

int
projection_index(const char *name, const char *option, struct error *err)
{
	const int index = text_index(name, names);
	const char *near = text_suggest(name, names);

	if (index < 0 && near != NULL)
		error_set(err, ERROR_USAGE, option, "no such vocabulary '%s' (did you mean '%s'?)",
		    name, near);
	else if (index < 0)
		error_set(err, ERROR_USAGE, option, "no such vocabulary '%s' (see awf-projections(7))",
		    name);
	return index;
}

const char *
projection_schema(int index)
{
	const char *const schemas[] = { interagent_schema, agent_event_schema, daemon_event_schema,
		langgraph_schema, runtime_schema, otlp_schema, agentloom_schema };

	return schemas[index];
}
