/*
 * Redaction: every event passes a filter of the user (awf-run --mask) before any of it is written,
 * so that the record contains no secrets. This file implements the protocol, awf-run(1); the
 * filter process is started by lib/storage/redactor.
 *
 * What the code relies on, and keeps:
 *   - The filter gets the event as one line (asserted): as in the transcript, but without seq,
 *     timestamp and prev, which are not known yet. Large values are included, and bytes that are
 *     not UTF-8 are base64 strings, whose pointers are in refs.
 *   - Only the payload of the answer is used, and only if everything that identifies the event, or
 *     that readers go by, is unchanged, and it has the form of an event (tests/cli/run/mask.bats:
 *     "what identifies an event must not change").
 *   - A short secret could be guessed from its digest. So the digests in payloads are keyed:
 *     HMAC-SHA256 under the run's key, which is removed with the run. Within a run equal values
 *     still have equal digests ("digests are keyed"). The names of blobs are digests of masked
 *     values.
 *   - A seal is signed over the masked line; the filter does not see the signature (asserted).
 */
#ifndef AWF_TRANSCRIPT_REDACTION_H
#define AWF_TRANSCRIPT_REDACTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "base/error.h"
#include "json/scan.h"
#include "transcript/event.h"

#define REDACTION_PLACE "--mask" /* place of errors */

struct redaction {
	/* Passes a line without its LF to the filter, and appends its answer, without LF. */
	int (*pass)(void *context, struct span line, struct buffer *answer, struct error *err);
	/* Ends the filter; NULL: there is nothing to end. */
	void (*end)(void *context);
	void *context;
	const char *program;            /* the filter's command, which distinguishes it from other
	                                   filters */
	unsigned char key[DIGEST_BYTES]; /* the run's key */

	/* The event that has passed the filter last. */
	struct buffer payload;
	struct event_raw *raws;
	struct buffer *bytes;           /* buffers of the bytes in raws */
	size_t raw_count;
};

/* Passes an event, whose id is set, through the filter, and replaces its payload and raws by the
 * result, which is valid until the next call. ERROR_SYSTEM: nothing of the event may be written. */
int redaction_apply(struct redaction *r, const char *run_id, struct event *e, struct error *err);
/* A member of the payload that has passed the filter last. */
struct span redaction_member(const struct redaction *r, const char *name);
/* Frees the event that has passed the filter last. */
static inline void
redaction_forget_raws(struct redaction *r)
{
	for (size_t i = 0; i < r->raw_count; i++)
		buffer_free(&r->bytes[i]);
	free(r->raws);
	free(r->bytes);
	r->raws = NULL;
	r->bytes = NULL;
	r->raw_count = 0;
	buffer_clear(&r->payload);
}

/* Ends the filter, and frees everything. */
static inline void
redaction_close(struct redaction *r)
{
	if (r->end != NULL)
		r->end(r->context);
	redaction_forget_raws(r);
	buffer_free(&r->payload);
}

/* A digest that is stored in the run's directory, and shows whether a process has the run's
 * filter. */
char *redaction_mark(const struct redaction *r, char mark[DIGEST_SIZE]);

/* Payloads consist of members that AWF defines, and of data. key: a raw token. */
/* Whether a member holds data of users, models and tools: any key and value may
 * change in it. */
bool redaction_is_data(struct span key);
/* Whether a member identifies the event, or is a word on which readers depend, so that it must not
 * change. step: the event is one of a step's call. */
bool redaction_is_fixed(struct span key, bool step);

#endif
