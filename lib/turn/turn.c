/*
 * The order of a turn: limits, servers, before_turn, the request, the recorded or the model's
 * answer, its tools or its end, and which agent continues. Each part says whether the loop
 * continues, ends or fails.
 *
 * If the result must match a schema and does not, it is sent back. A stop command reads the last
 * text; exit status 0 ends the call, 1 continues it. If another agent takes over, it gets the
 * conversation; thoughts are left out if another model reads it, because they are signed for the
 * model that had them.
 *
 * An operation runs one tool call that no model asked for, with the same code as the tools of a
 * turn.
 */
#include "turn/turn.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/invariant.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "definitions/sandboxing.h"
#include "definitions/trust.h"
#include "json/writer.h"
#include "proc/last_words.h"
#include "proc/message.h"
#include "proc/process.h"
#include "transcript/event_keys.h"
#include "turn/loop.h"
#include "turn/toolrun.h"
#include "workspace/sandbox_environment.h"

#define INPUT_SHOWN 200  /* bytes of a tool's input, in a message */
#define BEGINNING_WIDTH 60 /* columns of an answer that breaks its schema, in a message */
#define OPERATION_ID "1" /* the call_id of an operation's tool call */

/* Begins the conversation with the prompt. The caller calls loop_free() even if this fails. */
static int
loop_begin(struct loop *l, struct turns *t, struct error *err)
{
	struct buffer blocks = BUFFER_INIT;
	struct writer w;

	*l = (struct loop){ .turns = t, .lead = t->member, .deadline = t->deadline,
	    .call_started = t->started, .throttle = THROTTLE_INIT };
	if (t->call != NULL && t->storage != NULL) {
		l->call_id = t->call->id;
		mailbox_open(&l->mailbox, t->storage, t->call->transcript->run_id, t->recalled != NULL ? 0 : t->mailbox_from);
	}
	live_begin(&l->live, t->live_place);
	digest_begin(&l->conversation.asked);
	usage_begin(&l->conversation.usage);
	if (phases_given(l) && phases_begin(l, err) == -1)
		return -1;
	if (t->continued != NULL && t->continued->session == NULL) {
		const struct buffer *before = &t->continued->messages;

		buffer_append(&l->conversation.messages, before->data, before->len);
		loop_add_givers_before(l);
	}
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
	live_end(&l->live);
	loop_withdraw(l);
	mailbox_free(&l->mailbox);
	mcp_tools_free(&l->tools.mcp);
	phases_free(&l->phases);
	buffer_free(&l->conversation.messages);
	givers_free(&l->conversation.givers);
	buffer_free(&l->conversation.text);
	change_free(&l->turn.change);
	answer_free(&l->turn.answer);
	emitted_free(&l->turn.emitted);
	loop_partial_clear(l);
}

/* ---- the result ---- */

/* Takes the last text as the result, which ends the call. A result that the agent's schema
 * refuses is sent back as often as the agent allows, with a message of the user that says what
 * is wrong. */
static int
turn_finish_call(struct loop *l, struct error *err)
{
	const struct agent *agent = &l->turns->member->agent;
	struct span text = span_of(buffer_string(&l->conversation.text), l->conversation.text.len);
	struct buffer *result = &l->turns->outcome.result, why = BUFFER_INIT, message = BUFFER_INIT;
	int status = ENDED;

	if (agent->output.schema == NULL) {
		json_quote(result, text.at, text.len);
	} else if (output_schema_read(&agent->output, text, result, &why) != 0) {
		if (l->conversation.repairs >= agent->answer.repairs) {
			if (text.len > 0)
				buffer_text(&why, "; it begins: ");
			text_visible(&why, text.at, text.len, BEGINNING_WIDTH);
			status = error_set(err, ERROR_SCHEMA, agent->name,
			    "the answer does not keep to output_schema: %s", why.data);
		} else {
			l->conversation.repairs++;
			l->turn.sent_back = true;
			buffer_format(&message, "The answer does not keep to the JSON Schema: %s\n\n"
			    "Give the whole answer again: the JSON value alone, nothing before or behind it.",
			    why.data);
			status = loop_prompt_again(l, &message, err);
		}
	}
	buffer_free(&why);
	buffer_free(&message);
	return status;
}

/* A stop command that failed may have needed a variable that it did not get. */
static void
turn_print_hint(const struct turns *t, const struct sandbox *sandbox,
    const struct subprocess *process)
{
	struct buffer line = BUFFER_INIT;

	if (process->exit_code < PROCESS_CANNOT_RUN && process->exit_code != SANDBOX_REFUSED &&
	    sandbox_environment_hint_of(t->environment, NULL, sandbox->passed, t->run_directory,
	    process->errors.data, process->errors.len, false, &line))
		message_print("awf-step", "%s: stop_when: %s", t->member->agent.name, buffer_string(&line));
	buffer_free(&line);
}

/* Runs the agent's stop command, if it has one, with the last text: the call continues or ends.
 * The command may run what the agent wrote, so it runs in the sandbox of the agent's tools. */
static int
ask_stop_command(struct loop *l, struct error *err)
{
	const struct turns *t = l->turns;
	const struct member *m = t->member;
	struct subprocess process = { .environment = t->environment->list,
	    .input = buffer_string(&l->conversation.text), .input_len = l->conversation.text.len };
	struct trust_items items = { NULL, 0 };
	struct sandbox decided;
	char **words, **argv;
	int status = FAILED;

	if (m->agent.stop_command == NULL)
		return CONTINUES;
	/* The recorded call continued, because its result was sent back or because the command
	 * said so. */
	if (loop_went_on(l) && t->recalled->mode == RECALL_RESUME) {
		const struct recalled_event *e = loop_recorded_prompt(l);

		/* What a person has told is no result that was sent back. */
		return e != NULL && span_element(span_member(e->view.payload, KEY_BLOCKS), 0).at != NULL &&
		    loop_recorded_word(l) == NULL && span_member(e->view.payload, KEY_COMPACT).at == NULL ? turn_finish_call(l, err) : CONTINUES;
	}

	if (sandboxing_decide_judge(&decided, t->sandbox, &m->agent, m->tools, m->tool_count,
	    err) == -1)
		return FAILED;
	words = agent_command(m->agent.stop_command);
	if (!sandbox_holds(&decided) && trust_is_checked_anew())
		trust_add_command(&items, &m->agent, "stop_when", words);
	if (trust_check_anew(&items, err) != 0) {
		free((void *)words);
		return FAILED;
	}
	argv = sandbox_holds(&decided) ? sandbox_argv(&decided, NULL, NULL, NULL, words) :
	    list_copy(words);
	free((void *)words);
	process.argv = argv;
	process.timeout_ms = turns_time(t, t->timeout_ms);
	if (subprocesses_run(&process, 1, t->interrupts, err) == 0)
		status = process.error.code == ERROR_NONE ? ENDED :
		    process.error.code == ERROR_EXIT_STATUS && process.exit_code == 1 ? CONTINUES : FAILED;
	if (status == FAILED && sandbox_holds(&decided) && process.error.code == ERROR_EXIT_STATUS)
		turn_print_hint(t, &decided, &process);
	if (status == ENDED)
		status = turn_finish_call(l, err);
	else if (status == FAILED && process.error.code != ERROR_NONE)
		error_set(err, process.error.code, m->agent.name, "the command of stop_when: %s",
		    process.error.message);
	subprocess_free(&process);
	list_free(argv);
	return status;
}

/* ---- the answer ---- */

/* The text of an answer, its parts joined. An answer without text keeps the text before it.
 * After a tool call the text begins anew, whether or not the result was told: what was said
 * before was not final. */
static void
turn_append_text(struct loop *l)
{
	struct buffer text = BUFFER_INIT;
	bool anew = false, answers = false;

	/* What a model says about its work is no part of the result, unless it says nothing else. */
	for (struct span_walk block = span_walk(l->turn.answer.blocks); span_next(&block);)
		answers |= span_is(span_member(block.value, KEY_TYPE), "text") &&
		    !span_is(span_member(block.value, KEY_TEXT), "") &&
		    !span_true(span_member(block.value, KEY_COMMENTARY));
	for (struct span_walk block = span_walk(l->turn.answer.blocks); span_next(&block);) {
		struct span type = span_member(block.value, KEY_TYPE);
		struct span part = span_member(block.value, KEY_TEXT);

		anew |= span_is(type, "tool_use") || span_is(type, "tool_result");
		if (!span_is(type, "text") || span_is(part, "") ||
		    (answers && span_true(span_member(block.value, KEY_COMMENTARY))))
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

/* 0 unless the model was cut off or refused. Then none of its calls is made, whole ones neither:
 * the one that was cut off may have been to prepare or to follow them. */
static int
turn_check_end(struct loop *l, struct error *err)
{
	const char *name = l->turns->member->agent.name;
	struct span reason = l->turn.answer.stop_reason;
	struct buffer why = BUFFER_INIT;

	if (span_is(reason, "max_tokens"))
		return error_set(err, ERROR_MAX_TOKENS, name,
		    "the answer was cut off at the limit of tokens (max_tokens)");
	if (!span_is(reason, "refusal"))
		return 0;
	span_decode(l->turn.answer.explanation, &why);
	if (why.len == 0)
		buffer_append(&why, buffer_string(&l->conversation.text), l->conversation.text.len);
	error_set(err, ERROR_REFUSED, name, "the model refused%s%s", why.len == 0 ? "" : ": ",
	    buffer_string(&why));
	buffer_free(&why);
	return -1;
}

/* Handles an answer that calls no tool: it is the result, unless the model only paused. */
static int
turn_conclude_answer(struct loop *l, struct error *err)
{
	if (span_is(l->turn.answer.stop_reason, "pause"))
		return CONTINUES;
	if (phases_given(l)) {
		struct buffer reminder = BUFFER_INIT;
		int status = phases_remind(l, &reminder, err);

		if (status == 0)
			status = loop_prompt_again(l, &reminder, err);
		buffer_free(&reminder);
		return status;
	}
	return turn_finish_call(l, err);
}

/* Whether the agent repeats itself: it makes the same calls as in the turns before, with the
 * same results. */
static int
check_stuck(struct loop *l, const struct tool_runs *runs, struct error *err)
{
	const struct agent *agent = &l->turns->member->agent;
	const struct tool_run *first = &runs->list[0];
	struct buffer text = BUFFER_INIT, input = BUFFER_INIT;
	char sha256[DIGEST_SIZE];
	int status = 0;

	for (size_t i = 0; i < runs->count; i++) {
		const struct tool_run *run = &runs->list[i];

		buffer_format(&text, "%s\n", run->name);
		scan_minify(run->asked, &text);
		buffer_format(&text, "\n%s\n%.*s\n", error_name(run->error.code),
		    (int)last_words_at(&run->error), run->error.message);
		buffer_append(&text, buffer_string(&run->output), run->output.len);
		buffer_byte(&text, '\n');
	}
	INVARIANT(runs->count > 0 && (agent->limits.stuck_after == 0 ||
	    l->conversation.same_calls < agent->limits.stuck_after));
	digest_sha256(text.data, text.len, sha256);
	if (strcmp(sha256, l->conversation.calls_sha256) != 0)
		l->conversation.same_calls = 0;
	memcpy(l->conversation.calls_sha256, sha256, sizeof sha256);
	if (++l->conversation.same_calls == agent->limits.stuck_after) {
		scan_minify(first->asked, &input);
		status = error_set(err, ERROR_STUCK, agent->name, "made the same tool call in %lld turns, and "
		    "the same came of it (stuck_after): %s %.*s", (long long)agent->limits.stuck_after, first->name,
		    INPUT_SHOWN, buffer_string(&input));
	}
	buffer_free(&input);
	buffer_free(&text);
	return status;
}

/* Runs the tools that the answer calls, and adds their results to the conversation. */
static int
run_tools(struct loop *l, struct tool_runs *runs, struct error *err)
{
	const struct agent *agent = &l->turns->member->agent;
	/* The tool whose input is the result, or contains it. */
	const char *result = phases_given(l) ? PHASE_FINISH : agent->stop_tool;
	struct call *call = l->turns->call;
	struct buffer blocks = BUFFER_INIT;
	int status = tool_runs_run(runs, err);
	const char **ids = memory_array(NULL, runs->count, sizeof *ids);
	size_t count = 0;

	/* The next event follows the results, in the order of the calls; through those made in
	 * this attempt it follows the attempt's start. */
	for (size_t i = 0; i < runs->count; i++) {
		if (runs->list[i].resulted[0] == '\0')
			continue;
		ids[count++] = runs->list[i].resulted;
		if (runs->list[i].source != TOOL_TAKEN)
			buffer_clear(&call->links);
	}
	INVARIANT(status == -1 || count == runs->count);
	call_follow(call, ids, count);
	free(ids);
	if (status == -1)
		return FAILED;

	/* A valid input of the stop tool is the result. */
	for (size_t i = 0; agent->stop_tool != NULL && i < runs->count; i++) {
		const struct tool_run *run = &runs->list[i];

		if (strcmp(run->name, agent->stop_tool) == 0 && run->error.code == ERROR_NONE &&
		    !loop_is_told_more(l)) {
			scan_minify(run->input, &l->turns->outcome.result);
			return ENDED;
		}
	}
	/* A call of it that was refused counts as a text that is sent back. */
	for (size_t i = 0; agent->output.schema != NULL && result != NULL && i < runs->count; i++) {
		const struct tool_run *run = &runs->list[i];

		if (strcmp(run->name, result) == 0 && run->error.code == ERROR_SCHEMA &&
		    l->conversation.repairs++ >= agent->answer.repairs)
			return error_set(err, ERROR_SCHEMA, agent->name, "%s: %s", result,
			    run->error.message);
	}

	if (check_stuck(l, runs, err) == -1)
		return FAILED;
	tool_runs_blocks(runs, &blocks);
	loop_add_message(l, "user", blocks.data, blocks.len);
	buffer_free(&blocks);
	return phases_given(l) ? phases_move(l, err) : CONTINUES;
}

/* ---- handing over ---- */

/* Removes the thoughts of a model, which only that model can read. */
static void
forget_thoughts(struct loop *l)
{
	struct buffer before = BUFFER_INIT, blocks = BUFFER_INIT;
	struct givers givers = l->conversation.givers;
	size_t i = 0;

	l->conversation.givers = (struct givers){ .list = NULL };
	buffer_format(&before, "[%s]", buffer_string(&l->conversation.messages));
	buffer_clear(&l->conversation.messages);
	for (struct span_walk message = span_walk(span_of(before.data, before.len));
	    span_next(&message); i++) {
		char *role = span_text(span_member(message.value, KEY_ROLE));

		buffer_clear(&blocks);
		for (struct span_walk block = span_walk(span_member(message.value, KEY_BLOCKS));
		    span_next(&block);) {
			if (span_is(span_member(block.value, KEY_TYPE), "thinking"))
				continue;
			if (blocks.len > 0)
				buffer_byte(&blocks, ',');
			buffer_append(&blocks, block.value.at, block.value.len);
		}
		if (blocks.len > 0)
			loop_add_message_of(l, role, blocks.data, blocks.len, &givers.list[i]);
		free(role);
	}
	givers_free(&givers);
	buffer_free(&blocks);
	buffer_free(&before);
}

/* Hands the conversation over to turn.next. */
static int
hand_over(struct loop *l, struct error *err)
{
	struct turns *t = l->turns;
	const struct member *to = l->turn.next;
	const struct user_message message = { .kind = MESSAGE_HANDOFF, .from = &t->member->agent };
	const struct asked asked = loop_asked(l);
	int64_t own;

	INVARIANT(to != NULL && to != t->member);
	own = clock_monotonic() + to->agent.limits.timeout_ms;
	if (strcmp(asked.provider, to->agent.provider) != 0 ||
	    strcmp(asked.model, to->agent.model) != 0)
		forget_thoughts(l);
	l->turn.next = NULL;
	l->conversation.repairs = l->conversation.same_calls = 0;
	l->conversation.handoffs++;
	l->conversation.fallen = 0;
	t->member = to;
	/* The time limit of the call, or that of the agent's part in it, whichever ends first. */
	t->deadline = l->deadline;
	if (to != l->lead && to->agent.limits.timeout_ms != 0 && (l->deadline == 0 || own < l->deadline))
		t->deadline = own;
	loop_forget_asked(l);
	if (loop_begin_mcp(l, loop_recorded_prompt(l), err) == -1 || loop_offer(l, err) == -1)
		return FAILED;
	return loop_tell(l, loop_recorded_prompt(l), &message, err);
}

/* ---- the turns ---- */

/* How large the conversation is, as the API has counted it. */
static void
note_tokens(struct loop *l)
{
	struct usage usage;

	usage_begin(&usage);
	usage_add(&usage, l->turn.answer.usage);
	l->conversation.tokens = usage_total(&usage);
	l->conversation.tokens_len = l->conversation.messages.len;
}

static int
turn_run_once(struct loop *l, struct error *err)
{
	const struct agent *agent = &l->turns->member->agent;
	const int64_t tokens = usage_total(&l->conversation.usage);
	struct request request = { .text = BUFFER_INIT };
	struct tool_runs runs;
	char id[ID_SIZE]; /* of the answer's event */
	struct span blocks;
	bool recorded;
	int status;

	l->turn.sent_back = false;
	if (agent->limits.max_turns != 0 && l->turn.number >= agent->limits.max_turns)
		return error_set(err, ERROR_MAX_TURNS, agent->name,
		    "reached max_turns (%lld) without a result", (long long)agent->limits.max_turns);
	if (agent->limits.max_tokens_total != 0 && tokens >= agent->limits.max_tokens_total)
		return error_set(err, ERROR_MAX_TOKENS, agent->name,
		    "reached max_tokens_total (%lld of %lld) without a result", (long long)tokens,
		    (long long)agent->limits.max_tokens_total);
	if (phases_check_limit(l, err) == -1)
		return FAILED;

	status = loop_hear(l, err);
	if (status == CONTINUES)
		status = loop_compact(l, err);
	if (status == CONTINUES)
		status = loop_refresh_mcp(l, err);
	if (status == CONTINUES)
		status = loop_before_turn(l, err);
	if (status != CONTINUES)
		return status;

	loop_request(l, &request);
	status = loop_recall_answer(l, &request, id, err);
	recorded = status == 1;
	if (status == 0)
		status = loop_ask(l, &request, id, err);
	buffer_free(&request.text);
	if (status == -1 || loop_count_answer(l, recorded, err) == -1)
		return FAILED;
	note_tokens(l);
	turn_append_text(l);
	/* An older recording may have gone on with what was cut off: it is replayed as it was. */
	if (!(recorded && recalled_answer(l->turns->recalled, l->turn.number + 1) != NULL) &&
	    turn_check_end(l, err) == -1)
		return FAILED;
	blocks = l->turn.answer.blocks;
	if (blocks.len > 2) /* do not send back an empty answer: APIs refuse it */
		loop_add_message(l, "assistant", blocks.at + 1, blocks.len - 2);

	tool_runs_begin(&runs, l->turns, loop_offered(l), id);
	runs.answers = true;
	runs.withheld = &l->tools.withheld;
	runs.went_on = loop_went_on(l);
	tool_runs_take(&runs, blocks);
	status = runs.count == 0 ? turn_conclude_answer(l, err) : run_tools(l, &runs, err);
	tool_runs_free(&runs);

	if (status == CONTINUES && !l->turn.sent_back)
		status = ask_stop_command(l, err);
	if (status == ENDED && loop_is_told_more(l)) {
		buffer_clear(&l->turns->outcome.result);
		status = CONTINUES;
	}
	l->turn.number++;
	return status == CONTINUES && l->turn.next != NULL ? hand_over(l, err) : status;
}

int
turns_run(struct turns *t, struct error *err)
{
	static const struct user_message prompt = { .kind = MESSAGE_PROMPT };
	struct writer w;
	struct loop l;
	int status = loop_begin(&l, t, err);

	if (status == 0 && interrupts_arrived(t->interrupts, err))
		status = FAILED;
	if (status == 0 && phases_given(&l))
		status = phases_start(&l, err);
	if (status == 0)
		status = loop_tell(&l, loop_first_prompt(&l), &prompt, err);
	while (status == CONTINUES)
		status = turn_run_once(&l, err);
	if (status == ENDED && recalled_replays(t->recalled) &&
	    recalled_answer(t->recalled, l.turn.number) != NULL)
		status = error_set(err, ERROR_DIVERGENCE, t->member->agent.name,
		    "turn %lld: ends with a result, the recorded call went on",
		    (long long)l.turn.number - 1);
	if (status == ENDED)
		loop_leave_mailbox(&l);
	if (phases_leave(&l, status == ENDED ? NULL : err, err) == -1)
		status = FAILED;
	writer_begin(&w, &t->outcome.usage);
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

/* ---- operations ---- */

int
turns_operation(struct turns *t, const struct tool *tool, struct span input,
    struct error *err)
{
	struct buffer name = BUFFER_INIT;
	struct tool_runs runs;
	const struct tool_run *run;
	int status;

	json_quote(&name, tool->name, strlen(tool->name));
	tool_runs_begin(&runs, t, NULL, NULL);
	tool_runs_add(&runs, span_of(name.data, name.len),
	    span_of("\"" OPERATION_ID "\"", sizeof OPERATION_ID + 1), input);
	runs.list[0].tool = tool;
	run = &runs.list[0];
	status = tool_runs_run(&runs, err);
	t->outcome.exit_code = run->process.exit_code;
	t->outcome.begun_elsewhere = run->far.begun;
	if (status == 0 && run->source == TOOL_TAKEN)
		call_follow_recorded(t->call, run->resulted, t->started);
	if (status == 0 && run->error.code != ERROR_NONE) {
		/* A recorded result's error does not say which tool it is. */
		if (run->source != TOOL_RECORDED ||
		    !recalled_error(recalled_result(t->recalled), err))
			*err = run->error;
		status = -1;
	}
	if (status == 0 || run->source == TOOL_RUN)
		buffer_append(&t->outcome.result, run->output.data, run->output.len);
	tool_runs_free(&runs);
	buffer_free(&name);
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

	/* Each answer follows the one before; the first follows the start of its attempt. */
	while (e != NULL && count < r->event_count) {
		size_t i = 0;

		while (i < r->event_count && !span_is(e->view.parent_event_id, r->events[i].id))
			i++;
		e = i < r->event_count ? &r->events[i] : NULL;
		if (e != NULL)
			tries[count++] = e;
	}
	while (status == 0 && count-- > 0)
		status = turns_repeat(t, tries[count], err);
	free(tries);
	return status;
}

void
turns_free(struct turns *t)
{
	buffer_free(&t->outcome.result);
	buffer_free(&t->outcome.usage);
	buffer_free(&t->outcome.retries);
}
