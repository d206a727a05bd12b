/* Each input is taken apart once; its lines for the repetitions differ in k alone. */
#include "eval/inputs.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/list.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "json/line_input.h"
#include "json/writer.h"

#define ID_DIGITS 8
#define ID_MOST 200

static const char *const members[] = { "id", "input", "expected", "cluster", "metadata", NULL };
enum { ID, INPUT, EXPECTED, CLUSTER, METADATA, MEMBERS };

struct input_lines {
	const char *path;
	struct buffer *lines;    /* the inside of each object: the input without repetition */
	char **ids;
	size_t count;
	struct map numbers;      /* id → number of its line */
	bool has_objects;        /* lines that were taken apart */
	int64_t broken;          /* the first line that begins like an object, and is not JSON; 0: none */
};

/* The runs of an earlier evaluation in which this input was tried for the kth time. */
static void
inputs_write_from(const struct eval_results *earlier, const char *id, long long k, struct writer *w)
{
	const size_t *at = earlier != NULL ? map_get(&earlier->by_id, id, strlen(id)) : NULL;

	if (at == NULL || k > earlier->settings.repetitions)
		return;
	writer_member_object(w, "from");
	for (size_t v = 0; v < earlier->settings.variant_count; v++) {
		const struct eval_trial *t = eval_trial_at(earlier, *at, v, (size_t)k);

		if (t->run[0] != '\0')
			writer_member_string(w, earlier->settings.variants[v].name, t->run);
	}
	writer_object_end(w);
}

/* The runs of its checks in which what came of that was checked. */
static void
inputs_write_checked(const struct eval_results *earlier, const char *id, long long k, struct writer *w)
{
	const size_t *at = earlier != NULL ? map_get(&earlier->by_id, id, strlen(id)) : NULL;
	const struct eval_settings *s = earlier != NULL ? &earlier->settings : NULL;

	if (at == NULL || k > s->repetitions)
		return;
	writer_member_object(w, "checked");
	for (size_t v = 0; v < s->variant_count; v++) {
		const struct eval_trial *t = eval_trial_at(earlier, *at, v, (size_t)k);

		writer_member_object(w, s->variants[v].name);
		for (size_t c = 0; c < s->check_count; c++)
			if (t->verdicts[c].run[0] != '\0')
				writer_member_string(w, s->checks[c].name, t->verdicts[c].run);
		writer_object_end(w);
	}
	writer_object_end(w);
}

/* An id is shown in lines, on terminals too. */
static bool
has_control(const struct buffer *id)
{
	for (size_t i = 0; i < id->len; i++)
		if ((unsigned char)id->data[i] < 0x20 || id->data[i] == 0x7f)
			return true;
	return false;
}

/* Takes an input apart. */
static int
inputs_add(struct input_lines *in, const char *line, size_t len, int64_t number, struct error *err)
{
	struct span object = span_trim(span_of(line, len)), values[MEMBERS] = { SPAN_NONE };
	struct buffer out = BUFFER_INIT, id = BUFFER_INIT;
	char place[300], digest[DIGEST_SIZE];
	const size_t *other;
	struct writer w;
	bool taken_apart, named;
	size_t bad;

	snprintf(place, sizeof place, "%.200s:%lld", in->path, (long long)number);
	if (!utf8_valid(line, len))
		return error_set(err, ERROR_INVALID_INPUT, place, "is not UTF-8");
	taken_apart = object.len > 0 && *object.at == '{' && scan_check(object.at, object.len, &bad) == NULL;
	if (taken_apart)
		span_members(object, members, MEMBERS, values);
	else if (in->broken == 0 && object.len > 0 && *object.at == '{')
		in->broken = number;
	taken_apart &= values[INPUT].at != NULL;
	in->has_objects |= taken_apart;
	for (struct span_walk member = span_walk(object); taken_apart && span_next(&member);)
		if (span_one_of(member.key, members) == NULL)
			return error_set(err, ERROR_INVALID_INPUT, place,
			    "has the member %.*s, and is made of id, input, expected, cluster and metadata",
			    (int)(member.key.len < 60 ? member.key.len : 60), member.key.at);
	if (taken_apart && values[ID].at != NULL)
		span_plain(values[ID], &id);
	writer_begin(&w, &out);
	writer_key(&w, "input");
	if (taken_apart)
		writer_span(&w, values[INPUT]);
	else
		writer_bytes(&w, line, len);
	for (int i = EXPECTED; taken_apart && i < MEMBERS; i++)
		writer_member_span(&w, members[i], values[i]);
	named = id.len > 0;
	if (!named)
		buffer_append(&id, digest_sha256(out.data, out.len, digest), ID_DIGITS);
	other = map_get(&in->numbers, id.data, id.len);
	if (id.len > ID_MOST || has_control(&id) || other != NULL) {
		if (other != NULL && !named)
			error_set(err, ERROR_INVALID_INPUT, place,
			    "is the same as line %zu: give each an id, or try all inputs several times with --repeat", *other);
		else if (other != NULL)
			error_set(err, ERROR_INVALID_INPUT, place, "has the id %s, as line %zu has", id.data, *other);
		else
			error_set(err, ERROR_INVALID_INPUT, place, "has an id of more than %d bytes, or with control characters", ID_MOST);
		buffer_free(&out);
		buffer_free(&id);
		return -1;
	}
	map_put(&in->numbers, id.data, id.len, (size_t)number);
	in->lines = memory_array(in->lines, in->count + 1, sizeof *in->lines);
	in->lines[in->count++] = out;
	list_take(&in->ids, buffer_take(&id));
	return 0;
}

int
eval_inputs_read(const char *path, long long repetitions, const struct eval_results *earlier,
    struct buffer *cases, struct error *err)
{
	const bool is_stdin = strcmp(path, "-") == 0;
	struct input_lines in = { .path = is_stdin ? "stdin" : path, .numbers = MAP_INIT };
	int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC), got = 0, failed = 0;
	struct line_input input;
	const char *line;
	size_t len;

	if (fd < 0)
		return error_errno(err, ERROR_INVALID_INPUT, path, "unable to open");
	line_input_begin(&input, fd, in.path);
	while (failed == 0 && (got = line_input_next(&input, &line, &len, err)) == 1)
		if (span_trim(span_of(line, len)).len > 0)
			failed = inputs_add(&in, line, len, input.lines, err);
	if (failed == 0 && got == 0 && (len = line_input_unfinished(&input)) > 0)
		failed = inputs_add(&in, input.bytes.data + input.next, len, input.lines + 1, err);
	line_input_free(&input);
	if (!is_stdin)
		file_close(&fd);
	if (failed == 0 && got == -1)
		failed = -1;
	/* Among objects such a line is one with a mistake; alone it may be a text. */
	if (failed == 0 && in.has_objects && in.broken > 0) {
		char place[300];

		snprintf(place, sizeof place, "%.200s:%lld", in.path, (long long)in.broken);
		failed = error_set(err, ERROR_INVALID_INPUT, place, "begins as an object does, and is not JSON");
	}
	if (failed == 0 && in.count == 0)
		failed = error_set(err, ERROR_INVALID_INPUT, in.path, "has no inputs");
	for (long long k = 1; failed == 0 && k <= repetitions; k++)
		for (size_t i = 0; i < in.count; i++) {
			struct writer w;

			writer_begin(&w, cases);
			writer_object(&w);
			writer_member_string(&w, "id", in.ids[i]);
			writer_member_integer(&w, "k", k);
			buffer_byte(cases, ',');
			buffer_append(cases, in.lines[i].data, in.lines[i].len);
			inputs_write_from(earlier, in.ids[i], k, &w);
			inputs_write_checked(earlier, in.ids[i], k, &w);
			writer_object_end(&w);
			buffer_byte(cases, '\n');
		}
	for (size_t i = 0; i < in.count; i++)
		buffer_free(&in.lines[i]);
	free(in.lines);
	list_free(in.ids);
	map_free(&in.numbers);
	return failed;
}

/* What the workflow has printed for this input the kth time. */
static void
inputs_write_printed(const struct eval_results *of, const struct eval_outputs *outputs, const char *id, long long k,
    struct writer *w)
{
	const size_t *at = map_get(&of->by_id, id, strlen(id));

	if (at == NULL || k > of->settings.repetitions)
		return;
	writer_member_object(w, "printed");
	for (size_t v = 0; v < of->settings.variant_count; v++) {
		const char *value = eval_outputs_of(outputs, eval_trial_at(of, *at, v, (size_t)k)->run);

		if (value != NULL)
			writer_member_span(w, of->settings.variants[v].name, span_of(value, strlen(value)));
	}
	writer_object_end(w);
}

int
eval_inputs_take(const struct eval_results *of, const struct buffer *lines, const struct eval_outputs *outputs,
    const struct eval_results *judges, struct buffer *cases, struct error *err)
{
	static const char *const kept[] = { "id", "k", "input", "expected", "cluster", "metadata", NULL };

	for (const char *at = buffer_string(lines), *end; (end = strchr(at, '\n')) != NULL; at = end + 1) {
		struct span line = span_of(at, (size_t)(end - at));
		char *id = span_text(span_member(line, "id"));
		struct writer w;
		long long k;

		if (id != NULL && span_integer(span_member(line, "k"), &k)) {
			writer_begin(&w, cases);
			writer_object(&w);
			for (const char *const *member = kept; *member != NULL; member++)
				writer_member_span(&w, *member, span_member(line, *member));
			inputs_write_from(of, id, k, &w);
			inputs_write_printed(of, outputs, id, k, &w);
			inputs_write_checked(judges, id, k, &w);
			writer_object_end(&w);
			buffer_byte(cases, '\n');
		}
		free(id);
	}
	return cases->len > 0 ? 0 : error_set(err, ERROR_INVALID_INPUT, of->run_id, "has kept no inputs");
}
