/*
 * Events are found by their causes: an answer by its turn, a prompt by what it follows. A
 * resume takes them as they are and links to them; a replay checks that it would ask the
 * same, and records them anew under their ids, with the tries before. An answer is put back
 * together from its event, byte for byte, for requests are compared by their digests.
 */
#include "agent/loop.h"

#include <stdlib.h>
#include <string.h>

#include "agent/retried.h"
#include "json/writer.h"
#include "transcript/event_keys.h"

static void
restore_answer(struct loop *l, const struct recalled_event *e)
{
	static const char *const members[] = { "stop_reason", "usage", "model", "request_id",
	    "session_id" };
	struct answer *a = &l->turn.answer;
	struct span whole;
	struct writer w;

	answer_free(a);
	*a = (struct answer){ .line = BUFFER_INIT };
	writer_begin(&w, &a->line);
	writer_object(&w);
	writer_key(&w, KEY_BLOCKS);
	writer_array(&w);
	for (struct span_walk block = span_walk(span_member(e->view.payload, KEY_BLOCKS));
	    span_next(&block);)
		loop_write_original(&w, block.value);
	writer_array_end(&w);
	for (size_t i = 0; i < sizeof members / sizeof *members; i++)
		writer_member_span(&w, members[i], span_member(e->view.payload, members[i]));
	writer_object_end(&w);
	whole = span_of(a->line.data, a->line.len);
	a->blocks = span_member(whole, KEY_BLOCKS);
	a->stop_reason = span_member(whole, KEY_STOP_REASON);
	a->usage = span_member(whole, KEY_USAGE);
	a->model = span_member(whole, KEY_MODEL);
	a->request_id = span_member(whole, KEY_REQUEST_ID);
	a->session_id = span_member(whole, KEY_SESSION_ID);
}

/* What an agent CLI told of its own tools before this answer; answer NULL: before the
 * recorded call ended without one. A replay records it again. */
static int
take_emitted(struct loop *l, const struct recalled_event *answer, struct error *err)
{
	struct recalled *r = l->turns->recalled;
	int status = 0;

	for (size_t i = 0; r->emitted && status == 0 && i < r->event_count; i++) {
		struct recalled_event *e = &r->events[i];

		if (e->used || !(answer == NULL ? e->emitted &&
		    e->view.seq > r->started.view.seq : recalled_led_to(r, e, answer)))
			continue;
		e->used = true;
		l->turns->tool_calls += e->view.type == EVENT_TOOL_CALL;
		if (r->mode == RECALL_REPLAY)
			status = emitted_repeat(&l->turn.emitted, l->turns->call, e, err);
	}
	return status;
}

/* Records once more what came of the tries before this answer; NULL: before the end of the
 * recorded call, which came while the last was under way. */
static int
repeat_tries(struct loop *l, const struct recalled_event *answer, struct error *err)
{
	const struct turns *t = l->turns;
	struct recalled_event **partials;
	size_t count = recalled_partials(t->recalled, answer != NULL ? answer :
	    &t->recalled->completed, &partials), failed = count;
	int status = retried_repeat(t->recalled, t->call, t->started, answer != NULL ?
	    answer->view.seq : RECALL_TO_THE_END, err);

	if (answer == NULL && count > 0)
		failed--;
	/* In the place of the last that was under way, or behind all, is what led to the answer. */
	for (size_t i = 0; status == 0 && i <= count; i++) {
		if (i == failed)
			status = take_emitted(l, answer, err);
		if (status == 0 && i < count) {
			emitted_follow(&l->turn.emitted, t->call);
			status = turns_repeat(t, partials[i], err);
		}
	}
	free(partials);
	return status;
}

/* A replay has no answer for this turn: what ended the recorded call ends this one. */
int
loop_recorded_end(struct loop *l, struct error *err)
{
	const struct recalled *r = l->turns->recalled;
	const char *name = l->turns->member->agent.name;
	struct error error = ERROR_INIT;

	if (r->end == RECALL_FAILED && recalled_error(recalled_result(r), &error) &&
	    recalled_circumstance(error.code)) {
		if (repeat_tries(l, NULL, err) == 0)
			*err = error;
		return -1;
	}
	if (r->end == RECALL_OPEN)
		return error_set(err, ERROR_DIVERGENCE, name, "the recording ends in turn %lld",
		    (long long)l->turn.number);
	return error_set(err, ERROR_DIVERGENCE, name,
	    "turn %lld: asks the model again, the recorded call ended here", (long long)l->turn.number);
}

/* The recorded answer may be that of another model than was asked until now. */
static int
recall_fallback(struct loop *l, const struct recalled_event *answer,
    struct request *request, struct error *err)
{
	const struct agent *agent = &l->turns->member->agent;
	long long number;

	if (!span_integer(span_member(answer->view.payload, KEY_FALLBACK), &number) ||
	    number <= (long long)l->conversation.fallen)
		return 0;
	if (number > (long long)agent->fallback.count)
		return error_set(err, ERROR_DIVERGENCE, agent->name, "turn %lld: the recorded answer "
		    "is of fallback %lld, and there are %zu", (long long)l->turn.number, number,
		    agent->fallback.count);
	loop_fall_back(l, (size_t)number, request);
	return 0;
}

/* Whether the recorded call failed with this answer, so that asking again is all that
 * can be done about it. */
static bool
failed_with(const struct loop *l, const struct recalled_event *answer)
{
	const struct recalled *r = l->turns->recalled;

	if (r->end != RECALL_FAILED || recalled_answer(r, l->turn.number + 1) != NULL ||
	    recalled_effect(r, answer->id, EVENT_MESSAGE_USER) != NULL)
		return false;
	for (struct span_walk block = span_walk(span_member(answer->view.payload, KEY_BLOCKS));
	    span_next(&block);)
		if (span_is(span_member(block.value, KEY_TYPE), "tool_use") &&
		    loop_block_is_plain(block.value))
			return false;
	return !span_is(span_member(answer->view.payload, KEY_STOP_REASON), "pause");
}

enum recall_verdict
loop_recall(const struct loop *l, struct recalled_event **answer)
{
	const struct recalled *r = l->turns->recalled;

	*answer = r == NULL ? NULL : recalled_answer(r, l->turn.number);
	if (recalled_replays(r))
		return *answer == NULL ? VERDICT_END : VERDICT_REPEAT;
	return *answer == NULL || failed_with(l, *answer) ? VERDICT_ASK : VERDICT_TAKE;
}

int
loop_take_answer(struct loop *l, struct recalled_event *answer, struct request *request,
    char id[ID_SIZE], struct error *err)
{
	if (recall_fallback(l, answer, request, err) == -1 ||
	    take_emitted(l, answer, err) == -1)
		return -1;
	restore_answer(l, answer);
	memcpy(id, answer->id, ID_SIZE);
	call_follow_recorded(l->turns->call, answer->id, l->turns->started);
	return 0;
}

int
loop_repeat_answer(struct loop *l, struct recalled_event *answer, struct request *request,
    char id[ID_SIZE], struct error *err)
{
	long long duration = 0;

	if (recall_fallback(l, answer, request, err) == -1)
		return -1;
	if (!span_is(span_member(answer->view.payload, KEY_REQUEST_SHA256), request->sha256))
		return error_set(err, ERROR_DIVERGENCE, l->turns->member->agent.name,
		    "turn %lld: the request differs from the recorded one (%.16s…)",
		    (long long)l->turn.number, request->sha256);
	if (repeat_tries(l, answer, err) == -1)
		return -1;
	restore_answer(l, answer);
	span_integer(span_member(answer->view.payload, KEY_DURATION_MS), &duration);
	emitted_follow(&l->turn.emitted, l->turns->call);
	call_name_next(l->turns->call, answer->id);
	return loop_record_answer(l, request, duration, id, err);
}

bool
loop_ends_as_recorded(const struct loop *l)
{
	const struct recalled *r = l->turns->recalled;
	struct error error = ERROR_INIT;

	return recalled_replays(r) && recalled_answer(r, l->turn.number) == NULL &&
	    r->end == RECALL_FAILED && recalled_error(recalled_result(r), &error) &&
	    recalled_circumstance(error.code);
}

const struct recalled_event *
loop_first_prompt(const struct loop *l)
{
	const struct recalled *r = l->turns->recalled;

	for (size_t i = 0; r != NULL && i < r->event_count; i++)
		if (r->events[i].view.type == EVENT_MESSAGE_USER)
			return &r->events[i];
	return NULL;
}

const struct recalled_event *
loop_recorded_prompt(const struct loop *l)
{
	const struct turns *t = l->turns;
	const struct recalled_event *e;

	if (t->recalled == NULL)
		return NULL;
	e = recalled_effect(t->recalled, t->call->last, EVENT_MESSAGE_USER);
	return e == NULL && strcmp(t->call->last, t->started) == 0 ? phases_prompt(l) : e;
}

int
loop_take_prompt(struct loop *l, const struct recalled_event *e, struct error *err)
{
	struct turns *t = l->turns;

	if (e == NULL)
		return recalled_replays(t->recalled) ? loop_recorded_end(l, err) : 0;
	if (recalled_replays(t->recalled)) {
		call_name_next(t->call, e->id);
		return 0;
	}
	call_follow_recorded(t->call, e->id, t->started);
	return 1;
}

int
loop_recall_prompt(struct loop *l, struct error *err)
{
	int taken = loop_take_prompt(l, loop_first_prompt(l), err);

	return taken == 0 ? loop_record_prompt(l, err) : taken == 1 ? 0 : -1;
}

int
loop_recall_handoff(struct loop *l, const struct agent *from, struct error *err)
{
	int taken = loop_take_prompt(l, loop_recorded_prompt(l), err);

	return taken == 0 ? loop_record_handoff(l, from, err) : taken == 1 ? 0 : -1;
}

int
loop_prompt_again(struct loop *l, const struct buffer *text, struct error *err)
{
	struct buffer block = BUFFER_INIT;
	struct writer w;
	int taken;

	writer_begin(&w, &block);
	loop_write_text(&w, span_of(text->data, text->len), NULL);
	loop_add_message(l, "user", block.data, block.len);
	buffer_free(&block);
	taken = loop_take_prompt(l, loop_recorded_prompt(l), err);
	return taken == 0 ? loop_record_text(l, text, err) : taken == 1 ? 0 : -1;
}

bool
loop_went_on(const struct loop *l)
{
	const struct recalled *r = l->turns->recalled;

	return r != NULL && recalled_answer(r, l->turn.number + 1) != NULL;
}
