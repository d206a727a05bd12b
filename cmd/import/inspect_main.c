/*
 * awf-import-inspect FILE: what a log of Inspect says, in JSON: a run for each sample and epoch. Its answers and
 * calls of tools are those of its events; older logs have only messages, which do not tell times, and the tokens
 * of the sample as a whole. An archive (.eval) has the samples one by one.
 */
#define _GNU_SOURCE /* memmem() */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "import/archive.h"
#include "import/format.h"
#include "import/messages.h"
#include "import/trace.h"
#include "proc/descendants.h"

#define SAMPLES "samples/"
#define ATTACHMENT "\"attachment://"

static struct trace inspect_trace;

/* A sample that is read. */
struct inspect_sample {
	struct span sample, eval;
	char *trace, *id, *agent;     /* of spans */
	int64_t start, end, time;     /* time: of what was last */
	int number;                   /* of the next span */
};

static int64_t
inspect_time(struct span told, int64_t otherwise)
{
	char text[64];
	int64_t time;

	return span_copy(told, text, sizeof text) && clock_parse(text, 0, &time) == 0 ? time : otherwise;
}

/* Appends a value with the texts that the sample has only once, as attachments. */
static struct span
inspect_resolve(const struct inspect_sample *s, struct span value, struct buffer *out)
{
	const struct span attachments = span_member(s->sample, "attachments");
	const char *at = value.at, *end, *found;

	if (at == NULL)
		return SPAN_NONE;
	end = at + value.len;
	while (at < end && (found = memmem(at, (size_t)(end - at), ATTACHMENT, strlen(ATTACHMENT))) != NULL) {
		const char *name = found + strlen(ATTACHMENT), *quote = memchr(name, '"', (size_t)(end - name));
		char *key = quote != NULL ? memory_copy(name, (size_t)(quote - name)) : NULL;
		const struct span attachment = key != NULL ? span_member(attachments, key) : SPAN_NONE;

		free(key);
		buffer_append(out, at, (size_t)((attachment.at != NULL ? found : name) - at));
		if (attachment.at != NULL)
			buffer_append(out, attachment.at, attachment.len);
		at = attachment.at != NULL ? quote + 1 : name;
	}
	buffer_append(out, at, (size_t)(end - at));
	return span_of(buffer_string(out), out->len);
}

/* ---- spans ---- */

/* A span of the sample, in another one. */
static struct trace_span
inspect_span(struct inspect_sample *s, enum trace_kind kind, const char *parent)
{
	return (struct trace_span){ .trace = memory_text(s->trace), .id = memory_format("%s/%d", s->id, s->number++),
		.parent = parent != NULL ? memory_text(parent) : NULL, .kind = kind, .line = 1, .start = s->time,
		.end = s->time };
}

static void
inspect_add(struct trace_span *span)
{
	if (trace_add(&inspect_trace, span) == NULL)
		trace_free_span(span);
}

/* What a model had from its cache is input; older logs have it in input_tokens. */
static void
inspect_put_usage(struct span usage, struct buffer *out)
{
	static const char *const names[] = { "input_tokens", "output_tokens", "input_tokens_cache_read",
		"input_tokens_cache_write", "reasoning_tokens", "total_tokens" };
	static const char *const ours[] = { "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens",
		"reasoning_tokens" };
	long long counts[6] = { 0 };
	struct writer w;

	if (span_type(usage) != 'o')
		return;
	for (int i = 0; i < 6; i++)
		if (!span_integer(span_member(usage, names[i]), &counts[i]) || counts[i] < 0)
			counts[i] = 0;
	if (counts[5] == counts[0] + counts[1] + counts[2] + counts[3])
		counts[0] += counts[2] + counts[3];
	writer_begin(&w, out);
	writer_object(&w);
	for (int i = 0; i < 5; i++)
		if (i < 2 || counts[i] > 0)
			writer_member_integer(&w, ours[i], counts[i]);
	writer_object_end(&w);
}

/* "openai/gpt-4o" is a provider and its model. */
static void
inspect_put_model(struct span told, struct span answered, struct trace_span *span)
{
	char *model = span_text(told);
	const char *slash = model != NULL ? strchr(model, '/') : NULL;

	if (slash != NULL) {
		json_quote(&span->provider, model, (size_t)(slash - model));
		json_quote(&span->model, slash + 1, strlen(slash + 1));
	}
	if (span_type(answered) == 's') {
		buffer_clear(&span->model);
		buffer_append(&span->model, answered.at, answered.len);
	}
	free(model);
}

static void
inspect_take_answer(struct format_log *log, struct inspect_sample *s, struct span message, struct trace_span *span)
{
	struct buffer text = BUFFER_INIT;

	messages_take_output(log, inspect_resolve(s, message, &text), &span->answer);
	buffer_free(&text);
}

static void
inspect_take_model(struct format_log *log, struct inspect_sample *s, struct span event)
{
	const struct span output = span_member(event, "output"), choice = span_element(span_member(output, "choices"), 0),
	    why = span_member(event, "error");
	struct trace_span span = inspect_span(s, TRACE_CHAT, s->agent);
	char *reason = span_text(span_member(choice, "stop_reason"));

	span.end = s->time = inspect_time(span_member(event, "completed"), s->time);
	inspect_take_answer(log, s, span_member(choice, "message"), &span);
	inspect_put_model(span_member(event, "model"), span_member(output, "model"), &span);
	messages_add_reason(reason, &span.stop_reason);
	inspect_put_usage(span_member(output, "usage"), &span.usage);
	/* A call that failed and is repeated has no choices. */
	if (choice.at == NULL && why.at != NULL)
		format_leave_out(log, span_of("\"failed calls of models\"", 24));
	if (choice.at != NULL)
		inspect_add(&span);
	else
		trace_free_span(&span);
	free(reason);
}

static void
inspect_put_result(struct inspect_sample *s, struct span result, struct span why, struct trace_span *span)
{
	struct buffer text = BUFFER_INIT;

	messages_add_parsed(inspect_resolve(s, result, &text), &span->output);
	span->failed = span_type(why) == 'o';
	if (span->failed && span_type(span_member(why, "message")) == 's') {
		buffer_append(&span->error, span_member(why, "message").at, span_member(why, "message").len);
		if (span->output.len <= 2)
			buffer_clear(&span->output);
	}
	buffer_free(&text);
}

static void
inspect_take_tool(struct inspect_sample *s, struct span event)
{
	struct trace_span span = inspect_span(s, TRACE_TOOL, s->agent);
	struct buffer text = BUFFER_INIT;

	span.call = span_text(span_member(event, "id"));
	span.name = span_text(span_member(event, "function"));
	span.end = s->time = inspect_time(span_member(event, "completed"), s->time);
	messages_add_parsed(inspect_resolve(s, span_member(event, "arguments"), &text), &span.input);
	inspect_put_result(s, span_member(event, "result"), span_member(event, "error"), &span);
	inspect_add(&span);
	buffer_free(&text);
}

/* ---- samples ---- */

static void
inspect_take_events(struct format_log *log, struct inspect_sample *s, struct span events)
{
	for (struct span_walk walk = span_walk(events); span_next(&walk);) {
		const struct span kind = span_member(walk.value, "event");

		s->time = inspect_time(span_member(walk.value, "timestamp"), s->time);
		if (span_is(kind, "model"))
			inspect_take_model(log, s, walk.value);
		else if (span_is(kind, "tool"))
			inspect_take_tool(s, walk.value);
		else
			format_leave_out(log, kind);
		if (s->time > s->end)
			s->end = s->time;
	}
}

/* The tokens of a sample, of all its models. */
static void
inspect_put_sum(const struct inspect_sample *s, struct buffer *out)
{
	const struct span models = span_member(s->sample, "model_usage");
	struct span_walk model = span_walk(models);

	inspect_put_usage(span_type(models) == 'o' && span_next(&model) ? model.value :
	    span_path(s->sample, "output", "usage", NULL), out);
}

static void
inspect_take_messages(struct format_log *log, struct inspect_sample *s)
{
	const struct span messages = span_member(s->sample, "messages");
	size_t answers = 0;

	for (struct span_walk walk = span_walk(messages); span_next(&walk);)
		answers += span_is(span_member(walk.value, "role"), "assistant");
	for (struct span_walk walk = span_walk(messages); span_next(&walk);) {
		const struct span message = walk.value, role = span_member(message, "role");

		s->time++;
		if (span_is(role, "assistant")) {
			struct trace_span span = inspect_span(s, TRACE_CHAT, s->agent);

			inspect_take_answer(log, s, message, &span);
			inspect_put_model(span_member(s->eval, "model"), span_member(message, "model"), &span);
			if (--answers == 0)
				inspect_put_sum(s, &span.usage);
			inspect_add(&span);
		} else if (span_is(role, "tool")) {
			struct trace_span span = inspect_span(s, TRACE_TOOL, s->agent);

			span.call = span_text(span_member(message, "tool_call_id"));
			span.name = span_text(span_member(message, "function"));
			inspect_put_result(s, span_member(message, "content"), span_member(message, "error"), &span);
			inspect_add(&span);
		}
	}
	if (s->time > s->end)
		s->end = s->time;
}

static void
inspect_take_scores(struct inspect_sample *s, const char *root)
{
	for (struct span_walk score = span_walk(span_member(s->sample, "scores")); span_next(&score);) {
		struct trace_span span = inspect_span(s, TRACE_STEP, root);
		char *name = span_text(score.key);
		struct buffer text = BUFFER_INIT, whole = BUFFER_INIT;
		struct writer w;

		span.name = memory_format("score-%s", name);
		span.start = span.end = s->end;
		if (span_member(s->sample, "target").at != NULL)
			scan_minify(span_member(s->sample, "target"), &span.input);
		writer_begin(&w, &text);
		writer_object(&w);
		writer_member_span(&w, "value", span_member(score.value, "value"));
		writer_member_span(&w, "answer", span_member(score.value, "answer"));
		writer_member_span(&w, "explanation", span_member(score.value, "explanation"));
		writer_object_end(&w);
		scan_minify(inspect_resolve(s, span_of(text.data, text.len), &whole), &span.output);
		buffer_free(&whole);
		inspect_add(&span);
		buffer_free(&text);
		free(name);
	}
}

/* What is around: the sample, and the agent in it. */
static void
inspect_take_around(struct inspect_sample *s, const char *root)
{
	const struct span why = span_member(s->sample, "error"), limit = span_member(s->sample, "limit");
	struct trace_span sample = inspect_span(s, TRACE_OTHER, NULL), agent = inspect_span(s, TRACE_AGENT, root);
	struct buffer text = BUFFER_INIT;
	struct writer w;

	free(sample.id);
	free(agent.id);
	sample.id = memory_text(root);
	agent.id = memory_text(s->agent);
	sample.start = agent.start = s->start;
	sample.end = agent.end = s->end;
	sample.name = span_text(span_member(s->eval, "task"));
	agent.name = span_text(span_member(s->eval, "solver"));
	if (agent.name == NULL && sample.name != NULL)
		agent.name = memory_text(sample.name);
	sample.failed = span_type(why) == 'o';
	if (sample.failed && span_type(span_member(why, "message")) == 's')
		buffer_append(&sample.error, span_member(why, "message").at, span_member(why, "message").len);
	writer_begin(&w, &sample.inputs);
	writer_member_span(&w, "sample", span_member(s->sample, "id"));
	writer_member_span(&w, "epoch", span_member(s->sample, "epoch"));
	writer_member_span(&w, "model", span_member(s->eval, "model"));
	writer_member_span(&w, "version", span_path(s->eval, "packages", "inspect_ai", NULL));
	if (span_type(limit) == 'o')
		writer_member_span(&w, "limit", span_member(limit, "type"));
	messages_take_input(inspect_resolve(s, span_member(s->sample, "input"), &text), &agent.prompt, &agent.results);
	inspect_put_model(span_member(s->eval, "model"), SPAN_NONE, &agent);
	inspect_add(&sample);
	inspect_add(&agent);
	buffer_free(&text);
}

static void
inspect_take_sample(struct format_log *log, struct span told, struct span sample)
{
	const struct span eval = span_member(told, "eval"), events = span_member(sample, "events"),
	    eval_id = span_member(eval, "eval_id");
	struct inspect_sample s = { .sample = sample, .eval = eval };
	struct buffer id = BUFFER_INIT;
	char *root;

	s.trace = span_text(span_type(eval_id) == 's' ? eval_id : span_member(eval, "run_id"));
	span_plain(span_member(sample, "id"), &id);
	buffer_byte(&id, '/');
	span_plain(span_member(sample, "epoch"), &id);
	s.id = buffer_take(&id);
	s.agent = memory_format("%s/agent", s.id);
	root = s.id;
	s.start = inspect_time(span_path(span_element(events, 0), "timestamp", NULL), 0);
	if (s.start == 0)
		s.start = inspect_time(span_path(told, "stats", "started_at", NULL), inspect_time(span_member(eval, "created"), 0));
	s.end = s.time = s.start;
	if (s.trace == NULL) {
		format_leave_out(log, span_of("\"samples without an evaluation\"", 31));
	} else {
		if (span_element(events, 0).at != NULL)
			inspect_take_events(log, &s, events);
		else
			inspect_take_messages(log, &s);
		inspect_take_scores(&s, root);
		inspect_take_around(&s, root);
	}
	free(s.trace);
	free(s.id);
	free(s.agent);
}

static void
inspect_take_log(struct format_log *log, struct span told)
{
	const struct span samples = span_member(told, "samples");

	if (span_type(span_member(told, "eval")) != 'o' || span_type(samples) != 'a') {
		format_leave_out(log, span_of("\"logs without samples\"", 22));
		return;
	}
	for (struct span_walk sample = span_walk(samples); span_next(&sample);)
		inspect_take_sample(log, told, sample.value);
}

/* ---- archives ---- */

/* Appends a member, which must be a JSON object. -1: *err, with *unknown if it is packed as is not read here. */
static int
inspect_read_member(const struct archive *a, const struct archive_member *m, struct buffer *text, bool *unknown,
    struct error *err)
{
	const size_t before = text->len, left = before < SCAN_LINE_LIMIT ? SCAN_LINE_LIMIT - before : 0;
	struct span value;
	size_t bad;

	if (archive_read(a, m, left, text, unknown, err) != 0)
		return -1;
	if (scan_within(text->data + before, text->len - before, SCAN_LINE_DEPTH, &bad) == NULL) {
		value = span_trim(span_of(text->data + before, text->len - before));
		if (span_type(value) == 'o') {
			text->len = (size_t)(value.at + value.len - text->data);
			return 0;
		}
	}
	return error_set(err, ERROR_INVALID_INPUT, NULL, "has in it %.200s, which is no JSON object", m->name);
}

/* Makes of an archive the log that it would be as JSON: what stands at its head, with the samples. */
static int
inspect_read_members(const struct archive *a, struct buffer *text, bool *unknown, struct error *err)
{
	/* That of an evaluation that has ended, one that has not, and one of the first archives. */
	static const char *const heads[] = { "header.json", "_journal/start.json", "start.json" };
	const struct archive_member *head = NULL;
	size_t samples = 0;

	for (size_t i = 0; i < sizeof heads / sizeof *heads && head == NULL; i++)
		head = archive_find(a, heads[i]);
	if (head == NULL)
		return error_set(err, ERROR_INVALID_INPUT, NULL, "is a zip archive of something else");
	if (inspect_read_member(a, head, text, unknown, err) != 0)
		return -1;
	text->len--;
	if (text->data[text->len - 1] != '{')
		buffer_byte(text, ',');
	buffer_text(text, "\"samples\":[");
	for (size_t i = 0; i < a->count; i++) {
		const char *name = a->members[i].name;

		if (strncmp(name, SAMPLES, strlen(SAMPLES)) != 0 || !text_ends(name, ".json"))
			continue;
		if (samples++ > 0)
			buffer_byte(text, ',');
		if (inspect_read_member(a, &a->members[i], text, unknown, err) != 0)
			return -1;
	}
	buffer_text(text, "]}");
	return 0;
}

static int
inspect_read_archive(struct format_log *log, struct error *err)
{
	struct buffer text = BUFFER_INIT;
	struct archive a;
	bool unknown = false;
	int failed;

	signal(SIGPIPE, SIG_IGN);
	descendants_adopt();
	failed = archive_open(&a, log->file, err);
	if (failed == 0)
		failed = inspect_read_members(&a, &text, &unknown, err);
	archive_close(&a);
	if (failed != 0 && unknown)
		error_set(err, ERROR_INVALID_INPUT, log->file, "is a zip archive that is packed as is not read here (zstd?): "
		    "make JSON of it with 'inspect log convert --to json --output-dir DIR FILE'");
	else if (failed != 0 && err->place[0] == '\0')
		snprintf(err->place, sizeof err->place, "%s", log->file);
	if (failed == 0)
		inspect_take_log(log, span_of(text.data, text.len));
	buffer_free(&text);
	return failed;
}

static void
inspect_finish(struct format_log *log)
{
	trace_say(&inspect_trace, log, "inspect", true);
	trace_free(&inspect_trace);
}

int
main(int argc, char **argv)
{
	static const struct format_program format = { .program = "awf-import-inspect", .take = inspect_take_log,
		.document = true, .finish = inspect_finish, .read_archive = inspect_read_archive };

	return format_main(&format, argc, argv);
}
