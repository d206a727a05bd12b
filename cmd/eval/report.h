/*
 * The report of an evaluation, in one of the forms of -o. The same results give the same bytes, but for times.
 */
#ifndef AWF_EVAL_REPORT_H
#define AWF_EVAL_REPORT_H

#include "base/buffer.h"
#include "eval/figures.h"
#include "eval/results.h"

/* What was asked of the evaluation (--require, --per-input, --baseline), and does not hold. */
struct eval_gates {
	struct buffer failed;    /* a line for each */
	struct buffer told;      /* what the comparison with the baseline said */
};

void eval_report(const struct eval_results *r, const char *form, const struct eval_gates *gates, struct buffer *out);

/* The forms that consist of a text for each trial or input (report_forms.c). */
void eval_report_csv(const struct eval_results *r, struct buffer *out);
void eval_report_json(const struct eval_results *r, struct buffer *out);
void eval_report_jsonl(const struct eval_results *r, struct buffer *out);
void eval_report_junit(const struct eval_results *r, struct buffer *out);
void eval_report_tap(const struct eval_results *r, struct buffer *out);
void eval_report_github(const struct eval_results *r, const struct eval_gates *gates, struct buffer *out);

#endif
