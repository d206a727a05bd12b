/*
 * A task writes to a stream, piece by piece, until nothing is left or the client accepts nothing
 * more. Most streams are at the end of the backlog; as soon as that grows, they are written to
 * directly, without a task: one send(2) each.
 */
#include "serve_runs/stream.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "base/patience.h"
#include "httpd/connection.h"
#include "httpd/framing.h"
#include "serve_runs/feed.h"
#include "serve_runs/log.h"

static void stream_send_round(struct loop_task *task);
static void stream_send_heartbeat(struct loop_timer *timer);
static void check_due(struct loop_timer *timer);

static struct stream *
stream_of_task(struct loop_task *task)
{
	return (struct stream *)(void *)((char *)task - offsetof(struct stream, task));
}

/* ---- open and close ---- */

static void
join_feed(struct stream *s, struct feed *feed)
{
	s->feed = feed;
	s->next_of_feed = feed->streams;
	if (feed->streams != NULL)
		feed->streams->previous_of_feed = s;
	feed->streams = s;
}

static void
leave_feed(struct stream *s)
{
	if (s->feed == NULL)
		return;
	INVARIANT((s->previous_of_feed != NULL ? s->previous_of_feed->next_of_feed : s->feed->streams) == s);
	*(s->previous_of_feed != NULL ? &s->previous_of_feed->next_of_feed : &s->feed->streams) =
	    s->next_of_feed;
	if (s->next_of_feed != NULL)
		s->next_of_feed->previous_of_feed = s->previous_of_feed;
	feed_release(s->feed);
	s->feed = NULL;
}

void
streams_open(struct streams *s, struct server *server, struct loop *loop, struct tokens *tokens)
{
	*s = (struct streams){ .server = server, .loop = loop, .tokens = tokens };
}

void
streams_close(struct streams *s)
{
	INVARIANT(s->first == NULL && s->count == 0);
	buffer_free(&s->piece);
	buffer_free(&s->lines);
}

struct stream *
stream_make(struct streams *all, const struct stream_source *source, struct feed *feed,
    struct token *token)
{
	struct stream *s = memory_zero(1, sizeof *s);

	s->all = all;
	s->server = all->server;
	s->source = source;
	s->task.step = stream_send_round;
	s->timer.due = stream_send_heartbeat;
	s->token = token_hold(token);
	s->next = all->first;
	if (s->next != NULL)
		s->next->previous = s;
	all->first = s;
	all->count++;
	all->check.due = check_due;
	if (all->check.at == 0)
		loop_set(all->loop, &all->check, STREAM_CHECK_MS);
	if (feed != NULL)
		join_feed(s, feed);
	return s;
}

void
stream_begin(struct stream *s, struct connection *c)
{
	s->connection = c;
	loop_enter(s->all->loop, &s->task);
}

/* Ends the response, or closes the connection before its end. */
static void
stream_end_answer(struct stream *s, bool failed)
{
	struct connection *c = s->connection;

	if (c == NULL)
		return;
	loop_leave(s->all->loop, &s->task);
	loop_unset(s->all->loop, &s->timer);
	s->connection = NULL;
	leave_feed(s);
	if (s->failed || failed)
		connection_break(c);
	else
		connection_end(c, false);
}

void
stream_free(struct stream *s)
{
	if (s == NULL)
		return;
	loop_leave(s->all->loop, &s->task);
	loop_unset(s->all->loop, &s->timer);
	leave_feed(s);
	if (s->source->free != NULL)
		s->source->free(s);
	INVARIANT((s->previous != NULL ? s->previous->next : s->all->first) == s);
	INVARIANT(s->all->count > 0);
	*(s->previous != NULL ? &s->previous->next : &s->all->first) = s->next;
	if (s->next != NULL)
		s->next->previous = s->previous;
	if (--s->all->count == 0)
		loop_unset(s->all->loop, &s->all->check);
	token_release(s->token);
	free(s);
}

/* ---- writing ---- */

/* The client has read this many bytes: no keep-alive is needed for a while. */
static size_t
put_off_heartbeat(struct stream *s, size_t sent)
{
	if (sent > 0)
		loop_set(s->all->loop, &s->timer, STREAM_HEARTBEAT_MS);
	return sent;
}

/* Takes the stream out of the backlog: the rest of its current chunk becomes its own pending
 * output. */
static void
fall_out(struct stream *s)
{
	const struct backlog *b = &s->feed->backlog;
	const struct backlog_chunk *chunk;
	const char *bytes;
	size_t len;

	INVARIANT(s->standing && s->at >= b->base && s->at <= backlog_end(b));
	s->standing = false;
	if (s->at == backlog_end(b)) {
		s->offset = s->feed->end;
		return;
	}
	chunk = backlog_chunk(b, s->at);
	if (s->at == chunk->at) {
		s->offset = chunk->from;
		return;
	}
	bytes = backlog_bytes(b, s->at, &len);
	connection_queue(s->connection, bytes, (size_t)(backlog_chunk_end(b, chunk) - s->at));
	s->offset = chunk->to;
}

/* Makes the next piece and sends it; what the client does not accept becomes pending output. */
static size_t
send_piece(struct stream *s)
{
	struct buffer *piece = &s->all->piece;
	enum stream_state state;
	size_t start = 0, sent = 0;

	buffer_clear(piece);
	if (s->connection->chunked)
		start = framing_chunk(piece);
	state = s->source->fill(s, piece);
	if (s->connection->chunked)
		framing_chunk_end(piece, start);
	if (piece->len > 0) {
		sent = put_off_heartbeat(s, connection_send(s->connection, piece->data, piece->len));
		if (sent < piece->len)
			connection_queue(s->connection, piece->data + sent, piece->len - sent);
	}
	if (piece->capacity > 4 * STREAM_PIECE)
		buffer_free(piece);
	s->ending |= state == STREAM_END || state == STREAM_FAILED;
	s->failed |= state == STREAM_FAILED;
	s->at_head = state == STREAM_HEAD;
	/* From this position on, the backlog has what the stream needs. */
	if (s->source->shared && s->connection->chunked && !s->ending) {
		if (s->at_head && s->offset == s->feed->end) {
			s->at = backlog_end(&s->feed->backlog);
			s->standing = true;
		} else {
			s->standing = backlog_find(&s->feed->backlog, s->offset, &s->at);
		}
	}
	return sent;
}

static size_t
send_backlog(struct stream *s)
{
	size_t len, sent;
	const char *bytes = backlog_bytes(&s->feed->backlog, s->at, &len);

	INVARIANT(s->standing);
	sent = put_off_heartbeat(s, connection_send(s->connection, bytes, len));
	s->at += sent;
	s->at_head = sent == len;
	return sent;
}

static void
stream_send_round(struct loop_task *task)
{
	struct stream *s = stream_of_task(task);
	struct connection *c = s->connection;
	size_t sent = 0;

	while (!c->blocked && sent < STREAM_TURN) {
		if (connection_unsent(c) > 0) {
			sent += put_off_heartbeat(s, connection_flush(c));
		} else if (s->ending) {
			break;
		} else if (s->standing && s->at < backlog_end(&s->feed->backlog)) {
			sent += send_backlog(s);
		} else {
			size_t piece;

			/* Leave the backlog even at its end: the source must see whether the run is
			 * over. */
			if (s->standing)
				fall_out(s);
			piece = send_piece(s);
			sent += piece;
			/* Even if it sent nothing: a source that searches many lines without a
			 * match has used its share of time. */
			if (piece == 0 || (s->at_head && connection_unsent(c) == 0))
				break;
		}
	}
	if (s->failed || (s->ending && connection_unsent(c) == 0)) {
		stream_end_answer(s, false);
		return;
	}
	if (c->blocked || s->at_head)
		loop_leave(s->all->loop, &s->task);
	if (s->timer.at == 0)
		loop_set(s->all->loop, &s->timer, STREAM_HEARTBEAT_MS);
}

void
stream_wake(struct stream *s)
{
	if (s->connection != NULL && !s->connection->blocked)
		loop_enter(s->all->loop, &s->task);
}

/* Nothing was sent to the client for this long: send the heartbeat. */
static void
stream_send_heartbeat(struct loop_timer *timer)
{
	struct stream *s = (struct stream *)(void *)((char *)timer - offsetof(struct stream, timer));

	if (s->connection == NULL)
		return;
	if (connection_unsent(s->connection) == 0 && !s->connection->blocked && s->at_head) {
		connection_write(s->connection, s->source->heartbeat, strlen(s->source->heartbeat));
		s->at_head = false;
	}
	loop_set(s->all->loop, &s->timer, STREAM_HEARTBEAT_MS);
	stream_wake(s);
}

/* ---- all streams of a feed ---- */

void
streams_send(struct feed *feed)
{
	struct backlog *b = &feed->backlog;
	uint64_t least = backlog_end(b), floor;
	struct stream *next;

	floor = least > BACKLOG_MOST ? least - BACKLOG_MOST : 0;
	for (struct stream *s = feed->streams; s != NULL; s = next) {
		next = s->next_of_feed;
		if (!s->standing) {
			stream_wake(s);
			continue;
		}
		if (connection_unsent(s->connection) == 0 && s->at < backlog_end(b))
			send_backlog(s);
		if (s->at < floor)
			fall_out(s);
		else if (s->at < least)
			least = s->at;
	}
	backlog_drop(b, least);
}

void
streams_wake(struct feed *feed)
{
	for (struct stream *s = feed->streams; s != NULL; s = s->next_of_feed)
		stream_wake(s);
}

void
streams_reset(struct feed *feed)
{
	for (struct stream *s = feed->streams; s != NULL; s = s->next_of_feed) {
		struct buffer again = BUFFER_INIT;

		if (s->standing)
			fall_out(s);
		stream_wake(s);
		if (s->source->projected || s->offset == 0 || s->connection == NULL)
			continue;
		if (s->source->reset != NULL) {
			s->source->reset(s, &again);
			connection_write(s->connection, buffer_string(&again), again.len);
			buffer_free(&again);
			s->offset = 0;
		} else {
			s->ending = s->failed = true;
		}
	}
	backlog_free(&feed->backlog);
}

void
streams_check(struct streams *all)
{
	struct stream *next;
	int64_t now = clock_wall();

	for (struct stream *s = all->first; s != NULL; s = next) {
		next = s->next;
		if (!token_good(s->token, now))
			stream_end_answer(s, true);
	}
}

/* Ends streams whose token was revoked or has expired, even if no request comes. */
static void
check_due(struct loop_timer *timer)
{
	struct streams *all = (struct streams *)(void *)((char *)timer - offsetof(struct streams, check));
	struct error err;
	bool revoked;

	if (tokens_refresh(all->tokens, &revoked, &err) != 0)
		log_warn(&err);
	loop_set(all->loop, timer, STREAM_CHECK_MS);
	streams_check(all);
}
