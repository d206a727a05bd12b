/* Each provider is executed with --check and the keys that it would get, all of them at the same
 * time. The values of keys are not checked here. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "definitions/agent.h"
#include "formats/model_alias.h"
#include "io/file.h"
#include "json/scan.h"
#include "proc/environment.h"
#include "proc/libexec.h"
#include "providers/provider_find.h"
#include "model/price.h"
#include "providers/throttle.h"
#include "setup/doctor.h"

/* Reports which keys there are; only their names, as the values are secret. */
static void
check_keys(struct findings *f, struct keys *keys)
{
	char *path = path_config("keys");
	struct error err = ERROR_INIT;
	struct buffer names = BUFFER_INIT;

	if (keys_load(keys, &err) != 0) {
		findings_add_error(f, FINDING_PROVIDERS, "keys", &err);
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

/* Reports which model is used if an agent names none. */
static void
check_model(struct findings *f, struct demands *d)
{
	const char *provider = environment_text("AWF_PROVIDER"), *place;
	struct error err = ERROR_INIT;
	char *said = NULL, *meant = NULL;
	struct agent a;

	if (provider != NULL && provider_check(provider, &err) != 0)
		findings_add_error(f, FINDING_PROVIDERS, "AWF_PROVIDER", &err);
	else if (provider != NULL)
		findings_add(f, FINDING_PROVIDERS, FINDING_NOTE, "AWF_PROVIDER",
		    "%s, whatever an agent says", provider);
	agent_plain(&a, "AWF_MODEL");
	if (model_default(&said, &place, &err) != 0 || (said != NULL && strchr(said, '/') == NULL &&
	    model_alias_find(said, &meant, &err) != 0) || (said != NULL &&
	    agent_set_model(&a, meant != NULL ? meant : said, place, &err) != 0))
		findings_add_error(f, FINDING_PROVIDERS, place, &err);
	else if (said == NULL)
		findings_add(f, FINDING_PROVIDERS, FINDING_NOTE, "AWF_MODEL", "is not set: an agent that "
		    "names no model takes awf-step -m PROVIDER/MODEL");
	else if (a.provider == NULL && provider == NULL)
		findings_add(f, FINDING_PROVIDERS, FINDING_NOTE, place, "%s has no provider that is "
		    "known: it is for agents that name one", said);
	else
		findings_add(f, FINDING_PROVIDERS, FINDING_OK, place, "%s%s%s", said,
		    meant != NULL ? ", today " : "", meant != NULL ? meant : "");
	if (said != NULL && err.code == ERROR_NONE)
		demands_add(d, provider != NULL ? provider : a.provider, place);
	agent_free(&a);
	free(meant);
	free(said);
}

/* Reports the answer of a provider to --check; with its path, if it is not part of AWF. who: an
 * agent that uses it; NULL: none does. */
static void
providers_judge_answer(struct findings *f, const struct subprocess *b, const struct keys *keys,
    const char *who)
{
	struct span answer = checks_answer(b);
	char *directory = path_directory(b->argv[0]), *own = libexec_path(), *rest = own, *part;
	char *message = span_text(span_member(answer, "message"));
	char *key = span_text(span_member(answer, "key"));
	char *server = span_text(span_member(answer, "server"));
	char *program = span_text(span_member(answer, "program"));
	char *file = path_config("keys");
	struct buffer text = BUFFER_INIT;
	bool comes_along = false;

	while ((part = strsep(&rest, ":")) != NULL)
		comes_along = comes_along || strcmp(part, directory) == 0;
	if (!comes_along)
		buffer_format(&text, "%s: ", b->argv[0]);
	if (span_member(answer, "ready").at == NULL) {
		findings_add(f, FINDING_PROVIDERS, FINDING_NOTE, b->name,
		    "%sdoes not say what it needs (--check)", buffer_string(&text));
	} else if (span_true(span_member(answer, "ready"))) {
		if (program != NULL)
			buffer_text(&text, program);
		else if (key != NULL)
			buffer_format(&text, "%s, from %s", key,
			    getenv(key) != NULL || keys->count == 0 ? "the environment" : file);
		else
			buffer_text(&text, "needs no key");
		if (server != NULL)
			buffer_format(&text, "; the server is that of %s", server);
		findings_add(f, FINDING_PROVIDERS, FINDING_OK, b->name, "%s", text.data);
	} else {
		findings_add(f, FINDING_PROVIDERS, who != NULL ? FINDING_WRONG : FINDING_NOTE, b->name,
		    "%s%s%s%s%s", buffer_string(&text), message != NULL ? message : "is not ready",
		    who != NULL ? " (for " : "", who != NULL ? who : "", who != NULL ? ")" : "");
	}
	buffer_free(&text);
	free(file);
	free(program);
	free(server);
	free(key);
	free(message);
	free(own);
	free(directory);
}

/* Reports the limits of a provider: "anthropic: 4 at once (2 under way), 50 a minute (12 begun), 40000
 * tokens a minute (1200 used), down after 5 failures". */
static void
providers_describe_limits(struct findings *f, const struct storage *storage,
    const struct limits_line *line)
{
	const struct limits *limits = &line->limits;
	struct buffer text = BUFFER_INIT;
	struct error err = ERROR_INIT;
	struct throttle_use use;
	char money[MONEY_SIZE];

	if (*line->provider == *LIMITS_ALL || strchr(line->provider, '/') != NULL) {
		findings_add(f, FINDING_PROVIDERS, FINDING_OK, LIMITS_FILE, "%s: %s a day", line->provider,
		    money_text(limits->cost_per_day, money));
		return;
	}
	if (throttle_look(storage, line->provider, limits, &use, &err) == -1) {
		findings_add_error(f, FINDING_PROVIDERS, LIMITS_FILE, &err);
		return;
	}
	if (strcmp(line->provider, LIMITS_ANY) != 0 && provider_check(line->provider, &err) == -1) {
		findings_add(f, FINDING_PROVIDERS, FINDING_NOTE, LIMITS_FILE, "%s", err.message);
		return;
	}
	buffer_format(&text, "%s: ", line->provider);
	if (limits->at_once > 0)
		buffer_format(&text, "%d at once (%d under way), ", limits->at_once, use.under_way);
	if (limits->per_minute > 0)
		buffer_format(&text, "%d a minute (%d begun), ", limits->per_minute, use.begun);
	if (limits->tokens_per_minute > 0)
		buffer_format(&text, "%d tokens a minute (%lld used), ", limits->tokens_per_minute,
		    (long long)use.tokens);
	if (limits->cost_per_day >= 0)
		buffer_format(&text, "%s a day, ", money_text(limits->cost_per_day, money));
	if (limits->down_after > 0)
		buffer_format(&text, "down after %d failure%s", limits->down_after,
		    limits->down_after == 1 ? "" : "s");
	else
		buffer_text(&text, "never down");
	if (use.down) {
		buffer_text(&text, "; down ");
		throttle_since(&text, use.down_since);
	}
	findings_add(f, FINDING_PROVIDERS, use.down ? FINDING_NOTE : FINDING_OK, LIMITS_FILE, "%s",
	    buffer_string(&text));
	buffer_free(&text);
}

/* Reports the limits of all providers; nothing if none are configured. */
static void
check_limits(struct findings *f)
{
	struct storage storage = { .root = NULL };
	struct error err = ERROR_INIT;
	struct limits_file file;

	if (limits_file_read(&file, &err) == -1 ||
	    (file.count > 0 && storage_locate(&storage, &err) == -1))
		findings_add_error(f, FINDING_PROVIDERS, LIMITS_FILE, &err);
	for (size_t i = 0; i < file.count && storage.root != NULL; i++)
		/* If several lines are about one provider, only the last one counts. */
		if (limits_file_find(&file, file.list[i].provider) == &file.list[i].limits ||
		    *file.list[i].provider == *LIMITS_ALL || strchr(file.list[i].provider, '/') != NULL)
			providers_describe_limits(f, &storage, &file.list[i]);
	storage_close(&storage);
	limits_file_free(&file);
}

void
check_providers(struct findings *f, struct demands *d)
{
	char **names = provider_list(), option[] = "--check";
	const size_t count = list_count(names);
	char **paths = memory_zero(count, sizeof *paths);
	struct environment environment;
	struct subprocess *processes;
	struct keys keys;
	size_t asked;

	check_keys(f, &keys);
	check_model(f, d);
	check_limits(f);
	provider_environment(&keys, &environment);
	for (size_t i = 0; i < count; i++) {
		struct error err = ERROR_INIT;

		paths[i] = provider_find(names[i], &err);
		if (paths[i] == NULL)
			findings_add_error(f, FINDING_PROVIDERS, names[i], &err);
	}
	asked = checks_ask_all(names, paths, count, option, environment.list, &processes);
	for (size_t i = 0; i < asked; i++)
		providers_judge_answer(f, &processes[i], &keys, demands_who(d, processes[i].name));
	checks_free(processes, asked);
	environment_free(&environment);
	for (size_t i = 0; i < count; i++)
		free(paths[i]);
	free(paths);
	list_free(names);
	keys_free(&keys);
}
