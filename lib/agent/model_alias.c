/* Tables are short and looked into when nobody names a model: they are read from their first
 * line each time. */
#include "agent/model_alias.h"

#include <stdlib.h>
#include <string.h>

#include "agent/definition.h"
#include "base/buffer.h"
#include "base/config.h"
#include "base/file.h"
#include "base/installation.h"
#include "base/memory.h"
#include "base/text.h"

#define TABLE "models"
#define TABLE_LIMIT ((size_t)1 << 20)

/* The next word of a line, which it goes past; "" at its end. Its length in *len. */
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

static int
look_in(const char *path, const char *alias, char **model, struct error *err)
{
	struct buffer text = BUFFER_INIT;
	const char *rest, *line;
	int number = 0, result = 0;
	size_t len;

	if (path == NULL || !definition_exists(path))
		return 0;
	if (file_load(path, TABLE_LIMIT, &text, err) != 0)
		return -1;
	for (rest = buffer_string(&text); result == 0 && *model == NULL &&
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
		} else if (strlen(alias) == name_len && memcmp(alias, name, name_len) == 0) {
			*model = memory_copy(meant, meant_len);
		}
	}
	buffer_free(&text);
	return result;
}

int
model_alias_find(const char *alias, char **model, struct error *err)
{
	char *user = path_config(TABLE), *ours = path_join(installation_share(), TABLE);
	int result;

	*model = NULL;
	result = look_in(user, alias, model, err);
	if (result == 0 && *model == NULL)
		result = look_in(ours, alias, model, err);
	free(user);
	free(ours);
	return result;
}

int
model_default(char **model, const char **place, struct error *err)
{
	const char *environment = environment_text("AWF_MODEL");

	*place = environment != NULL ? "AWF_MODEL" : "~/.config/awf/" CONFIG_FILE;
	*model = environment == NULL ? NULL : memory_text(environment);
	return environment != NULL ? 0 : config_read(CONFIG_MODEL, model, err);
}
