/*
 * A table of keys, each with its reader, parses the file; rules about several keys are checked
 * afterwards. The name gets its default only after the file has been read. A key that resembles a
 * known one causes a warning; or an error, if the known one limits the agent, since a misspelt
 * limit would have no effect.
 */
#include "definitions/agent.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/patience.h"
#include "base/text.h"
#include "definitions/dialect.h"
#include "definitions/sandboxing.h"
#include "definitions/skills.h"
#include "definitions/tool.h"
#include "definitions/trust.h"
#include "formats/definition.h"
#include "formats/markdown.h"
#include "formats/params.h"
#include "io/file.h"
#include "json/value.h"
#include "proc/process.h"
#include "providers/provider_find.h"
#include "workspace/unreviewed.h"

#define COMPACT_KEEP 20 /* messages */
#define DEFAULT_MAX_TURNS 30
#define DEFAULT_STUCK_AFTER 5
#define DEFAULT_OUTPUT_REPAIRS 2
#define NAME_LIMIT 128

/* Readers of keys, beyond those of definition.h. */

static int
read_name(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	const char *name = json_string_value(value);

	if (definition_text(d, key, value, object, err) != 0)
		return -1;
	if (strlen(name) > NAME_LIMIT)
		return definition_fail(d, key->name, err, "longer than %d bytes", NAME_LIMIT);
	for (; *name != '\0'; name++)
		if ((unsigned char)*name < ' ' || *name == 0x7f)
			return definition_fail(d, key->name, err, "has a control character");
	return 0;
}

static int
read_provider(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	const struct agent *a = object;
	struct error why = ERROR_INIT;
	char *place;

	if (definition_text(d, key, value, object, err) != 0)
		return -1;
	if (provider_check_named(a->provider, &why) == 0)
		return 0;
	place = definition_place(d, key->name);
	error_set(err, ERROR_DEFINITION, place, "%s", why.message);
	free(place);
	return -1;
}

static int
read_tools_policy(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	struct agent *a = object;
	const char *text = json_string_value(value);

	if (text == NULL || tools_policy_parse(text, NULL, &a->tools_policy, NULL) == -1)
		return definition_fail(d, key->name, err, "expected block or warn");
	return 0;
}

static int
read_empty(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	const char *text = json_string_value(value);

	if (text == NULL || (strcmp(text, "accept") != 0 && strcmp(text, "error") != 0))
		return definition_fail(d, key->name, err, "expected accept or error");
	((struct agent *)object)->answer.may_be_empty = strcmp(text, "accept") == 0;
	return 0;
}

/* A number, or a text such as 100k. */
static bool
read_tokens(const json_t *value, int64_t *tokens)
{
	const char *text = json_string_value(value);
	char *end;

	if (json_is_integer(value)) {
		*tokens = json_integer_value(value);
		return *tokens > 0;
	}
	if (text == NULL || *text < '0' || *text > '9')
		return false;
	*tokens = strtoll(text, &end, 10);
	if (*tokens > INT_MAX)
		return false;
	*tokens *= *end == 'k' ? 1000 : *end == 'M' ? 1000000 : 1;
	end += *end == 'k' || *end == 'M';
	return *end == '\0' && *tokens > 0;
}

static int
read_compact(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	struct agent *a = object;
	const json_t *keep = json_object_get(value, "keep"), *agent = json_object_get(value, "agent");
	const size_t known = (size_t)(json_object_get(value, "at") != NULL) + (size_t)(keep != NULL) +
	    (size_t)(agent != NULL);

	if (!json_is_object(value) || json_object_size(value) != known ||
	    !read_tokens(json_object_get(value, "at"), &a->limits.compact_at) ||
	    (keep != NULL && (!json_is_integer(keep) || json_integer_value(keep) < 1)) ||
	    (agent != NULL && json_string_length(agent) == 0))
		return definition_fail(d, key->name, err,
		    "expected {at: TOKENS, keep: MESSAGES, agent: FILE}, such as {at: 100k, keep: 20}");
	if (agent != NULL) {
		a->limits.compact_agent = memory_text(json_string_value(agent));
		a->limits.compact_place = definition_place(d, key->name);
	}
	if (keep != NULL)
		a->limits.compact_keep = json_integer_value(keep);
	return 0;
}

static bool
is_command(const json_t *value)
{
	for (size_t i = 0; i < json_array_size(value); i++)
		if (json_string_length(json_array_get(value, i)) == 0)
			return false;
	return json_string_length(value) > 0 || json_array_size(value) > 0;
}

static int
read_stop_when(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	struct agent *a = object;
	json_t *command = json_object_get(value, "command");
	const char *tool = json_string_value(json_object_get(value, "tool"));

	if (json_object_size(value) != 1 || (tool == NULL && !is_command(command)))
		return definition_fail(d, key->name, err,
		    "expected {tool: NAME} or {command: TEXT or list of texts}");
	if (tool != NULL && !tool_name_valid(tool))
		return definition_fail(d, key->name, err, "'%s' is no tool's name "
		    "(1 to 64 of A-Z a-z 0-9 _ -)", tool);
	a->stop_tool = tool == NULL ? NULL : memory_text(tool);
	a->stop_command = json_incref(command);
	return 0;
}

/* Pins the files of a command: of a text for the shell, those that its first words name. */
static int
read_before_turn(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	static const struct definition_key timeout_key = { "before_turn", NULL,
		offsetof(struct agent, limits.before_turn_ms), 0, 0 };
	struct agent *a = object;
	json_t *command = json_is_object(value) ? json_object_get(value, "command") : value;
	json_t *timeout = json_object_get(value, "timeout");
	char **argv = NULL, *text = NULL, *rest;
	const char *word;

	if (!is_command(command) || (json_is_object(value) &&
	    json_object_size(value) != 1 + (size_t)(timeout != NULL)))
		return definition_fail(d, key->name, err,
		    "expected a text, a list of texts, or {command: …, timeout: …}");
	a->before_turn = json_incref(command);
	for (size_t i = 0; i < json_array_size(command); i++)
		list_add(&argv, json_string_value(json_array_get(command, i)));
	if (json_is_string(command))
		rest = text = memory_text(json_string_value(command));
	while (text != NULL && (word = strsep(&rest, " \t\n;|&<>()'\"")) != NULL)
		if (*word != '\0')
			list_add(&argv, word);
	if (argv != NULL)
		pins_add_command(&a->pins, argv);
	pins_read(&a->pins);
	list_free(argv);
	free(text);
	return timeout == NULL ? 0 : definition_duration(d, &timeout_key, timeout, a, err);
}

/* Reads a schema, or the path of its file, relative to the directory of this file. */
static int
read_output_schema(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	struct agent *a = object;
	struct error why = ERROR_INIT;
	char text[sizeof why.message], *directory, *path;
	int result;

	if (!json_is_string(value) || json_string_length(value) == 0) {
		result = output_schema_take(&a->output, value, &why);
	} else {
		directory = path_directory(d->path);
		path = *json_string_value(value) == '/' ? memory_text(json_string_value(value))
		    : path_join(directory, json_string_value(value));
		result = output_schema_load(&a->output, path, d->path, &why);
		free(path);
		free(directory);
	}
	return result == 0 ? 0 :
	    definition_fail(d, key->name, err, "%s", error_text(&why, text, sizeof text));
}

static int
read_handoffs(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	struct agent *a = object;

	if (definition_names(d, key, value, object, err) != 0 ||
	    definition_once(d, key, a->handoffs, err) != 0)
		return -1;
	a->handoffs_place = definition_place(d, key->name);
	return 0;
}

static int
read_skills(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	struct agent *a = object;

	if (definition_names(d, key, value, object, err) != 0)
		return -1;
	for (char **name = a->prompt.skills; name != NULL && *name != NULL; name++)
		if (!skill_name_valid(*name))
			return definition_fail(d, key->name, err, "'%s' is no skill's name "
			    "(1 to 64 of a-z 0-9 and single hyphens between them)", *name);
	if (definition_once(d, key, a->prompt.skills, err) != 0)
		return -1;
	a->prompt.skills_place = definition_place(d, key->name);
	return 0;
}

static int
read_agents_md(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	struct agent *a = object;

	a->prompt.agents_md_place = definition_place(d, key->name);
	return definition_flag(d, key, value, object, err);
}

#define MEMBER(name) offsetof(struct agent, name)

/* awf-agent(5) lists the same keys. */
static const struct definition_key keys[] = {
	{ "name", read_name, MEMBER(name), 0, 0 },
	{ "description", definition_text, MEMBER(description), 0, 0 },
	{ "provider", read_provider, MEMBER(provider), 0, 0 },
	{ "model", definition_text, MEMBER(model), 0, 0 },
	{ "max_tokens", params_integer, MEMBER(params), 1, INT_MAX },
	{ "temperature", params_number, MEMBER(params), 0, 2 },
	{ "top_p", params_number, MEMBER(params), 0, 1 },
	{ "stop_sequences", params_stop_sequences, MEMBER(params), 0, 0 },
	{ "thinking", params_thinking, MEMBER(params), 0, 0 },
	{ "body", params_of_endpoint, MEMBER(params), 0, 0 },
	{ "headers", params_of_endpoint, MEMBER(params), 0, 0 },
	{ "timeouts", params_of_endpoint, MEMBER(params), 0, 0 },
	{ "cache", params_flag, MEMBER(params), 0, 0 },
	{ "tools", tool_names_read, MEMBER(tools), 0, 0 },
	{ "tools_policy", read_tools_policy, 0, 0, 0 },
	{ "approve_tools", approvals_read, MEMBER(limits.approvals), 0, 0 },
	{ "max_turns", definition_integer, MEMBER(limits.max_turns), 0, INT_MAX },
	{ "stuck_after", definition_integer, MEMBER(limits.stuck_after), 0, INT_MAX },
	{ "max_tokens_total", definition_integer, MEMBER(limits.max_tokens_total), 0, INT64_MAX },
	{ "timeout", definition_duration, MEMBER(limits.timeout_ms), 0, 0 },
	{ "stop_when", read_stop_when, 0, 0, 0 },
	{ "mcp_servers", mcp_key_read, MEMBER(mcp), 0, 0 },
	{ "skills", read_skills, MEMBER(prompt.skills), 0, 0 },
	{ "agents_md", read_agents_md, MEMBER(prompt.agents_md), 0, 0 },
	{ "project_settings", definition_flag, MEMBER(prompt.project_settings), 0, 0 },
	{ "before_turn", read_before_turn, 0, 0, 0 },
	{ "output_schema", read_output_schema, 0, 0, 0 },
	{ "empty", read_empty, 0, 0, 0 },
	{ "output_repairs", definition_integer, MEMBER(answer.repairs), 0, INT_MAX },
	{ "compact", read_compact, 0, 0, 0 },
	{ "continue_from", definition_text, MEMBER(continue_from), 0, 0 },
	{ "fallback", fallback_read, MEMBER(fallback), 0, 0 },
	{ "handoffs", read_handoffs, MEMBER(handoffs), 0, 0 },
	{ "phases", phases_read, MEMBER(phases), 0, 0 },
	{ "sandbox", sandboxing_mode, MEMBER(sandbox), 0, 0 },
	{ "network", sandboxing_network, MEMBER(sandbox), 0, 0 },
	{ NULL, NULL, 0, 0, 0 },
};

/* Keys of other programs' agent files, and of providers' requests, that AWF has under another
 * name. */
static const struct definition_synonym synonyms[] = {
	{ "allowed_tools", "tools" }, { "allowed-tools", "tools" }, { "allowedTools", "tools" },
	{ "mcpServers", "mcp_servers" },
	{ "max_steps", "max_turns" }, { "max_iterations", "max_turns" },
	{ "schema", "output_schema" }, { "json_schema", "output_schema" },
	{ "response_format", "output_schema" }, { "outputSchema", "output_schema" },
	{ NULL, NULL },
};

/* Without these keys an agent would do more, run longer, or do anything at all. */
static const char *const strict[] = { "max_tokens", "max_turns", "stuck_after", "max_tokens_total", "timeout",
	"tools_policy", "approve_tools", "output_schema", "sandbox", "network", "project_settings", NULL };

/* Keys of endpoints, which say where an API key is sent, or run something. They are refused in an
 * agent's file, which may come from anywhere. */
static const char *const of_endpoints[] = { "base_url", "base_env", "api_base", "api_key", "key", "command",
	"tls", "unix", "insecure", NULL };

/* Keys that are refused because they are options of awf-step and awf-run. */
static const char *const options[] = { "max_cost", "max_children", NULL };

/* The prompt of a JSON file, which has no body. */
static const struct definition_key prompt_keys[] = {
	{ "system", definition_text, MEMBER(system), 0, 0 },
	{ "prompt", definition_text, MEMBER(system), 0, 0 },
	{ NULL, NULL, 0, 0, 0 },
};

static void
agent_begin(struct agent *a)
{
	memset(a, 0, sizeof *a);
	a->params = json_object();
	a->tools = memory_zero(1, sizeof *a->tools);
	a->limits.max_turns = DEFAULT_MAX_TURNS;
	a->limits.stuck_after = DEFAULT_STUCK_AFTER;
	a->limits.compact_keep = COMPACT_KEEP;
	a->limits.before_turn_ms = BEFORE_TURN_LIMIT_MS;
	a->answer.repairs = DEFAULT_OUTPUT_REPAIRS;
}

/* Checks that no tool of the agent has the name of a tool that ends phases, and that nothing else
 * ends the call. */
static int
check_phases(const struct agent *a, const struct definition *d, struct error *err)
{
	static const char *const ours[] = { PHASE_CONTINUE, PHASE_FINISH };
	bool taken = false;

	if (a->phases.count == 0)
		return 0;
	if (a->stop_tool != NULL || a->stop_command != NULL)
		return definition_fail(d, "phases", err,
		    "not with stop_when: " PHASE_FINISH " ends the call");
	if (a->handoffs != NULL)
		return definition_fail(d, "phases", err,
		    "not with handoffs: the phases are this agent's");
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
		taken = taken || list_has(a->tools, ours[i]);
		for (size_t j = 0; j < a->phases.count; j++)
			taken = taken || list_has(a->phases.list[j].tools, ours[i]);
		if (taken)
			return definition_fail(d, "phases", err,
			    "'%s' is there for every phase, and no tool of the agent's", ours[i]);
	}
	return 0;
}

/* Translates another program's file into AWF's keys. */
static int
agent_translate_dialect(struct agent *a, const struct dialect *dialect, struct definition *d,
    struct error *err)
{
	struct buffer unused = BUFFER_INIT;
	struct dialect_rest rest;
	const char *name;
	json_t *value;

	if (dialect_translate(dialect, d, getenv("AWF_WORKFLOW_DIR"), &rest, err) != 0)
		return -1;
	a->doubt = rest.left_out;
	a->alias = rest.alias;
	json_object_foreach(d->document, name, value) {
		const struct definition_key *key = keys;

		while (key->name != NULL && strcmp(key->name, name) != 0)
			key++;
		if (key->name == NULL)
			buffer_format(&unused, "%s %s", unused.len > 0 ? "," : "", name);
	}
	if (unused.len > 0)
		a->unused = memory_format("%s: a file of %s; keys that mean nothing here:%s", a->path,
		    dialect_program(dialect), unused.data);
	buffer_free(&unused);
	return 0;
}

/* Adds a warning about the file to a->doubt. */
static void
doubt_add(struct agent *a, const char *place, const char *what, const char *why)
{
	char *before = a->doubt;

	a->doubt = memory_format("%s%s%s: warning: '%s' %s", before != NULL ? before : "",
	    before != NULL ? "\n" : "", place, what, why);
	free(before);
}

/* Warns about text that was meant for the prompt but is not part of it: with -a, the body of the
 * file is the system prompt, and the prompt is that of -p. */
static void
doubt_prompt(struct agent *a, const struct definition *d)
{
	static const char *const names[] = { "{{data", "{{ data", "{{inputs.", "{{ inputs.", "{data}" };

	for (const struct definition_key *key = prompt_keys; key->name != NULL; key++)
		if (!text_ends(a->path, ".json") && json_object_get(d->document, key->name) != NULL) {
			char *place = definition_place(d, key->name);

			doubt_add(a, place, key->name, "means nothing (the text below is what the agent is told; a "
			    "prompt is given by awf-step -p)");
			free(place);
		}
	for (size_t i = 0; a->system != NULL && i < sizeof names / sizeof *names; i++)
		if (strstr(a->system, names[i]) != NULL) {
			doubt_add(a, a->path, names[i], "goes to the model as it stands (values are put into the "
			    "prompt alone, which is {{data}}, or what awf-step -p says)");
			break;
		}
}

static int
agent_read_file(struct agent *a, struct definition *d, struct buffer *text, struct error *err)
{
	const struct dialect *dialect;

	digest_sha256(buffer_string(text), text->len, a->sha256);
	if (markdown_normalise(text, a->path, err) != 0)
		return -1;
	if (text_ends(a->path, ".json")) {
		d->document = value_parse(buffer_string(text), text->len, a->path, ERROR_DEFINITION,
		    err);
		if (d->document == NULL)
			return -1;
		if (!json_is_object(d->document))
			return error_set(err, ERROR_DEFINITION, a->path, "expected an object of keys, such as "
			    "{\"model\": \"sonnet\"}, got %s", definition_type(d->document));
		if (json_object_get(d->document, "system") != NULL &&
		    json_object_get(d->document, "prompt") != NULL)
			return definition_fail(d, "prompt", err, "'system' says the same, drop one");
		if (definition_read(d, prompt_keys, a, err) != 0)
			return -1;
	} else if (markdown_read(d, buffer_string(text), &a->system, err) != 0) {
		return -1;
	}
	dialect = text_ends(a->path, ".json") ? NULL : dialect_of(d);
	for (size_t i = 0; dialect == NULL && options[i] != NULL; i++)
		if (json_object_get(d->document, options[i]) != NULL)
			return definition_fail(d, options[i], err, "is no key, but an option of awf-step");
	for (size_t i = 0; dialect == NULL && of_endpoints[i] != NULL; i++)
		if (json_object_get(d->document, of_endpoints[i]) != NULL)
			return definition_fail(d, of_endpoints[i], err, "is no key of agents: where a server is, and "
			    "what key it gets, is said by the user's file of an endpoint alone (awf-endpoint(5))");
	if ((dialect == NULL ? definition_doubt(d, keys, synonyms, strict, &a->doubt, err) :
	    agent_translate_dialect(a, dialect, d, err)) != 0 ||
	    definition_read(d, keys, a, err) != 0)
		return -1;
	if (dialect == NULL)
		doubt_prompt(a, d);
	return check_phases(a, d, err);
}

/* A rule that names a tool that the agent does not have would ask nobody about anything. */
static int
check_approvals(const struct agent *a, const struct definition *d, struct error *err)
{
	char **tools = agent_tools(a);
	const char *unknown = approvals_unknown_tool(&a->limits.approvals, tools);
	int failed = 0;

	if (unknown != NULL && (a->stop_tool == NULL || strcmp(unknown, a->stop_tool) != 0)) {
		const char *near = text_suggest(unknown, (const char *const *)tools);

		failed = definition_fail(d, "approve_tools", err, "'%s' is none of the agent's tools%s%s%s", unknown,
		    near != NULL ? " (did you mean '" : "", near != NULL ? near : "", near != NULL ? "'?)" : "");
	}
	free(tools);
	return failed;
}

int
agent_parse(struct agent *a, const char *path, struct buffer *text, struct error *err)
{
	struct definition d = { path, NULL, NULL };
	const char *base = path_base(path), *dot = strrchr(base, '.');
	int result;

	agent_begin(a);
	a->path = memory_text(path);
	result = agent_read_file(a, &d, text, err);
	json_decref(d.lines);
	a->document = d.document;
	if (result == 0)
		result = check_approvals(a, &d, err);
	if (a->name == NULL)
		a->name = memory_copy(base, dot == NULL || dot == base ? strlen(base) :
		    (size_t)(dot - base));
	if (result != 0)
		agent_free(a);
	return result;
}

/* The directory of the step's project: its repository, or else its own directory; to be freed by
 * the caller; NULL: not known. */
static char *
project_directory(void)
{
	char here[PATH_MAX], *directory, *mark;
	bool found;

	if (getcwd(here, sizeof here) == NULL)
		return NULL;
	for (directory = memory_text(here); strcmp(directory, "/") != 0; path_climb(&directory)) {
		mark = path_join(directory, ".git");
		found = access(mark, F_OK) == 0;
		free(mark);
		if (found)
			return directory;
	}
	free(directory);
	return memory_text(here);
}

/* Refuses a file of a project that says that the project's settings are used. */
static int
check_project_settings(const struct agent *a, struct error *err)
{
	char *project, *real, *own = path_config("agents"), *ours;
	bool inside;

	if (!a->prompt.project_settings) {
		free(own);
		return 0;
	}
	project = project_directory();
	real = realpath(a->path, NULL);
	ours = own == NULL ? NULL : realpath(own, NULL);
	inside = project == NULL || real == NULL ||
	    (path_within(real, project) && (ours == NULL || !path_within(real, ours)));
	free(project);
	free(real);
	free(own);
	free(ours);
	return inside ? error_set(err, ERROR_DEFINITION, a->path, "project_settings: an agent file of "
	    "the project cannot allow the project's own settings: put the agent file into "
	    "~/.config/awf/agents, or 'project_settings = true' into ~/.config/awf/config") : 0;
}

int
agent_load(struct agent *a, const char *path, struct error *err)
{
	struct buffer text = BUFFER_INIT;
	int result = trust_file_load(path, path, DEFINITION_LIMIT, &text, err);

	if (result == 0)
		result = unreviewed_check(path, err);
	if (result == 0)
		result = agent_parse(a, path, &text, err);
	buffer_free(&text);
	if (result == 0 && check_project_settings(a, err) != 0) {
		agent_free(a);
		result = -1;
	}
	return result;
}

void
agent_plain(struct agent *a, const char *name)
{
	agent_begin(a);
	a->name = memory_text(name);
	a->document = json_object();
}

int
agent_set_model(struct agent *a, const char *text, const char *place, struct error *err)
{
	const char *slash = strchr(text, '/');
	char *provider = slash == NULL ? NULL : memory_copy(text, (size_t)(slash - text));
	char *model; /* text may point to a->model, which is replaced */

	if (provider != NULL && provider_check(provider, NULL) == 0) {
		free(a->provider);
		a->provider = provider;
		text = slash + 1;
	} else {
		free(provider);
	}
	if (*text == '\0')
		return error_set(err, ERROR_USAGE, place, "the model's name is empty");
	model = memory_text(text);
	free(a->model);
	a->model = model;
	return 0;
}

/* *user is set to the user's directories of other programs; the caller frees it after the result,
 * which points to it. */
static struct definition_places
agent_definition_places(char **user, const char *beside, const char *workflow_directory)
{
	*user = dialect_user_directories();
	return (struct definition_places){ .kind = "agents", .others = dialect_directories,
	    .beside = beside, .workflow_directory = workflow_directory, .user = *user };
}

char **
agent_directories(const char *workflow_directory)
{
	char *user, **directories;
	const struct definition_places all = agent_definition_places(&user, NULL,
	    workflow_directory);

	directories = definition_directories(&all);
	free(user);
	return directories;
}

/* A path that does not exist relative to this directory may exist relative to the workflow's. */
static char *
find_path(const char *file, const char *workflow_directory, struct error *err)
{
	char *below = path_directory(file), *found, here[PATH_MAX], **directories = NULL;

	found = *file == '/' || workflow_directory == NULL ? NULL : path_join(workflow_directory, file);
	if (found != NULL && definition_exists(found)) {
		free(below);
		return found;
	}
	free(found);
	if (*file == '/')
		list_add(&directories, below);
	else if (getcwd(here, sizeof here) != NULL)
		list_take(&directories, strcmp(below, ".") == 0 ? memory_text(here) : path_join(here, below));
	if (*file != '/' && workflow_directory != NULL) {
		found = path_join(workflow_directory, below);
		if (list_has(directories, found))
			free(found);
		else
			list_take(&directories, found);
	}
	free(below);
	definition_not_found(directories, file, err);
	list_free(directories);
	return NULL;
}

char *
agent_find(const char *file, const char *beside, const char *workflow_directory,
    struct error *err)
{
	char *markdown = memory_format("%s.md", file), *agent = memory_format("%s.agent.md", file);
	const char *const names[] = { file, markdown, agent, NULL };
	char *found = NULL, *user;

	if (beside != NULL && *file != '/')
		found = definition_in(beside, names);
	if (found == NULL && definition_exists(file)) {
		found = memory_text(file);
	} else if (found == NULL && strchr(file, '/') != NULL) {
		found = find_path(file, workflow_directory, err);
	} else if (found == NULL) {
		const struct definition_places all = agent_definition_places(&user, beside,
		    workflow_directory);

		found = definition_find(&all, file, names, err);
		free(user);
	}
	free(markdown);
	free(agent);
	return found;
}

/* Appends the names that are missing to an array, which has room for them. */
static void
add_tools(char **all, char *const *tools)
{
	size_t count = 0;

	while (all[count] != NULL)
		count++;
	for (; tools != NULL && *tools != NULL; tools++)
		if (!list_has(all, *tools))
			all[count++] = *tools;
}

char **
agent_tools(const struct agent *a)
{
	size_t room = list_count(a->tools) + 1;
	char **all;

	for (size_t i = 0; i < a->phases.count; i++)
		room += list_count(a->phases.list[i].tools);
	all = memory_zero(room, sizeof *all);
	add_tools(all, a->tools);
	for (size_t i = 0; i < a->phases.count; i++)
		add_tools(all, a->phases.list[i].tools);
	return all;
}

void
agent_tell_output(struct agent *a)
{
	const char *schema = buffer_string(&a->output.text);
	char *told, *system = a->system;

	if (a->output.schema == NULL)
		return;
	if (a->phases.count > 0)
		told = memory_format("The output that is given to " PHASE_FINISH " has to fit this "
		    "JSON Schema:\n\n%s", schema);
	else if (a->stop_tool != NULL)
		told = memory_format("The arguments of the tool %s have to fit this JSON Schema:\n\n%s",
		    a->stop_tool, schema);
	else
		told = memory_format("The last answer has to be one JSON value that fits this JSON "
		    "Schema, and nothing else: no words around it, no Markdown.\n\n%s", schema);
	a->system = system == NULL ? memory_text(told) : memory_format("%s\n\n%s", system, told);
	free(system);
	free(told);
}

void
agent_allow_tools(struct agent *a, char *const *names)
{
	list_free(a->tools);
	a->tools = list_count(names) > 0 ? list_copy(names) : memory_zero(1, sizeof *a->tools);
}

char **
agent_command(json_t *command)
{
	size_t count = json_array_size(command);
	char **argv = memory_zero(count + 4, sizeof *argv);

	if (json_is_string(command))
		process_shell(argv, json_string_value(command));
	for (size_t i = 0; i < count; i++)
		argv[i] = (char *)(uintptr_t)json_string_value(json_array_get(command, i));
	return argv;
}

void
agent_free(struct agent *a)
{
	list_free(a->tools);
	free(a->limits.compact_agent);
	free(a->limits.compact_place);
	list_free(a->handoffs);
	free(a->handoffs_place);
	list_free(a->prompt.skills);
	free(a->prompt.skills_place);
	free(a->prompt.agents_md_place);
	list_free(a->prompt.skill_directories);
	list_free(a->prompt.composed);
	free(a->path);
	free(a->name);
	free(a->description);
	free(a->provider);
	free(a->model);
	free(a->alias);
	free(a->unused);
	free(a->system);
	free(a->stop_tool);
	fallback_free(&a->fallback);
	free(a->doubt);
	free(a->continue_from);
	phases_list_free(&a->phases);
	approvals_free(&a->limits.approvals);
	mcp_key_free(&a->mcp);
	output_schema_free(&a->output);
	json_decref(a->params);
	json_decref(a->stop_command);
	json_decref(a->before_turn);
	pins_free(&a->pins);
	json_decref(a->document);
	memset(a, 0, sizeof *a);
}
