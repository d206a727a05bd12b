/*
 * Each round is given the one item of the round before, and follows that round's end and what
 * made its item. --while is the --when of a round, and asked of one more round than may be
 * made: only then it is known whether the limit ended the loop.
 */
#include "step/group.h"

#include <string.h>

/* The one item that round number `round` gave is the next one's. */
static void
take_output(struct step_call *call, int64_t round, struct step_result *result, struct item *item)
{
	struct state_reader r;
	struct error why;
	size_t count = 0;

	state_reader_begin(&r, -1, INPUT_STATE, call->step->run->id);
	state_reader_give(&r, &result->out);
	while (state_reader_next(&r, item, &why) == 1)
		count++;
	state_reader_free(&r);
	if (count != 1)
		error_set(&call->end.error, ERROR_INVALID_INPUT, NULL,
		    "round %lld gave %zu items; a round gives one", (long long)round, count);
}

/* The error of the call, which is that of its last round. */
static void
take_failure(struct step_call *call, int64_t round, const struct step_result *result)
{
	const struct error *why = &result->error;
	char text[sizeof why->place + sizeof why->message + 4];

	call->end.told = result->told;
	if (round >= call->step->max_rounds) /* which was not to be made any more */
		call->end.error = *why;
	else
		error_set(&call->end.error, why->code, NULL, "round %lld: %s", (long long)round,
		    error_text(why, text, sizeof text));
}

/* The next round follows the one before it, and what made its item. */
static void
note_causes(const struct step *s, int64_t round, const struct step_result *result,
    const struct item *item, struct buffer *causes)
{
	struct buffer maker = BUFFER_INIT;

	buffer_clear(causes);
	buffer_format(causes, "%s %s %s:%lld\n", s->run->id, result->ended, s->process,
	    (long long)round);
	step_causes(item, &maker);
	if (strstr(buffer_string(&maker), result->ended) == NULL)
		buffer_append(causes, buffer_string(&maker), maker.len);
	buffer_free(&maker);
}

int
group_run_loop(struct step_call *call, struct error *err)
{
	const struct step *s = call->step;
	struct error *error = &call->end.error;
	struct group group;
	struct item item;                 /* what the last round gave; at first, the call's */
	struct buffer causes = BUFFER_INIT;
	struct step_result result;
	int64_t round;
	int made = 0;

	memset(&item, 0, sizeof item);
	memset(&result, 0, sizeof result);
	group_open(&group, call);
	group.step.when = s->proceed;
	group_take_input(call, &item);
	step_causes(&item, &causes);
	for (round = 0;; round++) {
		if (round >= s->max_rounds && s->proceed.text == NULL) {
			if (s->until.text != NULL)
				error_set(error, ERROR_MAX_ITERATIONS, NULL, "no end after %lld rounds",
				    (long long)round);
			break;
		}
		/* With --while a further one may still find that none is to be made. */
		group.step.spent = round >= s->max_rounds;
		made = group_call(&group, &item, &causes, round, &result, err);
		if (made == -1)
			break;
		if (result.error.code != ERROR_NONE)
			take_failure(call, round, &result);
		else if (!result.skipped)
			take_output(call, round, &result, &item);
		if (result.skipped || result.until || error->code != ERROR_NONE)
			break;
		note_causes(&group.step, round, &result, &item, &causes);
	}
	if (result.ended[0] != '\0')
		call_add_link(&call->events, result.ended);
	if (made == 0 && error->code == ERROR_NONE)
		step_pass(call, &item);
	group_close(&group);
	item_free(&item);
	buffer_free(&causes);
	buffer_free(&result.out);
	return made;
}
