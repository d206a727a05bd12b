/* What all projections ask about an event and its call. */
#include "projection/projection_placed.h"

#include "transcript/event_keys.h"
#include "transcript/filter.h"

bool
placed_by_agent(const struct placed *at)
{
	const struct model_step *step = at->call ? at->call->step : NULL;

	return step && (step->agent || step->provider || step->model);
}

bool
placed_whole(const struct placed *at)
{
	return !span_true(span_member(at->event->payload, KEY_PARTIAL));
}

const char *
call_actor(const struct model_call *call)
{
	return call->step->agent ? call->step->agent : call->step->name;
}

const char *
placed_actor(const struct placed *at)
{
	if (at->call)
		return call_actor(at->call);
	return at->run->name ? at->run->name : "";
}

const char *
placed_status(const struct placed *at)
{
	static const char *const statuses[] = { "success", "failed", "cancelled", "timeout",
		"waiting", NULL };
	const char *status = span_one_of(span_member(at->event->payload, KEY_STATUS), statuses);

	return status ? status : "";
}

enum placed_outcome
placed_outcome_of(const struct placed *at)
{
	struct span payload = at->event->payload, error = span_member(payload, KEY_ERROR);

	if (member_set(span_member(payload, KEY_SKIPPED)))
		return PLACED_SKIPPED;
	if (!member_set(error))
		return PLACED_SUCCESS;
	return span_is(span_member(error, KEY_CODE), error_name(ERROR_WAITING)) ? PLACED_WAITING :
	    PLACED_FAILED;
}

bool
placed_failed(const struct placed *at)
{
	return placed_outcome_of(at) == PLACED_FAILED;
}

const char *
placed_outcome(const struct placed *at)
{
	switch (placed_outcome_of(at)) {
	case PLACED_SKIPPED:
		return "skipped";
	case PLACED_SUCCESS:
		return "success";
	case PLACED_WAITING:
		return "waiting";
	default:
		return "failed";
	}
}

int64_t
placed_duration(const struct placed *at)
{
	long long duration;

	if (span_integer(span_member(at->event->payload, KEY_DURATION_MS), &duration))
		return duration;
	return (at->wall - at->started) / 1000;
}
