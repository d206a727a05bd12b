/* Tables of the variables, and the files of the user's endpoints, which are read by who starts programs. */
#include "proc/provider_variables.h"

#include <dirent.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/list.h"
#include "base/text.h"
#include "io/file.h"
#include "json/value.h"
#include "proc/api_keys.h"

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

static void
add_name(char ***names, const json_t *name)
{
	const char *text = json_string_value(name);

	if (text != NULL && *text != '\0' && strchr(text, '=') == NULL)
		list_add(names, text);
}

/* What an endpoint's file says about keys; of one that is wrong nobody asks. */
static void
add_names_of_file(char ***names, const char *path)
{
	struct error ignored;
	static const char *const aws[] = { "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN" };
	json_t *file = value_load(path, ERROR_DEFINITION, &ignored), *header, *env;
	const json_t *sigv4 = json_object_get(json_object_get(file, "key"), "sigv4");
	const char *name;

	for (size_t i = 0; json_is_object(sigv4) && json_object_get(sigv4, "command") == NULL &&
	    i < sizeof aws / sizeof *aws; i++)
		list_add(names, aws[i]);
	env = json_object_get(json_object_get(file, "key"), "env");
	add_name(names, env);
	for (size_t i = 0; i < json_array_size(env); i++)
		add_name(names, json_array_get(env, i));
	json_object_foreach(json_object_get(file, "headers"), name, header)
		add_name(names, json_object_get(header, "env"));
	json_decref(file);
}

static void
add_users_names(void)
{
	char *path = path_config("endpoints"), **names = NULL;
	DIR *directory = path == NULL ? NULL : opendir(path);
	struct dirent *entry;

	while (directory != NULL && (entry = readdir(directory)) != NULL)
		if (text_ends(entry->d_name, ".json")) {
			char *file = path_join(path, entry->d_name);

			add_names_of_file(&names, file);
			free(file);
		}
	if (directory != NULL)
		closedir(directory);
	free(path);
	api_keys_add(names);
	list_free(names);
}

const char *const *
provider_key_names(void)
{
	static bool has_users; /* names of the user's files have been added */

	if (!has_users)
		add_users_names();
	has_users = true;
	return api_keys_known();
}
