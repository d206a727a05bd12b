/* The line that contains the key is only sent to the proxy, on its stdin. */
#include "step_kinds/models_endpoint.h"

#include <sodium/utils.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/memory.h"
#include "providers/endpoint.h"
#include "providers/provider_find.h"

/* Writes "NAME: VALUE"; an empty value means that the header must not be sent. */
static void
write_header(struct writer *w, const char *begin, const char *prefix, const char *value)
{
	char *line = memory_format("%s%s%s", begin, prefix != NULL ? prefix : "", value);

	writer_string(w, line);
	sodium_memzero(line, strlen(line));
	free(line);
}

/* The value of the first variable for the key that is set. */
static const char *
find_key(struct span env, const struct keys *keys)
{
	char *name = span_text(env);
	const char *key = name == NULL ? NULL : keys_value(keys, name);

	for (struct span_walk one = span_walk(env); span_type(env) == 'a' && key == NULL && span_next(&one);)
		key = find_key(one.value, keys);
	free(name);
	return key;
}

static void
write_headers(const struct endpoint *e, const char *key, const struct keys *keys, struct writer *w)
{
	struct span text = endpoint_text(e);
	const char *protocol = endpoint_protocol(e, NULL);
	char *form = span_text(span_path(text, "key", "header", (char *)NULL));

	writer_member_array(w, "headers");
	if (key != NULL)
		write_header(w, form != NULL ? form : strcmp(protocol, "messages") == 0 ? "x-api-key: " :
		    strcmp(protocol, "gemini") == 0 ? "x-goog-api-key: " : "authorization: Bearer ", NULL, key);
	for (struct span_walk header = span_walk(span_member(text, "headers")); span_next(&header);) {
		char *name = span_text(header.key), *begin = memory_format("%s: ", name);
		char *said = span_text(header.value), *env = span_text(span_member(header.value, "env"));
		char *prefix = span_text(span_member(header.value, "prefix"));
		const char *value = env != NULL ? keys_value(keys, env) : said;

		if (value != NULL || env == NULL)
			write_header(w, begin, value != NULL ? prefix : NULL, value != NULL ? value : "");
		free(name);
		free(begin);
		free(said);
		free(env);
		free(prefix);
	}
	writer_array_end(w);
	free(form);
}

/* The values that come from variables, which the proxy keeps out of records. */
static void
write_secrets(const struct endpoint *e, const struct keys *keys, struct writer *w)
{
	char **names = endpoint_secrets(e);

	writer_member_array(w, "secrets");
	for (char **name = names; name != NULL && *name != NULL; name++)
		if (keys_value(keys, *name) != NULL)
			writer_string(w, keys_value(keys, *name));
	writer_array_end(w);
	list_free(names);
}

static bool
has_secret(const struct endpoint *e, const struct keys *keys)
{
	char **names = endpoint_secrets(e);
	bool has = false;

	for (char **name = names; name != NULL && *name != NULL; name++)
		has = has || keys_value(keys, *name) != NULL;
	list_free(names);
	return has;
}

bool
models_endpoint_key_may_go(const char *family, const char *base)
{
	struct error ignored = ERROR_INIT;
	struct endpoint *e = NULL;
	bool may;

	provider_endpoint(family, &e, &ignored);
	may = endpoint_key_may_go(e, base);
	endpoint_free(e);
	return may;
}

/* The endpoint of a name; NULL with *err. */
static struct endpoint *
models_endpoint_load(const char *name, struct error *err)
{
	struct endpoint *e = NULL;

	if (provider_endpoint(name, &e, err) == 0)
		error_set(err, ERROR_DEFINITION, "--models", "there is no endpoint '%s'", name);
	return e;
}

int
models_endpoint_check(const char *name, struct error *err)
{
	struct endpoint *e = models_endpoint_load(name, err);
	const bool is_right = e != NULL;

	endpoint_free(e);
	return is_right ? 0 : -1;
}

int
models_endpoint_write(const char *name, const struct keys *keys, struct writer *w,
    struct error *err)
{
	struct endpoint *e = models_endpoint_load(name, err);
	int failed = 0;
	char *base = NULL;
	const char *key = NULL;
	bool users = false;
	struct span text;

	if (e == NULL)
		return -1;
	text = endpoint_text(e);
	base = endpoint_base(e, NULL, keys, &users, err);
	key = find_key(span_path(text, "key", "env", (char *)NULL), keys);
	if (base == NULL)
		failed = -1;
	else if (endpoint_has_command(e) || span_path(text, "key", "file", (char *)NULL).at != NULL)
		failed = error_set(err, ERROR_DEFINITION, "--models",
		    "%s: the proxy can be given a key of a variable alone", name);
	else if (span_member(text, "unix").at != NULL || span_member(text, "tls").at != NULL)
		failed = error_set(err, ERROR_DEFINITION, "--models",
		    "%s: the proxy asks a server by its URL alone, without unix and tls", name);
	else if (key == NULL && span_path(text, "key", "env", (char *)NULL).at != NULL &&
	    !span_true(span_path(text, "key", "optional", (char *)NULL)))
		failed = error_set(err, ERROR_AUTH, name, "no API key: its variable is not set");
	else if (has_secret(e, keys) && !endpoint_key_may_go(e, base))
		failed = error_set(err, ERROR_INVALID, name,
		    "the key would go to another machine without encryption");
	if (failed == 0) {
		writer_member_string(w, "base", base);
		writer_member_string(w, "key", key);
		write_headers(e, key, keys, w);
		write_secrets(e, keys, w);
	}
	free(base);
	endpoint_free(e);
	return failed;
}
