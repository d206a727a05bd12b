/* What child runs had of the steps around them, which only their own records tell: their
 * steps' causes. A fork that leaves out a call leaves out a child run, too, one of whose
 * steps, or of a child's of its, read an item of that; and who read from the child run. A
 * resume asks whether a child run that failed was given the failure of a branch.
 */
#include "run/history_reading.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "transcript/reader.h"

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
	struct span_walk walk;
	struct span key, link;
	char nested[ID_SIZE];

	add_event(&rec->reads[number], view->parent_event_id);
	if (view->links.at != NULL) {
		span_walk_begin(&walk, view->links);
		while (span_walk_next(&walk, &key, &link))
			add_event(&rec->reads[number], link);
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
