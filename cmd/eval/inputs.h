/*
 * The inputs of an evaluation: a file of lines. A line that is a JSON object with the member input is taken
 * apart: id, input, expected, cluster, metadata; any other line is an input itself, as text.
 *
 * The run reads a line of JSON for each case, which is an input and the number of a repetition:
 *
 *	{"id":"in-01","k":1,"input":…,"expected":…,"cluster":…,"metadata":…,"from":{"VARIANT":"RUN"},
 *	 "printed":{"VARIANT":RESULT},"checked":{"VARIANT":{"CHECK":"RUN"}}}
 *
 * An input without an id has the first digits of its digest as one. from: the runs of an earlier evaluation, which
 * --reuse=RUN forks, and whose results, printed, --report --check checks; checked: those of its checks, which --reuse forks.
 */
#ifndef AWF_EVAL_INPUTS_H
#define AWF_EVAL_INPUTS_H

#include "base/buffer.h"
#include "base/error.h"
#include "eval/outputs.h"
#include "eval/results.h"

/* Reads the file ("-": stdin), and appends the lines of all cases; the first repetition of all inputs comes
 * first. earlier: of --reuse=RUN; NULL. */
int eval_inputs_read(const char *path, long long repetitions, const struct eval_results *earlier,
    struct buffer *cases, struct error *err);
/* Takes the cases of an evaluation that has run, as it has read them. judges: the one from which checks take over what they
 * can; NULL. */
int eval_inputs_take(const struct eval_results *of, const struct buffer *lines, const struct eval_outputs *outputs,
    const struct eval_results *judges, struct buffer *cases, struct error *err);

#endif
