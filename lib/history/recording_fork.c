/*
 * Finds what a fork leaves out: the named call and all that followed from it. An event is left out
 * if one of its causes is, and the enclosing calls are open again.
 *
 * What child runs read of the steps around them is recorded only in their own transcripts, as
 * causes of their steps, so models of these runs are read. A child run is left out if one of its
 * steps, or of its own child runs' steps, read an item of a call that is left out; so is every call
 * that reads from the child run. A resume asks whether a child run that failed had been given the
 * failure of a branch.
 */
#include "history/recording.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "io/file.h"
#include "transcript/event_keys.h"

/* ---- what child runs have read ---- */

struct child_reading {
	struct recording *rec;
	size_t number;          /* of the reads */
	const char *directory;
};

static void recording_read_run(struct child_reading *c, const char *run_id);

static void
add_cause(struct recorded_reads *r, struct span reference)
{
	struct uuid id = event_key(reference), *last = r->count > 0 ? &r->events[r->count - 1] : NULL;

	/* The id alone names an event of the child run itself. */
	if (span_type(reference) != 'o' ||
	    (last != NULL && last->high == id.high && last->low == id.low))
		return;
	r->events = memory_array(r->events, r->count + 1, sizeof *r->events);
	r->events[r->count++] = id;
}

static int
recording_add_causes(void *context, const struct placed *placed, struct error *err)
{
	struct child_reading *c = context;
	const struct event_view *event = placed->event;
	struct recorded_reads *reads = &c->rec->reads[c->number];
	char nested[ID_SIZE];

	(void)err;
	if (!event_type_starts_call(event->type))
		return 0;
	add_cause(reads, event->parent_event_id);
	if (event->links.at != NULL) {
		for (struct span_walk link = span_walk(event->links); span_next(&link);)
			add_cause(reads, link.value);
	}
	if (span_copy(event->child_run_id, nested, sizeof nested) &&
	    id_valid(nested, strlen(nested)) &&
	    map_get(&c->rec->reads_by_run, nested, strlen(nested)) == NULL)
		recording_read_run(c, nested);
	return 0;
}

/* If the transcript is missing or damaged, what can be read is used. */
static void
recording_read_run(struct child_reading *c, const char *run_id)
{
	char *name = memory_format("%s.jsonl", run_id), *path = path_join(c->directory, name);
	struct error ignored = ERROR_INIT;
	struct model m;

	map_put(&c->rec->reads_by_run, run_id, strlen(run_id), c->number);
	model_begin(&m, MODEL_LIVE);
	m.watch = recording_add_causes;
	m.context = c;
	model_read_file(&m, path, &ignored);
	model_free(&m);
	free(path);
	free(name);
}

void
recording_read_child(struct recording *rec, uint32_t call)
{
	const char *run_id = rec->calls[call].call->rare->child_run_id;
	const size_t *known = map_get(&rec->reads_by_run, run_id, strlen(run_id));
	char *directory;

	if (known != NULL) {
		rec->reads[*known].call = call;
		return;
	}
	if (!id_valid(run_id, strlen(run_id)))
		return;
	rec->reads = memory_array(rec->reads, rec->read_count + 1, sizeof *rec->reads);
	rec->reads[rec->read_count++] = (struct recorded_reads){ .call = call };
	directory = path_directory(history_source(rec->spec, rec->now.source)->path);
	recording_read_run(&(struct child_reading){ rec, rec->read_count - 1, directory }, run_id);
	free(directory);
}

const struct recorded_reads *
recording_reads(const struct recording *rec, const char *run_id)
{
	const size_t *found = rec->read_count == 0 ? NULL :
	    map_get(&rec->reads_by_run, run_id, strlen(run_id));

	return found != NULL ? &rec->reads[*found] : NULL;
}

void
recording_free_reads(struct recording *rec)
{
	for (size_t i = 0; i < rec->read_count; i++)
		free(rec->reads[i].events);
	free(rec->reads);
	map_free(&rec->reads_by_run);
	rec->reads = NULL;
	rec->read_count = 0;
}

/* ---- what is left out ---- */

static uint32_t
recording_later_call(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* The fork that left out what an event is about: a call that is left out, or the end of a call
 * in which something is. */
static uint32_t
event_left_by(const struct recording *rec, struct uuid event)
{
	bool start;
	uint32_t call = recording_find_call(rec, event, &start);

	if (call == NO_CALL)
		return 0;
	return start ? rec->calls[call].links.left_by :
	    recording_later_call(rec->calls[call].links.left_by,
	    rec->calls[call].links.reopened_by);
}

/* The same for a child run, as far as its reads are known. */
static uint32_t
child_left_by(const struct recording *rec, const struct recorded_reads *reads)
{
	uint32_t by = rec->calls[reads->call].links.left_by;

	for (size_t i = 0; i < reads->count; i++)
		by = recording_later_call(by, event_left_by(rec, reads->events[i]));
	return by;
}

static uint32_t
cause_left_by(const struct recording *rec, struct span reference)
{
	const struct recorded_reads *reads = NULL;
	char id[ID_SIZE];

	if (span_type(reference) == 'o' &&
	    span_copy(span_member(reference, KEY_RUN_ID), id, sizeof id))
		reads = recording_reads(rec, id);
	return reads != NULL ? child_left_by(rec, reads) : event_left_by(rec, event_key(reference));
}

/* Leaves out a call, and reopens the calls that enclose it, which are to run again. */
static void
leave_out_by(struct recording *rec, struct recorded_call *c, uint32_t by)
{
	c->links.left_by = recording_later_call(c->links.left_by, by);
	if (c->links.left_by > 0)
		for (uint32_t i = c->links.enclosing; i != NO_CALL; i = rec->calls[i].links.enclosing) {
			rec->calls[i].status.reopened = true;
			rec->calls[i].links.reopened_by =
			    recording_later_call(rec->calls[i].links.reopened_by, c->links.left_by);
		}
}

void
recording_leave_out(struct recording *rec, uint32_t call, const struct event_view *view)
{
	struct recorded_call *c = &rec->calls[call];
	bool any = false;
	uint32_t by = 0;

	if (rec->now.source >= rec->spec->other_count)
		return;
	/* The last fork, of this source or of a later one, that named the call. */
	for (uint32_t i = rec->now.source; i < rec->spec->other_count; i++) {
		const char *path = rec->spec->others[i].left_out;

		any |= path != NULL;
		if (path != NULL && path_names(path, c->call))
			by = i + 1;
	}
	by = recording_later_call(by, cause_left_by(rec, view->parent_event_id));
	if (view->links.at != NULL) {
		for (struct span_walk link = span_walk(view->links); span_next(&link);)
			by = recording_later_call(by, cause_left_by(rec, link.value));
	}
	if (c->links.enclosing != NO_CALL)
		by = recording_later_call(by, rec->calls[c->links.enclosing].links.left_by);
	leave_out_by(rec, c, by);
	if (c->kind.child && any)
		recording_read_child(rec, call);
}

/* At its end, all that a child run can have read is recorded. */
void
recording_leave_out_child(struct recording *rec, uint32_t call)
{
	struct recorded_call *c = &rec->calls[call];
	const struct recorded_reads *reads = NULL;

	if (c->kind.child && rec->now.source < rec->spec->other_count)
		reads = recording_reads(rec, c->call->rare->child_run_id);
	if (reads != NULL)
		leave_out_by(rec, c, child_left_by(rec, reads));
}

void
recording_leave_out_children(struct recording *rec, uint32_t first_call)
{
	for (uint32_t i = first_call; i < rec->call_count; i++)
		if (rec->calls[i].status.state == RECALL_OPEN)
			recording_leave_out_child(rec, i);
}
