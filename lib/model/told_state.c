/* Implements the table in the header. */
#include "model/told_state.h"

#include <string.h>

#include "base/error.h"
#include "model/model.h"
#include "transcript/event_keys.h"
#include "transcript/filter.h"

#define BOLD "\033[1m"
#define RED "\033[31m"
#define GREEN "\033[32m"
#define YELLOW "\033[33m"
#define BLUE "\033[34m"
#define CYAN "\033[36m"

const struct view_word view_words[VIEW_SAYINGS] = {
	[VIEW_STARTED] = { "started", "▸", BOLD },
	[VIEW_SUCCESS] = { "success", "✓", GREEN },
	[VIEW_DONE] = { "done", "✓", GREEN },
	[VIEW_FAILED] = { "failed", "✗", RED },
	[VIEW_CANCELLED] = { "cancelled", "■", YELLOW },
	[VIEW_TIMEOUT] = { "timeout", "✗", RED },
	[VIEW_DIED] = { "died", "?", RED },
	[VIEW_SKIPPED] = { "skipped", "–", YELLOW },
	[VIEW_CLOSED] = { "closed", "–", YELLOW },
	[VIEW_REUSED] = { "reused", "=", GREEN },
	[VIEW_WAITING] = { "waiting", "…", YELLOW },
	[VIEW_RETRY] = { "retry", "↻", YELLOW },
	[VIEW_USER] = { "user", "»", BLUE },
	[VIEW_ASSISTANT] = { "assistant", "«", "" },
	[VIEW_CALL] = { "call", "→", CYAN },
	[VIEW_RESULT] = { "result", "←", CYAN },
	[VIEW_RUNNING] = { "running", "▸", BOLD },
	[VIEW_UNFINISHED] = { "unfinished", "?", RED },
};

const char *
told_state_status(const char *ended, bool alive)
{
	return *ended != '\0' ? ended : view_words[alive ? VIEW_RUNNING : VIEW_DIED].text;
}

bool
told_state_only_waited(const struct model *m)
{
	bool waits = false;

	for (const struct model_call *c = m->first_of_attempt; c != NULL; c = c->next) {
		const struct model_call *inside = c->first_inside;

		while (inside != NULL && inside->state != CALL_OPEN)
			inside = inside->beside;
		if (c->state != CALL_OPEN || inside != NULL)
			continue;
		if (c->asks == WAITING_NOTHING)
			return false;
		waits = true;
	}
	return waits;
}

enum view_saying
told_state_of_run(const char *status)
{
	static const enum view_saying states[] = { VIEW_SUCCESS, VIEW_RUNNING, VIEW_WAITING,
		VIEW_CANCELLED, VIEW_TIMEOUT, VIEW_DIED };

	for (size_t i = 0; i < sizeof states / sizeof *states; i++)
		if (strcmp(status, view_words[states[i]].text) == 0)
			return states[i];
	return VIEW_FAILED;
}

bool
told_state_asks(enum view_saying run)
{
	return run == VIEW_RUNNING || run == VIEW_WAITING;
}

enum view_saying
told_state_within(enum view_saying ended, enum view_saying attempt)
{
	if ((ended == VIEW_RUNNING && attempt != VIEW_RUNNING) ||
	    (ended == VIEW_WAITING && !told_state_asks(attempt)))
		return VIEW_UNFINISHED;
	return ended;
}

static enum view_saying
state_of_error(enum error_code code)
{
	switch (code) {
	case ERROR_WAITING:
		return VIEW_WAITING;
	case ERROR_CANCELLED:
		return VIEW_CANCELLED;
	case ERROR_DOWNSTREAM_CLOSED:
		return VIEW_CLOSED;
	default:
		return VIEW_FAILED;
	}
}

enum view_saying
told_state_of_end(const struct event_view *event)
{
	struct span payload = event->payload, error = span_member(payload, KEY_ERROR);
	struct span skipped = span_member(payload, KEY_SKIPPED);
	char text[32];

	if (event->type == EVENT_RUN_COMPLETED)
		return span_copy(span_member(payload, KEY_STATUS), text, sizeof text) ?
		    told_state_of_run(text) : VIEW_FAILED;
	if (event->type == EVENT_STEP_WAITING)
		return VIEW_WAITING;
	if (member_set(skipped))
		return span_is(skipped, "upstream_waiting") ? VIEW_WAITING : VIEW_SKIPPED;
	if (!member_set(error))
		return member_set(span_member(payload, KEY_REUSED_FROM)) ? VIEW_REUSED : VIEW_DONE;
	return span_copy(span_member(error, KEY_CODE), text, sizeof text) ?
	    state_of_error(error_from_name(text, strlen(text))) : VIEW_FAILED;
}

enum view_saying
told_state_of_call(const struct model_call *c)
{
	switch (c->state) {
	case CALL_OPEN:
		return c->asks != WAITING_NOTHING && !c->decided ? VIEW_WAITING : VIEW_RUNNING;
	case CALL_SUCCEEDED:
		return c->reused ? VIEW_REUSED : VIEW_DONE;
	case CALL_SKIPPED:
		return c->behind ? VIEW_WAITING : VIEW_SKIPPED;
	default:
		return state_of_error(c->code);
	}
}
