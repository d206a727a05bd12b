/*
 * The routes: what can be asked for, and who may.
 */
#include "serve/routes.h"

#include "serve/decisions.h"
#include "serve/hooks.h"
#include "serve/metrics.h"
#include "serve/request.h"
#include "serve/runs.h"
#include "serve/session.h"
#include "serve/www.h"

#define DECISION_BODY ((size_t)16 << 20)
#define HOOK_BODY ((size_t)25 << 20) /* as GitHub sends at most */
#define JSON "application/json"

const struct route routes[] = {
	{ "GET", "", 0, 0, NULL, "", answer_www },
	{ "GET", "runs/*", 0, 0, NULL, "", answer_www },
	{ "GET", "www/*", 0, 0, NULL, "", answer_www },
	{ "GET", "healthz", 0, 0, NULL, "", answer_health },
	{ "GET", "metrics", MAY_READ, 0, NULL, "", answer_metrics },
	{ "GET", "api/runs", MAY_READ, 0, NULL, "name status since limit before children ",
	    answer_runs },
	{ "GET", "api/runs/stream", MAY_READ, 0, NULL, "children ", answer_runs_stream },
	{ "GET", "api/runs/*", MAY_READ, 0, NULL, "", answer_run },
	{ "GET", "api/runs/*/outline", MAY_READ, 0, NULL, "after limit ", answer_outline },
	{ "GET", "api/runs/*/events", MAY_READ, 0, NULL, "after limit type path as follow ",
	    answer_events },
	{ "GET", "api/runs/*/events/stream", MAY_READ, 0, NULL, "afterSeq type path as follow live ",
	    answer_event_stream },
	{ "GET", "api/runs/*/events/*", MAY_READ, 0, NULL, "", answer_event },
	{ "GET", "api/runs/*/blobs/*", MAY_READ, 0, NULL, "", answer_blob },
	{ "POST", "api/runs/*/decisions", MAY_DECIDE, DECISION_BODY, JSON, "", answer_decision },
	{ "GET", "api/runs/*/input", MAY_READ, 0, NULL, "", answer_input },
	{ "GET", "workflows/*/events", MAY_READ, 0, NULL, "offset ", answer_workflow_events },
	{ "POST", "hooks/*", MAY_START | MAY_SIGNED, HOOK_BODY, NULL, "", answer_hook },
	{ "POST", "api/session", 0, 4096, JSON, "", answer_session },
	{ "GET", "api/session", MAY_READ, 0, NULL, "", answer_session_shown },
	{ "POST", "api/session/end", MAY_READ, 4096, NULL, "", answer_session_end },
	{ NULL, NULL, 0, 0, NULL, NULL, NULL },
};
