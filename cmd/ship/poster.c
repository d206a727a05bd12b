/*
 * Keeps the connection open between requests. A pause is as long as the server demands, within
 * limits.
 */
#include "ship/poster.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/memory.h"
#include "io/polling.h"

#define PAUSES 600            /* in a row, until the server counts as gone */
#define PAUSE_LEAST_MS 100
#define PAUSE_MOST_MS 60000

int
poster_open(struct poster *p, struct error *err)
{
	p->http = http_open(err);
	return p->http == NULL ? -1 : 0;
}

#define ANSWER_LIMIT ((size_t)64 << 20)

static int
poster_append_body(void *context, const char *bytes, size_t len)
{
	buffer_append(context, bytes, len);
	return 0;
}

/* Sends one request; *pause is what the server demands before the next one, 0: none. */
static int
send_once(struct poster *p, const struct http_request *request, int64_t *pause, struct error *err)
{
	struct http_answer answer;
	struct error why = ERROR_INIT;
	size_t bad;
	int failed;

	*pause = 0;
	buffer_clear(&p->body);
	failed = http_post(p->http, request, &answer, &why);
	if (failed != 0) {
		error_set(err, ERROR_SYSTEM, p->base, "%s", why.message);
	} else {
		p->status = answer.status;
		buffer_append(&p->body, buffer_string(&answer.body), answer.body.len);
		if (p->status == 429 || (p->status == 503 && answer.retry_after_ms > 0))
			*pause = answer.retry_after_ms < PAUSE_LEAST_MS ? PAUSE_LEAST_MS :
			    answer.retry_after_ms > PAUSE_MOST_MS ? PAUSE_MOST_MS : answer.retry_after_ms;
		if (scan_within(buffer_string(&p->body), p->body.len, SCAN_LINE_DEPTH, &bad) != NULL)
			buffer_clear(&p->body);
	}
	http_answer_free(&answer);
	return failed;
}

int
poster_send(struct poster *p, const char *method, const char *path, const char *type,
    const char *bytes, size_t len, struct error *err)
{
	char *url = memory_format("%s%s", p->base, path), **headers = list_copy(p->headers);
	struct http_request request = { .url = url, .method = method, .direct = p->direct, .body = bytes,
		.body_len = len, .take = poster_append_body, .context = &p->body,
		.limit = ANSWER_LIMIT };
	int64_t pause;
	int failed;

	list_take(&headers, memory_format("Content-Type: %s", type));
	request.headers = (const char *const *)headers;
	failed = send_once(p, &request, &pause, err);
	for (int i = 0; failed == 0 && pause > 0 && i < PAUSES; i++) {
		poll_one(-1, 0, clock_monotonic() + pause);
		failed = send_once(p, &request, &pause, err);
	}
	list_free(headers);
	free(url);
	return failed;
}

struct span
poster_answer(const struct poster *p)
{
	return p->body.len > 0 ? span_of(p->body.data, p->body.len) : SPAN_NONE;
}

void
poster_close(struct poster *p)
{
	http_close(p->http);
	buffer_free(&p->body);
}
