/*
 * Builds a line of text with marks that say which ranges have which colour; escapes control
 * characters and cuts it to the width while it is plain text; inserts the colours last, so that a
 * cut never leaves a colour on. A table says how each type is shown.
 */
#include "view/view.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/count.h"
#include "base/locale.h"
#include "base/text.h"
#include "json/writer.h"
#include "model/cost.h"
#include "model/model.h"
#include "model/results.h"
#include "storage/attached.h"
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

/* Most columns shown, and most bytes read, of a text. */
#define PREVIEW_COLUMNS 400
#define PREVIEW_BYTES ((size_t)4096)
#define ARGUMENT_COLUMNS 40
#define CHANGED_SHOWN 5
#define TIME_COLUMNS 12
#define SINCE_COLUMNS 8
#define NUMBERED ((size_t)8192) /* number of tool calls at which the numbers of all are forgotten */
#define INDENT_COLUMNS ((size_t)255) /* most columns of indentation */

/* Whether a call is an iteration or branch of a group, such as "refine:0:2/refine:0:1"; *item: the
 * number of the group's call, here 2. depth: number of names in the step's path: a step that has
 * the same name as the step around it would look alike, but its path is longer. */
static bool
is_member(struct span call, unsigned depth, long long *item)
{
	const char *end = call.at + call.len, *last = NULL, *group, *number, *colon;
	unsigned slashes = 0;

	for (const char *at = call.at; at < end; at++) {
		if (*at == '/') {
			slashes++;
			last = at;
		}
	}
	if (last == NULL || slashes < depth)
		return false;
	for (group = last; group > call.at && group[-1] != '/'; group--)
		continue;
	for (number = last; number > group && *number != ':'; number--)
		continue;
	colon = memchr(last + 1, ':', (size_t)(end - last - 1));
	if (*number != ':' || colon == NULL ||
	    strncmp(group, last + 1, (size_t)(colon - last)) != 0)
		return false;
	*item = strtoll(number + 1, NULL, 10);
	return true;
}

/* Whether the event is of an iteration or branch. */
static bool
within_group(const struct event_view *event, long long *item)
{
	struct span call = span_member(event->payload, KEY_CALL);

	return span_type(call) == 's' && is_member(span_of(call.at + 1, call.len - 2),
	    event_path_depth(event->path), item);
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
	unsigned depth = *c->step->path != '\0';
	long long item = 0;
	bool within;

	for (const char *at = c->step->path; *at != '\0'; at++)
		depth += *at == '.';
	within = is_member(span_of(c->id, strlen(c->id)), depth, &item);
	add_label(c->step->path, within, item, c->iteration, out);
}

/* Gives a colour to the text from `from` on. */
static void
view_mark_colour(struct view *v, size_t from, const char *colour)
{
	if (*colour != '\0' && v->mark_count < VIEW_MARKS)
		v->marks[v->mark_count++] = (struct mark){ from, v->text.len, colour };
}

/* Adds a value on one line: a string as its text, anything else as JSON; each run of white space
 * becomes one space. */
static void
add_value(struct view *v, struct span value, size_t width)
{
	struct buffer flat = BUFFER_INIT;
	bool space = true;

	if (span_type(value) == 's') {
		buffer_clear(&v->scratch);
		span_decode(value, &v->scratch);
		value = span_of(buffer_string(&v->scratch), v->scratch.len);
	}
	if (value.len > PREVIEW_BYTES)
		value.len = utf8_whole(value.at, PREVIEW_BYTES);
	for (size_t i = 0; i < value.len; i++) {
		char c = value.at[i];
		bool blank = c == ' ' || (c >= '\t' && c <= '\r');

		if (!blank)
			buffer_byte(&flat, c);
		else if (!space)
			buffer_byte(&flat, ' ');
		space = blank;
	}
	if (flat.len > 0 && flat.data[flat.len - 1] == ' ')
		flat.len--;
	text_visible(&v->text, buffer_string(&flat), flat.len, width);
	buffer_free(&flat);
}

/* A line has its details in one parenthesis, added by view_add_detail() and closed by
 * details_end(). */
static void view_add_detail(struct view *v, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void
view_add_detail(struct view *v, const char *format, ...)
{
	char text[256];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof text, format, list);
	va_end(list);
	buffer_text(&v->text, v->detailed ? ", " : " (");
	buffer_text(&v->text, text);
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
	view_add_detail(v, "%s", before);
	add_value(v, value, ARGUMENT_COLUMNS);
}

static void
detail_duration(struct view *v, struct span payload)
{
	char text[32];
	long long ms;

	if (span_integer(span_member(payload, KEY_DURATION_MS), &ms))
		view_add_detail(v, "%s", duration_text(ms, text, sizeof text));
}

static void
detail_usage(struct view *v, struct span usage)
{
	static const struct { const char *key, *word; } counts[] = {
		{ KEY_INPUT_TOKENS, "in" }, { KEY_OUTPUT_TOKENS, "out" },
	};
	char text[32], money[MONEY_SIZE];
	long long count;

	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		if (span_integer(span_member(usage, counts[i].key), &count))
			view_add_detail(v, "%s %s", count_text(count, text, sizeof text),
			    counts[i].word);
	if (v->cost != NULL && *v->cost != COST_NONE)
		view_add_detail(v, "%s", *v->cost == COST_UNKNOWN ? "$?" :
		    money_text(*v->cost, money));
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
	view_add_detail(v, "%s", size_text((int64_t)bytes, text, sizeof text));
}

/* Adds the size of payload.KEY, which is in the line or in a blob, if it exists. */
static void
detail_size(struct view *v, const struct event_view *event, const char *key)
{
	char pointer[64], text[32];
	long long bytes;

	snprintf(pointer, sizeof pointer, "/" KEY_PAYLOAD "/%s", key);
	for (struct span_walk ref = span_walk(event->refs); !ref.object && span_next(&ref);) {
		if (span_is(span_member(ref.value, KEY_AT), pointer) &&
		    span_integer(span_member(ref.value, KEY_BYTES), &bytes) && bytes >= 0) {
			view_add_detail(v, "%s", size_text(bytes, text, sizeof text));
			return;
		}
	}
	detail_length(v, pointer_find(event->payload, pointer + sizeof "/" KEY_PAYLOAD - 1));
}

static size_t
count_elements(struct span array)
{
	struct span_walk element = span_walk(array);
	size_t count = 0;

	while (!element.object && span_next(&element))
		count++;
	return count;
}

static void
add_preview(struct view *v, struct span value)
{
	details_end(v);
	if (v->untold || !member_set(value) || span_is(value, ""))
		return;
	buffer_text(&v->text, ": ");
	add_value(v, value, PREVIEW_COLUMNS);
}

/* Adds ": CODE: MESSAGE", or the part of it that the error has. */
static void
add_error(struct view *v, struct span error)
{
	struct span message = span_member(error, KEY_MESSAGE);

	if (span_type(error) != 'o' || !member_set(message)) {
		add_preview(v, error);
		return;
	}
	add_preview(v, span_member(error, KEY_CODE));
	add_preview(v, message);
}

/* Adds [SYMBOL] LABEL ITEM WORD; the word has the colour of its meaning. */
static void
add_head(struct view *v, const struct event_view *event, const char *item,
    const struct view_word *word)
{
	size_t from = v->text.len;
	struct buffer label = BUFFER_INIT;

	if (v->symbols) {
		buffer_text(&v->text, word->symbol);
		buffer_byte(&v->text, ' ');
		view_mark_colour(v, from, word->colour);
	}
	view_label(event, &label);
	if (label.len == 0)
		buffer_text(&label, "run");
	text_visible(&v->text, label.data, label.len, ARGUMENT_COLUMNS);
	buffer_text(&v->text, item);
	buffer_byte(&v->text, ' ');
	buffer_free(&label);
	from = v->text.len;
	buffer_text(&v->text, word->text);
	view_mark_colour(v, from, word->colour);
}

static void
show_run_started(struct view *v, const struct event_view *event)
{
	struct span forked = span_member(event->payload, KEY_FORKED_FROM);
	struct span inputs = span_member(event->payload, KEY_INPUTS);
	long long attempt;
	char when[64];
	struct tm local;
	int64_t wall;

	add_head(v, event, "", &view_words[VIEW_STARTED]);
	detail_value(v, "", span_member(event->payload, KEY_NAME));
	/* Later times are relative to this one, or have no date. */
	if (span_copy(event->timestamp, when, sizeof when) && clock_parse(when, 0, &wall) == 0) {
		clock_local(wall, &local);
		strftime(when, sizeof when, v->began != 0 ? "%Y-%m-%d %H:%M:%S" : "%Y-%m-%d", &local);
		view_add_detail(v, "%s", when);
	}
	if (span_integer(span_member(event->payload, KEY_ATTEMPT), &attempt) && attempt > 1)
		view_add_detail(v, "attempt %lld", attempt);
	detail_value(v, "run ", event->run_id);
	detail_value(v, "forked from ", span_type(forked) == 'o' ?
	    span_member(forked, KEY_RUN_ID) : forked);
	add_preview(v, inputs.len > 2 ? inputs : SPAN_NONE);
}

static void
show_run_completed(struct view *v, const struct event_view *event)
{
	struct span status = span_member(event->payload, KEY_STATUS);
	struct view_word word = view_words[told_state_of_end(event)];
	char text[32];
	long long code;

	word.text = "completed";
	add_head(v, event, "", &word);
	if (span_copy(status, text, sizeof text))
		detail_value(v, "", status);
	if (span_integer(span_member(event->payload, KEY_EXIT_CODE), &code) && code != 0)
		view_add_detail(v, "exit %lld", code);
	detail_duration(v, event->payload);
	detail_usage(v, span_member(event->payload, KEY_USAGE));
	add_error(v, span_member(event->payload, KEY_ERROR));
}

/* Adds what a condition asked, and its answer. */
static void
detail_condition(struct view *v, struct span condition)
{
	static const char *const words[] = { KEY_WHEN, KEY_WHILE, KEY_UNTIL };
	struct span outcome = span_member(condition, KEY_OUTCOME);

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (member_set(span_member(condition, words[i])))
			view_add_detail(v, "%s: %s", words[i], !member_set(outcome) ? "no answer" :
			    span_true(outcome) ? "yes" : "no");
}

bool
view_branches(struct span payload, struct buffer *out)
{
	struct span strategy = span_member(payload, KEY_STRATEGY);
	struct span blocks = span_member(payload, KEY_BLOCKS);
	size_t count;

	if (span_type(strategy) != 's' || span_type(blocks) != 'a')
		return false;
	count = count_elements(blocks);
	buffer_append(out, strategy.at + 1, strategy.len - 2);
	buffer_format(out, " of %zu branch%s", count, count == 1 ? "" : "es");
	return true;
}

/* Whether the event's call could not begin because another call waits for a person. */
static bool
is_behind_waiting(const struct view *v, const struct event_view *event)
{
	const struct span parent = event->parent_event_id;

	return parent.at != NULL && map_get(&v->waits, parent.at, parent.len) != NULL;
}

static void
show_step_started(struct view *v, const struct event_view *event)
{
	struct span payload = event->payload;
	struct span block = span_element(span_member(payload, KEY_BLOCKS), 0);
	struct span provider = span_member(payload, KEY_PROVIDER);
	struct span model = span_member(payload, KEY_MODEL);
	struct buffer branches = BUFFER_INIT;

	if (is_behind_waiting(v, event))
		map_put(&v->waits, event->event_id.at, event->event_id.len, 1);
	add_head(v, event, "", &view_words[VIEW_STARTED]);
	detail_value(v, "", span_member(payload, KEY_KIND));
	/* "PROVIDER/MODEL", or whichever is known. */
	detail_value(v, "", member_set(provider) ? provider : model);
	if (member_set(provider) && member_set(model)) {
		buffer_byte(&v->text, '/');
		add_value(v, model, ARGUMENT_COLUMNS);
	}
	detail_value(v, "run ", event->child_run_id);
	detail_condition(v, span_member(payload, KEY_CONDITION));
	if (view_branches(payload, &branches)) {
		view_add_detail(v, "%s", "");
		text_visible(&v->text, branches.data, branches.len, 0);
	} else {
		add_preview(v, span_member(block, KEY_COMMAND));
	}
	add_preview(v, span_path(payload, KEY_QUESTION, KEY_PROMPT, NULL));
	buffer_free(&branches);
}

/* Adds the files that a call changed: "src/a.c +3 -1, b.c, 12 more". */
static void
add_changed(struct view *v, const char *before, struct span payload)
{
	static const struct { const char *key, *sign; } counts[] = {
		{ KEY_ADDED, " +" }, { KEY_REMOVED, " -" },
	};
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
		add_value(v, span_member(file.value, KEY_PATH), ARGUMENT_COLUMNS);
		for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
			if (span_integer(span_member(file.value, counts[i].key), &count))
				buffer_format(&v->text, "%s%lld", counts[i].sign, count);
		if (span_is(span_member(file.value, KEY_CHANGE), "deleted"))
			buffer_text(&v->text, " deleted");
	}
	if (more > 0)
		buffer_format(&v->text, ", %lld more", more);
}

static void
show_step_completed(struct view *v, const struct event_view *event)
{
	struct span payload = event->payload, error = span_member(payload, KEY_ERROR);
	struct span skipped = span_member(payload, KEY_SKIPPED);
	struct span outcome = span_member(payload, KEY_OUTCOME);
	struct span approval = span_member(payload, KEY_APPROVAL);
	struct span by = span_member(approval, KEY_BY);
	const enum view_saying ended = told_state_of_end(event);
	/* Earlier versions recorded only that the call was skipped. */
	const bool behind = member_set(skipped) && (ended == VIEW_WAITING ||
	    (is_behind_waiting(v, event) && span_is(skipped, "upstream_failed")));
	const char *member = result_member(payload), *item = "";
	struct buffer text = BUFFER_INIT;
	long long lines = 0, of_group;
	size_t retries;
	char pointer[64];
	struct span result;

	if (ended == VIEW_WAITING)
		map_put(&v->waits, event->event_id.at, event->event_id.len, 1);
	/* Name the item only if something other than success is reported. */
	if ((ended == VIEW_FAILED || ended == VIEW_CANCELLED || ended == VIEW_WAITING) && !behind &&
	    event->iteration != 0 &&
	    !within_group(event, &of_group))
		item = item_names_find(&v->items, event);
	add_head(v, event, item, &view_words[behind ? VIEW_WAITING : ended]);
	add_changed(v, ", changed ", payload);
	detail_duration(v, payload);

	/* Its output: a value; or the state lines of a child run: one is shown like a value, of
	 * several the number and size. */
	snprintf(pointer, sizeof pointer, "/%s", member);
	result = pointer_find(payload, pointer);
	if (event->type == EVENT_CALL_WORKFLOW_COMPLETED)
		lines = result_lines(result, &text, &result);
	if (lines == 1)
		member = NULL;
	else if (lines == 0 && !span_integer(span_member(payload, KEY_COUNT), &lines))
		lines = 1;
	if (lines != 1)
		view_add_detail(v, "%lld lines", lines);
	if (member != NULL)
		detail_size(v, event, member);
	else
		detail_length(v, result);

	detail_condition(v, span_member(payload, KEY_CONDITION));
	if (span_true(span_member(payload, KEY_FAIL_FAST)))
		view_add_detail(v, "no further item is begun (--fail-fast)");
	if ((retries = count_elements(span_member(payload, KEY_RETRIES))) > 0)
		view_add_detail(v, "%zu %s", retries, retries == 1 ? "retry" : "retries");
	detail_value(v, "run ", event->child_run_id);
	/* "approved by NAME"; and, for a call that waits, its deadline. The message of a failure
	 * contains this already. */
	if (ended != VIEW_FAILED && ended != VIEW_CANCELLED && member_set(by)) {
		detail_value(v, "", span_member(approval, KEY_DECISION));
		buffer_text(&v->text, " by ");
		add_value(v, by, ARGUMENT_COLUMNS);
	}
	detail_value(v, "until ", span_member(approval, KEY_DEADLINE));

	if (member_set(error)) {
		add_error(v, error);
	} else if (behind) {
		/* It was not skipped for good: it begins when the call that waits has ended. */
		details_end(v);
		buffer_text(&v->text, ": " VIEW_BEHIND);
	} else if (span_type(skipped) == 's') {
		add_preview(v, skipped);
	} else if (member_set(outcome)) {
		add_preview(v, outcome);
		add_preview(v, span_member(payload, KEY_REASON));
	} else if (lines == 1) {
		add_preview(v, result);
	}
	buffer_free(&text);
}

/* A call waits, and its process with it. */
static void
show_step_waiting(struct view *v, const struct event_view *event)
{
	struct span approval = span_member(event->payload, KEY_APPROVAL);
	const char *item = event->iteration != 0 ? item_names_find(&v->items, event) : "";

	add_head(v, event, item, &view_words[VIEW_WAITING]);
	detail_value(v, "until ", span_member(approval, KEY_DEADLINE));
	details_end(v);
	buffer_format(&v->text, ": %s", waiting_words(waiting_of(event)));
}

void
view_tool_content(struct span content, struct buffer *out)
{
	bool parts = span_type(content) == 'a';

	for (struct span_walk part = span_walk(content); parts && span_next(&part);)
		parts = span_type(span_member(part.value, KEY_TYPE)) == 's';
	if (!parts) {
		span_plain(content, out);
		return;
	}
	for (struct span_walk part = span_walk(content); span_next(&part);) {
		struct span text = span_member(part.value, KEY_TEXT);

		if (out->len > 0)
			buffer_byte(out, '\n');
		if (span_type(text) == 's') {
			span_decode(text, out);
		} else {
			buffer_byte(out, '[');
			span_decode(span_member(part.value, KEY_TYPE), out);
			buffer_byte(out, ']');
		}
	}
}

/* Adds the results of tools in a message for a model, if there is nothing else to show. */
static void
add_tool_contents(struct view *v, struct span blocks)
{
	for (struct span_walk block = span_walk(blocks); span_next(&block);) {
		struct span content = span_member(block.value, KEY_TOOL_CONTENT);
		struct buffer text = BUFFER_INIT;

		if (!member_set(content))
			continue;
		view_tool_content(content, &text);
		buffer_text(&v->text, ": ");
		text_visible(&v->text, buffer_string(&text), text.len, PREVIEW_COLUMNS);
		buffer_free(&text);
	}
}

/* Adds the text of a message: its attachments and texts, else the tools that it calls, else its
 * thinking, else results of tools. */
static void
add_blocks(struct view *v, struct span payload)
{
	static const char *const texts[] = { KEY_TEXT, KEY_TOOL_NAME, KEY_THINKING };
	struct span blocks = span_member(payload, KEY_BLOCKS);
	bool any = false, said = false;

	details_end(v);
	if (v->untold || span_type(blocks) != 'a')
		return;
	for (struct span_walk block = span_walk(blocks); span_next(&block);) {
		struct buffer label = BUFFER_INIT;

		if (attached_text(block.value, &label)) {
			buffer_text(&v->text, any ? " " : ": ");
			text_visible(&v->text, label.data, label.len, PREVIEW_COLUMNS);
			any = true;
		}
		buffer_free(&label);
	}
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
	if (!any)
		add_tool_contents(v, blocks);
}

static void
show_user(struct view *v, const struct event_view *event)
{
	add_head(v, event, "", &view_words[VIEW_USER]);
	detail_value(v, "to ", span_path(event->payload, KEY_HANDOFF, KEY_TO, NULL));
	if (member_set(span_member(event->payload, KEY_BEFORE_TURN)))
		view_add_detail(v, "before_turn");
	detail_value(v, "told by ", span_path(event->payload, KEY_TOLD, KEY_BY, NULL));
	add_blocks(v, event->payload);
}

/* "waiting for anthropic: 4 of 4 calls under way", "asked anthropic after 5.2s" */
static void
show_wait(struct view *v, const struct event_view *event)
{
	const struct span payload = event->payload, wait = span_member(payload, KEY_WAIT);
	long long ms = 0;
	char text[32];

	if (span_type(span_member(wait, KEY_REASON)) == 's') {
		span_integer(span_member(payload, KEY_DELAY_MS), &ms);
		add_head(v, event, "", &(struct view_word){ "", view_words[VIEW_WAITING].symbol,
			view_words[VIEW_WAITING].colour });
		call_wait_text(wait, ms, &v->text);
	} else {
		span_integer(span_member(payload, KEY_DURATION_MS), &ms);
		add_head(v, event, "", &(struct view_word){ "", view_words[VIEW_USER].symbol,
			view_words[VIEW_USER].colour });
		buffer_text(&v->text, "asks ");
		add_value(v, span_member(wait, KEY_PROVIDER), ARGUMENT_COLUMNS);
		buffer_format(&v->text, " after %s", duration_text(ms, text, sizeof text));
	}
}

static void
show_assistant(struct view *v, const struct event_view *event)
{
	struct span payload = event->payload, retry = span_member(payload, KEY_RETRY);
	struct span error = span_member(payload, KEY_ERROR);
	struct span reason = span_member(payload, KEY_STOP_REASON);
	long long next = 0, of = 0, delay = 0;

	/* "HTTP 429, try 2 of 3 in 2 s" */
	if (event_tells_retry(event)) {
		add_head(v, event, "", &view_words[VIEW_RETRY]);
		buffer_text(&v->text, ": ");
		add_value(v, span_member(retry, KEY_MESSAGE), PREVIEW_COLUMNS);
		span_integer(span_member(retry, KEY_TRY), &next);
		span_integer(span_member(retry, KEY_OF), &of);
		span_integer(span_member(payload, KEY_DELAY_MS), &delay);
		call_retry_text(next, of, delay, &v->text);
		return;
	}
	if (event_tells_wait(event)) {
		show_wait(v, event);
		return;
	}
	add_head(v, event, "", &view_words[member_set(error) ? VIEW_FAILED : VIEW_ASSISTANT]);
	detail_duration(v, payload);
	/* Who answered in place of the agent's model. */
	if (member_set(span_member(payload, KEY_FALLBACK))) {
		detail_value(v, "fallback ", span_member(payload, KEY_PROVIDER));
		buffer_byte(&v->text, '/');
		add_value(v, span_member(payload, KEY_MODEL), ARGUMENT_COLUMNS);
	}
	detail_usage(v, span_member(payload, KEY_USAGE));
	/* If the answer failed, its error says more than the reason for its end. */
	if (!span_is(reason, "end_turn") && !member_set(error))
		detail_value(v, "", reason);
	if (span_true(span_member(payload, KEY_PARTIAL)) && !member_set(error))
		view_add_detail(v, "cut off");
	add_blocks(v, payload);
	if (member_set(error))
		add_error(v, error);
}

/* If one answer calls several tools, they run at the same time, so their calls are numbered. */
static void
note_tools(struct view *v, const struct event_view *event)
{
	struct span id = event->event_id, parent = event->parent_event_id;
	struct span blocks = span_member(event->payload, KEY_BLOCKS);
	const size_t *count;
	size_t tools = 0;

	if (event->type == EVENT_MESSAGE_ASSISTANT && span_type(id) == 's' && span_type(blocks) == 'a') {
		for (struct span_walk block = span_walk(blocks); span_next(&block);)
			tools += member_set(span_member(block.value, KEY_TOOL_NAME));
		if (tools > 1)
			map_put(&v->several, id.at, id.len, 0);
	} else if (event->type == EVENT_TOOL_CALL && span_type(id) == 's' && span_type(parent) == 's' &&
	    (count = map_get(&v->several, parent.at, parent.len)) != NULL) {
		const size_t number = *count + 1;

		if (v->numbers.count >= NUMBERED) {
			map_free(&v->numbers);
			map_free(&v->several);
			v->numbers = v->several = (struct map)MAP_INIT;
		}
		map_put(&v->several, parent.at, parent.len, number);
		map_put(&v->numbers, id.at, id.len, number);
	}
}

/* Adds the name of the called tool, " search", with a number, " search #2", if one answer calls
 * several. */
static void
add_tool_name(struct view *v, const struct event_view *event)
{
	struct span name = span_member(event->payload, KEY_NAME);
	struct span call = event->type == EVENT_TOOL_CALL ? event->event_id : event->parent_event_id;
	const size_t *number = call.at != NULL ? map_get(&v->numbers, call.at, call.len) : NULL;

	if (member_set(name)) {
		buffer_byte(&v->text, ' ');
		add_value(v, name, ARGUMENT_COLUMNS);
	}
	if (number != NULL)
		buffer_format(&v->text, " #%zu", *number);
}

/* Adds the arguments of a tool as key="text" key=1, each cut to its share of the width; values are
 * written as JSON, so only texts have quotes. */
static void
show_tool_call(struct view *v, const struct event_view *event)
{
	struct span input = span_member(event->payload, KEY_INPUT);
	struct span_walk member = span_walk(input);
	size_t count = 0, width = ARGUMENT_COLUMNS;

	add_head(v, event, "", &view_words[VIEW_CALL]);
	add_tool_name(v, event);
	if (v->untold || span_type(input) != 'o') {
		add_preview(v, input);
		return;
	}
	for (struct span_walk each = member; span_next(&each);)
		count++;
	if (count > 0 && v->width / count > width)
		width = v->width / count;
	for (bool first = true; span_next(&member); first = false) {
		struct buffer quoted = BUFFER_INIT, *text = &v->scratch;

		buffer_text(&v->text, first ? ": " : " ");
		add_value(v, member.key, ARGUMENT_COLUMNS);
		buffer_byte(&v->text, '=');
		if (span_type(member.value) != 's') {
			add_value(v, member.value, width);
			continue;
		}
		buffer_clear(text);
		span_decode(member.value, text);
		json_quote(&quoted, buffer_string(text), utf8_whole(buffer_string(text),
		    text->len < PREVIEW_BYTES ? text->len : PREVIEW_BYTES));
		text_visible(&v->text, quoted.data, quoted.len, width);
		buffer_free(&quoted);
	}
}

static void
show_tool_result(struct view *v, const struct event_view *event)
{
	struct span error = span_member(event->payload, KEY_ERROR);
	struct span output = span_member(event->payload, KEY_OUTPUT);
	struct buffer words = BUFFER_INIT, quoted = BUFFER_INIT;

	add_head(v, event, "", &view_words[member_set(error) ? VIEW_FAILED : VIEW_RESULT]);
	add_tool_name(v, event);
	add_changed(v, " ", event->payload);
	detail_duration(v, event->payload);
	detail_size(v, event, KEY_OUTPUT);
	if (attached_output(output, event->refs, &words)) {
		json_quote(&quoted, buffer_string(&words), words.len);
		output = span_of(quoted.data, quoted.len);
	}
	if (member_set(error))
		add_error(v, error);
	else
		add_preview(v, output);
	buffer_free(&quoted);
	buffer_free(&words);
}

/* Shows an event of unknown type: its name and payload as they are; for an event of another
 * program, its text for people if it has one. */
static void
show_unknown(struct view *v, const struct event_view *event)
{
	struct span told = event->payload, message;

	if (event_is_foreign(event->told, event->payload)) {
		told = span_member(event->payload, KEY_DATA);
		message = span_member(told, KEY_MESSAGE);
		told = span_type(message) == 's' ? message : told;
	}
	add_head(v, event, "", &(struct view_word){ "", "·", "" });
	add_value(v, event->type_name, ARGUMENT_COLUMNS);
	add_preview(v, told);
}

static const struct shape {
	void (*show)(struct view *, const struct event_view *);
	unsigned inside; /* 1: one level deeper than its call */
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
	[EVENT_STEP_WAITING] = { show_step_waiting, 0 },
	[EVENT_TYPES] = { show_unknown, 1 },
};

/* Cuts the text to the width and inserts the colours. */
static void
view_write_coloured(struct view *v, struct buffer *out)
{
	struct buffer cut = BUFFER_INIT;
	const size_t begin = out->len;
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
	locale_draw(out, begin);
	buffer_free(&cut);
}

/* Adds the lines that a failed call wrote to stderr, below its line. */
static void
add_written(struct view *v, struct span text, size_t indent, struct buffer *out)
{
	char *bytes = span_text(text), *rest = bytes, *line;

	while (rest && *rest != '\0' && (line = strsep(&rest, "\n"))) {
		buffer_clear(&v->text);
		v->mark_count = 0;
		buffer_format(&v->text, "%*s| ", (int)indent, "");
		text_visible(&v->text, line, strlen(line), 0);
		view_mark_colour(v, 0, RED);
		view_write_coloured(v, out);
	}
	free(bytes);
}

/* Adds the time in seconds since the start, " 12.345"; for long runs " 1:02:03" or " 2d04h". */
static void
add_since(struct view *v, int64_t ms)
{
	char text[32];

	if (ms < 1000000)
		snprintf(text, sizeof text, "%d.%03d", (int)(ms / 1000), (int)(ms % 1000));
	else if (ms < INT64_C(360000000))
		snprintf(text, sizeof text, "%d:%02d:%02d", (int)(ms / 3600000), (int)(ms / 60000 % 60),
		    (int)(ms / 1000 % 60));
	else
		snprintf(text, sizeof text, "%lldd%02dh", (long long)(ms / 86400000), (int)(ms / 3600000 % 24));
	buffer_format(&v->text, "%*s", SINCE_COLUMNS, text);
}

/* Adds the time since the start if that is known, else the time of day. Returns its number of
 * columns. */
static size_t
add_time(struct view *v, const struct event_view *event)
{
	char time[64];
	struct tm local;
	int64_t wall;
	int ms;

	if (!span_copy(event->timestamp, time, sizeof time) || clock_parse(time, 0, &wall) != 0) {
		buffer_format(&v->text, "%-*s", v->began != 0 ? SINCE_COLUMNS : TIME_COLUMNS, "--:--:--");
	} else if (v->began != 0) {
		add_since(v, wall > v->began ? (wall - v->began) / 1000 : 0);
	} else {
		ms = clock_local(wall, &local);
		strftime(time, sizeof time, "%H:%M:%S", &local);
		buffer_format(&v->text, "%s.%03d", time, ms);
	}
	return v->text.len;
}

int
view_event(struct view *v, const char *line, size_t len, unsigned depth, struct buffer *out)
{
	struct event_view event;
	const struct shape *shape;
	size_t indent, time_columns;
	long long item;

	if (event_view(line, len, &event) != 0)
		return -1;
	shape = &shapes[event.told];
	buffer_clear(&v->text);
	v->mark_count = 0;
	v->detailed = false;

	time_columns = add_time(v, &event);
	view_mark_colour(v, 0, DIM);

	item_names_note(&v->items, &event);
	note_tools(v, &event);
	indent = 1 + 2 * (depth + event_path_depth(event.path) + shape->inside +
	    within_group(&event, &item));
	if (indent > INDENT_COLUMNS)
		indent = INDENT_COLUMNS;
	buffer_format(&v->text, "%*s", (int)indent, "");
	shape->show(v, &event);
	details_end(v);
	view_write_coloured(v, out);
	if (v->errors) {
		add_written(v, span_member(event.payload, KEY_OUTPUT), time_columns + indent, out);
		add_written(v, span_member(event.payload, KEY_STDERR), time_columns + indent, out);
	}
	return 0;
}

void
view_pass_over(struct view *v, const struct event_head *head, const char *line, size_t len)
{
	struct event_view event;

	if (!item_names_concern(head->type) && head->type != EVENT_MESSAGE_ASSISTANT &&
	    head->type != EVENT_TOOL_CALL)
		return;
	if (event_view(line, len, &event) != 0)
		return;
	item_names_note(&v->items, &event);
	note_tools(v, &event);
}

void
view_free(struct view *v)
{
	buffer_free(&v->text);
	buffer_free(&v->scratch);
	map_free(&v->waits);
	map_free(&v->several);
	map_free(&v->numbers);
	item_names_free(&v->items);
}
