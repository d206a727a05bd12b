/*
 * A turn in order: limits, servers, before_turn, the request, a recorded answer or the
 * model's, its tools or its end. Each part says whether the loop continues, ends or fails. An
 * operation is the same machinery with one tool call that no model asked for.
 */
#include "agent/turn.h"

#include <stdlib.h>
#include <string.h>

#include "agent/loop.h"
#include "agent/sandboxing.h"
#include "agent/toolrun.h"
#include "base/count.h"
#include "base/list.h"
#include "base/memory.h"
#include "json/writer.h"

#define OPERATION_ID "1" /* the call_id of an operation's tool call */

static const char *const usage_keys[USAGE_KEYS] = {
	[USAGE_INPUT] = "input_tokens",
	[USAGE_OUTPUT] = "output_tokens",
	[USAGE_CACHE_READ] = "cache_read_tokens",
	[USAGE_CACHE_WRITE] = "cache_write_tokens",
	[USAGE_REASONING] = "reasoning_tokens"
};

static void
loop_add_usage(struct loop *l)
{
	long long number;

	for (size_t i = 0; i < USAGE_KEYS; i++)
		if (span_integer(span_member(l->answer.usage, usage_keys[i]), &number) && number >= 0)
			l->usage[i] = count_add(l->usage[i] < 0 ? 0 : l->usage[i], number);
}

static void
write_usage(const struct loop *l, struct writer *w)
{
	writer_object(w);
	for (size_t i = 0; i < USAGE_KEYS; i++)
		if (l->usage[i] >= 0)
			writer_member_integer(w, usage_keys[i], l->usage[i]);
	writer_object_end(w);
}

void
loop_write_usage(const struct loop *l, struct writer *w)
{
	writer_key(w, "usage");
	write_usage(l, w);
}

static int64_t
loop_tokens(const struct loop *l)
{
	int64_t input = l->usage[USAGE_INPUT], output = l->usage[USAGE_OUTPUT];

	return count_add(input < 0 ? 0 : input, output < 0 ? 0 : output);
}

/* The text of an answer, its parts in a row; an answer without any leaves the text
 * before it. After a tool that was called it begins anew, whether its result was told or
 * not: what was said before was on the way. */
static void
loop_take_text(struct loop *l)
{
	struct buffer text = BUFFER_INIT;
	struct span_walk walk;
	struct span key, block;
	bool anew = false;

	span_walk_begin(&walk, l->answer.blocks);
	while (span_walk_next(&walk, &key, &block)) {
		struct span type = span_member(block, "type"), part = span_member(block, "text");

		anew |= span_is(type, "tool_use") || span_is(type, "tool_result");
		if (!span_is(type, "text") || span_is(part, ""))
			continue;
		if (anew)
			buffer_clear(&text);
		anew = false;
		span_decode(part, &text);
	}
	if (text.len != 0) {
		buffer_free(&l->text);
		l->text = text;
	}
}

/* An empty answer is not sent back: APIs refuse it. */
static void
loop_keep_answer(struct loop *l)
{
	struct span blocks = l->answer.blocks;

	if (blocks.len > 2)
		loop_add_message(l, "assistant", blocks.at + 1, blocks.len - 2);
}

/* An answer that calls no tool: it is the result, unless the model was cut off,
 * refused, or only paused. */
static int
loop_conclude(struct loop *l, struct error *err)
{
	const char *name = l->turns->member->agent.name;
	struct span reason = l->answer.stop_reason;

	if (span_is(reason, "pause"))
		return CONTINUES;
	if (span_is(reason, "max_tokens"))
		return error_set(err, ERROR_MAX_TOKENS, name,
		    "the answer was cut off at the limit of tokens (max_tokens)");
	if (span_is(reason, "refusal"))
		return error_set(err, ERROR_REFUSED, name, "the model refused%s%s",
		    l->text.len == 0 ? "" : ": ", buffer_string(&l->text));
	if (phases_given(l))
		return phases_remind(l, err);
	return loop_finish(l, err);
}

/* The input of the stop tool, if it was called as it should be, is the result. */
static bool
loop_stopped_by_tool(struct loop *l, const struct tool_runs *runs)
{
	const char *name = l->turns->member->agent.stop_tool;

	for (size_t i = 0; name != NULL && i < runs->count; i++)
		if (strcmp(runs->list[i].name, name) == 0 &&
		    runs->list[i].error.code == ERROR_NONE) {
			scan_minify(runs->list[i].input, &l->turns->result);
			return true;
		}
	return false;
}

/* What comes next follows the results, in the order of the calls. It follows the start
 * of this attempt through those that were made in it. */
static void
follow_results(const struct tool_runs *runs, struct call *call)
{
	const char **ids = memory_array(NULL, runs->count, sizeof *ids);
	size_t count = 0;

	for (size_t i = 0; i < runs->count; i++) {
		if (runs->list[i].resulted[0] == '\0')
			continue;
		ids[count++] = runs->list[i].resulted;
		if (runs->list[i].source != TOOL_TAKEN)
			buffer_clear(&call->links);
	}
	call_follow(call, ids, count);
	free(ids);
}

/* Runs the tools that the answer calls. */
static int
loop_run_tools(struct loop *l, struct tool_runs *runs, struct error *err)
{
	struct buffer blocks = BUFFER_INIT;
	int status = tool_runs_run(runs, err);

	follow_results(runs, l->turns->call);
	if (status == -1)
		return FAILED;
	if (loop_stopped_by_tool(l, runs))
		return ENDED;
	if (loop_count_refused(l, runs, err) == -1)
		return FAILED;
	tool_runs_blocks(runs, &blocks);
	loop_add_message(l, "user", blocks.data, blocks.len);
	buffer_free(&blocks);
	return phases_given(l) ? phases_move(l, err) : CONTINUES;
}

char **
loop_command(json_t *command)
{
	size_t count = json_is_array(command) ? json_array_size(command) : 0;
	char **argv = memory_zero(count + 4, sizeof *argv);

	if (json_is_string(command))
		process_shell(argv, json_string_value(command));
	for (size_t i = 0; i < count; i++)
		argv[i] = (char *)(uintptr_t)json_string_value(json_array_get(command, i));
	return argv;
}

/* The stop command, which may run what the agent wrote: in the sandbox of its tools. In
 * memory of its own. */
static char **
stop_argv(const struct turns *t, struct error *err)
{
	const struct member *m = t->member;
	char **words = loop_command(m->agent.stop_command), **argv = NULL;
	struct sandbox decided;

	if (sandboxing_decide_judge(&decided, t->sandbox, &m->agent, m->tools, m->tool_count,
	    err) == 0)
		argv = sandbox_holds(&decided) ? sandbox_argv(&decided, NULL, NULL, NULL, words) :
		    list_copy(words);
	free((void *)words);
	return argv;
}

/* Asks the stop command, which reads the last text: 0 ends, 1 goes on. */
static int
loop_ask_stop_command(struct loop *l, struct error *err)
{
	const struct turns *t = l->turns;
	struct subprocess process = { .environment = t->environment->list,
	    .input = buffer_string(&l->text), .input_len = l->text.len };
	int status = FAILED;

	if (t->member->agent.stop_command == NULL)
		return CONTINUES;
	if (loop_went_on(l) && t->recalled->mode == RECALL_RESUME)
		return loop_was_sent_back(l) ? loop_finish(l, err) : CONTINUES;
	process.argv = stop_argv(t, err);
	if (process.argv == NULL)
		return FAILED;
	process.timeout_ms = loop_time(l);
	process.timeout_ms = process.timeout_ms == -1 ? 1 : process.timeout_ms;
	if (subprocesses_run(&process, 1, t->interrupts, err) == 0)
		status = process.error.code == ERROR_NONE ? ENDED :
		    process.error.code == ERROR_EXIT_STATUS && process.exit_code == 1 ? CONTINUES : FAILED;
	if (status == ENDED)
		status = loop_finish(l, err);
	else if (status == FAILED && process.error.code != ERROR_NONE)
		error_set(err, process.error.code, t->member->agent.name, "the command of stop_when: %s",
		    process.error.message);
	subprocess_free(&process);
	list_free((char **)(uintptr_t)process.argv);
	return status;
}

static int
loop_take_answer(struct loop *l, const char *answer_id, struct error *err)
{
	struct tool_runs runs;
	int status;

	loop_take_text(l);
	loop_keep_answer(l);
	tool_runs_begin(&runs, l->turns, loop_offered(l), answer_id);
	runs.withheld = &l->withheld;
	runs.went_on = loop_went_on(l);
	tool_runs_take(&runs, l->answer.blocks);
	status = runs.count == 0 ? loop_conclude(l, err) : loop_run_tools(l, &runs, err);
	tool_runs_free(&runs);
	return status == CONTINUES && !l->sent_back ? loop_ask_stop_command(l, err) : status;
}

/* Another agent goes on, if the answer said so. */
static int
loop_pass_on(struct loop *l, struct error *err)
{
	return l->next == NULL ? CONTINUES : loop_hand_over(l, err);
}

/* Whether another turn is within the limits. */
static int
loop_check_limits(const struct loop *l, struct error *err)
{
	const struct agent *agent = &l->turns->member->agent;

	if (agent->max_turns != 0 && l->turn >= agent->max_turns)
		return error_set(err, ERROR_MAX_TURNS, agent->name,
		    "reached max_turns (%lld) without a result", (long long)agent->max_turns);
	if (agent->max_tokens_total != 0 && loop_tokens(l) >= agent->max_tokens_total)
		return error_set(err, ERROR_MAX_TOKENS, agent->name,
		    "reached max_tokens_total (%lld of %lld) without a result",
		    (long long)loop_tokens(l), (long long)agent->max_tokens_total);
	return phases_check_limit(l, err);
}

static int
loop_turn(struct loop *l, struct error *err)
{
	struct request request = { .text = BUFFER_INIT };
	char answer_id[ID_SIZE];
	int64_t duration_ms;
	bool recorded;
	int status;

	l->sent_back = false;
	if (loop_check_limits(l, err) == -1)
		return FAILED;
	status = loop_refresh_mcp(l, err);
	if (status == CONTINUES)
		status = loop_before_turn(l, err);
	if (status != CONTINUES)
		return status;
	loop_request(l, &request);
	status = loop_recall_answer(l, &request, answer_id, err);
	recorded = status == 1;
	if (status == 0)
		status = loop_ask(l, &request, &duration_ms, err) == -1 ? -1 :
		    loop_record_answer(l, &request, duration_ms, answer_id, err);
	buffer_free(&request.text);
	if (status == -1 || loop_add_cost(l, recorded, err) == -1)
		return FAILED;
	loop_add_usage(l);
	status = loop_take_answer(l, answer_id, err);
	l->turn++;
	return status == CONTINUES ? loop_pass_on(l, err) : status;
}

/* A replay that comes to a result sooner than the recorded call did. */
static int
loop_check_end(const struct loop *l, struct error *err)
{
	const struct recalled *r = l->turns->recalled;

	if (r == NULL || r->mode != RECALL_REPLAY || recalled_answer(r, l->turn) == NULL)
		return ENDED;
	return error_set(err, ERROR_DIVERGENCE, l->turns->member->agent.name,
	    "turn %lld: ends with a result, the recorded call went on", (long long)l->turn - 1);
}

int
turns_run(struct turns *t, struct error *err)
{
	struct writer w;
	struct loop l;
	int status = loop_begin(&l, t, err);

	if (status == 0 && interrupted(t->interrupts, err))
		status = FAILED;
	if (status == 0 && phases_given(&l))
		status = phases_start(&l, err);
	if (status == 0)
		status = loop_recall_prompt(&l, err);
	while (status == CONTINUES)
		status = loop_turn(&l, err);
	if (status == ENDED)
		status = loop_check_end(&l, err);
	if (phases_leave(&l, status == ENDED ? NULL : err, err) == -1)
		status = FAILED;
	writer_begin(&w, &t->usage);
	write_usage(&l, &w);
	loop_free(&l);
	return status == ENDED ? 0 : -1;
}

int
turns_request(const struct turns *t, struct buffer *out, struct error *err)
{
	struct turns copy = *t;
	struct request request = { .text = BUFFER_INIT };
	struct loop l;
	int status = loop_begin(&l, &copy, err);

	if (status == 0) {
		loop_request(&l, &request);
		buffer_text(out, "{\"id\":1,");
		if (t->step != NULL)
			buffer_format(out, "\"step\":\"%s\",", t->step);
		buffer_append(out, request.text.data + 1, request.text.len - 1);
	}
	buffer_free(&request.text);
	loop_free(&l);
	return status;
}

int
turns_operation(struct turns *t, const struct tool *tool, struct span input,
    struct error *err)
{
	struct buffer name = BUFFER_INIT;
	struct tool_runs runs;
	int status;

	json_quote(&name, tool->name, strlen(tool->name));
	tool_runs_begin(&runs, t, NULL, NULL);
	tool_runs_add(&runs, span_of(name.data, name.len),
	    span_of("\"" OPERATION_ID "\"", sizeof OPERATION_ID + 1), input);
	runs.list[0].tool = tool;
	status = tool_runs_run(&runs, err);
	t->exit_code = runs.list[0].process.exit_code;
	if (status == 0 && runs.list[0].source == TOOL_TAKEN)
		call_follow_recorded(t->call, runs.list[0].resulted, t->started);
	if (status == 0 && runs.list[0].error.code != ERROR_NONE) {
		/* That of a recorded result does not say which tool it is. */
		if (runs.list[0].source != TOOL_RECORDED ||
		    !recalled_error(recalled_result(t->recalled), err))
			*err = runs.list[0].error;
		status = -1;
	}
	if (status == 0 || runs.list[0].source == TOOL_RUN)
		buffer_append(&t->result, runs.list[0].output.data, runs.list[0].output.len);
	tool_runs_free(&runs);
	buffer_free(&name);
	return status;
}

static struct recalled_event *
event_of(const struct recalled *r, struct span id)
{
	for (size_t i = 0; i < r->event_count; i++)
		if (span_is(id, r->events[i].id))
			return &r->events[i];
	return NULL;
}

/* Records a recorded event once more, under its id. */
static int
turns_repeat(struct turns *t, struct recalled_event *e, struct error *err)
{
	struct buffer payload = BUFFER_INIT;
	int status;

	buffer_append(&payload, e->view.payload.at, e->view.payload.len);
	call_name_next(t->call, e->id);
	status = call_event(t->call, e->view.type, NULL, &payload, NULL, err);
	e->used = true;
	buffer_free(&payload);
	return status;
}

int
turns_repeat_tries(struct turns *t, const struct tool *tool, struct span input,
    struct error *err)
{
	struct recalled *r = t->recalled;
	const struct recall_tool last = { NULL, tool->name, OPERATION_ID, input };
	struct recalled_event *e = recalled_tool_call(r, &last);
	struct recalled_event **tries = memory_array(NULL, r->event_count + 1, sizeof *tries);
	size_t count = 0;
	int status = 0;

	/* Each follows the one before; the first, the start of its attempt. */
	while (e != NULL && count < r->event_count &&
	    (e = event_of(r, e->view.parent_event_id)) != NULL)
		tries[count++] = e;
	while (status == 0 && count-- > 0)
		status = turns_repeat(t, tries[count], err);
	free(tries);
	return status;
}

void
turns_free(struct turns *t)
{
	buffer_free(&t->result);
	buffer_free(&t->usage);
	buffer_free(&t->retries);
}
