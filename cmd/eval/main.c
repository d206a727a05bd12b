/*
 * awf-eval: tries a workflow with many inputs, checks what comes of it, and says how sure that is. An evaluation is a
 * run; awf-eval starts awf-run, whose workflow is awf-eval --cases, a step with a call for each case
 * (awf-eval --case, eval/case.h). The report is made from the run's record.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/id.h"
#include "base/list.h"
#include "base/memory.h"
#include "eval/baseline.h"
#include "eval/case.h"
#include "eval/inputs.h"
#include "eval/look.h"
#include "eval/outputs.h"
#include "eval/replace.h"
#include "eval/report.h"
#include "eval/results.h"
#include "eval/settings.h"
#include "eval/verdict.h"
#include "io/file.h"
#include "io/path.h"
#include "proc/passing.h"
#include "proc/process.h"
#include "program.h"
#include "storage/run.h"
#include "storage/storage.h"

#define PROGRAM "awf-eval"
#define STATUS_HELD 0
#define STATUS_NONE -2       /* nothing was done yet */
#define STATUS_BELOW 1       /* a requirement or the baseline does not hold */
#define STATUS_TROUBLE 2     /* something could not be evaluated */

/* ---- the run ---- */

static char *
eval_run_name(const struct eval_settings *s)
{
	char *workflow = eval_workflow_name(*s->workflow != NULL ? *s->workflow : *s->variants[0].workflow);
	char *name = memory_format("--name=eval-%s", workflow);

	free(workflow);
	return name;
}

/* Starts the run and waits for its end, with the option that names it. Signals that end this program end the run: awf-run
 * says how it ended, and the report says what is left. Returns its exit status; -1: *err. */
static int
eval_start_run(const struct eval_settings *s, const char *named, const struct buffer *cases, struct error *err)
{
	char **inner = eval_settings_words(s, EVAL_CASES_WORD), **words = NULL;
	struct process_spec spec = { .in = PROCESS_INPUT, .out = PROCESS_NULL, .err = PROCESS_INHERIT,
		.input = buffer_string(cases), .input_len = cases->len };
	struct process process;
	sigset_t passed, before;
	int status = 0;

	list_add(&words, "awf-run");
	list_add(&words, named);
	list_take(&words, s->name != NULL ? memory_format("--name=%s", s->name) : eval_run_name(s));
	if (s->max_cost != NULL)
		list_take(&words, memory_format("--max-cost=%s", s->max_cost));
	list_add(&words, "--");
	for (char **word = inner; *word != NULL; word++)
		list_add(&words, *word);
	spec.argv = words;
	sigemptyset(&passed);
	passing_add(&passed);
	sigprocmask(SIG_BLOCK, &passed, &before);
	if (process_start(&process, &spec, NULL, err) != 0)
		status = -1;
	else if (passing_wait(process.pid, process.pid, &status) == -1)
		status = error_errno(err, ERROR_SYSTEM, *words, "unable to wait");
	else
		status = process_exit_code(status);
	sigprocmask(SIG_SETMASK, &before, NULL);
	list_free(inner);
	list_free(words);
	return status;
}

static int
eval_start_named(const struct eval_settings *s, const char *run_id, const struct buffer *cases, struct error *err)
{
	char *named = memory_format("--id=%s", run_id);
	int status = eval_start_run(s, named, cases, err);

	free(named);
	return status;
}

/* The same inside of a run, which names its child runs itself. run_id: "" if none was started. */
static int
eval_start_child(const struct eval_settings *s, const struct storage *storage, char run_id[ID_SIZE],
    const struct buffer *cases, struct error *err)
{
	char *directory = eval_make_directory(storage, err);
	struct buffer id = BUFFER_INIT;
	char *file, *named;
	int status;

	if (directory == NULL)
		return -1;
	file = path_join(directory, "id");
	named = memory_format("--id-file=%s", file);
	status = eval_start_run(s, named, cases, err);
	if (file_load(file, ID_SIZE + 1, &id, NULL) == 0 && id.len >= ID_SIZE - 1) {
		memcpy(run_id, id.data, ID_SIZE - 1);
		run_id[ID_SIZE - 1] = '\0';
	}
	unlink(file);
	rmdir(directory);
	free(named);
	free(file);
	free(directory);
	buffer_free(&id);
	return status;
}

/* Replaces this process by the step that makes a call for each case. */
static int
eval_exec_cases(const struct eval_settings *s, struct error *err)
{
	char **inner = eval_settings_words(s, EVAL_CASE_WORD), **words = NULL;

	list_add(&words, "awf-step");
	list_take(&words, memory_format("--jobs=%lld", s->jobs));
	list_add(&words, "--quiet"); /* the record has what is needed; a resume would print it */
	list_add(&words, "--input=json");
	list_add(&words, "--each");
	list_add(&words, EVAL_STEP);
	list_add(&words, "--");
	for (char **word = inner; *word != NULL; word++)
		list_add(&words, *word);
	execvp(*words, words);
	error_errno(err, ERROR_SYSTEM, *words, "unable to execute");
	list_free(inner);
	list_free(words);
	return -1;
}

/* ---- what is required ---- */

static void
eval_require(const struct eval_results *r, const char *name, size_t variant, int check, double least, struct eval_gates *gates)
{
	struct rate rate;

	eval_variant_rate(r, variant, check, &rate);
	if (rate.count == 0 || (double)rate.passed < least * (double)rate.count)
		buffer_format(&gates->failed, "%s>=%g: %s has %lld/%lld\n", name, least, r->settings.variants[variant].name,
		    (long long)rate.passed, (long long)rate.count);
}

/* A name is that of a variant, of a check in all variants, or VARIANT/CHECK. gates NULL: is there such a thing? */
static int
eval_check_required(const struct eval_settings *s, const struct eval_required *required, const struct eval_results *r,
    struct eval_gates *gates, struct error *err)
{
	bool found = false;

	for (size_t v = 0; v < s->variant_count; v++) {
		if (strcmp(required->name, s->variants[v].name) == 0 || strcmp(required->name, "pass") == 0) {
			if (gates != NULL)
				eval_require(r, required->name, v, -1, required->rate, gates);
			found = true;
		}
		for (size_t c = 0; c < s->check_count; c++) {
			char *both = memory_format("%s/%s", s->variants[v].name, s->checks[c].name);

			if (strcmp(required->name, s->checks[c].name) == 0 || strcmp(required->name, both) == 0) {
				if (gates != NULL)
					eval_require(r, required->name, v, (int)c, required->rate, gates);
				found = true;
			}
			free(both);
		}
	}
	return found ? 0 : error_set(err, ERROR_USAGE, "--require", "'%s' is neither a variant nor a check", required->name);
}

static void
eval_check_inputs(const struct eval_results *r, double least, struct eval_gates *gates)
{
	for (size_t v = 0; v < r->settings.variant_count; v++)
		for (size_t i = 0; i < r->count; i++) {
			struct rate_group group = eval_input_passes(r, i, v, -1);

			if (group.count > 0 && (double)group.passed < least * (double)group.count)
				buffer_format(&gates->failed, "--per-input %g: %s of %s has %lld/%lld\n", least, r->inputs[i].id,
				    r->settings.variants[v].name, (long long)group.passed, (long long)group.count);
		}
}

/* Reports on a run. Returns the exit status, or -1. */
static int
eval_report_run(const struct eval_settings *s, const struct storage *storage, const char *run, struct error *err)
{
	struct eval_gates gates = { BUFFER_INIT, BUFFER_INIT };
	struct buffer out = BUFFER_INIT;
	struct eval_results r;
	const char *fault = NULL;
	int status = eval_results_read(&r, storage, run, err);

	for (size_t i = 0; status == 0 && i < s->required_count; i++)
		status = eval_check_required(&r.settings, &s->required[i], &r, &gates, err);
	if (status == 0 && s->per_input >= 0)
		eval_check_inputs(&r, s->per_input, &gates);
	if (status == 0 && s->baseline != NULL && !s->update)
		status = eval_baseline_compare(&r, s->baseline, s->margin, &fault, &gates.told, err);
	if (status == 0 && fault != NULL)
		buffer_format(&gates.failed, "%s: %s\n", s->baseline, fault);
	if (status == 0) {
		eval_report(&r, s->form, &gates, &out);
		fwrite(buffer_string(&out), 1, out.len, stdout);
		if (eval_count(&r, -1, EVAL_ERROR) > 0 || eval_count(&r, -1, EVAL_MISSING) > 0)
			status = STATUS_TROUBLE;
		else if (gates.failed.len > 0)
			status = STATUS_BELOW;
		if (s->baseline != NULL && s->update && status == STATUS_TROUBLE)
			status = error_set(err, ERROR_USAGE, s->baseline,
			    "is not written: not everything could be evaluated; after awf-run --resume %.8s: " PROGRAM
			    " --report --baseline %s --update %.8s; if what failed is to be checked, too: --check-failures",
			    r.run_id, s->baseline, r.run_id);
		else if (s->baseline != NULL && s->update && eval_baseline_write(&r, s->baseline, err) != 0)
			status = -1;
	}
	eval_results_free(&r);
	buffer_free(&gates.failed);
	buffer_free(&gates.told);
	buffer_free(&out);
	return status;
}

/* What the report would fail for, before anything is paid. */
static int
eval_check_settings(const struct eval_settings *s, struct error *err)
{
	int failed = 0;

	if (s->name != NULL && eval_settings_variant(s, s->name) != -1)
		return error_set(err, ERROR_USAGE, "--name",
		    "%s is the name of a variant, whose runs @%s would find instead of the evaluation", s->name, s->name);
	for (size_t i = 0; failed == 0 && i < s->required_count; i++)
		failed = eval_check_required(s, &s->required[i], NULL, NULL, err);
	if (failed == 0 && s->baseline != NULL && !s->update)
		failed = eval_baseline_check(s->baseline, err);
	if (failed == 0 && s->schema != NULL) {
		struct schema *schema = eval_schema_load(s->schema, err);

		failed = schema != NULL ? 0 : -1;
		schema_free(schema);
	}
	for (size_t i = 0; failed == 0 && i < s->variant_count; i++)
		if (s->variants[i].files != NULL && !s->recorded)
			failed = eval_replace_check(s->variants[i].files, err);
	return failed;
}

/* The cases of an evaluation that is to be checked anew, which is what s says is tried from now on. */
static int
eval_take_recorded(struct eval_settings *s, const struct storage *storage, const struct eval_results *of,
    const struct eval_results *judges, struct buffer *cases, struct error *err)
{
	struct buffer lines = BUFFER_INIT;
	struct eval_outputs outputs = { .by_run = MAP_INIT };
	int failed = eval_settings_adopt(s, &of->settings, err);

	if (s->name == NULL)
		s->name = of->name;
	if (failed == 0)
		failed = eval_check_settings(s, err);
	eval_results_lines(storage, of->run_id, &lines);
	if (failed == 0)
		failed = eval_outputs_read(&outputs, storage, of->run_id, err);
	if (failed == 0)
		failed = eval_inputs_take(of, &lines, &outputs, judges, cases, err);
	eval_outputs_free(&outputs);
	buffer_free(&lines);
	return failed;
}

static int
eval_new(struct eval_settings *s, const struct storage *storage, struct error *err)
{
	struct buffer cases = BUFFER_INIT;
	struct eval_results earlier, recorded;
	const bool reads = s->reuse != NULL && *s->reuse != '\0';
	char run_id[ID_SIZE] = "";
	int failed = reads ? eval_results_read(&earlier, storage, s->reuse, err) : 0, status = 0, reported;

	if (s->recorded) {
		if (failed == 0)
			failed = eval_results_read(&recorded, storage, s->run, err);
		else
			recorded = (struct eval_results){ .by_id = MAP_INIT };
		if (failed == 0)
			failed = eval_take_recorded(s, storage, &recorded, reads ? &earlier : s->reuse != NULL ? &recorded : NULL,
			    &cases, err);
	} else if (failed == 0) {
		failed = eval_check_settings(s, err);
		if (failed == 0)
			failed = eval_inputs_read(s->inputs, s->repetitions, reads ? &earlier : NULL, &cases, err);
	}
	if (failed == 0 && run_in_environment())
		status = eval_start_child(s, storage, run_id, &cases, err);
	else if (failed == 0)
		status = eval_start_named(s, id_new(run_id), &cases, err);
	buffer_free(&cases);
	if (reads)
		eval_results_free(&earlier);
	if (s->recorded) {
		s->workflow = NULL;
		s->name = NULL;
		eval_results_free(&recorded);
	}
	/* 125, or no id: the run was not started, and awf-run has said why. */
	if (failed != 0 || status == -1 || status == 125 || *run_id == '\0')
		return failed != 0 || status == -1 ? -1 : STATUS_TROUBLE;
	reported = eval_report_run(s, storage, run_id, err);
	return reported != -1 && status == STATUS_WAITING ? STATUS_WAITING : reported;
}

int
main(int argc, char **argv)
{
	struct error err = ERROR_INIT;
	struct storage storage = { .root = NULL };
	struct eval_settings s;
	int id, status;

	program_begin();
	/* What cases start. */
	if (argc == 3 && strcmp(argv[1], EVAL_VERDICT_WORD) == 0)
		status = eval_verdict_run(argv[2], &err);
	else if (argc == 2 && strcmp(argv[1], EVAL_LOOK_WORD) == 0)
		status = eval_look_run(&err);
	else if (argc > 2 && strcmp(argv[1], EVAL_REPLACING_WORD) == 0)
		status = eval_replace_exec(argv + 2, &err);
	else
		status = STATUS_NONE;
	if (status != STATUS_NONE)
		return program_end(PROGRAM, status == -1 ? program_fail(PROGRAM, &err) : status);
	id = eval_settings_read(&s, argc, argv, &err);
	if (OPTION_ASKS(id)) {
		eval_settings_free(&s);
		if (id == OPTION_VERSION)
			return program_end(PROGRAM, program_version(PROGRAM));
		eval_settings_help(id);
		return program_end(PROGRAM, STATUS_OK);
	}
	if (id != OPTION_END)
		status = -1;
	else if (s.mode == EVAL_CASES)
		status = eval_exec_cases(&s, &err);
	else if (s.mode == EVAL_CASE)
		status = eval_case_run(&s, &err);
	else if (storage_locate(&storage, &err) != 0)
		status = -1;
	else
		status = s.mode == EVAL_REPORT ? eval_report_run(&s, &storage, s.run, &err) : eval_new(&s, &storage, &err);
	eval_settings_free(&s);
	storage_close(&storage);
	if (status == -1) {
		status = program_fail(PROGRAM, &err);
		return program_end(PROGRAM, s.mode == EVAL_CASE || s.mode == EVAL_CASES ? status : STATUS_TROUBLE);
	}
	return program_end(PROGRAM, status) == STATUS_SYSTEM ? STATUS_TROUBLE : status;
}
