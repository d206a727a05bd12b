/*
 * Appending: turns the caller's data into an event of transcript/transcript.h. Everything that can
 * be checked from the line alone is checked before the transcript is touched, by the rules of
 * awf-verify(1); the rest is checked under the lock of the file.
 */
#include <awf/transcript.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/id.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "base/version.h"
#include "io/file.h"
#include "json/scan.h"
#include "json/writer.h"
#include "model/waiting.h"
#include "shared/guard.h"
#include "storage/storage.h"
#include "transcript/blob.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"
#include "transcript/form.h"
#include "transcript/reader.h"
#include "transcript/transcript.h"

_Static_assert(AWF_ID_SIZE == ID_SIZE, "ids of the interface are those of the format");

#define FORMAT 1
#define KEPT ((size_t)1 << 20) /* memory kept for the next event */

struct awf_transcript {
	struct transcript transcript;
	char *path;
	char run_id[ID_SIZE];
	struct buffer payload, links; /* of the current event, minified */
	struct buffer line;           /* as it is checked */
};

/* What one event becomes. */
struct appending {
	struct awf_transcript *t;
	const struct awf_event *event;
	bool first;          /* the transcript is being made */
	struct event made;
	enum awf_code code;  /* why it was refused under the lock */
};

/* ---- the event ---- */

/* Appends JSON text without white space; sort is span_type() of it. */
static enum awf_code
append_check_json(const char *what, const char *text, char sort, struct buffer *out,
    struct error *found)
{
	size_t bad, len = strlen(text);
	const char *why = scan_within(text, len, SCAN_LINE_DEPTH - 1, &bad);

	if (out->capacity > KEPT)
		buffer_free(out);
	buffer_clear(out);
	if (why != NULL)
		return guard_set_error(found, AWF_INVALID, what, "is no JSON: byte %zu: %s", bad,
		    why);
	struct span value = span_trim(span_of(text, len));
	if (span_type(value) != sort)
		return guard_set_error(found, AWF_INVALID, what, "is no JSON %s",
		    sort == 'o' ? "object" : "array");
	scan_minify(value, out);
	return AWF_OK;
}

/* Adds the members that every run.started has, if the caller has left them out. */
static void
complete_started(struct buffer *payload, bool first)
{
	struct span given = span_of(payload->data, payload->len);
	bool kind = span_member(given, KEY_KIND).at == NULL;
	bool version = span_member(given, KEY_AWF_VERSION).at == NULL;
	bool format = span_member(given, KEY_FORMAT).at == NULL;
	bool attempt = first && span_member(given, KEY_ATTEMPT).at == NULL;
	struct writer w;

	payload->len--; /* its brace */
	writer_begin(&w, payload);
	w.comma = payload->len > 1;
	if (kind)
		writer_member_string(&w, KEY_KIND, "workflow");
	if (version)
		writer_member_string(&w, KEY_AWF_VERSION, AWF_VERSION);
	if (format)
		writer_member_integer(&w, KEY_FORMAT, FORMAT);
	if (attempt)
		writer_member_integer(&w, KEY_ATTEMPT, 1);
	buffer_byte(payload, '}');
}

/* Appends a value, with null for each string that will be in a blob. */
static void
append_without_blobs(struct span value, struct buffer *out)
{
	char type = span_type(value);
	const char *separator = "";

	if (value.len <= BLOB_THRESHOLD || (type != 's' && type != 'o' && type != 'a')) {
		buffer_append(out, value.at, value.len);
		return;
	}
	if (type == 's') {
		buffer_text(out, "null");
		return;
	}
	buffer_byte(out, type == 'o' ? '{' : '[');
	for (struct span_walk member = span_walk(value); span_next(&member);) {
		buffer_text(out, separator);
		separator = ",";
		if (member.key.at != NULL) {
			buffer_append(out, member.key.at, member.key.len);
			buffer_byte(out, ':');
		}
		append_without_blobs(member.value, out);
	}
	buffer_byte(out, type == 'o' ? '}' : ']');
}

/* Refuses members that a caller may not set. */
static enum awf_code
check_rights(const struct appending *a, const struct form *form, struct error *found)
{
	const char *type = a->event->type;
	bool run = a->made.type == EVENT_RUN_STARTED || a->made.type == EVENT_RUN_COMPLETED;

	if (form->decides.at != NULL)
		return guard_set_error(found, AWF_INVALID, type,
		    "is a decision: awf-ctl(1) makes those");
	if (form->signature.at != NULL)
		return guard_set_error(found, AWF_INVALID, type,
		    "has a seal: awf-run(1) makes those");
	if (a->made.type == EVENT_RUN_STARTED && a->made.parent_event_id != NULL)
		return guard_set_error(found, AWF_INVALID, type, "has a parent");
	if (a->made.type != EVENT_RUN_STARTED && a->made.parent_event_id == NULL)
		return guard_set_error(found, AWF_INVALID, type, "has no parent");
	if (a->made.type == EVENT_RUN_STARTED && span_true(span_member(a->made.payload, KEY_MASKED)))
		return guard_set_error(found, AWF_MASKED, type,
		    "says that the run is masked: there is no filter");
	if (run && !a->first && transcript_alive(a->t->path, a->t->run_id))
		return guard_set_error(found, AWF_INVALID, type,
		    "is the owner's to append: the run is alive");
	return AWF_OK;
}

/* Sets a->made, whose texts are owned by a->t. */
static enum awf_code
make_event(struct appending *a, struct error *found)
{
	static const char any[] = "0000000000000000000000000000000000000000000000000000000000000000";
	const struct awf_event *given = a->event;
	struct awf_transcript *t = a->t;
	struct event *e = &a->made;
	struct buffer *line = &t->line;
	struct form_fault fault;
	struct writer w;
	struct form form;
	enum awf_code code;

	if (given == NULL || given->type == NULL || given->payload == NULL)
		return guard_set_error(found, AWF_INVALID, NULL,
		    "an event without a type or a payload");
	*e = (struct event){ .type = event_type_from_name(given->type, strlen(given->type)),
		.parent_event_id = given->parent, .path = given->path != NULL ? given->path : "",
		.iteration = given->iteration };
	if (e->type == EVENT_TYPES)
		return guard_set_error(found, AWF_INVALID, given->type,
		    "is no type of awf-transcript(5)");
	code = append_check_json("the payload", given->payload, 'o', &t->payload, found);
	if (code != AWF_OK)
		return code;
	if (e->type == EVENT_RUN_STARTED)
		complete_started(&t->payload, a->first);
	e->payload = span_of(t->payload.data, t->payload.len);
	INVARIANT(span_type(e->payload) == 'o' && t->payload.data[t->payload.len - 1] == '}');
	if (given->links != NULL) {
		code = append_check_json("the links", given->links, 'a', &t->links, found);
		if (code != AWF_OK)
			return code;
		e->links = span_of(t->links.data + 1, t->links.len - 2);
	}

	/* The line as it will be, except for what the transcript adds. */
	if (line->capacity > KEPT)
		buffer_free(line);
	buffer_clear(line);
	writer_begin(&w, line);
	writer_object(&w);
	writer_member_integer(&w, KEY_SEQ, 1);
	writer_member_string(&w, KEY_TIMESTAMP, "2000-01-01T00:00:00.000000Z");
	writer_member_string(&w, KEY_EVENT_ID, t->run_id);
	writer_member_string(&w, KEY_RUN_ID, t->run_id);
	writer_key(&w, KEY_PARENT_EVENT_ID);
	writer_string(&w, e->parent_event_id);
	event_write_links(&w, e->links);
	writer_member_string(&w, KEY_TYPE, event_type_name(e->type));
	writer_member_string(&w, KEY_PATH, e->path);
	writer_member_integer(&w, KEY_ITERATION, e->iteration);
	writer_key(&w, KEY_PAYLOAD);
	append_without_blobs(e->payload, line);
	w.comma = true;
	writer_member_string(&w, KEY_PREV, any);
	writer_object_end(&w);

	if (form_check(line->data, line->len, &form, &fault) == -1)
		return guard_set_error(found, AWF_INVALID, given->type, "%s", fault.what.message);
	return check_rights(a, &form, found);
}

/* ---- appending ---- */

/* Under the lock. */
static int
append_allow_event(void *context, struct event *e, struct error *found)
{
	struct appending *a = context;
	const struct transcript *t = &a->t->transcript;
	int ended;

	INVARIANT(t->locked);
	if (t->seq == 0) {
		a->code = guard_set_error(found, AWF_FORMAT, a->t->path, "has lost its lines");
		return -1;
	}
	if (e->type == EVENT_RUN_STARTED)
		return 0;
	ended = waiting_run_ended(t, found);
	if (ended == 1)
		a->code = guard_set_error(found, AWF_ENDED, a->t->run_id, "the run has ended");
	return ended == 0 ? 0 : -1;
}

static enum awf_code
append_event(void *context, struct error *found)
{
	struct appending *a = context;
	struct transcript *t = &a->t->transcript;
	enum awf_code code = make_event(a, found);
	int result;

	if (code != AWF_OK)
		return code;
	result = a->first ? transcript_append(t, &a->made, found) :
	    transcript_append_allowed(t, &a->made, append_allow_event, a, found);
	if (result == -1)
		return a->code != AWF_OK ? a->code : t->busy ? AWF_BUSY : code_of(found);
	if (t->sync == SYNC_STEP && event_type_synced(a->made.type) &&
	    transcript_sync(t, found) == -1)
		return AWF_SYSTEM;
	return AWF_OK;
}

int64_t
awf_append(struct awf_transcript *transcript, const struct awf_event *event,
    char id[AWF_ID_SIZE], struct awf_error *err)
{
	struct appending a = { .t = transcript, .event = event };
	enum awf_code code = guard_run(append_event, &a, err);

	if (code == AWF_MEMORY)
		transcript_forget(&transcript->transcript);
	if (code != AWF_OK)
		return -1;
	if (id != NULL)
		memcpy(id, a.made.id, ID_SIZE);
	return a.made.seq;
}

/* ---- opening ---- */

struct opening {
	const char *path, *payload;
	struct awf_transcript *transcript;
	char id[ID_SIZE];
};

static struct awf_transcript *
new_transcript(struct opening *o)
{
	struct awf_transcript *t = o->transcript = memory_zero(1, sizeof *t);

	t->transcript.fd = -1;
	return t;
}

/* Checks from the first line which run the transcript is of, and whether it can be appended to. */
static enum awf_code
check_first_line(struct awf_transcript *t, const char *line, size_t len, struct error *found)
{
	struct event_view view;
	long long format;

	if (event_view(line, len, &view) == -1 || view.type != EVENT_RUN_STARTED ||
	    !event_copy_id(view.run_id, t->run_id))
		return guard_set_error(found, AWF_FORMAT, t->path,
		    "is no transcript: it does not begin with a run.started");
	if (span_integer(span_member(view.payload, KEY_FORMAT), &format) && format > FORMAT)
		return guard_set_error(found, AWF_FORMAT, t->path,
		    "is of format %lld, which this version does not know", format);
	if (span_true(span_member(view.payload, KEY_MASKED)))
		return guard_set_error(found, AWF_MASKED, t->path,
		    "is of a masked run, whose filter is not known here");
	return AWF_OK;
}

/* Whether the transcript consists of lines, or events, that somebody sends (awf-record(1)). */
static bool
is_elsewhere(const struct awf_transcript *t)
{
	char *directory = path_directory(t->path), *root = path_join(directory, "..");
	const struct storage storage = { .root = root };
	bool elsewhere = storage_run_elsewhere(&storage, t->run_id);

	free(root);
	free(directory);
	return elsewhere;
}

static enum awf_code
open_transcript(void *context, struct error *found)
{
	struct opening *o = context;
	struct awf_transcript *t;
	enum awf_code code;
	struct reader r;
	const char *line;
	char *blobs;
	size_t len;
	int got;

	if (o->path == NULL)
		return guard_set_error(found, AWF_INVALID, NULL, "no path is given");
	t = new_transcript(o);
	if ((t->path = absolute_path(o->path, found)) == NULL)
		return AWF_SYSTEM;
	if (reader_open(&r, t->path, found) == -1)
		return is_missing(t->path) ? AWF_MISSING : code_of(found);
	got = reader_next(&r, &line, &len, found);
	if (got == 1)
		code = check_first_line(t, line, len, found);
	else if (got == 0)
		code = guard_set_error(found, AWF_FORMAT, t->path, "has no whole line yet");
	else
		code = found->code == ERROR_INVALID_INPUT ? AWF_FORMAT : code_of(found);
	reader_close(&r);
	if (code != AWF_OK)
		return code;
	if (is_elsewhere(t))
		return guard_set_error(found, AWF_INVALID, t->path,
		    "is of a run that is recorded elsewhere: nothing is appended here");
	blobs = transcript_blobs(t->path, t->run_id);
	if (transcript_open(&t->transcript, t->path, blobs, t->run_id, found) == -1)
		code = code_of(found);
	free(blobs);
	return code;
}

int
awf_open(struct awf_transcript **transcript, const char *path, struct awf_error *err)
{
	struct opening o = { .path = path };
	enum awf_code code = guard_run(open_transcript, &o, err);

	if (code != AWF_OK) {
		awf_close(o.transcript);
		o.transcript = NULL;
	}
	*transcript = o.transcript;
	return code == AWF_OK ? 0 : -1;
}

static enum awf_code
create_transcript(void *context, struct error *found)
{
	struct opening *o = context;
	static const char suffix[] = ".jsonl";
	struct awf_event started = { .type = "run.started", .payload = o->payload };
	struct awf_transcript *t;
	enum awf_code code;
	char *path, *blobs;
	const char *name;

	if (o->path == NULL)
		return guard_set_error(found, AWF_INVALID, NULL, "no path is given");
	t = new_transcript(o);
	if ((path = absolute_path(o->path, found)) == NULL)
		return AWF_SYSTEM;

	/* In a directory the file gets a name; a file named after an id belongs to that run. */
	id_new(t->run_id);
	if (path_is_directory(path)) {
		t->path = memory_format("%s/%s%s", path, t->run_id, suffix);
		free(path);
	} else {
		t->path = path;
		name = path_base(path);
		if (strlen(name) == ID_SIZE - 1 + sizeof suffix - 1 &&
		    id_valid(name, ID_SIZE - 1) && strcmp(name + ID_SIZE - 1, suffix) == 0)
			memcpy(t->run_id, name, ID_SIZE - 1);
	}

	struct appending a = { .t = t, .event = &started, .first = true };
	/* Before there is a file. */
	if ((code = make_event(&a, found)) != AWF_OK)
		return code;
	blobs = transcript_blobs(t->path, t->run_id);
	if (transcript_create(&t->transcript, t->path, blobs, t->run_id, found) == -1)
		code = code_of(found);
	free(blobs);
	if (code == AWF_OK)
		code = append_event(&a, found);
	INVARIANT(code != AWF_OK || (a.made.seq == 1 && id_valid(a.made.id, strlen(a.made.id))));
	memcpy(o->id, a.made.id, ID_SIZE);
	return code;
}

int
awf_create(struct awf_transcript **transcript, const char *path, const char *payload,
    char id[AWF_ID_SIZE], struct awf_error *err)
{
	struct opening o = { .path = path, .payload = payload };
	enum awf_code code = guard_run(create_transcript, &o, err);

	if (code != AWF_OK) {
		/* It has a descriptor from the moment on that it created the file. */
		if (o.transcript != NULL && o.transcript->transcript.fd != -1)
			unlink(o.transcript->path);
		awf_close(o.transcript);
		o.transcript = NULL;
	} else if (id != NULL)
		memcpy(id, o.id, ID_SIZE);
	*transcript = o.transcript;
	return code == AWF_OK ? 0 : -1;
}

/* ---- the rest ---- */

const char *
awf_run_id(const struct awf_transcript *transcript)
{
	return transcript->run_id;
}

int64_t
awf_repaired(const struct awf_transcript *transcript)
{
	return transcript->transcript.moved;
}

void
awf_close(struct awf_transcript *transcript)
{
	if (transcript == NULL)
		return;
	transcript_close(&transcript->transcript);
	free(transcript->path);
	buffer_free(&transcript->payload);
	buffer_free(&transcript->links);
	buffer_free(&transcript->line);
	free(transcript);
}
