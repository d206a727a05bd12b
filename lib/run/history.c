/*
 * What a history is built in: the recording is read, by itself or with the lines that
 * somebody else reads; then it is summarized, and the index is written, of all of it.
 *
 * The index is a head, then arrays of sources, records, places and texts, as they are in
 * memory: whoever maps the file is of the same version, which the first bytes say. Parts refer
 * to each other by numbers, and the sizes in the head must add up to that of the file.
 */
#include "run/history_parts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"

struct history_reading {
	struct history_spec spec;
	struct recording recording;
};

/* ---- the index ---- */

/* The parts of the file while they are made. */
struct index {
	struct index_record *records;
	size_t count;
	struct place *places;
	size_t place_count, place_capacity;
	struct buffer text;
	uint64_t empty;              /* in text */
};

static uint64_t
add_text(struct index *x, const char *text)
{
	uint64_t at = x->text.len;

	buffer_append(&x->text, text, strlen(text) + 1);
	return at;
}

static int
compare_places(const void *a, const void *b)
{
	const struct place *left = a, *right = b;

	if (left->source != right->source)
		return left->source < right->source ? -1 : 1;
	return (left->offset > right->offset) - (left->offset < right->offset);
}

/* The events of a call and of those that it went on with, in the order in which they
 * were recorded. */
static void
add_events(struct index *x, const struct recording *rec, uint32_t call, struct index_record *r)
{
	r->events = x->place_count;
	for (uint32_t i = call; i != NO_CALL;) {
		const struct recorded_call *c = &rec->calls[i];

		while (x->place_count + c->event_count > x->place_capacity) {
			x->place_capacity = x->place_capacity == 0 ? 256 : x->place_capacity * 2;
			x->places = memory_array(x->places, x->place_capacity, sizeof *x->places);
		}
		if (c->event_count > 0)
			memcpy(x->places + x->place_count, c->events, c->event_count * sizeof *c->events);
		x->place_count += c->event_count;
		i = c->claims;
		if (i != NO_CALL && !recorded_call_went_on(c, &rec->calls[i]))
			break;
	}
	r->event_count = x->place_count - r->events;
	if (r->event_count > 1)
		qsort(x->places + r->events, (size_t)r->event_count, sizeof *x->places, compare_places);
}

static void
add_record(struct index *x, const struct recording *rec, uint32_t call)
{
	const struct recorded_call *c = &rec->calls[call], *root = &rec->calls[c->root];
	struct index_record *r = &x->records[x->count++];
	bool replay = rec->spec->mode == RECALL_REPLAY;
	const char *id = c->call->id, *slash = strrchr(id, '/');
	const char *last = slash != NULL ? slash + 1 : id, *number = strchr(last, ':');
	char *name = memory_copy(last, (size_t)(number - last)), around[ID_SIZE];

	/* What the record is found by. A call's id ends in NAME:OCCURRENCE:ITEM. The first of its
	 * chain is what a call is known by to those in it; where the call around one is not recorded,
	 * nothing finds it. */
	r->order = call;
	r->occurrence = strtoll(number + 1, NULL, 10);
	r->item = strtoll(strchr(number + 1, ':') + 1, NULL, 10);
	index_key(c->enclosing != NO_CALL ?
	    model_call_event_id(rec->calls[rec->calls[c->enclosing].root].call, around) :
	    slash != NULL ? id : "", name, c->member || replay ? r->item : ANY_ITEM, r->key);
	memcpy(r->guard, c->guard, sizeof r->guard);
	r->definition = c->definition;
	free(name);

	r->started = (struct place){ c->call->begin.offset, c->call->begin.length, c->source };
	r->end = c->reopened ? RECALL_OPEN : c->state;
	if (r->end != RECALL_OPEN)
		r->completed = c->end;
	if (replay && c->own_end.len > 0) {
		r->end = RECALL_WAITING; /* a replay makes what the attempt did */
		r->completed = c->own_end;
	}
	if (r->end != RECALL_OPEN && c->result_from != NO_CALL)
		r->original = rec->calls[c->result_from].end;
	if (c->input_from != NO_CALL)
		r->input = rec->calls[c->input_from].end;
	r->call = add_text(x, c->call->id);
	r->superseded = !replay && c->enclosing != NO_CALL &&
	    c->call->rare->try_number < rec->calls[c->enclosing].last_try;
	r->decided = recording_decision(rec, call);
	r->doubtful = recording_doubtful(rec, call);
	r->began = recording_began(rec, call);
	r->stands = c->child ? recording_child_excused(rec, call) :
	    recording_failure_stands(rec, call) && (c->call->tried || !root->doubt_inside);
	r->maybe = recording_only_begun(rec, call);
	r->encloses = c->encloses || rec->calls[c->failed_first].encloses ||
	    (c->result_from != NO_CALL && rec->calls[c->result_from].encloses);
	r->changed_inside = root->changed_inside != NO_CALL ?
	    add_text(x, rec->calls[root->changed_inside].call->id) : x->empty;
	model_call_event_id(root->call, r->root);
	add_events(x, rec, call, r);
}

static int
compare_records(const void *a, const void *b)
{
	const struct index_record *left = a, *right = b;
	int order = memcmp(left->key, right->key, DIGEST_BYTES);

	if (order == 0)
		order = memcmp(left->guard, right->guard, DIGEST_BYTES);
	if (order != 0)
		return order;
	if (left->started.source != right->started.source) /* the run's own comes last there */
		return left->started.source > right->started.source ? -1 : 1;
	if (left->superseded != right->superseded)
		return left->superseded ? 1 : -1;
	if (left->item != right->item)
		return left->item < right->item ? -1 : 1;
	if (left->occurrence != right->occurrence)
		return left->occurrence < right->occurrence ? -1 : 1;
	return (left->order > right->order) - (left->order < right->order);
}

static int
index_write(const char *path, const struct recording *rec, struct error *err)
{
	int fd = file_open_plain(path, O_WRONLY | O_CREAT | O_EXCL, 0600), failed = 0;
	struct index x = { .text = BUFFER_INIT };
	struct index_record *first = NULL;
	uint64_t prefix;

	if (fd < 0)
		return error_errno(err, ERROR_SYSTEM, path, "unable to make");
	prefix = add_text(&x, rec->spec->prefix != NULL ? rec->spec->prefix : "");
	x.empty = add_text(&x, "");
	for (size_t i = 0; i < history_source_count(rec->spec); i++) {
		rec->sources[i].path = add_text(&x, history_source(rec->spec, i)->path);
		rec->sources[i].blobs = add_text(&x, history_source(rec->spec, i)->blobs);
	}
	x.records = memory_zero(rec->call_count, sizeof *x.records);
	for (uint32_t i = 0; i < rec->call_count; i++)
		if (recording_counts(rec, i))
			add_record(&x, rec, i);
	if (x.count > 1)
		qsort(x.records, x.count, sizeof *x.records, compare_records);
	for (size_t i = 0; i < x.count; i++) {
		if (first == NULL || memcmp(first->key, x.records[i].key, DIGEST_BYTES) != 0)
			first = &x.records[i];
		first->key_began |= x.records[i].began;
	}

	/* A signal, a time limit, or a death does not come again in a replay. */
	const bool cut_off = rec->spec->mode == RECALL_REPLAY && (rec->status[0] == '\0' ||
	    strcmp(rec->status, "cancelled") == 0 || strcmp(rec->status, "timeout") == 0);
	const struct index_head head = { HISTORY_MAGIC, rec->spec->mode,
		history_source_count(rec->spec), x.count, x.place_count, x.text.len, prefix, cut_off };
	const struct { const void *bytes; size_t len; } parts[] = {
		{ &head, sizeof head },
		{ rec->sources, (size_t)head.sources * sizeof *rec->sources },
		{ x.records, x.count * sizeof *x.records },
		{ x.places, x.place_count * sizeof *x.places },
		{ x.text.data, x.text.len },
	};

	for (size_t i = 0; i < sizeof parts / sizeof *parts && failed == 0; i++)
		if (parts[i].len > 0 && file_write(fd, parts[i].bytes, parts[i].len) != 0)
			failed = error_errno(err, ERROR_SYSTEM, path, "unable to write");
	close(fd);
	free(x.records);
	free(x.places);
	buffer_free(&x.text);
	return failed;
}

/* ---- what is read, and its summary ---- */

int
history_begin(struct history_reading **reading, const struct history_spec *spec,
    struct error *err)
{
	struct history_reading *r = *reading = memory_zero(1, sizeof *r);

	r->spec = *spec;
	return recording_begin(&r->recording, &r->spec, err);
}

int
history_take(struct history_reading *r, const char *line, size_t len, int64_t offset,
    struct error *err)
{
	return recording_take(&r->recording, line, len, offset, err);
}

int
history_take_file(struct history_reading *r, struct error *err)
{
	return recording_read_source(&r->recording, err);
}

void
history_end(struct history_reading *r)
{
	recording_end(&r->recording);
}

bool
history_is_of(const struct history_reading *r)
{
	const struct recording *rec = &r->recording;
	const struct index_source *last = &rec->sources[rec->source];
	struct stat status;

	return lstat(history_source(rec->spec, rec->source)->path, &status) == 0 &&
	    (uint64_t)status.st_dev == last->device && (uint64_t)status.st_ino == last->inode &&
	    status.st_size == last->size;
}

int
history_summarize(const struct history_reading *r, struct history_summary *summary,
    struct error *err)
{
	const struct recording *rec = &r->recording;

	memset(summary, 0, sizeof *summary);
	if (recording_check_paths(rec, err) != 0)
		return -1;
	for (uint32_t i = 0; i < rec->call_count; i++) {
		const struct recorded_call *c = &rec->calls[i];
		struct history_child *child;

		if (!recording_counts(rec, i))
			continue;
		summary->calls++;
		if (!c->child || c->state == RECALL_SUCCEEDED)
			continue;
		summary->children = memory_array(summary->children, summary->child_count + 1,
		    sizeof *summary->children);
		child = &summary->children[summary->child_count++];
		child->call = memory_text(c->call->id);
		child->path = memory_text(c->call->step->path);
		snprintf(child->run_id, sizeof child->run_id, "%s", c->call->rare->child_run_id);
		child->excused = recording_child_excused(rec, i);
		child->forked = c->source < rec->spec->other_count;
	}
	summary->attempts = rec->own_attempts;
	snprintf(summary->status, sizeof summary->status, "%s", rec->status);
	return recording_doubts(rec, summary, err);
}

int
history_write(const struct history_reading *r, const char *path, struct error *err)
{
	return index_write(path, &r->recording, err);
}

void
history_reading_free(struct history_reading *r)
{
	if (r == NULL)
		return;
	recording_close(&r->recording);
	free(r);
}

int
history_build(const char *path, const struct history_spec *spec,
    struct history_summary *summary, struct error *err)
{
	struct history_reading *r;
	int failed;

	memset(summary, 0, sizeof *summary);
	failed = history_begin(&r, spec, err);
	if (failed == 0)
		failed = history_take_file(r, err);
	if (failed == 0) {
		history_end(r);
		failed = history_summarize(r, summary, err);
	}
	if (failed == 0 && path != NULL)
		failed = history_write(r, path, err);
	history_reading_free(r);
	return failed;
}

void
history_summary_free(struct history_summary *summary)
{
	for (size_t i = 0; i < summary->doubt_count; i++) {
		free(summary->doubts[i].call);
		free(summary->doubts[i].tool);
		free(summary->doubts[i].what);
	}
	for (size_t i = 0; i < summary->child_count; i++) {
		free(summary->children[i].call);
		free(summary->children[i].path);
	}
	free(summary->children);
	free(summary->doubts);
	memset(summary, 0, sizeof *summary);
}
