/*
 * awf-run: runs a workflow and records it.
 *
 * What the code relies on:
 *   - The run exists, with its lock held, before the workflow starts, and until
 *     nothing of it is left.
 *   - What became of the calls is read from the transcript, never from a status
 *     that a shell may have lost.
 *   - Whatever ends the workflow, run.completed is written after its last event.
 */
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/stat.h>
#include <unistd.h>

#include "agent/provider.h"
#include "base/file.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/text.h"
#include "exec/conclusion.h"
#include "exec/environment.h"
#include "exec/inputs.h"
#include "exec/mask.h"
#include "exec/overlap.h"
#include "exec/supervise.h"
#include "exec/workflow.h"
#include "program.h"
#include "record/audit.h"
#include "record/input.h"
#include "record/run.h"
#include "record/seal.h"
#include "record/snapshot.h"
#include "replay/resume.h"
#include "run/decide.h"
#include "run/detach.h"
#include "run/notice.h"
#include "run/place.h"
#include "run/prune.h"
#include "run/settings.h"

#define PROGRAM "awf-run"

struct job {
	struct settings settings;
	struct workflow workflow;
	struct buffer inputs;      /* JSON */
	struct place place;
	char *script;              /* of the workflow, absolute; NULL: it has none */
	bool forks;                /* the run is a fork of that of resume */
	struct overlap overlap;
	struct run run;
	struct input input;
	bool input_open;           /* before the start: of a further attempt */
	struct environment environment;
	struct supervision supervision;
	struct outcome outcome;
	struct conclusion conclusion;
	struct buffer summary;     /* JSON, for --on-complete and --on-failure */
	struct seal_key seal;
	struct mask mask;
	struct resume resume;
};

/* The run is to be started; else what prepares it says how to exit. */
enum { GO = -2 };

static void
warn(const struct error *err)
{
	program_fail(PROGRAM, err);
}

static void
repaired(const char *text)
{
	fprintf(stderr, PROGRAM ": %s\n", text);
}

static bool
listed(const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count && names[i] != NULL; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* Keys that AWF handles are in no event: recording one is refused. */
static int
refuse_keys(const struct settings *s, struct error *err)
{
	struct keys keys;
	int failed = 0;

	if (s->recorded == NULL)
		return 0;
	if (keys_load(&keys, err) != 0)
		return -1;
	for (char **name = s->recorded; failed == 0 && *name != NULL; name++)
		if (listed(*name, provider_key_names(), SIZE_MAX) ||
		    listed(*name, (const char *const *)keys.names, keys.count))
			failed = error_set(err, ERROR_USAGE, "--env",
			    "%s holds an API key, which is never recorded", *name);
	keys_free(&keys);
	return failed;
}

/* From here on the key is in our memory, which is not for other processes of the same
 * user: it may have come through a pipe, from where they cannot read it. */
static int
load_seal(struct job *j, struct error *err)
{
	char *path;
	int failed;

	if (!j->settings.seal)
		return 0;
#ifdef __linux__
	prctl(PR_SET_DUMPABLE, 0);
#endif
	path = j->settings.seal_file != NULL ? memory_text(j->settings.seal_file) :
	    seal_key_default();
	failed = path != NULL ? seal_key_load(&j->seal, path, err) :
	    error_set(err, ERROR_USAGE, "--seal", "no home to look for a key in: say --seal=KEYFILE");
	free(path);
	return failed;
}

/* This process's environment, but for API keys: they are for providers alone. */
static int
begin_keyless(struct environment *e, struct error *err)
{
	struct keys keys;

	if (keys_load(&keys, err) != 0)
		return -1;
	environment_begin(e);
	for (const char *const *name = provider_key_names(); *name != NULL; name++)
		environment_unset(e, *name);
	for (size_t i = 0; i < keys.count; i++)
		environment_unset(e, keys.names[i]);
	keys_free(&keys);
	return 0;
}

/* The filter of --mask is the user's, but API keys are for providers alone. */
static int
open_mask(struct job *j, struct error *err)
{
	struct environment environment;

	if (mask_open(&j->mask, j->settings.mask, err) != 0)
		return -1;
	if (mask_masking(&j->mask) == NULL)
		return 0;
	if (j->settings.snapshot)
		return error_set(err, ERROR_USAGE, "--snapshot",
		    "not with --mask: a masked run cannot be replayed");
	if (begin_keyless(&environment, err) != 0)
		return -1;
	mask_environment(&j->mask, &environment);
	environment_free(&environment);
	return 0;
}

static int
find_workflow(struct job *j, struct error *err)
{
	const struct settings *s = &j->settings;
	const char *shell = s->shell != NULL ? s->shell : DEFAULT_SHELL;
	int failed;

	if (s->pipeline != NULL)
		failed = workflow_pipeline(&j->workflow, s->pipeline, s->words, shell, err);
	else if (*s->words != NULL)
		failed = workflow_find(&j->workflow, s->words, shell, err);
	else
		return workflow_again(&j->workflow, &j->resume.recorded, err);
	if (failed == 0 && s->workspace != NULL)
		return workflow_pin(&j->workflow, err);
	return failed;
}

static const char *
run_name(const struct job *j)
{
	return j->settings.name != NULL ? j->settings.name : j->workflow.name;
}

/* What run.started says. id NULL: a new one. */
static struct run_spec
describe_run(struct job *j, const char *id)
{
	const struct run_cause *cause = id != NULL || j->place.nested_in ? &j->place.cause :
	    &j->resume.cause;

	return (struct run_spec){
		.id = id,
		.name = run_name(j),
		.kind = "workflow",
		.argv = j->workflow.argv,
		.inputs = span_of(j->inputs.data, j->inputs.len),
		.environment = j->settings.recorded,
		.directory = j->workflow.directory,
		.workflow_sha256 = *j->workflow.sha256 != '\0' ? j->workflow.sha256 : NULL,
		.masking = mask_masking(&j->mask),
		.workspace = j->settings.workspace,
		.snapshot = j->settings.snapshot,
		.no_input = j->settings.no_input,
		.forked_from = j->forks ? j->resume.run_id :
		    *j->resume.forked_from != '\0' ? j->resume.forked_from : NULL,
		.forked_at = j->forks ? j->settings.at : j->resume.forked_at,
		.keep_transcript = !j->settings.no_transcript,
		.cause = cause,
		.lineage = &j->place.lineage,
		.latest = !run_in_environment() && *cause->run_id == '\0',
		.repaired = repaired,
		.warn = warn,
	};
}

static bool
signalled(void)
{
	return signals_held() != 0;
}

/* Copies the workspace under the id that the run is to have. */
static int
take_snapshot(struct job *j, struct error *err)
{
	const char *workspace = j->settings.workspace != NULL ? j->settings.workspace : ".";
	struct storage storage;
	int failed;

	if (!j->settings.snapshot)
		return 0;
	if (storage_prepare(&storage, err) != 0)
		return -1;
	failed = snapshot_take(&storage, j->place.id, workspace, signalled, err);
	storage_close(&storage);
	return failed;
}

static void
drop_snapshot(struct job *j)
{
	struct storage storage;
	struct error none;

	if (!j->settings.snapshot || storage_locate(&storage, &none) != 0)
		return;
	snapshot_drop(&storage, j->place.id);
	storage_close(&storage);
}

static struct place_spec
describe_place(const struct job *j)
{
	return (struct place_spec){
		.name = run_name(j),
		.workflow = &j->workflow,
		.script = j->script,
		.inputs = span_of(j->inputs.data, j->inputs.len),
		.timeout_ms = j->settings.timeout_ms,
		.detached = j->settings.detach,
		.no_input = j->settings.no_input,
		.unrecorded = j->settings.no_transcript,
	};
}

/* What was kept comes first; that of a child comes from its parent. */
static int
reopen_input(struct job *j, struct error *err)
{
	const int source = j->settings.no_input ? -1 : STDIN_FILENO;
	const bool sync = j->run.transcript.sync != SYNC_NONE;

	if (j->place.nested_in)
		return input_renew(&j->input, &j->run.storage, j->run.id, source, sync, err);
	return input_reopen(&j->input, &j->run.storage, j->run.id, source, sync, err);
}

/* A further attempt at the run that is in our hands. */
static int
make_attempt(struct job *j, struct error *err)
{
	struct run_spec spec = describe_run(j, NULL);

	spec.snapshot = j->resume.snapshot; /* it is the run's, and stays */
	if (reopen_input(j, err) != 0 ||
	    run_restart(&j->run, j->resume.history.attempts + 1, &spec, err) != 0)
		return -1;
	j->input_open = true;
	return GO;
}

static int
make_run(struct job *j, struct error *err)
{
	const struct run_spec spec = describe_run(j, j->place.id);

	return run_create(&j->run, &spec, err) == 0 ? GO : -1;
}

/* The run is another process's. */
static int
see_off(struct job *j, struct detachment *d, struct error *err)
{
	if (detach_wait(d, err) != 0 || place_detached(&j->place, err) != 0)
		return -1;
	printf("%s\n", j->place.id);
	return program_end(PROGRAM, STATUS_OK);
}

static int
make_detached_run(struct job *j, struct error *err)
{
	struct detachment d;
	int made, old = detach(&d, j->place.id, err);

	if (old == -1)
		return -1;
	if (old)
		return see_off(j, &d, err);
	place_leave(&j->place);
	made = make_run(j, err);
	detach_tell(&d, made == GO ? NULL : err);
	return made;
}

/* GO, or the status to exit with; -1. A parent is told of it first. */
static int
begin_run(struct job *j, struct error *err)
{
	const struct place_spec spec = describe_place(j);
	struct error late;
	int made = place_begin(&j->place, &spec, err);

	if (made != 0)
		return made;
	if (j->place.nested.way == NESTED_AGAIN)
		made = make_attempt(j, err);
	else
		made = j->settings.detach ? make_detached_run(j, err) : make_run(j, err);
	if (made == -1 && place_failed(&j->place, err, &late) != 0)
		warn(&late);
	return made;
}

/* GO, when it is this run's turn; STATUS_OK: it is not to be; -1. */
static int
take_turn(struct job *j, struct error *err)
{
	struct overlap *o = &j->overlap;
	const bool again = j->settings.resume != NULL;
	const struct overlap_spec spec = { run_name(j), j->settings.overlap,
		again ? j->resume.run_id : j->place.id };
	const struct audit_skip skipped = { again ? spec.run_id : NULL,
		mask_masking(&j->mask) == NULL ? spec.name : NULL, spec.policy, o->by };
	struct error warning;
	int got;

	if (overlap_taken(o))
		return GO;
	got = overlap_take(o, &spec, err);
	if (got != OVERLAP_SKIPPED)
		return got == 0 ? GO : -1;
	place_skipped(&j->place);
	if (audit_skipped(&o->storage, &skipped, &warning) != 0)
		warn(&warning);
	return STATUS_OK;
}

/* One line for each effect that may have happened. */
static int
ask(const struct resume *r)
{
	struct error question;

	for (size_t i = 0; i < r->history.doubt_count; i++) {
		if (r->history.doubts[i].decided != RECALL_UNDECIDED)
			continue;
		resume_question(&r->history.doubts[i], &question);
		program_fail(PROGRAM, &question);
	}
	return STATUS_WAITING;
}

/* What the record of a child has that goes on, or is forked. Most is asked when its
 * parent is resumed, before anything runs. */
static int
take_over(struct job *j, struct error *err)
{
	const struct nested *n = &j->place.nested;
	const struct storage *s = &j->place.child.parent.storage;
	struct resume *r = &j->resume;
	int decided = 1;

	resume_free(r);
	j->forks = n->way == NESTED_FORK;
	if (resume_find(r, s, n->run_id, err) != 0 || resume_check_ended(r, s, err) != 0 ||
	    (!j->forks && resume_check_dead(r, err) != 0) ||
	    resume_check_record(r, j->forks ? NULL : repaired, err) != 0)
		return -1;
	if (j->forks)
		decided = resume_build_fork(r, NULL, NULL, n->redo, n->skip, err);
	return decided == 1 ? GO : decided == 0 ? ask(r) : -1;
}

/* The child goes on, in its parent's call. */
static int
go_on(struct job *j, struct error *err)
{
	const struct nested *n = &j->place.nested;
	int status;

	if (run_reopen(&j->run, n->run_id, err) != 0)
		return -1;
	status = resume_build(&j->resume, j->run.directory, n->redo, n->skip, err);
	if (status == 0)
		status = ask(&j->resume);
	else if (status == 1)
		status = nested_decide(j->run.directory, n->redo, n->skip, err) == 0 ?
		    begin_run(j, err) : -1;
	if (status != GO)
		run_let_go(&j->run);
	return status;
}

/* GO, or the status to exit with; -1. */
static int
create_run(struct job *j, struct error *err)
{
	const int script = j->workflow.script;
	struct place_spec spec;
	int status;

	if (script >= 0)
		j->script = realpath(j->workflow.argv[script], NULL);
	spec = describe_place(j);
	if (place_find(&j->place, &spec, err) != 0)
		return -1;
	if (j->place.nested.way == NESTED_REPLAY)
		return place_replay(&j->place, &spec, err);
	if (j->place.nested.way == NESTED_REUSE)
		return place_reuse(&j->place, &spec, err);
	status = take_turn(j, err);
	if (status == GO && j->place.nested.way != NESTED_NEW)
		status = take_over(j, err);
	if (status != GO)
		return status;
	if (j->place.nested.way == NESTED_AGAIN)
		return go_on(j, err);
	if (take_snapshot(j, err) != 0)
		return -1;
	status = begin_run(j, err);
	if (status == -1)
		drop_snapshot(j);
	return status;
}

static int
tell_id(const struct job *j, struct error *err)
{
	struct replacement file;

	if (j->settings.print_id)
		fprintf(stderr, "%s\n", j->run.id);
	if (j->settings.id_file == NULL)
		return 0;
	if (replacement_open(&file, j->settings.id_file, 0644, err) != 0)
		return -1;
	if (file_write(file.fd, j->run.id, strlen(j->run.id)) != 0 ||
	    file_write(file.fd, "\n", 1) != 0) {
		error_errno(err, ERROR_SYSTEM, j->settings.id_file, "unable to write");
		replacement_abandon(&file);
		return -1;
	}
	return replacement_commit(&file, false, err);
}

static int
open_input(struct job *j, struct error *err)
{
	if (j->input_open)
		return 0;
	if (j->settings.fork != NULL && j->forks)
		return input_copy(&j->run.storage, j->resume.run_id, j->run.id, err) != 0 ? -1 :
		    reopen_input(j, err);
	if (j->settings.no_input)
		input_pass(&j->input, PROCESS_NULL);
	else if (j->settings.no_transcript || mask_masking(&j->mask) != NULL)
		input_pass(&j->input, STDIN_FILENO);
	else
		return input_open(&j->input, &j->run.storage, j->run.id, STDIN_FILENO,
		    j->run.transcript.sync != SYNC_NONE, err);
	return 0;
}

static void
set_environment(struct job *j)
{
	struct environment *e = &j->environment;

	environment_begin(e);
	environment_set_run(e, &j->run, j->workflow.directory);
	environment_unset(e, "AWF_CLAIMED");
	mask_export(&j->mask, e);
	if (j->settings.workspace != NULL)
		environment_set(e, "PWD", j->settings.workspace);
	inputs_export(j->settings.inputs, e);
}

/* The steps of a fork find what the other run has done in the run's directory. */
static int
build_fork(struct job *j, struct error *err)
{
	const struct settings *s = &j->settings;
	const struct nested *n = &j->place.nested;
	const bool own = s->fork != NULL;
	char *const *redo = own ? s->redo : n->redo, *const *skip = own ? s->skip : n->skip;

	if (!j->forks)
		return 0;
	if (resume_build_fork(&j->resume, own ? s->at : NULL, j->run.directory, redo, skip,
	    err) == -1)
		return -1;
	return nested_decide(j->run.directory, redo, skip, err);
}

/* Runs the workflow to its end; what hinders it stands in the supervision. */
static void
run_workflow(struct job *j)
{
	struct supervision *s = &j->supervision;

	s->verdict = VERDICT_FAILED;
	if (tell_id(j, &s->error) != 0 || build_fork(j, &s->error) != 0 ||
	    open_input(j, &s->error) != 0 ||
	    place_open_output(&j->place, &s->output, &s->error) != 0)
		return;
	set_environment(j);
	s->argv = j->workflow.argv;
	s->environment = j->environment.list;
	s->directory = j->settings.workspace;
	s->run_directory = j->run.directory;
	s->input = &j->input;
	s->timeout_ms = j->settings.timeout_ms;
	supervise(s);
}

/* Writes run.completed, and drops the run directory. */
static int
record_end(struct job *j, const struct conclusion *e, const char *stdin_sha256,
    struct error *err)
{
	const struct run_end end = {
		.event_id = j->place.completed,
		.status = e->status,
		.exit_code = e->exit_code,
		.error = &e->error,
		.stdin_sha256 = j->input.kept ? stdin_sha256 : NULL,
		.stdin_bytes = j->input.bytes,
		.usage = span_of(j->outcome.usage.data, j->outcome.usage.len),
		.seal = j->settings.seal ? &j->seal : NULL,
	};

	return run_finish(&j->run, &end, err);
}

/* Which decision the run waits for. */
static void
tell_what_next(const struct job *j, const struct conclusion *e, struct error *line)
{
	bool approval = j->outcome.asks == WAITING_APPROVAL;
	char more[64] = "";

	if (j->outcome.asking > 1)
		snprintf(more, sizeof more, " (and %lld more)", (long long)j->outcome.asking - 1);
	error_set(line, ERROR_WAITING, j->run.name, "waits for %s: awf-run %s %s %s%s",
	    approval ? "a decision" : "a result", approval ? "--approve" : "--complete", e->step,
	    j->run.id, more);
}

/* One line about a failure; a reader that went away is none to speak of. */
static void
report(const struct job *j, const struct conclusion *e)
{
	const char *place = *e->error.place != '\0' ? e->error.place : j->run.name;
	struct error line;

	if (e->error.code == ERROR_NONE || e->error.code == ERROR_DOWNSTREAM_CLOSED)
		return;
	if (e->error.code == ERROR_WAITING && j->outcome.asks != WAITING_NOTHING)
		tell_what_next(j, e, &line);
	else if (*e->step == '\0')
		error_set(&line, e->error.code, place, "%s", e->error.message);
	else
		error_set(&line, e->error.code, place, "step %s%s: %s", e->step,
		    e->error.code == ERROR_WAITING ? "" : " failed", e->error.message);
	program_fail(PROGRAM, &line);
}

/* The run that takes the place of one that was cancelled is why. */
static void
name_successor(struct job *j)
{
	struct supervision *s = &j->supervision;
	char id[ID_SIZE];

	if (s->verdict == VERDICT_CANCELLED && s->signal_number == SIGTERM &&
	    overlap_successor(&j->overlap, id))
		error_set(&s->error, ERROR_CANCELLED, NULL,
		    "cancelled: run %s takes its place (--overlap cancel-other)", id);
}

static int
finish(struct job *j)
{
	struct conclusion *e = &j->conclusion;
	struct error err = ERROR_INIT;
	char sha256[DIGEST_SIZE];

	overlap_ended(&j->overlap);
	name_successor(j);
	conclusion_draw(e, &j->supervision, j->run.transcript.path, &j->outcome);
	if (input_finish(&j->input, sha256, &err) != 0)
		conclusion_fail(e, &err);
	report(j, e);
	if (j->supervision.survivors)
		fprintf(stderr, PROGRAM ": %s: some of its processes could not be ended\n",
		    j->run.name);
	if (record_end(j, e, sha256, &err) != 0 ||
	    place_end(&j->place, e, &j->input, sha256, &err) != 0) {
		program_fail(PROGRAM, &err);
		conclusion_fail(e, &err);
	}
	notice_write(&j->summary, &j->run, e, &j->outcome);
	return e->exit_code;
}

/* What is done when the run is over and its end recorded. Failing there is no failure. */
static void
follow_up(struct job *j, const char *name)
{
	const struct settings *s = &j->settings;
	struct environment environment = { NULL, 0, 0 };
	struct error warning;

	if ((s->on_complete != NULL || s->on_failure != NULL) &&
	    (begin_keyless(&environment, &warning) != 0 ||
	    notice_send(s, &j->conclusion, &j->summary, environment.list, &warning) != 0))
		warn(&warning);
	environment_free(&environment);
	if (s->keep != NULL && prune_older(s->keep, name, j->run.id, warn, &warning) != 0)
		warn(&warning);
}

static void
job_free(struct job *j)
{
	outcome_free(&j->outcome);
	environment_free(&j->environment);
	input_close(&j->input);
	place_free(&j->place);
	buffer_free(&j->inputs);
	free(j->script);
	buffer_free(&j->summary);
	workflow_free(&j->workflow);
	seal_key_forget(&j->seal);
	mask_free(&j->mask);
	settings_free(&j->settings);
	resume_free(&j->resume);
	overlap_leave(&j->overlap);
}

static int
own_failure(const struct error *err)
{
	program_fail(PROGRAM, err);
	return CONCLUSION_FAILED;
}

/* Words and paths of the command line are meant where it was given. */
static void
pin_id_file(struct settings *s)
{
	char here[PATH_MAX];

	if (s->id_file == NULL || *s->id_file == '/' || getcwd(here, sizeof here) == NULL)
		return;
	s->pinned_id_file = path_join(here, s->id_file);
	s->id_file = s->pinned_id_file;
}

/* Goes where the recorded run was, with what it was given. */
static int
take_record(struct job *j, struct error *err)
{
	struct settings *s = &j->settings;
	const struct resume *r = &j->resume;

	/* --input comes before what was recorded under the same key. */
	inputs_complete(&s->inputs, r->inputs);
	s->no_input |= r->no_input;
	if (run_in_environment())
		ceiling_lower(r->allow_tools, r->tools_policy);
	else if (s->allow_tools == NULL && s->tools_policy == TOOLS_UNSAID)
		ceiling_restore(r->allow_tools, r->tools_policy);
	for (char **name = r->variables; name != NULL && *name != NULL; name++)
		if (!list_has(s->recorded, *name))
			list_add(&s->recorded, *name);
	if (s->pipeline != NULL || *s->words != NULL)
		return 0;
	if (s->name == NULL)
		s->name = r->recorded.name;
	if (s->workspace != NULL)
		return 0;
	pin_id_file(s);
	if (chdir(r->directory) != 0)
		return error_errno(err, ERROR_USAGE, r->directory, "unable to start there again");
	setenv("PWD", r->directory, 1);
	s->workspace = r->workspace;
	return 0;
}

static int
prepare_words(struct job *j, struct error *err)
{
	if (refuse_keys(&j->settings, err) != 0 || open_mask(j, err) != 0 ||
	    find_workflow(j, err) != 0)
		return -1;
	inputs_write(j->settings.inputs, &j->inputs);
	signals_hold();
	return 0;
}

static int
tell_success(const struct resume *r)
{
	fprintf(stderr, PROGRAM ": %s: ended with success: there is nothing to go on with\n",
	    r->run_id);
	return STATUS_OK;
}

/* With the run in our hands: GO, or the status to exit with; -1. */
static int
restart(struct job *j, struct error *err)
{
	struct resume *r = &j->resume;
	int decided = resume_build(r, j->run.directory, j->settings.redo, j->settings.skip, err);

	if (decided == -1)
		return -1;
	if (strcmp(r->history.status, "success") == 0)
		return tell_success(r); /* another resume came first */
	if (decided == 0)
		return ask(r);
	if (place_resumed(&j->place, r->run_id, &j->workflow, err) != 0 ||
	    nested_decide(j->run.directory, j->settings.redo, j->settings.skip, err) != 0)
		return -1;
	return make_attempt(j, err);
}

static int
prepare_resume(struct job *j, const struct storage *s, struct error *err)
{
	struct resume *r = &j->resume;
	int status;

	if (strcmp(r->status, "success") == 0)
		return tell_success(r);
	if (resume_check_ended(r, s, err) != 0 || resume_check_dead(r, err) != 0 ||
	    resume_check_record(r, repaired, err) != 0 || take_record(j, err) != 0 ||
	    prepare_words(j, err) != 0)
		return -1;
	status = take_turn(j, err);
	if (status != GO)
		return status;
	if (run_reopen(&j->run, r->run_id, err) != 0)
		return -1;
	status = resume_check_dead(r, err) == 0 ? restart(j, err) : -1;
	if (status != GO)
		run_let_go(&j->run);
	return status;
}

/* What is asked is asked before there is a new run. */
static int
prepare_fork(struct job *j, const struct storage *s, struct error *err)
{
	const struct settings *given = &j->settings;
	struct resume *r = &j->resume;
	int decided;

	if (resume_check_ended(r, s, err) != 0 || resume_check_record(r, NULL, err) != 0)
		return -1;
	decided = resume_build_fork(r, given->at, NULL, given->redo, given->skip, err);
	if (decided != 1)
		return decided == 0 ? ask(r) : -1;
	if (take_record(j, err) != 0 || prepare_words(j, err) != 0)
		return -1;
	j->forks = true;
	return create_run(j, err);
}

static int
prepare_new(struct job *j, struct error *err)
{
	return prepare_words(j, err) != 0 ? -1 : create_run(j, err);
}

/* --continue: whether the latest run of the name died. */
static bool
find_dead(struct job *j, const struct storage *s)
{
	struct error none;
	char *latest = memory_format("@%s", run_name(j));
	bool dead;

	dead = resume_find(&j->resume, s, latest, &none) == 0 && j->resume.status[0] == '\0' &&
	    !storage_run_alive(s, j->resume.run_id);
	free(latest);
	workflow_free(&j->workflow);
	if (!dead)
		resume_free(&j->resume);
	return dead;
}

/* The run that died has its own workflow, name and inputs. */
static int
prepare_continued(struct job *j, const struct storage *s, struct error *err)
{
	struct settings *given = &j->settings;

	given->words += list_count(given->words);
	given->pipeline = given->name = given->workspace = given->allow_tools = NULL;
	given->tools_policy = TOOLS_UNSAID;
	given->snapshot = false;
	list_free(given->inputs);
	given->inputs = NULL;
	return prepare_resume(j, s, err);
}

/* Whether there is one to go on with is asked when it is this one's turn. */
static int
prepare_continue(struct job *j, const struct storage *s, struct error *err)
{
	int status;

	signals_hold();
	id_new(j->place.id);
	if (find_workflow(j, err) != 0)
		return -1;
	status = take_turn(j, err);
	if (status != GO)
		return status;
	return find_dead(j, s) ? prepare_continued(j, s, err) : prepare_new(j, err);
}

/* What it would do is not in the recording: models would be asked, things be changed. */
static int
refuse_in_replay(struct error *err)
{
	if (!run_in_environment() || !run_environment_recreated())
		return 0;
	return error_set(err, ERROR_SYSTEM, getenv("AWF_RUN_ID"), "no run goes on "
	    "inside of a replay, as it would do all for real");
}

/* GO, or the status to exit with; -1. */
static int
prepare(struct job *j, struct error *err)
{
	struct settings *s = &j->settings;
	struct storage storage;
	int status;

	if (load_seal(j, err) != 0 || ceiling_check(err) == -1)
		return -1;
	ceiling_lower(s->allow_tools, s->tools_policy);
	if (s->resume == NULL && s->fork == NULL && !s->go_on)
		return prepare_new(j, err);
	if (refuse_in_replay(err) != 0)
		return -1;
	if (storage_locate(&storage, err) != 0)
		return -1;
	if (s->go_on)
		status = prepare_continue(j, &storage, err);
	else if (resume_find(&j->resume, &storage, s->fork != NULL ? s->fork : s->resume, err) != 0)
		status = -1;
	else
		status = s->fork != NULL ? prepare_fork(j, &storage, err) :
		    prepare_resume(j, &storage, err);
	storage_close(&storage);
	return status;
}

/* Before the run goes on, or instead. */
static int
make_decision(const struct settings *s)
{
	struct error err = ERROR_INIT;

	if (s->decide == DECIDE_NOTHING || decide(s, &err) == 0)
		return STATUS_OK;
	program_fail(PROGRAM, &err);
	return err.code == ERROR_BLOCKED ? STATUS_WORK : CONCLUSION_FAILED;
}

static int
prune_instead(const struct settings *s)
{
	struct error err = ERROR_INIT;

	if (prune_runs(s, warn, &err) != 0)
		return own_failure(&err);
	return program_end(PROGRAM, STATUS_OK);
}

static int
run(struct job *j)
{
	struct error err = ERROR_INIT;
	char *name;
	int status = make_decision(&j->settings);

	if (status != STATUS_OK || (j->settings.decide != DECIDE_NOTHING && j->settings.resume == NULL))
		return status;
	status = prepare(j, &err);

	if (status == -1) {
		status = own_failure(&err);
		if (err.code == ERROR_CANCELLED) {
			overlap_leave(&j->overlap);
			signals_die(signals_held());
		}
	}
	if (status != GO)
		return status;
	overlap_begun(&j->overlap, j->run.id);
	run_workflow(j);
	status = finish(j);
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
	    .source = -1 }, .place = PLACE_INIT, .overlap = OVERLAP_INIT };
	struct error err = ERROR_INIT;
	int status;

	program_begin();
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	status = settings_parse(&job.settings, argc, argv, &err);
	if (status == OPTION_HELP)
		options_help(stdout, run_usage, run_options);
	if (status == OPTION_VERSION)
		program_version(PROGRAM);
	if (status == OPTION_HELP || status == OPTION_VERSION)
		status = program_end(PROGRAM, STATUS_OK);
	else
		status = status == -1 ? own_failure(&err) :
		    job.settings.prune ? prune_instead(&job.settings) : run(&job);
	job_free(&job);
	if (job.supervision.verdict == VERDICT_CANCELLED && status != CONCLUSION_FAILED)
		signals_die(job.supervision.signal_number);
	if (job.place.output.closed && status != CONCLUSION_FAILED)
		signals_die(SIGPIPE);
	return status;
}
