/*
 * What the ways to run a stream share: stream.c makes one call after the other and chooses
 * among them, stream_join.c makes one of all items (-s), stream_parallel.c several at a time
 * (-j). The items come from stream_ahead.c; what becomes of one, of its lines and of the
 * input's end is in stream_parts.c, which needs none of the others.
 */
#ifndef AWF_STEP_STREAM_PARTS_H
#define AWF_STEP_STREAM_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "step/stream.h"

/* Whether no input at all is a fault here, and that fault. */
bool stream_lacks_input(const struct stream *s);
int stream_no_input(const struct stream *s, struct error *err);
/* What is wrong with the end of an input that could be read, if anything. */
bool stream_wrong_end(const struct stream *s, struct error *why);
/* Records a fault of the input itself as a call that did not run; item NULL: null.
 * stream_fail_read() takes what the reader refused, stream_judge_end() looks at a
 * whole input. -1: the machine failed. */
int stream_fail_input(struct stream *s, const struct item *item, const struct error *why,
    struct error *err);
int stream_fail_read(struct stream *s, const struct error *wrong, struct error *err);
int stream_judge_end(struct stream *s, struct error *err);

/* stream_ahead.c: the next item that is to be called for, and its index; step.compared is
 * set for it. stream_take() does not wait: 0 also if there is none yet, so long as not
 * stream_taken_all(). Else as state_reader_next(). */
int stream_take(struct stream *s, struct item *item, int64_t *index, struct error *wrong);
int stream_next(struct stream *s, struct item *item, int64_t *index, struct error *wrong);
bool stream_taken_all(const struct stream *s);
void stream_forget_ahead(struct stream *s);

/* The call of an item, if the gate takes it; stream_call_item() also delivers its
 * lines. */
int stream_call_gated(struct stream *s, const struct item *item, int64_t index,
    struct step_result *result, struct error *err);
int stream_call_item(struct stream *s, const struct item *item, int64_t index,
    struct step_result *result, struct error *err);

/* The output: reports, counts and writes a result. */
int stream_deliver(struct stream *s, const struct step_result *result, struct error *err);
/* Whether no further call may begin. */
bool stream_must_stop(struct stream *s, const struct step_result *result);

int stream_run_joined(struct stream *s, struct error *err);
int stream_run_parallel(struct stream *s, struct error *err);
/* What would be done for an item (--dry-run), for all of them joined. */
int stream_describe_item(struct stream *s, const struct item *item, struct buffer *out,
    struct error *err);
int stream_describe_joined(struct stream *s, struct buffer *out, struct error *err);

#endif
