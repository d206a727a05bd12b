/*
 * Environments are lists like environ. A value is taken for a secret because of the words in its
 * name, without trailing digits; because of its beginning; because of credentials in a URL; or
 * because of parameters in a URL.
 */
#include "proc/environment.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/invariant.h"
#include "base/memory.h"

extern char **environ;

bool
environment_name_valid(const char *text, size_t len)
{
	static const char letters[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

	return len > 0 && strspn(text, letters) >= len && !(*text >= '0' && *text <= '9');
}

bool
environment_pattern_valid(const char *text)
{
	size_t len = strlen(text);

	return environment_name_valid(text, len > 0 && text[len - 1] == '*' ? len - 1 : len);
}

bool
environment_pattern_matches(const char *pattern, const char *name, size_t len)
{
	size_t fixed = strlen(pattern);

	if (fixed > 0 && pattern[fixed - 1] == '*')
		return len >= fixed - 1 && memcmp(pattern, name, fixed - 1) == 0;
	return fixed == len && memcmp(pattern, name, len) == 0;
}

/* The list ends with NULL, and each entry before is NAME=VALUE, or was inherited as it is. */
static bool
environment_holds(const struct environment *e)
{
	return e->list != NULL && e->list[e->count] == NULL &&
	    (e->count == 0 || (e->count < e->capacity && e->list[e->count - 1] != NULL));
}

/* Appends an allocated entry. */
static void
environment_add(struct environment *e, char *entry)
{
	if (e->count + 2 > e->capacity) {
		e->capacity = e->capacity * 2 + 64;
		e->list = memory_array(e->list, e->capacity, sizeof *e->list);
	}
	e->list[e->count++] = entry;
	e->list[e->count] = NULL;
	INVARIANT(environment_holds(e));
}

void
environment_begin(struct environment *e)
{
	*e = (struct environment){ NULL, 0, 0 };
	for (char **entry = environ; entry != NULL && *entry != NULL; entry++)
		environment_add(e, memory_text(*entry));
	if (e->list == NULL)
		e->list = memory_zero(1, sizeof *e->list);
}

void
environment_copy(struct environment *e, const struct environment *from)
{
	*e = (struct environment){ memory_zero(1, sizeof *e->list), 0, 0 };
	for (size_t i = 0; i < from->count; i++)
		environment_add(e, memory_text(from->list[i]));
}

/* Index of the entry called name; e->count if there is none. */
static size_t
environment_index(const struct environment *e, const char *name)
{
	size_t len = strlen(name), i;

	for (i = 0; i < e->count; i++)
		if (strncmp(e->list[i], name, len) == 0 && e->list[i][len] == '=')
			break;
	return i;
}

void
environment_set(struct environment *e, const char *name, const char *value)
{
	size_t i = environment_index(e, name);
	char *entry = memory_format("%s=%s", name, value);

	INVARIANT(*name != '\0' && strchr(name, '=') == NULL);

	if (i == e->count) {
		environment_add(e, entry);
		return;
	}
	free(e->list[i]);
	e->list[i] = entry;
}

void
environment_unset(struct environment *e, const char *name)
{
	size_t i;

	/* A name can occur more than once; the child must get none of them. */
	while ((i = environment_index(e, name)) < e->count) {
		free(e->list[i]);
		memmove(e->list + i, e->list + i + 1, (e->count - i) * sizeof *e->list);
		e->count--;
	}
	INVARIANT(environment_holds(e) && environment_get(e, name) == NULL);
}

const char *
environment_get(const struct environment *e, const char *name)
{
	size_t i = environment_index(e, name);

	return i == e->count ? NULL : e->list[i] + strlen(name) + 1;
}

/* ---- secrets ---- */

/* A word is one of these, or ends with it, as in PGPASSWORD. */
static const char *const secret_ends[] = { "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE",
	"PASSCODE", "APIKEY", "ACCESSKEY" };
static const char *const secret_words[] = { "SECRETS", "PASSWORDS", "PASS", "PAT", "JWT", "PW",
	"CRED", "CREDS", "CREDENTIAL", "CREDENTIALS", "BEARER", "COOKIE", "WEBHOOK" };
/* Secrets as the last of several words: REDISCLI_AUTH, but not AUTH_URL or OLDPWD. */
static const char *const secret_last[] = { "AUTH", "PWD" };
/* Values that begin so are keys, or addresses that are as secret as keys. */
static const char *const secret_starts[] = { "sk-", "sk_live_", "sk_test_", "rk_live_", "rk_test_",
	"whsec_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "gldt-", "xoxb-", "xoxp-",
	"xoxa-", "xoxs-", "xapp-", "AKIA", "ASIA", "AIza", "hf_", "npm_", "pypi-", "dop_v1_", "shpat_", "SG.",
	"gsk_", "xai-", "nvapi-", "pplx-", "tvly-", "r8_", "dckr_pat_", "glsa_", "hvs.", "ya29.", "GOCSPX-",
	"AGE-SECRET-KEY-", "figd_", "lin_api_", "ntn_", "shpss_", "sntrys_", "dapi", "Bearer ", "Basic ", "-----BEGIN ", "https://hooks.slack.com/", "https://discord.com/api/webhooks/",
	"https://discordapp.com/api/webhooks/", "https://outlook.office.com/webhook/",
	"https://chat.googleapis.com/v1/spaces/" };
enum { SECRET_LEAST = 20 }; /* minimum length of a value that is recognized as a key by
                               its beginning */
/* The word before KEY. A name that is only KEY may be a cache's. */
static const char *const keys_of[] = { "ACCESS", "ACCOUNT", "API", "APP", "AUTH", "CLIENT",
	"DEPLOY", "ENCRYPTION", "MASTER", "PRIVATE", "SECRET", "SIGNING", "STORAGE" };
/* Sockets of programs that know secrets, and names that reveal nothing. */
static const char *const secret_names[] = { "SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO",
	"GNOME_KEYRING_CONTROL", "DBUS_SESSION_BUS_ADDRESS", "KRB5CCNAME", "XAUTHORITY",
	"DOCKER_AUTH_CONFIG", "SSHPASS", "MYSQL_PWD" };

#define COUNT(array) (sizeof (array) / sizeof *(array))

static bool
environment_name_is_among(const char *text, size_t len, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(list[i]) == len && strncasecmp(text, list[i], len) == 0)
			return true;
	return false;
}

/* A key by its value. eyJ.eyJ.… is a JSON Web Token. */
static bool
begins_secretly(const char *value)
{
	const char *dot = strchr(value, '.');

	if (strlen(value) < SECRET_LEAST)
		return false;
	for (size_t i = 0; i < COUNT(secret_starts); i++)
		if (strncmp(value, secret_starts[i], strlen(secret_starts[i])) == 0)
			return true;
	return strncmp(value, "eyJ", 3) == 0 && dot != NULL && strncmp(dot, ".eyJ", 4) == 0;
}

/* Word by word, numbers at their ends left out: GITHUB_TOKEN2, but not TOKENIZERS. */
static bool
named_secretly(const char *name)
{
	static const char between[] = "_-.";
	const char *before = NULL;
	size_t before_len = 0;

	for (const char *word = name; *word != '\0';) {
		size_t whole = strcspn(word, between), len = whole;

		while (len > 0 && word[len - 1] >= '0' && word[len - 1] <= '9')
			len--;
		for (size_t i = 0; i < COUNT(secret_ends); i++) {
			size_t end = strlen(secret_ends[i]);

			if (len >= end && strncasecmp(word + len - end, secret_ends[i], end) == 0)
				return true;
		}
		if (environment_name_is_among(word, len, secret_words, COUNT(secret_words)) ||
		    (before != NULL && word[whole] == '\0' &&
		    environment_name_is_among(word, len, secret_last, COUNT(secret_last))) ||
		    (before != NULL && len == 3 && strncasecmp(word, "KEY", 3) == 0 &&
		    environment_name_is_among(before, before_len, keys_of, COUNT(keys_of))))
			return true;
		before = word;
		before_len = len;
		word += whole + strspn(word + whole, between);
	}
	return environment_name_is_among(name, strlen(name), secret_names, COUNT(secret_names));
}

/* SCHEME://USER:PASSWORD@, or http://TOKEN@ of a proxy or server. */
static bool
has_url_credentials(const char *value)
{
	for (const char *at = strstr(value, "://"); at != NULL; at = strstr(at, "://")) {
		bool web = (at - value >= 4 && strncasecmp(at - 4, "http", 4) == 0) ||
		    (at - value >= 5 && strncasecmp(at - 5, "https", 5) == 0);
		size_t len = strcspn(at += 3, "/?#\"' \t\n");
		const char *end = memchr(at, '@', len), *colon = memchr(at, ':', len);

		if (end != NULL && end > at && (web || (colon != NULL && colon + 1 < end)))
			return true;
	}
	return false;
}

/* PASSWORD=x or --password x among other words, as in a program's options or a URL's parameters;
 * after -D comes a name. */
static bool
has_secret_parameter(const char *value)
{
	static const char between[] = " \t\n,;&?:/\"'<>()[]{}|";
	bool found = false;

	for (const char *word = value; !found && *word != '\0';) {
		size_t len = strcspn(word, between), name = strcspn(word, "="), begin = 0;
		const char *rest = word + len;

		if (name < len) {
			rest = word + name + 1;
			rest += *rest == '"' || *rest == '\'' || *rest == '\\';
			begin = strncmp(word, "-D", 2) == 0 ? 2 : 0;
		} else if (len > 2 && strncmp(word, "--", 2) == 0) {
			rest += strspn(rest, " \t\n");
			name = len;
		} else {
			name = 0;
		}
		if (name > 0 && *rest != '\0' && strchr(between, *rest) == NULL) {
			char *text = memory_copy(word + begin, name - begin);

			found = named_secretly(text);
			free(text);
		}
		word += len + (word[len] != '\0');
	}
	return found;
}

bool
environment_is_secret(const char *name, const char *value)
{
	static const char input[] = "AWF_INPUT_";
	const char *proxy = strrchr(name, '_');

	if (strncmp(name, input, sizeof input - 1) != 0 && named_secretly(name))
		return true;
	/* They accept USER:PASSWORD@HOST without a scheme as an address. */
	if (proxy != NULL && strcasecmp(proxy, "_proxy") == 0 && strchr(value, '@') != NULL)
		return true;
	return begins_secretly(value) || has_url_credentials(value) || has_secret_parameter(value);
}

bool
keys_is_secret(const struct keys *k, const char *name, const char *value)
{
	for (size_t i = 0; k != NULL && i < k->count; i++)
		if (strcmp(k->names[i], name) == 0)
			return true;
	return environment_is_secret(name, value);
}

void
environment_free(struct environment *e)
{
	for (size_t i = 0; i < e->count; i++)
		free(e->list[i]);
	free(e->list);
	*e = (struct environment){ NULL, 0, 0 };
}
