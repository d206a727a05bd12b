/*
 * What would run is shown to the user at the terminal, and allowed if the user says so
 * (view/terminal_question.h). Several steps of a run may ask about the same item: when it is a
 * step's turn, it first checks again what is allowed.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "definitions/trust.h"
#include "definitions/trust_text.h"
#include "io/file.h"
#include "storage/run.h"
#include "view/terminal_question.h"

/* The file whose lock decides which process may ask: in the run's directory, as for approvals, else
 * one of this user. To be freed by the caller; NULL: there is no place for it. */
static char *
turn_file(struct error *err)
{
	char *run = run_environment_directory(), *path = NULL, *directory;

	if (run != NULL && path_is_directory(run)) {
		path = path_join(run, TERMINAL_QUESTION_FILE);
	} else if ((directory = trust_directory(err)) != NULL) {
		path = path_join(directory, TERMINAL_QUESTION_FILE);
		free(directory);
	}
	free(run);
	return path;
}

/* Most bytes of one text in a question: a window with 80 columns shows that in its upper half. */
#define SHOWN_LIMIT 900

/* Appends a text, shortened if it is too long; returns how many characters were left out. */
static size_t
add_text(struct buffer *out, const char *text, bool whole)
{
	if (!whole)
		return trust_text_shorten(out, text, SHOWN_LIMIT);
	buffer_text(out, text);
	return 0;
}

/* Appends an item; returns how many characters were left out. */
static size_t
item_describe(const struct trust_item *item, bool whole, struct buffer *out)
{
	struct buffer file = BUFFER_INIT;
	size_t left_out = add_text(out, item->what, whole);

	buffer_text(out, "\n  ");
	trust_word_append(&file, item->file);
	left_out += add_text(out, buffer_string(&file), whole);
	buffer_format(out, ": %s\n", trust_allows(item) ? "allowed" : item->digest);
	if (item->files != NULL) {
		buffer_text(out, "  ");
		left_out += add_text(out, item->files, whole);
		buffer_byte(out, '\n');
	}
	buffer_free(&file);
	return left_out;
}

void
trust_items_describe(const struct trust_items *items, bool all, struct buffer *out)
{
	for (size_t i = 0; i < items->count; i++)
		if (all || !trust_allows(&items->list[i]))
			item_describe(&items->list[i], true, out);
}

/* How many items are not allowed. */
static size_t
open_count(const struct trust_items *items)
{
	size_t count = 0;

	for (size_t i = 0; i < items->count; i++)
		count += !trust_allows(&items->list[i]);
	return count;
}

static bool
is_word(const struct buffer *line, const char *letter, const char *word)
{
	return strcasecmp(buffer_string(line), letter) == 0 || strcasecmp(buffer_string(line), word) == 0;
}

/* Asks, and asks again after showing what the question has left out. 1: there is an answer;
 * otherwise as terminal_question_ask(). */
static int
question_ask(struct terminal_question *q, const struct trust_items *items, const char *program,
    struct buffer *line, struct error *err)
{
	const size_t count = open_count(items);
	struct buffer out = BUFFER_INIT;
	bool whole = false, shortened;
	int asked;

	do {
		shortened = false;
		buffer_format(&out, "\n%s: a definition of this project would run this in no sandbox, or send "
		    "data to it:\n\n", program);
		for (size_t i = 0; i < items->count; i++)
			if (!trust_allows(&items->list[i]) && item_describe(&items->list[i], whole, &out) > 0)
				shortened = true;
		buffer_text(&out, "\nIf none but your own edits reach this directory, awf trust --edits asks no more "
		    "about it.\n");
		if (shortened)
			buffer_text(&out, "Characters are left out above: answer s to see the whole.\n");
		if (count > 1)
			buffer_format(&out, "Allow all %zu of these for ", count);
		else
			buffer_text(&out, "Allow it for ");
		trust_word_append(&out, items->list[0].repository);
		buffer_format(&out, ", until something of it changes? [y/N%s] ", shortened ? "/s" : "");
		terminal_question_forget_typed(q);
		asked = terminal_question_ask(q, &out, line, err);
		whole = true;
	} while (asked == 1 && shortened && is_word(line, "s", "show"));
	buffer_free(&out);
	return asked;
}

int
trust_ask(const struct trust_items *items, const char *program, const struct interrupts *interrupts,
    enum trust_answer *answer, struct error *err)
{
	struct buffer line = BUFFER_INIT;
	struct terminal_question q = { -1, -1, interrupts };
	char *path;
	int asked;

	*answer = TRUST_NOBODY;
	if (!terminal_question_possible())
		return 0;
	path = turn_file(err);
	asked = path == NULL ? -1 : terminal_question_open(&q, path, interrupts, err);
	trust_forget();
	if (asked == 1 && open_count(items) == 0) {
		*answer = TRUST_YES;
	} else if (asked == 1) {
		asked = question_ask(&q, items, program, &line, err);
		*answer = asked == 1 && is_word(&line, "y", "yes") ? TRUST_YES : TRUST_NO;
		if (asked != -1 && *answer == TRUST_YES)
			asked = trust_record(items, err);
	}
	terminal_question_close(&q);
	buffer_free(&line);
	free(path);
	return asked == -1 ? -1 : 0;
}
