/*
 * An error status may mean that the server supports only the old transport, or does not know the
 * session any more; that is tried before an error is reported. A stream that was cut is requested
 * again from its last event id.
 */
#include "transfer.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum {
	ERROR_TEXT_LIMIT = 300,      /* bytes of a page in a message */
	RESUME_LIMIT = 20            /* tries to get the rest of one answer */
};

/* Finds the message in the body of an error status, if there is one. */
static bool
is_message(const struct transfer *t, struct jsonrpc *m)
{
	struct span body = span_trim(span_of(buffer_string(&t->body), t->body.len));
	size_t bad;

	*m = (struct jsonrpc){ .kind = JSONRPC_RESPONSE };
	if (span_type(body) != 'o' || scan_loosely(body.at, body.len, &bad) != NULL ||
	    !span_is(span_member(body, "jsonrpc"), "2.0"))
		return false;
	*m = jsonrpc_read(body);
	return span_type(m->error) == 'o';
}

/* Reports what an answer with this status means for a request. */
static void
transfer_report_status(struct transfer *t, long status)
{
	struct span body = span_trim(span_of(buffer_string(&t->body), t->body.len));
	struct buffer text = BUFFER_INIT;
	struct jsonrpc m;

	if (is_message(t, &m) && transfer_answers(t, &m)) {
		transfer_take(t, body.at, body.len);
		return;
	}
	span_decode(span_member(m.error, "message"), &text);
	if (text.len == 0 && body.len > 0 && *body.at != '<')
		buffer_append(&text, body.at, body.len < ERROR_TEXT_LIMIT ? body.len : ERROR_TEXT_LIMIT);
	if (status == 404 && t->session != NULL) {
		transfer_fail(t, "has ended the session, and the next");
	} else if (status == 403) {
		transfer_fail(t, "does not let this be asked (HTTP 403)%s%s", text.len > 0 ? ": " : "",
		    buffer_string(&text));
	} else if (status == 401) {
		transfer_fail(t, "wants to know who asks (HTTP %ld): give it a header in `headers`, such as "
		    "\"Authorization\": \"Bearer ${TOKEN}\"; OAuth is not spoken%s%s", status,
		    text.len > 0 ? ": " : "", buffer_string(&text));
	} else if (status / 100 == 3) {
		transfer_fail(t, "is elsewhere (HTTP %ld), at %s: redirects are not followed", status,
		    t->location[0] == '\0' ? "no place that it names" : t->location);
	} else if (t->retry_after > 0) {
		transfer_fail(t, "answers HTTP %ld, and wants to be asked again in %lld s%s%s", status, t->retry_after,
		    text.len > 0 ? ": " : "", buffer_string(&text));
	} else {
		transfer_fail(t, "answers HTTP %ld%s%s", status, text.len > 0 ? ": " : "", buffer_string(&text));
	}
	buffer_free(&text);
}

/* Whether the answer is that of a server that supports only the old transport. */
static bool
is_old(const struct transfer *t, long status)
{
	struct jsonrpc m;

	return t->initializes && t->bridge->version == NULL &&
	    (status == 400 || status == 404 || status == 405) && !is_message(t, &m);
}

/* The message is sent when the stream of the old transport has named the URL. */
static void
fall_back(struct bridge *b, struct transfer *t, long status)
{
	struct buffer later = BUFFER_INIT;

	b->sse = true;
	b->refused = status;
	free(b->endpoint);
	b->endpoint = NULL;
	buffer_append(&later, t->message.data, t->message.len);
	buffer_byte(&later, '\n');
	buffer_append(&later, b->waiting.data, b->waiting.len);
	buffer_free(&b->waiting);
	b->waiting = later;
}

/* The session is gone, which the server says before it does anything: begin another, and send
 * the message there. False: that was tried before. */
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
		hello = transfer_add(b, POST_MESSAGE, span_of(b->hello.data, b->hello.len));
		hello->unheard = true;
		transfer_start(hello);
		/* Before all messages that wait. */
		hello = transfer_add(b, POST_MESSAGE, span_of(initialized, sizeof initialized - 1));
		hello->after_hello = true;
	}
	t->after_hello = true;
	return true;
}

/* True: it has ended; false: it continues. */
static bool
end_post(struct transfer *t, long status)
{
	struct bridge *b = t->bridge;

	if (status == 404 && t->session != NULL && t->purpose == POST_MESSAGE && begin_again(t))
		return false;
	if (status / 100 != 2) {
		if (t->purpose == POST_MESSAGE && is_old(t, status))
			fall_back(b, t, status);
		else
			transfer_report_status(t, status);
		return true;
	}
	if (b->sse)
		return true; /* its answer comes on the stream */
	if (!t->stream && t->id.at != NULL && transfer_take(t, t->body.data, t->body.len) != 0)
		transfer_fail(t, t->body.len == 0 ? "gave no answer" :
		    "answers with what is no JSON-RPC message");
	if (t->id.at != NULL && !t->answered && t->stream && t->sse.id.len > 0 &&
	    t->tries < RESUME_LIMIT) {
		t->purpose = GET_REST;
		transfer_again(t);
		return false;
	}
	if (t->id.at != NULL && !t->answered)
		transfer_fail(t, "ended its stream before the answer");
	return true;
}

bool
transfer_is_initialized(const struct transfer *t)
{
	struct span message = span_of(buffer_string(&t->message), t->message.len);

	return span_is(span_member(message, "method"), "notifications/initialized");
}

/* Why a transfer has failed. */
static const char *
failure_of(const struct transfer *t, CURLcode result)
{
	return t->wrong != NULL ? t->wrong : handle_failure(result, t->why);
}

bool
transfer_end(struct transfer *t, CURLcode result)
{
	struct bridge *b = t->bridge;
	long status = 0;

	if (t->cut)
		result = CURLE_OK;

	curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	if (result == CURLE_PEER_FAILED_VERIFICATION && b->authorities != NULL) {
		b->authorities = NULL;
		transfer_start(t);
		return false;
	}
	if (b->lost != NULL)
		return true;
	switch (t->purpose) {
	case GET_SSE:
		if (result == CURLE_OK && status / 100 != 2 && b->refused != 0)
			bridge_fail(b, "speaks neither Streamable HTTP (HTTP %ld) nor the older HTTP with SSE (HTTP %ld)",
			    b->refused, status);
		else if (result == CURLE_OK && status / 100 != 2)
			bridge_fail(b, "does not speak HTTP with SSE (HTTP %ld)", status);
		else if (result == CURLE_OK)
			bridge_fail(b, "has ended its stream");
		else
			bridge_fail(b, "cannot be reached: %s", failure_of(t, result));
		return true;
	case GET_STREAM:
		/* The server need not have such a stream. */
		if (result == CURLE_OK && (status / 100 != 2 || !t->stream))
			return true;
		transfer_again(t);
		return false;
	case GET_REST:
		if (result != CURLE_OK && t->tries < RESUME_LIMIT) {
			transfer_again(t);
			return false;
		}
		break;
	case POST_MESSAGE:
		break;
	}
	if (result != CURLE_OK && status / 100 == 2 && t->stream && t->sse.id.len > 0 && !t->answered &&
	    t->id.at != NULL) {
		t->purpose = GET_REST; /* cut off, but the rest is available */
		transfer_again(t);
		return false;
	}
	if (result != CURLE_OK) {
		transfer_fail(t, "%s: %s", status / 100 == 2 ? "was cut off in its answer" : "cannot be reached",
		    failure_of(t, result));
		return true;
	}
	if (!end_post(t, status))
		return false;
	if (transfer_is_initialized(t) && status / 100 == 2 && !b->sse)
		transfer_start(transfer_add(b, GET_STREAM, span_of(NULL, 0)));
	return true;
}
