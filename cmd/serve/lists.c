/*
 * Lists of runs: a page of the list, and changes in it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "json/writer.h"
#include "serve/runs.h"
#include "serve/serve.h"
#include "serve_runs/frame.h"
#include "serve_runs/stream.h"
#include "transcript/event_keys.h"

#define LIMIT_DEFAULT 50
#define LIMIT_MOST 1000

static const char *const statuses[] = { "queued", "running", "waiting", "success", "failed",
	"cancelled", "timeout", "died", NULL };

/* ---- a page ---- */

struct page {
	struct catalog_query query;
	struct request *request;
};

static void
page_done(struct catalog_query *q)
{
	request_wake(((struct page *)q)->request);
}

static void
page_free(void *state)
{
	struct page *page = state;

	catalog_forget(&page->query);
	free(page);
}

static void
refuse_status(struct request *r)
{
	struct buffer list = BUFFER_INIT;

	for (size_t i = 0; statuses[i] != NULL; i++)
		buffer_format(&list, "%s%s", i > 0 ? ", " : "", statuses[i]);
	request_error(r, 400, "invalid_input", "status is one of %s", buffer_string(&list));
	buffer_free(&list);
}

/* Reads the parameters of the query; false: it was refused. */
static bool
read_query(struct request *r, struct catalog_query *q)
{
	const char *text;
	int64_t limit = LIMIT_DEFAULT, children = 0, turned = 0;

	if (!request_number(r, "limit", LIMIT_MOST, &limit) ||
	    !request_number(r, "children", 1, &children) || !request_number(r, "turned", 1, &turned))
		return false;
	q->limit = (size_t)limit;
	q->children = children == 1;
	if ((text = request_parameter(r, "since")) != NULL &&
	    clock_parse(text, clock_wall(), &q->since) != 0) {
		request_error(r, 400, "invalid_input", "since is no time (as in 2026-11-21, 2h)");
		return false;
	}
	if ((text = request_parameter(r, "status")) != NULL) {
		if (text_index(text, statuses) == -1) {
			refuse_status(r);
			return false;
		}
		memcpy(q->status, text, strlen(text) + 1);
	}
	if ((text = request_parameter(r, "sort")) != NULL) {
		const int sort = text_index(text, catalog_sort_words);

		if (sort == -1) {
			request_error(r, 400, "invalid_input", "sort is one of started, name, status, duration, calls, "
			    "tokens, cost");
			return false;
		}
		q->sort = (enum catalog_sort)sort;
	}
	q->turned = turned == 1;
	if ((text = request_parameter(r, "before")) != NULL) {
		if (!id_valid(text, strlen(text))) {
			request_error(r, 400, "invalid_input", "before is the id of a run");
			return false;
		}
		memcpy(q->before, text, ID_SIZE);
	}
	if ((text = request_parameter(r, "name")) != NULL)
		globs_add(&q->names, text);
	q->token = token_hold(r->token);
	return true;
}

void
answer_runs(struct request *r)
{
	struct page *page = r->state;
	struct catalog_query *q;
	struct buffer json = BUFFER_INIT;
	struct writer w;

	if (page == NULL) {
		page = memory_zero(1, sizeof *page);
		page->request = r;
		page->query.done = page_done;
		page->query.catalog = &r->server->catalog;
		r->state = page;
		r->free_state = page_free;
		if (!read_query(r, &page->query))
			return;
		request_wait(r);
		catalog_ask(&r->server->catalog, &page->query);
		return;
	}
	q = &page->query;
	if (q->unread) {
		request_refuse(r, &storage_unreadable);
		return;
	}
	writer_begin(&w, &json);
	writer_object(&w);
	writer_member_array(&w, "runs");
	for (size_t i = 0; i < q->count; i++)
		catalog_write_found(q, i, &w);
	writer_array_end(&w);
	writer_key(&w, "next");
	writer_string(&w, q->more && q->count > 0 ? q->found[q->count - 1]->run_id : NULL);
	writer_object_end(&w);
	buffer_byte(&json, '\n');
	request_json(r, 200, &json);
}

/* ---- changes ---- */

struct follower {
	uint64_t revision;       /* the revision up to which changes were sent */
	bool children, begun;
};

static enum stream_state
fill_changes(struct stream *s, struct buffer *out)
{
	struct follower *f = s->state;
	const struct catalog_run *run;
	struct buffer json = BUFFER_INIT;
	struct writer w;

	if (!f->begun)
		buffer_text(out, "retry: 1000\n\n");
	f->begun = true;
	for (run = catalog_changed(&s->server->catalog, f->revision);
	    run != NULL && out->len < STREAM_PIECE; run = run->later) {
		f->revision = run->revision;
		buffer_clear(&json);
		writer_begin(&w, &json);
		if (run->gone) {
			writer_object(&w);
			writer_member_string(&w, KEY_RUN_ID, run->run_id);
			writer_object_end(&w);
		} else if (run->known && (f->children || !run->summary.child) &&
		    token_names(s->token, run->summary.name)) {
			catalog_write(run, &w);
		}
		if (json.len > 0)
			frame_event(out, run->gone ? "gone" : NULL, NULL, json.data, json.len);
	}
	buffer_free(&json);
	return run != NULL ? STREAM_MORE : STREAM_HEAD;
}

static void
free_follower(struct stream *s)
{
	catalog_unfollow(&s->server->catalog);
	free(s->state);
}

static const struct stream_source changes_source = {
	.type = "text/event-stream", .fill = fill_changes, .heartbeat = ":\n\n",
	.free = free_follower,
};

/* The catalog calls this when something has changed. */
void
lists_changed(void *context)
{
	struct server *server = context;

	for (struct stream *s = server->streams.first; s != NULL; s = s->next)
		if (s->source == &changes_source)
			stream_wake(s);
}

void
answer_runs_stream(struct request *r)
{
	int64_t children = 0;
	struct follower *f;
	struct stream *s;

	if (!request_number(r, "children", 1, &children))
		return;
	s = stream_make(&r->server->streams, &changes_source, NULL, r->token);
	f = memory_zero(1, sizeof *f);
	f->children = children == 1;
	f->revision = r->server->catalog.revision;
	s->state = f;
	catalog_follow(&r->server->catalog);
	request_stream(r, s);
}
