/*
 * The ids and types of a transcript's lines are found by position; of most lines nothing else is
 * read. The line of an event is built, and its blobs written, before the lock is taken; under the
 * lock, lines that were added since are read, and the event is left out if it is among them.
 */
#include "ingest/recorder.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ingest/foreign_event.h"
#include "model/waiting.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"

void
recorder_begin(struct recorder *r, struct transcript *t, const char *parent, const char *path,
    const unsigned char *key)
{
	*r = (struct recorder){ .transcript = t, .path = memory_text(path != NULL ? path : ""),
		.key = key };
	if (parent != NULL)
		memcpy(r->parent, parent, ID_SIZE);
}

/* The event id in a line; zeros if there is none. */
static struct uuid
id_of_line(const char *line, size_t len)
{
	static const char before[] = "\"" KEY_TIMESTAMP "\":\"", between[] = "\",\"" KEY_EVENT_ID "\":\"";
	const size_t fixed = sizeof before - 1 + CLOCK_TEXT_SIZE - 1 + sizeof between - 1 + ID_SIZE;
	const char *at = memchr(line, ',', len);
	struct uuid id = { 0, 0 };
	struct event_view view;

	if (at != NULL && len - (size_t)(++at - line) >= fixed &&
	    memcmp(at, before, sizeof before - 1) == 0) {
		at += sizeof before - 1 + CLOCK_TEXT_SIZE - 1;
		if (memcmp(at, between, sizeof between - 1) == 0 &&
		    uuid_read(at + sizeof between - 1, ID_SIZE - 1, &id))
			return id;
	}
	/* Others may write lines too. */
	if (event_view(line, len, &view) == 0)
		id = event_key(view.event_id);
	return id;
}

int
recorder_look(struct recorder *r, struct error *err)
{
	bool find_parent = r->parent[0] == '\0';
	struct event_view view;
	struct event_head head;
	enum event_type type;
	const char *line;
	size_t len;
	int got;

	if (!r->reading && reader_open(&r->reader, r->transcript->path, err) != 0)
		return -1;
	r->reading = true;
	while ((got = reader_next(&r->reader, &line, &len, err)) == 1) {
		type = event_peek(line, len, &head) == 0 ? head.type : EVENT_TYPES;
		event_index_put(&r->events, (struct indexed_event){ .id = id_of_line(line, len) }, type);
		if (find_parent && type == EVENT_RUN_STARTED && event_view(line, len, &view) == 0)
			event_copy_id(view.event_id, r->parent);
	}
	return got;
}

static bool
is_known(const struct recorder *r, const char *id)
{
	struct uuid key;

	return uuid_read(id, ID_SIZE - 1, &key) && event_index_find(&r->events, key) != NULL;
}

/* Whether it can be the parent of the next event, which the end of an attempt cannot. */
static bool
is_cause(const struct recorder *r, const char *id)
{
	const struct indexed_event *event = NULL;
	struct uuid key;

	if (uuid_read(id, ID_SIZE - 1, &key))
		event = event_index_find(&r->events, key);
	return event != NULL && event_index_type(&r->events, event) != EVENT_RUN_COMPLETED;
}

/* For the check under the lock. */
struct asking {
	struct recorder *recorder;
	bool known;
};

static int
recorder_allow_event(void *context, struct event *e, struct error *err)
{
	struct asking *a = context;
	int ended;

	if (recorder_look(a->recorder, err) != 0)
		return -1;
	a->known = is_known(a->recorder, e->id);
	if (a->known)
		return -1;
	ended = waiting_run_ended(a->recorder->transcript, err);
	if (ended == 1)
		error_set(err, ERROR_BLOCKED, a->recorder->transcript->run_id, "the run has ended");
	return ended == 0 ? 0 : -1;
}

/* The path of the event: that of the recorder, and the event's own below it. */
static char *
join_paths(const struct recorder *r, const char *path)
{
	return memory_format("%s%s%s", r->path, r->path[0] != '\0' && path[0] != '\0' ? "." : "", path);
}

enum recorder_result
recorder_take(struct recorder *r, struct span object, char id[ID_SIZE], int64_t *seq,
    char cause[ID_SIZE], struct error *err)
{
	const struct foreign_scope scope = { r->transcript->run_id, r->key, id };
	struct asking asking = { r, false };
	enum recorder_result result;
	struct foreign_event f;
	struct event e;
	char *path;

	*seq = 0;
	/* Do not read a long transcript under the lock. */
	if ((!r->reading && recorder_look(r, err) != 0) || foreign_event_read(&f, object, &scope, err) != 0)
		return RECORDER_REFUSED;
	memcpy(id, f.id, ID_SIZE);
	r->unsynced = true;
	if (is_known(r, f.id)) {
		foreign_event_free(&f);
		return RECORDER_KNOWN;
	}
	if (cause != NULL && f.parent[0] != '\0' && strcmp(f.parent, f.id) != 0 &&
	    !is_known(r, f.parent)) {
		/* Another process may have recorded it. */
		if (recorder_look(r, err) != 0) {
			foreign_event_free(&f);
			return RECORDER_REFUSED;
		}
		if (!is_known(r, f.parent)) {
			memcpy(cause, f.parent, ID_SIZE);
			foreign_event_free(&f);
			return RECORDER_AWAITS;
		}
	}
	path = join_paths(r, f.path);
	e = (struct event){ .type = f.type, .type_name = f.type_name, .event_id = f.id, .path = path,
		.iteration = f.iteration, .payload = span_of(f.payload.data, f.payload.len),
		.parent_event_id = is_cause(r, f.parent) ? f.parent : r->parent };
	if (transcript_append_allowed(r->transcript, &e, recorder_allow_event, &asking, err) == 0) {
		struct uuid key;

		/* The next event may name it as its cause. */
		if (uuid_read(f.id, ID_SIZE - 1, &key))
			event_index_put(&r->events, (struct indexed_event){ .id = key }, f.type);
		*seq = e.seq;
		result = RECORDER_TAKEN;
	} else {
		result = asking.known ? RECORDER_KNOWN : RECORDER_REFUSED;
	}
	free(path);
	foreign_event_free(&f);
	return result;
}

int
recorder_sync(struct recorder *r, struct error *err)
{
	if (r->unsynced && transcript_sync(r->transcript, err) != 0)
		return -1;
	r->unsynced = false;
	return 0;
}

void
recorder_trim(struct recorder *r)
{
	transcript_trim(r->transcript);
	if (r->reading)
		reader_trim(&r->reader);
}

void
recorder_end(struct recorder *r)
{
	if (r->reading)
		reader_close(&r->reader);
	event_index_free(&r->events);
	free(r->path);
	*r = (struct recorder){ .transcript = NULL };
}
