/*
 * Two control tools end phases, and both are offered in each, so that taking the wrong one is
 * told to the model instead of being unknown. Answering checks the token, settling moves: a
 * recorded result is settled without being answered, and tells the next token by itself.
 * Tokens are compared in constant time.
 */
#include "agent/phases.h"

#include <sodium/utils.h>
#include <stdlib.h>
#include <string.h>

#include "agent/loop.h"
#include "agent/toolrun.h"
#include "base/memory.h"
#include "json/writer.h"
#include "transcript/event_keys.h"

/* The tool of that name, NULL if the call may not have it. */
static const struct tool *
loaded(const struct member *m, const char *name)
{
	for (size_t i = 0; i < m->tool_count; i++)
		if (strcmp(m->tools[i].name, name) == 0)
			return &m->tools[i];
	return NULL;
}

/* The tools of a phase, but what ends it. */
static void
offer_tools(const struct loop *l, size_t number, struct offer *offer)
{
	const struct member *m = l->turns->member;
	char *const *names = phase_tools(&m->agent, number);

	for (char *const *tool = names; *tool != NULL; tool++)
		if (loaded(m, *tool) != NULL)
			offer_add(offer, loaded(m, *tool));
	mcp_tools_offer(&l->tools.mcp, m, names, names != m->agent.tools, offer);
}

/* ---- tokens ---- */

static void
token_new(char token[PHASE_TOKEN_SIZE])
{
	unsigned char bytes[(PHASE_TOKEN_SIZE - 1) / 2];

	random_bytes(bytes, sizeof bytes);
	sodium_bin2hex(token, PHASE_TOKEN_SIZE, bytes, sizeof bytes);
}

/* Takes as long wherever it differs. */
static bool
token_is(struct span given, const char *token)
{
	return span_type(given) == 's' && given.len == PHASE_TOKEN_SIZE + 1 &&
	    sodium_memcmp(token, given.at + 1, PHASE_TOKEN_SIZE - 1) == 0;
}

/* ---- what ends a phase ---- */

/* The current phase as the model is told of it in a result. */
static void
write_phase(const struct loop *l, size_t number, const char *token, struct buffer *out)
{
	const struct member *m = l->turns->member;
	const struct phase *phase = &m->agent.phases.list[number];
	struct offer tools = { .count = 0 };
	struct writer w;

	writer_begin(&w, out);
	writer_object(&w);
	writer_member_bool(&w, "isComplete", false);
	writer_member_string(&w, "phase", phase->name);
	writer_member_integer(&w, "number", (int64_t)number + 1);
	writer_member_integer(&w, "of", (int64_t)m->agent.phases.count);
	writer_member_string(&w, "instructions", phase->instructions);
	writer_member_string(&w, "token", token);
	writer_key(&w, "tools");
	writer_array(&w);
	offer_tools(l, number, &tools);
	for (size_t i = 0; i < tools.count; i++)
		writer_string(&w, tools.list[i].tool->name);
	offer_clear(&tools);
	writer_array_end(&w);
	writer_member_string(&w, "next",
	    number + 1 == m->agent.phases.count ? PHASE_FINISH : PHASE_CONTINUE);
	writer_object_end(&w);
}

/* Why a call does not end the phase: the model reads that, and of the phase again. */
static int
refuse(const struct loop *l, struct tool_run *run, enum error_code code, const char *why)
{
	const struct phases_list *phases = &l->turns->member->agent.phases;

	error_set(&run->error, code, NULL, "%s; phase %zu of %zu, '%s', goes on", why,
	    l->phases.current + 1, phases->count, phases_current(l)->name);
	write_phase(l, l->phases.current, l->phases.tokens[l->phases.current], &run->output);
	return 0;
}

/* What is wrong with the token; NULL: nothing. */
static const char *
wrong_token(const struct loop *l, struct span given)
{
	const struct phases *p = &l->phases;

	if (given.at == NULL)
		return "the token of the phase is missing";
	if (token_is(given, p->tokens[p->current]))
		return NULL;
	for (size_t i = 0; i < p->current; i++)
		if (token_is(given, p->tokens[i]))
			return "the token is that of a phase that has ended";
	return "the token is not that of the phase";
}

static int
phases_answer(void *context, struct tool_run *run, struct error *err)
{
	struct loop *l = context;
	struct phases *p = &l->phases;
	struct span output = span_member(run->input, "output"), recorded = span_of(NULL, 0);
	const char *wrong = wrong_token(l, span_member(run->input, "token"));
	struct buffer why = BUFFER_INIT;

	(void)err;
	if (p->move != PHASE_STAYS) {
		error_set(&run->error, ERROR_BLOCKED, NULL, "a call before this one has ended the phase");
		return 0;
	}
	if (wrong != NULL)
		return refuse(l, run, ERROR_BLOCKED, wrong);
	if (strcmp(run->name, phases_way_out(l)) != 0)
		return refuse(l, run, ERROR_BLOCKED, phases_at_last(l) ?
		    "this is the last phase, which " PHASE_FINISH " ends" :
		    "this is not the last phase: " PHASE_CONTINUE " ends it");
	if (output.at == NULL)
		return refuse(l, run, ERROR_SCHEMA, "the argument 'output' is missing");
	if (phases_at_last(l)) {
		if (output_schema_check(&l->turns->member->agent.output, output, &why) == 0)
			buffer_text(&run->output, "{\"isComplete\":true}");
		else
			refuse(l, run, ERROR_SCHEMA, why.data);
		buffer_free(&why);
		return 0;
	}
	/* In a replay the next token is the one that was handed out. */
	if (run->recorded != NULL)
		recorded = span_path(run->recorded->view.payload, KEY_OUTPUT, KEY_TOKEN, NULL);
	if (!span_copy(recorded, p->next, sizeof p->next))
		token_new(p->next);
	write_phase(l, p->current + 1, p->next, &run->output);
	return 0;
}

/* A result that was recorded tells the next token too. */
static void
phases_settle(void *context, const struct tool_run *run)
{
	struct loop *l = context;
	struct phases *p = &l->phases;

	if (run->error.code != ERROR_NONE || p->move != PHASE_STAYS)
		return;
	p->move = phases_at_last(l) ? PHASE_FINISHES : PHASE_PROCEEDS;
	scan_minify(span_member(run->input, "output"), &p->output);
	if (!phases_at_last(l) && !span_copy(span_member(span_of(buffer_string(&run->output),
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
	c->judges = true; /* a token that is missing is refused as a wrong one is */
	c->answer = phases_answer;
	c->settle = phases_settle;
	c->context = l;
	return 0;
}

/* ---- the conversation ---- */

int
phases_begin(struct loop *l, struct error *err)
{
	struct phases *p = &l->phases;

	p->tokens = memory_zero(l->turns->member->agent.phases.count, sizeof *p->tokens);
	phases_recorded_token(l, p->tokens[0]);
	if (p->tokens[0][0] == '\0')
		token_new(p->tokens[0]);
	json_quote(&p->input, l->turns->prompt.at, l->turns->prompt.len);
	if (make_control(l, &p->proceed, PHASE_CONTINUE, "Ends the phase of the work that you are "
	    "in and gives you the next: its instructions, its token and its tools.", err) == -1)
		return -1;
	return make_control(l, &p->finish, PHASE_FINISH,
	    "Ends the last phase, and the work with it.", err);
}

/* Both ways out are known in every phase: who takes the wrong one is told. */
void
phases_offer(struct loop *l)
{
	const struct member *m = l->turns->member;

	offer_clear(&l->tools.offer);
	offer_clear(&l->tools.withheld);
	offer_tools(l, l->phases.current, &l->tools.offer);
	mcp_tools_withhold(&l->tools.mcp, &l->tools.offer, &l->tools.withheld);
	if (m->agent.phases.count > 1)
		offer_add_control(&l->tools.offer, &l->phases.proceed);
	offer_add_control(&l->tools.offer, &l->phases.finish);
}

int
phases_remind(struct loop *l, struct error *err)
{
	struct phases *p = &l->phases;
	struct buffer text = BUFFER_INIT;
	int status;

	if (p->reminded)
		return error_set(err, ERROR_INCOMPLETE, l->turns->member->agent.name,
		    "phase %zu of %zu, '%s', was not ended: two answers in a row called no tool",
		    p->current + 1, l->turns->member->agent.phases.count, phases_current(l)->name);
	p->reminded = true;
	buffer_format(&text, "The work is not done: nothing but a call of %s ends the phase.\n\n",
	    phases_way_out(l));
	phases_tell(l, &text);
	status = loop_prompt_again(l, &text, err);
	buffer_free(&text);
	return status;
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
	if (phases_end(l, NULL, err) == -1)
		return -1;
	if (p->move == PHASE_FINISHES) {
		buffer_append(&l->turns->result, p->output.data, p->output.len);
		return 1;
	}
	memcpy(p->tokens[++p->current], p->next, sizeof p->next);
	p->first_turn = l->turn.number + 1; /* this one is the last of the phase before */
	p->move = PHASE_STAYS;
	buffer_free(&p->input);
	p->input = p->output;
	p->output = (struct buffer)BUFFER_INIT;
	phases_offer(l);
	return phases_start(l, err);
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
