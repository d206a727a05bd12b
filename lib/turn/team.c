/*
 * Loads members in the order in which they are named, each file once by device and inode, so that a
 * circle of handoffs ends; the array grows while the loop goes through it. Providers and MCP
 * servers belong to the team, and are shared by all members that name the same.
 */
#include "turn/team.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "definitions/skills.h"
#include "definitions/trust.h"
#include "formats/model_alias.h"
#include "history/recorded_providers.h"
#include "io/file.h"
#include "providers/provider_find.h"
#include "turn/mcp_tools.h"

#define READ_TOOL "read"
#define REPLAY "replay" /* the provider that answers from files */
#define DEFAULT_MODEL "default" /* each agent CLI chooses it itself */

static const char *
workflow_directory(void)
{
	return getenv("AWF_WORKFLOW_DIR");
}

/* Whether a model from the environment or the user's config, or its alias, belongs to the
 * provider that an agent's file names. -1: the aliases cannot be read. */
static int
is_of_provider(const char *model, const char *provider, bool *is, struct error *err)
{
	char *meant = NULL, *name;
	int result = strchr(model, '/') != NULL ? 0 : model_alias_find(model, &meant, err);

	if (meant != NULL)
		model = meant;
	name = memory_copy(model, strcspn(model, "/"));
	/* Without a provider in front of it, it is the name of a model of any provider. */
	*is = strchr(model, '/') == NULL || provider_check(name, NULL) != 0 || strcmp(name, provider) == 0;
	free(name);
	free(meant);
	return result;
}

/* The model for an agent whose file names none. NULL: none is set, or the one set belongs to
 * another provider than the file names: the file's provider is asked, and no other gets its
 * data. -1 with *err. */
static int
usual_model(const struct agent *agent, char **usual, const char **place, struct error *err)
{
	bool is = true;
	int result = model_default(usual, place, err);

	if (result != 0 || *usual == NULL || agent->provider == NULL || environment_text("AWF_PROVIDER") != NULL)
		return result;
	result = is_of_provider(*usual, agent->provider, &is, err);
	if (result != 0 || is)
		return result;
	if (!provider_is_cli(agent->provider))
		result = error_set(err, ERROR_DEFINITION, agent->path, "no model: its provider is %s, and %s names %s: "
		    "say model there, too, or -m PROVIDER/MODEL", agent->provider, *place, *usual);
	free(*usual);
	*usual = NULL;
	return result;
}

/* Finds the model that was set: on the command line (source, for the agent that leads) or in the
 * environment, by the user for all runs, or by the alias in the agent's file. Aliases are
 * resolved. *model, in allocated memory, stays NULL if none is set; *place says where it was
 * set. */
static int
said_model(const struct team_source *source, const struct agent *agent, char **model,
    const char **place, struct error *err)
{
	const char *said = source != NULL ? source->model : NULL;
	char *usual = NULL, *meant = NULL;
	int result = 0;

	*place = source != NULL && source->model_place != NULL ? source->model_place : "-m";
	if (said == NULL && agent->model != NULL) {
		*place = agent->path;
		said = agent->provider == NULL ? agent->model : NULL;
	} else if (said == NULL) {
		result = usual_model(agent, &usual, place, err);
		said = usual != NULL ? usual : agent->alias;
		if (usual == NULL)
			*place = agent->path;
	}
	/* A provider that replaces all others has its own names of models. */
	if (result == 0 && said != NULL && strchr(said, '/') == NULL && agent->provider == NULL &&
	    environment_text("AWF_PROVIDER") == NULL)
		result = model_alias_find(said, &meant, err);
	*model = meant != NULL || said == NULL ? meant : memory_text(said);
	free(usual);
	return result;
}

/* Checks a file of recorded answers, which the agent's file names as a model or in a model's
 * place, like any other file that it names. */
static int
check_recordings(const struct agent *agent, bool model_is_of_file, struct error *err)
{
	int result = 0;

	if (agent->path == NULL || environment_text("AWF_PROVIDER") != NULL || environment_text("AWF_REPLAY") != NULL)
		return 0;
	if (model_is_of_file && agent->provider != NULL && strcmp(agent->provider, REPLAY) == 0)
		result = trust_file_check(agent->path, agent->model, err);
	for (size_t i = 0; result == 0 && i < agent->fallback.count; i++)
		if (strcmp(agent->fallback.list[i].provider, REPLAY) == 0)
			result = trust_file_check(agent->path, agent->fallback.list[i].model, err);
	/* A replay opens none of them. */
	return result != 0 && trust_is_replayed() ? 0 : result;
}

/* Sets the model that is asked, and its provider; $AWF_PROVIDER replaces whatever provider was
 * set. */
static int
choose_model(const struct team_source *source, struct agent *agent, struct error *err)
{
	const bool of_file = (source == NULL || source->model == NULL) && agent->model != NULL &&
	    (agent->provider != NULL || strchr(agent->model, '/') != NULL);
	const char *place, *other = environment_text("AWF_PROVIDER");
	struct error why = ERROR_INIT;
	char *name, *model;
	int result = said_model(source, agent, &model, &place, err);

	if (result == 0 && model != NULL && *model != '\0')
		result = agent_set_model(agent, model, place, err);
	free(model);
	if (result != 0 || check_recordings(agent, of_file, err) != 0)
		return -1;
	if (other != NULL) {
		if (provider_check_named(other, err) == -1) {
			snprintf(err->place, sizeof err->place, "AWF_PROVIDER");
			return -1;
		}
		free(agent->provider);
		agent->provider = memory_text(other);
		for (size_t i = 0; i < agent->fallback.count; i++) {
			free(agent->fallback.list[i].provider);
			agent->fallback.list[i].provider = memory_text(other);
		}
	}
	if (agent->model == NULL && agent->provider != NULL && provider_is_cli(agent->provider))
		agent->model = memory_text(DEFAULT_MODEL);
	if (agent->model != NULL && agent->provider == NULL && strchr(agent->model, '/') != NULL) {
		/* If the text before the slash is not a provider, say why. */
		name = memory_copy(agent->model, strcspn(agent->model, "/"));
		free(provider_find(name, &why));
		free(name);
		return error_set(err, ERROR_DEFINITION, place, "%s", why.message);
	}
	if (agent->model != NULL && agent->provider == NULL) {
		char *meant = model_meant(agent->model);

		if (place == NULL)
			place = agent->path;
		if (meant != NULL)
			error_set(err, ERROR_DEFINITION, place, "no provider for the model %s (did you mean '%s'?)",
			    agent->model, meant);
		else
			error_set(err, ERROR_DEFINITION, place, "no provider for the model %s: say -m "
			    "PROVIDER/MODEL, or provider and model in the agent file, or AWF_MODEL", agent->model);
		free(meant);
		return -1;
	}
	if (agent->model == NULL)
		return error_set(err, ERROR_DEFINITION, agent->path != NULL ? agent->path : "-m",
		    "no model: say -m PROVIDER/MODEL, or provider and model in the agent file, or AWF_MODEL");
	return 0;
}

/* Adds the agent's name to the error about a tool that does not exist: a pipeline has several
 * agents. */
static int
find_tools(const struct agent *agent, char *const *tools, struct error *err)
{
	struct error why = ERROR_INIT;
	char text[sizeof why.message];
	char *path;

	for (size_t i = 0; tools[i] != NULL; i++) {
		if (tool_name_served(tools[i]))
			continue;
		path = tool_find(tools[i], workflow_directory(), &why);
		free(path);
		if (path == NULL)
			return error_set(err, why.code, agent->path, "tools: %s",
			    error_text(&why, text, sizeof text));
	}
	return 0;
}

/* Except those that the run blocks. Tools of MCP servers are listed later, when they are needed. */
static int
load_tools(struct member *m, char *const *names, struct error *err)
{
	m->tools = memory_zero(list_count(names) + 1, sizeof *m->tools);
	for (; *names != NULL; names++) {
		if (tool_name_served(*names) || ceiling_forbids(*names))
			continue;
		if (tool_load(&m->tools[m->tool_count], *names, workflow_directory(), err) == -1)
			return -1;
		m->tool_count++;
	}
	return 0;
}

/* The tools that the agent may use: for the leading agent those of its file, or those that the
 * step allows instead; for an agent that is handed over to those of its file that the step
 * allows. */
static int
load_agent_tools(struct member *m, bool leads, char *const *allowed, struct error *err)
{
	char **names = m->agent.tools, **tools;
	size_t kept = 0;
	int result;

	if (leads && allowed != NULL) {
		agent_allow_tools(&m->agent, allowed);
		return load_tools(m, allowed, err);
	}
	if (leads) {
		tools = agent_tools(&m->agent);
		result = find_tools(&m->agent, tools, err);
		if (result == 0)
			result = load_tools(m, tools, err);
		free(tools);
		return result;
	}
	if (find_tools(&m->agent, names, err) == -1)
		return -1;
	for (size_t i = 0; allowed != NULL && names[i] != NULL; i++) {
		if (tool_name_served(names[i]) || list_has(allowed, names[i]))
			names[kept++] = names[i];
		else
			free(names[i]);
	}
	if (allowed != NULL)
		names[kept] = NULL;
	return load_tools(m, names, err);
}

/* It needs no file, and a file for it needs no executable. */
static int
load_stop_tool(struct member *m, struct error *err)
{
	const char *name = m->agent.stop_tool;
	char *path;

	for (size_t i = 0; name != NULL && i < m->tool_count; i++)
		if (strcmp(m->tools[i].name, name) == 0)
			return 0;
	path = name == NULL ? NULL : tool_find(name, workflow_directory(), NULL);
	free(path);
	if (path != NULL && ceiling_forbids(name))
		return error_set(err, ERROR_DEFINITION, m->agent.path,
		    "stop_when: the run does not allow the tool '%s' (awf-run --allow-tools)", name);
	return path == NULL ? 0 : tool_load_form(&m->stop, name, workflow_directory(), err);
}

/* Sets up its servers, which it shares with agents of the same sandbox that name them too, and
 * checks that the tools named in its file are theirs. */
static int
load_servers(struct team *t, struct member *m, char *const *allowed, struct error *err)
{
	const struct agent *agent = &m->agent;
	const struct mcp_key *key = &agent->mcp;
	struct error why = ERROR_INIT;
	char text[sizeof why.place + sizeof why.message];
	int status = 0;

	m->allowed = allowed;
	for (size_t i = 0; key->names != NULL && key->names[i] != NULL; i++) {
		struct mcp_definition definition;
		struct mcp_server *s = NULL;

		if (key->own != NULL)
			mcp_definition_copy(&definition, &key->own[i]);
		else if (mcp_definition_find(&definition, key->names[i], workflow_directory(),
		    &why) == -1) {
			mcp_definition_free(&definition);
			return error_set(err, why.code, key->place, "mcp_servers: %s",
			    error_text(&why, text, sizeof text));
		}
		for (size_t j = 0; s == NULL && j < t->server_count; j++)
			if (strcmp(t->servers[j]->definition.name, definition.name) == 0 &&
			    strcmp(t->servers[j]->definition.file, definition.file) == 0 &&
			    t->servers[j]->sandbox->mode == agent->sandbox.mode &&
			    t->servers[j]->sandbox->network == agent->sandbox.network)
				s = t->servers[j];
		if (s != NULL) {
			mcp_definition_free(&definition);
		} else {
			s = memory_zero(1, sizeof *s);
			mcp_begin(s, &definition, &agent->sandbox);
			t->servers = memory_array(t->servers, t->server_count + 1, sizeof *t->servers);
			t->servers[t->server_count++] = s;
		}
		m->servers = memory_array(m->servers, m->server_count + 1, sizeof *m->servers);
		m->servers[m->server_count++] = s;
	}
	if (allowed == NULL)
		status = mcp_tool_check(m, agent->tools, agent->path, err);
	for (size_t i = 0; i < agent->phases.count && status == 0; i++)
		status = mcp_tool_check(m, agent->phases.list[i].tools, agent->path, err);
	return status;
}

static struct member *
add_member(struct team *t)
{
	struct member *m = memory_zero(1, sizeof *m);

	t->members = memory_array(t->members, t->count + 1, sizeof *t->members);
	t->members[t->count++] = m;
	return m;
}

/* Applies the step's limits, tools and result settings to an agent, whoever hands over to it;
 * checks all of them. */
static int
load_parts(struct team *t, struct member *m, const struct team_source *source, struct error *err)
{
	enum tools_policy run = ceiling_policy();
	struct agent *agent = &m->agent;
	bool leads = m == t->members[0], reads = false;

	/* What the run blocks stays blocked; otherwise the setting closest to the call counts. */
	if (run == TOOLS_BLOCK)
		agent->tools_policy = TOOLS_BLOCK;
	else if (source->tools_policy != TOOLS_UNSAID)
		agent->tools_policy = source->tools_policy;
	else if (agent->tools_policy == TOOLS_UNSAID)
		agent->tools_policy = run;
	if (source->max_turns >= 0)
		agent->limits.max_turns = source->max_turns;
	if (source->max_tokens_total >= 0)
		agent->limits.max_tokens_total = source->max_tokens_total;
	if (source->output_schema != NULL &&
	    output_schema_load(&agent->output, source->output_schema, NULL, err) == -1)
		return -1;
	agent_tell_output(agent);
	if (choose_model(leads ? source : NULL, agent, err) == -1)
		return -1;
	if (load_agent_tools(m, leads, source->allow_tools, err) == -1 ||
	    load_servers(t, m, source->allow_tools, err) == -1 || load_stop_tool(m, err) == -1)
		return -1;
	/* Whether it has a tool that reads files in each of its phases. */
	for (size_t i = 0; i < m->tool_count; i++)
		reads = reads || strcmp(m->tools[i].name, READ_TOOL) == 0;
	for (size_t i = 0; i < agent->phases.count; i++)
		reads = reads && list_has(phase_tools(agent, i), READ_TOOL);
	return skills_compose(agent, reads, workflow_directory(), err);
}

/* An agent whose file names neither provider nor model has those of the lead. */
static void
give_model(const struct team *t, struct member *m)
{
	const struct agent *lead = &t->members[0]->agent;

	if (m->agent.model != NULL || m->agent.provider != NULL)
		return;
	m->agent.model = memory_text(lead->model);
	m->agent.provider = memory_text(lead->provider);
	if (m->agent.fallback.count == 0)
		fallback_copy(&m->agent.fallback, &lead->fallback);
}

/* The member whose file this is: an existing one, or a new one, which has the lead's model if
 * its file names none. */
static struct member *
load_other(struct team *t, const char *path, const struct team_source *source, struct error *err)
{
	struct stat wanted, have;
	struct member *m;

	if (stat(path, &wanted) == 0)
		for (size_t i = 0; i < t->count; i++)
			if (t->members[i]->agent.path != NULL && !t->members[i]->summarises &&
			    stat(t->members[i]->agent.path, &have) == 0 &&
			    have.st_dev == wanted.st_dev && have.st_ino == wanted.st_ino)
				return t->members[i];
	m = add_member(t);
	if (agent_load(&m->agent, path, err) == -1)
		return NULL;
	give_model(t, m);
	return load_parts(t, m, source, err) == -1 ? NULL : m;
}

/* Tools offered to the model must have different names. */
static int
check_handoff(const struct member *m, const struct member *to, const char *tool,
    struct error *err)
{
	const char *place = m->agent.handoffs_place, *stop = m->agent.stop_tool;
	bool taken = stop != NULL && strcmp(stop, tool) == 0;

	if (to->agent.phases.count > 0)
		return error_set(err, ERROR_DEFINITION, place,
		    "handoffs: '%s' has phases: it works from its first on or not at all",
		    to->agent.name);
	if (to == m)
		return error_set(err, ERROR_DEFINITION, place,
		    "handoffs: '%s' is this agent itself", to->agent.name);
	if (!tool_name_valid(tool))
		return error_set(err, ERROR_DEFINITION, place,
		    "handoffs: the name of '%s' is too long for a tool", to->agent.name);
	for (size_t i = 0; i < m->tool_count; i++)
		taken = taken || strcmp(m->tools[i].name, tool) == 0;
	for (size_t i = 0; i < m->handoff_count; i++)
		taken = taken || strcmp(m->handoffs[i].tool, tool) == 0;
	return !taken ? 0 : error_set(err, ERROR_DEFINITION, place,
	    "handoffs: there are two tools '%s'", tool);
}

/* Finds the file of an agent that this agent's file names under a key, at this place. */
static char *
find_other(const struct agent *agent, const char *name, const char *key, const char *place,
    struct error *err)
{
	char *beside = path_directory(agent->path), *path;
	struct error why = ERROR_INIT;
	char text[sizeof why.message];

	path = agent_find(name, beside, workflow_directory(), &why);
	free(beside);
	if (path == NULL)
		error_set(err, ERROR_DEFINITION, place, "%s: %s", key, error_text(&why, text, sizeof text));
	if (path != NULL && trust_file_check(agent->path, path, err) != 0) {
		free(path);
		path = NULL;
	}
	return path;
}

/* A member of its own, though another may have the same file: nothing that is said of the step's result
 * applies to a summary. */
static int
load_summariser(struct team *t, struct member *from, const struct team_source *source, struct error *err)
{
	const struct team_source plain = { .max_turns = -1, .max_tokens_total = -1,
		.tools_policy = source->tools_policy };
	const char *place = from->agent.limits.compact_place;
	struct member *m;
	const char *has;
	char *path;

	if (from->agent.limits.compact_agent == NULL)
		return 0;
	path = find_other(&from->agent, from->agent.limits.compact_agent, "compact", place, err);
	if (path == NULL)
		return -1;
	m = add_member(t);
	m->summarises = true;
	if (agent_load(&m->agent, path, err) == -1) {
		free(path);
		return -1;
	}
	free(path);
	has = *m->agent.tools != NULL ? "tools" : m->agent.mcp.names != NULL ? "mcp_servers" :
	    m->agent.handoffs != NULL ? "handoffs" : m->agent.phases.count > 0 ? "phases" :
	    m->agent.before_turn != NULL ? "before_turn" :
	    m->agent.stop_tool != NULL || m->agent.stop_command != NULL ? "stop_when" :
	    m->agent.output.path != NULL ? "output_schema" : m->agent.limits.compact_at != 0 ? "compact" :
	    m->agent.continue_from != NULL ? "continue_from" : NULL;
	if (has != NULL)
		return error_set(err, ERROR_DEFINITION, place, "compact: '%s' is asked once for a summary, and "
		    "cannot have %s", m->agent.name, has);
	give_model(t, m);
	if (load_parts(t, m, &plain, err) == -1)
		return -1;
	for (size_t i = 0; team_agent_provider(&m->agent, i) != NULL; i++)
		if (provider_is_cli(team_agent_provider(&m->agent, i)))
			return error_set(err, ERROR_DEFINITION, place, "compact: '%s' is asked for a summary, "
			    "which the agent CLI '%s' cannot be", m->agent.name, team_agent_provider(&m->agent, i));
	from->summariser = m;
	return 0;
}

static int
load_handoff(struct team *t, struct member *from, const char *name,
    const struct team_source *source, struct error *err)
{
	char *path = find_other(&from->agent, name, "handoffs", from->agent.handoffs_place, err), *tool;
	struct member *to = path == NULL ? NULL : load_other(t, path, source, err);

	free(path);
	if (to == NULL)
		return -1;
	tool = tool_name_fit(memory_format("transfer_to_%s", to->agent.name));
	if (check_handoff(from, to, tool, err) == -1) {
		free(tool);
		return -1;
	}
	from->handoffs = memory_array(from->handoffs, from->handoff_count + 1,
	    sizeof *from->handoffs);
	from->handoffs[from->handoff_count++] = (struct handoff){ to, tool };
	return 0;
}

const char *
team_agent_provider(const struct agent *agent, size_t number)
{
	return number == 0 ? agent->provider : number <= agent->fallback.count ?
	    agent->fallback.list[number - 1].provider : NULL;
}

const struct endpoint *
team_endpoint(const struct team *t, const char *provider)
{
	for (size_t i = 0; i < t->endpoint_count; i++)
		if (strcmp(endpoint_name(t->endpoints[i]), provider) == 0)
			return t->endpoints[i];
	return NULL;
}

/* Reads the endpoints of all models that may be asked, so that what is wrong in their files is said
 * before anything is begun. */
static int
load_endpoints(struct team *t, const struct agent *agent, struct error *err)
{
	const char *name;

	for (size_t i = 0; (name = team_agent_provider(agent, i)) != NULL; i++) {
		struct endpoint *e;

		if (team_endpoint(t, name) != NULL)
			continue;
		if (provider_endpoint(name, &e, err) == -1)
			return -1;
		if (e == NULL)
			continue;
		t->endpoints = memory_array(t->endpoints, t->endpoint_count + 1, sizeof *t->endpoints);
		t->endpoints[t->endpoint_count++] = e;
	}
	return 0;
}

int
team_load(struct team *t, const struct team_source *source, const char *name,
    struct error *err)
{
	struct member *lead = add_member(t);
	char *path = NULL;

	t->policy = source->tools_policy;
	if (source->agent_file == NULL) {
		agent_plain(&lead->agent, name);
	} else {
		path = agent_find(source->agent_file, NULL, workflow_directory(), err);
		if (path == NULL || agent_load(&lead->agent, path, err) == -1) {
			free(path);
			return -1;
		}
	}
	free(path);
	if (load_parts(t, lead, source, err) == -1)
		return -1;
	for (size_t i = 0; i < t->count; i++) {
		char **names = t->members[i]->agent.handoffs;

		if (load_summariser(t, t->members[i], source, err) == -1)
			return -1;
		for (; names != NULL && *names != NULL; names++)
			if (load_handoff(t, t->members[i], *names, source, err) == -1)
				return -1;
	}
	for (size_t i = 0; getenv(PROVIDER_RECORDED) == NULL && i < t->count; i++)
		if (load_endpoints(t, &t->members[i]->agent, err) == -1)
			return -1;
	return 0;
}

/* Models of one endpoint may have different programs. */
static struct provider *
provider_of(struct team *t, const char *name, const char *model, const struct keys *keys,
    const struct run *run, const char *step)
{
	struct provider *p = memory_zero(1, sizeof *p);

	provider_begin(p, name, team_endpoint(t, name), model, keys);
	for (size_t i = 0; i < t->provider_count; i++)
		if (strcmp(t->providers[i]->name, name) == 0 &&
		    strcmp(t->providers[i]->program, p->program) == 0) {
			provider_stop(p);
			free(p);
			return t->providers[i];
		}
	p->step = step;
	p->run = run;
	t->providers = memory_array(t->providers, t->provider_count + 1, sizeof *t->providers);
	return t->providers[t->provider_count++] = p;
}

bool
team_runs_cli(const struct team *t)
{
	const char *name;

	for (size_t i = 0; i < t->count; i++)
		for (size_t j = 0; (name = team_agent_provider(&t->members[i]->agent, j)) != NULL; j++)
			if (provider_is_cli(name))
				return true;
	return false;
}

bool
team_reads_environment(const struct team *t)
{
	for (size_t i = 0; i < t->count; i++) {
		const struct member *m = t->members[i];

		if (m->tool_count > 0 || m->server_count > 0 || m->stop.argv != NULL)
			return true;
	}
	return team_runs_cli(t);
}

bool
team_clis_only_read(const struct team *t)
{
	const char *name;

	for (size_t i = 0; i < t->count; i++)
		for (size_t j = 0; (name = team_agent_provider(&t->members[i]->agent, j)) != NULL; j++)
			if (provider_is_cli(name) && !provider_only_reads(name, t->members[i]->agent.tools))
				return false;
	return true;
}

int
team_check_prices(const struct team *t, const struct budget *b, struct error *err)
{
	for (size_t i = 0; i < t->count; i++) {
		const struct agent *agent = &t->members[i]->agent;

		if (budget_check_price(b, agent->provider, agent->model, err) == -1)
			return -1;
		for (size_t j = 0; j < agent->fallback.count; j++)
			if (budget_check_price(b, agent->fallback.list[j].provider,
			    agent->fallback.list[j].model, err) == -1)
				return -1;
	}
	return 0;
}

void
team_connect(struct team *t, const struct keys *keys, const struct run *run, const char *step)
{
	for (size_t i = 0; i < t->server_count; i++)
		t->servers[i]->run = run;
	for (size_t i = 0; i < t->count; i++) {
		struct member *m = t->members[i];
		const struct fallback *fallback = &m->agent.fallback;

		if (m->provider != NULL)
			continue;
		m->provider = provider_of(t, m->agent.provider, m->agent.model, keys, run, step);
		m->fallbacks = memory_zero(fallback->count + 1, sizeof *m->fallbacks);
		for (size_t j = 0; j < fallback->count; j++)
			m->fallbacks[j] = provider_of(t, fallback->list[j].provider,
			    fallback->list[j].model, keys, run, step);
	}
}

void
team_stop(struct team *t)
{
	for (size_t i = 0; i < t->provider_count; i++)
		provider_stop(t->providers[i]);
	mcp_stop(t->servers, t->server_count);
}

void
team_free(struct team *t)
{
	for (size_t i = 0; i < t->count; i++) {
		struct member *m = t->members[i];

		for (size_t j = 0; j < m->tool_count; j++)
			tool_free(&m->tools[j]);
		free(m->tools);
		free(m->servers);
		tool_free(&m->stop);
		for (size_t j = 0; j < m->handoff_count; j++)
			free(m->handoffs[j].tool);
		free(m->handoffs);
		free(m->fallbacks);
		agent_free(&m->agent);
		free(m);
	}
	for (size_t i = 0; i < t->provider_count; i++) {
		provider_stop(t->providers[i]);
		free(t->providers[i]);
	}
	mcp_stop(t->servers, t->server_count);
	for (size_t i = 0; i < t->server_count; i++) {
		mcp_free(t->servers[i]);
		free(t->servers[i]);
	}
	for (size_t i = 0; i < t->endpoint_count; i++)
		endpoint_free(t->endpoints[i]);
	free(t->endpoints);
	free(t->members);
	free(t->providers);
	free(t->servers);
	*t = (struct team){ .count = 0 };
}
