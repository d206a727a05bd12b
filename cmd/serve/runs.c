/*
 * Finds a run that a request names in the way awf-tail finds its RUN, but never by the path of a
 * file.
 */
#include "serve/runs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "io/file.h"
#include "json/writer.h"
#include "model/listing.h"
#include "serve/serve.h"
#include "serve_runs/asked.h"
#include "serve_runs/frame.h"
#include "serve_start/starters.h"
#include "storage/origin.h"
#include "storage/queue.h"
#include "transcript/event_keys.h"

#define FAILED_MOST 100

/* Members of a run that are lists of calls. */
static const char *const empty_lists[] = { "open", "failed", "waits" };

const struct refusal storage_unreadable = { 503, "unavailable", "the storage cannot be read" };
static const struct refusal no_run = { 404, "not_found", "there is no such run" };

/* ---- which run ---- */

static bool
could_be_run(const char *name)
{
	if (*name == '@')
		return strchr(name, '/') == NULL;
	return strlen(name) >= 4 && strlen(name) < ID_SIZE &&
	    name[strspn(name, "0123456789abcdef-")] == '\0';
}

/* Whether the client, which has only a token of the role start, has started the run. It must name
 * the run by its whole id: nothing about other runs is revealed to it. */
static bool
is_starter(const struct request *r, const char *name)
{
	return id_valid(name, strlen(name)) &&
	    starters_has(&r->server->storage, name, token_digest(r->token));
}

/* Finds a run that has a transcript. If several ids have the prefix, *ambiguous is set. */
static bool
find_run(const struct request *r, const char *name, char run_id[ID_SIZE], bool *ambiguous)
{
	struct run_ref ref = { .path = NULL };
	struct error err = ERROR_INIT;
	struct summary summary;
	struct stat status;
	bool found;

	*ambiguous = false;
	if (!could_be_run(name))
		return false;
	if (storage_resolve(&r->server->storage, name, &ref, &err) != 0) {
		*ambiguous = ref.ambiguous;
		return false;
	}
	found = ref.in_storage && lstat(ref.path, &status) == 0 && S_ISREG(status.st_mode);
	memcpy(run_id, ref.run_id, ID_SIZE);
	/* To a token that may not read the run, it does not exist. */
	if (found && token_reads(r->token) && r->token->names.count > 0) {
		found = summary_read_ends(&summary, ref.path, &err) == 0;
		if (found) {
			found = token_names(r->token, summary.name);
			summary_free(&summary);
		}
	}
	run_ref_free(&ref);
	return found;
}

/* Finds a run that is queued, or has just begun, and has no transcript yet. Only its whole id names
 * it. */
static bool
find_queued(const struct request *r, const char *name, char run_id[ID_SIZE])
{
	const struct storage *storage = &r->server->storage;
	struct queued run = { .name = NULL };
	bool found;

	if (!id_valid(name, strlen(name)))
		return false;
	if (queued_find(storage, name, &run))
		found = !token_reads(r->token) || token_names(r->token, run.name);
	else
		found = storage_run_owner(storage, name, NULL) &&
		    (!token_reads(r->token) || r->token->names.count == 0);
	free(run.name);
	if (found)
		memcpy(run_id, name, ID_SIZE);
	return found;
}

bool
request_run_or_queued(struct request *r, const char *name, char run_id[ID_SIZE], bool *queued)
{
	bool ambiguous = false, allowed = token_reads(r->token) || is_starter(r, name);

	*queued = false;
	if (allowed && find_run(r, name, run_id, &ambiguous))
		return true;
	if (allowed && !ambiguous && find_queued(r, name, run_id)) {
		/* It may have begun just now. */
		*queued = !find_run(r, name, run_id, &ambiguous);
		return true;
	}
	if (ambiguous)
		request_error(r, 409, "conflict", "several runs' ids begin so: give more of it");
	else
		request_refuse(r, runs_readable(r->server) ? &no_run : &storage_unreadable);
	return false;
}

bool
request_run(struct request *r, const char *name, char run_id[ID_SIZE])
{
	bool queued;

	if (!request_run_or_queued(r, name, run_id, &queued))
		return false;
	if (queued)
		request_refuse(r, &no_run);
	return !queued;
}

void
request_unopened(struct request *r, const char *run_id, const struct error *why)
{
	char *path = storage_transcript(&r->server->storage, run_id);
	struct stat status;

	if (lstat(path, &status) != 0 && errno == ENOENT)
		request_refuse(r, &no_run);
	else
		request_fail(r, why);
	free(path);
}

/* ---- one run ---- */

static void
write_usage(struct writer *w, const struct model *m)
{
	writer_member_object(w, "usage");
	for (size_t i = 0; i < MODEL_USAGE_KEYS; i++)
		if (m->used[i])
			writer_member_integer(w, model_usage_keys[i], m->usage[i]);
	writer_object_end(w);
}

/* Writes how many calls of the last attempt are in each state; calls without an end count by the
 * run's state. */
static void
write_counts(struct writer *w, const struct model *m, enum view_saying run)
{
	static const enum view_saying states[] = { VIEW_RUNNING, VIEW_DONE, VIEW_REUSED, VIEW_FAILED,
		VIEW_CANCELLED, VIEW_SKIPPED, VIEW_CLOSED, VIEW_WAITING };
	int64_t counts[VIEW_SAYINGS] = { 0 }, total = 0;

	for (const struct model_call *c = m->first_of_attempt; c != NULL; c = c->next) {
		counts[told_state_within(told_state_of_call(c), run)]++;
		total++;
	}
	counts[VIEW_RUNNING] += counts[VIEW_UNFINISHED];
	writer_member_object(w, "calls");
	for (size_t i = 0; i < sizeof states / sizeof *states; i++)
		writer_member_integer(w, overview_state_word(states[i]), counts[states[i]]);
	writer_member_integer(w, "total", total);
	writer_object_end(w);
}

/* Writes the calls of the last attempt that are in a state, up to a limit. */
static void
write_calls(struct writer *w, const char *name, const struct overview *o, enum call_state state,
    size_t most)
{
	writer_member_array(w, name);
	for (const struct model_call *c = o->model.first_of_attempt; c != NULL && most > 0; c = c->next)
		if (c->state == state) {
			overview_write_call(o, c, w);
			most--;
		}
	writer_array_end(w);
}

static void
write_waits(struct writer *w, const struct overview *o, bool asks, bool alive)
{
	struct asked *list = NULL;
	size_t count = asks || alive ? asked_list(o, alive, &list) : 0;

	writer_member_array(w, "waits");
	for (size_t i = 0; i < count; i++)
		if (asks || list[i].wait == NULL) {
			writer_object(w);
			asked_write(o, &list[i], alive, w);
			writer_object_end(w);
		}
	writer_array_end(w);
	free(list);
}

/* Adds to the members that a run has in a list those that only this answer has. */
static void
write_more(struct writer *w, const struct summary *run, size_t waiting, bool alive)
{
	char dollars[MONEY_SIZE];

	writer_member_integer(w, "waiting", (int64_t)waiting);
	writer_member_bool(w, "alive", alive);
	if (run->cost >= 0)
		writer_member_string(w, "cost", money_number(run->cost, dollars));
}

/* Makes the id "SEQ-DIGEST8" of the last event in the overview: a stream that begins after it sends
 * everything that is not in this answer. */
static bool
read_head(const struct overview *o, char id[FRAME_ID_SIZE])
{
	struct reader reader;
	struct error err;
	const char *line;
	size_t len;
	bool read = false;

	if (reader_open(&reader, o->path, &err) != 0)
		return false;
	if (reader_seek_after(&reader, o->seq - 1, &err) == 0 && reader_next(&reader, &line, &len, &err) == 1)
		read = frame_id(line, len, id);
	reader_close(&reader);
	return read;
}

static void
write_run(struct writer *w, const struct overview *o, const struct server *s)
{
	bool alive = storage_run_alive(&s->storage, o->run_id);
	struct summary run;
	char id[FRAME_ID_SIZE];

	overview_summary(o, alive, &run);
	run.origin = origin_name(&s->storage, o->run_id);
	writer_object(w);
	listing_members(&run, w);
	write_more(w, &run, summary_asks(&run) ? overview_waiting(o) : 0, alive);
	writer_member_integer(w, "attempt", o->model.attempt);
	if (read_head(o, id)) {
		char digest[FRAME_DIGITS + 1];
		int64_t seq;

		frame_id_read(id, &seq, digest);
		writer_member_integer(w, KEY_SEQ, seq);
		writer_member_string(w, "digest", digest);
	}
	writer_member_string(w, "parent", run.parent[0] != '\0' ? run.parent : NULL);
	writer_member_string(w, KEY_FORKED_FROM, run.forked_from[0] != '\0' ? run.forked_from : NULL);
	write_usage(w, &o->model);
	write_counts(w, &o->model, told_state_of_run(run.status));
	write_calls(w, "open", o, CALL_OPEN, SIZE_MAX);
	write_calls(w, "failed", o, CALL_FAILED, FAILED_MOST);
	write_waits(w, o, summary_asks(&run), alive);
	writer_object_end(w);
	summary_free(&run);
}

/* A request that waits for the overview of its run. */
struct question {
	struct overview_waiter waiter;
	struct request *request;
	struct overview *overview;
	bool failed;
	struct error err;
};

static void
question_ready(struct overview_waiter *waiter, const struct error *failed)
{
	struct question *q = (struct question *)waiter;

	q->failed = failed != NULL;
	if (failed != NULL)
		q->err = *failed;
	request_wake(q->request);
}

static void
question_free(void *state)
{
	struct question *q = state;

	overview_forget(q->overview, &q->waiter);
	overview_release(q->overview);
	free(q);
}

const struct overview *
request_overview(struct request *r)
{
	struct question *q = r->state;
	char run_id[ID_SIZE];

	if (q == NULL) {
		if (!request_run(r, request_segment(r, 0), run_id))
			return NULL;
		q = memory_zero(1, sizeof *q);
		q->waiter.ready = question_ready;
		q->request = r;
		q->overview = overview_hold(&r->server->overviews, run_id);
		r->state = q;
		r->free_state = question_free;
		request_wait(r);
		overview_read(q->overview, &q->waiter);
		return NULL;
	}
	if (q->failed) {
		request_fail(r, &q->err);
		return NULL;
	}
	return q->overview;
}

/* Writes a run that has no transcript yet: nothing has happened in it. */
static void
write_queued(struct writer *w, const struct server *s, const char *run_id)
{
	const struct model nothing = { .attempt = 0 };
	struct queued found = { .name = NULL };
	bool is_queued = queued_find(&s->storage, run_id, &found);
	int64_t now = clock_wall();
	struct summary run = { .status = "queued", .child = found.child, .exit_code = -1,
		.started = is_queued ? found.came : now,
		.name = is_queued ? found.name : memory_text(""),
		.cost = COST_UNKNOWN };

	memcpy(run.run_id, run_id, ID_SIZE);
	run.duration_ms = now > run.started ? (now - run.started) / 1000 : 0;
	writer_object(w);
	listing_members(&run, w);
	write_more(w, &run, 0, false);
	writer_member_integer(w, "attempt", 0);
	writer_member_string(w, "parent", NULL);
	writer_member_string(w, KEY_FORKED_FROM, NULL);
	write_usage(w, &nothing);
	write_counts(w, &nothing, told_state_of_run(run.status));
	for (size_t i = 0; i < sizeof empty_lists / sizeof *empty_lists; i++) {
		writer_member_array(w, empty_lists[i]);
		writer_array_end(w);
	}
	writer_object_end(w);
	summary_free(&run);
}

void
answer_run(struct request *r)
{
	const struct overview *o = NULL;
	struct buffer json = BUFFER_INIT;
	char run_id[ID_SIZE];
	bool queued = false;
	struct writer w;

	if (r->state == NULL &&
	    !request_run_or_queued(r, request_segment(r, 0), run_id, &queued))
		return;
	if (!queued && (o = request_overview(r)) == NULL)
		return;
	writer_begin(&w, &json);
	if (queued)
		write_queued(&w, r->server, run_id);
	else
		write_run(&w, o, r->server);
	buffer_byte(&json, '\n');
	request_json(r, 200, &json);
}

bool
runs_readable(const struct server *s)
{
	char *transcripts = path_join(s->storage.root, "transcripts");
	bool readable = access(transcripts, R_OK | X_OK) == 0;

	free(transcripts);
	return readable;
}
