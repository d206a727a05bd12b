/* A baseline has an input in a line, sorted by id, so that a version control system shows what changed. */
#include "eval/baseline.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "io/file.h"
#include "io/replacement.h"
#include "json/value.h"
#include "json/writer.h"

#define ALARMS 0.025         /* share of false alarms of each of the two ways */
#define NAMED_MOST 10        /* how many inputs are named */

/* [PASSED, COUNT] */
static bool
baseline_read_group(const json_t *value, struct rate_group *group)
{
	const json_t *passed = json_array_get(value, 0), *count = json_array_get(value, 1);

	if (!json_is_integer(passed) || !json_is_integer(count) || json_array_size(value) != 2)
		return false;
	*group = (struct rate_group){ json_integer_value(passed), json_integer_value(count) };
	return group->passed >= 0 && group->count >= group->passed && group->count <= 1000000;
}

/* Appends the ids, up to some; nothing if there are none. */
static void
baseline_say_ids(struct buffer *said, const char *before, char *const *ids, size_t count)
{
	if (count == 0)
		return;
	buffer_text(said, before);
	for (size_t i = 0; i < count && i < NAMED_MOST; i++)
		buffer_format(said, " %s", ids[i]);
	if (count > NAMED_MOST)
		buffer_format(said, " and %zu more", count - NAMED_MOST);
	buffer_byte(said, '\n');
}

struct baseline_variant {
	const char *name;
	const json_t *inputs;
	struct rate_pair *pairs;
	char **ids;              /* of the pairs; not copies */
	size_t count;
	char **only_here, **only_there, **lost;
	size_t only_here_count, only_there_count, lost_count;
};

static int
baseline_pair_inputs(const struct eval_results *r, int variant, const char *path, struct baseline_variant *b, struct error *err)
{
	const char *id;
	json_t *value;

	b->pairs = memory_zero(r->count + 1, sizeof *b->pairs);
	b->ids = memory_zero(r->count + 1, sizeof *b->ids);
	b->lost = memory_zero(r->count + 1, sizeof *b->lost);
	b->only_here = memory_zero(r->count + 1, sizeof *b->only_here);
	b->only_there = memory_zero(json_object_size(b->inputs) + 1, sizeof *b->only_there);
	for (size_t i = 0; i < r->count; i++) {
		const json_t *was = json_object_get(b->inputs, r->inputs[i].id);
		struct rate_pair *pair = &b->pairs[b->count];

		if (was == NULL) {
			b->only_here[b->only_here_count++] = r->inputs[i].id;
			continue;
		}
		if (!baseline_read_group(json_object_get(was, "pass"), &pair->a))
			return error_set(err, ERROR_DEFINITION, path, "the input %s of %s has no \"pass\":[PASSED,COUNT]",
			    r->inputs[i].id, b->name);
		pair->b = eval_input_passes(r, i, (size_t)variant, -1);
		b->ids[b->count++] = r->inputs[i].id;
	}
	json_object_foreach((json_t *)(uintptr_t)b->inputs, id, value)
		if (map_get(&r->by_id, id, strlen(id)) == NULL)
			b->only_there[b->only_there_count++] = (char *)(uintptr_t)id;
	return 0;
}

static int
baseline_compare_variant(const struct eval_results *r, const char *path, double margin, size_t variants,
    struct baseline_variant *b, bool *worse, struct buffer *said, struct error *err)
{
	const int variant = eval_settings_variant(&r->settings, b->name);
	const double alarms = ALARMS / (double)variants;
	struct rate_comparison c;
	struct rate was, is;
	char p[RATE_CHANCE_SIZE];
	double chance;
	bool fell, lost;

	if (variant == -1) {
		buffer_format(said, "%s: is in the baseline alone\n", b->name);
		return 0;
	}
	if (baseline_pair_inputs(r, variant, path, b, err) != 0)
		return -1;
	rate_compare(b->pairs, b->count, &c);
	chance = rate_fallen_chance(b->pairs, b->count);
	lost = rate_lost_chance(b->pairs, b->count) <= alarms;
	was = is = (struct rate){ 0, 0, 0, 0 };
	for (size_t i = 0; i < b->count; i++) {
		was.passed += b->pairs[i].a.passed;
		was.count += b->pairs[i].a.count;
		is.passed += b->pairs[i].b.passed;
		is.count += b->pairs[i].b.count;
		if (lost && rate_is_lost(&b->pairs[i]))
			b->lost[b->lost_count++] = b->ids[i];
	}
	fell = chance <= alarms && c.fall > margin;
	*worse |= fell || lost;
	buffer_format(said, "%s: %lld/%lld in the baseline, %lld/%lld now: better %zu, worse %zu, equal %zu, %s: %s\n",
	    b->name, (long long)was.passed, (long long)was.count, (long long)is.passed, (long long)is.count, c.better, c.worse,
	    c.equal, rate_chance_text(chance, p), fell ? "worse" : chance <= alarms ? "worse, within the margin" :
	    c.p <= 2 * alarms && c.fall < 0 ? "better" : "not told apart");
	baseline_say_ids(said, "  passed always, and fail always now:", b->lost, b->lost_count);
	baseline_say_ids(said, "  not in the baseline:", b->only_here, b->only_here_count);
	baseline_say_ids(said, "  in the baseline alone:", b->only_there, b->only_there_count);
	return 0;
}

/* The document; NULL: *err. */
static json_t *
baseline_load(const char *path, struct error *err)
{
	json_t *document;

	if (access(path, F_OK) != 0 && errno == ENOENT) {
		error_set(err, ERROR_DEFINITION, path, "there is no such file: make it with --update");
		return NULL;
	}
	document = value_load(path, ERROR_DEFINITION, err);
	if (document != NULL && (!json_is_object(json_object_get(document, "variants")) ||
	    json_integer_value(json_object_get(document, "awf-eval")) != 1)) {
		error_set(err, ERROR_DEFINITION, path, "is no baseline: make one with --update");
		json_decref(document);
		document = NULL;
	}
	return document;
}

int
eval_baseline_check(const char *path, struct error *err)
{
	struct stat file;
	json_t *document;

	/* A pipe, such as <(git show main:eval.json), can be read only once. */
	if (stat(path, &file) == 0 && !S_ISREG(file.st_mode))
		return 0;
	document = baseline_load(path, err);
	json_decref(document);
	return document != NULL ? 0 : -1;
}

int
eval_baseline_compare(const struct eval_results *r, const char *path, double margin, const char **fault,
    struct buffer *said, struct error *err)
{
	json_t *document = baseline_load(path, err), *variants, *inputs;
	const char *name;
	size_t compared = 0;
	bool worse = false;
	int failed = document != NULL ? 0 : -1;

	variants = json_object_get(document, "variants");
	for (size_t i = 0; failed == 0 && i < r->settings.variant_count; i++)
		if (json_object_get(variants, r->settings.variants[i].name) == NULL)
			buffer_format(said, "%s: is not in the baseline\n", r->settings.variants[i].name);
	json_object_foreach(variants, name, inputs) {
		struct baseline_variant b = { .name = name, .inputs = inputs };

		if (failed == 0)
			failed = baseline_compare_variant(r, path, margin, json_object_size(variants), &b, &worse, said, err);
		compared += b.count;
		free(b.pairs);
		free(b.ids);
		free(b.lost);
		free(b.only_here);
		free(b.only_there);
	}
	*fault = worse ? "it is worse" : compared == 0 ? "it has no variant with an input of this evaluation" : NULL;
	json_decref(document);
	return failed;
}

static int
baseline_compare_ids(const void *a, const void *b)
{
	return strcmp((*(const struct eval_input *const *)a)->id, (*(const struct eval_input *const *)b)->id);
}

static void
baseline_write_group(struct writer *w, const char *name, struct rate_group group)
{
	writer_key(w, name);
	writer_array(w);
	writer_integer(w, group.passed);
	writer_integer(w, group.count);
	writer_array_end(w);
}

static int
baseline_replace(const char *path, const struct buffer *text, struct error *err)
{
	struct replacement file;

	if (replacement_open(&file, path, 0666, err) != 0)
		return -1;
	if (file_write(file.fd, text->data, text->len) != 0) {
		error_errno(err, ERROR_SYSTEM, path, "unable to write");
		replacement_abandon(&file);
		return -1;
	}
	return replacement_commit(&file, false, err);
}

int
eval_baseline_write(const struct eval_results *r, const char *path, struct error *err)
{
	const struct eval_input **sorted = memory_zero(r->count + 1, sizeof *sorted);
	struct buffer out = BUFFER_INIT;
	struct writer w;
	int failed;

	for (size_t i = 0; i < r->count; i++)
		sorted[i] = &r->inputs[i];
	qsort(sorted, r->count, sizeof *sorted, baseline_compare_ids);
	writer_begin(&w, &out);
	writer_object(&w);
	writer_member_integer(&w, "awf-eval", 1);
	writer_member_object(&w, "variants");
	for (size_t v = 0; v < r->settings.variant_count; v++) {
		writer_key(&w, r->settings.variants[v].name);
		writer_object(&w);
		for (size_t i = 0; i < r->count; i++) {
			const size_t input = (size_t)(sorted[i] - r->inputs);

			if (w.comma)
				buffer_byte(&out, ',');
			buffer_byte(&out, '\n');
			w.comma = false;
			writer_key_quoted(&w, sorted[i]->id, strlen(sorted[i]->id));
			writer_object(&w);
			baseline_write_group(&w, "pass", eval_input_passes(r, input, v, -1));
			for (size_t c = 0; c < r->settings.check_count; c++)
				baseline_write_group(&w, r->settings.checks[c].name, eval_input_passes(r, input, v, (int)c));
			writer_object_end(&w);
		}
		buffer_byte(&out, '\n');
		writer_object_end(&w);
	}
	writer_object_end(&w);
	writer_object_end(&w);
	buffer_byte(&out, '\n');
	failed = baseline_replace(path, &out, err);
	buffer_free(&out);
	free(sorted);
	return failed;
}
