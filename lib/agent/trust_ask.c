/*
 * What would run is shown to whoever sits at the terminal, and allowed if they say so
 * (run/terminal_question.h). Several steps of a run may want to know the same: each looks at what
 * is allowed once more when its turn has come.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "agent/trust.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "run/run.h"
#include "run/terminal_question.h"

/* The file whose lock says whose turn it is: the run's, as approvals have it, else this user's. In
 * memory of its own; NULL: there is no place for one. */
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

void
trust_items_describe(const struct trust_items *items, bool all, struct buffer *out)
{
	for (size_t i = 0; i < items->count; i++) {
		const struct trust_item *item = &items->list[i];
		const bool allowed = trust_allows(item);

		if (allowed && !all)
			continue;
		buffer_format(out, "%s\n  ", item->what);
		text_visible(out, item->file, strlen(item->file), 0);
		buffer_format(out, ": %s\n", allowed ? "allowed" : item->digest);
		if (item->files != NULL)
			buffer_format(out, "  %s\n", item->files);
	}
}

/* How many of them are not allowed. */
static size_t
open_count(const struct trust_items *items)
{
	size_t count = 0;

	for (size_t i = 0; i < items->count; i++)
		count += !trust_allows(&items->list[i]);
	return count;
}

int
trust_ask(const struct trust_items *items, const char *program, const struct interrupts *interrupts,
    enum trust_answer *answer, struct error *err)
{
	struct buffer out = BUFFER_INIT, line = BUFFER_INIT;
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
		buffer_format(&out, "\n%s: a definition of this project would run this in no sandbox, or send "
		    "data to it:\n\n", program);
		trust_items_describe(items, false, &out);
		buffer_text(&out, "\nIf none but your own edits reach this directory, awf trust --edits asks no more "
		    "about it.\nAllow it for ");
		text_visible(&out, items->list[0].repository, strlen(items->list[0].repository), 0);
		buffer_text(&out, ", until something of it changes? [y/N] ");
		terminal_question_forget_typed(&q);
		asked = terminal_question_ask(&q, &out, &line, err);
		*answer = asked == 1 && (strcasecmp(buffer_string(&line), "y") == 0 ||
		    strcasecmp(buffer_string(&line), "yes") == 0) ? TRUST_YES : TRUST_NO;
		if (asked != -1 && *answer == TRUST_YES)
			asked = trust_record(items, err);
	}
	terminal_question_close(&q);
	buffer_free(&line);
	buffer_free(&out);
	free(path);
	return asked == -1 ? -1 : 0;
}
