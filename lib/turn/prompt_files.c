/* Rights are compared only after a file was found that a sandboxed program may have written,
 * which is rare. */
#include "turn/prompt_files.h"

#include <stdlib.h>

#include "base/list.h"
#include "base/memory.h"
#include "definitions/sandboxing.h"
#include "providers/provider_find.h"
#include "workspace/sandboxed_times.h"

/* What a sandbox allows, in allocated memory. NULL: there is a sandbox, without network. */
static char *
sandbox_rights(const struct sandbox *decided, const char *kind, const char *name)
{
	return !sandbox_holds(decided) ? memory_format("%s %s runs in no sandbox", kind, name) :
	    decided->network == SANDBOX_NETWORK_ALLOWED ? memory_format("%s %s has the network", kind, name) :
	    NULL;
}

static char *
tool_rights(const struct member *m, const struct tool *tool, const struct sandbox *step)
{
	struct sandbox decided;

	/* A launcher runs on this machine; what it starts runs on the other. */
	if (tool->via != NULL || sandboxing_decide(&decided, step, &m->agent, tool, NULL) != 0)
		decided = (struct sandbox){ .mode = SANDBOX_NONE };
	return sandbox_rights(&decided, "the tool", tool->name);
}

/* What an agent may do beyond a sandbox without network, in the words of sandbox settings: "the
 * tool deploy runs in no sandbox", in allocated memory; NULL: nothing. */
static char *
member_rights(const struct member *m, const struct sandbox *step)
{
	struct sandbox decided;
	const char *provider;
	char *rights = NULL;

	for (size_t i = 0; rights == NULL && (provider = team_agent_provider(&m->agent, i)) != NULL; i++)
		if (provider_is_cli(provider))
			rights = memory_format("the tools of %s run in no sandbox", provider);
	for (size_t i = 0; rights == NULL && i < m->tool_count; i++)
		rights = tool_rights(m, &m->tools[i], step);
	if (rights == NULL && m->stop.name != NULL)
		rights = tool_rights(m, &m->stop, step);
	for (size_t i = 0; rights == NULL && i < m->server_count; i++) {
		const struct mcp_definition *server = &m->servers[i]->definition;

		if (server->url != NULL || sandboxing_decide_command(&decided, step, &m->agent, NULL) != 0)
			decided = (struct sandbox){ .mode = SANDBOX_NONE };
		rights = sandbox_rights(&decided, "the MCP server", server->name);
	}
	return rights;
}

/* What the agent may do itself or, for a step, also the agents to which it may hand over. */
static char *
find_rights(const struct team *team, const struct member *m, const struct sandbox *step)
{
	char *rights = member_rights(m, step), *others;

	for (size_t i = 0; rights == NULL && m->handoff_count > 0 && i < team->count; i++) {
		others = member_rights(team->members[i], step);
		if (others != NULL)
			rights = memory_format("of the agent %s, to which it comes: %s", team->members[i]->agent.name,
			    others);
		free(others);
	}
	return rights;
}

static int
prompt_files_check_file(const struct team *team, const struct member *m, const char *path,
    const struct sandbox *step, struct error *err)
{
	char *rights = path != NULL && sandboxed_times_have_file(path) ? find_rights(team, m, step) : NULL;
	int failed = rights == NULL ? 0 : error_set(err, ERROR_DEFINITION, path, "a sandboxed program may have "
	    "written it, and the agent %s would follow it with more rights (%s): read it, then touch it",
	    m->agent.name, rights);

	free(rights);
	return failed;
}

/* The descriptions of tools are part of the prompt. */
static int
check_tools(const struct team *team, const struct member *m, const struct sandbox *step, struct error *err)
{
	int failed = 0;

	for (size_t i = 0; failed == 0 && i < m->tool_count; i++)
		if (!m->tools[i].own)
			failed = prompt_files_check_file(team, m, m->tools[i].path, step, err);
	return failed != 0 || m->stop.name == NULL ? failed :
	    prompt_files_check_file(team, m, m->stop.path, step, err);
}

int
prompt_files_check(const struct team *team, const char *template, const struct sandbox *step,
    struct error *err)
{
	int failed = 0;

	if (!sandboxed_times_exist())
		return 0;
	if (team->count > 0)
		failed = prompt_files_check_file(team, team->members[0], template, step, err);
	for (size_t i = 0; failed == 0 && i < team->count; i++) {
		const struct member *m = team->members[i];

		failed = prompt_files_check_file(team, m, m->agent.path, step, err);
		if (failed == 0)
			failed = prompt_files_check_file(team, m, m->agent.output.path, step, err);
		for (char **path = m->agent.prompt.composed; failed == 0 && path != NULL && *path != NULL; path++)
			failed = prompt_files_check_file(team, m, *path, step, err);
		if (failed == 0)
			failed = check_tools(team, m, step, err);
	}
	return failed;
}
