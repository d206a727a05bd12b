/*
 * What is recorded of a conversation: a message of the user for the prompt and for whatever
 * the model is given beside it, and one of the assistant for each answer. Nothing of the loop
 * changes by it but its place among the events.
 */
#include "agent/loop.h"

#include <string.h>

#include "json/writer.h"
#include "transcript/event_keys.h"

/* How a block of an answer ends that is the model's word: AWF or the API ran what it says. */
static const char said[] = ",\"fidelity\":\"agent_emitted\"}";
static const char said_itself[] = ",\"by\":\"provider\"}";

static bool
ends_with(struct span block, const char *end, size_t len)
{
	return block.len > len && memcmp(block.at + block.len - len, end, len) == 0;
}

void
loop_write_block(struct writer *w, struct span block)
{
	bool own = span_member(block, KEY_FIDELITY).at != NULL;

	if (own && !ends_with(block, said, sizeof said - 1) &&
	    !ends_with(block, said_itself, sizeof said_itself - 1)) {
		writer_span(w, block);
		return;
	}
	writer_raw(w, block.at, block.len - 1);
	buffer_text(w->out, own ? said_itself : said);
}

void
loop_write_original(struct writer *w, struct span block)
{
	size_t end = ends_with(block, said_itself, sizeof said_itself - 1) ?
	    sizeof said_itself - 1 : ends_with(block, said, sizeof said - 1) ? sizeof said - 1 : 0;

	if (end == 0) {
		writer_span(w, block);
		return;
	}
	writer_raw(w, block.at, block.len - end);
	buffer_byte(w->out, '}');
}

bool
loop_block_is_plain(struct span block)
{
	return ends_with(block, said, sizeof said - 1);
}

/* What the agent is given besides the conversation. */
static void
write_given(struct writer *w, const struct loop *l)
{
	const struct agent *agent = &l->turns->member->agent;

	writer_member_string(w, KEY_SYSTEM_PROMPT, agent->system);
	loop_write_tools(w, &l->tools.offer);
	mcp_tools_write(&l->tools.mcp, &l->tools.offer, w);
	loop_write_params(w, agent->params);
	writer_member_integer(w, KEY_TURN, l->turn.number);
}

/* Without it, it is the one of step.started. */
static void
write_agent(struct writer *w, const struct loop *l)
{
	if (l->turns->member != l->lead)
		writer_member_string(w, KEY_AGENT, l->turns->member->agent.name);
}

static void
begin_user(struct writer *w, struct buffer *payload)
{
	writer_begin(w, payload);
	writer_object(w);
	writer_member_string(w, KEY_ROLE, "user");
	writer_key(w, KEY_BLOCKS);
	writer_array(w);
}

static int
record_user(const struct loop *l, struct writer *w, struct error *err)
{
	int status;

	writer_object_end(w);
	status = call_event(l->turns->call, EVENT_MESSAGE_USER, NULL, w->out, NULL, err);
	buffer_free(w->out);
	return status;
}

int
loop_record_prompt(const struct loop *l, struct error *err)
{
	static const struct attachments none = ATTACHMENTS_INIT;
	const struct turns *t = l->turns;
	const struct attachments *a = t->attachments != NULL ? t->attachments : &none;
	struct buffer payload = BUFFER_INIT;
	struct event_raw *raws = attachments_raws(a);
	struct writer w;
	int status;

	begin_user(&w, &payload);
	attachments_write_recorded(a, &w);
	loop_write_prompt(&w, l, "router");
	writer_array_end(&w);
	write_given(&w, l);
	t->call->raws = raws;
	t->call->raw_count = t->call->transcript->masked ? 0 : a->count;
	status = record_user(l, &w, err);
	attachments_free_raws(a, raws);
	return status;
}

int
loop_record_handoff(const struct loop *l, const struct agent *from, struct error *err)
{
	const struct agent *to = &l->turns->member->agent;
	struct buffer payload = BUFFER_INIT;
	struct writer w;

	begin_user(&w, &payload);
	writer_array_end(&w);
	write_agent(&w, l);
	writer_key(&w, KEY_HANDOFF);
	writer_object(&w);
	writer_member_string(&w, "from", from->name);
	writer_member_string(&w, "to", to->name);
	writer_object_end(&w);
	writer_member_string(&w, KEY_PROVIDER, to->provider);
	writer_member_string(&w, KEY_MODEL, to->model);
	write_given(&w, l);
	return record_user(l, &w, err);
}

int
loop_record_change(const struct loop *l, struct error *err)
{
	struct buffer payload = BUFFER_INIT;
	struct writer w;

	begin_user(&w, &payload);
	writer_array_end(&w);
	write_agent(&w, l);
	writer_member_buffer(&w, KEY_BEFORE_TURN, &l->turn.change.text);
	writer_member_integer(&w, KEY_TURN, l->turn.number);
	return record_user(l, &w, err);
}

int
loop_record_tools(const struct loop *l, struct error *err)
{
	struct buffer payload = BUFFER_INIT;
	struct writer w;

	begin_user(&w, &payload);
	writer_array_end(&w);
	write_agent(&w, l);
	loop_write_tools(&w, &l->tools.offer);
	mcp_tools_write(&l->tools.mcp, &l->tools.offer, &w);
	writer_member_integer(&w, KEY_TURN, l->turn.number);
	return record_user(l, &w, err);
}

int
loop_record_text(const struct loop *l, const struct buffer *text, struct error *err)
{
	struct buffer payload = BUFFER_INIT;
	struct writer w;

	begin_user(&w, &payload);
	loop_write_text(&w, span_of(text->data, text->len), "router");
	writer_array_end(&w);
	write_agent(&w, l);
	writer_member_integer(&w, KEY_TURN, l->turn.number + 1);
	return record_user(l, &w, err);
}

static void
begin_assistant(struct writer *w, struct buffer *payload, const struct loop *l)
{
	writer_begin(w, payload);
	writer_object(w);
	writer_member_string(w, KEY_ROLE, "assistant");
	write_agent(w, l);
}

/* Who was asked, if it is not the agent's own model. */
static void
write_fallback(struct writer *w, const struct loop *l)
{
	if (l->conversation.fallen == 0)
		return;
	writer_member_string(w, KEY_PROVIDER, loop_provider_name(l));
	writer_member_integer(w, KEY_FALLBACK, (int64_t)l->conversation.fallen);
}

static void
write_asked(struct writer *w, const struct loop *l, const struct request *request,
    int64_t duration_ms)
{
	writer_member_integer(w, KEY_DURATION_MS, duration_ms);
	writer_member_integer(w, KEY_TURN, l->turn.number);
	writer_member_string(w, KEY_REQUEST_SHA256, request->sha256);
}

static int
record_assistant(const struct loop *l, struct writer *w, char *id, struct error *err)
{
	int status;

	writer_object_end(w);
	status = call_event(l->turns->call, EVENT_MESSAGE_ASSISTANT, NULL, w->out, id, err);
	buffer_free(w->out);
	return status;
}

int
loop_record_answer(const struct loop *l, const struct request *request, int64_t duration_ms,
    char id[ID_SIZE], struct error *err)
{
	const struct answer *a = &l->turn.answer;
	struct buffer payload = BUFFER_INIT;
	struct writer w;

	begin_assistant(&w, &payload, l);
	writer_key(&w, KEY_BLOCKS);
	writer_array(&w);
	for (struct span_walk block = span_walk(a->blocks); span_next(&block);)
		loop_write_block(&w, block.value);
	writer_array_end(&w);
	write_fallback(&w, l);
	writer_member_span(&w, KEY_MODEL, a->model);
	writer_member_span(&w, KEY_STOP_REASON, a->stop_reason);
	writer_member_span(&w, KEY_USAGE, a->usage);
	writer_member_span(&w, KEY_SESSION_ID, a->session_id);
	write_asked(&w, l, request, duration_ms);
	writer_member_span(&w, KEY_REQUEST_ID, a->request_id);
	return record_assistant(l, &w, id, err);
}

int
loop_record_partial(const struct loop *l, const struct request *request, int64_t duration_ms,
    struct error *err)
{
	struct buffer payload = BUFFER_INIT;
	struct writer w;

	begin_assistant(&w, &payload, l);
	partial_write(&l->turn.partial, &w);
	write_fallback(&w, l);
	write_asked(&w, l, request, duration_ms);
	writer_member_bool(&w, KEY_PARTIAL, true);
	return record_assistant(l, &w, NULL, err);
}
