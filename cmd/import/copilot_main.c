/*
 * awf-import-copilot FILE: what a session log of GitHub Copilot CLI says: events, each with its data. Sub-agents
 * are in the log of their session: FILE/AGENT is what one of them does. Their events have an agentId (1.0.6 on)
 * or the parentToolCallId of the call that started them (before).
 *
 *   - The usage of an answer is a session.usage_record before it. Earlier versions have at most the output
 *     with the answer, and all the rest when the session ends: what is not said by then is said as an
 *     answer that is partial. They count since the session was gone on with (1.0.43), or since it was begun,
 *     and then also for each agent (1.0.82).
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "import/format.h"

/* Tokens of a model that were said since the session was begun, or gone on with. */
struct model_sum { char *model; struct format_usage said; };

static struct copilot {
	struct buffer start;    /* data of session.start */
	struct map ended;       /* sub-agents */
	struct map calls;       /* of tools */
	struct buffer usage, usage_model, usage_id, usage_time; /* of the answer that comes; empty: not known */
	struct map assets;      /* ids of images → index in images */
	struct buffer *images;  /* JSON: data of their events */
	bool has_records;       /* of usage: so far */
	struct buffer model;    /* JSON: of the session's, or a sub-agent's, last choice */
	struct model_sum *sums;
	size_t sum_count;
} copilot;

/* Whose event it is, a sub-agent; .at NULL: the session's. */
static struct span
copilot_agent_of(struct span line, struct span data)
{
	const struct span agent = span_member(line, "agentId");

	if (span_type(agent) == 's')
		return agent;
	return span_member(data, span_is(span_member(line, "type"), "subagent.started") ? "toolCallId" : "parentToolCallId");
}

static bool
copilot_is_ours(const struct format_log *log, struct span agent)
{
	return *log->inside != '\0' ? span_is(agent, log->inside) : span_type(agent) != 's';
}

/* ---- the session ---- */

static void
copilot_say_session(struct format_log *log, struct span line, struct span data)
{
	const struct span start = span_of(copilot.start.data, copilot.start.len), context = span_member(start, "context");
	const bool child = *log->inside != '\0';
	struct writer w;

	if (log->begun || copilot.start.len == 0)
		return;
	log->begun = true;
	log->provider = memory_text("copilot");
	format_keep(&log->model, span_member(start, "selectedModel"));
	if (child)
		format_keep(&log->model, span_member(data, "model"));
	writer_begin(&w, &log->out);
	writer_object(&w);
	if (child)
		writer_member_string(&w, "session", log->inside);
	else
		writer_member_span(&w, "session", span_member(start, "sessionId"));
	writer_member_string(&w, "name", "copilot");
	writer_member_span(&w, "time", span_member(line, "timestamp"));
	writer_member_span(&w, "cwd", span_member(context, "cwd"));
	writer_member_object(&w, "inputs");
	writer_member_span(&w, "version", span_member(start, "copilotVersion"));
	writer_member_span(&w, "branch", span_member(context, "branch"));
	if (child)
		writer_member_span(&w, "agent", span_member(data, "agentName"));
	writer_object_end(&w);
	writer_member_bool(&w, "rewritten", true);
	writer_object_end(&w);
	buffer_byte(&log->out, '\n');
}

/* ---- answers ---- */

static struct model_sum *
copilot_sum_of(struct span model)
{
	char *name = span_text(model);

	for (size_t i = 0; i < copilot.sum_count; i++)
		if (strcmp(copilot.sums[i].model, name != NULL ? name : "") == 0) {
			free(name);
			return &copilot.sums[i];
		}
	copilot.sums = memory_array(copilot.sums, copilot.sum_count + 1, sizeof *copilot.sums);
	copilot.sums[copilot.sum_count] = (struct model_sum){ .model = name != NULL ? name : memory_text("") };
	return &copilot.sums[copilot.sum_count++];
}

static struct format_usage
copilot_usage_of(struct span counts)
{
	return (struct format_usage){ .input = format_count(counts, "inputTokens"),
		.output = format_count(counts, "outputTokens"), .cache_read = format_count(counts, "cacheReadTokens"),
		.cache_write = format_count(counts, "cacheWriteTokens"), .reasoning = format_count(counts, "reasoningTokens") };
}

static void
copilot_write_usage(struct span counts, struct buffer *out)
{
	const struct format_usage usage = copilot_usage_of(counts);

	format_write_usage(&usage, SPAN_NONE, out);
}

/* Tokens of which there is no answer: it failed, was stopped, or was for the program itself. */
static void
copilot_say_usage(struct format_log *log, struct span id, struct span time, struct span model, const struct buffer *usage)
{
	struct writer w;

	writer_begin(&w, &log->out);
	writer_object(&w);
	writer_member_array(&w, "answer");
	writer_array_end(&w);
	writer_member_span(&w, "id", id);
	writer_member_span(&w, "time", time);
	writer_member_string(&w, "provider", log->provider);
	writer_member_span(&w, "model", model);
	writer_member_buffer(&w, "usage", usage);
	writer_member_bool(&w, "partial", true);
	writer_object_end(&w);
	buffer_byte(&log->out, '\n');
}

static void
copilot_say_lost_usage(struct format_log *log)
{
	struct copilot *c = &copilot;

	if (c->usage.len > 0)
		copilot_say_usage(log, span_of(c->usage_id.data, c->usage_id.len), span_of(c->usage_time.data, c->usage_time.len),
		    span_of(c->usage_model.data, c->usage_model.len), &c->usage);
	buffer_clear(&c->usage);
}

static void
copilot_take_usage(struct format_log *log, struct span line, struct span data)
{
	const struct span usage = span_member(data, "usage");

	copilot_say_lost_usage(log);
	copilot_write_usage(usage, &copilot.usage);
	format_keep(&copilot.usage_model, span_member(usage, "model"));
	format_keep(&copilot.usage_id, span_member(line, "id"));
	format_keep(&copilot.usage_time, span_member(line, "timestamp"));
}

/* A compaction asks the model, too; since usage is recorded, this is the only place that says so. */
static void
copilot_take_compaction(struct format_log *log, struct span line, struct span data)
{
	const struct span counts = span_member(data, "compactionTokensUsed");
	struct buffer usage = BUFFER_INIT;

	if (span_type(span_member(counts, "inputTokens")) == 'n') {
		copilot_write_usage(counts, &usage);
		copilot_say_usage(log, span_member(line, "id"), span_member(line, "timestamp"), span_member(counts, "model"), &usage);
	}
	buffer_free(&usage);
}

static void
copilot_take_answer(struct format_log *log, struct span line, struct span data)
{
	struct held_answer *h = &log->held;

	format_hold(log, span_member(line, "id"));
	format_write_text(&h->blocks, "thinking", span_member(data, "reasoningText"));
	format_write_text(&h->blocks, "text", span_member(data, "content"));
	for (struct span_walk call = span_walk(span_member(data, "toolRequests")); span_next(&call);) {
		char *id = span_text(span_member(call.value, "toolCallId"));

		if (id != NULL)
			map_put(&copilot.calls, id, strlen(id), 1);
		format_write_tool_use(&h->blocks, span_member(call.value, "toolCallId"), span_member(call.value, "name"),
		    span_member(call.value, "arguments"));
		free(id);
	}
	format_keep(&h->model, span_member(data, "model"));
	format_keep(&h->time, span_member(line, "timestamp"));
	if (copilot.usage.len > 0)
		buffer_append(&h->usage, copilot.usage.data, copilot.usage.len);
	else if (span_type(span_member(data, "outputTokens")) == 'n')
		copilot_write_usage(data, &h->usage);
	buffer_clear(&copilot.usage);
	format_say_answer(log);
}

static long long
copilot_rest(long long all, long long *said)
{
	const long long rest = all > *said ? all - *said : 0;

	*said = all;
	return rest;
}

/* The session ends, for now: says what has not been said. */
static void
copilot_take_shutdown(struct format_log *log, struct span line, struct span data)
{
	const bool since_begun = span_type(span_member(data, "agentMetrics")) == 'o';
	struct buffer usage = BUFFER_INIT, id = BUFFER_INIT;

	for (struct span_walk model = span_walk(span_member(data, "modelMetrics")); !copilot.has_records && span_next(&model);) {
		const struct format_usage all = copilot_usage_of(span_member(model.value, "usage"));
		struct format_usage *said = &copilot_sum_of(model.key)->said;
		const struct format_usage rest = { copilot_rest(all.input, &said->input), copilot_rest(all.output, &said->output),
			copilot_rest(all.cache_read, &said->cache_read), copilot_rest(all.cache_write, &said->cache_write),
			copilot_rest(all.reasoning, &said->reasoning) };

		if (rest.input == 0 && rest.output == 0)
			continue;
		buffer_clear(&id);
		buffer_byte(&id, '"');
		span_plain(span_member(line, "id"), &id);
		buffer_byte(&id, ' ');
		buffer_append(&id, model.key.at + 1, model.key.len - 2);
		buffer_byte(&id, '"');
		format_write_usage(&rest, SPAN_NONE, &usage);
		copilot_say_usage(log, span_of(id.data, id.len), span_member(line, "timestamp"), model.key, &usage);
	}
	for (size_t i = 0; !since_begun && i < copilot.sum_count; i++)
		copilot.sums[i].said = (struct format_usage){ 0 };
	buffer_free(&usage);
	buffer_free(&id);
}

/* ---- what the user, tools and sub-agents do ---- */

/* An image that a prompt after it shows. */
static void
copilot_take_asset(struct span data)
{
	char *id = span_text(span_member(data, "assetId"));
	const size_t count = copilot.assets.count;

	if (id != NULL && map_get(&copilot.assets, id, strlen(id)) == NULL && span_is(span_member(data, "type"), "image")) {
		copilot.images = memory_array(copilot.images, count + 1, sizeof *copilot.images);
		copilot.images[count] = (struct buffer)BUFFER_INIT;
		buffer_append(&copilot.images[count], data.at, data.len);
		map_put(&copilot.assets, id, strlen(id), count);
	}
	free(id);
}

/* What is attached to a prompt: an image, or, counted, another file. */
static void
copilot_take_attachment(struct format_log *log, struct span part, struct buffer *blocks)
{
	char *id = span_text(span_member(part, "assetId"));
	const size_t *at = id != NULL ? map_get(&copilot.assets, id, strlen(id)) : NULL;

	if (at != NULL && copilot.images != NULL)
		part = span_of(copilot.images[*at].data, copilot.images[*at].len);
	if (span_type(span_member(part, "data")) == 's')
		format_write_image(blocks, span_member(part, "mimeType"), span_member(part, "data"));
	else
		format_leave_out(log, span_of("\"attachments\"", 13));
	free(id);
}

static void
copilot_take_user(struct format_log *log, struct span line, struct span data)
{
	const struct span source = span_member(data, "source");
	struct buffer blocks = BUFFER_INIT;

	/* A prompt of a sub-agent has a source, which is its session. */
	if (*log->inside == '\0' && span_type(source) == 's' && !span_is(source, "user")) {
		format_leave_out(log, FORMAT_OWN_WORDS);
		return;
	}
	format_write_text(&blocks, "text", span_member(data, "content"));
	for (struct span_walk part = span_walk(span_member(data, "attachments")); span_next(&part);)
		copilot_take_attachment(log, part.value, &blocks);
	copilot_say_lost_usage(log);
	if (blocks.len > 0)
		format_say_prompt(log, span_member(line, "id"), span_member(line, "timestamp"), &blocks);
	buffer_free(&blocks);
}

static void
copilot_take_result(struct format_log *log, struct span line, struct span data)
{
	const bool success = span_type(span_member(data, "success")) != 'f';
	struct span output = span_path(data, "result", "content", NULL);

	if (!success)
		output = span_path(data, "error", "message", NULL);
	format_write_result(&log->out, span_member(data, "toolCallId"), span_member(line, "timestamp"), output, !success);
}

/* A sub-agent begins: ours, or one that we have called. */
static void
copilot_take_agent(struct format_log *log, struct span line, struct span data, struct span agent)
{
	char *call = span_text(span_member(data, "toolCallId")), *name = span_text(agent), *path;

	if (copilot_is_ours(log, agent)) {
		copilot_say_session(log, line, data);
	} else if (log->begun && call != NULL && name != NULL && name_valid(name) &&
	    map_get(&copilot.calls, call, strlen(call)) != NULL) {
		path = memory_format("%s/%s", log->file, name);
		format_write_child(&log->out, path, span_member(data, "toolCallId"), name,
		    log->whole || map_get(&copilot.ended, name, strlen(name)) != NULL);
		free(path);
	}
	free(call);
	free(name);
}

/* ---- lines ---- */

static void
copilot_take_line(struct format_log *log, struct span line)
{
	/* What these say is in others, too. */
	static const char *const told[] = { "assistant.turn_start", "assistant.turn_end", "tool.execution_start",
		"subagent.completed", "subagent.failed", "subagent.selected", "subagent.configured", "session.resume", NULL };
	const struct span type = span_member(line, "type"), data = span_member(line, "data"),
	    agent = copilot_agent_of(line, data);
	const bool start = span_is(type, "session.start"), answer = span_is(type, "assistant.message");

	copilot.has_records |= span_is(type, "session.usage_record");
	if (answer) {
		const struct span model = span_member(data, "model");

		copilot_sum_of(span_type(model) == 's' ? model : span_of(copilot.model.data, copilot.model.len))->said.output +=
		    format_count(data, "outputTokens");
	}
	if (start || span_is(type, "session.model_change"))
		format_keep(&copilot.model, span_member(data, start ? "selectedModel" : "newModel"));
	if (start && copilot.start.len == 0)
		buffer_append(&copilot.start, data.at, data.len);
	if (span_is(type, "subagent.started"))
		copilot_take_agent(log, line, data, agent);
	else if (!copilot_is_ours(log, agent))
		return;
	else if (start)
		copilot_say_session(log, line, data);
	else if (!log->begun)
		format_leave_out(log, type);
	else if (answer)
		copilot_take_answer(log, line, data);
	else if (span_is(type, "user.message"))
		copilot_take_user(log, line, data);
	else if (span_is(type, "tool.execution_complete"))
		copilot_take_result(log, line, data);
	else if (span_is(type, "session.usage_record"))
		copilot_take_usage(log, line, data);
	else if (span_is(type, "session.compaction_complete"))
		copilot_take_compaction(log, line, data);
	else if (span_is(type, "session.shutdown"))
		copilot_take_shutdown(log, line, data);
	else if (span_is(type, "session.binary_asset"))
		copilot_take_asset(data);
	else if (span_is(type, "session.model_change"))
		format_keep(&log->model, span_member(data, "newModel"));
	else if (span_one_of(type, told) == NULL)
		format_leave_out(log, type);
}

/* What has to be known before: which sub-agents have ended. */
static void
copilot_look_at_line(struct format_log *log, struct span line)
{
	const struct span type = span_member(line, "type"), data = span_member(line, "data");
	char *agent;

	(void)log;
	if (!span_is(type, "subagent.completed") && !span_is(type, "subagent.failed"))
		return;
	agent = span_text(span_member(line, "agentId"));
	if (agent == NULL)
		agent = span_text(span_member(data, "toolCallId"));
	if (agent != NULL)
		map_put(&copilot.ended, agent, strlen(agent), 1);
	free(agent);
}

static int
copilot_read(struct format_log *log, struct error *err)
{
	struct format_log first = { .file = memory_text(log->file) };
	int failed = format_read_lines(&first, copilot_look_at_line, err);

	format_log_free(&first);
	if (failed == 0)
		failed = format_read_lines(log, copilot_take_line, err);
	if (failed == 0 && log->whole)
		copilot_say_lost_usage(log);
	map_free(&copilot.ended);
	map_free(&copilot.calls);
	for (size_t i = 0; i < copilot.assets.count; i++)
		buffer_free(&copilot.images[i]);
	free(copilot.images);
	map_free(&copilot.assets);
	buffer_free(&copilot.start);
	buffer_free(&copilot.usage);
	buffer_free(&copilot.usage_model);
	buffer_free(&copilot.usage_id);
	buffer_free(&copilot.usage_time);
	buffer_free(&copilot.model);
	for (size_t i = 0; i < copilot.sum_count; i++)
		free(copilot.sums[i].model);
	free(copilot.sums);
	return failed;
}

int
main(int argc, char **argv)
{
	static const struct format_program format = { .program = "awf-import-copilot", .read = copilot_read };

	return format_main(&format, argc, argv);
}
