/*
 * Uses curl's multi interface, so that waiting is done here, and the caller's descriptors are
 * watched together with the connections. A POST has a handle for itself; GETs share the
 * connections. The time limit is for periods without a byte in either direction, not for the whole,
 * because an answer may stream for long. The body of an answer outside 2xx is an error message: it
 * is kept, up to a limit, and not passed to take().
 */
#include "net/http.h"

#include <ctype.h>
#include <curl/curl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/clock.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "base/patience.h"
#include "io/polling.h"
#include "net/handle.h"

#define ERROR_BODY_LIMIT ((size_t)1 << 20)
#define RETRY_AFTER_LIMIT_MS ((int64_t)24 * 3600 * 1000)

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

struct http {
	CURLM *multi; /* owns the connections */
	CURL *easy;
	const char *authorities; /* the directory of handle_authorities(); NULL: none */
	struct transfer *gets;   /* the GETs in progress */
};

/* A request in progress. */
struct transfer {
	const struct http_request *request;
	struct http_answer *answer;
	CURL *easy;
	const char *authorities; /* the directory that is used; NULL: authorities of the environment
	                            or of libcurl */
	struct curl_slist *headers;
	struct handle_body body;
	char message[CURL_ERROR_SIZE];
	bool stopped, exact_retry_after;
	bool headed;             /* a part of the head has arrived */
	bool cut;                /* the rest of an error's body is not needed */
	const char *wrong;       /* what is wrong with the answer; NULL: nothing */
	size_t heads, taken;     /* bytes of header lines; of the body */
	CURLcode result;
	int watch_fd;
	int64_t idle_since;
	int64_t barren_since;    /* when progress was last seen */
	int64_t progress;
	curl_off_t sent;

	/* Only for a GET. */
	struct http_request made;
	char *url;
	struct http_get *get;
	struct transfer *next;
};

struct http *
http_open(struct error *err)
{
	struct http *h = memory_zero(1, sizeof *h);

	if (curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK) {
		h->multi = curl_multi_init();
		h->easy = curl_easy_init();
	}
	if (h->multi != NULL && h->easy != NULL) {
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
	while (h->gets != NULL)
		http_get_stop(h, h->gets->get);
	curl_easy_cleanup(h->easy);
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
	struct http_answer *answer = t->answer;
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
	if (t->request != NULL && t->request->kept_header != NULL &&
	    strcasecmp(line, t->request->kept_header) == 0)
		snprintf(answer->kept, sizeof answer->kept, "%s", value);
	return len;
}

static size_t
on_body(char *bytes, size_t size, size_t count, void *context)
{
	struct transfer *t = context;
	struct buffer *body = &t->answer->body;
	size_t len = size * count, room = ERROR_BODY_LIMIT - body->len;
	long status = 0;

	INVARIANT(body->len <= ERROR_BODY_LIMIT && !t->cut && !t->stopped);
	t->idle_since = clock_monotonic();
	curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	if (status < 200 || status > 299) {
		buffer_append(body, bytes, len < room ? len : room);
		t->cut = len > room;
		return t->cut ? 0 : len;
	}
	t->taken += len;
	if (t->request->limit > 0 && t->taken > t->request->limit) {
		t->wrong = "the answer is larger than any that is expected";
		return 0;
	}
	t->stopped = t->request->take(t->request->context, bytes, len) != 0;
	return t->stopped ? 0 : len;
}

/* Whether the owner wants the request stopped. libcurl's poll wakes for POLLERR but does not
 * report it, so this checks itself. */
static bool
is_cancelled(struct transfer *t)
{
	const struct http_request *request = t->request;
	enum http_watch decision = HTTP_GO_ON;

	if (poll_now(request->output_fd, 0) != 0)
		return true;
	if (poll_now(t->watch_fd, POLLIN) != 0)
		decision = request->look(request->context);
	if (decision == HTTP_UNWATCH)
		t->watch_fd = -1;
	return decision == HTTP_CANCEL;
}

static int64_t
idle_limit(const struct transfer *t)
{
	const struct http_way *way = t->request->way;

	if (way != NULL && way->first_ms > 0 && t->taken == 0)
		return way->first_ms;
	return t->request->idle_timeout_ms > 0 ? t->request->idle_timeout_ms : STALL_LIMIT_MS;
}

/* Whether only keep-alives have arrived for too long. */
static bool
is_barren(struct transfer *t)
{
	const struct http_request *request = t->request;
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

static int
transfer_run(struct transfer *t, CURLM *multi, struct error *err)
{
	int64_t left_ms;
	CURLMsg *message;
	bool done = false;
	int running, more;

	t->idle_since = clock_monotonic();
	for (;;) {
		struct curl_waitfd fds[2] = { { 0, 0, 0 }, { 0, 0, 0 } };
		curl_off_t sent = 0;
		unsigned count = 0;
		int64_t limit_ms;

		if (curl_multi_perform(multi, &running) != CURLM_OK)
			return error_set(err, ERROR_NETWORK, NULL, "libcurl failed");
		while ((message = curl_multi_info_read(multi, &more)) != NULL)
			if (message->msg == CURLMSG_DONE) {
				done = true;
				t->result = message->data.result;
			}
		if (done)
			return 0;
		/* Bytes sent count too: a large request takes its time. */
		curl_easy_getinfo(t->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
		if (sent != t->sent) {
			t->sent = sent;
			t->idle_since = clock_monotonic();
		}
		limit_ms = idle_limit(t);
		if (clock_monotonic() - t->idle_since >= limit_ms)
			return error_set(err, ERROR_NETWORK, NULL, "no byte arrived for %lld ms",
			    (long long)limit_ms);
		if (is_barren(t))
			return error_set(err, ERROR_NETWORK, NULL, "for %lld ms nothing but "
			    "keep-alives arrived",
			    (long long)(clock_monotonic() - t->barren_since));

		if (t->watch_fd >= 0) {
			fds[count].fd = t->watch_fd;
			fds[count++].events = CURL_WAIT_POLLIN;
		}
		if (t->request->output_fd >= 0)
			fds[count++].fd = t->request->output_fd;
		if (t->request->before_wait != NULL)
			t->request->before_wait(t->request->context);
		left_ms = t->idle_since + limit_ms - clock_monotonic();
		if (curl_multi_poll(multi, fds, count, left_ms > 1000 ? 1000 : (int)left_ms, NULL) !=
		    CURLM_OK)
			return error_set(err, ERROR_NETWORK, NULL, "libcurl failed");
		if (is_cancelled(t))
			return error_set(err, ERROR_CANCELLED, NULL, "cancelled");
	}
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

/* Begins the transfer: tells libcurl what to request from which server, and which certificates
 * to trust. */
static void
transfer_begin(struct transfer *t, struct http *h)
{
	const struct http_request *request = t->request;

	for (size_t i = 0; request->headers[i] != NULL; i++)
		t->headers = curl_slist_append(t->headers, request->headers[i]);
	/* Do not wait for "100 Continue": that would cost a round trip. */
	t->headers = curl_slist_append(t->headers, "Expect:");
	/* Ask for no compression, which delays a stream; some servers compress anyway. */
	t->headers = curl_slist_append(t->headers, "Accept-Encoding: identity");
	t->authorities = request->way != NULL && request->way->ca != NULL ? NULL : h->authorities;

	memset(t->answer, 0, sizeof *t->answer);
	t->watch_fd = request->watch_fd;
	t->idle_since = clock_monotonic();
	t->heads = t->taken = 0;
	t->headed = t->cut = false;
	t->wrong = NULL;
	handle_prepare(t->easy, request->url, t->authorities);
	transfer_set_way(t->easy, request->way);
	curl_easy_setopt(t->easy, CURLOPT_PRIVATE, (void *)t);
	curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, t->headers);
	curl_easy_setopt(t->easy, CURLOPT_ACCEPT_ENCODING, "");
	if (request->body != NULL) {
		t->body = (struct handle_body){ .bytes = request->body, .len = request->body_len };
		handle_post(t->easy, &t->body);
	}
	if (request->method != NULL)
		curl_easy_setopt(t->easy, CURLOPT_CUSTOMREQUEST, request->method);
	if (request->direct || (t->get != NULL && t->get->direct))
		curl_easy_setopt(t->easy, CURLOPT_NOPROXY, "*");
	curl_easy_setopt(t->easy, CURLOPT_ERRORBUFFER, t->message);
	curl_easy_setopt(t->easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(t->easy, CURLOPT_HEADERDATA, (void *)t);
	curl_easy_setopt(t->easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(t->easy, CURLOPT_WRITEDATA, (void *)t);
	curl_multi_add_handle(h->multi, t->easy);
}

/* Ends the transfer, complete or not. True: it must be repeated with the bundle, because the
 * directory does not have the server's authority; nothing was sent to the server. */
static bool
transfer_end(struct transfer *t, struct http *h, bool failed)
{
	curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &t->answer->status);
	curl_multi_remove_handle(h->multi, t->easy);
	curl_slist_free_all(t->headers);
	t->headers = NULL;
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
http_post(struct http *h, const struct http_request *request, struct http_answer *answer,
    struct error *err)
{
	struct transfer t;
	int failed;

	do {
		t = (struct transfer){ .request = request, .answer = answer, .easy = h->easy };
		transfer_begin(&t, h);
		failed = transfer_run(&t, h->multi, err);
	} while (transfer_end(&t, h, failed != 0));
	return failed != 0 ? -1 : transfer_result(&t, err);
}

/* ---- GET ---- */

int
http_get(struct http *h, struct http_get *g, struct error *err)
{
	CURL *easy = curl_easy_init();
	struct transfer *t;

	if (easy == NULL)
		return error_set(err, ERROR_SYSTEM, NULL, "libcurl failed");
	t = memory_zero(1, sizeof *t);
	t->easy = easy;
	t->url = memory_text(g->url);
	t->made = (struct http_request){ .url = t->url, .headers = g->headers, .limit = g->limit,
		.idle_timeout_ms = g->idle_timeout_ms, .take = g->take, .context = g->context,
		.watch_fd = -1, .output_fd = -1 };
	t->request = &t->made;
	t->answer = &g->answer;
	t->get = g;
	t->next = h->gets;
	h->gets = t;
	g->transfer = t;
	g->ended = false;
	g->error = (struct error)ERROR_INIT;
	transfer_begin(t, h);
	return 0;
}

/* Removes it from the transfers in progress. */
static void
get_drop(struct http *h, struct transfer *t)
{
	struct transfer **link = &h->gets;

	while (*link != NULL && *link != t)
		link = &(*link)->next;
	if (*link != NULL)
		*link = t->next;
	t->get->transfer = NULL;
	curl_easy_cleanup(t->easy);
	free(t->url);
	free(t);
}

void
http_get_stop(struct http *h, struct http_get *g)
{
	if (g->transfer != NULL) {
		transfer_end(g->transfer, h, true);
		get_drop(h, g->transfer);
	}
}

static void
get_end(struct http *h, struct transfer *t)
{
	if (transfer_end(t, h, false)) {
		t->message[0] = '\0';
		transfer_begin(t, h);
		return;
	}
	transfer_result(t, &t->get->error);
	t->get->ended = true;
	get_drop(h, t);
}

/* Lets the transfers continue. Returns how many have ended; -1. */
static int
gets_perform(struct http *h, struct error *err)
{
	CURLMsg *message;
	int running, more, ended = 0;

	if (curl_multi_perform(h->multi, &running) != CURLM_OK)
		return error_set(err, ERROR_SYSTEM, NULL, "libcurl failed");
	while ((message = curl_multi_info_read(h->multi, &more)) != NULL) {
		struct transfer *t = NULL;

		if (message->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&t);
		t->result = message->data.result;
		get_end(h, t);
		ended++;
	}
	return ended;
}

int
http_wait(struct http *h, int fd, int64_t limit_ms, struct error *err)
{
	struct curl_waitfd also = { .fd = fd, .events = CURL_WAIT_POLLIN };
	struct transfer *next;
	int ended = gets_perform(h, err);
	int64_t now = clock_monotonic();

	for (struct transfer *t = h->gets; ended != -1 && t != NULL; t = next) {
		int64_t left_ms = t->idle_since + idle_limit(t) - now;

		next = t->next;
		if (left_ms > 0) {
			limit_ms = left_ms < limit_ms ? left_ms : limit_ms;
			continue;
		}
		error_set(&t->get->error, ERROR_NETWORK, NULL, "no byte arrived for %lld ms",
		    (long long)idle_limit(t));
		t->get->ended = true;
		transfer_end(t, h, true);
		get_drop(h, t);
		ended++;
	}
	if (ended != 0)
		return ended == -1 ? -1 : 0;
	if (curl_multi_poll(h->multi, &also, fd >= 0, limit_ms > INT_MAX ? INT_MAX : (int)limit_ms,
	    NULL) != CURLM_OK)
		return error_set(err, ERROR_SYSTEM, NULL, "libcurl failed");
	return gets_perform(h, err) == -1 ? -1 : 0;
}
