/*
 * A digest is made of lines of text that contain no path of this machine: files of the repository
 * are named relative to it, so that a worktree or a moved checkout is not asked about again. If a
 * command line reads only what it names (trust_command_is_plain()), the contents of these files are
 * in its digest; otherwise those of all files of the project (definitions/trust_project.h): no
 * parser of command lines knows what make, npm, or a shell text read.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "definitions/trust.h"
#include "definitions/trust_files.h"
#include "definitions/trust_project.h"
#include "definitions/trust_text.h"
#include "io/file.h"
#include "json/value.h"
#include "proc/environment.h"
#include "providers/provider_find.h"
#include "workspace/sandboxed_times.h"

/* State while an item is described: the text for its digest, and the text for the user. */
struct describing {
	const char *file;       /* file of the definition */
	char *repository, *checkout;
	struct buffer exact, shown, files;
	bool too_large;         /* as in struct trust_item */
	bool edited;            /* in a directory that only the user edits: check whether a
	                           sandboxed program may have written a file that it runs */
	char *written;          /* that file; NULL: there is none */
	bool program;           /* as in struct trust_item */
};

static bool checked_anew;

bool
trust_is_checked_anew(void)
{
	return checked_anew;
}

static bool
describing_begin(struct describing *d, const char *file)
{
	const enum origin origin = trust_origin(file);

	*d = (struct describing){ .file = file, .edited = origin == ORIGIN_EDITED };
	if (origin < ORIGIN_EDITED)
		return false;
	checked_anew = true;
	d->repository = trust_project(file, &d->checkout);
	/* The definition says what is run and with which words, or that there is no sandbox: so it
	 * counts, too. */
	d->written = trust_written(file);
	return true;
}

/* Appends a field to the text for the digest, preceded by its length. */
static void
describe_exactly(struct describing *d, const char *kind, const char *text)
{
	buffer_format(&d->exact, "%s %zu ", kind, strlen(text));
	buffer_text(&d->exact, text);
	buffer_byte(&d->exact, '\n');
}

/* Appends a word of the definition, after words of AWF. */
static void
show_word(struct describing *d, const char *ours, const char *word)
{
	buffer_text(&d->shown, ours);
	trust_word_append(&d->shown, word);
}

/* Says which host a URL leads to if it does not begin with it: https://api.example.com@other.org/. */
static void
show_host(struct describing *d, const char *url)
{
	const char *authority = strstr(url, "://"), *host = NULL;
	char *text;

	for (const char *at = authority == NULL ? "" : authority + 3; *at != '\0' && strchr("/?#", *at) == NULL; at++)
		if (*at == '@')
			host = at + 1;
	if (host == NULL)
		return;
	text = memory_copy(host, strcspn(host, "/?#"));
	show_word(d, " (connects to ", text);
	buffer_byte(&d->shown, ')');
	free(text);
}

/* A path relative to the repository, to be freed by the caller; NULL: it is outside. */
static char *
path_inside_of(const struct describing *d, const char *real)
{
	if (!path_within(real, d->checkout))
		return NULL;
	return memory_text(real[strlen(d->checkout)] == '/' ? real + strlen(d->checkout) + 1 : ".");
}

/* A word with variables replaced by their values, to find the files that it names; unchanged if a
 * variable has no value. To be freed by the caller. */
static char *
word_expanded(const struct describing *d, const char *word)
{
	struct error ignored = ERROR_INIT;
	char *text = strstr(word, "${") == NULL ? NULL : mcp_expand(word, d->file, NULL, NULL, d->file,
	    &ignored);

	return text != NULL ? text : memory_text(word);
}

/* A word of the command line as it is in the digest: a path in the repository becomes relative to
 * that, whatever directory the command runs in. To be freed by the caller. */
static char *
word_named(const struct describing *d, const char *word)
{
	char *real = strchr(word, '/') != NULL ? realpath(word, NULL) : NULL;
	char *relative = real == NULL ? NULL : path_inside_of(d, real);

	free(real);
	real = relative == NULL ? memory_text(word) : memory_format("./%s", relative);
	free(relative);
	return real;
}

/* Notes the first file that a sandboxed program may have written. */
static void
find_written(struct describing *d, char *const *files)
{
	for (; d->written == NULL && files != NULL && *files != NULL; files++)
		if (sandboxed_times_have(*files))
			d->written = path_inside_of(d, *files);
}

/* Adds the contents of the files that a command line names, and the links on the way to them. */
static void
describe_files(struct describing *d, const struct trust_files *found)
{
	if (d->edited) {
		find_written(d, found->links);
		find_written(d, found->files);
	}
	for (char **file = found->files; (!d->edited || d->written != NULL) && file != NULL && *file != NULL; file++) {
		char sha256[DIGEST_SIZE], *relative = path_inside_of(d, *file);
		int fd = file_open_plain(*file, O_RDONLY, 0);

		if (fd == -1 || digest_fd(fd, sha256) != 0)
			memcpy(sha256, "-", 2);
		describe_exactly(d, "file", relative);
		describe_exactly(d, "sha256", sha256);
		buffer_text(&d->files, d->files.len > 0 ? ", " : "with what is in ");
		trust_word_append(&d->files, relative);
		file_close(&fd);
		free(relative);
	}
}

/* Adds all files of the project, for a command that may read any of them. */
static void
describe_project(struct describing *d)
{
	char *above, *stands, *place, *definition;
	const struct trust_project *project;

	if (d->edited && d->written == NULL)
		d->written = trust_project_written(d->checkout);
	if (d->edited && d->written == NULL)
		return;
	above = path_directory(d->file);
	stands = realpath(above, NULL);
	place = stands == NULL ? NULL : path_join(stands, path_base(d->file));
	definition = place == NULL ? NULL : path_inside_of(d, place);
	project = trust_project_look(d->checkout, d->repository, definition != NULL ? definition : "");
	free(definition);
	free(place);
	free(stands);
	free(above);
	d->too_large = d->too_large || project->too_large;
	describe_exactly(d, "project", project->digest);
	buffer_clear(&d->files);
	buffer_format(&d->files, "with all files of the project (%zu), any of which it may read", project->files);
}

/* Adds a command line, and the contents of the files in the repository that it runs. definition: if
 * the words contain variables, and for the environment; NULL. launched: another program starts the
 * command. */
static void
describe_command(struct describing *d, char *const *argv, const struct mcp_definition *definition, bool launched)
{
	char here[PATH_MAX], *beside = path_directory(d->file), **words = NULL, **values = NULL;
	char *directory = NULL, *path = NULL;
	struct trust_files found;
	struct trust_command command = { .beside = beside };

	for (char *const *word = argv; word != NULL && *word != NULL; word++) {
		char *named = word_named(d, *word);

		describe_exactly(d, "word", named);
		show_word(d, " ", *word);
		free(named);
		list_take(&words, word_expanded(d, *word));
	}
	for (size_t i = 0; definition != NULL && definition->variables != NULL &&
	    definition->variables[i] != NULL; i++) {
		char *value = word_expanded(d, definition->values[i]);

		if (strcmp(definition->variables[i], "PATH") == 0)
			path = memory_text(value);
		list_take(&values, value);
	}
	if (definition != NULL && definition->directory != NULL)
		directory = word_expanded(d, definition->directory);
	command.words = words;
	command.values = values;
	command.path = path;
	command.directory = directory != NULL ? directory : getcwd(here, sizeof here) != NULL ? here : "/";
	command.shaped = launched || (definition != NULL &&
	    (definition->variables != NULL || definition->directory != NULL));
	trust_files_find(&found, &command, d->checkout);
	describe_files(d, &found);
	if (!trust_command_is_plain(&command, d->checkout) || list_count(found.files) >= TRUST_FILES_MOST)
		describe_project(d);
	else if (d->files.len > 0)
		buffer_text(&d->files, "; what these load in turn is not looked at");
	list_free(found.files);
	list_free(found.links);
	list_free(words);
	list_free(values);
	free(directory);
	free(path);
	free(beside);
}

static void
describing_free(struct describing *d)
{
	free(d->repository);
	free(d->checkout);
	free(d->written);
	buffer_free(&d->exact);
	buffer_free(&d->shown);
	buffer_free(&d->files);
}

static void
describing_end(struct describing *d, struct trust_items *items)
{
	struct buffer visible = BUFFER_INIT;
	struct trust_item item = { .file = NULL };

	if (d->edited && d->written == NULL) {
		describing_free(d);
		return;
	}
	item.file = memory_text(d->file);
	item.program = d->program;
	item.too_large = d->too_large;
	item.repository = memory_text(d->repository);
	if (d->written != NULL) {
		show_word(d, " (a sandboxed program may have written ", d->written);
		buffer_text(&d->shown, ": to touch it says that it was read)");
	}
	trust_text_append(&visible, buffer_string(&d->shown));
	item.what = buffer_take(&visible);
	trust_text_append(&visible, buffer_string(&d->files));
	item.files = d->files.len == 0 ? NULL : buffer_take(&visible);
	buffer_free(&visible);
	digest_sha256(buffer_string(&d->exact), d->exact.len, item.digest);
	items->list = memory_array(items->list, items->count + 1, sizeof *items->list);
	items->list[items->count++] = item;
	describing_free(d);
}

void
trust_add_tool(struct trust_items *items, const struct tool *tool)
{
	struct describing d;

	if (tool->own || !describing_begin(&d, tool->path))
		return;
	buffer_format(&d.shown, "tool %s:", tool->name);
	describe_exactly(&d, "tool", tool->name);
	if (tool->via != NULL) {
		describe_exactly(&d, "via", tool->via);
		show_word(&d, " (by the launcher ", tool->via);
		buffer_byte(&d.shown, ')');
	}
	for (char **name = tool->environment; name != NULL && *name != NULL; name++) {
		describe_exactly(&d, "key", *name);
		show_word(&d, " ", *name);
		buffer_text(&d.shown, "=…");
	}
	describe_command(&d, tool->argv, NULL, tool->via != NULL);
	describing_end(&d, items);
}

void
trust_add_program(struct trust_items *items, const char *path)
{
	char *argv[] = { (char *)(uintptr_t)path, NULL };
	struct describing d;

	if (!describing_begin(&d, path))
		return;
	show_word(&d, "tool ", path_base(path));
	buffer_byte(&d.shown, ':');
	describe_exactly(&d, "tool", path_base(path));
	d.program = true;
	describe_command(&d, argv, NULL, false);
	describing_end(&d, items);
}

void
trust_add_server(struct trust_items *items, const struct mcp_definition *server)
{
	struct describing d;
	char **taken;

	if (!describing_begin(&d, server->file))
		return;
	show_word(&d, "MCP server ", server->name);
	buffer_byte(&d.shown, ':');
	describe_exactly(&d, "server", server->name);
	for (size_t i = 0; server->variables != NULL && server->variables[i] != NULL; i++) {
		describe_exactly(&d, "variable", server->variables[i]);
		describe_exactly(&d, "value", server->values[i]);
		show_word(&d, " ", server->variables[i]);
		show_word(&d, "=", server->values[i]);
	}
	if (server->directory != NULL) {
		describe_exactly(&d, "directory", server->directory);
		show_word(&d, " (in ", server->directory);
		buffer_byte(&d.shown, ')');
	}
	if (server->url != NULL) {
		describe_exactly(&d, "url", server->url);
		show_word(&d, " ", server->url);
		show_host(&d, server->url);
		for (size_t i = 0; server->headers != NULL && server->headers[i] != NULL; i++) {
			describe_exactly(&d, "header", server->headers[i]);
			describe_exactly(&d, "value", server->header_values[i]);
			show_word(&d, " (", server->headers[i]);
			show_word(&d, ": ", server->header_values[i]);
			buffer_byte(&d.shown, ')');
		}
	} else {
		char **argv = NULL;

		list_add(&argv, server->command);
		for (char **word = server->arguments; word != NULL && *word != NULL; word++)
			list_add(&argv, *word);
		describe_command(&d, argv, server, false);
		list_free(argv);
	}
	taken = mcp_taken_variables(server);
	for (char **name = taken; name != NULL && *name != NULL; name++)
		show_word(&d, name == taken ? " (takes of your environment: " : ", ", *name);
	if (taken != NULL)
		buffer_text(&d.shown, ")");
	list_free(taken);
	describing_end(&d, items);
}

void
trust_add_command(struct trust_items *items, const struct agent *agent, const char *when,
    char *const *argv)
{
	struct describing d;

	if (argv != NULL && agent->path != NULL && describing_begin(&d, agent->path)) {
		buffer_format(&d.shown, "%s of the agent ", when);
		trust_word_append(&d.shown, agent->name);
		buffer_byte(&d.shown, ':');
		describe_exactly(&d, "command", when);
		describe_command(&d, argv, NULL, false);
		describing_end(&d, items);
	}
}

void
trust_add_agent(struct trust_items *items, const struct agent *agent, const char *tool)
{
	struct describing d;

	if (agent->path == NULL || !describing_begin(&d, agent->path))
		return;
	show_word(&d, "whatever the model of the agent ", agent->name);
	buffer_format(&d.shown, " asks of %s, in no sandbox", tool);
	describe_exactly(&d, "agent", agent->name);
	describe_exactly(&d, "open", tool);
	describing_end(&d, items);
}

void
trust_add_use(struct trust_items *items, const struct agent *agent, const char *what, bool enclosed)
{
	struct describing d;

	if (!enclosed) {
		trust_add_agent(items, agent, what);
		return;
	}
	if (agent->path == NULL || !describing_begin(&d, agent->path))
		return;
	show_word(&d, "whatever the model of the agent ", agent->name);
	buffer_format(&d.shown, " asks of %s, which is not the project's", what);
	describe_exactly(&d, "agent", agent->name);
	describe_exactly(&d, "use", what);
	describing_end(&d, items);
}

void
trust_add_network(struct trust_items *items, const char *file, const char *what)
{
	struct describing d;

	if (!describing_begin(&d, file))
		return;
	trust_word_append(&d.shown, path_base(file));
	buffer_format(&d.shown, ": the sandbox of %s has the network, by which it can send what it reads", what);
	describe_exactly(&d, "network", what);
	describing_end(&d, items);
}

/* Adds a whole member of an agent's parameters, if it exists. */
static void
describe_param(struct describing *d, const struct agent *agent, const char *name)
{
	const json_t *value = json_object_get(agent->params, name);
	struct buffer text = BUFFER_INIT;
	char *ours;

	if (value == NULL)
		return;
	value_write(value, &text);
	ours = memory_format(" %s ", name);
	describe_exactly(d, name, buffer_string(&text));
	show_word(d, ours, buffer_string(&text));
	free(ours);
	buffer_free(&text);
}

void
trust_add_request(struct trust_items *items, const struct agent *agent)
{
	struct describing d;

	if (agent->path == NULL || (json_object_get(agent->params, "headers") == NULL &&
	    json_object_get(agent->params, "body") == NULL) || !describing_begin(&d, agent->path))
		return;
	show_word(&d, "what the agent ", agent->name);
	buffer_text(&d.shown, " adds to each request to the server of its model:");
	describe_exactly(&d, "agent", agent->name);
	describe_param(&d, agent, "headers");
	describe_param(&d, agent, "body");
	describing_end(&d, items);
}

void
trust_add_provider(struct trust_items *items, const struct agent *agent, const char *provider)
{
	bool asks = agent->path != NULL && trust_origin(agent->path) >= ORIGIN_EDITED;
	char *path = asks ? provider_find(provider, NULL) : NULL;
	char *real = path == NULL ? NULL : realpath(path, NULL), *argv[] = { path, NULL };
	struct describing d;

	if (real != NULL && describing_begin(&d, agent->path)) {
		show_word(&d, "provider ", provider);
		buffer_byte(&d.shown, ':');
		describe_exactly(&d, "provider", provider);
		describe_command(&d, argv, NULL, false);
		if (path_within(real, d.checkout)) {
			describing_end(&d, items);
		} else {
			describing_free(&d);
		}
	}
	free(real);
	free(path);
}

