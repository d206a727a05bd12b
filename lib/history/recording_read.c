/*
 * Reads the sources once, the oldest fork first and the run's own last. Each line goes to the model
 * first, which tells the call that it belongs to. One walk over a payload collects all members that
 * are needed here. The tables that find events and calls are freed when everything is read, before
 * memory for the index is allocated.
 *
 * Calls are in one array in the order of their starts, and refer to each other by number. A call
 * that was taken over and the call that took it over are linked both ways, and all calls of such a
 * chain know its root. A phase of an agent is not a call here: what is inside it belongs to the
 * agent's call. A decision replaces the end of the call that waited; that end is kept for a replay.
 */
#include "history/recording.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/invariant.h"
#include "base/list.h"
#include "base/memory.h"
#include "model/waiting.h"
#include "transcript/call.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"

#define CLOSING 2 /* "} behind the digest of a line */

/* The members collected in one walk over a payload. */
enum member {
	NAME, CALL, INPUT, INPUT_SHA256, DEFINITION_SHA256, EFFECTS, IDEMPOTENT, TOOL, CLAIMS, RESULT,
	FAILURE, SKIPPED, REUSED_FROM, EXIT_CODE, CALL_ID, FIDELITY, STATUS, STRATEGY, PARTIAL,
	APPROVAL, PHASE, LOOP, MODE, CONDITION, RETRY, WAIT, COUNT, BLOCKS, FAR_END, FILES, MADE_AGAIN,
	PROGRAM_CHANGED, DIRECTORY, VARIABLES, TOOL_CALL, COMPARED_WITH, MEMBERS
};
static const char *const member_names[MEMBERS] = {
	[NAME] = KEY_NAME, [CALL] = KEY_CALL, [INPUT] = KEY_INPUT, [INPUT_SHA256] = KEY_INPUT_SHA256,
	[DEFINITION_SHA256] = KEY_DEFINITION_SHA256, [EFFECTS] = KEY_EFFECTS,
	[IDEMPOTENT] = KEY_IDEMPOTENT, [TOOL] = KEY_TOOL, [CLAIMS] = KEY_CLAIMS,
	[RESULT] = KEY_RESULT, [FAILURE] = KEY_ERROR, [SKIPPED] = KEY_SKIPPED,
	[REUSED_FROM] = KEY_REUSED_FROM, [EXIT_CODE] = KEY_EXIT_CODE, [CALL_ID] = KEY_CALL_ID,
	[FIDELITY] = KEY_FIDELITY, [STATUS] = KEY_STATUS, [STRATEGY] = KEY_STRATEGY,
	[PARTIAL] = KEY_PARTIAL, [APPROVAL] = KEY_APPROVAL, [PHASE] = KEY_PHASE,
	[LOOP] = KEY_LOOP, [MODE] = KEY_MODE, [CONDITION] = KEY_CONDITION, [RETRY] = KEY_RETRY,
	[WAIT] = KEY_WAIT, [COUNT] = KEY_COUNT, [BLOCKS] = KEY_BLOCKS, [FAR_END] = KEY_FAR_END,
	[FILES] = KEY_FILES, [MADE_AGAIN] = KEY_MADE_AGAIN, [PROGRAM_CHANGED] = KEY_PROGRAM_CHANGED,
	[DIRECTORY] = KEY_DIRECTORY, [VARIABLES] = KEY_VARIABLES, [TOOL_CALL] = KEY_TOOL_CALL,
	[COMPARED_WITH] = KEY_COMPARED_WITH,
};

/* A line while it is read. */
struct reading {
	struct event_view view;
	struct placed placed;         /* its call, as the model tells */
	struct span members[MEMBERS]; /* of the payload; null counts as absent */
	struct place place;
};

/* The end that has the result of a call. */
static uint32_t
result_of(const struct recording *rec, uint32_t call)
{
	uint32_t from = rec->calls[call].links.result_from;

	return from != NO_CALL ? from : call;
}

/* ---- decisions about calls that wait ---- */

static bool
recording_read_wait(struct recorded_call *c, const struct reading *at)
{
	if (at->members[APPROVAL].at == NULL || waiting_of(&at->view) == WAITING_NOTHING)
		return false;
	c->status.state = RECALL_WAITING;
	c->failure.cut = NULL;
	return true;
}

/* The call does nothing of its own before its end. So if it does not reach it, it waits, or is
 * decided about, as before. A replay has only one attempt. */
static void
recording_inherit_state(struct recording *rec, struct recorded_call *c)
{
	const struct recorded_call *earlier;

	if (c->links.claims == NO_CALL || rec->spec->mode == RECALL_REPLAY)
		return;
	earlier = &rec->calls[c->links.claims];
	if ((earlier->status.state != RECALL_WAITING && !earlier->status.decided) ||
	    !recorded_call_went_on(c, earlier))
		return;
	c->status.state = earlier->status.state;
	c->end = earlier->end;
	c->status.decided = earlier->status.decided;
	c->links.result_from = earlier->links.result_from;
}

/* Makes a decision the end of the call that waits, and of calls that have taken it over and have
 * not ended. */
static void
recording_read_decision(struct recording *rec, const struct reading *at)
{
	bool start;
	uint32_t i = recording_find_call(rec, event_key(at->view.parent_event_id), &start);
	struct recorded_call *c;

	if (i == NO_CALL)
		return;
	c = &rec->calls[i];
	if (start && c->status.state == RECALL_OPEN) {
		c->early = at->place;
		c->status.early_failed = at->members[FAILURE].at != NULL;
	}
	if (c->status.state != RECALL_WAITING)
		return;
	c->status.waited = true;
	c->end = at->place;
	if (!recording_read_wait(c, at)) {
		c->status.state = at->members[FAILURE].at != NULL ? RECALL_FAILED : RECALL_SUCCEEDED;
		c->status.decided = true;
	}
	while ((i = rec->calls[i].links.claimed_by) != NO_CALL)
		if (rec->calls[i].status.state == RECALL_WAITING && !rec->calls[i].status.waited)
			recording_inherit_state(rec, &rec->calls[i]);
}

/* The try for which the result was given has failed. */
static void
forget_early_result(struct recording *rec, const struct reading *at)
{
	uint32_t call = recording_find_call(rec, event_key(at->view.parent_event_id), NULL);

	if (call != NO_CALL)
		rec->calls[call].early.len = 0;
}

static void
recording_apply_early_result(struct recorded_call *c)
{
	c->status.state = c->status.early_failed ? RECALL_FAILED : RECALL_SUCCEEDED;
	c->end = c->early;
	c->status.decided = true;
}

/* Of calls that were interrupted, those whose result had arrived already have it: they were
 * about to take it over, or had taken over a call that was. */
static void
recording_apply_early_results(struct recording *rec)
{
	for (uint32_t i = 0; i < rec->call_count; i++) {
		struct recorded_call *c = &rec->calls[i];

		if (c->status.state != RECALL_OPEN)
			continue;
		if (c->early.len == 0) {
			recording_inherit_state(rec, c);
			continue;
		}
		recording_apply_early_result(c);
	}
}

/* ---- start and end of a call ---- */

/* A call that ended for one of these reasons did nothing. */
static const char *const idle_codes[] = {
	"waiting", "no_input", "upstream_incomplete", "invalid_input", "blocked",
	"cannot_launch", NULL,
};
static const char *const idle_skips[] = { "upstream_failed", "upstream_waiting", "nothing_failed", NULL };
/* If a call ended for one of these reasons, nobody saw its work to the end. */
static const char *const cut_codes[] = { "timeout", "cancelled", "interrupted", NULL };

static void
know_number(struct recording *rec, const struct model_call *call, uint32_t ours)
{
	if (call->number >= rec->number_capacity) {
		size_t from = rec->number_capacity;

		rec->number_capacity = from == 0 ? 64 : 2 * from;
		rec->by_number = memory_array(rec->by_number, rec->number_capacity, sizeof *rec->by_number);
		for (size_t i = from; i < rec->number_capacity; i++)
			rec->by_number[i] = NO_CALL;
	}
	INVARIANT(call->number < rec->number_capacity);
	rec->by_number[call->number] = ours;
}

/* Keeps what a call depended on besides input and definition. */
static void
recording_read_marks(struct recording *rec, struct recorded_call *c, const struct reading *at)
{
	c->key.start = rec->now.start;
	if (at->members[DIRECTORY].at != NULL) {
		c->key.directory = rec->marks.len;
		span_decode(at->members[DIRECTORY], &rec->marks);
		buffer_byte(&rec->marks, '\0');
	}
	if (at->members[VARIABLES].at != NULL) {
		c->key.variables = rec->marks.len;
		buffer_append(&rec->marks, at->members[VARIABLES].at, at->members[VARIABLES].len);
		buffer_byte(&rec->marks, '\0');
	}
}

/* Reads the id of a cause, a string or a member of an object. */
static void
copy_cause(struct span cause, char id[ID_SIZE])
{
	event_copy_id(span_type(cause) == 'o' ? span_member(cause, KEY_EVENT_ID) : cause, id);
}

/* Finds the tool call that made this call: the call's own start names it, and the start of the
 * tool call, if that comes later, is noted for its result. */
static void
recording_read_tool_use(struct recording *rec, struct recorded_call *c, const struct reading *at)
{
	struct span id = at->members[TOOL_CALL];
	char text[ID_SIZE] = "", cause[ID_SIZE] = "";
	const size_t *known;
	uint32_t follows;

	c->key.use = NO_USE;
	if (id.at == NULL || !event_copy_id(id, text))
		return;
	known = map_get(&rec->tool_uses.use_by_id, text, strlen(text));
	if (known != NULL) {
		c->key.use = (uint32_t)*known;
	} else {
		c->key.use = rec->tool_uses.use_count++;
		rec->tool_uses.uses = memory_array(rec->tool_uses.uses, rec->tool_uses.use_count,
		    sizeof *rec->tool_uses.uses);
		map_put(&rec->tool_uses.use_by_id, text, strlen(text), c->key.use);
		rec->tool_uses.uses[c->key.use].id = rec->marks.len;
		buffer_text(&rec->marks, text);
		buffer_byte(&rec->marks, '\0');
	}
	rec->tool_uses.uses[c->key.use].ended = false;
	follows = recording_find_call(rec, event_key(at->view.parent_event_id), NULL);
	if (c->links.enclosing == NO_CALL || follows == NO_CALL ||
	    rec->calls[follows].links.root != rec->calls[c->links.enclosing].links.root)
		return;
	copy_cause(at->view.parent_event_id, cause);
	map_put(&rec->tool_uses.use_by_event, cause, strlen(cause), c->key.use);
}

static void
recording_read_attempt(struct recording *rec, const struct reading *at)
{
	rec->now.start = rec->marks.len;
	marks_read_start(at->view.payload, &rec->marks);
	buffer_byte(&rec->marks, '\0');
}

/* Which call a claiming call takes over: the last that took over the same one before; but not a
 * call of other words that was made in its place in this attempt. */
static uint32_t
recording_followed_call(const struct recording *rec, uint32_t claimed,
    const struct recorded_call *c)
{
	uint32_t latest = recording_latest(rec, claimed);

	return rec->calls[latest].attempt == c->attempt &&
	    memcmp(rec->calls[latest].key.guard, c->key.guard, sizeof c->key.guard) != 0 ? claimed : latest;
}

/* Notes a call of another run, which is no source, that a call of this one has taken over. */
static void
note_taken(struct recording *rec, struct span claims)
{
	char run_id[ID_SIZE], id[ID_SIZE];

	if (span_type(claims) != 'o' || !event_copy_id(span_member(claims, KEY_RUN_ID), run_id) ||
	    !event_copy_id(span_member(claims, KEY_EVENT_ID), id))
		return;
	for (uint32_t i = 0; i <= rec->now.source; i++)
		if (strcmp(rec->now.sources[i].run_id, run_id) == 0)
			return;
	list_add(&rec->seen.taken, id);
}

static void
recording_read_started(struct recording *rec, const struct reading *at)
{
	const struct model_call *call = at->placed.call, *outer = call->around;
	size_t outer_len = outer != NULL ? strlen(outer->id) : 0;
	char input[DIGEST_SIZE] = "", definition[DIGEST_SIZE] = "";
	uint32_t index = rec->call_count++, earlier;
	struct recorded_call *c;

	if (index == rec->call_capacity) {
		rec->call_capacity = rec->call_capacity == 0 ? 64 : rec->call_capacity * 2;
		rec->calls = memory_array(rec->calls, rec->call_capacity, sizeof *rec->calls);
	}
	c = &rec->calls[index];
	*c = (struct recorded_call){ .call = call, .source = rec->now.source, .attempt = rec->now.attempt,
		.links.root = index, .links.claims = NO_CALL, .links.claimed_by = NO_CALL, .links.input_from = NO_CALL,
		.links.result_from = NO_CALL, .chain.winner = NO_CALL, .chain.last_tool = NO_TOOL, .last_event = NO_EVENT,
		.chain.changed_inside = NO_CALL, .failure.first = index, .links.enclosing = NO_CALL,
		.kind.child = call->rare->child_run_id[0] != '\0' };
	/* The enclosing call that its id names; not the one that the model derives from its
	 * cause if that is unknown. */
	if (outer != NULL && strncmp(call->id, outer->id, outer_len) == 0 &&
	    call->id[outer_len] == '/' && strchr(call->id + outer_len + 1, '/') == NULL)
		c->links.enclosing = rec->by_number[outer->number];
	INVARIANT(c->links.enclosing == NO_CALL || c->links.enclosing < index);
	span_copy(at->members[INPUT_SHA256], input, sizeof input);
	span_copy(at->members[DEFINITION_SHA256], definition, sizeof definition);
	index_guard(input, definition, c->key.guard);
	c->key.input = index_digest(input);
	c->key.definition = index_digest(definition);
	c->status.made_again = span_true(at->members[MADE_AGAIN]);
	recording_take_programs(rec, c, at->members[FILES]);
	recording_read_marks(rec, c, at);
	recording_read_tool_use(rec, c, at);
	c->kind.operation = at->members[TOOL].at != NULL;
	c->kind.effects = !c->kind.operation && (span_is(at->members[EFFECTS], "workspace") ||
	    span_is(at->members[EFFECTS], "external"));
	c->kind.idempotent = span_true(at->members[IDEMPOTENT]);
	/* The condition is evaluated before the start is recorded: unless it said yes, nothing
	 * begins. */
	if (at->members[CONDITION].at != NULL &&
	    !span_true(span_member(at->members[CONDITION], KEY_OUTCOME)))
		c->kind.effects = false;
	c->kind.runs_command = at->members[BLOCKS].at != NULL;
	c->kind.members = at->members[STRATEGY].at != NULL || at->members[LOOP].at != NULL;
	c->kind.member = c->links.enclosing != NO_CALL && rec->calls[c->links.enclosing].kind.members &&
	    call_is_member(call->id);

	note_taken(rec, at->members[CLAIMS]);
	/* It continues the call that it took over, or the last call that took that over since. */
	earlier = recording_find_call(rec, event_key(at->members[CLAIMS]), NULL);
	if (earlier != NO_CALL) {
		struct recorded_call *before;

		c->links.claims = recording_followed_call(rec, earlier, c);
		c->links.root = rec->calls[earlier].links.root;
		before = &rec->calls[c->links.claims];
		INVARIANT(c->links.claims < index && before->links.root == c->links.root);
		/* Except for a call that was made in its place. */
		INVARIANT(before->links.claimed_by == NO_CALL ||
		    rec->calls[before->links.claimed_by].attempt == rec->now.attempt);
		before->links.claimed_by = index;
		c->links.left_by = before->links.left_by;
		/* A call that a fork leaves out may have been made in an earlier attempt. What a
		 * fork of an older source did has been done again here. */
		if (before->links.reopened_by > rec->now.source) {
			c->status.reopened = true;
			c->links.reopened_by = before->links.reopened_by;
		}
	}
	recording_inherit_state(rec, c);

	if (at->members[INPUT].at == NULL) {
		c->links.input_from = recording_find_call(rec, event_key(at->view.parent_event_id), NULL);
		if (c->links.input_from != NO_CALL)
			c->links.input_from = result_of(rec, c->links.input_from);
	}
	if (c->links.enclosing != NO_CALL) {
		struct recorded_call *around = &rec->calls[c->links.enclosing];

		around->kind.encloses = true;
		if (call->rare->try_number > around->last_try)
			around->last_try = call->rare->try_number;
	}
	recording_leave_out(rec, index, &at->view);
	if (!span_is(at->members[MODE], "rescue"))
		recording_take_missed(rec, &at->view);
	/* Not earlier: its own line names other calls. */
	know_number(rec, call, index);
}

/* A call that did nothing does not hide one that did something. */
static void
mark_idle(struct recording *rec, struct recorded_call *c)
{
	if (c->kind.encloses || c->last_event != NO_EVENT)
		return;
	c->status.idle = true;
	if (c->links.claims != NO_CALL && c->links.claimed_by == NO_CALL)
		rec->calls[c->links.claims].links.claimed_by = NO_CALL;
}

static void
read_failure(struct recording *rec, struct recorded_call *c, const struct reading *at)
{
	struct span code = span_member(at->members[FAILURE], KEY_CODE);
	char *name = span_text(code);
	enum error_code known = name != NULL ? error_from_name(name, strlen(name)) : ERROR_NONE;
	long long exit_code = -1, lines = 0;

	free(name);
	c->status.state = RECALL_FAILED;
	c->failure.of_work = known == ERROR_NONE || error_of_work(known);
	c->failure.lost_lines = span_integer(at->members[COUNT], &lines) && lines > 0;
	span_integer(at->members[EXIT_CODE], &exit_code);
	c->failure.closed = known == ERROR_DOWNSTREAM_CLOSED;
	c->failure.cut = span_one_of(code, cut_codes);
	if (c->failure.cut == NULL && exit_code > 128)
		c->failure.cut = "ended by a signal";
	/* Without an exit status it had not begun. */
	if (c->failure.cut == NULL && exit_code != -1 && span_is(code, "downstream_closed"))
		c->failure.cut = "downstream_closed";
	/* A call whose connection was lost before the far end answered had not begun either. */
	if (known == ERROR_LOST && at->members[FAR_END].at != NULL)
		c->failure.cut = "lost";
	c->status.asked = exit_code == -1 && known == ERROR_WAITING;
	if (c->status.asked && at->members[COMPARED_WITH].at != NULL) {
		c->key.compared = rec->marks.len;
		span_decode(at->members[COMPARED_WITH], &rec->marks);
		buffer_byte(&rec->marks, '\0');
		rec->seen.asked = true;
	}
	if (exit_code == -1 && (span_one_of(code, idle_codes) != NULL ||
	    (known == ERROR_LOST && c->failure.cut == NULL)))
		mark_idle(rec, c);
}

/* The call waits, and its process with it. If that is killed, the call waits as one does whose
 * process has ended. */
static void
recording_read_attended(struct recording *rec, const struct reading *at)
{
	const struct model_call *call = at->placed.call;
	uint32_t index = call != NULL ? rec->by_number[call->number] : NO_CALL;
	struct recorded_call *c;

	if (index == NO_CALL)
		return;
	c = &rec->calls[index];
	c->end = at->place;
	c->links.result_from = NO_CALL;
	c->status.decided = c->status.waited = false;
	c->status.attended = recording_read_wait(c, at);
}

static void
recording_read_completed(struct recording *rec, const struct reading *at)
{
	const struct model_call *call = at->placed.call;
	uint32_t index = call != NULL ? rec->by_number[call->number] : NO_CALL;
	uint32_t reused = recording_find_call(rec, event_key(at->members[REUSED_FROM]), NULL);
	struct recorded_call *c, *group;

	if (index == NO_CALL)
		return;
	c = &rec->calls[index];
	c->end = at->place;
	c->links.result_from = NO_CALL;
	c->status.decided = c->status.waited = c->status.attended = false;
	c->failure.first = index;
	recording_leave_out_child(rec, index);
	if (recording_read_wait(c, at))
		return;

	if (reused != NO_CALL && rec->calls[reused].status.state == RECALL_OPEN &&
	    rec->calls[reused].early.len > 0)
		recording_apply_early_result(&rec->calls[reused]);
	/* A fork has its own copy of a result; the other run has the call that made it. */
	if (reused != NO_CALL && span_true(at->members[PROGRAM_CHANGED]))
		c->programs = rec->calls[result_of(rec, reused)].programs;
	if (reused != NO_CALL && (rec->calls[reused].status.decided || (at->members[FAILURE].at == NULL &&
	    at->members[SKIPPED].at == NULL && at->members[RESULT].at == NULL))) {
		c->links.result_from = result_of(rec, reused);
		c->status.state = rec->calls[c->links.result_from].status.state;
		c->status.decided = rec->calls[c->links.result_from].status.decided;
	} else if (at->members[FAILURE].at != NULL) {
		read_failure(rec, c, at);
		if (reused != NO_CALL)
			c->failure.first = rec->calls[reused].failure.first;
		rec->seen.branch_failed |= c->kind.member && rec->calls[c->links.enclosing].call->lenient;
		if (c->failure.of_work)
			recording_take_missed(rec, &at->view);
		if (c->kind.child)
			recording_take_child_missed(rec, index);
	} else if (at->members[SKIPPED].at != NULL) {
		c->status.state = RECALL_SKIPPED;
		c->status.by_user = span_is(at->members[SKIPPED], "by_user");
		/* A condition that says no now, since it was edited, does not undo what was done: if it says yes
		 * once more, that is used. */
		if (span_one_of(at->members[SKIPPED], idle_skips) != NULL || (!c->status.by_user &&
		    c->links.claims != NO_CALL && recording_changed(rec, c->links.claims)))
			mark_idle(rec, c);
	} else {
		c->status.state = RECALL_SUCCEEDED;
	}
	/* The call has recorded what was decided about it itself. */
	if (at->members[APPROVAL].at != NULL && c->status.state != RECALL_SKIPPED &&
	    span_type(span_member(at->members[APPROVAL], KEY_DECISION)) == 's')
		c->status.decided = true;

	/* The branch that succeeded ends the race of its group. */
	group = c->links.enclosing != NO_CALL && c->status.state == RECALL_SUCCEEDED ?
	    &rec->calls[rec->calls[c->links.enclosing].links.root] : NULL;
	if (group != NULL && group->call->race && group->chain.winner == NO_CALL)
		group->chain.winner = index;
}

/* ---- events inside calls ----
 * 
 * Tool calls that may change something are in a list for each chain of calls, the latest first.
 * Each is in doubt from its start until its result, until it is called again, or until an answer
 * of the model that was told its outcome. */

/* If a tool ended for one of these reasons, nobody saw its work to the end. `interrupted` is a
 * decision of the user, so it is final. */
static const char *const tool_cut_codes[] = { "timeout", "cancelled", "downstream_closed", NULL };

/* The highest number among calls of a tool in the list from i on; 0: there are none. */
static uint32_t
last_number(const struct recording *rec, uint32_t i, const char *name)
{
	uint32_t number = 0;

	for (; i != NO_TOOL; i = rec->tool_uses.tools[i].before)
		if (rec->tool_uses.tools[i].number > number && strcmp(rec->tool_uses.tools[i].name, name) == 0)
			number = rec->tool_uses.tools[i].number;
	return number;
}

static void
read_tool_call(struct recording *rec, uint32_t call, const struct reading *at)
{
	uint32_t *last = &rec->calls[rec->calls[call].links.root].chain.last_tool;
	struct recorded_tool t = { .call = call, .place = at->place, .cut = "cut off",
		.before = *last, .idempotent = span_true(at->members[IDEMPOTENT]) };
	struct span effects = at->members[EFFECTS], cause = at->view.parent_event_id;

	if (!span_is(at->members[FIDELITY], "router") || span_is(effects, "none") ||
	    span_is(effects, "read"))
		return;
	copy_cause(cause, t.cause);
	t.call_id = span_text(at->members[CALL_ID]);
	if (t.call_id == NULL)
		t.call_id = memory_text("");
	t.name = span_text(at->members[NAME]);
	if (t.name == NULL)
		t.name = memory_text("");

	/* A tool call that was interrupted and called again is no longer in doubt. */
	for (uint32_t i = *last; i != NO_TOOL; i = rec->tool_uses.tools[i].before) {
		struct recorded_tool *old = &rec->tool_uses.tools[i];

		if (!old->repeated && old->cut != NULL && old->call != call &&
		    strcmp(old->call_id, t.call_id) == 0 &&
		    (rec->calls[call].kind.operation || strcmp(old->cause, t.cause) == 0)) {
			old->repeated = true;
			t.number = old->number;
			break;
		}
	}
	if (t.number == 0)
		t.number = last_number(rec, *last, t.name) + 1;
	if (rec->tool_uses.tool_count == rec->tool_uses.tool_capacity) {
		rec->tool_uses.tool_capacity = rec->tool_uses.tool_capacity == 0 ? 64 : rec->tool_uses.tool_capacity * 2;
		rec->tool_uses.tools = memory_array(rec->tool_uses.tools, rec->tool_uses.tool_capacity,
		    sizeof *rec->tool_uses.tools);
	}
	*last = rec->tool_uses.tool_count;
	event_copy_id(at->view.event_id, t.id);
	map_put(&rec->tool_uses.tool_by_event, t.id, strlen(t.id), rec->tool_uses.tool_count);
	rec->tool_uses.tools[rec->tool_uses.tool_count++] = t;
}

static void
read_tool_result(struct recording *rec, const struct reading *at)
{
	struct span code = span_member(at->members[FAILURE], KEY_CODE);
	const char *cut = span_one_of(code, tool_cut_codes);
	long long exit_code = 0;
	struct recorded_tool *t;
	const size_t *found;
	char id[ID_SIZE] = "";

	copy_cause(at->view.parent_event_id, id);
	span_integer(at->members[EXIT_CODE], &exit_code);
	if (cut == NULL && exit_code > 128)
		cut = "ended by a signal";
	found = map_get(&rec->tool_uses.use_by_event, id, strlen(id));
	if (found != NULL)
		rec->tool_uses.uses[*found].ended = cut == NULL;
	found = map_get(&rec->tool_uses.tool_by_event, id, strlen(id));
	if (found == NULL)
		return;
	t = &rec->tool_uses.tools[*found];
	t->cut = cut;
	t->blocked = span_is(code, "blocked");
}

/* Adds an event to the call that its cause belongs to, or to the call that has taken that over.
 * Returns the call, or NO_CALL if it is not recorded. */
static uint32_t
recording_add_event(struct recording *rec, const struct reading *at)
{
	uint32_t call = recording_find_call(rec, event_key(at->view.parent_event_id), NULL);
	struct recorded_call *c;

	if (call == NO_CALL)
		return NO_CALL;
	call = recording_latest(rec, call);
	c = &rec->calls[call];
	if (rec->event_count == rec->event_capacity) {
		rec->event_capacity = rec->event_capacity == 0 ? 64 : rec->event_capacity * 2;
		rec->events = memory_array(rec->events, rec->event_capacity, sizeof *rec->events);
	}
	rec->events[rec->event_count] = (struct recorded_event){ at->place.offset, at->place.len,
		c->last_event };
	INVARIANT(c->last_event == NO_EVENT || c->last_event < rec->event_count);
	c->last_event = rec->event_count++;
	return call;
}

/* ---- the lines of a source ---- */

static void
read_event(struct recording *rec, const struct reading *at)
{
	uint32_t call;

	switch (at->view.type) {
	case EVENT_RUN_STARTED:
		rec->now.attempt++;
		recording_take_workspace(rec, at->view.payload);
		recording_read_attempt(rec, at);
		rec->now.own_attempts += rec->now.source == rec->spec->other_count;
		rec->status[0] = '\0';
		break;
	case EVENT_RUN_COMPLETED:
		span_copy(at->members[STATUS], rec->status, sizeof rec->status);
		rec->reader_gone = span_is(span_member(at->members[FAILURE], KEY_CODE),
		    error_name(ERROR_DOWNSTREAM_CLOSED));
		break;
	case EVENT_STEP_STARTED:
	case EVENT_CALL_WORKFLOW_STARTED:
		/* Calls made in a phase belong to the call that has the phase. */
		if (span_type(at->members[PHASE]) == 'o')
			know_number(rec, at->placed.call, recording_add_event(rec, at));
		else
			recording_read_started(rec, at);
		break;
	case EVENT_STEP_COMPLETED:
	case EVENT_CALL_WORKFLOW_COMPLETED:
		if (span_type(at->members[PHASE]) == 'o')
			recording_add_event(rec, at);
		else if (at->members[APPROVAL].at != NULL && event_decides(&at->view))
			recording_read_decision(rec, at);
		else
			recording_read_completed(rec, at);
		break;
	case EVENT_STEP_WAITING:
		recording_read_attended(rec, at);
		break;
	case EVENT_MESSAGE_USER:
	case EVENT_MESSAGE_ASSISTANT:
	case EVENT_TOOL_CALL:
	case EVENT_TOOL_RESULT:
		/* After a retry, the call continues as if it had not been told the outcome. */
		if (span_type(at->members[RETRY]) == 'o')
			forget_early_result(rec, at);
		if (rec->spec->mode == RECALL_RESUME &&
		    (span_type(at->members[RETRY]) == 'o' || span_type(at->members[WAIT]) == 'o'))
			break;
		call = recording_add_event(rec, at);
		if (call == NO_CALL)
			break;
		if (at->view.type == EVENT_TOOL_CALL)
			read_tool_call(rec, call, at);
		else if (at->view.type == EVENT_TOOL_RESULT)
			read_tool_result(rec, at);
		else if (at->view.type == EVENT_MESSAGE_ASSISTANT && !span_true(at->members[PARTIAL]))
			/* The model was told the outcome of its tool calls, and continued. */
			for (uint32_t i = rec->calls[rec->calls[call].links.root].chain.last_tool;
			     i != NO_TOOL && !rec->tool_uses.tools[i].answered; i = rec->tool_uses.tools[i].before)
				rec->tool_uses.tools[i].answered = true;
		break;
	default:
		break;
	}
}

/* Whether the line names a call, as lines of calls must. */
static bool
names_call(const struct reading *at)
{
	char *id;
	bool valid;

	if (!event_type_starts_call(at->view.type) && !event_type_ends_call(at->view.type))
		return true;
	id = span_text(at->members[CALL]);
	valid = id != NULL && call_id_valid(id);
	free(id);
	return valid;
}

int
history_tail(const char *line, size_t len, char tail[DIGEST_SIZE])
{
	if (len < DIGEST_SIZE - 1 + CLOSING)
		return -1;
	memcpy(tail, line + len - CLOSING - (DIGEST_SIZE - 1), DIGEST_SIZE - 1);
	tail[DIGEST_SIZE - 1] = '\0';
	return 0;
}

int
recording_take(struct recording *rec, const char *line, size_t len, int64_t offset,
    struct error *err)
{
	struct index_source *source = &rec->now.sources[rec->now.source];
	struct reading at = { .place = { offset, (uint32_t)len, rec->now.source } };
	char id[ID_SIZE], *place;

	rec->now.lines++;
	source->size = offset + (int64_t)len + 1;
	if (event_line_whole(line, len, NULL) && history_tail(line, len, source->tail) == 0 &&
	    model_line(&rec->model, line, len, (struct event_place){ offset, (uint32_t)len },
	    &at.view, &at.placed) && span_copy(at.view.event_id, id, sizeof id)) {
		if (source->run_id[0] == '\0')
			span_copy(at.view.run_id, source->run_id, sizeof source->run_id);
		span_members(at.view.payload, member_names, MEMBERS, at.members);
		for (size_t i = 0; i < MEMBERS; i++)
			if (span_type(at.members[i]) == '0' && i != RESULT && i != INPUT)
				at.members[i] = SPAN_NONE;
		if (names_call(&at)) {
			read_event(rec, &at);
			return 0;
		}
	}
	place = memory_format("%s:%lld", history_source(rec->spec, rec->now.source)->path,
	    (long long)rec->now.lines);
	error_set(err, ERROR_SCHEMA, place, "no event of a transcript (see awf-verify)");
	free(place);
	return -1;
}

static int
recording_read_line(void *context, const char *line, size_t len, int64_t offset, struct error *err)
{
	return recording_take(context, line, len, offset, err);
}

int
recording_read_source(struct recording *rec, struct error *err)
{
	return model_lines(history_source(rec->spec, rec->now.source)->path, 0, recording_read_line,
	    rec, err);
}

int
recording_begin(struct recording *rec, const struct history_spec *spec, struct error *err)
{
	size_t count = history_source_count(spec);

	*rec = (struct recording){ .spec = spec };
	buffer_byte(&rec->marks, '\0');
	model_begin(&rec->model, MODEL_EVENTS);
	rec->now.sources = memory_zero(count, sizeof *rec->now.sources);
	rec->now.first_events = memory_zero(count, sizeof *rec->now.first_events);
	for (uint32_t i = 0; i < count; i++) {
		const char *path = history_source(spec, i)->path;
		struct index_source *source = &rec->now.sources[i];
		struct stat status;

		/* The previous source has been read to its end. */
		rec->now.source = i;
		rec->status[0] = '\0';
		rec->now.lines = 0;
		rec->now.first_of_source = rec->call_count;
		rec->now.first_events[i] = rec->event_count;
		source->foreign = i < spec->other_count;
		if (lstat(path, &status) != 0)
			return error_errno(err, ERROR_SYSTEM, path, "unable to open");
		source->device = (uint64_t)status.st_dev;
		source->inode = (uint64_t)status.st_ino;
		if (i + 1 == count)
			break;
		if (recording_read_source(rec, err) != 0)
			return -1;
		recording_leave_out_children(rec, rec->now.first_of_source);
	}
	return 0;
}

/* Calls are in the order of their starts. A call refers only to earlier calls, except to the one
 * that has taken it over; a chain is linked both ways, and all of its calls know the first. */
static bool
recorded_call_holds(const struct recording *rec, uint32_t i)
{
	const struct recorded_call *c = &rec->calls[i], *before = i > 0 ? c - 1 : c;
	const uint32_t named[] = { c->links.input_from, c->links.result_from, c->chain.winner, c->chain.changed_inside };
	bool holds = before->source <= c->source && before->attempt <= c->attempt &&
	    c->source <= rec->now.source && c->attempt <= rec->now.attempt;

	holds = holds && c->links.root <= i && (c->links.root == i) == (c->links.claims == NO_CALL) &&
	    (c->links.claims == NO_CALL || (c->links.claims < i &&
	    rec->calls[c->links.claims].links.root == c->links.root));
	holds = holds && (c->links.claimed_by == NO_CALL || (c->links.claimed_by > i &&
	    c->links.claimed_by < rec->call_count && rec->calls[c->links.claimed_by].links.claims == i));
	holds = holds && (c->links.enclosing == NO_CALL || (c->links.enclosing < i &&
	    rec->calls[c->links.enclosing].kind.encloses));
	holds = holds && (!c->kind.member || (c->links.enclosing != NO_CALL &&
	    rec->calls[c->links.enclosing].kind.members));
	for (size_t n = 0; n < sizeof named / sizeof named[0]; n++)
		holds = holds && (named[n] == NO_CALL || named[n] < rec->call_count);
	return holds && c->failure.first < rec->call_count && c->key.start < rec->marks.len &&
	    c->key.directory < rec->marks.len && c->key.variables < rec->marks.len;
}

static bool
recording_holds(const struct recording *rec)
{
	for (uint32_t i = 0; i < rec->call_count; i++)
		if (!recorded_call_holds(rec, i))
			return false;
	for (uint32_t i = 0; i < rec->event_count; i++)
		if (rec->events[i].before != NO_EVENT && rec->events[i].before >= i)
			return false;
	for (uint32_t i = 0; i < rec->tool_uses.tool_count; i++)
		if (rec->tool_uses.tools[i].call >= rec->call_count ||
		    (rec->tool_uses.tools[i].before != NO_TOOL && rec->tool_uses.tools[i].before >= i))
			return false;
	return rec->marks.len > 0 && rec->marks.data[0] == '\0' &&
	    rec->marks.data[rec->marks.len - 1] == '\0';
}

/* They take as much memory as the calls, and everything is read. */
static void
forget_names(struct recording *rec)
{
	model_settle(&rec->model);
	free(rec->by_number);
	rec->by_number = NULL;
	rec->number_capacity = 0;
	map_free(&rec->tool_uses.tool_by_event);
	map_free(&rec->tool_uses.use_by_id);
	map_free(&rec->tool_uses.use_by_event);
	recording_free_reads(rec);
}

void
recording_end(struct recording *rec)
{
	recording_leave_out_children(rec, rec->now.first_of_source);
	if (rec->spec->own.path == NULL)
		rec->status[0] = '\0';
	if (rec->spec->mode == RECALL_RESUME) {
		recording_apply_early_results(rec);
		recording_settle_caught(rec);
	}
	forget_names(rec);
	for (uint32_t i = 0; rec->spec->mode == RECALL_RESUME && i < rec->call_count; i++) {
		const char *id = rec->calls[i].call->id;
		const size_t *count = map_get(&rec->calls_by_id, id, strlen(id));

		if (recording_counts(rec, i))
			map_put(&rec->calls_by_id, id, strlen(id), count != NULL ? *count + 1 : 1);
	}
	if (rec->spec->mode == RECALL_RESUME) {
		rec->redo_before = recording_named_before(rec, rec->spec->answers.redo);
		rec->skip_before = recording_named_before(rec, rec->spec->answers.skip);
		recording_reopen_redone(rec);
	}
	recording_note_effects(rec);
	INVARIANT(recording_holds(rec));
}

struct place
recording_event_place(const struct recording *rec, uint32_t event)
{
	uint32_t source = rec->now.source;

	while (source > 0 && event < rec->now.first_events[source])
		source--;
	INVARIANT(event < rec->event_count && rec->now.first_events[source] <= event);
	return (struct place){ rec->events[event].offset, rec->events[event].len, source };
}

void
recording_close(struct recording *rec)
{
	forget_names(rec);
	for (uint32_t i = 0; i < rec->tool_uses.tool_count; i++) {
		free(rec->tool_uses.tools[i].call_id);
		free(rec->tool_uses.tools[i].name);
	}
	recording_free_programs(rec);
	map_free(&rec->calls_by_id);
	list_free(rec->seen.taken);
	buffer_free(&rec->marks);
	free(rec->calls);
	free(rec->events);
	free(rec->tool_uses.tools);
	free(rec->tool_uses.uses);
	free(rec->redo_before);
	free(rec->skip_before);
	free(rec->now.sources);
	free(rec->now.first_events);
	model_free(&rec->model);
	*rec = (struct recording){ .calls = NULL };
}
