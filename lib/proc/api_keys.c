/* The file of keys is read each time: only the reporter of an error asks. */
#include "proc/api_keys.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "proc/environment.h"

static const char *const key_names[] = { "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY",
    "OPENAI_API_KEY", NULL };

static const struct provider_variables variables[] = {
	{ "anthropic", "ANTHROPIC_API_KEY", NULL, "ANTHROPIC_BASE_URL" },
	{ "google", "GEMINI_API_KEY", "GOOGLE_API_KEY", "GEMINI_BASE_URL" },
	{ "openai", "OPENAI_API_KEY", NULL, "OPENAI_BASE_URL" },
	{ "openai-responses", "OPENAI_API_KEY", NULL, "OPENAI_BASE_URL" },
};

/* For all providers: the words that end an answer, the file of keys, trusted certificates,
 * proxies; and what their libraries read themselves. */
static const char *const words[] = { "AWF_KNOWN_ENDS", "http_proxy", "https_proxy", "HTTPS_PROXY",
    "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY", "RES_OPTIONS", "LOCALDOMAIN",
    "GLIBC_TUNABLES", "ASAN_OPTIONS", "UBSAN_OPTIONS", NULL };
static const char *const paths[] = { "HOME", "XDG_CONFIG_HOME", "CURL_CA_BUNDLE", "SSL_CERT_FILE",
    "SSL_CERT_DIR", "SSLKEYLOGFILE", "HOSTALIASES", NULL };
static const char *const families_of_paths[] = { "LD_", "OPENSSL_", NULL };

const struct provider_variables *
provider_variables(const char *provider)
{
	for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
		if (strcmp(variables[i].provider, provider) == 0)
			return &variables[i];
	return NULL;
}

static bool
names_one(const char *const *names, const char *variable, size_t len)
{
	for (; *names != NULL; names++)
		if (strlen(*names) == len && memcmp(*names, variable, len) == 0)
			return true;
	return false;
}

bool
provider_reads(const struct provider_variables *v, const char *variable, bool *path)
{
	const char *const own[] = { v->key, v->base, v->key_fallback, NULL };
	size_t len = strcspn(variable, "=");

	*path = names_one(paths, variable, len);
	for (const char *const *begin = families_of_paths; *begin != NULL; begin++)
		*path |= strncmp(variable, *begin, strlen(*begin)) == 0;
	return *path || names_one(own, variable, len) || names_one(words, variable, len);
}

const char *const *
provider_key_names(void)
{
	return key_names;
}

void
api_keys_hide(char *text)
{
	const size_t len = strlen(text);
	struct error unread; /* then no provider has a key from it */
	struct keys keys;

	for (const char *const *name = key_names; *name != NULL; name++)
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
