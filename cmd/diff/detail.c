/* Texts are read again from the transcripts, and compared line by line, or word by word if each is a
 * short line. */
#include "diff/detail.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/line_diff.h"
#include "base/memory.h"
#include "base/text.h"
#include "model/cost.h"
#include "model/excerpt.h"
#include "transcript/event_keys.h"

#define WORDS_MOST 1000    /* bytes of a line in which words are compared */
#define COMMON_MOST 120    /* bytes that lines may begin with in common, */
#define COMMON_SHOWN 40    /* and how many of more are shown */
#define WORDS_AROUND 12    /* words that are in both, around those that are not */

struct telling {
	const struct diff_detail_limits *limits;
	diff_detail_take *take;
	void *user;
	/* The parts of the detail in the making: their texts are in `texts`, from offsets on. */
	struct diff_part *parts;
	size_t *offsets;
	size_t count, capacity;
	struct buffer texts;
};

/* ---- parts ---- */

static void
diff_part_add(void *user, char sign, const char *text, size_t len, bool lf)
{
	struct telling *t = user;

	(void)lf;
	if (t->count == t->capacity) {
		t->capacity = t->capacity * 2 + 16;
		t->parts = memory_array(t->parts, t->capacity, sizeof *t->parts);
		t->offsets = memory_array(t->offsets, t->capacity, sizeof *t->offsets);
	}
	t->offsets[t->count] = t->texts.len;
	t->parts[t->count++] = (struct diff_part){ .sign = sign, .text = { NULL, len } };
	buffer_append(&t->texts, text, len);
}

/* Passes a detail on, with the parts that were added. */
static void
diff_detail_pass(struct telling *t, struct diff_detail detail)
{
	for (size_t i = 0; i < t->count; i++)
		t->parts[i].text.at = buffer_string(&t->texts) + t->offsets[i];
	detail.parts = t->parts;
	detail.part_count = t->count;
	t->take(t->user, &detail);
	t->count = 0;
	buffer_clear(&t->texts);
}

static struct span
diff_span(const struct buffer *text)
{
	return text->len > 0 ? span_of(text->data, text->len) : SPAN_NONE;
}

static void
diff_detail_values(struct telling *t, const char *name, const struct buffer *a, const struct buffer *b)
{
	diff_detail_pass(t, (struct diff_detail){ .name = name, .form = DETAIL_VALUES, .a = diff_span(a),
		.b = diff_span(b) });
}

/* ---- texts ---- */

/* Leaves out the beginning that a long line and the one that replaces it have in common. */
static void
diff_part_cut_pair(struct telling *t, size_t old, size_t now)
{
	const char *one = buffer_string(&t->texts) + t->offsets[old], *other = buffer_string(&t->texts) + t->offsets[now];
	const size_t most = t->parts[old].text.len < t->parts[now].text.len ? t->parts[old].text.len : t->parts[now].text.len;
	size_t same = 0;

	while (same < most && one[same] == other[same])
		same++;
	if (same <= COMMON_MOST)
		return;
	/* It begins with a whole character. */
	for (same -= COMMON_SHOWN; same > 0 && ((unsigned char)one[same] & 0xc0) == 0x80;)
		same--;
	t->offsets[old] += same;
	t->offsets[now] += same;
	t->parts[old].text.len -= same;
	t->parts[now].text.len -= same;
	t->parts[old].cut = t->parts[now].cut = true;
}

static void
diff_parts_cut(struct telling *t)
{
	for (size_t i = 0; i < t->count;) {
		size_t old = i, now;

		while (i < t->count && t->parts[i].sign == '-')
			i++;
		for (now = i; now < t->count && t->parts[now].sign == '+' && old < i; now++)
			diff_part_cut_pair(t, old++, now);
		i = now > i ? now : i + 1;
	}
}

static void
diff_detail_lines(struct telling *t, const char *name, const struct buffer *a, const struct buffer *b)
{
	struct line_hunk hunk = LINE_HUNK_INIT;
	struct line_diff diff;
	size_t told = 0, all, end = 0;

	line_diff_begin(&diff, buffer_string(a), a->len, buffer_string(b), b->len, false);
	all = diff.removed + diff.added;
	while (told < t->limits->lines && line_diff_next_hunk(&diff, t->limits->context, &hunk)) {
		const size_t first = t->count;

		if (hunk.old > end && t->limits->context > 0)
			diff_part_add(t, '.', "", 0, true);
		end = hunk.old + hunk.old_count;
		line_diff_hunk_lines(&diff, &hunk, diff_part_add, t);
		for (size_t i = first; i < t->count; i++)
			told += t->parts[i].sign != '=';
	}
	diff_parts_cut(t);
	diff_detail_pass(t, (struct diff_detail){ .name = name, .form = DETAIL_LINES,
		.left = told < all ? all - told : 0 });
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

/* Makes one part of those beside each other with the same sign: their texts follow each other. */
static void
diff_parts_join(struct telling *t)
{
	size_t count = 0;

	for (size_t i = 0; i < t->count; i++) {
		struct diff_part *last = count > 0 ? &t->parts[count - 1] : NULL;

		if (last != NULL && last->sign == t->parts[i].sign) {
			last->text.len += t->parts[i].text.len;
		} else {
			t->offsets[count] = t->offsets[i];
			t->parts[count++] = t->parts[i];
		}
	}
	t->count = count;
}

static void
diff_detail_words(struct telling *t, const char *name, const struct buffer *a, const struct buffer *b)
{
	struct buffer one = BUFFER_INIT, other = BUFFER_INIT;
	struct line_hunk hunk = LINE_HUNK_INIT;
	struct line_diff diff;
	size_t end = 0;

	diff_text_words(a, &one);
	diff_text_words(b, &other);
	line_diff_begin(&diff, one.data, one.len, other.data, other.len, false);
	while (line_diff_next_hunk(&diff, WORDS_AROUND, &hunk)) {
		if (hunk.old > end)
			diff_part_add(t, '.', "", 0, true);
		end = hunk.old + hunk.old_count;
		line_diff_hunk_lines(&diff, &hunk, diff_part_add, t);
	}
	if (end < diff.old.count)
		diff_part_add(t, '.', "", 0, true);
	diff_parts_join(t);
	diff_detail_pass(t, (struct diff_detail){ .name = name, .form = DETAIL_WORDS });
	line_diff_free(&diff);
	buffer_free(&one);
	buffer_free(&other);
}

/* Whether a text is a line of several words, which is not too long. */
static bool
diff_text_is_words(const struct buffer *text)
{
	const char *lf = text->len > 0 ? memchr(text->data, '\n', text->len) : NULL;

	return text->len > 0 && text->len <= WORDS_MOST && (lf == NULL || lf == text->data + text->len - 1);
}

/* Clears both texts. */
static void
diff_detail_texts(struct telling *t, const char *name, struct buffer *a, struct buffer *b)
{
	if (a->len != b->len || (a->len > 0 && memcmp(a->data, b->data, a->len) != 0)) {
		if (diff_text_is_words(a) && diff_text_is_words(b) && memchr(a->data, ' ', a->len) != NULL) {
			a->len -= a->data[a->len - 1] == '\n';
			b->len -= b->data[b->len - 1] == '\n';
			diff_detail_words(t, name, a, b);
		} else {
			diff_detail_lines(t, name, a, b);
		}
	}
	buffer_clear(a);
	buffer_clear(b);
}

/* ---- what a call is made of ---- */

static void
diff_tell_file(struct telling *t, const char *name, const char *a, const char *b)
{
	diff_detail_pass(t, (struct diff_detail){ .name = name, .form = DETAIL_FILE,
		.a = a != NULL ? span_of(a, strlen(a)) : SPAN_NONE, .b = b != NULL ? span_of(b, strlen(b)) : SPAN_NONE });
}

/* Files that are others, or in one of two lists alone. */
static void
diff_tell_files(struct telling *t, const char *name, const struct diff_files *a, const struct diff_files *b)
{
	for (size_t i = 0; i < b->count; i++) {
		const struct diff_file *is = &b->list[i], *was = diff_files_find(a, is->path);

		if (was == NULL)
			diff_tell_file(t, name, NULL, is->path);
		else if (strcmp(was->sha256, is->sha256) != 0)
			diff_tell_file(t, name, was->path, is->path);
	}
	for (size_t i = 0; i < a->count; i++)
		if (diff_files_find(b, a->list[i].path) == NULL)
			diff_tell_file(t, name, a->list[i].path, NULL);
}

/* The commands of a call: a group has several, each in a line. */
static void
diff_read_commands(const struct diff_call *c, struct buffer *out)
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
diff_read_prompt(const struct diff_call *c, struct buffer *out)
{
	diff_call_value(c, c->places.asked, KEY_SYSTEM_PROMPT, out);
}

/* The texts of the first message to a model. */
static void
diff_read_message(const struct diff_call *c, struct buffer *out)
{
	struct buffer blocks = BUFFER_INIT;

	diff_call_value(c, c->places.asked, KEY_BLOCKS, &blocks);
	for (struct span_walk block = span_walk(span_of(buffer_string(&blocks), blocks.len)); span_next(&block);) {
		if (out->len > 0)
			buffer_byte(out, '\n');
		span_decode(span_member(block.value, KEY_TEXT), out);
	}
	buffer_free(&blocks);
}

static void
diff_read_input(const struct diff_call *c, struct buffer *out)
{
	diff_call_value(c, c->places.begin, KEY_INPUT, out);
}

static void
diff_read_result(const struct diff_call *c, struct buffer *out)
{
	diff_call_result(c, out);
}

static void
diff_tell_texts(struct telling *t, const char *name, const struct diff_pair *pair,
    void (*read)(const struct diff_call *c, struct buffer *out))
{
	struct buffer one = BUFFER_INIT, other = BUFFER_INIT;

	read(pair->a, &one);
	read(pair->b, &other);
	diff_detail_texts(t, name, &one, &other);
	buffer_free(&one);
	buffer_free(&other);
}

/* A member of an event of both calls, if it is another. */
static void
diff_tell_member(struct telling *t, const char *name, const struct diff_call *a, struct event_place in_a,
    const struct diff_call *b, struct event_place in_b, const char *member)
{
	struct buffer one = BUFFER_INIT, other = BUFFER_INIT;

	diff_call_value(a, in_a, member, &one);
	diff_call_value(b, in_b, member, &other);
	if (!buffer_equal(&one, buffer_string(&other)))
		diff_detail_values(t, name, &one, &other);
	buffer_free(&one);
	buffer_free(&other);
}

/* The members of an object, such as the settings for a model, that are others, each by its name after a word. */
static void
diff_tell_members(struct telling *t, const char *word, const struct diff_call *a, struct event_place in_a, const struct diff_call *b,
    struct event_place in_b, const char *member)
{
	struct buffer one = BUFFER_INIT, other = BUFFER_INIT;
	struct buffer name = BUFFER_INIT, was = BUFFER_INIT, is = BUFFER_INIT;

	diff_call_value(a, in_a, member, &one);
	diff_call_value(b, in_b, member, &other);
	for (int side = 0; side < 2; side++) {
		const struct span here = span_of(buffer_string(side == 0 ? &one : &other), (side == 0 ? &one : &other)->len);
		const struct span there = span_of(buffer_string(side == 0 ? &other : &one),
		    (side == 0 ? &other : &one)->len);

		for (struct span_walk at = span_walk(here); span_type(here) == 'o' && span_next(&at);) {
			struct span value;

			buffer_clear(&name);
			buffer_clear(&was);
			buffer_clear(&is);
			buffer_text(&name, word);
			span_decode(at.key, &name);
			value = span_type(there) == 'o' ? span_member(there, buffer_string(&name) + strlen(word)) : SPAN_NONE;
			/* Those of both are told with the first side. */
			if (side == 1 && value.at != NULL)
				continue;
			buffer_append(side == 0 ? &was : &is, at.value.at, at.value.len);
			if (value.at != NULL)
				buffer_append(&is, value.at, value.len);
			if (!buffer_equal(&was, buffer_string(&is)))
				diff_detail_values(t, buffer_string(&name), &was, &is);
		}
	}
	buffer_free(&one);
	buffer_free(&other);
	buffer_free(&name);
	buffer_free(&was);
	buffer_free(&is);
}

/* Finds a tool among those offered to a model. */
static struct span
diff_offer_find(struct span offers, struct span name)
{
	for (struct span_walk at = span_walk(offers); span_type(offers) == 'a' && span_next(&at);) {
		const struct span other = span_member(at.value, KEY_NAME);

		if (other.len == name.len && name.at != NULL && memcmp(other.at, name.at, name.len) == 0)
			return at.value;
	}
	return SPAN_NONE;
}

/* How a tool is described that both sides may call. */
static void
diff_tell_offer(struct telling *t, struct span a, struct span b)
{
	static const char *const members[] = { "description", "input_schema", NULL };
	struct buffer name = BUFFER_INIT, one = BUFFER_INIT, other = BUFFER_INIT;

	for (const char *const *member = members; b.at != NULL && *member != NULL; member++) {
		buffer_clear(&name);
		buffer_clear(&one);
		buffer_clear(&other);
		buffer_format(&name, "%s of ", *member);
		span_decode(span_member(a, KEY_NAME), &name);
		span_plain(span_member(a, *member), &one);
		span_plain(span_member(b, *member), &other);
		if (!buffer_equal(&one, buffer_string(&other)))
			diff_detail_texts(t, buffer_string(&name), &one, &other);
	}
	buffer_free(&name);
	buffer_free(&one);
	buffer_free(&other);
}

/* The tools that a model may call: those of one side alone, and those that are described otherwise. */
static void
diff_tell_offers(struct telling *t, const struct diff_call *a, const struct diff_call *b)
{
	struct buffer texts[2] = { BUFFER_INIT, BUFFER_INIT }, shown = BUFFER_INIT;
	struct span offers[2];

	diff_call_value(a, a->places.asked, KEY_TOOLS, &texts[0]);
	diff_call_value(b, b->places.asked, KEY_TOOLS, &texts[1]);
	for (int side = 0; side < 2; side++)
		offers[side] = span_of(buffer_string(&texts[side]), texts[side].len);
	for (int side = 0; side < 2; side++)
		for (struct span_walk at = span_walk(offers[side]); span_type(offers[side]) == 'a' && span_next(&at);) {
			const struct span name = span_member(at.value, KEY_NAME);
			const struct span other = diff_offer_find(offers[1 - side], name);

			if (other.at != NULL && (side == 1 ||
			    (other.len == at.value.len && memcmp(other.at, at.value.at, other.len) == 0)))
				continue;
			buffer_clear(&shown);
			span_decode(name, &shown);
			if (other.at != NULL)
				buffer_text(&shown, " (described otherwise)");
			diff_part_add(t, other.at != NULL ? '=' : side == 0 ? '-' : '+', shown.data, shown.len, true);
		}
	if (t->count > 0)
		diff_detail_pass(t, (struct diff_detail){ .name = "may call", .form = DETAIL_LINES });
	for (struct span_walk at = span_walk(offers[0]); span_type(offers[0]) == 'a' && span_next(&at);)
		diff_tell_offer(t, at.value, diff_offer_find(offers[1], span_member(at.value, KEY_NAME)));
	buffer_free(&texts[0]);
	buffer_free(&texts[1]);
	buffer_free(&shown);
}

static void
diff_tell_definition(struct telling *t, const struct diff_pair *pair)
{
	static const char *const members[] = {
		KEY_AGENT, KEY_TOOL, KEY_LOOP, KEY_STRATEGY, KEY_TIMEOUT_MS, KEY_CONDITION, KEY_SANDBOX, KEY_NETWORK, KEY_VIA
	};
	const struct diff_call *a = pair->a, *b = pair->b;

	diff_tell_files(t, "file", &a->files, &b->files);
	diff_tell_texts(t, "command", pair, diff_read_commands);
	diff_tell_texts(t, "prompt", pair, diff_read_prompt);
	if (!(pair->what & DIFF_INPUT))
		diff_tell_texts(t, "message", pair, diff_read_message);
	for (size_t i = 0; i < sizeof members / sizeof *members; i++)
		diff_tell_member(t, members[i], a, a->places.begin, b, b->places.begin, members[i]);
	diff_tell_offers(t, a, b);
	diff_tell_members(t, "", a, a->places.asked, b, b->places.asked, KEY_PARAMS);
}

/* ---- what it did ---- */

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

static const struct diff_tool *
diff_tool_among(const struct diff_tool *tool, const struct diff_call *c)
{
	for (size_t i = 0; i < c->tool_count; i++)
		if (strcmp(c->tools[i].name, tool->name) == 0 && diff_keys_equal(c->tools[i].input, tool->input))
			return &c->tools[i];
	return NULL;
}

/* "NAME ARGUMENTS", cut to a line. */
static void
diff_tool_text(const struct diff_call *c, const struct diff_tool *tool, struct buffer *out)
{
	struct buffer input = BUFFER_INIT;

	diff_call_value(c, tool->place, KEY_INPUT, &input);
	buffer_format(out, "%s ", tool->name);
	excerpt_text(out, buffer_string(&input), input.len, EXCERPT_BYTES);
	buffer_free(&input);
}

/* Adds the tool calls that one side alone has. */
static void
diff_tell_tools_of(struct telling *t, char sign, const struct diff_call *c, const struct diff_call *other)
{
	struct buffer shown = BUFFER_INIT;

	for (size_t i = 0; i < c->tool_count && t->count < t->limits->lines; i++) {
		if (diff_tool_among(&c->tools[i], other) != NULL)
			continue;
		buffer_clear(&shown);
		diff_tool_text(c, &c->tools[i], &shown);
		diff_part_add(t, sign, shown.data, shown.len, true);
	}
	buffer_free(&shown);
}

static void
diff_tell_tools(struct telling *t, const struct diff_call *a, const struct diff_call *b)
{
	struct buffer one = BUFFER_INIT, other = BUFFER_INIT;

	diff_tools_count(a, &one);
	diff_tools_count(b, &other);
	diff_tell_tools_of(t, '-', a, b);
	diff_tell_tools_of(t, '+', b, a);
	diff_detail_values(t, "tools", &one, &other);
	buffer_free(&one);
	buffer_free(&other);
}

/* Tools that answered something else to the same call. */
static void
diff_tell_answers(struct telling *t, const struct diff_call *a, const struct diff_call *b)
{
	struct buffer one = BUFFER_INIT, other = BUFFER_INIT, name = BUFFER_INIT;
	size_t told = 0;

	for (size_t i = 0; i < a->tool_count && i < b->tool_count && told < 3; i++) {
		const struct diff_tool *was = &a->tools[i], *is = &b->tools[i];

		if (strcmp(was->name, is->name) != 0 || !diff_keys_equal(was->input, is->input) ||
		    diff_keys_equal(was->answer, is->answer))
			continue;
		buffer_clear(&name);
		buffer_text(&name, "answer of ");
		diff_tool_text(a, was, &name);
		diff_call_answer(a, was, &one);
		diff_call_answer(b, is, &other);
		diff_detail_texts(t, buffer_string(&name), &one, &other);
		told++;
	}
	buffer_free(&one);
	buffer_free(&other);
	buffer_free(&name);
}

/* How a call ended, with its error. */
static void
diff_tell_end(const struct diff_call *c, struct buffer *out)
{
	static const char *const states[] = {
		[CALL_OPEN] = "not ended", [CALL_SUCCEEDED] = "success", [CALL_FAILED] = "failed",
		[CALL_SKIPPED] = "skipped", [CALL_CLOSED] = "closed", [CALL_WAITING] = "waiting"
	};
	struct buffer message = BUFFER_INIT;

	buffer_text(out, states[c->state]);
	diff_call_value(c, c->places.end, "/error/message", &message);
	if (message.len > 0) {
		buffer_text(out, " (");
		excerpt_text(out, message.data, message.len, EXCERPT_BYTES);
		buffer_byte(out, ')');
	}
	buffer_free(&message);
}

static void
diff_tell_numbers(struct telling *t, const char *name, const char *format, const struct diff_figures *a,
    const struct diff_figures *b)
{
	struct buffer one = BUFFER_INIT, other = BUFFER_INIT;

	if (strcmp(name, "tokens") == 0) {
		buffer_format(&one, "%" PRId64 " in, %" PRId64 " out", a->input_tokens, a->output_tokens);
		buffer_format(&other, "%" PRId64 " in, %" PRId64 " out", b->input_tokens, b->output_tokens);
	} else {
		const bool time = strcmp(name, "time") == 0;

		buffer_format(&one, "%" PRId64 "%s", time ? a->ms : a->retries, format);
		buffer_format(&other, "%" PRId64 "%s", time ? b->ms : b->retries, format);
	}
	diff_detail_values(t, name, &one, &other);
	buffer_free(&one);
	buffer_free(&other);
}

static void
diff_tell_model(struct telling *t, const struct diff_call *a, const struct diff_call *b)
{
	struct buffer texts[2] = { BUFFER_INIT, BUFFER_INIT };

	for (int side = 0; side < 2; side++) {
		const struct diff_call *c = side == 0 ? a : b;

		buffer_format(&texts[side], "%s%s%s", c->provider, *c->model != '\0' ? "/" : "", c->model);
	}
	diff_detail_values(t, "model", &texts[0], &texts[1]);
	buffer_free(&texts[0]);
	buffer_free(&texts[1]);
}

static void
diff_tell_status(struct telling *t, const struct diff_call *a, const struct diff_call *b)
{
	struct buffer one = BUFFER_INIT, other = BUFFER_INIT;

	diff_tell_end(a, &one);
	diff_tell_end(b, &other);
	diff_detail_values(t, "status", &one, &other);
	buffer_free(&one);
	buffer_free(&other);
}

/* Whether it is the first of a step that the other side does not have there. */
static bool
diff_call_is_alone(const struct diff_call *c, bool first)
{
	const struct diff_pair *around = c->around != NULL ? c->around->pair : NULL;
	const struct diff_call *other;

	if (around == NULL)
		return true;
	other = first ? around->b : around->a;

	for (const struct diff_call *at = other != NULL ? other->first : NULL; at != NULL; at = at->beside)
		if (strcmp(at->name, c->name) == 0)
			return false;
	for (const struct diff_call *at = c->around->first; at != c; at = at->beside)
		if (strcmp(at->name, c->name) == 0)
			return false;
	return true;
}

static void
diff_tell_alone_text(struct telling *t, const char *name, const struct buffer *text, bool first)
{
	const struct buffer none = BUFFER_INIT;

	if (text->len > 0)
		diff_detail_lines(t, name, first ? text : &none, first ? &none : text);
}

/* What a step that one side alone has does, and what it gave. */
static void
diff_tell_alone(struct telling *t, const struct diff_call *a, const struct diff_call *b)
{
	const struct diff_call *c = a != NULL ? a : b;
	/* A branch is a step of its own, a round is not. */
	const bool alone = diff_call_is_part(c) ? strcmp(c->around->kind, "parallel") == 0 :
	    diff_call_is_alone(c, a != NULL);
	struct buffer text = BUFFER_INIT;

	if (alone) {
		diff_read_commands(c, &text);
		if (text.len == 0)
			diff_call_value(c, c->places.begin, KEY_AGENT, &text);
		diff_tell_alone_text(t, text.len > 0 && *c->model != '\0' ? "agent" : "command", &text, a != NULL);
		buffer_clear(&text);
	}
	if (c->first == NULL && (alone || !t->limits->brief)) {
		if (c->state == CALL_SUCCEEDED)
			diff_read_result(c, &text);
		else
			diff_tell_end(c, &text);
		diff_tell_alone_text(t, c->state == CALL_SUCCEEDED ? "result" : "status", &text, a != NULL);
	}
	buffer_free(&text);
}

void
diff_details(const struct diff_pair *pair, const struct diff_detail_limits *limits, diff_detail_take *take,
    void *user)
{
	struct telling t = { .limits = limits, .take = take, .user = user };
	const struct diff_call *a = pair->a, *b = pair->b;

	if (a == NULL || b == NULL)
		diff_tell_alone(&t, a, b);
	else if (pair->what & DIFF_DEFINITION)
		diff_tell_definition(&t, pair);
	else if (pair->kind == DIFF_CHANGED && pair->what & DIFF_INPUT)
		diff_tell_texts(&t, "input", pair, diff_read_input);
	if (pair->what & DIFF_MODEL)
		diff_tell_model(&t, a, b);
	if (pair->what & DIFF_STATUS)
		diff_tell_status(&t, a, b);
	if (pair->what & DIFF_TOOLS)
		diff_tell_tools(&t, a, b);
	if (pair->what & DIFF_ANSWERS)
		diff_tell_answers(&t, a, b);
	if (pair->what & DIFF_TOKENS)
		diff_tell_numbers(&t, "tokens", "", &a->own, &b->own);
	if (pair->what & DIFF_RETRIES)
		diff_tell_numbers(&t, "retries", "", &a->own, &b->own);
	if (pair->what & DIFF_TIME)
		diff_tell_numbers(&t, "time", " ms", &a->own, &b->own);
	if (pair->what & DIFF_FILES)
		diff_tell_files(&t, "wrote", &a->changed, &b->changed);
	/* What a group gave is told with the calls inside it; a call that failed gave nothing. */
	if (pair->what & DIFF_RESULT && !(pair->what & DIFF_STATUS) && (!(pair->what & DIFF_INSIDE) || *a->model != '\0'))
		diff_tell_texts(&t, "result", pair, diff_read_result);
	free(t.parts);
	free(t.offsets);
	buffer_free(&t.texts);
}

static void
diff_read_arguments(const struct diff_call *c, struct buffer *out)
{
	struct buffer argv = BUFFER_INIT;

	diff_call_value(c, c->places.begin, KEY_ARGV, &argv);
	for (struct span_walk word = span_walk(span_of(buffer_string(&argv), argv.len)); span_next(&word);) {
		if (out->len > 0)
			buffer_byte(out, ' ');
		span_decode(word.value, out);
	}
	buffer_free(&argv);
}

void
diff_details_of_runs(const struct diff_call *a, const struct diff_call *b,
    const struct diff_detail_limits *limits, diff_detail_take *take, void *user)
{
	struct telling t = { .limits = limits, .take = take, .user = user };
	const struct diff_pair pair = { .a = (struct diff_call *)a, .b = (struct diff_call *)b };

	if (a->files.count > 0 && b->files.count > 0 && strcmp(a->files.list->path, b->files.list->path) != 0)
		diff_detail_pass(&t, (struct diff_detail){ .name = "workflow", .form = DETAIL_VALUES,
			.a = span_of(a->files.list->path, strlen(a->files.list->path)),
			.b = span_of(b->files.list->path, strlen(b->files.list->path)) });
	else
		diff_tell_files(&t, "workflow", &a->files, &b->files);
	diff_tell_texts(&t, "arguments", &pair, diff_read_arguments);
	diff_tell_members(&t, "input ", a, a->places.begin, b, b->places.begin, KEY_INPUTS);
	diff_tell_members(&t, "variable ", a, a->places.begin, b, b->places.begin, KEY_ENV);
	free(t.parts);
	free(t.offsets);
	buffer_free(&t.texts);
}

/* ---- names ---- */

void
diff_call_label(const struct diff_call *c, struct buffer *out)
{
	text_visible(out, c->path, strlen(c->path), 0);
	if (c->item > 0 || diff_call_is_part(c))
		buffer_format(out, "[%" PRId64 "]", c->item);
	else if (c->occurrence > 0)
		buffer_format(out, " (%" PRId64 ")", c->occurrence + 1);
}

void
diff_call_excerpt(const struct diff_call *c, struct buffer *out)
{
	struct buffer text = BUFFER_INIT;

	diff_call_value(c, c->places.begin, KEY_INPUT, &text);
	if (text.len > 0)
		excerpt_text(out, text.data, text.len, 40);
	buffer_free(&text);
}
