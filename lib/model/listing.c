/*
 * Lists the runs of the storage, the newest first, and inserts the queued runs that have no
 * transcript yet by the time at which they were queued. Reads one summary after another until
 * enough are listed. Reports a run that cannot be read, unless it is being created or removed.
 */
#include "model/listing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/count.h"
#include "base/invariant.h"
#include "base/locale.h"
#include "base/memory.h"
#include "base/text.h"
#include "json/writer.h"
#include "model/model.h"
#include "model/waiting.h"
#include "storage/origin.h"
#include "storage/queue.h"
#include "transcript/event_keys.h"

#define ID_SHOWN 8
#define NAME_WIDTH 32
#define COST_WIDTH 9
#define QUEUED "queued"
#define BOLD "\033[1m"
#define RESET "\033[0m"

/* Whether the run may be one whose process waits with a call: it runs and waits at the same time. */
static bool
listing_may_attend(const struct summary *run, const struct listing_spec *spec)
{
	return spec->status != NULL && strcmp(spec->status, "waiting") == 0 &&
	    strcmp(run->status, "running") == 0 && summary_asks(run);
}

static bool
listing_wants_run(const struct summary *run, const struct listing_spec *spec)
{
	return (spec->children || !run->child) &&
	    (!spec->status || strcmp(run->status, spec->status) == 0 || listing_may_attend(run, spec)) &&
	    globs_match(spec->names, run->name);
}

static void
add_run(struct listing *l, const struct summary *run)
{
	l->runs = memory_array(l->runs, l->count + 1, sizeof *l->runs);
	l->runs[l->count++] = *run;
}

/* The queued runs that have no transcript yet, the latest first. */
struct queue_list {
	struct queued *list; /* name NULL: not to be listed, or listed already */
	size_t count, next;
};

/* How long the run has been queued. */
static int64_t
listing_waited_ms(const struct queued *waiting)
{
	int64_t now = clock_wall();

	return now > waiting->came ? (now - waiting->came) / 1000 : 0;
}

/* Lists the queued runs that were queued at or after a time, until enough runs are listed. */
static void
add_queued(struct listing *l, const struct listing_spec *spec, struct queue_list *queue,
    int64_t since)
{
	for (; queue->next < queue->count && queue->list[queue->next].came >= since &&
	    l->count < spec->count; queue->next++) {
		struct queued *waiting = &queue->list[queue->next];
		struct summary run = { .status = QUEUED, .child = waiting->child,
			.started = waiting->came, .ended = waiting->came, .exit_code = -1 };

		if (waiting->name == NULL)
			continue;
		run.duration_ms = listing_waited_ms(waiting);
		memcpy(run.run_id, waiting->run_id, sizeof run.run_id);
		run.name = waiting->name;
		if (!listing_wants_run(&run, spec))
			continue;
		waiting->name = NULL;
		add_run(l, &run);
	}
}

/* The queued run with this id, or NULL. */
static struct queued *
find_queued(const struct queue_list *queue, const char *run_id)
{
	for (size_t i = 0; i < queue->count; i++)
		if (strcmp(queue->list[i].run_id, run_id) == 0)
			return &queue->list[i];
	return NULL;
}

static void
write_wait(const struct summary *run, const struct waiting *at, struct writer *w)
{
	char text[CLOCK_TEXT_SIZE], *token = memory_format("%s/%s", run->run_id,
	    at->token != NULL ? at->token : at->task);

	writer_object(w);
	writer_member_string(w, "call", at->call);
	writer_member_string(w, "path", at->path);
	writer_member_integer(w, "iteration", at->iteration);
	writer_member_string(w, "for", waiting_word(at->what));
	if (at->attended && strcmp(run->status, "running") == 0)
		writer_member_bool(w, "attended", true);
	if (at->deadline != 0)
		writer_member_string(w, "deadline", clock_text(at->deadline, text));
	if (at->what == WAITING_COMPLETION) {
		writer_member_string(w, "form", at->form);
		writer_member_string(w, "token", token);
	}
	writer_object_end(w);
	free(token);
}

/* Reads which calls wait, also for a run that is alive. */
static void
read_waits(struct summary *run, const char *path, const struct listing_spec *spec)
{
	struct buffer text = BUFFER_INIT;
	struct error warning;
	struct model m;
	struct writer w;
	bool any = false;

	if (run->origin != NULL || !summary_asks(run))
		return;
	model_begin(&m, MODEL_LIVE);
	writer_begin(&w, &text);
	writer_array(&w);
	if (model_read_file(&m, path, &warning) != 0)
		spec->warn(&warning);
	for (size_t i = 0; i < m.waits.count; i++) {
		const struct waiting *at = &m.waits.list[i];

		if (at->over || at->what == WAITING_NOTHING)
			continue;
		write_wait(run, at, &w);
		any = true;
	}
	writer_array_end(&w);
	model_free(&m);
	if (any)
		run->waits = buffer_take(&text);
	else
		buffer_free(&text);
}

static void
listing_read_run(struct listing *l, const struct storage *s, const struct listing_spec *spec,
    const struct queue_list *queue, const char *run_id)
{
	char *path = storage_transcript(s, run_id);
	const struct queued *waiting = find_queued(queue, run_id);
	struct summary run;
	struct error warning;
	struct stat status;

	if (summary_read(&run, path, &warning) != 0) {
		/* Do not warn if it is being removed, or is still empty: its first line may never
		 * come. */
		if (lstat(path, &status) != 0 ? errno != ENOENT : status.st_size != 0)
			spec->warn(&warning);
		free(path);
		return;
	}
	if (waiting != NULL && strcmp(run.status, "running") != 0) {
		snprintf(run.status, sizeof run.status, QUEUED);
		run.duration_ms = listing_waited_ms(waiting);
		run.exit_code = -1;
		free(run.error);
		run.error = NULL;
	}
	if (listing_wants_run(&run, spec)) {
		run.origin = origin_name(s, run_id);
		if (spec->waits || listing_may_attend(&run, spec))
			read_waits(&run, path, spec);
		if (listing_may_attend(&run, spec) && run.waits == NULL) {
			summary_free(&run);
			free(path);
			return;
		}
		if (l->costs) {
			cost_restart(spec->cost);
			run.cost = COST_UNKNOWN;
			if (cost_read(spec->cost, path, &warning) == 0)
				run.cost = cost_sum(spec->cost);
			else
				spec->warn(&warning);
		}
		add_run(l, &run);
	} else {
		summary_free(&run);
	}
	free(path);
}

int
listing_read(struct listing *l, const struct storage *s, const struct listing_spec *spec,
    struct error *err)
{
	struct queue_list queue = { NULL, 0, 0 };
	struct run_entry *entries;
	size_t count;

	*l = (struct listing){ .costs = spec->cost != NULL };
	if (queued_list(s, &queue.list, &queue.count, err) != 0 ||
	    storage_list(s, &entries, &count, err) != 0) {
		queued_free(queue.list, queue.count);
		return -1;
	}
	/* A queued run that is to be resumed has a transcript, and is listed where it began. */
	for (size_t i = 0; queue.count > 0 && i < count; i++) {
		struct queued *waiting = find_queued(&queue, entries[i].run_id);

		if (waiting == NULL)
			continue;
		free(waiting->name);
		waiting->name = NULL;
	}
	for (size_t i = 0; i < count && (spec->since == 0 || entries[i].started >= spec->since); i++) {
		add_queued(l, spec, &queue, entries[i].started);
		if (l->count >= spec->count)
			break;
		listing_read_run(l, s, spec, &queue, entries[i].run_id);
	}
	add_queued(l, spec, &queue, spec->since);
	INVARIANT(l->count <= spec->count && queue.next <= queue.count);
	free(entries);
	queued_free(queue.list, queue.count);
	return 0;
}

/* The width of a text from text_visible() in columns: its number of characters, which is close
 * enough. */
static size_t
columns_of(const char *text)
{
	size_t columns = 0;

	for (; *text != '\0'; text++)
		columns += ((unsigned char)*text & 0xc0) != 0x80;
	return columns;
}

static char *
name_text(const struct summary *run)
{
	struct buffer text = BUFFER_INIT;

	text_visible(&text, run->name, strlen(run->name), NAME_WIDTH);
	locale_draw(&text, 0);
	return buffer_take(&text);
}

static const char *
status_colour(const char *status)
{
	static const struct { const char *status, *colour; } table[] = {
		{ "success", "\033[32m" }, { "running", "\033[36m" }, { "waiting", "\033[33m" },
		{ QUEUED, "\033[33m" },
	};

	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (strcmp(table[i].status, status) == 0)
			return table[i].colour;
	return "\033[31m";
}

static void
add_row(struct buffer *out, const struct summary *run, size_t name_width, bool colour)
{
	char *name = name_text(run);
	size_t columns = columns_of(name);
	char text[64];
	struct tm local;

	buffer_text(out, name);
	buffer_format(out, "%*s", (int)(columns < name_width ? name_width - columns + 2 : 2), "");
	buffer_format(out, "%-*.*s  ", ID_SHOWN, ID_SHOWN, run->run_id);
	buffer_format(out, "%s%-9s%s  ", colour ? status_colour(run->status) : "", run->status,
	    colour ? RESET : "");
	clock_local(run->started, &local);
	strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local);
	buffer_format(out, "%s  ", text);
	buffer_format(out, "%8s  ", duration_text(run->duration_ms, text, sizeof text));
	buffer_format(out, "%6s  ", count_text(run->calls, text, sizeof text));
	buffer_format(out, "%6s",
	    count_text(count_add(run->input_tokens, run->output_tokens), text, sizeof text));
	free(name);
}

void
listing_table(const struct listing *l, bool head, bool colour, struct buffer *out)
{
	size_t width = strlen("NAME");
	char text[MONEY_SIZE];

	for (size_t i = 0; i < l->count; i++) {
		char *name = name_text(&l->runs[i]);
		size_t columns = columns_of(name);

		width = columns > width ? columns : width;
		free(name);
	}
	if (head) {
		buffer_format(out, "%s%-*s  %-*s  %-9s  %-19s  %8s  %6s  %6s", colour ? BOLD : "",
		    (int)width, "NAME", ID_SHOWN, "RUN", "STATUS", "STARTED", "DURATION", "CALLS",
		    "TOKENS");
		if (l->costs)
			buffer_format(out, "  %*s", COST_WIDTH, "COST");
		buffer_format(out, "%s\n", colour ? RESET : "");
	}
	for (size_t i = 0; i < l->count; i++) {
		int64_t cost = l->runs[i].cost;

		add_row(out, &l->runs[i], width, colour);
		if (l->costs)
			buffer_format(out, "  %*s", COST_WIDTH,
			    cost == COST_UNKNOWN ? "?" : money_text(cost, text));
		buffer_byte(out, '\n');
	}
}

void
listing_members(const struct summary *run, struct writer *w)
{
	char text[CLOCK_TEXT_SIZE];

	writer_member_string(w, KEY_RUN_ID, run->run_id);
	writer_member_string(w, KEY_NAME, run->name);
	writer_member_string(w, KEY_STATUS, run->status);
	writer_member_bool(w, "child", run->child);
	writer_member_string(w, "started", clock_text(run->started, text));
	writer_member_integer(w, KEY_DURATION_MS, run->duration_ms);
	writer_key(w, KEY_EXIT_CODE);
	if (run->exit_code >= 0)
		writer_integer(w, run->exit_code);
	else
		writer_null(w);
	writer_member_integer(w, "calls", run->calls);
	writer_member_integer(w, "input_tokens", run->input_tokens);
	writer_member_integer(w, "output_tokens", run->output_tokens);
	writer_member_string(w, "origin", run->origin);
	if (run->error != NULL)
		writer_member_span(w, KEY_ERROR, span_of(run->error, strlen(run->error)));
	if (run->waits != NULL)
		writer_member_span(w, "waits", span_of(run->waits, strlen(run->waits)));
}

void
listing_json(const struct listing *l, struct buffer *out)
{
	for (size_t i = 0; i < l->count; i++) {
		struct writer w;

		writer_begin(&w, out);
		writer_object(&w);
		listing_members(&l->runs[i], &w);
		if (l->costs)
			cost_write(&w, l->runs[i].cost);
		writer_object_end(&w);
		buffer_byte(out, '\n');
	}
}

void
listing_free(struct listing *l)
{
	for (size_t i = 0; i < l->count; i++)
		summary_free(&l->runs[i]);
	free(l->runs);
	*l = (struct listing){ .runs = NULL };
}
