/* The file is small: for each key that is needed it is read completely, so an invalid line is
 * always reported. The last line for a key counts. */
#include "io/config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"

#define CONFIG_LIMIT ((size_t)1 << 20)

static const char *const keys[] = { [CONFIG_MODEL] = "model", [CONFIG_VIEW] = "view",
	[CONFIG_SANDBOX] = "sandbox", [CONFIG_PROJECT_SETTINGS] = "project_settings",
	[CONFIG_TRUST] = "trust", [CONFIG_PROJECT_KEYS] = "project_keys",
	[CONFIG_NOTIFY] = "notify", [CONFIG_NOTIFY_ON] = "notify_on", NULL };

/* Removes blanks at both ends; to be freed by the caller. */
static char *
config_trim_text(const char *text, size_t len)
{
	static const char blank[] = " \t\r";

	for (; len > 0 && strchr(blank, text[len - 1]) != NULL; len--)
		;
	for (; len > 0 && strchr(blank, *text) != NULL; text++)
		len--;
	return memory_copy(text, len);
}

/* Parses a line; sets *value if the line is for the key. */
static int
config_read_line(const char *place, const char *line, size_t len, enum config_key key, char **value,
    struct error *err)
{
	const char *equals = memchr(line, '=', len);
	size_t before = equals == NULL ? len : (size_t)(equals - line);
	char *name = config_trim_text(line, before), *hint;
	int result = 0;

	if (*name == '\0' && equals == NULL) {
		;
	} else if (*name == '#') {
		;
	} else if (text_index(name, keys) == -1) {
		char *list = text_list(keys);

		hint = text_hint(name, keys);
		if (equals == NULL)
			result = error_set(err, ERROR_DEFINITION, place,
			    "'%s' is no setting: expected NAME = VALUE (NAME: %s)", name, list);
		else
			result = error_set(err, ERROR_DEFINITION, place, "'%s' is no setting%s%s%s", name, hint,
			    *hint == '\0' ? "; there are " : "", *hint == '\0' ? list : "");
		free(hint);
		free(list);
	} else {
		char *says = equals == NULL ? memory_text("") :
		    config_trim_text(equals + 1, len - before - 1);

		if (*says == '\0')
			result = error_set(err, ERROR_DEFINITION, place, "expected %s = VALUE", name);
		if (result == 0 && strcmp(name, keys[key]) == 0) {
			free(*value);
			*value = says;
			says = NULL;
		}
		free(says);
	}
	free(name);
	return result;
}

int
config_read(enum config_key key, char **value, struct error *err)
{
	char *path = path_config(CONFIG_FILE), *found = NULL;
	struct buffer text = BUFFER_INIT;
	const char *rest, *line;
	int number = 0, result = 0;
	size_t len;

	*value = NULL;
	if (path != NULL && access(path, F_OK) == 0) {
		/* What a project may do is said by this user alone. */
		if (key == CONFIG_TRUST || key == CONFIG_PROJECT_KEYS || key == CONFIG_PROJECT_SETTINGS)
			result = file_check_way(path, err);
		if (result == 0)
			result = file_load_text(path, CONFIG_LIMIT, &text, err);
	}
	for (rest = buffer_string(&text); result == 0 &&
	    (line = text_part(&rest, '\n', &len)) != NULL;) {
		char *place = memory_format("%s:%d", path, ++number);

		result = config_read_line(place, line, len, key, &found, err);
		free(place);
	}
	/* So is a command that is run. */
	if (result == 0 && key == CONFIG_NOTIFY && found != NULL)
		result = file_check_way(path, err);
	if (result == 0)
		*value = found;
	else
		free(found);
	buffer_free(&text);
	free(path);
	return result;
}

int
config_word(enum config_key key, const char *const *words, int *word, char **place,
    struct error *err)
{
	char *file = path_config(CONFIG_FILE), *said, *list = text_list(words);
	int result = config_read(key, &said, err), at = said != NULL ? text_index(said, words) : *word;

	if (result == 0 && said != NULL && at == -1)
		result = error_set(err, ERROR_DEFINITION, file, "%s: '%s' is none of %s", keys[key], said, list);
	if (result == 0)
		*word = at;
	if (place != NULL) {
		*place = result == 0 && said != NULL ? file : NULL;
		file = *place != NULL ? NULL : file;
	}
	free(list);
	free(file);
	free(said);
	return result;
}
