/*
 * Tries go on while an error may pass, then move to the next model, whose count begins anew.
 * An agent CLI that has begun to use tools is never asked a second time, as it would use them
 * again. What came of a try that failed is recorded before the next one. Each is within what
 * the call may cost: a turn costs what the model that answered does, or, where it has no
 * price, the one asked.
 */
#include "agent/loop.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/retried.h"
#include "base/clock.h"
#include "base/count.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "json/writer.h"

/* The model of this turn. */
static char *
asked_model(const struct loop *l)
{
	char *changed = span_text(l->turn.change.model);

	return changed != NULL ? changed : memory_text(loop_model(l));
}

/* Whether a request is within what the call may cost. */
static int
check_cost(const struct loop *l, struct error *err)
{
	const struct turns *t = l->turns;
	char *model;
	int result;

	if (t->budget == NULL)
		return 0;
	model = asked_model(l);
	result = budget_check(t->budget, l->conversation.cost, t->member->agent.name,
	    loop_provider_name(l), model, err);
	free(model);
	return result;
}

int
loop_add_cost(struct loop *l, bool recorded, struct error *err)
{
	const struct turns *t = l->turns;
	char *asked, *answered;
	int64_t cost;

	if (t->budget == NULL)
		return 0;
	asked = asked_model(l);
	answered = span_text(l->turn.answer.model);
	cost = budget_cost(t->budget, loop_provider_name(l), asked, answered, l->turn.answer.usage);
	free(asked);
	free(answered);
	l->conversation.cost = count_add(l->conversation.cost, cost);
	return recorded ? 0 : budget_enter(t->budget, cost, err);
}

static void
note_retry(struct loop *l, const struct error *error, int64_t duration_ms)
{
	struct buffer *retries = &l->turns->retries;
	struct writer w;

	if (retries->len != 0)
		buffer_byte(retries, ',');
	writer_begin(&w, retries);
	writer_object(&w);
	if (l->turns->member->agent.fallback.count > 0) {
		writer_member_string(&w, "provider", loop_provider_name(l));
		writer_member_string(&w, "model", loop_model(l));
	}
	writer_members_error(&w, error);
	writer_member_integer(&w, "duration_ms", duration_ms);
	writer_member_integer(&w, "turn", l->turn.number);
	writer_object_end(&w);
}

/* Live text: each line made harmless, the ends of lines kept. */
static void
live_text(struct loop *l, const char *text, size_t len)
{
	struct buffer out = BUFFER_INIT;
	const char *lf;

	for (; (lf = memchr(text, '\n', len)) != NULL; text = lf + 1) {
		text_visible(&out, text, (size_t)(lf - text), 0);
		buffer_byte(&out, '\n');
		len -= (size_t)(lf - text) + 1;
	}
	text_visible(&out, text, len, 0);
	if (out.len != 0)
		l->turn.line_open = out.data[out.len - 1] != '\n';
	file_write(STDERR_FILENO, buffer_string(&out), out.len);
	buffer_free(&out);
}

static void
loop_delta(void *context, const char *kind, const char *text, size_t len)
{
	struct loop *l = context;

	partial_add(&l->turn.partial, kind, text, len);
	if (l->turns->live && strcmp(kind, "text") == 0)
		live_text(l, text, len);
}

static int
loop_event(void *context, struct span line, struct error *err)
{
	struct loop *l = context;

	if (emitted_record(&l->turn.emitted, l->turns->call, line, err) == -1)
		return -1;
	if (span_is(span_member(line, "type"), "tool_call"))
		l->turns->tool_calls++;
	return 0;
}

int64_t
loop_time_left(const struct loop *l)
{
	int64_t left;

	if (l->turns->deadline == 0)
		return 0;
	left = l->turns->deadline - clock_monotonic();
	return left <= 0 ? -1 : left;
}

int64_t
loop_time(const struct loop *l)
{
	int64_t own = l->turns->timeout_ms, left = loop_time_left(l);

	return left == 0 || (left > 0 && own != 0 && own < left) ? own : left;
}

static int
loop_try(struct loop *l, const struct buffer *request, struct error *err)
{
	struct turns *t = l->turns;
	const struct provider_callbacks callbacks = { loop_delta, loop_event, l };
	int64_t limit = loop_time(l);
	int status;

	if (interrupted(t->interrupts, err))
		return -1;
	if (limit == -1)
		return error_set(err, ERROR_TIMEOUT, t->member->agent.name,
		    "the time for the whole call is over");
	if (check_cost(l, err) == -1)
		return -1;
	answer_free(&l->turn.answer);
	partial_clear(&l->turn.partial);
	status = provider_ask(loop_provider(l), request, limit, t->interrupts, &callbacks,
	    &l->turn.answer, err);
	if (l->turn.line_open)
		live_text(l, "\n", 1);
	return status;
}

int
loop_ask(struct loop *l, struct request *request, char id[ID_SIZE], struct error *err)
{
	const struct turns *t = l->turns;
	const struct agent *agent = &t->member->agent;
	int64_t began, delay;
	struct error why;

	for (int tried = 1;; tried++) {
		bool repeatable, again, falls;

		began = clock_monotonic();
		if (loop_try(l, &request->text, &why) == 0)
			break;
		/* An agent CLI that has begun to use its tools would use them again. */
		repeatable = l->turn.emitted.count == 0;
		delay = retry_delay(t->retry, tried, l->turn.answer.retry_after_ms);
		again = repeatable && retry_wanted(t->retry, why.code, tried) &&
		    (t->deadline == 0 || clock_monotonic() + delay < t->deadline);
		falls = repeatable && fallback_helps(why.code) &&
		    l->conversation.fallen < agent->fallback.count;

		if (!partial_empty(&l->turn.partial)) {
			emitted_follow(&l->turn.emitted, t->call);
			if (loop_record_partial(l, request, clock_monotonic() - began, err) == -1)
				return -1;
			partial_clear(&l->turn.partial);
		}
		if (!again && !falls) {
			*err = why;
			return -1;
		}
		note_retry(l, &why, clock_monotonic() - began);
		if (again) {
			const struct retried retried = { agent->name, &why, tried, t->retry->retries + 1,
				delay };

			if (retried_record(t->call, t->started, &retried, t->live, err) == -1 ||
			    interrupts_sleep(t->interrupts, delay, err) == -1)
				return -1;
		} else {
			loop_fall_back(l, l->conversation.fallen + 1, request);
			tried = 0;
		}
	}
	emitted_follow(&l->turn.emitted, t->call);
	return loop_record_answer(l, request, clock_monotonic() - began, id, err);
}
