#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/definition.h"
#include "agent/step_load.h"
#include "base/file.h"
#include "base/text.h"
#include "json/writer.h"

/* A path that is no text cannot be told in JSON, and is not. */
static void
name_file(struct writer *w, const char *here, const char *path)
{
	char *absolute;

	if (path == NULL || !utf8_valid(path, strlen(path)))
		return;
	while (strncmp(path, "./", 2) == 0)
		path += 2;
	absolute = *path == '/' ? path_join("/", path + 1) : path_join(here, path);
	writer_string(w, absolute);
	free(absolute);
}

/* The tool's file, and those beside it that it runs. */
static void
name_tool(struct writer *w, const char *here, const struct tool *tool)
{
	char *directory = path_directory(tool->path);
	size_t len = strlen(directory);

	name_file(w, here, tool->path);
	for (char **word = tool->argv; *word != NULL; word++)
		if (strncmp(*word, directory, len) == 0 && (*word)[len] == '/' &&
		    definition_exists(*word))
			name_file(w, here, *word);
	free(directory);
}

static void
name_member(struct writer *w, const char *here, const struct member *m)
{
	name_file(w, here, m->agent.path);
	name_file(w, here, m->agent.output.path);
	for (char **path = m->agent.composed; path != NULL && *path != NULL; path++)
		name_file(w, here, *path);
	for (size_t i = 0; i < m->tool_count; i++)
		name_tool(w, here, &m->tools[i]);
	if (m->stop.name != NULL)
		name_tool(w, here, &m->stop);
	for (size_t i = 0; m->agent.mcp.own == NULL && i < m->server_count; i++)
		name_file(w, here, m->servers[i]->definition.file);
}

void
step_name_files(struct step *step, const struct step_source *source)
{
	char here[PATH_MAX];
	struct writer w;
	bool prompt = source->prompt != NULL && source->prompt[0] == '@';

	if (getcwd(here, sizeof here) == NULL)
		return;
	writer_begin(&w, &step->files);
	writer_array(&w);
	for (size_t i = 0; step->team != NULL && i < step->team->count; i++)
		name_member(&w, here, step->team->members[i]);
	if (prompt)
		name_file(&w, here, source->prompt + 1);
	for (char **file = source->attach; file != NULL && *file != NULL; file++)
		name_file(&w, here, *file);
	if (step->operation != NULL)
		name_tool(&w, here, step->operation);
	writer_array_end(&w);
	if (step->files.len == 2)
		buffer_clear(&step->files);
}
