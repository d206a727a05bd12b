/* What awf-diff prints about two runs. */
#ifndef AWF_DIFF_REPORT_H
#define AWF_DIFF_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/map.h"
#include "diff/pairs.h"
#include "diff/side.h"

struct diff_report {
	const struct diff_side *a, *b;
	struct diff_pair *root;
	const char *path;         /* only of calls with this path, and of those inside; NULL: all */
	bool colour;
};

/* Whether anything that is asked for differs. */
bool diff_report_differs(const struct diff_report *r);
/* Whether there is anything within it. */
bool diff_report_has_any(const struct diff_report *r);
/* Whether a pair is within what is asked for. */
bool diff_report_has(const struct diff_report *r, const struct diff_pair *pair);

/* Pairs that differ alike, such as the items of a step whose script is another: they are told as one. */
struct diff_told {
	struct diff_pair *pair;   /* the first */
	size_t count;
};
struct diff_told_list {
	struct diff_told *list;
	size_t count;
	struct map places;        /* by what they are alike in */
	struct map alone;         /* how many calls of a step differ each for itself */
};
struct diff_summary {
	struct diff_told_list causes, follows; /* follows: with those that have moved */
	struct diff_counts counts;
};
#define DIFF_SUMMARY_INIT { .causes = { .list = NULL } }
void diff_summary_read(struct diff_summary *s, const struct diff_report *r);
void diff_summary_free(struct diff_summary *s);

/* Why a call follows, or differs on the same input: words for people; "". */
const char *diff_pair_reason(const struct diff_pair *pair);
/* " (its fork)", or ""; how the second run is related to the first. */
const char *diff_report_relation(const struct diff_report *r);

/* For people: causes first, each with what differs; what follows of them is counted. */
void diff_report_text(const struct diff_report *r, struct buffer *out);
/* A JSON object in each line: a pair of calls, in the order of the first run, then the totals. */
void diff_report_json(const struct diff_report *r, struct buffer *out);
/* A page that needs no other file. */
void diff_report_html(const struct diff_report *r, struct buffer *out);

#endif
