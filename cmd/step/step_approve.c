/*
 * At a terminal the question is asked here, and the same record is made of the answer as of a
 * decision that comes later, which the call waits for if nobody answers.
 */
#include "step/step_call.h"

#include <stdlib.h>

#include "base/memory.h"
#include "run/decision.h"
#include "step/pretty.h"
#include "step/question.h"

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
decide(struct step_call *call, const struct question *q, struct edit *edit,
    enum question_answer answer)
{
	char *by = decision_maker(), *reason = memory_text(buffer_string(&q->reason));
	const struct decision d = { .by = by, .reason = *reason != '\0' ? reason : NULL,
		.verdict = answer == ANSWER_NO ? DECISION_DENIED :
		    edit->differs ? DECISION_EDITED : DECISION_APPROVED };
	struct data data = { BUFFER_INIT, false, false };
	struct writer w = step_begin_approval(call);

	decision_write(&d, &w);
	writer_object_end(&w);
	if (answer == ANSWER_YES) {
		data_copy(&data, edit->differs ? &edit->data : edit->original);
		step_end_add_result(&call->end, &data);
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
	struct edit edit = { .original = data };
	struct question q = { .about = call->id, .directory = call->step->run->directory,
		.file = data_binary(data) ? NULL :
		    span_type(span_of(data->json.data, data->json.len)) == 's' ? "data.txt" : "data.json",
		.environment = call->step->environment.list, .interrupts = &call->step->interrupts,
		.check = check_edit, .context = &edit };
	enum question_answer answer = ANSWER_NONE;

	if (question_possible()) {
		/* The user's key, if there is one: before anything is asked. */
		if (seal_key_find(&call->end.seal, NULL, false, err) < 0)
			return -1;
		show_data(data, &q.text);
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
