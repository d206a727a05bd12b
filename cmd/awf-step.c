/*
 * awf-step: runs one step of a workflow for each item on stdin.
 *
 * What the code relies on:
 *   - The begin is in the run's roster before input is read, the end before stdout
 *     is closed; a process that dies in between is seen to be dead.
 *   - stdout gets whole lines only, and only of calls whose end is in the transcript.
 *   - SIGPIPE is ignored here and default in children; who finds nobody reading ends
 *     its work, records that, and then dies of SIGPIPE as any filter would.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/budget.h"
#include "agent/prompt.h"
#include "base/file.h"
#include "base/installation.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/terminal.h"
#include "base/text.h"
#include "json/writer.h"
#include "proc/api_keys.h"
#include "proc/descendants.h"
#include "proc/ending.h"
#include "program.h"
#include "run/history.h"
#include "run/redactor.h"
#include "run/outcome.h"
#include "step/settings.h"
#include "step/step.h"
#include "step/step_load.h"
#include "step/stream.h"
#include "transcript/call.h"

#define PROGRAM "awf-step"

extern char **environ;

/* What the process acquires. */
struct resources {
	struct run run;
	struct redactor redactor;
	struct roster roster;
	struct keys keys;
	struct step_loaded loaded;
	struct replacement output;
	struct budget budget;
	struct history *history;   /* NULL: the run has none */
	struct recall recall;
	bool own_run, has_output;
	char *path, *enclosing;
};

static volatile int signal_number;

static void
note_signal(int number)
{
	signal_number = number;
}

static void
report(const char *text)
{
	fprintf(stderr, PROGRAM ": %s\n", text);
}

static void
report_lines(const char *text)
{
	while (text != NULL && *text != '\0') {
		size_t len = strcspn(text, "\n");

		fprintf(stderr, PROGRAM ": %.*s\n", (int)len, text);
		text += len + (text[len] == '\n');
	}
}

/* All that can be wrong with definitions is said before input is read. */
static int
load(struct settings *s, struct resources *r, struct error *err)
{
	int loaded = step_load(&s->step, &s->source, &r->loaded, err);
	const struct team *team = &r->loaded.team;

	for (size_t i = 0; i < team->count; i++)
		report_lines(team->members[i]->agent.doubt);
	s->step.live = s->step.live || (team->count > 0 && isatty(STDERR_FILENO));
	return loaded;
}

/* ---- the run ---- */

/* Bodies of groups are made of steps, as the workflow is: the keys are there for those. */
static void
hide_keys(const struct settings *s, const struct keys *keys, struct environment *e)
{
	bool hidden = s->step.group == GROUP_NONE || sandbox_holds(&s->step.sandbox);
	const char *const *name;
	size_t i;

	for (name = provider_key_names(); hidden && *name != NULL; name++)
		if (!list_has(s->pass_keys, *name))
			environment_unset(e, *name);
	for (i = 0; i < keys->count; i++) {
		if (list_has(s->pass_keys, keys->names[i]))
			environment_set(e, keys->names[i], keys->values[i]);
		else if (hidden)
			environment_unset(e, keys->names[i]);
	}
}

/* What was recorded of the run before, if it goes on or is replayed. */
static int
open_history(struct settings *s, struct resources *r, struct error *err)
{
	if (history_open(&r->history, r->run.directory, err) == -1)
		return -1;
	if (r->history != NULL) {
		r->recall = history_recall(r->history);
		s->step.recall = &r->recall;
	}
	return 0;
}

/* The keys, and the environment of what is started, which has none of them but for bodies
 * of groups. */
static int
take_environment(struct settings *s, struct resources *r, struct error *err)
{
	if (keys_load(&r->keys, err) == -1)
		return -1;
	s->step.keys = &r->keys;
	environment_begin(&s->step.environment);
	hide_keys(s, &r->keys, &s->step.environment);
	return 0;
}

/* The run of the environment, or one of its own, and the filter of its events. */
static int
enter_run(struct settings *s, struct resources *r, char **argv, struct error *err)
{
	struct run_spec spec = { .name = s->step.name, .kind = "step", .argv = argv,
		.keep_transcript = true, .latest = true, .repaired = report };
	int entered;

	if (run_in_environment()) {
		entered = run_enter(&r->run, err);
		if (entered == 0)
			entered = redactor_join(&r->redactor, &r->run, err);
		if (entered == 0)
			entered = open_history(s, r, err);
		redactor_environment(&r->redactor, &s->step.environment);
		return entered;
	}
	r->own_run = true;
	installation_join_path();
	if (getenv("PATH") != NULL)
		environment_set(&s->step.environment, "PATH", getenv("PATH"));
	if (redactor_open(&r->redactor, NULL, err) == -1)
		return -1;
	redactor_environment(&r->redactor, &s->step.environment);
	spec.redaction = redactor_redaction(&r->redactor);
	return run_create(&r->run, &spec, err);
}

/* AWF_INPUT_k=v as {"k":"v"}. */
static void
collect_inputs(struct buffer *out)
{
	static const char prefix[] = "AWF_INPUT_";
	struct writer w;
	const char *equals;
	char **variable;

	writer_begin(&w, out);
	writer_object(&w);
	for (variable = environ; *variable != NULL; variable++) {
		if (strncmp(*variable, prefix, sizeof prefix - 1) != 0)
			continue;
		equals = strchr(*variable, '=');
		if (equals == NULL)
			continue;
		if (w.comma)
			buffer_byte(out, ',');
		json_quote(out, *variable + sizeof prefix - 1,
		    (size_t)(equals - *variable) - (sizeof prefix - 1));
		buffer_byte(out, ':');
		json_quote(out, equals + 1, strlen(equals + 1));
		w.comma = true;
	}
	writer_object_end(&w);
}

static void
prepare_environment(struct settings *s, struct resources *r)
{
	struct environment *e = &s->step.environment;
	const struct run *run = &r->run;
	char here[PATH_MAX];

	environment_set(e, "AWF_RUN_ID", run->id);
	environment_set(e, "AWF_TRANSCRIPT", run->transcript.path);
	environment_set(e, "AWF_STORAGE", run->storage.root);
	environment_set(e, "AWF_PATH", s->step.path);
	if (r->own_run && getcwd(here, sizeof here) != NULL)
		environment_set(e, "AWF_WORKFLOW_DIR", here);
	redactor_export(&r->redactor, e);
}

/* Nobody reading ends the step; in a replay, once what was recorded has been made. */
static void
watch_reader(struct settings *s)
{
	struct step *step = &s->step;
	bool prints = !s->quiet && s->file == NULL;
	bool replays = step_replays(step);

	step->interrupts.downstream = prints && !replays ? STDOUT_FILENO : -1;
	step->reader = prints && replays ? STDOUT_FILENO : 0;
}

/* Who this process is in the run. late: it begins nothing, and will be missed by what is
 * around it and by who reads from it, even if it was only to be tried. */
static int
take_place(struct settings *s, struct resources *r, bool late, struct error *err)
{
	const char *enclosing = "", *path = "";
	struct step *step = &s->step;
	struct roster_entry entry = { .name = step->name,
		.tried = step->failure == FAILURE_TRY && !late,
		.out = s->quiet || s->file != NULL ? -1 : STDOUT_FILENO };

	step->run = &r->run;
	step->gate.run_id = r->run.id;
	step->gate.attempt = r->run.attempt;
	step->gate.key = r->run.key;
	if (!r->own_run && call_around(&enclosing, &path, err) != 0)
		return -1;
	step->enclosing = enclosing;
	step->root = recall_root(enclosing);
	step->try_number = call_try_around();
	step->parent = r->run.started;
	r->path = memory_format("%s%s%s", path, *path != '\0' ? "." : "", step->name);
	step->path = r->path;
	step->interrupts.signal_number = &signal_number;
	watch_reader(s);
	entry.enclosing = enclosing;
	if (roster_begin(&r->roster, r->run.directory, &entry, err) == -1)
		return -1;
	step->process = memory_format("%s%s%s:%ld", step->enclosing,
	    *step->enclosing != '\0' ? "/" : "", step->name, r->roster.occurrence);
	prepare_environment(s, r);
	return 0;
}

static void
handle_signals(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action, before;
	size_t i;

	memset(&action, 0, sizeof action);
	action.sa_handler = note_signal;
	sigemptyset(&action.sa_mask);
	/* What was ignored when we came (nohup) stays ignored. */
	for (i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			sigaction(numbers[i], &action, NULL);
	action.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &action, NULL);
	action.sa_handler = SIG_DFL; /* ignored, it would take the children's ends away */
	sigaction(SIGCHLD, &action, NULL);
	descendants_adopt();
}

/* Who is here before its run, or a call around it, is being ended gets the signal; who comes
 * later begins nothing, unless it cleans up: that is not ended by the signals that end the rest, nor is
 * what it runs. What is being ended; NULL: it begins. */
static const char *
come_late(const struct settings *s, const struct run *run)
{
	const char *what = ending_begun(run->directory);

	if (what == NULL || !s->step.cleanup)
		return what;
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal_number = 0;
	return NULL;
}

/* Dies of a signal, as a program without a handler would. */
static void
die_of(int number)
{
	sigset_t set;

	signal(number, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(number);
}

/* A terminal call has decided, in a group or as the step itself. */
static void
conclude_decided(struct run_end *end, struct outcome *outcome)
{
	bool failed = outcome->decision == RUN_FAILS;

	if (outcome->waiting > 0) {
		end->status = "waiting";
		end->exit_code = STATUS_WAITING;
		return;
	}
	end->status = failed ? "failed" : "success";
	end->exit_code = !failed ? STATUS_OK : end->exit_code != 0 ? end->exit_code : STATUS_WORK;
	outcome->error = outcome->decided;
}

/* What a run of its own came to: what its one step did, unless a signal or the
 * machine (*failure) ended it. */
static void
conclude(struct run_end *end, struct outcome *outcome, const struct error *failure)
{
	struct error *why = &outcome->error, cancelled;

	end->status = "success";
	if (interrupted(&(struct interrupts){ .signal_number = &signal_number, .downstream = -1 },
	    &cancelled)) {
		end->status = "cancelled";
		failure = &cancelled;
	} else if (failure->code == ERROR_NONE && outcome->decision != RUN_UNDECIDED) {
		conclude_decided(end, outcome);
	} else if (outcome->failed > 0 || failure->code != ERROR_NONE) {
		end->status = "failed";
	} else if (outcome->waiting > 0) {
		end->status = "waiting";
	}
	if (why->code == ERROR_NONE)
		*why = *failure;
	end->error = why;
	end->usage = span_of(buffer_string(&outcome->usage), outcome->usage.len);
}

static int
finish_run(struct resources *r, int *status, const struct error *failure, struct error *err)
{
	struct run_end end = { .exit_code = *status };
	struct outcome outcome;
	int result;

	if (outcome_read(&outcome, r->run.transcript.path, r->run.attempt_from, err) == -1)
		return -1;
	conclude(&end, &outcome, failure);
	*status = end.exit_code;
	result = run_finish(&r->run, &end, err);
	outcome_free(&outcome);
	return result;
}

/* ---- the work ---- */

static int
open_output(const struct settings *s, struct resources *r, struct stream *stream,
    struct error *err)
{
	stream->out = s->quiet ? -1 : STDOUT_FILENO;
	if (s->file == NULL)
		return 0;
	if (replacement_open(&r->output, s->file, 0666, err) == -1)
		return -1;
	r->has_output = true;
	stream->out = r->output.fd;
	return 0;
}

/* -o FILE appears only if all went well. */
static int
close_output(struct resources *r, bool good, struct error *err)
{
	if (!r->has_output)
		return 0;
	if (good)
		return replacement_commit(&r->output, r->run.transcript.sync != SYNC_NONE, err);
	replacement_abandon(&r->output);
	return 0;
}

/* What the step may cost: of a replay, what was recorded counts. */
static int
begin_budget(struct settings *s, struct resources *r, struct error *err)
{
	if (s->step.team == NULL || (s->max_cost < 0 && getenv(BUDGET_LIMIT) == NULL) ||
	    step_replays(&s->step))
		return 0;
	if (budget_begin(&r->budget, s->max_cost, s->step.team, err) == -1)
		return -1;
	s->step.budget = r->budget.limits ? &r->budget : NULL;
	return 0;
}

static void
stream_prepare(struct settings *s, struct stream *stream, struct state_reader *reader)
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
	stream->report = report;
}

static int
run_stream(struct settings *s, struct resources *r, struct stream *stream, struct error *err)
{
	struct state_reader reader;
	int result;

	state_reader_begin(&reader, STDIN_FILENO, s->input, r->run.id);
	reader.signal_number = &signal_number;
	stream_prepare(s, stream, &reader);
	stream->roster = &r->roster;
	result = open_output(s, r, stream, err);
	if (result == 0 && s->jobs == 1 && s->step.recall == NULL)
		result = step_start_provider(&s->step, err);
	if (result == 0)
		result = stream_run(stream, err);
	if (close_output(r, result == 0 && stream->status == STATUS_OK && signal_number == 0,
	    result == 0 ? err : NULL) == -1)
		result = -1;
	state_reader_free(&reader);
	stream->reader = NULL;
	return result;
}

/* Which signal the process dies of, 0 for none. */
static int
last_signal(const struct stream *stream)
{
	return signal_number != 0 ? signal_number : stream->closed || stream->gone ? SIGPIPE : 0;
}

/* The end in the roster. But for that of a step that is only tried, which may end as it
 * likes, an end by a signal or the machine leaves its output incomplete: who reads it is to
 * know. */
static void
leave_place(struct resources *r, const struct settings *s, const struct stream *stream,
    int status, const struct error *why)
{
	if (status == STATUS_OK && !stream->printed)
		roster_end_empty(&r->roster);
	else if (s->step.failure == FAILURE_TRY || (signal_number == 0 && status != STATUS_SYSTEM))
		roster_end(&r->roster);
	else if (status == STATUS_SYSTEM)
		roster_fail(&r->roster, why);
}

/* Runs the step in its run. The exit status. */
static int
run_step(struct settings *s, struct resources *r, char **argv)
{
	struct error err = ERROR_INIT, late = ERROR_INIT;
	struct stream stream;
	const char *late_for;
	int status;

	memset(&stream, 0, sizeof stream);
	handle_signals();
	if (take_environment(s, r, &err) == -1 || enter_run(s, r, argv, &err) == -1)
		return program_fail(PROGRAM, &err);
	r->run.transcript.repaired = report;
	late_for = come_late(s, &r->run);
	if (late_for != NULL) {
		if (take_place(s, r, true, &err) == 0)
			error_set(&err, ERROR_CANCELLED, s->step.name, "not begun: %s is being ended", late_for);
		return program_fail(PROGRAM, &err);
	}
	if (take_place(s, r, false, &err) == -1 ||
	    step_name_files(&s->step, &s->source, &err) == -1 || begin_budget(s, r, &err) == -1 ||
	    run_stream(s, r, &stream, &err) == -1)
		status = program_fail(PROGRAM, &err);
	else
		status = stream.status;
	team_stop(&r->loaded.team);
	if (last_signal(&stream) != 0)
		status = 128 + last_signal(&stream);
	if (r->own_run && finish_run(r, &status, &err, &late) == -1)
		status = strcmp(late.message, err.message) == 0 ? STATUS_SYSTEM :
		    program_fail(PROGRAM, &late);
	leave_place(r, s, &stream, status, err.code != ERROR_NONE ? &err : &late);
	stream_free(&stream);
	if (last_signal(&stream) != 0)
		die_of(last_signal(&stream));
	return status;
}

/* JSON, of data that may say anything. */
static int
write_description(const struct buffer *out)
{
	struct buffer escaped = BUFFER_INIT;
	int result;

	if (!terminal_is(STDOUT_FILENO))
		return file_write(STDOUT_FILENO, buffer_string(out), out->len);
	terminal_json(&escaped, buffer_string(out), out->len);
	result = file_write(STDOUT_FILENO, buffer_string(&escaped), escaped.len);
	buffer_free(&escaped);
	return result;
}

/* Prints what would be done for each item; touches no storage. Servers are started all the
 * same, as nothing else knows their tools; one that does not read is their fault, not the
 * end of this. */
static int
dry_run(struct settings *s, struct resources *r)
{
	const char *run_id = run_in_environment() ? getenv("AWF_RUN_ID") : "";
	struct error err = ERROR_INIT;
	struct buffer out = BUFFER_INIT;
	struct state_reader reader;
	struct stream stream;
	int done;

	s->step.shown = isatty(STDOUT_FILENO);
	state_reader_begin(&reader, STDIN_FILENO, s->input, run_id);
	stream_prepare(s, &stream, &reader);
	signal(SIGPIPE, SIG_IGN);
	descendants_adopt(); /* what a server leaves behind is ended with it */
	done = take_environment(s, r, &err);
	if (done == 0)
		done = stream_describe(&stream, &out, &err);
	signal(SIGPIPE, SIG_DFL);
	if (done == 0 && write_description(&out) == -1)
		done = error_errno(&err, ERROR_SYSTEM, "stdout", "unable to write");
	stream_free(&stream);
	state_reader_free(&reader);
	buffer_free(&out);
	return done == -1 ? program_fail(PROGRAM, &err) : STATUS_OK;
}

static void
release(struct settings *s, struct resources *r)
{
	settings_free(s);
	free(s->step.process);
	free(r->path);
	buffer_free(&s->step.inputs);
	environment_free(&s->step.environment);
	step_unload(&s->step, &r->loaded);
	keys_free(&r->keys);
	budget_end(&r->budget);
	if (r->history != NULL)
		history_close(r->history);
	if (r->run.directory != NULL) {
		roster_close(&r->roster);
		run_close(&r->run);
	}
	redactor_free(&r->redactor);
}

/* A step whose definition is wrong has failed before it began: whoever reads the record of the
 * run sees why. */
static void
record_refusal(struct settings *s, struct resources *r, char **argv, const struct error *why)
{
	struct step_result result = { .out = BUFFER_INIT };
	struct error err = ERROR_INIT;
	struct item nothing;

	memset(&nothing, 0, sizeof nothing);
	data_null(&nothing.data);
	s->step.team = NULL;
	s->step.agent = NULL;
	s->step.operation = NULL;
	if (s->step.kind == NULL)
		s->step.kind = "command";
	digest_sha256("", 0, s->step.definition_sha256);
	if (take_environment(s, r, &err) == 0 && enter_run(s, r, argv, &err) == 0 &&
	    take_place(s, r, false, &err) == 0 &&
	    step_fail(&s->step, &nothing, why, 0, &result, &err) == 0)
		roster_end(&r->roster);
	buffer_free(&result.out);
	item_free(&nothing);
}

/* Does what the command line says, which was parsed to this. */
static int
carry_out(struct settings *s, struct resources *r, int parsed, char **argv, struct error *err)
{
	switch (parsed) {
	case OPTION_HELP:
		options_help(stdout, step_usage, step_options);
		return program_end(PROGRAM, STATUS_OK);
	case OPTION_VERSION:
		return program_end(PROGRAM, program_version(PROGRAM));
	case -1:
		return program_fail(PROGRAM, err);
	}
	collect_inputs(&s->step.inputs);
	if (load(s, r, err) == -1) {
		if (!s->dry_run && run_in_environment())
			record_refusal(s, r, argv, err);
		return program_fail(PROGRAM, err);
	}
	return s->dry_run ? dry_run(s, r) : run_step(s, r, argv);
}

int
main(int argc, char **argv)
{
	struct error err = ERROR_INIT;
	struct settings settings;
	struct resources resources;
	int parsed, status;

	program_begin();
	memset(&resources, 0, sizeof resources);
	resources.roster.fd = -1;
	parsed = settings_parse(&settings, argc, argv, &err);
	status = carry_out(&settings, &resources, parsed, argv, &err);
	release(&settings, &resources);
	return status;
}
