/* Phases as sub-steps: where the work stands, what a model is told of that, the two events of
 * each, and what is recorded of them already. */
#include "agent/phases.h"

#include <stdlib.h>
#include <string.h>

#include "agent/loop.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/memory.h"
#include "json/writer.h"
#include "transcript/event_keys.h"

/* What is recorded of a phase: its latest start, and the end of that; NULL: none. */
struct recorded_phase {
	const struct recalled_event *start, *end;
};

bool
phases_given(const struct loop *l)
{
	return l->turns->member->agent.phases.count > 0;
}

const struct phase *
phases_current(const struct loop *l)
{
	return &l->turns->member->agent.phases.list[l->phases.current];
}

bool
phases_at_last(const struct loop *l)
{
	return l->phases.current + 1 == l->turns->member->agent.phases.count;
}

const char *
phases_way_out(const struct loop *l)
{
	return phases_at_last(l) ? PHASE_FINISH : PHASE_CONTINUE;
}

void
phases_tell(const struct loop *l, struct buffer *out)
{
	const struct phases *p = &l->phases;

	buffer_format(out, "The work has %zu phases, and you are given one at a time. "
	    "This is phase %zu, \"%s\":\n\n", l->turns->member->agent.phases.count, p->current + 1,
	    phases_current(l)->name);
	buffer_text(out, phases_current(l)->instructions);
	buffer_format(out, "\n\nWhen it is done, call %s with the token \"%s\" and, as output, %s.",
	    phases_way_out(l), p->tokens[p->current], phases_at_last(l) ? "the result of the work" :
	    "what came of the phase");
}

/* The phase that begins or ends with the event, from 1; 0: none does. */
static size_t
phase_number(const struct recalled_event *e)
{
	long long number;

	return span_integer(span_path(e->view.payload, KEY_PHASE, KEY_NUMBER, NULL), &number) &&
	    number > 0 ? (size_t)number : 0;
}

static struct recorded_phase
find_recorded(const struct recalled *r, size_t phase)
{
	struct recorded_phase found = { NULL, NULL };

	for (size_t i = 0; r != NULL && i < r->event_count; i++) {
		const struct recalled_event *e = &r->events[i];

		if (phase_number(e) != phase + 1)
			continue;
		if (event_type_starts_call(e->view.type))
			found = (struct recorded_phase){ e, NULL };
		else
			found.end = e;
	}
	return found;
}

const struct recalled_event *
phases_prompt(const struct loop *l)
{
	const struct recalled *r = l->turns->recalled;
	const struct recalled_event *found = NULL;

	for (size_t i = 0; phases_given(l) && found == NULL && i < r->event_count; i++)
		if (event_type_starts_call(r->events[i].view.type) &&
		    phase_number(&r->events[i]) == l->phases.current + 1)
			found = recalled_effect(r, r->events[i].id, EVENT_MESSAGE_USER);
	return found;
}

static bool
succeeded(const struct recorded_phase *recorded)
{
	struct error error = ERROR_INIT;

	return recorded->end != NULL && !recalled_error(recorded->end, &error);
}

void
phases_recorded_token(const struct loop *l, char token[PHASE_TOKEN_SIZE])
{
	struct recorded_phase first = find_recorded(l->turns->recalled, 0);

	if (first.start == NULL || !span_copy(span_path(first.start->view.payload, KEY_PHASE,
	    KEY_TOKEN, NULL), token, PHASE_TOKEN_SIZE))
		token[0] = '\0';
}

/* In a replay the event has its recorded id, or one that depends on nothing else. */
static void
name_event(struct loop *l, const struct recalled_event *recorded, enum event_type type)
{
	struct call *call = &l->phases.call;
	char id[ID_SIZE], *text;

	if (!recalled_replays(l->turns->recalled))
		return;
	if (recorded != NULL) {
		call_name_next(call, recorded->id);
		return;
	}
	text = memory_format("%s %s %s", call->transcript->run_id, call->id, event_type_name(type));
	call_name_next(call, id_derive(text, id));
	free(text);
}

/* Puts the call of the phase in the place of the step's. Its first event follows the end
 * of the phase before it, if that is of this attempt, else the start of the step's call. */
static void
take_place(struct loop *l)
{
	struct phases *p = &l->phases;
	const char *name = l->turns->member->agent.phases.list[p->current].name;
	struct buffer links = p->call.links;

	if (p->outer == NULL) {
		p->outer = l->turns->call;
		p->outer_started = l->turns->started;
		p->outer_environment = l->turns->environment;
	}
	free(p->path);
	free(p->id);
	p->path = memory_format("%s.%s", p->outer->path, name);
	p->id = memory_format("%s/%s:0:0", p->outer->id, name);
	p->call = (struct call){ .transcript = p->outer->transcript, .name = name,
	    .path = p->path, .id = p->id, .links = links };
	buffer_clear(&p->call.links);
	if (p->before_is_new)
		memcpy(p->call.last, p->before, ID_SIZE);
	else if (p->before[0] != '\0')
		call_follow_recorded(&p->call, p->outer_started, p->before);
	else
		memcpy(p->call.last, p->outer_started, ID_SIZE);
	l->turns->call = &p->call;
	l->turns->started = p->started;
}

/* Begins the payload of one of a phase's two events. */
static void
begin_event(const struct loop *l, struct writer *w, struct buffer *payload)
{
	writer_begin(w, payload);
	writer_object(w);
	writer_member_string(w, KEY_NAME, l->phases.call.name);
	writer_member_string(w, KEY_KIND, "phase");
	writer_member_string(w, KEY_CALL, l->phases.id);
}

/* Which phase it is; the token is told at its start. */
static void
write_phase(const struct loop *l, struct writer *w, const char *token)
{
	writer_key(w, KEY_PHASE);
	writer_object(w);
	writer_member_integer(w, KEY_NUMBER, (int64_t)l->phases.current + 1);
	writer_member_integer(w, KEY_OF, (int64_t)l->turns->member->agent.phases.count);
	writer_member_string(w, KEY_TOKEN, token);
	writer_object_end(w);
}

static int
record_start(struct loop *l, const struct recalled_event *recorded, struct error *err)
{
	struct phases *p = &l->phases;
	const struct agent *agent = &l->turns->member->agent;
	struct buffer payload = BUFFER_INIT;
	char sha256[DIGEST_SIZE];
	struct writer w;
	int failed;

	begin_event(l, &w, &payload);
	writer_member_integer(&w, KEY_ATTEMPT, l->turns->attempt);
	writer_member_string(&w, KEY_INPUT_SHA256,
	    digest_sha256(p->input.data, p->input.len, sha256));
	writer_member_buffer(&w, KEY_INPUT, &p->input);
	writer_member_string(&w, KEY_AGENT, agent->name);
	writer_member_string(&w, KEY_PROVIDER, agent->provider);
	writer_member_string(&w, KEY_MODEL, agent->model);
	write_phase(l, &w, p->tokens[p->current]);
	if (recorded != NULL && !recalled_replays(l->turns->recalled))
		writer_member_string(&w, KEY_CLAIMS, recorded->id);
	writer_object_end(&w);
	name_event(l, recorded, EVENT_STEP_STARTED);
	failed = call_event(&p->call, EVENT_STEP_STARTED, NULL, &payload, p->started, err);
	buffer_free(&payload);
	return failed;
}

int
phases_start(struct loop *l, struct error *err)
{
	struct phases *p = &l->phases;
	struct recorded_phase recorded = find_recorded(l->turns->recalled, p->current);

	take_place(l);
	p->begun = clock_monotonic();
	p->silent = !recalled_replays(l->turns->recalled) && succeeded(&recorded);
	if (p->silent)
		memcpy(p->started, recorded.start->id, ID_SIZE);
	else if (record_start(l, recorded.start, err) == -1)
		return -1;
	p->open = true;
	/* What tools run in the phase finds out here where it is. */
	environment_free(&p->environment);
	environment_copy(&p->environment, p->outer_environment);
	environment_set(&p->environment, "AWF_CALL", p->id);
	environment_set(&p->environment, "AWF_PATH", p->path);
	environment_set(&p->environment, "AWF_PARENT", p->started);
	l->turns->environment = &p->environment;
	return 0;
}

static int
record_end(struct loop *l, const struct recalled_event *recorded, const struct error *why,
    struct error *err)
{
	struct phases *p = &l->phases;
	struct buffer payload = BUFFER_INIT;
	struct writer w;
	int failed;

	begin_event(l, &w, &payload);
	if (why != NULL)
		call_write_error(&w, "error", why);
	else
		writer_member_buffer(&w, KEY_RESULT, &p->output);
	writer_member_integer(&w, KEY_DURATION_MS, clock_monotonic() - p->begun);
	write_phase(l, &w, NULL);
	writer_object_end(&w);
	name_event(l, recorded, EVENT_STEP_COMPLETED);
	failed = call_event(&p->call, EVENT_STEP_COMPLETED, NULL, &payload, p->before, err);
	if (failed == 0)
		failed = call_sync(&p->call, err);
	buffer_free(&payload);
	return failed;
}

int
phases_end(struct loop *l, const struct error *why, struct error *err)
{
	struct phases *p = &l->phases;
	struct recorded_phase recorded = find_recorded(l->turns->recalled, p->current);

	p->open = false;
	p->before_is_new = !p->silent;
	if (!p->silent)
		return record_end(l, recorded.end, why, err);
	memcpy(p->before, recorded.end->id, ID_SIZE);
	return 0;
}

int
phases_leave(struct loop *l, const struct error *why, struct error *err)
{
	struct phases *p = &l->phases;
	int failed = 0;

	if (p->outer == NULL)
		return 0;
	if (p->open && why == NULL)
		buffer_append(&p->output, l->turns->result.data, l->turns->result.len);
	if (p->open && !p->silent)
		failed = phases_end(l, why, err);
	l->turns->call = p->outer;
	l->turns->started = p->outer_started;
	l->turns->environment = p->outer_environment;
	call_follow_recorded(p->outer, p->outer_started, p->before);
	if (p->before[0] == '\0')
		buffer_clear(&p->outer->links);
	return failed;
}
