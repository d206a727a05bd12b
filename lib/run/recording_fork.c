/*
 * What a fork leaves out: a call that it names, and what came of that. It spreads by causes:
 * whatever has a cause that is left out is left out too, and the calls around it are open
 * again.
 *
 * What child runs had of the steps around them only their own records tell: their steps'
 * causes. A child run one of whose steps, or of a child's of its, read an item of a call that is
 * left out goes with that, and so does who read from the child run. A resume asks whether a
 * child run that failed was given the failure of a branch.
 */
#include "run/recording.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "transcript/event_keys.h"
#include "transcript/reader.h"

/* ---- what child runs have read ---- */

static void
add_event(struct recorded_reads *r, struct span reference)
{
	char id[ID_SIZE];

	if (span_type(reference) != 'o')
		return; /* of the child run itself */
	reading_reference(reference, id);
	if (id[0] == '\0' || (r->count > 0 && strcmp(r->events[r->count - 1], id) == 0))
		return;
	r->events = memory_array(r->events, r->count + 1, sizeof *r->events);
	memcpy(r->events[r->count++], id, ID_SIZE);
}

static void read_run(struct recording *rec, size_t number, const char *directory,
    const char *run_id);

static void
take_started(struct recording *rec, size_t number, const char *directory,
    const struct event_view *view)
{
	char nested[ID_SIZE];

	add_event(&rec->reads[number], view->parent_event_id);
	if (view->links.at != NULL) {
		for (struct span_walk link = span_walk(view->links); span_next(&link);)
			add_event(&rec->reads[number], link.value);
	}
	if (span_copy(view->child_run_id, nested, sizeof nested) && id_valid(nested, strlen(nested)) &&
	    map_get(&rec->reads_by_run, nested, strlen(nested)) == NULL)
		read_run(rec, number, directory, nested);
}

/* A record that is not there, or damaged, tells as much as there is of it. */
static void
read_run(struct recording *rec, size_t number, const char *directory, const char *run_id)
{
	char *name = memory_format("%s.jsonl", run_id), *path = path_join(directory, name);
	struct error err = ERROR_INIT;
	struct event_view view;
	struct reader reader;
	const char *line;
	size_t len;

	map_put(&rec->reads_by_run, run_id, strlen(run_id), number);
	if (reader_open(&reader, path, &err) == 0) {
		while (reader_next(&reader, &line, &len, &err) == 1)
			if (event_view(line, len, &view) == 0 && event_type_starts_call(view.type))
				take_started(rec, number, directory, &view);
		reader_close(&reader);
	}
	free(path);
	free(name);
}

void
recording_read_child(struct recording *rec, size_t call)
{
	const char *run_id = rec->calls[call].child;
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
	directory = path_directory(history_source(rec->spec, rec->source)->path);
	read_run(rec, rec->read_count - 1, directory, run_id);
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
}

/* ---- what is left out ---- */

static uint32_t
later(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* The fork that left out what an event told: of a call that is, or the end of one in which
 * something is. */
static uint32_t
event_left_by(const struct recording *rec, const char *id)
{
	const size_t *call = map_get(&rec->by_event, id, ID_SIZE - 1);

	if (call == NULL)
		return 0;
	return strcmp(id, rec->calls[*call].started) == 0 ? rec->calls[*call].left_by :
	    later(rec->calls[*call].left_by, rec->calls[*call].reopened_by);
}

/* The same for a child run, as far as it is known what it has read. */
static uint32_t
child_left_by(const struct recording *rec, const struct recorded_reads *reads)
{
	uint32_t by = rec->calls[reads->call].left_by;

	for (size_t i = 0; i < reads->count; i++)
		by = later(by, event_left_by(rec, reads->events[i]));
	return by;
}

static uint32_t
cause_left_by(const struct recording *rec, struct span reference)
{
	const struct recorded_reads *reads = NULL;
	char id[ID_SIZE];

	if (span_type(reference) == 'o' && span_copy(span_member(reference, KEY_RUN_ID), id, sizeof id))
		reads = recording_reads(rec, id);
	if (reads != NULL)
		return child_left_by(rec, reads);
	reading_reference(reference, id);
	return id[0] != '\0' ? event_left_by(rec, id) : 0;
}

static uint32_t
any_cause_left_by(const struct recording *rec, const struct event_view *view)
{
	uint32_t by = cause_left_by(rec, view->parent_event_id);

	if (view->links.at == NULL)
		return by;
	for (struct span_walk link = span_walk(view->links); span_next(&link);)
		by = later(by, cause_left_by(rec, link.value));
	return by;
}

/* The last fork, from this source or from a later one, that named the call. */
static uint32_t
named_by_fork(const struct recording *rec, const struct recorded_call *c)
{
	for (size_t i = rec->spec->other_count; i-- > rec->source;)
		if (rec->spec->others[i].left_out != NULL &&
		    path_names(rec->spec->others[i].left_out, c->id, c->path))
			return (uint32_t)i + 1;
	return 0;
}

/* A call that is left out, and what encloses it: that is to be done again. */
static void
leave_out_by(struct recording *rec, struct recorded_call *c, uint32_t by)
{
	c->left_by = later(c->left_by, by);
	if (c->left_by > 0)
		for (size_t i = c->enclosing; i != NO_CALL; i = rec->calls[i].enclosing) {
			rec->calls[i].reopened = true;
			rec->calls[i].reopened_by = later(rec->calls[i].reopened_by, c->left_by);
		}
}

/* Whether a fork, from this source or from a later one, leaves something out. */
static bool
leaves_out(const struct recording *rec)
{
	for (size_t i = rec->source; i < rec->spec->other_count; i++)
		if (rec->spec->others[i].left_out != NULL)
			return true;
	return false;
}

void
recording_leave_out(struct recording *rec, size_t call, const struct event_view *view)
{
	struct recorded_call *c = &rec->calls[call];
	uint32_t by;

	if (rec->source >= rec->spec->other_count)
		return;
	by = later(named_by_fork(rec, c), any_cause_left_by(rec, view));
	if (c->enclosing != NO_CALL)
		by = later(by, rec->calls[c->enclosing].left_by);
	leave_out_by(rec, c, by);
	if (c->child != NULL && leaves_out(rec))
		recording_read_child(rec, call);
}

/* When it ends, all is recorded that a child run can have read. */
void
recording_leave_out_child(struct recording *rec, size_t call)
{
	struct recorded_call *c = &rec->calls[call];
	const struct recorded_reads *reads = NULL;

	if (c->child != NULL && rec->source < rec->spec->other_count)
		reads = recording_reads(rec, c->child);
	if (reads != NULL)
		leave_out_by(rec, c, child_left_by(rec, reads));
}

void
recording_leave_out_children(struct recording *rec, size_t first_call)
{
	for (size_t i = first_call; i < rec->call_count; i++)
		if (rec->calls[i].state == RECALL_OPEN)
			recording_leave_out_child(rec, i);
}
