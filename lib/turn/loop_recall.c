/*
 * Finds events by their causes: an answer by its turn, a prompt by what it follows. A resume takes
 * them over and links to them; a replay checks that it would send the same request, and records
 * them again under their ids, with the tries before them. An answer is rebuilt from its event byte
 * for byte, because requests are compared by digests.
 */
#include "turn/loop.h"

#include <stdlib.h>
#include <string.h>

#include "json/writer.h"
#include "limits/retried.h"
#include "transcript/event_keys.h"
#include "turn/toolrun.h"

static void
restore_answer(struct loop *l, const struct recalled_event *e)
{
	static const char *const members[] = { KEY_STOP_REASON, KEY_EXPLANATION, KEY_USAGE, KEY_MODEL, KEY_REQUEST_ID,
	    KEY_SESSION_ID, KEY_PARAMS_NOTE, KEY_ORIGIN };
	struct answer *a = &l->turn.answer;
	struct writer w;

	answer_free(a);
	writer_begin(&w, &a->line);
	writer_object(&w);
	writer_member_array(&w, KEY_BLOCKS);
	for (struct span_walk block = span_walk(span_member(e->view.payload, KEY_BLOCKS));
	    span_next(&block);)
		loop_write_original(&w, block.value);
	writer_array_end(&w);
	for (size_t i = 0; i < sizeof members / sizeof *members; i++)
		writer_member_span(&w, members[i], span_member(e->view.payload, members[i]));
	writer_object_end(&w);
	answer_read(a);
	a->recorded = true;
}

/* Events of an agent CLI's own tools before this answer; answer NULL: before the end of the
 * recorded call, which came without an answer. A replay records them again. */
static int
loop_repeat_emitted(struct loop *l, const struct recalled_event *answer, struct error *err)
{
	struct recalled *r = l->turns->recalled;
	int status = 0;

	for (size_t i = 0; r->emitted && status == 0 && i < r->event_count; i++) {
		struct recalled_event *e = &r->events[i];

		if (e->used || !(answer == NULL ? e->emitted &&
		    e->view.seq > r->started.view.seq : recalled_led_to(r, e, answer)))
			continue;
		e->used = true;
		l->turns->outcome.tool_calls += e->view.type == EVENT_TOOL_CALL;
		if (r->mode == RECALL_REPLAY)
			status = emitted_repeat(&l->turn.emitted, l->turns->call, e, err);
	}
	return status;
}

/* Counts the usage of the failed tries before this answer. */
static void
count_tries(struct loop *l, const struct recalled_event *answer)
{
	struct recalled_event **partials;
	size_t count = recalled_partials(l->turns->recalled, answer, &partials);

	for (size_t i = 0; i < count; i++) {
		struct span payload = partials[i]->view.payload;

		loop_count(l, span_member(payload, KEY_MODEL), span_member(payload, KEY_USAGE));
	}
	free(partials);
}

/* Records again what arrived in the tries before this answer; NULL: before the end of the
 * recorded call, which came during the last try. */
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
	/* What led to the answer comes before the partial answer number `failed`, or after
	 * all of them. */
	for (size_t i = 0; status == 0 && i <= count; i++) {
		if (i == failed && (status = loop_repeat_emitted(l, answer, err)) == 0)
			status = loop_repeat_tools(l, answer, err);
		if (status == 0 && i < count) {
			emitted_follow(&l->turn.emitted, t->call);
			status = turns_repeat(t, partials[i], err);
		}
	}
	free(partials);
	return status;
}

int
loop_recorded_end(struct loop *l, struct error *err)
{
	const struct recalled *r = l->turns->recalled;
	const char *name = l->turns->member->agent.name;
	struct error error = ERROR_INIT;

	if (ended_by_circumstance(r, &error)) {
		if (repeat_tries(l, NULL, err) == 0)
			*err = error;
		return -1;
	}
	if (r != NULL && r->end == RECALL_OPEN)
		return error_set(err, ERROR_DIVERGENCE, name, "the recording ends in turn %lld",
		    (long long)l->turn.number);
	return error_set(err, ERROR_DIVERGENCE, name,
	    "turn %lld: asks the model again, the recorded call ended here", (long long)l->turn.number);
}

/* Whether the recorded call failed with this answer, so that the model must be asked again. */
static bool
failed_with(const struct loop *l, const struct recalled_event *answer)
{
	const struct recalled *r = l->turns->recalled;

	if (r->end != RECALL_FAILED || loop_went_on(l) ||
	    recalled_effect(r, answer->id, EVENT_MESSAGE_USER) != NULL)
		return false;
	for (struct span_walk block = span_walk(span_member(answer->view.payload, KEY_BLOCKS));
	    span_next(&block);)
		if (span_is(span_member(block.value, KEY_TYPE), "tool_use") &&
		    loop_block_is_plain(block.value))
			return false;
	return !span_is(span_member(answer->view.payload, KEY_STOP_REASON), "pause");
}

bool
loop_is_answered(const struct loop *l)
{
	const struct recalled *r = l->turns->recalled;
	const struct recalled_event *e = r == NULL ? NULL : recalled_answer(r, l->turn.number);

	return e != NULL && (recalled_replays(r) || !failed_with(l, e));
}

int
loop_recall_answer(struct loop *l, struct request *request, char id[ID_SIZE], struct error *err)
{
	const struct turns *t = l->turns;
	const struct agent *agent = &t->member->agent;
	const bool replays = recalled_replays(t->recalled);
	struct recalled_event *e = t->recalled == NULL ? NULL :
	    recalled_answer(t->recalled, l->turn.number);
	long long number, duration = 0;

	if (e == NULL && replays)
		return loop_recorded_end(l, err);
	if (e == NULL || (!replays && failed_with(l, e)))
		return 0;

	/* The answer may be of another model than the one asked until now. */
	if (span_integer(span_member(e->view.payload, KEY_FALLBACK), &number) &&
	    number > (long long)l->conversation.fallen) {
		if (number > (long long)agent->fallback.count)
			return error_set(err, ERROR_DIVERGENCE, agent->name, "turn %lld: the recorded answer "
			    "is of fallback %lld, and there are %zu", (long long)l->turn.number, number,
			    agent->fallback.count);
		loop_fall_back(l, (size_t)number, request);
	}

	count_tries(l, e);
	if (!replays) {
		if (loop_repeat_emitted(l, e, err) == -1 || loop_repeat_tools(l, e, err) == -1)
			return -1;
		restore_answer(l, e);
		memcpy(id, e->id, ID_SIZE);
		call_follow_recorded(t->call, e->id, t->started);
		return 1;
	}
	if (!span_is(span_member(e->view.payload, KEY_REQUEST_SHA256), request->sha256))
		return error_set(err, ERROR_DIVERGENCE, agent->name,
		    "turn %lld: the request differs from the recorded one (%.16s…)",
		    (long long)l->turn.number, request->sha256);
	if (repeat_tries(l, e, err) == -1)
		return -1;
	restore_answer(l, e);
	span_integer(span_member(e->view.payload, KEY_DURATION_MS), &duration);
	emitted_follow(&l->turn.emitted, t->call);
	call_name_next(t->call, e->id);
	return loop_record_answer(l, request, duration, id, err) == -1 ? -1 : 1;
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
loop_tell(struct loop *l, const struct recalled_event *recorded, const struct user_message *m,
    struct error *err)
{
	const struct turns *t = l->turns;

	if (recorded == NULL && recalled_replays(t->recalled))
		return loop_recorded_end(l, err);
	if (recorded != NULL && !recalled_replays(t->recalled)) {
		call_follow_recorded(t->call, recorded->id, t->started);
		return 0;
	}
	if (recorded != NULL)
		call_name_next(t->call, recorded->id);
	return loop_record_user(l, m, err);
}

int
loop_prompt_again(struct loop *l, const struct buffer *text, struct error *err)
{
	const struct user_message message = { .kind = MESSAGE_TEXT, .text = text };
	struct buffer block = BUFFER_INIT;
	struct writer w;

	writer_begin(&w, &block);
	loop_write_text(&w, span_of(text->data, text->len), NULL);
	loop_add_message(l, "user", block.data, block.len);
	buffer_free(&block);
	return loop_tell(l, loop_recorded_prompt(l), &message, err);
}

bool
loop_went_on(const struct loop *l)
{
	const struct recalled *r = l->turns->recalled;

	return r != NULL && recalled_answer(r, l->turn.number + 1) != NULL;
}
