/* share/endpoints: each file is right, and says what an endpoint needs. */
#include "unit.h"

#include <glob.h>
#include <jansson.h>
#include <regex.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "providers/endpoint_check.h"

/* One word for thinking leads to another, but not around; to one that stands for nothing here, that is
 * for the program. */
static void
check_thinking(const char *path, const json_t *map)
{
	const char *word;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)map, word, value) {
		const char *as = json_string_value(json_object_get(value, "as"));

		for (int steps = 0; as != NULL; steps++) {
			const json_t *next = json_object_get(map, as);

			if (steps > 3)
				fail_msg("%s: thinking: %s leads around", path, word);
			if (next == NULL)
				next = json_object_get(map, "*");
			if (json_is_null(next))
				fail_msg("%s: thinking: %s leads to %s, which is none", path, word, as);
			as = json_string_value(json_object_get(next, "as"));
		}
	}
}

static void
check_of_model(const char *path, const json_t *object)
{
	const char *match = json_string_value(json_object_get(json_object_get(object, "ids"), "match"));
	regex_t regex;

	check_thinking(path, json_object_get(object, "thinking"));
	if (match == NULL)
		return;
	if (regcomp(&regex, match, REG_EXTENDED | REG_NOSUB) != 0)
		fail_msg("%s: ids", path);
	regfree(&regex);
}

static void
check_shipped(const char *path)
{
	json_error_t why;
	json_t *file = json_load_file(path, JSON_REJECT_DUPLICATES, &why), *key, *url, *model;
	struct error err = ERROR_INIT;
	size_t at;

	if (file == NULL)
		fail_msg("%s:%d: %s", path, why.line, why.text);
	if (endpoint_check_file(file, path, &err) != 0)
		fail_msg("%s: %s", err.place, err.message);
	key = json_object_get(file, "key");
	url = json_object_get(file, "base_url");
	if (!json_is_string(json_object_get(file, "protocol")) || url == NULL || key == NULL)
		fail_msg("%s: protocol, base_url or key is missing", path);
	/* Servers on this machine alone are asked without TLS, and cost nothing. */
	if (strncmp(json_string_value(url), "https://", 8) != 0 &&
	    strncmp(json_string_value(url), "http://127.0.0.1:", 17) != 0)
		fail_msg("%s: base_url", path);
	if (json_object_get(key, "env") == NULL && json_object_get(key, "command") == NULL &&
	    !json_is_true(json_object_get(key, "optional")))
		fail_msg("%s: no key", path);
	if (json_object_get(file, "insecure") != NULL || json_object_get(file, "tls") != NULL)
		fail_msg("%s: what only a user can say", path);
	check_of_model(path, file);
	json_array_foreach(json_object_get(file, "models"), at, model)
		check_of_model(path, model);
	json_decref(file);
}

static void
files_that_come_with_awf(void **state)
{
	glob_t files;

	(void)state;
	assert_int_equal(glob("share/endpoints/*.json", 0, NULL, &files), 0);
	assert_true(files.gl_pathc >= 40);
	for (size_t i = 0; i < files.gl_pathc; i++)
		check_shipped(files.gl_pathv[i]);
	globfree(&files);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_that_come_with_awf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
