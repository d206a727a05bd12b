/*
 * Results of tools that are too long for a model: it is given the beginning, and a remark that says
 * how much there is and how to get it. The whole result is recorded, as any. The builtin tool `read`
 * finds it under a name made of a digest of it and of the call's id, which servers of models choose at random:
 * nobody else knows the name before, and the text that a model is given is the same in a
 * resume and in a replay:
 *
 *     runs/<id>/results/awf-result-<digest>   long lines are broken, as `read` shows no more of one
 */
#ifndef AWF_TURN_RESULT_CUT_H
#define AWF_TURN_RESULT_CUT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "json/scan.h"

#define RESULT_LIMIT ((size_t)200000)   /* bytes, where a tool's file says nothing (max_result) */

/* Whether a result is longer than limit (0: none): as a text, or as JSON. Lists of contents
 * (formats/content.h) are not cut. */
bool result_is_long(struct span output, size_t limit);
/* Cuts a text that is longer than limit. directory: where the whole is kept, or NULL if `read` cannot
 * have it. */
void result_cut(struct buffer *text, size_t limit, const char *call_id, const char *directory);
/* The directory of a run's; memory of its own. */
char *result_directory(const char *run_directory);

#endif
