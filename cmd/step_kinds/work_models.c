/*
 * --models: records the model traffic of a command. A proxy (awf-models-proxy(1)) runs between the
 * command and the APIs during the call. What the proxy reports is recorded here: a generation as a
 * user message and an assistant message, any other request as a tool call, each with the bytes of
 * request and answer.
 *
 *   - An answer is on disk in the transcript before the command receives the end of it.
 *   - A resume answers recorded requests from the recording, and sends others to the API; a replay
 *     has only the recording, and a request that is not in it is a divergence.
 *   - The start of the call is the cause of each request, a request is the cause of its answer, and
 *     all answers, in the order of their requests, are causes of the call's end: so causes do not
 *     depend on timing.
 *
 * The proxy is a line peer, served while the command runs. Each of its lines is a request that
 * waits for an answer, a piece of text, or the outcome of a request; lines to it are sent when its
 * pipes are next polled.
 *
 * A request is first looked up in the recording. If it is found, a resume answers it from there and
 * links to it; a replay records both events again as they were, with the tries that had failed
 * before. Otherwise the request is sent to an API, once it may be made under the limits
 * (awf-limits(5)) and the budget. In a replay it is not sent: the first request that differs is
 * recorded in place of the recorded request that it most likely corresponds to, so that a
 * comparison (awf-verify) shows what has changed.
 */
#include <fcntl.h>
#include <sodium/utils.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/count.h"
#include "base/id.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/patience.h"
#include "base/text.h"
#include "definitions/trust.h"
#include "io/file.h"
#include "isolate/loopback.h"
#include "limits/budget.h"
#include "limits/retried.h"
#include "proc/libexec.h"
#include "proc/message.h"
#include "proc/model_token.h"
#include "proc/peer.h"
#include "providers/endpoint_price.h"
#include "providers/throttle.h"
#include "step_kinds/kinds.h"
#include "step_kinds/models_endpoint.h"
#include "step_kinds/traffic.h"
#include "step_kinds/work_command.h"
#include "storage/call_marks.h"
#include "storage/state.h"
#include "transcript/event_keys.h"
#include "turn/loop.h"
#include "view/live.h"
#include "view/screen.h"

#define PROXY "awf-models-proxy"
#define SHOWN_PATH 200        /* bytes of a path that are shown */

/* The environment variables of each API: the first one that is set contains the key, or the server.
 * For the program all of them are set, to the token and the proxy. */
static const struct family {
	const char *name;
	const char *keys[3];
	const char *bases[4];
	const char *suffix;          /* of the proxy's URL for this API */
} families[] = {
	{ "openai", { "OPENAI_API_KEY" }, { "OPENAI_BASE_URL", "OPENAI_API_BASE" }, "/v1" },
	{ "anthropic", { "ANTHROPIC_API_KEY" },
	    { "ANTHROPIC_BASE_URL", "ANTHROPIC_API_URL", "ANTHROPIC_API_BASE" }, "" },
	{ "google", { "GEMINI_API_KEY", "GOOGLE_API_KEY" },
	    { "GOOGLE_GEMINI_BASE_URL", "GEMINI_API_BASE", "GEMINI_BASE_URL" }, "" },
	{ "vertex", { "GOOGLE_API_KEY", "GEMINI_API_KEY" }, { "GOOGLE_VERTEX_BASE_URL" }, "" }
};
#define FAMILY_COUNT (sizeof families / sizeof *families)
/* Other credentials for these APIs, which are also withheld from the program. */
static const char *const others[] = { "ANTHROPIC_AUTH_TOKEN", "OPENAI_ADMIN_KEY", NULL };

/* A request that was sent to the API, or answered from the recording. */
struct api_request {
	long long number;
	bool generation, external;
	bool within;                 /* a step inside the command makes and records it: do not
	                                record it here */
	char *api, *model;           /* model may be NULL */
	char *name;                  /* METHOD PATH */
	char sha256[DIGEST_SIZE];
	char asked[ID_SIZE], answered[ID_SIZE]; /* event ids; "": not recorded in this attempt */
	bool over;
	int64_t reserved;            /* amount of the budget, until the answer arrives */
	struct throttle throttle;    /* its place among the concurrent calls to the provider */
	struct throttle_waiter *waiter; /* NULL: it does not wait for a place */
	struct buffer line;          /* the proxy's line about it, while it waits */
};

struct models {
	struct step_call *call;
	struct peer proxy;
	char token[MODEL_TOKEN_SIZE];
	struct api_request *list;        /* in the order of arrival */
	size_t count;
	struct traffic traffic;
	bool recalls;                /* answers may be taken from the recording */
	bool replays;
	int lent, borrowed;          /* ends of a socket pair; -1: none */
	bool listens;                /* the proxy is listening */
	bool tried;                  /* the command has been run before in this call */
	bool noted;                  /* it was warned that a resume sends a request that is not
	                                recorded */
	long strangers;              /* requests with a wrong token */
	int64_t spent;               /* nano-dollars, by this call */
	struct error refused;        /* why a request was refused; the first */
	struct error failed;         /* a system error that occurred outside a request */
	struct error waited;         /* what a request was waiting for when the command timed out */
	struct error unanswered;     /* why the last request that ended has no answer; ERROR_NONE:
	                                it has one */
	int64_t late;                /* deadline, monotonic ms; 0: none */
	struct buffer diverged_line; /* the line of the first request that a replay refused, */
	size_t diverged;             /* and its number, counted from 1; 0: none */
	struct live_writer live;
};

/* The command's budget; NULL: no limit. */
static struct budget *
budget_of(const struct step *s)
{
	struct budget *b = s->definition.state;

	return b->limits ? b : NULL;
}

/* ---- beginning ---- */

/* In a sandbox without network the proxy listens on the sandbox's loopback: the socket is created
 * there for each try, and sent to the proxy over a socket pair. */
static int
make_pair(struct models *m, struct error *err)
{
	struct step *s = m->call->step;
	int ends[2];

	if (!sandbox_holds(&s->options.sandbox) || s->options.sandbox.network == SANDBOX_NETWORK_ALLOWED)
		return 0;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
		return error_errno(err, ERROR_SYSTEM, NULL, "unable to make a pair of sockets");
	fcntl(ends[0], F_SETFD, FD_CLOEXEC);
	m->lent = ends[0];
	m->borrowed = ends[1];
	return 0;
}

/* The name of the endpoint to which the requests of a family go; NULL: to the API itself. */
static const char *
models_endpoint(const struct models *m, const char *family)
{
	const size_t len = strlen(family);
	char *const *said = m->call->step->options.models.endpoints;

	for (; said != NULL && *said != NULL; said++)
		if (strncmp(*said, family, len) == 0 && (*said)[len] == '=')
			return *said + len + 1;
	return NULL;
}

/* The name of the provider that gets the request, for limits and prices. */
static const char *
models_provider(const struct models *m, const struct api_request *r)
{
	const char *endpoint = models_endpoint(m, r->api);

	return endpoint != NULL ? endpoint : r->api;
}

/* Writes the first line for the proxy: the token, and where the APIs are. Uses this process's
 * environment, since the command's has the proxy of the previous call. */
static int
models_write_settings(const struct models *m, struct buffer *line, struct error *err)
{
	const struct step *s = m->call->step;
	struct writer w;
	int failed = 0;

	writer_begin(&w, line);
	writer_object(&w);
	writer_member_string(&w, "token", m->token);
	writer_member_bool(&w, "text", m->live.run_directory != NULL);
	/* A step inside a sandbox could not record its requests. */
	writer_member_bool(&w, "within", !sandbox_holds(&s->options.sandbox));
	if (m->borrowed != -1) {
		writer_member_integer(&w, "borrow", m->borrowed);
		writer_member_integer(&w, "port", LOOPBACK_PORT);
	}
	writer_member_object(&w, "apis");
	for (size_t i = 0; failed == 0 && i < FAMILY_COUNT && !m->replays; i++) {
		const struct family *f = &families[i];
		const char *base = NULL, *key = NULL, *endpoint = models_endpoint(m, f->name);
		char within[MODEL_TOKEN_SIZE];

		if (endpoint != NULL) {
			writer_member_object(&w, f->name);
			failed = models_endpoint_write(endpoint, s->place.keys, &w, err);
			writer_object_end(&w);
			continue;
		}

		for (const char *const *name = f->bases; *name != NULL && base == NULL; name++)
			base = environment_text(*name);
		for (const char *const *name = f->keys; *name != NULL && key == NULL; name++)
			key = keys_value(s->place.keys, *name);
		/* This step is inside a command with a proxy of its own: its proxy passes on
		 * requests that are recorded here. */
		if (model_token_is(key)) {
			model_token_within(key, within);
			key = within;
		}
		/* The program may ask another API alone: this is no error. */
		if (key != NULL && base != NULL && !models_endpoint_key_may_go(f->name, base)) {
			message_print("awf-step", "%s: %s gets no key, which would go to another machine without "
			    "encryption: take https, or say \"insecure\": true in the file of the endpoint %s",
			    s->options.name, base, f->name);
			key = NULL;
		}
		writer_member_object(&w, f->name);
		writer_member_string(&w, "base", base);
		writer_member_string(&w, "key", key);
		writer_object_end(&w);
	}
	writer_object_end(&w);
	writer_object_end(&w);
	buffer_byte(line, '\n');
	return failed;
}

static void
set_environment(const struct models *m, long long port)
{
	static const char *const exempt[] = { "NO_PROXY", "no_proxy" };
	struct environment *e = &m->call->step->place.environment;
	struct buffer names = BUFFER_INIT;

	for (size_t i = 0; i < FAMILY_COUNT; i++) {
		char *url = memory_format("http://127.0.0.1:%lld%s", port, families[i].suffix);

		for (const char *const *name = families[i].bases; *name != NULL; name++) {
			environment_set(e, *name, url);
			buffer_format(&names, "%s ", *name);
		}
		for (const char *const *name = families[i].keys; *name != NULL; name++) {
			environment_set(e, *name, m->token);
			buffer_format(&names, "%s ", *name);
		}
		free(url);
	}
	for (const char *const *name = others; *name != NULL; name++) {
		environment_unset(e, *name);
		buffer_format(&names, "%s ", *name);
	}
	for (size_t i = 0; i < sizeof exempt / sizeof *exempt; i++) {
		const char *before = getenv(exempt[i]);
		char *list = memory_format("%s%s127.0.0.1", before != NULL ? before : "",
		    before != NULL && *before != '\0' ? "," : "");

		environment_set(e, exempt[i], list);
		buffer_format(&names, "%s ", exempt[i]);
		free(list);
	}
	environment_set(e, MARKS_OWN, buffer_string(&names));
	buffer_free(&names);
}

/* Waits until the proxy listens. */
static int
wait_for_port(struct models *m, long long *port, struct error *err)
{
	const int64_t deadline = clock_monotonic() + CHECK_LIMIT_MS;
	enum peer_event event = PEER_SERVED;
	struct span line;
	int taken;

	while ((taken = peer_line(&m->proxy, &line)) == 0 && event == PEER_SERVED)
		event = peer_wait(&m->proxy, deadline, &m->call->step->place.interrupts, err);
	if (event == PEER_INTERRUPTED)
		return -1;
	if (taken == 1 && span_integer(span_member(line, "port"), port))
		return 0;
	return error_set(err, ERROR_SYSTEM, PROXY, event == PEER_LATE ? "does not say that it listens" :
	    "ended before it listened");
}

static void models_end(struct models *m);

/* Starts the proxy for the call of a command, and sets the command's environment. NULL with *err: a
 * system error, or the endpoint is wrong. */
static struct models *
models_start(struct step_call *call, struct error *err)
{
	struct models *m = memory_zero(1, sizeof *m);
	const struct step *s = call->step;
	struct recalled *r = &call->verdict.recalled;
	char *path = libexec_path(), *argv[2] = { path_search(path, PROXY), NULL };
	struct process_spec spec = { .argv = argv, .err = PROCESS_INHERIT };
	struct buffer settings = BUFFER_INIT;
	long long port;
	int result = -1;

	m->call = call;
	m->lent = m->borrowed = -1;
	m->replays = step_replays(s);
	m->recalls = call->verdict.recalls && !r->changed && (s->options.models.mode != MODELS_LIVE || m->replays);
	if (m->recalls)
		traffic_begin(&m->traffic, r, s->options.models.ignored);
	else
		m->traffic.ignored = s->options.models.ignored;
	/* In a replay the program must have the same environment each time. */
	model_token_make(m->replays ? call->id : NULL, m->token);
	live_begin(&m->live, m->replays ? NULL : live_place(s->place.run));
	m->proxy.end_ms = PROVIDER_END_MS;
	if (argv[0] == NULL) {
		error_set(err, ERROR_SYSTEM, PROXY, "does not exist (is AWF installed "
		    "completely?)");
	} else if (make_pair(m, err) == 0 && models_write_settings(m, &settings, err) == 0) {
		spec.inherit = m->borrowed != -1;
		result = peer_start(&m->proxy, &spec, err);
	}
	if (result == 0) {
		buffer_append(&m->proxy.outgoing, settings.data, settings.len);
		file_close(&m->borrowed);
		peer_send(&m->proxy);
		result = wait_for_port(m, &port, err);
	}
	if (settings.data != NULL)
		sodium_memzero(settings.data, settings.len);
	buffer_free(&settings);
	free(argv[0]);
	free(path);
	if (result == 0) {
		m->listens = true;
		if (m->lent != -1) {
			fcntl(m->lent, F_SETFD, 0);
			call->step->options.sandbox.loopback = m->lent;
		}
		set_environment(m, port);
		return m;
	}
	models_end(m);
	return NULL;
}

/* ---- events ---- */

/* Writes the name and id of the tool call for a request that is not a generation. */
static void
write_call(struct writer *w, const struct api_request *r)
{
	char call_id[32];

	snprintf(call_id, sizeof call_id, "%lld", r->number);
	writer_member_string(w, KEY_NAME, r->name);
	writer_member_string(w, KEY_CALL_ID, call_id);
}

/* Values in the proxy's lines are compact JSON already. */
static int
record_request(struct models *m, struct api_request *r, struct span line, struct error *err)
{
	static const char *const parts[] = { KEY_METHOD, KEY_PATH, KEY_BODY, KEY_ENCODING };
	struct span generation = span_member(line, "generation");
	struct buffer payload = BUFFER_INIT;
	struct writer w;
	int status;

	writer_begin(&w, &payload);
	writer_object(&w);
	if (r->generation) {
		writer_member_string(&w, KEY_ROLE, "user");
		writer_member_span(&w, KEY_BLOCKS, span_member(generation, KEY_BLOCKS));
		writer_member_span(&w, KEY_SYSTEM_PROMPT, span_member(generation, KEY_SYSTEM_PROMPT));
		writer_member_integer(&w, KEY_TURN, r->number - 1);
		writer_member_string(&w, KEY_PROVIDER, r->api);
		writer_member_string(&w, KEY_MODEL, r->model);
		writer_member_string(&w, KEY_REQUEST_SHA256, r->sha256);
	} else {
		write_call(&w, r);
	}
	writer_member_object(&w, r->generation ? KEY_REQUEST : KEY_INPUT);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		writer_member_span(&w, parts[i], span_member(line, parts[i]));
	writer_object_end(&w);
	if (!r->generation) {
		writer_member_string(&w, KEY_EFFECTS, r->external ? "external" : "read");
		writer_member_string(&w, KEY_FIDELITY, "router");
	}
	writer_object_end(&w);
	status = call_event(&m->call->events, r->generation ? EVENT_MESSAGE_USER : EVENT_TOOL_CALL,
	    m->call->started, &payload, r->asked, err);
	if (status == 0 && r->external)
		status = call_sync(&m->call->events, err);
	buffer_free(&payload);
	return status;
}

static int
record_answer(struct models *m, struct api_request *r, struct span line, struct error *err)
{
	struct span message = span_member(line, "message"), response = span_member(line, KEY_RESPONSE);
	struct span model = span_member(message, KEY_MODEL), blocks = span_member(message, KEY_BLOCKS);
	struct buffer payload = BUFFER_INIT;
	struct writer w;
	int status;

	writer_begin(&w, &payload);
	writer_object(&w);
	if (r->generation) {
		writer_member_string(&w, KEY_ROLE, "assistant");
		writer_member_array(&w, KEY_BLOCKS);
		for (struct span_walk block = span_walk(blocks); span_next(&block);)
			loop_write_block(&w, block.value);
		writer_array_end(&w);
		writer_member_string(&w, KEY_PROVIDER, r->api);
		if (span_type(model) == 's')
			writer_member_span(&w, KEY_MODEL, model);
		else
			writer_member_string(&w, KEY_MODEL, r->model);
		writer_member_span(&w, KEY_STOP_REASON, span_member(message, KEY_STOP_REASON));
		writer_member_span(&w, KEY_USAGE, span_member(message, KEY_USAGE));
		writer_member_integer(&w, KEY_TURN, r->number - 1);
		writer_member_string(&w, KEY_REQUEST_SHA256, r->sha256);
		writer_member_span(&w, KEY_REQUEST_ID, span_member(message, KEY_REQUEST_ID));
		if (!span_true(span_member(line, "whole")))
			writer_member_bool(&w, KEY_PARTIAL, true);
	} else {
		write_call(&w, r);
	}
	writer_member_span(&w, r->generation ? KEY_RESPONSE : KEY_OUTPUT, response);
	writer_member_span(&w, KEY_ERROR, span_member(line, KEY_ERROR));
	writer_member_span(&w, KEY_DURATION_MS, span_member(line, KEY_DURATION_MS));
	if (!r->generation)
		writer_member_string(&w, KEY_FIDELITY, "router");
	writer_object_end(&w);
	status = call_event(&m->call->events, r->generation ? EVENT_MESSAGE_ASSISTANT :
	    EVENT_TOOL_RESULT, r->asked, &payload, r->answered, err);
	if (status == 0)
		status = call_sync(&m->call->events, err);
	buffer_free(&payload);
	return status;
}

/* Adds the cost of an answer for the call and, unless the run has counted it before (known), for
 * the run. */
static int
count_cost(struct models *m, struct api_request *r, struct span model, struct span usage,
    bool known, struct error *err)
{
	const struct budget *b = budget_of(m->call->step);
	char *answered = span_text(model);
	int64_t cost = 0;

	if (b != NULL && usage.at != NULL)
		cost = budget_cost(b, models_provider(m, r), r->model != NULL ? r->model : "", answered, usage);
	m->spent = count_add(m->spent, cost);
	free(answered);
	return b == NULL || known ? 0 : budget_enter(b, models_provider(m, r),
	    r->model != NULL ? r->model : "", cost, &r->reserved, err);
}

/* ---- answers from the recording ---- */

/* Records an event again, unchanged. */
static int
repeat_event(struct step_call *call, struct recalled_event *e, const char *parent,
    struct error *err)
{
	struct buffer payload = BUFFER_INIT;
	int status;

	buffer_append(&payload, e->view.payload.at, e->view.payload.len);
	call_name_next(&call->events, e->id);
	status = call_event(&call->events, e->view.type, parent, &payload, NULL, err);
	e->used = true;
	buffer_free(&payload);
	return status;
}

static int
models_repeat_exchange(struct step_call *call, struct exchanged *x, struct error *err)
{
	x->used = true;
	if (repeat_event(call, x->asked, call->started, err) == -1)
		return -1;
	return x->answered == NULL ? 0 : repeat_event(call, x->answered, x->asked->id, err);
}

static struct api_request *
add_request(struct models *m)
{
	m->list = memory_array(m->list, m->count + 1, sizeof *m->list);
	m->list[m->count] = (struct api_request){ .number = (long long)m->count + 1,
		.throttle = THROTTLE_INIT };
	return &m->list[m->count++];
}

/* Sends a recorded answer to the proxy. */
static void
models_send_recorded_answer(struct models *m, long long number, const struct exchanged *x)
{
	struct span payload = x->answered->view.payload;
	struct span response = span_member(payload, KEY_RESPONSE);
	struct writer w;

	if (response.at == NULL)
		response = span_member(payload, KEY_OUTPUT);
	writer_begin(&w, &m->proxy.outgoing);
	writer_object(&w);
	writer_member_integer(&w, "request", number);
	writer_member_span(&w, "answer", response);
	writer_object_end(&w);
	buffer_byte(&m->proxy.outgoing, '\n');
}

/* Answers a request from the recording. A replay records the exchange again, with the tries that
 * had failed before it. */
static int
models_answer_from_record(struct models *m, struct api_request *r, struct exchanged *x,
    struct error *err)
{
	struct span payload = x->answered->view.payload;

	for (struct exchanged *before = m->traffic.list; m->replays && before < x; before++)
		if (!before->used && !before->whole && strcmp(before->key, x->key) == 0 &&
		    models_repeat_exchange(m->call, before, err) == -1)
			return -1;
	if (m->replays && models_repeat_exchange(m->call, x, err) == -1)
		return -1;
	x->used = true;
	r->over = true;
	if (!recalled_error(x->answered, &m->unanswered))
		m->unanswered.code = ERROR_NONE;
	models_send_recorded_answer(m, r->number, x);
	return count_cost(m, r, span_member(payload, KEY_MODEL), span_member(payload, KEY_USAGE), true, err);
}

/* Makes the end of the call follow the answers from the recording, in their order, and then those
 * of this attempt, in the order of their requests. */
static void
models_link_call_end(const struct models *m)
{
	struct call *events = &m->call->events;

	for (size_t i = 0; i < m->traffic.count; i++)
		if (m->traffic.list[i].used && m->traffic.list[i].answered != NULL)
			call_add_link(events, m->traffic.list[i].answered->id);
	for (size_t i = 0; i < m->count; i++)
		if (m->list[i].answered[0] != '\0')
			call_add_link(events, m->list[i].answered);
}

/* In a replay, records the traffic of a call again if the command is not run. */
static int
repeat_all(struct step_call *call, struct error *err)
{
	struct models m = { .call = call };
	int status = 0;

	traffic_begin(&m.traffic, &call->verdict.recalled, NULL);
	for (size_t i = 0; status == 0 && i < m.traffic.count; i++)
		status = models_repeat_exchange(call, &m.traffic.list[i], err);
	models_link_call_end(&m);
	traffic_free(&m.traffic);
	return status;
}

/* ---- requests ---- */

/* Refuses a request. The call fails with the first reason. */
static void
models_refuse_request(struct models *m, struct api_request *r, const struct error *why)
{
	struct writer w;

	if (m->refused.code == ERROR_NONE)
		m->refused = *why;
	r->over = true;
	writer_begin(&w, &m->proxy.outgoing);
	writer_object(&w);
	writer_member_integer(&w, "request", r->number);
	writer_member_object(&w, "refuse");
	writer_members_error(&w, why);
	writer_object_end(&w);
	writer_object_end(&w);
	buffer_byte(&m->proxy.outgoing, '\n');
}

static void
models_send_message(struct models *m, const char *what, long long number, bool asks)
{
	buffer_format(&m->proxy.outgoing, "{\"%s\":%lld%s}\n", what, number, asks ? ",\"ask\":true" : "");
}

/* Makes the error for a request that should be in the recording but is not. */
static void
set_divergence(struct models *m, const struct api_request *r, struct span line, struct error *why)
{
	struct buffer text = BUFFER_INIT;

	traffic_differs(&m->traffic, line, &text);
	error_set(why, ERROR_DIVERGENCE, NULL, "request %lld, %s, is not in the recording%s", r->number,
	    r->name, buffer_string(&text));
	buffer_free(&text);
}

/* Warns that a resume sends a request that is not recorded, although others are. */
static void
note_unknown(struct models *m, const struct api_request *r, struct span line)
{
	struct buffer text = BUFFER_INIT;

	if (m->noted || !traffic_left(&m->traffic))
		return;
	m->noted = true;
	traffic_differs(&m->traffic, line, &text);
	message_print("awf-step", "%s: request %lld, %s, is not in the record, and is asked live%s",
	    m->call->step->options.name, r->number, r->name, buffer_string(&text));
	buffer_free(&text);
}

static void
models_describe_request(struct api_request *r, struct span line)
{
	struct span generation = span_member(line, "generation");
	struct buffer name = BUFFER_INIT;
	char *text;

	r->api = span_text(span_member(line, KEY_API));
	r->generation = generation.at != NULL;
	r->within = span_true(span_member(line, "within"));
	r->external = span_is(span_member(line, KEY_EFFECTS), "external");
	r->model = span_text(span_member(generation, KEY_MODEL));
	span_decode(span_member(line, KEY_METHOD), &name);
	buffer_byte(&name, ' ');
	span_decode(span_member(line, KEY_PATH), &name);
	text = buffer_take(&name);
	text[strcspn(text, "?")] = '\0';
	if (strlen(text) > SHOWN_PATH)
		text[utf8_whole(text, SHOWN_PATH)] = '\0';
	r->name = text;
}

/* The least number of tokens in a request, computed from its body, which is a string in the
 * line. */
static int64_t
least_tokens(struct span line)
{
	struct buffer body = BUFFER_INIT;
	int64_t tokens;

	span_decode(span_member(line, KEY_BODY), &body);
	tokens = budget_least_tokens(buffer_string(&body), body.len);
	buffer_free(&body);
	return tokens;
}

static int64_t
models_least_tokens(const void *line)
{
	return least_tokens(*(const struct span *)line);
}

/* Lets the proxy send the request to its API, if the budget allows. */
static int
send_on(struct models *m, struct api_request *r, struct span line, struct error *err)
{
	const struct step *s = m->call->step;
	struct error why = ERROR_INIT;

	struct budget *budget = budget_of(s);

	if (budget != NULL && r->generation &&
	    budget_reserve(budget, m->spent, least_tokens(line), NULL, models_provider(m, r),
	    r->model != NULL ? r->model : "", r->within ? NULL : &r->reserved, &why) == -1) {
		if (why.code == ERROR_SYSTEM) {
			*err = why;
			return -1;
		}
		throttle_leave(&r->throttle, THROTTLE_UNKNOWN, -1);
		models_refuse_request(m, r, &why);
		return 0;
	}
	if (!r->within && record_request(m, r, line, err) == -1)
		return -1;
	if (!r->within)
		live_turn(&m->live, m->call->started, r->number - 1);
	models_send_message(m, "request", r->number, true);
	return 0;
}

/* Reports a request that waits long for its provider. */
static int
models_record_wait(void *context, const struct provider_wait *wait, struct error *err)
{
	const struct models *m = context;

	return retried_record_wait(&m->call->events, m->call->started, m->call->step->options.name, wait,
	    terminal_is_told(STDERR_FILENO), err);
}

/* Applies the result of throttle_begin() or throttle_look_again(). line: r->line, or the proxy's
 * current line. */
static int
models_apply_throttle_result(struct models *m, struct api_request *r, int began, struct span line,
    const struct error *why, struct error *err)
{
	int result = 0;

	if (began == 0) {
		if (r->line.len == 0)
			buffer_append(&r->line, line.at, line.len);
		return 0;
	}
	if (began == 1) {
		result = send_on(m, r, line, err);
	} else {
		models_refuse_request(m, r, why);
		if (why->code == ERROR_SYSTEM) {
			*err = *why;
			result = -1;
		}
	}
	buffer_free(&r->line);
	return result;
}

/* Whether no earlier request waits for the same provider. */
static bool
is_first(const struct models *m, size_t number)
{
	for (size_t i = 0; i < number; i++)
		if (m->list[i].waiter != NULL && strcmp(m->list[i].api, m->list[number].api) == 0)
			return false;
	return true;
}

/* Lets waiting requests check whether they may be sent. Returns when to check again, 0: none
 * waits. */
static int64_t
models_check_throttled(struct models *m)
{
	bool waits = false;

	for (size_t i = 0; i < m->count && m->failed.code == ERROR_NONE; i++) {
		struct api_request *r = &m->list[i];
		struct error why = ERROR_INIT;
		int began;

		if (r->waiter == NULL || !is_first(m, i))
			continue;
		began = throttle_look_again(&r->waiter, &r->throttle, &why);
		waits |= began == 0;
		models_apply_throttle_result(m, r, began, span_of(r->line.data, r->line.len), &why,
		    &m->failed);
	}
	peer_send(&m->proxy);
	return waits ? clock_monotonic() + THROTTLE_LOOK_MS : 0;
}

/* Abandons a waiting request whose connection the program has closed. */
static void
models_abandon_request(struct models *m, struct api_request *r)
{
	if (r->waiter == NULL)
		return;
	throttle_desert(&r->waiter, m->late != 0 && clock_monotonic() >= m->late ? &m->waited : NULL);
	buffer_free(&r->line);
	r->over = true;
	models_send_message(m, "recorded", r->number, false);
}

static int
models_read_request(struct models *m, struct span line, struct error *err)
{
	const struct step *s = m->call->step;
	const bool offline = m->replays || s->options.models.mode == MODELS_REPLAY;
	struct api_request *r = add_request(m);
	struct throttle_spec spec = { .storage = &s->place.run->storage, .told = models_record_wait,
	    .context = m };
	struct exchanged *x = NULL;
	struct error why = ERROR_INIT;
	int began;

	span_integer(span_member(line, "request"), &r->number);
	models_describe_request(r, line);
	traffic_key(&m->traffic, line, r->sha256);
	if (m->recalls && !r->within)
		x = traffic_find(&m->traffic, r->sha256, !m->replays);
	if (x != NULL)
		return models_answer_from_record(m, r, x, err);
	if (offline && r->within) {
		error_set(&why, ERROR_DIVERGENCE, NULL, "request %lld, %s, is asked by a step inside, where "
		    "nothing is to be asked", r->number, r->name);
		models_refuse_request(m, r, &why);
		return 0;
	}
	if (offline) {
		set_divergence(m, r, line, &why);
		models_refuse_request(m, r, &why);
		if (m->replays && m->diverged_line.len == 0) {
			buffer_append(&m->diverged_line, line.at, line.len);
			m->diverged = m->count;
		}
		return 0;
	}
	if (r->within)
		return send_on(m, r, line, err);
	note_unknown(m, r, line);
	spec.provider = models_provider(m, r);
	spec.least_tokens = r->generation ? models_least_tokens : NULL;
	spec.request = &line;
	began = throttle_begin(&r->throttle, &spec, &r->waiter, &why);
	return models_apply_throttle_result(m, r, began, line, &why, err);
}

static struct api_request *
models_find_request(struct models *m, struct span line, const char *key)
{
	long long number;

	if (!span_integer(span_member(line, key), &number))
		return NULL;
	for (size_t i = m->count; i-- > 0;)
		if (m->list[i].number == number && !m->list[i].over)
			return &m->list[i];
	return NULL;
}

static int
models_read_answer(struct models *m, struct api_request *r, struct span line, struct error *err)
{
	struct span message = span_member(line, "message"), error = span_member(line, KEY_ERROR);
	struct error why = ERROR_INIT;
	struct usage usage;
	long long status = 0;

	state_error(error, &why);
	span_integer(span_path(line, KEY_RESPONSE, KEY_STATUS, NULL), &status);
	m->unanswered = why;
	usage_begin(&usage);
	usage_add(&usage, span_member(message, KEY_USAGE));
	throttle_leave(&r->throttle, throttle_outcome(why.code, (long)status),
	    usage_total(&usage) > 0 ? usage_total(&usage) : -1);
	if ((!r->within && record_answer(m, r, line, err) == -1) ||
	    count_cost(m, r, span_member(message, KEY_MODEL), span_member(message, KEY_USAGE), r->within,
	    err) == -1)
		return -1;
	r->over = true;
	models_send_message(m, "recorded", r->number, false);
	return 0;
}

static void
models_read_delta(struct models *m, struct span line)
{
	static const struct { const char *kind; enum live_kind live; } kinds[] = {
		{ "text", LIVE_TEXT }, { "thinking", LIVE_THINKING }, { "tool", LIVE_TOOL }
	};
	const struct api_request *r = models_find_request(m, line, "delta");
	struct buffer text = BUFFER_INIT;

	/* If several requests are in progress, only the last one is shown. */
	if (r == NULL || r->number - 1 != m->live.turn)
		return;
	span_decode(span_member(line, KEY_TEXT), &text);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (span_is(span_member(line, "kind"), kinds[i].kind))
			live_append(&m->live, kinds[i].live, buffer_string(&text), text.len);
	buffer_free(&text);
}

/* Handles all lines that have arrived. */
static int
models_read_lines(struct models *m, struct error *err)
{
	struct span line;
	int result = 0, taken = 0;

	while (result == 0 && (taken = peer_line(&m->proxy, &line)) == 1) {
		struct api_request *answered = models_find_request(m, line, "answered"),
		    *left = models_find_request(m, line, "left");

		if (span_member(line, "request").at != NULL)
			result = models_read_request(m, line, err);
		else if (answered != NULL)
			result = models_read_answer(m, answered, line, err);
		else if (left != NULL)
			models_abandon_request(m, left);
		else if (span_member(line, "delta").at != NULL)
			models_read_delta(m, line);
		else if (span_member(line, "refused").at != NULL)
			m->strangers++;
	}
	peer_send(&m->proxy);
	return taken == -1 ? error_set(err, ERROR_SYSTEM, PROXY, "says a line above 256 MiB") : result;
}

static int
models_serve_proxy(void *context, bool gone, struct error *err)
{
	struct models *m = context;
	int result = models_read_lines(m, err);

	if (result == 0 && m->failed.code != ERROR_NONE) {
		*err = m->failed;
		return -1;
	}
	if (result == 0 && gone) {
		peer_end(&m->proxy);
		error_set(&m->refused, ERROR_PROVIDER, PROXY, "has ended before the command");
	}
	return result;
}

static int64_t
models_next_deadline(void *context)
{
	struct models *m = context;
	const int64_t text = live_flush(&m->live), turn = models_check_throttled(m);

	return text == 0 || (turn != 0 && turn < text) ? turn : text;
}

/* Sets up serving the proxy while the command runs. */
static void
models_prepare(void *context, struct command_try *try)
{
	struct models *m = context;
	struct subprocess *process = &try->process;

	/* The key variables contain tokens, not real keys: pass them into the sandbox. */
	for (const struct family *f = families; try->sandboxed && f < families + FAMILY_COUNT; f++)
		for (const char *const *name = f->keys; *name != NULL; name++)
			if (!list_has(try->passed, *name))
				list_add(&try->passed, *name);
	/* Use recorded answers only in the first try: a further try must ask the API. */
	if (m->tried && !m->replays)
		m->recalls = false;
	m->tried = true;
	m->waited = (struct error)ERROR_INIT;
	m->late = process->timeout_ms > 0 ? clock_monotonic() + process->timeout_ms : 0;
	process->beside = &m->proxy;
	process->heard = models_serve_proxy;
	process->due = models_next_deadline;
	process->context = m;
}

/* Hides the token in the command's stderr. */
static void
models_ended(void *context, struct command_try *try)
{
	const struct models *m = context;

	subprocess_hide(&try->process, m->token);
}

/* ---- ending ---- */

static bool
under_way(const struct models *m)
{
	for (size_t i = 0; i < m->count; i++)
		if (!m->list[i].over)
			return true;
	return false;
}

/* If a replay refused a request, records it in place of a recorded request that was not made. */
static int
record_diverged(struct models *m, struct error *err)
{
	struct span line = span_of(buffer_string(&m->diverged_line), m->diverged_line.len);
	struct api_request *r = m->diverged > 0 ? &m->list[m->diverged - 1] : NULL;
	struct exchanged *x = r != NULL ? traffic_likely(&m->traffic, line) : NULL;
	long long turn;
	int result = 0;

	if (x != NULL && (x->asked->view.type == EVENT_MESSAGE_USER) == r->generation) {
		/* Failed tries have turn numbers too. */
		if (span_integer(span_member(x->asked->view.payload, KEY_TURN), &turn))
			r->number = turn + 1;
		x->used = true;
		x->answered = NULL; /* the new request has no answer */
		call_name_next(&m->call->events, x->asked->id);
		result = record_request(m, r, line, err);
	}
	buffer_clear(&m->diverged_line);
	m->diverged = 0;
	return result;
}

/* Adds the reason why there was no answer to the error of a command that failed, as commands seldom
 * print it. */
static void
add_unanswered(const struct models *m, struct error *error)
{
	const size_t at = strlen(error->message);

	if (error->code != ERROR_EXIT_STATUS || m->unanswered.code == ERROR_NONE ||
	    strstr(error->message, m->unanswered.message) != NULL)
		return;
	snprintf(error->message + at, sizeof error->message - at, "%s the model API: %s",
	    strchr(error->message, ':') != NULL ? ";" : ":", m->unanswered.message);
	error->message[utf8_whole(error->message, strlen(error->message))] = '\0';
}

/* Waits for requests that were in progress when the command ended. The outcome of the traffic may
 * make the call fail. */
static int
settle_traffic(struct models *m, struct error *error, struct error *err)
{
	const int64_t deadline = clock_monotonic() + PROVIDER_END_MS;
	struct error late;
	int result = 0;

	/* The command does not wait for them any more. */
	for (size_t i = 0; i < m->count; i++)
		if (m->list[i].waiter != NULL)
			models_abandon_request(m, &m->list[i]);
	if (m->failed.code != ERROR_NONE) {
		*err = m->failed;
		return -1;
	}
	/* The connections are closed; the proxy reports the outcome of these requests. */
	while (result == 0 && under_way(m) && m->proxy.process.pid != 0 &&
	    peer_wait(&m->proxy, deadline, NULL, &late) == PEER_SERVED)
		result = models_read_lines(m, err);
	/* A refused request explains the failure of the command. A divergence makes any command
	 * fail; so does a request that was refused for another reason than a provider error (such
	 * as the budget), since a command that went on without the answer could not be replayed. */
	if (m->refused.code == ERROR_DIVERGENCE ||
	    (m->refused.code != ERROR_NONE && error->code == ERROR_EXIT_STATUS) ||
	    (m->refused.code != ERROR_NONE && m->refused.code != ERROR_PROVIDER &&
	    error->code == ERROR_NONE))
		*error = m->refused;
	else if (error->code == ERROR_TIMEOUT && m->waited.code != ERROR_NONE)
		*error = m->waited;
	else
		add_unanswered(m, error);
	m->refused = (struct error)ERROR_INIT;
	return result == -1 ? -1 : record_diverged(m, err);
}

static int
models_settle(void *context, struct command_try *try, int result, struct error *err)
{
	return result == 0 ? settle_traffic(context, &try->call->end.error, err) : result;
}

static void
models_print_warnings(const struct models *m)
{
	const char *name = m->call->step->options.name;
	const struct step_end *end = &m->call->end;
	bool ran = end->error.code == ERROR_NONE ||
	    (end->error.code == ERROR_EXIT_STATUS && end->exit_code < PROCESS_CANNOT_RUN);

	if (m->strangers > 0)
		message_print("awf-step", "%s: %ld request%s came with another key than the step has given, and "
		    "%s refused", name, m->strangers, m->strangers == 1 ? "" : "s",
		    m->strangers == 1 ? "was" : "were");
	else if (m->count == 0 && !m->replays && ran)
		message_print("awf-step", "%s: --models: no request to a model API was seen: the program "
		    "asks none, or reads no variable that says where the API is (awf-step(1), MODEL "
		    "TRAFFIC)", name);
}

/* Ends the proxy, and makes the end of the call follow the answers. */
static void
models_end(struct models *m)
{
	const int64_t deadline = clock_monotonic() + PROVIDER_END_MS;
	struct error err;

	if (m->listens && m->proxy.process.pid != 0) {
		models_print_warnings(m);
		/* The proxy reports what was still in progress. */
		peer_hang_up(&m->proxy);
		while (peer_wait(&m->proxy, deadline, NULL, &err) == PEER_SERVED &&
		    models_read_lines(m, &err) == 0)
			continue;
	}
	peer_end(&m->proxy);
	m->call->step->options.sandbox.loopback = 0;
	file_close(&m->lent);
	file_close(&m->borrowed);
	models_link_call_end(m);
	for (size_t i = 0; i < m->count; i++) {
		throttle_desert(&m->list[i].waiter, NULL);
		throttle_leave(&m->list[i].throttle, THROTTLE_UNKNOWN, -1);
		buffer_free(&m->list[i].line);
		free(m->list[i].api);
		free(m->list[i].model);
		free(m->list[i].name);
	}
	live_end(&m->live);
	peer_free(&m->proxy);
	buffer_free(&m->diverged_line);
	traffic_free(&m->traffic);
	free(m->list);
	free(m);
}

/* ---- the step ---- */

static bool
models_asked(const struct step_options *o)
{
	return o->command.argv != NULL && o->models.mode != MODELS_NONE;
}

static int
models_load(struct step *s, struct error *err)
{
	s->definition.state = memory_zero(1, sizeof(struct budget));
	/* A replay asks nobody, and needs no file of an endpoint. */
	for (char **said = s->options.models.endpoints; said != NULL && *said != NULL && !trust_is_replayed(); said++)
		if (models_endpoint_check(strchr(*said, '=') + 1, err) != 0)
			return -1;
	return command_load(s, err);
}

static void
models_unload(struct step *s)
{
	budget_end(s->definition.state);
	free(s->definition.state);
}

static int
models_begin(struct step *s, int in, struct error *err)
{
	struct budget *b = s->definition.state;

	(void)in;
	if (step_begin_budget(s, b, err) == -1)
		return -1;
	b->defined = endpoint_budget_price;
	return 0;
}

/* A replay records the traffic of a command again even if the command is not run. */
static int
models_taken(struct step_call *call, struct error *err)
{
	if (!step_replays(call->step) || !call->verdict.recalls)
		return 1;
	return repeat_all(call, err) == -1 ? -1 : 1;
}

static int
models_run(struct step_call *call, int repeats, struct error *err)
{
	struct error why = ERROR_INIT;
	struct models *m = models_start(call, &why);
	const struct command_hooks hooks = { .context = m, .prepare = models_prepare,
		.ended = models_ended, .settle = models_settle };
	int result;

	if (m == NULL) {
		call->end.error = why;
		return 0;
	}
	result = command_run(call, &hooks, repeats, err);
	models_end(m);
	return result;
}

const struct work work_models = {
	.kind = "command",
	.asked = models_asked,
	.load = models_load,
	.define = command_define,
	.files = command_files,
	.begin = models_begin,
	.describe = command_describe,
	.label = command_label,
	.judge = command_judge,
	.record_work = command_record_work,
	.record_place = command_record_place,
	.taken = models_taken,
	.run = models_run,
	.unload = models_unload,
};
