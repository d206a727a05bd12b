/*
 * Everything that can be wrong is found before the record is touched: the run, whether it may
 * be decided about from in here, the call that waits, the key, then what comes on stdin, read
 * in the form in which the step takes its command's stdout (-O). So a bad input decides
 * nothing. undecided_decide() comes last, and looks under the transcript's lock whether
 * another decision was first.
 */
#include "ctl/decide.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "run/lineage.h"
#include "run/run.h"
#include "run/state.h"
#include "run/storage.h"

/* What is decided, and about which call of which run. */
struct deciding {
	const struct decide_spec *spec;
	const char *path;        /* or the call in a task's token */
	bool task;
	struct undecided undecided;
	const struct waiting *at;
	struct decision decision;
	struct data *results;
	struct seal_key seal;
};

/* A run that decides about itself, or about one that it is inside of, however deep, would approve
 * whatever it likes. */
static int
refuse_own(const struct storage *storage, const char *run_id, struct error *err)
{
	const char *own = getenv("AWF_RUN_ID");
	struct lineage lineage = { .count = 0 };
	char *directory;
	bool inside;
	int failed;

	if (own == NULL || !id_valid(own, strlen(own)))
		return 0;
	directory = storage_run_directory(storage, own);
	failed = lineage_read(&lineage, directory, err);
	free(directory);
	if (failed != 0)
		return -1;
	inside = strcmp(own, run_id) == 0;
	for (size_t i = 0; i < lineage.count; i++)
		inside = inside || strcmp(lineage.runs[i].run_id, run_id) == 0;
	return !inside ? 0 : error_set(err, ERROR_USAGE, run_id,
	    "a run does not decide about itself, nor about one that it is inside of");
}

static int
open_run(struct deciding *d, struct error *err)
{
	const struct decide_spec *spec = d->spec;
	char token[ID_SIZE] = "", *blobs;
	const char *run = spec->run;
	struct storage storage;
	struct run_ref ref;
	int failed;

	d->path = spec->path;
	/* RUN_ID/CALL, as $AWF_TASK has it, names both. */
	d->task = strlen(spec->path) > ID_SIZE && spec->path[ID_SIZE - 1] == '/' &&
	    id_valid(spec->path, ID_SIZE - 1);
	if (d->task && spec->run != NULL)
		return error_set(err, ERROR_USAGE, spec->run,
		    "not with a task's token, which names the run");
	if (d->task) {
		memcpy(token, spec->path, ID_SIZE - 1);
		d->path += ID_SIZE;
		run = token;
	}
	if (storage_locate(&storage, err) != 0)
		return -1;
	failed = storage_resolve(&storage, run, &ref, err);
	if (failed == 0 && !ref.in_storage)
		failed = error_set(err, ERROR_USAGE, ref.path, "is not a transcript of the storage %s",
		    storage.root);
	if (failed == 0 && decision_about(spec->verdict) == WAITING_APPROVAL)
		failed = refuse_own(&storage, ref.run_id, err);
	if (failed == 0) {
		blobs = storage_blobs(&storage, ref.run_id);
		failed = undecided_open(&d->undecided, ref.path, blobs, ref.run_id, err);
		free(blobs);
	}
	run_ref_free(&ref);
	storage_close(&storage);
	return failed;
}

/* ---- what comes on stdin ---- */

/* Data that was given replaces what was to be approved; no bytes are none. */
static int
read_edited(struct deciding *d, struct error *err)
{
	struct buffer bytes = BUFFER_INIT;
	struct data original, edited = { BUFFER_INIT, false, false };
	int differs = 0;

	if (undecided_input(&d->undecided, d->at, &original, err) != 0)
		return -1;
	if (!d->spec->no_input && !isatty(STDIN_FILENO) &&
	    file_read(STDIN_FILENO, &bytes, DATA_LIMIT) != 0)
		differs = error_errno(err, ERROR_SYSTEM, "stdin", "unable to read");
	else if (bytes.len > 0)
		differs = decision_edit(&original, bytes.data, bytes.len, &edited, err);
	if (differs == 1) {
		data_free(&original);
		original = edited;
		d->decision.verdict = DECISION_EDITED;
	} else {
		data_free(&edited);
	}
	buffer_free(&bytes);
	d->results = memory_zero(1, sizeof *d->results);
	d->results[0] = original;
	d->decision.results = (struct results){ d->results, 1, false };
	return differs == -1 ? -1 : 0;
}

static void
add_result(struct deciding *d, const struct data *data)
{
	size_t count = d->decision.results.count++;

	d->results = memory_array(d->results, count + 1, sizeof *d->results);
	d->results[count] = *data;
	d->decision.results.list = d->results;
}

/* A result, or several, in the form that the step takes its command's stdout (-O). */
static int
read_result(struct deciding *d, struct error *err)
{
	static const struct { const char *name; enum input_form form; } forms[] = {
		{ "lines", INPUT_LINES }, { "nul", INPUT_NUL }, { "json", INPUT_JSON },
	};
	struct state_reader r;
	struct item item;
	struct data none = { BUFFER_INIT, false, false };
	enum input_form form = INPUT_TEXT;
	int got = 0;

	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		if (strcmp(d->at->form, forms[i].name) == 0)
			form = forms[i].form;
	d->decision.results.several = form != INPUT_TEXT;
	memset(&item, 0, sizeof item);
	state_reader_begin(&r, STDIN_FILENO, form, "");
	while (!d->spec->no_input && (got = state_reader_next(&r, &item, err)) == 1) {
		add_result(d, &item.data);
		memset(&item.data, 0, sizeof item.data);
		item_free(&item);
	}
	state_reader_free(&r);
	if (d->spec->no_input)
		data_null(&none);
	else
		data_from_text(&none, "", 0);
	if (got == 0 && form == INPUT_TEXT && d->decision.results.count == 0)
		add_result(d, &none);
	else
		data_free(&none);
	return got;
}

/* A person is told what was decided, and how what waited for it goes on; completions and
 * heartbeats are the work of programs. */
static void
tell(const struct deciding *d)
{
	char id[ID_SIZE], more[64] = "";
	const struct waitings *w = &d->undecided.model.waits;
	struct storage storage;
	struct error ignored;
	size_t others = 0;

	if (decision_about(d->decision.verdict) != WAITING_APPROVAL ||
	    storage_locate(&storage, &ignored) != 0)
		return;
	for (size_t i = 0; i < w->count; i++)
		others += !w->list[i].over && &w->list[i] != d->at;
	if (others > 0)
		snprintf(more, sizeof more, " (%zu more wait%s)", others, others == 1 ? "s" : "");
	fprintf(stderr, "awf-ctl: %s: %s; the run goes on with: awf-run --resume %s%s\n",
	    d->at->call, decision_word(d->decision.verdict),
	    storage_short_id(&storage, d->undecided.run_id, id), more);
	storage_close(&storage);
}

int
decide(const struct decide_spec *spec, struct error *err)
{
	struct deciding d = { .spec = spec };
	char *by;
	int sealed, failed = -1;

	if (open_run(&d, err) != 0)
		return -1;
	d.decision.by = by = decision_maker();
	d.decision.verdict = spec->verdict;
	d.decision.reason = spec->reason;
	d.at = undecided_find(&d.undecided, d.path, d.task, spec->verdict, err);
	/* With a key the decision is signed; without --seal only if the user has one. */
	sealed = d.at != NULL ? seal_key_find(&d.seal, spec->seal_file, spec->seal, err) : -1;
	if (sealed >= 0) {
		d.decision.seal = sealed == 1 ? &d.seal : NULL;
		failed = spec->verdict == DECISION_APPROVED ? read_edited(&d, err) :
		    spec->verdict == DECISION_COMPLETED ? read_result(&d, err) : 0;
		if (failed == 0)
			failed = undecided_decide(&d.undecided, d.at, &d.decision, err);
		if (failed == 0)
			tell(&d);
	}
	for (size_t i = 0; i < d.decision.results.count; i++)
		data_free(&d.results[i]);
	free(d.results);
	free(by);
	seal_key_forget(&d.seal);
	undecided_close(&d.undecided);
	return failed != 0 ? -1 : 0;
}
