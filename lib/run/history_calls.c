/*
 * Calls stand in one array in the order of their starts and name each other by number. One
 * that was taken over, and who took it over, are linked both ways, and all of such a chain
 * know its root. What a fork leaves out spreads by causes: whatever has a cause that is left
 * out is left out too, and the calls around it are open again.
 */
#include "run/history_reading.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "transcript/call.h"

/* A call is idle that did nothing for one of these reasons. */
static const char *const idle_codes[] = {
	"waiting", "no_input", "upstream_incomplete", "invalid_input", "blocked", NULL,
};
static const char *const idle_skips[] = { "upstream_failed", "nothing_failed", NULL };
/* It ended with one of these: what it did, nobody saw to its end. */
static const char *const cut_codes[] = { "timeout", "cancelled", "interrupted", NULL };

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

static uint32_t
later(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* The fork that left out what an event told: of a call that is, or the end of one in which
 * something is. */
static uint32_t
event_left_by(const struct recording *rec, const char *id)
{
	const size_t *call = map_get(&rec->by_event, id, ID_SIZE - 1);

	if (call == NULL)
		return 0;
	return strcmp(id, rec->calls[*call].started) == 0 ? rec->calls[*call].left_by :
	    later(rec->calls[*call].left_by, rec->calls[*call].reopened_by);
}

/* The same for a child run, as far as it is known what it has read. */
static uint32_t
child_left_by(const struct recording *rec, const struct recorded_reads *reads)
{
	uint32_t by = rec->calls[reads->call].left_by;

	for (size_t i = 0; i < reads->count; i++)
		by = later(by, event_left_by(rec, reads->events[i]));
	return by;
}

static uint32_t
cause_left_by(const struct recording *rec, struct span reference)
{
	const struct recorded_reads *reads = NULL;
	char id[ID_SIZE];

	if (span_type(reference) == 'o' && span_copy(span_member(reference, "run_id"), id, sizeof id))
		reads = recording_reads(rec, id);
	if (reads != NULL)
		return child_left_by(rec, reads);
	reading_reference(reference, id);
	return id[0] != '\0' ? event_left_by(rec, id) : 0;
}

static uint32_t
any_cause_left_by(const struct recording *rec, const struct event_view *view)
{
	uint32_t by = cause_left_by(rec, view->parent_event_id);
	struct span_walk walk;
	struct span key, link;

	if (view->links.at == NULL)
		return by;
	span_walk_begin(&walk, view->links);
	while (span_walk_next(&walk, &key, &link))
		by = later(by, cause_left_by(rec, link));
	return by;
}

/* The last fork, from this source or from a later one, that named the call. */
static uint32_t
named_by_fork(const struct recording *rec, const struct recorded_call *c)
{
	for (size_t i = rec->spec->other_count; i-- > rec->source;)
		if (rec->spec->others[i].left_out != NULL &&
		    path_names(rec->spec->others[i].left_out, c->id, c->path))
			return (uint32_t)i + 1;
	return 0;
}

/* A call that is left out, and what encloses it: that is to be done again. */
static void
leave_out_by(struct recording *rec, struct recorded_call *c, uint32_t by)
{
	c->left_by = later(c->left_by, by);
	if (c->left_by > 0)
		for (size_t i = c->enclosing; i != NO_CALL; i = rec->calls[i].enclosing) {
			rec->calls[i].reopened = true;
			rec->calls[i].reopened_by = later(rec->calls[i].reopened_by, c->left_by);
		}
}

/* Whether a fork, from this source or from a later one, leaves something out. */
static bool
leaves_out(const struct recording *rec)
{
	for (size_t i = rec->source; i < rec->spec->other_count; i++)
		if (rec->spec->others[i].left_out != NULL)
			return true;
	return false;
}

static void
leave_out(struct recording *rec, size_t call, const struct event_view *view)
{
	struct recorded_call *c = &rec->calls[call];
	uint32_t by;

	if (rec->source >= rec->spec->other_count)
		return;
	by = later(named_by_fork(rec, c), any_cause_left_by(rec, view));
	if (c->enclosing != NO_CALL)
		by = later(by, rec->calls[c->enclosing].left_by);
	leave_out_by(rec, c, by);
	if (c->child != NULL && leaves_out(rec))
		recording_read_child(rec, call);
}

/* When it ends, all is recorded that a child run can have read. */
static void
leave_out_child(struct recording *rec, size_t call)
{
	struct recorded_call *c = &rec->calls[call];
	const struct recorded_reads *reads = NULL;

	if (c->child != NULL && rec->source < rec->spec->other_count)
		reads = recording_reads(rec, c->child);
	if (reads != NULL)
		leave_out_by(rec, c, child_left_by(rec, reads));
}

void
recording_leave_out_children(struct recording *rec, size_t first_call)
{
	for (size_t i = first_call; i < rec->call_count; i++)
		if (rec->calls[i].state == RECALL_OPEN)
			leave_out_child(rec, i);
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

void
recording_take_started(struct recording *rec, const struct reading *at)
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
	    !span_true(span_member(at->members[CONDITION], "outcome")))
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
	recording_inherit(rec, c);
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
	leave_out(rec, index, &at->view);
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
	struct span code = span_member(at->members[FAILURE], "code");
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

void
recording_take_completed(struct recording *rec, const struct reading *at)
{
	char *id = span_text(at->members[CALL]);
	const size_t *found = map_get(&rec->by_id, id, strlen(id));
	size_t index = found != NULL ? *found : NO_CALL, reused;
	struct recorded_call *c;

	free(id);
	if (recording_take_decision(rec, at) || index == NO_CALL)
		return;
	c = &rec->calls[index];
	c->end = at->place;
	c->result_from = NO_CALL;
	c->decided = false;
	c->failed_first = index;
	map_put(&rec->by_event, at->id, ID_SIZE - 1, index);
	leave_out_child(rec, index);
	reused = reading_find(rec, at->members[REUSED_FROM]);
	if (recording_take_wait(c, at))
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

/* Whether who takes the call over has nothing more to do. */
static bool
stands(const struct recording *rec, size_t call)
{
	const struct recorded_call *c = &rec->calls[call];

	if (c->reopened || c->left_by > 0)
		return false;
	return c->state == RECALL_SUCCEEDED || (c->state == RECALL_SKIPPED && c->by_user) ||
	    recording_failure_stands(rec, call);
}

/* Whether the claim, which is open, was to reuse what it took over: then that is all there
 * is to it. A child run may have been given another input, and goes on by its own record. */
static bool
was_to_reuse(const struct recording *rec, const struct recorded_call *claim)
{
	const struct recorded_call *c = claim;

	if (c->child != NULL)
		return false;
	while (c->state == RECALL_OPEN && c->claims != NO_CALL && !c->encloses &&
	    c->event_count == 0) {
		c = &rec->calls[c->claims];
		if (memcmp(c->guard, claim->guard, sizeof c->guard) != 0)
			return false;
	}
	return stands(rec, (size_t)(c - rec->calls));
}

void
recording_settle_claims(struct recording *rec)
{
	/* The last of a chain first: several claims may have been cut off in a row. */
	for (size_t i = rec->call_count; i-- > 0;) {
		struct recorded_call *c = &rec->calls[i];

		if (c->state != RECALL_OPEN || c->claims == NO_CALL || c->claimed_by != NO_CALL ||
		    !was_to_reuse(rec, c))
			continue;
		c->idle = true;
		rec->calls[c->claims].claimed_by = NO_CALL;
	}
}
