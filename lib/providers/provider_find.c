/* The providers that come with AWF are known by name; all others are programs that are searched
 * for. */
#include "providers/provider_find.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "history/recorded_providers.h"
#include "io/file.h"
#include "proc/libexec.h"
#include "proc/model_token.h"
#include "proc/provider_variables.h"

static const char *const names[] = { "anthropic", "google", "openai", "openai-responses", "replay",
    "claude", "codex", "gemini", "copilot", "opencode", NULL };
/* Those that speak to no HTTP API. */
static const char *const others[] = { "replay", "claude", "codex", "gemini", "copilot", "opencode",
    NULL };
static const char *const clis[] = { "claude", "codex", "gemini", "copilot", "opencode", NULL };

const char *const *
provider_names(void)
{
	return names;
}

bool
provider_is_cli(const char *name)
{
	return list_has((char *const *)(uintptr_t)clis, name);
}

bool
provider_tells_late(const char *name)
{
	return strcmp(name, "opencode") == 0;
}

bool
provider_only_reads(const char *name, char *const *tools)
{
	static const char *const reading[] = { "read", "glob", "grep", NULL };
	const char *sandbox = getenv("AWF_CODEX_SANDBOX");
	size_t i;

	if (strcmp(name, "codex") == 0 && sandbox != NULL && *sandbox != '\0' &&
	    strcmp(sandbox, "read-only") != 0)
		return false;
	for (i = 0; tools[i] != NULL; i++)
		if (!list_has((char *const *)(uintptr_t)reading, tools[i]))
			return false;
	return i > 0;
}

static int
provider_unknown(const char *name, struct error *err)
{
	/* Of those that are there everywhere: the message is recorded, and a replay has no endpoints. */
	const char *near = text_suggest(name, names);

	if (*name == '\0')
		return error_set(err, ERROR_DEFINITION, NULL,
		    PROVIDER_REFUSED_BEGIN "': there is no name before the /");
	if (near != NULL && strcmp(near, name) != 0)
		error_set(err, ERROR_DEFINITION, NULL,
		    PROVIDER_REFUSED_BEGIN "%s' (did you mean '%s'?)", name, near);
	else
		error_set(err, ERROR_DEFINITION, NULL, PROVIDER_REFUSED_BEGIN "%s': there is no "
		    "awf-provider-%s in $AWF_PROVIDER_PATH, AWF's own directory or $PATH, nor an endpoint of "
		    "that name", name, name);
	return -1;
}

#define PROGRAM_BEGIN "awf-provider-"

/* The directories in which they are searched for, separated by colons. Allocated. */
static char *
provider_path(void)
{
	const char *first = getenv("AWF_PROVIDER_PATH"), *last = getenv("PATH");
	char *own = libexec_path();
	char *path = memory_format("%s:%s:%s", first != NULL ? first : "", own,
	    last != NULL ? last : "");

	free(own);
	return path;
}

/* NULL: there is none. */
static char *
find_program(const char *name)
{
	char *program = memory_format(PROGRAM_BEGIN "%s", name), *list = provider_path();
	char *path = path_search(list, program);

	free(program);
	free(list);
	return path;
}

int
provider_endpoint(const char *name, struct endpoint **e, struct error *err)
{
	char *program;

	*e = NULL;
	if (!name_valid(name) || list_has((char *const *)(uintptr_t)others, name))
		return 0;
	if (!list_has((char *const *)(uintptr_t)names, name)) {
		program = find_program(name);
		free(program);
		if (program != NULL)
			return 0;
	}
	return endpoint_load(e, name, err);
}

char *
provider_find(const char *name, struct error *err)
{
	struct endpoint *e = NULL;
	char *path;

	if (!name_valid(name)) {
		provider_unknown(name, err);
		return NULL;
	}
	path = find_program(name);
	if (path != NULL || list_has((char *const *)(uintptr_t)names, name)) {
		if (path == NULL)
			provider_unknown(name, err);
		return path;
	}
	switch (endpoint_load(&e, name, err)) {
	case 1:
		path = provider_find(endpoint_provider(e, NULL), err);
		break;
	case 0:
		provider_unknown(name, err);
		break;
	}
	endpoint_free(e);
	return path;
}

char **
provider_list(void)
{
	const size_t begin = sizeof PROGRAM_BEGIN - 1;
	char **found = NULL, *list = provider_path(), *rest = list;
	const char *directory;

	for (const char *const *known = names; *known != NULL; known++)
		list_add(&found, *known);
	while ((directory = strsep(&rest, ":")) != NULL) {
		struct dirent **entries;
		/* In the order of the names. */
		int count = *directory == '\0' ? -1 : scandir(directory, &entries, NULL, alphasort);

		for (int i = 0; i < count; i++) {
			const char *program = entries[i]->d_name, *name = program + begin;

			if (strncmp(program, PROGRAM_BEGIN, begin) == 0 && name_valid(name) &&
			    !list_has(found, name)) {
				char *path = path_search(directory, program);

				if (path != NULL)
					list_add(&found, name);
				free(path);
			}
			free(entries[i]);
		}
		if (count >= 0)
			free(entries);
	}
	free(list);
	return found;
}

char **
provider_list_all(void)
{
	char **found = provider_list(), **endpoints = endpoint_list();

	for (char **name = endpoints; name != NULL && *name != NULL; name++)
		if (!list_has(found, *name))
			list_add(&found, *name);
	list_free(endpoints);
	return found;
}

/* What a recording says about providers holds in its replay, wherever that runs. */
enum recorded { RECORDED_NOTHING, RECORDED_THERE, RECORDED_UNKNOWN };

static enum recorded
provider_recorded_state(const char *name)
{
	const char *list = getenv(PROVIDER_RECORDED), *word;
	enum recorded found = RECORDED_NOTHING;
	size_t len;

	if (list == NULL || !name_valid(name))
		return RECORDED_NOTHING;
	while ((word = text_part(&list, ':', &len)) != NULL) {
		if (len == strlen(name) && memcmp(word, name, len) == 0)
			return RECORDED_THERE;
		if (len == strlen(PROVIDER_UNKNOWN) + strlen(name) &&
		    strncmp(word, PROVIDER_UNKNOWN, strlen(PROVIDER_UNKNOWN)) == 0 &&
		    memcmp(word + strlen(PROVIDER_UNKNOWN), name, strlen(name)) == 0)
			found = RECORDED_UNKNOWN;
	}
	return found;
}

int
provider_check_named(const char *name, struct error *err)
{
	if (getenv(PROVIDER_RECORDED) != NULL && name_valid(name) &&
	    provider_recorded_state(name) != RECORDED_UNKNOWN)
		return 0;
	return provider_check(name, err);
}

int
provider_check(const char *name, struct error *err)
{
	char *path;

	if (list_has((char *const *)(uintptr_t)names, name))
		return 0;
	switch (provider_recorded_state(name)) {
	case RECORDED_THERE:
		return 0;
	case RECORDED_UNKNOWN:
		return provider_unknown(name, err);
	case RECORDED_NOTHING:
		break;
	}
	path = name_valid(name) ? find_program(name) : NULL;
	free(path);
	return path != NULL || endpoint_exists(name) ? 0 : provider_unknown(name, err);
}

void
provider_environment_add(const struct keys *keys, struct environment *e)
{
	char within[MODEL_TOKEN_SIZE];

	for (size_t i = 0; keys != NULL && i < keys->count; i++)
		environment_set(e, keys->names[i], keys_value(keys, keys->names[i]));
	for (const char *const *name = provider_key_names(); *name != NULL; name++)
		if (model_token_is(environment_get(e, *name))) {
			model_token_within(environment_get(e, *name), within);
			environment_set(e, *name, within);
		}
}

void
provider_environment(const struct keys *keys, struct environment *e)
{
	environment_begin(e);
	provider_environment_add(keys, e);
}
