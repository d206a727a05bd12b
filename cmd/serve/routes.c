/*
 * The routes: paths, methods, and who may use them. share/openapi.json describes each; tests
 * compare it with this table and with the answers.
 */
#include "serve/routes.h"

#include "serve/again.h"
#include "serve/decisions.h"
#include "serve/hooks.h"
#include "serve/ingest.h"
#include "serve/metrics.h"
#include "serve/printed.h"
#include "serve/request.h"
#include "serve/runs.h"
#include "serve/search.h"
#include "serve/session.h"
#include "serve/stats.h"
#include "serve/traces.h"
#include "serve/waits.h"
#include "serve/www.h"

#define AGAIN_BODY ((size_t)1 << 20)
#define DECISION_BODY ((size_t)16 << 20)
#define HOOK_BODY ((size_t)25 << 20) /* the largest body that GitHub sends */
#define JSON "application/json"

const struct route routes[] = {
	{ "GET", "", 0, 0, NULL, "", answer_www, NULL },
	{ "GET", "runs/*", 0, 0, NULL, "", answer_www, NULL },
	{ "GET", "compare/*/*", 0, 0, NULL, "", answer_www, NULL },
	{ "GET", "inbox", 0, 0, NULL, "", answer_www, NULL },
	{ "GET", "overview", 0, 0, NULL, "", answer_www, NULL },
	{ "GET", "search", 0, 0, NULL, "", answer_www, NULL },
	{ "GET", "www/*", 0, 0, NULL, "", answer_www, NULL },
	{ "GET", "healthz", 0, 0, NULL, "", answer_health, NULL },
	{ "GET", "metrics", MAY_READ, 0, NULL, "", answer_metrics, NULL },
	{ "GET", "api/openapi.json", 0, 0, NULL, "", answer_description, NULL },
	{ "GET", "api/search", MAY_READ, 0, NULL, "q name since before limit ", answer_search, NULL },
	{ "GET", "api/stats", MAY_READ, 0, NULL, "by since ", answer_stats, NULL },
	{ "GET", "api/stats/calls", MAY_READ, 0, NULL, "by name since failed slowest limit ",
	    answer_stats_calls, NULL },
	{ "GET", "api/waits", MAY_READ, 0, NULL, "limit ", answer_waits, NULL },
	{ "GET", "api/runs", MAY_READ, 0, NULL, "name status since limit before children sort turned ",
	    answer_runs, NULL },
	{ "GET", "api/runs/stream", MAY_READ, 0, NULL, "children ", answer_runs_stream, NULL },
	{ "GET", "api/runs/*", MAY_READ | MAY_OWN, 0, NULL, "", answer_run, NULL },
	{ "GET", "api/runs/*/outline", MAY_READ | MAY_OWN, 0, NULL, "after limit ", answer_outline,
	    NULL },
	{ "GET", "api/runs/*/events", MAY_READ | MAY_OWN, 0, NULL, "after limit type path as follow ",
	    answer_events, NULL },
	{ "GET", "api/runs/*/events/stream", MAY_READ | MAY_OWN, 0, NULL,
	    "afterSeq type path as follow live ", answer_event_stream, NULL },
	{ "GET", "api/runs/*/events/*", MAY_READ | MAY_OWN, 0, NULL, "", answer_event, NULL },
	{ "GET", "api/runs/*/blobs/*", MAY_READ | MAY_OWN, 0, NULL, "", answer_blob, NULL },
	{ "GET", "api/runs/*/evaluation", MAY_READ | MAY_OWN, 0, NULL, "", answer_evaluation, NULL },
	{ "GET", "api/runs/*/again", MAY_READ | MAY_OWN, 0, NULL, "", answer_again, NULL },
	{ "POST", "api/runs/*/again", MAY_READ | MAY_OWN, AGAIN_BODY, JSON, "", answer_again_command,
	    NULL },
	{ "GET", "api/compare", MAY_READ | MAY_OWN, 0, NULL, "a b ", answer_compare, NULL },
	{ "POST", "api/runs/*/decisions", MAY_DECIDE, DECISION_BODY, JSON, "", answer_decision, NULL },
	{ "GET", "api/runs/*/input", MAY_READ | MAY_OWN, 0, NULL, "", answer_input, NULL },
	{ "GET", "api/runs/*/output", MAY_READ | MAY_OWN, 0, NULL, "wait partial ", answer_output,
	    NULL },
	{ "POST", "api/ingest", MAY_INGEST, INGEST_BODY, NULL, "", answer_ingest, receive_ingest },
	{ "PUT", "api/runs/*/blobs/*", MAY_INGEST, INGEST_BLOB, NULL, "", answer_blob_sent,
	    receive_blob },
	{ "POST", "api/runs/*/end", MAY_INGEST, 4096, JSON, "", answer_run_end, NULL },
	{ "POST", "v1/traces", MAY_INGEST, TRACES_BODY, NULL, "", answer_traces, NULL },
	{ "GET", "workflows/*/events", MAY_READ | MAY_OWN, 0, NULL, "offset ",
	    answer_workflow_events, NULL },
	{ "POST", "hooks/*", MAY_START | MAY_SIGNED, HOOK_BODY, NULL, "wait ", answer_hook, NULL },
	{ "POST", "api/session", 0, 4096, JSON, "", answer_session, NULL },
	{ "GET", "api/session", MAY_READ, 0, NULL, "", answer_session_shown, NULL },
	{ "POST", "api/session/end", MAY_READ, 4096, NULL, "", answer_session_end, NULL },
	{ NULL, NULL, 0, 0, NULL, NULL, NULL, NULL },
};
