/* Replaces variables in the definition of an MCP server by their values when the server is
 * started. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "definitions/mcp_config.h"
#include "definitions/trust.h"
#include "io/file.h"

/* The name of the variable for an input: characters that a variable's name cannot contain become
 * "_", which is also put before a digit. To be freed by the caller. */
static char *
input_key(const char *name)
{
	char *key = memory_format("%s%s", *name == '\0' || (*name >= '0' && *name <= '9') ? "_" : "", name);

	for (char *at = key; *at != '\0'; at++)
		if (strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_", *at) == NULL)
			*at = '_';
	return key;
}

static const char workspace_folder[] = "workspaceFolder", user_home[] = "userHome",
    plugin_root[] = "CLAUDE_PLUGIN_ROOT", project_dir[] = "CLAUDE_PROJECT_DIR";

/* The name of the variable for the text in braces; to be freed by the caller. */
static char *
variable_named(const char *name)
{
	static const char input[] = "input:", env[] = "env:";
	char *key, *variable;

	if (strncmp(name, input, sizeof input - 1) != 0)
		return memory_text(strncmp(name, env, sizeof env - 1) == 0 ? name + sizeof env - 1 : name);
	key = input_key(name + sizeof input - 1);
	variable = memory_format("AWF_INPUT_%s", key);
	if (getenv(variable) == NULL) {
		/* For example github-token: a key belongs into the keys file, not into a run's
		 * inputs. */
		free(variable);
		variable = key;
		for (char *at = variable; *at != '\0'; at++)
			*at = *at >= 'a' && *at <= 'z' ? (char)(*at - 'a' + 'A') : *at;
		return variable;
	}
	free(key);
	return variable;
}

/* The value for the text in braces, to be freed by the caller; NULL: it has none. */
static char *
variable_value(const char *name, const char *file, const struct keys *keys, char ***secrets,
    const char *place, struct error *err)
{
	char here[PATH_MAX], *variable, *found;
	const char *value;

	if (strcmp(name, workspace_folder) == 0)
		return getcwd(here, sizeof here) == NULL ? NULL : memory_text(here);
	if (strcmp(name, user_home) == 0)
		return path_home() == NULL ? NULL : memory_text(path_home());
	variable = variable_named(name);
	value = keys_value(keys, variable);
	if (value != NULL && file != NULL &&
	    trust_check_variable(file, keys, variable, value, place, err) != 0) {
		free(variable);
		return NULL;
	}
	if (value != NULL && secrets != NULL && keys_is_secret(keys, variable, value))
		list_add(secrets, value);
	found = value == NULL ? NULL : memory_text(value);
	if (found == NULL && file != NULL && strcmp(name, plugin_root) == 0) {
		char *directory = path_directory(file);

		found = realpath(directory, NULL);
		free(directory);
	}
	if (found == NULL && strcmp(name, project_dir) == 0 && getcwd(here, sizeof here) != NULL)
		found = memory_text(here);
	free(variable);
	return found;
}

/* "secrets.NAME" and similar, with blanks around it. */
static char *
name_at_github(const char *text, const char *end)
{
	const char *dot;

	for (; text < end && *text == ' '; text++)
		;
	for (; end > text && end[-1] == ' '; end--)
		;
	dot = memchr(text, '.', (size_t)(end - text));
	if (dot != NULL)
		text = dot + 1;
	return memory_copy(text, (size_t)(end - text));
}

/* The parts of a variable in braces. */
struct braces {
	char *name;            /* in memory of its own */
	const char *fallback;  /* its default, in the memory of name; NULL: none */
	const char *end;       /* the text after the braces */
};

/* Parses a variable. False: the text does not begin with one. */
static bool
braces_read(struct braces *b, const char *text)
{
	/* GitHub's ${{ secrets.NAME }} means ${NAME}. */
	bool twice = strncmp(text, "${{", 3) == 0;
	const char *end = strncmp(text, "${", 2) != 0 ? NULL :
	    twice ? strstr(text, "}}") : strchr(text, '}');
	char *fallback;

	if (end == NULL)
		return false;
	b->name = twice ? name_at_github(text + 3, end) :
	    memory_copy(text + 2, (size_t)(end - text) - 2);
	fallback = strstr(b->name, ":-");
	if (fallback != NULL)
		*fallback = '\0';
	b->fallback = fallback == NULL ? NULL : fallback + 2;
	b->end = end + (twice ? 2 : 1);
	return true;
}

static void
add_taken(char ***names, const char *text)
{
	struct braces b;

	for (; text != NULL && *text != '\0'; text++) {
		char *variable;

		if (!braces_read(&b, text))
			continue;
		variable = variable_named(b.name);
		if (strcmp(b.name, workspace_folder) != 0 && strcmp(b.name, user_home) != 0 &&
		    strcmp(b.name, plugin_root) != 0 && strcmp(b.name, project_dir) != 0 &&
		    !list_has(*names, variable))
			list_add(names, variable);
		free(variable);
		free(b.name);
		text = b.end - 1;
	}
}

char **
mcp_taken_variables(const struct mcp_definition *m)
{
	char **const lists[] = { m->arguments, m->values, m->header_values }, **names = NULL;

	add_taken(&names, m->command);
	add_taken(&names, m->directory);
	add_taken(&names, m->url);
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		for (char **text = lists[i]; text != NULL && *text != NULL; text++)
			add_taken(&names, *text);
	return names;
}

char *
mcp_expand(const char *text, const char *file, const struct keys *keys, char ***secrets,
    const char *place, struct error *err)
{
	struct buffer out = BUFFER_INIT;

	while (*text != '\0') {
		struct braces b;
		char *value;

		if (!braces_read(&b, text)) {
			buffer_byte(&out, *text++);
			continue;
		}
		*err = (struct error)ERROR_INIT;
		value = variable_value(b.name, file, keys, secrets, place, err);
		if (value == NULL && err->code == ERROR_NONE && b.fallback == NULL) {
			if (strncmp(b.name, "input:", 6) == 0) {
				char *key = input_key(b.name + 6);

				error_set(err, ERROR_DEFINITION, place,
				    "${%s} has no value: give it with awf-run --input %s=VALUE", b.name, key);
				free(key);
			} else {
				error_set(err, ERROR_DEFINITION, place,
				    "${%s} has no value: set it, or say ${%s:-DEFAULT}", b.name, b.name);
			}
		}
		if (value == NULL && err->code != ERROR_NONE) {
			free(b.name);
			buffer_free(&out);
			return NULL;
		}
		buffer_text(&out, value != NULL ? value : b.fallback);
		free(value);
		free(b.name);
		text = b.end;
	}
	return buffer_take(&out);
}
