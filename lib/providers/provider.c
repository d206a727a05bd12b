/*
 * One exchange at a time with a line peer (proc/peer.h). Lines are matched by id; lines that still
 * arrive for a cancelled request are ignored. A provider that breaks the protocol, or cannot be
 * told to cancel, is ended, and the next request starts another.
 */
#include "providers/provider.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/patience.h"
#include "proc/libexec.h"
#include "proc/provider_variables.h"
#include "providers/endpoint.h"
#include "providers/known_end.h"
#include "providers/provider_find.h"
#include "providers/throttle.h"
#include "storage/run.h"
#include "transcript/event_keys.h"
#include "transcript/form.h"

/* Whatever a server asks for, a call waits no longer than a day. */
#define RETRY_AFTER_LIMIT_MS (24LL * 3600 * 1000)
#define NAME_LIMIT ((size_t)64 << 10) /* bytes of a name or an id */
#define NAME_TOO_LONG "a name or an id above 64 KiB"
/* Workers that did not say that they listen, until none is used any more. */
#define WORKER_TRIES 3
/* Bytes that are put around a request. */
#define REQUEST_EXTRA 4096

const char *
provider_program(const char *name, const struct endpoint *endpoint, const char *model)
{
	return endpoint == NULL || strcmp(name, endpoint_provider(endpoint, NULL)) == 0 ? name :
	    endpoint_provider(endpoint, model);
}

void
provider_begin(struct provider *p, const char *name, const struct endpoint *endpoint,
    const char *model, const struct keys *keys)
{
	*p = (struct provider){ .name = memory_text(name), .keys = keys, .next_id = 1,
	    .endpoint = endpoint,
	    .peer = { .end_ms = PROVIDER_END_MS, .ends_unheard = true }, .worker = POOL_WORKER_NONE };
	p->program = provider_program(p->name, endpoint, model);
}

bool
provider_shared(const struct provider *p)
{
	return !p->alone && p->run != NULL && p->run->lock_fd == -1 && p->endpoint != NULL;
}

static int
compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* What a worker is started with. The variables that it reads form a list of their own, in an
 * order of their own, because shells change the order. False: there is no worker that could be
 * used. */
static bool
describe_worker(const struct provider *p, const char *program,
    const struct environment *environment, struct pool_spec *spec, char ***read)
{
	/* A program of another author may not know workers; and a relative path means another
	 * file, or none, to a process in another directory. */
	bool fits = libexec_has(program), path, commands = endpoint_has_command(p->endpoint);
	char **own = endpoint_variables(p->endpoint);

	list_add(&own, ENDPOINT_VARIABLE);
	*read = NULL;
	for (char *const *one = environment->list; *one != NULL && fits; one++)
		if (provider_reads(own, commands, *one, &path)) {
			const char *value = *one + strcspn(*one, "=") + 1;

			fits = !path || *value == '\0' || *value == '/';
			list_add(read, *one);
		}
	list_free(own);
	if (*read != NULL)
		qsort(*read, list_count(*read), sizeof **read, compare_texts);
	*spec = (struct pool_spec){ .run_directory = p->run->directory, .key = p->run->key, .program = program,
	    .environment = *read };
	return fits && *read != NULL;
}

/* Connects to a worker. False: this process must start its own provider, as in a run without
 * awf-run. */
static bool
use_worker(struct provider *p, const char *program, const struct environment *environment)
{
	const int from = p->slots_full;
	struct pool_spec spec;
	char **read = NULL;
	bool fits = provider_shared(p) &&
	    describe_worker(p, program, environment, &spec, &read) &&
	    pool_connect(&p->worker, &spec, from);

	p->slots_full = 0;
	if (fits && peer_connect(&p->peer, p->worker.fd) == -1) {
		pool_release(&p->worker);
		fits = false;
	}
	list_free(read);
	return fits;
}

/* Returns the wait status, as peer_end() does. */
static int
provider_end_process(struct provider *p)
{
	int wait_status = peer_end(&p->peer);

	pool_release(&p->worker);
	return wait_status;
}

/* The same after it has broken the protocol, or a time limit: its following lines could not be trusted, and
 * nobody else is to be served by the worker. */
static int
give_up(struct provider *p)
{
	int wait_status = peer_end(&p->peer);

	if (p->worker.fd != -1)
		pool_abandon(&p->worker, p->run->directory);
	return wait_status;
}

int
provider_start(struct provider *p, struct error *err)
{
	struct environment environment;
	char *argv[2] = { NULL, NULL };
	struct process_spec spec = { .argv = argv, .err = PROCESS_INHERIT };
	int status = 0;

	if (p->peer.process.pid != 0)
		return 0;
	argv[0] = provider_find(p->program, err);
	if (argv[0] == NULL)
		return -1;
	provider_environment(p->keys, &environment);
	environment_unset(&environment, ENDPOINT_VARIABLE);
	if (p->endpoint != NULL) {
		char *text = memory_copy(endpoint_text(p->endpoint).at, endpoint_text(p->endpoint).len);

		environment_set(&environment, ENDPOINT_VARIABLE, text);
		free(text);
	}
	if (provider_is_cli(p->name))
		environment_set(&environment, THROTTLE_WITHIN, p->name);
	spec.environment = environment.list;
	if (!use_worker(p, argv[0], &environment))
		status = peer_start(&p->peer, &spec, err);
	environment_free(&environment);
	free(argv[0]);
	if (status == -1 && err->code == ERROR_EXIT_STATUS)
		err->code = ERROR_PROVIDER;
	return status;
}

static bool
provider_line_is(struct span line, const char *text)
{
	return line.len == strlen(text) && memcmp(line.at, text, line.len) == 0;
}

/* Waits for the worker's first line. 1: it has room; 0: it is full, or gone, or does not say so in time, and was
 * left; -1: interrupted. */
static int
provider_hear_worker(struct provider *p, const struct interrupts *interrupts, struct error *err)
{
	const int64_t deadline = clock_monotonic() +
	    (p->worker.starts ? WORKER_START_MS : WORKER_HELLO_MS);
	enum peer_event event = PEER_SERVED;
	struct span line;
	int taken = 0;

	while (event == PEER_SERVED && (taken = peer_line(&p->peer, &line)) == 0)
		event = peer_wait(&p->peer, deadline, interrupts, err);
	p->worker.heard = taken == 1 && provider_line_is(line, POOL_HELLO);
	if (p->worker.heard)
		return 1;
	if (taken == 1 && provider_line_is(line, POOL_FULL))
		p->slots_full = p->worker.number + 1;
	if (p->slots_full > 0 || event == PEER_GONE || event == PEER_INTERRUPTED)
		provider_end_process(p);
	else
		give_up(p);
	return event == PEER_INTERRUPTED ? -1 : 0;
}

/* Starts the provider and waits for it to listen. A worker says so before the request. If it has no room, the
 * next may; if it does not answer, another takes its place; if workers fail again and again, none is used
 * any more. */
static int
start_listening(struct provider *p, const struct interrupts *interrupts, struct error *err)
{
	int failures = 0;

	for (;;) {
		bool starts;
		int heard;

		if (provider_start(p, err) == -1)
			return -1;
		if (p->worker.fd == -1 || p->worker.heard)
			return 0;
		starts = p->worker.starts;
		heard = provider_hear_worker(p, interrupts, err);
		if (heard != 0)
			return heard == -1 ? -1 : 0;
		failures += p->slots_full == 0;
		if ((starts && p->slots_full == 0) || failures >= WORKER_TRIES)
			p->alone = true;
	}
}

void
provider_stop(struct provider *p)
{
	provider_end_process(p);
	peer_free(&p->peer);
	free(p->name);
	p->name = NULL;
}

/* A request in progress, and its answer. */
struct exchange {
	struct provider *provider;
	const struct provider_callbacks *callbacks;
	struct answer *answer;
	long long id;
	bool answered;
	struct error retried;     /* why the provider tries again by itself; ERROR_NONE: it does not */
};

/* Ends a provider that breaks the protocol: its following lines could not be trusted. */
static int
exchange_broken(struct exchange *x, struct error *err, const char *what)
{
	give_up(x->provider);
	return error_set(err, ERROR_PROVIDER, x->provider->name,
	    "the provider broke the protocol: %s", what);
}

/* Tells the provider to cancel. One that has received only a part of the request, or does not
 * accept the cancel, would misread the next request, so it is ended. A worker sees the
 * connection close, and goes on for others. */
static void
exchange_cancel(struct exchange *x)
{
	struct peer *peer = &x->provider->peer;
	bool goes_on = peer_unsent(peer) == 0;

	if (x->provider->worker.fd != -1) {
		provider_end_process(x->provider);
		return;
	}
	if (goes_on)
		buffer_format(&peer->outgoing, "{\"cancel\":%lld}\n", x->id);
	if (!goes_on || peer_send(peer) == -1 || peer_unsent(peer) > 0)
		give_up(x->provider);
}

void
answer_read(struct answer *a)
{
	const struct span message = span_of(a->line.data, a->line.len);

	a->blocks = span_member(message, KEY_BLOCKS);
	a->usage = span_member(message, KEY_USAGE);
	a->model = span_member(message, KEY_MODEL);
	a->stop_reason = span_member(message, KEY_STOP_REASON);
	a->explanation = span_member(message, KEY_EXPLANATION);
	a->request_id = span_member(message, KEY_REQUEST_ID);
	a->session_id = span_member(message, KEY_SESSION_ID);
	a->params_note = span_member(message, KEY_PARAMS_NOTE);
	a->origin = span_member(message, KEY_ORIGIN);
}

/* Whether a name or an id in a block, or in a line about a tool, is too long for a transcript, in which it has to
 * stand as it is (BLOB_THRESHOLD). */
static bool
has_long_name(struct span object)
{
	static const char *const names[] = { KEY_TYPE, KEY_TOOL_ID, KEY_TOOL_NAME, KEY_NAME, KEY_CALL_ID };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (span_member(object, names[i]).len > NAME_LIMIT)
			return true;
	return false;
}

static int
exchange_message(struct exchange *x, struct span line, struct error *err)
{
	struct answer *a = x->answer;
	struct form_fault wrong = { .what = ERROR_INIT };
	const char *taught;
	char word[100] = "";

	if (form_check_answer(line.at, line.len, &wrong) == -1)
		return exchange_broken(x, err, wrong.what.message);
	/* Only AWF can say whether AWF ran something. */
	for (struct span_walk block = span_walk(span_member(line, KEY_BLOCKS)); span_next(&block);) {
		if (span_is(span_member(block.value, KEY_FIDELITY), "router"))
			return exchange_broken(x, err, "a block with the fidelity 'router'");
		if (has_long_name(block.value))
			return exchange_broken(x, err, NAME_TOO_LONG);
	}
	scan_minify(line, &a->line);
	answer_read(a);

	/* The reason of the end must be one that awf-provider(7) has: an answer with any other
	 * reason that a provider passes on from its API may be incomplete. */
	if (span_type(a->stop_reason) == 's' && !known_end_is_reason(a->stop_reason)) {
		taught = known_end_taught(a->stop_reason);
		if (taught == NULL) {
			span_copy(a->stop_reason, word, sizeof word);
			return error_set(err, ERROR_CUT_OFF, x->provider->name, "the answer ended with '%s', "
			    "which is no known end (if it is a good one: --known-end %s=stop)", word, word);
		}
		a->stop_reason = span_of(taught, strlen(taught));
	}
	x->answered = true;
	return 0;
}

/* The members of an error, as a provider reports it. */
static void
read_failure(const struct exchange *x, struct span line, struct error *err)
{
	struct buffer text = BUFFER_INIT;
	enum error_code code = ERROR_NONE;
	char category[32];

	/* What a provider may report as the end of a request; any other category is refused. */
	if (span_copy(span_member(line, "category"), category, sizeof category))
		code = error_from_name(category, strlen(category));
	if (code < ERROR_RATE_LIMIT && code != ERROR_TIMEOUT && code != ERROR_CANCELLED &&
	    code != ERROR_MAX_TURNS && code != ERROR_DIVERGENCE)
		code = ERROR_PROVIDER;
	span_decode(span_member(line, KEY_MESSAGE), &text);
	error_set(err, code, x->provider->name, "%s",
	    text.len == 0 || text.data[0] == '\0' ? "the request failed" : text.data);
	buffer_free(&text);
}

/* Takes the usage of a failed request from its error. */
static void
read_spent(struct answer *a, struct span line)
{
	scan_minify(line, &a->line);
	line = span_of(a->line.data, a->line.len);
	a->usage = span_member(line, KEY_USAGE);
	a->model = span_member(line, KEY_MODEL);
	a->request_id = span_member(line, KEY_REQUEST_ID);
	if (span_type(a->usage) != 'o')
		a->usage = SPAN_NONE;
	if (span_type(a->model) != 's')
		a->model = SPAN_NONE;
	if (span_type(a->request_id) != 's')
		a->request_id = SPAN_NONE;
}

/* Runs a tool for an agent CLI and sends the result. */
static int
exchange_run(struct exchange *x, struct span line, struct error *err)
{
	const struct provider_callbacks *callbacks = x->callbacks;
	struct peer *peer = &x->provider->peer;
	struct buffer block = BUFFER_INIT;
	long long number;
	int status;

	if (callbacks->run == NULL || !span_integer(span_member(line, "number"), &number) ||
	    span_type(span_member(line, KEY_NAME)) != 's' ||
	    span_type(span_member(line, KEY_INPUT)) != 'o')
		return exchange_broken(x, err, "a tool_run that is none, or where there are no tools");
	status = callbacks->run(callbacks->context, line, &block, err);
	if (status == 0) {
		buffer_format(&peer->outgoing, "{\"tool_result\":%lld,\"number\":%lld,\"block\":", x->id,
		    number);
		buffer_append(&peer->outgoing, block.data, block.len);
		buffer_text(&peer->outgoing, "}\n");
		peer_send(peer);
	} else {
		exchange_cancel(x);
	}
	buffer_free(&block);
	return status;
}

/* Processes a line. Unknown types of later versions, and lines of cancelled requests, are
 * ignored. */
static int
exchange_line(struct exchange *x, struct span line, struct error *err)
{
	const struct provider_callbacks *callbacks = x->callbacks;
	struct buffer text = BUFFER_INIT;
	char kind[16];
	struct span type;
	long long number;
	size_t bad;

	if (scan_within(line.at, line.len, SCAN_LINE_DEPTH, &bad) != NULL || span_type(line) != 'o')
		return exchange_broken(x, err, "a line that is no JSON object");
	if (!span_integer(span_member(line, "id"), &number))
		return exchange_broken(x, err, "a line without the id of its request");
	if (number != x->id)
		return 0;
	if (has_long_name(line))
		return exchange_broken(x, err, NAME_TOO_LONG);
	type = span_member(line, KEY_TYPE);
	if (span_is(type, "message"))
		return exchange_message(x, line, err);
	/* It is trying again until it sends any other line. */
	x->retried.code = ERROR_NONE;
	if (span_is(type, "retry")) {
		read_failure(x, line, &x->retried);
		return 0;
	}
	if (span_is(type, "tool_run"))
		return exchange_run(x, line, err);

	if (span_is(type, "delta") && callbacks->delta != NULL &&
	    span_copy(span_member(line, "kind"), kind, sizeof kind)) {
		span_decode(span_member(line, KEY_TEXT), &text);
		if (text.len != 0)
			callbacks->delta(callbacks->context, kind, text.data, text.len);
		buffer_free(&text);
	}
	/* From an agent CLI. */
	if ((span_is(type, "tool_call") || span_is(type, "tool_result")) && callbacks->event != NULL &&
	    callbacks->event(callbacks->context, line, err) != 0) {
		if (err->code == ERROR_PROVIDER)
			give_up(x->provider); /* as in exchange_broken() */
		else
			exchange_cancel(x);
		return -1;
	}
	if (!span_is(type, "error"))
		return 0;

	if (span_integer(span_member(line, "status"), &number))
		x->answer->status = (long)number;
	if (span_integer(span_member(line, "retry_after_ms"), &number) && number > 0)
		x->answer->retry_after_ms = number < RETRY_AFTER_LIMIT_MS ? number :
		    RETRY_AFTER_LIMIT_MS;
	read_failure(x, line, err);
	read_spent(x->answer, line);
	return -1;
}

/* The worker has ended, with all the requests that it had. What ended it may have been one of them, so if the
 * next worker ends too, this one is asked by a provider of its own. */
static int
provider_lose_worker(struct provider *p, struct answer *answer, enum error_code code, struct error *err)
{
	answer->lost = !p->worker_lost;
	if (p->worker_lost)
		p->alone = true;
	p->worker_lost = true;
	return error_set(err, code, p->name, "the worker ended before it answered");
}

int
provider_ask(struct provider *p, const struct buffer *request, int64_t timeout_ms,
    const struct interrupts *interrupts, const struct provider_callbacks *callbacks,
    struct answer *answer, struct error *err)
{
	static const struct provider_callbacks none;
	struct exchange x = { .provider = p, .callbacks = callbacks == NULL ? &none : callbacks,
	    .answer = answer, .id = p->next_id++ };
	const int64_t deadline = timeout_ms == 0 ? 0 : clock_monotonic() + timeout_ms;
	struct buffer *out = &p->peer.outgoing;
	enum error_code code;
	struct span line;
	char text[64];
	int64_t due;
	int taken, wait_status;
	bool ours;

	*answer = (struct answer){ .line = BUFFER_INIT };
	if (p->peer.process.in == -1 || (p->worker.fd != -1 && request->len > POOL_REQUEST_LIMIT - REQUEST_EXTRA))
		provider_end_process(p);
	if (request->len > POOL_REQUEST_LIMIT - REQUEST_EXTRA)
		p->alone = true;
	if (start_listening(p, interrupts, err) == -1)
		return -1;
	/* Lines before the request are part of this exchange, and are not in its digest. */
	buffer_format(out, "{\"id\":%lld,", x.id);
	if (p->step != NULL)
		buffer_format(out, "\"step\":\"%s\",", p->step);
	buffer_append(out, request->data + 1, request->len - 1);
	buffer_byte(out, '\n');
	peer_send(&p->peer);

	/* Until the answer. If a provider stops reading, its exit or the time limit tells why. */
	for (;;) {
		while ((taken = peer_line(&p->peer, &line)) == 1) {
			if (line.len > 0 && exchange_line(&x, line, err) == -1)
				return -1;
			if (x.answered) {
				p->worker_lost = false;
				return 0;
			}
		}
		if (taken == -1)
			return exchange_broken(&x, err, "a line above 256 MiB");
		due = x.callbacks->due == NULL ? 0 : x.callbacks->due(x.callbacks->context);
		if (due == 0 || (deadline != 0 && deadline < due))
			due = deadline;
		switch (peer_wait(&p->peer, due, interrupts, err)) {
		case PEER_SERVED:
			break;
		case PEER_GONE:
			code = provider_tells_late(p->name) ? ERROR_CUT_OFF : ERROR_PROVIDER;
			ours = p->worker.fd == -1;
			wait_status = provider_end_process(p);
			if (!ours)
				return provider_lose_worker(p, answer, code, err);
			if (wait_status == -1)
				return error_set(err, code, p->name,
				    "the provider closed its output and does not end");
			return error_set(err, code, p->name, "the provider ended before it answered: %s",
			    process_status_text(wait_status, text, sizeof text));
		case PEER_LATE:
			if (due != deadline)
				break;
			exchange_cancel(&x);
			duration_text(timeout_ms, text, sizeof text);
			/* It was not slow: errors kept it from answering. */
			if (x.retried.code != ERROR_NONE)
				return error_set(err, x.retried.code, p->name,
				    "no answer after %s, in which it tried again: %s", text, x.retried.message);
			return error_set(err, ERROR_TIMEOUT, p->name, "no answer after %s", text);
		case PEER_INTERRUPTED:
			exchange_cancel(&x);
			return -1;
		}
	}
}

void
answer_free(struct answer *a)
{
	buffer_free(&a->line);
	*a = (struct answer){ .line = BUFFER_INIT };
}
