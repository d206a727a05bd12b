/*
 * An outlet: the output of a filter. It has its own buffer, so that many small events need few
 * writes. Without a limit it waits for the reader, and loses nothing; with a limit it keeps at most
 * that many events while the reader is slow, and drops the newest ones, counting them; it never
 * drops a part of an event.
 *
 * The descriptor is never made non-blocking, as that would affect all processes that share it.
 */
#ifndef AWF_VIEW_OUTLET_H
#define AWF_VIEW_OUTLET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

struct outlet {
	int fd;
	bool terminal;         /* fd is a terminal */
	struct buffer pending;
	size_t sent;           /* bytes of pending already written */
	size_t limit;          /* events kept; 0: no limit, wait instead */
	uint64_t *ends;        /* ring: offsets in the stream of the ends of kept events */
	size_t first, kept;
	uint64_t taken, given; /* bytes received and written so far */
	int64_t dropped;       /* events dropped since the caller last set it to 0 */
};

void outlet_begin(struct outlet *o, int fd, size_t limit);
/* Adds an event. 0, or -1: ERROR_SYSTEM at "stdout"; the same holds for all functions below. */
int outlet_event(struct outlet *o, const void *bytes, size_t len, struct error *err);
/* The same for JSON, which is escaped for terminals. */
int outlet_json(struct outlet *o, const char *bytes, size_t len, struct error *err);
/* Adds bytes that belong to no event, such as a status line; they are never dropped. */
void outlet_extra(struct outlet *o, const void *bytes, size_t len);
/* Writes pending output: without a limit all of it, otherwise what can be written without
 * waiting. */
int outlet_flush(struct outlet *o, struct error *err);
/* Writes all pending output, waiting as long as necessary. */
int outlet_drain(struct outlet *o, struct error *err);
bool outlet_empty(const struct outlet *o);
void outlet_free(struct outlet *o);

#endif
