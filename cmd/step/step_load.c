/*
 * Loading what a step does: agents or the tool first, then what they come to together: prompt,
 * sandbox, digest. The order is that of messages: what is wrong with a file is said before what
 * is wrong with its use.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/definition.h"
#include "agent/prompt.h"
#include "agent/prompt_files.h"
#include "agent/sandboxing.h"
#include "agent/trust.h"
#include "base/file.h"
#include "base/memory.h"
#include "run/sandboxed_times.h"
#include "step/step.h"

/* A template, or @FILE. */
static int
load_prompt(struct step *step, const char *prompt, const char *place, struct step_loaded *loaded,
    struct error *err)
{
	step->definition.prompt = prompt;
	step->definition.prompt_place = place;
	if (prompt[0] == '@') {
		step->definition.prompt_place = prompt + 1;
		if (file_load(step->definition.prompt_place, SCAN_LINE_LIMIT, &loaded->prompt, err) == -1) {
			err->code = ERROR_DEFINITION;
			return -1;
		}
		step->definition.prompt = buffer_string(&loaded->prompt);
	}
	return prompt_check(step->definition.prompt, step->definition.prompt_place, err);
}

static int
load_agents(struct step *step, struct step_loaded *loaded,
    struct error *err)
{
	const struct agent_options *asked = &step->options.agent;
	const struct team_source source = { .agent_file = asked->file, .model = asked->model,
		.model_place = asked->model_place, .allow_tools = asked->allow_tools,
		.tools_policy = asked->tools_policy, .max_turns = asked->max_turns,
		.max_tokens_total = asked->max_tokens_total, .output_schema = step->options.output_schema };
	int result;

	step->definition.kind = "agent";
	if (ceiling_check(err) == -1)
		return -1;
	result = team_load(&loaded->team, &source, step->options.name, err);
	step->definition.agent = &loaded->team.members[0]->agent;
	if (result == -1)
		return -1;
	step->definition.team = &loaded->team;
	if (step->options.timeout_ms == 0)
		step->options.timeout_ms = step->definition.agent->timeout_ms;
	if (step->options.effects == EFFECTS_UNDECLARED && team_runs_cli(&loaded->team))
		step->options.effects = team_clis_only_read(&loaded->team) ? EFFECTS_READ : EFFECTS_EXTERNAL;

	if (load_prompt(step, step->options.agent.prompt != NULL ? step->options.agent.prompt : "{{data}}",
	    step->options.agent.prompt != NULL ? "-p" : "prompt", loaded, err) == -1)
		return -1;
	for (char *const *file = step->options.agent.attach; file != NULL && *file != NULL; file++)
		if (attachments_add_file(&loaded->attachments, *file, err) == -1) {
			err->code = ERROR_DEFINITION;
			return -1;
		}
	step->definition.attached = loaded->attachments.count > 0 ? &loaded->attachments : NULL;
	return 0;
}

/* The schema is that of the answer. */
static int
load_question(struct step *step, struct step_loaded *loaded,
    struct error *err)
{
	step->definition.kind = "question";
	step->definition.answer_schema = &loaded->answer_schema;
	if (step->options.output_schema != NULL &&
	    output_schema_load(&loaded->answer_schema, step->options.output_schema, NULL, err) == -1)
		return -1;
	return load_prompt(step, step->options.question.text, "--ask", loaded, err);
}

static int
load_operation(struct step *step, const char *name, struct step_loaded *loaded,
    struct error *err)
{
	step->definition.kind = "operation";
	if (ceiling_check(err) == -1)
		return -1;
	if (ceiling_forbids(name))
		return error_set(err, ERROR_DEFINITION, "-t",
		    "the run does not allow the tool '%s' (awf-run --allow-tools)", name);
	if (tool_load(&loaded->operation, name, getenv("AWF_WORKFLOW_DIR"), err) == -1)
		return -1;
	step->definition.operation = &loaded->operation;
	if (step->options.effects == EFFECTS_UNDECLARED) {
		step->options.effects = step->definition.operation->effects;
		step->options.idempotent = step->definition.operation->idempotent;
	}
	return 0;
}

/* Of a tool that is to have no sandbox, what it runs is read: it is the one that was there before
 * anything ran in one. Who can write to AWF's own programs has this one, too. */
static int
settle_tool(const struct step *step, const struct agent *agent, struct tool *tool, struct error *err)
{
	struct sandbox decided;

	if (sandboxing_decide(&decided, &step->options.sandbox, agent, tool, err) == -1)
		return -1;
	if (!sandbox_holds(&decided) && !tool->own)
		pins_read(&tool->pins);
	return 0;
}

/* Whether each tool of an agent can have the sandbox that it is to have: whoever asks for one
 * must not go without. */
static int
settle_member(const struct step *step, const struct member *m, struct error *err)
{
	const struct agent *a = &m->agent;
	const char *place = a->path != NULL ? a->path : "--sandbox";
	const char *cli = provider_is_cli(a->provider) ? a->provider : NULL; /* that may do its work */
	struct sandbox decided;
	struct error why = ERROR_INIT;

	for (size_t i = 0; cli == NULL && i < a->fallback.count; i++)
		if (provider_is_cli(a->fallback.list[i].provider))
			cli = a->fallback.list[i].provider;
	if (sandboxing_decide_command(&decided, &step->options.sandbox, a, &why) == -1 &&
	    m->server_count > 0)
		return error_set(err, ERROR_DEFINITION, place, "network: %s", why.message);
	if (cli != NULL &&
	    (sandbox_holds(&decided) || decided.network == SANDBOX_NETWORK_DENIED))
		return error_set(err, ERROR_DEFINITION, place, "sandbox: the agent CLI '%s' runs its "
		    "tools itself, and no sandbox can be put around them", cli);
	for (size_t i = 0; i < m->tool_count; i++)
		if (settle_tool(step, a, &m->tools[i], err) == -1)
			return -1;
	return 0;
}

static int
settle_sandbox(struct step *step, struct error *err)
{
	struct sandbox decided;
	struct error why = ERROR_INIT;

	if (step->options.command.argv != NULL) {
		/* Of a command nobody but the step says anything. */
		if (sandboxing_decide_command(&decided, &step->options.sandbox, NULL, &why) == -1)
			return error_set(err, ERROR_USAGE, "--no-network", "%s", why.message);
		step->options.sandbox = decided;
		return 0;
	}
	if (step->definition.operation != NULL)
		return settle_tool(step, NULL, step->definition.operation, err);
	for (size_t i = 0; step->definition.team != NULL && i < step->definition.team->count; i++)
		if (settle_member(step, step->definition.team->members[i], err) == -1)
			return -1;
	return 0;
}

/* Whether the user has allowed what definitions of the project would run. */
static int
check_trust(const struct step *step, struct error *err)
{
	struct trust_items items = { NULL, 0 };
	int result;

	if (step->definition.operation != NULL)
		trust_add_tool_of(&items, NULL, step->definition.operation, &step->options.sandbox);
	if (step->definition.team != NULL)
		trust_add_team(&items, step->definition.team, &step->options.sandbox);
	result = trust_check(&items, err);
	trust_items_free(&items);
	return result;
}

/* Whether the agents may follow what their files say. A replay follows what was followed. */
static int
check_instructions(const struct step *step, const struct step_loaded *loaded, struct error *err)
{
	struct error why = ERROR_INIT;
	const char *template = loaded->prompt.data != NULL ? step->definition.prompt_place : NULL;

	/* What somebody outside may do who is asked, nobody knows. */
	if (step->options.question.text != NULL && template != NULL && sandboxed_times_have_file(template))
		return error_set(err, ERROR_DEFINITION, template, "a sandboxed program may have written it, and "
		    "who is asked would follow it in no sandbox: read it, then touch it");
	if (step->definition.team == NULL || prompt_files_check(step->definition.team, template, &step->options.sandbox, &why) == 0 ||
	    trust_is_replayed())
		return 0;
	*err = why;
	return -1;
}

int
step_load(struct step *step, struct step_loaded *loaded,
    struct error *err)
{
	static const char *const kinds[] = { "command", "for_each", "while", "parallel" };
	int result = 0;

	step->definition.kind = kinds[step->options.group.kind];
	if (step->options.terminal != NULL)
		step->definition.kind = "terminal";
	else if (step->options.tool != NULL)
		result = load_operation(step, step->options.tool, loaded, err);
	else if (step->options.approve)
		step->definition.kind = "approval";
	else if (step->options.question.text != NULL)
		result = load_question(step, loaded, err);
	else if (step->options.command.argv == NULL)
		result = load_agents(step, loaded, err);
	if (step->options.kind != NULL)
		step->definition.kind = step->options.kind;
	if (result == 0)
		result = settle_sandbox(step, err);
	if (result == 0)
		result = check_trust(step, err);
	if (result == 0)
		result = check_instructions(step, loaded, err);
	if (result == 0)
		step_define(step);
	return result;
}

void
step_unload(struct step *step, struct step_loaded *loaded)
{
	team_free(&loaded->team);
	tool_free(&loaded->operation);
	buffer_free(&loaded->prompt);
	output_schema_free(&loaded->answer_schema);
	attachments_free(&loaded->attachments);
	buffer_free(&step->definition.files);
}
