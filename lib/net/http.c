/*
 * Uses curl's multi interface, so that waiting is done here, and the caller's descriptors are
 * watched together with the connections. The time limit is for periods without a byte in either
 * direction, not for the whole, because an answer may stream for long. The body of an answer outside
 * 2xx is an error message: it is kept, up to a limit, and not passed to take().
 *
 * Requests to a server by https wait for its first connection, which shows whether it can carry many of
 * them (HTTP/2). If not, each has one of its own.
 *
 * By HTTP/2 a server can refuse a request and say that it has done nothing for it: by GOAWAY, for streams
 * above the last one that it names, or by REFUSED_STREAM (RFC 9113, section 8.7). Such a request is sent
 * again by another connection. libcurl reports other ends of an HTTP/2 stream with a message, before it asks
 * for the body again; but for that of a connection that it gives up because the server breaks the protocol.
 */
#include "net/http.h"

#include <ctype.h>
#include <curl/curl.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "base/patience.h"
#include "io/polling.h"
#include "net/handle.h"

#define ERROR_BODY_LIMIT ((size_t)1 << 20)
#define RETRY_AFTER_LIMIT_MS ((int64_t)24 * 3600 * 1000)
#define LOOK_MS 1000 /* between looks at what was sent, and whether more than keep-alives came */

void
http_escape(struct buffer *url, const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";

	for (; *text != '\0'; text++)
		if (strchr(plain, *text) != NULL)
			buffer_byte(url, *text);
		else
			buffer_format(url, "%%%02X", (unsigned)(unsigned char)*text);
}

/* Connections to a server that speaks HTTP/2, which each carry as many requests as it allows. */
#define SHARED_CONNECTIONS 8L
/* Connections that are kept for later requests. */
#define IDLE_CONNECTIONS 64
/* How often a request is sent again that servers have refused. */
#define REFUSALS_MOST 5

struct http {
	CURLM *multi; /* owns the connections */
	const char *authorities; /* the directory of handle_authorities(); NULL: none */
	struct transfer *transfers; /* those in progress */
	bool shares;             /* the last answer came by HTTP/2 */
	struct kept {
		long port;       /* of this end */
		curl_socket_t fd;
	} kept[IDLE_CONNECTIONS]; /* by which the last answers have come, each once */
	size_t kept_next;
	CURL *spare;             /* of a transfer that has ended; NULL */
};

/* A request in progress. */
struct transfer {
	struct http *http;
	struct http_call *call;
	char *url;               /* a copy */
	CURL *easy;
	const char *authorities; /* the directory that is used; NULL: authorities of the environment
	                            or of libcurl */
	struct curl_slist *headers;
	struct handle_body body;
	char message[CURL_ERROR_SIZE];
	bool stopped, exact_retry_after;
	bool held;               /* take() did not take what came */
	bool headed;             /* a part of the head has arrived */
	bool cut;                /* the rest of an error's body is not needed */
	bool stale;              /* the kept connection has bytes that nobody has asked for */
	bool http2;              /* the request was sent by HTTP/2 */
	int refused;             /* how often it was sent again, as the server had not begun with it */
	const char *wrong;       /* what is wrong with the answer; NULL: nothing */
	size_t heads, taken;     /* bytes of header lines; of the body */
	CURLcode result;
	int64_t began;
	int64_t idle_since;
	int64_t barren_since;    /* when progress was last seen */
	int64_t progress;
	curl_off_t sent;
	struct transfer *next;
};

struct http *
http_open(struct error *err)
{
	struct http *h = memory_zero(1, sizeof *h);

	if (curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK)
		h->multi = curl_multi_init();
	if (h->multi != NULL) {
		curl_multi_setopt(h->multi, CURLMOPT_MAXCONNECTS, (long)IDLE_CONNECTIONS);
		h->authorities = handle_authorities();
		return h;
	}
	error_set(err, ERROR_SYSTEM, NULL, "unable to start libcurl");
	http_close(h);
	return NULL;
}

void
http_close(struct http *h)
{
	if (h == NULL)
		return;
	while (h->transfers != NULL)
		http_stop(h, h->transfers->call);
	curl_easy_cleanup(h->spare);
	curl_multi_cleanup(h->multi);
	curl_global_cleanup();
	free(h);
}

void
http_answer_free(struct http_answer *a)
{
	buffer_free(&a->body);
}

/* Reads "1.5", in units of `unit` ms, or a date, as ms from now; 0 if it is neither. */
static int64_t
retry_after_parse(const char *value, double unit)
{
	double ms;
	time_t date;

	if (isdigit((unsigned char)value[0])) {
		ms = strtod(value, NULL) * unit;
	} else {
		date = curl_getdate(value, NULL);
		ms = date == -1 ? 0 : difftime(date, time(NULL)) * 1000;
	}
	if (ms <= 0)
		return 0;
	return ms > (double)RETRY_AFTER_LIMIT_MS ? RETRY_AFTER_LIMIT_MS : (int64_t)ms;
}

static size_t
on_header(char *bytes, size_t size, size_t count, void *context)
{
	struct transfer *t = context;
	struct http_answer *answer = &t->call->answer;
	size_t len = size * count;
	char line[256], *value;

	/* The whole head has one time limit, however slowly it arrives. */
	if (!t->headed)
		t->idle_since = clock_monotonic();
	t->headed = true;
	if (!handle_take_line(&t->heads, len)) {
		t->wrong = HANDLE_HEAD_LONG;
		return 0;
	}
	if (len >= sizeof line || memchr(bytes, ':', len) == NULL)
		return len;
	memcpy(line, bytes, len);
	line[len] = '\0';
	line[strcspn(line, "\r\n")] = '\0';
	value = strchr(line, ':');
	*value++ = '\0';
	value += strspn(value, " \t");
	if (strcasecmp(line, "retry-after-ms") == 0) {
		answer->retry_after_ms = retry_after_parse(value, 1);
		t->exact_retry_after = true;
	} else if (strcasecmp(line, "retry-after") == 0 && !t->exact_retry_after) {
		answer->retry_after_ms = retry_after_parse(value, 1000);
	} else if (strcasecmp(line, "request-id") == 0 || strcasecmp(line, "x-request-id") == 0) {
		snprintf(answer->request_id, sizeof answer->request_id, "%s", value);
	} else if (strcasecmp(line, "location") == 0) {
		snprintf(answer->location, sizeof answer->location, "%s", value);
	}
	if (t->call->request.kept_header != NULL &&
	    strcasecmp(line, t->call->request.kept_header) == 0)
		snprintf(answer->kept, sizeof answer->kept, "%s", value);
	return len;
}

static size_t
on_body(char *bytes, size_t size, size_t count, void *context)
{
	struct transfer *t = context;
	struct buffer *body = &t->call->answer.body;
	size_t len = size * count, room = ERROR_BODY_LIMIT - body->len;
	long status = 0;
	int taken;

	INVARIANT(body->len <= ERROR_BODY_LIMIT && !t->cut && !t->stopped);
	t->idle_since = clock_monotonic();
	curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	if (status < 200 || status > 299) {
		buffer_append(body, bytes, len < room ? len : room);
		t->cut = len > room;
		return t->cut ? 0 : len;
	}
	if (t->call->request.limit > 0 && t->taken + len > t->call->request.limit) {
		t->wrong = "the answer is larger than any that is expected";
		return 0;
	}
	taken = t->call->request.take(t->call->request.context, bytes, len);
	if (taken == HTTP_HOLD) {
		t->held = true;
		return CURL_WRITEFUNC_PAUSE;
	}
	t->taken += len;
	t->stopped = taken != HTTP_TAKEN;
	return t->stopped ? 0 : len;
}

static int64_t
idle_limit(const struct transfer *t)
{
	const struct http_way *way = t->call->request.way;

	if (way != NULL && way->first_ms > 0 && t->taken == 0)
		return way->first_ms;
	return t->call->request.idle_timeout_ms > 0 ? t->call->request.idle_timeout_ms : STALL_LIMIT_MS;
}

/* Whether only keep-alives have arrived for too long. */
static bool
is_barren(struct transfer *t)
{
	const struct http_request *request = &t->call->request;
	int64_t limit = request->kept_alive_ms > 0 ? request->kept_alive_ms : KEPT_ALIVE_LIMIT_MS, now, progress;

	if (request->progress == NULL)
		return false;
	now = clock_monotonic();
	progress = request->progress(request->context);
	if (progress != t->progress || t->barren_since == 0) {
		t->progress = progress;
		t->barren_since = now;
	}
	return now - t->barren_since >= limit;
}

/* Whether the transfer has lasted too long without something. *left_ms: until it would have. */
static bool
transfer_is_late(struct transfer *t, int64_t *left_ms, struct error *err)
{
	const int64_t limit_ms = idle_limit(t), total_ms = t->call->request.total_ms, now = clock_monotonic();
	curl_off_t sent = 0;

	*left_ms = limit_ms;
	if (t->held) {
		t->idle_since = t->barren_since = now;
		return false;
	}
	/* Bytes sent count too: a large request takes its time. */
	curl_easy_getinfo(t->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
	if (sent != t->sent) {
		t->sent = sent;
		t->idle_since = now;
	}
	*left_ms = t->idle_since + limit_ms - now;
	if (*left_ms <= 0)
		error_set(err, ERROR_NETWORK, NULL, "no byte arrived for %lld ms", (long long)limit_ms);
	else if (total_ms > 0 && now - t->began >= total_ms)
		error_set(err, ERROR_NETWORK, NULL, "the answer had not ended after %lld ms", (long long)total_ms);
	else if (is_barren(t))
		error_set(err, ERROR_NETWORK, NULL, "for %lld ms nothing but keep-alives arrived",
		    (long long)(now - t->barren_since));
	else
		return false;
	return true;
}

static void
transfer_set_way(CURL *easy, const struct http_way *way)
{
	if (way == NULL)
		return;
	if (way->connect_ms > 0)
		curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)way->connect_ms);
	if (way->ca != NULL) {
		curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
		curl_easy_setopt(easy, CURLOPT_CAINFO, way->ca);
	}
	if (way->certificate != NULL)
		curl_easy_setopt(easy, CURLOPT_SSLCERT, way->certificate);
	if (way->key != NULL)
		curl_easy_setopt(easy, CURLOPT_SSLKEY, way->key);
	if (way->socket != NULL)
		curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, way->socket);
}

/* Notes by which connection the answer has come. */
static void
http_note_connection(struct http *h, const struct transfer *t)
{
	curl_socket_t fd = CURL_SOCKET_BAD;
	long port = 0;

	curl_easy_getinfo(t->easy, CURLINFO_ACTIVESOCKET, &fd);
	curl_easy_getinfo(t->easy, CURLINFO_LOCAL_PORT, &port);
	if (fd == CURL_SOCKET_BAD || port <= 0 || h->shares)
		return;
	for (size_t i = 0; i < IDLE_CONNECTIONS; i++)
		if (h->kept[i].port == port) {
			h->kept[i].fd = fd;
			return;
		}
	h->kept[h->kept_next++ % IDLE_CONNECTIONS] = (struct kept){ port, fd };
}

/* Notes by which version of HTTP the request is sent. */
static int
on_debug(CURL *easy, curl_infotype type, char *bytes, size_t len, void *context)
{
	struct transfer *t = context;
	const char *end = memchr(bytes, '\r', len);

	(void)easy;
	if (type == CURLINFO_HEADER_OUT && end != NULL)
		t->http2 = end - bytes > 7 && memcmp(end - 7, " HTTP/2", 7) == 0;
	return 0;
}

/* Whether the server has refused the request before it did anything for it. */
static bool
transfer_is_refused(struct transfer *t)
{
	if (!t->http2 || t->headed || t->taken > 0 || t->message[0] != '\0' || t->refused >= REFUSALS_MOST)
		return false;
	t->refused++;
	return true;
}

static bool
transfer_may_repeat(void *context)
{
	return transfer_is_refused(context);
}

#if LIBCURL_VERSION_NUM >= 0x075000 && !defined AWF_OLDEST
/* Whether a descriptor is still that of a connection from this port. */
static bool
is_port_of(int fd, int port)
{
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} a = { .any = { 0 } };
	socklen_t len = sizeof a;

	if (getsockname(fd, &a.any, &len) == -1)
		return false;
	return ntohs(a.any.sa_family == AF_INET6 ? a.in6.sin6_port : a.in.sin_port) == port;
}

/* Before a request is sent: on a connection that was used before nothing has come since its answer. A
 * server that answers twice would answer the next request with what was meant for the last. */
static int
on_connected(void *context, char *address, char *local_address, int port, int local_port)
{
	struct transfer *t = context;
	const struct http *h = t->http;
	long made = 0;

	(void)address, (void)local_address, (void)port;
	curl_easy_getinfo(t->easy, CURLINFO_NUM_CONNECTS, &made);
	for (size_t i = 0; made == 0 && !h->shares && local_port > 0 && i < IDLE_CONNECTIONS; i++)
		if (h->kept[i].port == local_port && is_port_of(h->kept[i].fd, local_port) &&
		    poll_now(h->kept[i].fd, POLLIN) != 0)
			t->stale = true;
	return t->stale ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}
#endif

/* Begins the transfer: tells libcurl what to request from which server, and which certificates
 * to trust. */
static void
transfer_begin(struct transfer *t, struct http *h)
{
	const struct http_request *request = &t->call->request;

	for (size_t i = 0; request->headers[i] != NULL; i++)
		t->headers = curl_slist_append(t->headers, request->headers[i]);
	/* Do not wait for "100 Continue": that would cost a round trip. */
	t->headers = curl_slist_append(t->headers, "Expect:");
	/* Ask for no compression, which delays a stream; some servers compress anyway. */
	t->headers = curl_slist_append(t->headers, "Accept-Encoding: identity");
	t->authorities = request->way != NULL && request->way->ca != NULL ? NULL : h->authorities;

	memset(&t->call->answer, 0, sizeof t->call->answer);
	t->began = t->idle_since = clock_monotonic();
	t->heads = t->taken = 0;
	t->headed = t->cut = t->held = t->http2 = false;
	t->message[0] = '\0';
	t->wrong = NULL;
	handle_prepare(t->easy, t->url, t->authorities);
	transfer_set_way(t->easy, request->way);
	curl_easy_setopt(t->easy, CURLOPT_PRIVATE, (void *)t);
	curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, t->headers);
	curl_easy_setopt(t->easy, CURLOPT_ACCEPT_ENCODING, "");
	/* Without TLS it would wait for the head of the first answer, not of the first connection. */
	curl_easy_setopt(t->easy, CURLOPT_PIPEWAIT, strncmp(t->url, "https:", 6) == 0 ? 1L : 0L);
	if (request->body != NULL) {
		t->body = (struct handle_body){ .bytes = request->body, .len = request->body_len,
			.may_repeat = transfer_may_repeat, .context = t };
		handle_post(t->easy, &t->body);
	}
	if (request->method != NULL)
		curl_easy_setopt(t->easy, CURLOPT_CUSTOMREQUEST, request->method);
	if (request->direct)
		curl_easy_setopt(t->easy, CURLOPT_NOPROXY, "*");
#if LIBCURL_VERSION_NUM >= 0x075000 && !defined AWF_OLDEST
	curl_easy_setopt(t->easy, CURLOPT_PREREQFUNCTION, on_connected);
	curl_easy_setopt(t->easy, CURLOPT_PREREQDATA, (void *)t);
#endif
	if (t->stale)
		curl_easy_setopt(t->easy, CURLOPT_FRESH_CONNECT, 1L);
	t->stale = false;
	curl_easy_setopt(t->easy, CURLOPT_VERBOSE, 1L);
	curl_easy_setopt(t->easy, CURLOPT_DEBUGFUNCTION, on_debug);
	curl_easy_setopt(t->easy, CURLOPT_DEBUGDATA, (void *)t);
	curl_easy_setopt(t->easy, CURLOPT_ERRORBUFFER, t->message);
	curl_easy_setopt(t->easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(t->easy, CURLOPT_HEADERDATA, (void *)t);
	curl_easy_setopt(t->easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(t->easy, CURLOPT_WRITEDATA, (void *)t);
	curl_multi_add_handle(h->multi, t->easy);
}

/* Ends the transfer, complete or not. True: it must be repeated with the bundle, because the
 * directory does not have the server's authority, or by another connection; the server has done nothing
 * for it. */
static bool
transfer_end(struct transfer *t, struct http *h, bool failed)
{
	curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &t->call->answer.status);
	curl_multi_remove_handle(h->multi, t->easy);
	curl_slist_free_all(t->headers);
	t->headers = NULL;
	if (!failed && t->stale)
		return true;
	/* libcurl repeats no request that was the first of its connection. */
	if (!failed && t->result == CURLE_GOT_NOTHING) {
		t->message[0] = '\0';
		if (transfer_is_refused(t))
			return true;
	}
	if (failed || t->result != CURLE_PEER_FAILED_VERIFICATION || t->authorities == NULL)
		return false;
	h->authorities = NULL;
	return true;
}

/* The result of the transfer, as an error if it failed. */
static int
transfer_result(const struct transfer *t, struct error *err)
{
	long unverified = 0; /* above 1: not signed by a trusted authority; 1: not checked yet */

	if (t->stopped)
		return error_set(err, ERROR_CANCELLED, NULL, "stopped");
	if (t->wrong != NULL)
		return error_set(err, ERROR_NETWORK, NULL, "%s", t->wrong);
	if (t->result == CURLE_OK || t->cut)
		return 0;
	curl_easy_getinfo(t->easy, CURLINFO_SSL_VERIFYRESULT, &unverified);
	return error_set(err, ERROR_NETWORK, NULL, "%s%s",
	    handle_failure(t->result, t->message),
	    unverified > 1 ? "; its authority can be named in CURL_CA_BUNDLE" : "");
}

int
http_begin(struct http *h, struct http_call *call, struct error *err)
{
	CURL *easy = h->spare != NULL ? h->spare : curl_easy_init();
	struct transfer *t;

	if (easy == NULL)
		return error_set(err, ERROR_SYSTEM, NULL, "libcurl failed");
	h->spare = NULL;
	t = memory_zero(1, sizeof *t);
	t->http = h;
	t->call = call;
	t->url = memory_text(call->request.url);
	t->easy = easy;
	t->next = h->transfers;
	h->transfers = t;
	call->transfer = t;
	call->ended = false;
	call->error = (struct error)ERROR_INIT;
	transfer_begin(t, h);
	return 0;
}

/* Removes it from the transfers in progress. */
static void
transfer_drop(struct http *h, struct transfer *t)
{
	struct transfer **link = &h->transfers;

	while (*link != NULL && *link != t)
		link = &(*link)->next;
	INVARIANT(*link == t);
	*link = t->next;
	t->call->transfer = NULL;
	if (h->spare == NULL)
		h->spare = t->easy;
	else
		curl_easy_cleanup(t->easy);
	free(t->url);
	free(t);
}

void
http_stop(struct http *h, struct http_call *call)
{
	struct transfer *t = call->transfer;

	if (t == NULL)
		return;
	transfer_end(t, h, true);
	transfer_drop(h, t);
	call->ended = true;
	error_set(&call->error, ERROR_CANCELLED, NULL, "cancelled");
}

void
http_resume(struct http *h, struct http_call *call)
{
	struct transfer *t = call->transfer;

	(void)h;
	if (t == NULL || !t->held)
		return;
	t->held = false;
	t->idle_since = t->barren_since = clock_monotonic();
	curl_easy_pause(t->easy, CURLPAUSE_CONT);
}

static void
call_finish(struct http_call *call)
{
	call->ended = true;
	if (call->on_end != NULL)
		call->on_end(call);
}

/* While it is not known whether the server speaks HTTP/2, or if it does not, each request may have a
 * connection. */
static void
http_note_version(struct http *h, const struct transfer *t)
{
	long version = 0;
	bool shares;

	curl_easy_getinfo(t->easy, CURLINFO_HTTP_VERSION, &version);
	shares = version == CURL_HTTP_VERSION_2_0;
	if (version == 0 || shares == h->shares)
		return;
	h->shares = shares;
	curl_multi_setopt(h->multi, CURLMOPT_MAX_HOST_CONNECTIONS, shares ? SHARED_CONNECTIONS : 0L);
}

/* Lets the transfers continue. Returns how many have ended; -1. */
static int
http_perform(struct http *h, struct error *err)
{
	CURLMsg *message;
	int running, more, ended = 0;

	if (curl_multi_perform(h->multi, &running) != CURLM_OK)
		return error_set(err, ERROR_SYSTEM, NULL, "libcurl failed");
	while ((message = curl_multi_info_read(h->multi, &more)) != NULL) {
		struct transfer *t = NULL;
		struct http_call *call;

		if (message->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&t);
		t->result = message->data.result;
		call = t->call;
		http_note_version(h, t);
		http_note_connection(h, t);
		if (transfer_end(t, h, false)) {
			transfer_begin(t, h);
			continue;
		}
		transfer_result(t, &call->error);
		transfer_drop(h, t);
		call_finish(call);
		ended++;
	}
	return ended;
}

/* Ends the transfers that are late. Returns how many; *limit_ms becomes the time until the next may be. */
static int
http_end_late(struct http *h, int64_t *limit_ms)
{
	int ended = 0;

	/* What is called at the end of one may stop any: the search begins anew then. */
	for (struct transfer *t = h->transfers; t != NULL;) {
		struct http_call *call = t->call;
		int64_t left_ms;

		if (!transfer_is_late(t, &left_ms, &call->error)) {
			*limit_ms = left_ms < *limit_ms ? left_ms : *limit_ms;
			t = t->next;
			continue;
		}
		transfer_end(t, h, true);
		transfer_drop(h, t);
		call_finish(call);
		ended++;
		t = h->transfers;
	}
	return ended;
}

/* poll() for the owner's descriptors beside the connections: libcurl's wakes for an error or the end of
 * one, but does not say so. */
static int
http_poll(struct http *h, struct pollfd *fds, size_t count, int64_t limit_ms, struct error *err)
{
	struct curl_waitfd *also = memory_array(NULL, count + 1, sizeof *also);
	unsigned used = 0;
	CURLMcode result;

	for (size_t i = 0; i < count; i++)
		if (fds[i].fd >= 0)
			also[used++] = (struct curl_waitfd){ .fd = fds[i].fd,
				.events = (short)((fds[i].events & POLLIN ? CURL_WAIT_POLLIN : 0) |
				    (fds[i].events & POLLOUT ? CURL_WAIT_POLLOUT : 0)) };
	result = curl_multi_poll(h->multi, also, used, limit_ms > INT_MAX ? INT_MAX : (int)limit_ms, NULL);
	free(also);
	if (result != CURLM_OK)
		return error_set(err, ERROR_SYSTEM, NULL, "libcurl failed");
	if (count > 0)
		poll(fds, count, 0);
	return 0;
}

int
http_wait(struct http *h, struct pollfd *fds, size_t count, int64_t limit_ms, struct error *err)
{
	int ended = http_perform(h, err);

	for (size_t i = 0; i < count; i++)
		fds[i].revents = 0;
	if (ended != -1)
		ended += http_end_late(h, &limit_ms);
	if (ended != 0)
		return ended == -1 ? -1 : 0;
	if (limit_ms > LOOK_MS && h->transfers != NULL)
		limit_ms = LOOK_MS;
	return http_poll(h, fds, count, limit_ms, err) == -1 || http_perform(h, err) == -1 ? -1 : 0;
}

int
http_post(struct http *h, const struct http_request *request, struct http_answer *answer,
    struct error *err)
{
	struct http_call call = { .request = *request };

	memset(answer, 0, sizeof *answer);
	if (http_begin(h, &call, err) == -1)
		return -1;
	while (!call.ended)
		if (http_wait(h, NULL, 0, LOOK_MS, err) == -1) {
			http_stop(h, &call);
			http_answer_free(&call.answer);
			return -1;
		}
	*answer = call.answer;
	if (call.error.code == ERROR_NONE)
		return 0;
	*err = call.error;
	return -1;
}
