/*
 * Runs the command of a step. Whether a step inside it died is read from the roster, since it does
 * not show in a shell's exit status.
 */
#include "step_kinds/work_command.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/text.h"
#include "json/exact.h"
#include "model/told_failures.h"
#include "proc/message.h"
#include "proc/provider_variables.h"
#include "step_kinds/kinds.h"
#include "storage/roster.h"
#include "transcript/call.h"
#include "transcript/event_keys.h"
#include "view/live.h"
#include "workspace/sandbox_environment.h"

/* ---- a try ---- */

/* Converts stdout to results. */
static void
command_parse_output(struct step_end *to, enum output_form form, const struct buffer *output)
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
			/* The LF is part of its line, the NUL is not. */
			end = memchr(bytes, form == OUTPUT_NUL ? '\0' : '\n', len);
			part = end == NULL ? len : (size_t)(end - bytes) + 1;
			data_from_text(&data, bytes, part - (form == OUTPUT_NUL && end != NULL));
		}
		step_add_result(to, &data);
		bytes += part;
		len -= part;
	}
}

/* Whether to print a line of stderr in which a step or a run inside the command reports a failure:
 * such a line is for the user, and is recorded completely elsewhere. */
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
	/* Compare without the index of the item, as in a[1]. */
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

/* If a command failed and seems to need a variable that was withheld from it, prints a hint. */
static void
command_print_hint(const struct step_call *call, char *const *passed,
    const struct subprocess *process)
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

/* Hides the keys that the command was given in its recorded output. */
static void
hide_keys(const struct step_call *call, struct subprocess *process)
{
	const struct step *s = call->step;

	for (const char *const *name = provider_key_names(); *name != NULL; name++)
		subprocess_hide(process, environment_get(&s->place.environment, *name));
	for (size_t i = 0; s->place.keys != NULL && i < s->place.keys->count; i++)
		subprocess_hide(process, environment_get(&s->place.environment, s->place.keys->names[i]));
}

/* Copies what the command prints to the run's live files (view/live.h), with its API keys hidden. */
static void
command_show_output(const struct step_call *call, struct live_output *output, struct subprocess *process)
{
	const struct step *s = call->step;

	live_output_begin(output, live_place(s->place.run), call->started, NULL);
	for (const char *const *name = provider_key_names(); *name != NULL; name++)
		live_output_hide(output, environment_get(&s->place.environment, *name));
	for (size_t i = 0; s->place.keys != NULL && i < s->place.keys->count; i++)
		live_output_hide(output, environment_get(&s->place.environment, s->place.keys->names[i]));
	process->shows.add = live_output_add;
	process->shows.due = live_output_flush;
	process->shows.context = output;
}

/* Records the exit status of the command, and its stderr. passed: the variables that were passed
 * into its sandbox. */
static void
command_store_process_end(struct step_call *call, struct subprocess *process, char *const *passed)
{
	const struct step *s = call->step;
	const bool sandboxed = sandbox_holds(&s->options.sandbox);
	struct step_end *end = &call->end;
	bool waits;

	end->error = process->error;
	end->exit_code = process->exit_code;
	end->killed = process->exit_code > 128;
	if (sandboxed)
		sandbox_blocked(process->exit_code, process->errors.data, process->errors.len, &end->error);
	waits = s->options.pending.asked && end->error.code == ERROR_EXIT_STATUS &&
	    end->exit_code == STATUS_WAITING;
	if (sandboxed && process->via == NULL && end->error.code == ERROR_EXIT_STATUS &&
	    end->exit_code < PROCESS_CANNOT_RUN && !waits)
		command_print_hint(call, passed, process);
	buffer_free(&end->errors);
	end->errors = process->errors;
	end->errors_bytes = process->errors_bytes;
	memset(&process->errors, 0, sizeof process->errors);
	if (waits)
		step_wait(call, WAITING_COMPLETION, output_forms[s->options.output.form], s->options.pending.timeout_ms);
}

static int
command_try(struct step_call *call, void *context, struct error *err)
{
	const struct command_hooks *hooks = context;
	struct step *s = call->step;
	const bool passes = s->definition.work->passes;
	struct step_end *end = &call->end;
	struct buffer input = BUFFER_INIT, told_as = BUFFER_INIT;
	char **argv = NULL;
	struct command_try try = { .call = call, .sandboxed = sandbox_holds(&s->options.sandbox),
		.process = { .name = s->options.command.argv[0], .environment = s->place.environment.list,
			.timeout_ms = s->options.timeout_ms, .inherit = true,
			.run_directory = s->place.run->directory, .call = call->id } };
	struct subprocess *process = &try.process;
	struct live_output output;
	int result = 0;

	if (call->tried > 0)
		roster_forgive(s->place.run->directory, call->id);
	/* A command with --pending needs its token in the sandbox. */
	if (try.sandboxed && call->task != NULL)
		list_add(&try.passed, "AWF_TASK_TOKEN");
	buffer_text(&told_as, "awf-step: ");
	step_label(s, call->item, call->index, &told_as);
	process->told_as = told_as.data;
	step_forget_results(end); /* forget the results of an earlier try */
	step_drop_lines(call);
	if (passes || s->options.command.feed_state)
		step_state_line(call, !passes, &input);
	else
		data_feed(&call->item->data, &input);
	process->input = buffer_string(&input);
	process->input_len = input.len;
	if (s->place.outermost) {
		process->passes = passes_failure;
		process->passes_context = s;
	}
	command_show_output(call, &output, process);
	if (hooks != NULL)
		hooks->prepare(hooks->context, &try);
	if (process->via == NULL)
		process->argv = argv = try.sandboxed ? sandbox_argv(&s->options.sandbox, NULL, NULL, try.passed,
		    s->options.command.argv) : list_copy(s->options.command.argv);
	s->options.sandbox.told = s->options.sandbox.told || try.sandboxed;
	if (process->error.code != ERROR_NONE)
		process->exit_code = -1;
	else
		result = subprocesses_run(process, 1, &s->place.interrupts, err);
	live_output_end(&output);
	if (hooks != NULL)
		hooks->ended(hooks->context, &try);

	hide_keys(call, process);
	command_store_process_end(call, process, try.passed);
	if (result == 0 && !(passes && step_take_lines(call, &process->output)) &&
	    end->error.code == ERROR_NONE)
		command_parse_output(end, s->options.output.form, &process->output);
	step_look_for_dead(call);
	step_look_for_unfinished(call);
	if (hooks != NULL)
		result = hooks->settle(hooks->context, &try, result, err);
	subprocess_free(process);
	list_free(argv);
	list_free(try.passed);
	buffer_free(&input);
	buffer_free(&told_as);
	return result;
}

int
command_run(struct step_call *call, const struct command_hooks *hooks, int repeats,
    struct error *err)
{
	const struct step *s = call->step;
	struct step_end *end = &call->end;
	int64_t gone = s->place.far_gone;
	int result;

	/* Work that an earlier attempt left running at a far end ends by itself, but not at
	 * once. */
	if (call->verdict.recalls && !step_replays(s) && clock_monotonic() < gone &&
	    span_member(call->verdict.recalled.started.view.payload, KEY_VIA).at != NULL &&
	    interrupts_sleep(&s->place.interrupts, gone - clock_monotonic(), &end->error) == -1)
		return 0;
	/* Look for changes in the workspace; not in a replay, which has nothing to compare them
	 * with. */
	if (s->options.effects == EFFECTS_WORKSPACE && !step_replays(s))
		changed_begin_all(&end->changed, s->place.run->directory);
	result = step_try(call, command_try, (void *)(uintptr_t)hooks, repeats, err);
	changed_end(&end->changed);
	return result;
}

/* ---- the step ---- */

static bool
command_asked(const struct step_options *o)
{
	return o->command.argv != NULL;
}

/* Checks the sandbox, which only the step's own options determine. */
int
command_load(struct step *s, struct error *err)
{
	const struct sandbox *said[] = { &s->options.sandbox, NULL };
	struct sandbox decided;
	struct error why = ERROR_INIT;

	if (sandbox_decide(&decided, said, &why) == -1)
		return error_set(err, ERROR_USAGE, "--no-network", "%s", why.message);
	s->options.sandbox = decided;
	return 0;
}

void
command_define(const struct step *s, struct writer *w)
{
	const struct step_options *o = &s->options;

	for (char *const *word = o->command.argv; *word != NULL; word++)
		writer_exact_string(w, *word);
	if (o->command.feed_state)
		writer_string(w, "-e");
	if (o->output.form != OUTPUT_TEXT)
		writer_integer(w, (int64_t)o->output.form);
	if (o->output.into != NULL)
		writer_string(w, o->output.into);
}

void
command_files(const struct step *s, struct step_files *f)
{
	step_files_add_command(f, s->options.command.argv);
}

int
command_describe(struct step *s, const struct item *item, struct buffer *out, struct error *err)
{
	struct writer w = step_describe_begin(out);

	(void)err;
	writer_member_string(&w, "via", s->options.elsewhere.launcher);
	writer_member_array(&w, "command");
	for (char *const *word = s->options.command.argv; *word != NULL; word++)
		writer_string(&w, *word);
	writer_array_end(&w);
	step_describe_end(&w, item);
	return 0;
}

void
command_label(const struct step *s, struct buffer *out)
{
	for (char *const *word = s->options.command.argv; *word != NULL; word++)
		buffer_format(out, "%s%s", word > s->options.command.argv ? " " : "", *word);
}

void
command_judge(const struct step *s, struct call_verdict *v)
{
	struct error error;

	if (step_judge_command(s, v) && step_ended_by_circumstance(s, &v->recalled, &error))
		v->says = VERDICT_TAKE;
}

void
command_record_work(const struct step_call *call, struct writer *w)
{
	call_write_command(w, call->step->options.command.argv);
	step_write_timeout(call->step, w);
}

void
command_record_place(const struct step_call *call, struct writer *w)
{
	const struct sandbox *sandbox = &call->step->options.sandbox;

	if (sandbox_holds(sandbox)) {
		writer_member_string(w, KEY_SANDBOX, sandbox_mode_name(sandbox->mode));
		writer_member_bool(w, KEY_NETWORK, sandbox->network == SANDBOX_NETWORK_ALLOWED);
	}
	writer_member_string(w, KEY_VIA, call->step->options.elsewhere.launcher);
}

static int
command_run_here(struct step_call *call, int repeats, struct error *err)
{
	return command_run(call, NULL, repeats, err);
}

const struct work work_command = {
	.kind = "command",
	.asked = command_asked,
	.load = command_load,
	.define = command_define,
	.files = command_files,
	.describe = command_describe,
	.label = command_label,
	.judge = command_judge,
	.record_work = command_record_work,
	.record_place = command_record_place,
	.run = command_run_here,
};
