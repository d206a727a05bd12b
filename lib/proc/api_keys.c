/* The files of keys and of the user's endpoints are read only where they are needed: by the reporter
 * of an error, and by who starts programs. */
#include "proc/api_keys.h"

#include <dirent.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/list.h"
#include "base/text.h"
#include "io/file.h"
#include "json/value.h"
#include "proc/environment.h"

/* Those of the endpoints that come with AWF (share/endpoints) which are for nothing but models. What
 * is for other things too, such as GITHUB_TOKEN, is kept from programs only where it is used. */
static const char *const shipped[] = { "ANTHROPIC_API_KEY", "AWS_BEARER_TOKEN_BEDROCK",
    "AZURE_OPENAI_API_KEY", "CEREBRAS_API_KEY", "CLOUDFLARE_AI_GATEWAY_TOKEN", "COHERE_API_KEY",
    "CO_API_KEY", "DASHSCOPE_API_KEY",
    "DEEPSEEK_API_KEY", "FIREWORKS_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "GROQ_API_KEY",
    "HELICONE_API_KEY", "KIMI_API_KEY", "LITELLM_API_KEY", "LLAMA_API_KEY", "LM_API_TOKEN",
    "MINIMAX_API_KEY", "MISTRAL_API_KEY", "MOONSHOT_API_KEY", "NVIDIA_API_KEY", "OLLAMA_API_KEY",
    "OPENAI_API_KEY", "OPENROUTER_API_KEY", "PERPLEXITY_API_KEY", "PORTKEY_API_KEY",
    "SAMBANOVA_API_KEY", "TOGETHER_API_KEY", "VLLM_API_KEY", "XAI_API_KEY", "ZAI_API_KEY", NULL };

/* For all providers: the words that end an answer, the file of keys, trusted certificates,
 * proxies; and what their libraries read themselves. */
static const char *const words[] = { "AWF_KNOWN_ENDS", "http_proxy", "https_proxy", "HTTPS_PROXY",
    "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY", "RES_OPTIONS", "LOCALDOMAIN",
    "GLIBC_TUNABLES", "ASAN_OPTIONS", "UBSAN_OPTIONS", NULL };
static const char *const paths[] = { "HOME", "XDG_CONFIG_HOME", "CURL_CA_BUNDLE", "SSL_CERT_FILE",
    "SSL_CERT_DIR", "SSLKEYLOGFILE", "HOSTALIASES", NULL };
static const char *const families_of_paths[] = { "LD_", "OPENSSL_", NULL };
/* For those that run a command for their key: what it is found by, and what the programs of clouds
 * read. */
static const char *const of_commands[] = { "PATH", "LANG", "USER", "LOGNAME", "TMPDIR", NULL };
static const char *const families_of_commands[] = { "XDG_", "LC_", "AWS_", "AZURE_", "CLOUDSDK_",
    "DATABRICKS_", "GOOGLE_", NULL };

static bool
names_one(const char *const *names, const char *variable, size_t len)
{
	for (; *names != NULL; names++)
		if (strlen(*names) == len && memcmp(*names, variable, len) == 0)
			return true;
	return false;
}

bool
provider_reads(char *const *own, bool commands, const char *variable, bool *path)
{
	size_t len = strcspn(variable, "=");
	bool reads = names_one(words, variable, len);

	*path = names_one(paths, variable, len);
	for (const char *const *begin = families_of_paths; *begin != NULL; begin++)
		*path |= strncmp(variable, *begin, strlen(*begin)) == 0;
	if (commands && !*path) {
		reads = reads || names_one(of_commands, variable, len);
		for (const char *const *begin = families_of_commands; *begin != NULL; begin++)
			reads = reads || strncmp(variable, *begin, strlen(*begin)) == 0;
	}
	return *path || reads ||
	    (own != NULL && names_one((const char *const *)(uintptr_t)own, variable, len));
}

bool
key_command_reads(const char *variable)
{
	static const char *const others[] = { "HOME", "http_proxy", "https_proxy", "HTTPS_PROXY",
	    "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY", "CURL_CA_BUNDLE", "SSL_CERT_FILE",
	    "SSL_CERT_DIR", NULL };
	size_t len = strcspn(variable, "=");
	bool reads = names_one(of_commands, variable, len) || names_one(others, variable, len);

	for (const char *const *begin = families_of_commands; *begin != NULL; begin++)
		reads = reads || strncmp(variable, *begin, strlen(*begin)) == 0;
	return reads;
}

/* ---- names of keys ---- */

/* All that are known, and whether the user's files have been read for them. */
static char **known;
static bool has_users;

static void
add_name(const json_t *name)
{
	const char *text = json_string_value(name);

	if (text != NULL && *text != '\0' && strchr(text, '=') == NULL && !list_has(known, text))
		list_add(&known, text);
}

/* What an endpoint's file says about keys; of one that is wrong nobody asks. */
static void
add_names_of_file(const char *path)
{
	struct error ignored;
	json_t *file = value_load(path, ERROR_DEFINITION, &ignored), *header, *env;
	const char *name;

	env = json_object_get(json_object_get(file, "key"), "env");
	add_name(env);
	for (size_t i = 0; i < json_array_size(env); i++)
		add_name(json_array_get(env, i));
	json_object_foreach(json_object_get(file, "headers"), name, header)
		add_name(json_object_get(header, "env"));
	json_decref(file);
}

static void
add_users_names(void)
{
	char *path = path_config("endpoints");
	DIR *directory = path == NULL ? NULL : opendir(path);
	struct dirent *entry;

	while (directory != NULL && (entry = readdir(directory)) != NULL)
		if (text_ends(entry->d_name, ".json")) {
			char *file = path_join(path, entry->d_name);

			add_names_of_file(file);
			free(file);
		}
	if (directory != NULL)
		closedir(directory);
	free(path);
	has_users = true;
}

void
provider_key_names_add(char *const *names)
{
	for (; names != NULL && *names != NULL; names++)
		if (!list_has((char *const *)(uintptr_t)shipped, *names) && !list_has(known, *names))
			list_add(&known, *names);
}

const char *const *
provider_key_names(void)
{
	if (!has_users) {
		for (const char *const *name = shipped; *name != NULL; name++)
			list_add(&known, *name);
		add_users_names();
	}
	return (const char *const *)(uintptr_t)known;
}

void
api_keys_hide(char *text)
{
	const size_t len = strlen(text);
	struct error unread; /* then no provider has a key from it */
	struct keys keys;

	for (const char *const *name = provider_key_names(); *name != NULL; name++)
		text_hide(text, len, keys_value(NULL, *name));
	if (keys_load(&keys, &unread) != 0)
		return;
	for (size_t i = 0; i < keys.count; i++) {
		const char *last = strrchr(keys.values[i], ' ');

		text_hide(text, len, keys.values[i]);
		text_hide(text, len, last != NULL ? last + 1 : NULL); /* the token of "SERVER TOKEN" */
		text_hide(text, len, keys_value(NULL, keys.names[i])); /* which is the one that counts */
	}
	keys_free(&keys);
}
