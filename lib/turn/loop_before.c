/*
 * Runs the before_turn program before each turn; its answer is an event, and later events follow
 * it. A resumed call takes the recorded answer; a replay runs the program again and compares.
 */
#include <stdlib.h>
#include <string.h>

#include "definitions/trust.h"
#include "json/writer.h"
#include "proc/subprocess.h"
#include "transcript/event_keys.h"
#include "turn/loop.h"
#include "turn/toolrun.h"

static int
read_change(struct loop *l, struct span answer, struct error *err)
{
	const struct agent *agent = &l->turns->member->agent;
	struct error why = ERROR_INIT;

	if (change_read(&l->turn.change, answer.at, answer.len, &l->tools.offer, agent->params,
	    &why) == 0)
		return 0;
	return error_set(err, why.code, agent->name, "the answer of before_turn: %s", why.message);
}

/* Runs the program, which reads the request that is about to be sent; it may answer nothing. */
static int
ask_program(struct loop *l, struct error *err)
{
	const struct turns *t = l->turns;
	const struct agent *agent = &t->member->agent;
	struct subprocess process = { .environment = t->environment->list,
	    .timeout_ms = turns_time(t, agent->limits.before_turn_ms) };
	struct trust_items items = { NULL, 0 };
	struct buffer input = BUFFER_INIT;
	struct writer w;
	char **argv;
	int status;

	if (interrupts_arrived(t->interrupts, err) || pins_check(&agent->pins, err) != 0)
		return -1;
	process.argv = argv = agent_command(agent->before_turn);
	if (trust_is_checked_anew())
		trust_add_command(&items, agent, "before_turn", argv);
	if (trust_check_anew(&items, err) != 0) {
		free(argv);
		return -1;
	}
	writer_begin(&w, &input);
	writer_object(&w);
	writer_member_integer(&w, "turn", l->turn.number);
	writer_member_string(&w, "agent", agent->name);
	writer_key(&w, "usage");
	usage_write(&l->conversation.usage, &w);
	loop_write_asked(l, &w);
	writer_object_end(&w);
	buffer_byte(&input, '\n');

	process.input = input.data;
	process.input_len = input.len;
	status = subprocesses_run(&process, 1, t->interrupts, err);
	if (status == 0 && process.error.code != ERROR_NONE)
		status = error_set(err, process.error.code, agent->name, "the command of before_turn: %s",
		    process.error.message);
	if (status == 0)
		status = read_change(l, span_of(buffer_string(&process.output), process.output.len), err);
	subprocess_free(&process);
	buffer_free(&input);
	free((void *)argv);
	return status;
}

/* Applies the program's answer to the turn. A result from the program cannot be sent back. */
static int
loop_apply_change(const struct loop *l, struct error *err)
{
	const struct agent *agent = &l->turns->member->agent;
	const struct change *c = &l->turn.change;
	struct buffer why = BUFFER_INIT;
	int status = CONTINUES;

	if (c->result.at != NULL && output_schema_check(&agent->output, c->result, &why) == 0) {
		buffer_append(&l->turns->outcome.result, c->result.at, c->result.len);
		status = ENDED;
	} else if (c->result.at != NULL) {
		status = error_set(err, ERROR_SCHEMA, agent->name,
		    "the result of before_turn does not keep to output_schema: %s", why.data);
	} else if (c->failure.at != NULL) {
		span_decode(c->failure, &why);
		status = error_set(err, ERROR_BLOCKED, agent->name, "before_turn: %s",
		    buffer_string(&why));
	}
	buffer_free(&why);
	return status;
}

int
loop_before_turn(struct loop *l, struct error *err)
{
	static const struct user_message message = { .kind = MESSAGE_CHANGE };
	const struct recalled *r = l->turns->recalled;
	const struct agent *agent = &l->turns->member->agent;
	const struct buffer *text = &l->turn.change.text;
	const bool replays = recalled_replays(r);
	const struct recalled_event *told;
	struct span recorded = SPAN_NONE;
	struct error ended = ERROR_INIT;

	change_free(&l->turn.change);
	if (agent->before_turn == NULL)
		return CONTINUES;

	/* The event with the recorded prompt; if there is none, but the model has answered, none
	 * was needed. */
	told = loop_recorded_prompt(l);
	if (told != NULL)
		recorded = span_member(told->view.payload, KEY_BEFORE_TURN);
	if (recorded.at == NULL)
		told = NULL;
	if (replays && told == NULL && recalled_answer(r, l->turn.number) == NULL &&
	    ended_by_circumstance(r, &ended))
		return loop_recorded_end(l, err);
	if (r != NULL && !replays && told == NULL && recalled_answer(r, l->turn.number) != NULL)
		return CONTINUES;

	/* If the call failed because of the program, run it again. */
	if (!replays && told != NULL && span_path(recorded, "end", "error", NULL).at == NULL) {
		call_follow_recorded(l->turns->call, told->id, l->turns->started);
		return read_change(l, recorded, err) == -1 ? FAILED : loop_apply_change(l, err);
	}
	if (ask_program(l, err) == -1)
		return FAILED;
	if (replays && (text->len != recorded.len ||
	    (recorded.at != NULL && memcmp(buffer_string(text), recorded.at, recorded.len) != 0)))
		return error_set(err, ERROR_DIVERGENCE, agent->name,
		    "turn %lld: the answer of before_turn is %.*s, the recorded one %.*s",
		    (long long)l->turn.number, text->len > 120 ? 120 : (int)text->len,
		    buffer_string(text), recorded.len > 120 ? 120 : (int)recorded.len,
		    recorded.at == NULL ? "" : recorded.at);
	if (text->len > 0) {
		if (replays)
			call_name_next(l->turns->call, told->id);
		if (loop_record_user(l, &message, err) == -1)
			return FAILED;
	}
	return loop_apply_change(l, err);
}
