/*
 * What a call waits for is shown with the run that made it, which may be inside of another; what
 * continues a run for which nothing is missing, with the outermost one, as that is resumed. A run
 * inside of one that can no longer use a decision is left out.
 */
#include "setup/attention.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "base/text.h"
#include "decide/due.h"
#include "io/file.h"
#include "json/scan.h"
#include "model/model.h"
#include "model/summary.h"
#include "storage/queue.h"
#include "storage/resumes.h"

#define INSIDE_MOST 64      /* runs inside of each other */
#define SHORT_ID 8          /* as in storage_short_id() */
#define QUESTION "question" /* the kind of awf-step --ask */
#define GOES_ON_WITH ", then goes on with"
#define WEEK (INT64_C(6) * 24 * 60 * 60 * 1000000)

static struct attention_item *
attention_add(struct attention *a, enum attention_section section, const struct summary *run)
{
	struct attention_item *item;

	a->list = memory_array(a->list, a->count + 1, sizeof *a->list);
	item = &a->list[a->count++];
	*item = (struct attention_item){ .section = section, .name = memory_text(run->name),
		.since = run->ended };
	memcpy(item->run_id, run->run_id, ID_SIZE);
	snprintf(item->status, sizeof item->status, "%s", run->status);
	a->counts[section]++;
	return item;
}

/* "Mon 08:00", with the date instead of the day if that is far away; in the user's time zone. */
static void
write_time(char *out, size_t size, int64_t now, int64_t when)
{
	struct tm local;

	clock_local(when, &local);
	strftime(out, size, when - now < WEEK && now - when < WEEK ? "%a %H:%M" : "%Y-%m-%d %H:%M", &local);
}

static char *
resume_command(const struct attention *a, const char *run_id)
{
	char run[ID_SIZE];

	return memory_format("awf-run --resume %s", attention_short_id(a, run_id, run));
}

/* ---- runs that wait ---- */

/* Finds the outermost of the runs around this one. False: one of them can use no decision any more, or
 * cannot be read. */
static bool
find_outermost(const struct attention *a, const struct summary *run, char out[ID_SIZE])
{
	char parent[ID_SIZE];
	bool asks = true;

	memcpy(out, run->run_id, ID_SIZE);
	memcpy(parent, run->parent, ID_SIZE);
	for (int depth = 0; asks && parent[0] != '\0' && depth < INSIDE_MOST; depth++) {
		char *path = storage_transcript(a->storage, parent);
		struct summary around;
		struct error ignored;

		memcpy(out, parent, ID_SIZE);
		asks = summary_read_ends(&around, path, &ignored) == 0;
		if (asks) {
			asks = summary_asks(&around);
			memcpy(parent, around.parent, ID_SIZE);
			summary_free(&around);
		}
		free(path);
	}
	return asks;
}

static bool
is_question(const struct waiting *at)
{
	return at->what == WAITING_COMPLETION && strcmp(at->kind, QUESTION) == 0;
}

/* How urgent a wait is: lower is more. */
static int
wait_rank(const struct waiting *at)
{
	if (at->what == WAITING_APPROVAL)
		return 0;
	return is_question(at) ? 1 : at->what == WAITING_COMPLETION ? 2 : 3;
}

/* What continues a run that sleeps when its time has come. */
static char *
after_sleep(const struct attention *a, const char *outermost, bool alive)
{
	struct error ignored;
	struct due due;

	if (alive)
		return memory_text("");
	if (due_read(&due, a->storage, outermost, false, &ignored) == 0 && due.by_itself)
		return memory_text(resumes_are_served(a->storage) ? ", then goes on by itself" :
		    ", then goes on by itself if a resumer runs (awf-worker --resumer)");
	return memory_text(GOES_ON_WITH);
}

/* Adds a run with its most urgent wait, one of so many. */
static void
add_wait(struct attention *a, const struct summary *run, const struct waiting *at, size_t open,
    const char *outermost)
{
	struct attention_item *item = attention_add(a, wait_rank(at) < 2 ? ATTENTION_NEEDED :
	    ATTENTION_WAITING, run);
	char id[ID_SIZE], more[48] = "", until[32], *after;

	if (open > 1)
		snprintf(more, sizeof more, " (and %zu more)", open - 1);
	write_time(until, sizeof until, a->now, at->deadline);
	if (at->what == WAITING_TIME) {
		after = after_sleep(a, outermost, strcmp(run->status, "running") == 0);
		item->message = memory_format("%s sleeps until %s%s%s", at->path, until, more, after);
		if (strcmp(after, GOES_ON_WITH) == 0)
			item->command = resume_command(a, outermost);
		free(after);
		return;
	}
	item->message = memory_format("%s %s%s%s%s", at->path, is_question(at) ? "waits for an answer" :
	    waiting_words(at->what), at->deadline != 0 ? " until " : "", at->deadline != 0 ? until : "", more);
	item->command = memory_format("awf-ctl %s %s %s", at->what == WAITING_APPROVAL ? "approve" : "complete",
	    at->call, attention_short_id(a, run->run_id, id));
}

/* Adds what the run's calls wait for. Returns how many wait. */
static size_t
add_waits(struct attention *a, const struct summary *run, const char *path)
{
	const bool alive = strcmp(run->status, "running") == 0;
	const struct waiting *first = NULL;
	char outermost[ID_SIZE];
	struct error warning;
	size_t open = 0;
	struct model m;

	if (!find_outermost(a, run, outermost))
		return 0;
	model_begin(&m, MODEL_LIVE);
	if (model_read_file(&m, path, &warning) != 0)
		a->warn(&warning);
	for (size_t i = 0; i < m.waits.count; i++) {
		const struct waiting *at = &m.waits.list[i];

		if (at->over || at->what == WAITING_NOTHING || (alive && !at->attended))
			continue;
		open++;
		if (first == NULL || wait_rank(at) < wait_rank(first) || (wait_rank(at) == wait_rank(first) &&
		    at->what == WAITING_TIME && at->deadline < first->deadline))
			first = at;
	}
	if (first != NULL)
		add_wait(a, run, first, open, outermost);
	model_free(&m);
	return open;
}

/* Something that the outermost run waits for has come: adds what continues it, or prevents that. */
static void
add_ready(struct attention *a, const struct summary *run, bool by_itself)
{
	struct resume_failures f = { .count = 0 };
	const bool served = by_itself && resumes_are_served(a->storage);
	struct attention_item *item;
	char when[32];

	if (by_itself)
		resumes_read_failures(a->storage, run->run_id, &f);
	item = attention_add(a, served && (f.count == 0 || f.next != 0) ? ATTENTION_WAITING :
	    ATTENTION_NEEDED, run);
	write_time(when, sizeof when, a->now, f.next);
	if (f.count > 0 && f.next != 0)
		item->message = memory_format("could not be resumed, is tried again %s: %s", when,
		    f.message != NULL ? f.message : "");
	else if (f.count > 0)
		item->message = memory_format("could not be resumed: %s", f.message != NULL ? f.message : "");
	else if (served)
		item->message = memory_text("goes on by itself");
	else if (by_itself)
		item->message = memory_text("goes on by itself if a resumer runs");
	else
		item->message = memory_text("can go on");
	if (item->section == ATTENTION_NEEDED)
		item->command = by_itself && f.count == 0 ? memory_text("awf-worker --resumer") :
		    resume_command(a, run->run_id);
	free(f.message);
}

static void
add_waiting(struct attention *a, const struct summary *run, const char *path)
{
	const bool elsewhere = storage_run_elsewhere(a->storage, run->run_id);
	struct resume_failures f;
	struct error ignored;
	struct due due;
	size_t open;

	if (elsewhere) {
		if (!run->child)
			attention_add(a, ATTENTION_WAITING, run)->message =
			    memory_text("waits, where it is recorded");
		return;
	}
	open = add_waits(a, run, path);
	if (run->child || due_read(&due, a->storage, run->run_id, false, &ignored) != 0 || !due.came)
		return;
	resumes_read_failures(a->storage, run->run_id, &f);
	free(f.message);
	if (open == 0 || (due.by_itself && f.count > 0))
		add_ready(a, run, due.by_itself && due.ready);
}

/* ---- other runs ---- */

static void
add_running(struct attention *a, const struct summary *run, const char *path)
{
	struct attention_item *item;

	if (!storage_run_elsewhere(a->storage, run->run_id) && add_waits(a, run, path) > 0)
		return;
	if (run->child)
		return;
	item = attention_add(a, ATTENTION_RUNNING, run);
	item->since = a->now - run->duration_ms * 1000;
	item->message = memory_format("%lld %s", (long long)run->calls, run->calls == 1 ? "call" : "calls");
}

static void
add_failed(struct attention *a, const struct summary *run)
{
	const bool died = strcmp(run->status, "died") == 0;
	struct attention_item *item;
	char *message = NULL;

	if (run->child || run->ended < a->failed_since)
		return;
	item = attention_add(a, ATTENTION_FAILED, run);
	if (run->error != NULL)
		message = span_text(span_member(span_of(run->error, strlen(run->error)), "message"));
	if (died)
		item->message = memory_text("was killed, or its machine was");
	else if (message != NULL)
		item->message = memory_text(message);
	else
		item->message = memory_text(run->status);
	if (!storage_run_elsewhere(a->storage, run->run_id))
		item->command = resume_command(a, run->run_id);
	free(message);
}

static void
attention_read_run(struct attention *a, const char *run_id)
{
	char *path = storage_transcript(a->storage, run_id);
	struct summary run;
	struct error warning;

	if (summary_read_ends(&run, path, &warning) != 0) {
		/* A run that is being made has no line yet. */
		if (transcript_begun(path))
			a->warn(&warning);
		free(path);
		return;
	}
	if (strcmp(run.status, "running") == 0)
		add_running(a, &run, path);
	else if (strcmp(run.status, "waiting") == 0)
		add_waiting(a, &run, path);
	else if (strcmp(run.status, "success") != 0 && strcmp(run.status, "cancelled") != 0)
		add_failed(a, &run);
	summary_free(&run);
	free(path);
}

static int
add_queued(struct attention *a, struct error *err)
{
	struct queued *list;
	size_t count;

	if (queued_list(a->storage, &list, &count, err) != 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		struct summary run = { .name = list[i].name, .ended = list[i].came, .status = "queued" };

		if (list[i].child)
			continue;
		memcpy(run.run_id, list[i].run_id, ID_SIZE);
		attention_add(a, ATTENTION_RUNNING, &run)->message = memory_text("queued");
	}
	queued_free(list, count);
	return 0;
}

/* ---- the list ---- */

void
attention_add_run(struct attention *a, const char *run_id, bool look)
{
	if ((a->run_count & (a->run_count - 1)) == 0)
		a->runs = memory_array(a->runs, a->run_count == 0 ? 1 : 2 * a->run_count, sizeof *a->runs);
	memcpy(a->runs[a->run_count].run_id, run_id, ID_SIZE);
	a->runs[a->run_count++].looked_at = look;
}

static int
by_id(const void *a, const void *b)
{
	return strcmp(((const struct attention_run *)a)->run_id, ((const struct attention_run *)b)->run_id);
}

/* By section; of what a person has to look at the latest first, of others that which has been so for
 * longest. */
static int
by_urgency(const void *a, const void *b)
{
	const struct attention_item *x = a, *y = b;
	int order = (x->since > y->since) - (x->since < y->since);

	if (x->section != y->section)
		return x->section < y->section ? -1 : 1;
	if (order == 0)
		return strcmp(x->run_id, y->run_id);
	return x->section <= ATTENTION_FAILED ? -order : order;
}

int
attention_read(struct attention *a, struct error *err)
{
	if (a->run_count > 0)
		qsort(a->runs, a->run_count, sizeof *a->runs, by_id);
	for (size_t i = 0; i < a->run_count; i++)
		if (a->runs[i].looked_at)
			attention_read_run(a, a->runs[i].run_id);
	if (add_queued(a, err) != 0)
		return -1;
	if (a->count > 0)
		qsort(a->list, a->count, sizeof *a->list, by_urgency);
	for (size_t i = 1; i < a->count; i++)
		INVARIANT(by_urgency(&a->list[i - 1], &a->list[i]) <= 0);
	return 0;
}

const char *
attention_short_id(const struct attention *a, const char *run_id, char out[ID_SIZE])
{
	size_t low = 0, high = a->run_count, len = SHORT_ID;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (strcmp(a->runs[middle].run_id, run_id) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	INVARIANT(low == 0 || strcmp(a->runs[low - 1].run_id, run_id) < 0);
	/* Its neighbours have the longest prefixes in common with it. */
	for (size_t i = low > 0 ? low - 1 : 0; i < a->run_count && i <= low + 1; i++)
		while (strcmp(a->runs[i].run_id, run_id) != 0 && run_id[len] != '\0' &&
		    strncmp(a->runs[i].run_id, run_id, len) == 0)
			len++;
	snprintf(out, ID_SIZE, "%.*s", (int)len, run_id);
	return out;
}

void
attention_free(struct attention *a)
{
	for (size_t i = 0; i < a->count; i++) {
		free(a->list[i].name);
		free(a->list[i].message);
		free(a->list[i].command);
	}
	free(a->list);
	free(a->runs);
	*a = (struct attention){ .list = NULL };
}
