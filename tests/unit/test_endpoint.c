#include "unit.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"
#include "json/merge.h"
#include "providers/endpoint.h"

static char home[64], files[128];

/* RFC 7396, appendix A; and patches that are put together. */
static void
merges(void **state)
{
	static const struct {
		const char *target, *patch, *result, *both;
	} rows[] = {
		{ "{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}" },
		{ "{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}" },
		{ "{\"a\":\"b\"}", "{\"a\":null}", "{}", "{\"a\":null}" },
		{ "{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}", "{\"a\":null,\"b\":\"c\"}" },
		{ "{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}" },
		{ "{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}" },
		{ "{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}",
		    "{\"a\":{\"b\":\"d\",\"c\":null}}" },
		{ "{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}", "{\"a\":[1]}" },
		{ "[\"a\",\"b\"]", "[\"c\",\"d\"]", "[\"c\",\"d\"]", "[\"c\",\"d\"]" },
		{ "{\"a\":\"b\"}", "[\"c\"]", "[\"c\"]", "[\"c\"]" },
		{ "{\"a\":\"foo\"}", "null", "null", "null" },
		{ "{\"e\":null}", "{\"a\":1}", "{\"e\":null,\"a\":1}", "{\"e\":null,\"a\":1}" },
		{ "[1,2]", "{\"a\":\"b\",\"c\":null}", "{\"a\":\"b\"}", "{\"a\":\"b\",\"c\":null}" },
		{ "{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}", "{\"a\":{\"bb\":{\"ccc\":null}}}" },
		{ "{\"\\u0061\":1}", "{\"a\":2}", "{\"a\":2}", "{\"a\":2}" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct span target = span_of(rows[i].target, strlen(rows[i].target));
		struct span patch = span_of(rows[i].patch, strlen(rows[i].patch));
		struct buffer out = BUFFER_INIT;

		merge_patch(target, patch, &out);
		assert_string_equal(buffer_string(&out), rows[i].result);
		buffer_clear(&out);
		merge_patches(target, patch, &out);
		assert_string_equal(buffer_string(&out), rows[i].both);
		buffer_free(&out);
	}
}

static void
write_file(const char *name, const char *text, mode_t mode)
{
	char path[200];
	FILE *file;

	snprintf(path, sizeof path, "%s/%s.json", files, name);
	unlink(path);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	assert_int_equal(chmod(path, mode), 0);
}

static void
assert_member(const struct endpoint *e, const char *model, const char *key, const char *expected)
{
	struct span value = endpoint_member(e, model, key);
	struct buffer text = BUFFER_INIT;

	buffer_append(&text, value.at == NULL ? "" : value.at, value.len);
	assert_string_equal(buffer_string(&text), expected);
	buffer_free(&text);
}

/* The user's file changes what comes with AWF, and defines others. */
static void
reads_files(void **state)
{
	struct error err = ERROR_INIT;
	struct endpoint *e;
	char **names;

	(void)state;
	write_file("openai", "{\"base_url\": \"http://127.0.0.1:1/v1\", \"base_env\": null,"
	    "\"key\": {\"file\": \"/k\"}, \"body\": {\"stream_options\": null}}", 0600);
	assert_int_equal(endpoint_load(&e, "openai", &err), 1);
	assert_true(endpoint_is_users(e));
	assert_string_equal(endpoint_name(e), "openai");
	assert_member(e, NULL, "base_url", "\"http://127.0.0.1:1/v1\"");
	assert_member(e, NULL, "base_env", "");
	assert_member(e, NULL, "key", "{\"header\":\"authorization: Bearer \",\"file\":\"/k\"}");
	assert_member(e, NULL, "body", "{\"stream_options\":null}");
	assert_string_equal(endpoint_provider(e, "m"), "openai");
	endpoint_free(e);

	write_file("mine", "{\"protocol\": \"chat\", \"base_url\": \"https://{a}.example\","
	    "\"variables\": {\"a\": {\"env\": \"MY_PLACE\"}}, \"schema\": \"alone\","
	    "\"key\": {\"env\": [\"ONE_KEY\", \"OTHER_KEY\"]},"
	    "\"headers\": {\"X-A\": {\"env\": \"A_KEY\"}, \"X-B\": \"b\", \"anthropic-version\": null},"
	    "\"models\": [{\"match\": [\"a*\", \"b\"], \"schema\": \"none\"},"
	    "{\"match\": \"ab\", \"protocol\": \"messages\", \"schema\": null}]}", 0644);
	assert_int_equal(endpoint_load(&e, "mine", &err), 1);
	assert_member(e, NULL, "schema", "\"alone\"");
	assert_member(e, "c", "schema", "\"alone\"");
	assert_member(e, "b", "schema", "\"none\"");
	assert_member(e, "ax/y", "schema", "\"none\"");
	assert_member(e, "ab", "schema", "");
	assert_string_equal(endpoint_protocol(e, "b"), "chat");
	assert_string_equal(endpoint_provider(e, "ab"), "anthropic");
	names = endpoint_variables(e);
	assert_int_equal(list_count(names), 4);
	assert_true(list_has(names, "ONE_KEY") && list_has(names, "MY_PLACE"));
	list_free(names);
	names = endpoint_secrets(e);
	assert_int_equal(list_count(names), 3);
	assert_false(list_has(names, "MY_PLACE"));
	list_free(names);
	endpoint_free(e);

	names = endpoint_list();
	assert_true(list_has(names, "mine") && list_has(names, "google"));
	list_free(names);
	assert_true(endpoint_exists("mine") && endpoint_exists("anthropic"));
	assert_false(endpoint_exists("../endpoints/mine") || endpoint_exists("nobody"));
	assert_int_equal(endpoint_load(&e, "nobody", &err), 0);
	assert_null(e);
}

#define GOOD "\"protocol\": \"chat\", \"base_url\": \"https://x\""

static void
refuses_files(void **state)
{
	static const struct {
		const char *text, *says;
		mode_t mode;
	} rows[] = {
		{ "{", "line", 0600 },
		{ "[]", "expected an object", 0600 },
		{ "{\"base_url\": \"https://x\"}", "protocol is missing", 0600 },
		{ "{\"protocol\": \"chat\"}", "base_url is missing", 0600 },
		{ "{\"protocol\": \"caht\"}", "expected one of chat, responses", 0600 },
		{ "{" GOOD ", \"base_ulr\": 1}", "unknown key 'base_ulr' (did you mean 'base_url'?)", 0600 },
		{ "{" GOOD ", \"key\": {\"evn\": \"A\"}}", "unknown key 'key.evn' (did you mean 'env'?)", 0600 },
		{ "{" GOOD ", \"key\": {\"env\": \"A B\"}}", "key.env: expected the name of", 0600 },
		{ "{" GOOD ", \"key\": {\"env\": \"A\", \"file\": \"/x\"}}", "one of env, file", 0600 },
		{ "{" GOOD ", \"key\": {\"command\": \"x\"}}", "key.command: expected a command", 0600 },
		{ "{" GOOD ", \"key\": {\"header\": \"x-key\"}}", "key.header: expected what stands before", 0600 },
		{ "{" GOOD ", \"headers\": {\"a b\": \"c\"}}", "no header's name", 0600 },
		{ "{" GOOD ", \"headers\": {\"a\": \"c\\r\\nd: e\"}}", "headers.a: expected", 0600 },
		{ "{" GOOD ", \"headers\": {\"Content-Length\": \"1\"}}", "set by AWF itself", 0600 },
		{ "{" GOOD ", \"body\": {\"messages\": []}}", "messages is written by AWF itself", 0600 },
		{ "{" GOOD ", \"models\": [{\"match\": \"*\", \"body\": {\"tools\": null}}]}",
		    "models[0].body: tools is written", 0600 },
		{ "{" GOOD ", \"models\": [{\"body\": {}}]}", "models[0]: expected match", 0600 },
		{ "{" GOOD ", \"models\": [{\"match\": \"*\", \"key\": {}}]}", "unknown key 'models[0].key'", 0600 },
		{ "{" GOOD ", \"thinking\": {\"hihg\": {}}}", "says nothing about thinking (did you mean 'high'?)", 0600 },
		{ "{" GOOD ", \"thinking\": {\"max\": {\"as\": \"most\"}}}", "expected {\"as\": LEVEL}", 0600 },
		{ "{" GOOD ", \"prices\": {\"*\": [1]}}", "prices.*: expected", 0600 },
		{ "{" GOOD ", \"tls\": {\"cert\": \"a.pem\"}}", "tls.cert: expected an absolute path", 0600 },
		{ "{" GOOD ", \"timeouts\": {\"idle\": 0}}", "timeouts.idle: expected a number of seconds", 0600 },
		{ "{" GOOD ", \"errors\": [{\"is\": \"auth\"}]}", "errors[0]: expected status", 0600 },
		{ "{" GOOD ", \"ids\": {\"match\": \"[\"}}", "ids.match: expected an extended regular", 0600 },
		{ "{" GOOD ", \"models\": [{\"match\": \"*\", \"ids\": {\"match\": \"(\"}}]}", "models[0].ids.match: expected", 0600 },
		{ "{" GOOD ", \"key\": {\"env\": []}}", "key.env: expected the name of", 0600 },
		{ "{" GOOD ", \"key\": {\"command\": [\"\"]}}", "key.command: expected first the name of", 0600 },
		{ "{" GOOD ", \"key\": {\"command\": [\"./x\"]}}", "key.command: expected first the name of", 0600 },
		{ "{" GOOD ", \"key\": {\"sigv4\": {}}}", "key.sigv4: expected a region and a service", 0600 },
		{ "{" GOOD ", \"key\": {\"sigv4\": {\"region\": \"r\"}}}", "key.sigv4: expected a region and", 0600 },
		{ "{" GOOD ", \"key\": {\"command\": [\"x\"], \"timeout\": 0.5}}", "key.timeout: expected a whole", 0600 },
		{ "{" GOOD ", \"key\": {\"header\": \"Host: \"}}", "key.header: Host is set by AWF", 0600 },
		{ "{" GOOD ", \"key\": {\"header\": \"content-length: \"}}", "content-length is set by AWF", 0600 },
		{ "{" GOOD ", \"key\": {\"header\": \"Content-Type: \"}}", "Content-Type is set by AWF", 0600 },
		{ "{" GOOD ", \"key\": {\"header\": \"a b: \"}}", "key.header: expected what stands before", 0600 },
		{ "{" GOOD ", \"thinking\": {\"low\": {\"as\": \"high\"}, \"high\": {\"as\": \"low\"}}}",
		    "lead around", 0600 },
		{ "{" GOOD ", \"thinking\": {\"low\": {\"as\": \"low\"}}}", "thinking.low: the words after", 0600 },
		{ "{" GOOD ", \"echo\": \"\"}", "echo: expected true, false", 0600 },
		{ "{" GOOD ", \"echo\": {\"requried\": \"\"}}", "did you mean 'required'", 0600 },
		{ "{" GOOD ", \"prices\": {\"*\": [1e300, 2]}}", "prices.*: expected", 0600 },
		{ "{\"protocol\": \"chat\", \"base_url\": \"http://\"}", "base_url: expected a URL with a host", 0600 },
		{ "{\"protocol\": \"chat\", \"base_url\": \"http:///v1\"}", "base_url: expected a URL with a host", 0600 },
		{ "{\"protocol\": \"chat\", \"base_url\": \"http://:80/v1\"}", "base_url: expected a URL with a host", 0600 },
		{ "{\"protocol\": \"chat\", \"base_url\": \"http://u:p@/v1\"}", "base_url: expected a URL with a host", 0600 },
		{ "{\"protocol\": \"chat\", \"base_url\": \"http://[::1/v1\"}", "base_url: expected a URL with a host", 0600 },
		{ "{\"protocol\": \"chat\", \"base_url\": \"http://[::1]:99999\"}", "at most 65535", 0600 },
		{ "{\"protocol\": \"chat\", \"base_url\": \"http://a:99999/v1\"}", "at most 65535", 0600 },
		{ "{\"protocol\": \"chat\", \"base_url\": \"http://a:b?c\"}", "at most 65535", 0600 },
		{ "{\"protocol\": \"chat\", \"base_url\": \"x.example/v1\"}", "begins with http://", 0600 },
		{ "{\"protocol\": \"chat\", \"base_url\": \"https://{a}\"}", "there is no 'a' in variables", 0600 },
		{ "{" GOOD "}", "chmod go-w", 0620 },
		{ "{" GOOD "}", "chmod go-w", 0602 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct error err = ERROR_INIT;
		struct endpoint *e;

		write_file("wrong", rows[i].text, rows[i].mode);
		assert_int_equal(endpoint_load(&e, "wrong", &err), -1);
		assert_null(e);
		if (strstr(err.message, rows[i].says) == NULL && strstr(rows[i].says, "line") == NULL)
			fail_msg("%s: %s", rows[i].text, err.message);
		assert_non_null(strstr(err.place, "wrong.json"));
	}
	write_file("wrong", "{" GOOD "}", 0600);
	assert_int_equal(chmod(files, 0770), 0);
	{
		struct error err = ERROR_INIT;
		struct endpoint *e;

		assert_int_equal(endpoint_load(&e, "wrong", &err), -1);
		assert_non_null(strstr(err.message, "others may write"));
	}
	assert_int_equal(chmod(files, 0700), 0);
}

/* What of an endpoint belongs to the definition of a step. */
static void
is_defined(void **state)
{
	static const struct {
		const char *name, *text, *model, *definition;
	} rows[] = {
		{ "openai", "{}", "m", "" },
		{ "openai", "{\"base_url\": \"https://x\", \"key\": {\"file\": \"/k\"}, \"timeouts\": {\"idle\": 1}}", "m", "" },
		{ "openai", "{\"body\": {\"a\": null}}", "m", "{\"protocol\":\"chat\",\"body\":{\"a\":null}}" },
		{ "anthropic", "{\"models\": [{\"match\": \"x\", \"body\": {}}]}", "m", "" },
		{ "mine", "{\"protocol\": \"messages\", \"base_url\": \"https://x\", \"headers\": {\"a\": \"b\"},"
		    "\"prices\": {\"*\": [1, 2]}}", "m", "{\"protocol\":\"messages\"}" },
		{ "mine", "{\"protocol\": \"chat\", \"base_url\": \"https://x\", \"body\": {\"a\": 1}, \"schema\": \"none\","
		    "\"models\": [{\"match\": \"m\", \"body\": {\"b\": 1}}, {\"match\": \"n\", \"body\": {}}]}", "m",
		    "{\"protocol\":\"chat\",\"schema\":\"none\",\"body\":{\"a\":1},\"body\":{\"b\":1}}" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct buffer out = BUFFER_INIT;
		struct error err = ERROR_INIT;
		struct endpoint *e;

		write_file(rows[i].name, rows[i].text, 0600);
		if (endpoint_load(&e, rows[i].name, &err) != 1)
			fail_msg("%s: %s", rows[i].text, err.message);
		endpoint_definition(e, rows[i].model, &out);
		assert_string_equal(buffer_string(&out), rows[i].definition);
		buffer_free(&out);
		endpoint_free(e);
	}
}

/* What a provider's program has. */
static void
is_given(void **state)
{
	struct error err = ERROR_INIT;
	struct endpoint *e;

	(void)state;
	unsetenv(ENDPOINT_VARIABLE);
	assert_int_equal(endpoint_given(&e, "openai", "{}", &err), 0);
	assert_member(e, NULL, "base_url", "\"https://api.openai.com/v1\"");
	endpoint_free(e);
	assert_int_equal(endpoint_given(&e, "nobody", "{\"base_url\":\"x\"}", &err), 0);
	assert_string_equal(endpoint_name(e), "nobody");
	assert_member(e, NULL, "base_url", "\"x\"");
	endpoint_free(e);
	setenv(ENDPOINT_VARIABLE, "{\"name\":\"mine\",\"base_url\":\"y\"}", 1);
	assert_int_equal(endpoint_given(&e, "openai", "{}", &err), 0);
	assert_string_equal(endpoint_name(e), "mine");
	assert_member(e, NULL, "base_url", "\"y\"");
	endpoint_free(e);
	setenv(ENDPOINT_VARIABLE, "{\"name\":", 1);
	assert_int_equal(endpoint_given(&e, "openai", "{}", &err), -1);
	assert_string_equal(err.place, ENDPOINT_VARIABLE);
	unsetenv(ENDPOINT_VARIABLE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merges),
		cmocka_unit_test(reads_files),
		cmocka_unit_test(refuses_files),
		cmocka_unit_test(is_defined),
		cmocka_unit_test(is_given),
	};
	assert_int_equal(unit_make_directory(home, "endpoint"), 0);
	snprintf(files, sizeof files, "%s/awf", home);
	mkdir(files, 0700);
	snprintf(files, sizeof files, "%s/awf/endpoints", home);
	mkdir(files, 0700);
	setenv("XDG_CONFIG_HOME", home, 1);
	return cmocka_run_group_tests_name("providers/endpoint", tests, NULL, NULL);
}
