/*
 * Each time, the overview is read first, up to the end of the transcript, then the files with the
 * text: so text is never sent for a turn whose answer was recorded before the text was read. Text
 * of a turn is dropped when its answer is seen.
 */
#include "serve_runs/live.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/memory.h"
#include "json/writer.h"
#include "serve_runs/frame.h"
#include "serve_runs/stream.h"

#define UNWATCHED_MS 100     /* between checks of the files if inotify is not available */

static void
append_event(struct buffer *out, const struct buffer *json)
{
	frame_event(out, "live", NULL, json->data, json->len);
}

/* ---- text in progress ---- */

/* Whether the text must not be sent: the transcript has the turn's answer already, or the end of
 * the call, or not yet its start. */
static bool
is_void(const struct live *live, const char *call, bool output, int64_t turn)
{
	char quoted[ID_SIZE + 2] = "\"";
	const struct model_call *known;

	memcpy(quoted + 1, call, ID_SIZE - 1);
	memcpy(quoted + ID_SIZE, "\"", 2);
	known = model_call_of(&live->overview->model, span_of(quoted, ID_SIZE + 1));
	return known == NULL || known->state != CALL_OPEN ||
	    (!output && overview_answered(live->overview, known) >= turn);
}

static struct live_call *
live_find_call(const struct live *live, const char *id)
{
	for (size_t i = 0; i < live->count; i++)
		if (strcmp(live->calls[i].id, id) == 0)
			return &live->calls[i];
	return NULL;
}

static void
live_free_call(struct live_call *call)
{
	buffer_free(&call->told);
	buffer_free(&call->projected);
	free(call->name);
	free(call->call_id);
}

static void
live_drop_call(struct live *live, struct live_call *call)
{
	size_t at = (size_t)(call - live->calls);

	live_free_call(call);
	memmove(call, call + 1, (--live->count - at) * sizeof *call);
	live->changed = true;
}

static struct live_call *
find_or_add(struct live *live, const struct live_news *news)
{
	struct live_call *call = live_find_call(live, news->call);

	if (call != NULL)
		return call;
	live->calls = memory_array(live->calls, live->count + 1, sizeof *live->calls);
	call = &live->calls[live->count++];
	*call = (struct live_call){ .number = ++live->last, .turn = news->turn,
		.output = news->kind == LIVE_OUTPUT };
	memcpy(call->id, news->call, ID_SIZE);
	if (news->source != NULL) {
		memcpy(call->of, news->source->of, ID_SIZE);
		call->name = memory_text(news->source->name);
		call->call_id = memory_text(news->source->call_id);
	}
	return call;
}

/* The call; and the tool, if it is the output of one. */
static void
write_names(struct writer *w, const char *id, const char *of)
{
	writer_member_string(w, "call", *of != '\0' ? of : id);
	if (*of != '\0')
		writer_member_string(w, "tool", id);
}

/* What a tool prints as agent-event has it at the end of the tool, but without a number. */
static void
live_project(const struct live *live, struct live_call *call, const struct live_news *news)
{
	struct buffer json = BUFFER_INIT;
	struct writer w;

	writer_begin(&w, &json);
	writer_object(&w);
	writer_member_string(&w, "runId", live->feed->run_id);
	writer_member_string(&w, "type", "tool.output");
	writer_key(&w, "payload");
	writer_object(&w);
	writer_key(&w, "message");
	writer_bytes(&w, news->text.at, news->text.len);
	writer_member_string(&w, "tool", call->name);
	writer_member_string(&w, "callId", call->call_id);
	writer_member_string(&w, "stream", "live");
	writer_object_end(&w);
	writer_object_end(&w);
	append_event(&call->projected, &json);
	buffer_free(&json);
}

static void
live_apply_news(void *context, const struct live_news *news)
{
	struct live *live = context;
	struct buffer json = BUFFER_INIT;
	struct live_call *call;
	struct writer w;

	if (news->event == LIVE_DONE || is_void(live, news->source != NULL ? news->source->of : news->call,
	    news->kind == LIVE_OUTPUT, news->turn)) {
		call = live_find_call(live, news->call);
		if (call != NULL && (news->event == LIVE_DONE || call->turn == news->turn))
			live_drop_call(live, call);
		return;
	}
	call = find_or_add(live, news);
	if (call->turn != news->turn || news->event == LIVE_RESTARTED) {
		buffer_clear(&call->told);
		buffer_clear(&call->projected);
		call->generation++;
		call->turn = news->turn;
	}
	writer_begin(&w, &json);
	writer_object(&w);
	write_names(&w, news->call, call->of);
	writer_member_integer(&w, "turn", news->turn);
	if (news->event == LIVE_APPENDED) {
		writer_member_string(&w, "kind", live_kinds[news->kind]);
		writer_key(&w, "append");
		writer_bytes(&w, news->text.at, news->text.len);
	} else {
		writer_member_bool(&w, news->event == LIVE_RESTARTED ? "restart" : "cut", true);
	}
	writer_object_end(&w);
	append_event(&call->told, &json);
	if (news->event == LIVE_APPENDED && call->name != NULL)
		live_project(live, call, news);
	buffer_free(&json);
	live->changed = true;
}

/* ---- looking ---- */

/* Everything is read again when the run's process is alive again. */
static void
follow_anew(struct live *live)
{
	char *directory = storage_run_directory(live->all->storage, live->feed->run_id);

	live_follow_end(&live->follow);
	live_follow_begin(&live->follow, directory, &live->watch, live_apply_news, live);
	free(directory);
}

static void
live_update_calls(struct live *live)
{
	/* Text that a killed process left behind is not in progress. */
	if (live->feed->over || live->overview->model.waits.masked) {
		while (live->count > 0)
			live_drop_call(live, &live->calls[live->count - 1]);
		follow_anew(live);
	} else {
		for (size_t i = live->count; i > 0; i--) {
			struct live_call *call = &live->calls[i - 1];

			if (is_void(live, call->of[0] != '\0' ? call->of : call->id, call->output, call->turn))
				live_drop_call(live, call);
		}
		live_follow_look(&live->follow);
	}
	if (live->watch.fd == -1) {
		live->changes.fd = -1;
		loop_set(live->all->loop, &live->look, UNWATCHED_MS);
	}
	if (live->changed)
		live->all->changed(live->feed);
	live->changed = false;
}

static void
overview_ready(struct overview_waiter *waiter, const struct error *failed)
{
	struct live *live = (struct live *)(void *)((char *)waiter - offsetof(struct live, waiter));

	live->reading = false;
	if (failed == NULL)
		live_update_calls(live);
	if (live->again)
		live_wake(live);
}

void
live_wake(struct live *live)
{
	live->again = live->reading;
	if (live->reading)
		return;
	live->reading = true;
	overview_read(live->overview, &live->waiter);
}

static void
changes_ready(struct loop_source *source, uint32_t events)
{
	struct live *live = (struct live *)(void *)((char *)source - offsetof(struct live, changes));

	(void)events;
	watch_drain(&live->watch);
	live_wake(live);
}

static void
live_update_on_timer(struct loop_timer *timer)
{
	live_wake((struct live *)(void *)((char *)timer - offsetof(struct live, look)));
}

/* ---- open and close ---- */

void
lives_open(struct lives *all, struct loop *loop, struct overviews *overviews,
    const struct storage *storage, void (*changed)(struct feed *feed))
{
	*all = (struct lives){ .loop = loop, .overviews = overviews, .storage = storage,
		.changed = changed };
}

struct live *
live_hold(struct lives *all, struct feed *feed)
{
	struct live *live = all->first;
	struct error err;

	while (live != NULL && live->feed != feed)
		live = live->next;
	if (live != NULL) {
		live->holders++;
		return live;
	}
	live = memory_zero(1, sizeof *live);
	live->all = all;
	live->next = all->first;
	all->first = live;
	live->holders = 1;
	live->feed = feed_share(feed);
	live->feed->live = live;
	live->overview = overview_hold(all->overviews, feed->run_id);
	live->waiter.ready = overview_ready;
	live->look.due = live_update_on_timer;
	watch_open(&live->watch);
	live->changes = (struct loop_source){ .fd = live->watch.fd, .ready = changes_ready };
	if (live->watch.fd != -1 && loop_add(all->loop, &live->changes, EPOLLIN, &err) != 0)
		watch_close(&live->watch);
	follow_anew(live);
	live_wake(live);
	return live;
}

void
live_release(struct live *live)
{
	struct live **link = &live->all->first;

	if (--live->holders > 0)
		return;
	while (*link != live)
		link = &(*link)->next;
	*link = live->next;
	loop_unset(live->all->loop, &live->look);
	if (live->changes.fd != -1)
		loop_remove(live->all->loop, &live->changes);
	live_follow_end(&live->follow);
	watch_close(&live->watch);
	overview_forget(live->overview, &live->waiter);
	overview_release(live->overview);
	live->feed->live = NULL;
	feed_release(live->feed);
	for (size_t i = 0; i < live->count; i++)
		live_free_call(&live->calls[i]);
	free(live->calls);
	free(live);
}

/* ---- for streams ---- */

static void
append_done(const char *id, const char *of, struct buffer *out)
{
	struct buffer json = BUFFER_INIT;
	struct writer w;

	writer_begin(&w, &json);
	writer_object(&w);
	write_names(&w, id, of);
	writer_member_bool(&w, "done", true);
	writer_object_end(&w);
	append_event(out, &json);
	buffer_free(&json);
}

/* Appends whole events from the text of a call, about STREAM_PIECE bytes; returns where the next
 * one begins. */
static size_t
append_told(const struct buffer *told, size_t from, struct buffer *out)
{
	size_t to = from;

	/* An event ends with an empty line, and has none inside. */
	while (to < told->len && to - from < STREAM_PIECE) {
		const char *end = told->data + to;

		do {
			end = (const char *)memchr(end, '\n', told->len - (size_t)(end - told->data)) + 1;
		} while (*end != '\n');
		to = (size_t)(end + 1 - told->data);
	}
	buffer_append(out, told->data + from, to - from);
	return to;
}

bool
live_append_events(const struct live *live, struct live_cursor *cursor, bool projected,
    struct buffer *out)
{
	size_t kept = 0;

	for (size_t i = 0; i < cursor->count; i++) {
		struct live_position *p = &cursor->list[i];
		size_t at = 0;

		while (at < live->count && live->calls[at].number != p->number)
			at++;
		if (at == live->count && !projected)
			append_done(p->id, p->of, out);
		else if (at < live->count)
			cursor->list[kept++] = *p;
	}
	cursor->count = kept;
	for (size_t i = 0; i < live->count; i++) {
		const struct live_call *call = &live->calls[i];
		const struct buffer *told = projected ? &call->projected : &call->told;
		struct live_position *p;

		/* Both lists are in the order of their numbers. */
		if (i == cursor->count) {
			cursor->list = memory_array(cursor->list, i + 1, sizeof *cursor->list);
			p = &cursor->list[cursor->count++];
			*p = (struct live_position){ .number = call->number };
			memcpy(p->id, call->id, ID_SIZE);
			memcpy(p->of, call->of, ID_SIZE);
		}
		p = &cursor->list[i];
		if (p->generation != call->generation)
			p->sent = 0;
		p->generation = call->generation;
		if (p->sent < told->len && out->len >= STREAM_PIECE)
			return false;
		p->sent = append_told(told, p->sent, out);
		if (p->sent < told->len)
			return false;
	}
	return true;
}

void
live_cursor_free(struct live_cursor *cursor)
{
	free(cursor->list);
	*cursor = (struct live_cursor){ .list = NULL };
}
