/*
 * A turn in order: limits, servers, before_turn, the request, the recorded answer or the
 * model's, its tools or its end, and who goes on. Each part says whether the loop continues,
 * ends or fails.
 */
#include "agent/turn.h"

#include <stdlib.h>
#include <string.h>

#include "agent/loop.h"
#include "agent/toolrun.h"
#include "base/memory.h"
#include "json/writer.h"

/* Begins the conversation with the prompt. loop_free() is called either way. */
static int
loop_begin(struct loop *l, struct turns *t, struct error *err)
{
	struct buffer blocks = BUFFER_INIT;
	struct writer w;

	*l = (struct loop){ .turns = t, .lead = t->member, .deadline = t->deadline };
	digest_begin(&l->conversation.asked);
	usage_begin(&l->conversation.usage);
	if (phases_given(l) && phases_begin(l, err) == -1)
		return -1;
	if (loop_session(l) == NULL)
		buffer_append(&l->conversation.messages, t->before.at, t->before.len);
	writer_begin(&w, &blocks);
	if (t->attachments != NULL)
		attachments_write_blocks(t->attachments, &w, t->shown);
	loop_write_prompt(&w, l, NULL);
	loop_add_message(l, "user", blocks.data, blocks.len);
	buffer_free(&blocks);
	if (loop_begin_mcp(l, loop_first_prompt(l), err) == -1)
		return -1;
	return loop_offer(l, err);
}

static void
loop_free(struct loop *l)
{
	loop_withdraw(l);
	mcp_tools_free(&l->tools.mcp);
	phases_free(&l->phases);
	buffer_free(&l->conversation.messages);
	buffer_free(&l->conversation.text);
	change_free(&l->turn.change);
	answer_free(&l->turn.answer);
	emitted_free(&l->turn.emitted);
	partial_clear(&l->turn.partial);
}

/* Whether another turn is within the limits. */
static int
check_limits(const struct loop *l, struct error *err)
{
	const struct agent *agent = &l->turns->member->agent;
	int64_t tokens = usage_total(&l->conversation.usage);

	if (agent->max_turns != 0 && l->turn.number >= agent->max_turns)
		return error_set(err, ERROR_MAX_TURNS, agent->name,
		    "reached max_turns (%lld) without a result", (long long)agent->max_turns);
	if (agent->max_tokens_total != 0 && tokens >= agent->max_tokens_total)
		return error_set(err, ERROR_MAX_TOKENS, agent->name,
		    "reached max_tokens_total (%lld of %lld) without a result", (long long)tokens,
		    (long long)agent->max_tokens_total);
	return phases_check_limit(l, err);
}

/* The text of an answer, its parts in a row; an answer without any leaves the text
 * before it. After a tool that was called it begins anew, whether its result was told or
 * not: what was said before was on the way. */
static void
take_text(struct loop *l)
{
	struct buffer text = BUFFER_INIT;
	bool anew = false;

	for (struct span_walk block = span_walk(l->turn.answer.blocks); span_next(&block);) {
		struct span type = span_member(block.value, "type");
		struct span part = span_member(block.value, "text");

		anew |= span_is(type, "tool_use") || span_is(type, "tool_result");
		if (!span_is(type, "text") || span_is(part, ""))
			continue;
		if (anew)
			buffer_clear(&text);
		anew = false;
		span_decode(part, &text);
	}
	if (text.len != 0) {
		buffer_free(&l->conversation.text);
		l->conversation.text = text;
	}
}

/* An answer that calls no tool: it is the result, unless the model was cut off,
 * refused, or only paused. */
static int
conclude(struct loop *l, struct error *err)
{
	const char *name = l->turns->member->agent.name;
	struct span reason = l->turn.answer.stop_reason;

	if (span_is(reason, "pause"))
		return CONTINUES;
	if (span_is(reason, "max_tokens"))
		return error_set(err, ERROR_MAX_TOKENS, name,
		    "the answer was cut off at the limit of tokens (max_tokens)");
	if (span_is(reason, "refusal"))
		return error_set(err, ERROR_REFUSED, name, "the model refused%s%s",
		    l->conversation.text.len == 0 ? "" : ": ", buffer_string(&l->conversation.text));
	if (phases_given(l))
		return phases_remind(l, err);
	return loop_finish(l, err);
}

/* The input of the stop tool, if it was called as it should be, is the result. */
static bool
stopped_by_tool(struct loop *l, const struct tool_runs *runs)
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

/* Runs the tools that the answer calls, and adds their results to the conversation. */
static int
run_tools(struct loop *l, struct tool_runs *runs, struct error *err)
{
	struct buffer blocks = BUFFER_INIT;
	int status = tool_runs_run(runs, err);

	follow_results(runs, l->turns->call);
	if (status == -1)
		return FAILED;
	if (stopped_by_tool(l, runs))
		return ENDED;
	if (loop_count_refused(l, runs, err) == -1)
		return FAILED;
	tool_runs_blocks(runs, &blocks);
	loop_add_message(l, "user", blocks.data, blocks.len);
	buffer_free(&blocks);
	return phases_given(l) ? phases_move(l, err) : CONTINUES;
}

static int
take_turn(struct loop *l, struct error *err)
{
	struct request request = { .text = BUFFER_INIT };
	struct recalled_event *recorded;
	enum recall_verdict verdict;
	struct tool_runs runs;
	char id[ID_SIZE]; /* of the answer's event */
	struct span blocks;
	int status;

	l->turn.sent_back = false;
	if (check_limits(l, err) == -1)
		return FAILED;
	status = loop_refresh_mcp(l, err);
	if (status == CONTINUES)
		status = loop_before_turn(l, err);
	if (status != CONTINUES)
		return status;

	loop_request(l, &request);
	verdict = loop_recall(l, &recorded);
	switch (verdict) {
	case VERDICT_ASK:
		status = loop_ask(l, &request, id, err);
		break;
	case VERDICT_TAKE:
		status = loop_take_answer(l, recorded, &request, id, err);
		break;
	case VERDICT_REPEAT:
		status = loop_repeat_answer(l, recorded, &request, id, err);
		break;
	case VERDICT_END:
		status = loop_recorded_end(l, err);
		break;
	}
	buffer_free(&request.text);
	if (status == -1 || loop_add_cost(l, verdict != VERDICT_ASK, err) == -1)
		return FAILED;
	usage_add(&l->conversation.usage, l->turn.answer.usage);
	take_text(l);
	blocks = l->turn.answer.blocks;
	if (blocks.len > 2) /* an empty answer is not sent back: APIs refuse it */
		loop_add_message(l, "assistant", blocks.at + 1, blocks.len - 2);

	tool_runs_begin(&runs, l->turns, loop_offered(l), id);
	runs.withheld = &l->tools.withheld;
	runs.went_on = loop_went_on(l);
	tool_runs_take(&runs, blocks);
	status = runs.count == 0 ? conclude(l, err) : run_tools(l, &runs, err);
	tool_runs_free(&runs);

	if (status == CONTINUES && !l->turn.sent_back)
		status = loop_ask_stop_command(l, err);
	l->turn.number++;
	return status == CONTINUES && l->turn.next != NULL ? loop_hand_over(l, err) : status;
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
		status = take_turn(&l, err);
	if (status == ENDED && recalled_replays(t->recalled) &&
	    recalled_answer(t->recalled, l.turn.number) != NULL)
		status = error_set(err, ERROR_DIVERGENCE, t->member->agent.name,
		    "turn %lld: ends with a result, the recorded call went on",
		    (long long)l.turn.number - 1);
	if (phases_leave(&l, status == ENDED ? NULL : err, err) == -1)
		status = FAILED;
	writer_begin(&w, &t->usage);
	usage_write(&l.conversation.usage, &w);
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

void
turns_free(struct turns *t)
{
	buffer_free(&t->result);
	buffer_free(&t->usage);
	buffer_free(&t->retries);
}
