/*
 * A wait is an end of the call with the error `waiting` and, in payload.approval, what it
 * waits for. Whether somebody has decided since is asked under the transcript's lock when the
 * end is appended: then the decision is taken instead. At a terminal the question is asked
 * here, and the same record is made of the answer.
 */
#include "step/working.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "run/decision.h"
#include "step/pretty.h"
#include "step/question.h"

static struct writer
begin_approval(struct working *work)
{
	struct writer w;

	buffer_clear(&work->approval);
	writer_begin(&w, &work->approval);
	writer_object(&w);
	return w;
}

/* Whether a decision can come: it goes by the record, and so does resuming. */
static bool
can_wait(struct working *work)
{
	const struct run *run = work->step->run;

	if (run->keep_transcript && !run->transcript.masked)
		return true;
	error_set(&work->error, ERROR_BLOCKED, NULL, "nobody can decide later about a run that %s",
	    run->keep_transcript ? "is masked (--mask)" : "keeps no transcript (--no-transcript)");
	return false;
}

static void
wait_from_here(struct working *work, enum waiting_for what, const char *form,
    int64_t timeout_ms)
{
	struct writer w;

	if (!can_wait(work))
		return;
	error_set(&work->error, ERROR_WAITING, NULL, "%s",
	    what == WAITING_APPROVAL ? WAITING_FOR_DECISION : WAITING_FOR_RESULT);
	w = begin_approval(work);
	decision_write_limits(what, form, timeout_ms, &w);
	writer_object_end(&w);
}

void
working_pend(struct working *work)
{
	static const char *const forms[] = {
		[OUTPUT_TEXT] = "text", [OUTPUT_LINES] = "lines", [OUTPUT_NUL] = "nul",
		[OUTPUT_JSON] = "json"
	};

	wait_from_here(work, WAITING_COMPLETION, forms[work->step->output],
	    work->step->pending_ms);
}

/* The members of payload.approval; only those that are listed, if any are. */
static void
copy_approval(struct working *work, struct span approval, const char *const *names)
{
	struct writer w = begin_approval(work);
	struct span_walk walk;
	struct span key, value;

	span_walk_begin(&walk, approval);
	while (span_walk_next(&walk, &key, &value)) {
		if (span_one_of(key, names) == NULL)
			continue;
		if (w.comma)
			buffer_byte(w.out, ',');
		buffer_append(w.out, key.at, key.len);
		buffer_byte(w.out, ':');
		buffer_append(w.out, value.at, value.len);
		w.comma = true;
	}
	writer_object_end(&w);
}

static struct span
recorded_approval(const struct working *work)
{
	return span_member(recalled_result(&work->recalled)->view.payload, "approval");
}

void
working_take_approval(struct working *work)
{
	static const char *const names[] = { "asks", "form", "timeout_ms", "deadline", "decision",
		"by", "reason", NULL };

	if (span_type(recorded_approval(work)) == 'o')
		copy_approval(work, recorded_approval(work), names);
}

void
working_wait_on(struct working *work)
{
	static const char *const names[] = { "asks", "form", "timeout_ms", "deadline", NULL };
	struct span approval = recorded_approval(work);
	char deadline[CLOCK_TEXT_SIZE];
	int64_t wall = 0;

	if (span_copy(span_member(approval, "deadline"), deadline, sizeof deadline) &&
	    clock_parse(deadline, 0, &wall) == 0 && clock_wall() > wall) {
		error_set(&work->error, ERROR_TIMEOUT, NULL, "no result came until %s", deadline);
		return;
	}
	error_set(&work->error, ERROR_WAITING, NULL, WAITING_FOR_RESULT);
	copy_approval(work, approval, names);
}

int
working_check_waits(void *context, struct event *e, struct error *err)
{
	struct working *work = context;
	const struct recall *recall = work->step->recall;
	char before[ID_SIZE];
	int decided;

	(void)e;
	memcpy(before, work->recalled.completed.id, sizeof before);
	decided = recall->decided_since(recall->history, &work->recalled, err);
	work->overtaken = decided == 1 || strcmp(before, work->recalled.completed.id) != 0;
	return decided == 0 && !work->overtaken ? 0 : -1;
}

void
working_take_decision(struct working *work)
{
	working_forget_results(work);
	work->exit_code = -1;
	work->error = (struct error)ERROR_INIT;
	buffer_clear(&work->approval);
	seal_key_forget(&work->seal);
	work->overtaken = false;
	work->outdone = true;
	if (!working_stands(work)) /* an approval waits on: nobody has decided */
		wait_from_here(work, WAITING_APPROVAL, NULL, 0);
}

/* ---- at the terminal ---- */

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

/* Text as it is, JSON in lines; bytes that are no text are told of. */
static void
show_data(const struct data *data, struct buffer *out)
{
	struct span json = span_of(data->json.data, data->json.len);

	if (data_binary(data))
		buffer_format(out, "bytes that are no text (%zu as base64)\n", json.len - 2);
	else if (span_type(json) == 's')
		data_feed(data, out);
	else
		json_pretty(json, out);
}

static void
record_decision(struct working *work, const struct decision *d)
{
	struct writer w = begin_approval(work);

	decision_write(d, &w);
	writer_object_end(&w);
	if (d->verdict == DECISION_DENIED)
		decision_error(d, &work->error);
}

static void
decide(struct working *work, const struct question *q, struct edit *edit, enum question_answer answer)
{
	char *by = decision_maker(), *reason = memory_text(buffer_string(&q->reason));
	const struct decision d = { .by = by, .reason = *reason != '\0' ? reason : NULL,
		.verdict = answer == ANSWER_NO ? DECISION_DENIED :
		    edit->differs ? DECISION_EDITED : DECISION_APPROVED };
	struct data data = { BUFFER_INIT, false, false };

	record_decision(work, &d);
	if (answer == ANSWER_YES) {
		data_copy(&data, edit->differs ? &edit->data : edit->original);
		working_add_result(work, &data);
	}
	free(by);
	free(reason);
}

/* The user's key, if there is one: before anything is asked. */
static int
load_seal(struct working *work, struct error *err)
{
	char *path = seal_key_default();
	int failed = 0;

	if (path != NULL && access(path, F_OK) == 0)
		failed = seal_key_load(&work->seal, path, err);
	free(path);
	return failed;
}

int
working_approve(struct working *work, struct error *err)
{
	const struct data *data = &work->item->data;
	struct edit edit = { .original = data };
	struct question q = { .about = work->id, .directory = work->step->run->directory,
		.file = data_binary(data) ? NULL :
		    span_type(span_of(data->json.data, data->json.len)) == 's' ? "data.txt" : "data.json",
		.environment = work->step->environment.list, .interrupts = &work->step->interrupts,
		.check = check_edit, .context = &edit };
	enum question_answer answer = ANSWER_NONE;

	if (question_possible()) {
		if (load_seal(work, err) != 0)
			return -1;
		show_data(data, &q.text);
		question_ask(&q, &answer, &work->error);
	}
	if (answer != ANSWER_NONE)
		decide(work, &q, &edit, answer);
	else if (work->error.code == ERROR_NONE)
		wait_from_here(work, WAITING_APPROVAL, NULL, 0);
	data_free(&edit.data);
	question_free(&q);
	return 0;
}
