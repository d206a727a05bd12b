/*
 * The phases of a call, in order. A failure in it is set in its end and is passed along there; only
 * a failure to write the record ends the call at once. If somebody has decided about the call
 * between its work and its end, the decision becomes the end.
 *
 * Whatever completes its input besides the item's data is in the digest of the input before a
 * recorded call is searched for.
 */
#include "step_call/step_call.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/memory.h"
#include "base/patience.h"
#include "limits/retried.h"
#include "step_call/work.h"
#include "storage/traceparent.h"
#include "transcript/event_keys.h"

/* ---- what the call is ---- */

/* causes NULL: the item's. */
static void
step_call_begin(struct step_call *call, struct step *s, const struct item *item,
    const struct causes *causes, int64_t index)
{
	memset(call, 0, sizeof *call);
	call->end.changed = (struct changed)CHANGED_INIT;
	call->end.exit_code = -1;
	call->end.winner = -1;
	call->step = s;
	call->item = item;
	call->index = index;
	call->begun = clock_monotonic();
	digest_sha256(item->data.json.data, item->data.json.len, call->input_sha256);
	call->id = memory_format("%s:%lld", s->place.process, (long long)index);
	id_new(call->started);
	call->events.transcript = &s->place.run->transcript;
	call->events.name = s->options.name;
	call->events.path = s->place.path;
	call->events.id = call->id;
	call->events.iteration = index;

	call->causes = causes;
	if (causes == NULL) {
		causes_add_item(&call->own, s, item);
		call->causes = &call->own;
	}
	memcpy(call->parent, call->causes->parent[0] != '\0' ? call->causes->parent : s->place.parent, ID_SIZE);
}

static void
step_call_release(struct step_call *call)
{
	const struct work *work = call->step->definition.work;
	struct step_end *end = &call->end;

	if (work->close != NULL)
		work->close(call);
	step_drop_lines(call);
	step_forget_results(end);
	buffer_free(&end->retries);
	buffer_free(&end->errors);
	changed_free(&end->changed);
	free(end->agent);
	buffer_free(&end->approval);
	seal_key_forget(&end->seal);
	buffer_free(&call->completed_by);
	buffer_free(&call->attached);
	free(call->id);
	free(call->task);
	causes_free(&call->own);
	buffer_free(&call->events.links);
	recalled_free(&call->verdict.recalled);
}

/* ---- its record, earlier and now ---- */

/* A replay gives events the recorded ids. Which of several processes of one name began first was
 * chance, but the call's id says which of their calls it is. An event that was not recorded gets
 * an id that is derived only from the call and the event. */
static void
step_call_set_recorded_ids(struct step_call *call)
{
	const struct call_verdict *v = &call->verdict;
	const struct {
		const char *type;
		const struct recalled_event *recorded;
		char *id;
	} events[] = {
		{ "step.started", &v->recalled.started, call->started },
		{ "step.completed", &v->recalled.completed, call->ended }
	};
	char *id = v->recalls ?
	    span_text(span_member(v->recalled.started.view.payload, KEY_CALL)) : NULL;

	if (id != NULL && call_id_valid(id)) {
		free(call->id);
		call->id = id;
		call->events.id = id;
	} else {
		free(id);
	}
	for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
		if (v->recalls && events[i].recorded->line.len > 0) {
			memcpy(events[i].id, events[i].recorded->id, ID_SIZE);
		} else {
			char *text = memory_format("%s %s %s", call->step->place.run->id, call->id, events[i].type);

			id_derive(text, events[i].id);
			free(text);
		}
	}
}

/* 0; 1: no call is to be made, because none was recorded; -1: the machine failed. */
static int
step_call_recall(struct step_call *call, struct error *err)
{
	struct step *s = call->step;
	struct call_verdict *v = &call->verdict;
	struct step_end *end = &call->end;
	bool none = false;

	if (step_recall(call, v, err) == -1)
		return -1;
	if (v->says == VERDICT_DIVERGE && !v->recalls) {
		none = v->beyond;
		/* In a replay, if nobody reads the output, or soon nobody will, the recorded
		 * step ended before this call, at a moment that was chance. Wait once: if the
		 * reader is still there then it will stay, and the missing record is a
		 * difference. */
		if (!none && s->place.reader != 0) {
			struct pollfd output = { .fd = s->place.reader };

			none = poll(&output, 1, READER_MS) == 1 && (output.revents & POLLERR) != 0;
			if (!none)
				s->place.reader = 0;
		}
		if (end->error.code == ERROR_NONE) {
			end->error = v->error;
			end->skipped = NULL;
		}
	}
	if (step_replays(s))
		step_call_set_recorded_ids(call);
	return none;
}

/* The claim takes effect with the start event; what follows is made inside the call. */
static int
record_start(struct step_call *call, struct error *err)
{
	const struct recall *recorded = call->step->place.recall;

	memcpy(call->events.last, call->started, ID_SIZE);
	if (step_record_start(call, err) == -1)
		return -1;
	call->record_from = call->step->place.run->transcript.size;
	if (call->verdict.recalls) {
		const bool left_out = call->when.asked && !call->when.yes && call->end.error.code == ERROR_NONE;

		INVARIANT(recorded != NULL);
		(left_out ? recorded->left_out : recorded->claimed)(recorded->history, &call->verdict.recalled);
	}
	return 0;
}

/* Takes the recorded outcome instead of doing the work; false: the work is to be done. */
static bool
step_call_apply_verdict(struct step_call *call)
{
	const struct call_verdict *v = &call->verdict;

	switch (v->says) {
	case VERDICT_TAKE:
		step_take_end(call);
		break;
	case VERDICT_WAIT:
		step_wait_on(call);
		break;
	case VERDICT_SKIP:
		call->end.skipped = "by_user";
		call->end.reused = v->reuses;
		break;
	case VERDICT_DIVERGE:
		call->end.error = v->error;
		break;
	default:
		return false;
	}
	return true;
}

/* Records the end; or the decision that was made meanwhile about a call recorded as waiting; or
 * the result of work that was handed over, which came before the command ended. If the process
 * waits with the call, it records that first, and then the end that comes of it. */
static int
record_end(struct step_call *call, struct event *completed, struct error *err)
{
	struct call_verdict *v = &call->verdict;
	struct step_end *end = &call->end;
	bool waits = v->recalls && v->recalled.end == RECALL_WAITING && !step_replays(call->step);

	for (;;) {
		struct event_place early = { 0, 0 };
		int done;

		bool attends = step_attends(call);

		end->duration_ms = clock_monotonic() - call->begun;
		done = step_record_end(call, waits ? &v->recalled : NULL, &early, completed, err);
		if (done == 0 && attends) {
			if (step_attend(call, completed, err) == -1)
				return -1;
			waits = false;
			continue;
		}
		if (done != 1)
			return done;
		if (early.length > 0) {
			if (step_take_early(call, early, err) == -1)
				return -1;
			continue;
		}
		step_forget_results(end);
		end->exit_code = -1;
		end->error = (struct error)ERROR_INIT;
		buffer_clear(&end->approval);
		seal_key_forget(&end->seal);
		end->overruled = true;
		step_judge(call->step, v);
		if (!step_call_apply_verdict(call)) /* an approval continues to wait: nobody has
		                                       decided */
			step_wait(call, WAITING_APPROVAL, NULL, 0);
		waits = v->recalled.end == RECALL_WAITING;
	}
}

/* ---- work ---- */

/* Whether nothing so far prevents the work, and nothing has failed. */
static bool
goes_well(const struct step_call *call)
{
	return call->end.skipped == NULL && call->end.error.code == ERROR_NONE;
}

/* A replay does not run a child run, and what that wrote on stderr, whose last line ends the message of
 * a failure around it, is not recorded: the message of the same failure is. */
static void
step_call_take_recorded_message(struct step_call *call)
{
	const struct recalled *r = &call->verdict.recalled;
	struct error recorded;

	if (call->verdict.recalls && r->child_inside && call->end.error.code != ERROR_NONE &&
	    recalled_error(recalled_result(r), &recorded) && recorded.code == call->end.error.code)
		call->end.error = recorded;
}

/* Does the work, or takes the recorded outcome. */
static int
carry_out(struct step_call *call, struct error *err)
{
	const struct step *s = call->step;
	struct call_verdict *v = &call->verdict;
	bool taken;

	/* Events of retries are recorded again. */
	if (v->recalls && step_replays(s) && !s->definition.work->repeats_tries &&
	    retried_repeat(&v->recalled, &call->events, call->started, RECALL_TO_THE_END, err) == -1)
		return -1;
	taken = step_call_apply_verdict(call);
	if (taken && s->definition.work->taken != NULL) {
		int stands = s->definition.work->taken(call, err);

		if (stands == -1)
			return -1;
		taken = stands == 1;
	}
	if (!taken) {
		if (step_work(call, err) == -1)
			return -1;
		step_note_ending(call);
		if (s->place.ended_by_failure != NULL && *s->place.ended_by_failure &&
		    call->end.error.code == ERROR_CANCELLED)
			step_end_by_failure(&call->end.error);
		if (step_replays(s))
			step_call_take_recorded_message(call);
	}
	/* Evaluate the --until condition on the output of the iteration. */
	if (s->definition.until.text != NULL && goes_well(call))
		return step_ask_until(call, err);
	return 0;
}

/* ---- messages ---- */

static void
step_call_report_error(const struct step_call *call, const struct error *error,
    struct step_result *result)
{
	char text[sizeof error->place + sizeof error->message + 4];
	struct buffer label = BUFFER_INIT;

	step_label(call->step, call->item, call->index, &label);
	snprintf(result->report, sizeof result->report, "%s: %s", buffer_string(&label),
	    error_text(error, text, sizeof text));
	result->report_message = label.len + 2 < sizeof result->report ? label.len + 2 : 0;
	buffer_free(&label);
}

/* The error with which an item arrived. */
static enum error_code
passed_code(const struct item *item)
{
	struct error error = ERROR_INIT;

	state_error(item_error(item), &error);
	return error.code;
}

static int
failure_status(enum error_code code)
{
	return code == ERROR_NONE ? STATUS_OK : code == ERROR_WAITING ? STATUS_WAITING : STATUS_WORK;
}

static void
step_call_fill_result(const struct step_call *call, const struct event *completed,
    struct step_result *result)
{
	const struct step_end *end = &call->end;
	const struct recalled *r = &call->verdict.recalled;
	bool gone, fails = step_fails(call);

	result->skipped = end->skipped != NULL;
	result->until = end->until.yes;
	result->told = end->told;
	result->asks = end->error.code == ERROR_WAITING && r->compared[0] != '\0';
	result->error = end->error;
	memcpy(result->ended, completed->id, ID_SIZE);
	if (end->skipped != NULL || end->passes_item) {
		result->status = failure_status(passed_code(call->item));
		step_put_item(call, completed, &result->out);
		return;
	}

	if (end->error.code == ERROR_NONE) {
		step_put_results(call, completed, &result->out);
		if (end->lost.code != ERROR_NONE) {
			step_call_report_error(call, &end->lost, result);
		} else if (end->overruled && recalled_decided(r)) {
			/* Report the decision, since this call's own end came too late. */
			char *by = span_text(span_path(recalled_result(r)->view.payload, KEY_APPROVAL,
			    KEY_BY, NULL));

			snprintf(result->report, sizeof result->report, "%s: %s has decided meanwhile",
			    call->id, by != NULL ? by : "somebody");
			free(by);
		}
		return;
	}

	if (fails)
		result->status = failure_status(end->error.code);
	gone = end->error.code == ERROR_DOWNSTREAM_CLOSED && !end->told;
	result->gone = gone && step_replays(call->step);
	result->closed = gone && !result->gone;
	result->stop = result->closed || (end->error.code == ERROR_CANCELLED && !end->told);
	if (gone)
		return;
	step_put_failure(call, completed, &result->out);
	if (fails)
		step_call_report_error(call, &end->error, result);
}

/* ---- the whole call ---- */

static int
step_call_run(struct step_call *call, const struct error *refused, struct step_result *result,
    struct error *err)
{
	struct step *s = call->step;
	const struct work *work = s->definition.work;
	const struct item *item = call->item;
	struct step_end *end = &call->end;
	struct event completed;
	bool failed = item_error(item).at != NULL;
	int recalled;

	if (failed && (!s->options.rescue || !error_of_work(passed_code(item)))) {
		end->skipped = passed_code(item) == ERROR_WAITING ? "upstream_waiting" : "upstream_failed";
	} else if (!failed && s->options.rescue) {
		end->skipped = "nothing_failed";
	} else if (refused != NULL) {
		end->error = *refused;
	} else if (work->prepare != NULL) {
		work->prepare(call);
	}

	recalled = step_call_recall(call, err);
	if (recalled == -1)
		return -1;
	if (recalled == 1) {
		result->stop = result->closed = true;
		return 0;
	}

	/* Programs inside the call learn their enclosing call from the environment. */
	environment_set(&s->place.environment, "AWF_CALL", call->id);
	environment_set(&s->place.environment, "AWF_PARENT", call->started);
	traceparent_enter(&s->place.environment, call->started);
	environment_unset(&s->place.environment, CALL_TRY);
	environment_unset(&s->place.environment, CALL_TOOL);
	if (s->options.pending.asked)
		step_name_task(call);
	if (call->verdict.recalled.root[0] != '\0' && !call->verdict.recalled.changed)
		environment_set(&s->place.environment, "AWF_CLAIMED", call->verdict.recalled.root);
	else if (s->place.recall != NULL)
		environment_unset(&s->place.environment, "AWF_CLAIMED");

	/* --when is not evaluated for an item that the gate refuses. */
	if (goes_well(call) && s->options.when.text != NULL && step_ask_when(call, err) == -1)
		return -1;
	if (goes_well(call) && work->open != NULL)
		work->open(call);
	if (record_start(call, err) == -1)
		return -1;
	if (goes_well(call) && carry_out(call, err) == -1) {
		/* The disk may have failed: record the end if that is possible. */
		if (err != NULL && end->error.code == ERROR_NONE)
			end->error = *err;
		record_end(call, &completed, NULL);
		return -1;
	}
	if (record_end(call, &completed, err) == -1)
		return -1;
	if (work->ended != NULL)
		work->ended(call, &completed);
	step_call_fill_result(call, &completed, result);
	return 0;
}

int
step_call(struct step *s, const struct item *item, const struct causes *causes,
    const struct error *refused, int64_t index, struct step_result *result, struct error *err)
{
	struct step_call call;
	int made;

	step_call_begin(&call, s, item, causes, index);
	made = step_call_run(&call, refused, result, err);
	step_call_release(&call);
	return made;
}

int
step_fail(struct step *s, const struct item *item, const struct error *why, int64_t index,
    struct step_result *result, struct error *err)
{
	struct step_call call;
	const struct recalled *r = &call.verdict.recalled;
	struct event completed;
	struct error recorded;
	int done;

	step_call_begin(&call, s, item, NULL, index);
	call.end.error = *why;
	done = step_call_recall(&call, err) == -1 ? -1 : record_start(&call, err);
	/* In a replay of a child run it is unknown who wrote its input and died; and whether there were
	 * items before the resume. */
	if (done == 0 && call.end.error.code == ERROR_NO_INPUT && call.verdict.recalls &&
	    step_replays(s) && recalled_error(&r->completed, &recorded) &&
	    (recorded.code == ERROR_UPSTREAM_INCOMPLETE || recorded.code == ERROR_NO_INPUT))
		call.end.error = recorded;
	if (done == 0)
		done = record_end(&call, &completed, err);
	if (done == 0)
		step_call_fill_result(&call, &completed, result);
	result->status = error_status(call.end.error.code);
	step_call_release(&call);
	return done;
}

/* ---- dry run ---- */

bool
step_expects(struct step *s, const struct item *item, int64_t index, char input_sha256[DIGEST_SIZE])
{
	struct recall_query query = step_query(s, index);
	bool failed = item_error(item).at != NULL, expects = true;
	struct step_call call;

	*input_sha256 = '\0';
	if (failed != s->options.rescue || s->definition.follows_calls)
		return true;
	step_call_begin(&call, s, item, NULL, index);
	if (s->definition.work->prepare != NULL)
		s->definition.work->prepare(&call);
	query.input_sha256 = call.input_sha256;
	query.definition_sha256 = s->definition.sha256;
	if (call.end.error.code == ERROR_NONE)
		expects = s->place.recall->expect(s->place.recall->history, &query);
	memcpy(input_sha256, call.input_sha256, DIGEST_SIZE);
	step_call_release(&call);
	return expects;
}
