/* What awf-diff prints about two runs. */
#ifndef AWF_DIFF_REPORT_H
#define AWF_DIFF_REPORT_H

#include <stdbool.h>

#include "base/buffer.h"
#include "diff/pairs.h"
#include "diff/side.h"

struct diff_report {
	const struct diff_side *a, *b;
	const struct diff_pair *root;
	const char *path;         /* only of calls with this path, and of those inside; NULL: all */
	bool colour;
};

/* For people: causes first, each with what differs; what follows of them is counted. */
void diff_report_text(const struct diff_report *r, struct buffer *out);
/* A JSON object in each line: a pair of calls, in the order of the first run, then the totals. */
void diff_report_json(const struct diff_report *r, struct buffer *out);
/* Whether anything that is asked for differs. */
bool diff_report_differs(const struct diff_report *r);
/* Whether a pair is within what is asked for. */
bool diff_report_has(const struct diff_report *r, const struct diff_pair *pair);

#endif
