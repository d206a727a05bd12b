/*
 * The run's model tells which call each event belongs to, and which call continued another. The
 * messages of each call of the step's path are collected as their events are read; which call
 * completed last is known only at the end.
 */
#include "turn/continuation.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/map.h"
#include "base/memory.h"
#include "formats/content.h"
#include "model/model.h"
#include "storage/state.h"
#include "transcript/blob.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"
#include "turn/loop.h"
#include "turn/toolrun.h"

struct conversation {
	char *session, *provider;
	char *model, *turn_model; /* that is asked; in this turn, if a program chose another */
	char *asked;             /* the provider of the agent that has the conversation */
	struct continuation before; /* with which it goes on, of a call of a session */
	struct buffer messages;  /* elements of a JSON array */
	char **from;             /* who gave each of these, as in struct continuation */
	struct buffer results;   /* blocks of tool results, to be put before the next message */
	bool lacks;              /* the bytes of an attachment are missing */
};

/* The latest notes of a provider about a session of an agent CLI. */
struct noted {
	char *session;
	struct buffer raw;
};

/* The calls of one path, and the sessions of all paths. */
struct search {
	const char *path, *blobs;
	const char *call;           /* the only call that counts; NULL: all of the path do */
	struct conversation *list;
	size_t count;
	struct map by_start;        /* event of a call's start → its conversation */
	size_t latest;
	char completed[ID_SIZE];    /* "": none yet */
	struct noted *noted;
	size_t noted_count;
	struct map by_session;      /* Adds the results of tools since the last message to the
	                               conversation. */
};

#define NONE ((size_t)-1)

static size_t
conversation_of(const struct search *s, const struct model_call *c)
{
	const size_t *found = c != NULL ?
	    map_get(&s->by_start, (const char *)&c->start, sizeof c->start) : NULL;

	return found == NULL ? NONE : *found;
}

/* from: NULL, or in memory of its own, which the list takes. */
static void
add_message(struct conversation *c, const char *role, const struct buffer *blocks, char *from)
{
	if (blocks->len == 0) {
		free(from);
		return;
	}
	list_take(&c->from, from != NULL ? from : memory_text(""));
	buffer_format(&c->messages, "%s{\"" KEY_ROLE "\":\"%s\",\"" KEY_BLOCKS "\":[",
	    c->messages.len > 0 ? "," : "", role);
	buffer_append(&c->messages, blocks->data, blocks->len);
	buffer_text(&c->messages, "]}");
}

/* An answer that was cut off and requested again is not in any model's context. */
static void
add_results(struct conversation *c)
{
	add_message(c, "user", &c->results, NULL);
	buffer_clear(&c->results);
}

static void
forget_messages(struct conversation *c)
{
	list_free(c->from);
	c->from = NULL;
	buffer_clear(&c->messages);
}

/* Who is asked from a message of the user on: after a hand-over another agent's model, in one turn
 * the model that a before_turn program chose. */
static void
note_asked(struct conversation *c, const struct event_view *e, bool answer)
{
	struct span provider = span_member(e->payload, KEY_PROVIDER);
	struct span model = span_member(e->payload, KEY_MODEL);
	char *chosen = span_text(span_path(e->payload, KEY_BEFORE_TURN, KEY_MODEL, NULL));

	if (!answer && span_type(provider) == 's' && span_type(model) == 's') {
		free(c->asked);
		free(c->model);
		c->asked = span_text(provider);
		c->model = span_text(model);
	}
	if (!answer && chosen != NULL) {
		free(c->turn_model);
		c->turn_model = chosen;
	} else {
		free(chosen);
	}
}

/* Who gave an answer: NAME/MODEL, as far as the record tells. Of a fallback it has the name that
 * the API gave. */
static char *
giver_of(struct conversation *c, const struct event_view *e)
{
	bool fallback = span_member(e->payload, KEY_FALLBACK).at != NULL;
	char *provider = fallback ? span_text(span_member(e->payload, KEY_PROVIDER)) : NULL;
	char *answered = fallback ? span_text(span_member(e->payload, KEY_MODEL)) : NULL;
	const char *name = provider != NULL ? provider : c->asked;
	const char *model = answered != NULL ? answered : c->turn_model != NULL ? c->turn_model : c->model;
	char *from = name == NULL || model == NULL ? NULL : memory_format("%s/%s", name, model);

	free(provider);
	free(answered);
	free(c->turn_model);
	c->turn_model = NULL;
	return from;
}

static void join_before(struct conversation *c);

/* A summary replaces all messages but the last. */
static void
compact_conversation(struct conversation *c, const struct event_view *e, const struct buffer *blocks)
{
	struct buffer out = BUFFER_INIT;
	long long kept = 0;
	char **from = NULL;
	size_t count = 0;

	join_before(c);
	buffer_free(&c->before.messages);
	list_free(c->before.from);
	c->before.from = NULL;
	while (c->from != NULL && c->from[count] != NULL)
		count++;
	span_integer(span_path(e->payload, KEY_COMPACT, KEY_KEPT, NULL), &kept);
	if (kept < 0 || (size_t)kept > count)
		kept = (long long)count;
	compact_messages(&c->messages, (size_t)kept, span_of(blocks->data, blocks->len), &out);
	list_add(&from, "");
	for (size_t i = count - (size_t)kept; i < count; i++)
		list_add(&from, c->from[i]);
	forget_messages(c);
	buffer_free(&c->messages);
	c->messages = out;
	c->from = from;
}

static void
conversation_add_message(struct conversation *c, const struct event_view *e)
{
	bool answer = e->type == EVENT_MESSAGE_ASSISTANT;
	struct span said = span_member(e->payload, KEY_BLOCKS);
	struct buffer blocks = BUFFER_INIT;
	struct writer w;
	long long turn;
	char *session;

	/* A call that was made again sends its prompt again. Other recorded events of its first
	 * turn, such as a change, have no blocks. */
	if (answer && span_true(span_member(e->payload, KEY_PARTIAL)))
		return;
	session = answer ? span_text(span_member(e->payload, KEY_SESSION_ID)) : NULL;
	if (session != NULL) {
		free(c->session);
		c->session = session;
	}
	/* A call that was made again asks anew. What else is recorded of its first turn, such as
	 * a change of it, has no blocks. */
	if (!answer && span_element(said, 0).at != NULL && span_member(e->payload, KEY_TOLD).at == NULL &&
	    span_member(e->payload, KEY_COMPACT).at == NULL &&
	    span_integer(span_member(e->payload, KEY_TURN), &turn) && turn == 0) {
		forget_messages(c);
		buffer_clear(&c->results);
		c->lacks = false;
	}
	note_asked(c, e, answer);

	writer_begin(&w, &blocks);
	for (struct span_walk block = span_walk(said); span_next(&block);) {
		if (answer) {
			loop_write_original(&w, block.value);
		} else {
			/* As it was sent, without the mark that AWF itself says it. */
			writer_object(&w);
			for (struct span_walk member = span_walk(block.value); span_next(&member);)
				if (!span_is(member.key, KEY_FIDELITY))
					writer_raw_member(&w, member.key, member.value);
			writer_object_end(&w);
		}
		c->lacks = c->lacks || span_type(span_member(block.value, KEY_DATA)) == '0';
	}
	add_results(c);
	if (!answer && span_type(span_member(e->payload, KEY_COMPACT)) == 'o') {
		compact_conversation(c, e, &blocks);
		buffer_free(&blocks);
		return;
	}
	add_message(c, answer ? "assistant" : "user", &blocks, answer ? giver_of(c, e) : NULL);
	buffer_free(&blocks);
}

/* Only results of tools that AWF ran; those of the model's side are in its answer. */
static void
conversation_add_tool_result(struct conversation *c, const struct event_view *e)
{
	struct span output = span_member(e->payload, KEY_OUTPUT);
	struct error why = ERROR_INIT;
	struct buffer errors = BUFFER_INIT, call_id = BUFFER_INIT;
	struct writer w;
	const size_t limit = tool_result_limit(e->payload);

	if (!span_is(span_member(e->payload, KEY_FIDELITY), "router"))
		return;
	span_decode(span_member(e->payload, KEY_STDERR), &errors);
	span_decode(span_member(e->payload, KEY_CALL_ID), &call_id);
	buffer_text(&c->results, c->results.len > 0 ? "," : "");
	writer_begin(&w, &c->results);
	writer_object(&w);
	writer_member_string(&w, KEY_TYPE, "tool_result");
	writer_member_span(&w, KEY_TOOL_ID, span_member(e->payload, KEY_CALL_ID));
	if (state_error(span_member(e->payload, KEY_ERROR), &why))
		tool_write_failure(&w, &why, output, &errors, limit, buffer_string(&call_id), NULL);
	else
		tool_write_output(&w, output, limit, buffer_string(&call_id), NULL);
	writer_object_end(&w);
	buffer_free(&errors);
	buffer_free(&call_id);
}

/* Any step may continue a session, and its provider may count usage from the session's
 * beginning: so the notes of the latest answer count, whichever step it is of. */
static void
note_session(struct search *s, const struct event_view *e)
{
	char *session = span_text(span_member(e->payload, KEY_SESSION_ID));
	struct span last = SPAN_NONE, raw;
	const size_t *known;
	size_t at;

	for (struct span_walk block = span_walk(span_member(e->payload, KEY_BLOCKS));
	    span_next(&block);)
		last = block.value;
	raw = span_member(last, KEY_RAW);
	if (session == NULL || raw.at == NULL) {
		free(session);
		return;
	}
	known = map_get(&s->by_session, session, strlen(session));
	at = known == NULL ? s->noted_count++ : *known;
	if (known == NULL) {
		s->noted = memory_array(s->noted, s->noted_count, sizeof *s->noted);
		s->noted[at] = (struct noted){ .session = session };
		map_put(&s->by_session, session, strlen(session), at);
	} else {
		free(session);
	}
	buffer_clear(&s->noted[at].raw);
	buffer_append(&s->noted[at].raw, raw.at, raw.len);
}

/* A call of a session begins with the messages that its start has. */
static void
begin_after(struct conversation *c, struct span recorded)
{
	struct buffer text = BUFFER_INIT;

	if (recorded.at == NULL)
		return;
	span_decode(recorded, &text);
	if (continuation_restore(&c->before, span_of(buffer_string(&text), text.len)) == -1)
		c->lacks = true;
	buffer_free(&text);
}

/* Puts what was before the call's own messages in front of them. */
static void
join_before(struct conversation *c)
{
	struct buffer all = BUFFER_INIT;
	char **from = NULL;

	if (c->before.messages.len == 0)
		return;
	buffer_append(&all, c->before.messages.data, c->before.messages.len);
	if (c->messages.len > 0) {
		buffer_byte(&all, ',');
		buffer_append(&all, c->messages.data, c->messages.len);
	}
	for (char *const *each = c->before.from; each != NULL && *each != NULL; each++)
		list_add(&from, *each);
	for (char *const *each = c->from; each != NULL && *each != NULL; each++)
		list_add(&from, *each);
	forget_messages(c);
	buffer_free(&c->messages);
	c->messages = all;
	c->from = from;
}

/* Reads an event of the path, or an answer, with the values of its blobs. */
static int
conversation_add_event(void *context, const struct placed *p, struct error *err)
{
	struct search *s = context;
	struct event_view e = *p->event;
	struct buffer whole = BUFFER_INIT;
	size_t at;

	bool answers = e.type == EVENT_MESSAGE_ASSISTANT &&
	    span_member(e.payload, KEY_SESSION_ID).at != NULL;

	if (!span_is(e.path, s->path) && !answers)
		return 0;
	if (e.refs.at != NULL && (blob_inline(s->blobs, p->line.at, p->line.len, &whole, err) != 0 ||
	    event_view(whole.data, whole.len, &e) != 0)) {
		buffer_free(&whole);
		return -1;
	}
	if (answers)
		note_session(s, &e);
	if (!span_is(e.path, s->path)) {
		buffer_free(&whole);
		return 0;
	}
	if (e.type == EVENT_STEP_STARTED) {
		/* A call begins a conversation, or shares that of the earlier attempt's call
		 * which it continues. */
		at = conversation_of(s, model_call_of(p->run, span_member(e.payload, KEY_CLAIMS)));
		if (at == NONE) {
			at = s->count++;
			s->list = memory_array(s->list, s->count, sizeof *s->list);
			s->list[at] = (struct conversation){
				.provider = span_text(span_member(e.payload, KEY_PROVIDER)),
				.asked = span_text(span_member(e.payload, KEY_PROVIDER)),
				.model = span_text(span_member(e.payload, KEY_MODEL)) };
			begin_after(&s->list[at], span_path(e.payload, KEY_SESSION, KEY_CONVERSATION, NULL));
		}
		map_put(&s->by_start, (const char *)&p->call->start, sizeof p->call->start, at);
	} else if (e.type == EVENT_STEP_COMPLETED) {
		/* A call that took the result over names the event that has it. */
		struct span reused = span_member(e.payload, KEY_REUSED_FROM);
		bool taken = span_type(reused) == 's';

		if ((s->call == NULL || span_is(span_member(e.payload, KEY_CALL), s->call)) &&
		    span_type(span_member(e.payload, KEY_ERROR)) != 'o' &&
		    span_type(span_member(e.payload, KEY_SKIPPED)) != 's') {
			s->latest = conversation_of(s, taken ? model_call_of(p->run, reused) : p->call);
			event_copy_id(taken ? reused : e.event_id, s->completed);
		}
	} else if ((at = conversation_of(s, p->call)) != NONE) {
		if (e.type == EVENT_MESSAGE_USER || e.type == EVENT_MESSAGE_ASSISTANT)
			conversation_add_message(&s->list[at], &e);
		else if (e.type == EVENT_TOOL_RESULT)
			conversation_add_tool_result(&s->list[at], &e);
	}
	buffer_free(&whole);
	return 0;
}

int
continuation_find(struct continuation *c, const char *transcript, const char *blobs,
    const char *path, const char *call, struct error *err)
{
	struct search s = { .path = path, .blobs = blobs, .call = call, .latest = NONE };
	struct model m;
	int result;

	*c = (struct continuation){ .session = NULL };
	model_begin(&m, MODEL_EVENTS);
	m.watch = conversation_add_event;
	m.context = &s;
	result = model_read_file(&m, transcript, err);
	model_free(&m);
	if (result == 0 && s.completed[0] == '\0')
		result = error_set(err, ERROR_INVALID_INPUT, NULL,
		    "continue_from: no call of '%s' has completed in this run", path);
	if (result == 0)
		memcpy(c->completed, s.completed, ID_SIZE);
	if (result == 0 && s.latest != NONE) {
		struct conversation *found = &s.list[s.latest];

		add_results(found);
		join_before(found);
		c->session = found->session;
		c->provider = found->provider;
		c->messages = found->messages;
		c->from = found->from;
		c->lacks = found->lacks;
		*found = (struct conversation){ .results = found->results, .before = found->before, .asked = found->asked,
		    .model = found->model, .turn_model = found->turn_model };
	}
	if (c->session != NULL) {
		const size_t *noted = map_get(&s.by_session, c->session, strlen(c->session));

		if (noted != NULL)
			buffer_append(&c->raw, s.noted[*noted].raw.data, s.noted[*noted].raw.len);
	}

	for (size_t i = 0; i < s.count; i++) {
		free(s.list[i].session);
		free(s.list[i].provider);
		free(s.list[i].asked);
		free(s.list[i].model);
		free(s.list[i].turn_model);
		continuation_free(&s.list[i].before);
		forget_messages(&s.list[i]);
		buffer_free(&s.list[i].messages);
		buffer_free(&s.list[i].results);
	}
	for (size_t i = 0; i < s.noted_count; i++) {
		free(s.noted[i].session);
		buffer_free(&s.noted[i].raw);
	}
	free(s.list);
	free(s.noted);
	map_free(&s.by_start);
	map_free(&s.by_session);
	return result;
}

void
continuation_free(struct continuation *c)
{
	free(c->session);
	free(c->provider);
	buffer_free(&c->raw);
	buffer_free(&c->messages);
	list_free(c->from);
	*c = (struct continuation){ .session = NULL };
}

/* ---- as text ---- */

void
continuation_write(const struct continuation *c, struct buffer *out)
{
	struct writer w;

	writer_begin(&w, out);
	writer_object(&w);
	writer_member_string(&w, KEY_PROVIDER, c->provider);
	writer_member_string(&w, KEY_SESSION_ID, c->session);
	writer_member_buffer(&w, KEY_RAW, &c->raw);
	writer_member_array(&w, KEY_FROM);
	for (char *const *from = c->from; from != NULL && *from != NULL; from++)
		writer_string(&w, *from);
	writer_array_end(&w);
	writer_member_array(&w, KEY_MESSAGES);
	if (c->messages.len > 0)
		writer_raw(&w, c->messages.data, c->messages.len);
	writer_array_end(&w);
	writer_object_end(&w);
}

int
continuation_restore(struct continuation *c, struct span text)
{
	struct span messages, raw;
	size_t bad, count = 0, givers = 0;

	*c = (struct continuation){ .session = NULL };
	if (scan_check(text.at, text.len, &bad) != NULL)
		return -1;
	messages = span_member(text, KEY_MESSAGES);
	raw = span_member(text, KEY_RAW);
	if (span_type(messages) != 'a')
		return -1;
	for (struct span_walk each = span_walk(messages); span_next(&each); count++) {
		if (count > 0)
			buffer_byte(&c->messages, ',');
		buffer_append(&c->messages, each.value.at, each.value.len);
	}
	for (struct span_walk each = span_walk(span_member(text, KEY_FROM)); span_next(&each); givers++) {
		char *from = span_text(each.value);

		list_take(&c->from, from != NULL ? from : memory_text(""));
	}
	c->provider = span_text(span_member(text, KEY_PROVIDER));
	c->session = span_text(span_member(text, KEY_SESSION_ID));
	if (raw.at != NULL)
		buffer_append(&c->raw, raw.at, raw.len);
	return count == givers ? 0 : -1;
}
