/*
 * Everything that may be refused is checked before anything is made: keys, the mask, the workflow,
 * the state of a run that is to be resumed. Then signals are blocked, the run waits for its turn,
 * and this process takes the run's lock. Then the state is checked again, because another process
 * may have resumed the run meanwhile.
 */
#include "run/job.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "decide/due.h"
#include "io/file.h"
#include "proc/command_files.h"
#include "proc/message.h"
#include "proc/provider_variables.h"
#include "run/inputs.h"
#include "run/leftovers.h"
#include "run_resume/changed_files.h"
#include "run_resume/moved.h"
#include "run_resume/same_input.h"
#include "run_resume/unattended.h"

static bool
prepare_name_is_listed(const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count && names[i] != NULL; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* API keys that AWF knows must not appear in events: --env with one of them is refused. */
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
		if (prepare_name_is_listed(*name, provider_key_names(), SIZE_MAX) ||
		    prepare_name_is_listed(*name, (const char *const *)keys.names, keys.count))
			failed = error_set(err, ERROR_USAGE, "--env",
			    "%s holds an API key, which is never recorded", *name);
	keys_free(&keys);
	return failed;
}

int
job_keyless(struct environment *e, struct error *err)
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

static int
find_workflow(struct job *j, struct error *err)
{
	const struct settings *s = &j->settings;
	const char *shell = s->shell != NULL ? s->shell : DEFAULT_SHELL;
	const bool again = s->pipeline == NULL && *s->words == NULL;
	int failed;

	if (s->pipeline != NULL)
		failed = workflow_pipeline(&j->workflow, s->pipeline, s->words, shell, err);
	else if (!again)
		failed = workflow_find(&j->workflow, s->words, shell,
		    run_in_environment() ? getenv("AWF_WORKFLOW_DIR") : NULL, err);
	else
		failed = workflow_again(&j->workflow, &j->resume.recorded, err);
	if (failed == 0)
		workflow_warn(&j->workflow);
	else if (again)
		resume_tell_script(&j->resume, err);
	return failed == 0 && !again && s->workspace != NULL ? workflow_pin(&j->workflow, err) : failed;
}

/* Changes to the directory of the recorded run, and restores its recorded settings. */
static int
prepare_apply_record(struct job *j, struct error *err)
{
	struct settings *s = &j->settings;
	const struct resume *r = &j->resume;
	char here[PATH_MAX], *told;

	/* An input given with --input replaces a recorded one with the same key. */
	inputs_complete(&s->inputs, r->settings.inputs);
	s->no_input |= r->settings.no_input;
	if (run_in_environment())
		ceiling_lower(r->settings.allow_tools, r->settings.tools_policy);
	else if (s->allow_tools == NULL && s->tools_policy == TOOLS_UNSAID)
		ceiling_restore(r->settings.allow_tools, r->settings.tools_policy);
	for (char **name = r->settings.variables; name != NULL && *name != NULL; name++)
		if (!list_has(s->recorded, *name))
			list_add(&s->recorded, *name);
	for (char **name = r->settings.ignored; name != NULL && *name != NULL; name++)
		if (!list_has(s->ignored, *name))
			list_add(&s->ignored, *name);
	if (s->pipeline != NULL || *s->words != NULL)
		return 0;
	if (s->name == NULL)
		s->name = r->recorded.name;
	if (s->fork != NULL && s->workspace != NULL)
		return 0;
	if (moved_find_workspace(&j->resume, s->workspace, &told, err) != 0)
		return -1;
	if (told != NULL && !run_in_environment())
		message_print(PROGRAM, "%s", told);
	free(told);
	/* --id-file is relative to the directory in which the user has started awf-run. */
	if (s->id_file != NULL && *s->id_file != '/' && getcwd(here, sizeof here) != NULL)
		s->id_file = s->pinned_id_file = path_join(here, s->id_file);
	if (chdir(r->directory) != 0)
		return error_set(err, ERROR_USAGE, r->directory, "unable to start there again: %s; if the "
		    "workspace is elsewhere now: --workspace DIRECTORY", strerror(errno));
	setenv("PWD", r->directory, 1);
	s->workspace = r->settings.workspace;
	return 0;
}

/* Finds the programs that the workflow's command line runs besides its script, for example in: sh
 * x.sh, or ./x | awf-step … */
static void
find_programs(struct job *j)
{
	char *workspace = job_workspace(j), *script = j->script != NULL ? realpath(j->script, NULL) : NULL;
	struct command_files found = { .workspace = workspace, .directory = workspace,
		.path = getenv("PATH") };

	command_files_add(&found, j->workflow.argv);
	for (char **path = found.list; path != NULL && *path != NULL; path++)
		if (script == NULL || strcmp(*path, script) != 0)
			list_add(&j->programs, *path);
	j->sourced = found.sourced;
	list_free(found.list);
	free(script);
	free(workspace);
}

/* Checks and prepares what a run needs, whether it is new or resumed. */
static int
prepare_words(struct job *j, struct error *err)
{
	const struct workflow *w = &j->workflow;
	struct environment environment;
	char here[PATH_MAX], *joined;

	if (refuse_keys(&j->settings, err) != 0 ||
	    redactor_open(&j->redactor, j->settings.mask, err) != 0)
		return -1;
	/* The filter of --mask is the user's own program: it gets the whole environment except API
	 * keys. */
	if (redactor_redaction(&j->redactor) != NULL) {
		if (j->settings.snapshot)
			return error_set(err, ERROR_USAGE, "--snapshot",
			    "not with --mask: a masked run cannot be replayed");
		if (job_keyless(&environment, err) != 0)
			return -1;
		redactor_environment(&j->redactor, &environment);
		environment_free(&environment);
	}
	if (find_workflow(j, err) != 0)
		return -1;
	for (char **name = w->ignored; name != NULL && *name != NULL; name++)
		if (!list_has(j->settings.ignored, *name))
			list_add(&j->settings.ignored, *name);
	for (char **name = w->kept; name != NULL && *name != NULL; name++)
		if (!list_has(j->settings.recorded, *name))
			list_add(&j->settings.recorded, *name);
	j->settings.by_itself |= w->by_itself || j->resume.by_itself;
	/* Make the path of the script absolute. */
	if (w->script >= 0 && getcwd(here, sizeof here) != NULL) {
		joined = path_join(*w->argv[w->script] == '/' ? "" : here, w->argv[w->script]);
		j->script = path_normal(joined);
		free(joined);
	}
	find_programs(j);
	inputs_write(j->settings.inputs, &j->inputs);
	signals_hold();
	return 0;
}

static int
prepare_report_success(const struct resume *r)
{
	message_print(PROGRAM, "%s: ended with success: there is nothing to go on with",
	    r->run_id);
	return STATUS_OK;
}

/* Prints which files have changed since they were recorded. For a child, its parent has done
 * this. */
static void
prepare_report_changes(const struct resume *r, bool redo_changed)
{
	struct buffer text = BUFFER_INIT;

	if (run_in_environment())
		return;
	changed_files_tell(r, redo_changed, PROGRAM, &text);
	for (char *const *path = r->history.used; path != NULL && *path != NULL; path++)
		buffer_format(&text, PROGRAM ": --redo %s: it has succeeded, so its result is used, unless a call asks "
		    "about it; awf-run --fork %s --at %s makes it again, in a new run\n", *path, r->run_id, *path);
	message_print_lines(buffer_string(&text));
	buffer_free(&text);
}

/* Whether somebody else resumes the run right now: the second of two who do the same has nothing to
 * do. taken: its lock was taken after it was looked at. */
static bool
is_resumed_already(const struct job *j, const struct storage *s, bool taken)
{
	const struct settings *given = &j->settings;
	struct due due;
	struct error ignored;

	return given->redo == NULL && given->skip == NULL && given->new_steps == NULL &&
	    !given->redo_changed && given->max_cost == NULL && storage_run_alive(s, j->resume.run_id) &&
	    (taken || (due_read(&due, s, j->resume.run_id, false, &ignored) == 0 &&
	    (due.attempt > 1 || due.ended)));
}

static int
prepare_report_resumed(const struct resume *r)
{
	message_print(PROGRAM, "%s: resumed already", r->run_id);
	return STATUS_OK;
}

/* The options of the attempt before hold again, as nobody is there to give them. */
static void
prepare_apply_options(struct job *j)
{
	struct settings *given = &j->settings;
	const struct resume *r = &j->resume;

	if (given->max_cost == NULL)
		given->max_cost = r->settings.max_cost;
	if (given->timeout_ms == 0)
		given->timeout_ms = r->settings.timeout_ms;
	if (given->on_complete == NULL)
		given->on_complete = r->settings.on_complete;
	if (given->on_failure == NULL)
		given->on_failure = r->settings.on_failure;
}

static int
prepare_resume(struct job *j, const struct storage *s, struct error *err)
{
	const struct settings *given = &j->settings;
	struct resume *r = &j->resume;
	const struct resume_plan plan = { .answers = settings_answers(given) };
	const bool unattended = given->by_itself;
	struct due due;
	struct error ignored;
	int status, decided;
	bool done;

	if (strcmp(r->status, "success") == 0 && !r->reader_gone) {
		leftovers_remove(s);
		return prepare_report_success(r);
	}
	if (is_resumed_already(j, s, false))
		return prepare_report_resumed(r);
	if ((unattended && unattended_begin(r, err) != 0) || resume_check_ended(r, s, err) != 0 || resume_check_dead(r, err) != 0 ||
	    resume_check_record(r, &plan, job_repaired, err) != 0 ||
	    prepare_apply_record(j, err) != 0 ||
	    prepare_words(j, err) != 0)
		return -1;
	status = job_take_turn(j, err);
	if (status != GO)
		return status;
	if (run_reopen(&j->run, r->run_id, err) != 0)
		return is_resumed_already(j, s, true) ? prepare_report_resumed(r) : -1;
	decided = resume_check_dead(r, err) == 0 ?
	    resume_build(r, &plan, j->run.directory, err) : -1;
	done = decided != -1 && strcmp(r->history.status, "success") == 0 && !r->history.reader_gone;
	if (decided != -1 && !done && unattended && unattended_check(r, s, err) != 0)
		decided = -1;
	if (decided != -1 && unattended)
		prepare_apply_options(j);
	j->told_before = decided != -1 && strcmp(r->status, "waiting") == 0 &&
	    due_read(&due, s, r->run_id, true, &ignored) == 0 && due.waits && !due.ready;
	if (decided != -1)
		prepare_report_changes(r, plan.answers.redo_changed);
	if (decided == -1)
		status = -1;
	else if (done)
		status = prepare_report_success(r); /* another process has resumed it first */
	else if (decided == 0)
		status = job_ask(r);
	else if (place_resumed(&j->place, r->run_id, &j->workflow, err) != 0 ||
	    nested_decide(j->run.directory, &plan.answers, err) != 0)
		status = -1;
	else
		status = job_attempt(j, err);
	if (status != GO)
		run_let_go(&j->run);
	return status;
}

/* Prepares a fork. The user is asked about effects before the new run is made. */
static int
prepare_fork(struct job *j, const struct storage *s, struct error *err)
{
	const struct settings *given = &j->settings;
	struct resume *r = &j->resume;
	const struct resume_plan plan = { true, given->at, settings_answers(given) };
	int decided;

	if (resume_check_ended(r, s, err) != 0 || resume_check_record(r, &plan, NULL, err) != 0 ||
	    prepare_apply_record(j, err) != 0)
		return -1;
	if (given->pipeline != NULL || *given->words != NULL || given->workspace != NULL)
		r->programs_in = job_workspace(j);
	decided = resume_build(r, &plan, NULL, err);
	if (decided != -1)
		prepare_report_changes(r, plan.answers.redo_changed);
	if (decided != 1)
		return decided == 0 ? job_ask(r) : -1;
	if (prepare_words(j, err) != 0)
		return -1;
	j->forks = true;
	return job_create(j, err);
}

static int
prepare_new(struct job *j, struct error *err)
{
	return prepare_words(j, err) != 0 ? -1 : job_create(j, err);
}

/* Refuses standard input that differs from the run's stored input: a resumed run reads the stored
 * input, so the other one would be ignored. */
static int
refuse_other_input(const struct job *j, const struct storage *s, struct error *err)
{
	int input = j->settings.no_input ? -1 : STDIN_FILENO;
	char *kept;
	bool same;

	if (same_input(s, j->resume.run_id, s->root, span_of("{}", 2), &input, &same, err) != 0)
		return -1;
	if (input > STDIN_FILENO) {
		dup2(input, STDIN_FILENO);
		close(input);
	}
	if (same)
		return 0;
	kept = storage_input(s, j->resume.run_id);
	error_set(err, ERROR_INVALID_INPUT, "--continue", "standard input is another than that of "
	    "the run %s, which was kept as %s: awf-run --resume %s goes on with that, without "
	    "--continue a new run takes this one", j->resume.run_id, kept, j->resume.run_id);
	free(kept);
	return -1;
}

/* --continue: waits for this run's turn, then resumes the latest run of the name if that died or
 * was ended from outside: by a reboot, by a batch system, or because its guardian died. */
static int
prepare_continue(struct job *j, const struct storage *s, struct error *err)
{
	struct settings *given = &j->settings;
	struct error none;
	char *latest;
	bool dead;
	int status;

	signals_hold();
	id_new(j->place.id);
	if (find_workflow(j, err) != 0)
		return -1;
	status = job_take_turn(j, err);
	if (status != GO)
		return status;

	latest = memory_format("@%s", job_name(j));
	dead = resume_find(&j->resume, s, latest, &none) == 0 &&
	    (j->resume.status[0] == '\0' || j->resume.interrupted) &&
	    !storage_run_alive(s, j->resume.run_id);
	free(latest);
	workflow_free(&j->workflow);
	if (!dead) {
		resume_free(&j->resume);
		return prepare_new(j, err);
	}
	if (refuse_other_input(j, s, err) != 0)
		return -1;
	/* The workflow, name and inputs of the run that died are used. */
	given->words += list_count(given->words);
	given->pipeline = given->name = given->workspace = given->allow_tools = NULL;
	given->tools_policy = TOOLS_UNSAID;
	given->snapshot = false;
	list_free(given->inputs);
	given->inputs = NULL;
	return prepare_resume(j, s, err);
}

/* Returns GO, the exit status, or -1. */
int
job_prepare(struct job *j, struct error *err)
{
	struct settings *s = &j->settings;
	struct storage storage;
	int status;

	if ((s->seal && seal_key_find(&j->seal, s->seal_file, true, err) != 1) ||
	    ceiling_check(err) == -1)
		return -1;
	ceiling_lower(s->allow_tools, s->tools_policy);
	if (s->resume == NULL && s->fork == NULL && !s->go_on)
		return prepare_new(j, err);
	/* In a replay, calls that are not in the recording would ask models and change things. */
	if (run_in_environment() && run_environment_recreated())
		return error_set(err, ERROR_SYSTEM, getenv("AWF_RUN_ID"), "no run goes on "
		    "inside of a replay, as it would do all for real");
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
