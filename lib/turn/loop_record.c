/*
 * Records a conversation: a message of the user for the prompt and everything else that the model
 * is given with it, and one of the assistant for each answer. Of the loop's state only the place
 * among the events changes.
 */
#include "turn/loop.h"

#include <stdlib.h>
#include <string.h>

#include "json/writer.h"
#include "providers/endpoint.h"
#include "transcript/event_keys.h"

/* The end of a block of an answer that reports what ran at the model's side: AWF has only the
 * model's word for it. */
static const char said[] = ",\"" KEY_FIDELITY "\":\"agent_emitted\"}";
static const char said_itself[] = ",\"" KEY_BY "\":\"provider\"}";

static bool
ends_with(struct span block, const char *end)
{
	const size_t len = strlen(end);

	return block.len > len && memcmp(block.at + block.len - len, end, len) == 0;
}

void
loop_write_block(struct writer *w, struct span block)
{
	bool own = span_member(block, KEY_FIDELITY).at != NULL;

	if (own && !ends_with(block, said) && !ends_with(block, said_itself)) {
		writer_span(w, block);
		return;
	}
	writer_raw(w, block.at, block.len - 1);
	buffer_text(w->out, own ? said_itself : said);
}

void
loop_write_original(struct writer *w, struct span block)
{
	const char *end = ends_with(block, said_itself) ? said_itself :
	    ends_with(block, said) ? said : NULL;

	if (end == NULL) {
		writer_span(w, block);
		return;
	}
	writer_raw(w, block.at, block.len - strlen(end));
	buffer_byte(w->out, '}');
}

bool
loop_block_is_plain(struct span block)
{
	return ends_with(block, said);
}

/* Begins a message's payload. */
static void
begin_message(struct writer *w, struct buffer *payload, const char *role)
{
	writer_begin(w, payload);
	writer_object(w);
	writer_member_string(w, KEY_ROLE, role);
}

/* Without blocks, the text is that of step.started. */
static void
write_agent(struct writer *w, const struct loop *l)
{
	if (l->turns->member != l->lead)
		writer_member_string(w, KEY_AGENT, l->turns->member->agent.name);
}

int
loop_record_user(const struct loop *l, const struct user_message *m, struct error *err)
{
	static const struct attachments none = ATTACHMENTS_INIT;
	const struct turns *t = l->turns;
	const struct agent *agent = &t->member->agent;
	const struct attachments *a = t->attachments != NULL ? t->attachments : &none;
	bool begins = m->kind == MESSAGE_PROMPT || m->kind == MESSAGE_HANDOFF;
	struct event_raw *raws = NULL;
	struct buffer payload = BUFFER_INIT;
	struct writer w;
	int status;

	begin_message(&w, &payload, "user");
	writer_member_array(&w, KEY_BLOCKS);
	if (m->kind == MESSAGE_PROMPT) {
		attachments_write_recorded(a, &w);
		loop_write_prompt(&w, l, "router");
	} else if (m->kind == MESSAGE_TEXT) {
		loop_write_text(&w, span_of(m->text->data, m->text->len), "router");
	} else if (m->kind == MESSAGE_WORD) {
		loop_write_text(&w, span_of(m->word->text, strlen(m->word->text)), "router");
	}
	writer_array_end(&w);
	write_agent(&w, l);

	if (m->kind == MESSAGE_HANDOFF) {
		writer_member_object(&w, KEY_HANDOFF);
		writer_member_string(&w, KEY_FROM, m->from->name);
		writer_member_string(&w, KEY_TO, agent->name);
		writer_object_end(&w);
		writer_member_string(&w, KEY_PROVIDER, agent->provider);
		writer_member_string(&w, KEY_MODEL, agent->model);
	}
	if (m->kind == MESSAGE_CHANGE)
		writer_member_buffer(&w, KEY_BEFORE_TURN, &l->turn.change.text);
	if (m->kind == MESSAGE_WORD) {
		writer_member_object(&w, KEY_TOLD);
		writer_member_string(&w, KEY_ID, m->word->id);
		writer_member_string(&w, KEY_BY, m->word->by);
		writer_member_string(&w, KEY_AT, m->word->at);
		writer_object_end(&w);
	}
	if (begins)
		writer_member_string(&w, KEY_SYSTEM_PROMPT, agent->system);
	if (begins || m->kind == MESSAGE_TOOLS) {
		loop_write_tools(&w, &l->tools.offer);
		mcp_tools_write(&l->tools.mcp, &l->tools.offer, &w);
	}
	if (begins)
		loop_write_params(&w, agent->params);
	writer_member_integer(&w, KEY_TURN, l->turn.number + (m->kind == MESSAGE_TEXT));
	writer_object_end(&w);

	if (m->kind == MESSAGE_PROMPT) {
		raws = attachments_raws(a);
		t->call->raws = raws;
		t->call->raw_count = t->call->transcript->masked ? 0 : a->count;
	}
	status = call_event(t->call, EVENT_MESSAGE_USER, NULL, &payload, NULL, err);
	buffer_free(&payload);
	if (m->kind == MESSAGE_PROMPT)
		attachments_free_raws(a, raws);
	return status;
}

/* Where a fallback is, if that is elsewhere than the agent's own model. */
static void
write_origin(struct writer *w, const struct loop *l)
{
	const struct asked asked = loop_asked(l);
	const struct provider *own = l->turns->member->provider;
	char *there, *here;

	if (l->turn.answer.recorded) {
		writer_member_span(w, KEY_ORIGIN, l->turn.answer.origin);
		return;
	}
	if (asked.client == NULL || asked.client->endpoint == NULL || own == NULL)
		return;
	there = endpoint_server(asked.client->endpoint, asked.model, asked.client->keys);
	here = own->endpoint == NULL ? NULL :
	    endpoint_server(own->endpoint, l->turns->member->agent.model, own->keys);
	if (there != NULL && (here == NULL || strcmp(here, there) != 0))
		writer_member_string(w, KEY_ORIGIN, there);
	free(there);
	free(here);
}

int
loop_record_answer(const struct loop *l, const struct request *request, int64_t duration_ms,
    char id[ID_SIZE], struct error *err)
{
	const struct answer *a = &l->turn.answer;
	const struct answer cut_off = { .usage = a->usage, .model = a->model,
		.request_id = a->request_id };
	const struct buffer *partial = &l->turn.partial.blocks;
	struct buffer payload = BUFFER_INIT;
	struct writer w;
	int status;

	if (id == NULL)
		a = &cut_off;
	begin_message(&w, &payload, "assistant");
	write_agent(&w, l);
	writer_member_array(&w, KEY_BLOCKS);
	if (id == NULL)
		buffer_append(&payload, partial->data, partial->len);
	for (struct span_walk block = span_walk(a->blocks); span_next(&block);)
		loop_write_block(&w, block.value);
	writer_array_end(&w);
	if (l->conversation.fallen != 0) {
		writer_member_string(&w, KEY_PROVIDER, loop_asked(l).provider);
		writer_member_integer(&w, KEY_FALLBACK, (int64_t)l->conversation.fallen);
		write_origin(&w, l);
	}
	writer_member_span(&w, KEY_MODEL, a->model);
	if (span_type(a->params_note) == 's')
		writer_member_span(&w, KEY_PARAMS_NOTE, a->params_note);
	writer_member_span(&w, KEY_STOP_REASON, a->stop_reason);
	writer_member_span(&w, KEY_EXPLANATION, a->explanation);
	writer_member_span(&w, KEY_USAGE, a->usage);
	writer_member_span(&w, KEY_SESSION_ID, a->session_id);
	writer_member_integer(&w, KEY_DURATION_MS, duration_ms);
	writer_member_integer(&w, KEY_TURN, l->turn.number);
	writer_member_string(&w, KEY_REQUEST_SHA256, request->sha256);
	writer_member_span(&w, KEY_REQUEST_ID, a->request_id);
	if (id == NULL)
		writer_member_bool(&w, KEY_PARTIAL, true);
	writer_object_end(&w);
	status = call_event(l->turns->call, EVENT_MESSAGE_ASSISTANT, NULL, &payload, id, err);
	buffer_free(&payload);
	return status;
}

int
turns_repeat(const struct turns *t, struct recalled_event *e, struct error *err)
{
	struct buffer payload = BUFFER_INIT;
	int status;

	buffer_append(&payload, e->view.payload.at, e->view.payload.len);
	call_name_next(t->call, e->id);
	status = call_event(t->call, e->view.type, NULL, &payload, NULL, err);
	e->used = true;
	buffer_free(&payload);
	return status;
}
