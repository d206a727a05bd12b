/*
 * All calls of an answer are prepared before any of them runs (looked up, checked, recalled), then
 * run in batches: as many as may run at once, else one. All calls of a batch are recorded before it
 * runs, and synced by then if they may change something; their results are recorded in order after
 * it. A call that is refused gets a result without having run.
 *
 * A recorded call is found by id, name and arguments among those that follow the same answer. A
 * resume takes its result, or stops if it is unknown whether the call was done. A replay takes the
 * results of effects outside, and makes all other calls again, to compare them.
 */
#include "turn/toolrun.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "definitions/sandboxing.h"
#include "definitions/trust.h"
#include "formats/content.h"
#include "io/file.h"
#include "json/writer.h"
#include "proc/last_words.h"
#include "proc/message.h"
#include "proc/provider_variables.h"
#include "storage/traceparent.h"
#include "transcript/event_keys.h"
#include "turn/approve.h"
#include "turn/result_cut.h"
#include "turn/sync_beside.h"
#include "view/live.h"
#include "workspace/sandbox_environment.h"

void
tool_runs_begin(struct tool_runs *r, struct turns *t, const struct offer *offer,
    const char *cause)
{
	*r = (struct tool_runs){ .turns = t, .offer = offer, .cause = cause };
}

void
tool_runs_add(struct tool_runs *r, struct span name, struct span call_id, struct span input)
{
	char *texts[] = { span_text(name), span_text(call_id) };
	struct tool_run *run;

	r->list = memory_array(r->list, r->count + 1, sizeof *r->list);
	run = &r->list[r->count++];
	memset(run, 0, sizeof *run);
	run->name = texts[0] == NULL ? memory_text("") : texts[0];
	run->call_id = texts[1] == NULL ? memory_text("") : texts[1];
	run->input = run->asked = input.at == NULL ? span_of("{}", 2) : input;
	run->changed = (struct changed)CHANGED_INIT;
}

/* A block with a fidelity was run by the program that made the answer. */
void
tool_runs_take(struct tool_runs *r, struct span blocks)
{
	for (struct span_walk block = span_walk(blocks); span_next(&block);)
		if (span_is(span_member(block.value, KEY_TYPE), "tool_use") &&
		    span_member(block.value, KEY_FIDELITY).at == NULL)
			tool_runs_add(r, span_member(block.value, KEY_TOOL_NAME),
			    span_member(block.value, KEY_TOOL_ID),
			    span_member(block.value, KEY_TOOL_INPUT));
}

static bool
run_take(struct tool_run *run, const struct offer *offer)
{
	const struct offered *offered = offer == NULL ? NULL : offer_find(offer, run->name);

	if (offered == NULL)
		return false;
	run->tool = offered->tool;
	run->control = offered->control;
	return true;
}

/* Whether the user has allowed what it would run. A tool that was not offered was not asked
 * about when the step began; the files of any other may have changed since. */
static bool
run_is_trusted(const struct tool_runs *r, struct tool_run *run)
{
	const struct turns *t = r->turns;
	struct trust_items items = { NULL, 0 };

	trust_add_tool_of(&items, t->member == NULL ? NULL : &t->member->agent, run->tool, t->sandbox);
	return trust_check_anew(&items, &run->error) == 0;
}

/* Finds the tool of a call. A tool that was not offered is refused or, if the agent's policy is
 * to warn, searched for. */
static void
run_look_up(const struct tool_runs *r, struct tool_run *run)
{
	const struct turns *t = r->turns;
	struct error why;

	if (run_take(run, r->offer))
		return;
	if (ceiling_forbids(run->name)) {
		error_set(&run->error, ERROR_BLOCKED, NULL, "the run does not allow the tool '%s'",
		    run->name);
		return;
	}
	if (t->member != NULL && t->member->agent.tools_policy == TOOLS_WARN &&
	    (run_take(run, r->withheld) ||
	    tool_load(&run->own, run->name, t->workflow_directory, &why) == 0)) {
		run->tool = run->tool == NULL ? &run->own : run->tool;
		if (run->tool == &run->own && !run_is_trusted(r, run))
			return;
		run->warning = "the agent's list of tools does not allow it";
		return;
	}
	error_set(&run->error, ERROR_BLOCKED, NULL, "the tool '%s' is not allowed", run->name);
}

/* Checks the input of a call. Required members with defaults are filled in; if the call is
 * refused all the same, the input is recorded as it came. The arguments of the stop tool must
 * also be a valid result of the agent. */
static void
run_check(const struct agent *agent, struct tool_run *run)
{
	struct buffer why = BUFFER_INIT;
	bool stops = agent != NULL && agent->stop_tool != NULL &&
	    strcmp(agent->stop_tool, run->name) == 0;

	if (tool_fill_input(run->tool, run->asked, &run->filled))
		run->input = span_of(run->filled.data, run->filled.len);

	/* Arguments that are not JSON come as a string with the model's text. */
	if (span_type(run->input) == 's')
		error_set(&run->error, ERROR_SCHEMA, NULL, agent != NULL ?
		    "the arguments are no JSON object" : "the input is text, the tool takes a JSON "
		    "object (-i json, or -O json of the step before, makes one of it)");
	else if (run->control != NULL && run->control->judges && span_type(run->input) == 'o')
		return;
	else if (tool_check_input(run->tool, run->input, &why) != 0 ||
	    (stops && output_schema_check(&agent->output, run->input, &why) != 0))
		error_set(&run->error, ERROR_SCHEMA, NULL, "the arguments break the schema: %s",
		    buffer_string(&why));
	if (run->error.code != ERROR_NONE)
		run->input = run->asked;
	buffer_free(&why);
}

static void
run_prepare(const struct tool_runs *r, struct tool_run *run)
{
	struct turns *t = r->turns;
	const struct agent *agent = t->member == NULL ? NULL : &t->member->agent;
	struct error why = ERROR_INIT;
	bool works; /* a process does its work: its own, or a server */

	if (run->tool == NULL)
		run_look_up(r, run);
	works = run->tool != NULL && (run->control == NULL || run->control->foreign);
	/* A tool that the step did not load may need a sandbox that cannot be had. */
	if (works && sandboxing_decide(&run->sandbox, t->sandbox, agent, run->tool, &why) == -1)
		error_set(&run->error, ERROR_BLOCKED, NULL, "%s", why.message);
	if (run->tool != NULL && run->error.code == ERROR_NONE)
		run_check(agent, run);
	if (works && ceiling_warns(run->name))
		run->warning = "the run's list of tools does not allow it";
	/* A tool that starts runs may be called as often as the user allowed. */
	if (run->tool != NULL && run->tool->starts_run && run->error.code == ERROR_NONE) {
		if (t->max_children == 0 || t->outcome.children < t->max_children)
			t->outcome.children++;
		else
			error_set(&run->error, ERROR_BLOCKED, NULL,
			    "this call may start no more than %lld runs (--max-children)",
			    (long long)t->max_children);
	}
	run->refused = run->error.code != ERROR_NONE;
}

static bool
tool_run_is_wanted(const struct tool_run *run)
{
	return run->source == TOOL_RUN && run->error.code == ERROR_NONE;
}

/* Whether there is a program to start. */
static bool
tool_run_has_program(const struct tool_run *run)
{
	return tool_run_is_wanted(run) && run->control == NULL;
}

static bool
tool_run_is_concurrent(const struct tool_run *run)
{
	return tool_run_is_wanted(run) && run->tool->concurrent &&
	    (run->control == NULL || run->control->answer_all != NULL);
}

/* Whether the second call may run while the first does: both run programs, or both are answered
 * by the same control. */
static bool
tool_runs_may_overlap(const struct tool_run *a, const struct tool_run *b)
{
	return tool_run_is_concurrent(a) && tool_run_is_concurrent(b) &&
	    (a->control == NULL) == (b->control == NULL) &&
	    (a->control == NULL || a->control->answer_all == b->control->answer_all);
}

/* Checks that what runs outside a sandbox is unchanged since the step began, and that the user
 * has allowed it. */
static void
run_check_pins(const struct tool_runs *r, struct tool_run *run)
{
	if (tool_run_has_program(run) && !sandbox_holds(&run->sandbox))
		run->refused = pins_check(&run->tool->pins, &run->error) == -1 ||
		    (trust_is_checked_anew() && !run_is_trusted(r, run));
}

/* What a model reads of a failed call. */
static void
write_failure_text(const struct error *why, struct span output, const struct buffer *errors,
    struct buffer *text)
{
	const size_t len = strlen(why->message);
	/* The message has all of stderr, as for an error of a sandbox. */
	bool says_all = why->code == ERROR_BLOCKED && len > 0 && errors->len >= len &&
	    errors->len <= len + 1 && memcmp(errors->data, why->message, len) == 0;

	/* All output follows, so the message without its last words is enough. */
	buffer_append(text, why->message, errors->len > 0 || output.len > 0 ? last_words_at(why) : len);
	if (output.len != 0)
		buffer_byte(text, '\n');
	span_plain(output, text);
	if (errors->len != 0 && !says_all) {
		buffer_byte(text, '\n');
		buffer_append(text, errors->data, errors->len);
	}
}

size_t
tool_result_limit(struct span payload)
{
	long long limit = 0;

	return span_integer(span_member(payload, KEY_MAX_RESULT), &limit) && limit > 0 ? (size_t)limit : 0;
}

/* Sets how much of the result the model is given. A recorded result says so itself, as older versions
 * gave all of it. */
static void
run_set_limit(const struct turns *t, struct tool_run *run)
{
	const struct recalled_event *recorded = run->recorded;
	struct buffer failure = BUFFER_INIT;
	size_t limit = 0;
	bool is_long;

	if (recorded != NULL)
		run->limit = tool_result_limit(recorded->view.payload);
	if (recorded != NULL || run->source != TOOL_RUN)
		return;
	if (t->member == NULL || run->tool == NULL || (run->control != NULL && !run->control->foreign))
		return;
	if (run->tool->max_result > 0)
		limit = (size_t)run->tool->max_result;
	else if (!run->tool->own)
		limit = RESULT_LIMIT;
	if (run->error.code == ERROR_NONE) {
		is_long = result_is_long(span_of(buffer_string(&run->output), run->output.len), limit);
	} else {
		write_failure_text(&run->error, span_of(run->output.data, run->output.len),
		    &run->process.errors, &failure);
		is_long = limit > 0 && failure.len > limit;
	}
	run->limit = is_long ? limit : 0;
	buffer_free(&failure);
}

static int
run_record_call(const struct tool_runs *r, struct tool_run *run, struct error *err)
{
	bool runs = run->tool != NULL && !run->refused; /* a call that does not run has no effects */
	struct buffer payload = BUFFER_INIT;
	struct writer w;
	int status;

	writer_begin(&w, &payload);
	writer_object(&w);
	writer_member_string(&w, KEY_NAME, run->name);
	writer_member_string(&w, KEY_CALL_ID, run->call_id);
	writer_member_span(&w, KEY_INPUT, run->input);
	writer_member_string(&w, KEY_EFFECTS,
	    effects_name(runs ? run->tool->effects : EFFECTS_NONE));
	if (runs && run->tool->idempotent)
		writer_member_bool(&w, KEY_IDEMPOTENT, true);
	if (!run->refused)
		sandboxing_write(&run->sandbox, &w);
	writer_member_string(&w, KEY_VIA, runs ? run->tool->via : NULL);
	writer_member_string(&w, KEY_WARNING, run->warning);
	writer_member_string(&w, KEY_FIDELITY, "router");
	writer_object_end(&w);
	if (run->named_call[0] != '\0')
		call_name_next(r->turns->call, run->named_call);
	status = call_event(r->turns->call, EVENT_TOOL_CALL, r->cause, &payload, run->called, err);
	buffer_free(&payload);
	return status;
}

/* Records the result of a call. The next event follows it if it is an operation's. The result of
 * an earlier attempt's call follows this attempt's start too. */
static int
run_record_result(const struct tool_runs *r, struct tool_run *run, struct error *err)
{
	struct call *call = r->turns->call;
	const struct subprocess *process = &run->process;
	struct buffer payload = BUFFER_INIT;
	struct content_blobs blobs;
	struct writer w;
	int status;

	/* A filter masks text: raw bytes stay in the payload, so that it sees them. */
	content_take_blobs(&blobs, call->transcript->masked ? span_of(NULL, 0) :
	    span_of(buffer_string(&run->output), run->output.len));
	writer_begin(&w, &payload);
	writer_object(&w);
	writer_member_string(&w, KEY_NAME, run->name);
	writer_member_string(&w, KEY_CALL_ID, run->call_id);
	if (run->error.code == ERROR_NONE || run->output.len > 0)
		writer_member_buffer(&w, KEY_OUTPUT, blobs.count > 0 ? &blobs.output : &run->output);
	if (run->limit > 0)
		writer_member_integer(&w, KEY_MAX_RESULT, (int64_t)run->limit);
	/* Without its place, which is the name of the tool. */
	if (run->error.code != ERROR_NONE) {
		writer_member_object(&w, KEY_ERROR);
		writer_members_error(&w, &run->error);
		writer_object_end(&w);
	}
	writer_member_integer(&w, KEY_DURATION_MS, process->duration_ms);
	if (process->exit_code > 0)
		writer_member_integer(&w, KEY_EXIT_CODE, process->exit_code);
	far_write(&w, &run->far);
	if (process->errors.len != 0) {
		writer_key(&w, KEY_STDERR);
		writer_bytes(&w, process->errors.data, process->errors.len);
	}
	changed_write(&run->changed, &w);
	writer_member_string(&w, KEY_FIDELITY, "router");
	writer_object_end(&w);
	if (run->named_result[0] != '\0')
		call_name_next(call, run->named_result);
	if (run->source == TOOL_SKIPPED)
		call_follow_recorded(call, run->called, r->turns->started);
	call->raws = blobs.raws;
	call->raw_count = blobs.count;
	status = call_event(call, EVENT_TOOL_RESULT, r->cause == NULL ? NULL : run->called, &payload,
	    run->resulted, err);
	content_free_blobs(&blobs);
	if (run->source == TOOL_SKIPPED)
		call_follow_recorded(call, r->cause, r->turns->started);
	buffer_free(&payload);
	return status;
}

/* ---- recording calls ---- */

static void
tool_run_reuse_result(struct tool_run *run, const struct recalled_event *e)
{
	struct span output = span_member(e->view.payload, KEY_OUTPUT);
	long long exit_code = 0;

	if (!recalled_error(e, &run->error))
		run->error.code = ERROR_NONE;
	span_integer(span_member(e->view.payload, KEY_EXIT_CODE), &exit_code);
	run->process.exit_code = (int)exit_code;
	buffer_clear(&run->output);
	if (output.at != NULL)
		buffer_append(&run->output, output.at, output.len);
	run->limit = tool_result_limit(e->view.payload);
	buffer_clear(&run->process.errors);
	span_decode(span_member(e->view.payload, KEY_STDERR), &run->process.errors);
	changed_free(&run->changed);
	changed_take(&run->changed, e->view.payload);
}

/* What a resume does with a recorded call: takes its result, skips it, or runs it again. -1: it
 * is unknown whether the call was done. */
static int
resume_run(const struct tool_runs *r, struct tool_run *run, const struct recalled_event *called,
    struct error *err)
{
	const struct recalled *recalled = r->turns->recalled;
	const struct recalled_event *result = recalled_tool_result(recalled, called->id);
	struct span effects = span_member(called->view.payload, KEY_EFFECTS);
	bool repeats = span_is(effects, "none") || span_is(effects, "read") ||
	    span_true(span_member(called->view.payload, KEY_IDEMPOTENT));
	/* A result that the model has read stays as it was. */
	bool cut = result == NULL || (!r->went_on && recalled_cut_off(result));
	enum recall_decision decided = recalled_tool_decision(recalled, called);
	struct error error = ERROR_INIT;

	if (!cut && r->cause == NULL && recalled_error(result, &error))
		return 0;
	if (cut && (repeats || decided == RECALL_REDO)) {
		run->cut_off = span_member(called->view.payload, KEY_VIA).at != NULL;
		return 0;
	}
	if (cut && decided != RECALL_SKIP)
		return error_set(err, ERROR_WAITING, run->name,
		    "whether this tool has done its work is not known: resume with --redo or --skip");
	memcpy(run->called, called->id, ID_SIZE);
	if (result != NULL) {
		run->source = TOOL_TAKEN;
		memcpy(run->resulted, result->id, ID_SIZE);
		tool_run_reuse_result(run, result);
		return 0;
	}
	run->source = TOOL_SKIPPED;
	error_set(&run->error, ERROR_INTERRUPTED, NULL,
	    "interrupted: it may have done its work, and was not run again");
	return 0;
}

bool
ended_by_circumstance(const struct recalled *recalled, struct error *error)
{
	return recalled != NULL && recalled->end == RECALL_FAILED &&
	    recalled_error(recalled_result(recalled), error) &&
	    error_is_of_circumstances(error->code);
}

/* The identity of a tool call: an answer is the same event in all attempts. */
static const char *
tool_call_id(const struct tool_runs *r, const struct tool_run *run, char id[ID_SIZE])
{
	char *text = memory_format("%s tool %td", r->cause, run - r->list);

	id_derive(text, id);
	free(text);
	return id;
}

/* Whether the replay continues after the call. */
static bool
replay_run(const struct tool_runs *r, struct tool_run *run, const struct recalled_event *called)
{
	const struct recalled_event *result;
	struct error error = ERROR_INIT;
	char id[ID_SIZE];
	bool outside = run->tool != NULL && (run->tool->effects == EFFECTS_READ ||
	    run->tool->effects == EFFECTS_EXTERNAL);

	if (called == NULL)
		return false;
	outside = outside || span_member(called->view.payload, KEY_VIA).at != NULL;
	memcpy(run->named_call, called->id, ID_SIZE);
	result = recalled_tool_result(r->turns->recalled, called->id);
	if (result == NULL)
		return false;
	memcpy(run->named_result, result->id, ID_SIZE);
	run->recorded = result;
	if (r->answers && recalled_used_before(r->turns->recalled, tool_call_id(r, run, id)))
		outside = true;
	if (outside || (recalled_error(result, &error) && error_is_of_circumstances(error.code))) {
		run->source = TOOL_RECORDED;
		tool_run_reuse_result(run, result);
	}
	return true;
}

/* Takes from the recorded call what need not be run. -1: the call of the step ends, and nothing
 * is run. */
static int
runs_recall(struct tool_runs *r, struct error *err)
{
	const struct recalled *recalled = r->turns->recalled;
	struct error error = ERROR_INIT;

	for (size_t i = 0; recalled != NULL && i < r->reach; i++) {
		struct tool_run *run = &r->list[i];
		struct recall_tool tool = { r->cause, run->name, run->call_id, run->input };
		struct recalled_event *called = recalled_tool_call(recalled, &tool);

		/* It may have been refused in the recording, where now defaults are filled in. */
		tool.input = run->asked;
		if (called == NULL && run->filled.len > 0)
			called = recalled_tool_call(recalled, &tool);
		if (called != NULL)
			called->used = true;
		if (!recalled_replays(recalled)) {
			if (called != NULL && resume_run(r, run, called, err) == -1)
				return -1;
			continue;
		}
		if (replay_run(r, run, called))
			continue;
		/* The recorded step ended before this tool call, or during it. */
		r->reach = i;
		if (ended_by_circumstance(recalled, &r->ending))
			continue;
		if (run->named_call[0] == '\0')
			error_set(&r->ending, ERROR_DIVERGENCE, run->name,
			    "the recording has no such call of this tool");
		else if (recalled->end != RECALL_FAILED ||
		    !recalled_error(recalled_result(recalled), &r->ending))
			error_set(&r->ending, ERROR_DIVERGENCE, run->name,
			    "the recording ends in this tool's call");
	}

	/* A tool that was ended together with the whole call has a result, and nothing follows
	 * it. */
	if (recalled_replays(recalled) && r->reach == r->count && r->count > 0 && !r->went_on &&
	    recalled_cut_off(r->list[r->count - 1].recorded) &&
	    ended_by_circumstance(recalled, &error))
		r->ending = error;
	return 0;
}

/* Whether a run had the recorded outcome; ERROR_DIVERGENCE if not. */
static int
run_compare(const struct tool_run *run, struct error *err)
{
	struct error recorded = ERROR_INIT;
	struct span output;

	if (run->recorded == NULL || run->source == TOOL_RECORDED)
		return 0;
	output = span_member(run->recorded->view.payload, KEY_OUTPUT);
	if (recalled_error(run->recorded, &recorded)) {
		size_t len = last_words_at(&recorded);

		if (recorded.code == run->error.code && len == last_words_at(&run->error) &&
		    memcmp(recorded.message, run->error.message, len) == 0)
			return 0;
		return error_set(err, ERROR_DIVERGENCE, run->name, run->error.code == ERROR_NONE ?
		    "it succeeded, the recorded one failed: %s" :
		    "it failed in another way than the recorded one: %s", recorded.message);
	}
	if (run->error.code != ERROR_NONE)
		return error_set(err, ERROR_DIVERGENCE, run->name,
		    "it failed, the recorded one did not: %s", run->error.message);
	if (span_same(output, span_of(run->output.data, run->output.len)))
		return 0;
	return error_set(err, ERROR_DIVERGENCE, run->name,
	    "its result is %.*s, the recorded one %.*s",
	    run->output.len > 120 ? 120 : (int)run->output.len, buffer_string(&run->output),
	    output.len > 120 ? 120 : (int)output.len, output.at);
}

/* ---- running ---- */

/* On another machine: its program, AWF's own too, and its sandbox are those of that machine. */
static struct subprocess
far_process(const struct turns *t, struct tool_run *run, const struct buffer *input)
{
	const struct tool *tool = run->tool;

	run->far_variables = far_environment(&run->environment, tool->environment, t->call->id);
	if (sandbox_holds(&run->sandbox))
		run->far_sandbox = sandbox_words(&run->sandbox, NULL, NULL, tool->environment);
	run->via = (struct via){ .launcher = tool->via, .argv = tool->argv,
		.environment = run->far_variables, .sandbox = run->far_sandbox,
		.own = strncmp(tool->argv[0], TOOL_OWN_PREFIX, strlen(TOOL_OWN_PREFIX)) == 0 };
	return (struct subprocess){ .name = run->name, .environment = run->environment.list,
		.input = input->data, .input_len = input->len, .via = &run->via,
		.timeout_ms = turns_time(t, tool->timeout_ms) };
}

/* Calls that a tool makes are recorded as following the tool's call, and are identified by it in
 * each attempt. Agent CLIs answer anew, and call what they like. */
static void
run_name_place(const struct tool_runs *r, struct tool_run *run)
{
	char id[ID_SIZE];

	environment_set(&run->environment, "AWF_PARENT", run->called);
	traceparent_enter(&run->environment, run->called);
	if (r->answers)
		environment_set(&run->environment, CALL_TOOL, tool_call_id(r, run, id));
}

/* Whether it is AWF's bash tool, and others may see what it prints. */
static bool
tool_run_frames_output(const struct turns *t, const struct tool_run *run)
{
	return t->live_place != NULL && run->tool->via == NULL && run->tool->argv != NULL &&
	    strcmp(path_base(run->tool->argv[0]), TOOL_OWN_PREFIX "bash") == 0;
}

/* The process of a tool, which reads the input from stdin. alone: no other tool runs at the same
 * time. */
static struct subprocess
run_process(const struct tool_runs *r, struct tool_run *run, const struct buffer *input, bool alone)
{
	const struct turns *t = r->turns;
	const struct tool *tool = run->tool;
	const struct timespec *loaded = &tool->loaded;
	char **argv, **readable = NULL, text[48], *path, *results = NULL;

	/* The environment of all tools, with the keys that this tool names. */
	environment_copy(&run->environment, t->environment);
	run_name_place(r, run);
	if (tool->starts_run) {
		/* A workflow that was written since then may be the work of a sandboxed program. */
		snprintf(text, sizeof text, "%lld.%09ld", (long long)loaded->tv_sec, loaded->tv_nsec);
		environment_set(&run->environment, TOOL_LOADED, text);
	}
	for (char **name = tool->environment; name != NULL && *name != NULL; name++) {
		const char *value = keys_value(t->keys, *name);

		if (value != NULL && tool->via == NULL && sandbox_holds(&run->sandbox))
			sandbox_set_variable(&run->environment, *name, value);
		else if (value != NULL)
			environment_set(&run->environment, *name, value);
	}

	if (tool->via != NULL)
		return far_process(t, run, input);
	if (t->run_directory != NULL && strcmp(path_base(tool->argv[0]), TOOL_OWN_PREFIX "read") == 0)
		results = result_directory(t->run_directory);
	if (results != NULL && sandbox_holds(&run->sandbox)) {
		/* Told even if it does not exist yet, or ever: it says where no result is. */
		sandbox_set_variable(&run->environment, TOOL_RESULTS, results);
		if (access(results, F_OK) == 0)
			list_add(&readable, results);
	} else if (results != NULL) {
		environment_set(&run->environment, TOOL_RESULTS, results);
	}
	free(results);
	if (tool_run_frames_output(t, run)) {
		if (sandbox_holds(&run->sandbox))
			sandbox_set_variable(&run->environment, TOOL_SHOWS, "1");
		else
			environment_set(&run->environment, TOOL_SHOWS, "1");
	}

	/* Sets the command line, in the tool's sandbox if it has one. Files next to the tool's
	 * file belong to the tool, those next to a skill's to the agent. */
	if (!sandbox_holds(&run->sandbox)) {
		argv = list_copy(tool->argv);
	} else {
		char *const *directory = t->member == NULL ? NULL : t->member->agent.prompt.skill_directories;

		list_take(&readable, path_directory(tool->path));
		for (; directory != NULL && *directory != NULL; directory++)
			list_add(&readable, *directory);
		run->sandbox.told = t->sandbox->told;
		argv = sandbox_argv(&run->sandbox, NULL, readable, NULL, tool->argv);
		t->sandbox->told = true;
		list_free(readable);
	}

	/* Look at the files that it will change before it runs. A replay has nothing to compare
	 * a look at the whole workspace with. */
	if (tool->changes != NULL) {
		path = span_text(span_member(run->input, tool->changes));
		if (path != NULL)
			changed_begin_file(&run->changed, path);
		free(path);
	} else if (tool->effects == EFFECTS_WORKSPACE && !recalled_replays(t->recalled)) {
		changed_begin_all(&run->changed, t->run_directory);
		if (!alone)
			changed_share(&run->changed);
	}
	return (struct subprocess){ .argv = argv, .name = run->name,
	    .output_limit = t->member != NULL ? CONTENT_BYTES_LIMIT : 0,
	    .environment = run->environment.list, .input = input->data, .input_len = input->len,
	    .timeout_ms = turns_time(t, tool->timeout_ms) };
}

/* Programs run by tools fail now and then: a variable that the tool did not get is reported only
 * if its message names the variable. */
static void
tool_run_print_hint(const struct turns *t, const struct tool_run *run)
{
	struct buffer line = BUFFER_INIT, said = BUFFER_INIT;

	/* The output of a shell tool has both stdout and stderr. */
	buffer_append(&said, run->process.errors.data, run->process.errors.len);
	buffer_byte(&said, '\n');
	buffer_append(&said, run->process.output.data, run->process.output.len);
	if (sandbox_environment_hint_of(&run->environment, run->tool->environment, run->sandbox.passed,
	    t->run_directory, said.data, said.len, true, &line))
		message_print("awf-step", "%s: %s", run->name, buffer_string(&line));
	buffer_free(&said);
	buffer_free(&line);
}

/* Takes over the outcome of a run. If it failed, its output is kept if it is valid. Keys that
 * the tool was given are not recorded with its messages. */
static void
tool_run_finish(const struct turns *t, struct tool_run *run)
{
	const struct buffer *output = &run->process.output;
	struct buffer why = BUFFER_INIT;
	bool prints_key = false;

	for (char **name = run->tool->environment; name != NULL && *name != NULL; name++) {
		const char *value = keys_value(t->keys, *name);

		subprocess_hide(&run->process, value);
		prints_key = prints_key || text_has(output->data, output->len, value);
	}
	run->error = run->process.error;
	if (run->process.via != NULL)
		far_take(&run->far, &run->via);
	if (sandbox_holds(&run->sandbox))
		sandbox_blocked(run->process.exit_code, run->process.errors.data, run->process.errors.len,
		    &run->error);
	if (sandbox_holds(&run->sandbox) && run->process.via == NULL &&
	    run->error.code == ERROR_EXIT_STATUS)
		tool_run_print_hint(t, run);
	if ((run->error.code == ERROR_NONE || output->len > 0) &&
	    tool_result(run->tool, buffer_string(&run->process.output), output->len, &run->output,
	    &why) != 0 && run->error.code == ERROR_NONE)
		error_set(&run->error, ERROR_SCHEMA, run->name,
		    "the tool's output breaks its schema: %s",
		    prints_key ? "it has a key in it" : buffer_string(&why));
	content_take(&run->output, t->member != NULL ? CONTENT_BYTES_LIMIT : 0, &run->error);
	/* A tool that wrote nothing to stderr may give the reason on stdout, as AWF's bash tool
	 * does. */
	if (run->error.code == ERROR_EXIT_STATUS && run->process.errors.len == 0 && !prints_key) {
		buffer_clear(&why);
		span_plain(span_of(buffer_string(&run->output), run->output.len), &why);
		last_words_add(&run->error, buffer_string(&why), why.len);
	}
	buffer_free(&run->process.output);
	buffer_free(&why);
}

/* Copies what a tool prints to the run's live files (view/live.h), with its API keys hidden. */
static void
run_show_output(const struct turns *t, struct tool_run *run, struct live_output *shown,
    struct subprocess *process)
{
	live_output_begin(shown, t->live_place, run->called,
	    &(struct live_source){ t->started, run->name, run->call_id });
	for (char **name = run->tool->environment; name != NULL && *name != NULL; name++)
		live_output_hide(shown, keys_value(t->keys, *name));
	/* Those that all tools were given. */
	for (const char *const *name = provider_key_names(); *name != NULL; name++)
		live_output_hide(shown, environment_get(&run->environment, *name));
	for (size_t i = 0; t->keys != NULL && i < t->keys->count; i++)
		live_output_hide(shown, environment_get(&run->environment, t->keys->names[i]));
	process->shows.add = live_output_add;
	process->shows.due = live_output_flush;
	process->shows.context = shown;
	process->shows.framed = tool_run_frames_output(t, run);
}

/* Runs those calls of a batch that are to run, all at once. */
static int
batch_start(const struct tool_runs *r, struct tool_run *batch, size_t count,
    struct error *err)
{
	struct subprocess *processes = memory_zero(count, sizeof *processes);
	struct buffer *inputs = memory_zero(count, sizeof *inputs);
	struct live_output *shown = memory_zero(count, sizeof *shown);
	int status;

	for (size_t i = 0; i < count; i++) {
		buffer_append(&inputs[i], batch[i].input.at, batch[i].input.len);
		buffer_byte(&inputs[i], '\n');
		processes[i] = run_process(r, &batch[i], &inputs[i], count == 1);
		run_show_output(r->turns, &batch[i], &shown[i], &processes[i]);
		if (processes[i].via != NULL)
			via_prepare(processes[i].via, err); /* if no files have to be sent, this
			                                       cannot fail */
	}
	status = subprocesses_run(processes, count, r->turns->interrupts, err);
	for (size_t i = 0; i < count; i++) {
		changed_end(&batch[i].changed);
		live_output_end(&shown[i]);
		batch[i].process = processes[i];
		tool_run_finish(r->turns, &batch[i]);
		batch[i].process.argv = NULL;
		if (batch[i].process.via != NULL)
			via_free(batch[i].process.via);
		batch[i].process.via = NULL;
		list_free((char **)(uintptr_t)processes[i].argv);
		buffer_free(&inputs[i]);
	}
	free(processes);
	free(inputs);
	free(shown);
	return status;
}

/* Lets the control that answers a batch answer it. */
static int
batch_answer(struct tool_run *batch, size_t count, struct error *err)
{
	const struct control *control = batch->control;

	if (control->answer_all != NULL)
		return control->answer_all(batch, count, err);
	if (control->answer(control->context, batch, err) == 0)
		return 0;
	batch->error = *err;
	return -1;
}

/* Runs a batch: calls of programs, or of control tools, or one call that is not to run. */
static int
batch_run(struct tool_runs *r, struct tool_run *batch, size_t count, struct error *err)
{
	const struct turns *t = r->turns;
	const struct control *control = batch->control;
	struct error failure = ERROR_INIT; /* the first failure that ends the whole call */
	bool runs = tool_run_has_program(batch), answers = tool_run_is_wanted(batch) && !runs;
	bool works = runs || (answers && control->foreign), effects = false, beside = false;
	struct sync_beside sync;

	if (works && interrupts_arrived(t->interrupts, err))
		return -1;
	for (size_t i = 0; i < count; i++)
		if (batch[i].source != TOOL_TAKEN && batch[i].source != TOOL_SKIPPED &&
		    run_record_call(r, &batch[i], err) == -1)
			return -1;
	r->turns->outcome.tool_calls += (int64_t)count;

	/* The answer that asked for the call must be on disk before the call begins, and so must
	 * the calls if they may change something; otherwise they are synced while the call runs,
	 * and before its result is recorded. */
	for (size_t i = 0; (runs || answers) && i < count; i++)
		effects = effects || (batch[i].tool->effects != EFFECTS_NONE &&
		    batch[i].tool->effects != EFFECTS_READ);
	if (effects || (works && !r->synced)) {
		r->synced = true;
		beside = runs && !effects;
		if (!beside && call_sync(t->call, err) == -1)
			return -1;
	}
	for (size_t i = 0; i < count && runs; i++)
		if (batch[i].cut_off && clock_monotonic() < t->far_gone &&
		    interrupts_sleep(t->interrupts, t->far_gone - clock_monotonic(), err) == -1)
			return -1;
	if (beside)
		sync_begin(&sync, t->call->transcript);
	if (runs)
		batch_start(r, batch, count, &failure);
	else if (answers)
		batch_answer(batch, count, &failure);
	if (beside && sync_end(&sync, err) == -1)
		return -1;

	for (size_t i = 0; i < count; i++) {
		const struct error *error = &batch[i].error;

		if (batch[i].source == TOOL_TAKEN)
			continue;
		run_set_limit(t, &batch[i]);
		if (run_record_result(r, &batch[i], err) == -1)
			return -1;
		/* A run may have ended because the whole call had to end. */
		if (failure.code == ERROR_NONE && batch[i].source == TOOL_RUN &&
		    (error->code == ERROR_CANCELLED || error->code == ERROR_DOWNSTREAM_CLOSED ||
		    (error->code == ERROR_TIMEOUT && t->deadline != 0 &&
		    clock_monotonic() >= t->deadline)))
			failure = *error;
		if (failure.code == ERROR_NONE)
			run_compare(&batch[i], &failure);
	}
	if (failure.code != ERROR_NONE) {
		*err = failure;
		return -1;
	}
	for (size_t i = 0; i < count; i++) {
		control = batch[i].control;
		if (control != NULL && control->settle != NULL)
			control->settle(control->context, &batch[i]);
	}
	return 0;
}

/* Checks arguments that a person has edited as those of a model. */
static void
run_check_edited(const struct tool_runs *r, struct tool_run *run)
{
	const struct turns *t = r->turns;

	buffer_clear(&run->filled);
	run_check(t->member == NULL ? NULL : &t->member->agent, run);
	run->refused = run->error.code != ERROR_NONE;
}

int
tool_runs_run(struct tool_runs *r, struct error *err)
{
	size_t first, end;
	bool edited;

	for (size_t i = 0; i < r->count; i++)
		run_prepare(r, &r->list[i]);
	if (tool_runs_approve(r, &edited, err) == -1)
		return -1;
	for (size_t i = 0; edited && i < r->count; i++)
		if (r->list[i].edited.len > 0)
			run_check_edited(r, &r->list[i]);
	r->reach = r->count;
	if (runs_recall(r, err) == -1)
		return -1;
	for (first = 0; first < r->reach; first = end) {
		run_check_pins(r, &r->list[first]);
		for (end = first + 1; tool_run_is_concurrent(&r->list[first]) && end < r->reach;
		    end++) {
			run_check_pins(r, &r->list[end]);
			if (!tool_runs_may_overlap(&r->list[first], &r->list[end]))
				break;
		}
		if (batch_run(r, r->list + first, end - first, err) == -1)
			return -1;
	}
	if (r->ending.code == ERROR_NONE)
		return 0;
	/* The recorded call ended here, perhaps during a tool call. */
	if (r->reach < r->count && r->list[r->reach].named_call[0] != '\0' &&
	    run_record_call(r, &r->list[r->reach], err) == -1)
		return -1;
	*err = r->ending;
	return -1;
}

void
tool_write_failure(struct writer *w, const struct error *why, struct span output,
    const struct buffer *errors, size_t limit, const char *call_id, const char *directory)
{
	struct buffer text = BUFFER_INIT;

	write_failure_text(why, output, errors, &text);
	result_cut(&text, limit, call_id, directory);
	writer_key(w, KEY_TOOL_CONTENT);
	writer_bytes(w, text.data, text.len);
	writer_member_bool(w, KEY_IS_ERROR, true);
	buffer_free(&text);
}

void
tool_write_output(struct writer *w, struct span output, size_t limit, const char *call_id,
    const char *directory)
{
	struct buffer text = BUFFER_INIT;

	if (limit == 0) {
		content_write(w, output);
		return;
	}
	span_plain(output, &text);
	result_cut(&text, limit, call_id, directory);
	writer_key(w, KEY_TOOL_CONTENT);
	writer_bytes(w, text.data, text.len);
	buffer_free(&text);
}

void
tool_runs_blocks(const struct tool_runs *r, struct buffer *out)
{
	const struct turns *t = r->turns;
	/* A masked run keeps nothing that did not pass its filter. */
	char *directory = t->run_directory == NULL || t->call->transcript->masked ? NULL :
	    result_directory(t->run_directory);
	struct writer w;

	writer_begin(&w, out);
	for (size_t i = 0; i < r->count; i++) {
		const struct tool_run *run = &r->list[i];

		writer_object(&w);
		writer_member_string(&w, KEY_TYPE, "tool_result");
		writer_member_string(&w, KEY_TOOL_ID, run->call_id);
		if (run->error.code == ERROR_NONE)
			tool_write_output(&w, span_of(buffer_string(&run->output), run->output.len),
			    run->limit, run->call_id, directory);
		else
			tool_write_failure(&w, &run->error,
			    span_of(run->output.data, run->output.len), &run->process.errors,
			    run->limit, run->call_id, directory);
		writer_object_end(&w);
	}
	free(directory);
}

void
tool_runs_free(struct tool_runs *r)
{
	for (size_t i = 0; i < r->count; i++) {
		struct tool_run *run = &r->list[i];

		free(run->name);
		free(run->call_id);
		buffer_free(&run->filled);
		buffer_free(&run->edited);
		buffer_free(&run->output);
		subprocess_free(&run->process);
		changed_free(&run->changed);
		list_free(run->far_variables);
		list_free(run->far_sandbox);
		environment_free(&run->environment);
		tool_free(&run->own);
	}
	free(r->list);
	memset(r, 0, sizeof *r);
}
