/*
 * awf-run: runs a workflow and records it.
 *
 * What the code relies on:
 *  - The run exists, with its lock held, before the workflow starts, and until
 *    the last process of the workflow has ended.
 *  - Whether calls have failed is read from the transcript, because a shell may lose their exit
 *    statuses.
 *  - Whatever ends the workflow, run.completed is written after its last event.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "io/installation.h"
#include "io/polling.h"
#include "limits/budget.h"
#include "model/cancelled.h"
#include "model/cost.h"
#include "model/waiting.h"
#include "proc/interrupts.h"
#include "proc/message.h"
#include "program.h"
#include "run/dry_run.h"
#include "run/inputs.h"
#include "run/job.h"
#include "run/keep.h"
#include "run/leftovers.h"
#include "run/notice.h"
#include "run/report.h"
#include "start/pool.h"
#include "storage/resumes.h"
#include "storage/storage.h"
#include "transcript/call.h"

/* The cost of the run so far. */
static int
read_cost(struct cost *c, const struct run *run, struct error *err)
{
	return cost_begin(c, err) == 0 ? cost_read(c, run->transcript.path, err) : -1;
}

/* Writes the cost of the run so far and its limit into a file, to which its steps add
 * their cost. */
static int
limit_cost(struct job *j, struct error *err)
{
	struct cost cost;
	char *path, line[32];
	int result, fd;

	if (j->settings.max_cost == NULL)
		return 0;
	path = path_join(j->run.directory, "costs");
	result = read_cost(&cost, &j->run, err);
	if (result == 0) {
		fd = file_open_plain(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		snprintf(line, sizeof line, "%lld\n", (long long)cost.total);
		if (fd == -1 || file_write(fd, line, strlen(line)) == -1)
			result = error_errno(err, ERROR_SYSTEM, path, "unable to write");
		if (fd != -1)
			close(fd);
	}
	environment_set(&j->environment, BUDGET_LIMIT, j->settings.max_cost);
	environment_set(&j->environment, BUDGET_FILE, path);
	cost_free(&cost);
	free(path);
	return result;
}

/* Sets how long the process of a call stays alive while the call waits: as --wait says, or as in the run around
 * this one; otherwise only if somebody is likely to see that it waits. */
static void
export_wait(const struct settings *s, struct environment *e)
{
	const char *around = environment_get(e, ATTENDED_WAIT);

	environment_set(e, ATTENDED_WAIT, s->wait != NULL ? s->wait : around != NULL ? around :
	    s->detach || isatty(STDERR_FILENO) ? ATTENDED_USUALLY : "0");
}

/* Runs the workflow to its end. An error that prevents this is stored in the supervision. */
static void
run_workflow(struct job *j)
{
	struct supervision *s = &j->supervision;
	struct environment *e = &j->environment;
	const struct workflow *w = &j->workflow;
	struct guardian_service workers;
	char *script;
	/* The output of a child is not stored here: its parent records it. */
	bool keeps_printed = !j->place.nested_in && !j->settings.no_transcript &&
	    redactor_redaction(&j->redactor) == NULL;

	s->verdict = VERDICT_FAILED;
	if (job_tell_id(j, j->run.id, &s->error) != 0 || job_build_fork(j, &s->error) != 0 ||
	    job_open_input(j, &s->error) != 0 ||
	    place_nest_input(&j->place, &j->input, j->run.directory, &s->error) != 0 ||
	    (keeps_printed && printed_begin(&j->printed, j->run.directory, &s->error) != 0) ||
	    place_open_output(&j->place, &j->printed, &s->output, &s->error) != 0)
		return;

	script = w->script == -1 ? NULL : realpath(w->argv[w->script], NULL);
	environment_begin(e);
	run_set_environment(&j->run, e, w->directory);
	environment_unset(e, "AWF_CLAIMED");
	environment_unset(e, CALL_TRY);
	environment_unset(e, CALL_TOOL);
	redactor_export(&j->redactor, e);
	if (j->settings.workspace != NULL)
		environment_set(e, "PWD", j->settings.workspace);
	inputs_export(j->settings.inputs, e);
	/* Sandboxed programs must not be able to write to the script: a shell reads it while
	 * executing it. */
	environment_unset(e, "AWF_WORKFLOW_FILE");
	if (script != NULL)
		environment_set(e, "AWF_WORKFLOW_FILE", script);
	free(script);

	export_wait(&j->settings, e);
	if (limit_cost(j, &s->error) != 0)
		return;
	if (j->settings.view == SCREEN_LIVE && !j->place.nested_in &&
	    terminal_open(&j->terminal, &j->run)) {
		terminal_export(&j->terminal, e);
		s->terminal = &j->terminal.relay;
	} else if (j->settings.view != SCREEN_LIVE) {
		environment_set(e, "AWF_VIEW", j->settings.view == SCREEN_LOG ? "log" : "off");
	}
	s->argv = w->argv;
	s->environment = e->list;
	s->directory = j->settings.workspace;
	s->elsewhere = w->elsewhere;
	s->run_directory = j->run.directory;
	s->input = &j->input;
	s->timeout_ms = j->settings.timeout_ms;
	pool_open(&workers, j->run.directory);
	s->service = &workers;
	supervise_workflow(s);
	pool_close(&workers);
	terminal_close(&j->terminal);
}

/* Whether nothing in a child run has changed anything, if the run keeps no transcript and ends as
 * waiting. Such a run can simply be started again, without a question to the user. */
static bool
is_unchanged(const struct job *j)
{
	const struct history_spec spec = { .mode = RECALL_RESUME,
		.own = { j->run.transcript.path, j->run.transcript.blobs, NULL } };
	struct history_summary summary;
	struct error ignored = ERROR_INIT;
	bool unchanged;

	if (!j->place.nested_in || j->run.keep_transcript || j->conclusion.error.code != ERROR_WAITING)
		return false;
	unchanged = history_build(NULL, &spec, &summary, &ignored) == 0 && !summary.changed && !summary.has_children;
	history_summary_free(&summary);
	return unchanged;
}

/* Answers are for one attempt: tells which of them the next one needs once more. */
static void
tell_answers_left(const struct job *j, struct history *h)
{
	struct buffer options = BUFFER_INIT;
	struct error none;

	if (history_answers_left(h, &options, &none) == 0 && options.len > 0)
		message_print(PROGRAM, "%s: answers about calls that this attempt has not come to, to be given again:%s",
		    j->run.name, buffer_string(&options));
	buffer_free(&options);
}

/* Writes run.completed, and removes the run's directory. */
static int
record_end(struct job *j, const struct conclusion *e, const char *stdin_sha256,
    const char *stdout_sha256, struct error *err)
{
	const struct run_end end = {
		.event_id = j->place.completed,
		.status = e->status,
		.exit_code = e->exit_code,
		.error = &e->error,
		.stdin_sha256 = j->input.kept ? stdin_sha256 : NULL,
		.stdin_bytes = j->input.bytes,
		.stdout_sha256 = j->printed.kept ? stdout_sha256 : NULL,
		.stdout_bytes = j->printed.bytes,
		.usage = span_of(j->outcome.usage.data, j->outcome.usage.len),
		.interrupted = j->supervision.interrupted,
		.seal = j->settings.seal ? &j->seal : NULL,
	};
	struct history *h = NULL;
	struct history_summary unclaimed = { .calls = 0 };
	struct buffer text = BUFFER_INIT;
	struct error none;
	int64_t count = 0;
	int failed;

	/* Tell the user which recorded calls were made again, because they were edited or have
	 * another input. */
	if (history_open(&h, j->run.directory, &none) == 0 && h != NULL)
		count = history_unused(h, &text);
	if (count > 0)
		message_print(PROGRAM, "%s: %lld recorded call%s made again instead of used from "
		    "the record: %s",
		    j->run.name, (long long)count, count == 1 ? " was" : "s were", buffer_string(&text));
	if (h != NULL && strcmp(e->status, "success") == 0) {
		if (history_unclaimed(h, &unclaimed, &none) == 0)
			job_tell_unclaimed(&unclaimed);
		history_summary_free(&unclaimed);
	}
	if (h != NULL && !run_in_environment() && strcmp(e->status, "success") != 0)
		tell_answers_left(j, h);
	history_close(h);
	buffer_free(&text);

	failed = run_finish(&j->run, &end, err);
	/* This also removes directories that child runs have left. */
	if (!run_in_environment())
		leftovers_remove(&j->run.storage);
	return failed;
}

static int
run_finish_job(struct job *j)
{
	struct conclusion *e = &j->conclusion;
	struct supervision *s = &j->supervision;
	struct error err = ERROR_INIT, warning;
	char id[ID_SIZE], *by;
	char sha256[DIGEST_SIZE], printed[DIGEST_SIZE];
	int64_t sum = COST_NONE;
	struct cost cost;
	bool told;

	overlap_ended(&j->overlap);
	/* Who cancelled it: a run that takes its place (--overlap cancel-other), or a person. */
	by = cancelled_by(j->run.directory);
	if (report_successor(j, id)) {
		s->interrupted = false;
		error_set(&s->error, ERROR_CANCELLED, NULL,
		    "cancelled: run %s takes its place (--overlap cancel-other)", id);
	} else if (s->verdict == VERDICT_CANCELLED && s->signal_number == SIGTERM && by != NULL) {
		s->interrupted = false;
		error_set(&s->error, ERROR_CANCELLED, NULL, "cancelled by %s", by);
	}
	free(by);

	s->reader_gone = (poll_now(STDOUT_FILENO, POLLOUT) & POLLERR) != 0 || j->place.output.closed;
	conclusion_draw(e, s, &j->run, &j->outcome);
	if (input_finish(&j->input, sha256, &err) != 0)
		conclusion_fail(e, &err);
	if (printed_finish(&j->printed, &j->run.transcript, printed, &err) != 0)
		conclusion_fail(e, &err);
	/* Now, for --on-complete, --on-failure and the report: with --no-transcript the transcript
	 * is removed when the run is finished. */
	if (!run_in_environment() && notify_read(&j->notify, &warning) != 0)
		job_warn(&warning);
	told = notice_wanted(&j->settings) || j->notify.command != NULL;
	if (told || report_tells_cost(j)) {
		sum = COST_UNKNOWN;
		if (read_cost(&cost, &j->run, &warning) != 0) {
			if (told)
				job_warn(&warning);
		} else if (cost.prices.count > 0) {
			sum = cost_sum(&cost);
		}
		cost_free(&cost);
	}
	report_end(j, sum);
	if (s->survivors)
		message_print(PROGRAM, "%s: some of its processes could not be ended",
		    j->run.name);
	j->place.waits = j->outcome.waiting > 0;
	j->place.unchanged = is_unchanged(j);
	if (record_end(j, e, sha256, printed, &err) != 0 ||
	    place_end(&j->place, e, &j->input, sha256, &err) != 0) {
		program_fail(PROGRAM, &err);
		place_unrecorded(&j->place, &err);
		conclusion_fail(e, &err);
	}
	if (j->settings.by_itself && strcmp(e->status, "waiting") != 0)
		resumes_remove(&j->run.storage, j->run.id);
	else if (j->settings.by_itself)
		resumes_tell(&j->run.storage, j->run.id);
	notice_write(&j->summary, &j->run, e, &j->outcome, sum);
	return e->exit_code;
}

/* Called when the end is recorded: executes --on-complete or --on-failure, the command of the user's
 * config, and --keep. If they fail, only a warning is printed. */
static void
follow_up(struct job *j, const char *name)
{
	const struct settings *s = &j->settings;
	const bool notifies = notify_wants(&j->notify, j->conclusion.status) &&
	    !(j->told_before && strcmp(j->conclusion.status, "waiting") == 0);
	struct environment environment = { NULL, 0, 0 };
	const struct keep_spec keep = { s->keep, name, j->run.id, job_warn };
	struct error warning;
	/* A child's stdout is its result, so the command's output goes to stderr. */
	int out = j->place.nested_in ? STDERR_FILENO : PROCESS_INHERIT;

	if (notice_wanted(s) || notifies) {
		if (job_keyless(&environment, &warning) != 0) {
			job_warn(&warning);
		} else {
			if (notice_send(s, &j->conclusion, &j->summary, out, environment.list, &warning) != 0)
				job_warn(&warning);
			if (notifies && notify_send(&j->notify, &j->summary, environment.list, &warning) != 0)
				job_warn(&warning);
		}
	}
	environment_free(&environment);
	if (s->keep != NULL && keep_prune(&keep, &warning) != 0)
		job_warn(&warning);
}

static void
job_free(struct job *j)
{
	outcome_free(&j->outcome);
	environment_free(&j->environment);
	input_close(&j->input);
	printed_close(&j->printed);
	place_free(&j->place);
	buffer_free(&j->inputs);
	free(j->script);
	list_free(j->changed);
	list_free(j->programs);
	list_free(j->sourced);
	buffer_free(&j->summary);
	notify_free(&j->notify);
	workflow_free(&j->workflow);
	seal_key_forget(&j->seal);
	redactor_free(&j->redactor);
	settings_free(&j->settings);
	resume_free(&j->resume);
	overlap_leave(&j->overlap);
}

static int
own_failure(const struct error *err)
{
	program_fail(PROGRAM, err);
	return err->code == ERROR_WAITING ? STATUS_WAITING : CONCLUSION_FAILED;
}

static int
run_execute_job(struct job *j)
{
	struct error err = ERROR_INIT;
	char *name;
	int status;

	installation_join_path();
	status = job_prepare(j, &err);
	if (status == -1) {
		status = own_failure(&err);
		place_unrecorded(&j->place, &err);
		if (err.code == ERROR_CANCELLED) {
			overlap_leave(&j->overlap);
			signals_die(signals_held());
		}
	}
	if (status == STATUS_WAITING)
		place_waits(&j->place);
	if (status != GO)
		return status;
	overlap_begun(&j->overlap, j->run.id);
	run_workflow(j);
	status = run_finish_job(j);
	name = memory_text(j->run.name);
	run_close(&j->run);
	follow_up(j, name);
	free(name);
	return status;
}

int
main(int argc, char **argv)
{
	static struct job job = { .input = { .file = -1, .nothing = -1, .sink = -1,
	    .source = -1 }, .printed = PRINTED_INIT, .place = PLACE_INIT, .overlap = OVERLAP_INIT,
	    .terminal = TERMINAL_INIT };
	struct error err = ERROR_INIT;
	int status;

	program_begin();
	signal(SIGPIPE, SIG_IGN);
	status = settings_parse(&job.settings, argc, argv, &err);
	if (status == OPTION_VERSION)
		program_version(PROGRAM);
	else if (OPTION_ASKS(status))
		options_help(stdout, run_usage, run_options, status);
	if (OPTION_ASKS(status))
		status = program_end(PROGRAM, STATUS_OK);
	else
		status = status == -1 ? own_failure(&err) :
		    job.settings.dry_run || (environment_text(DRY_RUN_FILE) != NULL && !run_in_environment()) ?
		    dry_run(&job.settings) : run_execute_job(&job);
	job_free(&job);
	if (job.supervision.verdict == VERDICT_CANCELLED && status != CONCLUSION_FAILED)
		signals_die(job.supervision.signal_number);
	if (job.place.output.closed && status != CONCLUSION_FAILED)
		signals_die(SIGPIPE);
	return status;
}
