/*
 * awf-status, started by `awf status`: what waits, what failed in the last day, what runs and what
 * today has cost, in one screen; and whether a person has to do something.
 *
 * Of each run of the storage only the last line is read, which tells whether it has ended for good;
 * more is read only of those that have not, and of those that failed since yesterday. So there is
 * no index that could be wrong. The runs that changed today are read for their cost.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/count.h"
#include "base/options.h"
#include "base/text.h"
#include "io/terminal.h"
#include "json/writer.h"
#include "model/cost.h"
#include "program.h"
#include "setup/attention.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"
#include "view/screen.h"

#define PROGRAM "awf"
#define VERSION_PROGRAM "awf-status"
#define BOLD "\033[1m"
#define RESET "\033[0m"
#define DAY (INT64_C(24) * 60 * 60 * 1000000)
#define TAIL 4096          /* bytes that are read of each transcript: most last lines fit */
#define NAME_WIDTH 24
#define LINES_LEAST 3      /* of each section, where there is room */

enum { OPT_JSON = 1 };

static const struct option_spec options[] = {
	{ OPT_JSON, 0, "json", NULL, "one JSON object, with all runs", OPTION_ONLY_SAID },
	{ 0, 0, NULL, NULL, NULL }
};

/* What a look at the storage has found. */
struct look {
	struct storage storage;
	struct attention list;
	int64_t now, today;      /* today: since midnight, UTC */
	struct cost cost;
	int64_t spent;           /* nano-dollars today */
	bool asked;              /* an answer of today was found */
	bool unknown;            /* of an answer of today the price is not known */
};

static void
status_warn(const struct error *warning)
{
	program_fail(PROGRAM, warning);
}

/* ---- cost ---- */

static int
status_add_cost(void *context, const struct placed *placed, struct error *err)
{
	struct look *l = context;
	int64_t cost;

	(void)err;
	if (placed->wall < l->today)
		return 0;
	cost = cost_take(&l->cost, placed);
	l->asked |= cost != COST_NONE;
	l->unknown |= cost == COST_UNKNOWN;
	if (cost > 0)
		l->spent = count_add(l->spent, cost);
	return 0;
}

/* Adds what the run has cost today. */
static void
add_cost(struct look *l, const char *path)
{
	struct error ignored;
	struct model m;

	model_begin(&m, MODEL_EVENTS);
	m.watch = status_add_cost;
	m.context = l;
	model_read_file(&m, path, &ignored);
	model_free(&m);
}

/* ---- runs ---- */

/* Whether the last line of a transcript is the end of a run that does not wait: at *ended, after a
 * failure or not. False: more has to be read. */
static bool
ended_for_good(int fd, off_t size, int64_t *ended, bool *failed)
{
	char bytes[TAIL], *end, *begin;
	const off_t from = size > TAIL ? size - TAIL : 0;
	const ssize_t got = pread(fd, bytes, sizeof bytes, from);
	struct event_view event;
	struct span status;

	if (got <= 0 || bytes[got - 1] != '\n')
		return false;
	end = bytes + got - 1;
	for (begin = end; begin > bytes && begin[-1] != '\n'; begin--)
		;
	if ((begin == bytes && from > 0) || event_view(begin, (size_t)(end - begin), &event) != 0 ||
	    event.type != EVENT_RUN_COMPLETED)
		return false;
	status = span_member(event.payload, KEY_STATUS);
	if (span_is(status, "waiting"))
		return false;
	*ended = event_wall(&event);
	*failed = !span_is(status, "success") && !span_is(status, "cancelled");
	return true;
}

static void
status_read_run(struct look *l, int directory, const char *file, const char *run_id)
{
	const int fd = openat(directory, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	int64_t ended = 0;
	struct stat status;
	bool failed = false, over;
	char *path;

	if (fd == -1)
		return;
	if (fstat(fd, &status) == -1 || !S_ISREG(status.st_mode) || status.st_size == 0) {
		close(fd);
		return;
	}
	over = ended_for_good(fd, status.st_size, &ended, &failed);
	close(fd);
	attention_add_run(&l->list, run_id, !over || (failed && ended >= l->list.failed_since));
	if (clock_of(&status.st_mtim) < l->today)
		return;
	path = storage_transcript(&l->storage, run_id);
	add_cost(l, path);
	free(path);
}

static int
status_read_runs(struct look *l, struct error *err)
{
	const struct dirent *entry;
	DIR *directory;

	if (storage_names(&l->storage, "transcripts", &directory, err) != 0)
		return -1;
	while (directory != NULL && (entry = readdir(directory)) != NULL) {
		const size_t len = strlen(entry->d_name);
		char run_id[ID_SIZE];

		if (len != ID_SIZE - 1 + sizeof ".jsonl" - 1 || !id_valid(entry->d_name, ID_SIZE - 1) ||
		    strcmp(entry->d_name + ID_SIZE - 1, ".jsonl") != 0)
			continue;
		memcpy(run_id, entry->d_name, ID_SIZE - 1);
		run_id[ID_SIZE - 1] = '\0';
		status_read_run(l, dirfd(directory), entry->d_name, run_id);
	}
	if (directory != NULL)
		closedir(directory);
	return 0;
}

/* ---- as JSON ---- */

static const char *const keys[ATTENTION_SECTIONS] = { "needs_person", "failed", "waiting", "running" };

static void
write_json(const struct look *l, struct buffer *out)
{
	char text[CLOCK_TEXT_SIZE];
	struct writer w;

	writer_begin(&w, out);
	writer_object(&w);
	for (int section = 0; section < ATTENTION_SECTIONS; section++) {
		writer_key(&w, keys[section]);
		writer_array(&w);
		for (size_t i = 0; i < l->list.count; i++) {
			const struct attention_item *item = &l->list.list[i];

			if ((int)item->section != section)
				continue;
			writer_object(&w);
			writer_member_string(&w, KEY_RUN_ID, item->run_id);
			writer_member_string(&w, KEY_NAME, item->name);
			writer_member_string(&w, KEY_STATUS, item->status);
			writer_member_string(&w, "since", clock_text(item->since, text));
			writer_member_string(&w, "message", item->message);
			if (item->command != NULL)
				writer_member_string(&w, "command", item->command);
			writer_object_end(&w);
		}
		writer_array_end(&w);
	}
	if (l->asked && !l->unknown)
		cost_write(&w, l->spent);
	writer_object_end(&w);
	buffer_byte(out, '\n');
}

/* ---- for people ---- */

static size_t
write_name(const char *text, struct buffer *out)
{
	size_t columns = 0;
	const size_t from = out->len;

	text_visible(out, text, strlen(text), NAME_WIDTH);
	for (size_t i = from; i < out->len; i++)
		columns += ((unsigned char)out->data[i] & 0xc0) != 0x80;
	return columns;
}

static void
write_item(const struct look *l, const struct attention_item *item, size_t name_width, size_t width,
    struct buffer *out)
{
	char run[ID_SIZE], age[32];
	struct buffer line = BUFFER_INIT;
	const int64_t ms = l->now > item->since ? (l->now - item->since) / 1000 : 0;
	const bool command_first = item->section == ATTENTION_NEEDED && item->command != NULL;
	size_t columns;

	buffer_text(&line, "  ");
	columns = write_name(item->name, &line);
	buffer_format(&line, "%*s%s  %7s  ", (int)(name_width - columns) + 2, "",
	    attention_short_id(&l->list, item->run_id, run), duration_text(ms, age, sizeof age));
	if (command_first)
		buffer_format(&line, "%s  (%s)", item->command, item->message);
	else
		buffer_format(&line, "%s%s%s", item->message,
		    item->command != NULL && item->section == ATTENTION_WAITING ? ": " : "",
		    item->command != NULL && item->section == ATTENTION_WAITING ? item->command : "");
	text_visible(out, buffer_string(&line), line.len, width);
	buffer_byte(out, '\n');
	buffer_free(&line);
}

static void
write_sum(const struct look *l, const char *bold, const char *reset, struct buffer *out)
{
	char money[MONEY_SIZE];

	if (l->asked)
		buffer_format(out, "%scost today (UTC)%s  %s%s\n", bold, reset,
		    l->spent == 0 && l->unknown ? "$?" : money_text(l->spent, money),
		    l->spent > 0 && l->unknown ? " and what has no known price" : "");
	else if (l->list.count == 0)
		buffer_text(out, "nothing runs or waits, and nothing has failed in the last 24 hours\n");
}

/* Writes at most so many lines. Each section has its heading and a few lines; what is left goes to
 * the most urgent ones first. */
static void
write_screen(const struct look *l, size_t rows, size_t width, bool colour, struct buffer *out)
{
	static const char *const heads[ATTENTION_SECTIONS] = { "needs you", "failed in the last 24 hours",
		"waiting", "running" };
	const char *bold = colour ? BOLD : "", *reset = colour ? RESET : "";
	const struct attention_item *item = l->list.list;
	const size_t least = rows < SCREEN_HEIGHT ? 1 : LINES_LEAST;
	size_t name_width = 0, kept = 2; /* the sum, and the next prompt */

	for (size_t i = 0; i < l->list.count; i++) {
		struct buffer name = BUFFER_INIT;
		const size_t columns = write_name(l->list.list[i].name, &name);

		name_width = columns > name_width ? columns : name_width;
		buffer_free(&name);
	}
	for (int section = 0; section < ATTENTION_SECTIONS; section++)
		if (l->list.counts[section] > 0)
			kept += 1 + (l->list.counts[section] < least ? l->list.counts[section] : least);
	rows = rows > kept ? rows - kept : 0;
	for (int section = 0; section < ATTENTION_SECTIONS; section++) {
		const size_t count = l->list.counts[section], own = count < least ? count : least;
		/* If not all fit, the last line says how many more there are. */
		const size_t shown = count <= own + rows ? count : own + rows - 1;

		if (count == 0)
			continue;
		rows -= count <= own + rows ? count - own : rows;
		buffer_format(out, "%s%s%s  %zu\n", bold, heads[section], reset, count);
		for (size_t i = 0; i < count; i++, item++)
			if (i < shown)
				write_item(l, item, name_width, width, out);
		if (shown < count)
			buffer_format(out, "  and %zu more\n", count - shown);
	}
	write_sum(l, bold, reset, out);
}

int
main(int argc, char **argv)
{
	struct look l = { .now = clock_wall() };
	struct buffer out = BUFFER_INIT, json = BUFFER_INIT;
	struct error err = ERROR_INIT;
	struct options o;
	size_t rows;
	int status;

	program_begin();
	options_begin(&o, options, argc, argv);
	if (!program_read_options(PROGRAM, VERSION_PROGRAM, "awf status [options]\n", &o, &status))
		return status;
	l.today = l.now - l.now % DAY;
	if (storage_locate(&l.storage, &err) != 0)
		return program_fail(PROGRAM, &err);
	/* Without prices only what answers tell of their cost is known. */
	if (cost_begin(&l.cost, &err) != 0)
		status_warn(&err);
	l.list = (struct attention){ .storage = &l.storage, .now = l.now, .failed_since = l.now - DAY,
		.warn = status_warn };
	if (status_read_runs(&l, &err) == 0 && attention_read(&l.list, &err) == 0) {
		rows = terminal_is(STDOUT_FILENO) ? terminal_height(STDOUT_FILENO) : SCREEN_HEIGHT;
		if ((o.said & OPTION_SAID(OPT_JSON)) != 0) {
			write_json(&l, &json);
			if (terminal_is(STDOUT_FILENO))
				terminal_json(&out, buffer_string(&json), json.len);
			else
				buffer_append(&out, json.data, json.len);
		} else
			write_screen(&l, rows, terminal_width(STDOUT_FILENO),
			    terminal_colour(STDOUT_FILENO, "auto"), &out);
		status = l.list.counts[ATTENTION_NEEDED] > 0 ? STATUS_USAGE : STATUS_OK;
	} else {
		status = program_fail(PROGRAM, &err);
	}
	fwrite(buffer_string(&out), 1, out.len, stdout);
	buffer_free(&json);
	buffer_free(&out);
	cost_free(&l.cost);
	attention_free(&l.list);
	storage_close(&l.storage);
	return program_end(PROGRAM, status);
}
