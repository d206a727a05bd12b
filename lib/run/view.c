/*
 * A line of text is put together with marks of which stretches have which colour; it is made
 * harmless and cut to the width as plain text, and the colours are put in last, so that a cut
 * never leaves a colour on. How a type is shown stands in a table.
 */
#include "run/view.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"
#include "json/writer.h"
#include "run/attached.h"
#include "run/cost.h"
#include "run/model.h"
#include "run/results.h"
#include "transcript/call.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"
#include "transcript/filter.h"

#define BOLD "\033[1m"
#define DIM "\033[2m"
#define RED "\033[31m"
#define GREEN "\033[32m"
#define YELLOW "\033[33m"
#define BLUE "\033[34m"
#define CYAN "\033[36m"

/* More of a text is never shown, nor looked at. */
#define PREVIEW_COLUMNS 400
#define PREVIEW_BYTES ((size_t)4096)
#define ARGUMENT_COLUMNS 40
#define CHANGED_SHOWN 5
#define TIME_COLUMNS 12

const struct view_word view_words[VIEW_SAYINGS] = {
	[VIEW_STARTED] = { "started", "▸", BOLD },
	[VIEW_DONE] = { "done", "✓", GREEN },
	[VIEW_FAILED] = { "failed", "✗", RED },
	[VIEW_SKIPPED] = { "skipped", "–", YELLOW },
	[VIEW_REUSED] = { "reused", "=", GREEN },
	[VIEW_WAITING] = { "waiting", "…", YELLOW },
	[VIEW_RETRY] = { "retry", "↻", YELLOW },
	[VIEW_USER] = { "user", "»", BLUE },
	[VIEW_ASSISTANT] = { "assistant", "«", "" },
	[VIEW_CALL] = { "call", "→", CYAN },
	[VIEW_RESULT] = { "result", "←", CYAN },
	[VIEW_RUNNING] = { "running", "▸", BOLD },
	[VIEW_UNFINISHED] = { "unfinished", "?", RED },
};

static enum view_saying
run_ended(struct span status)
{
	return span_is(status, "success") ? VIEW_DONE : span_is(status, "waiting") ? VIEW_WAITING :
	    VIEW_FAILED;
}

enum view_saying
view_ended(const struct event_view *event)
{
	struct span payload = event->payload, error = span_member(payload, KEY_ERROR);

	if (event->type == EVENT_RUN_COMPLETED)
		return run_ended(span_member(payload, KEY_STATUS));
	if (member_set(span_member(payload, KEY_SKIPPED)))
		return VIEW_SKIPPED;
	if (member_set(span_member(payload, KEY_REUSED_FROM)))
		return VIEW_REUSED;
	if (!member_set(error))
		return VIEW_DONE;
	return span_is(span_member(error, "code"), "waiting") ? VIEW_WAITING : VIEW_FAILED;
}

char *
count_text(int64_t count, char *out, size_t size)
{
	if (count < 1000)
		snprintf(out, size, "%d", (int)count);
	else if (count < 999950)
		snprintf(out, size, "%.1fk", (double)count / 1000);
	else
		snprintf(out, size, "%.1fM", (double)count / 1000000);
	return out;
}

/* How many c are in it. */
static unsigned
count_of(struct span text, char c)
{
	unsigned count = 0;

	for (size_t i = 0; i < text.len; i++)
		count += text.at[i] == c;
	return count;
}

/* Whether a call is a round or branch, "refine:0:2/refine:0:1"; item: of the group's call, 2. */
static bool
is_member(const char *call, long long *item)
{
	const char *last = strrchr(call, '/'), *group = last, *number = last;

	if (last == NULL)
		return false;
	while (group > call && group[-1] != '/')
		group--;
	while (number > group && *number != ':')
		number--;
	if (*number != ':' || strncmp(group, last + 1, strcspn(last + 1, ":") + 1) != 0)
		return false;
	*item = strtoll(number + 1, NULL, 10);
	return true;
}

/* Whether the event is of a round or branch. */
static bool
within_group(const struct event_view *event, long long *item)
{
	struct span call = span_member(event->payload, KEY_CALL);
	char *text;
	bool within;

	/* A step that is called as the one it is started in has a longer path. */
	if (span_type(call) != 's' || count_of(call, '/') < event_path_depth(event->path))
		return false;
	text = span_text(call);
	within = text != NULL && is_member(text, item);
	free(text);
	return within;
}

static void
add_label(const char *path, bool within, long long item, int64_t iteration, struct buffer *out)
{
	const char *dot = strrchr(path, '.');

	buffer_text(out, dot ? dot + 1 : path);
	if (item > 0)
		buffer_format(out, "[%lld]", item);
	if (within || (iteration > 0 && *path != '\0'))
		buffer_format(out, "[%lld]", (long long)iteration);
}

void
view_label(const struct event_view *event, struct buffer *out)
{
	struct buffer path = BUFFER_INIT;
	long long item = 0;
	bool within = within_group(event, &item);

	span_decode(event->path, &path);
	add_label(buffer_string(&path), within, item, event->iteration, out);
	buffer_free(&path);
}

void
view_call_label(const struct model_call *c, struct buffer *out)
{
	struct span path = span_of(c->path, strlen(c->path)), id = span_of(c->id, strlen(c->id));
	long long item = 0;
	bool longer = path.len > 0 && count_of(id, '/') < 1 + count_of(path, '.');
	bool within = !longer && is_member(c->id, &item);

	add_label(c->path, within, item, c->iteration, out);
}

static void add(struct view *v, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void
add(struct view *v, const char *format, ...)
{
	char text[256];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof text, format, list);
	va_end(list);
	buffer_text(&v->text, text);
}

/* What is added from `from` on gets a colour. */
static void
mark(struct view *v, size_t from, const char *colour)
{
	if (*colour != '\0' && v->mark_count < VIEW_MARKS)
		v->marks[v->mark_count++] = (struct mark){ from, v->text.len, colour };
}

/* Adds data with each run of white space as one space, so that it is one line. */
static void
add_data(struct view *v, const char *bytes, size_t len, size_t width)
{
	struct buffer flat = BUFFER_INIT;
	bool space = true;

	if (len > PREVIEW_BYTES)
		len = utf8_whole(bytes, PREVIEW_BYTES);
	for (size_t i = 0; i < len; i++) {
		bool blank = bytes[i] == ' ' || (bytes[i] >= '\t' && bytes[i] <= '\r');

		if (!blank)
			buffer_byte(&flat, bytes[i]);
		else if (!space)
			buffer_byte(&flat, ' ');
		space = blank;
	}
	if (flat.len > 0 && flat.data[flat.len - 1] == ' ')
		flat.len--;
	text_visible(&v->text, buffer_string(&flat), flat.len, width);
	buffer_free(&flat);
}

/* Adds a value: a string as its text, anything else as JSON. */
static void
add_value(struct view *v, struct span value, size_t width)
{
	buffer_clear(&v->scratch);
	if (span_type(value) != 's') {
		add_data(v, value.at ? value.at : "", value.len, width);
		return;
	}
	span_decode(value, &v->scratch);
	add_data(v, buffer_string(&v->scratch), v->scratch.len, width);
}

/* The figures of a line stand in one parenthesis: detail(), detail(), details_end(). */
static void
detail(struct view *v)
{
	buffer_text(&v->text, v->detailed ? ", " : " (");
	v->detailed = true;
}

static void
details_end(struct view *v)
{
	if (v->detailed)
		buffer_byte(&v->text, ')');
	v->detailed = false;
}

static void
detail_value(struct view *v, const char *before, struct span value)
{
	if (!member_set(value))
		return;
	detail(v);
	add(v, "%s", before);
	add_value(v, value, ARGUMENT_COLUMNS);
}

static void
detail_duration(struct view *v, struct span value)
{
	char text[32];
	long long ms;

	if (!span_integer(value, &ms))
		return;
	detail(v);
	add(v, "%s", duration_text(ms, text, sizeof text));
}

static void
detail_cost(struct view *v)
{
	char text[MONEY_SIZE];

	if (v->cost == NULL || *v->cost == COST_NONE)
		return;
	detail(v);
	add(v, "%s", *v->cost == COST_UNKNOWN ? "$?" : money_text(*v->cost, text));
}

static void
detail_usage(struct view *v, struct span usage)
{
	static const struct { const char *key, *word; } counts[] = {
		{ "input_tokens", "in" }, { "output_tokens", "out" },
	};
	char text[32];
	long long count;

	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		if (!span_integer(span_member(usage, counts[i].key), &count))
			continue;
		detail(v);
		add(v, "%s %s", count_text(count, text, sizeof text), counts[i].word);
	}
	detail_cost(v);
}

/* The bytes of a value that stands in a blob, or -1. */
static int64_t
blob_size(const struct event_view *event, const char *pointer)
{
	long long bytes;

	if (span_type(event->refs) != 'a')
		return -1;
	for (struct span_walk ref = span_walk(event->refs); span_next(&ref);)
		if (span_is(span_member(ref.value, "at"), pointer) &&
		    span_integer(span_member(ref.value, "bytes"), &bytes))
			return bytes;
	return -1;
}

static void
detail_length(struct view *v, struct span value)
{
	size_t bytes = value.len;
	char text[32];

	if (!member_set(value))
		return;
	if (span_type(value) == 's') {
		buffer_clear(&v->scratch);
		span_decode(value, &v->scratch);
		bytes = v->scratch.len;
	}
	detail(v);
	add(v, "%s", size_text((int64_t)bytes, text, sizeof text));
}

/* The size of payload.KEY, as far as it has one. */
static void
detail_size(struct view *v, const struct event_view *event, const char *key)
{
	char pointer[64], text[32];
	struct span value;
	int64_t bytes;

	snprintf(pointer, sizeof pointer, "/payload/%s", key);
	value = pointer_find(event->payload, pointer + sizeof "/payload" - 1);
	bytes = blob_size(event, pointer);
	if (bytes < 0) {
		detail_length(v, value);
		return;
	}
	detail(v);
	add(v, "%s", size_text(bytes, text, sizeof text));
}

static void
detail_retries(struct view *v, struct span retries)
{
	size_t count = 0;

	if (span_type(retries) != 'a')
		return;
	for (struct span_walk element = span_walk(retries); span_next(&element);)
		count++;
	if (count == 0)
		return;
	detail(v);
	add(v, "%zu %s", count, count == 1 ? "retry" : "retries");
}

static void
add_preview(struct view *v, struct span value)
{
	details_end(v);
	if (!member_set(value) || span_is(value, ""))
		return;
	buffer_text(&v->text, ": ");
	add_value(v, value, PREVIEW_COLUMNS);
}

/* ": CODE: MESSAGE", or whatever else the error is. */
static void
add_error(struct view *v, struct span error)
{
	struct span message = span_member(error, "message");

	if (span_type(error) != 'o' || !member_set(message)) {
		add_preview(v, error);
		return;
	}
	add_preview(v, span_member(error, "code"));
	add_preview(v, message);
}

/* [SYMBOL] LABEL ITEM WORD; the word has the colour of what it says. */
static void
add_head_of(struct view *v, const struct event_view *event, const char *item,
    const struct view_word *word)
{
	size_t from = v->text.len;
	struct buffer label = BUFFER_INIT;

	if (v->symbols) {
		add(v, "%s ", word->symbol);
		mark(v, from, word->colour);
	}
	view_label(event, &label);
	if (label.len == 0)
		buffer_text(&label, "run");
	text_visible(&v->text, label.data, label.len, ARGUMENT_COLUMNS);
	buffer_text(&v->text, item);
	buffer_byte(&v->text, ' ');
	buffer_free(&label);
	from = v->text.len;
	add(v, "%s", word->text);
	mark(v, from, word->colour);
}

static void
add_head(struct view *v, const struct event_view *event, const struct view_word *word)
{
	add_head_of(v, event, "", word);
}

static void
show_run_started(struct view *v, const struct event_view *event)
{
	struct span forked = span_member(event->payload, KEY_FORKED_FROM);
	struct span inputs = span_member(event->payload, KEY_INPUTS);
	long long attempt;
	char day[11];

	add_head(v, event, &view_words[VIEW_STARTED]);
	detail_value(v, "", span_member(event->payload, KEY_NAME));
	if (span_type(event->timestamp) == 's' && event->timestamp.len > sizeof day) {
		snprintf(day, sizeof day, "%.10s", event->timestamp.at + 1);
		detail(v);
		text_visible(&v->text, day, strlen(day), 0);
	}
	if (span_integer(span_member(event->payload, KEY_ATTEMPT), &attempt) && attempt > 1) {
		detail(v);
		add(v, "attempt %lld", attempt);
	}
	detail_value(v, "run ", event->run_id);
	detail_value(v, "forked from ", span_type(forked) == 'o' ?
	    span_member(forked, "run_id") : forked);
	add_preview(v, inputs.len > 2 ? inputs : (struct span){ NULL, 0 });
}

static void
show_run_completed(struct view *v, const struct event_view *event)
{
	struct span status = span_member(event->payload, KEY_STATUS);
	struct view_word word = view_words[view_ended(event)];
	char text[32];
	long long code;

	word.text = "completed";
	add_head(v, event, &word);
	if (span_copy(status, text, sizeof text))
		detail_value(v, "", status);
	if (span_integer(span_member(event->payload, KEY_EXIT_CODE), &code) && code != 0) {
		detail(v);
		add(v, "exit %lld", code);
	}
	detail_duration(v, span_member(event->payload, KEY_DURATION_MS));
	detail_usage(v, span_member(event->payload, KEY_USAGE));
	add_error(v, span_member(event->payload, KEY_ERROR));
}

/* "PROVIDER/MODEL", or what of them is known. */
static void
detail_model(struct view *v, struct span payload)
{
	struct span provider = span_member(payload, KEY_PROVIDER);
	struct span model = span_member(payload, KEY_MODEL);

	if (!member_set(provider) || !member_set(model)) {
		detail_value(v, "", member_set(provider) ? provider : model);
		return;
	}
	detail_value(v, "", provider);
	buffer_byte(&v->text, '/');
	add_value(v, model, ARGUMENT_COLUMNS);
}

/* What a call gave: a value, or state lines of which only one alone is shown. */
struct given {
	long long lines;     /* 1 of a value */
	struct span value;
	const char *member;  /* that it is of the payload; NULL: it is the line's of a child */
	struct buffer text;  /* that value is in then */
};

static void
given_read(struct given *g, const struct event_view *event)
{
	const char *member = result_member(event->payload);
	char pointer[64];

	snprintf(pointer, sizeof pointer, "/%s", member);
	*g = (struct given){ .member = member, .value = pointer_find(event->payload, pointer) };
	if (event->type == EVENT_CALL_WORKFLOW_COMPLETED)
		g->lines = result_lines(g->value, &g->text, &g->value);
	if (g->lines == 1)
		g->member = NULL;
	if (g->lines == 0 && !span_integer(span_member(event->payload, KEY_COUNT), &g->lines))
		g->lines = 1;
}

static void
detail_given(struct view *v, const struct event_view *event, const struct given *g)
{
	if (g->lines != 1) {
		detail(v);
		add(v, "%lld lines", g->lines);
	}
	if (g->member != NULL)
		detail_size(v, event, g->member);
	else
		detail_length(v, g->value);
}

/* What a condition was asked, and its answer. */
static void
detail_condition(struct view *v, struct span condition)
{
	static const char *const words[] = { "when", "while", "until" };
	struct span outcome = span_member(condition, "outcome");

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (!member_set(span_member(condition, words[i])))
			continue;
		detail(v);
		add(v, "%s: %s", words[i], !member_set(outcome) ? "no answer" :
		    span_true(outcome) ? "yes" : "no");
	}
}

bool
view_branches(struct span payload, struct buffer *out)
{
	struct span strategy = span_member(payload, KEY_STRATEGY);
	struct span blocks = span_member(payload, KEY_BLOCKS);
	size_t count = 0;

	if (span_type(strategy) != 's' || span_type(blocks) != 'a')
		return false;
	for (struct span_walk block = span_walk(blocks); span_next(&block);)
		count++;
	buffer_append(out, strategy.at + 1, strategy.len - 2);
	buffer_format(out, " of %zu branch%s", count, count == 1 ? "" : "es");
	return true;
}

/* Calls that wait, and those that cannot begin before: by the ids of their events. */
static bool
is_behind_waiting(const struct view *v, const struct event_view *event)
{
	const struct span parent = event->parent_event_id;

	return parent.at != NULL && map_get(&v->waits, parent.at, parent.len) != NULL;
}

static void
note_waiting(struct view *v, const struct event_view *event)
{
	map_put(&v->waits, event->event_id.at, event->event_id.len, 1);
}

static void
show_step_started(struct view *v, const struct event_view *event)
{
	struct span block = span_element(span_member(event->payload, KEY_BLOCKS), 0);
	struct buffer branches = BUFFER_INIT;

	if (is_behind_waiting(v, event))
		note_waiting(v, event);
	add_head(v, event, &view_words[VIEW_STARTED]);
	detail_value(v, "", span_member(event->payload, KEY_KIND));
	detail_model(v, event->payload);
	detail_value(v, "run ", event->child_run_id);
	detail_condition(v, span_member(event->payload, KEY_CONDITION));
	if (view_branches(event->payload, &branches)) {
		detail(v);
		text_visible(&v->text, branches.data, branches.len, 0);
	} else {
		add_preview(v, span_member(block, "command"));
	}
	buffer_free(&branches);
}

/* What came of the call, in short. */
static void
add_result(struct view *v, const struct event_view *event, const struct given *g)
{
	struct span outcome = span_member(event->payload, KEY_OUTCOME);
	struct span skipped = span_member(event->payload, KEY_SKIPPED);

	if (span_type(skipped) == 's') {
		add_preview(v, skipped);
	} else if (member_set(outcome)) {
		add_preview(v, outcome);
		add_preview(v, span_member(event->payload, KEY_REASON));
	} else if (g->lines == 1) {
		add_preview(v, g->value);
	}
}

/* "approved by NAME"; of what waits, until when. A failure says it in its message. */
static void
detail_approval(struct view *v, struct span approval, bool failed)
{
	struct span by = span_member(approval, "by");

	if (!failed && member_set(by)) {
		detail_value(v, "", span_member(approval, "decision"));
		buffer_text(&v->text, " by ");
		add_value(v, by, ARGUMENT_COLUMNS);
	}
	detail_value(v, "until ", span_member(approval, "deadline"));
}

/* The files that a call changed: "src/a.c +3 -1, b.c, 12 more". */
static void
add_changed(struct view *v, const char *before, struct span payload)
{
	static const struct { const char *key, *sign; } counts[] = {
		{ "added", " +" }, { "removed", " -" },
	};
	struct span change;
	long long more = 0, count;
	size_t shown = 0;

	span_integer(span_member(payload, KEY_CHANGED_MORE), &more);
	for (struct span_walk file = span_walk(span_member(payload, KEY_CHANGED));
	    span_next(&file);) {
		if (shown++ >= CHANGED_SHOWN) {
			more++;
			continue;
		}
		buffer_text(&v->text, shown == 1 ? before : ", ");
		add_value(v, span_member(file.value, "path"), ARGUMENT_COLUMNS);
		for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
			if (span_integer(span_member(file.value, counts[i].key), &count))
				add(v, "%s%lld", counts[i].sign, count);
		change = span_member(file.value, "change");
		if (span_is(change, "deleted"))
			buffer_text(&v->text, " deleted");
	}
	if (more > 0)
		add(v, ", %lld more", more);
}

/* It has not failed: it begins when the other one has ended. */
static void
add_behind(struct view *v)
{
	details_end(v);
	buffer_text(&v->text, ": for the step before it");
}

/* Which item it is of which something has to be said. */
static const char *
troubled_item(struct view *v, const struct event_view *event, enum view_saying saying)
{
	long long item;

	if ((saying != VIEW_FAILED && saying != VIEW_WAITING) || event->iteration == 0 ||
	    within_group(event, &item))
		return "";
	return item_names_find(&v->items, event);
}

static void
show_step_completed(struct view *v, const struct event_view *event)
{
	struct span payload = event->payload, error = span_member(payload, KEY_ERROR);
	bool behind = is_behind_waiting(v, event) &&
	    span_is(span_member(payload, KEY_SKIPPED), "upstream_failed");
	struct given given;

	given_read(&given, event);
	if (view_ended(event) == VIEW_WAITING)
		note_waiting(v, event);
	add_head_of(v, event, troubled_item(v, event, view_ended(event)),
	    &view_words[behind ? VIEW_WAITING : view_ended(event)]);
	add_changed(v, ", changed ", payload);
	detail_duration(v, span_member(payload, KEY_DURATION_MS));
	detail_given(v, event, &given);
	detail_condition(v, span_member(payload, KEY_CONDITION));
	detail_retries(v, span_member(payload, KEY_RETRIES));
	detail_value(v, "run ", event->child_run_id);
	detail_approval(v, span_member(payload, KEY_APPROVAL), view_ended(event) == VIEW_FAILED);
	if (member_set(error))
		add_error(v, error);
	else if (behind)
		add_behind(v);
	else
		add_result(v, event, &given);
	buffer_free(&given.text);
}

/* The attachments of a message; false if it has none. */
static bool
add_attached(struct view *v, struct span blocks)
{
	bool any = false;

	for (struct span_walk block = span_walk(blocks); span_next(&block);) {
		struct buffer label = BUFFER_INIT;

		if (attached_text(block.value, &label)) {
			buffer_text(&v->text, any ? " " : ": ");
			text_visible(&v->text, label.data, label.len, PREVIEW_COLUMNS);
			any = true;
		}
		buffer_free(&label);
	}
	return any;
}

/* The text to show of a message: its attachments, and its texts, else the tools it calls,
 * else what it thinks. */
static void
add_blocks(struct view *v, struct span blocks)
{
	static const char *const texts[] = { "text", "tool_name", "thinking" };
	bool any, said = false;

	details_end(v);
	if (span_type(blocks) != 'a')
		return;
	any = add_attached(v, blocks);
	for (size_t i = 0; i < sizeof texts / sizeof *texts && !said; i++) {
		for (struct span_walk block = span_walk(blocks); span_next(&block);) {
			struct span text = span_member(block.value, texts[i]);

			if (!member_set(text))
				continue;
			buffer_text(&v->text, any ? " " : ": ");
			add_value(v, text, PREVIEW_COLUMNS);
			any = said = true;
		}
	}
}

static void
show_user(struct view *v, const struct event_view *event)
{
	add_head(v, event, &view_words[VIEW_USER]);
	detail_value(v, "to ", span_path(event->payload, KEY_HANDOFF, "to", NULL));
	if (member_set(span_member(event->payload, KEY_BEFORE_TURN))) {
		detail(v);
		add(v, KEY_BEFORE_TURN);
	}
	add_blocks(v, span_member(event->payload, KEY_BLOCKS));
}

/* "HTTP 429, try 2 of 3 in 2 s" */
static void
show_retry(struct view *v, const struct event_view *event)
{
	struct span retry = span_member(event->payload, KEY_RETRY);
	long long next = 0, of = 0, delay = 0;

	add_head(v, event, &view_words[VIEW_RETRY]);
	buffer_text(&v->text, ": ");
	add_value(v, span_member(retry, "message"), PREVIEW_COLUMNS);
	span_integer(span_member(retry, "try"), &next);
	span_integer(span_member(retry, "of"), &of);
	span_integer(span_member(event->payload, KEY_DELAY_MS), &delay);
	call_retry_text(next, of, delay, &v->text);
}

static void
show_assistant(struct view *v, const struct event_view *event)
{
	struct span reason = span_member(event->payload, KEY_STOP_REASON);

	if (event_tells_retry(event)) {
		show_retry(v, event);
		return;
	}
	add_head(v, event, &view_words[VIEW_ASSISTANT]);
	detail_duration(v, span_member(event->payload, KEY_DURATION_MS));
	detail_usage(v, span_member(event->payload, KEY_USAGE));
	if (!span_is(reason, "end_turn"))
		detail_value(v, "", reason);
	if (span_true(span_member(event->payload, KEY_PARTIAL))) {
		detail(v);
		add(v, "cut off");
	}
	add_blocks(v, span_member(event->payload, KEY_BLOCKS));
}

/* A value as JSON: a text is quoted, as no number nor anything else is. */
static void
add_json(struct view *v, struct span value, size_t width)
{
	struct buffer quoted = BUFFER_INIT;

	if (span_type(value) != 's') {
		add_value(v, value, width);
		return;
	}
	buffer_clear(&v->scratch);
	span_decode(value, &v->scratch);
	json_quote(&quoted, buffer_string(&v->scratch), utf8_whole(buffer_string(&v->scratch),
	    v->scratch.len < PREVIEW_BYTES ? v->scratch.len : PREVIEW_BYTES));
	text_visible(&v->text, quoted.data, quoted.len, width);
	buffer_free(&quoted);
}

/* Arguments of a tool as key="text" key=1, each cut short. */
static void
add_arguments(struct view *v, struct span input)
{
	struct span_walk member = span_walk(input);

	if (span_type(input) != 'o') {
		add_preview(v, input);
		return;
	}
	for (bool first = true; span_next(&member); first = false) {
		buffer_text(&v->text, first ? ": " : " ");
		add_value(v, member.key, ARGUMENT_COLUMNS);
		buffer_byte(&v->text, '=');
		add_json(v, member.value, ARGUMENT_COLUMNS);
	}
}

static void
add_tool_name(struct view *v, struct span payload)
{
	struct span name = span_member(payload, KEY_NAME);

	if (!member_set(name))
		return;
	buffer_byte(&v->text, ' ');
	add_value(v, name, ARGUMENT_COLUMNS);
}

static void
show_tool_call(struct view *v, const struct event_view *event)
{
	add_head(v, event, &view_words[VIEW_CALL]);
	add_tool_name(v, event->payload);
	add_arguments(v, span_member(event->payload, KEY_INPUT));
}

static void
show_tool_result(struct view *v, const struct event_view *event)
{
	struct span error = span_member(event->payload, KEY_ERROR);

	add_head(v, event, &view_words[member_set(error) ? VIEW_FAILED : VIEW_RESULT]);
	add_tool_name(v, event->payload);
	add_changed(v, " ", event->payload);
	detail_duration(v, span_member(event->payload, KEY_DURATION_MS));
	detail_size(v, event, "output");
	if (member_set(error))
		add_error(v, error);
	else
		add_preview(v, span_member(event->payload, KEY_OUTPUT));
}

/* A type that this version does not know: its name and payload as they are. */
static void
show_unknown(struct view *v, const struct event_view *event)
{
	struct view_word word = { "", "·", "" };

	add_head(v, event, &word);
	add_value(v, event->type_name, ARGUMENT_COLUMNS);
	add_preview(v, event->payload);
}

static const struct shape {
	void (*show)(struct view *, const struct event_view *);
	unsigned inside; /* 1: within a call */
} shapes[EVENT_TYPES + 1] = {
	[EVENT_RUN_STARTED] = { show_run_started, 0 },
	[EVENT_RUN_COMPLETED] = { show_run_completed, 0 },
	[EVENT_STEP_STARTED] = { show_step_started, 0 },
	[EVENT_STEP_COMPLETED] = { show_step_completed, 0 },
	[EVENT_CALL_WORKFLOW_STARTED] = { show_step_started, 0 },
	[EVENT_CALL_WORKFLOW_COMPLETED] = { show_step_completed, 0 },
	[EVENT_MESSAGE_USER] = { show_user, 1 },
	[EVENT_MESSAGE_ASSISTANT] = { show_assistant, 1 },
	[EVENT_TOOL_CALL] = { show_tool_call, 1 },
	[EVENT_TOOL_RESULT] = { show_tool_result, 1 },
	[EVENT_TYPES] = { show_unknown, 1 },
};

static void
add_time(struct view *v, struct span timestamp)
{
	char text[64] = "--:--:--";
	int64_t wall;
	time_t seconds;
	struct tm local;

	if (span_copy(timestamp, text, sizeof text) && clock_parse(text, 0, &wall) == 0) {
		seconds = (time_t)(wall / 1000000);
		localtime_r(&seconds, &local);
		strftime(text, sizeof text, "%H:%M:%S", &local);
		add(v, "%s.%03d", text, (int)(wall / 1000 % 1000));
	} else {
		add(v, "%-*s", TIME_COLUMNS, "--:--:--");
	}
	mark(v, 0, DIM);
}

/* Cuts the text to the width and puts the colours in. */
static void
paint(struct view *v, struct buffer *out)
{
	struct buffer cut = BUFFER_INIT;
	size_t at = 0, kept;

	text_visible(&cut, buffer_string(&v->text), v->text.len, v->width);
	kept = buffer_equal(&cut, buffer_string(&v->text)) ? cut.len : cut.len - strlen("…");
	for (size_t i = 0; v->colour && i < v->mark_count; i++) {
		struct mark *m = &v->marks[i];
		size_t to = m->to < kept ? m->to : kept;

		if (m->from >= to)
			continue;
		buffer_append(out, cut.data + at, m->from - at);
		buffer_text(out, m->colour);
		buffer_append(out, cut.data + m->from, to - m->from);
		buffer_text(out, VIEW_PLAIN);
		at = to;
	}
	buffer_append(out, cut.data + at, cut.len - at);
	buffer_byte(out, '\n');
	buffer_free(&cut);
}

/* The lines of what a failed call wrote below it. */
static void
add_written(struct view *v, struct span text, size_t indent, struct buffer *out)
{
	char *bytes = span_text(text), *rest = bytes, *line;

	while (rest && *rest != '\0' && (line = strsep(&rest, "\n"))) {
		buffer_clear(&v->text);
		v->mark_count = 0;
		add(v, "%*s| ", (int)indent, "");
		text_visible(&v->text, line, strlen(line), 0);
		mark(v, 0, RED);
		paint(v, out);
	}
	free(bytes);
}

int
view_event(struct view *v, const char *line, size_t len, unsigned depth, struct buffer *out)
{
	struct event_view event;
	const struct shape *shape;
	size_t indent;
	long long item;

	if (event_view(line, len, &event) != 0)
		return -1;
	shape = &shapes[event.type];
	buffer_clear(&v->text);
	v->mark_count = 0;
	v->detailed = false;
	add_time(v, event.timestamp);
	item_names_note(&v->items, &event);
	indent = 1 + 2 * (depth + event_path_depth(event.path) + shape->inside +
	    within_group(&event, &item));
	add(v, "%*s", (int)indent, "");
	shape->show(v, &event);
	details_end(v);
	paint(v, out);
	if (v->errors) {
		add_written(v, span_member(event.payload, KEY_OUTPUT), TIME_COLUMNS + indent, out);
		add_written(v, span_member(event.payload, KEY_STDERR), TIME_COLUMNS + indent, out);
	}
	return 0;
}

void
view_pass_over(struct view *v, const char *line, size_t len)
{
	struct event_view event;
	struct span type;
	int64_t seq;

	if (event_peek(line, len, &seq, &type) == 0 &&
	    item_names_concern(event_type_from_name(type.at, type.len)) &&
	    event_view(line, len, &event) == 0)
		item_names_note(&v->items, &event);
}

void
view_free(struct view *v)
{
	buffer_free(&v->text);
	buffer_free(&v->scratch);
	map_free(&v->waits);
	item_names_free(&v->items);
}
