/* What the agents of a team, and a tool, would run outside of a sandbox (agent/trust.h). */
#include <stdlib.h>
#include <string.h>

#include "agent/provider.h"
#include "agent/sandboxing.h"
#include "agent/team.h"
#include "agent/trust.h"
#include "base/memory.h"

void
trust_add_tool_of(struct trust_items *items, const struct agent *agent, const struct tool *tool,
    const struct sandbox *step)
{
	struct sandbox decided, unasked, nobody = { .mode = SANDBOX_UNSAID };

	if (sandboxing_decide(&decided, step, agent, tool, NULL) == 0 && sandbox_holds(&decided)) {
		/* What is in the workspace can be sent anywhere. */
		if (decided.network == SANDBOX_NETWORK_ALLOWED && step->network != SANDBOX_NETWORK_ALLOWED) {
			if (agent != NULL && agent->path != NULL && agent->sandbox.network == SANDBOX_NETWORK_ALLOWED)
				trust_add_network(items, agent->path, tool->name);
			if (!tool->own && tool->sandbox.network == SANDBOX_NETWORK_ALLOWED)
				trust_add_network(items, tool->path, tool->name);
		}
		return;
	}
	if (!tool->own)
		trust_add_tool(items, tool);
	/* A tool of the user's or the system's does what an agent of the project asks of it. */
	if (agent != NULL && !tool->own && trust_origin(tool->path) < ORIGIN_EDITED)
		trust_add_agent(items, agent, tool->name);
	else if (agent != NULL && tool->own && (tool->starts_run || (tool->sandbox.preset &&
	    step->mode == SANDBOX_UNSAID && sandboxing_decide(&unasked, &nobody, NULL, tool, NULL) == 0 &&
	    sandbox_holds(&unasked))))
		trust_add_agent(items, agent, tool->name);
}

static void
add_command(struct trust_items *items, const struct agent *agent, const char *when, json_t *command)
{
	char **argv = command == NULL ? NULL : agent_command(command);

	trust_add_command(items, agent, when, argv);
	free(argv);
}

static void
add_server(struct trust_items *items, const struct agent *agent, const struct mcp_definition *server)
{
	char *name;

	trust_add_server(items, server);
	if (trust_origin(server->file) < ORIGIN_EDITED) {
		name = memory_format("the MCP server %s", server->name);
		trust_add_agent(items, agent, name);
		free(name);
	}
}

/* Whether a definition says more of a server than a program and its words: what starts the sandbox has
 * its variables and its directory, which is the sandbox's workspace then, and a value may be the user's;
 * what lies beside a program with a path is seen in the sandbox. */
static bool
shapes_sandbox(const struct mcp_definition *server)
{
	bool shapes = server->variables != NULL || server->directory != NULL ||
	    (server->command != NULL && (*server->command == '/' || strstr(server->command, "${") != NULL));

	for (char **word = server->arguments; !shapes && word != NULL && *word != NULL; word++)
		shapes = strstr(*word, "${") != NULL;
	return shapes;
}

static void
add_member(struct trust_items *items, const struct member *m, const struct sandbox *step)
{
	const struct agent *a = &m->agent;
	struct sandbox decided, judge;
	const bool enclosed = sandboxing_decide_command(&decided, step, a, NULL) == 0 &&
	    sandbox_holds(&decided);
	const char *provider;

	add_command(items, a, "before_turn", a->before_turn);
	/* In the sandbox of the agent's tools it runs what these may run anyway. */
	if (sandboxing_decide_judge(&judge, step, a, m->tools, m->tool_count, NULL) == -1 ||
	    !sandbox_holds(&judge))
		add_command(items, a, "stop_when", a->stop_command);
	for (size_t i = 0; (provider = team_agent_provider(a, i)) != NULL; i++)
		trust_add_provider(items, a, provider);
	for (size_t i = 0; (provider = team_agent_provider(a, i)) != NULL; i++)
		/* One that only reads reads whatever its user can, keys too. */
		if (provider_is_cli(provider))
			trust_add_agent(items, a, provider);
	for (size_t i = 0; i < m->tool_count; i++)
		trust_add_tool_of(items, a, &m->tools[i], step);
	if (m->stop.name != NULL)
		trust_add_tool_of(items, a, &m->stop, step);
	for (size_t i = 0; i < m->server_count; i++)
		if (!enclosed || m->servers[i]->definition.url != NULL ||
		    shapes_sandbox(&m->servers[i]->definition))
			add_server(items, a, &m->servers[i]->definition);
}

void
trust_add_team(struct trust_items *items, const struct team *team, const struct sandbox *step)
{
	for (size_t i = 0; i < team->count; i++)
		add_member(items, team->members[i], step);
}
