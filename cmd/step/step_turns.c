/*
 * The work that the turn loop does: an agent's, and one try of an operation (-t).
 */
#include "step/step_call.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/prompt.h"
#include "agent/turn.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/terminal.h"

static void
turns_begin(struct step_call *call, struct turns *t)
{
	struct step *s = call->step;
	struct recalled *r = &call->verdict.recalled;

	*t = (struct turns){
		.member = s->team != NULL ? s->team->members[0] : NULL,
		.call = &call->events,
		.retry = &s->retry,
		.interrupts = &s->interrupts,
		.environment = &s->environment,
		.keys = s->keys,
		.workflow_directory = getenv("AWF_WORKFLOW_DIR"),
		.timeout_ms = s->operation != NULL ? s->timeout_ms : 0,
		.deadline = s->timeout_ms > 0 ? clock_monotonic() + s->timeout_ms : 0,
		.live = s->live,
		.started = call->started,
		.attempt = s->run->attempt,
		.run_directory = s->run->directory,
		.sandbox = &s->sandbox,
		.max_children = s->max_children,
		.budget = s->budget,
		.recalled = call->verdict.recalls && !r->changed ? r : NULL,
	};
}

/* Takes over what the turn loop left. */
static void
turns_done(struct step_call *call, struct turns *t, int result)
{
	struct step_end *end = &call->end;
	struct data data = { BUFFER_INIT, false, false };

	end->tool_calls += t->tool_calls;
	if (t->member != NULL && t->member != call->step->team->members[0])
		end->agent = memory_text(t->member->agent.name);
	if (t->retries.len > 0) {
		if (end->retries.len > 0)
			buffer_byte(&end->retries, ',');
		buffer_append(&end->retries, t->retries.data, t->retries.len);
	}
	if (result == 0) {
		data.json = t->result;
		memset(&t->result, 0, sizeof t->result);
		step_end_add_result(end, &data);
	}
	turns_free(t);
}

/* What a tool printed before it failed is no result; the user reads it as its stderr. */
static void
show_printed(const struct buffer *output)
{
	struct buffer text = BUFFER_INIT, shown = BUFFER_INIT;

	span_plain(span_of(output->data, output->len), &text);
	if (text.len > 0) {
		if (terminal_is(STDERR_FILENO))
			terminal_text(&shown, text.data, text.len);
		else
			buffer_append(&shown, text.data, text.len);
		buffer_byte(&shown, '\n');
		file_write(STDERR_FILENO, shown.data, shown.len);
	}
	buffer_free(&shown);
	buffer_free(&text);
}

int
step_try_operation(struct step_call *call, struct error *err)
{
	struct step *s = call->step;
	struct span input = span_of(call->item->data.json.data, call->item->data.json.len);
	struct turns t;
	int result;

	turns_begin(call, &t);
	if (step_replays(s)) {
		if (t.recalled != NULL && turns_repeat_tries(&t, s->operation, input, err) == -1)
			return -1;
	} else if (call->end.retries.len > 0) {
		t.recalled = NULL; /* the first try was the recorded one */
	}
	result = turns_operation(&t, s->operation, input, &call->end.error);
	call->end.killed = t.exit_code > 128;
	if (result == -1)
		show_printed(&t.result);
	turns_done(call, &t, result);
	return 0;
}

void
step_run_agent(struct step_call *call)
{
	struct step *s = call->step;
	struct span data = span_of(call->item->data.json.data, call->item->data.json.len);
	struct span inputs = span_of(s->inputs.data, s->inputs.len);
	struct error *error = &call->end.error;
	struct buffer prompt = BUFFER_INIT;
	struct turns t;

	if (prompt_render(s->prompt, data, inputs, s->prompt_place, &prompt, error) == 0 &&
	    step_restore_attachments(call) == 0 &&
	    (step_replays(s) || step_start_provider(s, error) == 0)) {
		turns_begin(call, &t);
		t.prompt = span_of(buffer_string(&prompt), prompt.len);
		t.attachments = &call->attachments;
		t.session = call->continued.session;
		t.before = span_of(call->continued.messages.data, call->continued.messages.len);
		turns_done(call, &t, turns_run(&t, error));
	}
	buffer_free(&prompt);
}
