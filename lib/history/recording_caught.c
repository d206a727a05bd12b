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
 * in that attempt (model/outcome.h): its body runs again, and what else is in it stands for
 * itself. So does the body of one in which a call waited. One that has effects of its own is left
 * as it is.
 *
 * What a --rescue call was given the model knows. Whether it has caught that is known when all is
 * read, by how it ended itself: one that failed by its own work has not. That is asked of chains
 * of attempts and of ends that were reused, so it is not what the model says of one attempt
 * (model_call.caught). A call in one that is caught is caught with it, as it is for the outcome
 * of the run. A child run goes on by its own record; there what failed at its top is caught.
 */
#include "history/recording.h"

#include <string.h>

/* Whether the run went on from how the call failed. */
static bool
recording_call_is_excused(const struct recording *rec, const struct recorded_call *c)
{
	return c->failure.of_work &&
	    (c->call->tried || c->call->allowed || rec->calls[c->failure.first].failure.caught);
}

/* Whether a rescue has begun its work, and did not fail by that: one that was cut off goes
 * on with the failure that it was given. */
static bool
recording_rescue_catches(const struct recording *rec, uint32_t rescue)
{
	const struct recorded_call *c = &rec->calls[rescue];

	if (c->status.idle)
		return false;
	if (c->status.state == RECALL_SKIPPED)
		return c->status.by_user;
	return c->status.state != RECALL_FAILED || !c->failure.of_work || recording_own_doubt(rec, rescue) ||
	    recording_call_is_excused(rec, c);
}

/* What an event has for a cause: the failure of a branch of a best-effort group? */
static void
note_missed(struct recording *rec, struct uuid event)
{
	bool start;
	uint32_t call = recording_find_call(rec, event, &start);
	const struct recorded_call *c = call != NO_CALL ? &rec->calls[call] : NULL;

	if (c != NULL && c->kind.member && c->status.state == RECALL_FAILED && !start)
		rec->calls[c->failure.first].failure.missed = true;
}

void
recording_take_missed(struct recording *rec, const struct event_view *view)
{
	note_missed(rec, event_key(view->parent_event_id));
	if (view->links.at == NULL)
		return;
	for (struct span_walk link = span_walk(view->links); span_next(&link);)
		note_missed(rec, event_key(link.value));
}

void
recording_take_child_missed(struct recording *rec, uint32_t call)
{
	const struct recorded_reads *reads;

	if (!rec->branch_failed || rec->spec->mode != RECALL_RESUME)
		return;
	recording_read_child(rec, call);
	reads = recording_reads(rec, rec->calls[call].call->rare->child_run_id);
	for (size_t i = 0; reads != NULL && i < reads->count; i++)
		note_missed(rec, reads->events[i]);
}

/* Whether what failed in the call stands with it. A best-effort group that did not fail by its
 * work has let pass which of its branches failed by theirs. */
static bool
excuses_inside(const struct recording *rec, const struct recorded_call *around,
    const struct recorded_call *inside)
{
	bool failed = around->status.state == RECALL_FAILED;

	if (rec->calls[around->links.root].chain.redone)
		return false;
	if (failed && recording_call_is_excused(rec, around))
		return true;
	return around->call->lenient && !(failed && around->failure.of_work) && inside->kind.member &&
	    inside->failure.of_work && !rec->calls[inside->failure.first].failure.missed;
}

/* Whether the outcome of a run does not count the failure, or what never ended, as it is. */
static bool
is_excused(const struct recording *rec, const struct recorded_call *c)
{
	const struct recorded_call *around;

	if (c->call->tried || c->failure.closed || recording_call_is_excused(rec, c))
		return true;
	if (c->links.enclosing == NO_CALL)
		return false;
	around = &rec->calls[c->links.enclosing];
	return !around->kind.runs_command || /* a tool made it: its result tells */
	    (around->status.state == RECALL_SUCCEEDED && (c->call->rare->try_number < around->last_try ||
	    (around->call->race && c->kind.member)));
}

/* What a call is in that failed, or waited, has not ended for good, if the run failed for it:
 * neither it is excused nor what it is in, and all that it is in can run again. */
static void
settle_around(struct recording *rec, uint32_t call)
{
	const struct recorded_call *c = &rec->calls[call];
	bool waited = c->status.state == RECALL_WAITING || c->status.waited;

	if (c->links.enclosing == NO_CALL || c->links.claimed_by != NO_CALL || c->links.left_by > 0 ||
	    (c->status.state != RECALL_FAILED && c->status.state != RECALL_OPEN && !waited))
		return;
	for (uint32_t i = call; i != NO_CALL; i = rec->calls[i].links.enclosing) {
		const struct recorded_call *latest = &rec->calls[recording_latest(rec, i)];

		if (rec->calls[i].status.state != RECALL_SUCCEEDED && is_excused(rec, &rec->calls[i]))
			return;
		if (i != call && latest->status.state == RECALL_SUCCEEDED && latest->kind.effects &&
		    !latest->kind.idempotent)
			return;
	}
	for (uint32_t i = c->links.enclosing; i != NO_CALL; i = rec->calls[i].links.enclosing) {
		uint32_t at = recording_latest(rec, i), from = rec->calls[at].links.result_from;

		/* If its end came of the attempt in which this failed: what another attempt came to
		 * has nothing to do with that. */
		rec->calls[at].status.reopened |= rec->calls[at].status.state == RECALL_SUCCEEDED &&
		    rec->calls[from != NO_CALL ? from : at].attempt == c->attempt;
	}
}

bool
recording_failure_stands(const struct recording *rec, uint32_t call)
{
	const struct recorded_call *c = &rec->calls[call];

	if (c->status.state != RECALL_FAILED || c->status.reopened || c->links.left_by > 0 ||
	    rec->calls[c->links.root].chain.redone)
		return false;
	if (c->call->tried)
		return c->failure.of_work;
	return recording_call_is_excused(rec, c) && !c->failure.lost_lines &&
	    !recording_own_doubt(rec, call);
}

bool
recording_child_excused(const struct recording *rec, uint32_t call)
{
	/* It may have been cut off while it gave anew what it had come to. */
	while (rec->calls[call].status.state == RECALL_OPEN && rec->calls[call].links.claims != NO_CALL)
		call = rec->calls[call].links.claims;
	return rec->calls[call].kind.child && recording_failure_stands(rec, call);
}

/* Whether a claim, which is open, was to reuse what it took over, as that has nothing more to do:
 * then that is all there is to it. A child run may have been given another input, and goes on by
 * its own record. */
static bool
was_to_reuse(const struct recording *rec, const struct recorded_call *claim)
{
	const struct recorded_call *c = claim;

	if (c->kind.child)
		return false;
	while (c->status.state == RECALL_OPEN && c->links.claims != NO_CALL && !c->kind.encloses &&
	    c->last_event == NO_EVENT && !c->status.made_again) {
		c = &rec->calls[c->links.claims];
		if (memcmp(c->key.guard, claim->key.guard, sizeof c->key.guard) != 0)
			return false;
	}
	if (c->status.reopened || c->links.left_by > 0)
		return false;
	return c->status.state == RECALL_SUCCEEDED || (c->status.state == RECALL_SKIPPED && c->status.by_user) ||
	    recording_failure_stands(rec, (uint32_t)(c - rec->calls));
}

void
recording_settle_caught(struct recording *rec)
{
	/* What somebody wants made again, and what that is in, does not stand. */
	for (uint32_t i = 0; i < rec->call_count; i++)
		if (recording_decision(rec, i) == RECALL_REDO)
			for (uint32_t at = i; at != NO_CALL; at = rec->calls[at].links.enclosing)
				rec->calls[rec->calls[at].links.root].chain.redone = true;

	/* From the last: a rescue that failed may have been caught itself. */
	for (uint32_t i = rec->call_count; i-- > 0;) {
		const struct model_calls *failed = &rec->calls[i].call->rare->given;

		if (failed->count == 0 || rec->calls[i].status.idle ||
		    !recording_rescue_catches(rec, recording_latest(rec, i)))
			continue;
		for (size_t n = 0; n < failed->count; n++) {
			uint32_t given = rec->by_number[failed->list[n]->number];

			if (given != NO_CALL && rec->calls[given].status.state == RECALL_FAILED)
				rec->calls[rec->calls[given].failure.first].failure.caught = true;
		}
	}
	for (uint32_t i = 0; i < rec->call_count; i++) {
		const struct recorded_call *c = &rec->calls[i];

		if (c->status.state == RECALL_FAILED && (c->links.enclosing == NO_CALL ? rec->spec->excused :
		    excuses_inside(rec, &rec->calls[c->links.enclosing], c)))
			rec->calls[c->failure.first].failure.caught = true;
	}
	for (uint32_t i = 0; i < rec->call_count; i++)
		settle_around(rec, i);

	/* The last of a chain first: several claims may have been cut off in a row. */
	for (uint32_t i = rec->call_count; i-- > 0;) {
		struct recorded_call *c = &rec->calls[i];

		if (c->status.state != RECALL_OPEN || c->links.claims == NO_CALL || c->links.claimed_by != NO_CALL ||
		    !was_to_reuse(rec, c))
			continue;
		c->status.idle = true;
		rec->calls[c->links.claims].links.claimed_by = NO_CALL;
	}
}
