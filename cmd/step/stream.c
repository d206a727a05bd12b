/*
 * Items are called for in order, and lines are written as soon as their call has ended: one
 * call after the other here, or as the options say.
 */
#include "step/stream_parts.h"

#include <string.h>

static int
run_serially(struct stream *s, struct error *err)
{
	struct step_result result = { .out = BUFFER_INIT };
	struct error wrong = ERROR_INIT;
	struct item item;
	int64_t index;
	int got, done = 0;

	memset(&item, 0, sizeof item);
	while ((got = stream_next(s, &item, &index, &wrong)) == 1) {
		if (stream_must_stop(s, &result))
			break;
		done = stream_call_item(s, &item, index, &result, err);
		if (done == -1 || stream_must_stop(s, &result))
			break;
	}
	if (done == 0 && got == -1)
		done = stream_fail_read(s, &wrong, err);
	else if (done == 0 && got == 0)
		done = stream_judge_end(s, err);
	item_free(&item);
	buffer_free(&result.out);
	return done;
}

static int
run_without_input(struct stream *s, struct error *err)
{
	struct step_result result = { .out = BUFFER_INIT };
	const volatile int *signalled = s->step->interrupts.signal_number;
	struct item item;
	int done;

	if (signalled != NULL && *signalled != 0)
		return 0; /* before anything began: there is nothing to be in doubt about */
	memset(&item, 0, sizeof item);
	data_null(&item.data);
	done = stream_call_item(s, &item, s->index++, &result, err);
	if (done == 0)
		stream_must_stop(s, &result);
	item_free(&item);
	buffer_free(&result.out);
	return done;
}

int
stream_run(struct stream *s, struct error *err)
{
	s->producers.roster = s->roster;
	s->producers.enclosing = s->step->enclosing;
	s->producers.run = s->step->run;
	if (s->reader->form == INPUT_NONE)
		return run_without_input(s, err);
	if (s->joined)
		return stream_run_joined(s, err);
	return s->jobs > 1 ? stream_run_parallel(s, err) : run_serially(s, err);
}

/* ---- what would be done ---- */

static int
describe_each(struct stream *s, struct buffer *out, struct error *err)
{
	struct item item;
	int got = 0;

	memset(&item, 0, sizeof item);
	while (got == 0 && (got = state_reader_next(s->reader, &item, err)) == 1)
		got = stream_describe_item(s, &item, out, err);
	if (got == 0 && stream_lacks_input(s))
		got = stream_no_input(s, err);
	item_free(&item);
	return got;
}

int
stream_describe(struct stream *s, struct buffer *out, struct error *err)
{
	struct item nothing;
	int done;

	if (s->reader->form != INPUT_NONE)
		return s->joined ? stream_describe_joined(s, out, err) : describe_each(s, out, err);
	memset(&nothing, 0, sizeof nothing);
	data_null(&nothing.data);
	done = stream_describe_item(s, &nothing, out, err);
	item_free(&nothing);
	return done;
}

void
stream_free(struct stream *s)
{
	stream_forget_ahead(s);
	producers_free(&s->producers);
}
