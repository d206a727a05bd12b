/*
 * interagent: what agents send each other, for causal replay by parent_event_id. The
 * workflow itself is the agent that begins. A line has the id of its event, but for
 * task_sent, whose task_received has it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "inspect/projection_write.h"
#include "transcript/event_keys.h"

#define HASH_DIGITS 16

extern const char interagent_schema[];

/* A UUID of version 4 that belongs to an event's. */
static void
derive_id(const char *event_id, char out[ID_SIZE])
{
	char hex[33];

	derive_hex("interagent", event_id, 32, hex);
	snprintf(out, ID_SIZE, "%.8s-%.4s-4%.3s-%c%.3s-%.12s", hex, hex + 8, hex + 13,
	    "89ab"[hex[16] % 4], hex + 17, hex + 20);
}

/* Who gave the call its input. */
static const char *
sender(const struct placed *at)
{
	const struct model_call *call = at->call;

	if (call && call->before_count > 0)
		return call_actor(call->before[0]);
	if (call && call->around)
		return call_actor(call->around);
	return at->run->name ? at->run->name : "";
}

/* Who waits for what the call makes. */
static const char *
receiver(const struct placed *at)
{
	if (at->call && at->call->around)
		return call_actor(at->call->around);
	return at->run->name ? at->run->name : "";
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

/* By their digits: those of the year 2263 and later are above 63 bits. */
static void
write_nanoseconds(struct writer *w, int64_t wall)
{
	char text[32];
	int len = snprintf(text, sizeof text, wall == 0 ? "%lld" : "%lld000", (long long)wall);

	writer_key(w, "timestamp_ns");
	writer_span(w, span_of(text, (size_t)len));
}

static void
write_causes(struct writer *w, const struct placed *at, const char *agent)
{
	writer_member_string(w, "agent_id", agent);
	write_nanoseconds(w, at->wall);
	writer_key(w, "parent_event_id");
	writer_span(w, at->event->parent_event_id);
	writer_member_span(w, "links", at->event->links);
}

static void
sent(struct writer *w, const struct projection_line *line)
{
	char id[ID_SIZE];

	derive_id(line->at->call->event_id, id);
	writer_member_string(w, "event_id", id);
	write_causes(w, line->at, sender(line->at));
	write_payload(w, line->at, call_actor(line->at->call));
}

static void
take(struct writer *w, const struct projection_line *line, const char *sent_id)
{
	writer_member_span(w, "event_id", line->at->event->event_id);
	writer_member_string(w, "agent_id", call_actor(line->at->call));
	write_nanoseconds(w, line->at->wall);
	writer_member_string(w, "parent_event_id", sent_id);
	write_payload(w, line->at, NULL);
}

static void
received(struct writer *w, const struct projection_line *line)
{
	char id[ID_SIZE];

	derive_id(line->at->call->event_id, id);
	take(w, line, id);
}

static size_t
handed_over(const struct placed *at)
{
	return at->call && placed_handoff(at);
}

static size_t
not_handed_over(const struct placed *at)
{
	return !handed_over(at);
}

/* An agent gives the conversation to another. */
static void
handed(struct writer *w, const struct projection_line *line)
{
	const struct event_view *event = line->at->event;
	char *from = span_text(span_path(event->payload, KEY_HANDOFF, "from", NULL));
	char id[ID_SIZE], own[ID_SIZE] = "";

	span_copy(event->event_id, own, sizeof own);
	derive_id(own, id);
	writer_member_string(w, "event_id", id);
	write_causes(w, line->at, from ? from : "");
	write_payload(w, line->at, call_actor(line->at->call));
	free(from);
}

static void
taken_over(struct writer *w, const struct projection_line *line)
{
	char id[ID_SIZE], own[ID_SIZE] = "";

	span_copy(line->at->event->event_id, own, sizeof own);
	derive_id(own, id);
	take(w, line, id);
}

static void
alone(struct writer *w, const struct projection_line *line)
{
	writer_member_span(w, "event_id", line->at->event->event_id);
	write_causes(w, line->at, placed_actor(line->at));
	write_payload(w, line->at, NULL);
}

static void
answered(struct writer *w, const struct projection_line *line)
{
	writer_member_span(w, "event_id", line->at->event->event_id);
	write_causes(w, line->at, placed_actor(line->at));
	write_payload(w, line->at, receiver(line->at));
}

static const char *
state_after(const struct placed *at)
{
	switch (at->event->type) {
	case EVENT_RUN_COMPLETED:
		return placed_status(at);
	case EVENT_MESSAGE_USER:
		return "thinking";
	case EVENT_MESSAGE_ASSISTANT:
		return span_is(span_member(at->event->payload, KEY_STOP_REASON), "tool_use") ?
		    "using_tools" : "answered";
	default:
		return "running";
	}
}

static void
changed(struct writer *w, const struct projection_line *line)
{
	alone(w, line);
	writer_member_string(w, "state", state_after(line->at));
}

static const struct projection_row rows[] = {
	{ EVENT_RUN_STARTED, false, "state_transition", NULL, changed },
	{ EVENT_STEP_STARTED, false, "task_sent", NULL, sent },
	{ EVENT_STEP_STARTED, false, "task_received", NULL, received },
	{ EVENT_CALL_WORKFLOW_STARTED, false, "task_sent", NULL, sent },
	{ EVENT_CALL_WORKFLOW_STARTED, false, "task_received", NULL, received },
	{ EVENT_MESSAGE_USER, false, "task_sent", handed_over, handed },
	{ EVENT_MESSAGE_USER, false, "task_received", handed_over, taken_over },
	{ EVENT_MESSAGE_USER, false, "state_transition", not_handed_over, changed },
	{ EVENT_MESSAGE_ASSISTANT, false, "state_transition", placed_whole, changed },
	{ EVENT_TOOL_CALL, false, "tool_call", NULL, alone },
	{ EVENT_TOOL_RESULT, false, "tool_return", NULL, alone },
	{ EVENT_STEP_COMPLETED, false, "response_sent", NULL, answered },
	{ EVENT_CALL_WORKFLOW_COMPLETED, false, "response_sent", NULL, answered },
	{ EVENT_RUN_COMPLETED, false, "state_transition", NULL, changed },
	{ 0, false, NULL, NULL, NULL },
};

static void
write_members(struct writer *w, const struct projection_line *line)
{
	writer_member_integer(w, "seq", line->number);
	writer_member_string(w, "type", line->row->type);
	line->row->body(w, line);
	writer_member_string(w, "run_id", line->at->run->run_id);
}

const struct projection projection_interagent = {
	"interagent", interagent_schema, 1, rows, write_members, NULL
};
