/*
 * The state of a run and of its calls for every display: lists, trees, timelines, the log, the
 * live view, the web page. No other code derives a state from a status, an error and whether the
 * run is alive.
 *
 *   what is recorded of a run or attempt             what is told of it
 *     no end, it is alive                              running
 *     no end, it is not                                died
 *     an end                                           its status: success, failed, cancelled,
 *                                                      timeout, waiting
 *   of a call
 *     no end, its attempt is running                   running
 *     no end otherwise                                 unfinished
 *     it waits for an answer, or is skipped as the
 *     call before it does: its attempt is running
 *     or waiting                                       waiting
 *     the same otherwise: nobody is asked              unfinished
 *     skipped otherwise                                skipped
 *     an error: cancelled                              cancelled
 *     downstream_closed                                closed
 *     any other (timeout, interrupted, lost …)         failed
 *     no error, taken over from an earlier attempt     reused
 *     no error otherwise                               done
 *
 * The page has the same table (share/www/record.js), for what comes while it is open.
 */
#ifndef AWF_MODEL_TOLD_STATE_H
#define AWF_MODEL_TOLD_STATE_H

#include <stdbool.h>

#include "transcript/event.h"

/* What is said of an event, a call or a run: the word, a symbol, and their colour ("": none). */
enum view_saying {
	VIEW_STARTED, VIEW_SUCCESS, VIEW_DONE, VIEW_FAILED, VIEW_CANCELLED, VIEW_TIMEOUT, VIEW_DIED,
	VIEW_SKIPPED, VIEW_CLOSED, VIEW_REUSED, VIEW_WAITING, VIEW_RETRY, VIEW_USER, VIEW_ASSISTANT,
	VIEW_CALL, VIEW_RESULT, VIEW_RUNNING, VIEW_UNFINISHED, VIEW_SAYINGS
};
struct view_word {
	const char *text, *symbol, *colour;
};
extern const struct view_word view_words[VIEW_SAYINGS];

/* Why what was skipped so waits. */
#define VIEW_BEHIND "for the step before it"

struct model_call;

/* The status of a run for lists: that of its last end, "" if the last attempt has none. */
const char *told_state_status(const char *ended, bool alive);
/* What is told of a run or attempt of this status. */
enum view_saying told_state_of_run(const char *status);
/* Whether what waits in a run of this state asks somebody. What has been left open otherwise is asked
 * anew, or goes by what was decided meanwhile, once the run is resumed. */
bool told_state_asks(enum view_saying run);
/* What is told of a call of which its end tells this (VIEW_RUNNING: it has none), in an attempt of
 * this state. */
enum view_saying told_state_within(enum view_saying ended, enum view_saying attempt);
/* What the end of a run, a call or a tool call tells. */
enum view_saying told_state_of_end(const struct event_view *event);
/* The same of a call in the model of its run. */
enum view_saying told_state_of_call(const struct model_call *call);

#endif
