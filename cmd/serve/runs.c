/*
 * A run that is named in a request is looked up by what awf-tail's RUN is, but never by the path
 * of a file.
 */
#include "serve/runs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "json/writer.h"
#include "run/listing.h"
#include "run/outcome.h"
#include "serve/feed.h"
#include "serve/frame.h"
#include "serve/serve.h"
#include "serve/stream.h"
#include "transcript/event_keys.h"
#include "transcript/filter.h"

#define LIMIT_DEFAULT 50
#define LIMIT_MOST 1000
#define FAILED_MOST 100
#define INPUT_SHOWN ((size_t)64 << 10)
#define NDJSON "application/x-ndjson"

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

bool
request_run(struct request *r, const char *name, char run_id[ID_SIZE])
{
	struct run_ref ref;
	struct error err;
	char *workflow = NULL;
	bool found = false;

	if (could_be_run(name) && storage_resolve(&r->server->storage, name, &ref, &err) == 0) {
		struct summary summary;

		found = ref.in_storage && access(ref.path, F_OK) == 0;
		memcpy(run_id, ref.run_id, ID_SIZE);
		/* What the token is not for is not there. */
		if (found && r->token->names.count > 0) {
			found = summary_read_ends(&summary, ref.path, &err) == 0 &&
			    token_names(r->token, summary.name);
			if (found)
				summary_free(&summary);
		}
		run_ref_free(&ref);
	} else if (could_be_run(name) && err.code == ERROR_USAGE && strstr(err.message, "several")) {
		request_error(r, 409, "conflict", "several runs' ids begin so: give more of it");
		return false;
	}
	free(workflow);
	if (!found)
		request_refuse(r, &no_run);
	return found;
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

/* How many calls of the last attempt are in which state. */
static void
write_counts(struct writer *w, const struct model *m)
{
	static const char *const names[] = { [CALL_OPEN] = "open", [CALL_SUCCEEDED] = "succeeded",
		[CALL_FAILED] = "failed", [CALL_SKIPPED] = "skipped", [CALL_CLOSED] = "closed",
		[CALL_WAITING] = "waiting" };
	int64_t counts[sizeof names / sizeof *names] = { 0 }, total = 0;

	for (const struct model_call *c = m->first_of_attempt; c != NULL; c = c->next) {
		counts[c->state]++;
		total++;
	}
	writer_member_object(w, "calls");
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		writer_member_integer(w, names[i], counts[i]);
	writer_member_integer(w, "total", total);
	writer_object_end(w);
}

/* The calls of the last attempt in a state, at most so many. */
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

/* What a call that waits is asked about: its input, as text or JSON. */
static void
write_input(struct writer *w, const struct overview *o, const struct waiting *at)
{
	struct buffer line = BUFFER_INIT, text = BUFFER_INIT;
	struct event_view event;
	struct span input;
	struct error err;

	if (at->begin.length == 0 || event_load(o->path, at->begin, &line, &err) != 0 ||
	    event_view(line.data, line.len, &event) != 0) {
		buffer_free(&line);
		return;
	}
	input = span_member(event.payload, KEY_INPUT);
	writer_member_object(w, "input");
	if (input.len > INPUT_SHOWN) {
		writer_member_integer(w, "bytes", (int64_t)input.len);
	} else if (span_type(input) == 's') {
		span_decode(input, &text);
		writer_key(w, "text");
		writer_bytes(w, buffer_string(&text), text.len);
	} else if (span_type(input) != '0' && input.at != NULL) {
		writer_member_span(w, "json", input);
	}
	writer_object_end(w);
	buffer_free(&text);
	buffer_free(&line);
}

static void
write_waits(struct writer *w, const struct overview *o)
{
	const struct waitings *waits = &o->model.waits;
	char text[CLOCK_TEXT_SIZE];

	writer_member_array(w, "waits");
	for (size_t i = 0; i < waits->count; i++) {
		const struct waiting *at = &waits->list[i];
		const struct model_call *call;

		if (at->over || at->what == WAITING_NOTHING)
			continue;
		call = model_find(&o->model, at->call, strlen(at->call));
		writer_object(w);
		writer_member_string(w, "call", at->call);
		writer_member_string(w, "path", at->path);
		writer_member_integer(w, "iteration", at->iteration);
		writer_member_string(w, "for", waiting_word(at->what));
		if (call != NULL && call->number < o->room && o->calls[call->number].ended != 0)
			writer_member_string(w, "since", clock_text(o->calls[call->number].ended, text));
		if (at->deadline != 0)
			writer_member_string(w, "deadline", clock_text(at->deadline, text));
		if (at->form[0] != '\0')
			writer_member_string(w, "form", at->form);
		write_input(w, o, at);
		writer_object_end(w);
	}
	writer_array_end(w);
}

/* Why the last attempt failed, as run.completed says. */
static void
write_error(struct writer *w, const struct overview *o)
{
	struct buffer line = BUFFER_INIT;
	struct event_view event;
	struct error err;
	struct span error;

	if (o->end.length > 0 && event_load(o->path, o->end, &line, &err) == 0 &&
	    event_view(line.data, line.len, &event) == 0) {
		error = span_member(event.payload, KEY_ERROR);
		if (span_type(error) == 'o')
			writer_member_span(w, "error", error);
	}
	buffer_free(&line);
}

/* Behind the members of a run in a list. */
static void
write_more(struct writer *w, const struct summary *run, size_t waiting, bool alive)
{
	char dollars[MONEY_SIZE];

	writer_member_integer(w, "waiting", (int64_t)waiting);
	writer_member_bool(w, "alive", alive);
	if (run->cost >= 0)
		writer_member_string(w, "cost", money_number(run->cost, dollars));
}

/* "SEQ-DIGEST8" of the last line. */
static bool
read_head(const char *path, char id[FRAME_ID_SIZE])
{
	struct reader reader;
	struct error err;
	const char *line;
	size_t len;
	bool read = false;

	if (reader_open(&reader, path, &err) != 0)
		return false;
	if (reader_seek_last(&reader, 1, &err) == 0 && reader_next(&reader, &line, &len, &err) == 1)
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
	writer_object(w);
	listing_members(&run, w);
	write_more(w, &run, overview_waiting(o), alive);
	writer_member_integer(w, "attempt", o->model.attempt);
	if (read_head(o->path, id)) {
		char digest[FRAME_DIGITS + 1];
		int64_t seq;

		frame_id_read(id, &seq, digest);
		writer_member_integer(w, KEY_SEQ, seq);
		writer_member_string(w, "digest", digest);
	}
	writer_member_string(w, "parent", run.parent[0] != '\0' ? run.parent : NULL);
	writer_member_string(w, KEY_FORKED_FROM, run.forked_from[0] != '\0' ? run.forked_from : NULL);
	write_error(w, o);
	write_usage(w, &o->model);
	write_counts(w, &o->model);
	write_calls(w, "open", o, CALL_OPEN, SIZE_MAX);
	write_calls(w, "failed", o, CALL_FAILED, FAILED_MOST);
	write_waits(w, o);
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

/* The overview of the run that is asked for, once it is read; NULL: the request waits for it, or
 * was refused. */
static const struct overview *
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

void
answer_run(struct request *r)
{
	const struct overview *o = request_overview(r);
	struct buffer json = BUFFER_INIT;
	struct writer w;

	if (o == NULL)
		return;
	writer_begin(&w, &json);
	write_run(&w, o, r->server);
	buffer_byte(&json, '\n');
	request_json(r, 200, &json);
}

/* ---- lists ---- */

void
answer_runs(struct request *r)
{
	struct listing_spec spec = { .children = false, .warn = server_warn };
	const char *text;
	int64_t limit = LIMIT_DEFAULT;
	struct globs names = { NULL, 0 };
	struct buffer json = BUFFER_INIT;
	struct listing list;
	struct error err;
	struct writer w;

	if (!request_number(r, "limit", LIMIT_MOST, &limit))
		return;
	if ((text = request_parameter(r, "since")) != NULL &&
	    clock_parse(text, clock_wall(), &spec.since) != 0) {
		request_error(r, 400, "invalid_input", "since is no time");
		return;
	}
	if ((text = request_parameter(r, "name")) != NULL)
		globs_add(&names, text);
	spec.names = &names;
	spec.status = request_parameter(r, "status");
	spec.count = (size_t)limit;
	spec.children = request_parameter(r, "children") != NULL;
	spec.cost = r->server->overviews.priced ? &r->server->overviews.prices : NULL;
	if (listing_read(&list, &r->server->storage, &spec, &err) != 0) {
		request_fail(r, &err);
		globs_free(&names);
		return;
	}
	writer_begin(&w, &json);
	writer_object(&w);
	writer_member_array(&w, "runs");
	for (size_t i = 0; i < list.count; i++) {
		if (!token_names(r->token, list.runs[i].name))
			continue;
		writer_object(&w);
		listing_members(&list.runs[i], &w);
		write_more(&w, &list.runs[i], 0,
		    storage_run_alive(&r->server->storage, list.runs[i].run_id));
		writer_object_end(&w);
	}
	writer_array_end(&w);
	writer_key(&w, "next");
	writer_null(&w);
	writer_object_end(&w);
	buffer_byte(&json, '\n');
	listing_free(&list);
	globs_free(&names);
	request_json(r, 200, &json);
}

/* ---- events ---- */

/* Opens the transcript of a run by its place; -1: it was refused. */
static int
open_reader(struct request *r, const char *run_id, struct reader *reader)
{
	char *path = storage_transcript(&r->server->storage, run_id);
	struct error err;
	int failed = reader_open(reader, path, &err);

	free(path);
	if (failed != 0)
		request_refuse(r, &no_run);
	return failed;
}

void
answer_event(struct request *r)
{
	char run_id[ID_SIZE];
	const char *text = request_segment(r, 1), *line;
	struct reader reader;
	struct error err;
	int64_t seq, own;
	char digest[FRAME_DIGITS + 1];
	size_t len;

	if (!frame_id_read(text, &seq, digest) || *digest != '\0') {
		request_error(r, 400, "invalid_input", "the number of an event is needed");
		return;
	}
	if (!request_run(r, request_segment(r, 0), run_id) || open_reader(r, run_id, &reader) != 0)
		return;
	if (reader_seek_after(&reader, seq - 1, &err) == 0 &&
	    reader_next(&reader, &line, &len, &err) == 1 && event_seq(line, len, &own) && own == seq) {
		request_file(r, "application/json", reader.fd, reader.line_start, (int64_t)len + 1, NULL);
		reader.fd = -1;
	} else {
		request_error(r, 404, "not_found", "the run has no such event");
	}
	reader_close(&reader);
}

/* Where what is asked for begins, and ends: after=SEQ, limit=N. -1: it was refused. */
static int
find_range(struct request *r, struct reader *reader, int64_t *from, int64_t *to)
{
	int64_t after = 0, limit = -1;
	struct error err;
	int failed = 0;

	if (!request_number(r, "after", INT64_MAX / 4, &after) ||
	    !request_number(r, "limit", INT64_MAX / 4, &limit))
		return -1;
	if (after > 0)
		failed = reader_seek_after(reader, after, &err);
	*from = reader->position;
	if (failed == 0 && limit >= 0)
		failed = reader_seek_after(reader, after + limit, &err);
	else if (failed == 0)
		failed = reader_seek_last(reader, 0, &err);
	*to = reader->position;
	if (failed != 0)
		request_fail(r, &err);
	return failed;
}

static enum stream_state
fill_lines(struct stream *s, struct buffer *out)
{
	const char *bytes;
	size_t len;

	if (feed_lines(s->feed, s->offset, STREAM_PIECE, &bytes, &len) != 0)
		return errno == ENODATA ? STREAM_HEAD : STREAM_FAILED;
	if (len > 0) {
		buffer_append(out, bytes, len);
		s->offset += (int64_t)len;
		return STREAM_MORE;
	}
	return s->feed->gone || (s->feed->over && !s->always) ? STREAM_END : STREAM_HEAD;
}

static const struct stream_source lines_source = {
	.type = NDJSON, .fill = fill_lines, .heartbeat = "\n",
};

/* follow: "1", until the run ends, or "always". False: it was refused. */
static bool
request_follow(struct request *r, bool *follow, bool *always)
{
	const char *text = request_parameter(r, "follow");

	*always = text != NULL && strcmp(text, "always") == 0;
	*follow = *always || (text != NULL && strcmp(text, "1") == 0);
	if (text != NULL && !*follow && strcmp(text, "0") != 0) {
		request_error(r, 400, "invalid_input", "follow is 1 or always");
		return false;
	}
	return true;
}

/* A stream of a run's feed; NULL: it was refused. */
static struct stream *
make_stream(struct request *r, const char *run_id, const struct stream_source *source)
{
	struct error err;
	struct feed *feed = feed_hold(&r->server->feeds, run_id, &err);

	if (feed == NULL) {
		request_refuse(r, &no_run);
		return NULL;
	}
	return stream_make(r->server, source, feed, r->token);
}

void
answer_events(struct request *r)
{
	char run_id[ID_SIZE];
	struct reader reader;
	bool follow, always;
	int64_t from, to;
	struct stream *s;

	if (!request_follow(r, &follow, &always) || !request_run(r, request_segment(r, 0), run_id) ||
	    open_reader(r, run_id, &reader) != 0)
		return;
	if (find_range(r, &reader, &from, &to) == 0) {
		if (!follow) {
			request_file(r, NDJSON, reader.fd, from, to - from, NULL);
			reader.fd = -1;
		} else if ((s = make_stream(r, run_id, &lines_source)) != NULL) {
			s->offset = from;
			s->always = always;
			request_stream(r, s);
		}
	}
	reader_close(&reader);
}

/* ---- server-sent events ---- */

/* What ends a stream: how the attempt came out, and where. */
static void
append_end(struct stream *s, struct buffer *out)
{
	struct buffer json = BUFFER_INIT;
	struct feed *feed = s->feed;
	char id[FRAME_ID_SIZE], digest[FRAME_DIGITS + 1];
	int64_t attempt = feed_attempt(feed), seq = 0;
	struct writer w;

	feed_head(feed, id);
	frame_id_read(id, &seq, digest);
	writer_begin(&w, &json);
	writer_object(&w);
	writer_member_string(&w, "status", feed->gone ? "removed" : feed->ended ? feed->status : "died");
	if (attempt > 0)
		writer_member_integer(&w, "attempt", attempt);
	writer_member_integer(&w, KEY_SEQ, seq);
	writer_member_bool(&w, "alive", feed->alive);
	writer_object_end(&w);
	frame_event(out, "end", NULL, json.data, json.len);
	buffer_free(&json);
}

static void
append_reset(struct stream *s, struct buffer *out)
{
	static const char why[] = "{\"reason\":\"the record has other lines there\"}";

	(void)s;
	frame_event(out, "reset", NULL, why, sizeof why - 1);
}

/* Where a stream stands before its first line. */
struct beginning {
	bool reset;              /* it is told to forget what it has */
};

static enum stream_state
fill_frames(struct stream *s, struct buffer *out)
{
	const char *bytes, *end, *lf;
	struct beginning *b = s->state;
	size_t len;

	if (b != NULL) {
		buffer_text(out, "retry: 1000\n\n");
		if (b->reset)
			append_reset(s, out);
		free(b);
		s->state = NULL;
	}
	if (feed_lines(s->feed, s->offset, STREAM_PIECE, &bytes, &len) != 0)
		return errno == ENODATA ? STREAM_HEAD : STREAM_FAILED;
	for (end = bytes + len; len > 0 && bytes < end; bytes = lf + 1) {
		lf = memchr(bytes, '\n', (size_t)(end - bytes));
		frame_line(out, bytes, (size_t)(lf - bytes));
	}
	if (len > 0) {
		s->offset += (int64_t)len;
		return STREAM_MORE;
	}
	if (!s->feed->gone && (!s->feed->over || s->always))
		return STREAM_HEAD;
	append_end(s, out);
	return STREAM_END;
}

static void
free_beginning(struct stream *s)
{
	free(s->state);
}

static const struct stream_source frames_source = {
	.type = "text/event-stream", .fill = fill_frames, .heartbeat = ":\n\n",
	.reset = append_reset, .shared = true, .free = free_beginning,
};

void
answer_event_stream(struct request *r)
{
	const char *given = r->last_event_id != NULL && *r->last_event_id != '\0' ?
	    r->last_event_id : request_parameter(r, "afterSeq");
	char run_id[ID_SIZE], digest[FRAME_DIGITS + 1] = "";
	bool follow, always, reset = false;
	int64_t seq = 0, offset = 0;
	struct beginning *b;
	struct stream *s;
	struct error err;

	if (given != NULL && !frame_id_read(given, &seq, digest)) {
		request_error(r, 400, "invalid_input", "the id is not one of an event of this stream");
		return;
	}
	if (!request_follow(r, &follow, &always) || !request_run(r, request_segment(r, 0), run_id) ||
	    (s = make_stream(r, run_id, &frames_source)) == NULL)
		return;
	if (seq > 0) {
		int found = feed_find(s->feed, seq, digest, &offset, &err);

		if (found == -1) {
			stream_free(s);
			request_fail(r, &err);
			return;
		}
		/* The record has another line there, or none: what the client has is not so. */
		reset = found == 0;
		if (reset)
			offset = 0;
	}
	s->offset = offset;
	s->always = always;
	/* It has all that there will be. */
	if (given != NULL && !reset && offset == s->feed->end && s->feed->over && !always) {
		stream_free(s);
		request_status(r, 204, NULL);
		return;
	}
	b = memory_zero(1, sizeof *b);
	b->reset = reset;
	s->state = b;
	request_stream(r, s);
}
