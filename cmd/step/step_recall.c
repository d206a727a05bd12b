/*
 * A claim finds the recorded call, or says why there can be none. In a resume a result stands
 * and is linked to, not repeated. In a replay ids, answers of conditions and what came from
 * outside are the recorded ones, all else is done again, and anything that differs is the
 * call's error.
 */
#include "step/working.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/retried.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/patience.h"
#include "base/polling.h"
#include "json/writer.h"


bool
working_replays(const struct working *work)
{
	return work->step->recall != NULL && work->step->recall->mode == RECALL_REPLAY;
}

/* The event ids of a replay are those of the recording; one that is not in it depends
 * on the call and the event alone. */
static void
name_event(const struct working *work, const struct recalled_event *recorded,
    const char *type, char id[ID_SIZE])
{
	char *text;

	if (work->recalls && recorded->line.len > 0) {
		memcpy(id, recorded->id, ID_SIZE);
		return;
	}
	text = memory_format("%s %s %s", work->step->run->id, work->id, type);
	id_derive(text, id);
	free(text);
}

/* Which of several processes of one name began first is left to chance; which call of
 * theirs this is, is not. */
static void
take_call_id(struct working *work)
{
	char *recorded = work->recalls ?
	    span_text(span_member(work->recalled.started.view.payload, "call")) : NULL;

	if (recorded == NULL || !call_id_valid(recorded)) {
		free(recorded);
		return;
	}
	free(work->id);
	work->id = recorded;
	work->call.id = work->id;
}

static void
take_ids(struct working *work)
{
	if (!working_replays(work))
		return;
	take_call_id(work);
	name_event(work, &work->recalled.started, "step.started", work->started);
	name_event(work, &work->recalled.completed, "step.completed", work->ended);
	if (work->recalls && work->recalled.completed.line.len > 0)
		span_copy(work->recalled.completed.view.timestamp, work->recorded_end,
		    sizeof work->recorded_end);
}

/* What a reader is told that the step does, when it is not what was recorded. */
static void
describe(const struct step *s, struct buffer *out)
{
	if (s->agent != NULL)
		buffer_format(out, "agent %s, %s/%s", s->agent->name, s->agent->provider,
		    s->agent->model);
	else if (s->operation != NULL)
		buffer_format(out, "tool %s", s->operation->name);
	else if (s->approve)
		buffer_text(out, "a decision");
	else if (s->terminal != NULL)
		buffer_format(out, "--terminal %s", s->terminal);
	else if (s->command != NULL)
		working_command_text(s->command, out);
	else
		buffer_text(out, "nothing, as its definition is wrong");
}

/* Whether nobody reads the output of a replay, or nobody does soon: the recorded step
 * ended then, before this call, and how soon was left to chance. It is waited for once:
 * who still reads then will, and what was not recorded differs. */
static bool
reader_went(struct step *s)
{
	bool went = s->reader != 0 &&
	    (poll_one(s->reader, 0, clock_monotonic() + READER_MS) & POLLERR) != 0;

	if (!went)
		s->reader = 0;
	return went;
}

int
working_recall(struct working *work, struct error *err)
{
	const struct recall *recall = work->step->recall;
	const struct buffer *input = &work->item->data.json;
	struct buffer definition = BUFFER_INIT;
	struct error why = ERROR_INIT;
	struct recall_query query = step_query(work->step, work->index);
	int found;

	query.input_sha256 = work->input_sha256;
	query.definition_sha256 = work->step->definition_sha256;
	query.input = span_of(input->data, input->len);
	query.compared = work->step->compared;
	describe(work->step, &definition);
	query.definition = buffer_string(&definition);
	found = recall->claim(recall->history, &query, &work->recalled, &why);
	buffer_free(&definition);
	if (found == -1 && why.code == ERROR_SYSTEM) {
		*err = why;
		return -1;
	}
	work->beyond = found == -1 && ((recall->cut_off && work->recalled.unknown) ||
	    reader_went(work->step));
	if (found == -1 && work->error.code == ERROR_NONE) {
		work->error = why;
		work->skipped = NULL;
	}
	work->recalls = found == 1;
	take_ids(work);
	return 0;
}

static struct span
recorded_answer(const struct working *work, const struct condition *condition)
{
	const struct recalled_event *e = condition == &work->step->until ?
	    recalled_result(&work->recalled) : &work->recalled.started;

	return span_path(e->view.payload, "condition", "outcome", NULL);
}

bool
working_recorded_answer(struct working *work, const struct condition *condition,
    struct verdict *answer)
{
	struct span outcome;

	if (!work->recalls || work->recalled.changed)
		return false;
	outcome = recorded_answer(work, condition);
	answer->yes = span_true(outcome);
	answer->asked = answer->answered = answer->yes || span_type(outcome) == 'f';
	return answer->asked;
}

/* No answer, and a failure: the asking was ended by something around it. */
bool
working_cut_off_asking(struct working *work)
{
	struct span outcome;
	struct error error = ERROR_INIT;

	if (!work->recalls || !working_replays(work) || work->recalled.end != RECALL_FAILED)
		return false;
	outcome = recorded_answer(work, &work->step->when);
	if (span_type(outcome) != '0' ||
	    !recalled_error(recalled_result(&work->recalled), &error) ||
	    !recalled_circumstance(error.code))
		return false;
	work->when.asked = true;
	work->error = error;
	return true;
}

void
working_compare_answer(struct working *work, const struct condition *condition,
    const struct verdict *answer)
{
	struct span outcome;

	if (!work->recalls || !working_replays(work) || work->error.code != ERROR_NONE)
		return;
	outcome = recorded_answer(work, condition);
	if (outcome.at != NULL && span_true(outcome) != answer->yes)
		error_set(&work->error, ERROR_DIVERGENCE, NULL, "the condition of --%s %s, the "
		    "recorded one %s", condition->word, answer->yes ? "holds" : "does not hold",
		    answer->yes ? "did not" : "did");
}

static bool
skipped_by_user(const struct recalled *r)
{
	return span_is(span_member(recalled_result(r)->view.payload, "skipped"), "by_user");
}

/* ---- what is taken from the recording ---- */

static bool
part_without_newline(struct span marks, size_t part)
{
	struct span_walk walk;
	struct span key, mark;
	long long number;

	if (span_type(marks) != 'a')
		return span_true(marks);
	span_walk_begin(&walk, marks);
	while (span_walk_next(&walk, &key, &mark))
		if (span_integer(mark, &number) && number >= 0 && (size_t)number == part)
			return true;
	return false;
}

static void
take_result(struct working *work, const struct recalled_event *end, struct span value,
    const char *pointer)
{
	struct data data = { BUFFER_INIT, false, false };

	buffer_append(&data.json, value.at, value.len);
	data.base64 = recalled_binary(end, pointer);
	data.no_newline = part_without_newline(span_member(end->view.payload, "no_newline"),
	    work->result_count);
	working_add_result(work, &data);
}

static void
take_results(struct working *work, const struct recalled_event *end)
{
	struct span result = span_member(end->view.payload, "result"), key, value;
	struct span_walk walk;
	char pointer[64];

	if (!working_several_results(work)) {
		take_result(work, end, result, "/payload/result");
		return;
	}
	span_walk_begin(&walk, result);
	while (span_walk_next(&walk, &key, &value)) {
		snprintf(pointer, sizeof pointer, "/payload/result/%zu", work->result_count);
		take_result(work, end, value, pointer);
	}
}

static void
take_retries(struct working *work, const struct recalled_event *end)
{
	struct span retries = span_member(end->view.payload, "retries");

	if (span_type(retries) == 'a' && retries.len > 2)
		buffer_append(&work->retries, retries.at + 1, retries.len - 2);
}

static void
take_end(struct working *work)
{
	const struct recalled_event *end = recalled_result(&work->recalled);
	struct span payload = end->view.payload;
	long long number;

	work->taken = true;
	if (recalled_error(end, &work->error)) {
		work->passes = span_integer(span_member(payload, "count"), &number);
		if (work->passes)
			work->passed_count = (size_t)number;
	} else if (!working_recall_passed(work, payload)) {
		take_results(work, end);
	}
	if (span_integer(span_member(payload, "exit_code"), &number))
		work->exit_code = (int)number;
	if (span_integer(span_member(payload, "winner"), &number))
		work->winner = number;
	if (span_integer(span_member(payload, "stderr_bytes"), &number))
		work->errors_bytes = number;
	span_decode(span_member(payload, "stderr"), &work->errors);
	changed_take(&work->changed, payload);
	work->agent = span_text(span_member(payload, "agent"));
	take_retries(work, end);
}

/* A decision has the bare result, from outside. Whether --into has put it in its place. */
static bool
put_decided_into(struct working *work)
{
	struct span decides = span_path(recalled_result(&work->recalled)->view.payload, "approval",
	    "decides", NULL);

	if (work->step->into == NULL || span_type(decides) != 's' || work->error.code != ERROR_NONE)
		return false;
	working_merge_into(work);
	return true;
}

static void
reuse(struct working *work)
{
	work->reused = true;
	take_end(work);
	if (put_decided_into(work)) {
		working_take_approval(work);
		work->reused = false;
	}
	work->tool_calls = recalled_tool_calls(&work->recalled);
}

static bool
resume_stands(struct working *work)
{
	const struct recalled *r = &work->recalled;
	bool agent = work->step->team != NULL;

	/* An agent goes on; the decision is about its tools. */
	if (r->decided == RECALL_SKIP && (r->changed || !agent)) {
		work->skipped = "by_user";
		return true;
	}
	if (r->changed)
		return false;
	if (r->end == RECALL_SUCCEEDED || recalled_decided(r) ||
	    (r->stands && r->decided != RECALL_REDO)) {
		reuse(work);
		return true;
	}
	if (r->end == RECALL_WAITING && !work->step->approve) {
		working_wait_on(work);
		return true;
	}
	if (r->end == RECALL_SKIPPED && skipped_by_user(r)) {
		work->reused = true;
		work->skipped = "by_user";
		return true;
	}
	return false;
}

/* Whether the work was done in the run that this one was forked from: how is in that
 * one's record. */
static bool
done_elsewhere(const struct recalled *r)
{
	return span_type(span_member(recalled_result(r)->view.payload, "reused_from")) == 'o';
}

/* Whether an earlier attempt did the work, so that what was done inside of a group is
 * not in the one that is replayed. */
static bool
done_before(const struct recalled *r)
{
	return span_type(span_member(r->completed.view.payload, "reused_from")) == 's';
}

/* Whether something around the call ended it. What ended something in a group is known
 * there: the group comes to the same end if it does that once more. */
static bool
ended_by_circumstance(const struct step *s, const struct recalled_event *end)
{
	struct error error = ERROR_INIT;
	long long exit_code = 0;

	if (!recalled_error(end, &error))
		return false;
	span_integer(span_member(end->view.payload, "exit_code"), &exit_code);
	if (!recalled_circumstance(error.code) && !(s->recall->cut_off && exit_code > 128))
		return false;
	if (s->group == GROUP_PARALLEL)
		return error.code == ERROR_CANCELLED || error.code == ERROR_DOWNSTREAM_CLOSED;
	/* Of lines that were cut off none is counted. */
	return !s->passes || (s->group != GROUP_LOOP &&
	    span_member(end->view.payload, "count").at == NULL);
}

/* A command whose effects lie outside is not run again, nor one that ended because
 * of what went on around it. */
static bool
replay_stands(struct working *work)
{
	const struct recalled *r = &work->recalled;
	const struct step *s = work->step;

	if (r->end == RECALL_SKIPPED && skipped_by_user(r)) {
		work->skipped = "by_user";
		return true;
	}
	if (r->end == RECALL_SKIPPED) {
		error_set(&work->error, ERROR_DIVERGENCE, NULL, "the recorded call was skipped");
		return true;
	}
	if (done_elsewhere(r) || ((s->passes || r->encloses) && done_before(r))) {
		take_end(work);
		return true;
	}
	if (s->command == NULL && !s->approve)
		return false;
	if (r->end == RECALL_OPEN) {
		error_set(&work->error, ERROR_DIVERGENCE, NULL,
		    "the recording ends in the middle of this call");
		return true;
	}
	if (s->approve || r->end == RECALL_WAITING || recalled_decided(r)) {
		take_end(work);
		working_take_approval(work);
		put_decided_into(work);
		return true;
	}
	if (s->effects != EFFECTS_READ && s->effects != EFFECTS_EXTERNAL &&
	    !ended_by_circumstance(s, recalled_result(r)))
		return false;
	take_end(work);
	return true;
}

bool
working_stands(struct working *work)
{
	if (!work->recalls)
		return false;
	return working_replays(work) ? replay_stands(work) : resume_stands(work);
}

void
working_take_tries(struct working *work)
{
	if (working_replays(work) && work->recalls && work->recalled.end != RECALL_OPEN)
		take_retries(work, recalled_result(&work->recalled));
}

int
working_repeat_retries(struct working *work, struct error *err)
{
	if (!work->recalls || !working_replays(work) || work->step->team != NULL)
		return 0;
	return retried_repeat(&work->recalled, &work->call, work->started, RECALL_TO_THE_END, err);
}

/* Tries that failed may have changed the workspace, and those of a body have made calls. */
int
working_repeated_tries(const struct working *work)
{
	struct span_walk walk;
	struct span key, retry;
	int count = 0;

	if (work->step->operation != NULL || !working_replays(work) || work->retries.len == 0)
		return 0;
	span_walk_begin(&walk, span_member(recalled_result(&work->recalled)->view.payload, "retries"));
	while (span_walk_next(&walk, &key, &retry))
		count++;
	return count;
}

void
working_recorded_spec(const struct working *work, struct state_spec *spec)
{
	const struct recalled_event *end = &work->recalled.completed;
	long long number;

	if (!working_replays(work) || !work->recalls || end->line.len == 0)
		return;
	spec->seq = end->view.seq;
	spec->timestamp = work->recorded_end;
	if (span_integer(span_member(end->view.payload, "duration_ms"), &number))
		spec->execution_time_ms = number;
}

/* ---- what is written of it ---- */

static void
write_recorded(struct writer *w, const char *key, const struct recalled *r, const char *id)
{
	if (r->run_id[0] == '\0') {
		writer_member_string(w, key, id);
		return;
	}
	writer_key(w, key);
	writer_object(w);
	writer_member_string(w, "run_id", r->run_id);
	writer_member_string(w, "event_id", id);
	writer_object_end(w);
}

void
working_write_claim(const struct working *work, struct writer *w)
{
	if (work->recalls && !working_replays(work))
		write_recorded(w, "claims", &work->recalled, work->recalled.started.id);
}

void
working_write_reuse(const struct working *work, struct writer *w)
{
	if (work->reused)
		write_recorded(w, "reused_from", &work->recalled, recalled_result(&work->recalled)->id);
}
