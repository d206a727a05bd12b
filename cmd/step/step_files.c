/*
 * Paths are made absolute and plain, for a replay shows them by that name. What comes along
 * with AWF is named and not kept, and configurations of servers, which may hold keys, are
 * known by their digest alone.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/definition.h"
#include "base/file.h"
#include "base/installation.h"
#include "base/memory.h"
#include "base/text.h"
#include "json/writer.h"
#include "proc/libexec.h"
#include "run/definition_file_keep.h"
#include "step/step_load.h"

struct naming {
	const struct run *run;
	char here[PATH_MAX];
	char *own;             /* directories of what comes along with AWF, colons between */
	struct writer w;
	int failed;
	struct error *err;
};

/* What comes along with AWF is told by its version. */
static bool
is_own(const struct naming *n, const char *path)
{
	for (const char *at = n->own; *at != '\0'; at += *at == ':') {
		size_t len = strcspn(at, ":");

		if (len > 0 && strncmp(path, at, len) == 0 && path[len] == '/')
			return true;
		at += len;
	}
	return false;
}

/* A path that is no text cannot be told in JSON, and is not. NULL; in memory of its own. */
static char *
absolute(const struct naming *n, const char *path)
{
	char *joined, *normal;

	if (path == NULL || !utf8_valid(path, strlen(path)))
		return NULL;
	joined = path_join(*path == '/' ? "" : n->here, path);
	normal = path_normal(joined);
	free(joined);
	return normal;
}

static void
name_with(struct naming *n, const char *path,
    int (*keep)(const struct run *r, const char *path, struct writer *w, struct error *err))
{
	char *full = n->failed == 0 ? absolute(n, path) : NULL;

	if (full != NULL && is_own(n, full))
		definition_file_name(full, &n->w);
	else if (full != NULL)
		n->failed = keep(n->run, full, &n->w, n->err);
	free(full);
}

static void
name_file(struct naming *n, const char *path)
{
	name_with(n, path, definition_file_keep);
}

/* Configurations of servers may say keys and tokens. */
static void
name_servers(struct naming *n, const char *path)
{
	name_with(n, path, definition_file_digest);
}

/* The tool's file, and those beside it that it runs. */
static void
name_tool(struct naming *n, const struct tool *tool)
{
	char *directory = path_directory(tool->path);
	size_t len = strlen(directory);

	name_file(n, tool->path);
	for (char **word = tool->argv; *word != NULL; word++)
		if (strncmp(*word, directory, len) == 0 && (*word)[len] == '/' &&
		    definition_exists(*word))
			name_file(n, *word);
	free(directory);
}

static void
name_member(struct naming *n, const struct member *m)
{
	name_file(n, m->agent.path);
	name_file(n, m->agent.output.path);
	for (char **path = m->agent.composed; path != NULL && *path != NULL; path++)
		name_file(n, *path);
	for (size_t i = 0; i < m->tool_count; i++)
		name_tool(n, &m->tools[i]);
	if (m->stop.name != NULL)
		name_tool(n, &m->stop);
	for (size_t i = 0; m->agent.mcp.own == NULL && i < m->server_count; i++)
		name_servers(n, m->servers[i]->definition.file);
}

int
step_name_files(struct step *step, const struct step_source *source, struct error *err)
{
	struct naming n = { .run = step->run, .err = err };
	bool prompt = source->prompt != NULL && source->prompt[0] == '@';
	char *libexec;

	if (getcwd(n.here, sizeof n.here) == NULL)
		return 0;
	libexec = libexec_path();
	n.own = memory_format("%s:%s", libexec, installation_share());
	writer_begin(&n.w, &step->files);
	writer_array(&n.w);
	for (size_t i = 0; step->team != NULL && i < step->team->count; i++)
		name_member(&n, step->team->members[i]);
	if (prompt)
		name_file(&n, source->prompt + 1);
	for (char **file = source->attach; file != NULL && *file != NULL; file++)
		name_file(&n, *file);
	if (step->operation != NULL)
		name_tool(&n, step->operation);
	writer_array_end(&n.w);
	if (step->files.len == 2)
		buffer_clear(&step->files);
	free(n.own);
	free(libexec);
	return n.failed;
}
