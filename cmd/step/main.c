/*
 * awf-step: runs one step of a workflow for each item on stdin.
 *
 * What the code relies on:
 *   - The process registers its beginning in the run's roster before it reads input, and its end
 *     before it closes stdout; a process that dies in between is seen to be dead.
 *   - stdout gets whole lines only, and only of calls whose end is in the transcript.
 *   - SIGPIPE is ignored here and default in children; a step whose output nobody reads ends
 *     its work, records that, and then dies of SIGPIPE as any filter would.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#if defined __GLIBC__ && !defined AWF_PORTABLE
#include <malloc.h>
#endif
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/locale.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/patience.h"
#include "base/text.h"
#include "history/history.h"
#include "io/file.h"
#include "io/installation.h"
#include "io/terminal.h"
#include "json/writer.h"
#include "model/outcome.h"
#include "model/told_failures.h"
#include "proc/descendants.h"
#include "proc/ending.h"
#include "proc/frame.h"
#include "proc/interrupts.h"
#include "proc/message.h"
#include "proc/provider_variables.h"
#include "program.h"
#include "start/conclusion.h"
#include "step/script_advice.h"
#include "step/settings.h"
#include "step/stream.h"
#include "step_call/step.h"
#include "step_kinds/kinds.h"
#include "storage/redactor.h"
#include "transcript/call.h"
#include "view/screen.h"

#define PROGRAM "awf-step"
#define HEAP (1 << 20)

extern char **environ;

/* What the process acquires. */
struct resources {
	struct run run;
	struct redactor redactor;
	struct roster roster;
	struct keys keys;
	struct history *history;   /* NULL: there is none */
	struct recall recall;
	bool own_run;
	char *path;
};

static const struct interrupts *interrupts; /* from signals */

static void
step_print_message(const char *text)
{
	message_print(PROGRAM, "%s", text);
}

/* ---- the run ---- */

/* The API keys, and the environment for programs. Bodies of groups get the keys in it, because
 * they consist of steps like the workflow; other programs do not. */
static int
step_load_environment(struct settings *s, struct resources *r, struct error *err)
{
	struct environment *e = &s->step.place.environment;
	bool hidden = !s->step.definition.work->passes || sandbox_holds(&s->step.options.sandbox);
	const char *const *name;

	if (keys_load(&r->keys, err) == -1)
		return -1;
	s->step.place.keys = &r->keys;
	environment_begin(e);
	for (name = provider_key_names(); hidden && *name != NULL; name++)
		if (!list_has(s->pass_keys, *name))
			environment_unset(e, *name);
	for (size_t i = 0; i < r->keys.count; i++) {
		if (list_has(s->pass_keys, r->keys.names[i]))
			environment_set(e, r->keys.names[i], r->keys.values[i]);
		else if (hidden)
			environment_unset(e, r->keys.names[i]);
	}
	return 0;
}

/* Joins the run that the environment names, or creates one. */
static int
enter_run(struct settings *s, struct resources *r, char **argv, struct error *err)
{
	struct run_spec spec = { .name = s->step.options.name, .kind = "step", .argv = argv,
		.keep_transcript = true, .latest = true, .repaired = step_print_message };
	int entered;

	if (run_in_environment()) {
		entered = run_enter(&r->run, err);
		if (entered == 0)
			entered = redactor_join(&r->redactor, &r->run, err);
		/* Open what was recorded before, if the run is resumed or replayed. */
		if (entered == 0)
			entered = history_open(&r->history, r->run.directory, err);
		if (entered == 0 && r->history != NULL) {
			r->recall = history_recall(r->history);
			s->step.place.recall = &r->recall;
		}
		redactor_environment(&r->redactor, &s->step.place.environment);
		return entered;
	}
	r->own_run = true;
	installation_join_path();
	if (getenv("PATH") != NULL)
		environment_set(&s->step.place.environment, "PATH", getenv("PATH"));
	if (redactor_open(&r->redactor, NULL, err) == -1)
		return -1;
	redactor_environment(&r->redactor, &s->step.place.environment);
	spec.redaction = redactor_redaction(&r->redactor);
	return run_create(&r->run, &spec, err);
}

/* Registers this process in the run's roster. late: the run is ending and the step makes no call:
 * the enclosing calls and its readers count it as missing, even with --try. */
static int
step_join_run(struct settings *s, struct resources *r, bool late, struct error *err)
{
	const char *enclosing = "", *path = "";
	struct step *step = &s->step;
	struct environment *e = &step->place.environment;
	bool prints = !s->quiet && s->file == NULL, replays = step_replays(step);
	struct roster_entry entry = { .name = step->options.name,
		.tried = step->options.failure == FAILURE_TRY && !late, .out = prints ? STDOUT_FILENO : -1 };
	char here[PATH_MAX];

	step->place.run = &r->run;
	step->options.gate.run_id = r->run.id;
	step->options.gate.attempt = r->run.attempt;
	step->options.gate.key = r->run.key;
	if (!r->own_run && call_around(&enclosing, &path, err) != 0)
		return -1;
	step->place.enclosing = enclosing;
	step->place.outermost = *enclosing == '\0';
	step->place.root = recall_root(enclosing);
	step->place.tool_call = call_tool_around();
	step->place.try_number = call_try_around();
	step->place.parent = r->run.started;
	r->path = memory_format("%s%s%s", path, *path != '\0' ? "." : "", step->options.name);
	step->place.path = r->path;
	if (interrupts != NULL) /* a step that is refused has none */
		step->place.interrupts.signal_number = interrupts->signal_number;
	/* The step ends when nobody reads its output any more; in a replay, only after all recorded
	 * calls have been made. */
	step->place.interrupts.downstream = prints && !replays ? STDOUT_FILENO : -1;
	step->place.reader = prints && replays ? STDOUT_FILENO : 0;

	step->place.workspace = run_workspace(&r->run);
	if (!r->own_run &&
	    (step->definition.work->reads_environment == NULL || step->definition.work->reads_environment(step)) &&
	    marks_find(&step->place.marks, r->run.directory, step->place.workspace, NULL, err) == -1)
		return -1;
	entry.enclosing = enclosing;
	entry.owner = r->own_run;
	if (roster_begin(&r->roster, r->run.directory, &entry, err) == -1)
		return -1;
	step->place.process = memory_format("%s%s%s:%ld", enclosing, *enclosing != '\0' ? "/" : "",
	    step->options.name, r->roster.occurrence);
	environment_set(e, "AWF_RUN_ID", r->run.id);
	environment_set(e, "AWF_TRANSCRIPT", r->run.transcript.path);
	environment_set(e, "AWF_STORAGE", r->run.storage.root);
	environment_set(e, "AWF_PATH", step->place.path);
	environment_set(e, TRACEPARENT, r->run.traceparent);
	if (r->own_run && getcwd(here, sizeof here) != NULL)
		environment_set(e, "AWF_WORKFLOW_DIR", here);
	redactor_export(&r->redactor, e);
	return 0;
}

static void
handle_signals(void)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, 0 };

	interrupts = interrupts_catch(ends);
	signal(SIGPIPE, SIG_IGN);
}

static void
step_print_failures(void *context, const char *text, size_t more)
{
	struct buffer line = BUFFER_INIT;

	(void)context;
	told_failures_line(&line, text, more);
	step_print_message(buffer_string(&line));
	buffer_free(&line);
}

/* Ends the run that this step has created: the outcome of the step is that of the run, unless a
 * signal or a system error (*failure) ended it. */
static int
finish_run(struct resources *r, const struct step *step, const struct stream *stream, int *status,
    const struct error *failure, struct error *err)
{
	/* With --try, a failure is the exit status, but does not fail the run. */
	const bool tried = step->options.failure == FAILURE_TRY && *status == STATUS_WORK;
	struct conclusion c;
	struct run_end end;
	struct outcome outcome;
	struct error cancelled;
	int result;

	told_failures_read(r->run.directory, step_print_failures, NULL);
	if (outcome_read(&outcome, r->run.transcript.path, r->run.attempt_from, err) == -1)
		return -1;
	conclusion_judge(&c, tried ? STATUS_OK : *status << 8, stream->closed || stream->gone, &r->run, NULL, &outcome);
	if (interrupts_arrived(interrupts, &cancelled)) {
		c = (struct conclusion){ .status = "cancelled", .exit_code = *status, .error = cancelled };
	} else if (failure->code != ERROR_NONE) {
		c.status = "failed";
		c.exit_code = *status;
		if (outcome.error.code == ERROR_NONE)
			c.error = *failure;
	}
	if (tried)
		c.exit_code = *status;
	end = (struct run_end){ .status = c.status, .exit_code = c.exit_code, .error = &c.error,
		.usage = span_of(buffer_string(&outcome.usage), outcome.usage.len) };
	*status = c.exit_code;
	result = run_finish(&r->run, &end, err);
	outcome_free(&outcome);
	return result;
}

/* ---- the work ---- */

static void
prepare_stream(struct settings *s, struct stream *stream, struct state_reader *reader)
{
	memset(stream, 0, sizeof *stream);
	stream->step = &s->step;
	stream->reader = reader;
	stream->jobs = (size_t)s->jobs;
	stream->joined = s->joined;
	stream->by_name = s->by_name;
	stream->complete = s->complete;
	stream->makers = s->makers;
	stream->allow_empty = s->allow_empty;
	stream->report = stream->failures.print = step_print_message;
}

static int
run_stream(struct settings *s, struct resources *r, struct stream *stream, struct error *err)
{
	const struct work *work = s->step.definition.work;
	/* Whether this process makes one call after the other and does not look for recorded
	 * ones. */
	const bool serial = s->jobs == 1 && s->step.place.recall == NULL;
	struct replacement output;
	struct state_reader reader;
	int result = 0;

	if (s->file != NULL && replacement_open(&output, s->file, 0666, err) == -1)
		return -1;
	state_reader_begin(&reader, STDIN_FILENO, s->input, r->run.id);
	reader.no_states = true;
	reader.signal_number = interrupts->signal_number;
	prepare_stream(s, stream, &reader);
	stream->roster = &r->roster;
	stream->out = s->file != NULL ? output.fd : s->quiet ? -1 : STDOUT_FILENO;
	/* Failures printed inside a call are recorded as that call's stderr: the run's owner counts
	 * them. */
	stream->owner_counts = s->step.place.outermost;
	if (work->begin != NULL)
		result = work->begin(&s->step, serial ? STDIN_FILENO : -1, err);
	if (result == 0)
		result = stream_run(stream, err);
	folded_messages_end(&stream->failures);

	/* Replace the file of -o only if everything succeeded. */
	if (s->file != NULL && result == 0 && stream->status == STATUS_OK &&
	    *interrupts->signal_number == 0)
		result = replacement_commit(&output, r->run.transcript.sync != SYNC_NONE, err);
	else if (s->file != NULL)
		replacement_abandon(&output);
	state_reader_free(&reader);
	stream->reader = NULL;
	return result;
}

/* The signal that ends the process, 0 for none. */
static int
last_signal(const struct stream *stream)
{
	int number = *interrupts->signal_number;

	return number != 0 ? number : stream->closed || stream->gone ? SIGPIPE : 0;
}

/* Whether a shell runs a workflow file without awf-run, so that each step creates its own run;
 * prints a warning in the first one. */
static bool
step_advise_script(const struct settings *s, const struct resources *r)
{
	bool first;
	char *script = r->own_run ? script_advice_of(&r->run.storage, &first) : NULL;
	struct error advice;

	if (script != NULL && first) {
		error_set(&advice, ERROR_USAGE, s->step.options.name, "a shell runs %s, so that each of its steps is a "
		    "run of its own: awf-run %s makes one of all", script, script);
		program_fail(PROGRAM, &advice);
	}
	free(script);
	return script != NULL;
}

/* If two steps of a pipeline at a prompt each create a run, tells the user how to make it one
 * run. */
static void
step_advise_one_run(const struct settings *s, const struct resources *r,
    const struct stream *stream)
{
	if (r->own_run && stream->producers.foreign && terminal_is(STDERR_FILENO))
		message_print(PROGRAM, "%s: its input is of another run, and this is a run of its own: "
		    "awf-run -c 'awf-step %s | awf-step %s' makes one of all", s->step.options.name,
		    locale_choose("…", "..."), locale_choose("…", "..."));
}

/* Records a step that cannot begin as failed before its first call: so the reason is in the
 * transcript, and the next steps get an error line, as for any failed call. The step is registered
 * in the run. -1: it could not be recorded. */
static int
fail_before_call(struct settings *s, const struct error *why)
{
	struct step_result result = { .out = BUFFER_INIT };
	struct error err = ERROR_INIT;
	struct item nothing;
	void (*before)(int);
	int failed;

	memset(&nothing, 0, sizeof nothing);
	data_null(&nothing.data);
	failed = step_fail(&s->step, &nothing, why, 0, &result, &err);
	/* The next step may be refused too, and have exited. */
	before = signal(SIGPIPE, SIG_IGN);
	if (failed == 0 && s->file == NULL && !s->quiet)
		state_put(STDOUT_FILENO, buffer_string(&result.out), result.out.len, NULL);
	signal(SIGPIPE, before);
	buffer_free(&result.out);
	item_free(&nothing);
	return failed;
}

/* Like fail_before_call(), for an invalid command line or definition. */
static void
record_refusal(struct settings *s, struct resources *r, char **argv, const struct error *why)
{
	struct error err = ERROR_INIT;

	if (s->step.options.name == NULL || !name_valid(s->step.options.name))
		return;
	/* Do not use a part of an invalid definition. */
	step_unload(&s->step);
	if (s->step.definition.work == NULL) {
		s->step.definition.work = work_find(&s->step.options);
		s->step.definition.kind = "command";
	}
	digest_sha256("", 0, s->step.definition.sha256);
	if (step_load_environment(s, r, &err) == 0 && enter_run(s, r, argv, &err) == 0 &&
	    step_join_run(s, r, false, &err) == 0 && fail_before_call(s, why) == 0)
		roster_end(&r->roster);
}

/* Runs the step in its run. Returns the exit status. */
static int
run_step(struct settings *s, struct resources *r, char **argv)
{
	struct error err = ERROR_INIT, late = ERROR_INIT;
	struct stream stream;
	const char *ending;
	bool script;
	int status;

	memset(&stream, 0, sizeof stream);
	handle_signals();
	if (step_load_environment(s, r, &err) == -1 || enter_run(s, r, argv, &err) == -1)
		return program_fail(PROGRAM, &err);
	r->run.transcript.repaired = step_print_message;
	script = step_advise_script(s, r);
	/* At a prompt, output is for a person: print it as with --raw. */
	if (r->own_run && s->file == NULL && terminal_is(STDOUT_FILENO))
		s->step.options.output.raw = true;

	/* When a run or a call is being ended, each step that has registered gets a signal. A step that
	 * registers only now makes no call, unless it is a cleanup step: a cleanup step and its
	 * children ignore the signals that end the other steps. */
	ending = ending_begun(r->run.directory);
	if (ending != NULL && s->step.options.cleanup) {
		signal(SIGINT, SIG_IGN);
		signal(SIGTERM, SIG_IGN);
		signal(SIGHUP, SIG_IGN);
		*interrupts->signal_number = 0;
	} else if (ending != NULL) {
		if (step_join_run(s, r, true, &err) == 0)
			error_set(&err, ERROR_CANCELLED, s->step.options.name, "not started: %s "
			    "is being ended", ending);
		return program_fail(PROGRAM, &err);
	}

	if (step_join_run(s, r, false, &err) == -1 ||
	    step_name_files(&s->step, &err) == -1 ||
	    run_stream(s, r, &stream, &err) == -1) {
		status = program_fail(PROGRAM, &err);
		/* A step may also be refused because of the run, such as by its budget. */
		if (!r->own_run && stream.index == 0 && (err.code == ERROR_USAGE || err.code == ERROR_DEFINITION))
			fail_before_call(s, &err);
	} else {
		status = stream.status;
	}
	if (!script)
		step_advise_one_run(s, r, &stream);
	step_stop(&s->step);
	if (last_signal(&stream) != 0)
		status = 128 + last_signal(&stream);
	if (r->own_run && finish_run(r, &s->step, &stream, &status, &err, &late) == -1)
		status = strcmp(late.message, err.message) == 0 ? STATUS_SYSTEM :
		    program_fail(PROGRAM, &late);

	/* Register the end in the roster. If a signal or a system error ended the step, its output
	 * is incomplete, and its reader must know. A step with --try may end in any way. */
	if (status == STATUS_OK && !stream.printed)
		roster_end_empty(&r->roster);
	else if (s->step.options.failure == FAILURE_TRY || (*interrupts->signal_number == 0 && status != STATUS_SYSTEM))
		roster_end(&r->roster);
	else if (status == STATUS_SYSTEM)
		roster_fail(&r->roster, err.code != ERROR_NONE ? &err : &late);
	stream_free(&stream);

	/* Die by the signal, as a program without a handler would. */
	if (last_signal(&stream) != 0)
		signals_die(last_signal(&stream));
	return status;
}

/* Appends what the step would do to the file of awf-run --dry-run, adding the name of the step to
 * each line, and prints a placeholder for its output. */
static int
step_write_dry_run(const struct settings *s, const char *file, const struct buffer *lines,
    struct error *err)
{
	const char *rest = buffer_string(lines), *line;
	struct buffer named = BUFFER_INIT, gives = BUFFER_INIT;
	int fd = open(file, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC), result = 0;
	size_t len;

	while ((line = text_part(&rest, '\n', &len)) != NULL)
		/* A request contains the name already. */
		if (span_member(span_of(line, len), "step").at != NULL)
			buffer_format(&named, "%.*s\n", (int)len, line);
		else if (len > 1)
			buffer_format(&named, "{\"step\":\"%s\",%.*s\n", s->step.options.name, (int)len - 1, line + 1);
	if (named.len > 0 && !s->quiet && s->file == NULL)
		buffer_format(&gives, "(what %s gives)\n", s->step.options.name);
	if (fd == -1 || file_write(fd, buffer_string(&named), named.len) == -1)
		result = error_errno(err, ERROR_SYSTEM, file, "unable to write");
	else if (file_write(STDOUT_FILENO, buffer_string(&gives), gives.len) == -1 && errno != EPIPE)
		result = error_errno(err, ERROR_SYSTEM, "stdout", "unable to write");
	if (fd != -1)
		close(fd);
	buffer_free(&named);
	buffer_free(&gives);
	return result;
}

/* Prints what would be done for each item, without using the storage. MCP servers are started all
 * the same, because only they know their tools; SIGPIPE is ignored, as one may stop reading. */
static int
dry_run(struct settings *s, struct resources *r)
{
	const char *run_id = run_in_environment() ? getenv("AWF_RUN_ID") : "";
	struct error err = ERROR_INIT;
	const char *file = run_in_environment() ? NULL : environment_text(DRY_RUN_FILE);
	struct buffer out = BUFFER_INIT;
	struct state_reader reader;
	struct stream stream;
	int done;

	s->step.place.shown = isatty(STDOUT_FILENO);
	state_reader_begin(&reader, STDIN_FILENO, s->input, run_id);
	reader.no_states = true;
	prepare_stream(s, &stream, &reader);
	signal(SIGPIPE, SIG_IGN);
	done = step_load_environment(s, r, &err);
	if (done == 0)
		done = stream_describe(&stream, &out, &err);
	if (file != NULL) {
		if (done == 0)
			done = step_write_dry_run(s, file, &out, &err);
		buffer_clear(&out);
	}
	signal(SIGPIPE, SIG_DFL);
	if (done == 0 && terminal_write_json(STDOUT_FILENO, buffer_string(&out), out.len) == -1)
		done = error_errno(&err, ERROR_SYSTEM, "stdout", "unable to write");
	stream_free(&stream);
	state_reader_free(&reader);
	buffer_free(&out);
	return done == -1 ? program_fail(PROGRAM, &err) : STATUS_OK;
}

/* Writes the variables AWF_INPUT_k=v as {"k":"v"}. */
static void
collect_inputs(struct buffer *out)
{
	static const char prefix[] = "AWF_INPUT_";
	const size_t len = sizeof prefix - 1;
	struct writer w;

	writer_begin(&w, out);
	writer_object(&w);
	for (char **variable = environ; *variable != NULL; variable++) {
		const char *equals = strchr(*variable, '=');

		if (strncmp(*variable, prefix, len) != 0 || equals == NULL)
			continue;
		writer_key_quoted(&w, *variable + len, (size_t)(equals - *variable) - len);
		writer_string(&w, equals + 1);
	}
	writer_object_end(&w);
}

/* Warns a user at a prompt that the input is read but not used. */
static void
warn_of_input(const struct settings *s)
{
	const struct work *work = s->step.definition.work;
	const char *why = work->ignores_input != NULL ? work->ignores_input(&s->step) : NULL;

	if (why != NULL && s->input != INPUT_NONE && !s->dry_run && !run_in_environment() &&
	    terminal_is_told(STDERR_FILENO))
		message_print(PROGRAM, "%s: %s", s->step.options.name, why);
}

/* Does what the command line says. Errors in definitions are reported before input is read. */
static int
carry_out(struct settings *s, struct resources *r, char **argv)
{
	struct error err = ERROR_INIT;
	int loaded;

	if (environment_text(FRAME_MARKER) != NULL && !run_in_environment()) {
		error_set(&err, ERROR_USAGE, s->step.options.name, "this is the far end of a launcher, where no step is "
		    "recorded: --via belongs to the awf-step there (awf-run makes a run of its own here)");
		return program_fail(PROGRAM, &err);
	}
	s->step.place.far_gone = clock_monotonic() + FAR_GONE_MS;
	s->dry_run = s->dry_run || (!run_in_environment() && environment_text(DRY_RUN_FILE) != NULL);
	descendants_adopt(); /* so that processes that a child leaves behind can be ended with it */
	collect_inputs(&s->step.place.inputs);
	loaded = step_load(&s->step, &err);
	if (loaded == 0)
		warn_of_input(s);
	if (loaded == -1) {
		if (!s->dry_run && run_in_environment())
			record_refusal(s, r, argv, &err);
		return program_fail(PROGRAM, &err);
	}
	return s->dry_run ? dry_run(s, r) : run_step(s, r, argv);
}

int
main(int argc, char **argv)
{
	struct error err = ERROR_INIT;
	static struct settings settings; /* too large for a small stack */
	static struct resources r;
	int id, status;

	program_begin();
#if defined __GLIBC__ && !defined AWF_PORTABLE
	/* Allocate the memory that most steps need in one system call, and keep it until the
	 * end. */
	mallopt(M_TOP_PAD, HEAP);
	mallopt(M_TRIM_THRESHOLD, 2 * HEAP);
#endif
	memset(&r, 0, sizeof r);
	r.roster.fd = -1;
	id = settings_parse(&settings, argc, argv, &err);
	switch (id) {
	case OPTION_HELP:
	case OPTION_HELP_ALL:
		options_help(stdout, step_usage, step_options, id);
		status = program_end(PROGRAM, STATUS_OK);
		break;
	case OPTION_VERSION:
		status = program_end(PROGRAM, program_version(PROGRAM));
		break;
	case -1:
		status = program_fail(PROGRAM, &err);
		if (run_in_environment())
			record_refusal(&settings, &r, argv, &err);
		break;
	default:
		status = carry_out(&settings, &r, argv);
	}

	settings_free(&settings);
	free(settings.step.place.process);
	marks_free(&settings.step.place.marks);
	free(settings.step.place.workspace);
	free(r.path);
	buffer_free(&settings.step.place.inputs);
	environment_free(&settings.step.place.environment);
	step_unload(&settings.step);
	buffer_free(&settings.step.definition.files);
	keys_free(&r.keys);
	if (r.history != NULL)
		history_close(r.history);
	if (r.run.directory != NULL) {
		roster_close(&r.roster);
		run_close(&r.run);
	}
	redactor_free(&r.redactor);
	return status;
}
