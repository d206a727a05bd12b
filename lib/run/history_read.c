/*
 * The sources are read once, the oldest fork first, the run's own last. The members of a
 * payload that anybody needs are picked in one walk. Names and ids are looked up in maps,
 * which are dropped when all is read, before the index takes its memory.
 */
#include "run/history_reading.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "transcript/call.h"
#include "transcript/reader.h"

static const char *const member_names[MEMBERS] = {
	[CALL] = "call", [INPUT] = "input", [INPUT_SHA256] = "input_sha256",
	[DEFINITION_SHA256] = "definition_sha256", [EFFECTS] = "effects",
	[IDEMPOTENT] = "idempotent", [TOOL] = "tool", [CLAIMS] = "claims", [RESULT] = "result",
	[FAILURE] = "error", [SKIPPED] = "skipped", [REUSED_FROM] = "reused_from",
	[EXIT_CODE] = "exit_code", [CALL_ID] = "call_id", [FIDELITY] = "fidelity",
	[STATUS] = "status", [STRATEGY] = "strategy", [PARTIAL] = "partial",
	[APPROVAL] = "approval", [PHASE] = "phase", [LOOP] = "loop",
	[MODE] = "mode", [CONDITION] = "condition", [RETRY] = "retry",
	[TRY] = "try", [COUNT] = "count", [BLOCKS] = "blocks",
};

void
reading_reference(struct span value, char id[ID_SIZE])
{
	if (span_type(value) == 'o')
		value = span_member(value, "event_id");
	if (!span_copy(value, id, ID_SIZE))
		id[0] = '\0';
}

size_t
reading_find(const struct recording *rec, struct span reference)
{
	char id[ID_SIZE];
	const size_t *found;

	reading_reference(reference, id);
	if (id[0] == '\0')
		return NO_CALL;
	found = map_get(&rec->by_event, id, ID_SIZE - 1);
	return found != NULL ? *found : NO_CALL;
}

static void
pick_members(struct reading *at)
{
	struct span_walk walk;
	struct span key, value;

	memset(at->members, 0, sizeof at->members);
	if (span_type(at->view.payload) != 'o')
		return;
	span_walk_begin(&walk, at->view.payload);
	while (span_walk_next(&walk, &key, &value))
		for (size_t i = 0; i < MEMBERS; i++)
			if (span_is(key, member_names[i]))
				at->members[i] = value;
	for (size_t i = 0; i < MEMBERS; i++)
		if (span_type(at->members[i]) == '0' && i != RESULT && i != INPUT)
			at->members[i] = span_of(NULL, 0);
}

static void
read_attempt(struct recording *rec)
{
	map_free(&rec->by_id);
	rec->attempt++;
	if (rec->source == rec->spec->other_count)
		rec->own_attempts++;
	rec->status[0] = '\0';
}

/* The two lines of a call, or of a phase in one. */
static void
read_call(struct recording *rec, const struct reading *at)
{
	if (span_type(at->members[PHASE]) == 'o')
		recording_take_phase(rec, at);
	else if (event_type_starts_call(at->view.type))
		recording_take_started(rec, at);
	else
		recording_take_completed(rec, at);
}

static void
read_event(struct recording *rec, const struct reading *at)
{
	switch (at->view.type) {
	case EVENT_RUN_STARTED:
		read_attempt(rec);
		break;
	case EVENT_RUN_COMPLETED:
		span_copy(at->members[STATUS], rec->status, sizeof rec->status);
		break;
	case EVENT_STEP_STARTED:
	case EVENT_CALL_WORKFLOW_STARTED:
	case EVENT_STEP_COMPLETED:
	case EVENT_CALL_WORKFLOW_COMPLETED:
		read_call(rec, at);
		break;
	case EVENT_MESSAGE_USER:
	case EVENT_MESSAGE_ASSISTANT:
	case EVENT_TOOL_CALL:
	case EVENT_TOOL_RESULT:
		recording_take_inner(rec, at);
		break;
	default:
		break;
	}
}

/* Whether the line names a call, as those of calls must. */
static bool
names_call(const struct reading *at)
{
	enum event_type type = at->view.type;
	char *id;
	bool valid;

	if (type != EVENT_STEP_STARTED && type != EVENT_STEP_COMPLETED &&
	    type != EVENT_CALL_WORKFLOW_STARTED && type != EVENT_CALL_WORKFLOW_COMPLETED)
		return true;
	id = span_text(at->members[CALL]);
	valid = id != NULL && call_id_valid(id);
	free(id);
	return valid;
}

static int
read_line(struct recording *rec, const char *line, size_t len, int64_t offset)
{
	struct reading at;

	if (event_view(line, len, &at.view) != 0 ||
	    !span_copy(at.view.event_id, at.id, sizeof at.id))
		return -1;
	at.place = (struct place){ offset, (uint32_t)len, rec->source };
	pick_members(&at);
	if (!names_call(&at))
		return -1;
	read_event(rec, &at);
	return 0;
}

/* Notes how far the source was read, and whose it is. */
static int
note_source(struct recording *rec, const struct reader *r, const char *line, size_t len)
{
	struct index_source *source = &rec->sources[rec->source];
	struct event_view view;

	source->size = r->position;
	if (source->run_id[0] == '\0' && event_view(line, len, &view) == 0)
		span_copy(view.run_id, source->run_id, sizeof source->run_id);
	return event_line_whole(line, len, NULL) ? history_tail(line, len, source->tail) : -1;
}

static int
not_a_transcript(const struct history_source *source, int64_t number, struct error *err)
{
	char *place = memory_format("%s:%lld", source->path, (long long)number);

	error_set(err, ERROR_SCHEMA, place, "no event of a transcript (see awf-verify)");
	free(place);
	return -1;
}

static int
read_lines(struct recording *rec, struct reader *r, const struct history_source *source,
    struct error *err)
{
	const char *line;
	int64_t number = 0;
	size_t len;
	int got;

	while ((got = reader_next(r, &line, &len, err)) == 1) {
		number++;
		if (note_source(rec, r, line, len) != 0 ||
		    read_line(rec, line, len, r->line_start) != 0)
			return not_a_transcript(source, number, err);
	}
	return got;
}

static int
read_source(struct recording *rec, uint32_t number, struct error *err)
{
	const struct history_source *source = history_source(rec->spec, number);
	struct index_source *noted = &rec->sources[number];
	struct stat status;
	struct reader r;
	size_t first_call = rec->call_count;
	int failed;

	map_free(&rec->by_id);
	rec->source = number;
	rec->status[0] = '\0';
	noted->foreign = number < rec->spec->other_count;
	if (reader_open(&r, source->path, err) != 0)
		return -1;
	if (fstat(r.fd, &status) == 0) {
		noted->device = (uint64_t)status.st_dev;
		noted->inode = (uint64_t)status.st_ino;
		failed = read_lines(rec, &r, source, err);
	} else {
		failed = error_errno(err, ERROR_SYSTEM, source->path, "unable to look at it");
	}
	reader_close(&r);
	if (failed == 0)
		recording_leave_out_children(rec, first_call);
	return failed;
}

size_t
history_source_count(const struct history_spec *spec)
{
	return spec->other_count + (spec->own.path != NULL ? 1 : 0);
}

const struct history_source *
history_source(const struct history_spec *spec, size_t index)
{
	return index < spec->other_count ? &spec->others[index] : &spec->own;
}

/* They take as much memory as the calls, and all is read. */
static void
forget_names(struct recording *rec)
{
	map_free(&rec->by_id);
	map_free(&rec->by_event);
	map_free(&rec->by_path);
	map_free(&rec->tool_by_event);
	recording_free_reads(rec);
	rec->reads = NULL;
	rec->read_count = 0;
}

int
recording_read(struct recording *rec, const struct history_spec *spec, struct error *err)
{
	size_t count = history_source_count(spec);

	*rec = (struct recording){ .spec = spec };
	rec->sources = memory_zero(count, sizeof *rec->sources);
	for (uint32_t i = 0; i < count; i++)
		if (read_source(rec, i, err) != 0)
			return -1;
	forget_names(rec);
	if (spec->mode == RECALL_RESUME) {
		recording_settle_caught(rec);
		recording_settle_claims(rec);
	}
	if (spec->own.path == NULL)
		rec->status[0] = '\0';
	return 0;
}

/* For a replay what the last attempt did, for everything else what was done at last. */
bool
recording_counts(const struct recording *rec, size_t call)
{
	const struct recorded_call *c = &rec->calls[call];

	if (rec->spec->mode == RECALL_REPLAY)
		return c->attempt == rec->attempt;
	/* What waits in another run is decided about there. */
	if (c->state == RECALL_WAITING && c->begin.source < rec->spec->other_count)
		return false;
	return c->claimed_by == NO_CALL && !c->idle && c->left_by == 0;
}

void
recording_free(struct recording *rec)
{
	for (size_t i = 0; i < rec->call_count; i++) {
		free(rec->calls[i].id);
		free(rec->calls[i].child);
		free(rec->calls[i].events);
	}
	for (size_t i = 0; i < rec->tool_count; i++)
		free(rec->tools[i].call_id);
	free(rec->calls);
	free(rec->tools);
	free(rec->catches);
	free(rec->sources);
	for (size_t i = 0; i < rec->path_count; i++)
		free(rec->paths[i]);
	free(rec->paths);
	forget_names(rec);
	*rec = (struct recording){ .calls = NULL };
}
