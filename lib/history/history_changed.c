/*
 * Texts that tell the user how records and calls differ. The index has only digests, which show
 * that something changed. What it was is read from the recorded lines; of both, the part around the
 * first difference is shown.
 */
#include "history/history_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "history/words.h"
#include "io/file.h"
#include "proc/environment.h"
#include "transcript/event_keys.h"

#define PROGRAM_MOST ((size_t)1 << 20) /* bytes of a program that is searched */

/* The recorded input is its own, or the result of the call before it. */
static void
add_input(struct buffer *out, struct span now, const struct recalled_event *started,
    const struct recalled_event *before)
{
	struct span recorded = span_member(started->view.payload, KEY_INPUT);

	if (recorded.at == NULL && before->line.len > 0)
		recorded = span_member(before->view.payload, KEY_RESULT);
	if (now.at != NULL && span_same(now, recorded)) {
		buffer_text(out, "its attachments are others than the recorded ones");
		return;
	}
	buffer_text(out, "its input is ");
	if (now.at != NULL && recorded.at != NULL)
		recalled_difference(out, now, recorded);
	else
		buffer_text(out, "another than the recorded one");
}

/* In the same words in which cmd/step_call/step_recall.c describes a step. */
void
history_describe(struct buffer *recorded, struct span payload)
{
	struct span agent = span_member(payload, KEY_AGENT), tool = span_member(payload, KEY_TOOL);
	struct span blocks = span_member(payload, KEY_BLOCKS);

	if (agent.at != NULL) {
		buffer_text(recorded, "agent ");
		span_decode(agent, recorded);
		buffer_text(recorded, ", ");
		span_decode(span_member(payload, KEY_PROVIDER), recorded);
		buffer_byte(recorded, '/');
		span_decode(span_member(payload, KEY_MODEL), recorded);
	} else if (tool.at != NULL) {
		buffer_text(recorded, "tool ");
		span_decode(tool, recorded);
	} else if (span_type(blocks) == 'a') {
		/* The command, or the commands of all branches. */
		for (struct span_walk block = span_walk(blocks); span_next(&block);) {
			if (recorded->len > 0)
				buffer_byte(recorded, ' ');
			span_decode(span_member(block.value, KEY_COMMAND), recorded);
		}
		recalled_describe_inputs(recorded, span_member(payload, KEY_INPUTS));
	}
}

/* Whether two texts differ in blanks alone. */
static bool
differ_in_blanks(struct span a, struct span b)
{
	size_t i = 0, k = 0;

	for (;; i++, k++) {
		while (i < a.len && strchr(" \t\n", a.at[i]) != NULL)
			i++;
		while (k < b.len && strchr(" \t\n", b.at[k]) != NULL)
			k++;
		if (i >= a.len || k >= b.len || a.at[i] != b.at[k])
			return i >= a.len && k >= b.len;
	}
}

size_t
history_texts_alike(struct span a, struct span b)
{
	size_t most = a.len < b.len ? a.len : b.len, before = 0, behind = 0;

	while (before < most && a.at[before] == b.at[before])
		before++;
	while (behind < most - before && a.at[a.len - 1 - behind] == b.at[b.len - 1 - behind])
		behind++;
	if (most == 0)
		return 0;
	/* If text was only added or only removed in the middle, all of it counts as the same. */
	return before + behind == most || differ_in_blanks(a, b) ? ALIKE_WHOLE : (before + behind) * (ALIKE_WHOLE / 2) / most;
}

size_t
history_alike(struct history *h, const struct index_record *record, const struct recall_query *query)
{
	const char *now = query->definition != NULL ? query->definition : "";
	struct buffer recorded = BUFFER_INIT;
	struct recalled_event started;
	size_t alike;

	if (history_line(h, &record->started, &started, NULL) == 0)
		history_describe(&recorded, started.view.payload);
	alike = history_texts_alike(span_of(now, strlen(now)), span_of(recorded.data, recorded.len));
	recalled_event_free(&started);
	buffer_free(&recorded);
	return alike;
}

bool
history_read_words(struct history *h, const struct place *started, const struct place *input, struct buffer *does,
    struct buffer *given)
{
	struct recalled_event event = { .turn = -1 }, before = { .turn = -1 };
	struct span recorded;
	const bool read = history_line(h, started, &event, NULL) == 0 && history_line(h, input, &before, NULL) == 0;

	if (read) {
		history_describe(does, event.view.payload);
		recorded = span_member(event.view.payload, KEY_INPUT);
		if (recorded.at == NULL && before.line.len > 0)
			recorded = span_member(before.view.payload, KEY_RESULT);
		if (recorded.at != NULL)
			buffer_append(given, recorded.at, recorded.len);
	}
	recalled_event_free(&event);
	recalled_event_free(&before);
	return read;
}

static void
add_alike(struct span a, struct span b, struct words_alike *all)
{
	struct words words = words_of(a), others = words_of(b);
	const struct words_alike alike = words_compare(&words, &others);

	all->shared += alike.shared;
	all->parts += alike.parts;
	words_free(&words);
	words_free(&others);
}

size_t
history_words_alike(const struct call_words *a, const struct call_words *b)
{
	struct words_alike all = { 0, 0 };

	add_alike(a->does, b->does, &all);
	add_alike(a->input, b->input, &all);
	return all.parts == 0 ? ALIKE_WHOLE : all.shared * (ALIKE_WHOLE / 2) / (all.shared + all.parts);
}

size_t
history_has_words_of(struct history *h, const struct index_record *record, const struct recall_query *query)
{
	struct buffer does = BUFFER_INIT, input = BUFFER_INIT;
	const char *now = query->definition != NULL ? query->definition : "";
	size_t alike = 0;

	if (history_read_words(h, &record->started, &record->input, &does, &input))
		alike = history_words_alike(&(struct call_words){ span_of(now, strlen(now)), query->input },
		    &(struct call_words){ span_of(does.data, does.len), span_of(input.data, input.len) });
	buffer_free(&does);
	buffer_free(&input);
	return alike;
}

static bool
differ_by_chance(struct span a, struct span b, bool *any)
{
	struct words words = words_of(a), others = words_of(b);
	const bool chance = words_differ_by_chance(&words, &others, any);

	words_free(&words);
	words_free(&others);
	return chance;
}

bool
history_differs_by_chance(struct history *h, const struct index_record *record, const struct recall_query *query)
{
	struct buffer does = BUFFER_INIT, input = BUFFER_INIT;
	const char *now = query->definition != NULL ? query->definition : "";
	bool any = false, chance;

	chance = history_read_words(h, &record->started, &record->input, &does, &input) &&
	    differ_by_chance(span_of(now, strlen(now)), span_of(does.data, does.len), &any) &&
	    differ_by_chance(query->input, span_of(input.data, input.len), &any);
	buffer_free(&does);
	buffer_free(&input);
	return chance && any;
}

/* Appends a text without quotes and backslashes, and with one space for each run of white space. */
static void
add_bare(struct buffer *out, const char *text, size_t len)
{
	for (const char *at = text; at < text + len; at++) {
		const bool blank = *at == ' ' || *at == '\t' || *at == '\n';

		if (*at == '\'' || *at == '"' || *at == '\\' || (blank && (out->len == 0 || out->data[out->len - 1] == ' ')))
			continue;
		buffer_byte(out, blank ? ' ' : *at);
	}
}

/* Whether a text without quotes has this name as a word and this command; NULL: any. */
static bool
bare_contains(const struct buffer *bare, const char *name, const char *command)
{
	struct buffer bare_command = BUFFER_INIT, word = BUFFER_INIT;
	bool contains;

	if (command != NULL)
		add_bare(&bare_command, command, strlen(command));
	buffer_format(&word, " %s ", name != NULL ? name : "");
	contains = name == NULL || strstr(buffer_string(bare), buffer_string(&word)) != NULL;
	if (command != NULL)
		contains &= bare_command.len > 0 && strstr(buffer_string(bare), buffer_string(&bare_command)) != NULL;
	buffer_free(&bare_command);
	buffer_free(&word);
	return contains;
}

/* Adds the lines of a program that are no comments. */
static void
add_code(struct buffer *bare, const struct buffer *text)
{
	const char *rest = buffer_string(text), *line;
	size_t len;

	while ((line = text_part(&rest, '\n', &len)) != NULL) {
		if (line[strspn(line, " \t")] != '#')
			add_bare(bare, line, len);
		add_bare(bare, " ", 1);
	}
}

/* Adds the programs that a recorded call ran, as they are now. */
static void
add_programs(struct buffer *bare, struct span payload)
{
	struct span files = span_member(payload, KEY_FILES);

	for (struct span_walk file = span_walk(files); span_type(files) == 'a' && span_next(&file);) {
		char *path = span_text(span_member(file.value, KEY_PATH));
		struct buffer text = BUFFER_INIT;

		if (path != NULL && file_load(path, PROGRAM_MOST, &text, NULL) == 0) {
			add_bare(bare, " ", 1);
			add_code(bare, &text);
		}
		buffer_free(&text);
		free(path);
	}
}

bool
history_text_contains(struct history *h, const struct index_record *record, const char *name, const char *command,
    bool programs)
{
	struct buffer text = BUFFER_INIT, bare = BUFFER_INIT;
	struct recalled_event started = { .turn = -1 };
	bool contains = false;

	if (history_line(h, &record->started, &started, NULL) == 0) {
		history_describe(&text, started.view.payload);
		add_bare(&bare, buffer_string(&text), text.len);
		if (programs)
			add_programs(&bare, started.view.payload);
		contains = bare_contains(&bare, name, command);
	}
	recalled_event_free(&started);
	buffer_free(&text);
	buffer_free(&bare);
	return contains;
}

static void
add_definition(struct buffer *out, const char *now, struct span payload)
{
	struct span blocks = span_member(payload, KEY_BLOCKS);
	struct buffer recorded = BUFFER_INIT;

	history_describe(&recorded, payload);
	buffer_text(out, "its definition is ");
	if (now != NULL && recorded.len > 0 && !buffer_equal(&recorded, now))
		recalled_difference(out, span_of(now, strlen(now)), span_of(recorded.data, recorded.len));
	else
		buffer_text(out, blocks.at != NULL ?
		    "another: the same words, divided in another way or with other options (as -O, --into, -e)" :
		    "another: agent file, prompt, parameters or tools");
	buffer_free(&recorded);
}

/* Appends the value of a variable and the recorded one, if both are known; takes the name. */
static void
add_values(struct buffer *text, char *name, const struct recorded_marks *recorded, const struct call_marks *marks)
{
	struct buffer then = BUFFER_INIT;
	const char *now = NULL;

	for (size_t i = 0; i < marks->count; i++)
		if (strcmp(marks->list[i].name, name) == 0)
			now = marks->list[i].shown;
	if (now != NULL && marks_shown(span_member(span_of(recorded->variables, strlen(recorded->variables)), name), &then))
		buffer_format(text, ": it is %s, the recorded one %s", now, buffer_string(&then));
	buffer_free(&then);
	free(name);
}

static void
add_variables(struct buffer *text, struct recorded_marks recorded,
    const struct recall_query *query)
{
	struct buffer names = BUFFER_INIT;
	const char *rest, *name;
	size_t len;

	if (marks_difference(query->marks, &recorded, &names) > 0) {
		rest = buffer_string(&names);
		while ((name = text_part(&rest, '\n', &len)) != NULL)
			if (len > 0 && strncmp(name, MARKS_DIRECTORY "\n", len + 1) == 0)
				buffer_format(text, "%sit was made in another directory", text->len > 0 ? "; " : "");
			else if (len > 0) {
				buffer_format(text, "%s%.*s has another value", text->len > 0 ? "; " : "", (int)len, name);
				if (environment_name_valid(name, len))
					buffer_format(text, " (--ignore-env %.*s if no call depends on it)", (int)len, name);
				add_values(text, memory_copy(name, len), &recorded, query->marks);
			}
	}
	buffer_free(&names);
}

int
history_changed(struct history *h, const struct index_record *record,
    const struct recall_query *query, struct buffer *text, struct error *err)
{
	struct recalled_event started, before = { .line = BUFFER_INIT };
	struct span payload;
	int failed = history_line(h, &record->started, &started, err);

	if (failed == 0)
		failed = history_line(h, &record->input, &before, err);
	payload = started.view.payload;
	if (failed == 0 && !span_is(span_member(payload, KEY_INPUT_SHA256), query->input_sha256))
		add_input(text, query->input, &started, &before);
	if (failed == 0 &&
	    !span_is(span_member(payload, KEY_DEFINITION_SHA256), query->definition_sha256)) {
		buffer_text(text, text->len > 0 ? "; " : "");
		add_definition(text, query->definition, payload);
	}
	if (failed == 0 && query->marks != NULL && query->marks->known)
		add_variables(text, history_marks(h, record), query);
	if (failed == 0 && text->len == 0 && record->child)
		buffer_text(text, "its standard input is another");
	recalled_event_free(&started);
	recalled_event_free(&before);
	return failed;
}

/* In what calls of the same input and definition differ from the recorded calls. */
static void
add_other(const char *other, struct buffer *text)
{
	if (strcmp(other, MARKS_DIRECTORY) == 0)
		buffer_text(text, "directory)");
	else if (environment_name_valid(other, strlen(other)))
		buffer_format(text, "%s: --ignore-env %s if no call depends on it)", other, other);
	else
		buffer_format(text, "%s)", other);
}

/* Counts calls that had succeeded and that nobody has claimed, while at least as many calls of
 * the same name and place were made anew. Calls that the workflow did not reach, or that are
 * inside a call which was taken over, do not count. */
int64_t
history_unused(const struct history *h, struct buffer *text)
{
	int64_t total = 0;
	size_t next;

	if (h->head->mode != RECALL_RESUME)
		return 0;
	for (size_t i = 0; i < h->head->records; i = next) {
		struct index_record *first = &h->records[i];
		struct index_key *shared = history_key(h, first);
		uint64_t anew = atomic_load(&shared->anew), unused = 0;
		const char *call, *name;

		for (next = i; history_same_key(h, next, first->key); next++)
			unused += h->records[next].end == RECALL_SUCCEEDED && history_unused_by_any(&h->records[next]);
		if (unused > anew)
			unused = anew;
		unused += atomic_load(&shared->differing);
		total += (int64_t)unused;
		if (unused == 0)
			continue;
		call = h->text + (first->call < h->head->text ? first->call : 0);
		name = strrchr(call, '/') != NULL ? strrchr(call, '/') + 1 : call;
		buffer_format(text, "%s%.*s %llu (another ", text->len > 0 ? ", " : "",
		    (int)strcspn(name, ":"), name, (unsigned long long)unused);
		if (atomic_load(&shared->other_said) == 2)
			add_other(shared->other, text);
		else
			buffer_text(text, atomic_load(&shared->redefined) > 0 ? "definition)" : "input)");
	}
	return total;
}
