/* The file of keys is read anew each time: only who tells of an error asks. */
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

/* Of all of them: what words end an answer, where the file of keys is, whom to trust, by which
 * proxy to go; what their libraries read for themselves. */
static const char *const common[] = { "AWF_KNOWN_ENDS", "HOME", "XDG_CONFIG_HOME",
    "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR", "http_proxy", "https_proxy", "HTTPS_PROXY",
    "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY", "RES_OPTIONS", "LOCALDOMAIN", "HOSTALIASES",
    "SSLKEYLOGFILE", "ASAN_OPTIONS", "UBSAN_OPTIONS", NULL };
static const char *const families[] = { "LD_", "OPENSSL_", "GLIBC_", NULL };

const struct provider_variables *
provider_variables(const char *provider)
{
	for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
		if (strcmp(variables[i].provider, provider) == 0)
			return &variables[i];
	return NULL;
}

bool
provider_reads(const struct provider_variables *v, const char *variable)
{
	const char *const own[] = { v->key, v->base, v->key_fallback, NULL };
	const char *const *const exact[] = { own, common };
	size_t len = strcspn(variable, "=");

	for (size_t i = 0; i < sizeof exact / sizeof exact[0]; i++)
		for (const char *const *name = exact[i]; *name != NULL; name++)
			if (strlen(*name) == len && memcmp(*name, variable, len) == 0)
				return true;
	for (const char *const *begin = families; *begin != NULL; begin++)
		if (strncmp(variable, *begin, strlen(*begin)) == 0)
			return true;
	return false;
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
	struct error unread; /* then nobody has a key of it */
	struct keys keys;

	for (const char *const *name = key_names; *name != NULL; name++)
		text_hide(text, len, keys_value(NULL, *name));
	if (keys_load(&keys, &unread) != 0)
		return;
	for (size_t i = 0; i < keys.count; i++) {
		text_hide(text, len, keys.values[i]);
		text_hide(text, len, keys_value(NULL, keys.names[i])); /* which is the one that counts */
	}
	keys_free(&keys);
}
