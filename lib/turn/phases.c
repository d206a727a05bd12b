/*
 * Two control tools end phases, and both are offered in every phase, so that a model that calls the
 * wrong one is told so, instead of being told that the tool is unknown. Answering a call checks the
 * token; settling it moves to the next phase: a recorded result is settled without being answered,
 * and contains the next token. Tokens are compared in constant time. Like sub-steps, phases have
 * two events each; those that are recorded already are found by the phases' numbers.
 */
#include "turn/phases.h"

#include <sodium/utils.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "json/writer.h"
#include "storage/traceparent.h"
#include "transcript/event_keys.h"
#include "turn/loop.h"
#include "turn/toolrun.h"

/* ---- the current phase ---- */

bool
phases_given(const struct loop *l)
{
	return l->turns->member->agent.phases.count > 0;
}

static const struct phase *
phases_current(const struct loop *l)
{
	INVARIANT(l->phases.current < l->turns->member->agent.phases.count);
	return &l->turns->member->agent.phases.list[l->phases.current];
}

static bool
at_last(const struct loop *l)
{
	return l->phases.current + 1 == l->turns->member->agent.phases.count;
}

/* The tool that ends the current phase. */
static const char *
way_out(const struct loop *l)
{
	return at_last(l) ? PHASE_FINISH : PHASE_CONTINUE;
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
	    way_out(l), p->tokens[p->current], at_last(l) ? "the result of the work" :
	    "what came of the phase");
}

/* The tools of a phase, without the tool that ends it and those that the call may not have. */
static void
offer_tools(const struct loop *l, size_t number, struct offer *offer)
{
	const struct member *m = l->turns->member;
	char *const *names = phase_tools(&m->agent, number);

	for (char *const *name = names; *name != NULL; name++)
		for (size_t i = 0; i < m->tool_count; i++)
			if (strcmp(m->tools[i].name, *name) == 0) {
				offer_add(offer, &m->tools[i]);
				break;
			}
	mcp_tools_offer(&l->tools.mcp, m, names, names != m->agent.tools, offer);
}

void
phases_offer(struct loop *l)
{
	offer_clear(&l->tools.offer);
	offer_clear(&l->tools.withheld);
	offer_tools(l, l->phases.current, &l->tools.offer);
	mcp_tools_withhold(&l->tools.mcp, &l->tools.offer, &l->tools.withheld);
	/* Both tools that end phases are offered in every phase: a model that calls the wrong
	 * one is told so. */
	if (l->turns->member->agent.phases.count > 1)
		offer_add_control(&l->tools.offer, &l->phases.proceed);
	offer_add_control(&l->tools.offer, &l->phases.finish);
}

/* ---- ending a phase ---- */

static void
token_new(char token[PHASE_TOKEN_SIZE])
{
	unsigned char bytes[(PHASE_TOKEN_SIZE - 1) / 2];

	random_bytes(bytes, sizeof bytes);
	sodium_bin2hex(token, PHASE_TOKEN_SIZE, bytes, sizeof bytes);
}

/* Takes the same time wherever the texts differ. */
static bool
token_is(struct span given, const char *token)
{
	return span_type(given) == 's' && given.len == PHASE_TOKEN_SIZE + 1 &&
	    sodium_memcmp(token, given.at + 1, PHASE_TOKEN_SIZE - 1) == 0;
}

/* The description of a phase, for the model, in a result. */
static void
phases_write_result(const struct loop *l, size_t number, const char *token, struct buffer *out)
{
	const struct phases_list *phases = &l->turns->member->agent.phases;
	struct offer tools = { .count = 0 };
	struct writer w;

	writer_begin(&w, out);
	writer_object(&w);
	writer_member_bool(&w, "isComplete", false);
	writer_member_string(&w, "phase", phases->list[number].name);
	writer_member_integer(&w, "number", (int64_t)number + 1);
	writer_member_integer(&w, "of", (int64_t)phases->count);
	writer_member_string(&w, "instructions", phases->list[number].instructions);
	writer_member_string(&w, "token", token);
	writer_member_array(&w, "tools");
	offer_tools(l, number, &tools);
	for (size_t i = 0; i < tools.count; i++)
		writer_string(&w, tools.list[i].tool->name);
	offer_clear(&tools);
	writer_array_end(&w);
	writer_member_string(&w, "next",
	    number + 1 == phases->count ? PHASE_FINISH : PHASE_CONTINUE);
	writer_object_end(&w);
}

/* What is wrong with the token; NULL: nothing. */
static const char *
wrong_token(const struct phases *p, struct span given)
{
	if (given.at == NULL)
		return "the token of the phase is missing";
	if (token_is(given, p->tokens[p->current]))
		return NULL;
	for (size_t i = 0; i < p->current; i++)
		if (token_is(given, p->tokens[i]))
			return "the token is that of a phase that has ended";
	return "the token is not that of the phase";
}

/* The result of a call that is to end the phase. If it does not, the result tells the model why,
 * and describes the phase again. */
static int
phases_answer(void *context, struct tool_run *run, struct error *err)
{
	struct loop *l = context;
	struct phases *p = &l->phases;
	const struct agent *agent = &l->turns->member->agent;
	struct span output = span_member(run->input, "output"), recorded = SPAN_NONE;
	const char *wrong = wrong_token(p, span_member(run->input, "token"));
	enum error_code code = ERROR_BLOCKED;
	struct buffer why = BUFFER_INIT;

	(void)err;
	if (p->move != PHASE_STAYS) {
		error_set(&run->error, ERROR_BLOCKED, NULL, "a call before this one has ended the phase");
		return 0;
	}
	if (wrong == NULL && strcmp(run->name, way_out(l)) != 0) {
		wrong = at_last(l) ? "this is the last phase, which " PHASE_FINISH " ends" :
		    "this is not the last phase: " PHASE_CONTINUE " ends it";
	} else if (wrong == NULL && output.at == NULL) {
		code = ERROR_SCHEMA;
		wrong = "the argument 'output' is missing";
	} else if (wrong == NULL && at_last(l) &&
	    output_schema_check(&agent->output, output, &why) != 0) {
		code = ERROR_SCHEMA;
		wrong = why.data;
	}

	if (wrong != NULL) {
		error_set(&run->error, code, NULL, "%s; phase %zu of %zu, '%s', goes on", wrong,
		    p->current + 1, agent->phases.count, phases_current(l)->name);
		phases_write_result(l, p->current, p->tokens[p->current], &run->output);
	} else if (at_last(l)) {
		buffer_text(&run->output, "{\"isComplete\":true}");
	} else {
		/* In a replay the next token is the recorded one. */
		if (run->recorded != NULL)
			recorded = span_path(run->recorded->view.payload, KEY_OUTPUT, KEY_TOKEN, NULL);
		if (!span_copy(recorded, p->next, sizeof p->next))
			token_new(p->next);
		phases_write_result(l, p->current + 1, p->next, &run->output);
	}
	buffer_free(&why);
	return 0;
}

/* The next token is read from a recorded result too. */
static void
phases_settle(void *context, const struct tool_run *run)
{
	struct loop *l = context;
	struct phases *p = &l->phases;

	if (run->error.code != ERROR_NONE || p->move != PHASE_STAYS)
		return;
	p->move = at_last(l) ? PHASE_FINISHES : PHASE_PROCEEDS;
	scan_minify(span_member(run->input, "output"), &p->output);
	if (!at_last(l) && !span_copy(span_member(span_of(buffer_string(&run->output),
	    run->output.len), "token"), p->next, sizeof p->next))
		token_new(p->next);
}

static int
make_control(struct loop *l, struct control *c, const char *name, const char *description,
    struct error *err)
{
	static const char schema[] = "{\"type\":\"object\",\"properties\":{"
	    "\"token\":{\"type\":\"string\",\"description\":\"The token of the phase.\"},"
	    "\"output\":{\"description\":\"What came of the phase.\"}},"
	    "\"required\":[\"token\",\"output\"]}";

	if (control_begin(c, name, description, schema, err) == -1)
		return -1;
	c->judges = true; /* a missing token is refused like a wrong one */
	c->answer = phases_answer;
	c->settle = phases_settle;
	c->context = l;
	return 0;
}

/* ---- what is recorded of phases ---- */

/* Of a phase: its latest start, and the end of that; NULL: none. */
struct recorded_phase {
	const struct recalled_event *start, *end;
};

/* The number of the phase that begins or ends with the event, from 1; 0: none. */
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

/* ---- the events of a phase ---- */

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

/* Writes which phase it is; the token is written at its start. */
static void
write_phase(const struct loop *l, struct writer *w, const char *token)
{
	writer_member_object(w, KEY_PHASE);
	writer_member_integer(w, KEY_NUMBER, (int64_t)l->phases.current + 1);
	writer_member_integer(w, KEY_OF, (int64_t)l->turns->member->agent.phases.count);
	writer_member_string(w, KEY_TOKEN, token);
	writer_object_end(w);
}

/* Ends the payload, and records it. In a replay the event has its recorded id, or one that is
 * derived only from the recording. */
static int
end_event(struct loop *l, struct writer *w, const struct recalled_event *recorded,
    enum event_type type, char id[ID_SIZE], struct error *err)
{
	struct call *call = &l->phases.call;
	int failed;

	writer_object_end(w);
	if (recalled_replays(l->turns->recalled) && recorded != NULL) {
		call_name_next(call, recorded->id);
	} else if (recalled_replays(l->turns->recalled)) {
		char derived[ID_SIZE], *text = memory_format("%s %s %s", call->transcript->run_id, call->id,
		    event_type_name(type));

		call_name_next(call, id_derive(text, derived));
		free(text);
	}
	failed = call_event(call, type, NULL, w->out, id, err);
	buffer_free(w->out);
	return failed;
}

int
phases_start(struct loop *l, struct error *err)
{
	struct phases *p = &l->phases;
	struct turns *t = l->turns;
	const struct agent *agent = &t->member->agent;
	const char *name = phases_current(l)->name;
	struct recorded_phase recorded = find_recorded(t->recalled, p->current);
	struct buffer links = p->call.links, payload = BUFFER_INIT;
	struct error error = ERROR_INIT;
	char sha256[DIGEST_SIZE];
	struct writer w;

	/* The phase's call replaces the step's. Its first event follows the end of the phase
	 * before it if that is of this attempt, otherwise the start of the step's call. */
	if (p->outer == NULL) {
		p->outer = t->call;
		p->outer_started = t->started;
		p->outer_environment = t->environment;
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
	t->call = &p->call;
	t->started = p->started;

	p->begun = clock_monotonic();
	p->silent = !recalled_replays(t->recalled) && recorded.end != NULL &&
	    !recalled_error(recorded.end, &error);
	if (p->silent) {
		memcpy(p->started, recorded.start->id, ID_SIZE);
	} else {
		begin_event(l, &w, &payload);
		writer_member_integer(&w, KEY_ATTEMPT, t->attempt);
		writer_member_string(&w, KEY_INPUT_SHA256,
		    digest_sha256(p->input.data, p->input.len, sha256));
		writer_member_buffer(&w, KEY_INPUT, &p->input);
		writer_member_string(&w, KEY_AGENT, agent->name);
		writer_member_string(&w, KEY_PROVIDER, agent->provider);
		writer_member_string(&w, KEY_MODEL, agent->model);
		write_phase(l, &w, p->tokens[p->current]);
		if (recorded.start != NULL && !recalled_replays(t->recalled))
			writer_member_string(&w, KEY_CLAIMS, recorded.start->id);
		if (end_event(l, &w, recorded.start, EVENT_STEP_STARTED, p->started, err) == -1)
			return -1;
	}
	p->open = true;

	/* Tools that run in the phase learn from the environment which phase it is. */
	environment_free(&p->environment);
	environment_copy(&p->environment, p->outer_environment);
	environment_set(&p->environment, "AWF_CALL", p->id);
	environment_set(&p->environment, "AWF_PATH", p->path);
	environment_set(&p->environment, "AWF_PARENT", p->started);
	traceparent_enter(&p->environment, p->started);
	t->environment = &p->environment;
	return 0;
}

/* why NULL: the phase produced its output. */
static int
end_phase(struct loop *l, const struct error *why, struct error *err)
{
	struct phases *p = &l->phases;
	struct recorded_phase recorded = find_recorded(l->turns->recalled, p->current);
	struct buffer payload = BUFFER_INIT;
	struct writer w;

	INVARIANT(p->open && l->turns->call == &p->call && p->outer != NULL);
	p->open = false;
	p->before_is_new = !p->silent;
	if (p->silent) {
		memcpy(p->before, recorded.end->id, ID_SIZE);
		return 0;
	}
	begin_event(l, &w, &payload);
	if (why != NULL)
		call_write_error(&w, KEY_ERROR, why);
	else
		writer_member_buffer(&w, KEY_RESULT, &p->output);
	writer_member_integer(&w, KEY_DURATION_MS, clock_monotonic() - p->begun);
	write_phase(l, &w, NULL);
	if (end_event(l, &w, recorded.end, EVENT_STEP_COMPLETED, p->before, err) == -1)
		return -1;
	return call_sync(&p->call, err);
}

/* ---- the conversation ---- */

int
phases_begin(struct loop *l, struct error *err)
{
	struct phases *p = &l->phases;
	struct recorded_phase first = find_recorded(l->turns->recalled, 0);

	p->tokens = memory_zero(l->turns->member->agent.phases.count, sizeof *p->tokens);
	if (first.start == NULL || !span_copy(span_path(first.start->view.payload, KEY_PHASE,
	    KEY_TOKEN, NULL), p->tokens[0], PHASE_TOKEN_SIZE) || p->tokens[0][0] == '\0')
		token_new(p->tokens[0]);
	json_quote(&p->input, l->turns->prompt.at, l->turns->prompt.len);
	if (make_control(l, &p->proceed, PHASE_CONTINUE, "Ends the phase of the work that you are "
	    "in and gives you the next: its instructions, its token and its tools.", err) == -1)
		return -1;
	return make_control(l, &p->finish, PHASE_FINISH,
	    "Ends the last phase, and the work with it.", err);
}

int
phases_remind(struct loop *l, struct buffer *text, struct error *err)
{
	struct phases *p = &l->phases;

	if (p->reminded)
		return error_set(err, ERROR_INCOMPLETE, l->turns->member->agent.name,
		    "phase %zu of %zu, '%s', was not ended: two answers in a row called no tool",
		    p->current + 1, l->turns->member->agent.phases.count, phases_current(l)->name);
	p->reminded = true;
	buffer_format(text, "The work is not done: nothing but a call of %s ends the phase.\n\n",
	    way_out(l));
	phases_tell(l, text);
	return 0;
}

int
phases_check_limit(const struct loop *l, struct error *err)
{
	const struct phase *phase = phases_given(l) ? phases_current(l) : NULL;

	if (phase == NULL || phase->max_turns == 0 ||
	    l->turn.number - l->phases.first_turn < phase->max_turns)
		return 0;
	return error_set(err, ERROR_MAX_TURNS, l->turns->member->agent.name,
	    "phase '%s' reached its max_turns (%lld) without an end", phase->name,
	    (long long)phase->max_turns);
}

int
phases_move(struct loop *l, struct error *err)
{
	struct phases *p = &l->phases;

	p->reminded = false;
	if (p->move == PHASE_STAYS)
		return 0;
	if (end_phase(l, NULL, err) == -1)
		return -1;
	if (p->move == PHASE_FINISHES) {
		buffer_append(&l->turns->outcome.result, p->output.data, p->output.len);
		return 1;
	}
	INVARIANT(p->move == PHASE_PROCEEDS && !at_last(l) && strlen(p->next) == PHASE_TOKEN_SIZE - 1);
	memcpy(p->tokens[++p->current], p->next, sizeof p->next);
	p->first_turn = l->turn.number + 1; /* the current turn is the last of the previous phase */
	p->move = PHASE_STAYS;
	buffer_free(&p->input);
	p->input = p->output;
	p->output = (struct buffer)BUFFER_INIT;
	phases_offer(l);
	return phases_start(l, err);
}

int
phases_leave(struct loop *l, const struct error *why, struct error *err)
{
	struct phases *p = &l->phases;
	int failed = 0;

	if (p->outer == NULL)
		return 0;
	if (p->open && why == NULL)
		buffer_append(&p->output, l->turns->outcome.result.data, l->turns->outcome.result.len);
	if (p->open && !p->silent)
		failed = end_phase(l, why, err);
	l->turns->call = p->outer;
	l->turns->started = p->outer_started;
	l->turns->environment = p->outer_environment;
	call_follow_recorded(p->outer, p->outer_started, p->before);
	if (p->before[0] == '\0')
		buffer_clear(&p->outer->links);
	return failed;
}

void
phases_free(struct phases *p)
{
	control_free(&p->proceed);
	control_free(&p->finish);
	free(p->tokens);
	buffer_free(&p->input);
	buffer_free(&p->output);
	buffer_free(&p->call.links);
	environment_free(&p->environment);
	free(p->path);
	free(p->id);
	memset(p, 0, sizeof *p);
}
