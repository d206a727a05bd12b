/*
 * An exchange is reported to awf-step when its request is complete, continues when awf-step says
 * so, and is reported again when its response is complete or has failed; only then the program gets
 * the end of the response.
 *
 * The end of a stream is the event that the API defines as the end: its bytes and later ones are
 * held back, even if the connection stays open. For other responses it is the last byte, or the end
 * of the connection.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/failure.h"
#include "asked.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/memory.h"
#include "base/text.h"
#include "json/writer.h"
#include "providers/endpoint.h"
#include "proxy.h"
#include "transcript/event_keys.h"

static void
begin_line(struct writer *w, struct buffer *line, const struct exchange *e, const char *what)
{
	writer_begin(w, line);
	writer_object(w);
	writer_member_integer(w, what, e->number);
}

/* Whether bytes are text whose JSON would not be much longer. */
static bool
is_plain(const struct buffer *body)
{
	size_t escaped = 0;

	for (size_t i = 0; i < body->len; i++) {
		unsigned char c = (unsigned char)body->data[i];

		escaped += c < ' ' ? 5 : c == '"' || c == '\\';
	}
	return escaped <= body->len / 2 && utf8_valid(body->data, body->len);
}

/* Writes bytes as text, or in base64 if they are not; so up to ANSWER_LIMIT they fit in a line. */
static void
exchange_write_body(struct writer *w, const struct buffer *body)
{
	if (body->len == 0)
		return;
	writer_key(w, KEY_BODY);
	if (is_plain(body)) {
		writer_bytes(w, body->data, body->len);
	} else {
		struct buffer encoded = BUFFER_INIT;

		base64_encode(body->data, body->len, &encoded);
		writer_string(w, encoded.data);
		writer_member_string(w, KEY_ENCODING, "base64");
		buffer_free(&encoded);
	}
}

/* ---- the request ---- */

void
exchange_begin(struct request *r)
{
	const struct meaning meaning = r->meaning;
	struct proxy *p = r->proxy;
	struct exchange *e = memory_zero(1, sizeof *e);
	struct buffer line = BUFFER_INIT, method = BUFFER_INIT;
	struct span body;
	struct writer w;
	struct head h;
	size_t bad;

	e->proxy = p;
	e->request = r;
	e->number = ++p->requests;
	e->meaning = meaning;
	e->within = r->within;
	e->bodiless = r->connection->bodiless;
	e->head = r->head;
	e->body = r->connection->body;
	r->head = r->connection->body = (struct buffer)BUFFER_INIT;
	head_read(&h, e->head.data, e->head.len);
	stream_open(&e->came.stream, meaning.generation != NULL ? meaning.generation : &openai_stream);
	e->came.stream.secrets = p->secrets[meaning.family];
	apis_bare_target(&e->target, h.target);
	e->next = p->exchanges;
	p->exchanges = e;
	r->exchange = e;

	buffer_append(&method, h.method.at, h.method.len);
	begin_line(&w, &line, e, "request");
	writer_member_string(&w, KEY_API, meaning.generation != NULL ? meaning.generation->name :
	    family_names[meaning.family]);
	writer_member_string(&w, KEY_EFFECTS, meaning.reads ? "read" : "external");
	if (e->within && p->passes)
		writer_member_bool(&w, "within", true);
	writer_member_string(&w, KEY_METHOD, method.data);
	writer_key(&w, KEY_PATH);
	writer_bytes(&w, e->target.data, e->target.len);
	exchange_write_body(&w, &e->body);
	body = span_of(buffer_string(&e->body), e->body.len);
	if (meaning.generation != NULL && scan_check(body.at, body.len, &bad) == NULL) {
		writer_member_object(&w, "generation");
		asked_write(&w, meaning.generation, span_trim(body), h.target);
		writer_object_end(&w);
	}
	writer_object_end(&w);
	buffer_free(&method);
	proxy_say(&line);
}

static void
exchange_free(struct exchange *e)
{
	if (e->request != NULL)
		e->request->exchange = NULL;
	if (e->way.easy != NULL) {
		curl_multi_remove_handle(e->proxy->multi, e->way.easy);
		curl_easy_cleanup(e->way.easy);
	}
	curl_slist_free_all(e->way.fields);
	stream_close(&e->came.stream);
	spent_free(&e->way.spent);
	buffer_free(&e->head);
	buffer_free(&e->body);
	buffer_free(&e->target);
	buffer_free(&e->way.url);
	buffer_free(&e->way.sent);
	buffer_free(&e->way.lines);
	buffer_free(&e->came.answer);
	buffer_free(&e->came.held);
	free(e);
}

static void
exchange_remove(struct exchange *e)
{
	struct exchange **link = &e->proxy->exchanges;

	while (*link != e)
		link = &(*link)->next;
	*link = e->next;
	exchange_free(e);
}

/* ---- the response, to the program ---- */

/* Fields that concern one connection (RFC 9110, section 7.6.1), or give the body's length. */
static bool
is_of_connection(struct span name)
{
	static const char *const names[] = { "Connection", "Keep-Alive", "Proxy-Authenticate",
		"Proxy-Authorization", "Proxy-Connection", "TE", "Trailer", "Transfer-Encoding", "Upgrade",
		"Content-Length", NULL };

	for (const char *const *known = names; *known != NULL; known++)
		if (head_is(name, *known))
			return true;
	return false;
}

/* Whether a field of the response is passed to the program. Content-Encoding of a generation is
 * not, as it is decompressed here. */
static bool
is_passed(const struct exchange *e, struct span name)
{
	return !is_of_connection(name) &&
	    (e->meaning.generation == NULL || !head_is(name, "Content-Encoding"));
}

/* Parses the next field of the response's head; line: without its end. */
static bool
next_field(struct span *rest, struct span *line, struct span *name, struct span *value)
{
	const char *lf, *colon, *end;

	while (rest->len > 0 && (lf = memchr(rest->at, '\n', rest->len)) != NULL) {
		end = lf > rest->at && lf[-1] == '\r' ? lf - 1 : lf;
		*line = span_of(rest->at, (size_t)(end - rest->at));
		rest->len -= (size_t)(lf - rest->at) + 1;
		rest->at = lf + 1;
		colon = memchr(line->at, ':', line->len);
		if (colon == NULL)
			continue;
		*name = span_of(line->at, (size_t)(colon - line->at));
		while (++colon < end && (*colon == ' ' || *colon == '\t'))
			continue;
		*value = span_of(colon, (size_t)(end - colon));
		return true;
	}
	return false;
}

static struct span
answer_field(const struct exchange *e, const char *name)
{
	struct span rest = span_of(buffer_string(&e->way.lines), e->way.lines.len), line, key, value;

	while (next_field(&rest, &line, &key, &value))
		if (head_is(key, name))
			return value;
	return SPAN_NONE;
}

/* Sends the head of a response to the program. It looks the same whether it comes from the API or
 * from the record: there is no reason phrase, since neither the record nor HTTP/2 has one. fields:
 * lines that end in CR LF; length: of the body; -1: unknown. */
static void
send_head(struct exchange *e, long status, struct span fields, long long length)
{
	struct buffer head = BUFFER_INIT;

	e->came.begun = true;
	if (e->request == NULL)
		return;
	buffer_append(&head, fields.at, fields.len);
	connection_stream(e->request->connection, (unsigned)status, &head, length);
}

/* Sends the head of the API's response to the program, without the fields that concern the
 * connection. length: of the body, according to libcurl, which decides where the response ends, even
 * if the head has another Content-Length; -1: unknown. */
static void
pass_head(struct exchange *e, long long length)
{
	struct span rest = span_of(buffer_string(&e->way.lines), e->way.lines.len), line, name, value;
	struct buffer fields = BUFFER_INIT;

	while (next_field(&rest, &line, &name, &value))
		if (is_passed(e, name)) {
			buffer_append(&fields, line.at, line.len);
			buffer_text(&fields, "\r\n");
		}
	/* A response to HEAD, and one with status 304, has no body; its Content-Length is the length
	 * that the body would have, and is sent as it is. */
	if ((e->bodiless || e->way.status == 304) && !span_integer(answer_field(e, "Content-Length"), &length))
		length = -1;
	send_head(e, e->way.status, span_of(buffer_string(&fields), fields.len), length);
	buffer_free(&fields);
}

/* Passes on bytes of the response. */
static void
pass_bytes(struct exchange *e, const char *bytes, size_t len)
{
	if (len == 0)
		return;
	e->came.answer_bytes += len;
	if (e->came.answer.len + len <= ANSWER_LIMIT)
		buffer_append(&e->came.answer, bytes, len);
	else
		e->came.too_long = true;
	if (e->request == NULL)
		return;
	if (e->came.holds)
		buffer_append(&e->came.held, bytes, len);
	else
		connection_write(e->request->connection, bytes, len);
}

/* The response is recorded: sends the end to the program. */
static void
exchange_send_held_answer(struct exchange *e)
{
	if (e->request != NULL) {
		connection_write(e->request->connection, e->came.held.data, e->came.held.len);
		connection_end(e->request->connection, e->came.broken);
	}
	exchange_remove(e);
}

/* ---- to the API ---- */

/* Whether a line of the head has another Content-Length than an earlier one: then the end of the
 * response is undefined (RFC 9112, section 6.3). */
static bool
tells_other_length(const struct exchange *e, struct span rest)
{
	struct span line, name, value, before = answer_field(e, "Content-Length");

	return before.at != NULL && next_field(&rest, &line, &name, &value) &&
	    head_is(name, "Content-Length") &&
	    !span_same(value, before);
}

static size_t
on_head(char *bytes, size_t size, size_t count, void *context)
{
	struct exchange *e = context;
	size_t len = size * count;

	e->came.long_head = !handle_take_line(&e->came.heads, len);
	if (e->came.long_head)
		return 0;
	/* Trailer fields after the body concern the connection. */
	if (e->came.headed)
		return len;
	/* An interim response (1xx) may come first. */
	if (len > 5 && memcmp(bytes, "HTTP/", 5) == 0)
		buffer_clear(&e->way.lines);
	e->came.two_lengths = tells_other_length(e, span_of(bytes, len));
	if (e->came.two_lengths)
		return 0;
	buffer_append(&e->way.lines, bytes, len);
	curl_easy_getinfo(e->way.easy, CURLINFO_RESPONSE_CODE, &e->way.status);
	e->came.headed = e->way.status >= 200 && (*bytes == '\r' || *bytes == '\n');
	return len;
}

static void
begin_answer(struct exchange *e)
{
	struct span type = answer_field(e, "Content-Type");

	e->came.events = type.len >= 17 && strncasecmp(type.at, "text/event-stream", 17) == 0;
	e->asks_spent = e->asks_spent && e->came.events && e->way.status == 200;
	e->way.length = -1;
	if (!e->asks_spent && (e->meaning.generation == NULL ||
	    answer_field(e, "Content-Encoding").at == NULL))
		curl_easy_getinfo(e->way.easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &e->way.length);
	pass_head(e, e->way.length);
}

static size_t
on_body(char *bytes, size_t size, size_t count, void *context)
{
	struct exchange *e = context;
	size_t len = size * count;
	bool reads = e->meaning.generation != NULL && e->way.status >= 200 && e->way.status <= 299;

	/* Compressed data can expand a thousandfold, so its size is limited. */
	e->came.swollen = e->meaning.generation != NULL && e->came.too_long &&
	    answer_field(e, "Content-Encoding").at != NULL;
	if (e->came.swollen)
		return 0;

	if (e->request != NULL && connection_unsent(e->request->connection) > EXCHANGE_ROOM) {
		e->paused = true;
		return CURL_WRITEFUNC_PAUSE;
	}
	if (!e->came.begun)
		begin_answer(e);
	if (reads && e->came.events && !e->came.stream.failed && !e->came.stream.message.ended)
		stream_feed(&e->came.stream, bytes, len);
	e->came.holds |= e->came.events && e->came.stream.message.ended;
	if (e->asks_spent) {
		struct buffer passed = BUFFER_INIT;

		spent_take(&e->way.spent, bytes, len, &passed);
		pass_bytes(e, buffer_string(&passed), passed.len);
		buffer_free(&passed);
	} else {
		/* The last byte of a response of known length is its end. */
		e->came.holds |= e->way.length >= 0 && e->came.answer_bytes + len >= (uint64_t)e->way.length;
		pass_bytes(e, bytes, len);
	}
	return len;
}

/* Reports text of a response, for the live view. */
static void
on_delta(void *context, const char *kind, const char *text, size_t len)
{
	const struct exchange *e = context;
	struct buffer line = BUFFER_INIT;
	struct writer w;

	begin_line(&w, &line, e, "delta");
	writer_member_string(&w, "kind", kind);
	writer_key(&w, KEY_TEXT);
	writer_bytes(&w, text, len);
	writer_object_end(&w);
	proxy_say(&line);
}

static void
add_field(struct exchange *e, const char *text)
{
	e->way.fields = curl_slist_append(e->way.fields, text);
}

/* Whether a line of an endpoint stands for a field of the program. */
static bool
is_replaced(char *const *lines, struct span name)
{
	for (; lines != NULL && *lines != NULL; lines++)
		if (strncasecmp(*lines, name.at, name.len) == 0 && (*lines)[name.len] == ':')
			return true;
	return false;
}

/* The lines of an endpoint; what has no value is sent by nobody. */
static void
add_lines(struct exchange *e, char *const *lines)
{
	for (; lines != NULL && *lines != NULL; lines++) {
		const char *value = strchr(*lines, ':');
		char *none = memory_copy(*lines, (size_t)(value - *lines) + 1);

		add_field(e, value[1 + strspn(value + 1, " ")] == '\0' ? none : *lines);
		free(none);
	}
}

/* The fields of the request, with a key where the token was; libcurl's own are kept off. */
static void
make_fields(struct exchange *e, const struct head *h)
{
	const char *token = e->within ? e->proxy->within : e->proxy->token;
	char *const *lines = e->proxy->headers[e->meaning.family];
	const bool apis_own = lines == NULL &&
	    strcmp(e->proxy->bases[e->meaning.family], family_bases[e->meaning.family]) == 0;
	static const char *const usual[] = { "Accept", "User-Agent", "Content-Type" };
	struct buffer field = BUFFER_INIT;

	for (size_t i = 0; i < h->count; i++) {
		struct span name = h->fields[i].name, value = h->fields[i].value;

		if (is_of_connection(name) || head_is(name, "Host") || head_is(name, "Expect") ||
		    head_is(name, "Accept-Encoding") || is_replaced(lines, name) ||
		    (lines != NULL && apis_is_credential(name)) ||
		    (!apis_own && !apis_is_credential(name) && !apis_is_known_field(name)))
			continue;
		buffer_clear(&field);
		buffer_append(&field, name.at, name.len);
		buffer_text(&field, value.len == 0 ? ";" : ": ");
		if (!apis_is_credential(name))
			buffer_append(&field, value.at, value.len);
		else if (!apis_swap(&field, value, token, e->proxy->keys[e->meaning.family]))
			continue;
		add_field(e, field.data);
	}
	for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
		if (head_value(h, usual[i]).at == NULL) {
			buffer_clear(&field);
			buffer_format(&field, "%s:", usual[i]);
			add_field(e, field.data);
		}
	add_lines(e, lines);
	add_field(e, "Accept-Encoding: identity");
	add_field(e, "Expect:");
	buffer_free(&field);
}

/* Sends the request to the API. */
static void
exchange_send_request(struct exchange *e)
{
	struct proxy *p = e->proxy;
	struct span body = span_of(buffer_string(&e->body), e->body.len);
	const struct buffer *sent = &e->body;
	struct buffer method = BUFFER_INIT;
	struct head h;
	size_t bad;

	head_read(&h, e->head.data, e->head.len);
	buffer_clear(&e->way.url);
	apis_url(&e->way.url, e->meaning.family, p->bases[e->meaning.family], h.target,
	    p->headers[e->meaning.family] != NULL ? NULL : p->keys[e->meaning.family]);
	buffer_append(&method, h.method.at, h.method.len);
	if (e->meaning.chat && e->way.sent.len == 0 && scan_check(body.at, body.len, &bad) == NULL)
		e->asks_spent = spent_ask(body, &e->way.sent);
	if (e->way.sent.len > 0)
		sent = &e->way.sent;

	e->way.easy = curl_easy_init();
	if (e->way.easy == NULL) {
		exchange_transferred(e, CURLE_FAILED_INIT);
		buffer_free(&method);
		return;
	}
	e->way.began = clock_monotonic();
	e->way.authorities = p->authorities;
	handle_prepare(e->way.easy, e->way.url.data, e->way.authorities);
	make_fields(e, &h);
	/* A proxy could be on another machine, and the key is not encrypted. */
	if (p->secrets[e->meaning.family] != NULL && endpoint_url_is_direct(e->way.url.data))
		curl_easy_setopt(e->way.easy, CURLOPT_NOPROXY, "*");
	curl_easy_setopt(e->way.easy, CURLOPT_PRIVATE, (void *)e);
	curl_easy_setopt(e->way.easy, CURLOPT_HTTPHEADER, e->way.fields);
	curl_easy_setopt(e->way.easy, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(e->way.easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	curl_easy_setopt(e->way.easy, CURLOPT_ERRORBUFFER, e->way.message);
	curl_easy_setopt(e->way.easy, CURLOPT_HEADERFUNCTION, on_head);
	curl_easy_setopt(e->way.easy, CURLOPT_HEADERDATA, (void *)e);
	curl_easy_setopt(e->way.easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(e->way.easy, CURLOPT_WRITEDATA, (void *)e);
	/* Some servers compress without being asked: a generation must be decompressed
	 * to be read. */
	if (e->meaning.generation != NULL)
		curl_easy_setopt(e->way.easy, CURLOPT_ACCEPT_ENCODING, "");
	if (e->bodiless) {
		curl_easy_setopt(e->way.easy, CURLOPT_NOBODY, 1L);
	} else {
		e->way.posted = (struct handle_body){ .bytes = buffer_string(sent), .len = sent->len };
		if (sent->len > 0 || h.chunked || head_value(&h, "Content-Length").at != NULL ||
		    head_is(h.method, "POST"))
			handle_post(e->way.easy, &e->way.posted);
		curl_easy_setopt(e->way.easy, CURLOPT_CUSTOMREQUEST, method.data);
	}
	if (p->tells_text && !(e->within && p->passes)) {
		e->came.stream.delta = on_delta;
		e->came.stream.context = e;
	}
	curl_multi_add_handle(p->multi, e->way.easy);
	buffer_free(&method);
}

/* ---- the end of the response ---- */

/* Whether a response is complete; for a generation the API's own end counts. A program may accept
 * what AWF's agents do not, such as an unknown reason for the end. */
static bool
is_whole(const struct exchange *e, bool transferred)
{
	const struct stream *s = &e->came.stream;

	if (!transferred || e->way.status < 200 || e->way.status > 299 || e->came.too_long)
		return false;
	if (e->meaning.generation == NULL)
		return true;
	return !s->refused && (!e->came.events || s->message.ended || s->failed);
}

/* Why the response is incomplete. */
static const char *
broken_by(const struct exchange *e)
{
	if (e->came.two_lengths)
		return "the API tells two lengths of its answer";
	if (e->came.long_head)
		return HANDLE_HEAD_LONG;
	if (e->came.swollen)
		return "the answer is above 128 MiB when it is decompressed";
	return handle_failure(e->way.result, e->way.message);
}

static void
write_failure(const struct exchange *e, struct writer *w, bool transferred)
{
	struct failure f = { .status = e->way.status };

	if (e->request == NULL && !transferred)
		error_set(&f.error, ERROR_CANCELLED, NULL, "the program has closed the connection");
	else if (!transferred)
		error_set(&f.error, ERROR_NETWORK, NULL, "%s", broken_by(e));
	else if (e->way.status < 200 || e->way.status > 299)
		failure_from_body(&f, &e->came.answer, e->proxy->secrets[e->meaning.family]);
	else if (e->came.too_long)
		error_set(&f.error, ERROR_PROVIDER, NULL, "the answer is too large to be stored "
		    "(%zu MiB)",
		    ANSWER_LIMIT >> 20);
	else if (e->came.stream.refused)
		f.error = e->came.stream.failure.error;
	else
		error_set(&f.error, ERROR_NETWORK, NULL, "the stream ended before the answer did");
	writer_member_object(w, KEY_ERROR);
	writer_members_error(w, &f.error);
	writer_object_end(w);
}

/* Writes the header fields to be recorded: no cookies, which are credentials. */
static void
write_fields(const struct exchange *e, struct writer *w)
{
	struct span rest = span_of(buffer_string(&e->way.lines), e->way.lines.len), line, name, value;

	writer_member_array(w, KEY_HEADERS);
	/* Content-Length is only needed without a body. */
	while (next_field(&rest, &line, &name, &value))
		if ((is_passed(e, name) || (e->bodiless && head_is(name, "Content-Length"))) &&
		    !head_is(name, "Set-Cookie"))
			writer_bytes(w, line.at, line.len);
	writer_array_end(w);
}

/* Reports the response to awf-step, as far as it arrived. */
static void
exchange_report_answer(struct exchange *e, bool transferred)
{
	struct stream *s = &e->came.stream;
	char *const *secrets = e->proxy->secrets[e->meaning.family];
	struct buffer line = BUFFER_INIT;
	struct writer w;
	bool whole;

	if (e->meaning.generation != NULL && e->way.status >= 200 && e->way.status <= 299) {
		if (transferred && !e->came.events && !e->came.too_long)
			stream_body(s, buffer_string(&e->came.answer), e->came.answer.len);
		if (!s->failed)
			stream_finish(s);
	}
	whole = is_whole(e, transferred);
	stream_end_deltas(s);
	/* If the API repeats a secret, it must not be recorded: hide it in the bytes, which may be
	 * recorded in base64, and in texts made from them. */
	text_hide_all(e->came.answer.data, e->came.answer.len, secrets);
	begin_line(&w, &line, e, "answered");
	writer_member_bool(&w, "whole", whole);
	writer_member_integer(&w, KEY_DURATION_MS, e->way.began > 0 ? clock_monotonic() - e->way.began : 0);
	if (!whole)
		write_failure(e, &w, transferred);
	writer_member_object(&w, KEY_RESPONSE);
	writer_member_integer(&w, KEY_STATUS, e->way.status);
	write_fields(e, &w);
	if (!e->came.too_long)
		exchange_write_body(&w, &e->came.answer);
	/* A response that is not recorded completely cannot be replayed: an empty one
	 * would be wrong. */
	if (e->came.broken || e->came.too_long)
		writer_member_bool(&w, KEY_BROKEN, true);
	writer_object_end(&w);
	if (e->meaning.generation != NULL) {
		struct span id = answer_field(e, "request-id");

		if (id.at == NULL)
			id = answer_field(e, "x-request-id");
		if (s->message.request_id == NULL && id.at != NULL)
			s->message.request_id = memory_copy(id.at, id.len);
		writer_member_object(&w, "message");
		message_write(&s->message, &w);
		writer_object_end(&w);
	}
	writer_object_end(&w);
	e->reported = true;
	text_hide_all(line.data, line.len, secrets);
	proxy_say(&line);
}

void
exchange_transferred(struct exchange *e, CURLcode result)
{
	struct proxy *p = e->proxy;
	bool transferred = result == CURLE_OK;

	e->way.result = result;
	if (e->way.easy != NULL) {
		curl_multi_remove_handle(p->multi, e->way.easy);
		curl_easy_cleanup(e->way.easy);
		e->way.easy = NULL;
	}
	curl_slist_free_all(e->way.fields);
	e->way.fields = NULL;
	/* Nothing was sent: the certificate's authority may be in the bundle, so try that. */
	if (result == CURLE_PEER_FAILED_VERIFICATION && e->way.authorities != NULL) {
		p->authorities = NULL;
		e->way.message[0] = '\0';
		exchange_send_request(e);
		return;
	}
	e->came.holds = true;
	if (transferred && !e->came.begun) {
		pass_head(e, 0);
	} else if (!transferred && !e->came.begun && e->came.headed) {
		begin_answer(e);
		e->came.broken = true;
	} else if (!transferred && !e->came.begun) {
		/* Without any response, the proxy makes one. */
		struct buffer body = BUFFER_INIT, text = BUFFER_INIT;

		buffer_format(&text, "awf-models-proxy: %s", broken_by(e));
		text_hide_all(text.data, text.len, p->secrets[e->meaning.family]);
		apis_error(&body, e->meaning.family, 502, text.data);
		e->way.status = 502;
		buffer_clear(&e->way.lines);
		buffer_text(&e->way.lines, "HTTP/1.1 502 Bad Gateway\r\nContent-Type: application/json\r\n");
		e->asks_spent = false;
		send_head(e, 502, span_of("Content-Type: application/json\r\n", 32), (long long)body.len);
		pass_bytes(e, body.data, body.len);
		buffer_free(&body);
		buffer_free(&text);
	} else {
		e->came.broken = !transferred;
	}
	if (e->asks_spent) {
		struct buffer rest = BUFFER_INIT;

		spent_end(&e->way.spent, &rest);
		pass_bytes(e, buffer_string(&rest), rest.len);
		buffer_free(&rest);
	}
	exchange_report_answer(e, transferred);
}

/* Tells awf-step not to wait for a request that was not sent. */
static void
exchange_report_unsent(const struct exchange *e)
{
	struct buffer line = BUFFER_INIT;
	struct writer w;

	begin_line(&w, &line, e, "left");
	writer_object_end(&w);
	proxy_say(&line);
}

void
exchange_desert(struct exchange *e)
{
	e->request = NULL;
	/* A response that has reached its end will be complete: wait for it. */
	if (e->way.easy != NULL && !e->came.stream.message.ended)
		exchange_transferred(e, CURLE_ABORTED_BY_CALLBACK);
	if (!e->asked)
		exchange_report_unsent(e);
}

void
exchange_resume(struct exchange *e)
{
	if (e->paused && e->way.easy != NULL &&
	    connection_unsent(e->request->connection) <= EXCHANGE_ROOM / 2) {
		e->paused = false;
		curl_easy_pause(e->way.easy, CURLPAUSE_CONT);
	}
}

/* ---- messages from awf-step ---- */

/* Sends a recorded response; one that was interrupted is interrupted at the same place. */
static void
answer_from_record(struct exchange *e, struct span response)
{
	struct span text = span_member(response, KEY_BODY);
	struct buffer body = BUFFER_INIT, bytes = BUFFER_INIT, fields = BUFFER_INIT;
	long long status = 200;

	span_integer(span_member(response, KEY_STATUS), &status);
	span_decode(text, &body);
	if (span_is(span_member(response, KEY_ENCODING), "base64")) {
		base64_decode(buffer_string(&body), body.len, &bytes);
		buffer_free(&body);
		body = bytes;
	}
	for (struct span_walk field = span_walk(span_member(response, KEY_HEADERS)); span_next(&field);) {
		span_decode(field.value, &fields);
		buffer_text(&fields, "\r\n");
	}
	e->came.broken = span_true(span_member(response, KEY_BROKEN));
	send_head(e, (long)status, span_of(buffer_string(&fields), fields.len),
	    e->came.broken || e->bodiless ? -1 : (long long)body.len);
	if (!e->bodiless)
		pass_bytes(e, buffer_string(&body), body.len);
	buffer_free(&fields);
	buffer_free(&body);
	exchange_send_held_answer(e);
}

static void
exchange_refuse_request(struct exchange *e, struct span why)
{
	char *message = span_text(span_member(why, KEY_MESSAGE));
	if (e->request != NULL)
		proxy_error(e->request->connection, e->meaning.family, 400, "x-should-retry: false\r\n",
		    message != NULL ? message : "");
	free(message);
	exchange_remove(e);
}

static struct exchange *
exchange_find_by_number(struct proxy *p, struct span line, const char *key)
{
	struct exchange *e = p->exchanges;
	long long number;

	if (!span_integer(span_member(line, key), &number))
		return NULL;
	while (e != NULL && e->number != number)
		e = e->next;
	return e;
}

void
exchange_told(struct proxy *p, struct span line)
{
	struct span answer = span_member(line, "answer"), refused = span_member(line, "refuse");
	struct exchange *e = exchange_find_by_number(p, line, "recorded");

	if (e != NULL) {
		exchange_send_held_answer(e);
		return;
	}
	e = exchange_find_by_number(p, line, "request");
	if (e == NULL)
		return;
	e->asked = true;
	if (answer.at != NULL)
		answer_from_record(e, answer);
	else if (refused.at != NULL)
		exchange_refuse_request(e, refused);
	else if (e->request == NULL)
		exchange_transferred(e, CURLE_ABORTED_BY_CALLBACK);
	else
		exchange_send_request(e);
}

void
exchanges_end(struct proxy *p)
{
	struct exchange *e;

	while ((e = p->exchanges) != NULL) {
		p->exchanges = e->next;
		/* The request outlives the exchange, and gets no more data. */
		if (e->request != NULL)
			e->request->exchange = NULL;
		e->request = NULL;
		if (e->way.easy != NULL)
			exchange_transferred(e, CURLE_ABORTED_BY_CALLBACK);
		exchange_free(e);
	}
}
