/*
 * Files in a project may have been written by a tool, or come with a repository: they are opened in
 * such a way that they must be in the project, so that a link cannot bring a file from outside into
 * a prompt. Files that the user and the system have for all projects are opened normally.
 */
#include "definitions/skills.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/list.h"
#include "base/memory.h"
#include "formats/definition.h"
#include "formats/markdown.h"
#include "io/beneath.h"
#include "io/file.h"
#include "io/installation.h"
#include "workspace/unreviewed.h"

#define NAME_LIMIT 64
#define SKILL_FILE "SKILL.md"
#define AGENTS_FILE "AGENTS.md"

struct skill {
	char *path;          /* path of its file, as the model sees it */
	char *name, *description, *body;
};

/* State of skills_compose(). */
struct composition {
	struct agent *agent;
	struct digest digest;
	struct buffer text;
	char here[PATH_MAX];
	char *project;       /* the project that contains here */
};

static const struct definition_key keys[] = {
	{ "name", definition_text, offsetof(struct skill, name), 0, 0 },
	{ "description", definition_text, offsetof(struct skill, description), 0, 0 },
	{ NULL, NULL, 0, 0, 0 },
};

bool
skill_name_valid(const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
	size_t len = strlen(name);

	return len > 0 && len <= NAME_LIMIT && strspn(name, allowed) == len && *name != '-' &&
	    name[len - 1] != '-' && strstr(name, "--") == NULL;
}

/* Notes a file that was added to the prompt, and whose bytes therefore are part of the
 * definition. */
static void
note_file(struct composition *c, const char *path, const struct buffer *bytes)
{
	char *joined = *path == '/' ? memory_text(path) : path_join(c->here, path);

	list_take(&c->agent->prompt.composed, path_normal(joined));
	digest_add(&c->digest, buffer_string(bytes), bytes->len);
	free(joined);
}

/* Whether files with this owner in directories further up are used: if it is the user, the system,
 * or the owner of this directory. */
static bool
is_trusted(const struct composition *c, uid_t owner)
{
	struct stat status;

	if (owner == geteuid() || owner == 0 || (stat(c->here, &status) == 0 &&
	    owner == status.st_uid))
		return true;
	/* In a user namespace without root, root's files have another uid. */
	return stat("/proc/sys", &status) == 0 && owner == status.st_uid;
}

static bool
is_root_of_repository(const char *directory)
{
	char *path = path_join(directory, ".git");
	bool is = access(path, F_OK) == 0;

	free(path);
	return is;
}

/* The repository that contains a directory, if the directories on the way up to it can be trusted;
 * otherwise the directory itself. To be freed by the caller. */
static char *
project_of(const struct composition *c, const char *directory)
{
	char *at = memory_text(directory);
	struct stat status;

	while (!is_root_of_repository(at))
		if (!path_climb(&at) || stat(at, &status) != 0 || !is_trusted(c, status.st_uid)) {
			free(at);
			return memory_text(directory);
		}
	return at;
}

/* Reads a file of a project; project NULL: a file of the user, or of the system. */
static int
skills_load_file(const char *project, const char *path, struct buffer *bytes, struct error *err)
{
	struct error why = ERROR_INIT;
	int result;

	if (project == NULL)
		return file_load(path, DEFINITION_LIMIT, bytes, err);
	result = beneath_load(project, path, DEFINITION_LIMIT, bytes, &why);
	if (result != 0 && errno == EXDEV)
		error_set(err, ERROR_DEFINITION, path, "a link that leads out of %s: it is not "
		    "read; put a copy there", project);
	else if (result != 0)
		error_set(err, ERROR_DEFINITION, why.place, "%s", why.message);
	return result;
}

/* ---- skills ---- */

/* *user is set to the user's directories, those of other programs included (NULL without a home
 * directory); the caller frees it after the result, which points to it. */
static struct definition_places
skills_definition_places(char **user, const char *workflow_directory)
{
	const char *home = path_home();

	*user = home == NULL ? NULL :
	    memory_format("%s/.agents/skills:%s/.claude/skills", home, home);
	return (struct definition_places){ .kind = "skills",
	    .first = ".awf/skills:.agents/skills:.claude/skills", .user = *user,
	    .workflow_directory = workflow_directory };
}

char **
skill_directories(const char *workflow_directory)
{
	char *user, **directories;
	const struct definition_places all = skills_definition_places(&user, workflow_directory);

	directories = definition_directories(&all);
	free(user);
	return directories;
}

char *
skill_find(const char *name, const char *workflow_directory, struct error *err)
{
	char *file = memory_format("%s/" SKILL_FILE, name), *user, *path;
	const struct definition_places all = skills_definition_places(&user, workflow_directory);
	const char *const names[] = { file, NULL };

	path = definition_find(&all, name, names, err);
	free(user);
	free(file);
	return path;
}

/* Reads the file s->path, which is relative to this directory, and checks its contents. */
static int
read_skill(struct composition *c, struct skill *s, const char *name,
    const char *workflow_directory, struct error *err)
{
	char *whole = *s->path == '/' ? memory_text(s->path) : path_join(c->here, s->path);
	char *project = NULL;
	struct definition d = { s->path, NULL, NULL };
	struct buffer text = BUFFER_INIT;
	int result;

	if (beneath_part(c->here, whole) != NULL)
		project = memory_text(c->project);
	else if (workflow_directory != NULL && beneath_part(workflow_directory, whole) != NULL)
		project = project_of(c, workflow_directory);
	result = skills_load_file(project, whole, &text, err);
	free(project);
	free(whole);
	if (result == 0)
		result = unreviewed_check(s->path, err);
	if (result == 0) {
		note_file(c, s->path, &text);
		result = markdown_normalise(&text, s->path, err);
	}
	if (result == 0)
		result = markdown_read(&d, buffer_string(&text), &s->body, err);
	if (result == 0)
		result = definition_read(&d, keys, s, err);

	/* Other programs name a skill by its directory, whatever name is in its file. */
	if (result == 0 && s->name == NULL)
		s->name = memory_text(name);
	if (result == 0 && s->description == NULL)
		result = error_set(err, ERROR_DEFINITION, s->path,
		    "the skill has no description in its front matter");
	else if (result == 0 && s->body == NULL)
		result = error_set(err, ERROR_DEFINITION, s->path,
		    "the skill has no instructions after its front matter");
	json_decref(d.lines);
	json_decref(d.document);
	buffer_free(&text);
	return result;
}

/* whole: adds the instructions, too. */
static int
add_skill(struct composition *c, const char *name, bool whole, const char *workflow_directory,
    struct error *err)
{
	struct error why = ERROR_INIT;
	struct skill s = { .path = skill_find(name, workflow_directory, &why) };
	size_t len = strlen(c->here);
	char *directory;
	int result;

	if (s.path == NULL)
		return error_set(err, why.code, c->agent->prompt.skills_place, "skills: %s/" SKILL_FILE ": %s",
		    name, why.message);
	/* Inside this directory, use a relative path, so that the prompt is the same wherever the
	 * directory is. */
	if (strncmp(s.path, c->here, len) == 0 && s.path[len] == '/')
		memmove(s.path, s.path + len + 1, strlen(s.path + len + 1) + 1);
	result = read_skill(c, &s, name, workflow_directory, err);
	if (result == 0) {
		buffer_format(&c->text, "<skill>\n<name>%s</name>\n<description>%s</description>\n",
		    s.name, s.description);
		directory = path_directory(s.path);
		if (whole)
			buffer_format(&c->text, "<directory>%s</directory>\n<instructions>\n%s\n"
			    "</instructions>\n</skill>\n", directory, s.body);
		else
			buffer_format(&c->text, "<location>%s</location>\n</skill>\n", s.path);
		free(directory);
		list_take(&c->agent->prompt.skill_directories,
		    path_directory(c->agent->prompt.composed[list_count(c->agent->prompt.composed) - 1]));
	}
	free(s.path);
	free(s.name);
	free(s.description);
	free(s.body);
	return result;
}

static int
add_skills(struct composition *c, bool reads, const char *workflow_directory, struct error *err)
{
	static const char *const introductions[] = {
		"Skills are instructions for certain kinds of work. When your work is of such a kind, "
		"first read the file of the skill with the tool `read`, and follow it. Paths in it "
		"are taken from the directory of that file.",
		"Skills are instructions for certain kinds of work. Follow those that are for the work "
		"at hand. Paths in them are taken from their directories.",
	};
	char **name = c->agent->prompt.skills;

	if (name == NULL || *name == NULL)
		return 0;
	buffer_format(&c->text, "\n\n%s\n\n<available_skills>\n", introductions[reads ? 0 : 1]);
	for (; *name != NULL; name++)
		if (add_skill(c, *name, !reads, workflow_directory, err) != 0)
			return -1;
	buffer_text(&c->text, "</available_skills>");
	return 0;
}

/* ---- AGENTS.md ---- */

/* Whether another user may have made a directory further up, or the file in it. */
static bool
is_of_others(const struct composition *c, const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0 && !is_trusted(c, status.st_uid);
}

/* Adds the file of a directory if it exists, and notes that it was searched for. project NULL: it
 * is the user's, or the system's; told: the path that the model sees; NULL: the file's own. */
static int
skills_add_directory(struct composition *c, const char *directory, const char *project,
    const char *told, struct buffer *looked, struct error *err)
{
	char *path = path_join(directory, AGENTS_FILE), *text = NULL;
	struct buffer bytes = BUFFER_INIT;
	int result = 0;

	buffer_format(looked, "%s%s", looked->len > 0 ? ", " : "", directory);
	if (definition_exists(path) && (project == NULL || strcmp(directory, c->here) == 0 ||
	    !is_of_others(c, path))) {
		if (told == NULL)
			told = path;
		result = skills_load_file(project, path, &bytes, err);
		if (result == 0) {
			note_file(c, path, &bytes);
			result = markdown_normalise(&bytes, told, err);
		}
		if (result == 0)
			text = markdown_trimmed(buffer_string(&bytes), bytes.len);
		if (result == 0 && text == NULL)
			result = error_set(err, ERROR_DEFINITION, told, "is empty");
		if (result == 0)
			buffer_format(&c->text, "\n\n<instructions from=\"%s\">\n%s\n</instructions>",
			    told, text);
		free(text);
		buffer_free(&bytes);
	}
	free(path);
	return result;
}

/* Adds the files from the root of the repository, or of the file system, down to this directory.
 * Directories above one that belongs to another user are not used. */
static int
skills_add_project(struct composition *c, const char *directory, const char *told,
    struct buffer *looked, struct error *err)
{
	bool here = strcmp(directory, c->here) == 0, repository = is_root_of_repository(c->project);
	int result = 0;

	if (!here && is_of_others(c, directory))
		return 0;
	if (strcmp(directory, "/") != 0 && !(repository && strcmp(directory, c->project) == 0)) {
		char *above = path_directory(directory), *told_above = memory_format("../%s", told);

		result = skills_add_project(c, above, told_above, looked, err);
		free(told_above);
		free(above);
	}
	if (result == 0)
		result = skills_add_directory(c, directory, repository ? c->project : directory,
		    told, looked, err);
	return result;
}

/* The nearest file comes last, so that its instructions prevail. */
static int
add_agents_files(struct composition *c, struct error *err)
{
	struct buffer looked = BUFFER_INIT;
	char *file = path_config(AGENTS_FILE), *user = file == NULL ? NULL : path_directory(file);
	size_t found = list_count(c->agent->prompt.composed);
	int result = skills_add_directory(c, installation_share(), NULL, NULL, &looked, err);

	if (result == 0 && user != NULL)
		result = skills_add_directory(c, user, NULL, NULL, &looked, err);
	free(file);
	free(user);
	if (result == 0)
		result = skills_add_project(c, c->here, AGENTS_FILE, &looked, err);
	if (result == 0 && list_count(c->agent->prompt.composed) == found)
		result = error_set(err, ERROR_DEFINITION, c->agent->prompt.agents_md_place,
		    "agents_md: there is no " AGENTS_FILE " in %s", looked.data);
	buffer_free(&looked);
	return result;
}

int
skills_compose(struct agent *a, bool reads, const char *workflow_directory, struct error *err)
{
	struct composition c = { .agent = a, .text = BUFFER_INIT };
	int result = 0;

	if (!a->prompt.agents_md && a->prompt.skills == NULL)
		return 0;
	if (getcwd(c.here, sizeof c.here) == NULL)
		return error_errno(err, ERROR_SYSTEM, ".", "unable to tell where this is");
	c.project = project_of(&c, c.here);
	digest_begin(&c.digest);
	digest_add(&c.digest, a->sha256, strlen(a->sha256));
	if (a->prompt.agents_md)
		result = add_agents_files(&c, err);
	if (result == 0)
		result = add_skills(&c, reads, workflow_directory, err);
	if (result == 0 && c.text.len > 0) {
		/* The agent's own text comes first. */
		char *added = buffer_take(&c.text), *own = a->system;

		a->system = memory_format("%s%s", own == NULL ? "" : own,
		    added + (own == NULL ? strspn(added, "\n") : 0));
		digest_end(&c.digest, a->sha256);
		free(own);
		free(added);
	}
	buffer_free(&c.text);
	free(c.project);
	return result;
}
