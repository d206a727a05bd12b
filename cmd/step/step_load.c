/*
 * Loading what a step does: agents or the tool first, then what they come to together: prompt,
 * sandbox, digest. The order is that of messages: what is wrong with a file is said before what
 * is wrong with its use.
 *
 * The files that it is made of are named in its record by absolute and plain paths, for a
 * replay shows them by that name. What comes along with AWF is named and not kept, and
 * configurations of servers, which may hold keys, are known by their digest alone.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/definition.h"
#include "agent/prompt.h"
#include "agent/sandboxing.h"
#include "agent/trust.h"
#include "base/file.h"
#include "base/installation.h"
#include "base/memory.h"
#include "base/text.h"
#include "json/writer.h"
#include "proc/libexec.h"
#include "run/definition_file_keep.h"
#include "step/step.h"

/* A template, or @FILE. */
static int
load_prompt(struct step *step, const char *prompt, const char *place, struct step_loaded *loaded,
    struct error *err)
{
	step->prompt = prompt;
	step->prompt_place = place;
	if (prompt[0] == '@') {
		step->prompt_place = prompt + 1;
		if (file_load(step->prompt_place, SCAN_LINE_LIMIT, &loaded->prompt, err) == -1) {
			err->code = ERROR_DEFINITION;
			return -1;
		}
		step->prompt = buffer_string(&loaded->prompt);
	}
	return prompt_check(step->prompt, step->prompt_place, err);
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

	if (load_prompt(step, source->prompt != NULL ? source->prompt : "{{data}}",
	    source->prompt != NULL ? "-p" : "prompt", loaded, err) == -1)
		return -1;
	for (char *const *file = source->attach; file != NULL && *file != NULL; file++)
		if (attachments_add_file(&loaded->attachments, *file, err) == -1) {
			err->code = ERROR_DEFINITION;
			return -1;
		}
	step->attached = loaded->attachments.count > 0 ? &loaded->attachments : NULL;
	return 0;
}

/* The schema is that of the answer. */
static int
load_question(struct step *step, const struct step_source *source, struct step_loaded *loaded,
    struct error *err)
{
	step->kind = "question";
	step->answer_schema = &loaded->answer_schema;
	if (source->team.output_schema != NULL &&
	    output_schema_load(&loaded->answer_schema, source->team.output_schema, err) == -1)
		return -1;
	return load_prompt(step, step->ask, "--ask", loaded, err);
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

/* Of a tool that is to have no sandbox, what it runs is read: it is the one that was there before
 * anything ran in one. Who can write to AWF's own programs has this one, too. */
static int
settle_tool(const struct step *step, const struct agent *agent, struct tool *tool, struct error *err)
{
	struct sandbox decided;

	if (sandboxing_decide(&decided, &step->sandbox, agent, tool, err) == -1)
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
	if (sandboxing_decide_command(&decided, &step->sandbox, a, &why) == -1 &&
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

	if (step->command != NULL) {
		/* Of a command nobody but the step says anything. */
		if (sandboxing_decide_command(&decided, &step->sandbox, NULL, &why) == -1)
			return error_set(err, ERROR_USAGE, "--no-network", "%s", why.message);
		step->sandbox = decided;
		return 0;
	}
	if (step->operation != NULL)
		return settle_tool(step, NULL, step->operation, err);
	for (size_t i = 0; step->team != NULL && i < step->team->count; i++)
		if (settle_member(step, step->team->members[i], err) == -1)
			return -1;
	return 0;
}

/* Whether the user has allowed what definitions of the project would run. */
static int
check_trust(const struct step *step, struct error *err)
{
	struct trust_items items = { NULL, 0 };
	int result;

	if (step->operation != NULL)
		trust_add_tool_of(&items, NULL, step->operation, &step->sandbox);
	if (step->team != NULL)
		trust_add_team(&items, step->team, &step->sandbox);
	result = trust_check(&items, err);
	trust_items_free(&items);
	return result;
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
	else if (step->ask != NULL)
		result = load_question(step, source, loaded, err);
	else if (step->command == NULL)
		result = load_agents(step, source, loaded, err);
	if (source->kind != NULL)
		step->kind = source->kind;
	if (result == 0)
		result = settle_sandbox(step, err);
	if (result == 0)
		result = check_trust(step, err);
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
	buffer_free(&step->files);
}

/* ---- the files that it is made of ---- */

typedef int keep_file(const struct run *r, const char *path, struct writer *w, struct error *err);

struct naming {
	const struct run *run;
	char here[PATH_MAX];
	char *own;             /* directories of what comes along with AWF, colons between */
	struct writer w;
	int failed;
	struct error *err;
};

/* Names a file. What comes along with AWF is told by its version, and not kept. A path that is
 * no text cannot be told in JSON, and is not. */
static void
name_file(struct naming *n, const char *path, keep_file *keep)
{
	const char *directories = n->own, *directory;
	char *joined, *full;
	bool own = false;
	size_t len;

	if (n->failed != 0 || path == NULL || !utf8_valid(path, strlen(path)))
		return;
	joined = path_join(*path == '/' ? "" : n->here, path);
	full = path_normal(joined);
	while ((directory = text_part(&directories, ':', &len)) != NULL)
		own = own || (len > 0 && strncmp(full, directory, len) == 0 && full[len] == '/');
	if (own)
		definition_file_name(full, &n->w);
	else
		n->failed = keep(n->run, full, &n->w, n->err);
	free(joined);
	free(full);
}

/* The tool's file, and those beside it that it runs. */
static void
name_tool(struct naming *n, const struct tool *tool)
{
	char *directory = path_directory(tool->path);
	size_t len = strlen(directory);

	name_file(n, tool->path, definition_file_keep);
	for (char **word = tool->argv; *word != NULL; word++)
		if (strncmp(*word, directory, len) == 0 && (*word)[len] == '/' &&
		    definition_exists(*word))
			name_file(n, *word, definition_file_keep);
	free(directory);
}

int
step_name_files(struct step *step, const struct step_source *source, struct error *err)
{
	struct naming n = { .run = step->run, .err = err };
	const char *prompt = step->ask != NULL ? step->ask : source->prompt;
	char *libexec;

	if (getcwd(n.here, sizeof n.here) == NULL)
		return 0;
	libexec = libexec_path();
	n.own = memory_format("%s:%s", libexec, installation_share());
	writer_begin(&n.w, &step->files);
	writer_array(&n.w);
	for (size_t i = 0; step->team != NULL && i < step->team->count; i++) {
		const struct member *m = step->team->members[i];

		name_file(&n, m->agent.path, definition_file_keep);
		name_file(&n, m->agent.output.path, definition_file_keep);
		for (char **path = m->agent.composed; path != NULL && *path != NULL; path++)
			name_file(&n, *path, definition_file_keep);
		for (size_t k = 0; k < m->tool_count; k++)
			name_tool(&n, &m->tools[k]);
		if (m->stop.name != NULL)
			name_tool(&n, &m->stop);
		/* Configurations of servers may say keys and tokens. */
		for (size_t k = 0; m->agent.mcp.own == NULL && k < m->server_count; k++)
			name_file(&n, m->servers[k]->definition.file, definition_file_digest);
	}
	if (prompt != NULL && prompt[0] == '@')
		name_file(&n, prompt + 1, definition_file_keep);
	if (step->ask != NULL)
		name_file(&n, step->answer_schema->path, definition_file_keep);
	for (char **file = source->attach; file != NULL && *file != NULL; file++)
		name_file(&n, *file, definition_file_keep);
	if (step->operation != NULL)
		name_tool(&n, step->operation);
	writer_array_end(&n.w);
	if (step->files.len == 2)
		buffer_clear(&step->files);
	free(n.own);
	free(libexec);
	return n.failed;
}
