/*
 * The events of a run, in every form that the API offers. If the client asks for a part of the
 * transcript as it is, httpd sends it with sendfile(2); every other response is a stream, which can
 * follow the run, select lines, and project them (serve_runs/spool.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "json/writer.h"
#include "projection/projection.h"
#include "serve/runs.h"
#include "serve/serve.h"
#include "serve_runs/feed.h"
#include "serve_runs/frame.h"
#include "serve_runs/spool.h"
#include "serve_runs/stream.h"
#include "transcript/event_keys.h"
#include "transcript/filter.h"

#define NDJSON "application/x-ndjson"
#define SSE "text/event-stream"
#define NUMBER_MOST (INT64_MAX / 4)
#define SCANNED ((size_t)1 << 20) /* bytes that a stream searches before other streams have their
                                     turn */

/* What one client is sent: the state of the stream's source. */
struct selection {
	bool begun;              /* the first bytes were sent */
	bool reset;              /* tell the client, in the first bytes, to discard what it has */
	bool framed;             /* as server-sent events */
	bool chosen;             /* only lines that match the filter */
	struct filter filter;
	int64_t left;            /* lines still to be sent; -1: all */
	int64_t until;           /* offset in the transcript where the stream ends; -1: at the end
	                            of the run */
	struct spool *spool;     /* a reference; NULL: lines of the transcript are sent */
	unsigned generation;     /* value of the spool's generation; if it changes, the file was
	                            made again */
	struct live *live;       /* a reference, if the client wants text in progress; else NULL */
	struct live_cursor cursor; /* how much text in progress has been sent */
	int64_t number;          /* number of the spool's next line, from 0; -1: not known yet */
	int64_t skip;            /* lines of the spool, or of a transcript that does not exist yet, before
	                            the first one to send */
};

/* ---- the end of a stream, and its restart ---- */

/* Appends the event about the end of the attempt: its outcome and the position of its last line. */
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

/* Called when all present lines have been sent: ends the stream if the run is over. */
static enum stream_state
at_end(struct stream *s, struct buffer *out)
{
	const struct selection *x = s->state;

	if (x->until == -1 && !s->feed->gone && (!s->feed->over || s->always))
		return STREAM_HEAD;
	if (x->framed)
		append_end(s, out);
	return STREAM_END;
}

static void
append_beginning(struct stream *s, struct buffer *out)
{
	struct selection *x = s->state;

	if (x->begun || !x->framed)
		return;
	x->begun = true;
	buffer_text(out, "retry: 1000\n\n");
	if (x->reset)
		append_reset(s, out);
}

/* Called when all lines have been sent: appends text in progress if the client wants it. */
static enum stream_state
caught_up(struct stream *s, struct buffer *out)
{
	struct selection *x = s->state;
	enum stream_state state = at_end(s, out);

	if (state == STREAM_HEAD && x->live != NULL && !live_append_events(x->live, &x->cursor, false, out))
		return STREAM_MORE;
	return state;
}

/* ---- lines of the transcript ---- */

static bool
is_wanted(struct selection *x, const char *line, size_t len)
{
	struct event_head head;

	event_peek(line, len, &head);
	return filter_event(&x->filter, &head, line, len) == VERDICT_YES;
}

/* Appends the lines that match. False: all that the client asked for have been appended. */
static bool
append_lines(struct selection *x, const char *bytes, size_t len, struct buffer *out)
{
	const char *end = bytes + len, *lf;

	for (; bytes < end && x->left != 0; bytes = lf + 1) {
		lf = memchr(bytes, '\n', (size_t)(end - bytes));
		if (x->skip > 0) {
			x->skip--;
			continue;
		}
		if (x->chosen && !is_wanted(x, bytes, (size_t)(lf - bytes)))
			continue;
		if (x->framed)
			frame_line(out, bytes, (size_t)(lf - bytes));
		else
			buffer_append(out, bytes, (size_t)(lf - bytes) + 1);
		if (x->left > 0)
			x->left--;
	}
	return x->left != 0;
}

static enum stream_state
fill_lines(struct stream *s, struct buffer *out)
{
	struct selection *x = s->state;
	const char *bytes = NULL;
	size_t scanned = 0, len = 0;
	int64_t until = x->until;
	/* If lines are sent as they are, a piece may end inside a line, so long lines are no
	 * problem. */
	bool raw = !x->framed && !x->chosen && x->left == -1 && x->skip == 0;

	append_beginning(s, out);
	while (out->len < STREAM_PIECE && scanned < SCANNED) {
		size_t most = STREAM_PIECE;

		if (until != -1 && until - s->offset < (int64_t)most)
			most = (size_t)(until - s->offset);
		if (most == 0)
			return caught_up(s, out);
		if ((raw ? feed_bytes : feed_lines)(s->feed, s->offset, most, &bytes, &len) != 0)
			return errno == ENODATA ? STREAM_HEAD : STREAM_FAILED;
		if (len == 0)
			return caught_up(s, out);
		s->offset += (int64_t)len;
		scanned += len;
		if (raw)
			buffer_append(out, bytes, len);
		else if (!append_lines(x, bytes, len, out))
			return STREAM_END;
	}
	return STREAM_MORE;
}

/* ---- lines of a projection ---- */

static void
append_projected(struct selection *x, const char *bytes, size_t len, struct buffer *out)
{
	const char *end = bytes + len, *lf;
	char id[FRAME_ID_SIZE];

	for (; bytes < end && x->left != 0; bytes = lf + 1) {
		lf = memchr(bytes, '\n', (size_t)(end - bytes));
		if (x->framed) {
			snprintf(id, sizeof id, "%" PRId64,
			    x->number + x->spool->projector.projection->first);
			frame_event(out, NULL, id, bytes, (size_t)(lf - bytes));
		} else {
			buffer_append(out, bytes, (size_t)(lf - bytes) + 1);
		}
		x->number++;
		if (x->left > 0)
			x->left--;
	}
}

static enum stream_state
fill_projected(struct stream *s, struct buffer *out)
{
	struct selection *x = s->state;
	struct buffer *lines = &s->all->lines;
	bool made = spool_made(x->spool);

	append_beginning(s, out);
	if (x->spool->failed)
		return STREAM_FAILED;
	if (x->generation != x->spool->generation) {
		/* The transcript was truncated, and the projection was made again. */
		if (!x->framed)
			return STREAM_FAILED;
		append_reset(s, out);
		x->generation = x->spool->generation;
		x->skip = 0;
		x->number = -1;
	}
	if (x->number == -1) {
		if (x->skip > x->spool->lines && !made)
			return STREAM_HEAD;
		/* The client has received more lines than there are: they were lines of an earlier
		 * file. */
		if (x->skip > x->spool->lines) {
			if (!x->framed)
				return at_end(s, out);
			append_reset(s, out);
			x->skip = 0;
		}
		s->offset = spool_find(x->spool, x->skip);
		x->number = x->skip;
	}
	if (spool_lines(x->spool, s->offset, STREAM_PIECE, lines) != 0)
		return STREAM_FAILED;
	if (lines->len == 0) {
		const enum stream_state state = made ? at_end(s, out) : STREAM_HEAD;

		return state == STREAM_HEAD && x->live != NULL &&
		    !live_append_events(x->live, &x->cursor, true, out) ? STREAM_MORE : state;
	}
	s->offset += (int64_t)lines->len;
	append_projected(x, lines->data, lines->len, out);
	return x->left == 0 ? STREAM_END : STREAM_MORE;
}

/* ---- the kinds ---- */

static void
free_selection(struct stream *s)
{
	struct selection *x = s->state;

	if (x == NULL)
		return;
	if (x->spool != NULL)
		spool_release(x->spool);
	if (x->live != NULL)
		live_release(x->live);
	live_cursor_free(&x->cursor);
	filter_free(&x->filter);
	free(x);
}

static const struct stream_source lines_source = {
	.type = NDJSON, .fill = fill_lines, .heartbeat = "\n", .free = free_selection,
};
static const struct stream_source frames_source = {
	.type = SSE, .fill = fill_lines, .heartbeat = ":\n\n", .reset = append_reset,
	.shared = true, .free = free_selection,
};
static const struct stream_source live_frames_source = {
	.type = SSE, .fill = fill_lines, .heartbeat = ":\n\n", .reset = append_reset,
	.shared = true, .free = free_selection,
};
static const struct stream_source chosen_frames_source = {
	.type = SSE, .fill = fill_lines, .heartbeat = ":\n\n", .reset = append_reset,
	.free = free_selection,
};
static const struct stream_source projected_source = {
	.type = NDJSON, .fill = fill_projected, .heartbeat = "\n", .projected = true,
	.free = free_selection,
};
static const struct stream_source projected_live_source = {
	.type = SSE, .fill = fill_projected, .heartbeat = ":\n\n", .projected = true,
	.free = free_selection,
};
static const struct stream_source projected_frames_source = {
	.type = SSE, .fill = fill_projected, .heartbeat = ":\n\n", .projected = true,
	.free = free_selection,
};

/* Creates a stream of a run; NULL: it was refused. */
static struct stream *
make_stream(struct request *r, const char *run_id, const struct stream_source *source)
{
	struct selection *x;
	struct error err;
	struct feed *feed = feed_hold(&r->server->feeds, run_id, &err);
	struct stream *s;

	if (feed == NULL) {
		request_unopened(r, run_id, &err);
		return NULL;
	}
	s = stream_make(&r->server->streams, source, feed, r->token);
	x = memory_zero(1, sizeof *x);
	filter_begin(&x->filter);
	x->left = x->until = x->number = -1;
	x->framed = strcmp(source->type, SSE) == 0;
	s->state = x;
	return s;
}

/* follow: "1", until the run ends, or "always". False: it was refused. */
static bool
read_follow(struct request *r, bool *follow, bool *always)
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

/* Parameter as=NAME: a projection; lines cannot be filtered then. False: it was refused. */
static bool
read_projection(struct request *r, const struct projection **projection)
{
	const char *name = request_parameter(r, "as");
	struct error err;

	*projection = NULL;
	if (name == NULL)
		return true;
	*projection = projection_find(name, "as", &err);
	if (*projection == NULL) {
		request_fail(r, &err);
		return false;
	}
	if (request_parameter(r, "type") != NULL || request_parameter(r, "path") != NULL ||
	    (*projection)->document != NULL) {
		request_error(r, 400, "invalid_input", (*projection)->document != NULL ?
		    "as=%s is a document, and has no lines" : "as=%s goes with neither type nor path", name);
		return false;
	}
	return true;
}

static bool
is_chosen(const struct request *r)
{
	return request_parameter(r, "type") != NULL || request_parameter(r, "path") != NULL;
}

static void
events_choose_filter(struct request *r, struct selection *x)
{
	const char *types = request_parameter(r, "type"), *paths = request_parameter(r, "path");

	x->chosen = types != NULL || paths != NULL;
	if (types != NULL)
		filter_types(&x->filter, types);
	if (paths != NULL)
		globs_add(&x->filter.paths, paths);
}

/* Creates a stream of the projection, from the line after `after`; -1: from the first. NULL: it
 * was refused. */
static struct stream *
make_projected(struct request *r, const char *run_id, const struct projection *projection,
    bool framed, bool live, int64_t after)
{
	struct stream *s = make_stream(r, run_id, live ? &projected_live_source :
	    framed ? &projected_frames_source : &projected_source);
	struct selection *x;
	struct error err;

	if (s == NULL)
		return NULL;
	x = s->state;
	x->spool = spool_hold(&r->server->spools, run_id, projection, &err);
	if (x->spool == NULL) {
		stream_free(s);
		request_fail(r, &err);
		return NULL;
	}
	x->generation = x->spool->generation;
	x->skip = after < projection->first ? 0 : after - projection->first + 1;
	return s;
}

/* ---- NDJSON ---- */

static int
open_reader(struct request *r, const char *run_id, struct reader *reader)
{
	char *path = storage_transcript(&r->server->storage, run_id);
	struct error err;
	int failed = reader_open(reader, path, &err);

	free(path);
	if (failed != 0)
		request_unopened(r, run_id, &err);
	return failed;
}

/* Finds the offset after the given line, and where the requested lines end. -1: the request was
 * refused. */
static int
find_range(struct request *r, struct reader *reader, int64_t after, int64_t limit, int64_t *from,
    int64_t *to)
{
	struct error err;
	int failed = after > 0 ? reader_seek_after(reader, after, &err) : 0;

	*from = reader->position;
	if (failed == 0)
		failed = limit >= 0 ? reader_seek_after(reader, after + limit, &err) :
		    reader_seek_last(reader, 0, &err);
	*to = reader->position > *from ? reader->position : *from;
	if (failed != 0)
		request_fail(r, &err);
	return failed;
}

void
answer_events(struct request *r)
{
	const struct projection *projection;
	char run_id[ID_SIZE];
	struct reader reader;
	bool follow, always, queued;
	int64_t from = 0, to, after = -1, limit = -1;
	struct stream *s;
	struct selection *x;

	if (!read_follow(r, &follow, &always) || !read_projection(r, &projection) ||
	    !request_number(r, "after", NUMBER_MOST, &after) ||
	    !request_number(r, "limit", NUMBER_MOST, &limit) ||
	    !request_run_or_queued(r, request_segment(r, 0), run_id, &queued))
		return;
	if (projection != NULL) {
		s = make_projected(r, run_id, projection, false, false, after);
		if (s == NULL)
			return;
	} else if (queued) {
		if ((s = make_stream(r, run_id, &lines_source)) == NULL)
			return;
		events_choose_filter(r, s->state);
		((struct selection *)s->state)->skip = after < 0 ? 0 : after;
	} else {
		if (open_reader(r, run_id, &reader) != 0)
			return;
		if (find_range(r, &reader, after < 0 ? 0 : after, is_chosen(r) ? -1 : limit, &from,
		    &to) != 0) {
			reader_close(&reader);
			return;
		}
		if (!follow && !is_chosen(r)) {
			request_file(r, NDJSON, reader.fd, from, to - from, NULL);
			reader.fd = -1;
			reader_close(&reader);
			return;
		}
		reader_close(&reader);
		if ((s = make_stream(r, run_id, &lines_source)) == NULL)
			return;
		events_choose_filter(r, s->state);
		s->offset = from;
	}
	x = s->state;
	x->left = limit;
	if (!follow)
		x->until = s->feed->end;
	s->always = always;
	request_stream(r, s);
}

void
answer_workflow_events(struct request *r)
{
	struct error err;
	const struct projection *projection = projection_find("runtime", "as", &err);
	int64_t offset = 0;
	char run_id[ID_SIZE];
	struct stream *s;
	bool queued;

	if (!request_number(r, "offset", NUMBER_MOST, &offset) ||
	    !request_run_or_queued(r, request_segment(r, 0), run_id, &queued))
		return;
	/* offset=0: from the first line; offset=N: from the line after line N. */
	s = make_projected(r, run_id, projection, false, false, offset == 0 ? -1 : offset);
	if (s != NULL)
		request_stream(r, s);
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

/* ---- server-sent events ---- */

/* Sends the events of a projection; the id of each is the number of its line. */
static void
stream_projected(struct request *r, const char *run_id, const struct projection *projection,
    const char *given, bool always, bool live)
{
	char digest[FRAME_DIGITS + 1] = "";
	int64_t after = -1;
	struct stream *s;
	struct selection *x;

	if (given != NULL && (!frame_id_read(given, &after, digest) || *digest != '\0')) {
		request_error(r, 400, "invalid_input", "the id is not one of an event of this stream");
		return;
	}
	s = make_projected(r, run_id, projection, true, live, after);
	if (s == NULL)
		return;
	x = s->state;
	if (given != NULL && s->feed->over && !always && spool_made(x->spool) &&
	    x->skip == x->spool->lines) {
		stream_free(s);
		request_status(r, 204, NULL);
		return;
	}
	if (live)
		x->live = live_hold(&r->server->lives, s->feed);
	s->always = always;
	request_stream(r, s);
}

void
answer_event_stream(struct request *r)
{
	const char *given = request_parameter(r, "afterSeq");
	struct span last = request_header(r, "Last-Event-ID");
	char run_id[ID_SIZE], digest[FRAME_DIGITS + 1] = "";
	const struct projection *projection;
	bool follow, always, queued;
	int64_t seq = 0, offset = 0, live = 0;
	int found = 1;
	struct selection *x;
	struct stream *s;
	struct error err;
	char id[FRAME_ID_SIZE];

	/* When the browser reconnects, Last-Event-ID is newer than the parameter in the URL. */
	if (last.len > 0)
		given = snprintf(id, sizeof id, "%.*s", (int)last.len, last.at) < FRAME_ID_SIZE ? id : "";
	if (!read_follow(r, &follow, &always) || !read_projection(r, &projection) ||
	    !request_number(r, "live", 1, &live) ||
	    !request_run_or_queued(r, request_segment(r, 0), run_id, &queued))
		return;
	if (live == 1 && (is_chosen(r) || (projection != NULL &&
	    strcmp(request_parameter(r, "as"), "agent-event") != 0))) {
		request_error(r, 400, "invalid_input", "live goes with none of type, path and as, but as=agent-event");
		return;
	}
	if (projection != NULL) {
		stream_projected(r, run_id, projection, given, always, live == 1);
		return;
	}
	if (given != NULL && !frame_id_read(given, &seq, digest)) {
		request_error(r, 400, "invalid_input", "the id is not one of an event of this stream");
		return;
	}
	s = make_stream(r, run_id, live == 1 ? &live_frames_source :
	    is_chosen(r) ? &chosen_frames_source : &frames_source);
	if (s == NULL)
		return;
	if (seq > 0 && s->feed->fd == -1)
		found = 0; /* the run has not begun */
	else if (seq > 0)
		found = feed_find(s->feed, seq, digest, &offset, &err);
	if (found == -1) {
		stream_free(s);
		request_fail(r, &err);
		return;
	}
	/* The client has all events, and no more will come. */
	if (given != NULL && found == 1 && offset == s->feed->end && s->feed->over && !always) {
		stream_free(s);
		request_status(r, 204, NULL);
		return;
	}
	x = s->state;
	events_choose_filter(r, x);
	if (live == 1)
		x->live = live_hold(&r->server->lives, s->feed);
	/* The line with this number is another one now, or is gone: what the client has is
	 * outdated. */
	x->reset = found == 0;
	s->offset = found == 1 ? offset : 0;
	s->always = always;
	request_stream(r, s);
}

void
events_live_changed(struct feed *feed)
{
	for (struct stream *s = feed->streams; s != NULL; s = s->next_of_feed)
		if (s->source == &live_frames_source || s->source == &projected_live_source)
			stream_wake(s);
}
