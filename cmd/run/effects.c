/*
 * Prints a line for each effect that may or may not have happened, so that a person must decide
 * about it; and for each recorded call that no call of this run has used. If commands differ only
 * after the part that fits into a line, their lines would be equal; then each shows its beginning
 * and the part from which they differ.
 */
#include "run/job.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/text.h"
#include "proc/message.h"
#include "program.h"

#define TIME_SIZE 19 /* length of a timestamp without its fraction */
#define WHAT_COLUMNS 72 /* columns for the description of an effect */
#define HEAD_COLUMNS 24 /* columns for its beginning if a later part is shown as well */
#define BEFORE 12       /* bytes that are shown before the difference */
#define PASSES 8

/* A line about an effect. */
struct told_effect {
	const struct history_doubt *doubt;
	struct buffer text;          /* description of the effect, printable */
	size_t from;                 /* show the part from this byte on; 0: only the beginning */
	size_t first;                /* index of the first line that looks the same */
	size_t differs;              /* in the first of the equal lines: the first byte at which any
	                                of the texts differs */
};

/* The number of bytes is limited, too, since combining marks have no column, and any number of them
 * may follow a character. */
static void
show_part(struct buffer *out, const char *at, size_t columns)
{
	size_t len = strlen(at), most = len <= 4 * columns ? len : utf8_whole(at, 4 * columns);

	text_visible(out, at, most, columns);
	if (most < len && !text_ends(buffer_string(out), "…"))
		buffer_text(out, "…");
}

static void
effects_write_text(struct told_effect *e)
{
	const struct history_doubt *d = e->doubt;
	size_t from = e->from > BEFORE ? e->from - BEFORE : 0;

	while (from > 0 && ((unsigned char)d->what[from] & 0xC0) == 0x80)
		from--;
	buffer_clear(&e->text);
	if (d->tool != NULL)
		buffer_format(&e->text, "%s ", d->tool);
	show_part(&e->text, d->what, from == 0 ? WHAT_COLUMNS : HEAD_COLUMNS);
	if (from > 0)
		show_part(&e->text, d->what + from, WHAT_COLUMNS - HEAD_COLUMNS);
	buffer_text(&e->text, d->data != NULL ? d->data : "");
	if (d->marks != NULL)
		buffer_format(&e->text, " (%s)", d->marks);
}

static size_t
first_difference(const char *a, const char *b)
{
	size_t i = 0;

	while (a[i] != '\0' && a[i] == b[i])
		i++;
	return a[i] == b[i] ? SIZE_MAX : i;
}

/* Finds effects that differ but whose lines would be equal, and makes each line show the part that
 * differs. Returns whether there were any. */
static bool
effects_show_differences(struct told_effect *list, size_t count)
{
	struct map lines = MAP_INIT;
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		const size_t *same = map_get(&lines, buffer_string(&list[i].text), list[i].text.len);
		struct told_effect *first = &list[same != NULL ? *same : i];
		size_t differs;

		list[i].first = (size_t)(first - list);
		list[i].differs = SIZE_MAX;
		if (same == NULL)
			map_put(&lines, buffer_string(&list[i].text), list[i].text.len, i);
		differs = first_difference(first->doubt->what, list[i].doubt->what);
		if (differs < first->differs)
			first->differs = differs;
	}
	map_free(&lines);
	for (size_t i = 0; i < count; i++) {
		size_t differs = list[list[i].first].differs;

		if (differs == SIZE_MAX || differs <= list[i].from)
			continue;
		list[i].from = differs;
		effects_write_text(&list[i]);
		any = true;
	}
	return any;
}

/* Makes the lines about effects that nobody has decided about yet, or about all. The caller frees
 * them. */
static struct told_effect *
effects_list_texts(const struct history_doubt *doubts, size_t doubt_count, bool undecided,
    size_t *count)
{
	struct told_effect *list = memory_zero(doubt_count + 1, sizeof *list);

	*count = 0;
	for (size_t i = 0; i < doubt_count; i++) {
		if (undecided && doubts[i].decided != RECALL_UNDECIDED)
			continue;
		list[*count].doubt = &doubts[i];
		effects_write_text(&list[(*count)++]);
	}
	for (int pass = 0; pass < PASSES && effects_show_differences(list, *count); pass++)
		;
	return list;
}

static void
told_free(struct told_effect *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		buffer_free(&list[i].text);
	free(list);
}

static void
effects_print_question(struct told_effect *e)
{
	const struct history_doubt *doubt = e->doubt;
	struct error question;
	char *where = doubt->run_id[0] != '\0' ? memory_format(" in run %s", doubt->run_id) :
	    memory_text("");
	char *what = memory_format("%s, begun %.*sZ", buffer_string(&e->text), TIME_SIZE, doubt->timestamp);

	if (doubt->why == NULL)
		error_set(&question, ERROR_WAITING, doubt->call, "%s%s, %s, and no file of the run names "
		    "this step any more. If another step does the same now, is that to be done again, or to take "
		    "this over? Say --redo %s or --skip %s", what, where,
		    doubt->waits ? "waits for its result" : "was done", doubt->call, doubt->call);
	else
		error_set(&question, ERROR_WAITING, doubt->call, "%s (%s)%s, may or may not have happened: "
		    "say --redo %s%s or --skip %s%s", what, doubt->why, where, doubt->call,
		    doubt->anew ? " to make the whole call again, with all that it did before," : "",
		    doubt->call, doubt->anew ? " to leave it out" : "");
	job_warn(&question);
	free(what);
	free(where);
}

int
job_ask(const struct resume *r)
{
	size_t count;
	struct told_effect *list = effects_list_texts(r->history.doubts, r->history.doubt_count,
	    true, &count);

	for (size_t i = 0; i < count; i++)
		effects_print_question(&list[i]);
	told_free(list, count);
	return STATUS_WAITING;
}

#define UNCLAIMED_LINES 10

void
job_tell_unclaimed(const struct history_summary *s)
{
	size_t most = s->unclaimed_count < UNCLAIMED_LINES ? s->unclaimed_count : UNCLAIMED_LINES, count;
	struct told_effect *list = effects_list_texts(s->unclaimed, most, false, &count);

	for (size_t i = 0; i < count; i++)
		message_print(PROGRAM, "%s: %s, begun %.*sZ, is an effect of an earlier attempt that "
		    "this one has not come to", list[i].doubt->call, buffer_string(&list[i].text), TIME_SIZE,
		    list[i].doubt->timestamp);
	told_free(list, count);
	if (s->unclaimed_count > most)
		message_print(PROGRAM, "and %zu more like these", s->unclaimed_count - most);
}
