/*
 * As other programs write these files, keys that are not known are passed over. A server that
 * an agent names is looked for in one file after the other, and the first that has it counts.
 * Variables stay as they are written until the server is started.
 */
#include "agent/mcp_config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/patience.h"
#include "base/text.h"
#include "json/value.h"
#include "run/unreviewed.h"

#define SERVERS "mcpServers"

/* ---- the keys of a definition ---- */

static int
read_type(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	const char *type = json_string_value(value);

	(void)object;
	if (type != NULL && strcmp(type, "stdio") == 0)
		return 0;
	return definition_fail(d, key->name, err,
	    "only stdio is spoken, the server has to be a program (command, args)");
}

static int
read_url(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	(void)value;
	(void)object;
	return definition_fail(d, key->name, err,
	    "servers are not reached over HTTP: only stdio is spoken (command, args)");
}

static int
read_arguments(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	struct mcp_definition *m = object;

	if (!json_is_array(value))
		return definition_fail(d, key->name, err, "expected a list of texts, got %s",
		    definition_type(value));
	for (size_t i = 0; i < json_array_size(value); i++) {
		const char *word = json_string_value(json_array_get(value, i));

		if (word == NULL || strlen(word) != json_string_length(json_array_get(value, i)))
			return definition_fail(d, key->name, err, "expected a list of texts");
		list_add(&m->arguments, word);
	}
	return 0;
}

static int
read_environment(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	struct mcp_definition *m = object;
	const char *name;
	json_t *member;

	if (!json_is_object(value))
		return definition_fail(d, key->name, err, "expected names and texts, got %s",
		    definition_type(value));
	json_object_foreach(value, name, member) {
		if (*name == '\0' || strchr(name, '=') != NULL)
			return definition_fail(d, key->name, err, "'%s' is no variable's name", name);
		if (!json_is_string(member) ||
		    strlen(json_string_value(member)) != json_string_length(member))
			return definition_fail(d, key->name, err, "%s: expected a text, got %s", name,
			    definition_type(member));
		list_add(&m->variables, name);
		list_add(&m->values, json_string_value(member));
	}
	return 0;
}

/* As other programs that read the file have it, a number is one of milliseconds. */
static int
read_timeout(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	int64_t *member = definition_member(object, key);

	if (!json_is_integer(value))
		return definition_duration(d, key, value, object, err);
	*member = json_integer_value(value);
	return *member >= 0 ? 0 : definition_fail(d, key->name, err, "must not be negative");
}

#define MEMBER(name) offsetof(struct mcp_definition, name)

/* awf-mcp(5) lists the same keys. */
static const struct definition_key known[] = {
	{ "type", read_type, 0, 0, 0 },
	{ "url", read_url, 0, 0, 0 },
	{ "command", definition_text, MEMBER(command), 0, 0 },
	{ "args", read_arguments, MEMBER(arguments), 0, 0 },
	{ "env", read_environment, 0, 0, 0 },
	{ "cwd", definition_text, MEMBER(directory), 0, 0 },
	{ "timeout", read_timeout, MEMBER(timeout_ms), 0, 0 },
	{ "startup_timeout", read_timeout, MEMBER(startup_timeout_ms), 0, 0 },
	{ NULL, NULL, 0, 0, 0 },
};

/* "./x" and "../x" stand beside the file, as in tool files. */
static void
stand_beside(char **word, const char *file)
{
	char *directory, *beside;

	if (*word == NULL || (strncmp(*word, "./", 2) != 0 && strncmp(*word, "../", 3) != 0 &&
	    strcmp(*word, ".") != 0))
		return;
	directory = path_directory(file);
	beside = path_join(directory, *word);
	free(directory);
	free(*word);
	*word = beside;
}

static int
read_definition(struct mcp_definition *m, const char *name, json_t *value, const char *file,
    struct error *err)
{
	struct definition d;

	*m = (struct mcp_definition){ .name = memory_text(name), .file = memory_text(file),
	    .place = memory_format("%s: %s.%s", file, SERVERS, name),
	    .startup_timeout_ms = MCP_STARTUP_LIMIT_MS };
	d = (struct definition){ m->place, value, NULL };
	/* Tools are called mcp__NAME__TOOL. */
	if (!name_valid(name) || strstr(name, "__") != NULL)
		return error_set(err, ERROR_DEFINITION, m->place, "'%s' is no server's name "
		    "(A-Z a-z 0-9 - and single _)", name);
	if (!json_is_object(value))
		return error_set(err, ERROR_DEFINITION, m->place,
		    "expected {command: …, args: …}, got %s", definition_type(value));
	if (definition_read(&d, known, m, err) != 0)
		return -1;
	if (m->command == NULL)
		return error_set(err, ERROR_DEFINITION, m->place, "no command");
	stand_beside(&m->command, file);
	stand_beside(&m->directory, file);
	value_write(value, &m->text);
	return 0;
}

void
mcp_definition_free(struct mcp_definition *m)
{
	free(m->name);
	free(m->place);
	free(m->file);
	free(m->command);
	free(m->directory);
	list_free(m->arguments);
	list_free(m->variables);
	list_free(m->values);
	buffer_free(&m->text);
	memset(m, 0, sizeof *m);
}

void
mcp_definition_copy(struct mcp_definition *m, const struct mcp_definition *from)
{
	*m = *from;
	m->name = memory_text(from->name);
	m->place = memory_text(from->place);
	m->file = memory_text(from->file);
	m->command = memory_text(from->command);
	m->directory = from->directory == NULL ? NULL : memory_text(from->directory);
	m->arguments = list_copy(from->arguments);
	m->variables = list_copy(from->variables);
	m->values = list_copy(from->values);
	m->text = (struct buffer)BUFFER_INIT;
	buffer_append(&m->text, from->text.data, from->text.len);
}

/* ---- the key of an agent ---- */

int
mcp_key_read(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	struct mcp_key *servers = definition_member(object, key);
	struct definition_key names = *key;
	const char *name;
	json_t *member;
	size_t count = 0;

	servers->place = definition_place(d, key->name);
	if (!json_is_object(value)) {
		names.offset = key->offset + offsetof(struct mcp_key, names);
		if (definition_names(d, &names, value, object, err) != 0)
			return -1;
		return definition_once(d, key, servers->names, err);
	}
	servers->own = memory_zero(json_object_size(value) + 1, sizeof *servers->own);
	json_object_foreach(value, name, member) {
		list_add(&servers->names, name);
		if (read_definition(&servers->own[count++], name, member, d->path, err) == -1)
			return -1;
	}
	return 0;
}

void
mcp_key_free(struct mcp_key *key)
{
	for (size_t i = 0; key->own != NULL && key->names != NULL && key->names[i] != NULL; i++)
		mcp_definition_free(&key->own[i]);
	free(key->own);
	list_free(key->names);
	free(key->place);
	*key = (struct mcp_key){ NULL, NULL, NULL };
}

int
mcp_definition_find(struct mcp_definition *m, const char *name,
    const char *workflow_directory, struct error *err)
{
	char *files[] = { memory_text(".mcp.json"), workflow_directory == NULL ? NULL :
		path_join(workflow_directory, ".mcp.json"), path_config("mcp.json") };
	char **looked = NULL, **others = NULL;
	bool found = false;
	int result = 0;

	memset(m, 0, sizeof *m);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		json_t *document, *servers, *value;
		const char *other;

		if (result != 0 || found || files[i] == NULL || list_has(looked, files[i]))
			continue;
		list_add(&looked, files[i]);
		if (!definition_exists(files[i]))
			continue;
		document = value_load(files[i], ERROR_DEFINITION, err);
		servers = json_object_get(document, SERVERS);
		if (document == NULL || unreviewed_check(files[i], err) == -1) {
			result = -1;
		} else if (!json_is_object(servers)) {
			result = error_set(err, ERROR_DEFINITION, files[i],
			    "expected {\"" SERVERS "\": {…}}");
		} else if ((value = json_object_get(servers, name)) != NULL) {
			found = true;
			result = read_definition(m, name, value, files[i], err);
		} else {
			json_object_foreach(servers, other, value)
				list_add(&others, other);
		}
		json_decref(document);
	}

	if (result == 0 && !found) {
		char *hint = text_hint(name, (const char *const *)(uintptr_t)others);
		struct buffer text = BUFFER_INIT;

		for (size_t i = 0; looked != NULL && looked[i] != NULL; i++)
			buffer_format(&text, "%s%s", i > 0 ? ", " : "", looked[i]);
		result = error_set(err, ERROR_DEFINITION, NULL, "no MCP server '%s' in %s%s", name,
		    buffer_string(&text), hint);
		buffer_free(&text);
		free(hint);
	}
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		free(files[i]);
	list_free(looked);
	list_free(others);
	return result;
}

char *
mcp_expand(const char *text, const struct keys *keys, char ***secrets, const char *place,
    struct error *err)
{
	struct buffer out = BUFFER_INIT;

	while (*text != '\0') {
		const char *end = strncmp(text, "${", 2) == 0 ? strchr(text, '}') : NULL, *value;
		char *name, *fallback;

		if (end == NULL) {
			buffer_byte(&out, *text++);
			continue;
		}
		name = memory_copy(text + 2, (size_t)(end - text) - 2);
		fallback = strstr(name, ":-");
		if (fallback != NULL) {
			*fallback = '\0';
			fallback += 2;
		}
		value = keys_value(keys, name);
		if (value != NULL && secrets != NULL && keys_is_secret(keys, name, value))
			list_add(secrets, value);
		if (value == NULL)
			value = fallback;
		if (value == NULL) {
			error_set(err, ERROR_DEFINITION, place, "${%s} has no value: set it, or say "
			    "${%s:-DEFAULT}", name, name);
			free(name);
			buffer_free(&out);
			return NULL;
		}
		buffer_text(&out, value);
		free(name);
		text = end + 1;
	}
	return buffer_take(&out);
}
