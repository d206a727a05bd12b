/*
 * Agents or the tool first, then what they come to together: prompt, sandbox, digest. The
 * order is that of messages: what is wrong with a file is said before what is wrong with its
 * use.
 */
#include "step/step_load.h"

#include <stdlib.h>

#include "agent/prompt.h"
#include "agent/sandboxing.h"
#include "base/file.h"
#include "base/memory.h"

static int
load_prompt(struct step *step, const char *text, struct buffer *prompt, struct error *err)
{
	step->prompt = "{{data}}";
	step->prompt_place = "prompt";
	if (text == NULL)
		return 0;
	step->prompt = text;
	step->prompt_place = "-p";
	if (text[0] != '@')
		return 0;
	step->prompt_place = text + 1;
	if (file_load(text + 1, SCAN_LINE_LIMIT, prompt, err) == -1) {
		err->code = ERROR_DEFINITION;
		return -1;
	}
	step->prompt = buffer_string(prompt);
	return 0;
}

static int
load_attachments(struct step *step, char *const *files, struct attachments *a, struct error *err)
{
	for (; files != NULL && *files != NULL; files++)
		if (attachments_add_file(a, *files, err) == -1) {
			err->code = ERROR_DEFINITION;
			return -1;
		}
	step->attached = a->count > 0 ? a : NULL;
	return 0;
}

static int
load_agents(struct step *step, const struct step_source *source, struct step_loaded *loaded,
    struct error *err)
{
	int result;

	step->kind = "agent";
	if (ceiling_check(err) == -1)
		return -1;
	result = team_load(&loaded->team, &source->team, step->name, err);
	step->agent = &loaded->team.members[0]->agent;
	if (result == -1)
		return -1;
	step->team = &loaded->team;
	if (step->timeout_ms == 0)
		step->timeout_ms = step->agent->timeout_ms;
	if (step->effects == EFFECTS_UNDECLARED && team_runs_cli(&loaded->team))
		step->effects = team_clis_only_read(&loaded->team) ? EFFECTS_READ : EFFECTS_EXTERNAL;
	if (load_prompt(step, source->prompt, &loaded->prompt, err) == -1 ||
	    load_attachments(step, source->attach, &loaded->attachments, err) == -1)
		return -1;
	return prompt_check(step->prompt, step->prompt_place, err);
}

static int
load_operation(struct step *step, const char *name, struct step_loaded *loaded,
    struct error *err)
{
	step->kind = "operation";
	if (ceiling_check(err) == -1)
		return -1;
	if (ceiling_forbids(name))
		return error_set(err, ERROR_DEFINITION, "-t",
		    "the run does not allow the tool '%s' (awf-run --allow-tools)", name);
	if (tool_load(&loaded->operation, name, getenv("AWF_WORKFLOW_DIR"), err) == -1)
		return -1;
	step->operation = &loaded->operation;
	if (step->effects == EFFECTS_UNDECLARED) {
		step->effects = step->operation->effects;
		step->idempotent = step->operation->idempotent;
	}
	return 0;
}

/* The agent CLI that may do the agent's work; NULL. */
static const char *
find_cli(const struct agent *a)
{
	if (provider_is_cli(a->provider))
		return a->provider;
	for (size_t i = 0; i < a->fallback.count; i++)
		if (provider_is_cli(a->fallback.list[i].provider))
			return a->fallback.list[i].provider;
	return NULL;
}

/* Whoever asks for a sandbox must not go without one. */
static int
check_member(const struct step *step, const struct member *m, struct error *err)
{
	const char *place = m->agent.path != NULL ? m->agent.path : "--sandbox";
	const char *cli = find_cli(&m->agent);
	struct sandbox decided;
	struct error why = ERROR_INIT;

	if (sandboxing_decide_command(&decided, &step->sandbox, &m->agent, &why) == -1 &&
	    m->server_count > 0)
		return error_set(err, ERROR_DEFINITION, place, "network: %s", why.message);
	if (cli != NULL &&
	    (sandbox_holds(&decided) || decided.network == SANDBOX_NETWORK_DENIED))
		return error_set(err, ERROR_DEFINITION, place, "sandbox: the agent CLI '%s' runs its "
		    "tools itself, and no sandbox can be put around them", cli);
	return 0;
}

/* Whether each tool can have the sandbox that it is to have. */
static int
check_sandboxes(const struct step *step, struct error *err)
{
	struct sandbox decided;

	if (step->operation != NULL)
		return sandboxing_decide(&decided, &step->sandbox, NULL, step->operation, err);
	for (size_t i = 0; step->team != NULL && i < step->team->count; i++) {
		const struct member *m = step->team->members[i];

		if (check_member(step, m, err) == -1)
			return -1;
		for (size_t j = 0; j < m->tool_count; j++)
			if (sandboxing_decide(&decided, &step->sandbox, &m->agent, &m->tools[j],
			    err) == -1)
				return -1;
	}
	return 0;
}

/* Of a command nobody but the step says anything. */
static int
settle_sandbox(struct step *step, struct error *err)
{
	struct sandbox decided;
	struct error why = ERROR_INIT;

	if (step->command == NULL)
		return check_sandboxes(step, err);
	if (sandboxing_decide_command(&decided, &step->sandbox, NULL, &why) == -1)
		return error_set(err, ERROR_USAGE, "--no-network", "%s", why.message);
	step->sandbox = decided;
	return 0;
}

int
step_load(struct step *step, const struct step_source *source, struct step_loaded *loaded,
    struct error *err)
{
	static const char *const kinds[] = { "command", "for_each", "while", "parallel" };
	int result = 0;

	step->kind = kinds[step->group];
	if (step->terminal != NULL)
		step->kind = "terminal";
	else if (source->tool != NULL)
		result = load_operation(step, source->tool, loaded, err);
	else if (step->approve)
		step->kind = "approval";
	else if (step->command == NULL)
		result = load_agents(step, source, loaded, err);
	if (source->kind != NULL)
		step->kind = source->kind;
	if (result == 0)
		result = settle_sandbox(step, err);
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
	attachments_free(&loaded->attachments);
	buffer_free(&step->files);
}
