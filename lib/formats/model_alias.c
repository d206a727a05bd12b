/* The tables are short, and needed only for a model without a provider or in suggestions: they are
 * read from the first line each time. */
#include "formats/model_alias.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "formats/definition.h"
#include "io/config.h"
#include "io/file.h"
#include "io/installation.h"
#include "model/price.h"
#include "providers/provider_find.h"

#define TABLE "models"
#define TABLE_LIMIT ((size_t)1 << 20)

/* The next word of a line, *len bytes long; "" at the end of the line. *at is moved behind it. */
static const char *
next_word(const char **at, const char *end, size_t *len)
{
	static const char blank[] = " \t\r";
	const char *word;

	while (*at < end && strchr(blank, **at) != NULL)
		++*at;
	word = *at;
	while (*at < end && strchr(blank, **at) == NULL)
		++*at;
	*len = (size_t)(*at - word);
	return word;
}

/* Calls found() with each alias of a table and its meaning, until it returns true. */
static int
model_alias_read_table(const char *path, bool (*found)(void *context, const char *alias,
    const char *meant), void *context, struct error *err)
{
	struct buffer text = BUFFER_INIT;
	const char *rest, *line;
	int number = 0, result = 0;
	bool done = false;
	size_t len;

	if (path == NULL || !definition_exists(path))
		return 0;
	if (file_load_text(path, TABLE_LIMIT, &text, err) != 0)
		return -1;
	for (rest = buffer_string(&text); result == 0 && !done &&
	    (line = text_part(&rest, '\n', &len)) != NULL;) {
		const char *end = line + len, *name, *meant;
		size_t name_len, meant_len, more;

		number++;
		name = next_word(&line, end, &name_len);
		if (name_len == 0 || *name == '#')
			continue;
		meant = next_word(&line, end, &meant_len);
		next_word(&line, end, &more);
		if (memchr(meant, '/', meant_len) == NULL || more > 0) {
			char *place = memory_format("%s:%d", path, number);

			result = error_set(err, ERROR_DEFINITION, place, "expected ALIAS PROVIDER/MODEL");
			free(place);
		} else {
			char *alias = memory_copy(name, name_len), *model = memory_copy(meant, meant_len);

			done = found(context, alias, model);
			free(alias);
			free(model);
		}
	}
	buffer_free(&text);
	return result;
}

/* Reads the user's table, then the installed one. */
static int
model_alias_read_tables(bool (*found)(void *context, const char *alias, const char *meant),
    void *context, struct error *err)
{
	char *user = path_config(TABLE), *ours = path_join(installation_share(), TABLE);
	int result = model_alias_read_table(user, found, context, err);

	if (result == 0)
		result = model_alias_read_table(ours, found, context, err);
	free(user);
	free(ours);
	return result;
}

struct search {
	const char *alias;
	char *model;             /* NULL: not found yet */
};

static bool
model_alias_match(void *context, const char *alias, const char *meant)
{
	struct search *s = context;

	if (s->model == NULL && strcmp(alias, s->alias) == 0)
		s->model = memory_text(meant);
	return s->model != NULL;
}

int
model_alias_find(const char *alias, char **model, struct error *err)
{
	struct search s = { alias, NULL };
	int result = model_alias_read_tables(model_alias_match, &s, err);

	*model = s.model;
	return result;
}

static bool
model_alias_add_name(void *context, const char *alias, const char *meant)
{
	char ***names = context;

	(void)meant;
	list_add(names, alias);
	return false;
}

/* The provider whose models have names that begin so; NULL: unknown. */
static const char *
model_alias_maker_of(const char *model)
{
	static const struct {
		const char *begin, *provider;
	} makers[] = {
		{ "claude-", "anthropic" }, { "gemini-", "google" }, { "gpt-", "openai" },
		{ "o3", "openai" }, { "o4", "openai" }, { "chatgpt-", "openai" },
	};

	for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
		if (strncmp(model, makers[i].begin, strlen(makers[i].begin)) == 0)
			return makers[i].provider;
	return NULL;
}

char *
model_meant(const char *model)
{
	char **aliases = memory_zero(1, sizeof *aliases), *meant = NULL;
	const char *provider = model_alias_maker_of(model), *near;
	struct error ignored;

	model_alias_read_tables(model_alias_add_name, &aliases, &ignored);
	near = text_suggest(model, (const char *const *)(uintptr_t)aliases);
	/* If only a provider is given: an agent CLI has a default model, other providers need a
	 * name. */
	if (text_index(model, provider_names()) != -1)
		meant = memory_format("%s/%s", model, provider_is_cli(model) ? "default" : "MODEL");
	else if (provider != NULL)
		meant = memory_format("%s/%s", provider, model);
	else if (near != NULL)
		meant = memory_text(near);
	list_free(aliases);
	return meant;
}

char **
model_names(void)
{
	char **names = memory_zero(1, sizeof *names);
	struct prices prices = PRICES_INIT;
	struct error ignored;

	model_alias_read_tables(model_alias_add_name, &names, &ignored);
	if (prices_load(&prices, &ignored) == 0)
		for (size_t i = 0; i < prices.count; i++) {
			/* Replace "*" in place of the provider, and remove it at the end, where it
			 * stands for any version. */
			char *name = memory_text(prices.list[i].pattern), *model = strchr(name, '/') + 1;
			size_t len = strlen(name);
			const char *provider;

			if (text_ends(name, "*"))
				name[len - 1] = '\0';
			provider = strncmp(name, "*/", 2) == 0 ? model_alias_maker_of(model) : NULL;
			if (strpbrk(model, "*?[") == NULL && provider != NULL)
				list_take(&names, memory_format("%s/%s", provider, model));
			else if (strpbrk(name, "*?[") == NULL)
				list_add(&names, name);
			free(name);
		}
	prices_free(&prices);
	return names;
}

int
model_default(char **model, const char **place, struct error *err)
{
	const char *environment = environment_text("AWF_MODEL");

	*place = environment != NULL ? "AWF_MODEL" : "~/.config/awf/" CONFIG_FILE;
	*model = environment == NULL ? NULL : memory_text(environment);
	return environment != NULL ? 0 : config_read(CONFIG_MODEL, model, err);
}
