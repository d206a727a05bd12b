/*
 * The work in tries: each sets work->error anew, and the loop around them decides. A try is
 * not repeated if it may have had an effect, or if something in it had one. After a body the
 * roster is asked whether a step in it died, since a shell's exit status does not tell.
 */
#include "step/working.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "step/group.h"
#include "step/inside.h"
#include "agent/prompt.h"
#include "agent/retried.h"
#include "agent/turn.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/terminal.h"
#include "base/text.h"
#include "json/writer.h"
#include "proc/api_keys.h"
#include "proc/ending.h"
#include "run/roster.h"

void
working_add_result(struct working *work, struct data *data)
{
	work->results = memory_array(work->results, work->result_count + 1, sizeof *work->results);
	work->results[work->result_count++] = *data;
}

void
working_forget_results(struct working *work)
{
	for (size_t i = 0; i < work->result_count; i++)
		data_free(&work->results[i]);
	free(work->results);
	work->results = NULL;
	work->result_count = 0;
}

static void
split_text(struct working *work, char end, const char *bytes, size_t len)
{
	const char *found;
	size_t piece;

	while (len > 0) {
		struct data data = { BUFFER_INIT, false, false };

		found = memchr(bytes, end, len);
		piece = found == NULL ? len : (size_t)(found - bytes) + 1;
		data_from_text(&data, bytes, found != NULL && end == '\0' ? piece - 1 : piece);
		working_add_result(work, &data);
		bytes += piece;
		len -= piece;
	}
}

static void
split_json(struct working *work, const char *bytes, size_t len)
{
	size_t end, bad;
	const char *wrong;

	while (span_trim(span_of(bytes, len)).len > 0) {
		struct data data = { BUFFER_INIT, false, false };

		wrong = scan_value(bytes, len, SCAN_DEPTH, &end, &bad);
		if (wrong != NULL) {
			error_set(&work->error, ERROR_SCHEMA, NULL, "stdout is no JSON: %s", wrong);
			return;
		}
		scan_minify(span_of(bytes, end), &data.json);
		working_add_result(work, &data);
		bytes += end;
		len -= end;
	}
}

/* A command's stdout as results. */
static void
take_output(struct working *work, const struct buffer *output)
{
	const char *bytes = buffer_string(output);
	struct data data = { BUFFER_INIT, false, false };

	switch (work->step->output) {
	case OUTPUT_LINES:
		split_text(work, '\n', bytes, output->len);
		break;
	case OUTPUT_NUL:
		split_text(work, '\0', bytes, output->len);
		break;
	case OUTPUT_JSON:
		split_json(work, bytes, output->len);
		break;
	default:
		data_from_text(&data, bytes, output->len);
		working_add_result(work, &data);
	}
}

/* In its sandbox, if it has one. In memory of its own. */
static char **
command_argv(struct step *s)
{
	char **argv;

	if (!sandbox_holds(&s->sandbox))
		return list_copy(s->command);
	argv = sandbox_argv(&s->sandbox, NULL, NULL, NULL, s->command);
	s->sandbox.told = true;
	return argv;
}

/* What the command reads. */
static void
feed(struct working *work, struct buffer *input)
{
	if (work->step->passes)
		working_body_line(work, input);
	else if (work->step->feed_state)
		working_state_line(work, input);
	else
		data_feed(&work->item->data, input);
}

/* A key that the command was given is not recorded with what it says. */
static void
hide_keys(const struct step *s, struct subprocess *process)
{
	for (const char *const *name = provider_key_names(); *name != NULL; name++)
		subprocess_hide(process, environment_get(&s->environment, *name));
	for (size_t i = 0; s->keys != NULL && i < s->keys->count; i++)
		subprocess_hide(process, environment_get(&s->environment, s->keys->names[i]));
}

/* How the command ended, and what it said on stderr, which is taken over. */
static void
take_end(struct working *work, struct subprocess *process)
{
	const struct step *s = work->step;

	work->error = process->error;
	work->exit_code = process->exit_code;
	hide_keys(s, process);
	if (sandbox_holds(&s->sandbox))
		sandbox_blocked(process->exit_code, process->errors.data, process->errors.len, &work->error);
	work->killed = process->exit_code > 128;
	buffer_free(&work->errors);
	work->errors = process->errors;
	work->errors_bytes = process->errors_bytes;
	memset(&process->errors, 0, sizeof process->errors);
	if (s->pending && work->error.code == ERROR_EXIT_STATUS && work->exit_code == STATUS_WAITING)
		working_pend(work);
}

/* Whether a group's body, or the last that its shell waited for, was killed: a step that
 * had no time to enter the roster, as likely as not. What a body works is in its steps. */
static bool
body_killed(const struct working *work)
{
	return work->step->passes && work->error.code == ERROR_EXIT_STATUS && !work->told &&
	    work->exit_code == 128 + SIGKILL;
}

/* Whether the run is another's, who is not there any more. */
static bool
is_deserted(const struct run *run)
{
	return run->lock_fd == -1 && !storage_run_alive(&run->storage, run->id);
}

/* A step in the body that died has cut something off, whatever a shell has made of its
 * end: what came is not the result. A body that was ended itself says so. What the machine
 * did to the step it did to the body. */
static void
look_for_dead(struct working *work)
{
	const struct step *s = work->step;
	struct roster_death death;

	if (work->error.code != ERROR_NONE && work->error.code != ERROR_EXIT_STATUS && !work->told)
		return;
	if (!roster_died(s->run->directory, work->id, &death)) {
		/* A step that comes after the run's end begins nothing, and is told so alone. */
		if (work->error.code == ERROR_NONE && s->passes && is_deserted(s->run))
			error_set(&work->error, ERROR_INTERRUPTED, NULL, "nobody keeps the run any more");
		else if (body_killed(work))
			error_set(&work->error, ERROR_INTERRUPTED, NULL, "the body, or a step in it, was killed");
		else
			return;
	} else if (*death.reason != '\0') {
		error_set(&work->error, ERROR_SYSTEM, NULL, "step %s failed: %s", death.process,
		    death.reason);
	} else {
		error_set(&work->error, ERROR_INTERRUPTED, NULL, "the step %s died before its end",
		    death.process);
	}
	working_drop_passed(work);
}

/* One try of a command. 0, or -1 if the machine failed; the try's error is in
 * work->error. */
static int
try_command(struct working *work, struct error *err)
{
	struct step *s = work->step;
	struct buffer input = BUFFER_INIT;
	char **argv = command_argv(s);
	struct subprocess process = { .argv = argv, .name = s->command[0],
	    .environment = s->environment.list, .timeout_ms = s->timeout_ms, .inherit = true,
	    .run_directory = s->run->directory, .call = work->id };
	int result;

	working_forget_results(work);
	working_drop_passed(work);
	feed(work, &input);
	process.input = buffer_string(&input);
	process.input_len = input.len;
	result = subprocesses_run(&process, 1, &s->interrupts, err);
	take_end(work, &process);
	if (result == 0 && !(s->passes && working_take_passed(work, &process.output)) &&
	    work->error.code == ERROR_NONE)
		take_output(work, &process.output);
	look_for_dead(work);
	subprocess_free(&process);
	list_free(argv);
	buffer_free(&input);
	return result;
}

static void
turns_begin(struct working *work, struct turns *t)
{
	struct step *s = work->step;

	memset(t, 0, sizeof *t);
	t->member = s->team != NULL ? s->team->members[0] : NULL;
	t->call = &work->call;
	t->retry = &s->retry;
	t->interrupts = &s->interrupts;
	t->environment = &s->environment;
	t->keys = s->keys;
	t->workflow_directory = getenv("AWF_WORKFLOW_DIR");
	t->timeout_ms = s->operation != NULL ? s->timeout_ms : 0;
	if (s->timeout_ms > 0)
		t->deadline = clock_monotonic() + s->timeout_ms;
	t->live = s->live;
	t->started = work->started;
	t->attempt = s->run->attempt;
	t->run_directory = s->run->directory;
	t->sandbox = &s->sandbox;
	t->max_children = s->max_children;
	t->budget = s->budget;
	t->recalled = work->recalls && !work->recalled.changed ? &work->recalled : NULL;
}

/* Takes over what the turn loop left. */
static void
turns_done(struct working *work, struct turns *t, int result)
{
	struct data data = { BUFFER_INIT, false, false };

	work->tool_calls += t->tool_calls;
	if (t->member != NULL && t->member != work->step->team->members[0])
		work->agent = memory_text(t->member->agent.name);
	if (t->retries.len > 0) {
		if (work->retries.len > 0)
			buffer_byte(&work->retries, ',');
		buffer_append(&work->retries, t->retries.data, t->retries.len);
	}
	if (result == 0) {
		data.json = t->result;
		memset(&t->result, 0, sizeof t->result);
		working_add_result(work, &data);
	}
	turns_free(t);
}

/* What a tool printed before it failed is no result; the user reads it as its stderr. */
static void
show_printed(const struct buffer *output)
{
	struct buffer text = BUFFER_INIT, shown = BUFFER_INIT;

	span_plain(span_of(output->data, output->len), &text);
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
}

static int
try_operation(struct working *work, struct error *err)
{
	struct step *s = work->step;
	struct span input = span_of(work->item->data.json.data, work->item->data.json.len);
	struct turns t;
	int result;

	turns_begin(work, &t);
	if (working_replays(work)) {
		if (t.recalled != NULL && turns_repeat_tries(&t, s->operation, input, err) == -1)
			return -1;
	} else if (work->retries.len > 0) {
		t.recalled = NULL; /* the first try was the recorded one */
	}
	result = turns_operation(&t, s->operation, input, &work->error);
	work->killed = t.exit_code > 128;
	if (result == -1)
		show_printed(&t.result);
	turns_done(work, &t, result);
	return 0;
}

static int
run_agent(struct working *work)
{
	struct step *s = work->step;
	struct buffer prompt = BUFFER_INIT;
	struct turns t;
	int result;

	if (prompt_render(s->prompt, span_of(work->item->data.json.data,
	    work->item->data.json.len), span_of(s->inputs.data, s->inputs.len), s->prompt_place,
	    &prompt, &work->error) == -1 ||
	    working_restore_attachments(work) == -1 ||
	    (!working_replays(work) && step_start_provider(s, &work->error) == -1)) {
		buffer_free(&prompt);
		return -1;
	}
	turns_begin(work, &t);
	t.prompt = span_of(buffer_string(&prompt), prompt.len);
	t.attachments = &work->attachments;
	t.session = work->continued.session;
	t.before = span_of(work->continued.messages.data, work->continued.messages.len);
	result = turns_run(&t, &work->error);
	turns_done(work, &t, result);
	buffer_free(&prompt);
	return result;
}

/* Cut off in the middle: an effect may have happened, so it is not repeated. A tool
 * that declares none may have any. */
static bool
may_have_happened(const struct working *work)
{
	const struct step *s = work->step;
	bool outside = effects_outside(s->effects) ||
	    (s->operation != NULL && s->effects == EFFECTS_UNDECLARED);

	return outside && !s->idempotent &&
	    (work->error.code == ERROR_TIMEOUT || work->error.code == ERROR_CANCELLED ||
	    work->error.code == ERROR_INTERRUPTED || work->killed);
}

/* Whether what the recorded call has changed, which this one has taken over, would be
 * changed again: what a try takes over, the next one does not. */
static bool
repeats_recorded(const struct working *work, struct buffer *what)
{
	const struct recalled *r = &work->recalled;

	if (!work->recalls || r->changed || r->changed_inside == NULL)
		return false;
	buffer_text(what, r->changed_inside);
	return true;
}

/* What the command has started may have done what is not to be done twice: what failed stands
 * then, and says so. */
static bool
would_repeat(struct working *work)
{
	struct buffer what = BUFFER_INIT;
	struct error why = work->error;
	bool repeats = repeats_recorded(work, &what) ||
	    inside_changed(work->step->run, work->id, work->record_from, &what);

	if (repeats)
		error_set(&work->error, why.code, *why.place != '\0' ? why.place : NULL,
		    "%s; not tried again, as %s has changed something", why.message,
		    buffer_string(&what));
	buffer_free(&what);
	return repeats;
}

static void
note_retry(struct working *work, int64_t began)
{
	struct writer w;

	if (work->retries.len > 0)
		buffer_byte(&work->retries, ',');
	writer_begin(&w, &work->retries);
	writer_object(&w);
	writer_member_string(&w, "code", error_name(work->error.code));
	writer_member_string(&w, "message", work->error.message);
	if (work->exit_code >= 0)
		writer_member_integer(&w, "exit_code", work->exit_code);
	writer_member_integer(&w, "duration_ms", clock_monotonic() - began);
	writer_object_end(&w);
}

/* For the calls that the next try makes: if it succeeds, those of the tries before need
 * not have. */
static void
number_try(struct working *work, int failed_before)
{
	struct step *s = work->step;
	char text[16];

	snprintf(text, sizeof text, "%d", failed_before);
	environment_set(&s->environment, CALL_TRY, text);
	if (s->command != NULL)
		roster_forgive(s->run->directory, work->id);
}

static int
tell_retry(const struct working *work, int tried, int64_t delay, struct error *err)
{
	const struct retried retried = { work->step->name, &work->error, tried,
		work->step->retry.retries + 1, delay };

	return retried_record(&work->call, work->started, &retried, terminal_is(STDERR_FILENO), err);
}

void
working_end_around(struct working *work)
{
	const struct run *run = work->step->run;
	struct error why = work->error;
	const char *ending;

	if (why.code == ERROR_NONE || !error_of_work(why.code) || work->step->cleanup ||
	    working_replays(work))
		return;
	ending = ending_begun(run->directory);
	if (ending != NULL)
		error_set(&work->error, ERROR_CANCELLED, *why.place != '\0' ? why.place : NULL,
		    "%s (%s is being ended)", why.message, ending);
	else if (is_deserted(run))
		error_set(&work->error, ERROR_INTERRUPTED, *why.place != '\0' ? why.place : NULL,
		    "%s (nobody keeps the run any more)", why.message);
}

/* Tries until it succeeds or may not be tried again. -1: the machine failed. */
static int
run_with_retries(struct working *work, int (*try)(struct working *, struct error *),
    struct error *err)
{
	struct step *s = work->step;
	int repeats = working_repeated_tries(work), tried;
	int64_t began, delay;

	for (tried = 1;; tried++) {
		began = clock_monotonic();
		if (tried > 1)
			number_try(work, tried - 1);
		memset(&work->error, 0, sizeof work->error);
		if (interrupted(&s->interrupts, &work->error))
			return 0;
		if (try(work, err) == -1)
			return -1;
		working_end_around(work);
		if (work->error.code != ERROR_NONE && tried <= repeats)
			continue;
		if (work->error.code == ERROR_NONE || work->error.code == ERROR_WAITING ||
		    may_have_happened(work) ||
		    working_replays(work) || !retry_wanted(&s->retry, work->error.code, tried) ||
		    would_repeat(work))
			return 0;
		note_retry(work, began);
		delay = retry_delay(&s->retry, tried, 0);
		if (tell_retry(work, tried, delay, err) == -1)
			return -1;
		if (interrupts_sleep(&s->interrupts, delay, &work->error) == -1)
			return 0;
	}
}

/* --into takes the data of the one line that came. */
static void
unpass(struct working *work)
{
	size_t count = work->passed_count;

	if (work->error.code == ERROR_NONE && count == 1) {
		working_add_result(work, &work->passed[0].data);
		memset(&work->passed[0].data, 0, sizeof work->passed[0].data);
	} else if (work->error.code == ERROR_NONE) {
		error_set(&work->error, ERROR_INVALID_INPUT, "--into",
		    "takes one result, and %zu came", count);
	}
	working_forget_passed(work);
}

void
working_merge_into(struct working *work)
{
	const char *key = work->step->into;
	struct span data = span_of(work->item->data.json.data, work->item->data.json.len);
	struct span name, value;
	struct span_walk walk;
	struct data merged = { BUFFER_INIT, false, false };
	struct writer w;

	if (work->passes)
		unpass(work);
	if (work->error.code != ERROR_NONE)
		return;
	writer_begin(&w, &merged.json);
	writer_object(&w);
	if (span_type(data) == 'o') {
		span_walk_begin(&walk, data);
		while (span_walk_next(&walk, &name, &value)) {
			if (!span_is(name, key))
				writer_raw_member(&w, name, value);
		}
	} else {
		writer_member_span(&w, "input", data);
	}
	if (w.comma)
		buffer_byte(&merged.json, ',');
	json_quote(&merged.json, key, strlen(key));
	buffer_byte(&merged.json, ':');
	buffer_append(&merged.json, work->results[0].json.data, work->results[0].json.len);
	buffer_byte(&merged.json, '}');
	data_free(&work->results[0]);
	work->results[0] = merged;
}

/* A result that no step could read is none. */
static void
check_size(struct working *work)
{
	size_t total = 0;

	for (size_t i = 0; i < work->result_count; i++)
		total += work->results[i].json.len + 1;
	for (size_t i = 0; i < work->passed_count; i++)
		total += work->passed[i].data.json.len + work->passed[i].metadata.len + 1;
	if (total > DATA_LIMIT)
		error_set(&work->error, ERROR_SCHEMA, NULL,
		    "the result is longer than a line can be (256 MiB)");
}

/* All its tries. A look at the workspace around them has no counterpart in a replay. */
static int
run_command(struct working *work, struct error *err)
{
	struct step *s = work->step;
	int result;

	if (s->effects == EFFECTS_WORKSPACE && !working_replays(work))
		changed_begin_all(&work->changed, s->run->directory);
	result = run_with_retries(work, try_command, err);
	changed_end(&work->changed);
	return result;
}

/* -1: the machine failed; else how it went is in work. */
int
working_run(struct working *work, struct error *err)
{
	struct step *s = work->step;
	int result = 0;

	working_take_tries(work);
	if (s->approve)
		result = working_approve(work, err);
	else if (s->group == GROUP_LOOP)
		result = group_run_loop(work, err);
	else if (s->group == GROUP_PARALLEL)
		result = group_run_parallel(work, err);
	else if (s->command != NULL)
		result = run_command(work, err);
	else if (s->operation != NULL)
		result = run_with_retries(work, try_operation, err);
	else
		run_agent(work);
	if (work->error.code == ERROR_SYSTEM && !work->told) {
		if (err != NULL)
			*err = work->error;
		return -1;
	}
	if (result == 0 && s->into != NULL)
		working_merge_into(work);
	if (work->error.code == ERROR_NONE)
		check_size(work);
	return result;
}

void
working_end_run(struct working *work)
{
	const struct item *item = work->item;
	struct data data = { BUFFER_INIT, false, false };

	if (item_error(item).at != NULL || (item->line.len > 0 && !item->foreign))
		return;
	data_copy(&data, &item->data);
	working_add_result(work, &data);
}

bool
working_passes_item(const struct working *work)
{
	return work->step->terminal != NULL && work->error.code == ERROR_NONE &&
	    work->result_count == 0;
}

/* What was probably meant. */
static const char *
condition_hint(const struct working *work, const struct condition *condition, int exit_code)
{
	const struct buffer *data = &work->item->data.json;

	if (exit_code == PROCESS_NOT_FOUND && condition->text[strspn(condition->text, " ")] == '.')
		return ": it is a shell command that reads the state line, such as jq -e .data";
	if (exit_code != PROCESS_NOT_FOUND && data->len > 0 &&
	    span_holds_json(span_of(data->data, data->len)))
		return ": " DATA_HOLDS_JSON;
	return "";
}

int
working_ask(struct working *work, const struct condition *condition,
    const struct buffer *line, struct verdict *answer, struct error *err)
{
	struct step *s = work->step;
	char *argv[4];
	struct subprocess process;
	int result;

	process_shell(argv, condition->text);
	memset(&process, 0, sizeof process);
	process.argv = argv;
	process.environment = s->environment.list;
	process.timeout_ms = s->timeout_ms;
	process.input = line->data;
	process.input_len = line->len;
	result = subprocesses_run(&process, 1, &s->interrupts, err);
	answer->asked = true;
	answer->yes = process.error.code == ERROR_NONE;
	answer->answered = answer->yes ||
	    (process.error.code == ERROR_EXIT_STATUS && process.exit_code == 1);
	if (process.error.code == ERROR_EXIT_STATUS && process.exit_code > 1)
		error_set(&work->error, ERROR_EXIT_STATUS, NULL,
		    "the condition of --%s ended with status %d%s", condition->word, process.exit_code,
		    condition_hint(work, condition, process.exit_code));
	else if (process.error.code != ERROR_NONE && process.error.code != ERROR_EXIT_STATUS)
		work->error = process.error;
	else
		look_for_dead(work);
	subprocess_free(&process);
	return result;
}
