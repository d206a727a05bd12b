/*
 * Filters: which events a reader selects. Cheap tests come first, so that rejecting a line costs
 * little more than finding its end. A line that passes has been checked to be valid JSON, even if
 * it is not part of the chain.
 */
#ifndef AWF_TRANSCRIPT_FILTER_H
#define AWF_TRANSCRIPT_FILTER_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "transcript/event.h"
#include "transcript/reader.h"

struct globs {
	char **patterns;
	size_t count;
};
/* Adds the patterns of a list, separated by commas. */
void globs_add(struct globs *g, const char *list);
/* Whether one of the patterns matches (fnmatch(3)); true if there are none. */
bool globs_match(const struct globs *g, const char *text);
void globs_free(struct globs *g);

struct filter {
	int64_t after;                /* only events with a higher seq; 0: all */
	char since[CLOCK_TEXT_SIZE];  /* only events at this time or later; "": all */
	struct globs types, paths;
	bool known[EVENT_TYPES];      /* for each of AWF's ten types: whether it passes */
	bool errors;                  /* only failed calls, tools and runs */
	bool unchained;               /* the last line that was checked does not end in its
	                                 "prev" */
	bool grep;
	regex_t pattern;
	struct buffer scratch;
};

enum verdict { VERDICT_NO, VERDICT_YES, VERDICT_DAMAGED };

void filter_begin(struct filter *f);
void filter_types(struct filter *f, const char *list);
/* Sets an extended regular expression, which is matched against the line as it is in the file. Only
 * one may be set (ERROR_USAGE). */
int filter_grep(struct filter *f, const char *pattern, struct error *err);
/* Whether no condition is set, so that every event passes. */
bool filter_open(const struct filter *f);
/* line: without its LF; head: set by event_peek(), with a seq of 0 if that found none. */
enum verdict filter_event(struct filter *f, const struct event_head *head, const char *line,
    size_t len);
/* Moves the reader to the beginning of the last `count` lines that pass, searching from the
 * end back to the byte `floor`. If fewer lines pass, it is moved to the first of them; if
 * none, to the end. */
int filter_seek_last(struct filter *f, struct reader *r, int64_t count, int64_t floor,
    struct error *err);
void filter_free(struct filter *f);

/* Whether the event reports a failure of its own: a call, a tool or a run with an error. A call
 * that was skipped because an earlier one failed does not count. */
bool event_failed(const struct event_view *event);
/* Whether a member has a value other than null and false. */
bool member_set(struct span value);

#endif
