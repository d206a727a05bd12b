/*
 * An item goes to a worker as a struct and its bytes; the worker is the same program after a
 * fork(). A round delivers what was answered, gives out jobs while workers are free, and
 * waits for an answer or for input, if it could take any.
 */
#include "step/stream_parts.h"

#include <signal.h>
#include <string.h>

#include "step/answer.h"
#include "step/workers.h"

static void
pack(struct buffer *out, const struct buffer *bytes)
{
	uint64_t len = bytes->len;

	buffer_append(out, &len, sizeof len);
	buffer_append(out, buffer_string(bytes), bytes->len);
}

static const char *
unpack(const char *at, struct buffer *bytes)
{
	uint64_t len;

	memcpy(&len, at, sizeof len);
	buffer_append(bytes, at + sizeof len, (size_t)len);
	return at + sizeof len + len;
}

/* What travels with an item besides its bytes. */
struct job_head {
	int64_t index, compared;
	bool no_newline, base64, foreign;
};

static void
pack_item(const struct item *item, int64_t index, int64_t compared, struct buffer *job)
{
	struct job_head head;

	memset(&head, 0, sizeof head); /* its padding is sent too */
	head.index = index;
	head.compared = compared;
	head.no_newline = item->data.no_newline;
	head.base64 = item->data.base64;
	head.foreign = item->foreign;
	buffer_clear(job);
	buffer_append(job, &head, sizeof head);
	pack(job, &item->data.json);
	pack(job, &item->metadata);
	pack(job, &item->line);
}

static int64_t
unpack_item(const struct buffer *job, struct item *item, int64_t *compared)
{
	struct job_head head;
	const char *at = job->data + sizeof head;

	memset(item, 0, sizeof *item);
	memcpy(&head, job->data, sizeof head);
	*compared = head.compared;
	item->data.no_newline = head.no_newline;
	item->data.base64 = head.base64;
	item->foreign = head.foreign;
	at = unpack(at, &item->data.json);
	at = unpack(at, &item->metadata);
	unpack(at, &item->line);
	return head.index;
}

/* In a worker: one call. */
static void
work(void *context, const struct buffer *job, struct buffer *answer)
{
	struct stream *s = context;
	struct step_result result = { .out = BUFFER_INIT };
	struct error err = ERROR_INIT;
	struct item item;
	int64_t index = unpack_item(job, &item, &s->step->compared);
	int called = stream_call_gated(s, &item, index, &result, &err);

	answer_pack(answer, &result, called == -1 ? &err : NULL);
	item_free(&item);
	buffer_free(&result.out);
}

static void
work_ended(void *context)
{
	struct stream *s = context;

	if (s->step->team != NULL)
		team_stop(s->step->team);
	transcript_close(&s->step->run->transcript);
}

/* Writes what has been answered, in order. *stop is set once no job may follow. */
static int
deliver_answers(struct stream *s, struct workers *w, bool *stop, struct error *err)
{
	struct step_result result = { .out = BUFFER_INIT };
	struct buffer answer = BUFFER_INIT;
	int done = 0;

	while (done == 0 && workers_answer(w, &answer) == 1) {
		step_result_clear(&result);
		done = answer_unpack(&answer, &result, err);
		if (done == -1)
			break;
		done = stream_deliver(s, &result, err);
		*stop = *stop || result.stop || s->closed;
	}
	buffer_free(&answer);
	buffer_free(&result.out);
	return done;
}

/* Gives out jobs while workers are free. *got: as stream_take(). */
static int
give_jobs(struct stream *s, struct workers *w, int *got, struct error *wrong,
    struct error *err)
{
	struct buffer job = BUFFER_INIT;
	struct item item;
	int64_t index;
	int done = 0;

	memset(&item, 0, sizeof item);
	while (done == 0 && workers_ready(w)) {
		*got = stream_take(s, &item, &index, wrong);
		if (*got != 1)
			break;
		pack_item(&item, index, s->step->compared, &job);
		done = workers_job(w, &job, err);
	}
	item_free(&item);
	buffer_free(&job);
	return done;
}

int
stream_run_parallel(struct stream *s, struct error *err)
{
	const struct interrupts *interrupts = &s->step->interrupts;
	struct error wrong = ERROR_INIT, why = ERROR_INIT;
	struct workers w;
	bool stop = false, reading;
	int got = 0, done, woken;

	workers_open(&w, s->jobs, work, work_ended, s);
	/* A round: answers out, jobs in, wait. */
	while ((done = deliver_answers(s, &w, &stop, err)) == 0) {
		if (!stop && interrupted(interrupts, &why)) {
			s->closed = s->closed || why.code == ERROR_DOWNSTREAM_CLOSED;
			stop = true;
			if (why.code == ERROR_CANCELLED)
				workers_signal(&w, *interrupts->signal_number);
		}
		if (!stop && got != -1 && !stream_taken_all(s))
			done = give_jobs(s, &w, &got, &wrong, err);
		reading = !stop && got != -1 && !stream_taken_all(s);
		if (done == -1 || (!reading && workers_pending(&w) == 0))
			break;
		woken = workers_wait(&w,
		    reading && !s->ahead.ended && workers_ready(&w) ? s->reader->fd : -1, err);
		if (woken == 1 && state_reader_fill(s->reader, &wrong) == -1)
			got = -1;
		if (woken == -1) {
			done = -1;
			break;
		}
	}
	if (done == -1)
		workers_signal(&w, SIGTERM);
	workers_close(&w);
	if (done == 0 && got == -1)
		return stream_fail_read(s, &wrong, err);
	if (done == 0 && !stop)
		return stream_judge_end(s, err);
	return done;
}
