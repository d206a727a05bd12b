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

#define DEPTH_MOST 1000 /* spans in each other */

/* Something to be said at a time. */
struct trace_item {
	int64_t time;
	enum item_kind { ITEM_ANSWER, ITEM_CALL, ITEM_CHILD, ITEM_RESULT } kind; /* in the order in which they are said */
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

/* Spans that are in each other, or too deep in others, have none around: their parents do not come. */
static void
trace_cut(struct trace *t)
{
	for (size_t i = 0; i < t->count; i++) {
		const struct trace_span *around = t->spans[i]->around;
		size_t depth = 0;

		while (around != NULL && depth < DEPTH_MOST) {
			around = around->around;
			depth++;
		}
		if (around != NULL)
			t->spans[i]->around = NULL;
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

		span->attached = span->line;
		for (struct trace_span *s = span; s != NULL; s = s->around) {
			/* An agent inside of another, or of a tool of one, is a session of its own. */
			if (session == NULL && s->kind == TRACE_AGENT && trace_around(s, TRACE_AGENT, TRACE_AGENT) != NULL)
				session = s;
			if (s->line > span->attached)
				span->attached = s->line;
			outermost = s;
		}
		if (outermost->parent != NULL && !outermost->remote && !whole)
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
		writer_member_buffer(&w, "output", span->failed && (span->output.len == 0 ||
		    buffer_equal(&span->output, "null")) ? &span->error : &span->output);
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
trace_add_item(struct trace_group *g, enum item_kind kind, struct trace_span *span, int64_t time)
{
	g->items = memory_array(g->items, g->count + 1, sizeof *g->items);
	g->items[g->count].time = time;
	g->items[g->count].kind = kind;
	g->items[g->count++].span = span;
	if (g->count == 1 || span->start < g->start)
		g->start = span->start;
}

/* Calls of tools that answers have asked for. */
struct trace_asked {
	struct trace_asked_call { char *id, *name; int64_t time; bool used; } *list;
	size_t count;
	struct map ids;               /* id → index of the last with it */
};

static void
trace_collect_asked(const struct trace_group *g, struct trace_asked *asked)
{
	for (size_t i = 0; i < g->count; i++) {
		struct buffer blocks = BUFFER_INIT;

		if (g->items[i].kind != ITEM_ANSWER)
			continue;
		buffer_format(&blocks, "[%s]", buffer_string(&g->items[i].span->answer));
		for (struct span_walk block = span_walk(span_of(blocks.data, blocks.len)); span_next(&block);) {
			char *id = span_text(span_member(block.value, "tool_id"));

			if (id == NULL)
				continue;
			asked->list = memory_array(asked->list, asked->count + 1, sizeof *asked->list);
			asked->list[asked->count] = (struct trace_asked_call){ .id = id,
				.name = span_text(span_member(block.value, "tool_name")), .time = g->items[i].time };
			map_put(&asked->ids, id, strlen(id), asked->count++);
		}
		buffer_free(&blocks);
	}
}

/* Whether an answer has asked for this call of a tool. A tool without an id gets that of the first call of
 * its name which nothing else has. */
static bool
trace_was_asked_for(struct trace_asked *asked, struct trace_span *tool)
{
	const size_t *place = tool->call != NULL ? map_get(&asked->ids, tool->call, strlen(tool->call)) : NULL;

	if (place != NULL)
		asked->list[*place].used = true;
	for (size_t i = 0; tool->call == NULL && tool->name != NULL && i < asked->count; i++) {
		struct trace_asked_call *call = &asked->list[i];

		if (call->used || call->time > tool->end || call->name == NULL || strcmp(call->name, tool->name) != 0)
			continue;
		call->used = true;
		tool->call = memory_text(call->id);
		return true;
	}
	return place != NULL;
}

/* Adds calls of tools for which no answer has asked: there may be none with their texts. */
static void
trace_add_calls(struct trace_group *g)
{
	const size_t count = g->count;
	struct trace_asked asked = { .list = NULL };

	if (count == 0)
		return;
	qsort(g->items, g->count, sizeof *g->items, trace_compare_items);
	trace_collect_asked(g, &asked);
	for (int named = 1; named >= 0; named--)
		for (size_t i = 0; i < count; i++) {
			struct trace_span *span = g->items[i].span;

			if (g->items[i].kind == ITEM_RESULT && span->kind == TRACE_TOOL && (span->call != NULL) == named &&
			    !trace_was_asked_for(&asked, span))
				trace_add_item(g, ITEM_CALL, span, span->start);
		}
	for (size_t i = 0; i < asked.count; i++) {
		free(asked.list[i].id);
		free(asked.list[i].name);
	}
	free(asked.list);
	map_free(&asked.ids);
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

/* The groups of a portion. */
struct trace_groups {
	struct trace_group *list;
	size_t count, outside;        /* outside: 1 + the place of that of what is outside of agents; 0: none */
};

/* The group of an agent, made if need be; NULL: that of what is outside of agents. */
static struct trace_group *
trace_group_of(struct trace_groups *groups, struct trace_span *agent)
{
	size_t *place = agent != NULL ? &agent->group : &groups->outside;

	if (*place == 0) {
		groups->list = memory_array(groups->list, groups->count + 1, sizeof *groups->list);
		groups->list[groups->count] = (struct trace_group){ .agent = agent };
		*place = ++groups->count;
	}
	return &groups->list[*place - 1];
}

/* Says the spans of a session that were known with a line, unless they say nothing. */
static void
trace_say_portion(struct format_log *log, const struct trace_entry *entries, size_t count, int64_t portion)
{
	const struct trace_span *session = entries[0].session;
	struct trace_groups groups = { .list = NULL };
	int64_t end = session->end;

	for (size_t i = 0; i < count; i++) {
		struct trace_span *span = entries[i].span, *agent = trace_around(span, TRACE_AGENT, TRACE_AGENT);
		struct trace_group *g;

		if (span->kind == TRACE_OTHER || span->hidden)
			continue;
		if (span->end > end)
			end = span->end;
		if (span->kind == TRACE_AGENT && (span == session || agent == NULL)) {
			g = trace_group_of(&groups, span);
			if (g->count == 0)
				g->start = span->start;
			continue;
		}
		if (span->kind == TRACE_AGENT) {
			const struct trace_span *tool = trace_around(span, TRACE_TOOL, TRACE_AGENT);

			g = trace_group_of(&groups, agent);
			trace_add_item(g, ITEM_CHILD, span, tool != NULL && tool->kind == TRACE_TOOL && tool->end < span->end ?
			    tool->end : span->end);
			continue;
		}
		g = trace_group_of(&groups, agent);
		trace_add_item(g, span->kind == TRACE_CHAT ? ITEM_ANSWER : ITEM_RESULT, span, span->end);
	}
	for (size_t i = 0; i < groups.count; i++) {
		struct trace_group *g = &groups.list[i];

		/* What an agent answered, and its usage, count if it says of no model that it was asked. */
		if (g->agent != NULL && (g->agent->usage.len > 0 || g->agent->answer.len > 0) && trace_first_answer(g) == NULL && g->agent->attached == portion) {
			trace_add_item(g, ITEM_ANSWER, g->agent, g->agent->end);
			g->agent->counted = g->agent->usage.len > 0;
		}
	}
	if (groups.count > 0)
		qsort(groups.list, groups.count, sizeof *groups.list, trace_compare_groups);
	for (size_t i = 0; i < groups.count; i++) {
		trace_say_group(log, &groups.list[i], portion);
		if (groups.list[i].agent != NULL)
			groups.list[i].agent->group = 0;
		free(groups.list[i].items);
	}
	free(groups.list);
	if (groups.count > 0 && !session->open)
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
	trace_cut(t);
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
