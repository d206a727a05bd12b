/*
 * --approve: a person decides about the data; the result is the data, possibly edited. If there is
 * a terminal, the question is asked here and the answer is recorded in the form of a decision; if
 * nobody answers, the call waits for a decision.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "decide/decision.h"
#include "model/tool_approval.h"
#include "model/waiting.h"
#include "step_call/step_call.h"
#include "step_kinds/kinds.h"
#include "step_kinds/question.h"
#include "view/terminal_question.h"

static bool
approve_asked(const struct step_options *o)
{
	return o->approve;
}

static void
approve_define(const struct step *s, struct writer *w)
{
	(void)s;
	writer_string(w, "--approve");
}

static int
approve_describe(struct step *s, const struct item *item, struct buffer *out, struct error *err)
{
	struct writer w = step_describe_begin(out);

	(void)s;
	(void)err;
	writer_member_bool(&w, "approve", true);
	step_describe_end(&w, item);
	return 0;
}

static void
approve_label(const struct step *s, struct buffer *out)
{
	(void)s;
	buffer_text(out, "a decision");
}

/* JSON for people: one member or element per line, indented by two spaces; strings and numbers are
 * copied, so that minifying gives the original value. The depth is limited to that of checked
 * values. */
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
	const char *call;        /* that waits */
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

	const struct buffer *was = &edit->original->json;

	if (differs == -1)
		return -1;
	if (tool_approval_check_edit(edit->call, span_of(was->data, was->len),
	    span_of(data.json.data, data.json.len), why) != 0) {
		data_free(&data);
		return -1;
	}
	data_free(&edit->data);
	edit->data = data;
	edit->differs = differs == 1;
	return 0;
}

/* An approval of a tool call is shown as such, and can be given for the whole run. */
static bool
approve_show(void *context, const struct buffer *text, struct buffer *out)
{
	const struct edit *edit = context;
	struct tool_approval tool;
	struct error ignored;
	struct data data;
	bool is_tool = false;

	if (decision_edit(edit->original, buffer_string(text), text->len, &data, &ignored) != -1) {
		is_tool = tool_approval_read(edit->call, span_of(data.json.data, data.json.len), &tool);
		if (is_tool)
			tool_approval_show(&tool, out);
		data_free(&data);
	}
	if (!is_tool)
		buffer_append(out, buffer_string(text), text->len);
	return is_tool;
}

/* Sets `always` in what is approved. */
static void
approve_always(struct edit *edit)
{
	const struct data *data = edit->differs ? &edit->data : edit->original;
	struct buffer always = BUFFER_INIT;
	struct error ignored;
	struct data changed = { BUFFER_INIT, false, false };
	int differs = -1;

	if (tool_approval_allow_always(edit->call, span_of(data->json.data, data->json.len), &always,
	    &ignored) == 0)
		differs = decision_edit(edit->original, always.data, always.len, &changed, &ignored);
	if (differs != -1) {
		data_free(&edit->data);
		edit->data = changed;
		edit->differs = differs == 1;
	}
	buffer_free(&always);
}

/* Records the answer as a decision. */
static void
approve_decide(struct step_call *call, const struct question *q, struct edit *edit,
    enum question_answer answer)
{
	char *by = decision_maker(), *reason = memory_text(buffer_string(&q->reason));
	const struct decision d = { .by = by, .reason = *reason != '\0' ? reason : NULL,
		.verdict = answer == ANSWER_NO ? DECISION_DENIED :
		    edit->differs ? DECISION_EDITED : DECISION_APPROVED };
	struct data data = { BUFFER_INIT, false, false };

	step_note_decision(call, &d);
	if (answer != ANSWER_NO) {
		data_copy(&data, edit->differs ? &edit->data : edit->original);
		step_add_result(&call->end, &data);
	} else {
		decision_error(&d, &call->end.error);
	}
	free(by);
	free(reason);
}

static int
approve_run(struct step_call *call, int repeats, struct error *err)
{
	const struct data *data = &call->item->data;
	struct span json = span_of(data->json.data, data->json.len);
	bool text = span_type(json) == 's';
	struct edit edit = { .call = call->id, .original = data };
	struct question q = { .about = call->id, .directory = call->step->place.run->directory,
		.file = data_binary(data) ? NULL : text ? "data.txt" : "data.json",
		.environment = call->step->place.environment.list, .interrupts = &call->step->place.interrupts,
		.check = check_edit, .show = json.len > 0 && !text && !data_binary(data) ? approve_show : NULL,
		.context = &edit };
	enum question_answer answer = ANSWER_NONE;

	(void)repeats;
	if (terminal_question_possible()) {
		/* Find the user's signing key, if there is one, before the question is asked. */
		if (seal_key_find(&call->end.seal, NULL, false, err) < 0)
			return -1;
		/* Show text unchanged, JSON formatted; of binary data only the size. */
		if (data_binary(data)) {
			buffer_format(&q.text, "bytes that are no text (%zu as base64)\n", json.len - 2);
		} else if (text) {
			data_feed(data, &q.text);
		} else {
			show_json(span_trim(json), 0, &q.text);
			buffer_byte(&q.text, '\n');
		}
		question_ask(&q, &answer, &call->end.error);
		call->attended = true; /* who is at the terminal does not want to decide now */
	}
	if (answer == ANSWER_ALWAYS)
		approve_always(&edit);
	if (answer != ANSWER_NONE)
		approve_decide(call, &q, &edit, answer);
	else if (call->end.error.code == ERROR_NONE)
		step_wait(call, WAITING_APPROVAL, NULL, 0);
	data_free(&edit.data);
	question_free(&q);
	return 0;
}

const struct work work_approve = {
	.kind = "approval",
	.decides = true,
	.asks = true,
	.asked = approve_asked,
	.define = approve_define,
	.describe = approve_describe,
	.label = approve_label,
	.judge = step_judge_decision,
	.run = approve_run,
};
