/* Each is asked by --check, with the keys that it would get, all at the same time. No value of
 * a key is looked at here. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/provider.h"
#include "awf/checks.h"
#include "base/file.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "json/scan.h"
#include "proc/environment.h"
#include "proc/libexec.h"

/* Names alone: values are keys. */
static void
check_keys(struct findings *f, struct keys *keys)
{
	char *path = path_config("keys");
	struct error err = ERROR_INIT;
	struct buffer names = BUFFER_INIT;

	if (keys_load(keys, &err) != 0) {
		findings_add_error(f, FINDING_PROVIDERS, FINDING_WRONG, "keys", &err);
	} else if (path == NULL) {
		findings_add(f, FINDING_PROVIDERS, FINDING_NOTE, "keys",
		    "only those of the environment: HOME is not set");
	} else if (access(path, F_OK) != 0) {
		findings_add(f, FINDING_PROVIDERS, FINDING_OK, "keys", "only those of the environment; "
		    "lines NAME=VALUE of %s (mode 600) would count too", path);
	} else {
		for (size_t i = 0; i < keys->count; i++)
			buffer_format(&names, "%s%s", i > 0 ? ", " : ": ", keys->names[i]);
		findings_add(f, FINDING_PROVIDERS, FINDING_OK, "keys", "%s has %zu%s", path, keys->count,
		    buffer_string(&names));
	}
	buffer_free(&names);
	free(path);
}

/* Who is asked where agents name nobody. */
static void
check_model(struct findings *f, struct demands *d)
{
	const char *model = environment_text("AWF_MODEL"), *provider = environment_text("AWF_PROVIDER");
	struct error err = ERROR_INIT;
	struct agent a;

	if (provider != NULL && provider_check(provider, &err) != 0)
		findings_add_error(f, FINDING_PROVIDERS, FINDING_WRONG, "AWF_PROVIDER", &err);
	else if (provider != NULL)
		findings_add(f, FINDING_PROVIDERS, FINDING_NOTE, "AWF_PROVIDER",
		    "%s, whatever an agent says", provider);
	if (model == NULL) {
		findings_add(f, FINDING_PROVIDERS, FINDING_NOTE, "AWF_MODEL", "is not set: an agent that "
		    "names no model takes awf-step -m PROVIDER/MODEL");
		return;
	}
	agent_plain(&a, "AWF_MODEL");
	if (agent_set_model(&a, model, "AWF_MODEL", &err) != 0)
		findings_add_error(f, FINDING_PROVIDERS, FINDING_WRONG, "AWF_MODEL", &err);
	else if (a.provider == NULL && provider == NULL)
		findings_add(f, FINDING_PROVIDERS, FINDING_NOTE, "AWF_MODEL", "%s has no provider that is "
		    "known: it is for agents that name one", model);
	else
		findings_add(f, FINDING_PROVIDERS, FINDING_OK, "AWF_MODEL", "%s", model);
	if (err.code == ERROR_NONE)
		demands_add(d, provider != NULL ? provider : a.provider, "AWF_MODEL");
	agent_free(&a);
}

/* What a provider that is ready says it has. */
static char *
described(struct span answer, const struct keys *keys)
{
	char *key = span_text(span_member(answer, "key"));
	char *server = span_text(span_member(answer, "server"));
	char *program = span_text(span_member(answer, "program"));
	char *path = path_config("keys");
	struct buffer text = BUFFER_INIT;

	if (program != NULL)
		buffer_text(&text, program);
	else if (key != NULL)
		buffer_format(&text, "%s, from %s", key, getenv(key) != NULL || keys->count == 0 ?
		    "the environment" : path);
	else
		buffer_text(&text, "needs no key");
	if (server != NULL)
		buffer_format(&text, "; the server is that of %s", server);
	free(key);
	free(server);
	free(program);
	free(path);
	return buffer_take(&text);
}

/* Where a provider lies, and a colon, if it does not come with AWF; else "". */
static char *
place_of(const char *path)
{
	char *directory = path_directory(path), *own = libexec_path(), *rest = own, *place;
	bool comes_along = false;

	while ((place = strsep(&rest, ":")) != NULL)
		comes_along = comes_along || strcmp(place, directory) == 0;
	free(directory);
	free(own);
	return comes_along ? memory_text("") : memory_format("%s: ", path);
}

static void
judge(struct findings *f, const struct subprocess *b, const struct keys *keys, const char *who)
{
	struct span answer = span_of(b->output.data, b->output.len);
	char *place = place_of(b->argv[0]), *text;
	size_t bad;

	while (answer.len > 0 && answer.at[answer.len - 1] == '\n')
		answer.len--;
	if (answer.len == 0 || scan_check(answer.at, answer.len, &bad) != NULL ||
	    span_member(answer, "ready").at == NULL) {
		findings_add(f, FINDING_PROVIDERS, FINDING_NOTE, b->name,
		    "%sdoes not say what it needs (--check)", place);
	} else if (span_true(span_member(answer, "ready"))) {
		text = described(answer, keys);
		findings_add(f, FINDING_PROVIDERS, FINDING_OK, b->name, "%s%s", place, text);
		free(text);
	} else {
		text = span_text(span_member(answer, "message"));
		findings_add(f, FINDING_PROVIDERS, who != NULL ? FINDING_WRONG : FINDING_NOTE, b->name,
		    "%s%s%s%s%s", place, text != NULL ? text : "is not ready",
		    who != NULL ? " (for " : "", who != NULL ? who : "", who != NULL ? ")" : "");
		free(text);
	}
	free(place);
}

static void
ask_all(struct findings *f, const struct demands *d, const struct keys *keys)
{
	char **names = provider_list(), option[] = "--check";
	const size_t count = list_count(names);
	struct subprocess *processes = memory_zero(count, sizeof *processes);
	char *(*argv)[3] = memory_zero(count, sizeof *argv);
	struct environment environment;
	size_t asked = 0;

	provider_environment(keys, &environment);
	for (size_t i = 0; i < count; i++) {
		struct error err = ERROR_INIT;

		argv[asked][0] = provider_find(names[i], &err);
		argv[asked][1] = option;
		if (argv[asked][0] == NULL) {
			findings_add_error(f, FINDING_PROVIDERS, FINDING_WRONG, names[i], &err);
			continue;
		}
		processes[asked] = (struct subprocess){ .argv = argv[asked], .name = names[i],
			.environment = environment.list };
		asked++;
	}
	checks_ask(processes, asked);
	for (size_t i = 0; i < asked; i++) {
		judge(f, &processes[i], keys, demands_who(d, processes[i].name));
		subprocess_free(&processes[i]);
		free(argv[i][0]);
	}
	environment_free(&environment);
	free(argv);
	free(processes);
	list_free(names);
}

void
check_providers(struct findings *f, struct demands *d)
{
	struct keys keys;

	check_keys(f, &keys);
	check_model(f, d);
	ask_all(f, d, &keys);
	keys_free(&keys);
}
