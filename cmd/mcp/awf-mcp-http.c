/*
 * awf-mcp-http: an MCP server that is reached over HTTP, as a program that speaks lines. What it
 * reads on stdin, JSON-RPC messages, it posts to the server; what the server answers it writes on
 * stdout. So awf-step speaks to servers of one kind, and links no library for HTTP.
 *
 * The first line on stdin says who: {"url": …, "headers": ["Name: value", …], "sse": false}; that
 * way a key is in no argument and no environment.
 *
 * Three transports are spoken (Model Context Protocol, "Transports"): Streamable HTTP of 2025-03-26
 * to 2025-11-25, with sessions and a stream of what the server says by itself; that of 2026-07-28,
 * which has neither and wants headers that repeat what the message says; and HTTP with SSE of
 * 2024-11-05, which is tried where a server refuses the first message as one that knows no other.
 *
 * What the code relies on:
 *   - A message that begins something (initialize, a notification) is answered before the next
 *     one is posted; requests are on their way side by side.
 *   - Each request is answered by one message, and where the server gives none, by an error of
 *     ours that says why. So nobody waits for what cannot come.
 *   - A session that the server has forgotten begins anew, unseen; what it was said for goes there.
 *   - Headers go to the URL's own origin alone: redirects are errors, and the endpoint that a
 *     server names is refused if it is elsewhere.
 *   - When stdin ends, so do all transfers, a session is given up, and so does the program.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "../program.h"
#include "agent/mcp_wire.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/text.h"
#include "json/line_input.h"
#include "json/scan.h"
#include "json/writer.h"
#include "mirrored.h"
#include "net/handle.h"
#include "net/sse.h"

#define PROGRAM "awf-mcp-http"
#define USAGE PROGRAM " <messages >messages"
#define META_VERSION "io.modelcontextprotocol/protocolVersion"

enum {
	ERROR_TEXT_LIMIT = 300,      /* bytes of a page that are told */
	REFUSED_LIMIT = 1 << 20,     /* of an answer that is an error */
	RETRY_MS = 1000,             /* before a stream is asked for again */
	RETRY_LIMIT_MS = 30000,
	RESUME_LIMIT = 20,           /* tries for the rest of one answer */
	GIVE_UP_MS = 1000            /* for the end of a session */
};

static const struct option_spec none[] = { { OPTION_END, 0, NULL, NULL, NULL } };

enum purpose {
	POST_MESSAGE,
	GET_REST,        /* of an answer whose stream was cut */
	GET_STREAM,      /* what the server says by itself */
	GET_SSE          /* all that it says, in the old transport */
};

struct bridge;

/* A transfer, and the message that it carries or waits for. */
struct transfer {
	struct bridge *bridge;
	enum purpose purpose;
	CURL *easy;
	struct curl_slist *headers;
	char why[CURL_ERROR_SIZE];
	struct buffer message;       /* JSON */
	struct span id;              /* in message; .at NULL: a notification, or an answer */
	bool initializes, answered, lists;
	bool unheard;                /* the answer is for nobody: the session began anew */
	bool again;                  /* it is posted anew in another session */
	bool after_hello;            /* once that has begun */
	char *session;               /* that it belongs to; NULL: none */
	bool running;
	int64_t due;                 /* when it is to be made again, monotonic ms; 0: now */
	unsigned tries;

	/* What comes. */
	bool stream;                 /* server-sent events */
	char location[256];
	long long retry_after;       /* s; 0: not said */
	struct sse sse;
	struct buffer body;
	struct transfer *next;
};

struct bridge {
	CURLM *multi;
	const char *authorities;
	char *url, *endpoint;        /* where messages go; NULL: the old transport waits for it */
	char **headers;              /* "Name: value"; ends with NULL; NULL: none */
	bool sse;                    /* the old transport */
	char *session, *version;     /* NULL: none */
	struct buffer hello;         /* the message that the session began with */
	struct mirrored mirrored;
	struct transfer *transfers;
	struct buffer waiting;       /* lines that are not posted yet */
	struct line_input in;
	bool lost;                   /* nothing more can be done: the program ends */
};

/* ---- what goes out on stdout ---- */

static void
put_line(const char *bytes, size_t len)
{
	if (file_write(STDOUT_FILENO, bytes, len) != 0 ||
	    file_write(STDOUT_FILENO, "\n", 1) != 0)
		_exit(STATUS_SYSTEM); /* nobody listens */
}

/* The answer to a request that the server has not given. */
static void put_error(struct transfer *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void fail(struct bridge *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void
put_error(struct transfer *t, const char *format, ...)
{
	struct buffer line = BUFFER_INIT;
	char text[1024];
	struct writer w;
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof text, format, list);
	va_end(list);
	text_line(text);
	if (t->id.at == NULL || t->answered || t->unheard) {
		fprintf(stderr, "%s\n", text);
		t->bridge->lost = t->bridge->lost || t->unheard;
		return;
	}
	t->answered = true;
	writer_begin(&w, &line);
	writer_object(&w);
	writer_member_string(&w, "jsonrpc", "2.0");
	writer_member_span(&w, "id", t->id);
	writer_key(&w, "error");
	writer_object(&w);
	writer_member_integer(&w, "code", MCP_NO_ANSWER);
	writer_member_string(&w, "message", text);
	writer_object_end(&w);
	writer_object_end(&w);
	put_line(line.data, line.len);
	buffer_free(&line);
}

/* Whether it is an answer of the server to this request. */
static bool
answers(const struct transfer *t, struct span message)
{
	struct span id = span_member(message, "id");

	return t->id.at != NULL && id.len == t->id.len && id.at != NULL &&
	    memcmp(id.at, t->id.at, id.len) == 0 && span_member(message, "method").at == NULL;
}

/* Passes on what the server says. -1: it is no message. */
static int
take_message(struct transfer *t, const char *bytes, size_t len)
{
	struct span message = span_trim(span_of(bytes, len)), result;
	struct buffer line = BUFFER_INIT, changed = BUFFER_INIT;
	struct bridge *b = t->bridge;
	size_t bad;

	/* Several at once, as 2025-03-26 had them. */
	if (span_type(message) == 'a' && scan_check(message.at, message.len, &bad) == NULL) {
		for (struct span_walk x = span_walk(message); span_next(&x);)
			if (take_message(t, x.value.at, x.value.len) != 0)
				return -1;
		return 0;
	}
	if (span_type(message) != 'o' || scan_check(message.at, message.len, &bad) != NULL)
		return -1;
	result = span_member(message, "result");
	if (answers(t, message)) {
		t->answered = true;
		if (t->initializes && result.at != NULL) {
			free(b->version);
			b->version = span_text(span_member(result, "protocolVersion"));
		}
		if (t->lists && result.at != NULL)
			mirrored_read(&b->mirrored, result, &changed);
	}
	if (changed.len > 0) {
		buffer_append(&line, message.at, (size_t)(result.at - message.at));
		buffer_append(&line, changed.data, changed.len);
		buffer_append(&line, result.at + result.len,
		    (size_t)(message.at + message.len - result.at) - result.len);
		message = span_of(line.data, line.len);
		buffer_clear(&changed);
	}
	scan_minify(message, &changed);
	if (!t->unheard)
		put_line(changed.data, changed.len);
	buffer_free(&changed);
	buffer_free(&line);
	return 0;
}

/* ---- transfers ---- */

static void
fail(struct bridge *b, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vfprintf(stderr, format, list);
	va_end(list);
	fputc('\n', stderr);
	b->lost = true;
}

/* Where messages go in the old transport, as the server names it. */
static void
take_endpoint(struct bridge *b, const char *named)
{
	static const CURLUPart origin[] = { CURLUPART_SCHEME, CURLUPART_HOST, CURLUPART_PORT };
	CURLU *url = curl_url(), *base = curl_url();
	char *whole = NULL;
	bool same = curl_url_set(base, CURLUPART_URL, b->url, 0) == CURLUE_OK &&
	    curl_url_set(url, CURLUPART_URL, b->url, 0) == CURLUE_OK &&
	    curl_url_set(url, CURLUPART_URL, named, 0) == CURLUE_OK &&
	    curl_url_get(url, CURLUPART_URL, &whole, 0) == CURLUE_OK;

	for (size_t i = 0; same && i < sizeof origin / sizeof *origin; i++) {
		char *one = NULL, *other = NULL;

		same = curl_url_get(url, origin[i], &one, CURLU_DEFAULT_PORT) == CURLUE_OK &&
		    curl_url_get(base, origin[i], &other, CURLU_DEFAULT_PORT) == CURLUE_OK &&
		    strcasecmp(one, other) == 0;
		curl_free(one);
		curl_free(other);
	}
	if (same) {
		free(b->endpoint);
		b->endpoint = memory_text(whole);
	} else {
		fail(b, "it names an endpoint that is not its own: %.200s", named);
	}
	curl_free(whole);
	curl_url_cleanup(url);
	curl_url_cleanup(base);
}

static int
on_event(void *context, const char *event, const char *data, size_t len)
{
	struct transfer *t = context;

	if (t->purpose == GET_SSE && strcmp(event, "endpoint") == 0)
		take_endpoint(t->bridge, data);
	else if ((*event == '\0' || strcmp(event, "message") == 0) && len > 0 &&
	    take_message(t, data, len) != 0)
		fprintf(stderr, "it says what is no message: %.100s\n", data);
	return t->bridge->lost ? 1 : 0;
}

static size_t
on_header(char *bytes, size_t size, size_t count, void *context)
{
	struct transfer *t = context;
	size_t len = size * count, name;
	char *line = memory_copy(bytes, len), *value;

	line[strcspn(line, "\r\n")] = '\0';
	if (strncmp(line, "HTTP/", 5) == 0) {
		t->stream = false;
		t->location[0] = '\0';
	}
	name = strcspn(line, ":");
	value = line + name + (line[name] == ':');
	value += strspn(value, " \t");
	line[name] = '\0';
	if (strcasecmp(line, "content-type") == 0) {
		t->stream = strncasecmp(value, "text/event-stream", sizeof "text/event-stream" - 1) == 0;
	} else if (strcasecmp(line, "location") == 0) {
		snprintf(t->location, sizeof t->location, "%s", value);
	} else if (strcasecmp(line, "retry-after") == 0) {
		t->retry_after = strtoll(value, NULL, 10);
	} else if (strcasecmp(line, "mcp-session-id") == 0 && t->initializes && *value != '\0') {
		free(t->bridge->session);
		t->bridge->session = memory_text(value);
	}
	free(line);
	return len;
}

static size_t
on_body(char *bytes, size_t size, size_t count, void *context)
{
	struct transfer *t = context;
	size_t len = size * count, limit;
	long status = 0;

	curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	if (status / 100 == 2 && t->stream)
		return sse_feed(&t->sse, bytes, len) == 0 ? len : 0;
	limit = status / 100 == 2 ? SCAN_LINE_LIMIT : REFUSED_LIMIT;
	if (len > limit - t->body.len && status / 100 == 2)
		return 0;
	buffer_append(&t->body, bytes, len < limit - t->body.len ? len : limit - t->body.len);
	return len;
}

static void
add_header(void *context, const char *header)
{
	struct transfer *t = context;

	t->headers = curl_slist_append(t->headers, header);
}

static void
add_member_header(struct transfer *t, const char *name, const char *value)
{
	struct buffer header = BUFFER_INIT;

	buffer_format(&header, "%s: ", name);
	mirrored_encode(&header, value, strlen(value));
	add_header(t, buffer_string(&header));
	buffer_free(&header);
}

/* What 2026-07-28 has repeated of a message. */
static void
add_metadata(struct transfer *t, struct span message)
{
	struct span params = span_member(message, "params"), name = span_member(params, "name");
	char *method = span_text(span_member(message, "method")), *text;

	if (method != NULL)
		add_member_header(t, "Mcp-Method", method);
	text = span_text(name.at != NULL ? name : span_member(params, "uri"));
	if (text != NULL)
		add_member_header(t, "Mcp-Name", text);
	if (method != NULL && strcmp(method, "tools/call") == 0)
		mirrored_headers(&t->bridge->mirrored, name, span_member(params, "arguments"), add_header,
		    t);
	free(text);
	free(method);
}

static void
add_headers(struct transfer *t)
{
	struct bridge *b = t->bridge;
	struct span message = span_of(buffer_string(&t->message), t->message.len);
	char *modern = span_text(span_path(message, "params", "_meta", META_VERSION, NULL));

	for (char **header = b->headers; header != NULL && *header != NULL; header++)
		add_header(t, *header);
	if (t->purpose == POST_MESSAGE) {
		add_header(t, "Content-Type: application/json");
		add_header(t, "Accept: application/json, text/event-stream");
		add_header(t, "Expect:");
	} else {
		add_header(t, "Accept: text/event-stream");
	}
	if (modern != NULL || (b->version != NULL && !b->sse && !t->initializes))
		add_member_header(t, "MCP-Protocol-Version", modern != NULL ? modern : b->version);
	if (modern != NULL)
		add_metadata(t, message);
	else if (b->session != NULL && !t->initializes)
		add_member_header(t, "Mcp-Session-Id", b->session);
	if (t->sse.id.len > 0 && t->purpose != GET_SSE)
		add_member_header(t, "Last-Event-ID", buffer_string(&t->sse.id));
	free(modern);
}

/* Makes it, or makes it again. */
static void
start(struct transfer *t)
{
	struct bridge *b = t->bridge;

	t->running = true;
	t->due = 0;
	free(t->session);
	t->session = b->session == NULL ? NULL : memory_text(b->session);
	t->why[0] = '\0';
	t->retry_after = 0;
	buffer_clear(&t->body);
	sse_again(&t->sse);
	curl_slist_free_all(t->headers);
	t->headers = NULL;
	handle_prepare(t->easy, t->purpose == POST_MESSAGE ? b->endpoint : b->url, b->authorities);
	add_headers(t);
	curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, t->headers);
	curl_easy_setopt(t->easy, CURLOPT_ERRORBUFFER, t->why);
	curl_easy_setopt(t->easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(t->easy, CURLOPT_HEADERDATA, (void *)t);
	curl_easy_setopt(t->easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(t->easy, CURLOPT_WRITEDATA, (void *)t);
	curl_easy_setopt(t->easy, CURLOPT_PRIVATE, (void *)t);
	if (t->purpose == POST_MESSAGE) {
		curl_easy_setopt(t->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)t->message.len);
		curl_easy_setopt(t->easy, CURLOPT_POSTFIELDS, t->message.data);
	}
	curl_multi_add_handle(b->multi, t->easy);
}

static struct transfer *
add_transfer(struct bridge *b, enum purpose purpose, struct span message)
{
	struct transfer *t = memory_zero(1, sizeof *t), **link = &b->transfers;

	t->bridge = b;
	t->purpose = purpose;
	t->easy = curl_easy_init();
	buffer_append(&t->message, message.at, message.len);
	message = span_of(buffer_string(&t->message), t->message.len);
	if (span_member(message, "method").at != NULL)
		t->id = span_member(message, "id");
	t->initializes = span_is(span_member(message, "method"), "initialize");
	t->lists = span_is(span_member(message, "method"), "tools/list");
	sse_begin(&t->sse, on_event, t);
	while (*link != NULL)
		link = &(*link)->next;
	*link = t;
	return t;
}

static void
free_transfer(struct transfer *t)
{
	if (t->running)
		curl_multi_remove_handle(t->bridge->multi, t->easy);
	curl_easy_cleanup(t->easy);
	curl_slist_free_all(t->headers);
	buffer_free(&t->message);
	buffer_free(&t->body);
	sse_free(&t->sse);
	free(t->session);
	free(t);
}

static void
remove_transfer(struct transfer *t)
{
	struct transfer **link = &t->bridge->transfers;

	while (*link != t)
		link = &(*link)->next;
	*link = t->next;
	free_transfer(t);
}

static void
remove_all(struct bridge *b)
{
	for (struct transfer *t = b->transfers, *next; t != NULL; t = next) {
		next = t->next;
		free_transfer(t);
	}
	b->transfers = NULL;
}

/* Later, as long as the server asks for, or longer each time. */
static void
make_again(struct transfer *t)
{
	int64_t wait = t->sse.retry_ms > 0 ? t->sse.retry_ms : RETRY_MS;

	for (unsigned i = 1; i < t->tries && wait < RETRY_LIMIT_MS; i++)
		wait *= 2;
	t->tries++;
	t->due = clock_monotonic() + (wait < RETRY_LIMIT_MS ? wait : RETRY_LIMIT_MS);
}

/* ---- what became of them ---- */

/* Whether an answer that is an error is a message all the same. */
static bool
is_message(const struct transfer *t)
{
	struct span body = span_trim(span_of(buffer_string(&t->body), t->body.len));
	size_t bad;

	return span_type(body) == 'o' && scan_check(body.at, body.len, &bad) == NULL &&
	    span_is(span_member(body, "jsonrpc"), "2.0") && span_type(span_member(body, "error")) == 'o';
}

/* Tells what an answer with this status means for a request. */
static void
refuse(struct transfer *t, long status)
{
	struct span body = span_trim(span_of(buffer_string(&t->body), t->body.len));
	struct span said = is_message(t) ? span_path(body, "error", "message", NULL) :
	    span_of(NULL, 0);
	struct buffer text = BUFFER_INIT;

	if (is_message(t) && answers(t, body)) {
		take_message(t, body.at, body.len);
		return;
	}
	span_decode(said, &text);
	if (text.len == 0 && body.len > 0 && *body.at != '<')
		buffer_append(&text, body.at, body.len < ERROR_TEXT_LIMIT ? body.len : ERROR_TEXT_LIMIT);
	if (status == 404 && t->session != NULL) {
		put_error(t, "has ended the session, and the next");
	} else if (status == 403) {
		put_error(t, "does not let this be asked (HTTP 403)%s%s", text.len > 0 ? ": " : "",
		    buffer_string(&text));
	} else if (status == 401) {
		put_error(t, "wants to know who asks (HTTP %ld): give it a header in `headers`, such as "
		    "\"Authorization\": \"Bearer ${TOKEN}\"; OAuth is not spoken%s%s", status,
		    text.len > 0 ? ": " : "", buffer_string(&text));
	} else if (status / 100 == 3) {
		put_error(t, "is elsewhere (HTTP %ld), at %s: redirects are not followed", status,
		    t->location[0] == '\0' ? "no place that it names" : t->location);
	} else if (t->retry_after > 0) {
		put_error(t, "answers HTTP %ld, and wants to be asked again in %lld s%s%s", status, t->retry_after,
		    text.len > 0 ? ": " : "", buffer_string(&text));
	} else {
		put_error(t, "answers HTTP %ld%s%s", status, text.len > 0 ? ": " : "", buffer_string(&text));
	}
	buffer_free(&text);
}

/* An answer of a server that knows the old transport alone. */
static bool
is_old(const struct transfer *t, long status)
{
	return t->initializes && t->bridge->version == NULL &&
	    (status == 400 || status == 404 || status == 405) && !is_message(t);
}

/* The message goes once the old transport's stream has said where to. */
static void
fall_back(struct bridge *b, struct transfer *t)
{
	struct buffer later = BUFFER_INIT;

	b->sse = true;
	free(b->endpoint);
	b->endpoint = NULL;
	buffer_append(&later, t->message.data, t->message.len);
	buffer_byte(&later, '\n');
	buffer_append(&later, b->waiting.data, b->waiting.len);
	buffer_free(&b->waiting);
	b->waiting = later;
	start(add_transfer(b, GET_SSE, span_of(NULL, 0)));
}

/* The session is gone, which the server says before it does anything: another is begun, and the
 * message goes there. False: that was tried. */
static bool
begin_again(struct transfer *t)
{
	static const char initialized[] =
	    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}";
	struct bridge *b = t->bridge;
	struct transfer *hello;

	if (t->again || t->initializes || b->hello.len == 0)
		return false;
	t->again = true;
	if (b->session != NULL && strcmp(b->session, t->session) == 0) {
		free(b->session);
		b->session = NULL;
		hello = add_transfer(b, POST_MESSAGE, span_of(b->hello.data, b->hello.len));
		hello->unheard = true;
		start(hello);
		/* Before all that waits. */
		hello = add_transfer(b, POST_MESSAGE, span_of(initialized, sizeof initialized - 1));
		hello->after_hello = true;
	}
	t->after_hello = true;
	return true;
}

/* True: it is done with; false: it goes on. */
static bool
end_post(struct transfer *t, long status)
{
	struct bridge *b = t->bridge;

	if (status == 404 && t->session != NULL && t->purpose == POST_MESSAGE && begin_again(t))
		return false;
	if (status / 100 != 2) {
		if (t->purpose == POST_MESSAGE && is_old(t, status))
			fall_back(b, t);
		else
			refuse(t, status);
		return true;
	}
	if (b->sse)
		return true; /* its answer comes on the stream */
	if (!t->stream && t->id.at != NULL && take_message(t, t->body.data, t->body.len) != 0)
		put_error(t, t->body.len == 0 ? "gave no answer" :
		    "answers with what is no JSON-RPC message");
	if (t->id.at != NULL && !t->answered && t->stream && t->sse.id.len > 0 &&
	    t->tries < RESUME_LIMIT) {
		t->purpose = GET_REST;
		make_again(t);
		return false;
	}
	if (t->id.at != NULL && !t->answered)
		put_error(t, "ended its stream before the answer");
	return true;
}

static bool
is_initialized(const struct transfer *t)
{
	struct span message = span_of(buffer_string(&t->message), t->message.len);

	return span_is(span_member(message, "method"), "notifications/initialized");
}

/* True: it is done with. */
static bool
end_transfer(struct transfer *t, CURLcode result)
{
	struct bridge *b = t->bridge;
	long status = 0;

	curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	if (result == CURLE_PEER_FAILED_VERIFICATION && b->authorities != NULL) {
		b->authorities = NULL;
		start(t);
		return false;
	}
	if (b->lost)
		return true;
	switch (t->purpose) {
	case GET_SSE:
		if (result == CURLE_OK && status / 100 != 2)
			fail(b, "HTTP %ld: it speaks neither Streamable HTTP nor the older HTTP with SSE", status);
		else if (result == CURLE_OK)
			fail(b, "its stream has ended");
		else
			fail(b, "cannot be reached: %s", t->why[0] != '\0' ? t->why : curl_easy_strerror(result));
		return true;
	case GET_STREAM:
		/* It need not have one. */
		if (result == CURLE_OK && (status / 100 != 2 || !t->stream))
			return true;
		make_again(t);
		return false;
	case GET_REST:
		if (result != CURLE_OK && t->tries < RESUME_LIMIT) {
			make_again(t);
			return false;
		}
		break;
	case POST_MESSAGE:
		break;
	}
	if (result != CURLE_OK && status / 100 == 2 && t->stream && t->sse.id.len > 0 && !t->answered &&
	    t->id.at != NULL) {
		t->purpose = GET_REST; /* cut off, and to be had again */
		make_again(t);
		return false;
	}
	if (result != CURLE_OK) {
		put_error(t, "%s: %s", status / 100 == 2 ? "was cut off in its answer" : "cannot be reached",
		    t->why[0] != '\0' ? t->why : curl_easy_strerror(result));
		return true;
	}
	if (!end_post(t, status))
		return false;
	if (is_initialized(t) && status / 100 == 2 && !b->sse)
		start(add_transfer(b, GET_STREAM, span_of(NULL, 0)));
	return true;
}

/* ---- what comes in on stdin ---- */

/* The request is not waited for any more: its transfer ends, which is all that 2026-07-28 says
 * of it. */
static bool
cancel(struct bridge *b, struct span message)
{
	struct span id = span_path(message, "params", "requestId", NULL);

	for (struct transfer *t = b->transfers; t != NULL; t = t->next)
		if (t->id.at != NULL && t->id.len == id.len && memcmp(t->id.at, id.at, id.len) == 0) {
			bool modern = span_path(span_of(buffer_string(&t->message), t->message.len), "params",
			    "_meta", META_VERSION, NULL).at != NULL;

			/* Where it is told, the server ends the stream; what it still says is for nobody. */
			if (modern)
				remove_transfer(t);
			return !modern;
		}
	return false;
}

/* Whether what follows has to wait for it. */
static bool
goes_first(const struct transfer *t)
{
	return t->purpose == POST_MESSAGE && (t->initializes || t->id.at == NULL);
}

/* Posts what may be posted now. */
static void
post_waiting(struct bridge *b)
{
	size_t used = 0;

	while (b->endpoint != NULL && used < b->waiting.len) {
		const char *line = b->waiting.data + used, *end = memchr(line, '\n', b->waiting.len - used);
		struct span message = span_of(line, (size_t)(end - line));
		struct transfer *t;
		bool first = false;

		for (t = b->transfers; t != NULL; t = t->next)
			first = first || goes_first(t);
		if (first)
			break;
		used += message.len + 1;
		if (span_is(span_member(message, "method"), "notifications/cancelled") && !cancel(b, message))
			continue;
		t = add_transfer(b, POST_MESSAGE, message);
		if (t->initializes) {
			buffer_clear(&b->hello);
			buffer_append(&b->hello, message.at, message.len);
		}
		start(t);
	}
	if (used > 0)
		buffer_drop(&b->waiting, used);
}

/* The first line: who is spoken to. */
static int
read_settings(struct bridge *b)
{
	struct error err = ERROR_INIT;
	const char *line;
	struct span said;
	size_t len, bad;

	if (line_input_next(&b->in, &line, &len, &err) != 1)
		return -1;
	said = span_of(line, len);
	if (scan_check(line, len, &bad) != NULL || span_type(span_member(said, "url")) != 's')
		return -1;
	b->url = span_text(span_member(said, "url"));
	b->sse = span_true(span_member(said, "sse"));
	for (struct span_walk x = span_walk(span_member(said, "headers")); span_next(&x);) {
		char *header = span_text(x.value);

		if (header != NULL)
			list_take(&b->headers, header);
	}
	if (b->sse)
		start(add_transfer(b, GET_SSE, span_of(NULL, 0)));
	else
		b->endpoint = memory_text(b->url);
	return 0;
}

static void
take_lines(struct bridge *b)
{
	const char *line;
	size_t len, bad;

	while (line_input_take(&b->in, &line, &len) == 1) {
		if (scan_check(line, len, &bad) != NULL)
			continue;
		buffer_append(&b->waiting, line, len);
		buffer_byte(&b->waiting, '\n');
	}
}

/* False: stdin has ended. */
static bool
read_messages(struct bridge *b)
{
	ssize_t got = line_input_read(&b->in);

	take_lines(b);
	return got > 0 || (got == -1 && (errno == EINTR || errno == EAGAIN));
}

/* ---- the loop ---- */

static void
end_transfers(struct bridge *b)
{
	CURLMsg *message;
	int more;

	while ((message = curl_multi_info_read(b->multi, &more)) != NULL) {
		CURLcode result = message->data.result;
		struct transfer *t;
		char *private;

		if (message->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &private);
		t = (void *)private;
		curl_multi_remove_handle(b->multi, t->easy);
		t->running = false;
		if (end_transfer(t, result))
			remove_transfer(t);
	}
}

/* Whether a session has to begin first: its first message and the next. */
static bool
must_wait(const struct bridge *b, const struct transfer *waits)
{
	for (const struct transfer *t = b->transfers; t != NULL; t = t->next)
		if (t != waits && (t->unheard || (t->after_hello && is_initialized(t) &&
		    !is_initialized(waits))))
			return true;
	return false;
}

/* Starts what is due; how long until the next is, ms. */
static int
start_due(struct bridge *b)
{
	int64_t now = clock_monotonic(), next = 1000;

	for (struct transfer *t = b->transfers; t != NULL; t = t->next) {
		if (t->running || (t->after_hello && must_wait(b, t)))
			continue;
		if (t->due <= now)
			start(t);
		else if (t->due - now < next)
			next = t->due - now;
	}
	return (int)next;
}

static void
run(struct bridge *b)
{
	bool open = true;
	int running;

	take_lines(b); /* what came with the first */
	while (open && !b->lost) {
		struct curl_waitfd in = { STDIN_FILENO, CURL_WAIT_POLLIN, 0 };
		int wait = start_due(b);

		if (curl_multi_perform(b->multi, &running) != CURLM_OK) {
			fail(b, "libcurl failed");
			break;
		}
		end_transfers(b);
		post_waiting(b);
		/* What was ended or posted just now is begun before it is waited for. */
		if (curl_multi_perform(b->multi, &running) != CURLM_OK ||
		    curl_multi_poll(b->multi, &in, 1, wait, NULL) != CURLM_OK)
			fail(b, "libcurl failed");
		if (in.revents != 0)
			open = read_messages(b);
	}
}

/* The session is over for the server too. */
static void
give_up_session(struct bridge *b)
{
	struct transfer *t;

	if (b->session == NULL || b->sse || b->lost)
		return;
	t = add_transfer(b, GET_REST, span_of(NULL, 0));
	handle_prepare(t->easy, b->url, b->authorities);
	add_headers(t);
	curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, t->headers);
	curl_easy_setopt(t->easy, CURLOPT_CUSTOMREQUEST, "DELETE");
	curl_easy_setopt(t->easy, CURLOPT_NOBODY, 1L);
	curl_easy_setopt(t->easy, CURLOPT_TIMEOUT_MS, (long)GIVE_UP_MS);
	curl_easy_perform(t->easy);
}

/* Serves until stdin ends. */
static int
serve(struct error *err)
{
	struct bridge b = { .multi = NULL };
	int status;

	curl_global_init(CURL_GLOBAL_DEFAULT);
	b.multi = curl_multi_init();
	b.authorities = handle_authorities();
	line_input_begin(&b.in, STDIN_FILENO, "stdin");
	if (b.multi == NULL) {
		status = error_set(err, ERROR_SYSTEM, NULL, "unable to start libcurl");
	} else if (read_settings(&b) != 0) {
		status = error_set(err, ERROR_USAGE, "stdin",
		    "expected {\"url\": …} in the first line; awf-step starts it");
	} else {
		run(&b);
		remove_all(&b);
		give_up_session(&b);
		status = b.lost ? STATUS_WORK : STATUS_OK;
	}
	remove_all(&b);
	curl_multi_cleanup(b.multi);
	curl_global_cleanup();
	line_input_free(&b.in);
	mirrored_free(&b.mirrored);
	list_free(b.headers);
	buffer_free(&b.waiting);
	buffer_free(&b.hello);
	free(b.url);
	free(b.endpoint);
	free(b.session);
	free(b.version);
	return status;
}

static int
read_options(int argc, char **argv, struct error *err)
{
	struct options options;
	int id;

	options_begin(&options, none, argc, argv);
	id = options_next(&options, err);
	return id != OPTION_WORD ? id :
	    error_set(err, ERROR_USAGE, options.value, "takes no arguments");
}

int
main(int argc, char **argv)
{
	struct error err = ERROR_INIT;
	int status;

	program_begin();
	switch (read_options(argc, argv, &err)) {
	case OPTION_HELP:
		options_help(stdout, USAGE, none, OPTION_HELP);
		return program_end(PROGRAM, STATUS_OK);
	case OPTION_VERSION:
		return program_end(PROGRAM, program_version(PROGRAM));
	case OPTION_END:
		status = serve(&err);
		if (status >= 0)
			return status;
	}
	return program_fail(PROGRAM, &err);
}
