/*
 * Whole lines are processed where they are in memory. Consecutive lines of a transcript are
 * collected and passed to their mirror at once, before anything else is done and before the bytes
 * move; events are passed one by one. Every refusal ends in ingest_report_refusal().
 *
 * A run in the table is a mirror, or a transcript in which events are recorded, and belongs to one
 * sender. A sender that names another's run is refused by its origin, and that run does not stay in
 * the table; nor does a run that has not begun.
 */
#include "ingest/ingest.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/patience.h"
#include "base/text.h"
#include "base/version.h"
#include "ingest/foreign_event.h"
#include "io/lock.h"
#include "json/writer.h"
#include "model/waiting.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"
#include "transcript/vocabulary.h"

#define FORMAT 1
#define RUN_DESCRIPTORS 3 /* of an open run: its origin, its transcript for writing, and for reading */
#define RUNS_LEAST 16
#define RUNS_MOST 256
#define NAME_LIMIT 128 /* bytes of a run's name */
#define AWAITED_MOST ((size_t)64 << 20) /* bytes of events that wait for their cause */

struct ingest_run {
	char run_id[ID_SIZE];
	char *sender;
	bool events;             /* otherwise it is a mirror */
	struct mirror mirror;
	struct origin origin;    /* of events */
	struct transcript transcript;
	struct recorder recorder;
};

/* To be acknowledged when it is on disk. */
struct ingest_pending {
	char run_id[ID_SIZE];
	char *event_id;          /* JSON; NULL: lines */
	int64_t seq;
};

/* ---- runs ---- */

/* How many runs can be open at a time: most descriptors are for other things. */
static size_t
limit_runs(void)
{
	struct rlimit limit;
	rlim_t runs = RUNS_MOST;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / RUN_DESCRIPTORS / 4 < runs)
		runs = limit.rlim_cur / RUN_DESCRIPTORS / 4;
	return runs > RUNS_LEAST ? (size_t)runs : RUNS_LEAST;
}

void
ingest_begin(struct ingest *ingest, const struct storage *s)
{
	*ingest = (struct ingest){ .storage = s, .lease_ms = INGEST_LEASE_MS,
		.line_limit = SCAN_LINE_LIMIT, .lock_ms = TRANSCRIPT_LOCK_MS, .run_limit = limit_runs() };
}

/* Syncs what was recorded or known of it, and extends the time for which the run counts as
 * alive, unless it has ended. Done without the lock of its origin, which others may hold:
 * neither does harm to a run that is being removed. */
static int
sync_run(struct ingest *ingest, struct ingest_run *run, struct error *err)
{
	const struct transcript *t = run->events ? &run->transcript : &run->mirror.transcript;
	struct origin *origin = run->events ? &run->origin : &run->mirror.origin;
	struct error unread;
	int64_t lease_ms;

	if (!(run->events ? run->recorder.unsynced : run->mirror.unsynced))
		return 0;
	if ((run->events ? recorder_sync(&run->recorder, err) : mirror_sync(&run->mirror, err)) != 0) {
		ingest->lost = *err;
		return -1;
	}
	lease_ms = waiting_run_ended(t, &unread) == 1 ? 0 : ingest->lease_ms;
	return origin_lease(origin, clock_wall() + lease_ms * 1000, err);
}

/* Frees memory that long lines needed, since many runs are open for long. */
static void
trim_run(struct ingest_run *run)
{
	if (run->events)
		recorder_trim(&run->recorder);
	else
		mirror_trim(&run->mirror);
}

/* Closes a run; its sender may still get an acknowledgement. */
static void
drop_run(struct ingest *ingest, size_t at)
{
	struct ingest_run *run = ingest->runs[at];
	struct error failed;

	if (ingest->lost.code == ERROR_NONE)
		sync_run(ingest, run, &failed);
	if (run->events) {
		recorder_end(&run->recorder);
		transcript_close(&run->transcript);
		origin_close(&run->origin);
	} else {
		mirror_end(&run->mirror);
	}
	free(run->sender);
	free(run);
	ingest->run_count--;
	memmove(&ingest->runs[at], &ingest->runs[at + 1],
	    (ingest->run_count - at) * sizeof ingest->runs[0]);
}

/* The run if it is open for this sender; it becomes the last used. */
static struct ingest_run *
ingest_find_run(struct ingest *ingest, const char *run_id, const char *sender, bool events)
{
	for (size_t i = 0; i < ingest->run_count; i++) {
		struct ingest_run *run = ingest->runs[i];

		if (strcmp(run->run_id, run_id) != 0 || strcmp(run->sender, sender) != 0 ||
		    run->events != events)
			continue;
		memmove(&ingest->runs[1], &ingest->runs[0], i * sizeof ingest->runs[0]);
		return ingest->runs[0] = run;
	}
	return NULL;
}

/* Adds a run, as the last used. */
static struct ingest_run *
add_run(struct ingest *ingest, const char *run_id, const char *sender, bool events)
{
	struct ingest_run *run = memory_zero(1, sizeof *run);

	if (ingest->runs == NULL)
		ingest->runs = memory_array(NULL, ingest->run_limit, sizeof *ingest->runs);
	if (ingest->run_count == ingest->run_limit)
		drop_run(ingest, ingest->run_count - 1);
	memcpy(run->run_id, run_id, ID_SIZE);
	run->sender = memory_text(sender);
	run->events = events;
	run->origin.fd = run->transcript.fd = -1;
	if (!events) {
		mirror_begin(&run->mirror, ingest->storage, run_id, sender);
		run->mirror.repaired = ingest->repaired;
		run->mirror.lock_ms = ingest->lock_ms;
		run->mirror.lease_ms = ingest->lease_ms;
	}
	memmove(&ingest->runs[1], &ingest->runs[0], ingest->run_count * sizeof ingest->runs[0]);
	ingest->run_count++;
	return ingest->runs[0] = run;
}

void
ingest_close(struct ingest *ingest, const char *run_id)
{
	for (size_t i = ingest->run_count; i-- > 0;)
		if (strcmp(ingest->runs[i]->run_id, run_id) == 0)
			drop_run(ingest, i);
}

void
ingest_end(struct ingest *ingest)
{
	while (ingest->run_count > 0)
		drop_run(ingest, ingest->run_count - 1);
	free(ingest->runs);
	ingest->runs = NULL;
}

/* ---- runs that consist of events ---- */

/* An id stays the same; from any other name an id is derived, the same for all events of the
 * run. */
void
ingest_run_id(const char *sender, const char *name, size_t len, char run_id[ID_SIZE])
{
	struct buffer text = BUFFER_INIT;
	char digest[DIGEST_SIZE];

	if (id_valid(name, len) && name[14] == '4' && strchr("89ab", name[19]) != NULL) {
		memcpy(run_id, name, ID_SIZE - 1);
		run_id[ID_SIZE - 1] = '\0';
		return;
	}
	buffer_format(&text, "run\n%s\n", sender);
	buffer_append(&text, name, len);
	id_derive(digest_sha256(text.data, text.len, digest), run_id);
	buffer_free(&text);
}

static void
run_id_of(struct span name, const char *sender, char run_id[ID_SIZE])
{
	struct buffer text = BUFFER_INIT;

	span_decode(name, &text);
	ingest_run_id(sender, buffer_string(&text), text.len, run_id);
	buffer_free(&text);
}

/* The first event of such a run. name: its sender's name for it; vocabulary: of its first event. */
static int
record_started(struct ingest_run *run, struct span name, const char *vocabulary, struct error *err)
{
	struct event e = { .type = EVENT_RUN_STARTED, .path = "" };
	struct buffer payload = BUFFER_INIT, text = BUFFER_INIT;
	struct writer w;
	int failed;

	span_decode(name, &text);
	if (text.len > NAME_LIMIT)
		text.len = utf8_whole(text.data, NAME_LIMIT);
	writer_begin(&w, &payload);
	writer_object(&w);
	writer_key(&w, KEY_NAME);
	writer_bytes(&w, buffer_string(&text), text.len);
	writer_member_string(&w, KEY_KIND, INGEST_KIND);
	writer_member_string(&w, KEY_AWF_VERSION, AWF_VERSION);
	writer_member_integer(&w, KEY_FORMAT, FORMAT);
	writer_member_integer(&w, KEY_ATTEMPT, 1);
	writer_member_string(&w, KEY_VOCABULARY, vocabulary);
	writer_object_end(&w);
	e.payload = span_of(payload.data, payload.len);
	failed = transcript_append(&run->transcript, &e, err);
	buffer_free(&payload);
	buffer_free(&text);
	return failed;
}

/* Makes the sender the owner of the run, and creates its transcript. The lock of the origin is
 * held. */
static int
open_events(struct ingest *ingest, struct ingest_run *run, struct span name, const char *vocabulary,
    struct error *err)
{
	char *path = storage_transcript(ingest->storage, run->run_id);
	char *blobs = storage_blobs(ingest->storage, run->run_id);
	int failed = origin_claim(&run->origin, ingest->storage, run->run_id, run->sender, ORIGIN_EVENTS,
	    ingest->lock_ms, err);

	if (failed == 0)
		failed = (access(path, F_OK) == 0 ? transcript_open : transcript_create)(&run->transcript,
		    path, blobs, run->run_id, err);
	if (failed == 0) {
		run->transcript.repaired = ingest->repaired;
		run->transcript.lock_ms = ingest->lock_ms;
		recorder_begin(&run->recorder, &run->transcript, NULL, NULL, NULL);
		if (!transcript_begun(path))
			failed = origin_lease(&run->origin, clock_wall() + ingest->lease_ms * 1000, err) != 0 ? -1 :
			    record_started(run, name, vocabulary, err);
	}
	free(blobs);
	free(path);
	return failed;
}

static bool
has_begun(const struct ingest *ingest, const char *run_id)
{
	char *path = storage_transcript(ingest->storage, run_id);
	bool begun = transcript_begun(path);

	free(path);
	return begun;
}

/* The run of events with the lock of its origin, made if need be; NULL with *err. */
static struct ingest_run *
enter_events(struct ingest *ingest, const char *run_id, const char *sender, struct span name,
    const char *vocabulary, struct error *err)
{
	struct ingest_run *run = ingest_find_run(ingest, run_id, sender, true);
	int shared;

	if (run != NULL) {
		shared = origin_share(&run->origin, err);
		if (shared == 1 && lock_named(run->transcript.fd, run->transcript.path))
			return run;
		if (shared == -1)
			return NULL;
		/* It was removed. */
		run->recorder.unsynced = false;
		drop_run(ingest, 0);
	}
	run = add_run(ingest, run_id, sender, true);
	if (open_events(ingest, run, name, vocabulary, err) == 0)
		return run;
	drop_run(ingest, 0);
	return NULL;
}

/* Under the transcript's lock. */
static int
allow_end(void *context, struct event *e, struct error *err)
{
	struct ingest_run *run = context;
	int ended = waiting_run_ended(&run->transcript, err);

	(void)e;
	if (ended == 1)
		error_set(err, ERROR_BLOCKED, run->run_id, "the run has ended");
	return ended == 0 ? 0 : -1;
}

const char *const ingest_statuses[] = { "success", "failed", "cancelled", NULL };

enum ingest_fault
ingest_finish(struct ingest *ingest, const char *sender, const char *run_id, const char *status,
    struct error *err)
{
	struct event e = { .type = EVENT_RUN_COMPLETED, .path = "" };
	struct buffer payload = BUFFER_INIT;
	struct ingest_run *run;
	struct writer w;
	int failed;

	if (text_index(status, ingest_statuses) == -1) {
		error_set(err, ERROR_INVALID_INPUT, status, "is no end of a run");
		return INGEST_INVALID;
	}
	if (!has_begun(ingest, run_id)) {
		error_set(err, ERROR_BLOCKED, run_id, "there is no such run");
		return INGEST_FORBIDDEN;
	}
	run = enter_events(ingest, run_id, sender, SPAN_NONE, NULL, err);
	if (run == NULL)
		return err->code == ERROR_BLOCKED ? INGEST_FORBIDDEN : INGEST_FAILED;
	writer_begin(&w, &payload);
	writer_object(&w);
	writer_member_string(&w, KEY_STATUS, status);
	writer_member_integer(&w, KEY_EXIT_CODE, strcmp(status, "success") == 0 ? 0 : 1);
	writer_object_end(&w);
	e.payload = span_of(payload.data, payload.len);
	e.parent_event_id = run->recorder.parent;
	failed = recorder_look(&run->recorder, err) == 0 && transcript_append_allowed(&run->transcript,
	    &e, allow_end, run, err) == 0 ? 0 : -1;
	run->recorder.unsynced |= failed == 0;
	origin_release(&run->origin);
	buffer_free(&payload);
	if (failed == 0)
		failed = sync_run(ingest, run, err);
	return failed == 0 ? INGEST_NONE : err->code == ERROR_BLOCKED ? INGEST_CONFLICT : INGEST_FAILED;
}

/* ---- refusals and acknowledgements ---- */

void
ingest_input_begin(struct ingest_input *in, struct ingest *ingest, const struct ingest_spec *spec)
{
	*in = (struct ingest_input){ .ingest = ingest, .spec = *spec };
}

/* 0 if the rest of the input is processed, else -1. */
static int
ingest_report_refusal(struct ingest_input *in, const struct ingest_refusal *refusal)
{
	bool goes_on = in->spec.refused != NULL && in->spec.refused(in->spec.context, refusal);

	if (in->refusal.fault == INGEST_NONE || refusal->fault == INGEST_FAILED)
		in->refusal = *refusal;
	in->over |= !goes_on || refusal->fault == INGEST_FAILED || refusal->fault == INGEST_TOO_FAST;
	return in->over ? -1 : 0;
}

static int
refuse_line(struct ingest_input *in, enum ingest_fault fault, const struct error *error)
{
	const struct ingest_refusal refusal = { .fault = fault, .line = in->line, .error = *error };

	return ingest_report_refusal(in, &refusal);
}

/* What was reported about a run, which is reported only once. */
enum told { TOLD_NOTHING, TOLD_ENDED, TOLD_REFUSED /* nothing more of it is processed */ };

static void
note_told(struct ingest_input *in, const char *run_id, enum told told)
{
	map_put(&in->refused_runs, run_id, ID_SIZE - 1, told);
}

static enum told
told_of(const struct ingest_input *in, const char *run_id)
{
	const size_t *told = map_get(&in->refused_runs, run_id, ID_SIZE - 1);

	return told != NULL ? (enum told)*told : TOLD_NOTHING;
}

static struct ingest_pending *
add_pending(struct ingest_input *in, const char *run_id, int64_t seq)
{
	struct ingest_pending *pending;

	if (in->pending_count == in->pending_capacity) {
		in->pending_capacity = in->pending_capacity == 0 ? 64 : 2 * in->pending_capacity;
		in->pending = memory_array(in->pending, in->pending_capacity, sizeof *in->pending);
	}
	pending = &in->pending[in->pending_count++];
	*pending = (struct ingest_pending){ .seq = seq };
	memcpy(pending->run_id, run_id, ID_SIZE);
	return pending;
}

/* Lines are acknowledged by the last of them. */
static void
pend_lines(struct ingest_input *in, const char *run_id, int64_t seq)
{
	const size_t *at = map_get(&in->pending_lines, run_id, ID_SIZE - 1);

	if (at == NULL) {
		map_put(&in->pending_lines, run_id, ID_SIZE - 1, in->pending_count);
		add_pending(in, run_id, seq);
	} else if (seq > in->pending[*at].seq) {
		in->pending[*at].seq = seq;
	}
}

static void
forget_pending(struct ingest_input *in)
{
	for (size_t i = 0; i < in->pending_count; i++)
		free(in->pending[i].event_id);
	in->pending_count = 0;
	map_free(&in->pending_lines);
}

/* Prepares the run before it is accessed. */
static enum ingest_fault
ingest_prepare_run(const struct ingest_input *in, const char *run_id, struct error *err)
{
	if (in->spec.prepare == NULL || in->spec.prepare(in->spec.context, run_id, err) == 0)
		return INGEST_NONE;
	return err->code == ERROR_BLOCKED ? INGEST_CONFLICT : INGEST_FAILED;
}

/* Whether more of a run may be received now, and whether the sender may begin a run with this
 * name (.at NULL: it has begun). */
static enum ingest_fault
check_allowed(struct ingest_input *in, const char *run_id, struct span name, struct error *err)
{
	if (name.at != NULL && in->spec.named != NULL && !in->spec.named(in->spec.context, name)) {
		error_set(err, ERROR_BLOCKED, run_id, "the sender may begin no run of this name");
		return INGEST_FORBIDDEN;
	}
	if (in->spec.pace == NULL || in->unpaced || in->spec.pace(in->spec.context, run_id, -1))
		return INGEST_NONE;
	error_set(err, ERROR_BLOCKED, run_id, "too much comes at a time");
	return INGEST_TOO_FAST;
}

/* Counts what was recorded of a run. */
static void
ingest_count_events(struct ingest_input *in, const char *run_id, int64_t taken, int64_t known)
{
	in->accepted += taken;
	in->duplicates += known;
	if (in->spec.pace != NULL)
		in->spec.pace(in->spec.context, run_id, taken);
}

/* ---- lines of transcripts ---- */

static enum ingest_fault
fault_of(enum mirror_fault fault)
{
	static const enum ingest_fault faults[] = { [MIRROR_NONE] = INGEST_NONE,
		[MIRROR_INVALID] = INGEST_INVALID,
		[MIRROR_FORBIDDEN] = INGEST_FORBIDDEN, [MIRROR_GAP] = INGEST_GAP,
		[MIRROR_CONFLICT] = INGEST_CONFLICT, [MIRROR_FAILED] = INGEST_FAILED };

	return faults[fault];
}

/* Passes the collected lines to their mirror. */
static int
commit_lines(struct ingest_input *in)
{
	struct ingest_refusal refusal = { .fault = INGEST_NONE };
	struct mirror_lines lines = in->lines;
	struct mirror_result result = { .taken = 0 };
	struct span name = SPAN_NONE;
	struct ingest_run *run;
	int64_t done;

	in->lines.count = 0;
	if (lines.count == 0 || in->over)
		return in->over ? -1 : 0;
	if (lines.seq == 1)
		name = span_path(span_of(lines.text.at, (size_t)((const char *)memchr(lines.text.at, '\n',
		    lines.text.len) - lines.text.at)), KEY_PAYLOAD, KEY_NAME, NULL);
	refusal.fault = ingest_prepare_run(in, in->lines_run, &refusal.error);
	if (refusal.fault == INGEST_NONE)
		refusal.fault = check_allowed(in, in->lines_run, name, &refusal.error);
	if (refusal.fault == INGEST_NONE) {
		run = ingest_find_run(in->ingest, in->lines_run, in->spec.sender, false);
		if (run == NULL)
			run = add_run(in->ingest, in->lines_run, in->spec.sender, false);
		if (mirror_take(&run->mirror, &lines, &result, &refusal.error) != 0)
			refusal.fault = fault_of(result.fault);
		if (!run->mirror.open)
			drop_run(in->ingest, 0);
		if (result.taken + result.known > 0)
			ingest_count_events(in, in->lines_run, result.taken, result.known);
	} else if (refusal.fault == INGEST_TOO_FAST) {
		result.wanted = lines.seq;
	}
	done = result.taken + result.known;
	in->missing_blobs += result.missing;
	if (done > 0 && in->spec.taken != NULL)
		pend_lines(in, in->lines_run, lines.seq + done - 1);
	if (refusal.fault == INGEST_NONE)
		return 0;
	refusal.line = in->lines_from + done;
	refusal.wanted = result.wanted;
	memcpy(refusal.run_id, in->lines_run, ID_SIZE);
	note_told(in, in->lines_run, TOLD_REFUSED);
	return ingest_report_refusal(in, &refusal);
}

/* A whole line. */
static int
ingest_read_run_line(struct ingest_input *in, const char *line, size_t len)
{
	struct ingest_refusal refusal = { .fault = INGEST_INVALID, .line = in->line };
	char run_id[ID_SIZE];
	int added;

	if (!mirror_line_run(line, len, run_id)) {
		error_set(&refusal.error, ERROR_INVALID_INPUT, NULL, "the line names no run");
		return commit_lines(in) == 0 ? ingest_report_refusal(in, &refusal) : -1;
	}
	if (in->lines.count > 0 && strcmp(run_id, in->lines_run) != 0 && commit_lines(in) != 0)
		return -1;
	if (told_of(in, run_id) == TOLD_REFUSED)
		return 0;
	added = mirror_lines_add(&in->lines, line, len, &refusal.error);
	if (added == 0) {
		if (commit_lines(in) != 0)
			return -1;
		if (told_of(in, run_id) == TOLD_REFUSED)
			return 0;
		added = mirror_lines_add(&in->lines, line, len, &refusal.error);
	}
	if (added == 1) {
		if (in->lines.count == 1)
			in->lines_from = in->line;
		memcpy(in->lines_run, run_id, ID_SIZE);
		return 0;
	}
	if (commit_lines(in) != 0)
		return -1;
	memcpy(refusal.run_id, run_id, ID_SIZE);
	note_told(in, run_id, TOLD_REFUSED);
	return ingest_report_refusal(in, &refusal);
}

/* ---- events ---- */

/* The recorder for an event, in the run that its sender names, with the lock of the run's origin.
 * NULL with *err, and if known the fault; NULL without *err: it was reported before. */
static struct recorder *
find_recorder(struct ingest_input *in, struct span object, struct ingest_run **run,
    char run_id[ID_SIZE], enum ingest_fault *fault, struct error *err)
{
	struct span name = foreign_event_run(object);
	bool begun;

	*run = NULL;
	if (in->spec.recorder != NULL) {
		if (in->recorder == NULL)
			in->no_recorder = in->spec.recorder(in->spec.context, vocabulary_of(object),
			    &in->recorder, err) != 0;
		if (in->no_recorder)
			return NULL;
		memcpy(run_id, in->recorder->transcript->run_id, ID_SIZE);
		return in->recorder;
	}
	if (name.at == NULL) {
		error_set(err, ERROR_INVALID_INPUT, NULL, "the event names no run (runId)");
		return NULL;
	}
	run_id_of(name, in->spec.sender, run_id);
	if (told_of(in, run_id) == TOLD_REFUSED)
		return NULL;
	*fault = ingest_prepare_run(in, run_id, err);
	if (*fault != INGEST_NONE)
		return NULL;
	begun = ingest_find_run(in->ingest, run_id, in->spec.sender, true) != NULL ||
	    has_begun(in->ingest, run_id);
	*fault = check_allowed(in, run_id, begun ? SPAN_NONE : name, err);
	if (*fault != INGEST_NONE)
		return NULL;
	/* An invalid event must not create a run. */
	if (!begun) {
		const struct foreign_scope scope = { run_id, NULL, NULL };
		struct foreign_event f;

		if (foreign_event_read(&f, object, &scope, err) != 0)
			return NULL;
		foreign_event_free(&f);
	}
	*run = enter_events(in->ingest, run_id, in->spec.sender, name, vocabulary_of(object), err);
	return *run != NULL ? &(*run)->recorder : NULL;
}

/* The id of an event that the sender gave none: by its place, so that it is known when the input is
 * taken in again. */
static void
anonymous_id(struct ingest_input *in, int64_t number, char id[ID_SIZE])
{
	struct buffer text = BUFFER_INIT;
	char digest[DIGEST_SIZE];

	if (in->seed[0] == '\0')
		id_new(in->seed);
	buffer_format(&text, "event\n%s\n%lld\n%lld\n", in->seed, (long long)in->line, (long long)number);
	id_derive(digest_sha256(text.data, text.len, digest), id);
	buffer_free(&text);
}

/* An event, which is valid and minified, at its place in the input. id: the one that it gets if its
 * sender gave it none; then the id that it has. waits: whether it may wait for its cause. 1: it is
 * recorded, or was; 0: it is not; -1: it was refused, and nothing more is processed. */
static int
ingest_record_at(struct ingest_input *in, struct span object, int64_t line, int64_t number,
    char id[ID_SIZE], bool waits, char run_id[ID_SIZE])
{
	struct ingest_refusal refusal = { .line = line, .event = number, .error = ERROR_INIT };
	enum recorder_result result = RECORDER_REFUSED;
	struct span given = foreign_event_id(object);
	struct ingest_pending *pending;
	struct recorder *recorder;
	struct ingest_run *run;
	char cause[ID_SIZE];
	int64_t seq = 0;
	bool taken;

	if (in->no_recorder)
		return 0;
	recorder = find_recorder(in, object, &run, refusal.run_id, &refusal.fault, &refusal.error);
	if (recorder == NULL && refusal.error.code == ERROR_NONE)
		return 0;
	if (recorder != NULL)
		result = recorder_take(recorder, object, id, &seq, waits ? cause : NULL, &refusal.error);
	if (run != NULL)
		origin_release(&run->origin);
	memcpy(run_id, refusal.run_id, ID_SIZE);
	if (result == RECORDER_AWAITS) {
		struct awaited_event event = { .object = memory_copy(object.at, object.len),
			.len = object.len, .line = line, .number = number, .since = clock_monotonic() };

		memcpy(event.run_id, run_id, ID_SIZE);
		memcpy(event.id, id, ID_SIZE);
		memcpy(event.cause, cause, ID_SIZE);
		awaited_add(&in->awaited, &event);
		return 0;
	}
	if (result == RECORDER_REFUSED) {
		if (refusal.fault == INGEST_NONE)
			refusal.fault = refusal.error.code == ERROR_INVALID_INPUT ? INGEST_INVALID :
			    refusal.error.code != ERROR_BLOCKED ? INGEST_FAILED :
			    recorder == NULL ? INGEST_FORBIDDEN : INGEST_CONFLICT; /* it has ended */
		if (refusal.fault == INGEST_CONFLICT && told_of(in, refusal.run_id) == TOLD_ENDED)
			return 0;
		if (refusal.fault == INGEST_CONFLICT)
			note_told(in, refusal.run_id, TOLD_ENDED);
		else if (refusal.fault == INGEST_FORBIDDEN && refusal.run_id[0] != '\0')
			note_told(in, refusal.run_id, TOLD_REFUSED);
		return ingest_report_refusal(in, &refusal);
	}
	/* One without an id can have come before in this input alone, which was rewound. */
	taken = result == RECORDER_TAKEN || given.at == NULL;
	ingest_count_events(in, refusal.run_id, taken, !taken);
	if (in->spec.taken == NULL)
		return 1;
	pending = add_pending(in, refusal.run_id, seq);
	pending->event_id = given.at != NULL ? memory_copy(given.at, given.len) :
	    memory_format("\"%s\"", id);
	return 1;
}

/* An event is recorded: records those that wait for it, and those that wait for these. */
static int
ingest_record_effects(struct ingest_input *in, const char *run_id, const char *id)
{
	struct awaited_event event;
	char (*causes)[ID_SIZE] = NULL, cause[ID_SIZE], its_run[ID_SIZE];
	size_t count = 0, room = 0;
	int failed = 0;

	memcpy(cause, id, ID_SIZE);
	in->unpaced = true;
	for (;;) {
		while (failed >= 0 && awaited_take(&in->awaited, run_id, cause, &event)) {
			failed = ingest_record_at(in, span_of(event.object, event.len), event.line,
			    event.number, event.id, false, its_run);
			free(event.object);
			if (failed != 1)
				continue;
			if (count == room) {
				room = room == 0 ? 16 : 2 * room;
				causes = memory_array(causes, room, sizeof *causes);
			}
			memcpy(causes[count++], event.id, ID_SIZE);
		}
		if (count == 0 || failed < 0)
			break;
		memcpy(cause, causes[--count], ID_SIZE);
	}
	in->unpaced = false;
	free(causes);
	return failed < 0 ? -1 : 0;
}

/* Records an event that has waited long enough, and what waits for it. */
static void
ingest_end_waiting(void *context, const struct awaited_event *event)
{
	struct ingest_input *in = context;
	char id[ID_SIZE], run_id[ID_SIZE];

	memcpy(id, event->id, ID_SIZE);
	in->unpaced = true;
	if (in->refusal.fault != INGEST_FAILED && ingest_record_at(in,
	    span_of(event->object, event->len), event->line, event->number, id, false, run_id) == 1)
		ingest_record_effects(in, run_id, id);
	in->unpaced = false;
	free(event->object);
}

int
ingest_settle(struct ingest_input *in, int64_t before)
{
	/* What came before a refusal is recorded. */
	awaited_settle(&in->awaited, before, ingest_end_waiting, in);
	return in->over ? -1 : 0;
}

/* An event, which is valid and minified; number: which of those of its line. */
static int
ingest_record_event(struct ingest_input *in, struct span object, int64_t number)
{
	char id[ID_SIZE], run_id[ID_SIZE];
	int result;

	anonymous_id(in, number, id);
	result = ingest_record_at(in, object, in->line, number, id, true, run_id);
	if (result == 1 && in->awaited.waiting > 0)
		result = ingest_record_effects(in, run_id, id);
	if (in->awaited.bytes > AWAITED_MOST)
		ingest_settle(in, INT64_MAX);
	return result < 0 ? -1 : 0;
}

/* Whether it is a damaged line of a transcript. */
static bool
was_line(struct span object)
{
	return span_member(object, KEY_PREV).at != NULL && span_member(object, KEY_SEQ).at != NULL &&
	    span_member(object, KEY_PAYLOAD).at != NULL;
}

/* An event, or several. */
static int
ingest_read_json(struct ingest_input *in, const char *text, size_t len)
{
	struct span object, events;
	struct error error;
	int64_t number = 0;
	size_t bad;
	const char *why = scan_check(text, len, &bad);

	if (why != NULL) {
		error_set(&error, ERROR_INVALID_INPUT, NULL, "no JSON: byte %zu: %s", bad, why);
		return refuse_line(in, INGEST_INVALID, &error);
	}
	buffer_clear(&in->event);
	scan_minify(span_trim(span_of(text, len)), &in->event);
	object = span_of(buffer_string(&in->event), in->event.len);
	if (span_type(object) != 'o') {
		error_set(&error, ERROR_INVALID_INPUT, NULL, "no JSON object");
		return refuse_line(in, INGEST_INVALID, &error);
	}
	events = span_member(object, "events");
	if (span_type(events) != 'a' || span_member(object, KEY_TYPE).at != NULL) {
		if (!was_line(object))
			return ingest_record_event(in, object, 0);
		error_set(&error, ERROR_INVALID_INPUT, NULL,
		    "a line of a transcript that has been changed: it is taken as it is there alone");
		return refuse_line(in, INGEST_INVALID, &error);
	}
	for (struct span_walk event = span_walk(events); span_next(&event);) {
		struct ingest_refusal refusal = { .fault = INGEST_INVALID, .line = in->line,
			.event = ++number };

		if (span_type(event.value) != 'o')
			error_set(&refusal.error, ERROR_INVALID_INPUT, NULL, "no JSON object");
		else if (was_line(event.value))
			error_set(&refusal.error, ERROR_INVALID_INPUT, NULL,
			    "a line of a transcript is taken as a line alone");
		else if (ingest_record_event(in, event.value, number) != 0)
			return -1;
		else
			continue;
		if (ingest_report_refusal(in, &refusal) != 0)
			return -1;
	}
	return 0;
}

/* ---- the input ---- */

static int
ingest_read_line(struct ingest_input *in, const char *line, size_t len)
{
	size_t blank = 0;

	in->line++;
	while (blank < len && strchr(" \t\r", line[blank]) != NULL && line[blank] != '\0')
		blank++;
	if (blank == len)
		return 0;
	if (event_line_whole(line, len, NULL))
		return ingest_read_run_line(in, line, len);
	return commit_lines(in) == 0 ? ingest_read_json(in, line, len) : -1;
}

static int
refuse_length(struct ingest_input *in)
{
	struct error error;

	if (commit_lines(in) != 0)
		return -1;
	error_set(&error, ERROR_INVALID_INPUT, NULL, "longer than %zu bytes", in->ingest->line_limit);
	return refuse_line(in, INGEST_TOO_LARGE, &error);
}

/* Takes the lines that are whole; the rest stays. */
static void
ingest_read_lines(struct ingest_input *in)
{
	size_t limit = in->ingest->line_limit, next = 0;
	const char *lf;

	while (!in->over && (lf = memchr(in->bytes.data + in->searched, '\n',
	    in->bytes.len - in->searched)) != NULL) {
		const char *line = in->bytes.data + next;
		size_t len = (size_t)(lf - line);

		next += len + 1;
		in->searched = next;
		if (in->skipping) {
			in->skipping = false;
		} else if (len > limit) {
			in->line++;
			refuse_length(in);
		} else {
			ingest_read_line(in, line, len);
		}
	}
	commit_lines(in); /* before they move */
	buffer_drop(&in->bytes, next);
	in->searched = in->bytes.len;
	if (in->skipping || in->over) {
		buffer_clear(&in->bytes);
		in->searched = 0;
	} else if (in->bytes.len > limit) {
		in->line++;
		in->skipping = true;
		buffer_free(&in->bytes);
		in->searched = 0;
		refuse_length(in);
	}
}

int
ingest_feed(struct ingest_input *in, const char *bytes, size_t len)
{
	if (in->over || len == 0)
		return in->over ? -1 : 0;
	buffer_append(&in->bytes, bytes, len);
	if (!in->spec.document) {
		ingest_read_lines(in);
	} else if (in->bytes.len > in->ingest->line_limit) {
		buffer_free(&in->bytes);
		in->line = 1;
		refuse_length(in);
		in->over = true;
	}
	return in->over ? -1 : 0;
}

int
ingest_flush(struct ingest_input *in)
{
	struct ingest *ingest = in->ingest;
	struct error error = ingest->lost;
	int failed = error.code != ERROR_NONE ? -1 : 0;

	for (size_t i = 0; i < ingest->run_count && failed == 0; i++)
		failed = sync_run(ingest, ingest->runs[i], &error);
	for (size_t i = 0; i < ingest->run_count; i++)
		trim_run(ingest->runs[i]);
	if (failed == 0 && in->recorder != NULL) {
		failed = recorder_sync(in->recorder, &error);
		if (failed != 0)
			ingest->lost = error;
	}
	if (failed != 0) {
		const struct ingest_refusal refusal = { .fault = INGEST_FAILED, .error = error };

		forget_pending(in);
		in->accepted = in->duplicates = 0;
		return in->refusal.fault == INGEST_FAILED ? -1 :
		    ingest_report_refusal(in, &refusal);
	}
	for (size_t i = 0; i < in->pending_count && in->spec.taken != NULL; i++) {
		const struct ingest_pending *pending = &in->pending[i];
		const struct ingest_taken taken = { pending->run_id, pending->event_id != NULL ?
			span_of(pending->event_id, strlen(pending->event_id)) : SPAN_NONE, pending->seq };

		in->spec.taken(in->spec.context, &taken);
	}
	forget_pending(in);
	return in->over ? -1 : 0;
}

int
ingest_input_end(struct ingest_input *in)
{
	struct buffer rest = in->bytes;

	in->bytes = (struct buffer)BUFFER_INIT;
	in->searched = 0;
	if (!in->over && in->spec.document) {
		in->line = 1;
		ingest_read_json(in, buffer_string(&rest), rest.len);
	} else if (!in->over && rest.len > 0 && !in->skipping) {
		buffer_byte(&rest, '\n');
		ingest_read_line(in, rest.data, rest.len - 1);
		commit_lines(in);
	}
	buffer_free(&rest);
	ingest_settle(in, INT64_MAX);
	return ingest_flush(in);
}

void
ingest_mark(const struct ingest_input *in, struct ingest_mark *mark)
{
	*mark = (struct ingest_mark){ .line = in->line, .accepted = in->accepted,
		.duplicates = in->duplicates, .missing_blobs = in->missing_blobs, .skipping = in->skipping };
	buffer_append(&mark->bytes, buffer_string(&in->bytes), in->bytes.len);
	awaited_copy(&mark->awaited, &in->awaited);
}

void
ingest_rewind(struct ingest_input *in, const struct ingest_mark *mark)
{
	forget_pending(in);
	map_free(&in->refused_runs);
	in->refused_runs = (struct map)MAP_INIT;
	in->refusal = (struct ingest_refusal){ .fault = INGEST_NONE };
	in->over = false;
	in->lines.count = 0;
	buffer_clear(&in->bytes);
	buffer_append(&in->bytes, buffer_string(&mark->bytes), mark->bytes.len);
	in->searched = 0;
	in->line = mark->line;
	in->accepted = mark->accepted;
	in->duplicates = mark->duplicates;
	in->missing_blobs = mark->missing_blobs;
	in->skipping = mark->skipping;
	awaited_free(&in->awaited);
	awaited_copy(&in->awaited, &mark->awaited);
}

void
ingest_mark_free(struct ingest_mark *mark)
{
	buffer_free(&mark->bytes);
	awaited_free(&mark->awaited);
}

size_t
ingest_held(const struct ingest_input *in)
{
	return in->bytes.len;
}

void
ingest_input_free(struct ingest_input *in)
{
	forget_pending(in);
	free(in->pending);
	map_free(&in->refused_runs);
	buffer_free(&in->bytes);
	buffer_free(&in->event);
	awaited_free(&in->awaited);
	in->pending = NULL;
}
