/*
 * A head, then arrays of sources, records, places and texts, as they are in memory: whoever
 * maps the file is of the same version, which the first bytes say. Parts refer to each other
 * by numbers, and the sizes in the head must add up to that of the file.
 */
#include "run/history_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"

#define MAGIC "awf-hst7"

/* The parts of the file while they are made. */
struct index {
	struct index_record *records;
	size_t count;
	struct place *places;
	size_t place_count, place_capacity;
	struct buffer text;
	uint64_t prefix, empty;
};

static uint64_t
add_text(struct index *x, const char *text)
{
	uint64_t at = x->text.len;

	buffer_append(&x->text, text, strlen(text) + 1);
	return at;
}

static void
add_place(struct index *x, const struct place *place)
{
	if (x->place_count == x->place_capacity) {
		x->place_capacity = x->place_capacity == 0 ? 256 : x->place_capacity * 2;
		x->places = memory_array(x->places, x->place_capacity, sizeof *x->places);
	}
	x->places[x->place_count++] = *place;
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
add_events(struct index *x, const struct recording *rec, size_t call, struct index_record *r)
{
	size_t earlier;

	r->events = x->place_count;
	for (size_t i = call; i != NO_CALL; i = earlier) {
		earlier = rec->calls[i].claims;
		for (size_t e = 0; e < rec->calls[i].event_count; e++)
			add_place(x, &rec->calls[i].events[e]);
		if (earlier != NO_CALL && !recorded_call_went_on(&rec->calls[i], &rec->calls[earlier]))
			break;
	}
	r->event_count = x->place_count - r->events;
	if (r->event_count > 1)
		qsort(x->places + r->events, (size_t)r->event_count, sizeof *x->places, compare_places);
}

/* What a call's identity ends in: NAME:OCCURRENCE:ITEM. */
static void
split_id(const char *id, char **name, int64_t *occurrence, int64_t *item)
{
	const char *last = strrchr(id, '/') != NULL ? strrchr(id, '/') + 1 : id;
	const char *number = strchr(last, ':');

	*name = memory_copy(last, (size_t)(number - last));
	*occurrence = strtoll(number + 1, NULL, 10);
	*item = strtoll(strchr(number + 1, ':') + 1, NULL, 10);
}

/* The first of its chain is what a call is known by to those in it. Where the call
 * around one is not recorded, nothing finds it. */
static const char *
root_id(const struct recording *rec, const struct recorded_call *c)
{
	if (c->enclosing != NO_CALL)
		return rec->calls[rec->calls[c->enclosing].root].started;
	return strchr(c->id, '/') != NULL ? c->id : "";
}

static void
sort_by(const struct recording *rec, const struct recorded_call *c, struct index_record *r)
{
	char *name;
	int64_t item;

	split_id(c->id, &name, &r->occurrence, &r->item);
	item = c->member || rec->spec->mode == RECALL_REPLAY ? r->item : ANY_ITEM;
	index_key(root_id(rec, c), name, item, r->key);
	memcpy(r->guard, c->guard, sizeof r->guard);
	r->definition = c->definition;
	free(name);
}

static void
add_record(struct index *x, const struct recording *rec, size_t call)
{
	const struct recorded_call *c = &rec->calls[call];
	struct index_record *r = &x->records[x->count++];
	size_t inside;

	memset(r, 0, sizeof *r);
	r->order = call;
	sort_by(rec, c, r);
	r->started = c->begin;
	r->end = c->reopened ? RECALL_OPEN : c->state;
	if (r->end != RECALL_OPEN)
		r->completed = c->end;
	if (rec->spec->mode == RECALL_REPLAY && c->own_end.len > 0) {
		r->end = RECALL_WAITING; /* a replay makes what the attempt did */
		r->completed = c->own_end;
	}
	if (r->end != RECALL_OPEN && c->result_from != NO_CALL)
		r->original = rec->calls[c->result_from].end;
	if (c->input_from != NO_CALL)
		r->input = rec->calls[c->input_from].end;
	r->call = add_text(x, c->id);
	r->superseded = rec->spec->mode != RECALL_REPLAY && c->enclosing != NO_CALL &&
	    c->try_number < rec->calls[c->enclosing].last_try;
	r->decided = recording_decision(rec, call);
	r->doubtful = recording_doubtful(rec, call);
	r->began = recording_began(rec, call);
	r->stands = c->child != NULL ? recording_child_excused(rec, call) :
	    recording_failure_stands(rec, call) &&
	    (c->tried || !rec->calls[c->root].doubt_inside);
	r->maybe = recording_only_begun(rec, call);
	r->encloses = c->encloses || rec->calls[c->failed_first].encloses ||
	    (c->result_from != NO_CALL && rec->calls[c->result_from].encloses);
	inside = rec->calls[c->root].changed_inside;
	r->changed_inside = inside != NO_CALL ? add_text(x, rec->calls[inside].id) : x->empty;
	memcpy(r->root, rec->calls[c->root].started, ID_SIZE);
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

static void
sort_records(struct index *x)
{
	struct index_record *first = NULL;

	if (x->count > 1)
		qsort(x->records, x->count, sizeof *x->records, compare_records);
	for (size_t i = 0; i < x->count; i++) {
		if (first == NULL || memcmp(first->key, x->records[i].key, DIGEST_BYTES) != 0)
			first = &x->records[i];
		first->key_began |= x->records[i].began;
	}
}

static void
index_make(struct index *x, const struct recording *rec)
{
	x->prefix = add_text(x, rec->spec->prefix != NULL ? rec->spec->prefix : "");
	x->empty = add_text(x, "");
	for (size_t i = 0; i < history_source_count(rec->spec); i++) {
		rec->sources[i].path = add_text(x, history_source(rec->spec, i)->path);
		rec->sources[i].blobs = add_text(x, history_source(rec->spec, i)->blobs);
	}
	x->records = memory_zero(rec->call_count, sizeof *x->records);
	for (size_t i = 0; i < rec->call_count; i++)
		if (recording_counts(rec, i))
			add_record(x, rec, i);
	sort_records(x);
}

/* A signal, a time limit, or a death: it does not come again in a replay. */
static bool
recording_cut_off(const struct recording *rec)
{
	return rec->spec->mode == RECALL_REPLAY && (rec->status[0] == '\0' ||
	    strcmp(rec->status, "cancelled") == 0 || strcmp(rec->status, "timeout") == 0);
}

static int
write_parts(int fd, const struct index *x, const struct recording *rec)
{
	struct index_head head = { MAGIC, rec->spec->mode, history_source_count(rec->spec),
		x->count, x->place_count, x->text.len, x->prefix, recording_cut_off(rec) };
	const struct { const void *bytes; size_t len; } parts[] = {
		{ &head, sizeof head },
		{ rec->sources, (size_t)head.sources * sizeof *rec->sources },
		{ x->records, x->count * sizeof *x->records },
		{ x->places, x->place_count * sizeof *x->places },
		{ x->text.data, x->text.len },
	};

	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (parts[i].len > 0 && file_write(fd, parts[i].bytes, parts[i].len) != 0)
			return -1;
	return 0;
}

int
index_write(const char *path, const struct recording *rec, struct error *err)
{
	struct index x = { .text = BUFFER_INIT };
	int fd = file_open_plain(path, O_WRONLY | O_CREAT | O_EXCL, 0600), failed = 0;

	if (fd < 0)
		return error_errno(err, ERROR_SYSTEM, path, "unable to make");
	index_make(&x, rec);
	if (write_parts(fd, &x, rec) != 0)
		failed = error_errno(err, ERROR_SYSTEM, path, "unable to write");
	close(fd);
	free(x.records);
	free(x.places);
	buffer_free(&x.text);
	return failed;
}

static int
damaged(const char *path, struct error *err)
{
	return error_set(err, ERROR_SYSTEM, path,
	    "is no history of this version: start the run again with --resume");
}

/* Finds the parts in the map, if they are all of it. */
static int
find_parts(struct history *h, struct error *err)
{
	const struct index_head *head = h->map;
	uint64_t room = h->map_len, need;

	if (room < sizeof *head || memcmp(head->magic, MAGIC, sizeof head->magic) != 0 ||
	    head->sources > room || head->records > room || head->places > room ||
	    head->text > room)
		return damaged(h->path, err);
	need = sizeof *head + head->sources * sizeof *h->sources +
	    head->records * sizeof *h->records + head->places * sizeof *h->places + head->text;
	if (need != room || head->text == 0)
		return damaged(h->path, err);
	h->head = head;
	h->sources = (const void *)(head + 1);
	h->records = (void *)((char *)h->map + sizeof *head + head->sources * sizeof *h->sources);
	h->places = (const void *)(h->records + head->records);
	h->text = (const char *)(h->places + head->places);
	return h->text[head->text - 1] == '\0' ? 0 : damaged(h->path, err);
}

static int
map_index(struct history *h, int fd, struct error *err)
{
	struct stat status;

	if (fstat(fd, &status) != 0)
		return error_errno(err, ERROR_SYSTEM, h->path, "unable to look at it");
	h->map_len = (size_t)status.st_size;
	if (h->map_len == 0)
		return damaged(h->path, err);
	h->map = mmap(NULL, h->map_len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (h->map == MAP_FAILED) {
		h->map = NULL;
		return error_errno(err, ERROR_SYSTEM, h->path, "unable to map");
	}
	return find_parts(h, err);
}

int
history_open(struct history **opened, const char *run_directory, struct error *err)
{
	char *path = path_join(run_directory, HISTORY_FILE);
	int fd = file_open_plain(path, O_RDWR, 0), failed;
	struct history *h;

	*opened = NULL;
	if (fd < 0) {
		failed = errno == ENOENT ? 0 :
		    error_errno(err, ERROR_SYSTEM, path, "unable to open");
		free(path);
		return failed;
	}
	h = memory_zero(1, sizeof *h);
	h->path = path;
	failed = map_index(h, fd, err);
	close(fd);
	if (failed != 0) {
		history_close(h);
		return -1;
	}
	h->ahead_key = SIZE_MAX;
	h->fds = memory_zero((size_t)h->head->sources, sizeof *h->fds);
	memset(h->fds, 0xff, (size_t)h->head->sources * sizeof *h->fds);
	*opened = h;
	return 0;
}

void
history_close(struct history *h)
{
	if (h == NULL)
		return;
	for (size_t i = 0; h->fds != NULL && i < h->head->sources; i++)
		if (h->fds[i] >= 0)
			close(h->fds[i]);
	if (h->map != NULL)
		munmap(h->map, h->map_len);
	free(h->fds);
	free(h->expected);
	free(h->path);
	free(h);
}
