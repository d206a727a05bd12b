/* Variables in the definition of an MCP server get their values when the server is started. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/mcp_config.h"
#include "agent/trust.h"
#include "base/file.h"
#include "base/list.h"
#include "base/memory.h"

/* What an input is called where it is given: with "_" for what a variable's name cannot hold, and
 * before a digit. In memory of its own. */
static char *
input_key(const char *name)
{
	char *key = memory_format("%s%s", *name == '\0' || (*name >= '0' && *name <= '9') ? "_" : "", name);

	for (char *at = key; *at != '\0'; at++)
		if (strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_", *at) == NULL)
			*at = '_';
	return key;
}

/* The value of what stands in braces, in memory of its own; NULL: it has none. */
static char *
variable_value(const char *name, const char *file, const struct keys *keys, char ***secrets,
    const char *place, struct error *err)
{
	static const char input[] = "input:", env[] = "env:";
	const char *value = NULL;
	char here[PATH_MAX], *variable = NULL, *found;

	if (strcmp(name, "workspaceFolder") == 0)
		return getcwd(here, sizeof here) == NULL ? NULL : memory_text(here);
	if (strcmp(name, "userHome") == 0)
		return path_home() == NULL ? NULL : memory_text(path_home());
	if (strncmp(name, input, sizeof input - 1) == 0) {
		char *key = input_key(name + sizeof input - 1);

		variable = memory_format("AWF_INPUT_%s", key);
		value = getenv(variable);
		if (value == NULL) {
			/* github-token: a key is rather in the keys file than in a run's inputs. */
			free(variable);
			variable = memory_text(key);
			for (char *at = variable; *at != '\0'; at++)
				*at = *at >= 'a' && *at <= 'z' ? (char)(*at - 'a' + 'A') : *at;
		}
		free(key);
	} else {
		variable = memory_text(strncmp(name, env, sizeof env - 1) == 0 ? name + sizeof env - 1 : name);
	}
	if (value == NULL)
		value = keys_value(keys, variable);
	if (value != NULL && file != NULL && trust_check_variable(file, keys, variable, place, err) != 0) {
		free(variable);
		return NULL;
	}
	if (value != NULL && secrets != NULL && keys_is_secret(keys, variable, value))
		list_add(secrets, value);
	found = value == NULL ? NULL : memory_text(value);
	if (found == NULL && file != NULL && strcmp(name, "CLAUDE_PLUGIN_ROOT") == 0) {
		char *directory = path_directory(file);

		found = realpath(directory, NULL);
		free(directory);
	}
	if (found == NULL && strcmp(name, "CLAUDE_PROJECT_DIR") == 0 && getcwd(here, sizeof here) != NULL)
		found = memory_text(here);
	free(variable);
	return found;
}

/* "secrets.NAME" and its like, with blanks around it. */
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

char *
mcp_expand(const char *text, const char *file, const struct keys *keys, char ***secrets,
    const char *place, struct error *err)
{
	struct buffer out = BUFFER_INIT;

	while (*text != '\0') {
		/* ${{ secrets.NAME }}, as GitHub has it, is ${NAME}. */
		bool twice = strncmp(text, "${{", 3) == 0;
		const char *end = strncmp(text, "${", 2) != 0 ? NULL :
		    twice ? strstr(text, "}}") : strchr(text, '}');
		char *name, *fallback, *value;

		if (end == NULL) {
			buffer_byte(&out, *text++);
			continue;
		}
		name = twice ? name_at_github(text + 3, end) :
		    memory_copy(text + 2, (size_t)(end - text) - 2);
		fallback = strstr(name, ":-");
		if (fallback != NULL) {
			*fallback = '\0';
			fallback += 2;
		}
		*err = (struct error)ERROR_INIT;
		value = variable_value(name, file, keys, secrets, place, err);
		if (value == NULL && err->code != ERROR_NONE) {
			free(name);
			buffer_free(&out);
			return NULL;
		}
		if (value == NULL && fallback == NULL) {
			if (strncmp(name, "input:", 6) == 0) {
				char *key = input_key(name + 6);

				error_set(err, ERROR_DEFINITION, place,
				    "${%s} has no value: give it with awf-run --input %s=VALUE", name, key);
				free(key);
			} else {
				error_set(err, ERROR_DEFINITION, place,
				    "${%s} has no value: set it, or say ${%s:-DEFAULT}", name, name);
			}
			free(name);
			buffer_free(&out);
			return NULL;
		}
		buffer_text(&out, value != NULL ? value : fallback);
		free(value);
		free(name);
		text = end + (twice ? 2 : 1);
	}
	return buffer_take(&out);
}
