/*
 * One process, one thread. Each byte of a client is searched once, when it arrives, for line ends and
 * cancels, whose ids are kept in the order of their lines. So a long request that arrives in pieces
 * costs no more than its length.
 */
#include "provider.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../program.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/patience.h"
#include "base/text.h"
#include "io/file.h"
#include "io/open_files.h"
#include "io/terminal.h"
#include "pass.h"
#include "proc/api_keys.h"
#include "providers/known_end.h"
#include "start/pool.h"
#include "system/self.h"
#include "transcript/event_keys.h"

#define READ_SIZE ((size_t)64 << 10)
#define CANCEL_LIMIT 64 /* bytes of a line that may be a cancel; few requests are that short */
#define BEHIND_LIMIT ((size_t)1 << 20) /* bytes that a client has not read */

struct provider {
	const struct provider_api *api;
	int in, out;          /* the same socket, of a worker's client */
	struct buffer input;
	size_t taken;         /* bytes of it that were processed */
	size_t whole;         /* bytes of it that are complete lines */
	struct buffer cancels; /* ids in cancel lines that were not taken yet, as long long */
	size_t looked;        /* bytes that were searched for results of tools */
	bool input_ended;
	struct buffer held;   /* lines to be written together with the next ones */
	size_t sent;          /* bytes of it */
	struct error error;   /* stdin or stdout failed: the program ends */
	bool reader_gone;
	struct buffer line;   /* the request's */
	struct provider_request request;
	void *going;          /* of api->begin(); NULL: no request is on its way */
	bool behind;          /* api->resume() is to be called once it is not */
	char *note;           /* of the answer that comes; NULL */
	char *const *secrets; /* hidden in its lines; NULL: none */
	size_t line_begin;    /* where the last line of held begins */
};

static bool
provider_is_worker(const struct provider *p)
{
	return p->in == p->out;
}

static void
provider_lose_reader(struct provider *p)
{
	p->reader_gone = true;
	buffer_free(&p->held);
	p->sent = 0;
}

/* A client of a worker takes as much as it does at once. */
static void
provider_send_held(struct provider *p)
{
	while (p->sent < p->held.len) {
		ssize_t n = send(p->out, p->held.data + p->sent, p->held.len - p->sent,
		    MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && errno == EAGAIN)
			break;
		if (n == -1) {
			provider_lose_reader(p);
			return;
		}
		p->sent += (size_t)n;
	}
	/* Sent bytes are dropped when they are the greater part. */
	if (p->sent >= p->held.len - p->sent) {
		buffer_drop(&p->held, p->sent);
		p->sent = 0;
	}
}

void
provider_flush(struct provider *p)
{
	if (p->reader_gone)
		buffer_clear(&p->held);
	if (p->held.len == 0)
		return;
	if (provider_is_worker(p)) {
		provider_send_held(p);
		return;
	}
	if (terminal_write_json(p->out, p->held.data, p->held.len) != 0) {
		p->reader_gone = true;
		if (errno != EPIPE)
			error_errno(&p->error, ERROR_SYSTEM, "stdout", "unable to write");
	}
	buffer_free(&p->held);
}

static size_t
provider_unsent_bytes(const struct provider *p)
{
	return p->held.len - p->sent;
}

bool
provider_is_behind(struct provider *p)
{
	if (provider_unsent_bytes(p) > BEHIND_LIMIT)
		provider_flush(p);
	p->behind = provider_unsent_bytes(p) > BEHIND_LIMIT;
	return p->behind;
}

/* The request has its answer. */
static void
provider_end_request(struct provider *p)
{
	free(p->note);
	p->note = NULL;
	p->going = NULL;
	p->secrets = NULL;
	provider_flush(p);
}

void
provider_hide(struct provider *p, char *const *secrets)
{
	p->secrets = secrets;
}

/* Begins a line: {"id":N,"type":"…" */
static void
begin_line(struct provider *p, struct writer *w, const char *type)
{
	p->line_begin = p->held.len;
	writer_begin(w, &p->held);
	writer_object(w);
	writer_key(w, "id");
	if (p->request.id >= 0)
		writer_integer(w, p->request.id);
	else
		writer_null(w);
	writer_member_string(w, KEY_TYPE, type);
}

static void
end_line(struct provider *p, struct writer *w)
{
	writer_object_end(w);
	text_hide_in_data(p->held.data + p->line_begin, p->held.len - p->line_begin, p->secrets);
	buffer_byte(&p->held, '\n');
}

void
provider_delta(struct provider *p, const char *kind, const char *text, size_t len)
{
	struct writer w;

	if (!p->request.stream || len == 0)
		return;
	begin_line(p, &w, "delta");
	writer_member_string(&w, "kind", kind);
	writer_key(&w, KEY_TEXT);
	writer_bytes(&w, text, len);
	end_line(p, &w);
}

void
provider_tool(struct provider *p, const struct block *b, enum error_code code,
    const struct changed *changed)
{
	struct writer w;

	begin_line(p, &w, b->type == BLOCK_TOOL_USE ? "tool_call" : "tool_result");
	message_write_tool(b, code, &w);
	if (changed != NULL)
		changed_write(changed, &w);
	end_line(p, &w);
	provider_flush(p);
}

void
provider_run_tool(struct provider *p, long long number, const char *name, struct span input)
{
	struct writer w;

	begin_line(p, &w, "tool_run");
	writer_member_integer(&w, "number", number);
	writer_member_string(&w, KEY_NAME, name);
	writer_key(&w, KEY_INPUT);
	scan_minify(input, w.out);
	w.comma = true;
	end_line(p, &w);
	provider_flush(p);
}

void
provider_note(struct provider *p, const char *text)
{
	char *both = p->note == NULL ? memory_text(text) :
	    strstr(p->note, text) != NULL ? memory_text(p->note) : memory_format("%s; %s", p->note, text);

	free(p->note);
	p->note = both;
}

void
provider_message(struct provider *p, const struct message *m)
{
	struct writer w;

	begin_line(p, &w, "message");
	message_write(m, &w);
	writer_member_string(&w, KEY_PARAMS_NOTE, p->note);
	end_line(p, &w);
	provider_end_request(p);
}

static void
write_failure(struct provider *p, const char *type, const struct failure *f)
{
	char text[sizeof f->error.place + sizeof f->error.message + 4];
	struct writer w;

	begin_line(p, &w, type);
	writer_member_string(&w, "category", error_name(f->error.code));
	if (f->status != 0)
		writer_member_integer(&w, "status", f->status);
	if (f->retry_after_ms > 0)
		writer_member_integer(&w, "retry_after_ms", f->retry_after_ms);
	writer_member_string(&w, KEY_MESSAGE, error_text(&f->error, text, sizeof text));
	if (f->request_id[0] != '\0')
		writer_member_string(&w, KEY_REQUEST_ID, f->request_id);
	if (f->spent != NULL && usage_known(&f->spent->usage))
		message_write_usage(f->spent, &w);
	end_line(p, &w);
}

void
provider_retry(struct provider *p, const struct failure *f)
{
	write_failure(p, "retry", f);
	provider_flush(p);
}

void
provider_error(struct provider *p, const struct failure *f)
{
	write_failure(p, "error", f);
	provider_end_request(p);
}

void
provider_recorded(struct provider *p, struct span answer)
{
	static const char *const passed[] = { KEY_STOP_REASON, KEY_USAGE, KEY_MODEL, KEY_SESSION_ID,
	    "category", "status", "retry_after_ms", KEY_MESSAGE, KEY_REQUEST_ID };
	static const char *const without[] = { KEY_FIDELITY, NULL };
	bool error = span_is(span_member(answer, KEY_TYPE), "error"), tools = false;
	struct writer w;

	begin_line(p, &w, error ? "error" : "message");
	if (!error) {
		writer_member_array(&w, KEY_BLOCKS);
		for (struct span_walk block = span_walk(span_member(answer, KEY_BLOCKS));
		    span_next(&block);) {
			/* awf-step gives every block that it records a fidelity; this tool was
			 * run by the API, not by awf-step. */
			bool ran = span_path(block.value, KEY_RAW, "type", NULL).at != NULL;

			writer_object(&w);
			pass_others(&w, block.value, ran ? NULL : without);
			writer_object_end(&w);
			tools |= !ran && span_is(span_member(block.value, KEY_TYPE), "tool_use");
		}
		writer_array_end(&w);
		if (span_member(answer, KEY_STOP_REASON).at == NULL)
			writer_member_string(&w, KEY_STOP_REASON, tools ? "tool_use" : "end_turn");
		if (span_member(answer, KEY_USAGE).at == NULL) {
			writer_member_object(&w, KEY_USAGE);
			writer_object_end(&w);
		}
		if (span_member(answer, KEY_MODEL).at == NULL)
			writer_member_span(&w, KEY_MODEL, p->request.model);
	}
	for (size_t i = 0; i < sizeof passed / sizeof passed[0]; i++)
		pass_of(&w, passed[i], answer, passed[i]);
	end_line(p, &w);
	provider_end_request(p);
}

size_t
provider_count(const struct provider_request *r, const char *role)
{
	size_t count = 0;

	for (struct span_walk message = span_walk(r->messages); span_next(&message);)
		count += span_is(span_member(message.value, KEY_ROLE), role);
	return count;
}

/* The id of a {"cancel": id} line. */
static bool
cancel_id(const char *line, size_t len, long long *id)
{
	size_t bad;

	return len <= CANCEL_LIMIT && scan_check(line, len, &bad) == NULL &&
	    span_integer(span_member(span_of(line, len), "cancel"), id);
}

/* Whether a line is {"tool_result": ID …}: awf-step's lines of that kind begin so, and requests
 * do not. */
static bool
is_tool_result(const char *line, size_t len)
{
	static const char begin[] = "{\"tool_result\":";

	return len >= sizeof begin - 1 && memcmp(line, begin, sizeof begin - 1) == 0;
}

/* Whether one of the lines that were read and not yet taken cancels the request. */
static bool
is_cancelled(const struct provider *p, long long request)
{
	long long id;

	for (size_t at = 0; at < p->cancels.len; at += sizeof id) {
		memcpy(&id, p->cancels.data + at, sizeof id);
		if (id == request)
			return true;
	}
	return false;
}

static size_t
provider_unread_bytes(const struct provider *p)
{
	return p->input.len - p->taken;
}

/* Reads once, and finds the lines that end in the new bytes; sets input_ended at the end of the
 * input or on an error. */
static void
read_input(struct provider *p)
{
	const char *lf;
	char *room;
	ssize_t len;
	long long id;
	size_t from;

	/* Taken bytes are dropped when they are the greater part. */
	if (p->taken >= provider_unread_bytes(p)) {
		buffer_drop(&p->input, p->taken);
		p->whole -= p->taken;
		p->looked -= p->looked < p->taken ? p->looked : p->taken;
		p->taken = 0;
	}
	room = buffer_reserve(&p->input, READ_SIZE);
	do
		len = read(p->in, room, READ_SIZE);
	while (len < 0 && errno == EINTR);
	if (len < 0 && errno == EAGAIN && provider_is_worker(p))
		return;
	if (len < 0)
		error_errno(&p->error, ERROR_SYSTEM, "stdin", "unable to read");
	if (len <= 0) {
		p->input_ended = true;
		return;
	}
	from = p->input.len;
	p->input.len += (size_t)len;
	while ((lf = memchr(p->input.data + from, '\n', p->input.len - from)) != NULL) {
		from = (size_t)(lf - p->input.data) + 1;
		if (cancel_id(p->input.data + p->whole, from - 1 - p->whole, &id))
			buffer_append(&p->cancels, &id, sizeof id);
		p->whole = from;
	}
}

bool
provider_tool_result(struct provider *p, struct span *line)
{
	long long id;
	size_t bad;

	/* Requests that wait stay where they are. */
	if (p->looked < p->taken)
		p->looked = p->taken;
	while (p->looked < p->whole) {
		const char *at = p->input.data + p->looked;
		const char *lf = memchr(at, '\n', p->whole - p->looked);
		size_t len = (size_t)(lf - at);

		/* A result with no request before it can be dropped. */
		if (p->looked == p->taken && is_tool_result(at, len))
			p->taken += len + 1;
		p->looked += len + 1;
		*line = span_of(at, len);
		if (is_tool_result(at, len) && scan_within(at, len, SCAN_LINE_DEPTH, &bad) == NULL &&
		    span_integer(span_member(*line, "tool_result"), &id) && id == p->request.id)
			return true;
	}
	return false;
}

enum provider_input
provider_look(struct provider *p)
{
	if (provider_unread_bytes(p) > SCAN_LINE_LIMIT)
		return PROVIDER_UNWATCH;
	read_input(p);
	if (is_cancelled(p, p->request.id))
		return PROVIDER_CANCEL;
	return p->input_ended ? PROVIDER_UNWATCH : PROVIDER_GOES_ON;
}

/* Copies the next line of the input into p->line: one that is whole, or at the end of the input the rest of
 * it. False: there is none. */
static bool
provider_take_line(struct provider *p)
{
	const char *text = p->input.data + p->taken;
	size_t len = provider_unread_bytes(p);

	if (len == 0 || (p->taken == p->whole && !p->input_ended))
		return false;
	if (p->taken < p->whole)
		len = (size_t)((const char *)memchr(text, '\n', len) - text) + 1;
	buffer_clear(&p->line);
	buffer_append(&p->line, text, len);
	if (p->line.data[len - 1] == '\n')
		p->line.data[--p->line.len] = '\0';
	p->taken += len;
	return true;
}

/* A worker's clients ask elsewhere if their request is large: together they would take too much memory. */
static size_t
provider_input_limit(const struct provider *p)
{
	return provider_is_worker(p) ? POOL_REQUEST_LIMIT : SCAN_LINE_LIMIT;
}

static int
parse_request(struct provider_request *r, const struct buffer *line, struct error *err)
{
	enum { STEP, PROVIDER, MODEL, SYSTEM, MESSAGES, TOOLS, PARAMS, OUTPUT_SCHEMA, SESSION, SESSION_RAW,
		CHECKED, ID = CHECKED, STREAM, PROJECT_SETTINGS, EMPTY, MEMBERS };
	static const char *const keys[MEMBERS] = {
		[STEP] = "step", [PROVIDER] = KEY_PROVIDER, [MODEL] = KEY_MODEL, [SYSTEM] = "system",
		[MESSAGES] = "messages",
		[TOOLS] = KEY_TOOLS, [PARAMS] = KEY_PARAMS, [OUTPUT_SCHEMA] = "output_schema",
		[SESSION] = "session", [SESSION_RAW] = "session_raw", [ID] = "id", [STREAM] = "stream",
		[PROJECT_SETTINGS] = "project_settings", [EMPTY] = "empty"
	};
	/* The type of a member (span_type()), unless it may be absent, or null. */
	const struct {
		struct span *to;
		char type;
		bool required;
		const char *expected;
	} members[CHECKED] = {
		[STEP] = { &r->step, 's', false, "a string" },
		[PROVIDER] = { &r->provider, 's', false, "a string" },
		[MODEL] = { &r->model, 's', true, "a string" },
		[SYSTEM] = { &r->system, 's', false, "a string" },
		[MESSAGES] = { &r->messages, 'a', true, "an array" },
		[TOOLS] = { &r->tools, 'a', false, "an array" },
		[PARAMS] = { &r->params, 'o', false, "an object" },
		[OUTPUT_SCHEMA] = { &r->output_schema, 'o', false, "an object" },
		[SESSION] = { &r->session, 's', false, "a string" },
		[SESSION_RAW] = { &r->session_raw, 'o', false, "an object" }
	};
	struct span values[MEMBERS];
	const char *why;
	size_t bad;

	memset(r, 0, sizeof *r);
	r->id = -1;
	r->line = span_of(line->data, line->len);
	why = scan_within(line->data, line->len, SCAN_LINE_DEPTH, &bad);
	if (why != NULL)
		return error_set(err, ERROR_INVALID, "request", "byte %zu: %s", bad + 1, why);
	/* All members in one walk: a long conversation is a long line. */
	span_members(r->line, keys, MEMBERS, values);
	if (!span_integer(values[ID], &r->id) || r->id < 0) {
		r->id = -1;
		return error_set(err, ERROR_INVALID, "request", "id: expected a whole number");
	}
	r->stream = span_true(values[STREAM]);
	r->may_be_empty = span_is(values[EMPTY], "accept");
	r->project_settings = span_true(values[PROJECT_SETTINGS]);
	for (size_t i = 0; i < CHECKED; i++) {
		char type = span_type(values[i]);

		if (type == members[i].type)
			*members[i].to = values[i];
		else if (members[i].required || (type != 0 && type != '0'))
			return error_set(err, ERROR_INVALID, "request", "%s: expected %s", keys[i],
			    members[i].expected);
	}
	return 0;
}

/* Answers the request in p->line, or begins to. */
static void
provider_answer_line(struct provider *p)
{
	struct failure failure = { .error = ERROR_INIT };
	const struct buffer *line = &p->line;
	long long id;

	/* The result of a tool for a request that is over. */
	if (line->len == 0 || is_tool_result(line->data, line->len))
		return;
	if (cancel_id(line->data, line->len, &id)) {
		buffer_drop(&p->cancels, p->cancels.len > 0 ? sizeof id : 0);
	} else if (parse_request(&p->request, line, &failure.error) != 0) {
		provider_error(p, &failure);
	} else if (is_cancelled(p, p->request.id)) {
		error_set(&failure.error, ERROR_CANCELLED, NULL, "cancelled");
		provider_error(p, &failure);
	} else if (p->api->begin != NULL) {
		p->going = p->api->begin(p->api->context, p, &p->request);
	} else {
		p->api->answer(p->api->context, p, &p->request);
	}
}

static void
provider_free(struct provider *p)
{
	buffer_free(&p->line);
	buffer_free(&p->input);
	buffer_free(&p->cancels);
	buffer_free(&p->held);
}

/* Answers the requests on stdin, one after another, to its end. */
static void
provider_answer_in_turn(struct provider *p)
{
	while (!p->reader_gone && (provider_unread_bytes(p) > 0 || !p->input_ended)) {
		if (provider_take_line(p)) {
			provider_answer_line(p);
		} else if (provider_unread_bytes(p) > SCAN_LINE_LIMIT) {
			error_set(&p->error, ERROR_INVALID_INPUT, "stdin", "a request is above 256 MiB");
			break;
		} else {
			read_input(p);
		}
	}
	provider_free(p);
}

/* ---- requests beside each other ---- */

/* Descriptors of a client: its connection, and one to the server. */
static const struct open_files client_files = { .each = 3, .beside = 32 };

struct service {
	const struct provider_api *api;
	struct pool_slot *slot;     /* of a worker; NULL: stdin and stdout are the only client */
	struct provider *clients[POOL_CLIENTS];
	size_t count, most;
	struct pollfd fds[1 + POOL_CLIENTS]; /* the listener, and each client; or stdin and stdout */
};

static struct provider *
service_add_client(struct service *s, int in, int out)
{
	struct provider *p = memory_zero(1, sizeof *p);

	p->api = s->api;
	p->in = in;
	p->out = out;
	s->clients[s->count++] = p;
	return p;
}

/* Reads what a client has sent. */
static void
provider_read_client(struct provider *p)
{
	read_input(p);
	if (p->going != NULL && is_cancelled(p, p->request.id))
		p->api->stop(p->going);
	if (p->going == NULL && p->taken == p->whole && provider_unread_bytes(p) > provider_input_limit(p)) {
		error_set(&p->error, ERROR_INVALID_INPUT, "stdin", "a request is above %zu MiB",
		    provider_input_limit(p) >> 20);
		provider_lose_reader(p);
	}
}

/* Begins what the client asks for next, unless its last request is still on its way. True: the client is
 * served, and gone. */
static bool
provider_serve_client(struct provider *p)
{
	if (provider_is_worker(p) && p->input_ended)
		p->reader_gone = true;
	if (p->reader_gone && p->going != NULL)
		p->api->stop(p->going);
	while (p->going == NULL && !p->reader_gone && provider_take_line(p))
		provider_answer_line(p);
	provider_flush(p);
	if (p->behind && provider_unsent_bytes(p) <= BEHIND_LIMIT && p->going != NULL) {
		p->behind = false;
		p->api->resume(p->going);
	}
	if (p->reader_gone)
		return p->going == NULL;
	return p->going == NULL && p->input_ended && provider_unread_bytes(p) == 0 && p->held.len == 0;
}

/* Bytes reserved for what clients have sent and no provider has read, as last counted. */
static size_t unread_memory;

size_t
provider_unread_memory(void)
{
	return unread_memory;
}

/* Sets what poll(2) waits for: more input of each client, unless too much of it is unread already, and room
 * for what the client has not read yet. */
static void
service_fill_fds(struct service *s)
{
	unread_memory = 0;
	s->fds[0] = (struct pollfd){ s->slot == NULL ? -1 : s->slot->listener, POLLIN, 0 };
	for (size_t i = 0; i < s->count; i++) {
		const struct provider *p = s->clients[i];
		const bool reads = !p->input_ended && provider_unread_bytes(p) <= provider_input_limit(p);

		unread_memory += p->held.capacity;
		s->fds[1 + i] = (struct pollfd){ p->out, provider_unsent_bytes(p) > 0 ? POLLOUT : 0, 0 };
		if (s->slot == NULL)
			s->fds[0] = (struct pollfd){ reads ? p->in : -1, POLLIN, 0 };
		else if (reads)
			s->fds[1 + i].events |= POLLIN;
	}
}

static void
service_accept_clients(struct service *s)
{
	int fd;

	if (s->slot == NULL || s->fds[0].revents == 0)
		return;
	while ((fd = pool_accept_now(s->slot, s->count < s->most)) != -1)
		service_add_client(s, fd, fd);
}

/* Serves the clients that something has happened to, and forgets those that have gone. Returns the error of
 * the only client, if it had one. */
static struct error
service_serve_clients(struct service *s)
{
	struct error error = ERROR_INIT;

	/* Those behind were added since, or have been served. */
	for (size_t i = s->count; i-- > 0;) {
		struct provider *p = s->clients[i];

		if (!provider_serve_client(p))
			continue;
		error = p->error;
		if (provider_is_worker(p))
			close(p->in);
		provider_free(p);
		free(p);
		s->clients[i] = s->clients[--s->count];
	}
	return error;
}

/* Reads from those that have sent something, or have gone. */
static void
service_read_clients(struct service *s)
{
	for (size_t i = 0; i < s->count; i++) {
		const short out = s->fds[1 + i].revents, in = s->slot == NULL ? s->fds[0].revents : out & POLLIN;

		if ((out & ~(POLLIN | POLLOUT)) != 0)
			provider_lose_reader(s->clients[i]);
		else if (in != 0)
			provider_read_client(s->clients[i]);
	}
}

/* Serves until no client is left: of a worker, until none has come for long, or none can. */
static int
service_run(struct service *s, struct error *err)
{
	int64_t idle_since = clock_monotonic();

	if (s->slot == NULL)
		service_add_client(s, STDIN_FILENO, STDOUT_FILENO);
	for (;;) {
		*err = service_serve_clients(s);
		if (s->count > 0)
			idle_since = clock_monotonic();
		if (s->count == 0 && (s->slot == NULL || !pool_named(s->slot) ||
		    (clock_monotonic() - idle_since >= WORKER_IDLE_MS && pool_retires(s->slot))))
			return s->slot == NULL && err->code != ERROR_NONE ? -1 : 0;
		service_fill_fds(s);
		if (s->api->wait(s->api->context, s->fds, 1 + s->count,
		    s->slot == NULL ? INT_MAX : WORKER_IDLE_MS, err) == -1)
			return -1;
		service_read_clients(s);
		service_accept_clients(s);
	}
}

/* slot: of a worker; NULL: it serves stdin. */
static void
provider_run_service(const struct provider_api *api, struct pool_slot *slot, struct error *err)
{
	struct service *s = memory_zero(1, sizeof *s);

	s->api = api;
	s->slot = slot;
	s->most = open_files_most(&client_files);
	if (s->most > POOL_CLIENTS)
		s->most = POOL_CLIENTS;
	if (slot != NULL)
		open_files_raise(&client_files, s->most, NULL);
	service_run(s, err);
	free(s);
}

/* Prints one line, for callers that check before they send a request: by check() or ask(). */
static int
provider_check_api(const struct provider_api *api,
    int (*look)(void *context, struct writer *w, struct error *err))
{
	struct error err = ERROR_INIT;
	char text[sizeof err.place + sizeof err.message + 4];
	struct buffer line = BUFFER_INIT;
	struct writer w;
	bool ready;

	writer_begin(&w, &line);
	writer_object(&w);
	ready = known_end_check(&err) == 0 && look(api->context, &w, &err) == 0;
	writer_member_bool(&w, "ready", ready);
	if (!ready) {
		error_text(&err, text, sizeof text);
		api_keys_hide(text);
		writer_member_string(&w, "message", text);
	}
	writer_object_end(&w);
	terminal_print_json(buffer_string(&line), line.len);
	buffer_free(&line);
	return program_end(api->program, ready ? STATUS_OK : error_status(err.code));
}

enum { OPT_KNOWN_END = 1, OPT_CHECK, OPT_ASK, OPT_WORKER, OPT_PARENT };

struct asked {
	const char *lock; /* of a worker; NULL: it is not one */
	int64_t parent;
	bool check, ask;
};

static const struct option_spec options_table[] = {
	{ OPT_KNOWN_END, 0, "known-end", "WORD=REASON", "an answer that ends with WORD did so as "
	    "stop, max_tokens and so on; repeatable", OPTION_CALL(known_end_teach) },
	{ OPT_CHECK, 0, "check", NULL, "say whether it has what it needs, and ask nobody",
	    OPTION_INTO_FLAG(struct asked, check) },
	{ OPT_ASK, 0, "ask", NULL, "ask the server for a list of its models, and say what it answered",
	    OPTION_INTO_FLAG(struct asked, ask) },
	{ OPT_WORKER, 0, "worker", "LOCK", "serve all who connect to the socket that stdin is",
	    OPTION_INTO_TEXT(struct asked, lock) },
	{ OPT_PARENT, 0, "parent", "PID", "of a worker: end with this process",
	    OPTION_INTO_NUMBER(struct asked, parent, 1, INT_MAX) },
	{ 0, 0, NULL, NULL, NULL }
};

int
provider_main(const struct provider_api *api, int argc, char **argv)
{
	static const struct option_rule rules[] = {
		{ OPTION_SAID(OPT_PARENT), 0, OPTION_SAID(OPT_WORKER), NULL },
		{ OPTION_SAID(OPT_WORKER), OPTION_SAID(OPT_CHECK) | OPTION_SAID(OPT_ASK), 0, NULL },
		{ OPTION_SAID(OPT_ASK), OPTION_SAID(OPT_CHECK), 0, NULL },
	};
	struct provider p = { .api = api, .in = STDIN_FILENO, .out = STDOUT_FILENO };
	struct options o;
	struct asked asked = { .lock = NULL };
	struct pool_slot slot;

	/* Other processes of the same user must not read the key from this one's memory. */
	self_seal_memory();
	signal(SIGPIPE, SIG_IGN);
	options_begin(&o, options_table, argc, argv);
	options_bind(&o, &asked);
	switch (options_next(&o, &p.error)) {
	case OPTION_END:
		if (options_check(&o, rules, sizeof rules / sizeof *rules, &p.error) != 0)
			break;
		if (asked.lock != NULL && api->begin == NULL) {
			error_set(&p.error, ERROR_USAGE, "--worker", "it cannot be one");
			break;
		}
		if (asked.ask && api->ask == NULL) {
			error_set(&p.error, ERROR_USAGE, "--ask", "it has no server that can be asked");
			break;
		}
		if (asked.check || asked.ask)
			return provider_check_api(api, asked.ask ? api->ask : api->check);
		if (known_end_check(&p.error) != 0)
			break;
		if (asked.lock != NULL &&
		    pool_join(&slot, api->program, asked.lock, (pid_t)asked.parent, &p.error) != 0) {
			pool_leave(&slot);
			break;
		}
		if (api->start != NULL && api->start(api->context, &p.error) != 0)
			break;
		if (api->begin == NULL)
			provider_answer_in_turn(&p);
		else
			provider_run_service(api, asked.lock == NULL ? NULL : &slot, &p.error);
		if (asked.lock != NULL)
			pool_leave(&slot);
		if (p.error.code == ERROR_NONE)
			return STATUS_OK;
		break;
	case OPTION_HELP:
		options_help(stdout, api->usage, options_table, OPTION_HELP);
		return program_end(api->program, STATUS_OK);
	case OPTION_VERSION:
		program_version(api->program);
		return program_end(api->program, STATUS_OK);
	case OPTION_WORD:
		error_set(&p.error, ERROR_USAGE, o.value, "unexpected argument");
	}
	return program_fail(api->program, &p.error);
}
