/*
 * Failures that the run went on from: what --rescue caught, and what --try and
 * --allow-failure let pass. Such a call has ended, and work was done because of how: a
 * resume takes its end over, as it does a result, lest the call has its effects once more
 * and what was done about its failure stays. A failure that nothing came of is tried anew.
 *
 * A best-effort group lets pass what its branches failed with, so that stands with it, but where
 * the failure of one went on to a step that did nothing for it, or to a group or a child run that
 * failed with it.
 *
 * A call that succeeded although one in it failed, and nobody caught that, is why the run failed
 * in that attempt (run/outcome.h): its body runs again, and what else is in it stands for
 * itself. So does the body of one in which a call waited. One that has effects of its own is left
 * as it is.
 *
 * What a --rescue call was given is noted while the record is read. Whether it has caught
 * that is known at the end, by how it ended itself: one that failed by its own work has not.
 * A call in one that is caught is caught with it, as it is for the outcome of the run. A
 * child run goes on by its own record; there what failed at its top is caught.
 */
#include "run/recording.h"

#include <string.h>

#include "base/memory.h"

/* The end that an event tells of, not the start: a body reads that of the call around it. */
static void
add_catch(struct recording *rec, size_t rescue, struct span event)
{
	size_t call = reading_find(rec, event);
	char id[ID_SIZE];

	if (call == NO_CALL || rec->calls[call].state != RECALL_FAILED)
		return;
	reading_reference(event, id);
	if (strcmp(id, rec->calls[call].started) == 0)
		return;
	if (rec->catch_count == rec->catch_capacity) {
		rec->catch_capacity = rec->catch_capacity == 0 ? 16 : rec->catch_capacity * 2;
		rec->catches = memory_array(rec->catches, rec->catch_capacity, sizeof *rec->catches);
	}
	rec->catches[rec->catch_count++] = (struct recorded_catch){ call, rescue };
}

void
recording_take_rescue(struct recording *rec, size_t rescue, const struct event_view *view)
{
	add_catch(rec, rescue, view->parent_event_id);
	if (view->links.at == NULL)
		return;
	for (struct span_walk link = span_walk(view->links); span_next(&link);)
		add_catch(rec, rescue, link.value);
}

/* Whether the run went on from how the call failed. */
static bool
excused(const struct recording *rec, const struct recorded_call *c)
{
	return c->of_work && (c->tried || c->allowed || rec->calls[c->failed_first].caught);
}

/* Whether a rescue has begun its work, and did not fail by that: one that was cut off goes
 * on with the failure that it was given. */
static bool
catches(const struct recording *rec, size_t rescue)
{
	const struct recorded_call *c = &rec->calls[rescue];

	if (c->idle)
		return false;
	if (c->state == RECALL_SKIPPED)
		return c->by_user;
	return c->state != RECALL_FAILED || !c->of_work || recording_own_doubt(rec, rescue) ||
	    excused(rec, c);
}

/* What an event has for a cause: the failure of a branch of a best-effort group? */
static void
note_missed(struct recording *rec, const char *event_id)
{
	const size_t *found = map_get(&rec->by_event, event_id, strlen(event_id));
	const struct recorded_call *c = found != NULL ? &rec->calls[*found] : NULL;

	if (c != NULL && c->member && c->state == RECALL_FAILED && strcmp(event_id, c->started) != 0)
		rec->calls[c->failed_first].missed = true;
}

void
recording_take_missed(struct recording *rec, const struct event_view *view)
{
	char id[ID_SIZE];

	reading_reference(view->parent_event_id, id);
	note_missed(rec, id);
	if (view->links.at == NULL)
		return;
	for (struct span_walk link = span_walk(view->links); span_next(&link);) {
		reading_reference(link.value, id);
		note_missed(rec, id);
	}
}

void
recording_take_child_missed(struct recording *rec, size_t call)
{
	const struct recorded_reads *reads;

	if (!rec->branch_failed || rec->spec->mode != RECALL_RESUME)
		return;
	recording_read_child(rec, call);
	reads = recording_reads(rec, rec->calls[call].child);
	for (size_t i = 0; reads != NULL && i < reads->count; i++)
		note_missed(rec, reads->events[i]);
}

/* What somebody wants made again, and what that is in, does not stand. */
static void
settle_redone(struct recording *rec)
{
	for (size_t i = 0; i < rec->call_count; i++)
		if (recording_decision(rec, i) == RECALL_REDO)
			for (size_t at = i; at != NO_CALL; at = rec->calls[at].enclosing)
				rec->calls[rec->calls[at].root].redone = true;
}

/* Whether what failed in the call stands with it. A best-effort group that did not fail by its
 * work has let pass which of its branches failed by theirs. */
static bool
excuses_inside(const struct recording *rec, const struct recorded_call *around,
    const struct recorded_call *inside)
{
	bool failed = around->state == RECALL_FAILED;

	if (rec->calls[around->root].redone)
		return false;
	if (failed && excused(rec, around))
		return true;
	return around->lenient && !(failed && around->of_work) && inside->member &&
	    inside->of_work && !rec->calls[inside->failed_first].missed;
}

/* Whether the outcome of a run does not count the failure, or what never ended, as it is. */
static bool
is_excused(const struct recording *rec, const struct recorded_call *c)
{
	const struct recorded_call *around;

	if (c->tried || c->closed || excused(rec, c))
		return true;
	if (c->enclosing == NO_CALL)
		return false;
	around = &rec->calls[c->enclosing];
	return !around->runs_command || /* a tool made it: its result tells */
	    (around->state == RECALL_SUCCEEDED && (c->try_number < around->last_try ||
	    (around->race && c->member)));
}

/* Whether the run failed for it: neither it is excused nor what it is in. */
static bool
counts(const struct recording *rec, size_t call)
{
	for (size_t i = call; i != NO_CALL; i = rec->calls[i].enclosing)
		if (rec->calls[i].state != RECALL_SUCCEEDED && is_excused(rec, &rec->calls[i]))
			return false;
	return true;
}

/* Whether all that it is in can run again. */
static bool
can_reopen(const struct recording *rec, size_t call)
{
	for (size_t i = rec->calls[call].enclosing; i != NO_CALL; i = rec->calls[i].enclosing) {
		const struct recorded_call *around = &rec->calls[recording_latest(rec, i)];

		if (around->state == RECALL_SUCCEEDED && around->effects && !around->idempotent)
			return false;
	}
	return true;
}

/* Whether the end of a call, the latest of its chain, came of the attempt in which the one in
 * it failed: what another attempt came to has nothing to do with that. */
static bool
ended_with(const struct recording *rec, size_t around, const struct recorded_call *c)
{
	size_t from = rec->calls[around].result_from;

	return rec->calls[from != NO_CALL ? from : around].attempt == c->attempt;
}

/* What a call is in that failed, or waited, has not ended for good. */
static void
settle_around(struct recording *rec)
{
	for (size_t i = 0; i < rec->call_count; i++) {
		const struct recorded_call *c = &rec->calls[i];
		bool waited = c->state == RECALL_WAITING || c->own_end.len > 0;

		if (c->enclosing == NO_CALL || c->claimed_by != NO_CALL || c->left_by > 0 ||
		    (c->state != RECALL_FAILED && c->state != RECALL_OPEN && !waited) ||
		    !counts(rec, i) || !can_reopen(rec, i))
			continue;
		for (size_t at = c->enclosing; at != NO_CALL; at = rec->calls[at].enclosing) {
			size_t latest = recording_latest(rec, at);

			rec->calls[latest].reopened |= rec->calls[latest].state == RECALL_SUCCEEDED &&
			    ended_with(rec, latest, c);
		}
	}
}

void
recording_settle_caught(struct recording *rec)
{
	settle_redone(rec);
	/* From the last: a rescue that failed may have been caught itself. */
	for (size_t i = rec->catch_count; i-- > 0;) {
		const struct recorded_catch *k = &rec->catches[i];

		if (!rec->calls[k->rescue].idle && catches(rec, recording_latest(rec, k->rescue)))
			rec->calls[rec->calls[k->call].failed_first].caught = true;
	}
	for (size_t i = 0; i < rec->call_count; i++) {
		const struct recorded_call *c = &rec->calls[i];
		const struct recorded_call *around =
		    c->enclosing != NO_CALL ? &rec->calls[c->enclosing] : NULL;

		if (c->state != RECALL_FAILED)
			continue;
		if (around == NULL ? rec->spec->excused : excuses_inside(rec, around, c))
			rec->calls[c->failed_first].caught = true;
	}
	settle_around(rec);
}

bool
recording_failure_stands(const struct recording *rec, size_t call)
{
	const struct recorded_call *c = &rec->calls[call];

	if (c->state != RECALL_FAILED || c->reopened || c->left_by > 0 || rec->calls[c->root].redone)
		return false;
	if (c->tried)
		return c->of_work;
	return excused(rec, c) && !c->lost_lines && !recording_own_doubt(rec, call);
}

bool
recording_child_excused(const struct recording *rec, size_t call)
{
	/* It may have been cut off while it gave anew what it had come to. */
	while (rec->calls[call].state == RECALL_OPEN && rec->calls[call].claims != NO_CALL)
		call = rec->calls[call].claims;
	return rec->calls[call].child != NULL && recording_failure_stands(rec, call);
}

/* ---- claims that hide nothing ---- */

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
