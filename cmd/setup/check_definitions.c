/* Each definition is loaded as a step would load it, with everything that it refers to. Those that
 * load are reported by directory, the others one by one. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "definitions/skills.h"
#include "definitions/tool.h"
#include "formats/definition.h"
#include "formats/model_alias.h"
#include "io/file.h"
#include "proc/libexec.h"
#include "setup/doctor.h"
#include "turn/team.h"

#define TOOL_FILE ".tool.json"
#define SKILL_FILE "SKILL.md"

/* A kind of definition. */
struct kind {
	enum finding_group group;
	/* Lists the directories in which definitions of this kind are. */
	char **(*directories)(const char *workflow_directory);
	/* Adds the names that an entry of a directory defines to a list. -1: the entry
	 * is invalid. */
	int (*names)(const char *directory, const char *entry, char ***names, struct error *err);
	/* Loads the definition. -1: it is invalid; 1: it is never used, because another one of the
	 * name is found first, which *err names. */
	int (*load)(struct findings *f, struct demands *d, const char *path, const char *name,
	    struct error *err);
	/* Reports further entries of a directory; NULL: nothing is reported. */
	void (*rest)(struct findings *f, const char *directory, char *const *entries);
};

static const char *
workflow_directory(void)
{
	return getenv("AWF_WORKFLOW_DIR");
}

/* The name of a file without the suffix `end`; NULL if it has another suffix. */
static char *
before_end(const char *file, const char *end)
{
	return text_ends(file, end) && strlen(file) > strlen(end) ?
	    memory_copy(file, strlen(file) - strlen(end)) : NULL;
}

static int
agent_names(const char *directory, const char *entry, char ***names, struct error *err)
{
	char *path = path_join(directory, entry), *name = NULL;

	(void)err;
	if (definition_exists(path)) {
		name = before_end(entry, ".agent.md");
		if (name == NULL)
			name = before_end(entry, ".md");
		if (name == NULL && text_ends(entry, ".json"))
			name = memory_text(entry);
	}
	if (name != NULL)
		list_take(names, name);
	free(path);
	return 0;
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
	/* If neither the agent nor a default says which model, the command line does: use any name
	 * here. */
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
	if (loaded == 0 && a.stop_tool != NULL)
		list_add(&d->stop_tools, a.stop_tool);
	team_free(&team);
	agent_free(&a);
	return loaded;
}

static int
tool_names(const char *directory, const char *entry, char ***names, struct error *err)
{
	char *name = before_end(entry, TOOL_FILE), *path;
	int result = 0;

	if (name != NULL) {
		list_take(names, name);
	} else {
		path = path_join(directory, entry);
		result = tool_list_names(path, names, err);
		free(path);
	}
	return result;
}

/* Loads the tool in a file, as (*load)() does. stops: it is named in an agent's stop_when, so it
 * needs no program. */
static int
load_tool_of(struct tool *t, const char *path, const char *name, bool stops, struct error *err)
{
	char *found = tool_find(name, workflow_directory(), err);
	int loaded = -1;

	if (found != NULL && strcmp(found, path) != 0) {
		error_set(err, ERROR_DEFINITION, found, "is found first");
		loaded = 1;
	} else if (found != NULL) {
		loaded = stops ? tool_load_form(t, name, workflow_directory(), err) :
		    tool_load(t, name, workflow_directory(), err);
	}
	free(found);
	return loaded;
}

static int
load_tool(struct findings *f, struct demands *d, const char *path, const char *name,
    struct error *err)
{
	struct tool t;
	int loaded = load_tool_of(&t, path, name, list_has(d->stop_tools, name), err);

	(void)f;
	if (loaded == 0)
		tool_free(&t);
	return loaded;
}

/* Adds the files that the tools in a file would execute. */
static void
add_commands(const char *directory, const char *entry, char ***files)
{
	char *path = path_join(directory, entry), **names = NULL;
	struct error none;
	struct tool t;

	tool_names(directory, entry, &names, &none);
	for (char **name = names; name != NULL && *name != NULL; name++) {
		list_take(files, path_join(directory, *name));
		if (load_tool_of(&t, path, *name, false, &none) != 0)
			continue;
		for (char **word = t.argv; *word != NULL; word++)
			list_add(files, *word);
		tool_free(&t);
	}
	list_free(names);
	free(path);
}

/* Reports executables that no tool definition of the directory names. A step would execute them to
 * ask for a tool's description; doctor does not. */
static void
definitions_list_programs(struct findings *f, const char *directory, char *const *entries)
{
	struct buffer alone = BUFFER_INIT;
	char *own = libexec_path(), **own_directories = list_split(own, ':'), **run = NULL;

	for (char *const *entry = entries; entry != NULL && *entry != NULL; entry++)
		add_commands(directory, *entry, &run);
	for (char *const *entry = entries; entry != NULL && *entry != NULL; entry++) {
		char *path = path_join(directory, *entry);

		if (tool_name_valid(*entry) && !list_has(run, path) && definition_exists(path) &&
		    access(path, X_OK) == 0)
			buffer_format(&alone, "%s%s", alone.len > 0 ? ", " : "", *entry);
		free(path);
	}
	if (alone.len > 0 && !list_has(own_directories, directory))
		findings_add(f, FINDING_TOOLS, FINDING_NOTE, directory,
		    "without a tool file, so that a step asks what they are (--schema): %s", alone.data);
	buffer_free(&alone);
	list_free(run);
	list_free(own_directories);
	free(own);
}

static int
skill_names(const char *directory, const char *entry, char ***names, struct error *err)
{
	char *file = memory_format("%s/%s/" SKILL_FILE, directory, entry);

	(void)err;
	if (definition_exists(file))
		list_add(names, entry);
	free(file);
	return 0;
}

/* Loads the skill for an agent that uses only this one. */
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
		list_add(&a.prompt.skills, name);
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
	struct buffer good = BUFFER_INIT;
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
		char **names = NULL, *file = path_join(path, *entry);

		err = (struct error)ERROR_INIT;
		if (k->names(path, *entry, &names, &err) == -1)
			findings_add_error(f, k->group, *entry, &err);
		for (char **name = names; name != NULL && *name != NULL; name++) {
			int loaded = k->load(f, d, file, *name, &err);

			if (loaded == -1)
				findings_add_error(f, k->group, *name, &err);
			else if (loaded == 1)
				findings_add(f, k->group, FINDING_NOTE, *name, "%s is hidden by %s", file,
				    err.place);
			else
				buffer_format(&good, "%s%s", count++ > 0 ? ", " : "", *name);
		}
		list_free(names);
		free(file);
	}
	if (count > 0)
		findings_add(f, k->group, FINDING_OK, path, "%zu: %s", count, good.data);
	if (k->rest != NULL)
		k->rest(f, path, entries);
	buffer_free(&good);
	list_free(entries);
}

static const struct kind kinds[] = {
	{ FINDING_AGENTS, agent_directories, agent_names, load_agent, NULL },
	{ FINDING_TOOLS, tool_directories, tool_names, load_tool, definitions_list_programs },
	{ FINDING_SKILLS, skill_directories, skill_names, load_skill, NULL },
};

char **
definitions_found(enum finding_group group)
{
	const struct kind *k = kinds;
	char **names = memory_zero(1, sizeof *names), **directories;
	struct error ignored;

	while (k->group != group)
		k++;
	directories = k->directories(workflow_directory());
	for (char **path = directories; *path != NULL; path++) {
		const struct dirent *found;
		DIR *directory = opendir(*path);

		while (directory != NULL && (found = readdir(directory)) != NULL) {
			char **more = NULL;

			if (found->d_name[0] != '.')
				k->names(*path, found->d_name, &more, &ignored);
			for (char **name = more; name != NULL && *name != NULL; name++)
				if (!list_has(names, *name))
					list_add(&names, *name);
			list_free(more);
		}
		if (directory != NULL)
			closedir(directory);
	}
	list_free(directories);
	qsort(names, list_count(names), sizeof *names, by_name);
	return names;
}

void
check_definitions(struct findings *f, struct demands *d)
{
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
