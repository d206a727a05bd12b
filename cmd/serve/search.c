/*
 * The catalog tells which runs there are, and a child process (serve_runs/work.h) reads them, the newest first,
 * for a limited time: the answer tells how far it got, and from where the next request goes on. It reads at
 * least one run, so that each request gets further.
 */
#include "serve/search.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/patience.h"
#include "base/text.h"
#include "io/file.h"
#include "json/writer.h"
#include "serve/runs.h"
#include "serve/serve.h"
#include "serve_runs/scratch.h"
#include "serve_runs/search.h"
#include "transcript/event_keys.h"

#define AT_ONCE 2
#define LIMIT_DEFAULT 20         /* runs in which something was found */
#define LIMIT_MOST 100
#define HITS_MOST 5              /* of a run */

struct search_outcome {
	bool done;
	struct error err;
};

struct searching {
	struct catalog_query query;
	struct server *server;
	struct request *request; /* NULL: nobody waits for it any more */
	struct search_text text;
	char before[ID_SIZE];    /* runs after this one in the list; "": all */
	size_t limit;
	struct scratch file;
	struct work *work;       /* NULL: it is done, or has not begun */
	bool begun, died;
	struct search_outcome outcome;
};

/* ---- in the child process ---- */

static void
searching_write_run(const struct searching *x, const struct catalog_run *run, enum search_end end,
    const struct buffer *hits, struct writer *w)
{
	char text[CLOCK_TEXT_SIZE];

	writer_object(w);
	writer_member_string(w, KEY_RUN_ID, run->run_id);
	writer_member_string(w, KEY_NAME, run->summary.name);
	writer_member_string(w, KEY_STATUS, catalog_status(&x->query, run));
	writer_member_string(w, "started", clock_text(run->started, text));
	writer_member_bool(w, "more", end == SEARCH_MORE);
	writer_key(w, "hits");
	writer_raw(w, hits->data, hits->len);
	writer_object_end(w);
}

static void
searching_read_runs(const struct searching *x, struct writer *w)
{
	const struct catalog_query *q = &x->query;
	const int64_t begin = clock_monotonic();
	const struct search_limits limits = { .hits = HITS_MOST, .until = begin + SEARCH_RUN_MS };
	const struct catalog_run *last = NULL;
	size_t at = 0, found = 0;
	int64_t cut = 0, unreadable = 0;
	char text[CLOCK_TEXT_SIZE];

	while (x->before[0] != '\0' && at < q->count && strcmp(q->found[at]->run_id, x->before) != 0)
		at++;
	at += x->before[0] != '\0' && at < q->count;
	writer_object(w);
	writer_member_array(w, "found");
	for (; at < q->count && found < x->limit && (last == NULL || clock_monotonic() < begin + SEARCH_MS); at++) {
		struct buffer hits = BUFFER_INIT;
		struct writer inner;
		enum search_end end;
		size_t count;

		last = q->found[at];
		writer_begin(&inner, &hits);
		writer_array(&inner);
		end = search_run(&x->text, &x->server->storage, last->run_id, &limits, &inner, &count);
		writer_array_end(&inner);
		cut += end == SEARCH_CUT;
		/* One that was removed meanwhile has nothing. */
		unreadable += end == SEARCH_UNREADABLE;
		if (count > 0) {
			searching_write_run(x, last, end, &hits, w);
			found++;
		}
		buffer_free(&hits);
	}
	writer_array_end(w);
	writer_member_integer(w, "runs", (int64_t)q->count);
	writer_member_integer(w, "read", (int64_t)at);
	writer_key(w, "reaches");
	writer_string(w, last != NULL ? clock_text(last->started, text) : NULL);
	writer_member_integer(w, "cut", cut);
	writer_member_integer(w, "unreadable", unreadable);
	writer_key(w, "next");
	writer_string(w, at < q->count && last != NULL ? last->run_id : NULL);
	writer_object_end(w);
}

static void
searching_run_in_worker(void *context, void *answer)
{
	const struct searching *x = context;
	struct search_outcome *o = answer;
	struct buffer json = BUFFER_INIT;
	struct writer w;
	int fd = scratch_take(&x->file, &o->err);

	if (fd == -1)
		return;
	/* Of this process alone: letters of all scripts are folded by it. */
	setlocale(LC_CTYPE, "C.UTF-8");
	writer_begin(&w, &json);
	searching_read_runs(x, &w);
	buffer_byte(&json, '\n');
	o->done = file_write(fd, json.data, json.len) == 0;
	if (!o->done)
		error_errno(&o->err, ERROR_SYSTEM, NULL, "unable to write the answer");
	buffer_free(&json);
	file_close(&fd);
}

/* ---- in the server's process ---- */

static void
searching_free(struct searching *x)
{
	scratch_close(&x->file);
	search_text_free(&x->text);
	catalog_forget(&x->query);
	free(x);
}

/* The request is being freed. */
static void
searching_leave(void *state)
{
	struct searching *x = state;

	x->request = NULL;
	if (x->work == NULL)
		searching_free(x);
}

static void
searching_store_outcome(void *context, const void *answer)
{
	struct searching *x = context;

	x->work = NULL;
	x->server->searching--;
	x->died = answer == NULL;
	if (answer != NULL)
		memcpy(&x->outcome, answer, sizeof x->outcome);
	if (x->request == NULL)
		searching_free(x);
	else
		request_wake(x->request);
}

static void
searching_query_done(struct catalog_query *q)
{
	request_wake(((struct searching *)q)->request);
}

/* Reads the parameters; false: the request was refused. */
static bool
searching_read_parameters(struct request *r, struct searching *x)
{
	const char *text = request_parameter(r, "q");
	int64_t limit = LIMIT_DEFAULT;

	if (text == NULL || strlen(text) > SEARCH_TEXT || !search_text_make(&x->text, text)) {
		request_error(r, 400, "invalid_input", "q is the text to be looked for, of 1 to %zu bytes", SEARCH_TEXT);
		return false;
	}
	if (!request_number(r, "limit", LIMIT_MOST, &limit))
		return false;
	x->limit = limit > 0 ? (size_t)limit : 1;
	if ((text = request_parameter(r, "since")) != NULL && clock_parse(text, clock_wall(), &x->query.since) != 0) {
		request_error(r, 400, "invalid_input", "since is no time (as in 2026-11-21, 2h)");
		return false;
	}
	if ((text = request_parameter(r, "before")) != NULL) {
		if (!id_valid(text, strlen(text))) {
			request_error(r, 400, "invalid_input", "before is the id of a run");
			return false;
		}
		memcpy(x->before, text, ID_SIZE);
	}
	if ((text = request_parameter(r, "name")) != NULL)
		globs_add(&x->query.names, text);
	return true;
}

static void
searching_begin(struct request *r)
{
	struct searching *x = memory_zero(1, sizeof *x);

	x->server = r->server;
	x->request = r;
	x->file = (struct scratch)SCRATCH_INIT;
	x->query.catalog = &r->server->catalog;
	x->query.done = searching_query_done;
	x->query.limit = SIZE_MAX;
	x->query.children = x->query.ends = true;
	r->state = x;
	r->free_state = searching_leave;
	if (!searching_read_parameters(r, x))
		return;
	x->query.token = token_hold(r->token);
	request_wait(r);
	catalog_ask(&r->server->catalog, &x->query);
}

static void
searching_start(struct request *r, struct searching *x)
{
	struct error err;

	if (x->query.unread) {
		request_refuse(r, &storage_unreadable);
	} else if (r->server->searching >= AT_ONCE) {
		request_error(r, 503, "unavailable", "others search: try again");
	} else if (scratch_open(&x->file, &r->server->home, &err) != 0) {
		request_fail(r, &err);
	} else {
		x->begun = true;
		r->server->searching++;
		request_wait(r);
		x->work = work_start(&r->server->works, searching_run_in_worker, x, sizeof x->outcome,
		    searching_store_outcome);
	}
}

void
answer_search(struct request *r)
{
	struct searching *x = r->state;
	struct buffer json = BUFFER_INIT;

	if (x == NULL) {
		searching_begin(r);
	} else if (!x->begun) {
		searching_start(r, x);
	} else if (x->died) {
		request_error(r, 500, "internal", "the process that was to search has died");
	} else if (!x->outcome.done) {
		request_fail(r, &x->outcome.err);
	} else if (file_read(x->file.fd, &json, SIZE_MAX) != 0) {
		buffer_free(&json);
		request_error(r, 500, "internal", "the answer cannot be read");
	} else {
		request_json(r, 200, &json);
	}
}
