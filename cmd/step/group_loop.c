/*
 * Each round is given the one item of the round before, and follows that round's end and what
 * made its item. --while is the --when of a round, and asked of one more round than may be
 * made: only then it is known whether the limit ended the loop.
 */
#include "step/group.h"

#include <string.h>

#include "base/memory.h"

/* A loop while its rounds are made. */
struct loop_state {
	struct group group;
	struct item item;            /* what the last round gave; at first, what the call was given */
	struct buffer causes;        /* of the next round */
	struct step_result result;   /* of the last round */
	int64_t rounds;
};

static void
loop_open(struct loop_state *l, struct step_call *call)
{
	memset(l, 0, sizeof *l);
	group_open(&l->group, call);
	l->group.step.when = call->step->proceed;
	group_take_input(call, &l->item);
	step_causes(&l->item, &l->causes);
}

static void
loop_close(struct loop_state *l)
{
	group_close(&l->group);
	item_free(&l->item);
	buffer_free(&l->causes);
	buffer_free(&l->result.out);
}

/* The error of the call, which is that of its last round. */
static void
fail(struct loop_state *l)
{
	struct step_call *call = l->group.call;
	char text[sizeof call->end.error.place + sizeof call->end.error.message + 4];

	call->end.told = l->result.told;
	if (l->group.step.spent) {
		call->end.error = l->result.error;
		return;
	}
	error_set(&call->end.error, l->result.error.code, NULL, "round %lld: %s", (long long)l->rounds,
	    error_text(&l->result.error, text, sizeof text));
}

/* The one item that the round gave is the next one's. */
static void
take_output(struct loop_state *l)
{
	struct step_call *call = l->group.call;
	struct state_reader r;
	struct error why;
	size_t count = 0;

	state_reader_begin(&r, -1, INPUT_STATE, call->step->run->id);
	state_reader_give(&r, &l->result.out);
	while (state_reader_next(&r, &l->item, &why) == 1)
		count++;
	state_reader_free(&r);
	if (count != 1)
		error_set(&call->end.error, ERROR_INVALID_INPUT, NULL,
		    "round %lld gave %zu items; a round gives one", (long long)l->rounds, count);
}

/* The next round follows the one before it, and what made its item. */
static void
note_causes(struct loop_state *l)
{
	const struct step *s = &l->group.step;
	struct buffer maker = BUFFER_INIT;

	buffer_clear(&l->causes);
	buffer_format(&l->causes, "%s %s %s:%lld\n", s->run->id, l->result.ended, s->process,
	    (long long)l->rounds);
	step_causes(&l->item, &maker);
	if (strstr(buffer_string(&maker), l->result.ended) == NULL)
		buffer_append(&l->causes, buffer_string(&maker), maker.len);
	buffer_free(&maker);
}

/* Whether no round may be made any more. With --while one may still find that none is
 * to be made. */
static bool
loop_ends(struct loop_state *l)
{
	struct step_call *call = l->group.call;
	const struct step *s = call->step;

	if (l->rounds < s->max_rounds)
		return false;
	l->group.step.spent = true;
	if (s->proceed.text != NULL)
		return false;
	if (s->until.text != NULL)
		error_set(&call->end.error, ERROR_MAX_ITERATIONS, NULL, "no end after %lld rounds",
		    (long long)l->rounds);
	return true;
}

/* 1: another one may follow. */
static int
make_round(struct loop_state *l, struct error *err)
{
	if (group_call(&l->group, &l->item, &l->causes, l->rounds, &l->result, err) == -1)
		return -1;
	if (l->result.error.code != ERROR_NONE)
		fail(l);
	else if (!l->result.skipped)
		take_output(l);
	if (l->result.skipped || l->result.until || l->group.call->end.error.code != ERROR_NONE)
		return 0;
	note_causes(l);
	l->rounds++;
	return 1;
}

int
group_run_loop(struct step_call *call, struct error *err)
{
	struct loop_state l;
	int going = 1;

	loop_open(&l, call);
	while (going == 1 && !loop_ends(&l))
		going = make_round(&l, err);
	if (l.result.ended[0] != '\0')
		call_add_link(&call->events, l.result.ended);
	if (going != -1 && call->end.error.code == ERROR_NONE)
		step_pass(call, &l.item);
	loop_close(&l);
	return going == -1 ? -1 : 0;
}
