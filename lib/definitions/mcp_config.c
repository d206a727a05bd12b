/*
 * Unknown keys are ignored, as by other programs that use these files. A server that an agent names
 * is searched for in one file after another, and the first that has it counts. Variables are kept
 * as written until the server is started.
 */
#include "definitions/mcp_config.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/patience.h"
#include "base/text.h"
#include "definitions/trust.h"
#include "io/file.h"
#include "json/value.h"
#include "limits/tool_name.h"
#include "workspace/unreviewed.h"

#define SERVERS "mcpServers"
/* Editors keep them in this file. */
#define EDITORS_FILE ".vscode/mcp.json"

/* ---- the keys of a definition ---- */

/* Reads the transport, if the definition names one: a program that is started, or a URL. */
static int
read_type(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	static const char *const known[] = { "stdio", "local", "http", "streamable-http",
		"streamableHttp", "streamable_http", "remote", "sse", NULL };
	struct mcp_definition *m = object;
	const char *type = json_string_value(value);
	int index = type == NULL ? -1 : text_index(type, known);

	if (index == -1)
		return definition_fail(d, key->name, err, "expected stdio, http or sse");
	m->sse = strcmp(type, "sse") == 0;
	return 0;
}

/* Refuses a NUL, at which the text would end. */
static bool
mcp_config_is_text(const json_t *value)
{
	return json_is_string(value) && strlen(json_string_value(value)) == json_string_length(value);
}

/* Reads a word of a command line, or the value of a variable or header: a text, or what other
 * programs accept as one. To be freed by the caller; NULL: it is neither. */
static char *
word_of(const json_t *value)
{
	struct buffer text = BUFFER_INIT;

	if (json_is_number(value) || json_is_boolean(value)) {
		value_write(value, &text);
		return buffer_take(&text);
	}
	return mcp_config_is_text(value) ? memory_text(json_string_value(value)) : NULL;
}

static int
read_words(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	char ***words = definition_member(object, key);

	if (!json_is_array(value))
		return definition_fail(d, key->name, err, "expected a list of texts, got %s",
		    definition_type(value));
	for (size_t i = 0; i < json_array_size(value); i++) {
		char *word = word_of(json_array_get(value, i));

		if (word == NULL)
			return definition_fail(d, key->name, err, "expected a list of texts");
		list_take(words, word);
	}
	return 0;
}

/* Reads a program, or a whole command line. */
static int
read_command(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	static const struct definition_key arguments = { "command", NULL,
		offsetof(struct mcp_definition, arguments), 0, 0 };
	struct mcp_definition *m = object;

	if (!json_is_array(value))
		return definition_text(d, key, value, object, err);
	if (read_words(d, &arguments, value, object, err) != 0)
		return -1;
	if (m->arguments == NULL || *m->arguments[0] == '\0')
		return definition_fail(d, key->name, err, "must not be empty");
	m->command = m->arguments[0];
	memmove(m->arguments, m->arguments + 1, list_count(m->arguments) * sizeof *m->arguments);
	return 0;
}

/* Reads names and values into two lists; null means that there are none. */
static int
read_pairs(const struct definition *d, const char *key, json_t *value, bool (*is_name)(const char *),
    const char *what, char ***names, char ***values, struct error *err)
{
	const char *name;
	json_t *member;

	if (!json_is_object(value))
		return definition_fail(d, key, err, "expected names and texts, got %s",
		    definition_type(value));
	json_object_foreach(value, name, member) {
		char *word = word_of(member);

		if (json_is_null(member))
			continue;
		if (!is_name(name)) {
			free(word);
			return definition_fail(d, key, err, "'%s' is no %s's name", name, what);
		}
		if (word == NULL)
			return definition_fail(d, key, err, "%s: expected a text, got %s", name,
			    definition_type(member));
		list_add(names, name);
		list_take(values, word);
	}
	return 0;
}

static bool
is_variable(const char *name)
{
	return *name != '\0' && strchr(name, '=') == NULL;
}

/* RFC 9110, 5.1: a token. */
static bool
is_header(const char *name)
{
	return *name != '\0' && name[strspn(name, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ")] == '\0';
}

static int
read_environment(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	struct mcp_definition *m = object;

	return read_pairs(d, key->name, value, is_variable, "variable", &m->variables, &m->values, err);
}

static int
read_headers(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	struct mcp_definition *m = object;

	return read_pairs(d, key->name, value, is_header, "header", &m->headers, &m->header_values,
	    err);
}

/* Reads names of tools. "*" means all; an empty list becomes a name that no tool has. */
static int
read_only(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	struct mcp_definition *m = object;

	if (definition_names(d, key, value, object, err) != 0)
		return -1;
	if (m->only == NULL)
		list_add(&m->only, "");
	if (list_has(m->only, "*")) {
		list_free(m->only);
		m->only = NULL;
	}
	return 0;
}

/* Reads a key that disables the server if it is true, or one that enables it if it is true. */
static int
read_switch(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	bool off = strcmp(key->name, "disabled") == 0;

	(void)object;
	if (!json_is_boolean(value))
		return definition_fail(d, key->name, err, "expected true or false, got %s",
		    definition_type(value));
	return json_is_true(value) != off ? 0 :
	    definition_fail(d, key->name, err, "the server is switched off");
}

/* Reads how long the server runs: for a step, or for the whole run. */
static int
read_keep(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	static const char *const known[] = { "step", "run", NULL };
	struct mcp_definition *m = object;
	const char *word = json_string_value(value);
	int index = word == NULL ? -1 : text_index(word, known);

	m->keep = index == 1;
	return index != -1 ? 0 : definition_fail(d, key->name, err, "expected step or run");
}

/* Reads a time limit; a number is in milliseconds, as in other programs that use the file. */
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
	{ "url", definition_text, MEMBER(url), 0, 0 },
	{ "httpUrl", definition_text, MEMBER(url), 0, 0 },
	{ "serverUrl", definition_text, MEMBER(url), 0, 0 },
	{ "headers", read_headers, 0, 0, 0 },
	{ "command", read_command, MEMBER(command), 0, 0 },
	{ "args", read_words, MEMBER(arguments), 0, 0 },
	{ "env", read_environment, 0, 0, 0 },
	{ "environment", read_environment, 0, 0, 0 },
	{ "cwd", definition_text, MEMBER(directory), 0, 0 },
	{ "tools", read_only, MEMBER(only), 0, 0 },
	{ "includeTools", read_only, MEMBER(only), 0, 0 },
	{ "excludeTools", definition_names, MEMBER(without), 0, 0 },
	{ "disabledTools", definition_names, MEMBER(without), 0, 0 },
	{ "disabled", read_switch, 0, 0, 0 },
	{ "enabled", read_switch, 0, 0, 0 },
	{ "keep", read_keep, 0, 0, 0 },
	{ "timeout", read_timeout, MEMBER(timeout_ms), 0, 0 },
	{ "startup_timeout", read_timeout, MEMBER(startup_timeout_ms), 0, 0 },
	{ NULL, NULL, 0, 0, 0 },
};

/* "./x" and "../x" are relative to the file, as in tool files. */
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

char *
mcp_server_name(const char *name)
{
	char *fitted = tool_name_fit(memory_text(name));
	size_t kept = 0;

	for (size_t i = 0; fitted[i] != '\0'; i++)
		if (fitted[i] != '_' || (kept > 0 && fitted[kept - 1] != '_'))
			fitted[kept++] = fitted[i];
	while (kept > 0 && fitted[kept - 1] == '_')
		kept--;
	fitted[kept] = '\0';
	return fitted;
}

static int
read_definition(struct mcp_definition *m, const char *name, json_t *value, const char *file,
    struct error *err)
{
	struct definition d;

	*m = (struct mcp_definition){ .name = mcp_server_name(name), .file = memory_text(file),
	    .place = memory_format("%s: %s.%s", file, SERVERS, name),
	    .startup_timeout_ms = MCP_STARTUP_LIMIT_MS };
	d = (struct definition){ m->place, value, NULL };
	if (*m->name == '\0')
		return error_set(err, ERROR_DEFINITION, m->place, "'%s' is no server's name", name);
	if (!json_is_object(value))
		return error_set(err, ERROR_DEFINITION, m->place,
		    "expected {command: …, args: …} or {url: …}, got %s", definition_type(value));
	if (definition_read(&d, known, m, err) != 0)
		return -1;
	if (m->command == NULL && m->url == NULL && definition_only(&d, known, err) != 0)
		return -1; /* probably a misspelt one */
	if ((m->command == NULL) == (m->url == NULL))
		return error_set(err, ERROR_DEFINITION, m->place, m->url == NULL ?
		    "no command, and no url" : "a command and a url: which of them?");
	if (m->url != NULL && strncmp(m->url, "${", 2) != 0 && strncmp(m->url, "http://", 7) != 0 &&
	    strncmp(m->url, "https://", 8) != 0)
		return definition_fail(&d, "url", err, "expected http://… or https://…");
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
	free(m->url);
	list_free(m->arguments);
	list_free(m->variables);
	list_free(m->values);
	list_free(m->headers);
	list_free(m->header_values);
	list_free(m->only);
	list_free(m->without);
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
	m->command = from->command == NULL ? NULL : memory_text(from->command);
	m->url = from->url == NULL ? NULL : memory_text(from->url);
	m->headers = list_copy(from->headers);
	m->header_values = list_copy(from->header_values);
	m->only = list_copy(from->only);
	m->without = list_copy(from->without);
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
		list_take(&servers->names, mcp_server_name(name));
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

/* The servers in a file of any program: in {"mcpServers": …}, in VS Code's {"servers": …}, which
 * may be inside {"mcp": …}, in opencode's {"mcp": …}, or the file consists only of servers. NULL:
 * there are none. */
static json_t *
servers_of(json_t *document)
{
	json_t *mcp = json_object_get(document, "mcp"), *member;
	const char *name;

	if (json_is_object(json_object_get(document, SERVERS)))
		return json_object_get(document, SERVERS);
	if (json_is_object(json_object_get(document, "servers")))
		return json_object_get(document, "servers");
	if (json_is_object(json_object_get(mcp, "servers")))
		return json_object_get(mcp, "servers");
	if (json_is_object(mcp))
		return mcp;
	json_object_foreach(document, name, member)
		if (json_object_get(member, "command") == NULL && json_object_get(member, "url") == NULL)
			return NULL;
	return json_object_size(document) > 0 ? document : NULL;
}

/* The server with a name, as it is written or as it appears in names of tools. */
static json_t *
server_of(json_t *servers, const char **name)
{
	json_t *value = json_object_get(servers, *name);
	const char *other;

	if (value == NULL)
		json_object_foreach(servers, other, value) {
			char *fitted = mcp_server_name(other);
			bool is = strcmp(fitted, *name) == 0;

			free(fitted);
			if (is) {
				*name = other;
				return value;
			}
		}
	return json_object_get(servers, *name);
}

/* The default of an input in VS Code's list; to be freed by the caller. NULL: there is none, or it
 * cannot be written in braces. */
static char *
input_default(const json_t *inputs, const char *id, size_t len)
{
	size_t i;
	json_t *input;

	json_array_foreach(inputs, i, input) {
		const char *name = json_string_value(json_object_get(input, "id"));
		char *value;

		if (name == NULL || strlen(name) != len || memcmp(name, id, len) != 0)
			continue;
		value = word_of(json_object_get(input, "default"));
		if (value == NULL || strchr(value, '}') == NULL)
			return value;
		free(value);
		return NULL;
	}
	return NULL;
}

/* Replaces ${input:ID} in a text by the default in VS Code's list of inputs. */
static json_t *
text_with_defaults(const char *text, const json_t *inputs)
{
	static const char input[] = "${input:";
	const size_t prefix = sizeof input - 1;
	struct buffer out = BUFFER_INIT;
	json_t *made;

	while (*text != '\0') {
		const char *end = strncmp(text, input, prefix) == 0 ? strchr(text, '}') : NULL;
		char *value = end == NULL ? NULL :
		    input_default(inputs, text + prefix, (size_t)(end - text) - prefix);

		if (value == NULL) {
			buffer_byte(&out, *text++);
			continue;
		}
		buffer_format(&out, "%.*s:-%s}", (int)(end - text), text, value);
		free(value);
		text = end + 1;
	}
	made = json_string(buffer_string(&out));
	buffer_free(&out);
	return made;
}

/* The list of inputs in the same file. */
static const json_t *
inputs_of(const json_t *document)
{
	const json_t *inputs = json_object_get(document, "inputs");

	return inputs != NULL ? inputs : json_object_get(json_object_get(document, "mcp"), "inputs");
}

/* Replaces inputs in all texts of a definition, except those with a NUL, which are invalid. */
static void
set_defaults(json_t *value, const json_t *inputs)
{
	const char *name;
	json_t *member;
	void *next;
	size_t i;

	json_object_foreach_safe(value, next, name, member) {
		set_defaults(member, inputs);
		if (mcp_config_is_text(member))
			json_object_set_new(value, name, text_with_defaults(json_string_value(member), inputs));
	}
	json_array_foreach(value, i, member) {
		set_defaults(member, inputs);
		if (mcp_config_is_text(member))
			json_array_set_new(value, i, text_with_defaults(json_string_value(member), inputs));
	}
}

bool
mcp_definition_has(const struct mcp_definition *m, const char *tool)
{
	return (m->only == NULL || list_has(m->only, tool)) && !list_has(m->without, tool);
}

int
mcp_definition_find(struct mcp_definition *m, const char *name,
    const char *workflow_directory, struct error *err)
{
	char *files[] = { memory_text(".mcp.json"), memory_text(EDITORS_FILE),
		workflow_directory == NULL ? NULL : path_join(workflow_directory, ".mcp.json"),
		workflow_directory == NULL ? NULL : path_join(workflow_directory, EDITORS_FILE),
		path_config("mcp.json") };
	char **looked = NULL, **others = NULL;
	struct buffer text = BUFFER_INIT;
	bool found = false;
	int result = 0;

	memset(m, 0, sizeof *m);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		json_t *document, *servers, *value;
		const char *other = name;
		bool there = files[i] != NULL && definition_exists(files[i]);

		if (result != 0 || found || files[i] == NULL || list_has(looked, files[i]) ||
		    (!there && text_ends(files[i], EDITORS_FILE)))
			continue;
		list_add(&looked, files[i]);
		if (!there)
			continue;
		document = trust_file_load(files[i], files[i], DEFINITION_LIMIT, &text, err) != 0 ? NULL :
		    value_parse_relaxed(&text, files[i], ERROR_DEFINITION, err);
		buffer_clear(&text);
		servers = servers_of(document);
		if (document == NULL || unreviewed_check(files[i], err) == -1) {
			result = -1;
		} else if (!json_is_object(servers)) {
			result = error_set(err, ERROR_DEFINITION, files[i],
			    "expected {\"" SERVERS "\": {…}}");
		} else if ((value = server_of(servers, &other)) != NULL) {
			found = true;
			set_defaults(value, inputs_of(document));
			result = read_definition(m, other, value, files[i], err);
		} else {
			json_object_foreach(servers, other, value)
				list_add(&others, other);
		}
		json_decref(document);
	}

	buffer_clear(&text);
	if (result == 0 && !found) {
		char *hint = text_hint(name, (const char *const *)(uintptr_t)others);

		for (size_t i = 0; looked != NULL && looked[i] != NULL; i++)
			buffer_format(&text, "%s%s", i > 0 ? ", " : "", looked[i]);
		result = error_set(err, ERROR_DEFINITION, NULL, "no MCP server '%s' in %s%s", name,
		    buffer_string(&text), hint);
		free(hint);
	}
	buffer_free(&text);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		free(files[i]);
	list_free(looked);
	list_free(others);
	return result;
}
