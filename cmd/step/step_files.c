/*
 * The files that a step is made of are named in its record by absolute and plain paths, for a
 * replay shows them by that name. What comes along with AWF is named and not kept, and
 * configurations of servers, which may hold keys, are known by their digest alone.
 *
 * The files that commands run come last, and are told apart: what a call is known by has no part
 * of them, so a result stands when they have changed. That holds for the command itself, for the
 * texts that say whether it is to run, for providers, and for what tools, servers and before_turn
 * run, but for what lies beside a tool's file and is part of that. A launcher (--via) says where a command
 * runs, not what it does, and its program is none of these files.
 */
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/definition.h"
#include "agent/mcp.h"
#include "base/file.h"
#include "base/installation.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "json/writer.h"
#include "proc/command_files.h"
#include "proc/libexec.h"
#include "run/definition_file_keep.h"
#include "step/step.h"

typedef int keep_file(const struct run *r, const char *path, struct writer *w, struct error *err);

struct naming {
	const struct run *run;
	char here[PATH_MAX];
	char *own;             /* directories of what comes along with AWF, colons between */
	char **named;          /* paths; a list */
	struct command_files programs;
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
	list_take(&n->named, full);
	free(joined);
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
	command_files_add(&n->programs, tool->argv);
}

/* The program of a server, in the directory that it runs in. */
static void
add_server(struct naming *n, const struct mcp_definition *d)
{
	const char *directory = n->programs.directory;
	struct error ignored = ERROR_INIT;
	char *run_in = d->directory != NULL ?
	    mcp_expand(d->directory, d->file, NULL, NULL, d->place, &ignored) : NULL;
	char **words = NULL, *text;

	if (d->command == NULL)
		return;
	for (size_t i = 0; i == 0 || (d->arguments != NULL && d->arguments[i - 1] != NULL); i++) {
		const char *word = i == 0 ? d->command : d->arguments[i - 1];

		text = mcp_expand(word, d->file, NULL, NULL, d->place, &ignored);
		list_take(&words, text != NULL ? text : memory_text(""));
	}
	if (run_in != NULL && *run_in != '/') {
		text = path_join(n->here, run_in);
		free(run_in);
		run_in = text;
	}
	if (run_in != NULL)
		n->programs.directory = run_in;
	command_files_add(&n->programs, words);
	n->programs.directory = directory;
	list_free(words);
	free(run_in);
}

static void
add_provider(struct naming *n, const char *name)
{
	struct error ignored;
	char *words[] = { provider_find(name, &ignored), NULL };

	if (words[0] != NULL)
		command_files_add(&n->programs, words);
	free(words[0]);
}

static void
add_shell(struct naming *n, const char *text)
{
	if (text != NULL)
		command_files_add_shell(&n->programs, text);
}

static void
name_member(struct naming *n, const struct member *m)
{
	const struct agent *agent = &m->agent;

	for (size_t k = 0; team_agent_provider(agent, k) != NULL; k++)
		add_provider(n, team_agent_provider(agent, k));
	name_file(n, agent->path, definition_file_keep);
	name_file(n, agent->output.path, definition_file_keep);
	for (char **path = agent->composed; path != NULL && *path != NULL; path++)
		name_file(n, *path, definition_file_keep);
	for (size_t k = 0; k < m->tool_count; k++)
		name_tool(n, &m->tools[k]);
	if (m->stop.name != NULL)
		name_tool(n, &m->stop);
	for (size_t k = 0; k < m->server_count; k++) {
		const struct mcp_definition *d = &m->servers[k]->definition;

		/* Configurations of servers may say keys and tokens. */
		if (agent->mcp.own == NULL)
			name_file(n, d->file, definition_file_digest);
		add_server(n, d);
	}
	if (agent->before_turn != NULL) {
		char **words = agent_command(agent->before_turn);

		command_files_add(&n->programs, words);
		free(words);
	}
}

/* What the commands of the step itself run. */
static void
add_commands(struct naming *n, const struct step *step)
{
	const char *path = n->programs.path;

	/* What a name means elsewhere is not known here. */
	if (step->options.elsewhere.launcher != NULL)
		n->programs.path = NULL;
	if (step->options.group.kind == GROUP_PARALLEL)
		for (char *const *branch = step->options.command.argv; *branch != NULL; branch++)
			add_shell(n, *branch);
	else if (step->options.command.argv != NULL)
		command_files_add(&n->programs, step->options.command.argv);
	n->programs.path = path;
	add_shell(n, step->options.when.text);
	add_shell(n, step->options.group.proceed.text);
	add_shell(n, step->options.group.until.text);
	add_shell(n, step->options.question.accept.text);
}

int
step_name_files(struct step *step, struct error *err)
{
	struct naming n = { .run = step->place.run, .err = err };
	const char *prompt = step->options.question.text != NULL ? step->options.question.text : step->options.agent.prompt;
	char *libexec;

	if (getcwd(n.here, sizeof n.here) == NULL)
		return 0;
	libexec = libexec_path();
	n.own = memory_format("%s:%s", libexec, installation_share());
	n.programs.workspace = step->place.workspace != NULL ? step->place.workspace : n.here;
	n.programs.directory = n.here;
	n.programs.path = getenv("PATH");
	writer_begin(&n.w, &step->definition.files);
	writer_array(&n.w);
	for (size_t i = 0; step->definition.team != NULL && i < step->definition.team->count; i++)
		name_member(&n, step->definition.team->members[i]);
	if (prompt != NULL && prompt[0] == '@')
		name_file(&n, prompt + 1, definition_file_keep);
	if (step->options.question.text != NULL)
		name_file(&n, step->definition.answer_schema->path, definition_file_keep);
	for (char **file = step->options.agent.attach; file != NULL && *file != NULL; file++)
		name_file(&n, *file, definition_file_keep);
	if (step->definition.operation != NULL)
		name_tool(&n, step->definition.operation);
	add_commands(&n, step);
	for (char **file = n.programs.list; file != NULL && *file != NULL; file++)
		if (n.named == NULL || !list_has(n.named, *file))
			name_file(&n, *file, definition_file_program);
	for (char **file = n.programs.sourced; file != NULL && *file != NULL; file++)
		if (n.named == NULL || !list_has(n.named, *file))
			name_file(&n, *file, definition_file_sourced);
	writer_array_end(&n.w);
	if (step->definition.files.len == 2)
		buffer_clear(&step->definition.files);
	list_free(n.programs.list);
	list_free(n.programs.sourced);
	list_free(n.named);
	free(n.own);
	free(libexec);
	return n.failed;
}
