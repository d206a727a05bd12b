/* Causes of one step that are alike are told once: a script that changed has changed for all items. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/line_diff.h"
#include "base/list.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/text.h"
#include "diff/report.h"
#include "diff/value.h"
#include "model/excerpt.h"
#include "model/told_state.h"
#include "storage/storage.h"
#include "transcript/event_keys.h"

#define LINES_MOST 12      /* of a text that differs */
#define WORDS_MOST 400     /* bytes of a line in which words are compared */
#define INDENT "      "
#define RED "\033[31m"
#define GREEN "\033[32m"
#define YELLOW "\033[33m"
#define DIM "\033[2m"
#define PLAIN "\033[0m"

/* Causes that are told as one. */
struct told {
	const struct diff_pair *pair;   /* the first */
	size_t count;
};

struct telling {
	const struct diff_report *report;
	struct buffer *out;
	struct told_list {
		struct told *list;
		size_t count;
		struct map places;      /* by what they are alike in */
	} causes, follows;
	struct diff_counts counts;
};

static void
diff_colour(const struct telling *t, const char *colour)
{
	if (t->report->colour)
		buffer_text(t->out, colour);
}

/* ---- texts ---- */

static void
diff_text_line(void *user, char sign, const char *line, size_t len, bool lf)
{
	struct telling *t = user;

	(void)lf;
	if (sign == '=')
		return;
	buffer_text(t->out, INDENT);
	diff_colour(t, sign == '-' ? RED : GREEN);
	buffer_byte(t->out, sign);
	text_visible(t->out, line, len, 200);
	diff_colour(t, PLAIN);
	buffer_byte(t->out, '\n');
}

/* Lines that are in one of two texts alone. */
static void
diff_text_lines(struct telling *t, const struct buffer *a, const struct buffer *b)
{
	struct line_hunk hunk = LINE_HUNK_INIT;
	struct line_diff diff;
	size_t told = 0, all;

	line_diff_begin(&diff, buffer_string(a), a->len, buffer_string(b), b->len, false);
	all = diff.removed + diff.added;
	while (told < LINES_MOST && line_diff_next_hunk(&diff, 0, &hunk)) {
		line_diff_hunk_lines(&diff, &hunk, diff_text_line, t);
		told += hunk.old_count + hunk.now_count;
	}
	if (told < all)
		buffer_format(t->out, INDENT "(%zu more lines differ)\n", all - told);
	line_diff_free(&diff);
}

/* A line of words becomes a word in each line: spaces stay with the word before them. */
static void
diff_text_words(const struct buffer *text, struct buffer *out)
{
	for (size_t i = 0; i < text->len; i++) {
		buffer_byte(out, text->data[i]);
		if (text->data[i] == ' ' && (i + 1 == text->len || text->data[i + 1] != ' '))
			buffer_byte(out, '\n');
	}
	buffer_byte(out, '\n');
}

static void
diff_text_word(void *user, char sign, const char *word, size_t len, bool lf)
{
	struct telling *t = user;

	(void)lf;
	if (sign != '=')
		diff_colour(t, sign == '-' ? RED : GREEN);
	buffer_text(t->out, sign == '-' ? "[-" : sign == '+' ? "{+" : "");
	text_visible(t->out, word, len, 0);
	buffer_text(t->out, sign == '-' ? "-]" : sign == '+' ? "+}" : "");
	if (sign != '=')
		diff_colour(t, PLAIN);
}

/* Words that are in one of two lines alone, among the others. */
static void
diff_text_line_words(struct telling *t, const struct buffer *a, const struct buffer *b)
{
	struct buffer one = BUFFER_INIT, other = BUFFER_INIT;
	struct line_hunk hunk = LINE_HUNK_INIT;
	struct line_diff diff;

	diff_text_words(a, &one);
	diff_text_words(b, &other);
	line_diff_begin(&diff, one.data, one.len, other.data, other.len, false);
	buffer_text(t->out, INDENT);
	while (line_diff_next_hunk(&diff, WORDS_MOST, &hunk))
		line_diff_hunk_lines(&diff, &hunk, diff_text_word, t);
	buffer_byte(t->out, '\n');
	line_diff_free(&diff);
	buffer_free(&one);
	buffer_free(&other);
}

static void
diff_texts(struct telling *t, struct buffer *a, struct buffer *b)
{
	const bool lines = memchr(buffer_string(a), '\n', a->len) != NULL || memchr(buffer_string(b), '\n', b->len) != NULL;

	if (!lines && a->len > 0 && b->len > 0 && a->len <= WORDS_MOST && b->len <= WORDS_MOST &&
	    memchr(a->data, ' ', a->len) != NULL)
		diff_text_line_words(t, a, b);
	else
		diff_text_lines(t, a, b);
	buffer_clear(a);
	buffer_clear(b);
}

/* ---- one pair ---- */

static void
diff_label(const struct diff_call *c, struct buffer *out)
{
	text_visible(out, c->path, strlen(c->path), 0);
	if (c->item > 0 || diff_call_is_part(c))
		buffer_format(out, "[%" PRId64 "]", c->item);
	else if (c->occurrence > 0)
		buffer_format(out, " (%" PRId64 ")", c->occurrence + 1);
}

/* What the item of a call was, as far as it is recorded with it. */
static void
diff_item_data(const struct diff_call *c, struct buffer *out)
{
	struct buffer text = BUFFER_INIT, shown = BUFFER_INIT;

	diff_call_value(c, c->places.begin, KEY_INPUT, &text);
	if (text.len > 0) {
		excerpt_text(&shown, text.data, text.len, 40);
		buffer_text(out, " (");
		text_visible(out, buffer_string(&shown), shown.len, 0);
		buffer_byte(out, ')');
	}
	buffer_free(&text);
	buffer_free(&shown);
}

static const struct diff_file *
diff_file_find(const struct diff_call *c, const char *path)
{
	for (size_t i = 0; i < c->file_count; i++)
		if (strcmp(c->files[i].path, path) == 0)
			return &c->files[i];
	return NULL;
}

/* The part of a path after the last directory but one, which is enough to know a file by. */
static const char *
diff_file_short(const char *path)
{
	const char *last = strrchr(path, '/'), *at;

	for (at = last; at != NULL && at > path && at[-1] != '/'; at--)
		;
	return last == NULL || at == path ? path : at;
}

static void
diff_tell_files(struct telling *t, const struct diff_call *a, const struct diff_call *b)
{
	for (size_t i = 0; i < b->file_count; i++) {
		const struct diff_file *was = diff_file_find(a, b->files[i].path);

		if (was == NULL || strcmp(was->sha256, b->files[i].sha256) != 0)
			buffer_format(t->out, INDENT "file       %s%s\n", diff_file_short(b->files[i].path),
			    was == NULL ? " (new)" : "");
	}
	for (size_t i = 0; i < a->file_count; i++)
		if (diff_file_find(b, a->files[i].path) == NULL)
			buffer_format(t->out, INDENT "file       %s (gone)\n", diff_file_short(a->files[i].path));
}

/* The commands of a call: a group has several, each in a line. */
static void
diff_commands(const struct diff_call *c, struct buffer *out)
{
	struct buffer blocks = BUFFER_INIT;

	diff_call_value(c, c->places.begin, KEY_BLOCKS, &blocks);
	for (struct span_walk block = span_walk(span_of(buffer_string(&blocks), blocks.len)); span_next(&block);) {
		if (out->len > 0)
			buffer_byte(out, '\n');
		span_decode(span_member(block.value, KEY_COMMAND), out);
	}
	buffer_free(&blocks);
}

static void
diff_prompt(const struct diff_call *c, struct buffer *out)
{
	diff_call_value(c, c->places.asked, KEY_SYSTEM_PROMPT, out);
}

static void
diff_tell_texts(struct telling *t, const struct diff_pair *pair,
    void (*read)(const struct diff_call *c, struct buffer *out))
{
	struct buffer one = BUFFER_INIT, other = BUFFER_INIT;

	read(pair->a, &one);
	read(pair->b, &other);
	if (one.len != other.len || (one.len > 0 && memcmp(one.data, other.data, one.len) != 0))
		diff_texts(t, &one, &other);
	buffer_free(&one);
	buffer_free(&other);
}

/* A member of the start of a call that is another. */
static void
diff_tell_member(struct telling *t, const struct diff_pair *pair, const char *member)
{
	struct buffer one = BUFFER_INIT, other = BUFFER_INIT;

	diff_call_value(pair->a, pair->a->places.begin, member, &one);
	diff_call_value(pair->b, pair->b->places.begin, member, &other);
	if (!buffer_equal(&one, buffer_string(&other))) {
		buffer_format(t->out, INDENT "%-10s ", member);
		text_visible(t->out, one.len > 0 ? one.data : "none", one.len > 0 ? one.len : 4, EXCERPT_BYTES);
		buffer_text(t->out, " -> ");
		text_visible(t->out, other.len > 0 ? other.data : "none", other.len > 0 ? other.len : 4, EXCERPT_BYTES);
		buffer_byte(t->out, '\n');
	}
	buffer_free(&one);
	buffer_free(&other);
}

static void
diff_tell_definition(struct telling *t, const struct diff_pair *pair)
{
	static const char *const members[] = {
		KEY_LOOP, KEY_STRATEGY, KEY_TIMEOUT_MS, KEY_CONDITION, KEY_SANDBOX, KEY_NETWORK, KEY_VIA
	};

	diff_tell_files(t, pair->a, pair->b);
	diff_tell_texts(t, pair, diff_commands);
	diff_tell_texts(t, pair, diff_prompt);
	for (size_t i = 0; i < sizeof members / sizeof *members; i++)
		diff_tell_member(t, pair, members[i]);
}

/* How often each tool was called: "word_count x2". */
static void
diff_tools_count(const struct diff_call *c, struct buffer *out)
{
	for (size_t i = 0; i < c->tool_count; i++) {
		size_t count = 0;
		bool before = false;

		for (size_t j = 0; j < c->tool_count; j++) {
			const bool equal = strcmp(c->tools[i].name, c->tools[j].name) == 0;

			count += equal;
			before |= equal && j < i;
		}
		if (before)
			continue;
		buffer_text(out, out->len > 0 ? ", " : "");
		buffer_text(out, c->tools[i].name);
		if (count > 1)
			buffer_format(out, " x%zu", count);
	}
	if (out->len == 0)
		buffer_text(out, "none");
}

static bool
diff_tool_among(const struct diff_tool *tool, const struct diff_call *c)
{
	for (size_t i = 0; i < c->tool_count; i++)
		if (strcmp(c->tools[i].name, tool->name) == 0 && diff_keys_equal(c->tools[i].input, tool->input))
			return true;
	return false;
}

/* Tool calls that one side alone has. */
static void
diff_tell_tools_of(struct telling *t, char sign, const struct diff_call *c, const struct diff_call *other)
{
	struct buffer input = BUFFER_INIT, shown = BUFFER_INIT;

	for (size_t i = 0; i < c->tool_count; i++) {
		if (diff_tool_among(&c->tools[i], other))
			continue;
		buffer_clear(&input);
		buffer_clear(&shown);
		diff_call_value(c, c->tools[i].place, KEY_INPUT, &input);
		buffer_format(&shown, "%s ", c->tools[i].name);
		excerpt_text(&shown, buffer_string(&input), input.len, EXCERPT_BYTES);
		diff_text_line(t, sign, shown.data, shown.len, true);
	}
	buffer_free(&input);
	buffer_free(&shown);
}

static void
diff_tell_tools(struct telling *t, const struct diff_call *a, const struct diff_call *b)
{
	struct buffer one = BUFFER_INIT, other = BUFFER_INIT;

	diff_tools_count(a, &one);
	diff_tools_count(b, &other);
	buffer_text(t->out, INDENT "tools      ");
	text_visible(t->out, one.data, one.len, 0);
	if (buffer_equal(&one, buffer_string(&other))) {
		buffer_text(t->out, ", with other arguments or in another order");
	} else {
		buffer_text(t->out, " -> ");
		text_visible(t->out, other.data, other.len, 0);
	}
	buffer_byte(t->out, '\n');
	diff_tell_tools_of(t, '-', a, b);
	diff_tell_tools_of(t, '+', b, a);
	buffer_free(&one);
	buffer_free(&other);
}

/* How a call ended, with its error. */
static void
diff_tell_end(const struct diff_call *c, struct buffer *out)
{
	static const char *const states[] = {
		[CALL_OPEN] = "not ended", [CALL_SUCCEEDED] = "success", [CALL_FAILED] = "failed",
		[CALL_SKIPPED] = "skipped", [CALL_CLOSED] = "closed", [CALL_WAITING] = "waiting"
	};
	struct buffer message = BUFFER_INIT, shown = BUFFER_INIT;

	buffer_text(out, states[c->state]);
	diff_call_value(c, c->places.end, "/error/message", &message);
	if (message.len > 0) {
		excerpt_text(&shown, message.data, message.len, EXCERPT_BYTES);
		buffer_text(out, " (");
		text_visible(out, shown.data, shown.len, 0);
		buffer_byte(out, ')');
	}
	buffer_free(&message);
	buffer_free(&shown);
}

static void
diff_tell_result(struct telling *t, const struct diff_call *a, const struct diff_call *b)
{
	struct buffer one = BUFFER_INIT, other = BUFFER_INIT;

	diff_call_result(a, &one);
	diff_call_result(b, &other);
	buffer_text(t->out, INDENT "result\n");
	diff_texts(t, &one, &other);
	buffer_free(&one);
	buffer_free(&other);
}

static void
diff_tell_differences(struct telling *t, const struct diff_pair *pair)
{
	const struct diff_call *a = pair->a, *b = pair->b;

	if (pair->what & DIFF_DEFINITION)
		diff_tell_definition(t, pair);
	if (pair->what & DIFF_MODEL)
		buffer_format(t->out, INDENT "model      %s%s%s -> %s%s%s\n", a->provider, *a->model != '\0' ? "/" : "",
		    a->model, b->provider, *b->model != '\0' ? "/" : "", b->model);
	if (pair->what & DIFF_STATUS) {
		buffer_text(t->out, INDENT "status     ");
		diff_tell_end(a, t->out);
		buffer_text(t->out, " -> ");
		diff_tell_end(b, t->out);
		buffer_byte(t->out, '\n');
	}
	if (pair->what & DIFF_TOOLS)
		diff_tell_tools(t, a, b);
	if (pair->what & DIFF_TOKENS)
		buffer_format(t->out, INDENT "tokens     %" PRId64 " in, %" PRId64 " out -> %" PRId64 " in, %" PRId64
		    " out\n", a->own.input_tokens, a->own.output_tokens, b->own.input_tokens, b->own.output_tokens);
	if (pair->what & DIFF_RETRIES)
		buffer_format(t->out, INDENT "retries    %" PRId64 " -> %" PRId64 "\n", a->own.retries, b->own.retries);
	if (pair->what & DIFF_TIME)
		buffer_format(t->out, INDENT "time       %" PRId64 " ms -> %" PRId64 " ms\n", a->own.ms, b->own.ms);
	/* What a group gave is told with the calls inside it; a call that failed gave nothing. */
	if (pair->what & DIFF_RESULT && !(pair->what & (DIFF_INSIDE | DIFF_STATUS)))
		diff_tell_result(t, a, b);
}

/* ---- all of them ---- */

/* Adds a pair to a list of those that are alike. */
static void
diff_told_add(struct told_list *told, const struct buffer *alike, const struct diff_pair *pair)
{
	const size_t *at = map_get(&told->places, alike->data, alike->len);

	if (at != NULL && told->list != NULL) {
		told->list[*at].count++;
		return;
	}
	map_put(&told->places, alike->data, alike->len, told->count);
	told->list = memory_array(told->list, told->count + 1, sizeof *told->list);
	told->list[told->count++] = (struct told){ pair, 1 };
}

static void
diff_telling_collect(struct telling *t, const struct diff_pair *around)
{
	struct buffer alike = BUFFER_INIT;

	for (const struct diff_pair *pair = around->inside; pair != NULL; pair = pair->beside) {
		const struct diff_call *c = diff_pair_call(pair);

		if (diff_report_has(t->report, pair)) {
			t->counts.kinds[pair->kind]++;
			buffer_clear(&alike);
			buffer_format(&alike, "%s\n%d\n", c->path, pair->kind);
			if (pair->kind == DIFF_FOLLOWS || pair->kind == DIFF_MOVED) {
				diff_told_add(&t->follows, &alike, pair);
			} else if (diff_pair_causes(pair)) {
				/* What differs is the same if definitions are what makes the difference. */
				if (pair->kind == DIFF_CHANGED && pair->what & DIFF_DEFINITION) {
					buffer_append(&alike, &pair->a->keys.definition, sizeof pair->a->keys.definition);
					buffer_append(&alike, &pair->b->keys.definition, sizeof pair->b->keys.definition);
				} else {
					buffer_append(&alike, &pair, sizeof pair);
				}
				diff_told_add(&t->causes, &alike, pair);
			}
		}
		diff_telling_collect(t, pair);
	}
	buffer_free(&alike);
}

static void
diff_tell_cause(struct telling *t, const struct told *told)
{
	const struct diff_pair *pair = told->pair;
	const struct diff_call *c = diff_pair_call(pair);

	diff_colour(t, pair->kind == DIFF_GONE ? RED : pair->kind == DIFF_NEW ? GREEN : YELLOW);
	buffer_text(t->out, pair->kind == DIFF_GONE ? "- " : pair->kind == DIFF_NEW ? "+ " :
	    pair->kind == DIFF_RENAMED ? "= " : "! ");
	diff_label(c, t->out);
	diff_colour(t, PLAIN);
	if (pair->kind == DIFF_RENAMED) {
		buffer_text(t->out, " is ");
		diff_label(pair->b, t->out);
	} else if (pair->kind == DIFF_GONE || pair->kind == DIFF_NEW) {
		diff_item_data(c, t->out);
	} else if (!(pair->what & (DIFF_DEFINITION | DIFF_MODEL))) {
		buffer_text(t->out, pair->what & DIFF_STATUS ? "   ended otherwise on the same input" :
		    pair->what & DIFF_RESULT ? "   gave something else for the same input" :
		    "   did otherwise with the same input");
	}
	if (told->count > 1)
		buffer_format(t->out, "   (%zu calls)", told->count);
	buffer_byte(t->out, '\n');
	if (pair->a != NULL && pair->b != NULL)
		diff_tell_differences(t, pair);
}

static void
diff_tell_follow(struct telling *t, const struct told *told)
{
	const struct diff_pair *pair = told->pair;
	const struct diff_call *c = diff_pair_call(pair);

	diff_colour(t, DIM);
	buffer_text(t->out, "~ ");
	if (told->count > 1)
		text_visible(t->out, c->path, strlen(c->path), 0);
	else
		diff_label(c, t->out);
	if (told->count > 1)
		buffer_format(t->out, "   %zu %s", told->count, pair->kind == DIFF_MOVED ? "moved" : "follow");
	else
		buffer_text(t->out, pair->kind == DIFF_MOVED ? "   moved" : "   follows");
	buffer_text(t->out, pair->kind == DIFF_MOVED ? "" : pair->a == NULL ? " (new since what is before it)" :
	    pair->b == NULL ? " (gone since what is before it)" : pair->what & DIFF_INPUT ? " (its input changed)" :
	    pair->what & DIFF_INSIDE ? " (what is inside it changed)" : "");
	diff_colour(t, PLAIN);
	buffer_byte(t->out, '\n');
}

static void
diff_tell_cost(struct buffer *out, int64_t cost)
{
	char text[MONEY_SIZE];

	buffer_text(out, cost == COST_UNKNOWN ? "unknown cost" : money_text(cost, text));
}

static void
diff_tell_header(struct telling *t)
{
	const struct diff_side *a = t->report->a, *b = t->report->b;

	text_visible(t->out, a->root.name, strlen(a->root.name), 0);
	if (strcmp(a->root.name, b->root.name) != 0) {
		buffer_text(t->out, ", ");
		text_visible(t->out, b->root.name, strlen(b->root.name), 0);
	}
	buffer_format(t->out, "  %.8s -> %.8s%s  %s -> %s", a->run_id, b->run_id,
	    strcmp(b->forked_from, a->run_id) == 0 ? " (its fork)" :
	    strcmp(a->forked_from, b->run_id) == 0 ? " (forked from it)" : "", a->status, b->status);
	if (a->all.turns + b->all.turns > 0) {
		buffer_text(t->out, "  ");
		diff_tell_cost(t->out, a->all.cost);
		buffer_text(t->out, " -> ");
		diff_tell_cost(t->out, b->all.cost);
	}
	if (b->taken_over > 0)
		buffer_format(t->out, ", %zu of %zu calls taken over", b->taken_over, b->root.inside_count);
	buffer_byte(t->out, '\n');
}

static void
diff_tell_totals(struct telling *t)
{
	const char *comma = "  ";

	for (int i = 0; i < DIFF_KINDS; i++)
		if (t->counts.kinds[i] > 0) {
			buffer_format(t->out, "%s%zu %s", comma, t->counts.kinds[i], diff_kind_words[i]);
			comma = ", ";
		}
	buffer_text(t->out, *comma == ' ' ? "  no calls\n" : "\n");
}

void
diff_report_text(const struct diff_report *r, struct buffer *out)
{
	struct telling t = { .report = r, .out = out };

	diff_tell_header(&t);
	diff_telling_collect(&t, r->root);
	for (size_t i = 0; i < t.causes.count; i++)
		diff_tell_cause(&t, &t.causes.list[i]);
	for (size_t i = 0; i < t.follows.count; i++)
		diff_tell_follow(&t, &t.follows.list[i]);
	if (r->path == NULL && r->root->kind != DIFF_SAME && t.causes.count + t.follows.count == 0 &&
	    r->root->what & DIFF_RESULT)
		buffer_text(out, "! the workflow printed something else\n");
	diff_tell_totals(&t);
	free(t.causes.list);
	free(t.follows.list);
	map_free(&t.causes.places);
	map_free(&t.follows.places);
}
