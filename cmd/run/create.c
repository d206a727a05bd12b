/*
 * Makes the run. The order matters: find where the run belongs, wait for its turn, copy the
 * workspace, record the call in the parent, and only then make the run. So a failure before that
 * leaves no run, and one after the parent's record is recorded there as the end of the call. A
 * detached run is made by the new process, which then executes it.
 */
#include "run/job.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "io/copytree.h"
#include "program.h"
#include "run/detach.h"
#include "storage/audit.h"
#include "storage/resumes.h"

/* The members of run.started. id NULL: run_create() makes an id. */
static struct run_spec
describe_run(struct job *j, const char *id)
{
	const struct run_cause *cause = id != NULL || j->place.nested_in ? &j->place.cause :
	    &j->resume.cause;

	const struct resume_plan plan = { .forks = j->forks, .at = j->settings.at };

	list_free(j->changed);
	j->changed = resume_changed_variables(&j->resume, &plan, j->settings.inputs);
	return (struct run_spec){
		.id = id,
		.name = job_name(j),
		.kind = "workflow",
		.argv = j->workflow.argv,
		.inputs = span_of(j->inputs.data, j->inputs.len),
		.environment = j->settings.recorded,
		.marks = { j->settings.ignored, j->changed },
		.directory = j->workflow.directory,
		.workflow_sha256 = *j->workflow.sha256 != '\0' ? j->workflow.sha256 : NULL,
		.script = j->script,
		.programs = j->programs,
		.sourced = j->sourced,
		.redaction = redactor_redaction(&j->redactor),
		.workspace = j->settings.workspace,
		.snapshot = j->settings.snapshot,
		.no_input = j->settings.no_input,
		.going_on = {
			.by_itself = j->settings.by_itself && !j->settings.no_transcript && !j->place.nested_in,
			.max_cost = j->settings.max_cost, .timeout_ms = j->settings.timeout_ms,
			.on_complete = j->settings.on_complete, .on_failure = j->settings.on_failure },
		.forked_from = j->forks ? j->resume.run_id :
		    *j->resume.forked_from != '\0' ? j->resume.forked_from : NULL,
		.forked_at = j->forks ? j->settings.at : j->resume.forked_at,
		.traceparent = j->forks ? NULL : j->resume.traceparent,
		.keep_transcript = !j->settings.no_transcript,
		.compared = j->place.around != NULL,
		.cause = cause,
		.lineage = &j->place.lineage,
		.inside_of = j->place.nested_in ? j->place.child.parent.id : NULL,
		.latest = !run_in_environment() && *cause->run_id == '\0',
		.repaired = job_repaired,
		.warn = job_warn,
	};
}

static bool
create_was_signalled(void)
{
	return signals_held() != 0;
}

/* Copies the workspace to the place of the new run's snapshot, *copy, which replays use; without
 * the storage, if that lies in the workspace. If something cannot be copied completely, the whole
 * snapshot is dropped. */
static int
create_copy_snapshot(const struct job *j, char **copy, struct error *err)
{
	const char *workspace = j->settings.workspace != NULL ? j->settings.workspace : ".";
	struct storage storage;

	if (storage_prepare(&storage, err) != 0)
		return -1;
	*copy = storage_snapshot(&storage, j->place.id);
	if (copytree_until(workspace, *copy, storage.root, create_was_signalled, err) != 0) {
		free(*copy);
		*copy = NULL;
	}
	storage_close(&storage);
	return *copy != NULL ? 0 : -1;
}

static struct place_spec
describe_place(const struct job *j)
{
	return (struct place_spec){
		.name = job_name(j),
		.id = j->settings.id,
		.workflow = &j->workflow,
		.script = j->script,
		.inputs = span_of(j->inputs.data, j->inputs.len),
		.timeout_ms = j->settings.timeout_ms,
		.workspace = j->settings.workspace,
		.detached = j->settings.detach,
		.tried = j->settings.tried,
		.no_input = j->settings.no_input,
		.unrecorded = j->settings.no_transcript,
	};
}

/* Opens the stored input of the earlier attempt; a child's input comes from its parent. */
static int
reopen_input(struct job *j, struct error *err)
{
	const int source = j->settings.no_input ? -1 : STDIN_FILENO;
	const bool sync = j->run.transcript.sync != SYNC_NONE;

	if (j->place.nested_in)
		return input_renew(&j->input, &j->run.storage, j->run.id, source, sync, err);
	return input_reopen(&j->input, &j->run.storage, j->run.id, source, sync, err);
}

/* A run that goes on by itself is known to the resumer from its start on: it may be killed. */
static int
add_resume(const struct job *j, const struct run_spec *spec, struct error *err)
{
	return spec->going_on.by_itself ? resumes_add(&j->run.storage, j->run.id, err) : 0;
}

/* Starts a further attempt of the run, whose lock this process has. */
int
job_attempt(struct job *j, struct error *err)
{
	struct run_spec spec = describe_run(j, NULL);

	spec.snapshot = j->resume.settings.snapshot; /* a resumed run keeps the setting that was
	                                                recorded */
	if (place_set_around(&j->place, j->run.directory, err) != 0 || reopen_input(j, err) != 0 ||
	    add_resume(j, &spec, err) != 0 || run_restart(&j->run, j->resume.history.attempts + 1, &spec, err) != 0)
		return -1;
	j->input_open = true;
	return GO;
}

static int
make_run(struct job *j, struct error *err)
{
	const struct run_spec spec = describe_run(j, j->place.id);

	return run_create(&j->run, &spec, err) == 0 &&
	    place_set_around(&j->place, j->run.directory, err) == 0 && add_resume(j, &spec, err) == 0 ? GO : -1;
}

static int
make_detached_run(struct job *j, struct error *err)
{
	struct detachment d;
	int made, old = detach_fork(&d, j->place.id, err);

	if (old == -1)
		return -1;
	if (old) { /* the other process, which was forked, executes the run */
		if (detach_wait(&d, err) != 0 || place_detached(&j->place, err) != 0)
			return -1;
		printf("%s\n", j->place.id);
		return program_end(PROGRAM, STATUS_OK) == STATUS_OK ? STATUS_OK : CONCLUSION_FAILED;
	}
	place_leave(&j->place);
	made = make_run(j, err);
	detach_tell(&d, made == GO ? NULL : err);
	return made;
}

/* Records the call in the parent, then makes the run. Returns GO, the exit status, or -1. */
static int
begin_run(struct job *j, struct error *err)
{
	const struct place_spec spec = describe_place(j);
	struct error late;
	int made = place_begin(&j->place, &spec, err);

	if (made != 0)
		return made;
	if (j->place.nested.way == NESTED_AGAIN)
		made = job_attempt(j, err);
	else
		made = j->settings.detach ? make_detached_run(j, err) : make_run(j, err);
	if (made == -1 && place_failed(&j->place, err, &late) != 0)
		job_warn(&late);
	return made;
}

/* Waits until it is this run's turn. Returns GO, STATUS_OK if --overlap does not let it run, or
 * -1. */
int
job_take_turn(struct job *j, struct error *err)
{
	struct overlap *o = &j->overlap;
	const bool again = j->settings.resume != NULL;
	const struct overlap_spec spec = { job_name(j), j->settings.overlap,
		again ? j->resume.run_id : j->place.id,
		redactor_redaction(&j->redactor) == NULL ? job_name(j) : NULL };
	const struct audit_skip skipped = { again ? spec.run_id : NULL, spec.told, spec.policy, o->by };
	struct error warning;
	int got;

	if (overlap_taken(o))
		return GO;
	got = overlap_take(o, &spec, err);
	if (got != OVERLAP_SKIPPED)
		return got == 0 ? GO : -1;
	place_skipped(&j->place);
	if (audit_skipped(&o->storage, &skipped, &warning) != 0)
		job_warn(&warning);
	return STATUS_OK;
}

/* Builds the history of a child that is resumed, or that is forked from its own transcript. Most
 * questions to the user were asked already when the parent was resumed, before anything ran. */
static int
create_build_nested_resume(struct job *j, struct error *err)
{
	const struct nested *n = &j->place.nested;
	const struct storage *s = &j->place.child.parent.storage;
	struct resume *r = &j->resume;
	const struct resume_plan plan = { n->way == NESTED_FORK, NULL, nested_answers_of(&n->answers) };
	int decided = 1;

	resume_free(r);
	j->forks = plan.forks;
	if (resume_find(r, s, n->run_id, err) != 0 || resume_check_ended(r, s, err) != 0 ||
	    (!j->forks && resume_check_dead(r, err) != 0))
		return -1;
	r->prefix = memory_format("%s%s/", history_prefix(n->history), j->place.child.call);
	r->steps = memory_format("%s%s.", history_steps(n->history), j->place.child.path);
	r->excused = n->recalled.stands;
	r->programs_in = job_workspace(j);
	r->words.text = j->workflow.script < 0 && j->workflow.argv[1] != NULL ? j->workflow.argv[2] : NULL;
	if (resume_check_record(r, &plan, j->forks ? NULL : job_repaired, err) != 0)
		return -1;
	if (j->forks)
		decided = resume_build(r, &plan, NULL, err);
	return decided == 1 ? GO : decided == 0 ? job_ask(r) : -1;
}

/* Refuses an id (--id) that a run has already: so a caller who starts a run twice with one id gets
 * one run. If two processes start it at the same time, the second one fails when it makes the run's
 * directory. */
static int
check_id(const char *id, struct error *err)
{
	struct storage storage;
	struct stat status;
	char *transcript, *directory;
	bool taken;

	if (storage_locate(&storage, err) != 0)
		return -1;
	transcript = storage_transcript(&storage, id);
	directory = storage_run_directory(&storage, id);
	taken = lstat(transcript, &status) == 0 || lstat(directory, &status) == 0;
	free(directory);
	free(transcript);
	storage_close(&storage);
	return !taken ? 0 : error_set(err, ERROR_BLOCKED, "--id", "there is a run %s already", id);
}

/* Returns GO, the exit status, or -1. */
int
job_create(struct job *j, struct error *err)
{
	const struct place_spec spec = describe_place(j);
	const struct nested *n = &j->place.nested;
	char *copy = NULL;
	int status;

	if (j->settings.id != NULL && check_id(j->settings.id, err) != 0)
		return -1;
	if (place_find(&j->place, &spec, err) != 0)
		return -1;
	if ((n->way == NESTED_REPLAY || n->way == NESTED_REUSE) && job_tell_id(j, n->run_id, err) != 0)
		return -1;
	if (n->way == NESTED_REPLAY)
		return place_replay(&j->place, &spec, err);
	if (n->way == NESTED_REUSE)
		return place_reuse(&j->place, &spec, err);
	status = job_take_turn(j, err);
	if (status == GO && n->way != NESTED_NEW)
		status = create_build_nested_resume(j, err);
	if (status == STATUS_WAITING)
		place_asks(&j->place, &spec);
	if (status != GO)
		return status;

	/* Resume the child; its parent gets a call for that. */
	if (n->way == NESTED_AGAIN) {
		const struct resume_plan plan = { .answers = nested_answers_of(&n->answers) };

		if (run_reopen(&j->run, n->run_id, err) != 0)
			return -1;
		status = resume_build(&j->resume, &plan, j->run.directory, err);
		if (status == 0) {
			status = job_ask(&j->resume);
			place_asks(&j->place, &spec);
		} else if (status == 1) {
			status = nested_decide(j->run.directory, &plan.answers, err) == 0 ?
			    begin_run(j, err) : -1;
		}
		if (status != GO)
			run_let_go(&j->run);
		return status;
	}

	if (j->settings.snapshot && create_copy_snapshot(j, &copy, err) != 0)
		return -1;
	status = begin_run(j, err);
	if (status == -1 && copy != NULL)
		copytree_remove(copy, NULL);
	free(copy);
	return status;
}

int
job_open_input(struct job *j, struct error *err)
{
	if (j->input_open)
		return 0;
	if (j->settings.fork != NULL && j->forks)
		return input_copy(&j->run.storage, j->resume.run_id, j->run.id, err) != 0 ? -1 :
		    reopen_input(j, err);
	if (j->settings.no_input)
		input_pass(&j->input, PROCESS_NULL);
	else if (j->settings.no_transcript && j->place.nested_in && redactor_redaction(&j->redactor) == NULL)
		input_pass_digested(&j->input, STDIN_FILENO);
	else if (j->settings.no_transcript || redactor_redaction(&j->redactor) != NULL)
		input_pass(&j->input, STDIN_FILENO);
	else
		return input_open(&j->input, &j->run.storage, j->run.id, STDIN_FILENO,
		    j->run.transcript.sync != SYNC_NONE, err);
	return 0;
}

/* Puts the history of the forked run into the new run's directory, where its steps look up
 * recorded calls. */
int
job_build_fork(struct job *j, struct error *err)
{
	const struct settings *s = &j->settings;
	const struct nested *n = &j->place.nested;
	const struct resume_plan plan = s->fork != NULL ?
	    (struct resume_plan){ true, s->at, settings_answers(s) } :
	    (struct resume_plan){ true, NULL, nested_answers_of(&n->answers) };

	if (!j->forks)
		return 0;
	if (resume_build(&j->resume, &plan, j->run.directory, err) == -1)
		return -1;
	return nested_decide(j->run.directory, &plan.answers, err);
}
