/*
 * A call in order: find its causes, decide whether its work is to be done, look for a
 * recorded call, append the start, do the work or take what stands for it, append the end,
 * make the lines. Whatever fails in between is set in `working` and travels to the end. What
 * a step is (its definition's digest) is a list of all that makes its result, in an order
 * that never changes, as earlier recordings are known by it.
 */
#include "step/step.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/prompt.h"
#include "agent/turn.h"
#include "base/clock.h"
#include "base/memory.h"
#include "json/value.h"
#include "json/writer.h"
#include "run/item_name.h"
#include "step/working.h"

void
step_causes(const struct item *item, struct buffer *causes)
{
	char *run_id = item_metadata(item, "run_id"), *event_id = item_metadata(item, "event_id");
	char *call = item_metadata(item, "call");

	if (run_id != NULL && event_id != NULL)
		buffer_format(causes, "%s %s %s\n", run_id, event_id,
		    call != NULL && call_id_valid(call) ? call : "");
	free(run_id);
	free(event_id);
	free(call);
}

static void
working_begin(struct working *work, struct step *s, const struct item *item,
    const struct buffer *causes, int64_t index)
{
	memset(work, 0, sizeof *work);
	work->changed = (struct changed)CHANGED_INIT;
	work->step = s;
	work->item = item;
	work->index = index;
	work->exit_code = -1;
	work->winner = -1;
	work->begun = clock_monotonic();
	digest_sha256(item->data.json.data, item->data.json.len, work->input_sha256);
	work->id = memory_format("%s:%lld", s->process, (long long)index);
	id_new(work->started);
	working_find_causes(work, causes);
	work->call.transcript = &s->run->transcript;
	work->call.name = s->name;
	work->call.path = s->path;
	work->call.id = work->id;
	work->call.iteration = index;
}

/* By which the work of a pending call is known to whoever does it. */
static void
set_task(const struct working *work, struct environment *e)
{
	char *task = memory_format("%s/%s", work->step->run->id, work->id);

	environment_set(e, "AWF_TASK", task);
	free(task);
}

/* What runs inside of the call finds out here where it is. */
static void
working_enter(struct working *work)
{
	struct environment *e = &work->step->environment;

	environment_set(e, "AWF_CALL", work->id);
	environment_set(e, "AWF_PARENT", work->started);
	environment_unset(e, CALL_TRY);
	if (work->step->pending)
		set_task(work, e);
	if (work->recalls && !work->recalled.changed)
		environment_set(e, "AWF_CLAIMED", work->recalled.root);
	else if (work->step->recall != NULL)
		environment_unset(e, "AWF_CLAIMED");
}

static void
working_free(struct working *work)
{
	working_forget_passed(work);
	working_forget_results(work);
	attachments_free(&work->attachments);
	buffer_free(&work->attached);
	continuation_free(&work->continued);
	free(work->id);
	free(work->agent);
	buffer_free(&work->links);
	buffer_free(&work->retries);
	buffer_free(&work->errors);
	changed_free(&work->changed);
	buffer_free(&work->call.links);
	buffer_free(&work->approval);
	seal_key_forget(&work->seal);
	recalled_free(&work->recalled);
}

/* Looks for a recorded call, if one can be this. What will not be done needs none,
 * but for the ids that a replay takes from it. */
static int
recall(struct working *work, struct error *err)
{
	bool idle = work->skipped != NULL || work->error.code != ERROR_NONE;

	if (work->step->recall == NULL || (idle && !working_replays(work)))
		return 0;
	return working_recall(work, err);
}

/* --when, or --while of a round. */
static int
ask_when(struct working *work, struct error *err)
{
	const struct condition *when = &work->step->when;
	struct buffer line = BUFFER_INIT;
	int asked = 0;

	if (working_cut_off_asking(work))
		return 0;
	if (working_replays(work) || !working_recorded_answer(work, when, &work->when)) {
		working_body_line(work, &line);
		asked = working_ask(work, when, &line, &work->when, err);
		working_compare_answer(work, when, &work->when);
		buffer_free(&line);
	}
	if (work->error.code == ERROR_NONE && !work->when.yes)
		work->skipped = "condition";
	return asked;
}

/* A round's end is asked about, if it gave something. */
static bool
asks_until(const struct working *work)
{
	return work->step->until.text != NULL && work->step->group == GROUP_NONE &&
	    work->error.code == ERROR_NONE && work->skipped == NULL;
}

/* --until, before the round ends. */
static int
ask_until(struct working *work, struct error *err)
{
	const struct condition *until = &work->step->until;
	struct buffer line = BUFFER_INIT;
	int asked = 0;

	if (!work->taken || !working_recorded_answer(work, until, &work->until)) {
		working_result_lines(work, &line);
		asked = working_ask(work, until, &line, &work->until, err);
		working_compare_answer(work, until, &work->until);
		buffer_free(&line);
	}
	if (work->error.code != ERROR_NONE)
		work->exit_code = -1; /* the body is not what failed */
	return asked;
}

static enum error_code
passed_code(const struct item *item)
{
	struct error error = ERROR_INIT;

	state_error(item_error(item), &error);
	return error.code;
}

/* Decides whether the work is to be done: sets work->skipped or work->error if it
 * is not. An item that is not taken is not looked at by --when either. */
static int
decide(struct working *work, struct error *err)
{
	bool failed = item_error(work->item).at != NULL, taken;

	if (failed && (!work->step->rescue || !error_of_work(passed_code(work->item))))
		work->skipped = "upstream_failed";
	else if (!failed && work->step->rescue)
		work->skipped = "nothing_failed";
	else if (work->refused != NULL)
		work->error = *work->refused;
	if (work->skipped == NULL && work->error.code == ERROR_NONE)
		working_attach(work);
	if (work->skipped == NULL)
		working_continue(work);
	if (recall(work, err) == -1)
		return -1;
	working_enter(work);
	taken = work->skipped == NULL && work->error.code == ERROR_NONE;
	if (taken && work->step->when.text != NULL && ask_when(work, err) == -1)
		return -1;
	taken = work->skipped == NULL && work->error.code == ERROR_NONE;
	if (taken && work->step->spent)
		error_set(&work->error, ERROR_MAX_ITERATIONS, NULL, "no end after %lld rounds",
		    (long long)work->index);
	return 0;
}

/* The start, which makes the claim stand, and then the work, or what stands for it. */
static int
carry_out(struct working *work, struct error *err)
{
	const struct recall *recall = work->step->recall;

	if (work->recalls)
		recall->claimed(recall->history, &work->recalled);
	if (work->skipped != NULL || work->error.code != ERROR_NONE)
		return 0;
	if (work->step->terminal != NULL) {
		working_end_run(work);
		return 0;
	}
	if (working_repeat_retries(work, err) == -1)
		return -1;
	if (!working_stands(work)) {
		if (working_run(work, err) == -1)
			return -1;
		working_end_around(work);
	}
	return asks_until(work) ? ask_until(work, err) : 0;
}

/* The data is not told where it might be masked, as what is told is not. Neither within a
 * call: what is told there is recorded as the call's stderr, beside the data itself, and
 * a replay compares it. */
void
step_label(const struct step *s, const struct item *item, int64_t index, struct buffer *out)
{
	buffer_text(out, s->name);
	if (index <= 0)
		return;
	buffer_format(out, "[%lld]", (long long)index);
	if (*s->enclosing == '\0' && !s->run->transcript.masked && !data_binary(&item->data))
		item_name(span_of(buffer_string(&item->data.json), item->data.json.len), out);
}

static void
report(const struct working *work, const struct error *error, struct step_result *result)
{
	char text[sizeof error->place + sizeof error->message + 4];
	struct buffer label = BUFFER_INIT;

	step_label(work->step, work->item, work->index, &label);
	snprintf(result->report, sizeof result->report, "%s: %s", buffer_string(&label),
	    error_text(error, text, sizeof text));
	buffer_free(&label);
}

static int
failure_status(enum error_code code)
{
	if (code == ERROR_NONE)
		return STATUS_OK;
	return code == ERROR_WAITING ? STATUS_WAITING : STATUS_WORK;
}

/* What was decided, where our own end came too late. */
static void
report_decision(const struct working *work, struct step_result *result)
{
	char *by = span_text(span_path(recalled_result(&work->recalled)->view.payload, "approval",
	    "by", NULL));

	if (work->outdone && recalled_decided(&work->recalled))
		snprintf(result->report, sizeof result->report, "%s: %s has decided meanwhile",
		    work->id, by != NULL ? by : "somebody");
	free(by);
}

static void
conclude(const struct working *work, struct step_result *result)
{
	bool gone, fails = working_fails(work);

	result->skipped = work->skipped != NULL;
	result->until = work->until.yes;
	result->told = work->told;
	result->error = work->error;
	memcpy(result->ended, work->completed.id, ID_SIZE);
	if (work->skipped != NULL || working_passes_item(work)) {
		result->status = failure_status(passed_code(work->item));
		working_pass_item(work, &result->out);
		return;
	}
	if (work->error.code == ERROR_NONE) {
		working_put_results(work, &result->out);
		if (work->lost.code != ERROR_NONE)
			report(work, &work->lost, result);
		else
			report_decision(work, result);
		return;
	}
	if (fails)
		result->status = failure_status(work->error.code);
	gone = work->error.code == ERROR_DOWNSTREAM_CLOSED && !work->told;
	result->gone = gone && working_replays(work);
	result->closed = gone && !result->gone;
	result->stop = result->closed || (work->error.code == ERROR_CANCELLED && !work->told);
	if (gone)
		return;
	working_put_failure(work, &result->out);
	if (fails)
		report(work, &work->error, result);
}

static int
finish(struct working *work, struct step_result *result, struct error *err)
{
	int done = working_append_completed(work, err);

	if (done == 0)
		conclude(work, result);
	working_free(work);
	return done;
}

struct recall_query
step_query(const struct step *s, int64_t index)
{
	const char *occurrence = strrchr(s->process, ':');

	return (struct recall_query){ .enclosing = s->enclosing, .root = s->root, .name = s->name,
		.item = index, .member = s->member,
		.occurrence = occurrence != NULL ? strtoll(occurrence + 1, NULL, 10) : -1 };
}

bool
step_expects(struct step *s, const struct item *item, int64_t index)
{
	struct recall_query query = step_query(s, index);
	bool failed = item_error(item).at != NULL, expects = true;
	struct buffer causes = BUFFER_INIT;
	struct working work;

	/* What an agent goes on with is known once those before it have ended. */
	if (failed != s->rescue || (s->agent != NULL && s->agent->continue_from != NULL))
		return true;
	step_causes(item, &causes);
	working_begin(&work, s, item, &causes, index);
	buffer_free(&causes);
	working_attach(&work);
	query.input_sha256 = work.input_sha256;
	query.definition_sha256 = s->definition_sha256;
	if (work.error.code == ERROR_NONE)
		expects = s->recall->expect(s->recall->history, &query);
	working_free(&work);
	return expects;
}

int
step_call(struct step *s, const struct item *item, const struct buffer *causes,
    const struct error *refused, int64_t index, struct step_result *result, struct error *err)
{
	struct working work;

	working_begin(&work, s, item, causes, index);
	work.refused = refused;
	if (decide(&work, err) == -1 ||
	    (!work.beyond && working_append_started(&work, err) == -1)) {
		working_free(&work);
		return -1;
	}
	if (work.beyond) {
		result->stop = result->closed = true;
		working_free(&work);
		return 0;
	}
	if (carry_out(&work, err) == -1) {
		/* The disk may be the trouble: the end is recorded if it can be. */
		if (err != NULL && work.error.code == ERROR_NONE)
			work.error = *err;
		working_append_completed(&work, NULL);
		working_free(&work);
		return -1;
	}
	return finish(&work, result, err);
}

int
step_fail(struct step *s, const struct item *item, const struct error *why, int64_t index,
    struct step_result *result, struct error *err)
{
	struct buffer causes = BUFFER_INIT;
	struct error recorded;
	enum error_code code;
	struct working work;
	int begun;

	step_causes(item, &causes);
	working_begin(&work, s, item, &causes, index);
	buffer_free(&causes);
	work.error = *why;
	begun = recall(&work, err) == -1 ? -1 : working_append_started(&work, err);
	if (begun == 0 && work.recalls)
		s->recall->claimed(s->recall->history, &work.recalled);
	if (begun == -1) {
		working_free(&work);
		return -1;
	}
	/* In a replay of a child nobody knows who wrote its input, and died. */
	if (why->code == ERROR_NO_INPUT && work.recalls && working_replays(&work) &&
	    recalled_error(&work.recalled.completed, &recorded) &&
	    recorded.code == ERROR_UPSTREAM_INCOMPLETE)
		work.error = recorded;
	code = work.error.code;
	begun = finish(&work, result, err);
	result->status = error_status(code);
	return begun;
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

int
step_start_provider(struct step *s, struct error *err)
{
	if (s->team == NULL)
		return 0;
	team_connect(s->team, s->keys, s->path);
	return provider_start(s->team->members[0]->provider, err);
}

/* The step's prompt is the first member's: in this order calls of earlier recordings are
 * known again. */
static void
define_member(const struct step *s, const struct member *m, struct writer *w)
{
	bool first = m == s->team->members[0];
	struct buffer params = BUFFER_INIT;

	writer_string(w, m->agent.sha256);
	if (first)
		writer_string(w, s->prompt);
	writer_string(w, m->agent.provider);
	writer_string(w, m->agent.model);
	for (size_t i = 0; i < m->agent.fallback.count; i++) {
		writer_string(w, m->agent.fallback.list[i].provider);
		writer_string(w, m->agent.fallback.list[i].model);
	}
	if (first && s->prompt != NULL && strstr(s->prompt, "inputs.") != NULL)
		writer_raw(w, buffer_string(&s->inputs), s->inputs.len);
	if (m->agent.params != NULL) {
		value_write(m->agent.params, &params);
		writer_raw(w, params.data, params.len);
	}
	for (size_t i = 0; i < m->tool_count; i++)
		writer_string(w, m->tools[i].sha256);
	if (m->stop.name != NULL)
		writer_string(w, m->stop.sha256);
	for (size_t i = 0; i < m->server_count; i++)
		writer_raw(w, m->servers[i]->definition.text.data, m->servers[i]->definition.text.len);
	for (char *const *name = m->allowed; m->server_count > 0 && name != NULL && *name != NULL; name++)
		writer_string(w, *name);
	if (m->agent.output.path != NULL)
		writer_raw(w, m->agent.output.text.data, m->agent.output.text.len);
	buffer_free(&params);
}

/* --max is a limit, unless nothing else ends the loop: then it says what is done. */
static void
define_group(const struct step *s, struct writer *w)
{
	writer_integer(w, (int64_t)s->group);
	if (s->group == GROUP_PARALLEL)
		writer_string(w, step_strategies[s->strategy]);
	if (s->group != GROUP_LOOP)
		return;
	writer_string(w, s->until.text);
	writer_string(w, s->proceed.text);
	if (s->until.text == NULL && s->proceed.text == NULL)
		writer_integer(w, s->max_rounds);
}

void
step_define(struct step *s)
{
	struct buffer text = BUFFER_INIT;
	struct writer w;
	size_t i;

	writer_begin(&w, &text);
	writer_array(&w);
	for (i = 0; s->command != NULL && s->command[i] != NULL; i++)
		writer_string(&w, s->command[i]);
	if (s->feed_state)
		writer_string(&w, "-e");
	if (s->output != OUTPUT_TEXT)
		writer_integer(&w, (int64_t)s->output);
	if (s->into != NULL)
		writer_string(&w, s->into);
	if (s->terminal != NULL)
		writer_string(&w, s->terminal);
	if (s->group != GROUP_NONE)
		define_group(s, &w);
	for (i = 0; s->team != NULL && i < s->team->count; i++)
		define_member(s, s->team->members[i], &w);
	if (s->team != NULL && s->team->policy != TOOLS_UNSAID)
		writer_string(&w, tools_policy_name(s->team->policy));
	if (s->operation != NULL)
		writer_string(&w, s->operation->sha256);
	if (s->approve)
		writer_string(&w, "--approve");
	writer_array_end(&w);
	digest_sha256(text.data, text.len, s->definition_sha256);
	buffer_free(&text);
}

static int
describe_request(struct step *s, const struct item *item, struct buffer *out, struct error *err)
{
	struct working work = { .step = s, .item = item, .changed = CHANGED_INIT };
	struct span data = span_of(item->data.json.data, item->data.json.len);
	struct buffer prompt = BUFFER_INIT;
	struct turns t = { .member = s->team->members[0], .environment = &s->environment,
		.keys = s->keys, .sandbox = &s->sandbox, .attachments = &work.attachments,
		.shown = s->shown, .step = s->path != NULL ? s->path : s->name };
	int result = prompt_render(s->prompt, data, span_of(s->inputs.data, s->inputs.len),
	    s->prompt_place, &prompt, err);

	working_attach(&work);
	if (result == 0 && work.error.code != ERROR_NONE) {
		*err = work.error;
		result = -1;
	}
	t.prompt = span_of(buffer_string(&prompt), prompt.len);
	if (result == 0)
		result = turns_request(&t, out, err);
	if (result == 0)
		buffer_byte(out, '\n');
	buffer_free(&prompt);
	attachments_free(&work.attachments);
	buffer_free(&work.attached);
	return result;
}

static void
describe_work(const struct step *s, struct writer *w)
{
	if (s->operation != NULL)
		writer_member_string(w, "tool", s->operation->name);
	if (s->approve)
		writer_member_bool(w, "approve", true);
	writer_member_string(w, "terminal", s->terminal);
	if (s->command == NULL)
		return;
	writer_key(w, s->group == GROUP_PARALLEL ? "branches" : "command");
	writer_array(w);
	for (char *const *word = s->command; *word != NULL; word++)
		writer_string(w, *word);
	writer_array_end(w);
}

int
step_describe(struct step *s, const struct item *item, struct buffer *out, struct error *err)
{
	struct span data = span_of(item->data.json.data, item->data.json.len);
	struct writer w;

	if (s->team != NULL)
		return describe_request(s, item, out, err);
	writer_begin(&w, out);
	writer_object(&w);
	describe_work(s, &w);
	writer_member_span(&w, "input", data);
	writer_object_end(&w);
	buffer_byte(out, '\n');
	return 0;
}
