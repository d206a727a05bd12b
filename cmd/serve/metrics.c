/*
 * Figures of runs are sums over all runs of the storage that the token may read, taken from the
 * catalog, which reads a run again only if its file has changed. They fall when runs are removed,
 * so they are gauges; figures of what the server has done since it started are counters.
 */
#include "serve/metrics.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/count.h"
#include "base/memory.h"
#include "model/price.h"
#include "serve/runs.h"
#include "serve/serve.h"

#define PROMETHEUS "text/plain; version=0.0.4; charset=utf-8"

static const char *const statuses[] = { "queued", "running", "waiting", "success", "failed",
	"cancelled", "timeout", "died" };
#define STATUSES (sizeof statuses / sizeof *statuses)

struct scrape {
	struct catalog_query query;
	struct request *request;
};

void
answer_health(struct request *r)
{
	struct buffer text = BUFFER_INIT;

	if (!runs_readable(r->server)) {
		request_refuse(r, &storage_unreadable);
		return;
	}
	buffer_text(&text, "ok\n");
	request_bytes(r, 200, "text/plain", &text, NULL);
}

static void
metrics_write_help(struct buffer *out, const char *name, const char *type, const char *help)
{
	buffer_format(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void
write_figure(struct buffer *out, const char *name, const char *type, const char *help,
    int64_t value)
{
	metrics_write_help(out, name, type, help);
	buffer_format(out, "%s %" PRId64 "\n", name, value);
}

static void
write_runs(struct buffer *out, const struct catalog_query *q)
{
	int64_t by_status[STATUSES] = { 0 }, events = 0, input = 0, output = 0, cost = 0;
	int64_t unknown = 0, waiting = 0;
	char dollars[MONEY_SIZE];

	for (size_t i = 0; i < q->count; i++) {
		const struct catalog_run *run = q->found[i];
		const char *status = catalog_status(q, run);

		for (size_t j = 0; j < STATUSES; j++)
			by_status[j] += strcmp(statuses[j], status) == 0;
		events = count_add(events, run->events);
		input = count_add(input, run->tokens[0]);
		output = count_add(output, run->tokens[1]);
		cost = count_add(cost, run->cost);
		unknown += run->cost_unknown;
		waiting += (int64_t)run->waiting;
	}
	metrics_write_help(out, "awf_runs", "gauge", "Runs in the storage, child runs too.");
	for (size_t i = 0; i < STATUSES; i++)
		buffer_format(out, "awf_runs{status=\"%s\"} %" PRId64 "\n", statuses[i], by_status[i]);
	write_figure(out, "awf_calls_waiting", "gauge", "Calls in them that wait for somebody.",
	    waiting);
	write_figure(out, "awf_events", "gauge", "Events in them.", events);
	metrics_write_help(out, "awf_tokens", "gauge",
	    "Tokens that they have used, in all their attempts.");
	buffer_format(out, "awf_tokens{direction=\"input\"} %" PRId64 "\n"
	    "awf_tokens{direction=\"output\"} %" PRId64 "\n", input, output);
	metrics_write_help(out, "awf_cost_dollars", "gauge",
	    "What they have cost, as far as prices are known.");
	buffer_format(out, "awf_cost_dollars %s\n", money_number(cost, dollars));
	write_figure(out, "awf_runs_cost_unknown", "gauge",
	    "Runs of which some of the cost is not known.", unknown);
}

static void
write_server(struct buffer *out, const struct server *s)
{
	write_figure(out, "awf_serve_clients", "gauge", "Connections.", (int64_t)s->httpd.count);
	write_figure(out, "awf_serve_streams", "gauge", "Streams that go on.", (int64_t)s->streams.count);
	write_figure(out, "awf_serve_requests_total", "counter", "Requests.", s->counts.requests);
	write_figure(out, "awf_serve_refused_total", "counter", "Requests answered with 4xx or 5xx.",
	    s->counts.refused);
	write_figure(out, "awf_serve_ingested_total", "counter", "Events that clients have sent.",
	    s->counts.ingested);
	write_figure(out, "awf_serve_stream_bytes_total", "counter", "Bytes sent in streams.",
	    s->httpd.stream_bytes);
	if (s->settings.database == NULL)
		return;
	write_figure(out, "awf_database_connected", "gauge", "Whether the database is there.",
	    s->database.connected);
	write_figure(out, "awf_database_runs", "gauge", "Runs that it has told of.", s->database.runs);
	write_figure(out, "awf_database_runs_behind", "gauge",
	    "Runs of which not all is here yet that it has.", s->database.behind);
	write_figure(out, "awf_database_runs_refused", "gauge",
	    "Runs of which something is in it that is no record, and is not served.", s->database.refused);
}

static void
scrape_done(struct catalog_query *q)
{
	request_wake(((struct scrape *)q)->request);
}

static void
scrape_free(void *state)
{
	struct scrape *scrape = state;

	catalog_forget(&scrape->query);
	free(scrape);
}

void
answer_metrics(struct request *r)
{
	struct scrape *scrape = r->state;
	struct buffer text = BUFFER_INIT;

	if (scrape == NULL) {
		scrape = memory_zero(1, sizeof *scrape);
		scrape->request = r;
		scrape->query.done = scrape_done;
		scrape->query.every = scrape->query.children = true;
		scrape->query.token = token_hold(r->token);
		r->state = scrape;
		r->free_state = scrape_free;
		request_wait(r);
		catalog_ask(&r->server->catalog, &scrape->query);
		return;
	}
	if (scrape->query.unread) {
		request_refuse(r, &storage_unreadable);
		return;
	}
	write_runs(&text, &scrape->query);
	write_server(&text, r->server);
	request_bytes(r, 200, PROMETHEUS, &text, NULL);
}
