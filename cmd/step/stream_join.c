/*
 * The joined JSON is written while items arrive, so that their bytes are held once; with --by-name
 * they are kept in sorted order until the end. The causes of all items become causes of the one
 * call. --complete is checked at the end, against the transcript (made.h).
 */
#include "step/stream.h"

#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/memory.h"
#include "json/writer.h"
#include "step/made.h"
#include "storage/storage.h"
#include "transcript/call.h"

/* Items joined so far: the data of all, the metadata of the first. */
struct join {
	struct item item;
	struct causes causes;
	struct named {
		char *name;
		struct item item;
	} *named;              /* --by-name: kept until the end, sorted by name, so that the order
	                          of arrival does not matter */
	size_t named_count;
	struct writer writer;
	struct buffer attached; /* elements of a JSON array: the attachments of all items */
	struct item failed;    /* the first error line */
	bool has_failed;
	bool first;
	bool *came;            /* for each maker that the gate requires: one of its items has arrived */
	struct error refused;  /* why the gate has refused the items; ERROR_NONE: it has not */
	struct made made;      /* for --complete */
	struct relative {
		char run_id[ID_SIZE];
		char *transcript, *enclosing; /* NULL: nothing is known about the run's steps */
		struct made made;
	} *relatives;          /* the same for other runs from which items have arrived */
	size_t relative_count;
};

/* Whether this is not a dry run: that makes no calls, and belongs to no run in which makers could
 * be found. */
static bool
makes_call(const struct stream *s)
{
	return s->roster != NULL;
}

/* Adds the item under the last name in its path; -1 with *why if it has none, or if the name is
 * used already. */
static int
join_by_name(struct join *j, struct item *item, struct error *why)
{
	char *path = item_metadata(item, "path");
	size_t low = 0, high = j->named_count;
	struct named *named;
	const char *name;
	int order = 1;

	if (path == NULL || item->foreign || !call_path_valid(path)) {
		free(path);
		return error_set(why, ERROR_INVALID_INPUT, "stdin",
		    "--by-name: an item that no step of this run has made: "
		    "have one awf-run around the steps");
	}
	name = strrchr(path, '.') != NULL ? strrchr(path, '.') + 1 : path;
	while (low < high && order != 0) {
		size_t middle = low + (high - low) / 2;

		order = strcmp(name, j->named[middle].name);
		if (order > 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (order == 0) {
		error_set(why, ERROR_INVALID_INPUT, "stdin", "--by-name: there are two items of "
		    "%s", name);
		free(path);
		return -1;
	}
	j->named = memory_array(j->named, j->named_count + 1, sizeof *j->named);
	named = j->named + high;
	memmove(named + 1, named, (j->named_count++ - high) * sizeof *named);
	memset(named, 0, sizeof *named);
	named->name = memory_text(name);
	buffer_free(&item->line); /* not needed any more */
	named->item = *item;
	memset(item, 0, sizeof *item);
	free(path);
	return 0;
}

static void
join_attachments(struct join *j, const struct buffer *metadata)
{
	struct span list = SPAN_NONE;

	if (metadata->len > 0)
		list = span_member(span_of(metadata->data, metadata->len), "attachments");
	if (span_type(list) != 'a' || list.len <= 2)
		return;
	if (j->attached.len > 0)
		buffer_byte(&j->attached, ',');
	buffer_append(&j->attached, list.at + 1, list.len - 2);
}

/* For --complete: notes that a line of this run, or of another, has arrived. */
static void
note_made(struct join *j, const struct run *run, const struct item *item)
{
	struct span metadata = span_of(buffer_string(&item->metadata), item->metadata.len);
	struct relative *r = NULL;
	char id[ID_SIZE];

	if (item->metadata.len == 0)
		return;
	if (!item->foreign) {
		made_came(&j->made, metadata);
		return;
	}
	made_came_foreign(&j->made, metadata);
	if (!span_copy(span_member(metadata, "run_id"), id, sizeof id) || !id_valid(id, strlen(id)))
		return;
	for (size_t i = 0; i < j->relative_count && r == NULL; i++)
		if (strcmp(j->relatives[i].run_id, id) == 0)
			r = &j->relatives[i];
	if (r == NULL) {
		j->relatives = memory_array(j->relatives, j->relative_count + 1, sizeof *j->relatives);
		r = &j->relatives[j->relative_count++];
		*r = (struct relative){ .transcript = storage_transcript(&run->storage, id) };
		memcpy(r->run_id, id, sizeof id);
		r->enclosing = made_enclosing(&run->storage, id, run->id);
		r->made.enclosing = r->enclosing;
	}
	if (r->enclosing != NULL)
		made_came(&r->made, metadata);
}

/* Notes the maker of an item, and whether the gate accepts the item. */
static void
judge_item(struct join *j, struct stream *s, const struct item *item)
{
	const struct gate *gate = &s->step->options.gate;
	int from;

	producers_note(&s->producers, item);
	if (s->complete)
		note_made(j, s->step->place.run, item);
	/* The gate must accept all items, and items of all makers that it requires must have
	 * arrived. */
	if (gate->count == 0 || item_error(item).at != NULL || j->refused.code != ERROR_NONE)
		return;
	from = gate_pass(gate, item, &j->refused);
	if (from >= 0)
		j->came[from] = true;
}

static int
join_item(struct join *j, struct stream *s, struct item *item, struct error *why)
{
	if (makes_call(s))
		judge_item(j, s, item);
	if (item_error(item).at != NULL) {
		if (!j->has_failed) {
			j->failed = *item;
			memset(item, 0, sizeof *item);
		}
		j->has_failed = true;
		return 0;
	}
	if (s->by_name)
		return join_by_name(j, item, why);
	if (j->first && !item->foreign)
		buffer_append(&j->item.metadata, item->metadata.data, item->metadata.len);
	j->first = false;
	if (!item->foreign)
		join_attachments(j, &item->metadata);
	if (makes_call(s))
		causes_add_item(&j->causes, s->step, item);
	writer_raw(&j->writer, item->data.json.data, item->data.json.len);
	return 0;
}

/* Checks that named items are sorted, each name once, and that without --by-name none is kept. */
static bool
join_holds(const struct join *j, bool by_name)
{
	for (size_t i = 1; i < j->named_count; i++)
		if (strcmp(j->named[i - 1].name, j->named[i].name) >= 0)
			return false;
	return (by_name || j->named_count == 0) && (j->has_failed || j->failed.line.len == 0);
}

/* Joins all items. 0, or -1 with the error of one of them. */
static int
join_all(struct join *j, struct stream *s, struct error *why)
{
	struct buffer *metadata = &j->item.metadata, joined = BUFFER_INIT;
	struct writer w;
	struct item item;
	int got;

	memset(j, 0, sizeof *j);
	j->first = true;
	j->made.enclosing = s->step->place.enclosing;
	j->made.paths = s->makers;
	j->came = memory_zero(s->step->options.gate.count + 1, sizeof *j->came);
	writer_begin(&j->writer, &j->item.data.json);
	if (s->by_name)
		writer_object(&j->writer);
	else
		writer_array(&j->writer);

	memset(&item, 0, sizeof item);
	while ((got = state_reader_next(s->reader, &item, why)) == 1)
		if (join_item(j, s, &item, why) == -1) {
			got = -1;
			break;
		}
	item_free(&item);

	for (size_t i = 0; i < j->named_count; i++) {
		const struct named *named = j->named + i;

		writer_key(&j->writer, named->name);
		writer_raw(&j->writer, named->item.data.json.data, named->item.data.json.len);
		if (makes_call(s))
			causes_add_item(&j->causes, s->step, &named->item);
		join_attachments(j, &named->item.metadata);
	}
	INVARIANT(join_holds(j, s->by_name));
	if (j->named_count > 0)
		buffer_append(metadata, j->named[0].item.metadata.data, j->named[0].item.metadata.len);
	if (s->by_name)
		writer_object_end(&j->writer);
	else
		writer_array_end(&j->writer);

	/* The metadata of the first item, with the attachments of all. */
	if (j->attached.len > 0) {
		writer_begin(&w, &joined);
		writer_object(&w);
		for (struct span_walk member = span_walk(span_of(buffer_string(metadata), metadata->len));
		    metadata->len > 0 && span_next(&member);)
			if (!span_is(member.key, "attachments"))
				writer_raw_member(&w, member.key, member.value);
		writer_member_array(&w, "attachments");
		writer_raw(&w, j->attached.data, j->attached.len);
		writer_array_end(&w);
		writer_object_end(&w);
		buffer_free(metadata);
		*metadata = joined;
	}
	return got;
}

/* Whether all makers have ended. If one has closed the pipe before its end, the lines that it makes
 * afterwards are lost. */
static bool
makers_ended(struct roster *roster, const struct made *made, struct error *why)
{
	for (size_t i = 0; i < made->count; i++) {
		char *call;
		bool ended;

		if (made->makers[i].inside)
			continue; /* it ends together with its group */
		call = memory_format("%s:0", made->makers[i].process);
		ended = roster_ended(roster, call);
		free(call);
		if (!ended) {
			error_set(why, ERROR_UPSTREAM_INCOMPLETE, "--complete",
			    "the step %s has not ended, and more of it may be lost",
			    made->makers[i].process);
			return false;
		}
	}
	return true;
}

/* Whether fewer items have arrived from another run than were made there. */
static bool
relative_lacks(struct join *j, const struct storage *storage, struct relative *r,
    struct error *why)
{
	struct roster roster;
	char *directory;
	bool ended = true;

	if (r->enclosing == NULL)
		return false;
	if (storage_run_alive(storage, r->run_id)) {
		directory = storage_run_directory(storage, r->run_id);
		roster_look(&roster, directory);
		ended = makers_ended(&roster, &r->made, why);
		/* The run may have ended meanwhile, and its roster with it. */
		if (!ended && !storage_run_alive(storage, r->run_id)) {
			*why = (struct error)ERROR_INIT;
			ended = true;
		}
		roster_close(&roster);
		free(directory);
	}
	return !ended || made_check(&r->made, r->transcript, &j->made, why) == -1;
}

/* Whether fewer items have arrived than were made; errors count as such. */
static bool
join_lacks(const struct stream *s, struct join *j, struct error *why)
{
	const struct run *run = s->step->place.run;
	const char *own = s->step->place.path, *last = strrchr(own, '.');
	size_t prefix = last != NULL ? (size_t)(last - own) + 1 : 0;

	if (!s->complete || j->has_failed)
		return false;
	/* A step with a given path, or the step beside this one that encloses it, may not have
	 * ended yet. */
	for (char *const *path = s->makers; path != NULL && *path != NULL; path++) {
		char *name;
		bool ended;

		if (strncmp(*path, own, prefix) != 0)
			continue;
		name = memory_copy(*path + prefix, strcspn(*path + prefix, "."));
		ended = roster_all_ended(s->roster, name);
		free(name);
		if (!ended) {
			error_set(why, ERROR_UPSTREAM_INCOMPLETE, "--complete",
			    "the step %s has not ended, or not begun", *path);
			return true;
		}
	}
	if (!makers_ended(s->roster, &j->made, why))
		return true;
	for (size_t i = 0; i < j->relative_count; i++)
		if (relative_lacks(j, &run->storage, &j->relatives[i], why))
			return true;
	return made_check(&j->made, run->transcript.path, NULL, why) == -1;
}

static void
join_free(struct join *j)
{
	item_free(&j->item);
	item_free(&j->failed);
	causes_free(&j->causes);
	buffer_free(&j->attached);
	for (size_t i = 0; i < j->named_count; i++) {
		free(j->named[i].name);
		item_free(&j->named[i].item);
	}
	free(j->named);
	free(j->came);
	made_free(&j->made);
	for (size_t i = 0; i < j->relative_count; i++) {
		free(j->relatives[i].transcript);
		free(j->relatives[i].enclosing);
		made_free(&j->relatives[i].made);
	}
	free(j->relatives);
}

/* Makes the one call, unless the input as a whole is wrong. */
static int
call_joined(struct stream *s, struct join *j, int got, struct error *why, struct error *err)
{
	const struct gate *gate = &s->step->options.gate;
	struct step_result result = { .out = BUFFER_INIT };
	bool wrong = false;
	int done;

	if (why->code == ERROR_CANCELLED)
		return 0;
	if (why->code != ERROR_SYSTEM) {
		if (got == -1)
			producers_dead(&s->producers, why);
		wrong = got == -1 || stream_wrong_end(s, why) || join_lacks(s, j, why);
	}
	if (why->code == ERROR_SYSTEM) {
		*err = *why;
		return -1;
	}
	if (wrong)
		return stream_fail_input(s, &j->item, why, err);

	if (j->has_failed) {
		done = stream_call_item(s, &j->failed, s->index++, &result, err);
	} else {
		for (size_t i = 0; i < gate->count && j->refused.code == ERROR_NONE; i++)
			if (!j->came[i])
				error_set(&j->refused, ERROR_BLOCKED, "--require", "nothing came from %s",
				    gate->required[i]);
		done = step_call(s->step, &j->item, &j->causes,
		    j->refused.code != ERROR_NONE ? &j->refused : NULL, s->index++, &result, err);
		if (done == 0)
			done = stream_deliver(s, &result, err);
	}
	if (done == 0)
		stream_must_stop(s, &result);
	buffer_free(&result.out);
	return done;
}

int
stream_run_joined(struct stream *s, struct error *err)
{
	struct error why = ERROR_INIT;
	struct join j;
	int got = join_all(&j, s, &why), done = call_joined(s, &j, got, &why, err);

	join_free(&j);
	return done;
}

int
stream_describe_joined(struct stream *s, struct buffer *out, struct error *err)
{
	struct join j;
	int got = join_all(&j, s, err);

	if (got == 0 && stream_lacks_input(s))
		got = stream_no_input(s, err);
	if (got == 0 && !j.has_failed)
		got = stream_describe_item(s, &j.item, out, err);
	join_free(&j);
	return got;
}
