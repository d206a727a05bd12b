/*
 * The program is asked before each turn; what it answered is an event, followed as any other.
 * A call that is gone on with takes the recorded answer, a replay asks again and compares.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/loop.h"
#include "json/writer.h"
#include "proc/subprocess.h"
#include "transcript/event_keys.h"

/* What is to be asked, for the program to read. */
static void
describe_turn(const struct loop *l, struct buffer *out)
{
	struct writer w;

	writer_begin(&w, out);
	writer_object(&w);
	writer_member_integer(&w, "turn", l->turn.number);
	writer_member_string(&w, "agent", l->turns->member->agent.name);
	writer_key(&w, "usage");
	usage_write(&l->conversation.usage, &w);
	loop_write_asked(l, &w);
	writer_object_end(&w);
	buffer_byte(out, '\n');
}

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

/* Runs the program, and reads its answer, which may be of nothing. */
static int
ask_program(struct loop *l, struct error *err)
{
	const struct turns *t = l->turns;
	const struct agent *agent = &t->member->agent;
	int64_t left = loop_time_left(l);
	char **argv = agent_command(agent->before_turn);
	struct subprocess process = { .argv = argv, .environment = t->environment->list,
	    .timeout_ms = agent->before_turn_ms };
	struct buffer input = BUFFER_INIT;
	int status = -1;

	if (left != 0 && (process.timeout_ms == 0 || left <= process.timeout_ms))
		process.timeout_ms = left < 0 ? 1 : left;
	if (!interrupted(t->interrupts, err) && pins_check(&agent->pins, err) == 0) {
		describe_turn(l, &input);
		process.input = input.data;
		process.input_len = input.len;
		status = subprocesses_run(&process, 1, t->interrupts, err);
	}
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

/* What the recorded call says: *told is the event that told it something, NULL if nothing
 * did, and then its model has answered if there was no need to. What it failed by is asked
 * again. */
static enum recall_verdict
recall_change(const struct loop *l, const struct recalled_event **told)
{
	const struct recalled *r = l->turns->recalled;
	const struct recalled_event *e = loop_recorded_prompt(l);
	struct span change = e == NULL ? span_of(NULL, 0) : span_member(e->view.payload, KEY_BEFORE_TURN);

	*told = change.at == NULL ? NULL : e;
	if (r == NULL)
		return VERDICT_ASK;
	if (recalled_replays(r))
		return *told == NULL && loop_ends_as_recorded(l) ? VERDICT_END : VERDICT_REPEAT;
	if (*told == NULL)
		return recalled_answer(r, l->turn.number) == NULL ? VERDICT_ASK : VERDICT_TAKE;
	return span_path(change, "end", "error", NULL).at == NULL ? VERDICT_TAKE : VERDICT_ASK;
}

/* A replay asks again, and is to be told the same. */
static int
compare_change(const struct loop *l, struct span recorded, struct error *err)
{
	const struct buffer *text = &l->turn.change.text;

	if (text->len == recorded.len && (recorded.len == 0 ||
	    memcmp(text->data, recorded.at, recorded.len) == 0))
		return 0;
	return error_set(err, ERROR_DIVERGENCE, l->turns->member->agent.name,
	    "turn %lld: the answer of before_turn is %.*s, the recorded one %.*s",
	    (long long)l->turn.number, text->len > 120 ? 120 : (int)text->len, buffer_string(text),
	    recorded.len > 120 ? 120 : (int)recorded.len, recorded.at);
}

/* What the program makes of the turn. A result of its cannot be sent back. */
static int
apply(const struct loop *l, struct error *err)
{
	const struct agent *agent = &l->turns->member->agent;
	const struct change *c = &l->turn.change;
	struct buffer why = BUFFER_INIT;
	int status = CONTINUES;

	if (c->result.at != NULL && output_schema_check(&agent->output, c->result, &why) == 0) {
		buffer_append(&l->turns->result, c->result.at, c->result.len);
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
	struct call *call = l->turns->call;
	const struct recalled_event *told;
	struct span recorded = span_of("", 0);
	int status = 0;

	change_free(&l->turn.change);
	if (l->turns->member->agent.before_turn == NULL)
		return CONTINUES;
	enum recall_verdict verdict = recall_change(l, &told);

	if (told != NULL)
		recorded = span_member(told->view.payload, KEY_BEFORE_TURN);
	switch (verdict) {
	case VERDICT_END:
		return loop_recorded_end(l, err);
	case VERDICT_TAKE:
		if (told == NULL)
			break;
		call_follow_recorded(call, told->id, l->turns->started);
		status = read_change(l, recorded, err);
		break;
	case VERDICT_ASK:
	case VERDICT_REPEAT:
		status = ask_program(l, err);
		if (status == 0 && verdict == VERDICT_REPEAT)
			status = compare_change(l, recorded, err);
		if (status == -1 || l->turn.change.text.len == 0)
			break;
		if (verdict == VERDICT_REPEAT)
			call_name_next(call, told->id);
		status = loop_record_change(l, err);
		break;
	}
	return status == -1 ? FAILED : apply(l, err);
}
