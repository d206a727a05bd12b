/*
 * A claim finds the recorded call, or says why there is none. In a resume a valid result is linked
 * to, and the work is not repeated. In a replay ids, answers of conditions and everything that came
 * from outside are the recorded ones, all else is done again, and any difference is the call's
 * error. The verdict depends only on the record and the step; taking over the recorded end is a
 * separate function, because a call does that only when it is its turn.
 */
#include "step_call/step_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "step_call/work.h"
#include "transcript/blob.h"
#include "transcript/event_keys.h"
#include "transcript/reader.h"

int
step_recall(const struct step_call *call, struct call_verdict *verdict, struct error *err)
{
	const struct step *s = call->step;
	const struct recall *recall = s->place.recall;
	const struct buffer *input = &call->item->data.json;
	bool idle = call->end.skipped != NULL || call->end.error.code != ERROR_NONE;
	struct buffer definition = BUFFER_INIT;
	struct recall_query query = step_query(s, call->index);
	int found;

	memset(verdict, 0, sizeof *verdict);
	if (recall == NULL || (idle && !step_replays(s)))
		return 0;

	/* The description of the step for the reader, if it differs from the recorded one. */
	s->definition.work->label(s, &definition);
	query.definition = buffer_string(&definition);

	query.input_sha256 = call->input_sha256;
	query.definition_sha256 = s->definition.sha256;
	query.input = span_of(input->data, input->len);
	query.compared = s->place.compared;
	found = recall->claim(recall->history, &query, &verdict->recalled, &verdict->error);
	buffer_free(&definition);
	if (found == -1 && verdict->error.code == ERROR_SYSTEM) {
		*err = verdict->error;
		return -1;
	}
	verdict->recalls = found == 1;
	if (found == -1) {
		verdict->says = VERDICT_DIVERGE;
		verdict->beyond = recall->cut_off && verdict->recalled.unknown;
	} else if (found == 1) {
		span_copy(verdict->recalled.completed.view.timestamp, verdict->ended_at,
		    sizeof verdict->ended_at);
		step_judge(s, verdict);
	}
	return 0;
}

#define RECORDING_ENDS "the recording ends in the middle of this call"

/* ---- what is valid of it ---- */

static bool
skipped_by_user(const struct recalled *r)
{
	return span_is(span_member(recalled_result(r)->view.payload, KEY_SKIPPED), "by_user");
}

/* A decision has the bare result, from outside. Returns whether --into has to put it in its
 * place. */
static bool
is_bare(const struct step *s, const struct recalled *r)
{
	const struct recalled_event *end = recalled_result(r);
	struct error error;

	return s->options.output.into != NULL && !recalled_error(end, &error) &&
	    span_type(span_path(end->view.payload, KEY_APPROVAL, KEY_DECIDES, NULL)) == 's';
}

static void
judge_resumed(const struct step *s, struct call_verdict *v)
{
	const struct work *work = s->definition.work;
	const struct recalled *r = &v->recalled;

	/* An agent continues; the decision is about its tools. */
	if (r->decided == RECALL_SKIP && (r->changed || !work->goes_on)) {
		v->says = VERDICT_SKIP;
	} else if (r->changed) {
		v->says = VERDICT_DO;
	} else if (r->end == RECALL_SUCCEEDED || recalled_decided(r) ||
	    (r->stands && r->decided != RECALL_REDO)) {
		v->says = VERDICT_TAKE;
		v->decided = is_bare(s, r);
		/* What another run has recorded is recorded once more, in this one. */
		v->reuses = !v->decided && r->elsewhere == NULL;
	} else if (r->end == RECALL_WAITING && !work->asks) {
		v->says = VERDICT_WAIT;
	} else if (r->end == RECALL_SKIPPED && skipped_by_user(r)) {
		v->says = VERDICT_SKIP;
		v->reuses = true;
	}
}

bool
step_ended_by_circumstance(const struct step *s, const struct recalled *r, struct error *error)
{
	const struct recalled_event *end = recalled_result(r);
	long long exit_code = 0;

	*error = (struct error)ERROR_INIT;
	if (!recalled_error(end, error))
		return false;
	span_integer(span_member(end->view.payload, KEY_EXIT_CODE), &exit_code);
	return error_is_of_circumstances(error->code) || (s->place.recall->cut_off && exit_code > 128);
}

static void
set_divergence(struct call_verdict *v, const char *what)
{
	v->says = VERDICT_DIVERGE;
	error_set(&v->error, ERROR_DIVERGENCE, NULL, "%s", what);
}

/* Decides for a resume, and the cases that are the same for all kinds of work in a replay;
 * returns whether that settles it. */
static bool
is_settled(const struct step *s, struct call_verdict *v)
{
	const struct recalled *r = &v->recalled;
	const struct recalled_event *end = recalled_result(r);
	/* The work was done in the run from which this one was forked; that run's record says
	 * how. */
	bool done_elsewhere = span_type(span_member(end->view.payload, KEY_REUSED_FROM)) == 'o';
	/* So does that of a child run, or of the run around it, where the result was taken over from there. */
	bool moved_here = r->end == RECALL_SUCCEEDED && r->event_count == 0 &&
	    span_type(span_member(r->started.view.payload, KEY_CLAIMS)) == 'o' &&
	    (span_member(r->started.view.payload, KEY_AGENT).at != NULL ||
	    span_member(r->started.view.payload, KEY_TOOL).at != NULL);
	/* An earlier attempt did the work, so the replayed attempt has no calls inside a group. */
	bool done_before = span_type(span_member(r->completed.view.payload, KEY_REUSED_FROM)) == 's';
	/* Nor does it have the program, which is another version there. */
	bool done_otherwise = span_true(span_member(r->completed.view.payload, KEY_PROGRAM_CHANGED));

	if (!step_replays(s))
		judge_resumed(s, v);
	else if (r->end == RECALL_SKIPPED && skipped_by_user(r))
		v->says = VERDICT_SKIP;
	else if (r->end == RECALL_SKIPPED)
		set_divergence(v, "the recorded call was skipped");
	else if (done_elsewhere || done_otherwise || moved_here ||
	    ((s->definition.work->passes || r->encloses) && done_before))
		v->says = VERDICT_TAKE;
	else
		return false;
	return true;
}

void
step_judge_again(const struct step *s, struct call_verdict *v)
{
	is_settled(s, v);
}

void
step_judge_decision(const struct step *s, struct call_verdict *v)
{
	if (is_settled(s, v))
		return;
	if (v->recalled.end == RECALL_OPEN) {
		set_divergence(v, RECORDING_ENDS);
		return;
	}
	v->says = VERDICT_TAKE;
	v->decided = true;
}

/* Whether a replay leaves out the command: its effects are outside, or it ran elsewhere. */
bool
step_judge_command(const struct step *s, struct call_verdict *v)
{
	const struct recalled *r = &v->recalled;

	if (is_settled(s, v))
		return false;
	if (r->end == RECALL_OPEN) {
		set_divergence(v, RECORDING_ENDS);
	} else if (r->end == RECALL_WAITING || recalled_decided(r)) {
		v->says = VERDICT_TAKE;
		v->decided = true;
	} else if (s->options.effects == EFFECTS_READ || s->options.effects == EFFECTS_EXTERNAL ||
	    span_member(r->started.view.payload, KEY_VIA).at != NULL) {
		v->says = VERDICT_TAKE;
	} else {
		return true;
	}
	return false;
}

void
step_judge(const struct step *s, struct call_verdict *verdict)
{
	verdict->says = VERDICT_DO;
	verdict->reuses = verdict->decided = false;
	if (s->definition.work->judge != NULL)
		s->definition.work->judge(s, verdict);
}

/* ---- taking over ---- */

/* Appends the result at a JSON Pointer, as the next part. */
static void
step_recall_add_result(struct step_end *to, const struct recalled_event *end, struct span value,
    const char *pointer)
{
	struct span marks = span_member(end->view.payload, KEY_NO_NEWLINE);
	struct data data = { BUFFER_INIT, false, false };
	long long part;

	buffer_append(&data.json, value.at, value.len);
	data.base64 = recalled_binary(end, pointer);
	/* One mark for the only result, or the numbers of the parts that have it. */
	data.no_newline = span_true(marks);
	for (struct span_walk mark = span_walk(marks); span_type(marks) == 'a' && span_next(&mark);)
		if (span_integer(mark.value, &part) && part >= 0 && (size_t)part == to->result_count)
			data.no_newline = true;
	step_add_result(to, &data);
}

static void
step_recall_add_retries(struct step_end *to, const struct recalled_event *end)
{
	struct span retries = span_member(end->view.payload, KEY_RETRIES);

	if (span_type(retries) == 'a' && retries.len > 2)
		buffer_append(&to->retries, retries.at + 1, retries.len - 2);
}

void
step_take_end(struct step_call *call)
{
	const struct call_verdict *v = &call->verdict;
	const struct recalled_event *recorded = recalled_result(&v->recalled);
	struct span payload = recorded->view.payload, result = span_member(payload, KEY_RESULT);
	struct step_end *end = &call->end;
	char pointer[64];
	long long number;

	if (recalled_error(recorded, &end->error)) {
		end->passes = span_integer(span_member(payload, KEY_COUNT), &number);
		if (end->passes)
			end->gone_count = (size_t)number;
	} else if (step_recall_lines(call, payload)) {
		;
	} else if (!step_several_results(call)) {
		step_recall_add_result(end, recorded, result, "/payload/result");
	} else {
		for (struct span_walk line = span_walk(result); span_next(&line);) {
			snprintf(pointer, sizeof pointer, "/payload/result/%zu", end->result_count);
			step_recall_add_result(end, recorded, line.value, pointer);
		}
	}
	if (span_integer(span_member(payload, KEY_EXIT_CODE), &number))
		end->exit_code = (int)number;
	if (span_integer(span_member(payload, KEY_WINNER), &number))
		end->winner = number;
	if (span_integer(span_member(payload, KEY_STDERR_BYTES), &number))
		end->errors_bytes = number;
	span_decode(span_member(payload, KEY_STDERR), &end->errors);
	changed_take(&end->changed, payload);
	end->agent = span_text(span_member(payload, KEY_AGENT));
	step_recall_add_retries(end, recorded);
	if (v->decided) {
		step_take_approval(call);
		if (is_bare(call->step, &v->recalled))
			step_put_into(call);
	}
	end->reused = v->reuses;
	if (!step_replays(call->step))
		end->tool_calls = recalled_tool_calls(&v->recalled);
}

int
step_take_early(struct step_call *call, struct event_place early, struct error *err)
{
	const struct transcript *t = &call->step->place.run->transcript;
	struct call_verdict *v = &call->verdict;
	struct recalled_event *end = &v->recalled.completed;
	struct buffer line = BUFFER_INIT;
	struct span refs;
	int failed;

	recalled_event_free(end);
	recalled_event_free(&v->recalled.original);
	failed = event_load(t->path, early, &line, err);
	refs = failed == 0 ? span_member(span_of(line.data, line.len), KEY_REFS) : SPAN_NONE;
	if (refs.at != NULL)
		buffer_append(&end->refs, refs.at, refs.len);
	if (failed == 0)
		failed = blob_inline(t->blobs, line.data, line.len, &end->line, err);
	if (failed == 0 && recalled_event_view(end) != 0)
		failed = error_set(err, ERROR_SYSTEM, t->path, "no event at byte %lld",
		    (long long)early.offset);
	buffer_free(&line);
	if (failed != 0)
		return -1;
	step_forget_results(&call->end);
	call->end.error = (struct error)ERROR_INIT;
	buffer_clear(&call->end.approval);
	call->number = 0;
	call->wait.event[0] = '\0';
	v->says = VERDICT_TAKE;
	v->decided = true;
	v->reuses = false;
	step_take_end(call);
	return 0;
}

/* Failed tries may have changed the workspace, and those of a body have made calls. */
int
step_take_tries(struct step_call *call)
{
	const struct recalled *r = &call->verdict.recalled;
	int count = 0;

	if (!step_replays(call->step) || !call->verdict.recalls || r->end == RECALL_OPEN)
		return 0;
	step_recall_add_retries(&call->end, recalled_result(r));
	for (struct span_walk retry = span_walk(span_member(recalled_result(r)->view.payload,
	    KEY_RETRIES));
	    span_next(&retry);)
		count++;
	return count;
}
