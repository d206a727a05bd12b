#include "agent/team.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static const char *
workflow_directory(void)
{
	return getenv("AWF_WORKFLOW_DIR");
}

/* Says why what is before the slash of a model that place names is no provider. */
static int
refuse_provider(const char *place, const char *model, struct error *err)
{
	char *name = memory_copy(model, strcspn(model, "/"));
	struct error why = ERROR_INIT;

	free(provider_find(name, &why));
	free(name);
	return error_set(err, ERROR_DEFINITION, place, "%s", why.message);
}

/* $AWF_PROVIDER stands in for whatever provider was said. */
static int
replace_provider(struct agent *agent, struct error *err)
{
	const char *name = getenv("AWF_PROVIDER");
	char *path;

	if (name == NULL || *name == '\0')
		return 0;
	path = provider_find(name, err);
	if (path == NULL) {
		snprintf(err->place, sizeof err->place, "AWF_PROVIDER");
		return -1;
	}
	free(path);
	free(agent->provider);
	agent->provider = memory_text(name);
	return 0;
}

/* The model: -m, the agent file, $AWF_MODEL. */
static int
choose_model(const char *model, struct agent *agent, struct error *err)
{
	const char *place = "-m";

	if (model == NULL) {
		place = agent->model == NULL ? "AWF_MODEL" : agent->path;
		model = agent->model == NULL ? getenv("AWF_MODEL") :
		    agent->provider == NULL ? agent->model : NULL;
	}
	if (model != NULL && *model != '\0' && agent_set_model(agent, model, place, err) == -1)
		return -1;
	if (replace_provider(agent, err) == -1)
		return -1;
	if (agent->model != NULL && agent->provider == NULL && strchr(agent->model, '/') != NULL)
		return refuse_provider(place, agent->model, err);
	if (agent->model == NULL || agent->provider == NULL)
		return error_set(err, ERROR_DEFINITION, agent->path != NULL ? agent->path : "-m",
		    "no %s: say -m PROVIDER/MODEL, or provider and model in the agent file, or AWF_MODEL",
		    agent->model == NULL ? "model" : "provider");
	return 0;
}

/* Names the agent of a tool that is nowhere: a pipeline has several. */
static int
find_tools(const struct agent *agent, struct error *err)
{
	struct error why = ERROR_INIT;
	char text[sizeof why.message];
	char *path;

	for (size_t i = 0; agent->tools[i] != NULL; i++) {
		path = tool_find(agent->tools[i], workflow_directory(), &why);
		free(path);
		if (path == NULL)
			return error_set(err, why.code, agent->path, "tools: %s",
			    error_text(&why, text, sizeof text));
	}
	return 0;
}

static int
load_tools(struct member *m, char *const *names, struct error *err)
{
	size_t count = 0;

	while (names[count] != NULL)
		count++;
	m->tools = memory_zero(count + 1, sizeof *m->tools);
	for (; m->tool_count < count; m->tool_count++)
		if (tool_load(&m->tools[m->tool_count], names[m->tool_count],
		    workflow_directory(), err) == -1)
			return -1;
	return 0;
}

/* One that has no file needs none. */
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
	return path == NULL ? 0 : tool_load(&m->stop, name, workflow_directory(), err);
}

static int
load_file(struct agent *agent, const char *file, const char *name, struct error *err)
{
	char *path;
	int loaded;

	if (file == NULL) {
		agent_plain(agent, name);
		return 0;
	}
	path = agent_find(file, workflow_directory(), err);
	loaded = path == NULL ? -1 : agent_load(agent, path, err);
	free(path);
	return loaded;
}

static struct member *
add_member(struct team *t)
{
	struct member *m = memory_zero(1, sizeof *m);

	t->members = memory_array(t->members, t->count + 1, sizeof *t->members);
	t->members[t->count++] = m;
	return m;
}

static void
set_limits(struct agent *agent, const struct team_source *source)
{
	if (source->max_turns >= 0)
		agent->max_turns = source->max_turns;
	if (source->max_tokens_total >= 0)
		agent->max_tokens_total = source->max_tokens_total;
}

static int
load_lead(struct member *m, const struct team_source *source, const char *name,
    struct error *err)
{
	struct agent *agent = &m->agent;

	if (load_file(agent, source->agent_file, name, err) == -1)
		return -1;
	set_limits(agent, source);
	if (choose_model(source->model, agent, err) == -1)
		return -1;
	if (source->allow_tools == NULL && find_tools(agent, err) == -1)
		return -1;
	if (load_tools(m, source->allow_tools != NULL ? source->allow_tools : agent->tools,
	    err) == -1)
		return -1;
	return load_stop_tool(m, err);
}

int
team_load(struct team *t, const struct team_source *source, const char *name,
    struct error *err)
{
	return load_lead(add_member(t), source, name, err);
}

static struct provider *
provider_of(struct team *t, const char *name, const struct keys *keys, const char *step)
{
	struct provider *p;

	for (size_t i = 0; i < t->provider_count; i++)
		if (strcmp(t->providers[i]->name, name) == 0)
			return t->providers[i];
	p = memory_zero(1, sizeof *p);
	provider_begin(p, name, keys);
	p->step = step;
	t->providers = memory_array(t->providers, t->provider_count + 1, sizeof *t->providers);
	return t->providers[t->provider_count++] = p;
}

void
team_connect(struct team *t, const struct keys *keys, const char *step)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->members[i]->provider == NULL)
			t->members[i]->provider = provider_of(t, t->members[i]->agent.provider,
			    keys, step);
}

void
team_stop(struct team *t)
{
	for (size_t i = 0; i < t->provider_count; i++)
		provider_stop(t->providers[i]);
}

static void
member_free(struct member *m)
{
	for (size_t i = 0; i < m->tool_count; i++)
		tool_free(&m->tools[i]);
	free(m->tools);
	tool_free(&m->stop);
	agent_free(&m->agent);
	free(m);
}

void
team_free(struct team *t)
{
	for (size_t i = 0; i < t->count; i++)
		member_free(t->members[i]);
	for (size_t i = 0; i < t->provider_count; i++) {
		provider_stop(t->providers[i]);
		free(t->providers[i]);
	}
	free(t->members);
	free(t->providers);
	*t = (struct team){ NULL, 0, NULL, 0 };
}
