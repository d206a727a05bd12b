/*
 * One number says who is asked, 0 the agent's own model. While an agent has the conversation
 * it only grows, and each answer that is not of the first records it, so that a recorded
 * conversation finds its way again.
 */
#include "agent/loop.h"

const char *
loop_model(const struct loop *l)
{
	const struct agent *agent = &l->turns->member->agent;

	return l->fallen == 0 ? agent->model : agent->fallback.list[l->fallen - 1].model;
}

const char *
loop_provider_name(const struct loop *l)
{
	const struct agent *agent = &l->turns->member->agent;

	return l->fallen == 0 ? agent->provider : agent->fallback.list[l->fallen - 1].provider;
}

struct provider *
loop_provider(const struct loop *l)
{
	const struct member *m = l->turns->member;

	return l->fallen == 0 ? m->provider : m->fallbacks[l->fallen - 1];
}

/* What a session knew goes before the rest, for who has none. */
static void
leave_session(struct loop *l)
{
	struct span before = l->turns->before;
	struct buffer messages = BUFFER_INIT;

	if (loop_session(l) == NULL || before.len == 0)
		return;
	buffer_append(&messages, before.at, before.len);
	buffer_byte(&messages, ',');
	buffer_append(&messages, l->messages.data, l->messages.len);
	buffer_free(&l->messages);
	l->messages = messages;
}

void
loop_fall_back(struct loop *l, size_t number, struct request *request)
{
	leave_session(l);
	l->fallen = number;
	l->change.model = span_of(NULL, 0); /* it was one of the other provider */
	loop_forget_asked(l);
	buffer_clear(&request->text);
	loop_request(l, request);
}

int
loop_recall_fallback(struct loop *l, const struct recalled_event *answer,
    struct request *request, struct error *err)
{
	const struct agent *agent = &l->turns->member->agent;
	long long number;

	if (!span_integer(span_member(answer->view.payload, "fallback"), &number) ||
	    number <= (long long)l->fallen)
		return 0;
	if (number > (long long)agent->fallback.count)
		return error_set(err, ERROR_DIVERGENCE, agent->name, "turn %lld: the recorded answer "
		    "is of fallback %lld, and there are %zu", (long long)l->turn, number,
		    agent->fallback.count);
	loop_fall_back(l, (size_t)number, request);
	return 0;
}
