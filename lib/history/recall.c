/*
 * Indexes the events of a recorded call once: answers by turn, all events by their cause, with
 * siblings in a list in their order. A tool call matches the recorded one of the same id, name and
 * arguments; if there are several, the one whose result is valid.
 */
#include "history/recall.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "base/text.h"
#include "storage/state.h"
#include "transcript/event_keys.h"

#define EXCERPT 40  /* bytes shown from where two texts begin to differ */
#define BEFORE 12   /* and before that */
#define BEGINNING 24 /* and of the beginning, if that is further away */

static bool
is_fidelity(const struct recalled_event *e, const char *fidelity)
{
	return span_is(span_member(e->view.payload, KEY_FIDELITY), fidelity);
}

int
recalled_event_view(struct recalled_event *e)
{
	struct event_view *view = &e->view;
	long long turn;

	if (event_view(e->line.data, e->line.len, view) != 0 ||
	    !span_copy(view->event_id, e->id, sizeof e->id))
		return -1;
	e->turn = -1;
	e->partial = view->type == EVENT_MESSAGE_ASSISTANT &&
	    span_true(span_member(view->payload, KEY_PARTIAL));
	e->retry = e->partial && (event_tells_retry(view) || event_tells_wait(view));
	if (view->type == EVENT_MESSAGE_ASSISTANT && !e->partial &&
	    span_integer(span_member(view->payload, KEY_TURN), &turn))
		e->turn = turn;
	e->emitted = (view->type == EVENT_TOOL_CALL || view->type == EVENT_TOOL_RESULT) &&
	    is_fidelity(e, "agent_emitted");
	return 0;
}

bool
recalled_used_before(const struct recalled *r, const char *tool_call)
{
	return r->used_before != NULL && text_has_part(r->used_before, '\n', tool_call, strlen(tool_call));
}

enum recall_decision
recalled_tool_decision(const struct recalled *r, const struct recalled_event *called)
{
	char line[sizeof "redo " + ID_SIZE];

	snprintf(line, sizeof line, "redo %s", called->id);
	if (r->tool_answers != NULL && text_has_part(r->tool_answers, '\n', line, strlen(line)))
		return RECALL_REDO;
	snprintf(line, sizeof line, "skip %s", called->id);
	if (r->tool_answers != NULL && text_has_part(r->tool_answers, '\n', line, strlen(line)))
		return RECALL_SKIP;
	return r->decided;
}

const struct recalled_event *
recalled_result(const struct recalled *r)
{
	return r->original.line.len > 0 ? &r->original : &r->completed;
}

bool
recalled_decided(const struct recalled *r)
{
	return r->end != RECALL_WAITING && span_type(span_path(recalled_result(r)->view.payload,
	    KEY_APPROVAL, KEY_DECISION, NULL)) == 's';
}

bool
recalled_binary(const struct recalled_event *e, const char *pointer)
{
	if (e->refs.len == 0)
		return false;
	for (struct span_walk ref = span_walk(span_of(e->refs.data, e->refs.len)); span_next(&ref);)
		if (span_is(span_member(ref.value, KEY_AT), pointer) &&
		    span_is(span_member(ref.value, KEY_ENCODING), "raw"))
			return true;
	return false;
}

bool
recalled_error(const struct recalled_event *e, struct error *error)
{
	return state_error(span_member(e->view.payload, KEY_ERROR), error);
}

bool
recalled_replays(const struct recalled *r)
{
	return r != NULL && r->mode == RECALL_REPLAY;
}

static const size_t *
find_answer(const struct recalled *r, int64_t turn)
{
	return map_get(&r->by_turn, (const char *)&turn, sizeof turn);
}

/* The first event that has this cause, event_count if there is none. */
static size_t
find_effect(const struct recalled *r, const char *cause)
{
	const size_t *found = map_get(&r->by_cause, cause, strlen(cause));

	return found != NULL ? *found : r->event_count;
}

/* From the last to the first, so that siblings are listed in their order and the last answer
 * counts. */
void
recalled_index(struct recalled *r)
{
	char cause[ID_SIZE];

	for (size_t i = r->event_count; i-- > 0;) {
		struct recalled_event *e = &r->events[i];

		e->sibling = r->event_count;
		if (span_copy(e->view.parent_event_id, cause, sizeof cause)) {
			e->sibling = find_effect(r, cause);
			map_put(&r->by_cause, cause, strlen(cause), i);
		}
		if (e->turn >= 0 && find_answer(r, e->turn) == NULL)
			map_put(&r->by_turn, (const char *)&e->turn, sizeof e->turn, i);
		r->emitted |= e->emitted;
		r->partial |= e->partial;
		INVARIANT(e->sibling > i && (!e->partial || e->turn == -1));
	}
}

struct recalled_event *
recalled_answer(const struct recalled *r, int64_t turn)
{
	const size_t *found = find_answer(r, turn);

	return found != NULL ? &r->events[*found] : NULL;
}

struct recalled_event *
recalled_effect(const struct recalled *r, const char *cause, enum event_type type)
{
	for (size_t i = find_effect(r, cause); i < r->event_count; i = r->events[i].sibling)
		if (r->events[i].view.type == type)
			return &r->events[i];
	return NULL;
}

struct recalled_event *
recalled_tool_result(const struct recalled *r, const char *called)
{
	return recalled_effect(r, called, EVENT_TOOL_RESULT);
}

bool
recalled_cut_off(const struct recalled_event *result)
{
	struct error error = ERROR_INIT;
	long long exit_code = 0;

	span_integer(span_member(result->view.payload, KEY_EXIT_CODE), &exit_code);
	return recalled_error(result, &error) && (exit_code > 128 ||
	    (error.code == ERROR_LOST && span_member(result->view.payload, KEY_FAR_END).at != NULL) ||
	    error.code == ERROR_TIMEOUT || error.code == ERROR_CANCELLED ||
	    error.code == ERROR_DOWNSTREAM_CLOSED);
}

static bool
is_tool_call(const struct recalled_event *e, const struct recall_tool *tool)
{
	struct span payload = e->view.payload, input = span_member(payload, KEY_INPUT);

	return e->view.type == EVENT_TOOL_CALL && is_fidelity(e, "router") &&
	    span_is(span_member(payload, KEY_CALL_ID), tool->call_id) &&
	    span_is(span_member(payload, KEY_NAME), tool->name) &&
	    span_same(input, tool->input);
}

static bool
result_stands(const struct recalled *r, const struct recalled_event *called, bool operation)
{
	struct recalled_event *result = recalled_tool_result(r, called->id);
	struct error error = ERROR_INIT;

	return result != NULL &&
	    (operation ? !recalled_error(result, &error) : !recalled_cut_off(result));
}

struct recalled_event *
recalled_tool_call(const struct recalled *r, const struct recall_tool *tool)
{
	struct recalled_event *found = NULL;
	bool operation = tool->cause == NULL;

	/* Among the events of its answer, or among all events. */
	for (size_t i = operation ? 0 : find_effect(r, tool->cause); i < r->event_count;
	    i = operation ? i + 1 : r->events[i].sibling) {
		struct recalled_event *e = &r->events[i];

		if (e->used || !is_tool_call(e, tool))
			continue;
		found = e;
		if (result_stands(r, e, operation))
			break;
	}
	return found;
}

static struct recalled_event *
event_of(const struct recalled *r, struct span id)
{
	for (size_t i = 0; i < r->event_count; i++)
		if (span_is(id, r->events[i].id))
			return &r->events[i];
	return NULL;
}

static bool
is_tool(const struct recalled_event *e)
{
	return e->view.type == EVENT_TOOL_CALL || e->view.type == EVENT_TOOL_RESULT;
}

size_t
recalled_partials(const struct recalled *r, const struct recalled_event *effect,
    struct recalled_event ***list)
{
	struct recalled_event *e = NULL;
	size_t count = 0;

	*list = NULL;
	if (r->partial)
		e = event_of(r, effect->view.parent_event_id);
	for (; e != NULL && (e->partial || is_tool(e)); e = event_of(r, e->view.parent_event_id)) {
		if (!e->partial)
			continue;
		*list = memory_array(*list, count + 1, sizeof **list);
		memmove(*list + 1, *list, count++ * sizeof **list);
		(*list)[0] = e;
	}
	return count;
}

struct recalled_event *
recalled_retry(const struct recalled *r, const char *started, int64_t before)
{
	for (size_t i = find_effect(r, started); i < r->event_count; i = r->events[i].sibling)
		if (r->events[i].retry && !r->events[i].used && r->events[i].view.seq < before)
			return &r->events[i];
	return NULL;
}

static bool
recalled_event_follows(const struct recalled_event *e, const char *id)
{
	if (span_is(e->view.parent_event_id, id))
		return true;
	if (e->view.links.at == NULL)
		return false;
	for (struct span_walk link = span_walk(e->view.links); span_next(&link);)
		if (span_is(link.value, id))
			return true;
	return false;
}

bool
recalled_led_to(const struct recalled *r, const struct recalled_event *e,
    const struct recalled_event *answer)
{
	const struct recalled_event *result;

	if (!e->emitted)
		return false;
	result = e->view.type == EVENT_TOOL_CALL ? recalled_tool_result(r, e->id) : NULL;
	return recalled_event_follows(answer, e->id) ||
	    (result != NULL && recalled_event_follows(answer, result->id));
}

bool
recalled_ran_before(const struct recalled *r, const struct recalled_event *e,
    const struct recalled_event *answer)
{
	const struct recalled_event *cause, *result;

	if (e->view.type != EVENT_TOOL_CALL || e->emitted)
		return false;
	/* The cause of an ordinary tool call is the answer that requested it. */
	cause = event_of(r, e->view.parent_event_id);
	if (cause != NULL && cause->turn != -1)
		return false;
	if (answer == NULL)
		return e->view.seq > r->started.view.seq;
	result = recalled_tool_result(r, e->id);
	return recalled_event_follows(answer, e->id) ||
	    (result != NULL && recalled_event_follows(answer, result->id));
}

static bool
led_to_any(const struct recalled *r, const struct recalled_event *e)
{
	for (size_t i = 0; i < r->event_count; i++)
		if (r->events[i].view.type == EVENT_MESSAGE_ASSISTANT &&
		    recalled_led_to(r, e, &r->events[i]))
			return true;
	return false;
}

/* Whether the tool call at i was made again later. */
static bool
made_again(const struct recalled *r, size_t i)
{
	struct span payload = r->events[i].view.payload;
	struct recall_tool tool = { .input = span_member(payload, KEY_INPUT) };
	char *name = span_text(span_member(payload, KEY_NAME));
	char *call_id = span_text(span_member(payload, KEY_CALL_ID));
	bool again = false;

	tool.name = name != NULL ? name : "";
	tool.call_id = call_id != NULL ? call_id : "";
	while (!again && (i = r->events[i].sibling) < r->event_count)
		again = is_tool_call(&r->events[i], &tool);
	free(name);
	free(call_id);
	return again;
}

/* The beginning of a text, which tells which call it is, and the part around byte `at`; in quotes, with dots where text
 * was cut off. */
static void
add_excerpt(struct buffer *out, struct span text, size_t at)
{
	size_t from = at > BEGINNING + BEFORE ? at - BEFORE : 0, len;

	while (from > 0 && ((unsigned char)text.at[from] & 0xC0) == 0x80)
		from--;
	len = at - from + EXCERPT < text.len - from ? at - from + EXCERPT : text.len - from;
	len = utf8_whole(text.at + from, len);
	INVARIANT(from <= at && from + len <= text.len);
	buffer_byte(out, '\'');
	if (from > 0) {
		text_visible(out, text.at, utf8_whole(text.at, BEGINNING), 0);
		buffer_text(out, "…");
	}
	text_visible(out, text.at + from, len, 0);
	buffer_text(out, from + len < text.len ? "…'" : "'");
}

void
recalled_difference(struct buffer *out, struct span now, struct span recorded)
{
	size_t at = 0;

	while (at < now.len && at < recorded.len && now.at[at] == recorded.at[at])
		at++;
	add_excerpt(out, now, at);
	buffer_text(out, ", the recorded one ");
	add_excerpt(out, recorded, at);
}

int64_t
recalled_tool_calls(const struct recalled *r)
{
	int64_t count = 0;

	for (size_t i = 0; i < r->event_count; i++) {
		const struct recalled_event *e = &r->events[i];

		INVARIANT(e->sibling > i && e->sibling <= r->event_count);
		if (e->view.type != EVENT_TOOL_CALL)
			continue;
		count += is_fidelity(e, "router") ? recalled_tool_result(r, e->id) != NULL &&
		    (result_stands(r, e, false) || !made_again(r, i)) : led_to_any(r, e);
	}
	return count;
}

void
recalled_event_free(struct recalled_event *e)
{
	buffer_free(&e->line);
	buffer_free(&e->refs);
}

const char *
recall_root(const char *enclosing)
{
	const char *root = getenv("AWF_CLAIMED");

	if (enclosing[0] == '\0')
		return "";
	return root != NULL && id_valid(root, strlen(root)) ? root : NULL;
}

void
recalled_describe_inputs(struct buffer *out, struct span inputs)
{
	if (span_type(inputs) != 'o')
		return;
	for (struct span_walk input = span_walk(inputs); span_next(&input);) {
		buffer_text(out, " --input ");
		span_decode(input.key, out);
		buffer_byte(out, '=');
		if (span_type(input.value) == 's')
			span_decode(input.value, out);
		else
			buffer_append(out, input.value.at, input.value.len);
	}
}

void
recalled_free(struct recalled *r)
{
	recalled_event_free(&r->started);
	recalled_event_free(&r->completed);
	recalled_event_free(&r->original);
	for (size_t i = 0; i < r->event_count; i++)
		recalled_event_free(&r->events[i]);
	free(r->events);
	map_free(&r->by_turn);
	map_free(&r->by_cause);
	memset(r, 0, sizeof *r);
}
