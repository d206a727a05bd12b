/*
 * The state of a run and of its calls for every display: lists, trees, timelines, the log, the live
 * view, the web page. No other code derives a state from a status, an error and whether the run is
 * alive.
 *
 *   recorded about a run or attempt                  displayed as
 *     no end, it is alive                              running
 *     no end, it is not alive                          died; waiting, if each call that has no end
 *                                                      waited when it was killed
 *     an end                                           its status: success, failed, cancelled,
 *                                                      timeout, waiting
 *   recorded about a call
 *     no end, its attempt is running                   running
 *     no end otherwise                                 unfinished
 *     it waits for an answer, its process waits with it, or was skipped because
 *     the call before it waits: if its attempt is
 *     running or waiting                               waiting
 *     the same otherwise: it cannot be answered now    unfinished
 *     skipped for another reason                       skipped
 *     an error: cancelled                              cancelled
 *     downstream_closed                                closed
 *     any other (timeout, interrupted, lost …)         failed
 *     no error, result of an earlier attempt           reused
 *     no error otherwise                               done
 *
 * The web page has the same table (share/www/record.js), for events that arrive while it is open.
 */
#ifndef AWF_MODEL_TOLD_STATE_H
#define AWF_MODEL_TOLD_STATE_H

#include <stdbool.h>

#include "transcript/event.h"

/* How an event, a call or a run is displayed: a word, a symbol, and their colour ("": none). */
enum view_saying {
	VIEW_STARTED, VIEW_SUCCESS, VIEW_DONE, VIEW_FAILED, VIEW_CANCELLED, VIEW_TIMEOUT, VIEW_DIED,
	VIEW_SKIPPED, VIEW_CLOSED, VIEW_REUSED, VIEW_WAITING, VIEW_RETRY, VIEW_USER, VIEW_ASSISTANT,
	VIEW_CALL, VIEW_RESULT, VIEW_RUNNING, VIEW_UNFINISHED, VIEW_SAYINGS
};
struct view_word {
	const char *text, *symbol, *colour;
};
extern const struct view_word view_words[VIEW_SAYINGS];

/* Added to "waiting" for a call that was skipped because the call before it waits. */
#define VIEW_BEHIND "for the step before it"

struct model;
struct model_call;

/* The status of a run for lists. ended: the status in its last end; "" if the last attempt has
 * none. */
const char *told_state_status(const char *ended, bool alive);
/* Whether all that an attempt without an end did was wait, as far as the model of its run knows: it
 * goes on with a decision, as if it had ended as waiting. */
bool told_state_only_waited(const struct model *m);
/* How a run or attempt with this status is displayed. */
enum view_saying told_state_of_run(const char *status);
/* Whether the waiting calls of a run in this state can be answered now. In other states they are
 * asked again when the run is resumed, or the decision made since is used. */
bool told_state_asks(enum view_saying run);
/* How a call is displayed whose end alone would be displayed so (VIEW_RUNNING: it has no end), in
 * an attempt of this state. */
enum view_saying told_state_within(enum view_saying ended, enum view_saying attempt);
/* How the end of a run, a call or a tool call is displayed, by itself. */
enum view_saying told_state_of_end(const struct event_view *event);
/* The same for a call in the model of its run. */
enum view_saying told_state_of_call(const struct model_call *call);

#endif
