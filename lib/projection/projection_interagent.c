/*
 * interagent: the messages between agents, for causal replay by parent_event_id. The workflow
 * itself is the agent that begins. A line has the id of its event, except task_sent, because its
 * task_received has that id.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "projection/projection_write.h"
#include "transcript/event_keys.h"

#define HASH_DIGITS 16

/* A version 4 UUID derived from the id of the event that sends a task: the start of a call, or the
 * message that hands a conversation over. */
static void
sent_id(const struct placed *at, char out[ID_SIZE])
{
	char hex[33], start[ID_SIZE];

	if (at->event->told == EVENT_MESSAGE_USER)
		derive_hex_of("interagent", at->event->event_id, 32, hex);
	else
		derive_hex("interagent", model_call_event_id(at->call, start), 32, hex);
	snprintf(out, ID_SIZE, "%.8s-%.4s-4%.3s-%c%.3s-%.12s", hex, hex + 8, hex + 13,
	    "89ab"[hex[16] % 4], hex + 17, hex + 20);
}

static void
write_payload(struct writer *w, const struct placed *at, const char *recipient)
{
	struct buffer minified = BUFFER_INIT;
	char digest[DIGEST_SIZE], ref[sizeof "transcripts/.jsonl#" + ID_SIZE + 20];

	if (at->event->payload.at)
		scan_minify(at->event->payload, &minified);
	digest_sha256(buffer_string(&minified), minified.len, digest);
	writer_key(w, "payload_hash");
	writer_bytes(w, digest, HASH_DIGITS);
	writer_key(w, "recipient_agent_id");
	writer_string(w, recipient);
	snprintf(ref, sizeof ref, "transcripts/%s.jsonl#%lld", at->run->run_id,
	    (long long)at->event->seq);
	writer_member_string(w, "payload_ref", ref);
	buffer_free(&minified);
}

/* Writes the digits of µs, then three zeros: from the year 2263 on, nanoseconds exceed 63 bits. */
static void
write_nanoseconds(struct writer *w, int64_t wall)
{
	char text[32];
	int len = snprintf(text, sizeof text, wall == 0 ? "%lld" : "%lld000", (long long)wall);

	writer_key(w, "timestamp_ns");
	writer_span(w, span_of(text, (size_t)len));
}

/* Writes all members: what an agent did, in reply to what, for whom. */
static void
write_act(struct writer *w, const struct placed *at, const char *agent, const char *recipient)
{
	writer_member_string(w, "agent_id", agent);
	write_nanoseconds(w, at->wall);
	writer_key(w, "parent_event_id");
	writer_span(w, at->event->parent_event_id);
	writer_member_span(w, "links", at->event->links);
	write_payload(w, at, recipient);
}

/* The agent for which the call works: the enclosing call, or the workflow. */
static const char *
actor_around(const struct placed *at)
{
	if (at->call && at->call->around)
		return call_actor(at->call->around);
	return at->run->name ? at->run->name : "";
}

/* The calls whose results are the input send a call its task, or an agent hands the conversation
 * over to another. */
static void
interagent_write_sent(struct writer *w, const struct projection_line *line)
{
	const struct placed *at = line->at;
	char id[ID_SIZE], *from = NULL;
	const char *sender;

	if (at->event->told == EVENT_MESSAGE_USER) {
		from = span_text(span_path(at->event->payload, KEY_HANDOFF, KEY_FROM, NULL));
		sender = from ? from : "";
	} else {
		sender = at->call->before_count > 0 ? call_actor(at->call->before[0]) : actor_around(at);
	}
	sent_id(at, id);
	writer_member_string(w, "event_id", id);
	write_act(w, at, sender, call_actor(at->call));
	free(from);
}

static void
interagent_write_received(struct writer *w, const struct projection_line *line)
{
	const struct placed *at = line->at;
	char id[ID_SIZE];

	sent_id(at, id);
	writer_member_span(w, "event_id", at->event->event_id);
	writer_member_string(w, "agent_id", call_actor(at->call));
	write_nanoseconds(w, at->wall);
	writer_member_string(w, "parent_event_id", id);
	write_payload(w, at, NULL);
}

/* An agent does something; the recipient, if any, is the one that it answers. */
static void
interagent_write_action(struct writer *w, const struct projection_line *line)
{
	const struct placed *at = line->at;

	writer_member_span(w, "event_id", at->event->event_id);
	write_act(w, at, placed_actor(at),
	    event_type_ends_call(at->event->type) ? actor_around(at) : NULL);
}

static void
interagent_write_state_change(struct writer *w, const struct projection_line *line)
{
	const struct placed *at = line->at;
	const char *state = "running";

	if (at->event->type == EVENT_RUN_COMPLETED)
		state = placed_status(at);
	else if (at->event->told == EVENT_MESSAGE_USER)
		state = "thinking";
	else if (at->event->told == EVENT_MESSAGE_ASSISTANT)
		state = span_is(span_member(at->event->payload, KEY_STOP_REASON), "tool_use") ?
		    "using_tools" : "answered";
	interagent_write_action(w, line);
	writer_member_string(w, "state", state);
}

static const struct projection_row rows[] = {
	{ EVENT_RUN_STARTED, 0, "state_transition", NULL, interagent_write_state_change, NULL },
	{ EVENT_STEP_STARTED, 0, "task_sent", NULL, interagent_write_sent, NULL },
	{ EVENT_STEP_STARTED, 0, "task_received", NULL, interagent_write_received, NULL },
	{ EVENT_CALL_WORKFLOW_STARTED, 0, "task_sent", NULL, interagent_write_sent, NULL },
	{ EVENT_CALL_WORKFLOW_STARTED, 0, "task_received", NULL, interagent_write_received, NULL },
	{ EVENT_MESSAGE_USER, WHEN_HANDOFF, "task_sent", NULL, interagent_write_sent, NULL },
	{ EVENT_MESSAGE_USER, WHEN_HANDOFF, "task_received", NULL, interagent_write_received,
	    NULL },
	{ EVENT_MESSAGE_USER, WHEN_NO_HANDOFF, "state_transition", NULL,
	    interagent_write_state_change, NULL },
	{ EVENT_MESSAGE_ASSISTANT, WHEN_WHOLE, "state_transition", NULL,
	    interagent_write_state_change, NULL },
	{ EVENT_TOOL_CALL, 0, "tool_call", NULL, interagent_write_action, NULL },
	{ EVENT_TOOL_RESULT, 0, "tool_return", NULL, interagent_write_action, NULL },
	{ EVENT_STEP_COMPLETED, 0, "response_sent", NULL, interagent_write_action, NULL },
	{ EVENT_CALL_WORKFLOW_COMPLETED, 0, "response_sent", NULL, interagent_write_action, NULL },
	{ EVENT_RUN_COMPLETED, 0, "state_transition", NULL, interagent_write_state_change, NULL },
	{ 0, 0, NULL, NULL, NULL, NULL },
};

static void
interagent_write_line(struct writer *w, const struct projection_line *line)
{
	writer_member_integer(w, "seq", line->number);
	writer_member_string(w, "type", line->row->type);
	projection_row_write(w, line);
	writer_member_string(w, "run_id", line->at->run->run_id);
}

const struct projection projection_interagent = {
	"interagent", 1, rows, interagent_write_line, NULL
};
