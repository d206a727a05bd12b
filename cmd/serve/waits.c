/*
 * The catalog tells which runs ask, and since when. Then these runs are read again, one after another, from
 * the one that asks longest on, until no later one can have an older question than those that are wanted.
 */
#include "serve/waits.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "json/writer.h"
#include "serve/runs.h"
#include "serve/serve.h"
#include "serve_runs/asked.h"
#include "storage/origin.h"
#include "transcript/event_keys.h"

#define LIMIT_DEFAULT 50
#define LIMIT_MOST 200
#define BYTES_MOST ((size_t)16 << 20) /* of an answer */

struct inbox_item {
	int64_t since;
	struct buffer json;
};

struct inbox {
	struct catalog_query query;
	struct request *request;
	bool done;
	size_t at;               /* the run that is read next */
	struct overview *overview; /* that is being read; NULL: none */
	struct overview_waiter waiter;
	struct inbox_item *items; /* the oldest first */
	size_t count, limit, bytes;
	int64_t total;           /* calls that ask, of all runs */
	bool more;
};

static int64_t
inbox_since(const struct catalog_run *run)
{
	return run->asked > 0 ? run->asked_since : INT64_MAX;
}

static int
inbox_compare_runs(const void *a, const void *b)
{
	const struct catalog_run *one = *(struct catalog_run *const *)a, *other = *(struct catalog_run *const *)b;

	if (inbox_since(one) != inbox_since(other))
		return inbox_since(one) < inbox_since(other) ? -1 : 1;
	return strcmp(one->run_id, other->run_id);
}

/* Adds one at its place; the newest one goes if there are too many. */
static void
inbox_add(struct inbox *x, int64_t since, struct buffer *json)
{
	size_t place = x->count;

	while (place > 0 && x->items[place - 1].since > since)
		place--;
	x->items = memory_array(x->items, x->count + 1, sizeof *x->items);
	memmove(x->items + place + 1, x->items + place, (x->count - place) * sizeof *x->items);
	x->items[place] = (struct inbox_item){ .since = since, .json = *json };
	x->bytes += json->len;
	x->count++;
	while (x->count > x->limit || (x->count > 1 && x->bytes > BYTES_MOST)) {
		x->bytes -= x->items[--x->count].json.len;
		buffer_free(&x->items[x->count].json);
		x->more = true;
	}
}

static void
inbox_take_run(struct inbox *x, const struct catalog_run *run)
{
	const struct overview *o = x->overview;
	struct asked *list = NULL;
	size_t count = asked_list(o, run->alive, &list);
	char *origin = origin_name(&x->request->server->storage, run->run_id);

	for (size_t i = 0; i < count; i++) {
		struct buffer json = BUFFER_INIT;
		struct writer w;

		if (!asked_person(&list[i]))
			continue;
		writer_begin(&w, &json);
		writer_object(&w);
		writer_member_string(&w, KEY_RUN_ID, run->run_id);
		writer_member_string(&w, KEY_NAME, o->model.name != NULL ? o->model.name : "");
		if (origin != NULL)
			writer_member_string(&w, "origin", origin);
		writer_member_bool(&w, "alive", run->alive);
		asked_write(o, &list[i], run->alive, &w);
		writer_object_end(&w);
		inbox_add(x, list[i].since, &json);
	}
	free(origin);
	free(list);
}

static bool inbox_read_next(struct inbox *x);

static void
inbox_run_ready(struct overview_waiter *waiter, const struct error *failed)
{
	struct inbox *x = (struct inbox *)(void *)((char *)waiter - offsetof(struct inbox, waiter));

	/* One that was removed meanwhile asks nothing. */
	if (failed == NULL)
		inbox_take_run(x, x->query.found[x->at - 1]);
	overview_drop(x->overview);
	x->overview = NULL;
	if (!inbox_read_next(x))
		request_wake(x->request);
}

/* Begins to read the next run; false: all that is wanted was read. */
static bool
inbox_read_next(struct inbox *x)
{
	const struct catalog_run *run = x->at < x->query.count ? x->query.found[x->at] : NULL;

	if (run == NULL || run->asked == 0 || x->limit == 0 ||
	    ((x->count == x->limit || x->bytes > BYTES_MOST) && run->asked_since >= x->items[x->count - 1].since)) {
		x->more |= run != NULL && run->asked > 0;
		x->done = true;
		return false;
	}
	x->at++;
	x->overview = overview_hold(&x->request->server->overviews, run->run_id);
	overview_read(x->overview, &x->waiter);
	return true;
}

static void
inbox_query_done(struct catalog_query *q)
{
	request_wake(((struct inbox *)q)->request);
}

static void
inbox_free(void *state)
{
	struct inbox *x = state;

	if (x->overview != NULL) {
		overview_forget(x->overview, &x->waiter);
		overview_drop(x->overview);
	}
	catalog_forget(&x->query);
	for (size_t i = 0; i < x->count; i++)
		buffer_free(&x->items[i].json);
	free(x->items);
	free(x);
}

static void
inbox_answer(struct request *r, const struct inbox *x)
{
	struct buffer json = BUFFER_INIT;
	struct writer w;

	writer_begin(&w, &json);
	writer_object(&w);
	writer_member_array(&w, "waits");
	for (size_t i = 0; i < x->count; i++)
		writer_span(&w, span_of(x->items[i].json.data, x->items[i].json.len));
	writer_array_end(&w);
	writer_member_integer(&w, "total", x->total);
	writer_member_bool(&w, "more", x->more);
	writer_object_end(&w);
	buffer_byte(&json, '\n');
	request_json(r, 200, &json);
}

static void
inbox_begin(struct request *r)
{
	struct inbox *x;
	int64_t limit = LIMIT_DEFAULT;

	if (!request_number(r, "limit", LIMIT_MOST, &limit))
		return;
	x = memory_zero(1, sizeof *x);
	x->request = r;
	x->limit = (size_t)limit;
	x->waiter.ready = inbox_run_ready;
	x->query.done = inbox_query_done;
	x->query.limit = SIZE_MAX;
	x->query.asks = x->query.children = true;
	x->query.token = token_hold(r->token);
	r->state = x;
	r->free_state = inbox_free;
	request_wait(r);
	catalog_ask(&r->server->catalog, &x->query);
}

void
answer_waits(struct request *r)
{
	struct inbox *x = r->state;

	if (x == NULL) {
		inbox_begin(r);
	} else if (x->done) {
		inbox_answer(r, x);
	} else if (x->query.unread) {
		request_refuse(r, &storage_unreadable);
	} else {
		for (size_t i = 0; i < x->query.count; i++)
			x->total += (int64_t)x->query.found[i]->asked;
		if (x->query.count > 0)
			qsort(x->query.found, x->query.count, sizeof *x->query.found, inbox_compare_runs);
		if (inbox_read_next(x))
			request_wait(r);
		else
			inbox_answer(r, x);
	}
}
