/*
 * The conversation is kept as the text of its messages, to which text is only appended. So the
 * digest of a request is computed by continuing that of the request before: hashing the whole text
 * every turn would be quadratic. One number says which model is asked: 0 is the agent's own, others
 * are its fallbacks. While an agent has the conversation the number only grows, and each answer of
 * a fallback records it, so that a replayed conversation asks the same models.
 */
#include "turn/loop.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "json/value.h"
#include "json/writer.h"
#include "transcript/event_keys.h"

struct asked
loop_asked(const struct loop *l)
{
	const struct member *m = l->turns->member;
	size_t fallen = l->conversation.fallen;
	const struct fallback_model *other;

	if (fallen == 0)
		return (struct asked){ m->agent.provider, m->agent.model, m->provider };
	other = &m->agent.fallback.list[fallen - 1];
	/* In a replay there are no clients. */
	return (struct asked){ other->provider, other->model,
		m->fallbacks == NULL ? NULL : m->fallbacks[fallen - 1] };
}

char *
loop_asked_model(const struct loop *l)
{
	char *changed = span_text(l->turn.change.model);

	return changed != NULL ? changed : memory_text(loop_asked(l).model);
}

const struct offer *
loop_offered(const struct loop *l)
{
	return l->turn.change.narrows ? &l->turn.change.offer : &l->tools.offer;
}

void
loop_write_tools(struct writer *w, const struct offer *offer)
{
	writer_member_array(w, KEY_TOOLS);
	for (size_t i = 0; i < offer->count; i++) {
		const struct tool *tool = offer->list[i].tool;

		writer_object(w);
		writer_member_string(w, KEY_NAME, tool->name);
		writer_member_string(w, KEY_DESCRIPTION, tool->description);
		writer_member_buffer(w, KEY_INPUT_SCHEMA, &tool->input_schema);
		writer_object_end(w);
	}
	writer_array_end(w);
}

void
loop_write_params(struct writer *w, const json_t *values)
{
	struct buffer params = BUFFER_INIT;

	value_write(values, &params);
	writer_member_buffer(w, KEY_PARAMS, &params);
	buffer_free(&params);
}

void
loop_write_text(struct writer *w, struct span text, const char *fidelity)
{
	writer_object(w);
	writer_member_string(w, KEY_TYPE, "text");
	writer_key(w, KEY_TEXT);
	writer_bytes(w, text.at, text.len);
	writer_member_string(w, KEY_FIDELITY, fidelity);
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

void
loop_add_message_of(struct loop *l, const char *role, const char *blocks, size_t len,
    const struct giver *giver)
{
	struct buffer *messages = &l->conversation.messages;

	INVARIANT(messages->len == 0 || messages->data[messages->len - 1] == '}');
	INVARIANT(len == 0 || (blocks[0] == '{' && blocks[len - 1] == '}'));
	if (messages->len != 0)
		buffer_byte(messages, ',');
	buffer_format(messages, "{\"" KEY_ROLE "\":\"%s\",\"" KEY_BLOCKS "\":[", role);
	buffer_append(messages, blocks, len);
	buffer_text(messages, "]}");
	loop_add_giver(l, giver->from, giver->offered);
}

void
loop_add_message(struct loop *l, const char *role, const char *blocks, size_t len)
{
	const struct change *change = &l->turn.change;
	struct giver giver = { NULL, 0 };

	if (strcmp(role, "assistant") == 0) {
		char *model = loop_asked_model(l);

		giver.from = memory_format("%s/%s", loop_asked(l).provider, model);
		if (!change->narrows && change->messages.at == NULL)
			giver.offered = l->conversation.offered;
		free(model);
	}
	loop_add_message_of(l, role, blocks, len, &giver);
	free(giver.from);
}

/* The session that the asked model continues; NULL: it gets all messages. */
static const char *
session_of(const struct loop *l)
{
	const struct continuation *c = l->turns->continued;

	return c != NULL && l->turns->member == l->lead && l->conversation.fallen == 0 ? c->session : NULL;
}

size_t
loop_write_asked(const struct loop *l, struct writer *w)
{
	const struct agent *agent = &l->turns->member->agent;
	const struct change *change = &l->turn.change;
	size_t len;

	if (change->model.at != NULL)
		writer_member_span(w, KEY_MODEL, change->model);
	else
		writer_member_string(w, KEY_MODEL, loop_asked(l).model);
	writer_member_string(w, "system", agent->system);
	writer_member_array(w, "messages");
	if (change->messages.at != NULL)
		writer_raw(w, change->messages.at + 1, change->messages.len - 2);
	else
		writer_raw(w, l->conversation.messages.data, l->conversation.messages.len);
	len = w->out->len;
	writer_array_end(w);
	loop_write_tools(w, loop_offered(l));
	loop_write_params(w, change->params != NULL ? change->params : agent->params);
	if (agent->stop_tool == NULL && agent->phases.count == 0)
		writer_member_buffer(w, "output_schema", &agent->output.text);
	if (agent->prompt.project_settings)
		writer_member_bool(w, "project_settings", true);
	if (agent->answer.may_be_empty)
		writer_member_string(w, "empty", "accept");
	writer_member_string(w, "session", session_of(l));
	return len;
}

/* The notes of a session's provider. They are not part of the request, so not of its digest:
 * another step may continue the session meanwhile. */
static void
add_session_raw(const struct loop *l, struct buffer *text)
{
	const struct buffer *raw;
	struct writer w;

	if (session_of(l) == NULL)
		return;
	raw = &l->turns->continued->raw;
	text->len--; /* the brace */
	writer_begin(&w, text);
	w.comma = true;
	writer_member_buffer(&w, "session_raw", raw);
	buffer_byte(text, '}');
}

void
loop_request(struct loop *l, struct request *request)
{
	struct buffer *text = &request->text;
	size_t head, known = l->conversation.asked_len;
	struct digest whole;
	struct writer w;

	writer_begin(&w, &request->text);
	writer_object(&w);
	head = loop_write_asked(l, &w);
	writer_member_bool(&w, "stream", true);
	writer_object_end(&w);

	/* A conversation only grows: the earlier requests are hashed once, not every turn. */
	if (l->turn.change.text.len > 0) {
		digest_sha256(text->data, text->len, request->sha256);
	} else {
		INVARIANT(known <= head && head <= text->len);
		digest_add(&l->conversation.asked, text->data + known, head - known);
		l->conversation.asked_len = head;
		whole = l->conversation.asked;
		digest_add(&whole, text->data + head, text->len - head);
		digest_end(&whole, request->sha256);
	}
	add_session_raw(l, text);
	loop_add_beside(l, loop_asked(l).provider, text, head);
}

void
loop_forget_asked(struct loop *l)
{
	digest_begin(&l->conversation.asked);
	l->conversation.asked_len = 0;
}

void
loop_fall_back(struct loop *l, size_t number, struct request *request)
{
	struct buffer messages = BUFFER_INIT;

	/* A model without the session is sent what the session contained before the other
	 * messages. */
	if (session_of(l) != NULL && l->turns->continued->messages.len > 0) {
		const struct buffer *before = &l->turns->continued->messages;

		buffer_append(&messages, before->data, before->len);
		buffer_byte(&messages, ',');
		buffer_append(&messages, l->conversation.messages.data, l->conversation.messages.len);
		buffer_free(&l->conversation.messages);
		l->conversation.messages = messages;
		loop_add_givers_before(l);
	}
	INVARIANT(number > l->conversation.fallen);
	l->conversation.fallen = number;
	l->turn.change.model = SPAN_NONE; /* the model was chosen for the previous provider */
	loop_forget_asked(l);
	buffer_clear(&request->text);
	loop_request(l, request);
}
