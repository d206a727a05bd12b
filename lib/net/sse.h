/*
 * Server-sent events (WHATWG HTML, section 9.2): turns bytes, however they are split, into events.
 * LF, CR and CRLF end lines; a BOM is skipped; comments are ignored; the last id and retry are kept
 * for a client that reconnects.
 */
#ifndef AWF_NET_SSE_H
#define AWF_NET_SSE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

#define SSE_EVENT_LIMIT ((size_t)64 << 20) /* bytes of one event's data */

struct sse {
	struct buffer id;          /* of the last event that had one; empty: none */
	long long retry_ms;        /* 0: none was sent */

	/* Private. */
	struct buffer line, data, event;
	bool has_data, after_cr, started, too_long;
	/* One event: data is its lines joined by LF. Non-zero stops sse_feed(). */
	int (*take)(void *context, const char *event, const char *data, size_t len);
	/* Called with a line that is neither a comment nor a field of the standard; NULL: such
	 * lines are ignored. */
	int (*other)(void *context, const char *line, size_t len);
	void *context;
};

void sse_begin(struct sse *s, int (*take)(void *, const char *, const char *, size_t),
    void *context);
/* 0, what take() returned, or -1 if a line or an event is above the limit. An event that is cut
 * off by the end of the stream is never passed on. */
int sse_feed(struct sse *s, const char *bytes, size_t len);
/* The stream has ended: passes on a last line without its line end, and an event without the blank
 * line after it. The standard drops them; this is for data of which one can see whether it is
 * complete. Returns the same as sse_feed(). */
int sse_finish(struct sse *s);
/* The stream was cut off and begins again: incomplete lines and events are dropped, id and retry
 * are kept. */
void sse_again(struct sse *s);
void sse_free(struct sse *s);

#endif
