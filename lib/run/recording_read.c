/*
 * The sources are read once, the oldest fork first, the run's own last. The members of a
 * payload that anybody needs are picked in one walk. Names and ids are looked up in maps,
 * which are dropped when all is read, before the index takes its memory.
 *
 * Calls stand in one array in the order of their starts and name each other by number. One
 * that was taken over, and who took it over, are linked both ways, and all of such a chain
 * know its root. A decision takes the place of the end that waited, which is kept for a replay.
 */
#include "run/recording.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "run/waiting.h"
#include "transcript/call.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"
#include "transcript/reader.h"

/* What is looked for in payloads, in one walk over each. */
enum member {
	CALL, INPUT, INPUT_SHA256, DEFINITION_SHA256, EFFECTS, IDEMPOTENT, TOOL, CLAIMS, RESULT,
	FAILURE, SKIPPED, REUSED_FROM, EXIT_CODE, CALL_ID, FIDELITY, STATUS, STRATEGY, PARTIAL,
	APPROVAL, PHASE, LOOP, MODE, CONDITION, RETRY, TRY, COUNT, BLOCKS, MEMBERS
};

/* A line while it is read. */
struct reading {
	struct event_view view;
	struct span members[MEMBERS]; /* of the payload; null is as good as absent */
	struct place place;
	char id[ID_SIZE];
};

static const char *const member_names[MEMBERS] = {
	[CALL] = "call", [INPUT] = "input", [INPUT_SHA256] = KEY_INPUT_SHA256,
	[DEFINITION_SHA256] = KEY_DEFINITION_SHA256, [EFFECTS] = "effects",
	[IDEMPOTENT] = "idempotent", [TOOL] = "tool", [CLAIMS] = KEY_CLAIMS, [RESULT] = "result",
	[FAILURE] = "error", [SKIPPED] = "skipped", [REUSED_FROM] = KEY_REUSED_FROM,
	[EXIT_CODE] = "exit_code", [CALL_ID] = "call_id", [FIDELITY] = "fidelity",
	[STATUS] = "status", [STRATEGY] = "strategy", [PARTIAL] = "partial",
	[APPROVAL] = "approval", [PHASE] = "phase", [LOOP] = "loop",
	[MODE] = "mode", [CONDITION] = "condition", [RETRY] = "retry",
	[TRY] = "try", [COUNT] = "count", [BLOCKS] = "blocks",
};

/* ---- decisions about calls that wait ---- */

static bool
take_wait(struct recorded_call *c, const struct reading *at)
{
	if (at->members[APPROVAL].at == NULL || waiting_of(&at->view) == WAITING_NOTHING)
		return false;
	c->state = RECALL_WAITING;
	c->cut = NULL;
	return true;
}

static void
take_end(struct recorded_call *c, const struct reading *at)
{
	if (c->own_end.len == 0)
		c->own_end = c->end;
	c->end = at->place;
	if (take_wait(c, at))
		return;
	c->state = at->members[FAILURE].at != NULL ? RECALL_FAILED : RECALL_SUCCEEDED;
	c->decided = true;
}

/* It does nothing of its own before its end, so if it does not get there, it waits, or is
 * decided, as before. A replay has one attempt alone. */
static void
inherit(struct recording *rec, struct recorded_call *c)
{
	const struct recorded_call *earlier;

	if (c->claims == NO_CALL || rec->spec->mode == RECALL_REPLAY)
		return;
	earlier = &rec->calls[c->claims];
	if ((earlier->state != RECALL_WAITING && !earlier->decided) ||
	    !recorded_call_went_on(c, earlier))
		return;
	c->state = earlier->state;
	c->end = earlier->end;
	c->decided = earlier->decided;
	c->result_from = earlier->result_from;
}

/* Those that have taken the call over, and not ended, go on with this end too. */
static bool
take_decision(struct recording *rec, const struct reading *at)
{
	size_t index;

	if (at->members[APPROVAL].at == NULL || !event_decides(&at->view))
		return false;
	index = reading_find(rec, at->view.parent_event_id);
	if (index == NO_CALL || rec->calls[index].state != RECALL_WAITING)
		return true;
	take_end(&rec->calls[index], at);
	map_put(&rec->by_event, at->id, ID_SIZE - 1, index);
	while ((index = rec->calls[index].claimed_by) != NO_CALL)
		if (rec->calls[index].state == RECALL_WAITING && rec->calls[index].own_end.len == 0)
			inherit(rec, &rec->calls[index]);
	return true;
}

/* ---- the two lines of a call ---- */

/* A call is idle that did nothing for one of these reasons. */
static const char *const idle_codes[] = {
	"waiting", "no_input", "upstream_incomplete", "invalid_input", "blocked", NULL,
};
static const char *const idle_skips[] = { "upstream_failed", "nothing_failed", NULL };
/* It ended with one of these: what it did, nobody saw to its end. */
static const char *const cut_codes[] = { "timeout", "cancelled", "interrupted", NULL };

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
	size_t earlier = reading_find(rec, claims);

	c->root = index;
	c->claims = NO_CALL;
	if (earlier == NO_CALL)
		return;
	c->claims = recording_latest(rec, earlier);
	c->root = rec->calls[earlier].root;
	rec->calls[c->claims].claimed_by = index;
	c->left_by = rec->calls[c->claims].left_by;
	/* What a fork leaves out of it may have been made in an attempt before. What a fork did
	 * that is older than this source was done again here. */
	if (rec->calls[c->claims].reopened_by > rec->source) {
		c->reopened = true;
		c->reopened_by = rec->calls[c->claims].reopened_by;
	}
}

/* The end that holds the result of a call. */
static size_t
result_of(const struct recording *rec, size_t call)
{
	size_t from = rec->calls[call].result_from;

	return from != NO_CALL ? from : call;
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
		.input_from = NO_CALL, .result_from = NO_CALL, .winner = NO_CALL,
		.last_tool = NO_TOOL, .changed_inside = NO_CALL, .failed_first = rec->call_count - 1,
		.enclosing = find_enclosing(rec, id) };
	return c;
}

static bool
changes_something(struct span effects)
{
	return span_is(effects, "workspace") || span_is(effects, "external");
}

/* Thousands of calls are of a few steps. */
static const char *
share_path(struct recording *rec, struct span text)
{
	char *path = span_text(text);
	const size_t *found;

	if (path == NULL)
		path = memory_text("");
	found = map_get(&rec->by_path, path, strlen(path));
	if (found != NULL) {
		free(path);
		return rec->paths[*found];
	}
	map_put(&rec->by_path, path, strlen(path), rec->path_count);
	rec->paths = memory_array(rec->paths, rec->path_count + 1, sizeof *rec->paths);
	return rec->paths[rec->path_count++] = path;
}

static void
read_guard(const struct reading *at, struct recorded_call *c)
{
	char input[DIGEST_SIZE] = "", definition[DIGEST_SIZE] = "";

	span_copy(at->members[INPUT_SHA256], input, sizeof input);
	span_copy(at->members[DEFINITION_SHA256], definition, sizeof definition);
	index_guard(input, definition, c->guard);
	c->definition = index_definition(definition);
}

static void
take_started(struct recording *rec, const struct reading *at)
{
	char *id = span_text(at->members[CALL]);
	struct recorded_call *c = add_call(rec, id);
	size_t index = (size_t)(c - rec->calls);

	memcpy(c->started, at->id, ID_SIZE);
	c->child = span_text(at->view.child_run_id);
	c->begin = at->place;
	c->path = share_path(rec, at->view.path);
	read_guard(at, c);
	c->operation = at->members[TOOL].at != NULL;
	c->effects = changes_something(at->members[EFFECTS]) && !c->operation;
	c->idempotent = span_true(at->members[IDEMPOTENT]);
	/* Asked before the start is recorded: without a yes nothing begins. */
	if (at->members[CONDITION].at != NULL &&
	    !span_true(span_member(at->members[CONDITION], KEY_OUTCOME)))
		c->effects = false;
	c->tried = span_is(at->members[MODE], "try");
	c->allowed = span_is(at->members[MODE], "allow-failure");
	c->race = span_is(at->members[STRATEGY], "any");
	c->lenient = span_is(at->members[STRATEGY], "best-effort");
	c->runs_command = at->members[BLOCKS].at != NULL;
	c->members = at->members[STRATEGY].at != NULL || at->members[LOOP].at != NULL;
	c->member = c->enclosing != NO_CALL && rec->calls[c->enclosing].members &&
	    call_is_member(c->id);
	join_chain(rec, index, at->members[CLAIMS]);
	inherit(rec, c);
	if (at->members[INPUT].at == NULL) {
		c->input_from = reading_find(rec, at->view.parent_event_id);
		if (c->input_from != NO_CALL)
			c->input_from = result_of(rec, c->input_from);
	}
	if (c->enclosing != NO_CALL) {
		struct recorded_call *around = &rec->calls[c->enclosing];

		around->encloses = true;
		span_integer(at->members[TRY], &c->try_number);
		if (c->try_number > around->last_try)
			around->last_try = c->try_number;
	}
	recording_leave_out(rec, index, &at->view);
	if (span_is(at->members[MODE], "rescue"))
		recording_take_rescue(rec, index, &at->view);
	else
		recording_take_missed(rec, &at->view);
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
read_failure(struct recording *rec, struct recorded_call *c, const struct reading *at,
    size_t reused)
{
	struct span code = span_member(at->members[FAILURE], KEY_CODE);
	char *name = span_text(code);
	enum error_code known = name != NULL ? error_from_name(name, strlen(name)) : ERROR_NONE;
	long long exit_code = -1, lines = 0;

	free(name);
	c->state = RECALL_FAILED;
	if (reused != NO_CALL)
		c->failed_first = rec->calls[reused].failed_first;
	c->of_work = known == ERROR_NONE || error_of_work(known);
	c->lost_lines = span_integer(at->members[COUNT], &lines) && lines > 0;
	span_integer(at->members[EXIT_CODE], &exit_code);
	c->closed = known == ERROR_DOWNSTREAM_CLOSED;
	c->cut = span_one_of(code, cut_codes);
	if (c->cut == NULL && exit_code > 128)
		c->cut = "ended by a signal";
	/* Without a status it had not begun. */
	if (c->cut == NULL && exit_code != -1 && span_is(code, "downstream_closed"))
		c->cut = "downstream_closed";
	if (exit_code == -1 && span_one_of(code, idle_codes) != NULL)
		mark_idle(rec, c);
}

static void
read_skipped(struct recording *rec, struct recorded_call *c, const struct reading *at)
{
	c->state = RECALL_SKIPPED;
	c->by_user = span_is(at->members[SKIPPED], "by_user");
	if (span_one_of(at->members[SKIPPED], idle_skips) != NULL)
		mark_idle(rec, c);
}

/* The branch that succeeded ends the race that it is in. */
static void
end_race(struct recording *rec, size_t call)
{
	const struct recorded_call *c = &rec->calls[call];
	struct recorded_call *group;

	if (c->enclosing == NO_CALL || c->state != RECALL_SUCCEEDED)
		return;
	group = &rec->calls[rec->calls[c->enclosing].root];
	if (group->race && group->winner == NO_CALL)
		group->winner = call;
}

static void
read_reused(const struct recording *rec, struct recorded_call *c, size_t reused)
{
	c->result_from = result_of(rec, reused);
	c->state = rec->calls[c->result_from].state;
	c->decided = rec->calls[c->result_from].decided;
}

static void
take_completed(struct recording *rec, const struct reading *at)
{
	char *id = span_text(at->members[CALL]);
	const size_t *found = map_get(&rec->by_id, id, strlen(id));
	size_t index = found != NULL ? *found : NO_CALL, reused;
	struct recorded_call *c;

	free(id);
	if (take_decision(rec, at) || index == NO_CALL)
		return;
	c = &rec->calls[index];
	c->end = at->place;
	c->result_from = NO_CALL;
	c->decided = false;
	c->failed_first = index;
	map_put(&rec->by_event, at->id, ID_SIZE - 1, index);
	recording_leave_out_child(rec, index);
	reused = reading_find(rec, at->members[REUSED_FROM]);
	if (take_wait(c, at))
		return;
	if (reused != NO_CALL && rec->calls[reused].decided)
		read_reused(rec, c, reused);
	else if (at->members[FAILURE].at != NULL) {
		read_failure(rec, c, at, reused);
		rec->branch_failed |= c->member && rec->calls[c->enclosing].lenient;
		if (c->of_work)
			recording_take_missed(rec, &at->view);
		if (c->child != NULL)
			recording_take_child_missed(rec, index);
	}
	else if (at->members[SKIPPED].at != NULL)
		read_skipped(rec, c, at);
	else if (at->members[RESULT].at == NULL && reused != NO_CALL)
		read_reused(rec, c, reused);
	else
		c->state = RECALL_SUCCEEDED;
	end_race(rec, index);
}

/* ---- what stands in between ----
 *
 * Tool calls that may change something are a list for each chain of calls, the latest first.
 * Each is in doubt from its beginning on, and gets out of it by its result, by being called
 * again, or by an answer of the model, who was told what came of it. */

/* What a tool did that ended with one of these, nobody saw to its end. `interrupted` is
 * what the user decided: it stands. */
static const char *const tool_cut_codes[] = { "timeout", "cancelled", "downstream_closed", NULL };

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
	reading_reference(at->view.parent_event_id, t.cause);
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
	struct span code = span_member(at->members[FAILURE], KEY_CODE);
	long long exit_code = 0;
	const size_t *found;

	reading_reference(at->view.parent_event_id, id);
	found = map_get(&rec->tool_by_event, id, ID_SIZE - 1);
	if (found == NULL)
		return;
	span_integer(at->members[EXIT_CODE], &exit_code);
	rec->tools[*found].cut = span_one_of(code, tool_cut_codes);
	if (rec->tools[*found].cut == NULL && exit_code > 128)
		rec->tools[*found].cut = "ended by a signal";
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

/* The call that the event is one of, NO_CALL if that is not recorded. */
static size_t
take_event(struct recording *rec, const struct reading *at)
{
	size_t call = reading_find(rec, at->view.parent_event_id);

	if (call == NO_CALL)
		return NO_CALL;
	call = recording_latest(rec, call);
	add_event(&rec->calls[call], &at->place);
	map_put(&rec->by_event, at->id, ID_SIZE - 1, call);
	return call;
}

static void
take_inner(struct recording *rec, const struct reading *at)
{
	size_t call;

	/* A call goes on as if it had not been told. */
	if (rec->spec->mode == RECALL_RESUME && span_type(at->members[RETRY]) == 'o')
		return;
	call = take_event(rec, at);
	if (call == NO_CALL)
		return;
	if (at->view.type == EVENT_TOOL_CALL)
		read_tool_call(rec, call, at);
	else if (at->view.type == EVENT_TOOL_RESULT)
		read_tool_result(rec, at);
	else if (at->view.type == EVENT_MESSAGE_ASSISTANT && !span_true(at->members[PARTIAL]))
		settle_answered(rec, call);
}

/* Calls that were made in a phase were made in the call that it is part of. */
static void
take_phase(struct recording *rec, const struct reading *at)
{
	size_t call = take_event(rec, at);
	char *id = span_text(at->members[CALL]);

	if (call != NO_CALL && event_type_starts_call(at->view.type))
		map_put(&rec->by_id, id, strlen(id), call);
	free(id);
}

/* ---- the lines of a source ---- */

static void
pick_members(struct reading *at)
{
	memset(at->members, 0, sizeof at->members);
	if (span_type(at->view.payload) != 'o')
		return;
	for (struct span_walk member = span_walk(at->view.payload); span_next(&member);)
		for (size_t i = 0; i < MEMBERS; i++)
			if (span_is(member.key, member_names[i]))
				at->members[i] = member.value;
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
		take_phase(rec, at);
	else if (event_type_starts_call(at->view.type))
		take_started(rec, at);
	else
		take_completed(rec, at);
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
		take_inner(rec, at);
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

int
recording_take(struct recording *rec, const char *line, size_t len, int64_t offset,
    struct error *err)
{
	struct index_source *source = &rec->sources[rec->source];
	struct reading at = { .place = { offset, (uint32_t)len, rec->source } };
	char *place;

	rec->lines++;
	source->size = offset + (int64_t)len + 1;
	if (event_line_whole(line, len, NULL) && history_tail(line, len, source->tail) == 0 &&
	    event_view(line, len, &at.view) == 0 &&
	    span_copy(at.view.event_id, at.id, sizeof at.id)) {
		if (source->run_id[0] == '\0')
			span_copy(at.view.run_id, source->run_id, sizeof source->run_id);
		pick_members(&at);
		if (names_call(&at)) {
			read_event(rec, &at);
			return 0;
		}
	}
	place = memory_format("%s:%lld", history_source(rec->spec, rec->source)->path,
	    (long long)rec->lines);
	error_set(err, ERROR_SCHEMA, place, "no event of a transcript (see awf-verify)");
	free(place);
	return -1;
}

/* The next source: what there is of the one before was all. */
static int
begin_source(struct recording *rec, uint32_t number, struct error *err)
{
	const char *path = history_source(rec->spec, number)->path;
	struct index_source *source = &rec->sources[number];
	struct stat status;

	map_free(&rec->by_id);
	rec->source = number;
	rec->status[0] = '\0';
	rec->lines = 0;
	rec->first_of_source = rec->call_count;
	source->foreign = number < rec->spec->other_count;
	if (lstat(path, &status) != 0)
		return error_errno(err, ERROR_SYSTEM, path, "unable to open");
	source->device = (uint64_t)status.st_dev;
	source->inode = (uint64_t)status.st_ino;
	return 0;
}

int
recording_read_source(struct recording *rec, struct error *err)
{
	const char *line;
	struct reader r;
	size_t len;
	int got;

	if (reader_open(&r, history_source(rec->spec, rec->source)->path, err) != 0)
		return -1;
	while ((got = reader_next(&r, &line, &len, err)) == 1)
		if (recording_take(rec, line, len, r.line_start, err) != 0) {
			got = -1;
			break;
		}
	reader_close(&r);
	return got;
}

int
recording_begin(struct recording *rec, const struct history_spec *spec, struct error *err)
{
	size_t count = history_source_count(spec);

	*rec = (struct recording){ .spec = spec };
	rec->sources = memory_zero(count, sizeof *rec->sources);
	for (uint32_t i = 0; i < count; i++) {
		if (begin_source(rec, i, err) != 0)
			return -1;
		if (i + 1 == count)
			break;
		if (recording_read_source(rec, err) != 0)
			return -1;
		recording_leave_out_children(rec, rec->first_of_source);
	}
	return 0;
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

void
recording_end(struct recording *rec)
{
	recording_leave_out_children(rec, rec->first_of_source);
	forget_names(rec);
	if (rec->spec->own.path == NULL)
		rec->status[0] = '\0';
	if (rec->spec->mode == RECALL_RESUME) {
		recording_settle_caught(rec);
		recording_settle_claims(rec);
	}
	recording_note_began(rec);
	if (rec->spec->mode == RECALL_RESUME)
		recording_note_doubts(rec);
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
