/*
 * Each row of the table has a function that reads a value and the offset of the member that it is
 * stored in, so most keys need no code of their own. Directories are searched in one order, each
 * once, and listed in the message if nothing is found.
 */
#include "formats/definition.h"

#include <dirent.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "io/installation.h"

const char *
definition_type(const json_t *value)
{
	static const char *const names[] = { [JSON_OBJECT] = "object", [JSON_ARRAY] = "list",
		[JSON_STRING] = "text", [JSON_INTEGER] = "whole number", [JSON_REAL] = "number",
		[JSON_TRUE] = "true", [JSON_FALSE] = "false", [JSON_NULL] = "null" };

	return names[json_typeof(value)];
}

char *
definition_place(const struct definition *d, const char *key)
{
	json_t *line = json_object_get(d->lines, key);

	return line == NULL ? memory_text(d->path)
	    : memory_format("%s:%d", d->path, (int)json_integer_value(line));
}

int
definition_fail(const struct definition *d, const char *key, struct error *err,
    const char *format, ...)
{
	char message[512], *place;
	va_list list;

	va_start(list, format);
	vsnprintf(message, sizeof message, format, list);
	va_end(list);
	place = definition_place(d, key);
	error_set(err, ERROR_DEFINITION, place, "%s: %s", key, message);
	free(place);
	return -1;
}

int
definition_read(const struct definition *d, const struct definition_key *table, void *object,
    struct error *err)
{
	const struct definition_key *key;
	json_t *value;

	for (key = table; key->name != NULL; key++) {
		value = json_object_get(d->document, key->name);
		if (value != NULL && !json_is_null(value) &&
		    key->read(d, key, value, object, err) != 0)
			return -1;
	}
	return 0;
}

/* Whether the table has this key; otherwise *meant is the most similar key, NULL if there is
 * none. */
static bool
is_known(const struct definition_key *table, const char *name, const char **meant)
{
	const char **names;
	size_t count = 0;

	for (*meant = NULL; table[count].name != NULL; count++)
		if (strcmp(table[count].name, name) == 0)
			return true;
	names = memory_zero(count + 1, sizeof *names);
	for (size_t i = 0; i < count; i++)
		names[i] = table[i].name;
	*meant = text_suggest(name, names);
	free(names);
	return false;
}

int
definition_doubt(const struct definition *d, const struct definition_key *table,
    const struct definition_synonym *synonyms, const char *const *strict, char **doubt,
    struct error *err)
{
	struct buffer text = BUFFER_INIT;
	const char *name, *meant;
	json_t *value;
	int failed = 0;

	json_object_foreach(d->document, name, value) {
		const struct definition_synonym *synonym = synonyms;
		char *place;

		while (synonym->name != NULL && strcmp(synonym->name, name) != 0)
			synonym++;
		if (synonym->name != NULL)
			meant = synonym->meant;
		else
			is_known(table, name, &meant);
		if (meant == NULL)
			continue;
		if (text_index(meant, strict) != -1) {
			failed = definition_fail(d, name, err, "unknown key (did you mean '%s'?)", meant);
			break;
		}
		place = definition_place(d, name);
		if (text.len > 0)
			buffer_byte(&text, '\n');
		buffer_format(&text, "%s: warning: '%s' means nothing (did you mean '%s'?)", place, name,
		    meant);
		free(place);
	}
	if (text.len > 0 && failed == 0)
		*doubt = buffer_take(&text);
	buffer_free(&text);
	return failed;
}

int
definition_only(const struct definition *d, const struct definition_key *table,
    struct error *err)
{
	const char *name, *meant;
	json_t *value;

	json_object_foreach(d->document, name, value) {
		if (is_known(table, name, &meant))
			continue;
		if (meant == NULL)
			return definition_fail(d, name, err, "unknown key");
		return definition_fail(d, name, err, "unknown key (did you mean '%s'?)", meant);
	}
	return 0;
}

static bool
definition_is_text(const json_t *value)
{
	return json_string_length(value) > 0 &&
	    strlen(json_string_value(value)) == json_string_length(value);
}

int
definition_text(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	char **member = definition_member(object, key);

	if (!json_is_string(value))
		return definition_fail(d, key->name, err, "expected a text, got %s",
		    definition_type(value));
	if (!definition_is_text(value))
		return definition_fail(d, key->name, err, "must not be empty or hold NUL");
	free(*member);
	*member = memory_text(json_string_value(value));
	return 0;
}

int
definition_integer(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	int64_t *member = definition_member(object, key), number = json_integer_value(value);

	if (!json_is_integer(value) || number < key->min || number > key->max)
		return definition_fail(d, key->name, err,
		    "expected a whole number from %lld to %lld", (long long)key->min,
		    (long long)key->max);
	*member = number;
	return 0;
}

int
definition_flag(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	bool *member = definition_member(object, key);

	if (!json_is_boolean(value))
		return definition_fail(d, key->name, err, "expected true or false, got %s",
		    definition_type(value));
	*member = json_is_true(value);
	return 0;
}

int
definition_duration(const struct definition *d, const struct definition_key *key,
    json_t *value, void *object, struct error *err)
{
	int64_t *member = definition_member(object, key);
	double seconds = json_number_value(value);

	if (json_is_number(value) && seconds >= 0 && seconds < 1e9) {
		*member = (int64_t)(seconds * 1000);
		return 0;
	}
	if (definition_is_text(value) && duration_parse(json_string_value(value), member) == 0)
		return 0;
	return definition_fail(d, key->name, err,
	    "expected a duration such as 30, 500ms or 20m");
}

int
definition_names(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	static const char blank[] = " \t\n";
	char ***names = definition_member(object, key);
	const char *at = json_string_value(value), *part;
	size_t len;

	while ((part = text_part(&at, ',', &len)) != NULL) {
		size_t before = strspn(part, blank);

		while (len > before && strchr(blank, part[len - 1]) != NULL)
			len--;
		if (len > before)
			list_take(names, memory_copy(part + before, len - before));
	}
	for (size_t i = 0; i < json_array_size(value); i++) {
		if (!definition_is_text(json_array_get(value, i)))
			return definition_fail(d, key->name, err, "expected a list of names");
		list_add(names, json_string_value(json_array_get(value, i)));
	}
	if (!json_is_string(value) && !json_is_array(value))
		return definition_fail(d, key->name, err, "expected a list of names, got %s",
		    definition_type(value));
	return 0;
}

int
definition_once(const struct definition *d, const struct definition_key *key,
    char *const *names, struct error *err)
{
	const char *repeated = list_repeated(names);

	return repeated == NULL ? 0 :
	    definition_fail(d, key->name, err, "'%s' is there twice", repeated);
}

int
definition_ignored(const struct definition *d, const struct definition_key *key,
    json_t *value, void *object, struct error *err)
{
	(void)d;
	(void)key;
	(void)value;
	(void)object;
	(void)err;
	return 0;
}

/* ---- directories of definitions ---- */

/* Adds a directory and takes ownership, unless it is in the list already; NULL: none. */
static void
add_directory(char ***all, char *directory)
{
	if (directory == NULL || list_has(*all, directory))
		free(directory);
	else
		list_take(all, directory);
}

static void
add_below(char ***all, const char *parent, const char *between, const char *kind)
{
	if (parent != NULL && *parent != '\0')
		add_directory(all, memory_format("%s/%s%s", parent, between, kind));
}

/* Adds the directories in a list separated by colons. */
static void
add_split(char ***all, const char *directories)
{
	char **list = list_split(directories, ':');

	for (char **directory = list; directory != NULL && *directory != NULL; directory++)
		add_directory(all, *directory);
	free(list);
}

/* Adds the directories in a list separated by colons that exist, below parent if that is not
 * NULL. */
static void
add_existing(char ***all, const char *parent, const char *directories)
{
	char **list = list_split(directories, ':');

	for (char **name = list; name != NULL && *name != NULL; name++) {
		char *directory = parent == NULL ? memory_text(*name) : path_join(parent, *name);

		if (access(directory, F_OK) == 0)
			add_directory(all, directory);
		else
			free(directory);
	}
	list_free(list);
}

char **
definition_directories(const struct definition_places *places)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *workflow = places->workflow_directory;
	char **all = NULL, *real = NULL, here[PATH_MAX];

	if (places->elsewhere && workflow != NULL)
		real = realpath(workflow, NULL);
	if (real != NULL && getcwd(here, sizeof here) != NULL && path_within(real, here))
		workflow = NULL; /* it is the current directory, or below it */
	free(real);
	if (places->beside != NULL)
		add_directory(&all, memory_text(places->beside));
	add_split(&all, places->first);
	if (!places->elsewhere)
		add_directory(&all, memory_text(places->kind));
	add_existing(&all, NULL, places->others);
	add_below(&all, workflow, "", places->kind);
	if (workflow != NULL)
		add_existing(&all, workflow, places->others);
	if (config != NULL && *config == '/')
		add_below(&all, config, "awf/", places->kind);
	else
		add_below(&all, path_home(), ".config/awf/", places->kind);
	add_split(&all, places->user);
	add_below(&all, installation_share(), "", places->kind);
	add_split(&all, places->last);
	return all;
}

/* Sets an error that lists the searched directories and suggests a similar name; names end at their
 * first dot. */
int
definition_not_found(char *const *directories, const char *what, struct error *err)
{
	const char *base = path_base(what);
	char **names = NULL, *wanted = memory_copy(base, strcspn(base, ".")), *hint;
	struct buffer text = BUFFER_INIT;

	for (; directories != NULL && *directories != NULL; directories++) {
		DIR *dir = opendir(*directories);
		const struct dirent *entry;

		buffer_format(&text, "%s%s", text.len > 0 ? ", " : "", *directories);
		while (dir != NULL && (entry = readdir(dir)) != NULL) {
			char *name = memory_copy(entry->d_name, strcspn(entry->d_name, "."));

			if (*name == '\0' || strcmp(name, wanted) == 0)
				free(name);
			else
				list_take(&names, name);
		}
		if (dir != NULL)
			closedir(dir);
	}
	hint = text_hint(wanted, (const char *const *)(uintptr_t)names);
	error_set(err, ERROR_DEFINITION, what, "not found in %s%s", buffer_string(&text), hint);
	buffer_free(&text);
	free(hint);
	list_free(names);
	free(wanted);
	return -1;
}

bool
definition_exists(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

char *
definition_in(const char *directory, const char *const *names)
{
	for (; *names != NULL; names++) {
		char *path = path_join(directory, *names);

		if (definition_exists(path))
			return path;
		free(path);
	}
	return NULL;
}

char *
definition_find(const struct definition_places *places, const char *what,
    const char *const *names, struct error *err)
{
	char **directories = definition_directories(places), *found = NULL;

	for (char **directory = directories; found == NULL && directory != NULL &&
	    *directory != NULL; directory++)
		found = definition_in(*directory, names);
	if (found == NULL)
		definition_not_found(directories, what, err);
	list_free(directories);
	return found;
}
