/*
 * A table of keys parses the file. The model gets the bytes of the schema as they are in the file.
 * The tool is identified by a digest of its file and of those files of its command that are in the
 * same directory; pins make sure that they are unchanged when the tool runs.
 */
#include "definitions/tool.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/patience.h"
#include "base/text.h"
#include "base/version.h"
#include "definitions/sandboxing.h"
#include "definitions/trust.h"
#include "formats/definition.h"
#include "io/file.h"
#include "json/value.h"
#include "json/writer.h"
#include "proc/libexec.h"
#include "proc/subprocess.h"
#include "storage/kept_digest.h"
#include "storage/run.h"
#include "workspace/unreviewed.h"

#define LIST_FILE "tools.json" /* file with several tools; or */
#define LIST_END ".tools.json"
#define SCHEMA_OPTION "--schema"
#define ANSWER_SHOWN 60 /* bytes of a program's output in a message */
#define VIA_KEY "via"

/* Readers of keys, beyond those of definition.h. */

int
tool_names_read(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	char ***names = definition_member(object, key);

	if (*names == NULL)
		*names = memory_zero(1, sizeof **names);
	if (definition_names(d, key, value, object, err) != 0)
		return -1;
	for (char **name = *names; *name != NULL; name++)
		if (!tool_name_listable(*name))
			return definition_fail(d, key->name, err, "'%s' is no tool's name "
			    "(1 to 64 of A-Z a-z 0-9 _ -)", *name);
	return definition_once(d, key, *names, err);
}

static int
read_name(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	const struct tool *t = object;

	if (!json_is_string(value) || strcmp(json_string_value(value), t->name) != 0)
		return definition_fail(d, key->name, err, "expected '%s', as the file is called",
		    t->name);
	return 0;
}

static int
read_schema(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	struct schema **schema = definition_member(object, key);
	char *place = memory_format("%s: %s", d->path, key->name);

	*schema = schema_compile(value, SCHEMA_TYPOS, place, err);
	free(place);
	return *schema == NULL ? -1 : 0;
}

/* Model APIs take objects only. */
static int
read_input_schema(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	const char *type = json_string_value(json_object_get(value, "type"));

	if (type == NULL || strcmp(type, "object") != 0)
		return definition_fail(d, key->name, err,
		    "expected a schema with \"type\": \"object\"");
	return read_schema(d, key, value, object, err);
}

/* A text names a file next to the tool file; a list is a command line, in which "./x" and "../x"
 * are relative to the tool file. */
static int
read_command(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	struct tool *t = object;
	char *directory = path_directory(d->path);
	size_t count = json_array_size(value);
	const char *word = json_string_value(value);

	t->argv = memory_zero(count + 2, sizeof *t->argv);
	if (word != NULL && *word != '\0')
		t->argv[0] = *word == '/' ? memory_text(word)
		    : path_join(directory, strncmp(word, "./", 2) == 0 ? word + 2 : word);
	for (size_t i = 0; i < count; i++) {
		word = json_string_value(json_array_get(value, i));
		if (word == NULL || (i == 0 && *word == '\0'))
			break;
		if (strncmp(word, "./", 2) == 0)
			t->argv[i] = path_join(directory, word + 2);
		else if (strncmp(word, "../", 3) == 0)
			t->argv[i] = path_join(directory, word);
		else
			t->argv[i] = memory_text(word);
	}
	free(directory);
	if (t->argv[0] == NULL || (count > 0 && t->argv[count - 1] == NULL))
		return definition_fail(d, key->name, err, "expected a file or a list of words");
	return 0;
}

static int
read_effects(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	struct tool *t = object;

	if (!json_is_string(value) || effects_parse(json_string_value(value), &t->effects) != 0)
		return definition_fail(d, key->name, err,
		    "expected none, read, workspace or external");
	return 0;
}

/* Reads annotations as MCP servers give them; used if the file has no `effects`. */
static int
read_annotations(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	struct tool *t = object;
	bool said = json_object_get(d->document, "effects") != NULL;

	if (!json_is_object(value))
		return definition_fail(d, key->name, err, "expected an object, got %s",
		    definition_type(value));
	if (!said && json_is_true(json_object_get(value, "readOnlyHint")))
		t->effects = EFFECTS_READ;
	if (!said && json_is_true(json_object_get(value, "idempotentHint")) &&
	    t->effects != EFFECTS_READ) {
		t->effects = EFFECTS_EXTERNAL;
		t->idempotent = true;
	}
	return 0;
}

/* Of the kinds of tools in model APIs only one exists here. */
static int
read_type(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	(void)object;
	return json_is_string(value) && (strcmp(json_string_value(value), "function") == 0 ||
	    strcmp(json_string_value(value), "custom") == 0) ? 0 :
	    definition_fail(d, key->name, err, "expected function");
}

static int
read_env(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	struct tool *t = object;

	if (definition_names(d, key, value, object, err) != 0)
		return -1;
	for (size_t i = 0; t->environment != NULL && t->environment[i] != NULL; i++) {
		const char *name = t->environment[i];

		if (!name_valid(name) || strchr(name, '-') != NULL || (*name >= '0' && *name <= '9'))
			return definition_fail(d, key->name, err, "'%s' is no variable's name", name);
	}
	return 0;
}

#define MEMBER(name) offsetof(struct tool, name)

/* awf-tool(5) lists the same keys. */
static const struct definition_key keys[] = {
	{ "name", read_name, 0, 0, 0 },
	{ "description", definition_text, MEMBER(description), 0, 0 },
	{ "input_schema", read_input_schema, MEMBER(input), 0, 0 },
	{ "parameters", read_input_schema, MEMBER(input), 0, 0 },
	{ "inputSchema", read_input_schema, MEMBER(input), 0, 0 },
	{ "output_schema", read_schema, MEMBER(output), 0, 0 },
	{ "outputSchema", read_schema, MEMBER(output), 0, 0 },
	{ "annotations", read_annotations, 0, 0, 0 },
	{ "type", read_type, 0, 0, 0 },
	{ "strict", definition_ignored, 0, 0, 0 },
	{ "command", read_command, 0, 0, 0 },
	{ VIA_KEY, definition_text, MEMBER(via), 0, 0 },
	{ "timeout", definition_duration, MEMBER(timeout_ms), 0, 0 },
	{ "max_result", definition_integer, MEMBER(max_result), 1, 1 << 30 },
	{ "effects", read_effects, 0, 0, 0 },
	{ "idempotent", definition_flag, MEMBER(idempotent), 0, 0 },
	{ "concurrent", definition_flag, MEMBER(concurrent), 0, 0 },
	{ "starts_run", definition_flag, MEMBER(starts_run), 0, 0 },
	{ "changes", definition_text, MEMBER(changes), 0, 0 },
	{ "env", read_env, MEMBER(environment), 0, 0 },
	{ "sandbox", sandboxing_mode, MEMBER(sandbox), 0, 0 },
	{ "network", sandboxing_network, MEMBER(sandbox), 0, 0 },
	{ "title", definition_ignored, 0, 0, 0 },
	{ "_meta", definition_ignored, 0, 0, 0 },
	{ "icons", definition_ignored, 0, 0, 0 },
	{ "execution", definition_ignored, 0, 0, 0 },
	{ "$schema", definition_ignored, 0, 0, 0 },
	{ "$comment", definition_ignored, 0, 0, 0 },
	{ NULL, NULL, 0, 0, 0 },
};

static int
check_executable(const struct tool *t, struct error *err)
{
	const char *path = getenv("PATH");
	char *found;

	if (strchr(t->argv[0], '/') != NULL) {
		if (access(t->argv[0], X_OK) == 0)
			return 0;
		return error_set(err, ERROR_DEFINITION, t->path, "unable to run '%s': %s%s",
		    t->argv[0], strerror(errno), errno == EACCES ? " (chmod +x?)" :
		    strchr(t->argv[0], ' ') != NULL ? " (a command with arguments is a list)" : "");
	}
	found = path_search(path == NULL ? "" : path, t->argv[0]);
	if (found == NULL)
		return error_set(err, ERROR_DEFINITION, t->path, "'%s' is not in $PATH ('./%s' "
		    "would stand beside this file)", t->argv[0], t->argv[0]);
	free(found);
	return 0;
}

/* Copies the file without the member that says where the tool runs, which does not change what the
 * tool does. */
static void
leave_out_via(struct buffer *text)
{
	struct buffer rest = BUFFER_INIT;
	struct writer w;

	writer_begin(&w, &rest);
	writer_object(&w);
	for (struct span_walk member = span_walk(span_of(text->data, text->len)); span_next(&member);)
		if (!span_is(member.key, VIA_KEY))
			writer_raw_member(&w, member.key, member.value);
	writer_object_end(&w);
	buffer_free(text);
	*text = rest;
}

/* Checks a tool that runs elsewhere: its program is there, and it cannot start runs, which would
 * not be recorded here. */
/* Checks which variables and keys the definition may use. */
static int
check_environment(const struct tool *t, struct error *err)
{
	struct keys values = { NULL, NULL, 0 };
	int failed = t->environment == NULL || trust_origin(t->path) != ORIGIN_PROJECT ? 0 :
	    keys_load(&values, err);

	for (char **name = t->environment; failed == 0 && name != NULL && *name != NULL; name++)
		failed = trust_check_variable(t->path, &values, *name, keys_value(&values, *name), t->path, err);
	keys_free(&values);
	return failed;
}

static int
check_via(const struct tool *t, struct error *err)
{
	if (t->argv == NULL)
		return error_set(err, ERROR_DEFINITION, t->path, VIA_KEY ": a command is missing, a program of "
		    "the other machine");
	if (t->starts_run)
		return error_set(err, ERROR_DEFINITION, t->path, VIA_KEY ": not with starts_run: its runs would "
		    "be recorded there");
	return t->via[strspn(t->via, " \t\n")] != '\0' ? 0 :
	    error_set(err, ERROR_DEFINITION, t->path, VIA_KEY ": the launcher is empty: ssh HOST, srun -n1 …");
}

/* Computes the digest of its file, whose contents are `text`, and of the files of its command that
 * belong to the tool, that is, are in the same directory. AWF's own programs are represented by
 * name and version, which are added to the text: reading them would take most of the time of such a
 * step. */
static int
digest_files(struct tool *t, const char *directory, bool own, struct buffer *text,
    struct error *err)
{
	char *run_directory, **files = memory_zero(list_count(t->argv) + 1, sizeof *files);
	size_t count = 0;
	const char *failed;
	int result = 0;

	for (char **word = t->argv; result == 0 && *word != NULL; word++) {
		const char *name = path_base(*word);

		if (!path_within(*word, directory) || !definition_exists(*word))
			continue;
		pins_add(&t->pins, *word);
		if (own && strncmp(name, TOOL_OWN_PREFIX, strlen(TOOL_OWN_PREFIX)) == 0)
			buffer_format(text, "%s " AWF_VERSION "\n", name);
		else
			files[count++] = *word;
		result = unreviewed_check(*word, err);
	}
	run_directory = run_environment_directory();
	if (result == 0 && digest_of_files(run_directory, span_of(text->data, text->len),
	    (const char *const *)files, t->sha256, &failed) == -1)
		result = error_errno(err, ERROR_SYSTEM, failed, "unable to read");
	free(run_directory);
	free(files);
	return result;
}

/* ---- files with several tools ---- */

/* The name of a tool in a list; the tool may be wrapped ({"type": "function", …}). */
static struct span
name_of(struct span entry)
{
	struct span function = span_member(entry, "function");

	return span_member(span_type(function) == 'o' ? function : entry, "name");
}

/* The tools in a file with several: a list, or the member `tools` of an object. */
static struct span
entries_of(struct span file)
{
	return span_type(file) == 'o' ? span_member(file, "tools") : file;
}

/* Reduces a file with several tools to the one with this name. 0: there is none. */
static int
pick_entry(const char *name, struct buffer *text)
{
	struct span file = span_trim_json(span_of(buffer_string(text), text->len));
	size_t bad;

	if (scan_check(file.at, file.len, &bad) != NULL || span_type(entries_of(file)) != 'a')
		return 0;
	for (struct span_walk x = span_walk(entries_of(file)); span_next(&x);) {
		struct buffer entry = BUFFER_INIT;

		if (!span_is(name_of(x.value), name))
			continue;
		buffer_append(&entry, x.value.at, x.value.len);
		buffer_free(text);
		*text = entry;
		return 1;
	}
	return 0;
}

/* Replaces the form of Chat Completions, {"type": "function", "function": {…}}, by the inner
 * object. */
static void
tool_unwrap_function(struct buffer *text)
{
	struct span whole = span_of(buffer_string(text), text->len);
	struct span function = span_member(whole, "function");
	struct buffer within = BUFFER_INIT;

	if (span_type(function) != 'o')
		return;
	buffer_append(&within, function.at, function.len);
	buffer_free(text);
	*text = within;
}

/* Asks a program for its definition: PROGRAM --schema. */
static int
ask_program(const struct tool *t, struct buffer *text, struct error *err)
{
	char option[] = SCHEMA_OPTION, *argv[] = { t->path, option, NULL };
	struct subprocess s = { .argv = argv, .timeout_ms = CHECK_LIMIT_MS,
		.output_limit = DEFINITION_LIMIT, .quiet = true };
	int status = subprocesses_run(&s, 1, NULL, err);

	if (status == 0 && (s.error.code != ERROR_NONE || s.output.len == 0))
		status = error_set(err, ERROR_DEFINITION, t->path, "no %s.tool.json says what this tool is, "
		    "and the program does not when it is run with " SCHEMA_OPTION ": %s", t->name,
		    s.error.code != ERROR_NONE ? s.error.message : "it prints nothing");
	if (status == 0)
		buffer_append(text, s.output.data, s.output.len);
	subprocess_free(&s);
	return status;
}

/* Whether the user has allowed AWF to run a program of a project, in order to ask it for its
 * definition. */
static int
allow_program(const struct tool *t, struct error *err)
{
	struct trust_items items = { NULL, 0 };
	int result;

	trust_add_program(&items, t->path);
	result = trust_check(&items, err);
	trust_items_free(&items);
	return result;
}

/* Whether a file defines several tools. */
static bool
is_list(const char *path)
{
	return text_ends(path, LIST_END) || strcmp(path_base(path), LIST_FILE) == 0;
}

/* Loads the definition of a tool, from wherever it is. */
static int
load_text(const struct tool *t, struct buffer *text, struct error *err)
{
	bool program = !text_ends(t->path, ".json");

	if (unreviewed_check(t->path, err) != 0)
		return -1;
	if (program ? allow_program(t, err) != 0 || ask_program(t, text, err) != 0 :
	    trust_file_load(t->path, t->path, DEFINITION_LIMIT, text, err) != 0)
		return -1;
	buffer_drop(text, text_byte_order_mark(text->data, text->len));
	if (is_list(t->path) && pick_entry(t->name, text) == 0)
		return error_set(err, ERROR_DEFINITION, t->path, "has no tool '%s'", t->name);
	return 0;
}

/* Copies the bytes of the schema, so that the model reads what the author wrote. */
static void
copy_schema(struct tool *t, struct span file)
{
	static const char *const names[] = { "input_schema", "parameters", "inputSchema" };

	for (size_t i = 0; i < sizeof names / sizeof *names && t->input_schema.len == 0; i++) {
		struct span schema = span_member(file, names[i]);

		if (schema.at != NULL && span_type(schema) == 'o')
			scan_minify(schema, &t->input_schema);
	}
}

static int
tool_read_file(struct tool *t, const char *directory, char *const *own_directories,
    struct definition *d, struct buffer *text, struct error *err)
{
	bool own;
	size_t shown;

	clock_gettime(CLOCK_REALTIME, &t->loaded);
	pins_add(&t->pins, t->path);
	if (load_text(t, text, err) != 0)
		return -1;
	shown = strcspn(buffer_string(text), "\n");
	d->document = value_parse(buffer_string(text), text->len, d->path, ERROR_DEFINITION, err);
	if (d->document == NULL && !text_ends(t->path, ".json"))
		return error_set(err, ERROR_DEFINITION, t->path, "no %s.tool.json says what this tool is, "
		    "and what the program prints when it is run with " SCHEMA_OPTION " is no JSON: '%.*s'",
		    t->name, (int)utf8_whole(buffer_string(text), shown < ANSWER_SHOWN ? shown : ANSWER_SHOWN),
		    buffer_string(text));
	if (d->document == NULL)
		return -1;
	if (!json_is_object(d->document))
		return error_set(err, ERROR_DEFINITION, d->path, "expected an object, got %s",
		    definition_type(d->document));
	if (json_is_object(json_object_get(d->document, "function"))) {
		json_t *within = json_incref(json_object_get(d->document, "function"));

		json_decref(d->document);
		d->document = within;
		tool_unwrap_function(text);
	}
	if (definition_only(d, keys, err) != 0 || definition_read(d, keys, t, err) != 0)
		return -1;

	if (t->input != NULL) {
		copy_schema(t, span_of(text->data, text->len));
	} else {
		json_t *any = json_pack("{s:s}", "type", "object");

		buffer_text(&t->input_schema, "{\"type\":\"object\"}");
		t->input = schema_compile(any, SCHEMA_TYPOS, d->path, err);
		json_decref(any);
		if (t->input == NULL)
			return -1;
	}
	if (check_environment(t, err) != 0)
		return -1;
	own = list_has(own_directories, directory);
	/* For AWF's own tools there are defaults, which apply unless a setting overrides them. */
	if (t->sandbox.mode != SANDBOX_UNSAID || t->sandbox.network != SANDBOX_NETWORK_UNSAID)
		t->sandbox.preset = own;
	if (t->via != NULL) {
		if (check_via(t, err) != 0)
			return -1;
		leave_out_via(text);
	}
	/* Without a command, the program is NAME, in the directory of NAME.tool.json. */
	if (t->argv == NULL) {
		t->argv = memory_zero(2, sizeof *t->argv);
		t->argv[0] = path_join(directory, t->name);
		t->missing = !definition_exists(t->argv[0]);
	}
	if (!t->missing && t->via == NULL && check_executable(t, err) != 0)
		return -1;
	t->own = own && strncmp(path_base(t->argv[0]), TOOL_OWN_PREFIX, strlen(TOOL_OWN_PREFIX)) == 0;
	pins_add_command(&t->pins, t->argv);
	return digest_files(t, directory, own, text, err);
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* own: the directories of AWF's own tools only. */
static struct definition_places
tool_definition_places(const char *own, const char *workflow_directory)
{
	return (struct definition_places){ .kind = "tools", .first = getenv("AWF_TOOL_PATH"),
	    .workflow_directory = workflow_directory, .last = own };
}

char **
tool_directories(const char *workflow_directory)
{
	char *own = libexec_path();
	struct definition_places where = tool_definition_places(own, workflow_directory);
	char **directories = definition_directories(&where);

	free(own);
	return directories;
}

/* The file with several tools that contains this one, to be freed by the caller; NULL: there is
 * none in this directory. */
static char *
list_with(const char *directory, const char *name)
{
	DIR *dir = opendir(directory);
	char **files = NULL, *found = NULL;
	const struct dirent *entry;

	while (dir != NULL && (entry = readdir(dir)) != NULL)
		if (is_list(entry->d_name))
			list_take(&files, path_join(directory, entry->d_name));
	if (dir != NULL)
		closedir(dir);
	if (files != NULL)
		qsort(files, list_count(files), sizeof *files, by_name);
	for (char **file = files; found == NULL && file != NULL && *file != NULL; file++) {
		struct buffer text = BUFFER_INIT;

		if (definition_exists(*file) &&
		    trust_file_load(*file, *file, DEFINITION_LIMIT, &text, NULL) == 0 && pick_entry(name, &text) == 1)
			found = memory_text(*file);
		buffer_free(&text);
	}
	list_free(files);
	return found;
}

int
tool_list_names(const char *path, char ***names, struct error *err)
{
	struct buffer text = BUFFER_INIT;
	json_t *file, *entries, *entry;
	size_t i, before = list_count(*names);

	if (!is_list(path))
		return 0;
	file = trust_file_load(path, path, DEFINITION_LIMIT, &text, err) != 0 ? NULL :
	    value_parse(buffer_string(&text), text.len, path, ERROR_DEFINITION, err);
	buffer_free(&text);
	if (file == NULL)
		return -1;
	entries = json_is_object(file) ? json_object_get(file, "tools") : file;
	json_array_foreach(entries, i, entry) {
		const json_t *function = json_object_get(entry, "function");
		const char *name = json_string_value(
		    json_object_get(json_is_object(function) ? function : entry, "name"));

		if (name != NULL && !list_has(*names, name))
			list_add(names, name);
	}
	json_decref(file);
	return list_count(*names) > before ? 1 : error_set(err, ERROR_DEFINITION, path,
	    "expected an array of tools that have names, or an object whose \"tools\" is one");
}

/* The file of a tool in a directory; NULL: there is none. */
static char *
find_in(const char *directory, const char *name, const char *file)
{
	const char *const names[] = { file, NULL };
	char *path = definition_in(directory, names);

	if (path == NULL)
		path = list_with(directory, name);
	if (path == NULL) {
		/* A program that describes its tool itself. */
		path = path_join(directory, name);
		if (!definition_exists(path) || access(path, X_OK) != 0) {
			free(path);
			path = NULL;
		}
	}
	return path;
}

char *
tool_find(const char *name, const char *workflow_directory, struct error *err)
{
	char *file = memory_format("%s.tool.json", name), *own = libexec_path(), *path = NULL;
	char **own_directories = list_split(own, ':'), **directories;
	const char *const names[] = { file, NULL };
	struct definition_places where = tool_definition_places(own, workflow_directory);

	if (!tool_name_valid(name)) {
		error_set(err, ERROR_DEFINITION, name, "no tool's name (1 to 64 of A-Z a-z 0-9 _ -)");
	} else {
		for (size_t i = 0; path == NULL && own_directories != NULL && own_directories[i] != NULL; i++)
			path = definition_in(own_directories[i], names);
		where.elsewhere = path != NULL; /* AWF itself has the tool */
		free(path);
		path = NULL;
		directories = definition_directories(&where);
		for (char **directory = directories; path == NULL && directory != NULL &&
		    *directory != NULL; directory++)
			path = find_in(*directory, name, file);
		list_free(directories);
		if (path == NULL)
			path = definition_find(&where, file, names, err); /* its error lists the
			                                                     places */
	}
	list_free(own_directories);
	free(own);
	free(file);
	return path;
}

int
tool_load_form(struct tool *t, const char *name, const char *workflow_directory,
    struct error *err)
{
	struct definition d = { NULL, NULL, NULL };
	struct buffer text = BUFFER_INIT;
	char *directory, *own, **own_directories, *place;
	int result;

	memset(t, 0, sizeof *t);
	t->path = tool_find(name, workflow_directory, err);
	if (t->path == NULL)
		return -1;
	t->name = memory_text(name);
	t->environment = memory_zero(1, sizeof *t->environment);
	/* If a program has printed the definition, it is not in a file. */
	place = memory_format("%s%s", t->path, text_ends(t->path, ".json") ? "" :
	    ": its answer to " SCHEMA_OPTION);
	d.path = place;
	directory = path_directory(t->path);
	own = libexec_path();
	own_directories = list_split(own, ':');
	result = tool_read_file(t, directory, own_directories, &d, &text, err);
	list_free(own_directories);
	free(own);
	free(directory);
	free(place);
	json_decref(d.document);
	buffer_free(&text);
	if (result != 0)
		tool_free(t);
	return result;
}

int
tool_load(struct tool *t, const char *name, const char *workflow_directory, struct error *err)
{
	if (tool_load_form(t, name, workflow_directory, err) != 0)
		return -1;
	if (!t->missing || check_executable(t, err) == 0)
		return 0;
	tool_free(t);
	return -1;
}

void
tool_free(struct tool *t)
{
	free(t->name);
	free(t->path);
	free(t->description);
	free(t->changes);
	free(t->via);
	buffer_free(&t->input_schema);
	schema_free(t->input);
	schema_free(t->output);
	list_free(t->argv);
	list_free(t->environment);
	pins_free(&t->pins);
	memset(t, 0, sizeof *t);
}

bool
tool_fill_input(const struct tool *t, struct span input, struct buffer *filled)
{
	return schema_fill(t->input, span_of(t->input_schema.data, t->input_schema.len), input,
	    filled);
}

int
tool_check_input(const struct tool *t, struct span input, struct buffer *why)
{
	return schema_check_bytes(t->input, input.at, input.len, why);
}

int
tool_result(const struct tool *t, const char *bytes, size_t len, struct buffer *json,
    struct buffer *why)
{
	struct span value = t->output == NULL ? span_trim(span_of(bytes, len)) :
	    span_trim_json(span_of(bytes, len));
	struct writer w;
	size_t bad;

	if (t->output != NULL && schema_check_bytes(t->output, bytes, len, why) != 0)
		return -1;
	if (t->output != NULL || ((span_type(value) == 'o' || span_type(value) == 'a') &&
	    scan_check(value.at, value.len, &bad) == NULL)) {
		scan_minify(value, json);
		return 0;
	}
	writer_begin(&w, json);
	writer_bytes(&w, bytes, len > 0 && bytes[len - 1] == '\n' ? len - 1 : len);
	return 0;
}
