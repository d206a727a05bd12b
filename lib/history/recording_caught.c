/*
 * Finds failures after which the run continued: those that --rescue caught, and those that --try
 * and --allow-failure let pass. Such a call has ended, and later work was done because of how it
 * ended. So a resume takes over this end as it takes over a result; otherwise the call would have
 * its effects twice, and the work that was done about its failure would remain. A failure without
 * such consequences is tried again.
 *
 * A failure that --try let pass is such an end only if the workflow went on: if nothing was made
 * after it where it was made, and what it was made in failed, its status has failed that, as in a
 * script with set -e.
 *
 * A best-effort group lets the failures of its branches pass, so they are kept with the group's
 * result. The exception is a failure that was passed on to a step that did nothing with it, or to a
 * group or a child run that failed because of it.
 *
 * If a call succeeded although a call in it failed and nobody caught that failure, the run failed
 * in that attempt for this reason (model/outcome.h): its body runs again, and each other call in it
 * is judged by itself. The same holds for the body of a call in which another waited. A call that
 * has effects of its own is left as it is.
 *
 * The model knows which failure a --rescue call was given. Whether the call has caught it is known
 * when everything is read, from how it ended itself: a call that failed by its own work has not.
 * The question is about chains of attempts and reused ends, so the answer is not model_call.caught,
 * which is about one attempt. A call inside a caught call is caught with it, as for the outcome of
 * the run. A child run continues by its own transcript; there, what failed at its top level is
 * caught.
 */
#include "history/recording.h"

#include <string.h>

/* Whether something was made behind a call that failed, in the same call around it, or that call did
 * not fail. */
static bool
went_on_after(const struct recording *rec, const struct recorded_call *c)
{
	const struct recorded_call *around = c->links.enclosing != NO_CALL ? &rec->calls[c->links.enclosing] : NULL;

	if (around != NULL ? around->status.state != RECALL_FAILED || !around->failure.of_work :
	    c->attempt != rec->now.attempt || strcmp(rec->status, "failed") != 0)
		return true;
	for (const struct recorded_call *i = c + 1; i < rec->calls + rec->call_count; i++)
		if (i->attempt == c->attempt && i->links.enclosing == c->links.enclosing &&
		    i->call->begin.offset > c->call->end.offset)
			return true;
	return false;
}

/* Whether the failure of the call is an outcome for the workflow, by --try. */
static bool
is_tried(const struct recording *rec, const struct recorded_call *c)
{
	return c->call->tried && went_on_after(rec, c);
}

/* Whether the run continued after the failure of the call. */
static bool
recording_call_is_excused(const struct recording *rec, const struct recorded_call *c)
{
	return c->failure.of_work &&
	    (c->call->allowed || rec->calls[c->failure.first].failure.caught || is_tried(rec, c));
}

/* Whether a rescue has begun its work and did not fail by that work: one that was interrupted
 * continues with the failure that it was given. */
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

/* Checks the cause of an event: is it the failure of a branch of a best-effort group? */
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

	if (!rec->seen.branch_failed || rec->spec->mode != RECALL_RESUME)
		return;
	recording_read_child(rec, call);
	reads = recording_reads(rec, rec->calls[call].call->rare->child_run_id);
	for (size_t i = 0; reads != NULL && i < reads->count; i++)
		note_missed(rec, reads->events[i]);
}

/* Whether the failures inside the call are kept with it. A best-effort group that did not fail
 * by its own work has let pass the failures of branches that failed by theirs. */
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

/* Whether the outcome of the run excuses the failure, or the missing end, of the call. */
static bool
is_excused(const struct recording *rec, const struct recorded_call *c)
{
	const struct recorded_call *around;

	if (c->call->tried || c->failure.closed || recording_call_is_excused(rec, c))
		return true;
	if (c->links.enclosing == NO_CALL)
		return false;
	around = &rec->calls[c->links.enclosing];
	return !around->kind.runs_command || /* a tool made it: the tool's result reports it */
	    (around->status.state == RECALL_SUCCEEDED && (c->call->rare->try_number < around->last_try ||
	    (around->call->race && c->kind.member)));
}

/* Reopens what encloses a call that failed or waited, if the run failed because of it: neither
 * the call nor an enclosing one is excused, and all that enclose it can run again. */
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

		/* Only if the end is of the attempt in which this call failed: an end of another
		 * attempt has nothing to do with it. */
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
	if (is_tried(rec, c))
		return c->failure.of_work;
	return recording_call_is_excused(rec, c) && !c->failure.lost_lines &&
	    !recording_own_doubt(rec, call);
}

bool
recording_only_tried(const struct recording *rec, uint32_t call)
{
	const struct recorded_call *c = &rec->calls[call];

	return c->call->tried && !c->call->allowed && !rec->calls[c->failure.first].failure.caught;
}

bool
recording_child_excused(const struct recording *rec, uint32_t call)
{
	/* It may have been interrupted while it passed on an end that it had reused. */
	while (rec->calls[call].status.state == RECALL_OPEN && rec->calls[call].links.claims != NO_CALL)
		call = rec->calls[call].links.claims;
	return rec->calls[call].kind.child && recording_failure_stands(rec, call);
}

/* Whether an open claim would only have reused what it took over, since nothing is left to do:
 * then that is its end. A child run may have been given another input, and continues by its own
 * transcript. */
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
	/* A call that the user wants made again is not kept, nor is anything that encloses it. */
	for (uint32_t i = 0; i < rec->call_count; i++)
		if (recording_decision(rec, i) == RECALL_REDO)
			for (uint32_t at = i; at != NO_CALL; at = rec->calls[at].links.enclosing)
				rec->calls[rec->calls[at].links.root].chain.redone = true;

	/* From the last to the first: a rescue that failed may have been caught itself. */
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

	/* The last of a chain first: several claims in a row may have been interrupted. */
	for (uint32_t i = rec->call_count; i-- > 0;) {
		struct recorded_call *c = &rec->calls[i];

		if (c->status.state != RECALL_OPEN || c->links.claims == NO_CALL || c->links.claimed_by != NO_CALL ||
		    !was_to_reuse(rec, c))
			continue;
		c->status.idle = true;
		rec->calls[c->links.claims].links.claimed_by = NO_CALL;
	}
}
