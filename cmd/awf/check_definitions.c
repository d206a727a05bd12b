/* A file that is found is loaded as a step would load it, with all that it names. What loads is
 * told by its directory, what does not by itself. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/definition.h"
#include "agent/skills.h"
#include "agent/team.h"
#include "agent/tool.h"
#include "awf/checks.h"
#include "base/file.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"

#define TOOL_FILE ".tool.json"
#define SKILL_FILE "SKILL.md"

/* A kind of definitions, in its directories. */
struct kind {
	enum finding_group group;
	/* The name of what a directory's entry defines, in memory of its own; NULL: nothing. */
	char *(*name)(const char *directory, const char *entry);
	/* Loads it. -1: it is wrong; 1: it is hidden by another, which *err names. */
	int (*load)(struct findings *f, struct demands *d, const char *path, const char *name,
	    struct error *err);
};

static const char *
workflow_directory(void)
{
	return getenv("AWF_WORKFLOW_DIR");
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The entries of a directory; NULL, and it is told if it is there. */
static char **
list_entries(struct findings *f, const struct kind *k, const char *path)
{
	DIR *directory = opendir(path);
	const struct dirent *entry;
	char **entries = NULL;
	struct error err;

	if (directory == NULL) {
		if (errno != ENOENT && errno != ENOTDIR) {
			error_errno(&err, ERROR_SYSTEM, path, "unable to look into it");
			findings_add_error(f, k->group, FINDING_WRONG, path, &err);
		}
		return NULL;
	}
	while ((entry = readdir(directory)) != NULL)
		if (entry->d_name[0] != '.')
			list_add(&entries, entry->d_name);
	closedir(directory);
	if (entries != NULL)
		qsort(entries, list_count(entries), sizeof *entries, by_name);
	return entries;
}

static void
check_directory(struct findings *f, struct demands *d, const struct kind *k,
    const char *directory)
{
	char **entries = list_entries(f, k, directory);
	struct buffer names = BUFFER_INIT;
	size_t count = 0;

	for (char **entry = entries; entry != NULL && *entry != NULL; entry++) {
		char *name = k->name(directory, *entry), *path = path_join(directory, *entry);
		struct error err = ERROR_INIT;
		int loaded = name == NULL ? 0 : k->load(f, d, path, name, &err);

		if (loaded == -1)
			findings_add_error(f, k->group, FINDING_WRONG, name, &err);
		else if (loaded == 1)
			findings_add(f, k->group, FINDING_NOTE, name, "%s is hidden by %s", path, err.place);
		else if (name != NULL) {
			buffer_format(&names, "%s%s", count > 0 ? ", " : "", name);
			count++;
		}
		free(path);
		free(name);
	}
	if (count > 0)
		findings_add(f, k->group, FINDING_OK, directory, "%zu: %s", count, names.data);
	buffer_free(&names);
	list_free(entries);
}

/* Takes the directories over. */
static void
check_kind(struct findings *f, struct demands *d, const struct kind *k, char **directories)
{
	struct buffer looked = BUFFER_INIT;
	const size_t before = f->count;

	for (char **directory = directories; *directory != NULL; directory++) {
		buffer_format(&looked, "%s%s", looked.len > 0 ? ", " : "", *directory);
		check_directory(f, d, k, *directory);
	}
	if (f->count == before)
		findings_add(f, k->group, k->group == FINDING_AGENTS ? FINDING_NOTE : FINDING_OK, "none",
		    "in %s%s", looked.data, k->group == FINDING_AGENTS ? "; awf init makes some" : "");
	buffer_free(&looked);
	list_free(directories);
}

/* The part of a file's name before its end; NULL if it ends otherwise. */
static char *
before_end(const char *file, const char *end)
{
	return text_ends(file, end) && strlen(file) > strlen(end) ?
	    memory_copy(file, strlen(file) - strlen(end)) : NULL;
}

/* ---- agents ---- */

static char *
agent_name(const char *directory, const char *entry)
{
	char *path = path_join(directory, entry), *name = NULL;

	if (definition_exists(path)) {
		name = before_end(entry, ".md");
		if (name == NULL && text_ends(entry, ".json"))
			name = memory_text(entry);
	}
	free(path);
	return name;
}

/* What stands in for a model and a provider that an agent leaves to the command line; NULL:
 * it leaves neither. */
static const char *
stand_in(const struct agent *a)
{
	const char *model = a->model != NULL ? a->model : environment_text("AWF_MODEL");
	bool provided = a->provider != NULL || environment_text("AWF_PROVIDER") != NULL ||
	    (model != NULL && strchr(model, '/') != NULL);

	if (!provided)
		return "replay/any";
	return model == NULL ? "any" : NULL;
}

static void
add_doubts(struct findings *f, const struct agent *a, const char *name)
{
	char *text = a->doubt == NULL ? NULL : memory_text(a->doubt), *rest = text;
	const char *line;

	while ((line = strsep(&rest, "\n")) != NULL)
		findings_add(f, FINDING_AGENTS, FINDING_NOTE, name, "%s", line);
	free(text);
}

static int
load_agent(struct findings *f, struct demands *d, const char *path, const char *name,
    struct error *err)
{
	struct team_source source = { .agent_file = path, .max_turns = -1, .max_tokens_total = -1 };
	struct team team = { .members = NULL };
	struct agent a;
	int loaded;

	if (agent_load(&a, path, err) != 0)
		return -1;
	source.model = stand_in(&a);
	loaded = team_load(&team, &source, name, err);
	add_doubts(f, &a, name);
	if (loaded == 0 && (source.model == NULL || strchr(source.model, '/') == NULL))
		for (size_t i = 0; i < team.count; i++)
			demands_add(d, team.members[i]->agent.provider, path);
	team_free(&team);
	agent_free(&a);
	return loaded;
}

void
check_agents(struct findings *f, struct demands *d)
{
	static const struct kind kind = { FINDING_AGENTS, agent_name, load_agent };

	check_kind(f, d, &kind, agent_directories(workflow_directory()));
}

/* ---- tools ---- */

static char *
tool_name(const char *directory, const char *entry)
{
	(void)directory;
	return before_end(entry, TOOL_FILE);
}

static int
load_tool(struct findings *f, struct demands *d, const char *path, const char *name,
    struct error *err)
{
	char *found = tool_find(name, workflow_directory(), err);
	struct tool t;
	int loaded = -1;

	(void)f;
	(void)d;
	if (found != NULL && strcmp(found, path) != 0) {
		error_set(err, ERROR_DEFINITION, found, "is found first");
		loaded = 1;
	} else if (found != NULL && (loaded = tool_load(&t, name, workflow_directory(), err)) == 0) {
		tool_free(&t);
	}
	free(found);
	return loaded;
}

void
check_tools(struct findings *f)
{
	static const struct kind kind = { FINDING_TOOLS, tool_name, load_tool };

	check_kind(f, NULL, &kind, tool_directories(workflow_directory()));
}

/* ---- skills ---- */

static char *
skill_name(const char *directory, const char *entry)
{
	char *file = memory_format("%s/%s/" SKILL_FILE, directory, entry);
	bool there = definition_exists(file);

	free(file);
	return there ? memory_text(entry) : NULL;
}

/* As an agent that asks for nothing else would. */
static int
load_skill(struct findings *f, struct demands *d, const char *path, const char *name,
    struct error *err)
{
	char *file = path_join(path, SKILL_FILE), *found = skill_find(name, workflow_directory(), err);
	struct agent a;
	int loaded = -1;

	(void)f;
	(void)d;
	if (found != NULL && strcmp(found, file) != 0) {
		error_set(err, ERROR_DEFINITION, found, "is found first");
		loaded = 1;
	} else if (found != NULL) {
		agent_plain(&a, name);
		list_add(&a.skills, name);
		loaded = skills_compose(&a, true, workflow_directory(), err);
		agent_free(&a);
	}
	free(found);
	free(file);
	return loaded;
}

void
check_skills(struct findings *f)
{
	static const struct kind kind = { FINDING_SKILLS, skill_name, load_skill };

	check_kind(f, NULL, &kind, skill_directories(workflow_directory()));
}
