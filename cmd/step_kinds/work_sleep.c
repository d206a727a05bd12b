/*
 * --sleep, --sleep-until: the item passes on when a time has come, which is computed once, when the
 * call first begins, and recorded as what the call waits for. So whatever dies meanwhile, a further
 * attempt waits for the same time, and a replay for none. The process sleeps if not much is left;
 * otherwise the call ends as one that waits, and a resume after that time passes the item on.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "base/patience.h"
#include "decide/decision.h"
#include "model/waiting.h"
#include "step_call/step_call.h"
#include "step_kinds/kinds.h"
#include "transcript/event_keys.h"

static bool
sleep_asked(const struct step_options *o)
{
	return o->sleep.asked;
}

static void
sleep_define(const struct step *s, struct writer *w)
{
	writer_string(w, s->options.sleep.until != NULL ? "--sleep-until" : "--sleep");
	if (s->options.sleep.until != NULL)
		writer_string(w, s->options.sleep.until);
	else
		writer_integer(w, s->options.sleep.ms);
}

static int
sleep_describe(struct step *s, const struct item *item, struct buffer *out, struct error *err)
{
	struct writer w = step_describe_begin(out);

	(void)err;
	if (s->options.sleep.until != NULL)
		writer_member_string(&w, "sleep_until", s->options.sleep.until);
	else
		writer_member_integer(&w, "sleep_ms", s->options.sleep.ms);
	step_describe_end(&w, item);
	return 0;
}

static void
sleep_label(const struct step *s, struct buffer *out)
{
	char text[32];

	if (s->options.sleep.until != NULL)
		buffer_format(out, "sleeps until %s", s->options.sleep.until);
	else
		buffer_format(out, "sleeps %s", duration_text(s->options.sleep.ms, text, sizeof text));
}

/* When the item passes on, in µs since 1970: as an earlier attempt has recorded it. */
static int64_t
sleep_due(const struct step_call *call)
{
	const struct sleep_options *o = &call->step->options.sleep;
	const struct recalled *r = &call->verdict.recalled;
	char text[CLOCK_TEXT_SIZE];
	int64_t due;

	if (call->verdict.recalls && !r->changed && r->end == RECALL_WAITING &&
	    span_copy(span_path(recalled_result(r)->view.payload, KEY_APPROVAL, KEY_DEADLINE, NULL), text,
	    sizeof text) && clock_parse(text, 0, &due) == 0)
		return due;
	return o->until != NULL ? o->due : clock_wall() + o->ms * 1000;
}

static int
sleep_run(struct step_call *call, int repeats, struct error *err)
{
	const struct run *run = call->step->place.run;
	const int64_t due = sleep_due(call);
	int64_t now = clock_wall();

	(void)repeats;
	(void)err;
	/* What is not recorded cannot be resumed, so the process sleeps all the time. */
	while (now < due && (!run->keep_transcript || run->transcript.masked)) {
		const int64_t left = (due - now + 999) / 1000;

		if (interrupts_sleep(&call->step->place.interrupts, left < SLEEP_PIECE_MS ? left : SLEEP_PIECE_MS,
		    &call->end.error) == -1)
			return 0;
		now = clock_wall();
	}
	if (now < due)
		step_wait_until(call, due);
	else
		step_wake(call);
	return 0;
}

const struct work work_sleep = {
	.kind = "sleep",
	.asks = true,
	.asked = sleep_asked,
	.define = sleep_define,
	.describe = sleep_describe,
	.label = sleep_label,
	.judge = step_judge_decision,
	.run = sleep_run,
};
