/*
 * Which call of one run is which of the other, and how they differ.
 *
 * Calls are matched inside matched calls alone, so that a shift stays where it is; among those of one
 * step name:
 *   1. rounds of a loop by their number; branches by their definition, then by the steps in them;
 *   2. all others by their input: in the same sequence first, then wherever they are;
 *   3. by the calls that their input came from, if these are matched;
 *   4. by their result;
 *   5. in order, where equally many are left between two matched ones.
 * What is left is gone or new; if one that is gone and one that is new have the same input and result,
 * the step was renamed.
 *
 * A cause is told apart from what follows of it: a call whose definition or model is another, or that
 * gave something else for the same input though nothing inside it differs, is a cause, and so is one that
 * is gone or new by itself. A call with another input, one whose difference is inside it, and one that is
 * gone or new since that before it is, follow; but if nothing differs before a call with another input, the
 * workflow, or who started it, gave it something else, and it is a cause.
 */
#ifndef AWF_DIFF_PAIRS_H
#define AWF_DIFF_PAIRS_H

#include <stdbool.h>
#include <stddef.h>

#include "diff/side.h"

enum diff_kind {
	DIFF_SAME, DIFF_MOVED, DIFF_CHANGED, DIFF_FOLLOWS, DIFF_GONE, DIFF_NEW, DIFF_RENAMED, DIFF_KINDS
};
extern const char *const diff_kind_words[DIFF_KINDS + 1];

/* What differs: a set. */
enum {
	DIFF_DEFINITION = 1 << 0,  /* what the step is made of: command, agent, files, options */
	DIFF_MODEL = 1 << 1,       /* which model worked on it, or its provider */
	DIFF_INPUT = 1 << 2,
	DIFF_RESULT = 1 << 3,
	DIFF_STATUS = 1 << 4,      /* how it ended */
	DIFF_TOOLS = 1 << 5,       /* which tools a model called, with which arguments */
	DIFF_TOKENS = 1 << 6,
	DIFF_ORDER = 1 << 7,       /* its place among the calls of its step */
	DIFF_RETRIES = 1 << 8,     /* told, but no difference by itself */
	DIFF_TIME = 1 << 9,        /* the same; only a difference of more than half is told */
	DIFF_INSIDE = 1 << 10,     /* calls inside it */
	DIFF_ANSWERS = 1 << 11,    /* what a tool answered to the same call of it */
	DIFF_FILES = 1 << 12       /* what a command wrote into a file */
};
#define DIFF_WHATS 13
extern const char *const diff_what_words[DIFF_WHATS + 1];
#define DIFF_DETAILS (DIFF_RETRIES | DIFF_TIME)

struct diff_pair {
	struct diff_call *a, *b;       /* NULL: it is gone or new; not both */
	enum diff_kind kind;
	unsigned what;
	struct diff_pair *inside, *beside; /* the pairs of the calls inside, in their order */
	struct diff_pair *like;        /* set by diff_summary_read(): the first pair that differs alike */
};

struct diff_counts { size_t kinds[DIFF_KINDS]; };

/* The pair of the two runs, with all pairs inside. ignored: what does not count as a difference. results
 * alone: only how calls ended and what they gave count. Its memory is that of side a. */
struct diff_pair *diff_match(struct diff_side *a, struct diff_side *b, unsigned ignored, bool results);
/* The call of the first run, or the one that the second alone has. */
const struct diff_call *diff_pair_call(const struct diff_pair *pair);
/* Whether a call that its side alone has is there since one before it is. */
bool diff_call_follows(const struct diff_call *c);
/* Whether a call that its side alone has is inside one whose model called other tools. */
bool diff_call_is_called(const struct diff_call *c);
/* Whether a person needs to know it first. */
bool diff_pair_causes(const struct diff_pair *pair);

#endif
