/* How a CLI is started: what its table says of one request. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/list.h"
#include "base/memory.h"
#include "cli_start.h"
#include "proc/api_keys.h"

void
cli_arguments(struct cli_run *r, const char *const *arguments)
{
	for (; *arguments != NULL; arguments++)
		list_add(&r->argv, *arguments);
}

void
cli_argument(struct cli_run *r, const char *option, const char *value)
{
	list_add(&r->argv, option);
	list_add(&r->argv, value);
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
cli_environment(struct cli_run *r, const char *name, const char *value)
{
	environment_set(&r->environment, name, value);
}

void
cli_environment_number(struct cli_run *r, const char *name, long long value)
{
	char text[32];

	snprintf(text, sizeof text, "%lld", value);
	cli_environment(r, name, text);
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
	buffer_append(&prompt, buffer_string(&r->prompt), r->prompt.len);
	buffer_free(&r->prompt);
	r->prompt = prompt;
}

static int
make_directory(struct cli_run *r)
{
	const char *place = getenv("TMPDIR");

	if (r->directory != NULL)
		return 0;
	r->directory = memory_format("%s/%s-XXXXXX", place == NULL || place[0] == '\0' ? "/tmp" :
	    place, r->cli->program);
	if (mkdtemp(r->directory) != NULL)
		return 0;
	cli_fail_as(r, ERROR_PROVIDER, "%s: unable to make a directory: %s", r->directory,
	    strerror(errno));
	free(r->directory);
	r->directory = NULL;
	return -1;
}

static int
write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int result;

	if (fd == -1)
		return -1;
	result = file_write(fd, text, strlen(text));
	return close(fd) == 0 ? result : -1;
}

const char *
cli_file(struct cli_run *r, const char *name, const char *text)
{
	char *path;

	if (make_directory(r) != 0)
		return NULL;
	path = path_join(r->directory, name);
	list_take(&r->files, path);
	if (write_file(path, text) == 0)
		return path;
	cli_fail_as(r, ERROR_PROVIDER, "%s: unable to write: %s", path, strerror(errno));
	return NULL;
}

/* Its tools would see a key that it has nothing to do with. */
static void
withhold_key(struct cli_run *r, const char *name)
{
	if (!list_has((char *const *)(uintptr_t)r->cli->keys, name))
		environment_unset(&r->environment, name);
}

/* Keys of APIs, and those that the user's file names: awf-step hands on all of them. */
static void
withhold_keys(struct cli_run *r)
{
	struct error err = ERROR_INIT;
	char text[sizeof err.place + sizeof err.message + 4];
	struct keys keys;

	for (const char *const *name = provider_key_names(); *name != NULL; name++)
		withhold_key(r, *name);
	if (keys_load(&keys, &err) != 0) {
		cli_fail_as(r, ERROR_PROVIDER, "%s", error_text(&err, text, sizeof text));
		return;
	}
	for (size_t i = 0; i < keys.count; i++)
		withhold_key(r, keys.names[i]);
	keys_free(&keys);
}

/* What the CLI has no setting for is said once; the request is answered without. What it
 * caches is its own business. */
static void
take_params(struct cli_run *r)
{
	static bool told;
	struct buffer left = BUFFER_INIT;

	for (struct span_walk member = span_walk(r->request->params); span_next(&member);)
		if (!span_is(member.key, "cache") && !r->cli->param(r, member.key, member.value)) {
			buffer_text(&left, left.len > 0 ? ", " : "");
			span_decode(member.key, &left);
		}
	if (left.len > 0 && !told)
		fprintf(stderr, "%s: %s has no setting for %s\n", r->cli->program, r->cli->name,
		    left.data);
	told |= left.len > 0;
	buffer_free(&left);
}

void
cli_prepare(struct cli_run *r)
{
	list_add(&r->argv, r->cli->name);
	environment_begin(&r->environment);
	withhold_keys(r);
	r->cli->start(r);
	take_params(r);
}

void
cli_clear(struct cli_run *r)
{
	for (size_t i = 0; i < list_count(r->files); i++)
		unlink(r->files[i]);
	if (r->directory != NULL)
		rmdir(r->directory);
	free(r->directory);
	list_free(r->files);
	list_free(r->argv);
	environment_free(&r->environment);
	r->directory = NULL;
	r->files = r->argv = NULL;
}
