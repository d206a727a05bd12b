/*
 * Asks again while the error may be temporary, then moves to the next model, with a new count of
 * tries. An agent CLI that has begun to use tools is never asked a second time, because it would
 * use them again. What arrived in a failed try is recorded before the next try: consecutive pieces
 * of one kind make one block. So is the usage of a failed try, which costs as much as that of an
 * answer. Each try must be within the call's budget: a turn is priced by the model that answered
 * or, if that has no price, by the model that was asked.
 */
#include "turn/loop.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/count.h"
#include "base/memory.h"
#include "io/file.h"
#include "io/terminal.h"
#include "json/writer.h"
#include "limits/retried.h"
#include "providers/held.h"
#include "providers/provider_find.h"
#include "providers/throttle.h"
#include "transcript/event_keys.h"

/* A longer wait that a server asks for is not waited for if another model can be asked. */
#define WAIT_MOST_MS 60000

int64_t
loop_count(struct loop *l, struct span model, struct span usage)
{
	const struct turns *t = l->turns;
	char *asked, *answered;
	int64_t cost;

	usage_add(&l->conversation.usage, usage);
	if (t->budget == NULL)
		return 0;
	asked = loop_asked_model(l);
	answered = span_text(model);
	cost = budget_cost(t->budget, loop_asked(l).provider, asked, answered, usage);
	free(asked);
	free(answered);
	l->conversation.cost = count_add(l->conversation.cost, cost);
	return cost;
}

/* A limit cannot be kept where nobody knows what an answer cost. */
static int
check_cost_told(const struct loop *l, struct error *err)
{
	const struct answer *a = &l->turn.answer;
	char *asked = loop_asked_model(l), *answered = span_text(a->model);
	int result = budget_check_told(l->turns->budget, loop_asked(l).provider, asked, answered,
	    a->usage, err);

	free(asked);
	free(answered);
	return result;
}

static int
loop_enter_cost(struct loop *l, int64_t cost, struct error *err)
{
	char *model = loop_asked_model(l);
	int result = budget_enter(l->turns->budget, loop_asked(l).provider, model, cost, &l->turn.reserved, err);

	free(model);
	return result;
}

int
loop_count_answer(struct loop *l, bool recorded, struct error *err)
{
	const struct answer *a = &l->turn.answer;
	const int64_t cost = loop_count(l, a->model, a->usage);

	if (l->turns->budget == NULL || recorded)
		return 0;
	if (loop_enter_cost(l, cost, err) == -1)
		return -1;
	return a->blocks.at != NULL ? check_cost_told(l, err) : 0;
}

/* Ends the last block of what has arrived of the answer. */
static void
end_partial_block(struct partial *p)
{
	struct writer w;

	if (p->text.len == 0)
		return;
	if (p->blocks.len != 0)
		buffer_byte(&p->blocks, ',');
	writer_begin(&w, &p->blocks);
	writer_object(&w);
	writer_member_string(&w, KEY_TYPE, p->thinking ? "thinking" : "stream");
	writer_key(&w, p->thinking ? KEY_THINKING : KEY_TEXT);
	writer_bytes(&w, p->text.data, p->text.len);
	writer_member_string(&w, KEY_FIDELITY, "agent_emitted");
	writer_object_end(&w);
	buffer_clear(&p->text);
}

void
loop_partial_clear(struct loop *l)
{
	buffer_free(&l->turn.partial.blocks);
	buffer_free(&l->turn.partial.text);
	l->turn.partial.thinking = false;
}

/* Prints text to stderr, made harmless. */
static void
show_text(struct loop *l, const char *text, size_t len)
{
	struct buffer out = BUFFER_INIT;

	terminal_text(&out, text, len);
	if (out.len != 0)
		l->turn.line_open = out.data[out.len - 1] != '\n';
	file_write(STDERR_FILENO, buffer_string(&out), out.len);
	buffer_free(&out);
}

/* Handles a piece of the answer; kind is that of a delta, awf-provider(7). */
static void
loop_delta(void *context, const char *kind, const char *text, size_t len)
{
	struct loop *l = context;
	struct partial *p = &l->turn.partial;
	bool thinking = strcmp(kind, "thinking") == 0;

	/* A tool call that was cut off is not recorded as a block. */
	if (strcmp(kind, "tool") == 0) {
		live_append(&l->live, LIVE_TOOL, text, len);
		return;
	}
	if (thinking != p->thinking)
		end_partial_block(p);
	p->thinking = thinking;
	buffer_append(&p->text, text, len);
	if (l->turns->verbose && strcmp(kind, "text") == 0)
		show_text(l, text, len);
	live_append(&l->live, thinking ? LIVE_THINKING : LIVE_TEXT, text, len);
}

static int64_t
loop_due(void *context)
{
	struct loop *l = context;

	return live_flush(&l->live);
}

/* Handles a tool call of an agent CLI, at its place in the answer. */
static void
show_call(struct loop *l, struct span call)
{
	struct buffer text = BUFFER_INIT;
	struct span input = span_member(call, KEY_INPUT);

	span_decode(span_member(call, KEY_NAME), &text);
	buffer_byte(&text, ' ');
	if (input.at != NULL)
		scan_minify(input, &text);
	buffer_byte(&text, '\n');
	live_append(&l->live, LIVE_TOOL, text.data, text.len);
	buffer_free(&text);
}

static int
loop_event(void *context, struct span line, struct error *err)
{
	struct loop *l = context;

	if (emitted_record(&l->turn.emitted, l->turns->call, line, err) == -1)
		return -1;
	if (span_is(span_member(line, KEY_TYPE), "tool_call")) {
		l->turns->outcome.tool_calls++;
		show_call(l, line);
	}
	return 0;
}

static int
loop_told(void *context, const struct provider_wait *wait, struct error *err)
{
	const struct loop *l = context;
	const struct turns *t = l->turns;

	return retried_record_wait(t->call, t->started, t->member->agent.name, wait, t->verbose, err);
}

/* Whether there is another model to ask. */
static bool
falls_back(const struct loop *l)
{
	return l->conversation.fallen < l->turns->member->agent.fallback.count;
}

static int64_t
loop_least_tokens(const void *request)
{
	const struct buffer *text = request;

	return budget_least_tokens(text->data, text->len);
}

/* Waits until the limits of the provider allow a request; NULL: the same try goes on. */
static int
loop_enter_throttle(struct loop *l, const struct buffer *request, struct error *err)
{
	const struct turns *t = l->turns;
	const struct throttle_spec spec = { .storage = t->storage,
		.provider = loop_asked(l).client->name, .goes_on = request == NULL, .passes = falls_back(l),
		.least_tokens = request == NULL ? NULL : loop_least_tokens, .request = request,
		.deadline = t->deadline, .interrupts = t->interrupts, .told = loop_told, .context = l };

	return throttle_enter(&l->throttle, &spec, err);
}

/* Waits while calls of this model are held since one of them was refused. */
static int
loop_enter_held(struct loop *l, int tried, struct error *err)
{
	const struct turns *t = l->turns;
	char *model = loop_asked_model(l);
	const struct held_spec spec = { .client = loop_asked(l).client, .model = model,
		.last = tried > 1 && tried > t->retry->retries,
		.longest_ms = falls_back(l) ? WAIT_MOST_MS : 0, .deadline = t->deadline,
		.interrupts = t->interrupts, .told = loop_told, .context = l };
	int result = held_enter(&l->held, &spec, err);

	free(model);
	return result;
}

/* A tool may make calls of the same provider: while the agent CLI waits for the tool, it leaves
 * its place to them. */
static int
loop_run(void *context, struct span line, struct buffer *block, struct error *err)
{
	struct loop *l = context;

	show_call(l, line);
	throttle_leave(&l->throttle, THROTTLE_UNKNOWN, -1);
	if (loop_run_tool(l, span_member(line, KEY_NAME), span_member(line, KEY_INPUT), block, err) == -1)
		return -1;
	return loop_enter_throttle(l, NULL, err);
}

/* An agent CLI can be offered tools of programs and servers, but not control tools. */
static int
check_tools(const struct loop *l, const char *provider, struct error *err)
{
	const struct offer *offer = loop_offered(l);

	for (size_t i = 0; provider_is_cli(provider) && i < offer->count; i++)
		if (offer->list[i].control != NULL && !offer->list[i].control->foreign)
			return error_set(err, ERROR_INVALID, l->turns->member->agent.name, "the agent CLI "
			    "'%s' has a loop of its own: it cannot call '%s'", provider,
			    offer->list[i].tool->name);
	return 0;
}

/* Asks, while it holds one of the places for calls of the provider. Money that others spend
 * while it waits for the place counts. */
static int
ask_once(struct loop *l, const struct buffer *request, struct error *err)
{
	const struct turns *t = l->turns;
	const struct provider_callbacks callbacks = { .run = loop_run, .delta = loop_delta,
	    .event = loop_event, .due = loop_due, .context = l };
	const struct asked asked = loop_asked(l);
	int status;

	if (t->budget != NULL) {
		char *model = loop_asked_model(l);

		status = budget_reserve(t->budget, l->conversation.cost,
		    budget_least_tokens(buffer_string(request), request->len), t->member->agent.name,
		    asked.provider, model, &l->turn.reserved, err);
		free(model);
		if (status == -1)
			return -1;
	}
	l->turn.ran = 0;
	live_turn(&l->live, t->started, l->turn.number);
	status = provider_ask(asked.client, request, turns_time(t, t->timeout_ms), t->interrupts,
	    &callbacks, &l->turn.answer, err);
	if (l->turn.line_open)
		show_text(l, "\n", 1);
	return status;
}

static int
loop_try(struct loop *l, const struct buffer *request, int tried, struct error *err)
{
	const struct turns *t = l->turns;
	struct usage usage;
	int status;

	answer_free(&l->turn.answer);
	loop_partial_clear(l);
	l->turn.began = clock_monotonic();
	l->turn.asked = false;
	if (interrupts_arrived(t->interrupts, err))
		return -1;
	if (t->deadline != 0 && l->turn.began >= t->deadline)
		return error_set(err, ERROR_TIMEOUT, t->member->agent.name,
		    "the time for the whole call is over");
	if (check_tools(l, loop_asked(l).client->name, err) == -1 ||
	    loop_enter_throttle(l, request, err) == -1)
		return -1;
	if (loop_enter_held(l, tried, err) == -1) {
		throttle_leave(&l->throttle, THROTTLE_UNKNOWN, -1);
		return -1;
	}
	l->turn.began = clock_monotonic();
	l->turn.asked = true;
	status = ask_once(l, request, err);
	usage_begin(&usage);
	usage_add(&usage, l->turn.answer.usage);
	throttle_leave(&l->throttle, throttle_outcome(status == 0 ? ERROR_NONE : err->code,
	    l->turn.answer.status), usage_total(&usage) > 0 ? usage_total(&usage) : -1);
	return status;
}

int
loop_ask_aside(struct loop *l, struct request *request, struct error *err)
{
	struct turns *t = l->turns;
	struct buffer payload = BUFFER_INIT;
	struct writer w;
	int status;

	for (int tried = 1; loop_try(l, &request->text, tried, err) != 0; tried++) {
		const bool lost = l->turn.answer.lost;
		const int64_t asked_ms = l->turn.answer.retry_after_ms;
		const int64_t delay = lost ? 0 : retry_delay_within(t->retry, tried, asked_ms,
		    t->deadline == 0 ? INT64_MAX : t->deadline - clock_monotonic());

		held_leave(&l->held, err->code, asked_ms > 0 ? asked_ms : delay);
		loop_partial_clear(l);
		if (!l->turn.asked || !(lost || retry_wanted(t->retry, err->code, tried)) ||
		    interrupts_sleep(t->interrupts, delay, err) == -1)
			return -1;
		/* What befell the worker is not this request's failure. */
		tried -= lost;
	}
	held_leave(&l->held, ERROR_NONE, 0);
	loop_partial_clear(l);
	writer_begin(&w, &payload);
	writer_object(&w);
	writer_member_string(&w, KEY_ROLE, "assistant");
	if (t->member != l->lead)
		writer_member_string(&w, KEY_AGENT, t->member->agent.name);
	writer_member_array(&w, KEY_BLOCKS);
	for (struct span_walk block = span_walk(l->turn.answer.blocks); span_next(&block);)
		loop_write_block(&w, block.value);
	writer_array_end(&w);
	if (t->member->summarises || l->conversation.fallen > 0)
		writer_member_string(&w, KEY_PROVIDER, loop_asked(l).provider);
	if (l->conversation.fallen > 0)
		writer_member_integer(&w, KEY_FALLBACK, (int64_t)l->conversation.fallen);
	writer_member_span(&w, KEY_MODEL, l->turn.answer.model);
	writer_member_span(&w, KEY_USAGE, l->turn.answer.usage);
	writer_member_integer(&w, KEY_DURATION_MS, clock_monotonic() - l->turn.began);
	writer_member_integer(&w, KEY_TURN, l->turn.number);
	writer_member_string(&w, KEY_REQUEST_SHA256, request->sha256);
	writer_member_bool(&w, KEY_PARTIAL, true);
	writer_member_bool(&w, KEY_COMPACT, true);
	writer_object_end(&w);
	status = call_aside(t->call, EVENT_MESSAGE_ASSISTANT, NULL, t->call->last,
	    span_of(payload.data, payload.len), err);
	buffer_free(&payload);
	return status == -1 ? -1 : loop_count_answer(l, false, err);
}

int
loop_ask(struct loop *l, struct request *request, char id[ID_SIZE], struct error *err)
{
	struct turns *t = l->turns;
	const struct agent *agent = &t->member->agent;
	struct error why;

	for (int tried = 1;; tried++) {
		const struct asked asked = loop_asked(l);
		struct failed_try failed = { .why = &why, .exit_code = -1, .turn = l->turn.number };
		bool repeatable, again, falls, late, lost;
		int64_t delay, asked_ms;

		if (loop_try(l, &request->text, tried, &why) == 0)
			break;
		/* An agent CLI that has begun to use tools would use them again. */
		repeatable = l->turn.emitted.count == 0;
		lost = l->turn.answer.lost;
		asked_ms = l->turn.answer.retry_after_ms;
		delay = lost ? 0 : retry_delay_within(t->retry, tried, asked_ms,
		    t->deadline == 0 ? INT64_MAX : t->deadline - clock_monotonic());
		held_leave(&l->held, why.code, asked_ms > 0 ? asked_ms : delay);
		/* A provider that was not asked because it is down would not be asked the next
		 * time either. */
		again = repeatable && l->turn.asked && (lost || retry_wanted(t->retry, why.code, tried)) &&
		    (t->deadline == 0 || clock_monotonic() + delay < t->deadline);
		late = t->deadline != 0 && clock_monotonic() >= t->deadline;
		falls = repeatable && !late && fallback_helps(why.code) && falls_back(l);
		again = again && !(falls && asked_ms > WAIT_MOST_MS);
		/* What befell the worker is not this request's failure. */
		tried -= again && lost;

		end_partial_block(&l->turn.partial);
		if (l->turn.partial.blocks.len > 0 || l->turn.answer.usage.at != NULL) {
			emitted_follow(&l->turn.emitted, t->call);
			if (loop_record_answer(l, request, clock_monotonic() - l->turn.began, NULL, err) == -1 ||
			    loop_count_answer(l, false, err) == -1)
				return -1;
			loop_partial_clear(l);
		} else if (l->turn.reserved != 0 && loop_enter_cost(l, 0, err) == -1) {
			return -1;
		}
		if (!again && !falls) {
			*err = why;
			return -1;
		}
		if (agent->fallback.count > 0) {
			failed.provider = asked.provider;
			failed.model = asked.model;
		}
		failed.duration_ms = clock_monotonic() - l->turn.began;
		retried_list(&t->outcome.retries, &failed);
		if (again) {
			const struct retried retried = { agent->name, &why, tried + lost, t->retry->retries + 1,
				delay };

			if (retried_record(t->call, t->started, &retried, t->verbose, err) == -1 ||
			    interrupts_sleep(t->interrupts, delay, err) == -1)
				return -1;
		} else {
			loop_fall_back(l, l->conversation.fallen + 1, request);
			tried = 0;
		}
	}
	held_leave(&l->held, ERROR_NONE, 0);
	emitted_follow(&l->turn.emitted, t->call);
	return loop_record_answer(l, request, clock_monotonic() - l->turn.began, id, err);
}
