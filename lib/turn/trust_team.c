/* What the agents of a team, and a tool, would run outside a sandbox (definitions/trust.h). */
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/memory.h"
#include "definitions/sandboxing.h"
#include "definitions/trust.h"
#include "io/file.h"
#include "providers/provider_find.h"
#include "turn/team.h"

/* A network that files, not the step, give to a program in a sandbox: it could send anything in
 * the workspace anywhere. agent, tool: whose files may have given it; NULL: nobody's. */
static void
add_network(struct trust_items *items, const struct sandbox *step, const struct sandbox *decided,
    const struct agent *agent, const struct tool *tool, const char *what)
{
	if (decided->network != SANDBOX_NETWORK_ALLOWED || step->network == SANDBOX_NETWORK_ALLOWED)
		return;
	if (agent != NULL && agent->path != NULL && agent->sandbox.network == SANDBOX_NETWORK_ALLOWED)
		trust_add_network(items, agent->path, what);
	if (tool != NULL && !tool->own && tool->sandbox.network == SANDBOX_NETWORK_ALLOWED)
		trust_add_network(items, tool->path, what);
}

void
trust_add_tool_of(struct trust_items *items, const struct agent *agent, const struct tool *tool,
    const struct sandbox *step)
{
	struct sandbox decided, unasked, nobody = { .mode = SANDBOX_UNSAID };
	/* A launcher runs on this machine, outside any sandbox, whatever it starts elsewhere. */
	const bool enclosed = sandboxing_decide(&decided, step, agent, tool, NULL) == 0 &&
	    sandbox_holds(&decided) && tool->via == NULL;
	char *what = memory_format("the tool %s", tool->name);

	if (enclosed)
		add_network(items, step, &decided, agent, tool, what);
	if (!tool->own && (!enclosed || (tool->environment != NULL && *tool->environment != NULL)))
		trust_add_tool(items, tool);
	/* A tool of the user or the system does whatever an agent of the project asks of it. */
	if (agent != NULL && !tool->own && trust_origin(tool->path) < ORIGIN_EDITED)
		trust_add_use(items, agent, what, enclosed);
	else if (agent != NULL && !enclosed && tool->own && (tool->starts_run || (tool->sandbox.preset &&
	    step->mode == SANDBOX_UNSAID && sandboxing_decide(&unasked, &nobody, NULL, tool, NULL) == 0 &&
	    sandbox_holds(&unasked))))
		trust_add_agent(items, agent, tool->name);
	free(what);
}

static void
add_command(struct trust_items *items, const struct agent *agent, const char *when, json_t *command)
{
	char **argv = command == NULL ? NULL : agent_command(command);

	trust_add_command(items, agent, when, argv);
	free(argv);
}

/* Whether the program of a server lies outside its project; if not, the sandbox can read what
 * lies next to it. If that cannot be found out, it counts as outside. */
static bool
lies_outside(const struct mcp_definition *server)
{
	struct error ignored = ERROR_INIT;
	char *program = mcp_expand(server->command, server->file, NULL, NULL, server->file, &ignored);
	char *directory = program == NULL ? NULL : path_directory(program), *real, *checkout = NULL;
	bool outside;

	if (program != NULL && strchr(program, '/') == NULL) {
		free(program);
		free(directory);
		return false;
	}
	real = directory == NULL ? NULL : realpath(directory, NULL);
	free(trust_project(server->file, &checkout));
	outside = real == NULL || !path_within(real, checkout);
	free(checkout);
	free(real);
	free(directory);
	free(program);
	return outside;
}

/* A server of the project in a sandbox is asked about only if it gets more than the workspace:
 * values of the user's variables, files elsewhere, the network. */
static void
add_server(struct trust_items *items, const struct agent *agent, const struct mcp_definition *server,
    const struct sandbox *step, const struct sandbox *decided)
{
	const bool enclosed = sandbox_holds(decided) && server->url == NULL;
	char *what = memory_format("the MCP server %s", server->name), **taken = mcp_taken_variables(server);

	if (enclosed)
		add_network(items, step, decided, agent, NULL, what);
	if (!enclosed || taken != NULL || lies_outside(server))
		trust_add_server(items, server);
	if (trust_origin(server->file) < ORIGIN_EDITED)
		trust_add_use(items, agent, what, enclosed);
	list_free(taken);
	free(what);
}

/* An agent of the user does what an agent of the project hands over to it, with all the rights
 * that it has. */
static void
add_handoff(struct trust_items *items, const struct agent *agent, const struct agent *to)
{
	char *what = memory_format("the agent %s", to->name);

	if (to->path != NULL && trust_origin(to->path) < ORIGIN_EDITED)
		trust_add_use(items, agent, what, true);
	free(what);
}

static void
add_member(struct trust_items *items, const struct member *m, const struct sandbox *step)
{
	const struct agent *a = &m->agent;
	struct sandbox decided, judge;
	const char *provider;

	if (sandboxing_decide_command(&decided, step, a, NULL) != 0)
		decided = (struct sandbox){ .mode = SANDBOX_NONE };

	add_command(items, a, "before_turn", a->before_turn);
	/* In the sandbox of the agent's tools it can do only what the tools may do anyway. */
	if (sandboxing_decide_judge(&judge, step, a, m->tools, m->tool_count, NULL) == -1 ||
	    !sandbox_holds(&judge))
		add_command(items, a, "stop_when", a->stop_command);
	else if (a->stop_command != NULL)
		add_network(items, step, &judge, a, NULL, "the command of stop_when");
	trust_add_request(items, a);
	for (size_t i = 0; (provider = team_agent_provider(a, i)) != NULL; i++)
		trust_add_provider(items, a, provider);
	for (size_t i = 0; (provider = team_agent_provider(a, i)) != NULL; i++)
		/* A CLI that only reads can read all that its user can, keys included. */
		if (provider_is_cli(provider))
			trust_add_agent(items, a, provider);
	for (size_t i = 0; i < m->tool_count; i++)
		trust_add_tool_of(items, a, &m->tools[i], step);
	if (m->stop.name != NULL)
		trust_add_tool_of(items, a, &m->stop, step);
	for (size_t i = 0; i < m->handoff_count; i++)
		add_handoff(items, a, &m->handoffs[i].to->agent);
	if (m->summariser != NULL)
		add_handoff(items, a, &m->summariser->agent);
	for (size_t i = 0; i < m->server_count; i++)
		add_server(items, a, &m->servers[i]->definition, step, &decided);
}

void
trust_add_team(struct trust_items *items, const struct team *team, const struct sandbox *step)
{
	for (size_t i = 0; i < team->count; i++)
		add_member(items, team->members[i], step);
}
