/*
 * The program is asked before each turn; what it answered is an event, followed as any other.
 * A call that is gone on with takes the recorded answer, a replay asks again and compares.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/loop.h"
#include "json/writer.h"
#include "proc/subprocess.h"

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

/* The program's time limit, or what is left of the call's if that is less. */
static int64_t
time_limit(const struct loop *l)
{
	int64_t own = l->turns->member->agent.before_turn_ms, left = loop_time_left(l);

	if (left == 0 || (own != 0 && own < left))
		return own;
	return left < 0 ? 1 : left;
}

/* Runs the program; its answer, which may be of nothing. */
static int
ask_program(struct loop *l, struct buffer *answer, struct error *err)
{
	const struct turns *t = l->turns;
	const struct agent *agent = &t->member->agent;
	char **argv = agent_command(agent->before_turn);
	struct buffer input = BUFFER_INIT;
	struct subprocess process = { .argv = argv, .environment = t->environment->list,
	    .timeout_ms = time_limit(l) };
	int status;

	if (pins_check(&agent->pins, err) == -1) {
		free((void *)argv);
		return -1;
	}
	describe_turn(l, &input);
	process.input = input.data;
	process.input_len = input.len;
	status = subprocesses_run(&process, 1, t->interrupts, err);
	if (status == 0 && process.error.code != ERROR_NONE)
		status = error_set(err, process.error.code, agent->name, "the command of before_turn: %s",
		    process.error.message);
	if (status == 0)
		buffer_append(answer, buffer_string(&process.output), process.output.len);
	subprocess_free(&process);
	buffer_free(&input);
	free((void *)argv);
	return status;
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

/* What the recorded call was told before this turn; NULL: nothing. */
static const struct recalled_event *
recorded_change(const struct loop *l)
{
	const struct recalled_event *e = loop_recorded_prompt(l);

	return e == NULL || span_member(e->view.payload, "before_turn").at == NULL ? NULL : e;
}

/* Whether a call that is gone on with need not ask: it was told something else than to
 * fail, or nothing, and the model has answered. *taken: it has taken that. */
static bool
recall_change(struct loop *l, const struct recalled_event *e, int *status, struct error *err)
{
	const struct turns *t = l->turns;
	struct span change = e == NULL ? span_of("", 0) : span_member(e->view.payload, "before_turn");

	if (t->recalled == NULL || t->recalled->mode != RECALL_RESUME)
		return false;
	if (e == NULL)
		return recalled_answer(t->recalled, l->turn.number) != NULL;
	if (span_path(change, "end", "error", NULL).at != NULL)
		return false;
	call_follow_recorded(t->call, e->id, t->started);
	*status = read_change(l, change, err);
	return true;
}

/* A replay asks again, and is to be told the same. */
static int
compare_change(const struct loop *l, const struct recalled_event *e, struct error *err)
{
	struct span recorded = e == NULL ? span_of("", 0) : span_member(e->view.payload, "before_turn");
	const struct buffer *text = &l->turn.change.text;

	if (text->len == recorded.len && (recorded.len == 0 ||
	    memcmp(text->data, recorded.at, recorded.len) == 0))
		return 0;
	return error_set(err, ERROR_DIVERGENCE, l->turns->member->agent.name,
	    "turn %lld: the answer of before_turn is %.*s, the recorded one %.*s",
	    (long long)l->turn.number, text->len > 120 ? 120 : (int)text->len, buffer_string(text),
	    recorded.len > 120 ? 120 : (int)recorded.len, recorded.at);
}

static int
ask_change(struct loop *l, const struct recalled_event *e, struct error *err)
{
	struct turns *t = l->turns;
	struct buffer answer = BUFFER_INIT;
	bool replays = t->recalled != NULL && t->recalled->mode == RECALL_REPLAY;
	int status;

	if (interrupted(t->interrupts, err))
		return -1;
	status = ask_program(l, &answer, err);
	if (status == 0)
		status = read_change(l, span_of(buffer_string(&answer), answer.len), err);
	buffer_free(&answer);
	if (status == 0 && replays)
		status = compare_change(l, e, err);
	if (status == -1 || l->turn.change.text.len == 0)
		return status;
	if (e != NULL && replays)
		call_name_next(t->call, e->id);
	return loop_record_change(l, err);
}

/* A program's result cannot be sent back. */
static int
end_with(const struct loop *l, struct span result, struct error *err)
{
	const struct agent *agent = &l->turns->member->agent;
	struct buffer why = BUFFER_INIT;
	int status = ENDED;

	if (output_schema_check(&agent->output, result, &why) == 0)
		buffer_append(&l->turns->result, result.at, result.len);
	else
		status = error_set(err, ERROR_SCHEMA, agent->name,
		    "the result of before_turn does not keep to output_schema: %s", why.data);
	buffer_free(&why);
	return status;
}

/* What the program makes of the turn. */
static int
apply(const struct loop *l, struct error *err)
{
	const struct change *c = &l->turn.change;
	struct buffer why = BUFFER_INIT;

	if (c->result.at != NULL)
		return end_with(l, c->result, err);
	if (c->failure.at == NULL)
		return CONTINUES;
	span_decode(c->failure, &why);
	error_set(err, ERROR_BLOCKED, l->turns->member->agent.name, "before_turn: %s",
	    buffer_string(&why));
	buffer_free(&why);
	return FAILED;
}

int
loop_before_turn(struct loop *l, struct error *err)
{
	const struct recalled_event *e;
	int status = 0;

	change_free(&l->turn.change);
	if (l->turns->member->agent.before_turn == NULL)
		return CONTINUES;
	e = recorded_change(l);
	if (e == NULL && loop_ends_as_recorded(l))
		return loop_recorded_end(l, err);
	if (!recall_change(l, e, &status, err))
		status = ask_change(l, e, err);
	return status == -1 ? FAILED : apply(l, err);
}
