/*
 * A call in order. Whatever fails in it is set in its end and travels there; only that the
 * record cannot be kept ends it at once. When somebody has decided about it between its work
 * and its end, that is taken instead.
 *
 * What completes its input besides the item's data goes into the input's digest before a
 * recorded call is looked for: the digests of attachments, and the end of the call whose
 * conversation is gone on from, so that with another one before it this is another call. For
 * an attached file that has gone since, the start of the call that this may be is peeked at,
 * without claiming it.
 */
#include "step/step_call.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/prompt.h"
#include "agent/retried.h"
#include "agent/turn.h"
#include "base/memory.h"
#include "base/patience.h"
#include "run/traceparent.h"
#include "step/models.h"
#include "transcript/event_keys.h"

/* ---- what it is ---- */

/* causes NULL: those of the item. */
static void
begin(struct step_call *call, struct step *s, const struct item *item,
    const struct causes *causes, int64_t index)
{
	memset(call, 0, sizeof *call);
	call->end.changed = (struct changed)CHANGED_INIT;
	call->end.exit_code = -1;
	call->end.winner = -1;
	call->end.answerer = call->listener = -1;
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
release(struct step_call *call)
{
	struct step_end *end = &call->end;

	step_drop_lines(call);
	step_forget_results(end);
	buffer_free(&end->retries);
	buffer_free(&end->errors);
	changed_free(&end->changed);
	free(end->agent);
	step_tell_answerer(call, NULL);
	step_close_question(call);
	buffer_free(&end->approval);
	buffer_free(&call->question);
	seal_key_forget(&end->seal);
	attachments_free(&call->attachments);
	buffer_free(&call->attached);
	continuation_free(&call->continued);
	free(call->id);
	free(call->task);
	causes_free(&call->own);
	buffer_free(&call->events.links);
	recalled_free(&call->verdict.recalled);
}

/* The attachments of the step and the item; commands and tools are given the data alone. What
 * is wrong with them is the call's error. */
static void
read_attachments(struct step_call *call)
{
	const struct step *s = call->step;
	struct attachments *a = &call->attachments;
	struct span list = step_listed_attachments(call->item), recorded = SPAN_NONE;
	struct recalled_event started = { .line = BUFFER_INIT };

	if ((s->definition.team == NULL && !s->definition.passes) || (list.at == NULL && s->definition.attached == NULL))
		return;
	if (s->definition.attached != NULL)
		attachments_share(a, s->definition.attached);
	/* The start of a call that this may be, for what it says of files that have gone since. */
	if (list.at != NULL && s->place.recall != NULL) {
		const struct recall_query query = step_query(s, call->index);

		if (s->place.recall->peek(s->place.recall->history, &query, &started))
			recorded = span_member(started.view.payload, KEY_ATTACHMENTS);
	}
	if (attachments_read(a, list, recorded, &call->end.error) == -1) {
		attachments_free(a);
	} else if (a->count > a->shared) {
		/* In lines that stand for the item each entry of its list is held to the bytes that
		 * were found: a file that is another one when it is read again is noticed. */
		struct span_walk entry = span_walk(list);
		struct writer w;

		writer_begin(&w, &call->attached);
		writer_array(&w);
		for (size_t i = a->shared; i < a->count && span_next(&entry); i++) {
			writer_object(&w);
			for (struct span_walk member = span_walk(entry.value); span_next(&member);)
				writer_raw_member(&w, member.key, member.value);
			if (a->list[i]->path != NULL && span_member(entry.value, "sha256").at == NULL)
				writer_member_string(&w, "sha256", a->list[i]->sha256);
			writer_object_end(&w);
		}
		writer_array_end(&w);
	}
	recalled_event_free(&started);
	attachments_digest(a, &call->item->data.json, call->input_sha256);
	if (s->definition.team == NULL)
		attachments_drop_bytes(a);
}

/* The conversation that the agent goes on with: a session is of the CLI that answered; whoever
 * else goes on gets the messages. That there is neither is the call's error. */
static void
find_conversation(struct step_call *call)
{
	const struct agent *agent = call->step->definition.agent;
	struct continuation *c = &call->continued;
	struct error *error = &call->end.error;
	char digests[DIGEST_SIZE + ID_SIZE];
	size_t len = strlen(call->input_sha256);

	if (agent == NULL || agent->continue_from == NULL || error->code != ERROR_NONE ||
	    continuation_find(c, &call->step->place.run->transcript, agent->continue_from, error) == -1)
		return;
	if (c->session == NULL || c->provider == NULL || strcmp(c->provider, agent->provider) != 0) {
		free(c->session);
		c->session = NULL;
		if (c->lacks)
			error_set(error, ERROR_INVALID_INPUT, agent->name, "continue_from: '%s' "
			    "had attachments, whose bytes a masked run does not keep", agent->continue_from);
		else if (c->messages.len == 0)
			error_set(error, ERROR_INVALID_INPUT, agent->name,
			    "continue_from: '%s' had no conversation in this run", agent->continue_from);
		if (error->code != ERROR_NONE)
			return;
	}
	memcpy(digests, call->input_sha256, len);
	memcpy(digests + len, c->completed, ID_SIZE);
	digest_sha256(digests, strlen(digests), call->input_sha256);
}

/* ---- what was recorded of it, and is ---- */

/* The ids of a replay are those of the recording. Which of several processes of one name began
 * first is left to chance; which call of theirs this is, is not. An event that is not in the
 * recording has an id that depends on the call and the event alone. */
static void
take_recorded_ids(struct step_call *call)
{
	const struct verdict *v = &call->verdict;
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

/* 0; 1: no call is to be made, as in the recording none was; -1: the machine failed. */
static int
recall(struct step_call *call, struct error *err)
{
	struct step *s = call->step;
	struct verdict *v = &call->verdict;
	struct step_end *end = &call->end;
	bool none = false;

	if (step_recall(call, v, err) == -1)
		return -1;
	if (v->says == VERDICT_DIVERGE && !v->recalls) {
		none = v->beyond;
		/* If nobody reads the output of a replay, or nobody does soon, the recorded step ended
		 * then, before this call, and how soon was left to chance. It is waited for once: who
		 * still reads then will, and what was not recorded differs. */
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
		take_recorded_ids(call);
	return none;
}

/* The start makes the claim stand; what comes after it is made in the call. */
static int
record_start(struct step_call *call, struct error *err)
{
	const struct recall *recorded = call->step->place.recall;

	memcpy(call->events.last, call->started, ID_SIZE);
	if (step_record_start(call, err) == -1)
		return -1;
	call->record_from = call->step->place.run->transcript.size;
	if (call->verdict.recalls)
		recorded->claimed(recorded->history, &call->verdict.recalled);
	return 0;
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

/* The end; or what was decided meanwhile about a call that was recorded as waiting; or the result
 * of work that was handed on, which came before its command has ended. */
static int
record_end(struct step_call *call, struct event *completed, struct error *err)
{
	struct verdict *v = &call->verdict;
	struct step_end *end = &call->end;
	bool waits = v->recalls && v->recalled.end == RECALL_WAITING && !step_replays(call->step);

	for (;;) {
		struct event_place early = { 0, 0 };
		int done;

		end->duration_ms = clock_monotonic() - call->begun;
		done = step_record_end(call, waits ? &v->recalled : NULL, &early, completed, err);
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
		if (!take_verdict(call)) /* an approval waits on: nobody has decided */
			step_wait(call, WAITING_APPROVAL, NULL, 0);
		waits = v->recalled.end == RECALL_WAITING;
	}
}

/* ---- what is done ---- */

/* Whether nothing has kept the work from being done, or has failed. */
static bool
goes_well(const struct step_call *call)
{
	return call->end.skipped == NULL && call->end.error.code == ERROR_NONE;
}

/* The work, or what stands for it. */
static int
carry_out(struct step_call *call, struct error *err)
{
	const struct step *s = call->step;
	const struct item *item = call->item;
	struct verdict *v = &call->verdict;
	struct data data = { BUFFER_INIT, false, false };
	bool taken;

	if (s->options.terminal != NULL) {
		/* An item without a line of this run becomes the result, others pass. */
		if (item_error(item).at == NULL && (item->line.len == 0 || item->foreign)) {
			data_copy(&data, &item->data);
			step_add_result(&call->end, &data);
		}
		return 0;
	}
	/* What was told of retries is told again; those of an agent when their turn comes. */
	if (v->recalls && step_replays(s) && s->definition.team == NULL && retried_repeat(&v->recalled,
	    &call->events, call->started, RECALL_TO_THE_END, err) == -1)
		return -1;
	taken = take_verdict(call);
	/* What a command asked models is told again although it is not run. */
	if (taken && step_replays(s) && s->options.models.mode != MODELS_NONE && v->recalls &&
	    models_repeat(call, err) == -1)
		return -1;
	if (taken && s->options.question.text != NULL) {
		int checked = step_check_answer(call, err);

		if (checked == -1 && call->end.error.code == ERROR_NONE)
			return -1;
		taken = checked != 0;
	}
	if (!taken) {
		if (step_work(call, err) == -1)
			return -1;
		step_note_ending(call);
		if (s->place.ended_by_failure != NULL && *s->place.ended_by_failure &&
		    call->end.error.code == ERROR_CANCELLED)
			step_end_by_failure(&call->end.error);
	}
	/* A round's end is asked about, if it gave something. */
	if (s->options.group.until.text != NULL && s->options.group.kind == GROUP_NONE && goes_well(call))
		return step_ask_until(call, err);
	return 0;
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
	result->report_message = label.len + 2 < sizeof result->report ? label.len + 2 : 0;
	buffer_free(&label);
}

/* The error that an item has come with. */
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
conclude(const struct step_call *call, const struct event *completed, struct step_result *result)
{
	const struct step_end *end = &call->end;
	const struct recalled *r = &call->verdict.recalled;
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
		if (end->lost.code != ERROR_NONE) {
			report(call, &end->lost, result);
		} else if (end->overruled && recalled_decided(r)) {
			/* What was decided, where our own end came too late. */
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
		report(call, &end->error, result);
}

/* ---- all of it ---- */

static int
make(struct step_call *call, const struct error *refused, struct step_result *result,
    struct error *err)
{
	struct step *s = call->step;
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
	} else {
		read_attachments(call);
		find_conversation(call);
		step_render_question(call);
	}

	recalled = recall(call, err);
	if (recalled == -1)
		return -1;
	if (recalled == 1) {
		result->stop = result->closed = true;
		return 0;
	}

	/* What runs inside of the call finds out here where it is. */
	environment_set(&s->place.environment, "AWF_CALL", call->id);
	environment_set(&s->place.environment, "AWF_PARENT", call->started);
	traceparent_enter(&s->place.environment, call->started);
	environment_unset(&s->place.environment, CALL_TRY);
	if (s->options.pending)
		step_name_task(call);
	if (call->verdict.recalled.root[0] != '\0' && !call->verdict.recalled.changed)
		environment_set(&s->place.environment, "AWF_CLAIMED", call->verdict.recalled.root);
	else if (s->place.recall != NULL)
		environment_unset(&s->place.environment, "AWF_CLAIMED");

	/* An item that is not taken is not looked at by --when either. */
	if (goes_well(call) && s->options.when.text != NULL && step_ask_when(call, err) == -1)
		return -1;
	if (goes_well(call) && s->definition.spent)
		error_set(&end->error, ERROR_MAX_ITERATIONS, NULL, "no end after %lld round%s (--max)",
		    (long long)call->index, call->index == 1 ? "" : "s");

	if (goes_well(call) && call->verdict.says == VERDICT_DO)
		step_open_question(call);
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
	step_tell_answerer(call, &completed);
	conclude(call, &completed, result);
	return 0;
}

int
step_call(struct step *s, const struct item *item, const struct causes *causes,
    const struct error *refused, int64_t index, struct step_result *result, struct error *err)
{
	struct step_call call;
	int made;

	begin(&call, s, item, causes, index);
	made = make(&call, refused, result, err);
	release(&call);
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

	begin(&call, s, item, NULL, index);
	call.end.error = *why;
	done = recall(&call, err) == -1 ? -1 : record_start(&call, err);
	/* In a replay of a child nobody knows who wrote its input, and died. */
	if (done == 0 && call.end.error.code == ERROR_NO_INPUT && call.verdict.recalls &&
	    step_replays(s) && recalled_error(&r->completed, &recorded) &&
	    recorded.code == ERROR_UPSTREAM_INCOMPLETE)
		call.end.error = recorded;
	if (done == 0)
		done = record_end(&call, &completed, err);
	if (done == 0)
		conclude(&call, &completed, result);
	result->status = error_status(call.end.error.code);
	release(&call);
	return done;
}

/* ---- what would be made ---- */

bool
step_expects(struct step *s, const struct item *item, int64_t index)
{
	struct recall_query query = step_query(s, index);
	bool failed = item_error(item).at != NULL, expects = true;
	struct step_call call;

	/* What an agent goes on with is known once those before it have ended. */
	if (failed != s->options.rescue || (s->definition.agent != NULL && s->definition.agent->continue_from != NULL))
		return true;
	begin(&call, s, item, NULL, index);
	read_attachments(&call);
	query.input_sha256 = call.input_sha256;
	query.definition_sha256 = s->definition.sha256;
	if (call.end.error.code == ERROR_NONE)
		expects = s->place.recall->expect(s->place.recall->history, &query);
	release(&call);
	return expects;
}

/* Of an agent the first request as it would be sent. */
static int
describe_request(struct step *s, const struct item *item, struct buffer *out, struct error *err)
{
	struct step_call call = { .step = s, .item = item };
	struct span data = span_of(item->data.json.data, item->data.json.len);
	struct buffer prompt = BUFFER_INIT;
	struct turns t = { .member = s->definition.team->members[0], .environment = &s->place.environment,
		.keys = s->place.keys, .sandbox = &s->options.sandbox, .attachments = &call.attachments,
		.shown = s->place.shown, .step = s->place.path != NULL ? s->place.path : s->options.name };
	int result = prompt_render(s->definition.prompt, data, span_of(s->place.inputs.data, s->place.inputs.len),
	    s->definition.prompt_place, &prompt, err);

	read_attachments(&call);
	if (result == 0 && call.end.error.code != ERROR_NONE) {
		*err = call.end.error;
		result = -1;
	}
	t.prompt = span_of(buffer_string(&prompt), prompt.len);
	if (result == 0)
		result = turns_request(&t, out, err);
	if (result == 0)
		buffer_byte(out, '\n');
	buffer_free(&prompt);
	attachments_free(&call.attachments);
	buffer_free(&call.attached);
	return result;
}

int
step_describe(struct step *s, const struct item *item, struct buffer *out, struct error *err)
{
	struct writer w;

	if (s->definition.team != NULL)
		return describe_request(s, item, out, err);
	writer_begin(&w, out);
	writer_object(&w);
	if (s->definition.operation != NULL)
		writer_member_string(&w, "tool", s->definition.operation->name);
	if (s->options.approve)
		writer_member_bool(&w, "approve", true);
	if (s->options.question.text != NULL)
		writer_member_string(&w, "ask", s->definition.prompt);
	writer_member_string(&w, "terminal", s->options.terminal);
	writer_member_string(&w, "via", s->options.elsewhere.launcher);
	if (s->options.command.argv != NULL) {
		writer_member_array(&w, s->options.group.kind == GROUP_PARALLEL ? "branches" : "command");
		for (char *const *word = s->options.command.argv; *word != NULL; word++)
			writer_string(&w, *word);
		writer_array_end(&w);
	}
	writer_member_span(&w, "input", span_of(item->data.json.data, item->data.json.len));
	if (item->data.base64)
		writer_member_string(&w, "input_encoding", "base64");
	writer_object_end(&w);
	buffer_byte(out, '\n');
	return 0;
}
