/*
 * The conversation is kept as the text of its messages, which only grows. So a request's
 * digest is that of the one before, continued: digesting all of it every turn would be
 * quadratic. One number says who is asked, 0 the agent's own model, else a fallback: while an
 * agent has the conversation it only grows, and each answer that is not of the first records
 * it, so that a recorded conversation finds its way again.
 */
#include "agent/loop.h"

#include "base/digest.h"
#include "json/value.h"
#include "json/writer.h"

const char *
loop_model(const struct loop *l)
{
	const struct agent *agent = &l->turns->member->agent;
	size_t fallen = l->conversation.fallen;

	return fallen == 0 ? agent->model : agent->fallback.list[fallen - 1].model;
}

const char *
loop_provider_name(const struct loop *l)
{
	const struct agent *agent = &l->turns->member->agent;
	size_t fallen = l->conversation.fallen;

	return fallen == 0 ? agent->provider : agent->fallback.list[fallen - 1].provider;
}

struct provider *
loop_provider(const struct loop *l)
{
	const struct member *m = l->turns->member;
	size_t fallen = l->conversation.fallen;

	return fallen == 0 ? m->provider : m->fallbacks[fallen - 1];
}

const char *
loop_session(const struct loop *l)
{
	return l->turns->member == l->lead && l->conversation.fallen == 0 ? l->turns->session : NULL;
}

const struct offer *
loop_offered(const struct loop *l)
{
	return l->turn.change.narrows ? &l->turn.change.offer : &l->tools.offer;
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

void
loop_write_tools(struct writer *w, const struct offer *offer)
{
	writer_key(w, "tools");
	writer_array(w);
	for (size_t i = 0; i < offer->count; i++)
		write_tool(w, offer->list[i].tool);
	writer_array_end(w);
}

void
loop_write_params(struct writer *w, const json_t *values)
{
	struct buffer params = BUFFER_INIT;

	value_write(values, &params);
	writer_member_buffer(w, "params", &params);
	buffer_free(&params);
}

void
loop_add_message(struct loop *l, const char *role, const char *blocks, size_t len)
{
	if (l->conversation.messages.len != 0)
		buffer_byte(&l->conversation.messages, ',');
	buffer_format(&l->conversation.messages, "{\"role\":\"%s\",\"blocks\":[", role);
	buffer_append(&l->conversation.messages, blocks, len);
	buffer_text(&l->conversation.messages, "]}");
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

void
loop_write_prompt(struct writer *w, const struct loop *l, const char *fidelity)
{
	struct buffer phase = BUFFER_INIT;

	loop_write_text(w, l->turns->prompt, fidelity);
	if (phases_given(l)) {
		phases_tell(l, &phase);
		loop_write_text(w, span_of(phase.data, phase.len), fidelity);
	}
	buffer_free(&phase);
}

/* Up to the end of the messages, inside of their array. */
static void
write_head(struct writer *w, const struct loop *l)
{
	const struct agent *agent = &l->turns->member->agent;
	struct span messages = l->turn.change.messages;

	if (l->turn.change.model.at != NULL)
		writer_member_span(w, "model", l->turn.change.model);
	else
		writer_member_string(w, "model", loop_model(l));
	writer_member_string(w, "system", agent->system);
	writer_key(w, "messages");
	writer_array(w);
	if (messages.at != NULL)
		writer_raw(w, messages.at + 1, messages.len - 2);
	else
		writer_raw(w, l->conversation.messages.data, l->conversation.messages.len);
}

static void
write_tail(struct writer *w, const struct loop *l)
{
	const struct agent *agent = &l->turns->member->agent;

	writer_array_end(w);
	loop_write_tools(w, loop_offered(l));
	loop_write_params(w, l->turn.change.params != NULL ? l->turn.change.params : agent->params);
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
	size_t known = l->conversation.asked_len;
	struct digest whole;

	digest_add(&l->conversation.asked, text->data + known, head - known);
	l->conversation.asked_len = head;
	whole = l->conversation.asked;
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
	if (l->turn.change.text.len > 0)
		digest_sha256(text->data, text->len, request->sha256);
	else
		digest_request(l, text, head, request->sha256);
}

void
loop_forget_asked(struct loop *l)
{
	digest_begin(&l->conversation.asked);
	l->conversation.asked_len = 0;
}

/* What a session knew goes before the rest, for who has none. */
static void
leave_session(struct loop *l)
{
	struct span before = l->turns->before;
	struct buffer messages = BUFFER_INIT;

	if (loop_session(l) == NULL || before.len == 0)
		return;
	buffer_append(&messages, before.at, before.len);
	buffer_byte(&messages, ',');
	buffer_append(&messages, l->conversation.messages.data, l->conversation.messages.len);
	buffer_free(&l->conversation.messages);
	l->conversation.messages = messages;
}

void
loop_fall_back(struct loop *l, size_t number, struct request *request)
{
	leave_session(l);
	l->conversation.fallen = number;
	l->turn.change.model = span_of(NULL, 0); /* it was one of the other provider */
	loop_forget_asked(l);
	buffer_clear(&request->text);
	loop_request(l, request);
}
