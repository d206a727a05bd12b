/* Turns a request into argv, environment and files of a CLI. */
#define _GNU_SOURCE /* memmem() */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "cli.h"
#include "io/config.h"
#include "io/file.h"
#include "proc/message.h"
#include "proc/project_files.h"
#include "proc/provider_variables.h"
#include "transcript/event_keys.h"
#include "workspace/sandboxed_times.h"
#include "workspace/unreviewed.h"

#define VERSIONS_LIMIT ((size_t)64 << 10)

static bool
is_assistant(struct span message)
{
	return span_is(span_member(message, KEY_ROLE), "assistant");
}

/* Each answer of this CLI has in its last block how to continue its session. Sets r->session,
 * and returns how many messages the session knows already: up to the last answer with such a
 * block. */
static size_t
find_session(struct cli_run *r)
{
	size_t known = 0, count = 0;

	for (struct span_walk message = span_walk(r->request->messages); span_next(&message);) {
		struct span blocks = span_member(message.value, KEY_BLOCKS), last = SPAN_NONE, raw;

		count++;
		for (struct span_walk block = span_walk(blocks); span_next(&block);)
			last = block.value;
		raw = span_member(last, KEY_RAW);
		if (is_assistant(message.value) && span_is(span_member(last, KEY_API), r->cli->name) &&
		    span_type(span_member(raw, "session")) == 's') {
			r->start.known = raw;
			known = count;
		}
	}
	if (known == 0)
		r->start.known = r->request->session_raw;
	r->start.session = span_text(known > 0 ? span_member(r->start.known, "session") : r->request->session);
	return known;
}

/* Begins a part of the prompt after a blank line. */
static void
begin_part(struct buffer *prompt, const char *text)
{
	if (prompt->len > 0)
		buffer_text(prompt, "\n\n");
	buffer_text(prompt, text);
}

static void
add_block(struct cli_run *r, struct span block)
{
	struct span type = span_member(block, KEY_TYPE);
	struct buffer *prompt = &r->start.prompt;

	if (span_is(type, "text")) {
		begin_part(prompt, "");
		span_decode(span_member(block, KEY_TEXT), prompt);
	} else if (span_is(type, "tool_use")) {
		begin_part(prompt, "[Called the tool ");
		span_decode(span_member(block, KEY_TOOL_NAME), prompt);
		buffer_text(prompt, ": ");
		span_plain(span_member(block, KEY_TOOL_INPUT), prompt);
		buffer_byte(prompt, ']');
	} else if (span_is(type, "tool_result")) {
		begin_part(prompt, "[Its result: ");
		span_plain(span_member(block, KEY_TOOL_CONTENT), prompt);
		buffer_byte(prompt, ']');
	} else if (span_is(type, "image") || span_is(type, "document")) {
		char *media_type = span_text(span_member(block, KEY_MEDIA_TYPE));

		cli_fail_as(r, ERROR_INVALID, "%s takes no attachments (%s): put the file into the "
		    "working directory and name it", r->cli->name,
		    media_type == NULL ? "of any type" : media_type);
		free(media_type);
	} /* thoughts can be read only by the model that thought them */
}

void
cli_read_request(struct cli_run *r)
{
	size_t known = find_session(r), count = 0, number = 0;
	const struct cli_tool *tool;
	struct buffer list = BUFFER_INIT;

	for (struct span_walk message = span_walk(r->request->messages); span_next(&message);)
		count++;
	for (struct span_walk message = span_walk(r->request->messages); span_next(&message);) {
		if (number++ < known)
			continue;
		/* If there are several messages, each is preceded by its role. */
		if (count - known > 1)
			begin_part(&r->start.prompt, is_assistant(message.value) ? "ASSISTANT:" : "USER:");
		for (struct span_walk block = span_walk(span_member(message.value, KEY_BLOCKS));
		    span_next(&block);)
			add_block(r, block.value);
	}
	if (r->start.prompt.len == 0)
		cli_fail_as(r, ERROR_INVALID, "the prompt is empty");

	/* AWF's names of its tools, each once; several tools of the CLI that have one AWF name
	 * are next to each other in the table. */
	for (tool = r->cli->tools; tool->ours != NULL; tool++)
		if (tool == r->cli->tools || strcmp(tool->ours, tool[-1].ours) != 0)
			buffer_format(&list, "%s%s", list.len > 0 ? ", " : "", tool->ours);
	for (struct span_walk each = span_walk(r->request->tools); span_next(&each);) {
		struct span name = span_member(each.value, KEY_NAME);
		char *text = span_text(name);

		for (tool = r->cli->tools; tool->ours != NULL && !span_is(name, tool->ours);)
			tool++;
		if (tool->ours == NULL && text != NULL && r->cli->served == NULL)
			cli_fail_as(r, ERROR_INVALID, "%s brings its own tools (%s): it cannot call '%s'",
			    r->cli->name, list.data, text);
		free(text);
	}
	buffer_free(&list);
}

bool
cli_allows(const struct cli_run *r, const char *ours)
{
	for (const struct cli_tool *tool = r->cli->tools; ours == NULL && tool->ours != NULL; tool++)
		if (cli_allows(r, tool->ours))
			return true;
	for (struct span_walk tool = span_walk(r->request->tools); span_next(&tool);)
		if (ours != NULL && span_is(span_member(tool.value, KEY_NAME), ours))
			return true;
	return false;
}

char *
cli_allowed(const struct cli_run *r, const char *separator)
{
	struct buffer list = BUFFER_INIT;

	for (const struct cli_tool *tool = r->cli->tools; tool->ours != NULL; tool++)
		if (cli_allows(r, tool->ours))
			buffer_format(&list, "%s%s", list.len > 0 ? separator : "", tool->theirs);
	return buffer_take(&list);
}

void
cli_arguments(struct cli_run *r, const char *const *arguments)
{
	for (; *arguments != NULL; arguments++)
		list_add(&r->start.argv, *arguments);
}

void
cli_argument(struct cli_run *r, const char *option, const char *value)
{
	list_add(&r->start.argv, option);
	list_add(&r->start.argv, value);
}

void
cli_model(struct cli_run *r, const char *option)
{
	char *model = span_text(r->request->model);

	if (strcmp(model, "default") != 0)
		cli_argument(r, option, model);
	free(model);
}

bool
cli_effort(struct cli_run *r, const char *option, struct span value)
{
	char *effort = span_text(value);

	if (effort != NULL)
		cli_argument(r, option, effort);
	free(effort);
	return effort != NULL;
}

void
cli_environment_number(struct cli_run *r, const char *name, long long value)
{
	char text[32];

	snprintf(text, sizeof text, "%lld", value);
	environment_set(&r->start.environment, name, text);
}

char *
cli_system(const struct cli_run *r)
{
	char *text = span_text(r->request->system);

	if (text != NULL && text[0] != '\0')
		return text;
	free(text);
	return NULL;
}

void
cli_before_prompt(struct cli_run *r, const char *text)
{
	struct buffer prompt = BUFFER_INIT;

	buffer_format(&prompt, "%s\n\n", text);
	buffer_append(&prompt, buffer_string(&r->start.prompt), r->start.prompt.len);
	buffer_free(&r->start.prompt);
	r->start.prompt = prompt;
}

const char *
cli_directory(struct cli_run *r)
{
	const char *place = environment_text("TMPDIR");

	if (r->start.directory == NULL) {
		r->start.directory = memory_format("%s/%s-XXXXXX", place == NULL ? "/tmp" : place,
		    r->cli->program);
		if (mkdtemp(r->start.directory) == NULL) {
			cli_fail_as(r, ERROR_PROVIDER, "%s: unable to make a directory: %s", r->start.directory,
			    strerror(errno));
			free(r->start.directory);
			r->start.directory = NULL;
		}
	}
	return r->start.directory;
}

const char *
cli_file(struct cli_run *r, const char *name, const char *text)
{
	char *path;
	int fd, failed;

	if (cli_directory(r) == NULL)
		return NULL;
	path = path_join(r->start.directory, name);
	list_take(&r->start.files, path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	failed = fd == -1 || file_write(fd, text, strlen(text)) != 0;
	if (fd != -1 && close(fd) != 0)
		failed = 1;
	if (!failed)
		return path;
	cli_fail_as(r, ERROR_PROVIDER, "%s: unable to write: %s", path, strerror(errno));
	return NULL;
}

/* The first of these names for which the test holds, in the step's directory and those above it,
 * but not in the user's home or above that. Allocated, or NULL. */
static char *
project_file_find(const char *const *names, bool (*is)(const char *path))
{
	char here[PATH_MAX], *directory, *path, *home = NULL;
	bool below = true;

	if (getcwd(here, sizeof here) == NULL)
		return memory_text(".");
	if (path_home() != NULL)
		home = realpath(path_home(), NULL);
	directory = memory_text(here);
	while (below && (home == NULL || !path_within(home, directory))) {
		for (size_t i = 0; names[i] != NULL; i++) {
			path = path_join(directory, names[i]);
			if (is(path)) {
				free(directory);
				free(home);
				return path;
			}
			free(path);
		}
		below = path_climb(&directory);
	}
	free(directory);
	free(home);
	return NULL;
}

static bool
file_exists(const char *path)
{
	return access(path, F_OK) == 0;
}

char *
cli_project_file(const char *const *names)
{
	return project_file_find(names, file_exists);
}

/* Whether a file of versions names a path instead of a version: asdf has "nodejs path:./x". */
static bool
file_names_place(const char *path)
{
	struct buffer text = BUFFER_INIT;
	const char *rest, *word;
	bool names = false;

	/* A file that cannot be read may name anything. */
	if (access(path, F_OK) == 0 && file_load(path, VERSIONS_LIMIT, &text, NULL) != 0)
		names = true;
	rest = buffer_string(&text);
	while (!names && *(word = rest + strspn(rest, " \t\r\n")) != '\0') {
		rest = word + strcspn(word, " \t\r\n");
		names = *word == '/' || *word == '.' || *word == '~' || strncmp(word, "path:", 5) == 0 ||
		    memmem(word, (size_t)(rest - word), "..", 2) != NULL;
	}
	buffer_free(&text);
	return names;
}

/* Whether a program is found where a version manager puts its replacements. */
static bool
program_is_shim(const char *name)
{
	char *path = path_search(environment_text("PATH"), name), *directory;
	bool is = false;

	if (path != NULL) {
		directory = path_directory(path);
		is = strcmp(path_base(directory), "shims") == 0;
		free(directory);
	}
	free(path);
	return is;
}

/* Version managers run what a project's file says: versions that are installed are harmless.
 * Other files of theirs they ignore until their user has said that they are trusted. */
static void
refuse_version_place(struct cli_run *r)
{
	static const char *const names[] = { ".tool-versions", ".node-version", ".nvmrc", NULL };
	char *path = program_is_shim(r->cli->name) || program_is_shim("node") ?
	    project_file_find(names, file_names_place) : NULL;

	if (path != NULL)
		cli_fail_as(r, ERROR_INVALID, "%s names a place instead of a version, and the manager of versions "
		    "that stands before %s would run what is there: remove it, or allow project_settings", path,
		    r->cli->name);
	free(path);
}

/* Whether git takes the directory itself for a repository, as it does even without a `.git` in
 * it. */
static bool
directory_is_repository(const char *directory)
{
	static const char *const parts[] = { "HEAD", "objects", "refs", "commondir" };
	bool has[sizeof parts / sizeof *parts];

	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		char *path = path_join(directory, parts[i]);
		struct stat status;

		has[i] = lstat(path, &status) == 0;
		free(path);
	}
	return has[0] && (has[3] || (has[1] && has[2]));
}

/* Every CLI asks git about the directory, and git runs commands from a repository's settings.
 * Those in a `.git` belong to the user; but a cloned repository may contain directories that are
 * repositories themselves. */
static void
refuse_inner_repository(struct cli_run *r)
{
	char here[PATH_MAX], *directory;
	bool below = getcwd(here, sizeof here) != NULL;

	directory = memory_text(below ? here : "/");
	while (below && !r->failed) {
		char *git = path_join(directory, ".git");

		if (directory_is_repository(directory))
			cli_fail_as(r, ERROR_INVALID, "%s has the shape of a git repository, whose settings git would "
			    "take, and run what they say, as soon as %s asks it: start elsewhere, or allow "
			    "project_settings", directory, r->cli->name);
		below = access(git, F_OK) != 0 && path_climb(&directory);
		free(git);
	}
	free(directory);
}

/* Whether a file of the table concerns the CLI: its own files, texts for the model too, or those
 * of its runtime and of the version manager that may start it. */
static bool
is_taken(const struct project_file *file, const struct cli_run *r)
{
	static const char *const clis[] = { "claude", "codex", "gemini", "copilot", "opencode", NULL };

	return strcmp(file->program, r->cli->name) == 0 ||
	    (file->use == PROJECT_FILE_RUNS && text_index(file->program, clis) == -1);
}

/* Whether the CLI may use settings of the project: its agent file says so, or the user's config.
 * Settings that a sandboxed program may have made must first be read by the user. */
static void
decide_project_settings(struct cli_run *r)
{
	static const char *const words[] = { "false", "true", NULL };
	struct error err = ERROR_INIT;
	char text[sizeof err.place + sizeof err.message + 4];
	int word = r->request->project_settings;

	if (!word && config_word(CONFIG_PROJECT_SETTINGS, words, &word, NULL, &err) != 0)
		cli_fail_as(r, ERROR_INVALID, "%s", error_text(&err, text, sizeof text));
	r->start.project_settings = word == 1;
	if (!r->start.project_settings) {
		refuse_inner_repository(r);
		refuse_version_place(r);
	}
	for (const struct project_file *file = project_files; r->start.project_settings && !r->failed &&
	    file->program != NULL; file++) {
		const char *const names[] = { file->name, NULL };
		char *path = is_taken(file, r) ? cli_project_file(names) : NULL, *written;

		if (path != NULL && unreviewed_check(path, &err) != 0)
			cli_fail_as(r, ERROR_INVALID, "%s", error_text(&err, text, sizeof text));
		/* For a directory other than the one in which the sandboxed program began,
		 * nothing was recorded. */
		written = path == NULL || r->failed ? NULL :
		    project_file_find(names, sandboxed_times_have_below);
		if (written != NULL)
			cli_fail_as(r, ERROR_INVALID, "%s: a sandboxed program may have written it, or what is in it: "
			    "read it, then touch all of it", written);
		free(written);
		free(path);
	}
}

/* The CLI's tools would see keys that they do not need. */
static void
withhold_key(struct cli_run *r, const char *name)
{
	if (!list_has((char *const *)(uintptr_t)r->cli->keys, name))
		environment_unset(&r->start.environment, name);
}

void
cli_prepare(struct cli_run *r)
{
	static bool told;
	struct error err = ERROR_INIT;
	char text[sizeof err.place + sizeof err.message + 4];
	struct buffer left = BUFFER_INIT;
	struct keys keys;

	list_add(&r->start.argv, r->cli->name);
	environment_begin(&r->start.environment);
	/* Removes keys of APIs, and those that the user's file names: awf-step passes on all of
	 * them. */
	for (const char *const *name = provider_key_names(); !r->cli->asks_anybody && *name != NULL; name++)
		withhold_key(r, *name);
	if (keys_load(&keys, &err) == 0) {
		for (size_t i = 0; i < keys.count; i++)
			withhold_key(r, keys.names[i]);
		keys_free(&keys);
	} else {
		cli_fail_as(r, ERROR_PROVIDER, "%s", error_text(&err, text, sizeof text));
	}
	decide_project_settings(r);
	r->cli->start(r);

	/* Report once what the CLI has no setting for; the request is answered without it. What
	 * the CLI caches is not reported. */
	for (struct span_walk param = span_walk(r->request->params); span_next(&param);)
		if (!span_is(param.key, "cache") && (r->cli->param == NULL ||
		    !r->cli->param(r, param.key, param.value))) {
			buffer_text(&left, left.len > 0 ? ", " : "");
			span_decode(param.key, &left);
		}
	if (left.len > 0 && !told)
		message_print(r->cli->program, "%s has no setting for %s", r->cli->name,
		    left.data);
	told |= left.len > 0;
	buffer_free(&left);
}

void
cli_clear(struct cli_run *r)
{
	cli_tools_close(r);
	for (size_t i = 0; i < list_count(r->start.files); i++)
		unlink(r->start.files[i]);
	if (r->start.directory != NULL)
		rmdir(r->start.directory);
	free(r->start.directory);
	list_free(r->start.files);
	list_free(r->start.argv);
	environment_free(&r->start.environment);
	r->start.directory = NULL;
	r->start.files = r->start.argv = NULL;
}
