/*
 * Writes and reads the text of a trace context. The id of a span is the first digits of the SHA-256
 * of "span:" and an event's id or, for an attempt, the run id, "/" and the attempt's number.
 */
#include "storage/traceparent.h"

#include <stdio.h>
#include <string.h>

#include "base/digest.h"
#include "base/id.h"
#include "base/invariant.h"

/* Offsets of the parts of VERSION-TRACE-SPAN-FLAGS; KNOWN_FLAGS: the flags of level 1. */
enum { TRACE_AT = 3, SPAN_AT = 36, FLAGS_AT = 53, LENGTH = 55, KNOWN_FLAGS = 3 };

/* The value of one or two lower-case hex digits; for more, 0 only if all are 0. -1 if there is
 * another character. */
static int
traceparent_parse_hex(const char *text, size_t count)
{
	static const char digits[] = "0123456789abcdef";
	unsigned value = 0, any = 0;

	for (size_t i = 0; i < count; i++) {
		const char *digit = text[i] == '\0' ? NULL : strchr(digits, text[i]);

		if (digit == NULL)
			return -1;
		value = (value << 4 | (unsigned)(digit - digits)) & 0xff;
		any |= value;
	}
	return (int)(count > 2 ? any : value);
}

bool
traceparent_read(const char *text, struct traceparent *t)
{
	size_t len = text == NULL ? 0 : strlen(text);
	int version, flags;

	if (len < LENGTH)
		return false;
	version = traceparent_parse_hex(text, 2);
	flags = traceparent_parse_hex(text + FLAGS_AT, 2);
	/* Later versions may have further parts; ff is not a valid version. */
	if (version == -1 || version == 0xff || flags == -1 || text[TRACE_AT - 1] != '-' ||
	    text[SPAN_AT - 1] != '-' || text[FLAGS_AT - 1] != '-' ||
	    (len > LENGTH && (version == 0 || text[LENGTH] != '-')) ||
	    traceparent_parse_hex(text + TRACE_AT, TRACE_ID_SIZE - 1) <= 0 ||
	    traceparent_parse_hex(text + SPAN_AT, SPAN_ID_SIZE - 1) <= 0)
		return false;
	memset(t, 0, sizeof *t);
	memcpy(t->trace_id, text + TRACE_AT, TRACE_ID_SIZE - 1);
	memcpy(t->span_id, text + SPAN_AT, SPAN_ID_SIZE - 1);
	t->flags = (unsigned)flags & KNOWN_FLAGS;
	return true;
}

/* Whether a trace context that was written can be read again. */
static bool
text_reads_back(const char *text)
{
	struct traceparent read;

	return traceparent_read(text, &read);
}

char *
traceparent_write(const struct traceparent *t, char out[TRACEPARENT_SIZE])
{
	snprintf(out, TRACEPARENT_SIZE, "00-%s-%s-%02x", t->trace_id, t->span_id,
	    t->flags & KNOWN_FLAGS);
	INVARIANT(strlen(out) == LENGTH && text_reads_back(out));
	return out;
}

char *
trace_id_of_run(const char *run_id, char out[TRACE_ID_SIZE])
{
	size_t len = 0;

	for (; *run_id != '\0' && len < TRACE_ID_SIZE - 1; run_id++)
		if (*run_id != '-')
			out[len++] = *run_id;
	out[len] = '\0';
	return out;
}

char *
span_id_of_event(const char *event_id, char out[SPAN_ID_SIZE])
{
	static const char label[] = "span:";
	char digest[DIGEST_SIZE];
	struct digest d;

	digest_begin(&d);
	digest_add(&d, label, sizeof label - 1);
	digest_add(&d, event_id, strlen(event_id));
	digest_end(&d, digest);
	memcpy(out, digest, SPAN_ID_SIZE - 1);
	out[SPAN_ID_SIZE - 1] = '\0';
	return out;
}

char *
span_id_of_attempt(const char *run_id, int64_t attempt, char out[SPAN_ID_SIZE])
{
	char text[ID_SIZE + 24];

	snprintf(text, sizeof text, "%s/%lld", run_id, (long long)attempt);
	return span_id_of_event(text, out);
}

char *
traceparent_within(const struct environment *e, const char *event_id, char out[TRACEPARENT_SIZE])
{
	struct traceparent t;

	out[0] = '\0';
	if (e != NULL && traceparent_read(environment_get(e, TRACEPARENT), &t)) {
		span_id_of_event(event_id, t.span_id);
		traceparent_write(&t, out);
	}
	return out;
}

void
traceparent_enter(struct environment *e, const char *event_id)
{
	char text[TRACEPARENT_SIZE];

	if (*traceparent_within(e, event_id, text) != '\0')
		environment_set(e, TRACEPARENT, text);
}
