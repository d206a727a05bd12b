#include "agent/step_load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/prompt.h"
#include "base/file.h"
#include "base/memory.h"

static int
load_tools(struct step *step, char *const *names, struct error *err)
{
	const char *directory = getenv("AWF_WORKFLOW_DIR");
	size_t count = 0;

	while (names[count] != NULL)
		count++;
	step->tools = memory_zero(count + 1, sizeof *step->tools);
	for (; step->tool_count < count; step->tool_count++)
		if (tool_load(&step->tools[step->tool_count], names[step->tool_count], directory,
		    err) == -1)
			return -1;
	return 0;
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

/* Names the agent of a tool that is nowhere: a pipeline has several. */
static int
find_tools(const struct agent *agent, struct error *err)
{
	const char *directory = getenv("AWF_WORKFLOW_DIR");
	struct error why = ERROR_INIT;
	char text[sizeof why.message];
	char *path;

	for (size_t i = 0; agent->tools[i] != NULL; i++) {
		path = tool_find(agent->tools[i], directory, &why);
		free(path);
		if (path == NULL)
			return error_set(err, why.code, agent->path, "tools: %s",
			    error_text(&why, text, sizeof text));
	}
	return 0;
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

/* The agent of a file, or of nothing but a model. */
static int
load_file(struct agent *agent, const char *file, const char *name, struct error *err)
{
	char *path;
	int loaded;

	if (file == NULL) {
		agent_plain(agent, name);
		return 0;
	}
	path = agent_find(file, getenv("AWF_WORKFLOW_DIR"), err);
	loaded = path == NULL ? -1 : agent_load(agent, path, err);
	free(path);
	return loaded;
}

static int
load_agent(struct step *step, const struct step_source *source, struct step_loaded *loaded,
    struct error *err)
{
	struct agent *agent = &loaded->agent;

	if (load_file(agent, source->agent_file, step->name, err) == -1)
		return -1;
	step->agent = agent;
	step->kind = "agent";
	if (source->max_turns >= 0)
		agent->max_turns = source->max_turns;
	if (source->max_tokens_total >= 0)
		agent->max_tokens_total = source->max_tokens_total;
	if (step->timeout_ms == 0)
		step->timeout_ms = agent->timeout_ms;
	if (choose_model(source->model, agent, err) == -1 ||
	    load_prompt(step, source->prompt, &loaded->prompt, err) == -1 ||
	    prompt_check(step->prompt, step->prompt_place, err) == -1)
		return -1;
	if (source->allow_tools != NULL)
		return load_tools(step, source->allow_tools, err);
	return find_tools(agent, err) == -1 ? -1 : load_tools(step, agent->tools, err);
}

static int
load_operation(struct step *step, const char *name, struct error *err)
{
	char *copy = memory_text(name), *names[] = { copy, NULL };
	int result = load_tools(step, names, err);

	free(copy);
	step->kind = "operation";
	step->operation = true;
	if (result == 0 && step->effects == EFFECTS_UNDECLARED) {
		step->effects = step->tools[0].effects;
		step->idempotent = step->tools[0].idempotent;
	}
	return result;
}

int
step_load(struct step *step, const struct step_source *source, struct step_loaded *loaded,
    struct error *err)
{
	int result = 0;

	step->kind = "command";
	if (source->tool != NULL)
		result = load_operation(step, source->tool, err);
	else if (step->command == NULL)
		result = load_agent(step, source, loaded, err);
	if (source->kind != NULL)
		step->kind = source->kind;
	if (result == 0) {
		step_define(step);
		step_name_files(step, source);
	}
	return result;
}

void
step_unload(struct step *step, struct step_loaded *loaded)
{
	for (size_t i = 0; i < step->tool_count; i++)
		tool_free(&step->tools[i]);
	free(step->tools);
	if (step->agent != NULL)
		agent_free(&loaded->agent);
	buffer_free(&loaded->prompt);
	buffer_free(&step->files);
}
