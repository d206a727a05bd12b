/* A file that is found is loaded as a step would load it, with all that it names. What loads is
 * told by its directory, what does not by itself. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/definition.h"
#include "agent/model_alias.h"
#include "agent/skills.h"
#include "agent/team.h"
#include "agent/tool.h"
#include "awf/doctor.h"
#include "base/file.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"

#define TOOL_FILE ".tool.json"
#define SKILL_FILE "SKILL.md"

/* A kind of definitions. */
struct kind {
	enum finding_group group;
	/* A list of the directories that it is looked for in. */
	char **(*directories)(const char *workflow_directory);
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

/* The part of a file's name before its end; NULL if it ends otherwise. */
static char *
before_end(const char *file, const char *end)
{
	return text_ends(file, end) && strlen(file) > strlen(end) ?
	    memory_copy(file, strlen(file) - strlen(end)) : NULL;
}

static char *
agent_name(const char *directory, const char *entry)
{
	char *path = path_join(directory, entry), *name = NULL;

	if (definition_exists(path)) {
		name = before_end(entry, ".agent.md");
		if (name == NULL)
			name = before_end(entry, ".md");
		if (name == NULL && text_ends(entry, ".json"))
			name = memory_text(entry);
	}
	free(path);
	return name;
}

static int
load_agent(struct findings *f, struct demands *d, const char *path, const char *name,
    struct error *err)
{
	struct team_source source = { .agent_file = path, .max_turns = -1, .max_tokens_total = -1 };
	struct team team = { .members = NULL };
	const char *model, *place, *line;
	char *doubts, *rest, *usual = NULL;
	struct agent a;
	bool provided;
	int loaded;

	if (agent_load(&a, path, err) != 0)
		return -1;
	/* Something stands in for a model and a provider that it leaves to the command line. */
	if (a.model == NULL && model_default(&usual, &place, err) != 0) {
		agent_free(&a);
		return -1;
	}
	model = a.model != NULL ? a.model : usual != NULL ? usual : a.alias;
	provided = a.provider != NULL || environment_text("AWF_PROVIDER") != NULL ||
	    (model != NULL && strchr(model, '/') != NULL);
	source.model = !provided && a.alias == NULL ? "replay/any" : model == NULL ? "any" : NULL;
	loaded = team_load(&team, &source, name, err);
	free(usual);
	doubts = rest = a.doubt == NULL ? NULL : memory_text(a.doubt);
	while ((line = strsep(&rest, "\n")) != NULL)
		findings_add(f, FINDING_AGENTS, FINDING_NOTE, name, "%s", line);
	free(doubts);
	for (size_t i = 0; loaded == 0 && provided && i < team.count; i++)
		demands_add(d, team.members[i]->agent.provider, path);
	team_free(&team);
	agent_free(&a);
	return loaded;
}

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
	char *file = path_join(path, SKILL_FILE);
	char *found = skill_find(name, workflow_directory(), err);
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

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void
check_directory(struct findings *f, struct demands *d, const struct kind *k, const char *path)
{
	DIR *directory = opendir(path);
	struct buffer names = BUFFER_INIT;
	const struct dirent *found;
	char **entries = NULL;
	struct error err;
	size_t count = 0;

	if (directory == NULL && errno != ENOENT && errno != ENOTDIR) {
		error_errno(&err, ERROR_SYSTEM, path, "unable to look into it");
		findings_add_error(f, k->group, path, &err);
	}
	while (directory != NULL && (found = readdir(directory)) != NULL)
		if (found->d_name[0] != '.')
			list_add(&entries, found->d_name);
	if (directory != NULL)
		closedir(directory);
	if (entries != NULL)
		qsort(entries, list_count(entries), sizeof *entries, by_name);

	for (char **entry = entries; entry != NULL && *entry != NULL; entry++) {
		char *name = k->name(path, *entry), *file = path_join(path, *entry);
		int loaded;

		err = (struct error)ERROR_INIT;
		loaded = name == NULL ? 0 : k->load(f, d, file, name, &err);
		if (loaded == -1)
			findings_add_error(f, k->group, name, &err);
		else if (loaded == 1)
			findings_add(f, k->group, FINDING_NOTE, name, "%s is hidden by %s", file,
			    err.place);
		else if (name != NULL)
			buffer_format(&names, "%s%s", count++ > 0 ? ", " : "", name);
		free(file);
		free(name);
	}
	if (count > 0)
		findings_add(f, k->group, FINDING_OK, path, "%zu: %s", count, names.data);
	buffer_free(&names);
	list_free(entries);
}

void
check_definitions(struct findings *f, struct demands *d)
{
	static const struct kind kinds[] = {
		{ FINDING_AGENTS, agent_directories, agent_name, load_agent },
		{ FINDING_TOOLS, tool_directories, tool_name, load_tool },
		{ FINDING_SKILLS, skill_directories, skill_name, load_skill },
	};

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		const struct kind *k = &kinds[i];
		char **directories = k->directories(workflow_directory());
		struct buffer looked = BUFFER_INIT;
		const size_t before = f->count;

		for (char **directory = directories; *directory != NULL; directory++) {
			buffer_format(&looked, "%s%s", looked.len > 0 ? ", " : "", *directory);
			check_directory(f, d, k, *directory);
		}
		if (f->count == before && k->group == FINDING_AGENTS)
			findings_add(f, k->group, FINDING_NOTE, "none", "in %s; awf init makes some",
			    looked.data);
		else if (f->count == before)
			findings_add(f, k->group, FINDING_OK, "none", "in %s", looked.data);
		buffer_free(&looked);
		list_free(directories);
	}
}
