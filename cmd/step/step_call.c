/*
 * A call in order. Whatever fails in it is set in its end and travels there; only that the
 * record cannot be kept ends it at once. When somebody has decided about it between its work
 * and its end, that is taken instead.
 */
#include "step/step_call.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/retried.h"
#include "base/memory.h"
#include "base/patience.h"
#include "transcript/event_keys.h"

/* ---- what it is ---- */

/* Whether a call was made directly in the enclosing call. */
static bool
call_is_sibling(const char *call, size_t len, const char *enclosing)
{
	size_t prefix = len;

	while (prefix > 0 && call[prefix] != '/')
		prefix--;
	return prefix == strlen(enclosing) && memcmp(call, enclosing, prefix) == 0;
}

static void
add_link(struct step_call *call, const char *run_id, const char *event_id)
{
	if (call->links.len > 0)
		buffer_byte(&call->links, ',');
	if (run_id == NULL)
		buffer_format(&call->links, "\"%.36s\"", event_id);
	else
		buffer_format(&call->links, "{\"run_id\":\"%.36s\",\"event_id\":\"%.36s\"}", run_id,
		    event_id);
}

/* The parent is the first cause made in the same enclosing call, else the
 * enclosing event; every other cause is a link. */
static void
find_causes(struct step_call *call, const struct buffer *causes)
{
	const struct step *s = call->step;
	const char *at = buffer_string(causes), *end;
	const char *event_id, *maker;

	for (; *at != '\0'; at = end + 1) {
		end = strchr(at, '\n');
		event_id = at + ID_SIZE;
		maker = event_id + ID_SIZE;
		if (memcmp(event_id, s->parent, ID_SIZE - 1) == 0)
			continue; /* it is the parent, unless a call in between is */
		if (memcmp(at, s->run->id, ID_SIZE - 1) != 0)
			add_link(call, at, event_id);
		else if (call->parent[0] == '\0' &&
		    call_is_sibling(maker, (size_t)(end - maker), s->enclosing))
			memcpy(call->parent, event_id, ID_SIZE - 1);
		else
			add_link(call, NULL, event_id);
	}
	if (call->parent[0] == '\0')
		memcpy(call->parent, s->parent, ID_SIZE);
}

static void
begin(struct step_call *call, struct step *s, const struct item *item,
    const struct buffer *causes, int64_t index)
{
	memset(call, 0, sizeof *call);
	step_end_begin(&call->end);
	call->step = s;
	call->item = item;
	call->index = index;
	call->begun = clock_monotonic();
	digest_sha256(item->data.json.data, item->data.json.len, call->input_sha256);
	call->id = memory_format("%s:%lld", s->process, (long long)index);
	id_new(call->started);
	find_causes(call, causes);
	call->events.transcript = &s->run->transcript;
	call->events.name = s->name;
	call->events.path = s->path;
	call->events.id = call->id;
	call->events.iteration = index;
}

static void
release(struct step_call *call)
{
	step_end_free(&call->end);
	attachments_free(&call->attachments);
	buffer_free(&call->attached);
	continuation_free(&call->continued);
	free(call->id);
	buffer_free(&call->links);
	buffer_free(&call->events.links);
	recalled_free(&call->verdict.recalled);
}

/* One that is not in the recording depends on the call and the event alone. */
static void
name_event(const struct step_call *call, const struct recalled_event *recorded,
    const char *type, char id[ID_SIZE])
{
	char *text;

	if (call->verdict.recalls && recorded->line.len > 0) {
		memcpy(id, recorded->id, ID_SIZE);
		return;
	}
	text = memory_format("%s %s %s", call->step->run->id, call->id, type);
	id_derive(text, id);
	free(text);
}

/* The ids of a replay are those of the recording. Which of several processes of one name began
 * first is left to chance; which call of theirs this is, is not. */
static void
take_recorded_ids(struct step_call *call)
{
	struct recalled *r = &call->verdict.recalled;
	char *recorded = call->verdict.recalls ?
	    span_text(span_member(r->started.view.payload, KEY_CALL)) : NULL;

	if (recorded != NULL && call_id_valid(recorded)) {
		free(call->id);
		call->id = recorded;
		call->events.id = call->id;
	} else {
		free(recorded);
	}
	name_event(call, &r->started, "step.started", call->started);
	name_event(call, &r->completed, "step.completed", call->ended);
}

/* ---- what is recorded ---- */

/* Whether nobody reads the output of a replay, or nobody does soon: the recorded step
 * ended then, before this call, and how soon was left to chance. It is waited for once:
 * who still reads then will, and what was not recorded differs. */
static bool
reader_went(struct step *s)
{
	struct pollfd output = { .fd = s->reader };
	bool went = s->reader != 0 && poll(&output, 1, READER_MS) == 1 &&
	    (output.revents & POLLERR) != 0;

	if (!went)
		s->reader = 0;
	return went;
}

/* 0; 1: no call is to be made, as in the recording none was; -1: the machine failed. */
static int
recall(struct step_call *call, struct error *err)
{
	struct verdict *v = &call->verdict;
	struct step_end *end = &call->end;
	bool none = false;

	if (step_recall(call, v, err) == -1)
		return -1;
	if (v->says == VERDICT_DIVERGE && !v->recalls) {
		none = v->beyond || reader_went(call->step);
		if (end->error.code == ERROR_NONE) {
			end->error = v->error;
			end->skipped = NULL;
		}
	}
	if (step_replays(call->step))
		take_recorded_ids(call);
	return none;
}

/* The start makes the claim stand; what comes after it is made in the call. */
static int
record_start(struct step_call *call, struct error *err)
{
	const struct recall *recall = call->step->recall;

	memcpy(call->events.last, call->started, ID_SIZE);
	if (step_record_start(call, err) == -1)
		return -1;
	call->record_from = call->step->run->transcript.size;
	if (call->verdict.recalls)
		recall->claimed(recall->history, &call->verdict.recalled);
	return 0;
}

/* ---- what is done ---- */

/* What runs inside of the call finds out here where it is. */
static void
enter(const struct step_call *call)
{
	const struct step *s = call->step;
	struct environment *e = &call->step->environment;
	char *task;

	environment_set(e, "AWF_CALL", call->id);
	environment_set(e, "AWF_PARENT", call->started);
	environment_unset(e, CALL_TRY);
	if (s->pending) {
		/* By which the work is known to whoever does it. */
		task = memory_format("%s/%s", s->run->id, call->id);
		environment_set(e, "AWF_TASK", task);
		free(task);
	}
	if (call->verdict.recalls && !call->verdict.recalled.changed)
		environment_set(e, "AWF_CLAIMED", call->verdict.recalled.root);
	else if (s->recall != NULL)
		environment_unset(e, "AWF_CLAIMED");
}

/* Whether nothing has kept the work from being done, or has failed. */
static bool
goes_well(const struct step_call *call)
{
	return call->end.skipped == NULL && call->end.error.code == ERROR_NONE;
}

/* Takes what stands instead of the work; false: that is to be done. */
static bool
take_verdict(struct step_call *call)
{
	const struct verdict *v = &call->verdict;

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

/* The work, or what stands for it. */
static int
carry_out(struct step_call *call, struct error *err)
{
	const struct step *s = call->step;
	const struct item *item = call->item;
	struct verdict *v = &call->verdict;
	struct data data = { BUFFER_INIT, false, false };

	if (s->terminal != NULL) {
		/* An item without a line of this run becomes the result, others pass. */
		if (item_error(item).at == NULL && (item->line.len == 0 || item->foreign)) {
			data_copy(&data, &item->data);
			step_end_add_result(&call->end, &data);
		}
		return 0;
	}
	/* What was told of retries is told again; those of an agent when their turn comes. */
	if (v->recalls && step_replays(s) && s->team == NULL && retried_repeat(&v->recalled,
	    &call->events, call->started, RECALL_TO_THE_END, err) == -1)
		return -1;
	if (!take_verdict(call)) {
		if (step_work(call, err) == -1)
			return -1;
		step_note_ending(call);
	}
	/* A round's end is asked about, if it gave something. */
	if (s->until.text != NULL && s->group == GROUP_NONE && goes_well(call))
		return step_ask_until(call, err);
	return 0;
}

/* The end; or what was decided meanwhile about a call that was recorded as waiting. */
static int
record_end(struct step_call *call, struct event *completed, struct error *err)
{
	struct verdict *v = &call->verdict;
	struct step_end *end = &call->end;
	bool waits = v->recalls && v->recalled.end == RECALL_WAITING && !step_replays(call->step);
	int done;

	for (;;) {
		end->duration_ms = clock_monotonic() - call->begun;
		done = step_record_end(call, waits ? &v->recalled : NULL, completed, err);
		if (done != 1)
			return done;
		step_end_forget_results(end);
		end->exit_code = -1;
		end->error = (struct error)ERROR_INIT;
		buffer_clear(&end->approval);
		seal_key_forget(&end->seal);
		end->overruled = true;
		step_judge(call->step, v);
		if (!take_verdict(call)) /* an approval waits on: nobody has decided */
			step_wait(call, WAITING_APPROVAL, NULL, 0);
		waits = v->recalled.end == RECALL_WAITING;
	}
}

/* ---- what is told ---- */

static void
report(const struct step_call *call, const struct error *error, struct step_result *result)
{
	char text[sizeof error->place + sizeof error->message + 4];
	struct buffer label = BUFFER_INIT;

	step_label(call->step, call->item, call->index, &label);
	snprintf(result->report, sizeof result->report, "%s: %s", buffer_string(&label),
	    error_text(error, text, sizeof text));
	buffer_free(&label);
}

/* What was decided, where our own end came too late. */
static void
report_decision(const struct step_call *call, struct step_result *result)
{
	const struct recalled *r = &call->verdict.recalled;
	char *by = span_text(span_path(recalled_result(r)->view.payload, KEY_APPROVAL, KEY_BY, NULL));

	if (call->end.overruled && recalled_decided(r))
		snprintf(result->report, sizeof result->report, "%s: %s has decided meanwhile",
		    call->id, by != NULL ? by : "somebody");
	free(by);
}

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
	if (code == ERROR_NONE)
		return STATUS_OK;
	return code == ERROR_WAITING ? STATUS_WAITING : STATUS_WORK;
}

static void
conclude(const struct step_call *call, const struct event *completed, struct step_result *result)
{
	const struct step_end *end = &call->end;
	bool gone, fails = step_fails(call);

	result->skipped = end->skipped != NULL;
	result->until = end->until.yes;
	result->told = end->told;
	result->error = end->error;
	memcpy(result->ended, completed->id, ID_SIZE);
	if (end->skipped != NULL || step_passes_item(call)) {
		result->status = failure_status(passed_code(call->item));
		step_put_item(call, completed, &result->out);
		return;
	}
	if (end->error.code == ERROR_NONE) {
		step_put_results(call, completed, &result->out);
		if (end->lost.code != ERROR_NONE)
			report(call, &end->lost, result);
		else
			report_decision(call, result);
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
		report(call, &end->error, result);
}

/* ---- all of it ---- */

static int
make(struct step_call *call, const struct error *refused, struct step_result *result,
    struct error *err)
{
	const struct step *s = call->step;
	const struct item *item = call->item;
	struct step_end *end = &call->end;
	struct event completed;
	bool failed = item_error(item).at != NULL;
	int recalled;

	if (failed && (!s->rescue || !error_of_work(passed_code(item)))) {
		end->skipped = "upstream_failed";
	} else if (!failed && s->rescue) {
		end->skipped = "nothing_failed";
	} else if (refused != NULL) {
		end->error = *refused;
	} else {
		step_read_attachments(call);
		step_find_conversation(call);
	}

	recalled = recall(call, err);
	if (recalled == -1)
		return -1;
	if (recalled == 1) {
		result->stop = result->closed = true;
		return 0;
	}

	/* An item that is not taken is not looked at by --when either. */
	enter(call);
	if (goes_well(call) && s->when.text != NULL && step_ask_when(call, err) == -1)
		return -1;
	if (goes_well(call) && s->spent)
		error_set(&end->error, ERROR_MAX_ITERATIONS, NULL, "no end after %lld rounds",
		    (long long)call->index);

	if (record_start(call, err) == -1)
		return -1;
	if (goes_well(call) && carry_out(call, err) == -1) {
		/* The disk may be the trouble: the end is recorded if it can be. */
		if (err != NULL && end->error.code == ERROR_NONE)
			end->error = *err;
		record_end(call, &completed, NULL);
		return -1;
	}
	if (record_end(call, &completed, err) == -1)
		return -1;
	conclude(call, &completed, result);
	return 0;
}

int
step_call(struct step *s, const struct item *item, const struct buffer *causes,
    const struct error *refused, int64_t index, struct step_result *result, struct error *err)
{
	struct step_call call;
	int made;

	begin(&call, s, item, causes, index);
	made = make(&call, refused, result, err);
	release(&call);
	return made;
}

static int
fail(struct step_call *call, struct step_result *result, struct error *err)
{
	const struct verdict *v = &call->verdict;
	struct step_end *end = &call->end;
	struct event completed;
	struct error recorded;

	if (recall(call, err) == -1 || record_start(call, err) == -1)
		return -1;
	/* In a replay of a child nobody knows who wrote its input, and died. */
	if (end->error.code == ERROR_NO_INPUT && v->recalls && step_replays(call->step) &&
	    recalled_error(&v->recalled.completed, &recorded) &&
	    recorded.code == ERROR_UPSTREAM_INCOMPLETE)
		end->error = recorded;
	if (record_end(call, &completed, err) == -1)
		return -1;
	conclude(call, &completed, result);
	return 0;
}

int
step_fail(struct step *s, const struct item *item, const struct error *why, int64_t index,
    struct step_result *result, struct error *err)
{
	struct buffer causes = BUFFER_INIT;
	struct step_call call;
	int failed;

	step_causes(item, &causes);
	begin(&call, s, item, &causes, index);
	buffer_free(&causes);
	call.end.error = *why;
	failed = fail(&call, result, err);
	result->status = error_status(call.end.error.code);
	release(&call);
	return failed;
}

bool
step_expects(struct step *s, const struct item *item, int64_t index)
{
	struct recall_query query = step_query(s, index);
	bool failed = item_error(item).at != NULL, expects = true;
	struct buffer causes = BUFFER_INIT;
	struct step_call call;

	/* What an agent goes on with is known once those before it have ended. */
	if (failed != s->rescue || (s->agent != NULL && s->agent->continue_from != NULL))
		return true;
	step_causes(item, &causes);
	begin(&call, s, item, &causes, index);
	buffer_free(&causes);
	step_read_attachments(&call);
	query.input_sha256 = call.input_sha256;
	query.definition_sha256 = s->definition_sha256;
	if (call.end.error.code == ERROR_NONE)
		expects = s->recall->expect(s->recall->history, &query);
	release(&call);
	return expects;
}

void
step_result_clear(struct step_result *result)
{
	buffer_clear(&result->out);
	result->status = STATUS_OK;
	result->stop = result->closed = result->gone = false;
	result->skipped = result->until = result->told = false;
	result->error.code = ERROR_NONE;
	result->report[0] = '\0';
}
