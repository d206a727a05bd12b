/* proc/environment: environments of children, and the file of keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/file.h"
#include "proc/api_keys.h"
#include "proc/environment.h"
#include "proc/provider_variables.h"

static char directory[] = "/tmp/awf-environment-XXXXXX";
static char file[96];

static void
set_get_unset(void **state)
{
	struct environment e;

	(void)state;
	setenv("AWF_TEST_OLD", "old", 1);
	environment_begin(&e);
	assert_string_equal(environment_get(&e, "AWF_TEST_OLD"), "old");
	assert_null(environment_get(&e, "AWF_TEST"));
	environment_set(&e, "AWF_TEST_OLD", "new=er");
	environment_set(&e, "AWF_TEST", "");
	assert_string_equal(environment_get(&e, "AWF_TEST_OLD"), "new=er");
	assert_string_equal(environment_get(&e, "AWF_TEST"), "");
	assert_null(e.list[e.count]);
	environment_unset(&e, "AWF_TEST_OLD");
	environment_unset(&e, "AWF_TEST_NEVER");
	assert_null(environment_get(&e, "AWF_TEST_OLD"));
	assert_null(e.list[e.count]);
	assert_string_equal(getenv("AWF_TEST_OLD"), "old");
	environment_free(&e);
}

static void
secrets_are_told_from_the_rest(void **state)
{
	static const char *const secret[][2] = {
		{ "GITHUB_TOKEN", "x" }, { "AWS_ACCESS_KEY_ID", "x" }, { "AWS_SECRET_ACCESS_KEY", "x" },
		{ "MISTRAL_API_KEY", "x" }, { "GH_PAT", "x" }, { "npm_token", "x" }, { "PGPASSWORD", "x" },
		{ "DB_PASS", "x" }, { "MYSQL_PWD", "x" }, { "TOKEN_2", "x" }, { "HF_TOKEN2", "x" },
		{ "SSH_AUTH_SOCK", "/run/x" }, { "SECRET_KEY_BASE", "x" }, { "SERVICE.APIKEY", "x" },
		{ "DATABASE_URL", "postgres://u:p@host/db" }, { "https_proxy", "http://:p@proxy:80" },
		{ "LIST", "a://b, redis://u:p@host" }, { "STRIPE_APIKEY", "" }, { "TOKEN", "x" },
		{ "GOOGLE_APPLICATION_CREDENTIALS", "/key.json" }, { "AZURE_STORAGE_KEY", "x" },
		{ "REDISCLI_AUTH", "x" }, { "NPM_CONFIG__AUTH", "x" }, { "TWILIO_AUTH", "x" }, { "DB_PW", "x" },
		{ "DB_PWD", "x" }, { "GCP_CREDS", "x" }, { "ERLANG_COOKIE", "x" }, { "SLACK_WEBHOOK", "x" },
		{ "STRIPE", "sk_live_0123456789abcdef" }, { "OPENAI", "sk-0123456789abcdefghij" },
		{ "X", "ghp_0123456789abcdefghij" }, { "X", "xoxb-0123456789-abcdefghij" },
		{ "X", "AKIA0123456789ABCDEF" }, { "X", "https://hooks.slack.com/services/T/B/x" },
		{ "X", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.x" }, { "X", "-----BEGIN PRIVATE KEY-----" },
		{ "HEADER", "Bearer 0123456789abcdef" }, { "AWF_SERVE_TOKEN", "x" }, { "AWF_MCP_SECRET", "x" },
		{ "AWF_INPUT_DB", "postgres://u:p@host/db" }, { "HTTPS_PROXY", "user:p@proxy:3128" },
		{ "PIP_INDEX_URL", "https://0123@host/simple" }, { "all_proxy", "http://user@proxy" },
		{ "JAVA_TOOL_OPTIONS", "-Xmx1g -Djavax.net.ssl.trustStorePassword=x" },
		{ "MAKEFLAGS", "k -- DB_PW=x" }, { "DSN", "Server=h;Password=x;" }, { "X", "host/?a=b&token=x" },
		{ "JAVA_OPTS", "-Dapi.key=x" }, { "CFLAGS", "-O2 -DAPI_KEY=\"x\"" }, { "OPTIONS", "-v --password x" },
		{ "NVIDIA_NGC", "nvapi-0123456789abcdefghij" },
	};
	static const char *const other[][2] = {
		{ "TOKENIZERS_PARALLELISM", "false" }, { "MAX_TOKENS", "1" }, { "PATH", "/bin" },
		{ "CACHE_KEY", "x" }, { "COMPAT", "x" }, { "PATTERN", "x" }, { "KEYBOARD", "x" },
		{ "PWD", "/" }, { "OLDPWD", "/" }, { "PASSIVE", "1" }, { "BYPASS_CACHE", "1" },
		{ "AWF_INPUT_TOKEN", "x" }, { "URL", "https://host:80/a@b" }, { "GIT", "ssh://git@host" },
		{ "http_proxy", "http://proxy:80" }, { "API_KEYS_FILE", "x" }, { "API", "KEY" }, { "", "x" },
		{ "MONKEY", "x" }, { "APIARY_KEY", "x" }, { "SECRETARY", "x" }, { "AUTH", "none" },
		{ "AUTH_URL", "https://host/a" }, { "NEXTAUTH_URL", "x" }, { "GIT_AUTHOR_NAME", "x" },
		{ "X", "sk-" }, { "LANG", "sk_SK.UTF-8" }, { "X", "eyJ.x" }, { "X", "https://hooks.example.org/" },
		{ "CFLAGS", "-O2 -DMAX=3" }, { "MAKEFLAGS", "k -- CC=clang" }, { "NO_PROXY", "a,b" },
		{ "X", "password=" }, { "X", "postgres://user@host/db" }, { "X", "a@b" }, { "X", "a=b=c" },
		{ "X", "--password" }, { "X", "--passive --author x" }, { "CFLAGS", "-DKEY=1 -DAPI=\"x\"" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof secret / sizeof *secret; i++)
		if (!environment_is_secret(secret[i][0], secret[i][1]))
			fail_msg("%s=%s is a secret", secret[i][0], secret[i][1]);
	for (size_t i = 0; i < sizeof other / sizeof *other; i++)
		if (environment_is_secret(other[i][0], other[i][1]))
			fail_msg("%s=%s is none", other[i][0], other[i][1]);
}

static void
unset_takes_every_entry_of_the_name(void **state)
{
	static char one[] = "KEY=1", other[] = "A=b", two[] = "KEY=2";
	char *twice[] = { one, other, two, NULL };
	extern char **environ;
	char **before = environ;
	struct environment e;

	(void)state;
	environ = twice;
	environment_begin(&e);
	environ = before;
	environment_unset(&e, "KEY");
	assert_int_equal(e.count, 1);
	assert_string_equal(e.list[0], "A=b");
	assert_null(e.list[1]);
	environment_free(&e);
}

static void
an_empty_environment_is_a_list(void **state)
{
	static char *none[] = { NULL };
	extern char **environ;
	char **before = environ;
	struct environment e;

	(void)state;
	environ = none;
	environment_begin(&e);
	environ = before;
	assert_non_null(e.list);
	assert_null(e.list[0]);
	environment_set(&e, "A", "b");
	assert_string_equal(e.list[0], "A=b");
	environment_free(&e);
}

static void
write_keys(const char *text, size_t len, mode_t mode)
{
	FILE *out;

	unlink(file);
	out = fopen(file, "w");
	assert_non_null(out);
	fwrite(text, 1, len, out);
	fclose(out);
	assert_int_equal(chmod(file, mode), 0);
}

static void
keys_are_read(void **state)
{
	static const char text[] =
	    "# comment\n\n  ANTHROPIC_API_KEY=sk-1=2 \nOPENAI_API_KEY=sk-3\r\n_x9=";
	struct error err = ERROR_INIT;
	struct keys k;

	(void)state;
	write_keys("", 0, 0600);
	assert_int_equal(keys_load(&k, &err), 0);
	assert_int_equal(k.count, 0);
	keys_free(&k);
	write_keys(text, sizeof text - 1, 0400);
	assert_int_equal(keys_load(&k, &err), 0);
	assert_int_equal(k.count, 3);
	assert_string_equal(k.names[0], "ANTHROPIC_API_KEY");
	assert_string_equal(k.values[0], "sk-1=2");
	assert_string_equal(k.names[1], "OPENAI_API_KEY");
	assert_string_equal(k.values[1], "sk-3");
	assert_string_equal(k.names[2], "_x9");
	assert_string_equal(k.values[2], "");
	keys_free(&k);
}

static void
a_missing_file_is_an_empty_one(void **state)
{
	struct error err = ERROR_INIT;
	struct keys k;

	(void)state;
	unlink(file);
	assert_int_equal(keys_load(&k, &err), 0);
	assert_int_equal(k.count, 0);
	unsetenv("XDG_CONFIG_HOME");
	setenv("HOME", "", 1);
	assert_int_equal(keys_load(&k, &err), 0);
	assert_int_equal(k.count, 0);
	setenv("XDG_CONFIG_HOME", directory, 1);
}

static void
home_is_the_default_place(void **state)
{
	struct error err = ERROR_INIT;
	struct keys k;
	char path[96];

	(void)state;
	setenv("XDG_CONFIG_HOME", "relative", 1);
	setenv("HOME", directory, 1);
	snprintf(path, sizeof path, "%s/.config/awf", directory);
	assert_int_equal(directory_make(path, 0700, &err), 0);
	write_keys("A=b\n", 4, 0600);
	snprintf(path, sizeof path, "%s/.config/awf/keys", directory);
	assert_int_equal(rename(file, path), 0);
	assert_int_equal(keys_load(&k, &err), 0);
	assert_int_equal(k.count, 1);
	keys_free(&k);
	unlink(path);
	setenv("XDG_CONFIG_HOME", directory, 1);
}

static void
bad_files_are_refused(void **state)
{
	static const struct { const char *text; mode_t mode; enum error_code code;
		const char *place, *message; } rows[] = {
		{ "A=secret", 0640, ERROR_SYSTEM, "/keys", "chmod 600" },
		{ "A=secret", 0604, ERROR_SYSTEM, "/keys", "chmod 600" },
		{ "A=secret\nsecret\n", 0600, ERROR_DEFINITION, "/keys:2", "not NAME=VALUE" },
		{ "=secret\n", 0600, ERROR_DEFINITION, "/keys:1", "not NAME=VALUE" },
		{ "9A=secret\n", 0600, ERROR_DEFINITION, "/keys:1", "not NAME=VALUE" },
		{ "A B=secret\n", 0600, ERROR_DEFINITION, "/keys:1", "not NAME=VALUE" },
	};
	struct error err = ERROR_INIT;
	struct keys k;

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		write_keys(rows[i].text, strlen(rows[i].text), rows[i].mode);
		assert_int_equal(keys_load(&k, &err), -1);
		assert_int_equal(err.code, rows[i].code);
		assert_string_equal(strrchr(err.place, '/'), rows[i].place);
		assert_non_null(strstr(err.message, rows[i].message));
		assert_null(strstr(err.message, "secret"));
		assert_int_equal(k.count, 0);
	}
	write_keys("A=b\0c", 5, 0600);
	assert_int_equal(keys_load(&k, &err), -1);
	assert_string_equal(err.message, "contains a NUL byte");
	unlink(file);
	assert_int_equal(mkfifo(file, 0600), 0);
	assert_int_equal(keys_load(&k, &err), -1);
	assert_string_equal(err.message, "is no regular file");
	unlink(file);
}

static bool
is_known(const char *const *names, const char *name)
{
	for (; *names != NULL; names++)
		if (strcmp(*names, name) == 0)
			return true;
	return false;
}

/* Whoever starts programs has asked for the names in the user's files; messages then hide them too. */
static void
keys_of_endpoints_are_known_to_who_asks(void **state)
{
	static const char endpoint[] = "{\"key\": {\"env\": [\"AWF_TEST_ONE\", \"AWF_TEST_TWO\"]}, "
	    "\"headers\": {\"x-a\": {\"env\": \"AWF_TEST_THREE\"}, \"x-b\": \"AWF_TEST_FOUR\"}}";
	static char added[] = "AWF_TEST_ADDED", *list[] = { added, added, NULL };
	static const char *const all[] = { "AWF_TEST_ONE", "AWF_TEST_TWO", "AWF_TEST_THREE", added,
	    "OPENAI_API_KEY" };
	char text[] = "a three-value and an added-value";
	char path[160];
	FILE *f;

	(void)state;
	unlink(file);
	snprintf(path, sizeof path, "%s/awf/endpoints", directory);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof path, "%s/awf/endpoints/own.json", directory);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(endpoint, f);
	assert_int_equal(fclose(f), 0);

	setenv("AWF_TEST_THREE", "three-value", 1);
	setenv("AWF_TEST_ADDED", "added-value", 1);
	api_keys_add(list);
	assert_true(is_known(api_keys_known(), "OPENAI_API_KEY"));
	assert_false(is_known(api_keys_known(), "AWF_TEST_ONE"));
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		assert_true(is_known(provider_key_names(), all[i]));
	assert_false(is_known(provider_key_names(), "AWF_TEST_FOUR"));
	api_keys_hide(text);
	assert_string_equal(text, "a *********** and an ***********");
}

static int
begin(void **state)
{
	char path[64];

	(void)state;
	if (mkdtemp(directory) == NULL)
		return -1;
	snprintf(path, sizeof path, "%s/awf", directory);
	snprintf(file, sizeof file, "%s/keys", path);
	setenv("XDG_CONFIG_HOME", directory, 1);
	return mkdir(path, 0700);
}

static int
end(void **state)
{
	char path[96];

	(void)state;
	snprintf(path, sizeof path, "rm -rf %s", directory);
	return system(path);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(set_get_unset),
		cmocka_unit_test(secrets_are_told_from_the_rest),
		cmocka_unit_test(unset_takes_every_entry_of_the_name),
		cmocka_unit_test(an_empty_environment_is_a_list),
		cmocka_unit_test(keys_are_read),
		cmocka_unit_test(a_missing_file_is_an_empty_one),
		cmocka_unit_test(home_is_the_default_place),
		cmocka_unit_test(bad_files_are_refused),
		cmocka_unit_test(keys_of_endpoints_are_known_to_who_asks),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
