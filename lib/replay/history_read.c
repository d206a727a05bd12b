#include "replay/history_parts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "record/call.h"
#include "record/reader.h"

/* What is looked for in payloads, in one walk over each. */
enum member {
	CALL, INPUT, INPUT_SHA256, DEFINITION_SHA256, EFFECTS, IDEMPOTENT, TOOL, CLAIMS, RESULT,
	FAILURE, SKIPPED, REUSED_FROM, EXIT_CODE, CALL_ID, FIDELITY, STATUS, PARTIAL, MEMBERS
};

static const char *const member_names[MEMBERS] = {
	[CALL] = "call", [INPUT] = "input", [INPUT_SHA256] = "input_sha256",
	[DEFINITION_SHA256] = "definition_sha256", [EFFECTS] = "effects",
	[IDEMPOTENT] = "idempotent", [TOOL] = "tool", [CLAIMS] = "claims", [RESULT] = "result",
	[FAILURE] = "error", [SKIPPED] = "skipped", [REUSED_FROM] = "reused_from",
	[EXIT_CODE] = "exit_code", [CALL_ID] = "call_id", [FIDELITY] = "fidelity",
	[STATUS] = "status", [PARTIAL] = "partial",
};

/* A line while it is read. */
struct reading {
	struct event_view view;
	struct span members[MEMBERS]; /* of the payload; null is as good as absent */
	struct place place;
	char id[ID_SIZE];
};

/* A call is idle that did nothing for one of these reasons. */
static const char *const idle_codes[] = {
	"waiting", "no_input", "upstream_incomplete", "invalid_input", "blocked",
};
static const char *const idle_skips[] = { "upstream_failed", "nothing_failed" };
/* It ended with one of these: what it did, nobody saw to its end. */
static const char *const cut_codes[] = { "timeout", "cancelled", "interrupted" };

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* The one of the texts that a value is; NULL if it is none. */
static const char *
one_of(struct span value, const char *const *texts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (span_is(value, texts[i]))
			return texts[i];
	return NULL;
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

/* An event id, or that of an object which names an event of another run; "" for
 * anything else. */
static void
copy_reference(struct span value, char id[ID_SIZE])
{
	if (span_type(value) == 'o')
		value = span_member(value, "event_id");
	if (!span_copy(value, id, ID_SIZE))
		id[0] = '\0';
}

static size_t
find_event(const struct recording *rec, const char *id)
{
	const size_t *found = map_get(&rec->by_event, id, ID_SIZE - 1);

	return id[0] != '\0' && found != NULL ? *found : NO_CALL;
}

static size_t
find_reference(const struct recording *rec, struct span value)
{
	char id[ID_SIZE];

	copy_reference(value, id);
	return find_event(rec, id);
}

size_t
recording_latest(const struct recording *rec, size_t call)
{
	while (rec->calls[call].claimed_by != NO_CALL)
		call = rec->calls[call].claimed_by;
	return call;
}

static size_t
find_enclosing(const struct recording *rec, const char *id)
{
	const char *slash = strrchr(id, '/');
	const size_t *found = slash == NULL ? NULL :
	    map_get(&rec->by_id, id, (size_t)(slash - id));

	return found != NULL ? *found : NO_CALL;
}

/* Links the new call to the one that it took over, or to whoever took that over
 * since. */
static void
join_chain(struct recording *rec, size_t index, struct span claims)
{
	struct recorded_call *c = &rec->calls[index];
	size_t earlier = find_reference(rec, claims);

	c->root = index;
	c->claims = NO_CALL;
	if (earlier == NO_CALL)
		return;
	c->claims = recording_latest(rec, earlier);
	c->root = rec->calls[earlier].root;
	rec->calls[c->claims].claimed_by = index;
	c->left_out = rec->calls[c->claims].left_out;
}

/* The end that holds the result of a call. */
static size_t
result_of(const struct recording *rec, size_t call)
{
	size_t from = rec->calls[call].result_from;

	return from != NO_CALL ? from : call;
}

/* Whether what an event told is left out: it is of a call that is, or the end of one
 * in which something is. */
static bool
cause_left_out(const struct recording *rec, struct span reference)
{
	size_t call = find_reference(rec, reference);
	char id[ID_SIZE];

	if (call == NO_CALL)
		return false;
	copy_reference(reference, id);
	return rec->calls[call].left_out ||
	    (rec->calls[call].reopened && strcmp(id, rec->calls[call].started) != 0);
}

static bool
any_cause_left_out(const struct recording *rec, const struct event_view *view)
{
	struct span_walk walk;
	struct span key, link;

	if (cause_left_out(rec, view->parent_event_id))
		return true;
	if (view->links.at == NULL)
		return false;
	span_walk_begin(&walk, view->links);
	while (span_walk_next(&walk, &key, &link))
		if (cause_left_out(rec, link))
			return true;
	return false;
}

/* Whether a fork, from this source or from a later one, named the call. */
static bool
named_by_fork(const struct recording *rec, const struct recorded_call *c)
{
	for (size_t i = rec->source; i < rec->spec->other_count; i++)
		if (rec->spec->others[i].left_out != NULL &&
		    path_names(rec->spec->others[i].left_out, c->id, c->path))
			return true;
	return false;
}

/* A call that is left out, and what encloses it: that is to be done again. */
static void
leave_out(struct recording *rec, struct recorded_call *c, const struct event_view *view)
{
	if (rec->source >= rec->spec->other_count)
		return;
	c->left_out |= named_by_fork(rec, c) || any_cause_left_out(rec, view) ||
	    (c->enclosing != NO_CALL && rec->calls[c->enclosing].left_out);
	if (c->left_out)
		for (size_t i = c->enclosing; i != NO_CALL; i = rec->calls[i].enclosing)
			rec->calls[i].reopened = true;
}

static struct recorded_call *
add_call(struct recording *rec, char *id)
{
	struct recorded_call *c;

	if (rec->call_count == rec->call_capacity) {
		rec->call_capacity = rec->call_capacity == 0 ? 64 : rec->call_capacity * 2;
		rec->calls = memory_array(rec->calls, rec->call_capacity, sizeof *rec->calls);
	}
	c = &rec->calls[rec->call_count++];
	*c = (struct recorded_call){ .id = id, .attempt = rec->attempt, .claimed_by = NO_CALL,
		.input_from = NO_CALL, .result_from = NO_CALL, .last_tool = NO_TOOL,
		.enclosing = find_enclosing(rec, id) };
	return c;
}

static bool
changes_something(struct span effects)
{
	return span_is(effects, "workspace") || span_is(effects, "external");
}

static void
read_started(struct recording *rec, const struct reading *at)
{
	char *id = span_text(at->members[CALL]);
	struct recorded_call *c = add_call(rec, id);
	size_t index = (size_t)(c - rec->calls);

	memcpy(c->started, at->id, ID_SIZE);
	c->begin = at->place;
	c->path = span_text(at->view.path);
	if (c->path == NULL)
		c->path = memory_text("");
	span_copy(at->view.timestamp, c->timestamp, sizeof c->timestamp);
	span_copy(at->members[INPUT_SHA256], c->input_sha256, sizeof c->input_sha256);
	span_copy(at->members[DEFINITION_SHA256], c->definition_sha256,
	    sizeof c->definition_sha256);
	c->operation = at->members[TOOL].at != NULL;
	c->effects = changes_something(at->members[EFFECTS]) && !c->operation;
	c->idempotent = span_true(at->members[IDEMPOTENT]);
	join_chain(rec, index, at->members[CLAIMS]);
	if (at->members[INPUT].at == NULL) {
		c->input_from = find_reference(rec, at->view.parent_event_id);
		if (c->input_from != NO_CALL)
			c->input_from = result_of(rec, c->input_from);
	}
	if (c->enclosing != NO_CALL)
		rec->calls[c->enclosing].encloses = true;
	leave_out(rec, c, &at->view);
	map_put(&rec->by_id, id, strlen(id), index);
	map_put(&rec->by_event, at->id, ID_SIZE - 1, index);
}

/* A call that did nothing hides none that did. */
static void
mark_idle(struct recording *rec, struct recorded_call *c)
{
	if (c->encloses || c->event_count > 0)
		return;
	c->idle = true;
	if (c->claims != NO_CALL && c->claimed_by == NO_CALL)
		rec->calls[c->claims].claimed_by = NO_CALL;
}

static void
read_failure(struct recording *rec, struct recorded_call *c, const struct reading *at)
{
	struct span code = span_member(at->members[FAILURE], "code");
	long long exit_code = -1;

	c->state = RECALL_FAILED;
	span_integer(at->members[EXIT_CODE], &exit_code);
	c->cut = one_of(code, cut_codes, COUNT(cut_codes));
	if (c->cut == NULL && exit_code > 128)
		c->cut = "ended by a signal";
	if (exit_code == -1 && one_of(code, idle_codes, COUNT(idle_codes)) != NULL)
		mark_idle(rec, c);
}

static void
read_skipped(struct recording *rec, struct recorded_call *c, const struct reading *at)
{
	c->state = RECALL_SKIPPED;
	if (one_of(at->members[SKIPPED], idle_skips, COUNT(idle_skips)) != NULL)
		mark_idle(rec, c);
}

static void
read_completed(struct recording *rec, const struct reading *at)
{
	char *id = span_text(at->members[CALL]);
	const size_t *found = map_get(&rec->by_id, id, strlen(id));
	size_t index = found != NULL ? *found : NO_CALL, reused;
	struct recorded_call *c;

	free(id);
	if (index == NO_CALL)
		return;
	c = &rec->calls[index];
	c->end = at->place;
	map_put(&rec->by_event, at->id, ID_SIZE - 1, index);
	reused = find_reference(rec, at->members[REUSED_FROM]);
	if (at->members[FAILURE].at != NULL)
		read_failure(rec, c, at);
	else if (at->members[SKIPPED].at != NULL)
		read_skipped(rec, c, at);
	else if (at->members[RESULT].at == NULL && reused != NO_CALL) {
		c->result_from = result_of(rec, reused);
		c->state = rec->calls[c->result_from].state;
	} else {
		c->state = RECALL_SUCCEEDED;
	}
}

static void
add_event(struct recorded_call *c, const struct place *place)
{
	if (c->event_count == c->event_capacity) {
		c->event_capacity = c->event_capacity == 0 ? 8 : c->event_capacity * 2;
		c->events = memory_array(c->events, c->event_capacity, sizeof *c->events);
	}
	c->events[c->event_count++] = *place;
}

/* What was called again, after it had been cut off, is not in doubt any more. */
static void
settle_repeated(struct recording *rec, const struct recorded_tool *t)
{
	bool operation = rec->calls[t->call].operation;
	size_t i = rec->calls[rec->calls[t->call].root].last_tool;

	for (; i != NO_TOOL; i = rec->tools[i].before) {
		struct recorded_tool *old = &rec->tools[i];

		if (!old->repeated && old->cut != NULL && old->call != t->call &&
		    strcmp(old->call_id, t->call_id) == 0 &&
		    (operation || strcmp(old->cause, t->cause) == 0)) {
			old->repeated = true;
			return;
		}
	}
}

static void
read_tool_call(struct recording *rec, size_t call, const struct reading *at)
{
	size_t *last = &rec->calls[rec->calls[call].root].last_tool;
	struct recorded_tool t = { .call = call, .place = at->place, .cut = "cut off",
		.before = *last, .idempotent = span_true(at->members[IDEMPOTENT]) };
	struct span effects = at->members[EFFECTS];

	if (!span_is(at->members[FIDELITY], "router") || span_is(effects, "none") ||
	    span_is(effects, "read"))
		return;
	memcpy(t.id, at->id, ID_SIZE);
	copy_reference(at->view.parent_event_id, t.cause);
	span_copy(at->view.timestamp, t.timestamp, sizeof t.timestamp);
	t.call_id = span_text(at->members[CALL_ID]);
	if (t.call_id == NULL)
		t.call_id = memory_text("");
	settle_repeated(rec, &t);
	if (rec->tool_count == rec->tool_capacity) {
		rec->tool_capacity = rec->tool_capacity == 0 ? 64 : rec->tool_capacity * 2;
		rec->tools = memory_array(rec->tools, rec->tool_capacity, sizeof *rec->tools);
	}
	*last = rec->tool_count;
	map_put(&rec->tool_by_event, t.id, ID_SIZE - 1, rec->tool_count);
	rec->tools[rec->tool_count++] = t;
}

static void
read_tool_result(struct recording *rec, const struct reading *at)
{
	char id[ID_SIZE];
	struct span code = span_member(at->members[FAILURE], "code");
	const size_t *found;

	copy_reference(at->view.parent_event_id, id);
	found = map_get(&rec->tool_by_event, id, ID_SIZE - 1);
	if (found == NULL)
		return;
	rec->tools[*found].cut = one_of(code, cut_codes, COUNT(cut_codes));
	rec->tools[*found].blocked = span_is(code, "blocked");
}

/* The model was told what came of its tools, and went on. */
static void
settle_answered(struct recording *rec, size_t call)
{
	size_t i = rec->calls[rec->calls[call].root].last_tool;

	for (; i != NO_TOOL && !rec->tools[i].answered; i = rec->tools[i].before)
		rec->tools[i].answered = true;
}

/* A message or a tool event: of its parent's call, or of who has taken that over. */
static void
read_inner(struct recording *rec, const struct reading *at)
{
	size_t call = find_reference(rec, at->view.parent_event_id);

	if (call == NO_CALL)
		return;
	call = recording_latest(rec, call);
	add_event(&rec->calls[call], &at->place);
	map_put(&rec->by_event, at->id, ID_SIZE - 1, call);
	if (at->view.type == EVENT_TOOL_CALL)
		read_tool_call(rec, call, at);
	else if (at->view.type == EVENT_TOOL_RESULT)
		read_tool_result(rec, at);
	else if (at->view.type == EVENT_MESSAGE_ASSISTANT && !span_true(at->members[PARTIAL]))
		settle_answered(rec, call);
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
		read_started(rec, at);
		break;
	case EVENT_STEP_COMPLETED:
	case EVENT_CALL_WORKFLOW_COMPLETED:
		read_completed(rec, at);
		break;
	case EVENT_MESSAGE_USER:
	case EVENT_MESSAGE_ASSISTANT:
	case EVENT_TOOL_CALL:
	case EVENT_TOOL_RESULT:
		read_inner(rec, at);
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

int
recording_read(struct recording *rec, const struct history_spec *spec, struct error *err)
{
	size_t count = history_source_count(spec);

	*rec = (struct recording){ .spec = spec };
	rec->sources = memory_zero(count, sizeof *rec->sources);
	for (uint32_t i = 0; i < count; i++)
		if (read_source(rec, i, err) != 0)
			return -1;
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
	return c->claimed_by == NO_CALL && !c->idle && !c->left_out;
}

void
recording_free(struct recording *rec)
{
	for (size_t i = 0; i < rec->call_count; i++) {
		free(rec->calls[i].id);
		free(rec->calls[i].path);
		free(rec->calls[i].events);
	}
	for (size_t i = 0; i < rec->tool_count; i++)
		free(rec->tools[i].call_id);
	free(rec->calls);
	free(rec->tools);
	free(rec->sources);
	map_free(&rec->by_id);
	map_free(&rec->by_event);
	map_free(&rec->tool_by_event);
	*rec = (struct recording){ .calls = NULL };
}
