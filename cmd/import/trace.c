/*
 * A session's spans are sorted by the line with which they were known to be of it, and said in portions
 * of one line each. In a portion agents come one after another, each with what is inside of it; spans
 * outside of agents come as they began.
 */
#include "import/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"

/* Something to be said at a time. */
struct trace_item {
	int64_t time;
	enum { ITEM_ANSWER, ITEM_CALL, ITEM_CHILD, ITEM_RESULT } kind; /* in the order in which they are said */
	struct trace_span *span;
};

/* What is said together: an agent with what is inside, or some spans outside of agents. */
struct trace_group {
	struct trace_span *agent;     /* NULL: none */
	int64_t start;
	struct trace_item *items;
	size_t count;
};

/* A span in what is said of a session: one of it, or a sub-agent that it has started. */
struct trace_entry {
	struct trace_span *session, *span;
};

/* ---- the tree ---- */

struct trace_span *
trace_add(struct trace *t, struct trace_span *span)
{
	char *key = memory_format("%s/%s", span->trace, span->id);
	const bool known = map_get(&t->places, key, strlen(key)) != NULL;
	struct trace_span *kept = NULL;

	if (!known) {
		kept = memory_array(NULL, 1, sizeof *kept);
		*kept = *span;
		map_put(&t->places, key, strlen(key), t->count);
		t->spans = memory_array(t->spans, t->count + 1, sizeof *t->spans);
		t->spans[t->count++] = kept;
	}
	free(key);
	return kept;
}

static void
trace_link(struct trace *t)
{
	for (size_t i = 0; i < t->count; i++) {
		struct trace_span *span = t->spans[i];
		const size_t *place;
		char *key;

		if (span->parent == NULL || span->remote)
			continue;
		key = memory_format("%s/%s", span->trace, span->parent);
		place = map_get(&t->places, key, strlen(key));
		if (place != NULL && *place != i)
			span->around = t->spans[*place];
		free(key);
	}
}

/* The nearest span around of one of two kinds; NULL: none. */
static struct trace_span *
trace_around(const struct trace_span *span, enum trace_kind one, enum trace_kind other)
{
	struct trace_span *around = span->around;

	while (around != NULL && around->kind != one && around->kind != other)
		around = around->around;
	return around;
}

/* Finds the session of each span, and since when it is known. */
static void
trace_find_sessions(struct trace *t, bool whole)
{
	for (size_t i = 0; i < t->count; i++) {
		struct trace_span *span = t->spans[i], *outermost = span, *session = NULL;
		size_t depth = 0;

		span->attached = span->line;
		for (struct trace_span *s = span; s != NULL && depth <= t->count; s = s->around, depth++) {
			/* An agent inside of another, or of a tool of one, is a session of its own. */
			if (session == NULL && s->kind == TRACE_AGENT && trace_around(s, TRACE_AGENT, TRACE_AGENT) != NULL)
				session = s;
			if (s->line > span->attached)
				span->attached = s->line;
			outermost = s;
		}
		/* Spans that are in each other are none. */
		if (depth > t->count || (outermost->parent != NULL && !outermost->remote && !whole))
			continue;
		span->session = session != NULL ? session : outermost;
	}
}

/* An agent that has no model's answer, or an answer inside of another. */
static void
trace_hide(struct trace *t)
{
	for (size_t i = 0; i < t->count; i++) {
		struct trace_span *span = t->spans[i], *around = trace_around(span, TRACE_CHAT, TRACE_AGENT);

		if (span->kind != TRACE_CHAT || around == NULL || around->kind != TRACE_CHAT || span->session == NULL ||
		    trace_around(span, TRACE_TOOL, TRACE_CHAT) != around)
			continue;
		span->hidden = true;
		if (around->usage.len == 0 && span->attached <= around->attached)
			buffer_append(&around->usage, buffer_string(&span->usage), span->usage.len);
		if (around->answer.len == 0 && span->attached <= around->attached)
			buffer_append(&around->answer, buffer_string(&span->answer), span->answer.len);
	}
}

/* ---- what is said ---- */

static void
trace_write_time(struct writer *w, int64_t time)
{
	char text[CLOCK_TEXT_SIZE];

	writer_member_string(w, "time", clock_text(time, text));
}

static void
trace_write_duration(struct writer *w, const struct trace_span *span)
{
	if (span->end >= span->start)
		writer_member_integer(w, "duration_ms", (span->end - span->start) / 1000);
}

static void
trace_write_blocks(struct writer *w, const char *key, const struct buffer *blocks)
{
	writer_key(w, key);
	buffer_byte(w->out, '[');
	buffer_append(w->out, buffer_string(blocks), blocks->len);
	buffer_byte(w->out, ']');
	w->comma = true;
}

/* The name of a span in what is said. */
static void
trace_write_name(struct writer *w, const char *key, const struct trace_span *span)
{
	char *text = memory_format("%s/%s", span->trace, span->id);

	writer_member_string(w, key, text);
	free(text);
}

static void
trace_end_line(struct format_log *log, struct writer *w)
{
	writer_object_end(w);
	buffer_byte(&log->out, '\n');
}

static void
trace_say_session(struct format_log *log, const struct trace_span *session, int64_t start, const char *name)
{
	const struct trace_span *parent = trace_around(session, TRACE_AGENT, TRACE_AGENT);
	struct writer w;

	writer_begin(&w, &log->out);
	writer_object(&w);
	trace_write_name(&w, "session", session);
	writer_member_string(&w, "name", session->name != NULL ? session->name : name);
	trace_write_time(&w, start);
	if (parent != NULL)
		trace_write_name(&w, "of", parent->session);
	else if (session->parent != NULL && strspn(session->trace, "0123456789abcdef") == 32 && strlen(session->trace) == 32 && strlen(session->parent) == 16) {
		char *traceparent = memory_format("00-%s-%s-01", session->trace, session->parent);

		writer_member_string(&w, "traceparent", traceparent);
		free(traceparent);
	}
	writer_member_object(&w, "inputs");
	if (session->inputs.len > 0) {
		buffer_append(&log->out, session->inputs.data, session->inputs.len);
		w.comma = true;
	}
	writer_object_end(&w);
	trace_end_line(log, &w);
}

/* id: of the agent, or the answer that it is for. portion: 0 if it is said for the first time. */
static void
trace_say_prompt(struct format_log *log, const struct trace_span *agent, const struct trace_span *first,
    const struct buffer *blocks, int64_t portion)
{
	const struct trace_span *of = agent != NULL ? agent : first;
	char *id = portion == 0 ? memory_text(of->id) : memory_format("%s/%lld", of->id, (long long)portion);
	struct writer w;

	writer_begin(&w, &log->out);
	writer_object(&w);
	trace_write_blocks(&w, "prompt", blocks);
	writer_member_string(&w, "id", id);
	trace_write_time(&w, of->start);
	if (agent != NULL)
		writer_member_string(&w, "agent", agent->name);
	writer_member_buffer(&w, "provider", of->provider.len > 0 || first == NULL ? &of->provider : &first->provider);
	writer_member_buffer(&w, "model", of->model.len > 0 || first == NULL ? &of->model : &first->model);
	trace_end_line(log, &w);
	free(id);
}

static void
trace_say_answer(struct format_log *log, const struct trace_span *span)
{
	const struct trace_span *agent = trace_around(span, TRACE_AGENT, TRACE_AGENT);
	struct writer w;

	/* What it was told that no tool has a span of. */
	buffer_append(&log->out, buffer_string(&span->results), span->results.len);
	writer_begin(&w, &log->out);
	writer_object(&w);
	trace_write_blocks(&w, "answer", &span->answer);
	writer_member_string(&w, "id", span->id);
	trace_write_time(&w, span->end);
	trace_write_duration(&w, span);
	writer_member_buffer(&w, "provider", &span->provider);
	writer_member_buffer(&w, "model", &span->model);
	writer_member_buffer(&w, "stop_reason", &span->stop_reason);
	/* It is part of what was said of the agent, before this came. */
	if (agent == NULL || !agent->counted)
		writer_member_buffer(&w, "usage", &span->usage);
	trace_end_line(log, &w);
}

static void
trace_write_error(struct writer *w, const struct trace_span *span)
{
	if (span->error.len > 0)
		writer_member_buffer(w, "error", &span->error);
	else
		writer_member_string(w, "error", "failed");
}

static void
trace_say_step(struct format_log *log, const struct trace_span *span, bool inside)
{
	struct writer w;

	writer_begin(&w, &log->out);
	writer_object(&w);
	writer_member_string(&w, "step", span->name != NULL ? span->name : "step");
	writer_member_string(&w, "id", span->id);
	if (inside)
		writer_member_bool(&w, "inside", true);
	trace_write_time(&w, span->end);
	trace_write_duration(&w, span);
	writer_member_buffer(&w, "input", &span->input);
	writer_member_buffer(&w, "result", &span->output);
	if (span->failed)
		trace_write_error(&w, span);
	trace_end_line(log, &w);
}

static const char *
trace_call(const struct trace_span *tool)
{
	return tool->call != NULL ? tool->call : tool->id;
}

static void
trace_say_tool(struct format_log *log, const struct trace_span *span, bool result)
{
	struct writer w;

	writer_begin(&w, &log->out);
	writer_object(&w);
	writer_member_string(&w, result ? "result" : "call", trace_call(span));
	trace_write_time(&w, result ? span->end : span->start);
	if (!result) {
		writer_member_string(&w, "name", span->name != NULL ? span->name : "tool");
		writer_member_buffer(&w, "input", &span->input);
	} else {
		trace_write_duration(&w, span);
		writer_member_buffer(&w, "output", span->output.len > 0 || !span->failed ? &span->output : &span->error);
		writer_member_bool(&w, "is_error", span->failed);
	}
	trace_end_line(log, &w);
}

static void
trace_say_child(struct format_log *log, const struct trace_span *span, int64_t time)
{
	const struct trace_span *tool = trace_around(span, TRACE_TOOL, TRACE_AGENT);
	struct writer w;

	writer_begin(&w, &log->out);
	writer_object(&w);
	writer_key(&w, "child");
	writer_null(&w);
	trace_write_time(&w, time);
	if (tool != NULL && tool->kind == TRACE_TOOL)
		writer_member_string(&w, "call", trace_call(tool));
	trace_write_name(&w, "as", span);
	trace_end_line(log, &w);
}

/* ---- groups ---- */

static int
trace_compare_items(const void *a, const void *b)
{
	const struct trace_item *one = a, *other = b;

	if (one->time != other->time)
		return one->time < other->time ? -1 : 1;
	if (one->kind != other->kind)
		return one->kind < other->kind ? -1 : 1;
	return strcmp(one->span->id, other->span->id);
}

static int
trace_compare_groups(const void *a, const void *b)
{
	const struct trace_group *one = a, *other = b;

	const struct trace_span *first = one->agent != NULL ? one->agent : one->items[0].span,
	    *second = other->agent != NULL ? other->agent : other->items[0].span;

	if (one->start != other->start)
		return one->start < other->start ? -1 : 1;
	return strcmp(first->id, second->id);
}

static void
trace_add_item(struct trace_group *g, int kind, struct trace_span *span, int64_t time)
{
	g->items = memory_array(g->items, g->count + 1, sizeof *g->items);
	g->items[g->count].time = time;
	g->items[g->count].kind = kind;
	g->items[g->count++].span = span;
	if (g->count == 1 || span->start < g->start)
		g->start = span->start;
}

/* Whether an answer has asked for this call of a tool. A tool without an id gets that of the first call of
 * its name which nothing else has. */
static bool
trace_was_asked_for(const struct trace_group *g, struct trace_span *tool, struct map *used)
{
	for (size_t i = 0; i < g->count; i++) {
		struct buffer blocks = BUFFER_INIT;
		bool found = false;

		if (g->items[i].kind != ITEM_ANSWER)
			continue;
		buffer_format(&blocks, "[%s]", buffer_string(&g->items[i].span->answer));
		for (struct span_walk block = span_walk(span_of(blocks.data, blocks.len)); !found && span_next(&block);) {
			char *id = span_text(span_member(block.value, "tool_id"));

			if (id != NULL && tool->call != NULL)
				found = strcmp(id, tool->call) == 0;
			else if (id != NULL && tool->name != NULL && g->items[i].time <= tool->end &&
			    span_is(span_member(block.value, "tool_name"), tool->name) &&
			    map_get(used, id, strlen(id)) == NULL) {
				tool->call = memory_text(id);
				found = true;
			}
			if (found)
				map_put(used, id, strlen(id), 1);
			free(id);
		}
		buffer_free(&blocks);
		if (found)
			return true;
	}
	return false;
}

/* Adds calls of tools for which no answer has asked: there may be none with their texts. */
static void
trace_add_calls(struct trace_group *g)
{
	const size_t count = g->count;
	struct map used = MAP_INIT;

	if (count == 0)
		return;
	qsort(g->items, g->count, sizeof *g->items, trace_compare_items);
	for (int named = 1; named >= 0; named--)
		for (size_t i = 0; i < count; i++) {
			struct trace_span *span = g->items[i].span;

			if (g->items[i].kind == ITEM_RESULT && span->kind == TRACE_TOOL && (span->call != NULL) == named &&
			    !trace_was_asked_for(g, span, &used))
				trace_add_item(g, ITEM_CALL, span, span->start);
		}
	map_free(&used);
	qsort(g->items, g->count, sizeof *g->items, trace_compare_items);
}

static struct trace_span *
trace_first_answer(const struct trace_group *g)
{
	for (size_t i = 0; i < g->count; i++)
		if (g->items[i].kind == ITEM_ANSWER)
			return g->items[i].span;
	return NULL;
}

static void
trace_say_group(struct format_log *log, struct trace_group *g, int64_t portion)
{
	static const struct buffer none = BUFFER_INIT;
	struct trace_span *first = trace_first_answer(g), *agent = g->agent;
	bool prompted = agent != NULL;

	trace_add_calls(g);
	if (agent != NULL) {
		/* Those in a later portion are of a prompt that was said. */
		const bool again = agent->attached < portion;

		trace_say_prompt(log, agent, first, again ? &none : agent->prompt.len > 0 || first == NULL ?
		    &agent->prompt : &first->prompt, again ? portion : 0);
	}
	for (size_t i = 0; i < g->count; i++) {
		struct trace_span *span = g->items[i].span;

		switch (g->items[i].kind) {
		case ITEM_ANSWER:
			if (agent == NULL && (span->prompt.len > 0 || !prompted))
				trace_say_prompt(log, NULL, span, &span->prompt, 0);
			prompted = true;
			trace_say_answer(log, span);
			break;
		case ITEM_CALL:
			trace_say_tool(log, span, false);
			break;
		case ITEM_CHILD:
			trace_say_child(log, span, g->items[i].time);
			break;
		case ITEM_RESULT:
			if (span->kind == TRACE_STEP)
				trace_say_step(log, span, agent != NULL);
			else
				trace_say_tool(log, span, true);
		}
	}
}

/* ---- a session ---- */

static void
trace_say_end(struct format_log *log, const struct trace_span *session, int64_t time)
{
	struct writer w;

	writer_begin(&w, &log->out);
	writer_object(&w);
	writer_member_string(&w, "end", session->failed ? "failed" : "success");
	trace_write_time(&w, time);
	if (session->failed)
		trace_write_error(&w, session);
	trace_end_line(log, &w);
}

/* The group of an agent, made if need be; NULL: that of what is outside of agents. */
static struct trace_group *
trace_group_of(struct trace_group **groups, size_t *count, struct trace_span *agent)
{
	for (size_t i = 0; i < *count; i++)
		if ((*groups)[i].agent == agent)
			return &(*groups)[i];
	*groups = memory_array(*groups, *count + 1, sizeof **groups);
	(*groups)[*count] = (struct trace_group){ .agent = agent };
	return &(*groups)[(*count)++];
}

/* Says the spans of a session that were known with a line, unless they say nothing. */
static void
trace_say_portion(struct format_log *log, const struct trace_entry *entries, size_t count, int64_t portion)
{
	const struct trace_span *session = entries[0].session;
	struct trace_group *groups = NULL;
	int64_t end = session->end;
	size_t group_count = 0;

	for (size_t i = 0; i < count; i++) {
		struct trace_span *span = entries[i].span, *agent = trace_around(span, TRACE_AGENT, TRACE_AGENT);
		struct trace_group *g;

		if (span->kind == TRACE_OTHER || span->hidden)
			continue;
		if (span->end > end)
			end = span->end;
		if (span->kind == TRACE_AGENT && (span == session || agent == NULL)) {
			g = trace_group_of(&groups, &group_count, span);
			if (g->count == 0)
				g->start = span->start;
			continue;
		}
		if (span->kind == TRACE_AGENT) {
			const struct trace_span *tool = trace_around(span, TRACE_TOOL, TRACE_AGENT);

			g = trace_group_of(&groups, &group_count, agent);
			trace_add_item(g, ITEM_CHILD, span, tool != NULL && tool->kind == TRACE_TOOL && tool->end < span->end ?
			    tool->end : span->end);
			continue;
		}
		g = trace_group_of(&groups, &group_count, agent);
		trace_add_item(g, span->kind == TRACE_CHAT ? ITEM_ANSWER : ITEM_RESULT, span, span->end);
	}
	for (size_t i = 0; i < group_count; i++) {
		struct trace_group *g = &groups[i];

		/* What an agent answered, and its usage, count if it says of no model that it was asked. */
		if (g->agent != NULL && (g->agent->usage.len > 0 || g->agent->answer.len > 0) && trace_first_answer(g) == NULL && g->agent->attached == portion) {
			trace_add_item(g, ITEM_ANSWER, g->agent, g->agent->end);
			g->agent->counted = g->agent->usage.len > 0;
		}
	}
	if (group_count > 0)
		qsort(groups, group_count, sizeof *groups, trace_compare_groups);
	for (size_t i = 0; i < group_count; i++) {
		trace_say_group(log, &groups[i], portion);
		free(groups[i].items);
	}
	free(groups);
	if (group_count > 0 && !session->open)
		trace_say_end(log, session, end);
}

static int
trace_compare_entries(const void *a, const void *b)
{
	const struct trace_entry *one = a, *other = b;
	int order = 0;

	if (one->session != other->session) {
		if (one->session->line != other->session->line)
			return one->session->line < other->session->line ? -1 : 1;
		order = strcmp(one->session->trace, other->session->trace);
		return order != 0 ? order : strcmp(one->session->id, other->session->id);
	}
	return one->span->attached != other->span->attached ? (one->span->attached < other->span->attached ? -1 : 1) : 0;
}

/* Says a session, of which these are the entries. */
static void
trace_say_one(struct format_log *log, const struct trace_entry *entries, size_t count, const char *name)
{
	const struct trace_span *session = entries[0].session;
	int64_t start = session->start, first = -1;

	for (size_t i = 0; i < count; i++) {
		const struct trace_span *span = entries[i].span;

		if (first == -1 && span->kind != TRACE_OTHER && !span->hidden)
			first = span->attached;
		if (span->attached == first && (span->start < start || start == 0))
			start = span->start;
	}
	/* A trace of something else. */
	if (first == -1)
		return;
	trace_say_session(log, session, start, name);
	for (size_t i = 0, next; i < count; i = next) {
		for (next = i; next < count && entries[next].span->attached == entries[i].span->attached;)
			next++;
		trace_say_portion(log, &entries[i], next - i, entries[i].span->attached);
	}
}

void
trace_say(struct trace *t, struct format_log *log, const char *name, bool whole)
{
	struct trace_entry *entries = memory_array(NULL, 2 * t->count + 1, sizeof *entries);
	size_t count = 0;

	trace_link(t);
	trace_find_sessions(t, whole);
	trace_hide(t);
	for (size_t i = 0; i < t->count; i++) {
		struct trace_span *span = t->spans[i], *agent = trace_around(span, TRACE_AGENT, TRACE_AGENT);

		if (span->session == NULL)
			continue;
		entries[count++] = (struct trace_entry){ span->session, span };
		if (span->session == span && agent != NULL)
			entries[count++] = (struct trace_entry){ agent->session, span };
	}
	qsort(entries, count, sizeof *entries, trace_compare_entries);
	for (size_t i = 0, next; i < count; i = next) {
		for (next = i; next < count && entries[next].session == entries[i].session;)
			next++;
		trace_say_one(log, &entries[i], next - i, name);
	}
	free(entries);
}

void
trace_free_span(struct trace_span *s)
{
	struct buffer *const buffers[] = { &s->inputs, &s->prompt, &s->answer, &s->results, &s->usage, &s->provider,
		&s->model, &s->stop_reason, &s->input, &s->output, &s->error };

	for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
		buffer_free(buffers[i]);
	free(s->trace);
	free(s->id);
	free(s->parent);
	free(s->name);
	free(s->call);
}

void
trace_free(struct trace *t)
{
	for (size_t i = 0; i < t->count; i++) {
		trace_free_span(t->spans[i]);
		free(t->spans[i]);
	}
	free(t->spans);
	map_free(&t->places);
}
