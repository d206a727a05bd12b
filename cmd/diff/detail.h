/*
 * What differs in a pair of calls, detail by detail, for whoever shows it: which file, the lines of a
 * prompt, another model, the words of the result.
 */
#ifndef AWF_DIFF_DETAIL_H
#define AWF_DIFF_DETAIL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "diff/pairs.h"
#include "json/scan.h"

enum diff_detail_form {
	DETAIL_VALUES,           /* a value became another */
	DETAIL_FILE,             /* a file is another, new (no a) or gone (no b) */
	DETAIL_LINES,            /* lines that are in one of two texts alone */
	DETAIL_WORDS             /* words, of two texts that are a line each */
};

/* A line, or words with the spaces after them. */
struct diff_part {
	char sign;               /* '-' and '+': in one of the texts alone; '=' in both; '.': some that
	                            are in both are left out here */
	bool cut;                /* its beginning, which both have, is left out */
	struct span text;
};

struct diff_detail {
	const char *name;        /* "file", "command", "prompt", "model", … "result" */
	enum diff_detail_form form;
	struct span a, b;        /* of DETAIL_VALUES and DETAIL_FILE; .at NULL: none */
	const struct diff_part *parts; /* of DETAIL_LINES and _WORDS, and tool calls with their values */
	size_t part_count;
	size_t left;             /* so many more lines differ */
};

struct diff_detail_limits {
	size_t lines;            /* most lines of a text that differ */
	size_t context;          /* lines around them */
	bool brief;              /* of an item that one side alone has nothing is told */
};

/* Calls take for each; what it gets is valid during that call. */
typedef void diff_detail_take(void *user, const struct diff_detail *detail);
void diff_details(const struct diff_pair *pair, const struct diff_detail_limits *limits, diff_detail_take *take,
    void *user);

/* The same for how the two runs were started: the workflow's file, its arguments, inputs and recorded variables. */
void diff_details_of_runs(const struct diff_call *a, const struct diff_call *b,
    const struct diff_detail_limits *limits, diff_detail_take *take, void *user);

/* Appends what a call is known by: its path, with the number of its item, round or occurrence. */
void diff_call_label(const struct diff_call *c, struct buffer *out);
/* Appends the beginning of what a call was given, as far as it is recorded with it. */
void diff_call_excerpt(const struct diff_call *c, struct buffer *out);

#endif
