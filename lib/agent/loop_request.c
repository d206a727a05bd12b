/*
 * The conversation is kept as the text of its messages, which only grows. So a request's
 * digest is that of the one before, continued: digesting all of it every turn would be
 * quadratic. What is offered is put together anew when an agent, a phase or a server's list
 * changes.
 */
#include "agent/loop.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/memory.h"
#include "json/value.h"
#include "json/writer.h"

static void
loop_withdraw(struct loop *l)
{
	offer_clear(&l->offer);
	offer_clear(&l->withheld);
	loop_drop_transfers(l);
	control_free(&l->stopping);
}

/* One that has no executable only gives the result: what the schema of its file accepts,
 * without a file any object. */
static int
loop_offer_stop_tool(struct loop *l, struct error *err)
{
	const struct member *m = l->turns->member;
	const char *name = m->agent.stop_tool, *schema = "{\"type\":\"object\"}";
	const char *description = "Gives the result and ends the work.";
	struct span output = span_of(m->agent.output.text.data, m->agent.output.text.len);

	if (name == NULL || offer_find(&l->offer, name) != NULL)
		return 0;
	if (m->stop.name != NULL && !m->stop.missing) {
		offer_add(&l->offer, &m->stop);
		return 0;
	}
	if (m->stop.name != NULL)
		schema = buffer_string(&m->stop.input_schema);
	else if (span_is(span_member(output, "type"), "object"))
		schema = output.at;
	if (m->stop.description != NULL)
		description = m->stop.description;
	if (control_begin(&l->stopping, name, description, schema, err) == -1)
		return -1;
	offer_add_control(&l->offer, &l->stopping);
	return 0;
}

int
loop_offer(struct loop *l, struct error *err)
{
	const struct member *m = l->turns->member;

	loop_withdraw(l);
	if (phases_given(l)) {
		phases_offer(l);
		return 0;
	}
	for (size_t i = 0; i < m->tool_count; i++)
		offer_add(&l->offer, &m->tools[i]);
	mcp_tools_offer(&l->mcp, m, m->agent.tools, false, &l->offer);
	mcp_tools_withhold(&l->mcp, &l->offer, &l->withheld);
	if (loop_offer_transfers(l, err) == -1)
		return -1;
	return loop_offer_stop_tool(l, err);
}

static void
write_tool(struct writer *w, const struct tool *tool)
{
	writer_object(w);
	writer_member_string(w, "name", tool->name);
	writer_member_string(w, "description", tool->description);
	writer_member_buffer(w, "input_schema", &tool->input_schema);
	writer_object_end(w);
}

static void
write_tools(struct writer *w, const struct offer *offer)
{
	writer_key(w, "tools");
	writer_array(w);
	for (size_t i = 0; i < offer->count; i++)
		write_tool(w, offer->list[i].tool);
	writer_array_end(w);
}

static void
write_params(struct writer *w, const json_t *values)
{
	struct buffer params = BUFFER_INIT;

	value_write(values, &params);
	writer_member_buffer(w, "params", &params);
	buffer_free(&params);
}

void
loop_add_message(struct loop *l, const char *role, const char *blocks, size_t len)
{
	if (l->messages.len != 0)
		buffer_byte(&l->messages, ',');
	buffer_format(&l->messages, "{\"role\":\"%s\",\"blocks\":[", role);
	buffer_append(&l->messages, blocks, len);
	buffer_text(&l->messages, "]}");
}

void
loop_write_text(struct writer *w, struct span text, const char *fidelity)
{
	writer_object(w);
	writer_member_string(w, "type", "text");
	writer_key(w, "text");
	writer_bytes(w, text.at, text.len);
	writer_member_string(w, "fidelity", fidelity);
	writer_object_end(w);
}

/* The prompt, and what tells of the first phase, as blocks. */
static void
write_prompt(const struct loop *l, const char *fidelity, struct writer *w)
{
	struct buffer phase = BUFFER_INIT;

	loop_write_text(w, l->turns->prompt, fidelity);
	if (phases_given(l)) {
		phases_tell(l, &phase);
		loop_write_text(w, span_of(phase.data, phase.len), fidelity);
	}
	buffer_free(&phase);
}

const struct offer *
loop_offered(const struct loop *l)
{
	return l->change.narrows ? &l->change.offer : &l->offer;
}

const char *
loop_session(const struct loop *l)
{
	return l->turns->member == l->lead && l->fallen == 0 ? l->turns->session : NULL;
}

/* Up to the end of the messages, inside of their array. */
static void
write_head(struct writer *w, const struct loop *l)
{
	const struct agent *agent = &l->turns->member->agent;
	struct span messages = l->change.messages;

	if (l->change.model.at != NULL)
		writer_member_span(w, "model", l->change.model);
	else
		writer_member_string(w, "model", loop_model(l));
	writer_member_string(w, "system", agent->system);
	writer_key(w, "messages");
	writer_array(w);
	if (messages.at != NULL)
		writer_raw(w, messages.at + 1, messages.len - 2);
	else
		writer_raw(w, l->messages.data, l->messages.len);
}

static void
write_tail(struct writer *w, const struct loop *l)
{
	const struct agent *agent = &l->turns->member->agent;

	writer_array_end(w);
	write_tools(w, loop_offered(l));
	write_params(w, l->change.params != NULL ? l->change.params : agent->params);
	if (agent->stop_tool == NULL && agent->phases.count == 0)
		writer_member_buffer(w, "output_schema", &agent->output.text);
	writer_member_string(w, "session", loop_session(l));
}

void
loop_write_asked(const struct loop *l, struct writer *w)
{
	write_head(w, l);
	write_tail(w, l);
}

/* A conversation only grows: what was asked before is digested once, not every turn. */
static void
digest_request(struct loop *l, const struct buffer *text, size_t head, char sha256[DIGEST_SIZE])
{
	struct digest whole;

	digest_add(&l->asked, text->data + l->asked_len, head - l->asked_len);
	l->asked_len = head;
	whole = l->asked;
	digest_add(&whole, text->data + head, text->len - head);
	digest_end(&whole, sha256);
}

void
loop_request(struct loop *l, struct request *request)
{
	struct buffer *text = &request->text;
	struct writer w;
	size_t head;

	writer_begin(&w, text);
	writer_object(&w);
	write_head(&w, l);
	head = text->len;
	write_tail(&w, l);
	writer_member_bool(&w, "stream", true);
	writer_object_end(&w);
	if (l->change.text.len > 0)
		digest_sha256(text->data, text->len, request->sha256);
	else
		digest_request(l, text, head, request->sha256);
}

void
loop_forget_asked(struct loop *l)
{
	digest_begin(&l->asked);
	l->asked_len = 0;
}

int
loop_begin(struct loop *l, struct turns *t, struct error *err)
{
	struct buffer blocks = BUFFER_INIT;
	struct writer w;

	*l = (struct loop){ .turns = t, .lead = t->member, .deadline = t->deadline };
	digest_begin(&l->asked);
	for (size_t i = 0; i < USAGE_KEYS; i++)
		l->usage[i] = -1;
	if (phases_given(l) && phases_begin(l, err) == -1)
		return -1;
	if (loop_session(l) == NULL)
		buffer_append(&l->messages, t->before.at, t->before.len);
	writer_begin(&w, &blocks);
	if (t->attachments != NULL)
		attachments_write_blocks(t->attachments, &w, t->shown);
	write_prompt(l, NULL, &w);
	loop_add_message(l, "user", blocks.data, blocks.len);
	buffer_free(&blocks);
	if (loop_begin_mcp(l, loop_first_prompt(l), err) == -1)
		return -1;
	return loop_offer(l, err);
}

void
loop_free(struct loop *l)
{
	loop_withdraw(l);
	mcp_tools_free(&l->mcp);
	change_free(&l->change);
	phases_free(&l->phases);
	buffer_free(&l->messages);
	buffer_free(&l->text);
	answer_free(&l->answer);
	emitted_free(&l->emitted);
	partial_clear(&l->partial);
}

/* What the agent is given besides the conversation. */
static void
write_given(struct writer *w, const struct loop *l)
{
	const struct agent *agent = &l->turns->member->agent;

	writer_member_string(w, "system_prompt", agent->system);
	write_tools(w, &l->offer);
	mcp_tools_write(&l->mcp, &l->offer, w);
	write_params(w, agent->params);
	writer_member_integer(w, "turn", l->turn);
}

/* Without it, it is the one of step.started. */
static void
write_agent(struct writer *w, const struct loop *l)
{
	if (l->turns->member != l->lead)
		writer_member_string(w, "agent", l->turns->member->agent.name);
}

static void
begin_user(struct writer *w, struct buffer *payload)
{
	writer_begin(w, payload);
	writer_object(w);
	writer_member_string(w, "role", "user");
	writer_key(w, "blocks");
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
	write_prompt(l, "router", &w);
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
	writer_key(&w, "handoff");
	writer_object(&w);
	writer_member_string(&w, "from", from->name);
	writer_member_string(&w, "to", to->name);
	writer_object_end(&w);
	writer_member_string(&w, "provider", to->provider);
	writer_member_string(&w, "model", to->model);
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
	writer_member_buffer(&w, "before_turn", &l->change.text);
	writer_member_integer(&w, "turn", l->turn);
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
	write_tools(&w, &l->offer);
	mcp_tools_write(&l->mcp, &l->offer, &w);
	writer_member_integer(&w, "turn", l->turn);
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
	writer_member_integer(&w, "turn", l->turn + 1);
	return record_user(l, &w, err);
}

static void
write_answer_blocks(struct writer *w, struct span blocks)
{
	struct span_walk walk;
	struct span key, block;

	writer_key(w, "blocks");
	writer_array(w);
	span_walk_begin(&walk, blocks);
	while (span_walk_next(&walk, &key, &block))
		loop_write_block(w, block);
	writer_array_end(w);
}

int
loop_record_answer(struct loop *l, const struct request *request, int64_t duration_ms,
    char id[ID_SIZE], struct error *err)
{
	struct buffer payload = BUFFER_INIT;
	struct writer w;
	int status;

	writer_begin(&w, &payload);
	writer_object(&w);
	writer_member_string(&w, "role", "assistant");
	write_agent(&w, l);
	write_answer_blocks(&w, l->answer.blocks);
	if (l->fallen > 0) {
		writer_member_string(&w, "provider", loop_provider_name(l));
		writer_member_integer(&w, "fallback", (int64_t)l->fallen);
	}
	writer_member_span(&w, "model", l->answer.model);
	writer_member_span(&w, "stop_reason", l->answer.stop_reason);
	writer_member_span(&w, "usage", l->answer.usage);
	writer_member_span(&w, "session_id", l->answer.session_id);
	writer_member_integer(&w, "duration_ms", duration_ms);
	writer_member_integer(&w, "turn", l->turn);
	writer_member_string(&w, "request_sha256", request->sha256);
	writer_member_span(&w, "request_id", l->answer.request_id);
	writer_object_end(&w);
	emitted_follow(&l->emitted, l->turns->call);
	status = call_event(l->turns->call, EVENT_MESSAGE_ASSISTANT, NULL, &payload, id, err);
	buffer_free(&payload);
	return status;
}

int
loop_record_partial(struct loop *l, const struct request *request, int64_t duration_ms,
    struct error *err)
{
	struct buffer payload = BUFFER_INIT;
	struct writer w;
	int status;

	if (partial_empty(&l->partial))
		return 0;
	writer_begin(&w, &payload);
	writer_object(&w);
	writer_member_string(&w, "role", "assistant");
	write_agent(&w, l);
	partial_write(&l->partial, &w);
	if (l->fallen > 0) {
		writer_member_string(&w, "provider", loop_provider_name(l));
		writer_member_integer(&w, "fallback", (int64_t)l->fallen);
	}
	writer_member_integer(&w, "duration_ms", duration_ms);
	writer_member_integer(&w, "turn", l->turn);
	writer_member_string(&w, "request_sha256", request->sha256);
	writer_member_bool(&w, "partial", true);
	writer_object_end(&w);
	emitted_follow(&l->emitted, l->turns->call);
	status = call_event(l->turns->call, EVENT_MESSAGE_ASSISTANT, NULL, &payload, NULL, err);
	buffer_free(&payload);
	partial_clear(&l->partial);
	return status;
}
