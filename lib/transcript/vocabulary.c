/*
 * An event belongs to a vocabulary by its type and by the members that each of its events has.
 */
#include "transcript/vocabulary.h"

#include <stddef.h>

#include "transcript/event_keys.h"

static const char *const agent_event_types[] = { "run.started", "run.phase", "llm.turn.start",
	"llm.turn.end", "tool.start", "tool.end", "tool.output", "safety.block", "file.changed",
	"git.commit", "deploy.triggered", "deploy.status", "error", "run.completed", "handoff",
	"child_job.started", NULL };
static const char *const run_kinds[] = { "session", "job", NULL };

static const char *const interagent_types[] = { "task_sent", "task_received", "response_sent",
	"tool_call", "tool_return", "state_transition", NULL };

static bool
is_type(struct span event, const char *key, char type)
{
	return span_type(span_member(event, key)) == type;
}

const char *
vocabulary_of(struct span event)
{
	struct span type = span_member(event, KEY_TYPE);

	if (span_one_of(type, agent_event_types) != NULL && is_type(event, KEY_SEQ, 'n') &&
	    is_type(event, "ts", 's') && is_type(event, "runId", 's') &&
	    is_type(event, KEY_PHASE, 's') &&
	    span_one_of(span_member(event, "runKind"), run_kinds) != NULL)
		return VOCABULARY_AGENT_EVENT;
	if (span_one_of(type, interagent_types) != NULL && is_type(event, KEY_EVENT_ID, 's') &&
	    is_type(event, "agent_id", 's') && is_type(event, "timestamp_ns", 'n') &&
	    (is_type(event, KEY_PARENT_EVENT_ID, 's') || is_type(event, KEY_PARENT_EVENT_ID, '0')))
		return VOCABULARY_INTERAGENT;
	return NULL;
}
