/* The lines of the transcript are read once, in their order: what a resume has made again comes later, and counts. */
#include "eval/results.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "model/results.h"
#include "storage/run.h"
#include "transcript/blob.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"
#include "transcript/reader.h"

#define INPUT_LIMIT ((size_t)256 << 20)
#define UNFINISHED ".part"   /* behind the name of an input whose end was not seen (awf-run(1)) */

const char *const eval_outcome_words[] = { "missing", "pass", "fail", "error", NULL };

static size_t
results_trials(const struct eval_results *r)
{
	return r->settings.variant_count * (size_t)r->settings.repetitions;
}

const struct eval_trial *
eval_trial_at(const struct eval_results *r, size_t input, size_t variant, size_t k)
{
	return &r->inputs[input].trials[variant * (size_t)r->settings.repetitions + k - 1];
}

static struct eval_verdict *
results_no_verdicts(const struct eval_results *r)
{
	struct eval_verdict *verdicts = memory_zero(r->settings.check_count + 1, sizeof *verdicts);

	for (size_t i = 0; i < r->settings.check_count; i++)
		verdicts[i].score = -1;
	return verdicts;
}

/* The input of a case, which is new if its id is. */
static struct eval_input *
results_input(struct eval_results *r, struct span item)
{
	struct buffer id = BUFFER_INIT;
	struct span cluster = span_member(item, "cluster");
	struct eval_input *input;
	const size_t *at;

	span_plain(span_member(item, "id"), &id);
	at = map_get(&r->by_id, buffer_string(&id), id.len);
	if (at != NULL) {
		buffer_free(&id);
		return &r->inputs[*at];
	}
	map_put(&r->by_id, buffer_string(&id), id.len, r->count);
	if ((r->count & (r->count + 1)) == 0 || r->count == 0)
		r->inputs = memory_array(r->inputs, r->count * 2 + 2, sizeof *r->inputs);
	input = &r->inputs[r->count++];
	*input = (struct eval_input){ .id = buffer_take(&id), .trials = memory_zero(results_trials(r), sizeof *input->trials) };
	for (size_t i = 0; i < results_trials(r); i++) {
		input->trials[i].cost = input->trials[i].paid = -1;
		input->trials[i].ms = -1;
		input->trials[i].verdicts = results_no_verdicts(r);
	}
	if (cluster.at != NULL && span_type(cluster) != '0') {
		span_plain(cluster, &id);
		input->cluster = buffer_take(&id);
	}
	return input;
}

static void
results_free_trial(struct eval_trial *t, size_t checks)
{
	for (size_t i = 0; i < checks; i++)
		free(t->verdicts[i].why);
	free(t->verdicts);
	free(t->error);
}

static double
results_number(struct span value)
{
	return span_type(value) == 'n' ? strtod(value.at, NULL) : -1;
}

static enum eval_outcome
results_outcome(struct span value)
{
	const char *word = span_one_of(value, eval_outcome_words);

	return word != NULL ? (enum eval_outcome)text_index(word, eval_outcome_words) : EVAL_MISSING;
}

static void
results_read_trial(const struct eval_results *r, struct span variant, struct eval_trial *t)
{
	const size_t checks = r->settings.check_count;
	struct eval_verdict *verdicts = results_no_verdicts(r);
	const struct span said = span_member(variant, "checks");
	long long ms;

	results_free_trial(t, checks);
	*t = (struct eval_trial){ .outcome = results_outcome(span_member(variant, "outcome")), .verdicts = verdicts,
		.cost = results_number(span_member(variant, "cost_usd")), .paid = results_number(span_member(variant, "paid_usd")),
		.ms = span_integer(span_member(variant, "ms"), &ms) ? ms : -1, .error = span_text(span_member(variant, "error")) };
	span_copy(span_member(variant, "run"), t->run, sizeof t->run);
	for (struct span_walk verdict = span_walk(said); span_next(&verdict);)
		for (size_t i = 0; i < checks; i++)
			if (span_is(span_member(verdict.value, "check"), r->settings.checks[i].name)) {
				struct eval_verdict *v = &verdicts[i];

				v->outcome = results_outcome(span_member(verdict.value, "outcome"));
				v->score = results_number(span_member(verdict.value, "score"));
				span_copy(span_member(verdict.value, "run"), v->run, sizeof v->run);
				free(v->why);
				v->why = span_text(span_member(verdict.value, "why"));
			}
}

/* Reads the line of a case that has ended. */
static void
results_read_case(struct eval_results *r, struct span item)
{
	struct span variants = span_member(item, "variants");
	struct eval_input *input;
	long long k;

	if (variants.at == NULL || !span_integer(span_member(item, "k"), &k) || k < 1 || k > r->settings.repetitions)
		return;
	input = results_input(r, item);
	for (struct span_walk variant = span_walk(variants); span_next(&variant);) {
		char *name = span_text(span_member(variant.value, "variant"));
		int at = name != NULL ? eval_settings_variant(&r->settings, name) : -1;

		if (at != -1)
			results_read_trial(r, variant.value, &input->trials[(size_t)at * (size_t)r->settings.repetitions + (size_t)k - 1]);
		free(name);
	}
}

/* Reads the command line of the run; blobs were inserted. */
static int
results_read_started(struct eval_results *r, const struct event_view *event, const char *path, struct error *err)
{
	struct span argv = span_member(event->payload, KEY_ARGV);

	r->name = span_text(span_member(event->payload, KEY_NAME));
	event_copy_id(event->run_id, r->run_id);
	if (span_type(argv) == 'a')
		for (struct span_walk word = span_walk(argv); span_next(&word);) {
			char *text = span_text(word.value);

			list_take(&r->argv, text != NULL ? text : memory_text(""));
		}
	if (r->name == NULL || list_count(r->argv) < 2 || !text_ends(r->argv[0], "awf-eval") ||
	    strcmp(r->argv[1], EVAL_CASES_WORD) != 0)
		return error_set(err, ERROR_USAGE, path, "is no evaluation");
	return eval_settings_read(&r->settings, (int)list_count(r->argv), r->argv, err);
}

void
eval_results_lines(const struct storage *storage, const char *run_id, struct buffer *lines)
{
	char *path = storage_input(storage, run_id), *part = memory_format("%s" UNFINISHED, path);
	struct error ignored = ERROR_INIT;

	if (file_load(access(path, R_OK) == 0 ? path : part, INPUT_LIMIT, lines, &ignored) != 0)
		buffer_clear(lines);
	free(part);
	free(path);
}

static void
results_read_inputs(struct eval_results *r, const struct storage *storage)
{
	struct buffer lines = BUFFER_INIT;

	eval_results_lines(storage, r->run_id, &lines);
	for (const char *at = buffer_string(&lines), *end; (end = strchr(at, '\n')) != NULL; at = end + 1) {
		struct span item = span_of(at, (size_t)(end - at));

		if (span_member(item, "id").at != NULL)
			results_input(r, item);
	}
	buffer_free(&lines);
}

static int
results_read_lines(struct eval_results *r, const struct storage *storage, const struct run_ref *ref,
    struct reader *reader, struct error *err)
{
	char *blobs = storage_blobs(storage, ref->run_id);
	struct buffer whole = BUFFER_INIT;
	const char *line;
	size_t len;
	int got, failed = 0;

	while (failed == 0 && (got = reader_next(reader, &line, &len, err)) != 0) {
		struct event_view event;

		if (got == -1) {
			failed = -1;
		} else if (event_view(line, len, &event) == 0 &&
		    (r->name == NULL || (event.type == EVENT_STEP_COMPLETED && span_is(event.path, EVAL_STEP)))) {
			buffer_clear(&whole);
			failed = blob_inline(blobs, line, len, &whole, err);
			if (failed == 0 && event_view(whole.data, whole.len, &event) != 0)
				failed = error_set(err, ERROR_USAGE, ref->path, "is no evaluation");
			if (failed == 0 && r->name == NULL) {
				failed = results_read_started(r, &event, ref->path, err);
				if (failed == 0 && ref->in_storage)
					results_read_inputs(r, storage);
			} else if (failed == 0) {
				char *pointer = memory_format("/%s", result_member(event.payload));
				char *text = span_text(pointer_find(event.payload, pointer));

				if (text != NULL)
					results_read_case(r, span_of(text, strlen(text)));
				free(text);
				free(pointer);
			}
		}
	}
	if (failed == 0 && r->name == NULL)
		failed = error_set(err, ERROR_USAGE, ref->path, "is no evaluation");
	buffer_free(&whole);
	free(blobs);
	return failed;
}

int
eval_results_read(struct eval_results *r, const struct storage *storage, const char *run, struct error *err)
{
	struct run_ref ref;
	struct reader reader;
	int failed;

	*r = (struct eval_results){ .by_id = MAP_INIT };
	if (storage_resolve(storage, run, &ref, err) != 0)
		return -1;
	failed = reader_open(&reader, ref.path, err);
	if (failed == 0) {
		failed = results_read_lines(r, storage, &ref, &reader, err);
		reader_close(&reader);
	}
	r->alive = failed == 0 && ref.in_storage && storage_run_alive(storage, r->run_id);
	run_ref_free(&ref);
	return failed;
}

void
eval_results_free(struct eval_results *r)
{
	for (size_t i = 0; i < r->count; i++) {
		for (size_t j = 0; j < results_trials(r); j++)
			results_free_trial(&r->inputs[i].trials[j], r->settings.check_count);
		free(r->inputs[i].trials);
		free(r->inputs[i].id);
		free(r->inputs[i].cluster);
	}
	free(r->inputs);
	free(r->name);
	map_free(&r->by_id);
	eval_settings_free(&r->settings);
	list_free(r->argv);
}

/* ---- figures ---- */

enum eval_outcome
eval_trial_outcome(const struct eval_trial *t, int check)
{
	return check == -1 ? t->outcome : t->verdicts[check].outcome;
}

struct rate_group
eval_input_passes(const struct eval_results *r, size_t input, size_t variant, int check)
{
	struct rate_group group = { 0, 0 };

	for (size_t k = 1; k <= (size_t)r->settings.repetitions; k++) {
		enum eval_outcome outcome = eval_trial_outcome(eval_trial_at(r, input, variant, k), check);

		group.passed += outcome == EVAL_PASS;
		group.count += outcome == EVAL_PASS || outcome == EVAL_FAIL;
	}
	return group;
}

void
eval_variant_rate(const struct eval_results *r, size_t variant, int check, struct rate *rate)
{
	struct rate_group *groups = memory_zero(r->count + 1, sizeof *groups);
	struct map clusters = MAP_INIT;
	size_t count = 0;

	for (size_t i = 0; i < r->count; i++) {
		const char *cluster = r->inputs[i].cluster;
		const size_t *at = cluster != NULL ? map_get(&clusters, cluster, strlen(cluster)) : NULL;
		struct rate_group group = eval_input_passes(r, i, variant, check);

		if (cluster != NULL && at == NULL)
			map_put(&clusters, cluster, strlen(cluster), count);
		groups[at != NULL ? *at : count].passed += group.passed;
		groups[at != NULL ? *at : count].count += group.count;
		count += at == NULL;
	}
	rate_find(groups, count, rate);
	map_free(&clusters);
	free(groups);
}

int64_t
eval_count(const struct eval_results *r, int variant, enum eval_outcome outcome)
{
	int64_t count = 0;

	for (size_t i = 0; i < r->count; i++)
		for (size_t v = 0; v < r->settings.variant_count; v++)
			for (size_t k = 1; (variant == -1 || (size_t)variant == v) && k <= (size_t)r->settings.repetitions; k++)
				count += eval_trial_at(r, i, v, k)->outcome == outcome;
	return count;
}
