/*
 * Calls that somebody decides about. A wait is an end of the call with the error `waiting` and,
 * in payload.approval, what it waits for. What is decided is told there too.
 *
 * At a terminal the question of an approval is asked here, and the same record is made of the
 * answer as of a decision that comes later, which the call waits for if nobody answers.
 */
#include "step/step_call.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "run/decision.h"
#include "run/terminal_question.h"
#include "run/waiting.h"
#include "step/question.h"
#include "transcript/event_keys.h"

/* ---- waiting ---- */

/* payload.approval, empty, for its members. */
static struct writer
begin_approval(struct step_call *call)
{
	struct writer w;

	buffer_clear(&call->end.approval);
	writer_begin(&w, &call->end.approval);
	writer_object(&w);
	return w;
}

void
step_wait(struct step_call *call, enum waiting_for what, const char *form, int64_t timeout_ms)
{
	const struct run *run = call->step->place.run;
	struct writer w;

	/* A decision goes by the record, and so does resuming. */
	if (!run->keep_transcript || run->transcript.masked) {
		error_set(&call->end.error, ERROR_BLOCKED, NULL,
		    "nobody can decide later about a run that %s", run->keep_transcript ?
		    "is masked (--mask)" : "keeps no transcript (--no-transcript)");
		return;
	}
	error_set(&call->end.error, ERROR_WAITING, NULL, "%s",
	    what == WAITING_APPROVAL ? WAITING_FOR_DECISION : WAITING_FOR_RESULT);
	w = begin_approval(call);
	decision_write_limits(what, form, timeout_ms, &w);
	if (call->task != NULL) {
		writer_member_string(&w, KEY_TASK, call->task);
		writer_member_integer(&w, KEY_TRY, call->number);
	}
	writer_object_end(&w);
}

/* The name of the task is that of the call which began it, and the attempt behind it if that was not
 * the first: another call may have had that name before. A call that is another one now, or new, is
 * another task. */
void
step_name_task(struct step_call *call)
{
	const struct step *s = call->step;
	const struct recalled *r = &call->verdict.recalled;
	struct span recorded = r->started.view.payload, began = span_path(recorded, KEY_PENDING,
	    KEY_TASK, NULL);
	char *task;

	if (call->verdict.recalls && !r->changed && r->run_id[0] == '\0')
		call->task = span_type(began) == 's' ? span_text(began) :
		    span_text(span_member(recorded, KEY_CALL));
	if (call->task == NULL)
		call->task = s->place.run->attempt <= 1 ? memory_text(call->id) :
		    memory_format("%s@%lld", call->id, (long long)s->place.run->attempt);
	task = memory_format("%s/%s", s->place.run->id, call->task);
	environment_set(&call->step->place.environment, "AWF_TASK", task);
	free(task);
}

void
step_name_try(struct step_call *call)
{
	struct step *s = call->step;
	char *name = waiting_token(call->id, s->place.run->attempt, ++call->number);
	char *token = memory_format("%s/%s", s->place.run->id, name);

	environment_set(&s->place.environment, "AWF_TASK_TOKEN", token);
	free(token);
	free(name);
}

void
step_note_decision(struct step_call *call, const struct decision *d)
{
	struct writer w = begin_approval(call);

	decision_write(d, &w);
	writer_object_end(&w);
}

/* The members of the recorded payload.approval that are listed. */
static void
copy_approval(struct step_call *call, struct span approval, const char *const *names)
{
	struct writer w = begin_approval(call);

	for (struct span_walk member = span_walk(approval); span_next(&member);)
		if (span_one_of(member.key, names) != NULL)
			writer_raw_member(&w, member.key, member.value);
	writer_object_end(&w);
}

void
step_take_approval(struct step_call *call)
{
	static const char *const names[] = { KEY_ASKS, KEY_FORM, KEY_TIMEOUT_MS, KEY_DEADLINE,
		KEY_DECISION, KEY_BY, KEY_REASON, KEY_TASK, KEY_TRY, NULL };
	struct span approval = span_member(recalled_result(&call->verdict.recalled)->view.payload,
	    KEY_APPROVAL);

	if (span_type(approval) == 'o')
		copy_approval(call, approval, names);
}

void
step_wait_on(struct step_call *call)
{
	static const char *const names[] = { KEY_ASKS, KEY_FORM, KEY_TIMEOUT_MS, KEY_DEADLINE, NULL };
	struct span approval = span_member(recalled_result(&call->verdict.recalled)->view.payload,
	    KEY_APPROVAL);
	char deadline[CLOCK_TEXT_SIZE];
	int64_t wall = 0;

	if (span_copy(span_member(approval, KEY_DEADLINE), deadline, sizeof deadline) &&
	    clock_parse(deadline, 0, &wall) == 0 && clock_wall() > wall) {
		error_set(&call->end.error, ERROR_TIMEOUT, NULL, "no result came until %s", deadline);
		return;
	}
	error_set(&call->end.error, ERROR_WAITING, NULL, WAITING_FOR_RESULT);
	copy_approval(call, approval, names);
}

/* ---- asking ---- */

/* JSON for people: one member or element a line, two spaces for each depth; strings and
 * numbers keep their bytes, so that minifying it gives the value back as it was. Depth is
 * bounded by that of checked values. */
static void
show_json(struct span value, int depth, struct buffer *out)
{
	bool object = span_type(value) == 'o', any = false;

	if (strchr("oa", span_type(value)) == NULL) {
		buffer_append(out, value.at, value.len);
		return;
	}
	buffer_byte(out, object ? '{' : '[');
	for (struct span_walk member = span_walk(value); span_next(&member);) {
		buffer_format(out, "%s\n%*s", any ? "," : "", 2 * (depth + 1), "");
		any = true;
		if (object) {
			buffer_append(out, member.key.at, member.key.len);
			buffer_text(out, ": ");
		}
		show_json(member.value, depth + 1, out);
	}
	if (any)
		buffer_format(out, "\n%*s", 2 * depth, "");
	buffer_byte(out, object ? '}' : ']');
}

/* An edited text as data. */
struct edit {
	const struct data *original;
	struct data data;
	bool differs;
};

static int
check_edit(void *context, const struct buffer *text, struct error *why)
{
	struct edit *edit = context;
	struct data data;
	int differs = decision_edit(edit->original, buffer_string(text), text->len, &data, why);

	if (differs == -1)
		return -1;
	data_free(&edit->data);
	edit->data = data;
	edit->differs = differs == 1;
	return 0;
}

/* What was answered is what was decided. */
static void
decide(struct step_call *call, const struct question *q, struct edit *edit,
    enum question_answer answer)
{
	char *by = decision_maker(), *reason = memory_text(buffer_string(&q->reason));
	const struct decision d = { .by = by, .reason = *reason != '\0' ? reason : NULL,
		.verdict = answer == ANSWER_NO ? DECISION_DENIED :
		    edit->differs ? DECISION_EDITED : DECISION_APPROVED };
	struct data data = { BUFFER_INIT, false, false };

	step_note_decision(call, &d);
	if (answer == ANSWER_YES) {
		data_copy(&data, edit->differs ? &edit->data : edit->original);
		step_add_result(&call->end, &data);
	} else {
		decision_error(&d, &call->end.error);
	}
	free(by);
	free(reason);
}

int
step_approve(struct step_call *call, struct error *err)
{
	const struct data *data = &call->item->data;
	struct span json = span_of(data->json.data, data->json.len);
	bool text = span_type(json) == 's';
	struct edit edit = { .original = data };
	struct question q = { .about = call->id, .directory = call->step->place.run->directory,
		.file = data_binary(data) ? NULL : text ? "data.txt" : "data.json",
		.environment = call->step->place.environment.list, .interrupts = &call->step->place.interrupts,
		.check = check_edit, .context = &edit };
	enum question_answer answer = ANSWER_NONE;

	if (terminal_question_possible()) {
		/* The user's key, if there is one: before anything is asked. */
		if (seal_key_find(&call->end.seal, NULL, false, err) < 0)
			return -1;
		/* Text as it is, JSON in lines; bytes that are no text are told of. */
		if (data_binary(data)) {
			buffer_format(&q.text, "bytes that are no text (%zu as base64)\n", json.len - 2);
		} else if (text) {
			data_feed(data, &q.text);
		} else {
			show_json(span_trim(json), 0, &q.text);
			buffer_byte(&q.text, '\n');
		}
		question_ask(&q, &answer, &call->end.error);
	}
	if (answer != ANSWER_NONE)
		decide(call, &q, &edit, answer);
	else if (call->end.error.code == ERROR_NONE)
		step_wait(call, WAITING_APPROVAL, NULL, 0);
	data_free(&edit.data);
	question_free(&q);
	return 0;
}
