/*
 * curl's multi interface with one handle: the wait is ours then, so that the owner's
 * descriptors are watched beside the connection. What is limited is the time without a byte
 * in either direction, not the whole, for an answer may stream for long. The body of an
 * answer outside of 2xx is an error's text: it is kept, up to a limit, and not handed over.
 */
#include "net/http.h"

#include <ctype.h>
#include <curl/curl.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/patience.h"
#include "base/polling.h"
#include "base/text.h"
#include "base/version.h"

#define ERROR_BODY_LIMIT ((size_t)1 << 20)
#define RETRY_AFTER_LIMIT_MS ((int64_t)7 * 24 * 3600 * 1000)

#define AUTHORITIES "/etc/ssl/certs" /* where libcurl knows of none */

struct http {
	CURLM *multi; /* owns the connections */
	CURL *easy;
	const char *authorities; /* the directory that has each under the hash of its name; NULL */
};

/* One request on its way. */
struct transfer {
	const struct http_request *request;
	struct http_answer *answer;
	CURL *easy;
	char message[CURL_ERROR_SIZE];
	bool stopped, exact_retry_after;
	CURLcode result;
	int watch_fd;
	int64_t idle_since;
	curl_off_t sent;
};

/* Reading the one authority that is asked for takes a tenth of the time that reading the bundle
 * of all takes. It needs a TLS library that looks them up so, and a directory kept for that. */
static const char *
find_authorities(void)
{
	const curl_version_info_data *info = curl_version_info(CURLVERSION_NOW);
	const char *directory = AUTHORITIES;
	bool found = false;
	struct dirent *entry;
	DIR *d;

	if (info->ssl_version == NULL || strncmp(info->ssl_version, "OpenSSL/", 8) != 0)
		return NULL;
#if LIBCURL_VERSION_NUM >= 0x074600
	if (info->age >= CURLVERSION_SEVENTH && info->capath != NULL)
		directory = info->capath;
#endif
	d = opendir(directory);
	while (d != NULL && !found && (entry = readdir(d)) != NULL)
		found = strspn(entry->d_name, "0123456789abcdef") == 8 &&
		    strcmp(entry->d_name + 8, ".0") == 0;
	if (d != NULL)
		closedir(d);
	return found ? directory : NULL;
}

struct http *
http_open(struct error *err)
{
	struct http *h = memory_zero(1, sizeof *h);

	if (curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK) {
		h->multi = curl_multi_init();
		h->easy = curl_easy_init();
	}
	if (h->multi != NULL && h->easy != NULL) {
		h->authorities = find_authorities();
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

/* "1.5" in units of unit ms, or a date; 0 if it is neither. */
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

	t->idle_since = clock_monotonic();
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
	}
	return len;
}

static size_t
on_body(char *bytes, size_t size, size_t count, void *context)
{
	struct transfer *t = context;
	struct buffer *body = &t->answer->body;
	size_t len = size * count, room = ERROR_BODY_LIMIT - body->len;
	long status = 0;

	t->idle_since = clock_monotonic();
	curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	if (status < 200 || status > 299) {
		buffer_append(body, bytes, len < room ? len : room);
		return len;
	}
	t->stopped = t->request->take(t->request->context, bytes, len) != 0;
	return t->stopped ? 0 : len;
}

/* Whether the owner wants the request stopped. libcurl's poll wakes for POLLERR
 * but does not report it, hence a look of our own. */
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

static int
transfer_run(struct transfer *t, CURLM *multi, struct error *err)
{
	int64_t limit_ms = t->request->idle_timeout_ms > 0 ? t->request->idle_timeout_ms :
	    STALL_LIMIT_MS, left_ms;
	CURLMsg *message;
	bool done = false;
	int running, more;

	t->idle_since = clock_monotonic();
	for (;;) {
		struct curl_waitfd fds[2] = { { 0, 0, 0 }, { 0, 0, 0 } };
		curl_off_t sent = 0;
		unsigned count = 0;

		if (curl_multi_perform(multi, &running) != CURLM_OK)
			return error_set(err, ERROR_NETWORK, NULL, "libcurl failed");
		while ((message = curl_multi_info_read(multi, &more)) != NULL)
			if (message->msg == CURLMSG_DONE) {
				done = true;
				t->result = message->data.result;
			}
		if (done)
			return 0;
		/* Bytes that went out count against idleness too: a large request takes its
		 * time. */
		curl_easy_getinfo(t->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
		if (sent != t->sent) {
			t->sent = sent;
			t->idle_since = clock_monotonic();
		}
		if (clock_monotonic() - t->idle_since >= limit_ms)
			return error_set(err, ERROR_NETWORK, NULL, "no byte came for %lld ms",
			    (long long)limit_ms);

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

/* Says to libcurl what is asked of whom. authorities: the directory to find them in; NULL: what
 * the environment, or libcurl, has. */
static void
transfer_prepare(struct transfer *t, struct curl_slist *headers, const char *authorities)
{
	const struct http_request *request = t->request;
	const char *bundle = environment_text("CURL_CA_BUNDLE");

	curl_easy_reset(t->easy);
	curl_easy_setopt(t->easy, CURLOPT_URL, request->url);
	curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(t->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_len);
	curl_easy_setopt(t->easy, CURLOPT_POSTFIELDS, request->body);
	curl_easy_setopt(t->easy, CURLOPT_USERAGENT, "awf/" AWF_VERSION);
	curl_easy_setopt(t->easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(t->easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(t->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_LIMIT_MS);
	curl_easy_setopt(t->easy, CURLOPT_ERRORBUFFER, t->message);
	curl_easy_setopt(t->easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(t->easy, CURLOPT_HEADERDATA, (void *)t);
	curl_easy_setopt(t->easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(t->easy, CURLOPT_WRITEDATA, (void *)t);
	/* The variables that curl(1) reads; the library does not. */
	if (bundle == NULL)
		bundle = environment_text("SSL_CERT_FILE");
	if (authorities != NULL) {
		curl_easy_setopt(t->easy, CURLOPT_CAPATH, authorities);
		curl_easy_setopt(t->easy, CURLOPT_CAINFO, NULL);
	} else if (bundle != NULL) {
		curl_easy_setopt(t->easy, CURLOPT_CAINFO, bundle);
	}
}

int
http_post(struct http *h, const struct http_request *request, struct http_answer *answer,
    struct error *err)
{
	static const char *const said[] = { "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR" };
	const char *authorities = h->authorities;
	struct transfer t;
	struct curl_slist *list = NULL;
	long unverified = 0; /* above 1 if no authority is trusted for it; 1: not looked at yet */
	bool again;
	int failed;

	for (size_t i = 0; request->headers[i] != NULL; i++)
		list = curl_slist_append(list, request->headers[i]);
	/* Waiting for "100 Continue" would cost a round trip. */
	list = curl_slist_append(list, "Expect:");
	for (size_t i = 0; i < sizeof said / sizeof said[0]; i++)
		if (environment_text(said[i]) != NULL)
			authorities = NULL;
	do {
		t = (struct transfer){ .request = request, .answer = answer, .easy = h->easy,
			.watch_fd = request->watch_fd };
		memset(answer, 0, sizeof *answer);
		transfer_prepare(&t, list, authorities);
		curl_multi_add_handle(h->multi, h->easy);
		failed = transfer_run(&t, h->multi, err);
		curl_easy_getinfo(h->easy, CURLINFO_RESPONSE_CODE, &answer->status);
		curl_multi_remove_handle(h->multi, h->easy);
		/* Nothing goes to a server that is not trusted: maybe the bundle has its authority. */
		again = !failed && t.result == CURLE_PEER_FAILED_VERIFICATION && authorities != NULL;
		if (again)
			authorities = h->authorities = NULL;
	} while (again);
	curl_slist_free_all(list);
	if (failed)
		return -1;
	if (t.stopped)
		return error_set(err, ERROR_CANCELLED, NULL, "stopped");
	if (t.result == CURLE_OK)
		return 0;
	curl_easy_getinfo(h->easy, CURLINFO_SSL_VERIFYRESULT, &unverified);
	return error_set(err, ERROR_NETWORK, NULL, "%s%s",
	    t.message[0] != '\0' ? t.message : curl_easy_strerror(t.result),
	    unverified > 1 ? "; its authority can be named in CURL_CA_BUNDLE" : "");
}
