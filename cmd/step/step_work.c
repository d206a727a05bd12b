/*
 * The work of a call: of a command, which may be a body, of an operation (-t), of an agent;
 * a group's is in group.c, an approval's in step_approve.c.
 *
 * Commands and operations are done in tries: each sets the call's error anew, and the loop
 * around them decides. A try is not repeated if it may have had an effect, or if something in
 * it had one. An agent sees to its tries itself.
 *
 * A condition is shell text that reads a state line. In a resume a recorded answer is taken; a
 * replay asks again, and another answer than the recorded one is the call's error.
 */
#include "step/step_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/prompt.h"
#include "agent/retried.h"
#include "agent/turn.h"
#include "base/file.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/patience.h"
#include "base/terminal.h"
#include "proc/api_keys.h"
#include "proc/last_words.h"
#include "proc/message.h"
#include "proc/subprocess.h"
#include "run/live.h"
#include "run/roster.h"
#include "run/sandbox_environment.h"
#include "run/screen.h"
#include "run/told_failures.h"
#include "step/models.h"
#include "transcript/event_keys.h"

/* ---- a command ---- */

/* Stdout as results. */
static void
take_output(struct step_end *to, enum output_form form, const struct buffer *output)
{
	const char *bytes = buffer_string(output);
	size_t len = output->len, mark;

	if (form == OUTPUT_TEXT) {
		struct data data = { BUFFER_INIT, false, false };

		data_from_text(&data, bytes, len);
		step_add_result(to, &data);
		return;
	}
	mark = form == OUTPUT_JSON ? text_byte_order_mark(bytes, len) : 0;
	bytes += mark;
	len -= mark;
	while (form == OUTPUT_JSON ? span_trim(span_of(bytes, len)).len > 0 : len > 0) {
		struct data data = { BUFFER_INIT, false, false };
		const char *end, *wrong;
		size_t part, bad;

		if (form == OUTPUT_JSON) {
			wrong = scan_value(bytes, len, SCAN_DEPTH, &part, &bad);
			if (wrong != NULL) {
				error_set(&to->error, ERROR_SCHEMA, NULL, "stdout is no JSON: %s", wrong);
				return;
			}
			scan_minify(span_of(bytes, part), &data.json);
		} else {
			/* A line feed belongs to its line, a NUL to none. */
			end = memchr(bytes, form == OUTPUT_NUL ? '\0' : '\n', len);
			part = end == NULL ? len : (size_t)(end - bytes) + 1;
			data_from_text(&data, bytes, part - (form == OUTPUT_NUL && end != NULL));
		}
		step_add_result(to, &data);
		bytes += part;
		len -= part;
	}
}

/* Whether a failure that a step, or a run, within the command has told of is printed: its line goes
 * to a person, and is recorded whole. */
static bool
passes_failure(const void *context, const char *line, size_t len)
{
	const struct step *s = context;
	static const char program[] = "awf-step: ";
	struct buffer text = BUFFER_INIT;
	size_t name;
	bool passes;

	if (len > sizeof program - 1 && memcmp(line, program, sizeof program - 1) == 0) {
		line += sizeof program - 1;
		len -= sizeof program - 1;
	}
	/* Without the number of the item, as in a[1]. */
	name = strcspn(line, "[: ");
	buffer_append(&text, line, name < len ? name : len);
	if (name < len && line[name] == '[')
		name += strcspn(line + name, "]\n") + 1;
	if (name < len)
		buffer_append(&text, line + name, len - name);
	while (text.len > 0 && text.data[text.len - 1] == '\n')
		text.data[--text.len] = '\0';
	passes = text.len == 0 || s->place.run->transcript.masked ||
	    told_failures_add(s->place.run->directory, text.data);
	buffer_free(&text);
	return passes;
}

/* A command that failed may have needed a variable that it did not see. */
static void
print_hint(const struct step_call *call, char *const *passed, const struct subprocess *process)
{
	const struct step *s = call->step;
	struct buffer line = BUFFER_INIT, label = BUFFER_INIT;

	step_label(s, call->item, call->index, &label);
	if (sandbox_environment_hint_of(&s->place.environment, passed, s->options.sandbox.passed, s->place.run->directory,
	    process->errors.data, process->errors.len, false, &line))
		message_print("awf-step", "%s: %s", buffer_string(&label), buffer_string(&line));
	buffer_free(&line);
	buffer_free(&label);
}

/* What a command in a sandbox sees though it is a secret, beside what the user passes. */
static char **
passed_variables(const struct step_call *call)
{
	/* With a proxy the keys that it has are none. */
	char **passed = call->models == NULL ? NULL :
	    list_copy((char *const *)(uintptr_t)provider_key_names());

	/* It hands the work on. */
	if (call->task != NULL)
		list_add(&passed, "AWF_TASK_TOKEN");
	return passed;
}

/* A key that the command was given is not recorded with what it says. */
static void
hide_keys(const struct step_call *call, struct subprocess *process)
{
	const struct step *s = call->step;

	for (const char *const *name = provider_key_names(); *name != NULL; name++)
		subprocess_hide(process, environment_get(&s->place.environment, *name));
	for (size_t i = 0; s->place.keys != NULL && i < s->place.keys->count; i++)
		subprocess_hide(process, environment_get(&s->place.environment, s->place.keys->names[i]));
	if (call->models != NULL)
		models_hide(call->models, process);
}

/* How the command ended, and what it wrote on stderr. passed: variables that its sandbox let through. */
static void
take_process_end(struct step_call *call, struct subprocess *process, char *const *passed)
{
	const struct step *s = call->step;
	const bool sandboxed = sandbox_holds(&s->options.sandbox);
	struct step_end *end = &call->end;
	bool waits;

	end->error = process->error;
	end->exit_code = process->exit_code;
	end->killed = process->exit_code > 128;
	if (process->via != NULL)
		far_take(&end->far, process->via);
	if (sandboxed)
		sandbox_blocked(process->exit_code, process->errors.data, process->errors.len, &end->error);
	waits = s->options.pending && end->error.code == ERROR_EXIT_STATUS && end->exit_code == STATUS_WAITING;
	if (sandboxed && s->options.elsewhere.launcher == NULL && end->error.code == ERROR_EXIT_STATUS &&
	    end->exit_code < PROCESS_CANNOT_RUN && !waits)
		print_hint(call, passed, process);
	buffer_free(&end->errors);
	end->errors = process->errors;
	end->errors_bytes = process->errors_bytes;
	memset(&process->errors, 0, sizeof process->errors);
	if (waits)
		step_wait(call, WAITING_COMPLETION, output_forms[s->options.output], s->options.pending_ms);
}

/* The roster is asked whether a step in it died, since a shell's exit status does not tell. */
static int
try_command(struct step_call *call, struct error *err)
{
	struct step *s = call->step;
	struct step_end *end = &call->end;
	struct buffer input = BUFFER_INIT, told_as = BUFFER_INIT;
	bool sandboxed = sandbox_holds(&s->options.sandbox);
	char **passed = sandboxed ? passed_variables(call) : NULL;
	char **argv = NULL, **variables = NULL, **options = NULL;
	struct via via = { .launcher = s->options.elsewhere.launcher, .argv = s->options.command.argv, .launch_ms = s->options.elsewhere.launch_ms };
	struct subprocess process = { .name = s->options.command.argv[0],
		.environment = s->place.environment.list, .timeout_ms = s->options.timeout_ms, .inherit = s->options.elsewhere.launcher == NULL,
		.run_directory = s->place.run->directory, .call = call->id,
		.via = s->options.elsewhere.launcher != NULL ? &via : NULL };
	int result;

	if (s->options.elsewhere.launcher != NULL) {
		via.send = s->options.elsewhere.send;
		via.fetch = s->options.elsewhere.fetch;
		via.environment = variables = far_environment(&s->place.environment, s->options.elsewhere.variables, call->id);
		if (sandboxed)
			via.sandbox = options = sandbox_words(&s->options.sandbox, NULL, NULL, passed);
	} else {
		argv = sandboxed ? sandbox_argv(&s->options.sandbox, NULL, NULL, passed, s->options.command.argv) :
		    list_copy(s->options.command.argv);
	}
	process.argv = argv;
	buffer_text(&told_as, "awf-step: ");
	step_label(s, call->item, call->index, &told_as);
	process.told_as = told_as.data;
	s->options.sandbox.told = s->options.sandbox.told || sandboxed;
	step_forget_results(end); /* what a try before made is none of this one's */
	step_drop_lines(call);
	if (s->definition.passes || s->options.command.feed_state)
		step_state_line(call, !s->definition.passes, &input);
	else
		data_feed(&call->item->data, &input);
	process.input = buffer_string(&input);
	process.input_len = input.len;
	if (s->place.outermost) {
		process.passes = passes_failure;
		process.passes_context = s;
	}
	if (call->models != NULL)
		models_attach(call->models, &process);
	if (s->options.elsewhere.launcher != NULL && via_prepare(&via, &process.error) == -1) {
		process.exit_code = -1;
		result = 0;
	} else {
		result = subprocesses_run(&process, 1, &s->place.interrupts, err);
	}
	if (s->options.elsewhere.launcher != NULL && process.error.code == ERROR_NONE)
		via_place(&via, &process.error);

	hide_keys(call, &process);
	take_process_end(call, &process, passed);
	if (result == 0 && !(s->definition.passes && step_take_lines(call, &process.output)) &&
	    end->error.code == ERROR_NONE)
		take_output(end, s->options.output, &process.output);
	step_look_for_dead(call);
	step_look_for_waiting(call);
	if (result == 0 && call->models != NULL)
		result = models_settle(call->models, &end->error, err);
	subprocess_free(&process);
	if (s->options.elsewhere.launcher != NULL)
		via_free(&via);
	list_free(argv);
	list_free(passed);
	list_free(variables);
	list_free(options);
	buffer_free(&input);
	buffer_free(&told_as);
	return result;
}

/* A command in its tries, beside the proxy of its model traffic if it has one. */
static int run_with_retries(struct step_call *call,
    int (*try)(struct step_call *, struct error *), int repeats, struct error *err);

static int
run_command(struct step_call *call, int repeats, struct error *err)
{
	const struct step *s = call->step;
	int result;

	if (s->options.models.mode != MODELS_NONE) {
		struct error why = ERROR_INIT;

		call->models = models_begin(call, &why);
		if (call->models == NULL) {
			call->end.error = why;
			return 0;
		}
	}
	result = run_with_retries(call, try_command, repeats, err);
	if (call->models != NULL)
		models_end(call->models);
	call->models = NULL;
	return result;
}

/* ---- what the turn loop does ---- */

static void
turns_begin(struct step_call *call, struct turns *t)
{
	struct step *s = call->step;
	struct recalled *r = &call->verdict.recalled;

	*t = (struct turns){
		.member = s->definition.team != NULL ? s->definition.team->members[0] : NULL,
		.call = &call->events,
		.retry = &s->options.retry,
		.interrupts = &s->place.interrupts,
		.environment = &s->place.environment,
		.keys = s->place.keys,
		.workflow_directory = getenv("AWF_WORKFLOW_DIR"),
		.timeout_ms = s->definition.operation != NULL ? s->options.timeout_ms : 0,
		.deadline = s->options.timeout_ms > 0 ? clock_monotonic() + s->options.timeout_ms : 0,
		.verbose = s->options.agent.verbose,
		.started = call->started,
		.attempt = s->place.run->attempt,
		.run_directory = s->place.run->directory,
		.storage = &s->place.run->storage,
		.live_place = live_place(s->place.run),
		.sandbox = &s->options.sandbox,
		.max_children = s->options.agent.max_children,
		.far_gone = s->place.far_gone,
		.budget = s->definition.budget,
		.recalled = call->verdict.recalls && !r->changed ? r : NULL,
	};
}

/* Takes over what the turn loop left. */
static void
turns_done(struct step_call *call, struct turns *t, int result)
{
	struct step_end *end = &call->end;
	struct data data = { BUFFER_INIT, false, false };

	end->tool_calls += t->tool_calls;
	if (t->member != NULL && t->member != call->step->definition.team->members[0])
		end->agent = memory_text(t->member->agent.name);
	if (t->retries.len > 0) {
		if (end->retries.len > 0)
			buffer_byte(&end->retries, ',');
		buffer_append(&end->retries, t->retries.data, t->retries.len);
	}
	if (result == 0) {
		data.json = t->result;
		memset(&t->result, 0, sizeof t->result);
		step_add_result(end, &data);
	}
	turns_free(t);
}

static int
try_operation(struct step_call *call, struct error *err)
{
	struct step *s = call->step;
	struct span input = span_of(call->item->data.json.data, call->item->data.json.len);
	struct buffer text = BUFFER_INIT, shown = BUFFER_INIT;
	struct turns t;
	int result;

	turns_begin(call, &t);
	if (step_replays(s)) {
		if (t.recalled != NULL && turns_repeat_tries(&t, s->definition.operation, input, err) == -1)
			return -1;
	} else if (call->end.retries.len > 0) {
		t.recalled = NULL; /* the first try was the recorded one */
	}
	result = turns_operation(&t, s->definition.operation, input, &call->end.error);
	call->end.killed = t.exit_code > 128;
	call->end.tool_elsewhere = t.begun_elsewhere;
	/* What a tool printed before it failed is no result; the user reads it as its stderr. */
	if (result == -1)
		span_plain(span_of(t.result.data, t.result.len), &text);
	if (text.len > 0) {
		if (terminal_is(STDERR_FILENO))
			terminal_text(&shown, text.data, text.len);
		else
			buffer_append(&shown, text.data, text.len);
		buffer_byte(&shown, '\n');
		file_write(STDERR_FILENO, shown.data, shown.len);
	}
	buffer_free(&shown);
	buffer_free(&text);
	turns_done(call, &t, result);
	return 0;
}

static void
run_agent(struct step_call *call)
{
	struct step *s = call->step;
	struct span data = span_of(call->item->data.json.data, call->item->data.json.len);
	struct span inputs = span_of(s->place.inputs.data, s->place.inputs.len);
	const struct recalled *r = &call->verdict.recalled;
	struct error *error = &call->end.error;
	struct buffer prompt = BUFFER_INIT;
	struct span blocks = SPAN_NONE;
	struct turns t;
	int ready = prompt_render(s->definition.prompt, data, inputs, s->definition.prompt_place, &prompt, error);

	/* What attachments lack, as their files have gone, the recorded call has. */
	if (ready == 0 && attachments_lack(&call->attachments)) {
		for (size_t i = 0; call->verdict.recalls && i < r->event_count && blocks.at == NULL; i++)
			if (r->events[i].view.type == EVENT_MESSAGE_USER)
				blocks = span_member(r->events[i].view.payload, KEY_BLOCKS);
		ready = attachments_restore(&call->attachments, blocks, error);
	}
	if (ready == 0 && !step_replays(s))
		ready = step_start_provider(s, error);
	if (ready == 0) {
		turns_begin(call, &t);
		t.prompt = span_of(buffer_string(&prompt), prompt.len);
		t.attachments = &call->attachments;
		t.session = call->continued.session;
		t.session_raw = span_of(call->continued.raw.data, call->continued.raw.len);
		t.before = span_of(call->continued.messages.data, call->continued.messages.len);
		turns_done(call, &t, turns_run(&t, error));
	}
	buffer_free(&prompt);
}

/* ---- tries ---- */

/* Begun elsewhere, and lost: it may run on there for a while. */
static bool
is_lost(const struct step_call *call)
{
	return call->end.error.code == ERROR_LOST && (call->end.far.begun || call->end.tool_elsewhere);
}

/* Cut off in the middle: an effect may have happened, so it is not repeated. A tool
 * that declares none may have any. */
static bool
may_have_happened(const struct step_call *call)
{
	const struct step *s = call->step;
	enum error_code code = call->end.error.code;
	bool outside = effects_outside(s->options.effects) ||
	    (s->definition.operation != NULL && s->options.effects == EFFECTS_UNDECLARED);

	return outside && !s->options.idempotent && (code == ERROR_TIMEOUT || code == ERROR_CANCELLED ||
	    code == ERROR_INTERRUPTED || call->end.killed || is_lost(call));
}

/* What the command has started may have done what is not to be done twice: what failed stands
 * then, and says so. So may the recorded call, which this one has taken over: what a try takes
 * over, the next one does not. */
static bool
would_repeat(struct step_call *call)
{
	const struct recalled *r = &call->verdict.recalled;
	struct error *error = &call->end.error, why = *error;
	struct buffer what = BUFFER_INIT;
	bool repeats = call->verdict.recalls && !r->changed && r->changed_inside != NULL;

	if (repeats)
		buffer_text(&what, r->changed_inside);
	else
		repeats = step_has_changed(call, &what);
	if (repeats)
		error_set(error, why.code, *why.place != '\0' ? why.place : NULL,
		    "%s; not tried again, as %s has changed something", why.message,
		    buffer_string(&what));
	buffer_free(&what);
	return repeats;
}

/* Tries until it succeeds or may not be tried again; the first `repeats` that fail are those
 * of a recording. -1: the machine failed. */
static int
run_with_retries(struct step_call *call, int (*try)(struct step_call *, struct error *),
    int repeats, struct error *err)
{
	struct step *s = call->step;
	struct step_end *end = &call->end;
	struct error *error = &end->error;
	struct retried retried = { .name = s->options.name, .why = error, .tries = s->options.retry.retries + 1 };
	char text[16];

	for (int tried = 1;; tried++) {
		int64_t began = clock_monotonic();

		if (tried > 1) {
			/* For the calls that this try makes: if it succeeds, those of the tries before
			 * need not have. */
			snprintf(text, sizeof text, "%d", tried - 1);
			environment_set(&s->place.environment, CALL_TRY, text);
			if (s->options.command.argv != NULL)
				roster_forgive(s->place.run->directory, call->id);
		}
		if (call->task != NULL)
			step_name_try(call);
		memset(error, 0, sizeof *error);
		if (interrupted(&s->place.interrupts, error))
			return 0;
		if (try(call, err) == -1)
			return -1;
		step_note_ending(call);
		if (error->code != ERROR_NONE && tried <= repeats)
			continue;
		if (error->code == ERROR_NONE || error->code == ERROR_WAITING ||
		    may_have_happened(call) || step_replays(s) ||
		    !retry_wanted(&s->options.retry, error->code, tried) || would_repeat(call))
			return 0;

		/* A try that failed, and that another follows: in the end of the call, and at once. */
		retried_list(&end->retries, &(struct failed_try){ .why = error,
		    .exit_code = end->exit_code, .duration_ms = clock_monotonic() - began, .turn = -1 });
		retried.tried = tried;
		retried.delay_ms = retry_delay(&s->options.retry, tried, is_lost(call) ? FAR_GONE_MS : 0);
		if (retried_record(&call->events, call->started, &retried,
		    terminal_is_told(STDERR_FILENO), err) == -1)
			return -1;
		if (interrupts_sleep(&s->place.interrupts, retried.delay_ms, error) == -1)
			return 0;
	}
}

int
step_work(struct step_call *call, struct error *err)
{
	const struct step *s = call->step;
	struct step_end *end = &call->end;
	int repeats = step_take_tries(call), result = 0;
	size_t size = 0;

	if (s->options.approve) {
		result = step_approve(call, err);
	} else if (s->options.question.text != NULL) {
		result = step_ask(call, err);
	} else if (s->options.group.kind == GROUP_LOOP) {
		result = group_run_loop(call, err);
	} else if (s->options.group.kind == GROUP_PARALLEL) {
		result = group_run_parallel(call, err);
	} else if (s->options.command.argv != NULL) {
		/* What an earlier attempt has left at a far end ends without it, and not at once. */
		if (call->verdict.recalls && !step_replays(s) && clock_monotonic() < s->place.far_gone &&
		    span_member(call->verdict.recalled.started.view.payload, KEY_VIA).at != NULL &&
		    interrupts_sleep(&s->place.interrupts, s->place.far_gone - clock_monotonic(), &end->error) == -1)
			return 0;
		/* A look at the workspace around its tries has no counterpart in a replay. */
		if (s->options.effects == EFFECTS_WORKSPACE && !step_replays(s))
			changed_begin_all(&end->changed, s->place.run->directory);
		result = run_command(call, repeats, err);
		changed_end(&end->changed);
	} else if (s->definition.operation != NULL) {
		result = run_with_retries(call, try_operation, repeats, err);
	} else {
		run_agent(call);
	}
	if (end->error.code == ERROR_SYSTEM && !end->told) {
		if (err != NULL)
			*err = end->error;
		return -1;
	}
	if (result == 0 && s->options.into != NULL)
		step_put_into(call);

	/* A result that no step could read is none. */
	for (size_t i = 0; i < end->result_count; i++)
		size += end->results[i].json.len + 1;
	for (size_t i = 0; i < end->passed_count; i++)
		size += end->passed[i].data.json.len + end->passed[i].metadata.len + 1;
	if (end->error.code == ERROR_NONE && size > DATA_LIMIT)
		error_set(&end->error, ERROR_SCHEMA, NULL,
		    "the result is longer than a line can be (256 MiB)");
	return result;
}

/* ---- conditions ---- */

/* Asks about a state line. recorded: the answer of the recorded call. */
static int
ask(struct step_call *call, const struct condition *condition, const struct buffer *line,
    struct span recorded, struct condition_answer *answer, struct error *err)
{
	struct step *s = call->step;
	struct error *error = &call->end.error;
	const struct buffer *data = &call->item->data.json;
	char *argv[4];
	struct subprocess process = { .argv = argv, .environment = s->place.environment.list,
		.timeout_ms = s->options.timeout_ms, .input = line->data, .input_len = line->len };
	bool unknown;
	int result;

	process_shell(argv, condition->text);
	result = subprocesses_run(&process, 1, &s->place.interrupts, err);
	answer->asked = true;
	answer->yes = process.error.code == ERROR_NONE;
	answer->answered = answer->yes ||
	    (process.error.code == ERROR_EXIT_STATUS && process.exit_code == 1);
	if (process.error.code == ERROR_EXIT_STATUS && process.exit_code > 1) {
		const char *hint = ""; /* what was probably meant */

		unknown = process.exit_code == PROCESS_NOT_FOUND;
		if (unknown && condition->text[strspn(condition->text, " ")] == '.')
			hint = ": it is a shell command that reads the state line, such as jq -e .data";
		else if (!unknown && data->len > 0 && span_holds_json(span_of(data->data, data->len)))
			hint = ": " DATA_HOLDS_JSON;
		error_set(error, ERROR_EXIT_STATUS, NULL, "the condition of --%s ended with status %d%s",
		    condition->word, process.exit_code, hint);
		if (hint[0] == '\0')
			last_words_add(error, buffer_string(&process.errors), process.errors.len);
	} else if (process.error.code != ERROR_NONE && process.error.code != ERROR_EXIT_STATUS) {
		*error = process.error;
	} else {
		step_look_for_dead(call);
	}
	subprocess_free(&process);
	if (step_replays(s) && error->code == ERROR_NONE && recorded.at != NULL &&
	    span_true(recorded) != answer->yes)
		error_set(error, ERROR_DIVERGENCE, NULL, "the condition of --%s %s, the recorded one %s",
		    condition->word, answer->yes ? "holds" : "does not hold",
		    answer->yes ? "did not" : "did");
	return result;
}

/* What an event of the recorded call says that the answer was; .at NULL: there is none. */
static struct span
recorded_answer(const struct step_call *call, const struct recalled_event *e)
{
	return call->verdict.recalls ? span_path(e->view.payload, KEY_CONDITION, KEY_OUTCOME, NULL) :
	    SPAN_NONE;
}

/* False if it is to be asked. */
static bool
take_answer(const struct step_call *call, struct span recorded, struct condition_answer *answer)
{
	if (call->verdict.recalled.changed)
		return false;
	answer->yes = span_true(recorded);
	answer->asked = answer->answered = answer->yes || span_type(recorded) == 'f';
	return answer->asked;
}

int
step_ask_when(struct step_call *call, struct error *err)
{
	const struct recalled *r = &call->verdict.recalled;
	struct span recorded = recorded_answer(call, &r->started);
	bool replays = step_replays(call->step);
	struct buffer line = BUFFER_INIT;
	struct error error;
	int asked = 0;

	/* No recorded answer, and a failure: the asking was ended by something around it, and so
	 * it is now. */
	if (call->verdict.recalls && replays && r->end == RECALL_FAILED &&
	    span_type(recorded) == '0' && recalled_error(recalled_result(r), &error) &&
	    recalled_circumstance(error.code)) {
		call->when.asked = true;
		call->end.error = error;
		return 0;
	}
	if (replays || !take_answer(call, recorded, &call->when)) {
		step_state_line(call, false, &line);
		asked = ask(call, &call->step->options.when, &line, recorded, &call->when, err);
		buffer_free(&line);
	}
	if (call->end.error.code == ERROR_NONE && !call->when.yes)
		call->end.skipped = "condition";
	return asked;
}

int
step_ask_until(struct step_call *call, struct error *err)
{
	struct span recorded = recorded_answer(call, recalled_result(&call->verdict.recalled));
	struct step_end *end = &call->end;
	struct buffer line = BUFFER_INIT;
	int asked = 0;

	if (call->verdict.says != VERDICT_TAKE || !take_answer(call, recorded, &end->until)) {
		step_put_results(call, NULL, &line);
		asked = ask(call, &call->step->options.group.until, &line, recorded, &end->until, err);
		buffer_free(&line);
	}
	if (end->error.code != ERROR_NONE)
		end->exit_code = -1; /* the body is not what failed */
	return asked;
}
