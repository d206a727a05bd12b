#include "agent/stream.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "exec/workers.h"
#include "json/writer.h"
#include "record/call.h"

/* ---- the input's producers ---- */

/* Remembers which process made an item, so that its death can be noticed. */
static void
note_producer(struct stream *s, const struct item *item)
{
	char *call = item->foreign ? NULL : item_metadata(item, "call");
	char *item_number = call == NULL ? NULL : strrchr(call, ':');
	size_t i;

	if (item_number == NULL) {
		free(call);
		return;
	}
	*item_number = '\0';
	for (i = s->producer_count; i > 0; i--)
		if (strcmp(s->producers[i - 1], call) == 0) {
			free(call);
			return;
		}
	s->producers = memory_array(s->producers, s->producer_count + 1, sizeof *s->producers);
	s->producers[s->producer_count++] = call;
}

/* Fills *why if a producer that the input named is dead. */
static bool
producer_dead(const struct stream *s, struct error *why)
{
	char *call;
	size_t i;
	bool dead = false;

	for (i = 0; i < s->producer_count && !dead; i++) {
		call = memory_format("%s:0", s->producers[i]);
		dead = roster_dead(s->roster, call);
		free(call);
		if (dead)
			error_set(why, ERROR_UPSTREAM_INCOMPLETE, NULL,
			    "the step %s died before its end of the input", s->producers[i]);
	}
	return dead;
}

/* ---- the output ---- */

/* The worse of two exit statuses. */
static int
worse(int a, int b)
{
	static const int ranks[] = { STATUS_OK, STATUS_WAITING, STATUS_USAGE, STATUS_WORK,
		STATUS_SYSTEM };
	size_t i, rank_a = 0, rank_b = 0;

	for (i = 0; i < sizeof ranks / sizeof *ranks; i++) {
		if (ranks[i] == a)
			rank_a = i;
		if (ranks[i] == b)
			rank_b = i;
	}
	return rank_a > rank_b ? a : b;
}

static int
deliver(struct stream *s, const struct step_result *result, struct error *err)
{
	s->status = worse(s->status, result->status);
	s->closed = s->closed || result->closed;
	if (result->report[0] != '\0')
		s->report(result->report);
	if (s->out == -1 || s->closed || result->out.len == 0)
		return 0;
	if (state_put(s->out, result->out.data, result->out.len,
	    s->step->interrupts.signal_number) == 0)
		return 0;
	if (errno == EINTR)
		return 0; /* the signal ends the stream */
	if (errno != EPIPE)
		return error_errno(err, ERROR_SYSTEM, "stdout", "unable to write");
	s->closed = true;
	return 0;
}

/* Whether no further call may begin. */
static bool
must_stop(struct stream *s, const struct step_result *result)
{
	struct error why = ERROR_INIT;

	if (!result->stop && !s->closed && !interrupted(&s->step->interrupts, &why))
		return false;
	if (why.code == ERROR_DOWNSTREAM_CLOSED)
		s->closed = true;
	return true;
}

/* ---- the input's end ---- */

static int
fail_input(struct stream *s, const struct item *item, const struct error *why,
    struct error *err)
{
	struct step_result result = { .out = BUFFER_INIT };
	struct item empty;
	int failed;

	memset(&empty, 0, sizeof empty);
	if (item == NULL) {
		data_null(&empty.data);
		item = &empty;
	}
	failed = step_fail(s->step, item, why, s->index++, &result, err);
	if (failed == 0)
		failed = deliver(s, &result, err);
	buffer_free(&result.out);
	item_free(&empty);
	return failed;
}

/* What the reader refused. A line cut off by a dead producer is that, no nonsense. */
static int
fail_read(struct stream *s, const struct error *wrong, struct error *err)
{
	struct error why = *wrong;

	if (wrong->code == ERROR_CANCELLED)
		return 0;
	if (wrong->code != ERROR_INVALID_INPUT) {
		*err = *wrong;
		return -1;
	}
	producer_dead(s, &why);
	return fail_input(s, NULL, &why, err);
}

/* Whether no input at all is a fault here. */
static bool
lacks_input(const struct stream *s)
{
	const struct state_reader *r = s->reader;

	return !r->any_byte && !s->allow_empty && r->form != INPUT_LINES &&
	    r->form != INPUT_NUL && r->form != INPUT_JSON && r->form != INPUT_NONE;
}

static int
no_input(struct error *err)
{
	return error_set(err, ERROR_NO_INPUT, "stdin",
	    "no input (-n if there is none to be, --allow-empty if there may be none)");
}

static int
judge_end(struct stream *s, struct error *err)
{
	struct error why = ERROR_INIT;

	if (lacks_input(s)) {
		no_input(&why);
		return fail_input(s, NULL, &why, err);
	}
	if (producer_dead(s, &why))
		return fail_input(s, NULL, &why, err);
	return 0;
}

/* ---- one call after the other ---- */

/* The call of an item, if the gate takes it. What failed before is no call's to make. */
static int
call_gated(struct stream *s, const struct item *item, int64_t index,
    struct step_result *result, struct error *err)
{
	const struct gate *gate = &s->step->gate;
	struct buffer causes = BUFFER_INIT;
	struct error why = ERROR_INIT;
	bool refused = gate->count > 0 && item_error(item).at == NULL &&
	    gate_pass(gate, item, &why) == -1;
	int called;

	step_causes(item, &causes);
	called = step_call(s->step, item, &causes, refused ? &why : NULL, index, result, err);
	buffer_free(&causes);
	return called;
}

static int
call_item(struct stream *s, const struct item *item, struct step_result *result,
    struct error *err)
{
	int called;

	step_result_clear(result);
	called = call_gated(s, item, s->index++, result, err);
	if (called == 0)
		called = deliver(s, result, err);
	return called;
}

static int
run_serially(struct stream *s, struct error *err)
{
	struct step_result result = { .out = BUFFER_INIT };
	struct error wrong = ERROR_INIT;
	struct item item;
	int got, done = 0;

	memset(&item, 0, sizeof item);
	while ((got = state_reader_next(s->reader, &item, &wrong)) == 1) {
		note_producer(s, &item);
		if (must_stop(s, &result))
			break;
		done = call_item(s, &item, &result, err);
		if (done == -1 || must_stop(s, &result))
			break;
	}
	if (done == 0 && got == -1)
		done = fail_read(s, &wrong, err);
	else if (done == 0 && got == 0)
		done = judge_end(s, err);
	item_free(&item);
	buffer_free(&result.out);
	return done;
}

static int
run_without_input(struct stream *s, struct error *err)
{
	struct step_result result = { .out = BUFFER_INIT };
	struct item item;
	int done;

	memset(&item, 0, sizeof item);
	data_null(&item.data);
	done = call_item(s, &item, &result, err);
	if (done == 0)
		must_stop(s, &result);
	item_free(&item);
	buffer_free(&result.out);
	return done;
}

/* ---- all items in one call ---- */

/* Items joined so far: the data of all, the metadata of the first. */
struct join {
	struct item item;
	struct buffer causes;
	struct buffer names;   /* --by-name: names used, each between LFs */
	struct writer writer;
	struct item failed;    /* the first error line */
	bool has_failed;
	bool first;
	bool *came;            /* from each of what the gate requires */
	struct error refused;  /* why the gate does not take them; ERROR_NONE */
};

/* Last name of the item's path; -1 with *why if it has none or it was there. */
static int
join_key(struct join *j, const struct item *item, struct error *why)
{
	char *path = item_metadata(item, "path"), *name, *entry;
	int result = 0;

	if (path == NULL || item->foreign || !call_path_valid(path))
		result = error_set(why, ERROR_INVALID_INPUT, "stdin",
		    "--by-name: an item that no step of this run has made");
	else {
		name = strrchr(path, '.') != NULL ? strrchr(path, '.') + 1 : path;
		entry = memory_format("\n%s\n", name);
		if (strstr(buffer_string(&j->names), entry) != NULL)
			result = error_set(why, ERROR_INVALID_INPUT, "stdin",
			    "--by-name: two items of %s", name);
		else {
			buffer_text(&j->names, entry);
			writer_key(&j->writer, name);
		}
		free(entry);
	}
	free(path);
	return result;
}

/* All items of a call must pass the gate, and all that it requires must have come. */
static void
join_gate(struct join *j, const struct gate *gate, const struct item *item)
{
	int from;

	if (gate->count == 0 || j->refused.code != ERROR_NONE)
		return;
	from = gate_pass(gate, item, &j->refused);
	if (from >= 0)
		j->came[from] = true;
}

static const struct error *
join_refused(struct join *j, const struct gate *gate)
{
	for (size_t i = 0; i < gate->count && j->refused.code == ERROR_NONE; i++)
		if (!j->came[i])
			error_set(&j->refused, ERROR_BLOCKED, "--require", "nothing came from %s",
			    gate->required[i]);
	return j->refused.code != ERROR_NONE ? &j->refused : NULL;
}

static int
join_item(struct join *j, struct stream *s, struct item *item, struct error *why)
{
	note_producer(s, item);
	if (item_error(item).at != NULL) {
		if (!j->has_failed) {
			j->failed = *item;
			memset(item, 0, sizeof *item);
		}
		j->has_failed = true;
		return 0;
	}
	join_gate(j, &s->step->gate, item);
	if (j->first && !item->foreign)
		buffer_append(&j->item.metadata, item->metadata.data, item->metadata.len);
	j->first = false;
	step_causes(item, &j->causes);
	if (s->by_name && join_key(j, item, why) == -1)
		return -1;
	writer_raw(&j->writer, item->data.json.data, item->data.json.len);
	return 0;
}

static void
join_begin(struct join *j, const struct stream *s)
{
	memset(j, 0, sizeof *j);
	j->first = true;
	j->came = memory_zero(s->step->gate.count + 1, sizeof *j->came);
	writer_begin(&j->writer, &j->item.data.json);
	if (s->by_name)
		writer_object(&j->writer);
	else
		writer_array(&j->writer);
}

static void
join_end(struct join *j, const struct stream *s)
{
	if (s->by_name)
		writer_object_end(&j->writer);
	else
		writer_array_end(&j->writer);
}

/* What is wrong with the whole input, if anything. */
static bool
join_wrong(struct stream *s, int got, struct error *why)
{
	if (got == -1)
		producer_dead(s, why);
	else if (lacks_input(s))
		error_set(why, ERROR_NO_INPUT, "stdin",
		    "no input (--allow-empty if there may be none)");
	else
		producer_dead(s, why);
	return why->code != ERROR_NONE;
}

static int
call_joined(struct stream *s, struct join *j, int got, struct error *why, struct error *err)
{
	struct step_result result = { .out = BUFFER_INIT };
	int done;

	if (why->code == ERROR_CANCELLED)
		return 0;
	if (why->code == ERROR_SYSTEM) {
		*err = *why;
		return -1;
	}
	if (join_wrong(s, got, why))
		return fail_input(s, &j->item, why, err);
	if (j->has_failed) {
		done = call_item(s, &j->failed, &result, err);
	} else {
		done = step_call(s->step, &j->item, &j->causes, join_refused(j, &s->step->gate),
		    s->index++, &result, err);
		if (done == 0)
			done = deliver(s, &result, err);
	}
	if (done == 0)
		must_stop(s, &result);
	buffer_free(&result.out);
	return done;
}

/* Joins all there is. 0, or -1 with what is wrong with an item. */
static int
join_all(struct join *j, struct stream *s, struct error *why)
{
	struct item item;
	int got;

	memset(&item, 0, sizeof item);
	join_begin(j, s);
	while ((got = state_reader_next(s->reader, &item, why)) == 1)
		if (join_item(j, s, &item, why) == -1) {
			got = -1;
			break;
		}
	join_end(j, s);
	item_free(&item);
	return got;
}

static void
join_free(struct join *j)
{
	item_free(&j->item);
	item_free(&j->failed);
	buffer_free(&j->causes);
	buffer_free(&j->names);
	free(j->came);
}

static int
run_joined(struct stream *s, struct error *err)
{
	struct error why = ERROR_INIT;
	struct join j;
	int got = join_all(&j, s, &why), done = call_joined(s, &j, got, &why, err);

	join_free(&j);
	return done;
}

/* ---- several calls at a time ---- */

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
	int64_t index;
	bool no_newline, base64, foreign;
};

static void
pack_item(const struct item *item, int64_t index, struct buffer *job)
{
	struct job_head head = { index, item->data.no_newline, item->data.base64, item->foreign };

	buffer_clear(job);
	buffer_append(job, &head, sizeof head);
	pack(job, &item->data.json);
	pack(job, &item->metadata);
	pack(job, &item->line);
}

static int64_t
unpack_item(const struct buffer *job, struct item *item)
{
	struct job_head head;
	const char *at = job->data + sizeof head;

	memset(item, 0, sizeof *item);
	memcpy(&head, job->data, sizeof head);
	item->data.no_newline = head.no_newline;
	item->data.base64 = head.base64;
	item->foreign = head.foreign;
	at = unpack(at, &item->data.json);
	at = unpack(at, &item->metadata);
	unpack(at, &item->line);
	return head.index;
}

/* What a worker answers besides the lines. */
struct answer_head {
	int status;
	bool stop, closed, broken;
	char report[sizeof ((struct step_result *)0)->report];
	struct error error;
};

/* In a worker: one call. */
static void
work(void *context, const struct buffer *job, struct buffer *answer)
{
	struct stream *s = context;
	struct step_result result = { .out = BUFFER_INIT };
	struct answer_head head;
	struct item item;
	int64_t index = unpack_item(job, &item);

	memset(&head, 0, sizeof head);
	head.broken = call_gated(s, &item, index, &result, &head.error) == -1;
	head.status = result.status;
	head.stop = result.stop;
	head.closed = result.closed;
	memcpy(head.report, result.report, sizeof head.report);
	buffer_append(answer, &head, sizeof head);
	buffer_append(answer, buffer_string(&result.out), result.out.len);
	item_free(&item);
	buffer_free(&result.out);
}

static void
work_ended(void *context)
{
	struct stream *s = context;

	if (s->step->provider.process.pid > 0)
		provider_stop(&s->step->provider);
}

/* Writes what has been answered, in order. *stop is set once no job may follow. */
static int
deliver_answers(struct stream *s, struct workers *w, bool *stop, struct error *err)
{
	struct step_result result = { .out = BUFFER_INIT };
	struct buffer answer = BUFFER_INIT;
	struct answer_head head;
	int done = 0;

	while (done == 0 && workers_answer(w, &answer) == 1) {
		memcpy(&head, answer.data, sizeof head);
		if (head.broken) {
			*err = head.error;
			done = -1;
			break;
		}
		step_result_clear(&result);
		result.status = head.status;
		result.stop = head.stop;
		result.closed = head.closed;
		memcpy(result.report, head.report, sizeof result.report);
		buffer_append(&result.out, answer.data + sizeof head, answer.len - sizeof head);
		done = deliver(s, &result, err);
		*stop = *stop || result.stop || s->closed;
	}
	buffer_free(&answer);
	buffer_free(&result.out);
	return done;
}

/* Gives out jobs while workers are free. *got: as state_reader_take(). */
static int
give_jobs(struct stream *s, struct workers *w, int *got, struct error *wrong,
    struct error *err)
{
	struct buffer job = BUFFER_INIT;
	struct item item;
	int done = 0;

	memset(&item, 0, sizeof item);
	while (done == 0 && workers_ready(w)) {
		*got = state_reader_take(s->reader, &item, wrong);
		if (*got != 1)
			break;
		note_producer(s, &item);
		pack_item(&item, s->index++, &job);
		done = workers_job(w, &job, err);
	}
	item_free(&item);
	buffer_free(&job);
	return done;
}

/* One round: answers out, jobs in, wait. 1: go on; 0: all is done; -1: failed. */
static int
parallel_round(struct stream *s, struct workers *w, bool *stop, int *got,
    struct error *wrong, struct error *err)
{
	struct error why = ERROR_INIT;
	bool reading;
	int woken;

	if (deliver_answers(s, w, stop, err) == -1)
		return -1;
	if (!*stop && interrupted(&s->step->interrupts, &why)) {
		s->closed = s->closed || why.code == ERROR_DOWNSTREAM_CLOSED;
		*stop = true;
		if (why.code == ERROR_CANCELLED)
			workers_signal(w, *s->step->interrupts.signal_number);
	}
	if (!*stop && *got != -1 && !s->reader->done &&
	    give_jobs(s, w, got, wrong, err) == -1)
		return -1;
	reading = !*stop && *got != -1 && !s->reader->done;
	if (!reading && workers_pending(w) == 0)
		return 0;
	woken = workers_wait(w, reading && workers_ready(w) ? s->reader->fd : -1, err);
	if (woken == 1 && state_reader_fill(s->reader, wrong) == -1)
		*got = -1;
	return woken == -1 ? -1 : 1;
}

static int
run_parallel(struct stream *s, struct error *err)
{
	struct error wrong = ERROR_INIT;
	struct workers w;
	bool stop = false;
	int got = 0, done;

	workers_open(&w, s->jobs, work, work_ended, s);
	while ((done = parallel_round(s, &w, &stop, &got, &wrong, err)) == 1)
		;
	if (done == -1)
		workers_signal(&w, SIGTERM);
	workers_close(&w);
	if (done == 0 && got == -1)
		return fail_read(s, &wrong, err);
	if (done == 0 && !stop)
		return judge_end(s, err);
	return done;
}

int
stream_run(struct stream *s, struct error *err)
{
	if (s->reader->form == INPUT_NONE)
		return run_without_input(s, err);
	if (s->joined)
		return run_joined(s, err);
	return s->jobs > 1 ? run_parallel(s, err) : run_serially(s, err);
}

/* ---- what would be done ---- */

static int
describe_item(struct stream *s, const struct item *item, struct buffer *out,
    struct error *err)
{
	bool failed = item_error(item).at != NULL;

	return failed == s->step->rescue ? step_describe(s->step, item, out, err) : 0;
}

static int
describe_joined(struct stream *s, struct buffer *out, struct error *err)
{
	struct join j;
	int got = join_all(&j, s, err);

	if (got == 0 && lacks_input(s))
		got = no_input(err);
	if (got == 0 && !j.has_failed)
		got = describe_item(s, &j.item, out, err);
	join_free(&j);
	return got;
}

static int
describe_each(struct stream *s, struct buffer *out, struct error *err)
{
	struct item item;
	int got = 0;

	memset(&item, 0, sizeof item);
	while (got == 0 && (got = state_reader_next(s->reader, &item, err)) == 1)
		got = describe_item(s, &item, out, err);
	if (got == 0 && lacks_input(s))
		got = no_input(err);
	item_free(&item);
	return got;
}

int
stream_describe(struct stream *s, struct buffer *out, struct error *err)
{
	struct item nothing;
	int done;

	if (s->reader->form != INPUT_NONE)
		return s->joined ? describe_joined(s, out, err) : describe_each(s, out, err);
	memset(&nothing, 0, sizeof nothing);
	data_null(&nothing.data);
	done = describe_item(s, &nothing, out, err);
	item_free(&nothing);
	return done;
}

void
stream_free(struct stream *s)
{
	size_t i;

	for (i = 0; i < s->producer_count; i++)
		free(s->producers[i]);
	free(s->producers);
}
